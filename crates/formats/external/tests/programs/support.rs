//! Golden stores, and what was read from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn_external::FORMATS;
use everturn_json::names::FilePath;
use everturn_session::format::{SessionFormat, SessionReader};
use everturn_session::model::{SessionRef, SessionSummary};
use everturn_store::disk::RealDisk;
use everturn_store::{Durability, FileMode, FileStore, MemoryStore, Precondition, Step, Store};

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

pub(crate) fn store_at(dir: &Path) -> Arc<dyn Store> {
    Arc::new(FileStore::open_read_only(Arc::new(RealDisk::open(dir).unwrap())).unwrap())
}

/// A store in memory that holds these files.
pub(crate) fn store_of(files: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let writer = store.lock(&[FilePath::root()]).unwrap();
    let step = |(file, bytes): &(&str, &[u8])| Step::Replace {
        file: FilePath::parse(file).unwrap(),
        expect: Precondition::Absent,
        bytes: bytes.to_vec(),
        mode: FileMode::Default,
    };
    writer.commit(files.iter().map(step).collect(), Durability::Synced).unwrap();
    writer.release().unwrap();
    store
}

pub(crate) fn format(name: &str) -> &'static dyn SessionFormat {
    *FORMATS.iter().find(|format| format.name() == name).unwrap()
}

/// The sessions of a store without findings, by id.
pub(crate) fn sessions(format: &dyn SessionFormat, store: &Arc<dyn Store>) -> Vec<SessionRef> {
    let mut listing = format.locate(store).unwrap();
    assert_eq!(listing.findings, []);
    listing.sessions.sort_by(|one, other| one.id.cmp(&other.id));
    listing.sessions
}

/// Opens the session whose id starts with `id`.
pub(crate) fn open(
    format: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    id: &str,
) -> Box<dyn SessionReader> {
    format.open(store, &session(format, store, id)).unwrap()
}

pub(crate) fn session(format: &dyn SessionFormat, store: &Arc<dyn Store>, id: &str) -> SessionRef {
    let mut found = sessions(format, store);
    found.retain(|session| session.id.starts_with(id));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

pub(crate) fn summary(
    format: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    id: &str,
) -> SessionSummary {
    format.summary(store, &session(format, store, id)).unwrap()
}

/// What there is to read, as `turn kind: text`, without records that the program keeps for itself.
pub(crate) fn told(reader: &dyn SessionReader) -> Vec<String> {
    let mut stream = reader.entries(0..=u64::MAX).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = stream.next() {
        let entry = entry.unwrap();
        if !entry.kind.is_bookkeeping() {
            told.push(format!("{} {}: {}", entry.turn, entry.kind, entry.text));
        }
    }
    told
}

/// The same without system messages.
pub(crate) fn said(reader: &dyn SessionReader) -> Vec<String> {
    let mut told = told(reader);
    told.retain(|line| !line.contains(" system: "));
    told
}
