//! Sessions in archives, opened without being taken out: in memory, and for reading only.

use std::sync::Arc;

use crate::layout::{Layout, LayoutError, Reader, chain};
use crate::view::Place;
use everturn_archive::{Limits, Pieces, Unpack, check};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Durability, Expect, MemoryStore, Secrecy, Step, Store};

/// The files of an archive in a store of their own, at `dir`. All of it is checked before anything is unpacked.
pub fn unpacked(
    store: &Arc<dyn Store>,
    file: &FilePath,
    top: &Name,
    dir: &FilePath,
) -> Result<Arc<dyn Store>, LayoutError> {
    let bad = |error: everturn_archive::ArchiveError| {
        LayoutError::damaged(format!("{file} cannot be unpacked: {}", chain(&error)))
    };
    let limits = Limits::default();
    let pieces = || Pieces::open(&**store, file).map_err(bad);
    check(pieces()?, top, &limits).map_err(bad)?;
    let held: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let writer = held.lock(&[FilePath::root()])?;
    let from = FilePath::root().join(top);
    for unpacked in Unpack::new(pieces()?, top, &limits) {
        let (path, bytes) = unpacked.map_err(bad)?;
        let Some(file) = path.moved(&from, dir) else { continue };
        let (expect, secrecy) = (Expect::Anything, Secrecy::Usual);
        let step = Step::Replace { file, expect, bytes, secrecy };
        writer.commit(vec![step], Durability::Written)?;
    }
    writer.release()?;
    Ok(held)
}

/// Opens a session for reading, wherever it is.
pub fn open(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<Box<dyn Reader>, LayoutError> {
    let Some(inside) = layout.shelved(place) else { return layout.open(store, place) };
    let top = Name::parse(&place.id)?;
    let held = unpacked(store, &place.path, &top, &inside.path)?;
    layout.open(&held, &inside)
}
