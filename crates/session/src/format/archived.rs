//! Reads sessions in archives: in memory, without unpacking them to disk.

use std::sync::Arc;

use super::{SessionError, error_chain};
use everturn_archive::{ArchiveLimits, StoreFileReader, Unpacker, check};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Durability, MemoryStore, Step, Store};

/// Unpacks an archive into a new memory store, at `dir`. The whole archive is checked before anything is unpacked.
pub fn unpack_to_memory(
    store: &Arc<dyn Store>,
    file: &FilePath,
    top: &Name,
    dir: &FilePath,
) -> Result<Arc<dyn Store>, SessionError> {
    let bad = |error: everturn_archive::ArchiveError| {
        SessionError::damaged(format!("{file} cannot be unpacked: {}", error_chain(&error)))
    };
    let limits = ArchiveLimits::default();
    let pieces = || StoreFileReader::open(&**store, file).map_err(bad);
    check(pieces()?, top, &limits).map_err(bad)?;
    let held: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let writer = held.lock(&[FilePath::root()])?;
    let from = FilePath::root().join(top);
    for unpacked in Unpacker::new(pieces()?, top, &limits) {
        let (path, bytes) = unpacked.map_err(bad)?;
        let Some(file) = path.rebased(&from, dir) else { continue };
        writer.commit(vec![Step::replace(file, bytes)], Durability::Buffered)?;
    }
    writer.release()?;
    Ok(held)
}
