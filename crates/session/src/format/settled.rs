//! Lists directories between which sessions are moved.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError};

use super::{MAX_LIST_TRIES, SessionError};
use crate::model::{SessionListing, SessionRef};

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
    let mut seen = Vec::new();
    for _ in 1..MAX_LIST_TRIES {
        // The list reports a directory that cannot be read.
        let Ok(before) = times() else { return list() };
        let found = list()?;
        let is_same = times().is_ok_and(|after| after == before);
        let is_listed_twice = last.as_ref().is_some_and(|last| last.sessions == found.sessions);
        if is_same && (is_listed_twice || store.is_quiet(dirs)?) {
            return Ok(found);
        }
        seen.extend(found.sessions.iter().cloned());
        last = Some(found);
    }
    let mut found = list()?;
    add_seen(store, dirs, &mut found, seen)?;
    Ok(found)
}

/// Adds sessions that earlier lists had, if they still exist: while sessions are moved all the time, each list may lack
/// one of them.
fn add_seen(
    store: &Arc<dyn Store>,
    dirs: &[FilePath],
    found: &mut SessionListing,
    seen: Vec<SessionRef>,
) -> Result<(), StoreError> {
    for place in seen {
        if !found.sessions.iter().any(|known| known.id == place.id)
            && let Some(path) = find_in(store, dirs, &place)?
        {
            found.sessions.push(SessionRef { path, ..place });
        }
    }
    Ok(())
}

/// Returns the path that a session has now, in one of the directories.
fn find_in(
    store: &Arc<dyn Store>,
    dirs: &[FilePath],
    place: &SessionRef,
) -> Result<Option<FilePath>, StoreError> {
    let Some(name) = place.path.name() else { return Ok(None) };
    // It may be moved to a directory that was looked at before.
    for dir in dirs.iter().chain(dirs) {
        let path = dir.join(&name);
        if store.stat(&path)?.is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::{Durability, MemoryStore, Step};

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).unwrap()
    }

    #[test]
    fn a_session_that_an_earlier_list_had_is_listed_where_it_is_now() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let step = Step::replace(path("paused/s1/a.json"), b"{}".to_vec());
        let writer = store.lock(&[FilePath::root()]).unwrap();
        writer.commit(vec![step], Durability::Synced).unwrap();
        let place =
            |id: &str| SessionRef { id: id.to_owned(), path: path(&format!("active/{id}")) };
        let seen = vec![place("s1"), place("s1"), place("s2"), place("gone")];
        let mut found = SessionListing { sessions: vec![place("s2")], findings: Vec::new() };
        add_seen(&store, &[path("active"), path("paused")], &mut found, seen).unwrap();
        let paths: Vec<&str> = found.sessions.iter().map(|place| place.path.as_str()).collect();
        assert_eq!(paths, ["active/s2", "paused/s1"]);
    }
}
