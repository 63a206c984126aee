//! Lists directories between which sessions are moved.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError};

use super::{MAX_LIST_TRIES, SessionError};
use crate::model::SessionListing;

/// Lists sessions that are moved between `dirs`, so that a session that is moved meanwhile is listed exactly once.
///
/// The list is repeated if a directory has changed meanwhile. While a process holds a lock there, two successive lists
/// must be equal, because directory times are coarse.
pub fn list_settled(
    store: &Arc<dyn Store>,
    dirs: &[FilePath],
    mut list: impl FnMut() -> Result<SessionListing, SessionError>,
) -> Result<SessionListing, SessionError> {
    let times = || -> Result<Vec<Option<u64>>, StoreError> {
        let time = |dir: &FilePath| Ok(store.stat(dir)?.map(|stat| stat.modified));
        dirs.iter().map(time).collect()
    };
    let mut last: Option<SessionListing> = None;
    for _ in 1..MAX_LIST_TRIES {
        // The list reports a directory that cannot be read.
        let Ok(before) = times() else { return list() };
        let found = list()?;
        let is_same = times().is_ok_and(|after| after == before);
        let is_listed_twice = last.as_ref().is_some_and(|last| last.sessions == found.sessions);
        if is_same && (is_listed_twice || store.is_quiet(dirs)?) {
            return Ok(found);
        }
        last = Some(found);
    }
    list()
}
