//! Homes to play with.

use std::sync::Arc;

use everturn::linggen::{
    LinggenWriter, Message, NewLinggenSession, Project, ProjectPath, Session, SessionLocation,
    open_project,
};
use everturn::names::{FilePath, SessionId};
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use jiff::Timestamp;

/// So many seconds after the time in the documentation.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn project_path(text: &str) -> ProjectPath {
    ProjectPath::parse(text).unwrap()
}

pub(crate) fn project(store: &Arc<dyn Store>) -> Project {
    open_project(store, &project_path("/srv/site"), at(0)).unwrap()
}

/// Puts a file where it is wanted, whatever was there.
pub(crate) fn put(store: &Arc<dyn Store>, file: &str, text: impl AsRef<[u8]>) {
    let writer = store.lock(&[path(file)]).unwrap();
    let (file, bytes) = (path(file), text.as_ref().to_vec());
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

pub(crate) fn names(store: &Arc<dyn Store>, dir: &str) -> Vec<String> {
    let entries = store.list(&path(dir)).map(|listing| listing.entries).unwrap_or_default();
    entries.iter().map(|entry| entry.name.to_string()).collect()
}

pub(crate) const DIR: &str = "projects/-srv-site/sessions/sess-1";

/// A store with a session, `sess-1`, of the project `/srv/site`.
pub(crate) fn session(store: &Arc<dyn Store>) -> SessionLocation {
    let new =
        NewLinggenSession { id: Some(SessionId::parse("sess-1").unwrap()), title: "T".to_owned() };
    let writer = LinggenWriter::create(store, &project(store).dir, &new, at(0)).unwrap();
    let place = writer.place().clone();
    writer.release().unwrap();
    place
}

pub(crate) fn say(store: &Arc<dyn Store>, place: &SessionLocation, words: &[&str]) {
    let writer = LinggenWriter::open(store, place).unwrap();
    for word in words {
        writer.append(&Message::from_user("ling", word), at(1)).unwrap();
    }
    writer.release().unwrap();
}

/// What was said in a session.
pub(crate) fn said(store: &Arc<dyn Store>, place: &SessionLocation) -> Vec<String> {
    let session = Session::open(Arc::clone(store), place).unwrap();
    let rows = session.rows().unwrap().map(|row| row.unwrap().tree.unwrap());
    rows.map(|tree| tree.string_at(&["content"]).unwrap_or_else(|| tree.to_line())).collect()
}
