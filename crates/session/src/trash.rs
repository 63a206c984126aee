//! The trash: trashed sessions until they are restored or purged, for every format whose sessions are directories.
//!
//! `.everturn/trash/<stamp>-<id>/` contains the directory or the archive of a session under its path below the root, so
//! that its origin is visible.

use std::fmt;
use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use thiserror::Error;

use crate::model;
use everturn_json::names::{FilePath, Name, NameError, SessionId};
use everturn_store::disk::FileKind;
use everturn_store::{Durability, Step, Store, StoreError, trash_dir};

/// The timestamp format at the start of a name in the trash.
const STAMP: &str = "%Y%m%dT%H%M%SZ";

/// The possible paths of a session, by its ID; defined by the format.
pub type CandidatePaths = fn(&SessionId) -> Result<Vec<FilePath>, NameError>;

/// Why something cannot be trashed, restored or purged.
#[derive(Debug, Clone, Error)]
pub enum TrashError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It is not in the trash.
    #[error("there is no {name} in the trash")]
    NotInTrash {
        /// The requested name.
        name: String,
    },
    /// The path is taken.
    #[error("session {id} already exists in {place}")]
    Taken {
        /// The session.
        id: SessionId,
        /// The path of the other session.
        place: FilePath,
    },
    /// A file cannot be read.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// The problem.
        reason: String,
    },
    /// The request is invalid.
    #[error("{what}")]
    Refused {
        /// The reason.
        what: String,
    },
}

/// The name of an item in the trash: when it was trashed, and which session it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrashName {
    /// When it was trashed, to the second.
    pub time: Timestamp,
    /// The session.
    pub id: SessionId,
}

impl TrashName {
    /// Parses a name such as `20260101T100000Z-session-abc123`.
    #[must_use]
    pub fn parse(name: &str) -> Option<TrashName> {
        let (time, id) = name.split_once('-')?;
        let time = jiff::civil::DateTime::strptime(STAMP, time).ok()?;
        let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let parsed = TrashName { time, id: SessionId::parse(id).ok()? };
        (parsed.to_string() == name).then_some(parsed)
    }

    /// Parses a name that a user gave.
    pub fn parse_given(name: &str) -> Result<TrashName, TrashError> {
        let what = || format!("there is no {name:?} in the trash");
        TrashName::parse(name).ok_or_else(|| TrashError::Refused { what: what() })
    }

    /// Its path in the trash.
    pub fn trash_path(&self) -> Result<FilePath, NameError> {
        Ok(trash_dir().join(&Name::parse(&self.to_string())?))
    }
}

impl fmt::Display for TrashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.time.strftime(STAMP), self.id)
    }
}

/// An item in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashEntry {
    /// Its name.
    pub name: TrashName,
    /// The path that it is restored to.
    pub path: FilePath,
}

impl TrashEntry {
    /// Converts it to the common model.
    pub fn into_trashed_session(self, bytes: u64) -> model::TrashedSession {
        let TrashEntry { name, path } = self;
        let (id, time) = (name.id.to_string(), name.time);
        model::TrashedSession { name: name.to_string(), id, path, time, bytes }
    }

    /// The item that a listed session was made from, and its size.
    pub fn from_listed(listed: &model::TrashedSession) -> Result<(TrashEntry, u64), TrashError> {
        let name = TrashName::parse_given(&listed.name)?;
        Ok((TrashEntry { name, path: listed.path.clone() }, listed.bytes))
    }

    /// The session at the path that it is restored to.
    #[must_use]
    pub fn into_session_ref(self) -> model::SessionRef {
        model::SessionRef { id: self.name.id.to_string(), path: self.path }
    }

    /// Its present path.
    fn trash_path(&self) -> Result<FilePath, NameError> {
        let at = format!("{}/{}", self.name.trash_path()?.as_str(), self.path.as_str());
        FilePath::parse(&at)
    }
}

