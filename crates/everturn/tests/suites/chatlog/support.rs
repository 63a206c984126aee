//! Chat logs to write in.

use std::sync::Arc;

use everturn::chatlog::{ChatLog, ChatWriter, NewChat};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;
use serde_json::Value;

/// The example that the format's own description has.
pub(crate) const EXAMPLE: &str = include_str!("example.json");

/// So many seconds after the first message.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + seconds).unwrap()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

pub(crate) fn tree(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap()
}

/// Puts a file where it is wanted, whatever was there.
pub(crate) fn put(store: &Arc<dyn Store>, file: &str, text: &str) {
    let writer = store.lock(&[path(file)]).unwrap();
    let (file, bytes) = (path(file), text.as_bytes().to_vec());
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

pub(crate) fn read(store: &Arc<dyn Store>, file: &str) -> String {
    String::from_utf8(store.read(&path(file), 0..u64::MAX).unwrap()).unwrap()
}

pub(crate) fn exists(store: &Arc<dyn Store>, file: &str) -> bool {
    store.stat(&path(file)).unwrap().is_some()
}

pub(crate) fn remove(store: &Arc<dyn Store>, file: &str) {
    let writer = store.lock(&[path(file)]).unwrap();
    writer.commit(vec![Step::Remove { path: path(file) }], Durability::Synced).unwrap();
}

pub(crate) const TALE: &str = "chats/tale.json";

/// A store with the example as `chats/tale.json`.
pub(crate) fn example() -> Arc<dyn Store> {
    let store = memory();
    put(&store, TALE, EXAMPLE);
    store
}

/// A new chat log.
pub(crate) fn tale(store: &Arc<dyn Store>) -> ChatWriter {
    ChatWriter::create(store, &NewChat::new("tale"), at(0)).unwrap()
}

pub(crate) fn writer(store: &Arc<dyn Store>) -> ChatWriter {
    ChatWriter::open(store, &path(TALE)).unwrap()
}

pub(crate) fn reader(store: &Arc<dyn Store>) -> ChatLog {
    ChatLog::open(store, &path(TALE)).unwrap()
}

/// Adds a message of the narrator.
pub(crate) fn tell(writer: &mut ChatWriter, words: &str, seconds: i64) -> String {
    let given = serde_json::json!({"type": "narrator", "text": words});
    writer.append(&JsonTree::from_value(&given).unwrap(), at(seconds)).unwrap().id
}

/// The document as it is on the disk.
pub(crate) fn document(store: &Arc<dyn Store>) -> Value {
    serde_json::from_str(&read(store, TALE)).unwrap()
}

/// All that can be asked of a chat log, in one text.
pub(crate) fn told(log: &ChatLog) -> String {
    let mut all = String::new();
    for message in log.messages(1..=u64::MAX).unwrap() {
        let message = message.unwrap();
        all.push_str(&format!("{} {}\n", message.number, message.tree.to_line()));
    }
    for number in 0..=log.len() {
        all.push_str(&format!("{number} {}\n", log.states(number).unwrap().0.to_line()));
    }
    for mark in log.marks().unwrap() {
        all.push_str(&format!("{:?} {}\n", mark.number, mark.tree.to_line()));
    }
    all.push_str(&log.head().text_at(&["export"]).unwrap_or_default());
    all
}
