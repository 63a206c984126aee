//! Homes to work with.

use std::path::Path;
use std::sync::Arc;

use everturn::codelia::{Home, MemoryIndex, SessionWriter};
use everturn::disk::RealDisk;
use everturn::layout::{self, Layout};
use everturn::names::{FilePath, SessionId};
use everturn::store::{
    Durability, Expect, FileStore, Holder, MemoryStore, Options, Secrecy, Step, Store,
};
use everturn::tree::Tree;
use jiff::Timestamp;

/// So many seconds after the first message.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + seconds).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn codelia() -> &'static dyn Layout {
    layout::find("codelia").unwrap()
}

pub(crate) fn holder() -> Holder {
    Holder { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() }
}

/// A home in memory, with its index.
pub(crate) fn memory() -> (Arc<dyn Store>, MemoryIndex, Home) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let index = MemoryIndex::default();
    let home = Home::with_index(Arc::clone(&store), Arc::new(index.clone()));
    (store, index, home)
}

/// The store of a real directory.
pub(crate) fn real(dir: &Path) -> Arc<dyn Store> {
    let disk = Arc::new(RealDisk::open(dir).unwrap());
    Arc::new(FileStore::open(disk, Options::new(holder())).unwrap())
}

pub(crate) fn message(role: &str, text: &str) -> Tree {
    let message = match role {
        "tool" => serde_json::json!({
            "role": "tool", "tool_call_id": text, "tool_name": "bash", "content": "done",
        }),
        "call" => serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": text, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]}),
        _ => serde_json::json!({"role": role, "content": text}),
    };
    Tree::from_value(&message).unwrap()
}

pub(crate) fn user(text: &str) -> Tree {
    message("user", text)
}

/// A session with these messages of the user.
pub(crate) fn session(home: &Home, name: &str, texts: &[&str]) -> SessionWriter {
    let mut writer = SessionWriter::create(home, &id(name), None, at(0)).unwrap();
    for text in texts {
        writer.append(&[user(text)], at(1)).unwrap();
    }
    writer
}

pub(crate) fn texts(home: &Home, name: &str) -> Vec<String> {
    let messages = home.messages(&id(name)).unwrap();
    messages
        .map(|stored| stored.unwrap().message.string_at(&["content"]).unwrap_or_default())
        .collect()
}

/// Puts a file where it is wanted, whatever was there.
pub(crate) fn put(store: &Arc<dyn Store>, file: &str, text: &str) {
    let writer = store.lock(&[path(file)]).unwrap();
    let (file, bytes) = (path(file), text.as_bytes().to_vec());
    let (expect, secrecy) = (Expect::Anything, Secrecy::Usual);
    let step = Step::Replace { file, expect, bytes, secrecy };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

pub(crate) fn read(store: &Arc<dyn Store>, file: &str) -> String {
    String::from_utf8(store.read(&path(file), 0..u64::MAX).unwrap()).unwrap()
}
