//! Threads of agent frameworks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod branches;
mod channels;
mod crash;
mod damage;
mod independent;
mod retain;

use std::sync::Arc;

use everturn::format::{self, SessionFormat, SessionReader};
use everturn::model::{NewSession, SessionRef};
use everturn::store::{MemoryStore, Store};
use everturn::thread::ThreadWriter;
use jiff::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

fn layout() -> &'static dyn SessionFormat {
    format::find("thread").unwrap()
}

fn create(store: &Arc<dyn Store>) -> ThreadWriter {
    ThreadWriter::create(store, &NewSession::with_id("t1"), at(0)).unwrap()
}

fn place(store: &Arc<dyn Store>) -> SessionRef {
    layout().locate(store).unwrap().sessions.into_iter().find(|found| found.id == "t1").unwrap()
}

fn reader(store: &Arc<dyn Store>) -> Box<dyn SessionReader> {
    layout().open(store, &place(store)).unwrap()
}

/// A checkpoint whose list `messages` has `count` messages, and whose channel `topic` stays the same.
fn checkpoint(id: &str, parent: Option<&str>, count: usize) -> String {
    let messages: Vec<String> =
        (1..=count).map(|n| format!(r#"{{"role":"user","content":"message {n}"}}"#)).collect();
    let parent = parent.map_or(String::new(), |parent| format!(r#""parent":"{parent}","#));
    format!(
        r#"{{"type":"checkpoint","id":"{id}",{parent}"versions":{{"messages":{count},"topic":"1"}},"values":{{"messages":[{}],"topic":"doors"}}}}"#,
        messages.join(",")
    )
}

fn texts(reader: &dyn SessionReader) -> Vec<String> {
    let mut entries = reader.entries(0..=u64::MAX).unwrap();
    std::iter::from_fn(|| entries.next().map(|entry| entry.unwrap().text)).collect()
}

fn log(store: &Arc<dyn Store>) -> String {
    let file = everturn::names::FilePath::parse("threads/t1/thread.jsonl").unwrap();
    String::from_utf8(store.read(&file, 0..u64::MAX).unwrap()).unwrap()
}
