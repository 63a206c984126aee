//! What was thrown away, until somebody wants it back, or gone.
//!
//! `.everturn/trash/<stamp>-<id>/` holds the directory or the archive of a session under its path below the
//! root, so that everybody can see where it belongs.

use std::fmt;
use std::sync::Arc;

use jiff::{Timestamp, ToSpan};

use super::error::GameError;
use super::files::names;
use super::names::{SESSIONS, Status, archive, below};
use super::session::{Session, find};
use super::writer::lock_with;
use crate::disk::Kind;
use crate::names::{FilePath, Name, NameError, SessionId};
use crate::store::{Durability, Step, Store, StoreError, trash_dir};

/// How the name of something in the trash begins.
const STAMP: &str = "%Y%m%dT%H%M%SZ";

/// The name of something in the trash: when it was thrown away, and which session it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrashName {
    /// When it was thrown away, to the second.
    pub time: Timestamp,
    /// The session.
    pub id: SessionId,
}

impl TrashName {
    /// Reads a name such as `20260101T100000Z-session-abc123`.
    #[must_use]
    pub fn parse(name: &str) -> Option<TrashName> {
        let (time, id) = name.split_once('-')?;
        let time = jiff::civil::DateTime::strptime(STAMP, time).ok()?;
        let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let parsed = TrashName { time, id: SessionId::parse(id).ok()? };
        (parsed.to_string() == name).then_some(parsed)
    }

    pub(crate) fn place(&self) -> Result<FilePath, NameError> {
        Ok(trash_dir().join(&Name::parse(&self.to_string())?))
    }
}

impl fmt::Display for TrashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.time.strftime(STAMP), self.id)
    }
}

/// Something in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    /// Its name.
    pub name: TrashName,
    /// Where it belongs.
    pub path: FilePath,
}

impl Trashed {
    /// Where it is now.
    fn now_at(&self) -> Result<FilePath, GameError> {
        let at = format!("{}/{}", self.name.place()?.as_str(), self.path.as_str());
        Ok(FilePath::parse(&at)?)
    }
}

/// A place in the trash that is free. Two that are thrown away in the same second get different seconds.
pub(crate) fn free_place(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TrashName, GameError> {
    let mut name = TrashName { time: now, id: id.clone() };
    while store.stat(&name.place()?)?.is_some() {
        let next = name.time.checked_add(1.second());
        name.time = next.map_err(|error| GameError::input(error.to_string()))?;
    }
    Ok(name)
}

/// The step that throws away what is at `path`, and what it becomes there.
pub(crate) fn throw_away(place: &TrashName, path: &FilePath) -> Result<(Trashed, Step), GameError> {
    // Read back as it was written, so that it is the same as one that is listed.
    let name = TrashName::parse(&place.to_string()).unwrap_or_else(|| place.clone());
    let trashed = Trashed { name, path: path.clone() };
    let step = Step::Rename { from: path.clone(), to: trashed.now_at()? };
    Ok((trashed, step))
}

/// Moves a session, or its archive, to the trash. Nothing is removed.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn::game::{GameWriter, NewSession, list, restore, trash, trashed};
/// use everturn::names::SessionId;
/// use everturn::store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// GameWriter::create(Arc::clone(&store), &NewSession::new(id.clone()), now)?.close(now)?;
/// let gone = trash(&store, &id, now)?;
/// assert_eq!(gone.name.to_string(), "20260101T100000Z-session-abc123");
/// assert_eq!(trashed(&store)?, [gone.clone()]);
/// assert!(list(&store)?.is_empty());
/// restore(&store, &gone.name)?;
/// assert_eq!(list(&store)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trash(store: &Arc<dyn Store>, id: &SessionId, now: Timestamp) -> Result<Trashed, GameError> {
    let place = free_place(store, id, now)?;
    let archived = archive(id)?;
    let writer = lock_with(store, id, &[archived.clone(), place.place()?])?;
    let path = match find(store, id)? {
        Some(status) => {
            let session = Session::open(Arc::clone(store), id)?;
            if let Some(meta) = &session.meta {
                meta.check_version(id)?;
            }
            status.session(id)
        }
        None if store.stat(&archived)?.is_some() => archived,
        None => return Err(GameError::NoSession { id: id.clone() }),
    };
    let (trashed, step) = throw_away(&place, &path)?;
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(trashed)
}