/// The paths in a directory; empty if it is missing.
pub fn list_dir(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<FilePath>, StoreError> {
    match store.list(dir) {
        Ok(listing) => Ok(listing.entries.iter().map(|entry| dir.join(&entry.name)).collect()),
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// All valid names in the trash, of any format.
pub fn list_trash_names(store: &Arc<dyn Store>) -> Result<Vec<TrashName>, StoreError> {
    let names = list_dir(store, &trash_dir())?;
    let parsed = names.iter().filter_map(|place| TrashName::parse(place.name()?.as_str()));
    Ok(parsed.collect())
}

/// A free name in the trash. Items that are trashed in the same second get different seconds.
pub fn allocate(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TrashName, TrashError> {
    let mut name = TrashName { time: now, id: id.clone() };
    while store.stat(&name.trash_path()?)?.is_some() {
        let next = name.time.checked_add(1.second());
        name.time = next.map_err(|error| TrashError::Refused { what: error.to_string() })?;
    }
    Ok(name)
}

/// The step that moves `path` to the trash, and the resulting item.
pub fn move_to_trash(place: &TrashName, path: &FilePath) -> Result<(TrashEntry, Step), NameError> {
    // Round-tripped through its text, so that it equals a listed name.
    let name = TrashName::parse(&place.to_string()).unwrap_or_else(|| place.clone());
    let trashed = TrashEntry { name, path: path.clone() };
    let step = Step::Rename { from: path.clone(), to: trashed.trash_path()? };
    Ok((trashed, step))
}

/// The items in the trash, oldest first.
pub fn list_entries(
    store: &Arc<dyn Store>,
    homes: CandidatePaths,
) -> Result<Vec<TrashEntry>, TrashError> {
    let mut found = Vec::new();
    for name in list_trash_names(store)? {
        found.extend(read_entry(store, &name, homes)?);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The sessions in the trash, oldest first, in the common model.
pub fn list_sessions(
    store: &Arc<dyn Store>,
    homes: CandidatePaths,
) -> Result<Vec<model::TrashedSession>, TrashError> {
    let shown = |trashed: TrashEntry| -> Result<model::TrashedSession, TrashError> {
        let bytes = total_bytes(store, trashed.trash_path()?)?;
        Ok(trashed.into_trashed_session(bytes))
    };
    list_entries(store, homes)?.into_iter().map(shown).collect()
}

/// Reads an item of the trash; `None` if it is of another format, or was restored by a process that died before it
/// could clean up.
fn read_entry(
    store: &Arc<dyn Store>,
    name: &TrashName,
    homes: CandidatePaths,
) -> Result<Option<TrashEntry>, TrashError> {
    let place = name.trash_path()?;
    for path in homes(&name.id)? {
        let trashed = TrashEntry { name: name.clone(), path };
        if store.stat(&trashed.trash_path()?)?.is_some() {
            return Ok(Some(trashed));
        }
    }
    for path in homes(&name.id)? {
        let Some(top) = path.as_str().split('/').next() else { continue };
        let top = place.join(&Name::parse(top)?);
        if store.stat(&top)?.is_some_and(|stat| stat.kind != FileKind::Dir) {
            return Err(TrashError::Damaged { file: top, reason: "it is a file".to_owned() });
        }
    }
    Ok(None)
}

/// Restores an item to its path. Its session must not exist at any of its possible paths.
pub fn restore(
    store: &Arc<dyn Store>,
    name: &TrashName,
    homes: CandidatePaths,
) -> Result<TrashEntry, TrashError> {
    restore_with(store, name, homes, |_| Ok(Vec::new()))
}

/// Like [`restore`], with companion files that may be in the trash beside it: `companions` returns their paths below
/// the root for a possible path of the session.
pub fn restore_with(
    store: &Arc<dyn Store>,
    name: &TrashName,
    homes: CandidatePaths,
    companions: fn(&FilePath) -> Result<Vec<FilePath>, NameError>,
) -> Result<TrashEntry, TrashError> {
    let (id, place) = (&name.id, name.trash_path()?);
    let mut scopes = homes(id)?;
    for home in homes(id)? {
        scopes.extend(companions(&home)?);
    }
    scopes.push(place.clone());
    let writer = store.lock(&scopes)?;
    let missing = || TrashError::NotInTrash { name: name.to_string() };
    let trashed = read_entry(store, name, homes)?.ok_or_else(missing)?;
    for home in homes(id)? {
        if store.stat(&home)?.is_some() {
            return Err(TrashError::Taken { id: id.clone(), place: home });
        }
    }
    let mut back = vec![Step::Rename { from: trashed.trash_path()?, to: trashed.path.clone() }];
    for path in companions(&trashed.path)? {
        let companion = TrashEntry { name: trashed.name.clone(), path };
        if store.stat(&companion.trash_path()?)?.is_some() {
            back.push(Step::Rename { from: companion.trash_path()?, to: companion.path });
        }
    }
    writer.commit(back, Durability::Synced)?;
    // Only empty directories are left, which have no meaning.
    writer.commit(vec![Step::Remove { path: place }], Durability::Buffered)?;
    writer.release()?;
    Ok(trashed)
}

/// The items in the trash with these names, and their sizes in bytes.
pub fn entry_sizes(
    store: &Arc<dyn Store>,
    names: &[TrashName],
    homes: CandidatePaths,
) -> Result<Vec<(TrashEntry, u64)>, TrashError> {
    let mut entries = Vec::new();
    for name in names {
        let missing = || TrashError::NotInTrash { name: name.to_string() };
        let trashed = read_entry(store, name, homes)?.ok_or_else(missing)?;
        let bytes = total_bytes(store, trashed.trash_path()?)?;
        entries.push((trashed, bytes));
    }
    Ok(entries)
}

/// The size of a file, or of all files in a directory.
pub fn total_bytes(store: &Arc<dyn Store>, path: FilePath) -> Result<u64, StoreError> {
    let (mut waiting, mut bytes) = (vec![path], 0);
    while let Some(path) = waiting.pop() {
        match store.stat(&path)? {
            Some(stat) if stat.kind == FileKind::Dir => waiting.extend(list_dir(store, &path)?),
            Some(stat) => bytes += stat.len,
            None => {}
        }
    }
    Ok(bytes)
}

/// Permanently removes items that were listed before, in one commit. If one of them has changed since, nothing is
/// removed.
pub fn purge(
    store: &Arc<dyn Store>,
    entries: &[(TrashEntry, u64)],
    homes: CandidatePaths,
) -> Result<(), TrashError> {
    let places = entries.iter().map(|(trashed, _)| trashed.name.trash_path());
    let places: Vec<FilePath> = places.collect::<Result<_, _>>()?;
    if places.is_empty() {
        return Ok(());
    }
    let writer = store.lock(&places)?;
    let names: Vec<TrashName> = entries.iter().map(|(trashed, _)| trashed.name.clone()).collect();
    if entry_sizes(store, &names, homes)? != entries {
        let what = "the trash has changed since it was listed".to_owned();
        return Err(TrashError::Refused { what });
    }
    let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}
