//! Permanently removes the originals of scrubs.

use std::sync::Arc;

use super::{ScrubError, refresh_index};
use everturn_json::names::FilePath;
use everturn_session::format::SessionFormat;
use everturn_session::model::SessionRef;
use everturn_store::{Durability, Step, Store};

/// Originals of a session's scrubs to be purged, with their sizes, as `list_originals` returned them.
pub struct PurgeTarget<'a> {
    /// The format of the session.
    pub layout: &'a dyn SessionFormat,
    /// The session.
    pub place: &'a SessionRef,
    /// The originals.
    pub originals: Vec<(FilePath, u64)>,
}

/// Permanently removes originals, and their traces in the store and the indexes. A session that fails does not stop the
/// others; the first error is returned at the end.
pub fn purge_originals(
    store: &Arc<dyn Store>,
    condemned: &[PurgeTarget<'_>],
) -> Result<(), ScrubError> {
    let mut outcome = Ok(());
    let mut keep_first = |done: Result<(), ScrubError>| {
        if outcome.is_ok() {
            outcome = done;
        }
    };
    for PurgeTarget { layout, place, originals } in condemned {
        let places: Vec<FilePath> = originals.iter().map(|(place, _)| place.clone()).collect();
        let writable = layout.require_writable(place).map_err(ScrubError::from);
        keep_first(writable.and_then(|()| remove_originals(store, places)));
    }
    for PurgeTarget { layout, place, .. } in condemned {
        keep_first(refresh_index(store, *layout, place).map_err(ScrubError::from));
    }
    let mut told: Vec<&str> = Vec::new();
    for PurgeTarget { layout, .. } in condemned {
        let index = layout.capabilities().index;
        if let Some(index) = index.filter(|_| !told.contains(&layout.name())) {
            told.push(layout.name());
            keep_first(index.vacuum_index(store).map_err(ScrubError::from));
        }
    }
    keep_first(store.wipe_logs().map_err(ScrubError::from));
    outcome
}

/// Permanently removes directories of originals.
pub fn remove_originals(store: &Arc<dyn Store>, places: Vec<FilePath>) -> Result<(), ScrubError> {
    if places.is_empty() {
        return Ok(());
    }
    let writer = store.lock(&places)?;
    let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}
