//! Pauses, resumes and completes sessions.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::GameError;
use super::meta::stamp;
use super::paths::{DocumentFile, GameStatus};
use super::retention::{SnapshotEntry, SnapshotRetention};
use super::session::Session;
use super::snapshot::SnapshotReason;
use super::writer::turns::replace;
use super::writer::{GameWriter, lock};
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{Durability, Step, Store};

/// The result of completing a session.
#[derive(Debug)]
pub struct CompletionOutcome {
    /// The retention decision for its snapshots.
    pub snapshots: Option<SnapshotRetention>,
    /// Why its snapshots could not be retired. The session is completed all the same; [`retain`](super::retain) can
    /// retire them later.
    pub deferred_error: Option<GameError>,
}

/// Pauses an active session and takes a snapshot.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{GameWriter, NewGame, Session, GameStatus, pause, resume};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?.close(now)?;
/// pause(&store, &id, now)?;
/// assert_eq!(Session::open(Arc::clone(&store), &id)?.status(), GameStatus::Paused);
/// resume(&store, &id, now)?;
/// assert_eq!(Session::open(store, &id)?.status(), GameStatus::Active);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pause(store: &Arc<dyn Store>, id: &SessionId, now: Timestamp) -> Result<(), GameError> {
    GameWriter::open(Arc::clone(store), id)?.pause(now)
}

/// Resumes a paused session.
pub fn resume(store: &Arc<dyn Store>, id: &SessionId, now: Timestamp) -> Result<(), GameError> {
    let writer = lock(store, id)?;
    let session = Session::open(Arc::clone(store), id)?;
    session.must_be(&[GameStatus::Paused], "paused")?;
    let mut meta = session.writable_meta()?;
    let mut steps = Vec::new();
    if session.rules().keeps_metadata() {
        meta.put(&["status"], GameStatus::Active.as_str());
        meta.put(&["lastModified"], &stamp(now));
        steps.push(replace(DocumentFile::Meta.in_dir(&session.dir), meta.to_bytes()));
    }
    steps.push(Step::Rename { from: session.dir, to: GameStatus::Active.session(id) });
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}

/// Completes an active or paused session and takes a snapshot.
///
/// Snapshots that are no longer needed are retired afterwards, see [`SnapshotRetention`].
pub fn complete(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<CompletionOutcome, GameError> {
    let writer = lock(store, id)?;
    let session = Session::open(Arc::clone(store), id)?;
    session.must_be(&[GameStatus::Active, GameStatus::Paused], "active or paused")?;
    GameWriter::with(session, writer)?.complete(now)
}

/// The planned effects of completing a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionPlan {
    /// The directory that the session would move to.
    pub dir: FilePath,
    /// The snapshot that would be taken first, unless the last turn has one.
    pub snapshot: Option<String>,
    /// The retention decision for the snapshots, including the new one.
    pub snapshots: SnapshotRetention,
}

/// Plans [`complete`] without changing anything.
pub fn plan_complete(store: &Arc<dyn Store>, id: &SessionId) -> Result<CompletionPlan, GameError> {
    let session = Session::open(Arc::clone(store), id)?;
    session.must_be(&[GameStatus::Active, GameStatus::Paused], "active or paused")?;
    session.writable_meta()?;
    let mut snapshots = session.snapshots()?;
    let turn = session.turn;
    let has_one = |entry: &SnapshotEntry| entry.turn() == turn && entry.reason.is_some();
    let mut snapshot = None;
    if !snapshots.iter().any(has_one) {
        let file = session.rules().snapshot_file(turn);
        // A snapshot that cannot be read is overwritten.
        snapshots.retain(|entry| entry.file != file);
        snapshots.push(SnapshotEntry { file, reason: Some(SnapshotReason::SessionEnd) });
        snapshot = Some(file.id());
    }
    let dir = GameStatus::Completed.session(id);
    Ok(CompletionPlan { dir, snapshot, snapshots: SnapshotRetention::plan(&snapshots) })
}

impl GameWriter {
    /// Pauses the session and releases it, as [`pause`] does.
    pub fn pause(mut self, now: Timestamp) -> Result<(), GameError> {
        self.change_status(GameStatus::Paused, now)?;
        self.release()
    }

    /// Completes the session and releases it, as [`complete`] does.
    pub fn complete(mut self, now: Timestamp) -> Result<CompletionOutcome, GameError> {
        self.change_status(GameStatus::Completed, now)?;
        let completed = match self.retain() {
            Ok(plan) => CompletionOutcome { snapshots: Some(plan), deferred_error: None },
            Err(error) => CompletionOutcome { snapshots: None, deferred_error: Some(error) },
        };
        self.release()?;
        Ok(completed)
    }

    /// Brings all files up to the last turn and moves the session to its new directory, in one commit.
    fn change_status(&mut self, status: GameStatus, now: Timestamp) -> Result<(), GameError> {
        let rules = self.session.rules();
        if rules.keeps_metadata() {
            self.meta.put(&["status"], status.as_str());
        }
        let mut steps = Vec::new();
        if !self.has_snapshot()? {
            let (reason, with_indexes) = (SnapshotReason::SessionEnd, rules.defers_states());
            steps = self.snapshot_steps(&reason, with_indexes, now)?.1;
        } else if rules.defers_states() {
            steps = self.state_steps(now)?;
            steps.extend(self.index_steps()?);
        }
        let to = status.session(&self.session.id);
        steps.push(Step::Rename { from: self.session.dir.clone(), to: to.clone() });
        self.commit(steps)?;
        (self.session.dir, self.session.status) = (to, status);
        self.session.invalidate_files();
        Ok(())
    }

    /// Returns whether there is a usable snapshot of the last turn. It may have been taken at the end of a scene, and
    /// should keep that reason.
    fn has_snapshot(&self) -> Result<bool, GameError> {
        let file = self.session.rules().snapshot_file(self.session.turn);
        Ok(self.snapshot_of_turn(file, &file.path(&self.session.dir))?.is_some())
    }
}