/// What is in the trash, oldest first.
pub fn trashed(store: &Arc<dyn Store>) -> Result<Vec<Trashed>, GameError> {
    let mut found = Vec::new();
    for place in names(store, &trash_dir())? {
        let name = place.name().and_then(|name| TrashName::parse(name.as_str()));
        let Some(name) = name else { continue };
        found.extend(look_into(store, &name)?);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// What a place in the trash holds; nothing if it was restored by a process that died before it could tidy up.
fn look_into(store: &Arc<dyn Store>, name: &TrashName) -> Result<Option<Trashed>, GameError> {
    let place = name.place()?;
    let dirs = Status::ALL.iter().map(|status| status.session(&name.id));
    for path in dirs.chain([archive(&name.id)?]) {
        let trashed = Trashed { name: name.clone(), path };
        if store.stat(&trashed.now_at()?)?.is_some() {
            return Ok(Some(trashed));
        }
    }
    let sessions = below(&place, &[SESSIONS]);
    match store.stat(&sessions)? {
        Some(stat) if stat.kind != Kind::Dir => Err(GameError::damaged(&sessions, "it is a file")),
        _ => Ok(None),
    }
}

/// Puts something back where it belongs. Its session must not exist anywhere else meanwhile.
pub fn restore(store: &Arc<dyn Store>, name: &TrashName) -> Result<Trashed, GameError> {
    let (id, place) = (&name.id, name.place()?);
    let archived = archive(id)?;
    let writer = lock_with(store, id, &[archived.clone(), place.clone()])?;
    let missing = || GameError::NotInTrash { name: name.to_string() };
    let trashed = look_into(store, name)?.ok_or_else(missing)?;
    let taken = match find(store, id)? {
        Some(status) => Some(status.session(id)),
        None => store.stat(&archived)?.map(|_| archived),
    };
    if let Some(place) = taken {
        return Err(GameError::Taken { id: id.clone(), place });
    }
    let back = Step::Rename { from: trashed.now_at()?, to: trashed.path.clone() };
    writer.commit(vec![back], Durability::Synced)?;
    // Only empty directories are left of it, which nobody takes for anything.
    writer.commit(vec![Step::Remove { path: place }], Durability::Written)?;
    writer.release()?;
    Ok(trashed)
}

/// What a [`purge`] would remove for good. Asking for this is asking for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgePlan {
    /// What would be removed, and how many bytes it has.
    pub entries: Vec<(Trashed, u64)>,
}

impl PurgePlan {
    /// Looks at what is in the trash under these names. Nothing is changed.
    pub fn new(store: &Arc<dyn Store>, names: &[TrashName]) -> Result<PurgePlan, GameError> {
        let mut entries = Vec::new();
        for name in names {
            let missing = || GameError::NotInTrash { name: name.to_string() };
            let trashed = look_into(store, name)?.ok_or_else(missing)?;
            let bytes = size_of(store, trashed.now_at()?)?;
            entries.push((trashed, bytes));
        }
        Ok(PurgePlan { entries })
    }
}

/// The bytes of a file, or of all files in a directory.
fn size_of(store: &Arc<dyn Store>, path: FilePath) -> Result<u64, StoreError> {
    let (mut waiting, mut bytes) = (vec![path], 0);
    while let Some(path) = waiting.pop() {
        match store.stat(&path)? {
            Some(stat) if stat.kind == Kind::Dir => waiting.extend(names(store, &path)?),
            Some(stat) => bytes += stat.len,
            None => {}
        }
    }
    Ok(bytes)
}

/// Removes for good what a plan says, in one commit. Calling this is asking for the second time: what has
/// changed since the plan was made is not removed, and neither is anything else.
pub fn purge(store: &Arc<dyn Store>, plan: &PurgePlan) -> Result<(), GameError> {
    let places = plan.entries.iter().map(|(trashed, _)| trashed.name.place());
    let places: Vec<FilePath> = places.collect::<Result<_, _>>()?;
    if places.is_empty() {
        return Ok(());
    }
    let writer = store.lock(&places)?;
    let names: Vec<TrashName> =
        plan.entries.iter().map(|(trashed, _)| trashed.name.clone()).collect();
    if PurgePlan::new(store, &names)? != *plan {
        return Err(GameError::input("the trash has changed since it was looked at"));
    }
    let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}
