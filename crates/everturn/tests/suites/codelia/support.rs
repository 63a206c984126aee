//! Homes to work with.

use std::path::Path;
use std::sync::Arc;

use everturn::codelia::{CodeliaHome, CodeliaWriter, MemoryIndex};
use everturn::disk::RealDisk;
use everturn::format::{self, SessionFormat};
use everturn::names::{FilePath, SessionId};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, MemoryStore, Options, Precondition, Step, Store,
};
use everturn::tree::JsonTree;
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

pub(crate) fn codelia() -> &'static dyn SessionFormat {
    format::find("codelia").unwrap()
}

pub(crate) fn owner() -> LockOwner {
    LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() }
}

/// A home in memory, with its index.
pub(crate) fn memory() -> (Arc<dyn Store>, MemoryIndex, CodeliaHome) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let index = MemoryIndex::default();
    let home = CodeliaHome::with_index(Arc::clone(&store), Arc::new(index.clone()));
    (store, index, home)
}

/// The store of a real directory.
pub(crate) fn real(dir: &Path) -> Arc<dyn Store> {
    let disk = Arc::new(RealDisk::open(dir).unwrap());
    Arc::new(FileStore::open(disk, Options::new(owner())).unwrap())
}

pub(crate) fn message(role: &str, text: &str) -> JsonTree {
    let message = match role {
        "tool" => serde_json::json!({
            "role": "tool", "tool_call_id": text, "tool_name": "bash", "content": "done",
        }),
        "call" => serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": text, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]}),
        _ => serde_json::json!({"role": role, "content": text}),
    };
    JsonTree::from_value(&message).unwrap()
}

pub(crate) fn user(text: &str) -> JsonTree {
    message("user", text)
}

/// A session with these messages of the user.
pub(crate) fn session(home: &CodeliaHome, name: &str, texts: &[&str]) -> CodeliaWriter {
    let mut writer = CodeliaWriter::create(home, &id(name), None, at(0)).unwrap();
    for text in texts {
        writer.append(&[user(text)], at(1)).unwrap();
    }
    writer
}

pub(crate) fn texts(home: &CodeliaHome, name: &str) -> Vec<String> {
    let messages = home.messages(&id(name)).unwrap();
    messages
        .map(|stored| stored.unwrap().message.string_at(&["content"]).unwrap_or_default())
        .collect()
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
