//! Game sessions that were thrown away, until somebody wants them back, or gone.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::GameError;
use super::paths::{GameStatus, archive};
use super::session::{Session, find};
use super::writer::lock_with;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::trash::{self as common, TrashError, allocate, move_to_trash};
use everturn_store::{Durability, Store};

pub use everturn_session::trash::{TrashEntry, TrashName};

/// Where a session may be.
fn candidate_paths(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    let dirs = GameStatus::ALL.iter().map(|status| status.session(id));
    Ok(dirs.chain([archive(id)?]).collect())
}

impl From<TrashError> for GameError {
    fn from(error: TrashError) -> GameError {
        match error {
            TrashError::Store(error) => GameError::Store(error),
            TrashError::Name(error) => GameError::Name(error),
            TrashError::NotInTrash { name } => GameError::NotInTrash { name },
            TrashError::Taken { id, place } => GameError::Taken { id, place },
            TrashError::Damaged { file, reason } => GameError::Damaged { file, reason },
            TrashError::Refused { what } => GameError::Input { what },
        }
    }
}

/// Moves a session, or its archive, to the trash. Nothing is removed.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{GameWriter, NewGame, list, restore, trash, trashed};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?.close(now)?;
/// let gone = trash(&store, &id, now)?;
/// assert_eq!(gone.name.to_string(), "20260101T100000Z-session-abc123");
/// assert_eq!(trashed(&store)?, [gone.clone()]);
/// assert!(list(&store)?.is_empty());
/// restore(&store, &gone.name)?;
/// assert_eq!(list(&store)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trash(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TrashEntry, GameError> {
    let place = allocate(store, id, now)?;
    let archived = archive(id)?;
    let writer = lock_with(store, id, &[archived.clone(), place.trash_path()?])?;
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
    let (trashed, step) = move_to_trash(&place, &path)?;
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(trashed)
}

/// What is in the trash, oldest first.
pub fn trashed(store: &Arc<dyn Store>) -> Result<Vec<TrashEntry>, GameError> {
    Ok(common::list_entries(store, candidate_paths)?)
}

/// Puts something back where it belongs. Its session must not exist anywhere else meanwhile.
pub fn restore(store: &Arc<dyn Store>, name: &TrashName) -> Result<TrashEntry, GameError> {
    Ok(common::restore(store, name, candidate_paths)?)
}

/// What a [`purge`] would remove for good. Asking for this is asking for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgePlan {
    /// What would be removed, and how many bytes it has.
    pub entries: Vec<(TrashEntry, u64)>,
}

impl PurgePlan {
    /// Looks at what is in the trash under these names. Nothing is changed.
    pub fn new(store: &Arc<dyn Store>, names: &[TrashName]) -> Result<PurgePlan, GameError> {
        Ok(PurgePlan { entries: common::entry_sizes(store, names, candidate_paths)? })
    }
}

/// Removes for good what a plan says, in one commit. Calling this is asking for the second time: what has
/// changed since the plan was made is not removed, and neither is anything else.
pub fn purge(store: &Arc<dyn Store>, plan: &PurgePlan) -> Result<(), GameError> {
    Ok(common::purge(store, &plan.entries, candidate_paths)?)
}
