//! Repairs sessions: [`plan_repair`] returns a plan, [`repair()`] applies it in commits that keep every original.
//!
//! Lines that are not records are removed from the logs, unusable snapshots and indexes are removed from the session,
//! states and metadata are recomputed. Lost data is not invented: a lost turn gets a line that says so, and keeps its
//! number. The originals of all changed or removed files are kept in the trash, byte for byte, and [`undo_repair`]
//! restores them.

mod changes;
mod logs;
mod plan;
mod replay;
mod snapshots;
mod states;
mod turns;

use std::sync::Arc;

use jiff::Timestamp;

use super::check::open;
use super::error::GameError;
use super::meta::tree;
use super::paths::GameStatus;
use super::session::{Session, find};
use super::survey::{GameLocation, SurveyResult, UnreadablePolicy, survey};
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::finding_sink::FindingSink;
use everturn_session::marks;
use everturn_session::repair::{self, OriginalsBackup};
use everturn_store::overlay::{FileChanges, OverlayStore};
use everturn_store::{Store, Writer, trash_dir};
use everturn_value::document::JsonStyle;

pub use everturn_session::repair::{RepairAction, RepairReport};

use plan::GameRepairPlan;
pub(super) use turns::lost_line;

/// Plans a repair without changing anything.
pub fn plan_repair(store: &Arc<dyn Store>, id: &SessionId) -> Result<RepairReport, GameError> {
    let PreparedRepair { actions, findings, .. } = prepare(store, id, &trash_dir())?;
    Ok(RepairReport { actions, findings, originals: None })
}

/// A repair before anything is written.
struct PreparedRepair {
    /// The session with repaired logs.
    session: Session,
    facts: SurveyResult,
    /// New contents of logs.
    logs: FileChanges,
    plan: GameRepairPlan,
    actions: Vec<RepairAction>,
    /// The findings of the session as it is now.
    findings: Vec<Finding>,
}

fn prepare(
    store: &Arc<dyn Store>,
    id: &SessionId,
    kept: &FilePath,
) -> Result<PreparedRepair, GameError> {
    let (place, session) = find_session(store, id)?;
    let (facts, findings) = survey_session(&session, &place)?;
    let logs::RepairedLogs { files, actions } = logs::repair_logs(&session, &facts, kept)?;
    let (session, facts) = if files.is_empty() {
        (session, facts)
    } else {
        let (place, session) = find_session(&overlay_store(store, files.clone()), id)?;
        let (facts, _) = survey_session(&session, &place)?;
        (session, facts)
    };
    let plan = GameRepairPlan::of(&session, &facts)?;
    let actions = plan.actions(&session, &facts, actions);
    Ok(PreparedRepair { session, facts, logs: files, plan, actions, findings })
}

/// Returns the store as it will be after the changes.
fn overlay_store(store: &Arc<dyn Store>, changes: FileChanges) -> Arc<dyn Store> {
    Arc::new(OverlayStore::new(store, changes))
}

/// Repairs a session. If a file cannot be read, nothing is changed.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{GameWriter, NewGame, repair};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?.close(now)?;
/// let done = repair(&store, &id, now)?;
/// assert!(done.actions.is_empty(), "there is nothing to repair");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<RepairReport, GameError> {
    let trash = repair::allocate_originals(store, id, now)?;
    let writer = store.lock(&[scopes(id), vec![trash.clone()]].concat())?;
    let done = apply_repair(store, id, &trash, &*writer, now);
    // The first error matters more than a failure to release the lock.
    let released = writer.release();
    let done = done?;
    released?;
    Ok(done)
}

fn apply_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    trash: &FilePath,
    writer: &dyn Writer,
    now: Timestamp,
) -> Result<RepairReport, GameError> {
    let PreparedRepair { session, facts, logs, plan, actions, findings } =
        prepare(store, id, trash)?;
    if actions.is_empty() {
        return Ok(RepairReport { actions, findings, originals: None });
    }
    let mut keeper = OriginalsBackup::new(store, writer, trash, id, &actions, now);
    for (file, bytes) in logs {
        match bytes {
            Some(bytes) => keeper.write(&file, bytes)?,
            None => keeper.move_away(&file),
        }
    }
    for file in &plan.trash {
        keeper.move_away(file);
    }
    rewrite_documents(store, &session, &plan, &mut keeper)?;
    snapshots::repair_snapshots(&session, &facts, &plan, &mut keeper, now)?;
    // States and metadata are computed from the pending contents, and written with them.
    let (place, session) = find_session(&overlay_store(store, keeper.pending()), id)?;
    let (facts, _) = survey_session(&session, &place)?;
    states::repair_states(&session, &place, &facts, &mut keeper, now)?;
    keeper.flush()?;
    let (place, session) = find_session(store, id)?;
    let (_, findings) = survey_session(&session, &place)?;
    Ok(RepairReport { actions, findings, originals: Some(trash.clone()) })
}

/// Rewrites damaged documents that do not follow from anything else, with what is intact in them.
fn rewrite_documents(
    store: &Arc<dyn Store>,
    session: &Session,
    plan: &GameRepairPlan,
    keeper: &mut OriginalsBackup<'_>,
) -> Result<(), GameError> {
    for file in &plan.repeated {
        let bytes = store.read(file, 0..u64::MAX)?;
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&bytes) else { continue };
        let text = tree(&value).to_text(&JsonStyle::PRETTY_RAW);
        keeper.write(file, text.into_bytes())?;
    }
    if plan.marks {
        let file = marks::marks_file(&session.dir);
        let bytes = store.read(&file, 0..u64::MAX)?;
        let repaired = marks::repaired_marks(&bytes);
        keeper.write(&file, repaired.map_err(|error| GameError::damaged(&file, &error))?)?;
    }
    Ok(())
}

/// Undoes the newest repair of a session that was not undone yet: every file gets its original content back, byte for
/// byte.
///
/// Fails if the session has changed since then: turns appended after the repair would be lost.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<RepairReport, GameError> {
    Ok(repair::revert(store, id, &scopes(id), now)?)
}

/// Returns every directory the session can be in.
fn scopes(id: &SessionId) -> Vec<FilePath> {
    GameStatus::ALL.iter().map(|status| status.session(id)).collect()
}

fn find_session(
    store: &Arc<dyn Store>,
    id: &SessionId,
) -> Result<(GameLocation, Session), GameError> {
    let status = find(store, id)?.ok_or_else(|| GameError::NoSession { id: id.clone() })?;
    let place = GameLocation::of(&status.session(id));
    let session = open(store, &place)?;
    if let Some(meta) = &session.meta {
        meta.check_version(id)?;
    }
    Ok((place, session))
}

/// Surveys a session; unreadable data is an error.
fn survey_session(
    session: &Session,
    place: &GameLocation,
) -> Result<(SurveyResult, Vec<Finding>), GameError> {
    let mut found = FindingCollector(Vec::new());
    let facts = survey(session, place, UnreadablePolicy::Refuse, &mut found)?;
    Ok((facts, found.0))
}

/// The maximum number of findings that are kept.
const MOST_FINDINGS: usize = 10_000;

struct FindingCollector(Vec<Finding>);

impl FindingSink for FindingCollector {
    fn finding(&mut self, finding: Finding) {
        if self.0.len() < MOST_FINDINGS {
            self.0.push(finding);
        }
    }

    fn file(&mut self, _: &FilePath) {}
}
