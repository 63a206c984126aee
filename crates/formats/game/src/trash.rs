//! The trash of game sessions: moves sessions there, restores and purges them.

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

/// Returns the paths at which a session may be.
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

/// Returns the entries of the trash, oldest first.
pub fn trashed(store: &Arc<dyn Store>) -> Result<Vec<TrashEntry>, GameError> {
    Ok(common::list_entries(store, candidate_paths)?)
}

/// Restores an entry to its original path. Its session must not exist anywhere else meanwhile.
pub fn restore(store: &Arc<dyn Store>, name: &TrashName) -> Result<TrashEntry, GameError> {
    Ok(common::restore(store, name, candidate_paths)?)
}

/// The entries that [`purge`] would remove permanently, for confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgePlan {
    /// The entries to be removed, and their sizes in bytes.
    pub entries: Vec<(TrashEntry, u64)>,
}

impl PurgePlan {
    /// Looks up these names in the trash. Changes nothing.
    pub fn new(store: &Arc<dyn Store>, names: &[TrashName]) -> Result<PurgePlan, GameError> {
        Ok(PurgePlan { entries: common::entry_sizes(store, names, candidate_paths)? })
    }
}

/// Permanently removes the entries of a plan, in one commit. The plan serves as confirmation: if an entry has changed
/// since the plan was made, nothing is removed.
pub fn purge(store: &Arc<dyn Store>, plan: &PurgePlan) -> Result<(), GameError> {
    Ok(common::purge(store, &plan.entries, candidate_paths)?)
}
