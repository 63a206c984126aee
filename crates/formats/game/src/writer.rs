//! The writer of a session: [`GameWriter`] appends turns and keeps derived data up to date.

mod create;
mod held;
pub(super) mod indexing;
mod lost_turn;
pub(super) mod maintenance;
mod scenes;
pub(super) mod turns;

use std::cell::Cell;
use std::sync::Arc;

use jiff::Timestamp;

use super::changes::ChangeLine;
use super::error::GameError;
use super::indexes::Indexes;
use super::log::{LogItem, RecordLog};
use super::meta::GameMeta;
use super::paths::{GameStatus, LogKind};
use super::scenes::{NewScene, SceneEnd, scene_id_of};
use super::session::{HasTurn, Session};
use super::snapshot::SnapshotReason;
use super::state::GameState;
use super::state_source::is_doubtful;
use super::turn::TurnRecord;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_store::{CommitReceipt, Durability, Step, Store, StoreError, Writer};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::JsonTree;
use held::HeldCommits;

pub(crate) use maintenance::SNAPSHOT_TURNS;
pub(crate) use turns::LONGEST_PAUSE;

/// The maximum number of turns and bytes in a log file before the next one is started.
pub(crate) const TURNS_PER_FILE: u64 = 100;
pub(crate) const BYTES_PER_FILE: u64 = 1 << 20;

/// The only writer of a session.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{GameWriter, NewGame, Scope, TurnInput};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let mut game = GameWriter::create(store, &NewGame::new(id), now)?;
/// let turn = r#"{"actor": "player", "events": [{"type": "move", "description": "You go."}],
///     "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "npcs.luna.trust", "value": 5}]}]}"#;
/// let done = game.append(&TurnInput::parse(turn)?, now)?;
/// assert_eq!(done.turn, 1);
/// assert_eq!(game.state().world.text_at(&["npcs", "luna", "trust"]).as_deref(), Some("5"));
/// game.close(now)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GameWriter {
    pub(super) session: Session,
    pub(super) writer: Box<dyn Writer>,
    pub(super) meta: GameMeta,
    pub(super) state: GameState,
    /// The turn of the state files.
    pub(super) state_turn: u64,
    /// The state after the last turn of a session that another program has written, until the next turn is stored.
    pub(super) foreign_base: Option<GameState>,
    pub(super) turns: LogSegment,
    pub(super) deltas: LogSegment,
    /// The time of the last turn in milliseconds.
    pub(super) last_time: Option<i64>,
    /// The game time.
    game_time: JsonTree,
    /// The indexes up to the last turn, loaded on demand.
    indexes: Option<Indexes>,
    findings: Vec<Finding>,
    /// Whether something was stored since the session was opened.
    has_stored: Cell<bool>,
    /// The commits that are held back, while the last turn before the session is closed is stored.
    held: Option<HeldCommits>,
    /// Whether everything that closing the session writes was written after the last turn.
    is_complete: Cell<bool>,
    /// Whether the last turn could not be stored although this writer counts it.
    is_lost: bool,
}

/// The last file of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogSegment {
    /// Its first turn.
    pub(super) first: u64,
    pub(super) bytes: u64,
}

/// The result of storing a turn.
#[derive(Debug, Clone)]
pub struct TurnOutcome {
    /// The turn number.
    pub turn: u64,
    /// The IDs of its events.
    pub events: Vec<String>,
    /// The ID of the snapshot that followed, if one was due.
    pub snapshot: Option<String>,
    /// Findings from storing it.
    pub findings: Vec<Finding>,
    /// Why states, snapshots or indexes could not be written although they were due. The turn is durable, and they are
    /// retried with the next one.
    pub deferred_error: Option<GameError>,
}

/// Locks a session for writing in every status directory.
pub(crate) fn lock(store: &Arc<dyn Store>, id: &SessionId) -> Result<Box<dyn Writer>, StoreError> {
    lock_with(store, id, &[])
}

/// As [`lock`], with other scopes that are to be written in the same commits.
pub(crate) fn lock_with(
    store: &Arc<dyn Store>,
    id: &SessionId,
    others: &[FilePath],
) -> Result<Box<dyn Writer>, StoreError> {
    let own = GameStatus::ALL.iter().map(|status| status.session(id));
    let scopes: Vec<FilePath> = own.chain(others.iter().cloned()).collect();
    store.lock(&scopes)
}

impl GameWriter {
    /// Opens a session for appending. It must be active; [`resume`](super::resume) activates a paused one.
    pub fn open(store: Arc<dyn Store>, id: &SessionId) -> Result<GameWriter, GameError> {
        let writer = lock(&store, id)?;
        let session = Session::open(store, id)?;
        if session.status != GameStatus::Active {
            let (id, status, wanted) = (id.clone(), session.status, "active");
            return Err(GameError::Status { id, status, wanted });
        }
        GameWriter::with(session, writer)
    }

    /// Continues a session that is already locked, whatever its status.
    pub(crate) fn with(session: Session, writer: Box<dyn Writer>) -> Result<GameWriter, GameError> {
        GameWriter::with_edits(session, writer, &[])
    }

    /// As [`GameWriter::with`], although these state files are not as Everturn wrote them.
    pub(crate) fn with_edits(
        mut session: Session,
        writer: Box<dyn Writer>,
        edited: &[FilePath],
    ) -> Result<GameWriter, GameError> {
        let mut meta = session.writable_meta()?;
        session.require_logs()?;
        let logged = session.last_logged_turn()?;
        let is_torn = session.rules().keeps_metadata() && logged + 1 == session.turn;
        let is_foreign = session.rules().defers_states() && session.noted_states().is_none();
        if logged != session.turn && !is_torn {
            let file = super::paths::DocumentFile::Meta.in_dir(&session.dir);
            let reason = format!(
                "it records turn {} as the last, but the turn log ends with {logged}",
                session.turn
            );
            return Err(GameError::damaged(&file, reason));
        }
        let moment = session.resume()?;
        let is_known = |finding: &Finding| edited.contains(&finding.file);
        let mut doubts = moment.findings.iter().filter(|finding| is_doubtful(finding));
        if let Some(finding) = doubts.find(|finding| !is_known(finding)) {
            return Err(GameError::damaged(&finding.file, &finding.message));
        }
        let (turns, deltas) =
            (last_segment(&session, LogKind::Turns)?, last_segment(&session, LogKind::Deltas)?);
        let last = last_row(&session)?;
        let told = last.as_ref().and_then(|turn| turn.raw.value_at(&["gameTime"]));
        let game_time = told.unwrap_or_else(|| noted_game_time(&meta));
        let rules = session.rules();
        let state = rules.prepare_writing(&mut session, &mut meta, moment.state, last.as_ref())?;
        let mut game = GameWriter {
            state_turn: session.noted_states().unwrap_or(session.turn),
            foreign_base: is_foreign.then(|| state.clone()),
            state,
            last_time: meta
                .number(&["stats", "lastTurnTime"])
                .and_then(|time| i64::try_from(time).ok()),
            game_time,
            turns,
            deltas,
            meta,
            writer,
            session,
            indexes: None,
            findings: moment.findings,
            has_stored: Cell::new(false),
            held: None,
            is_complete: Cell::new(false),
            is_lost: false,
        };
        if is_torn {
            game.restore_lost_line()?;
        }
        Ok(game)
    }

    /// Returns the session's ID.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.session.id
    }

    /// Returns the session as readers see it.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the last turn.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.session.turn
    }

    /// Returns the state after the last turn.
    #[must_use]
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// Returns the findings from opening the session.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Starts a scene; an active one ends first.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use everturn_game::{GameWriter, NewScene, NewGame, SceneEnd};
    /// use everturn_json::names::SessionId;
    /// use everturn_store::{MemoryStore, Store};
    ///
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    /// let now = "2026-01-01T10:00:00Z".parse()?;
    /// let id = SessionId::parse("session-abc123")?;
    /// let mut game = GameWriter::create(store, &NewGame::new(id), now)?;
    /// let (scene, begun) = game.start_scene(&NewScene::new("exploration"), now)?;
    /// assert_eq!((scene.as_str(), begun.turn), ("scene-001", 1));
    /// assert_eq!(game.end_scene(&SceneEnd::default(), now)?.turn, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_scene(
        &mut self,
        scene: &NewScene,
        now: Timestamp,
    ) -> Result<(SceneId, TurnOutcome), GameError> {
        let id = match &scene.id {
            Some(id) => id.clone(),
            None => self.next_scene_id(now)?,
        };
        self.must_be_new(&id)?;
        // From here on, only a failing disk can keep the new scene from starting.
        if self.active_scene().is_some() {
            self.end_scene(&SceneEnd::default(), now)?;
        }
        let session = self.session.id.as_str().to_owned();
        let document = scene.document(&id, &session, self.turn() + 1, &self.game_time);
        let mut turn = scene.turn(&id, document);
        if let Some(started) = &scene.started {
            turn.game_time = Some(started.clone());
        }
        Ok((id, self.append(&turn, now)?))
    }

    /// Ends the active scene.
    pub fn end_scene(&mut self, end: &SceneEnd, now: Timestamp) -> Result<TurnOutcome, GameError> {
        let Some(mut scene) = self.active_scene() else {
            return Err(GameError::input("there is no open scene"));
        };
        if let Some(id) = self.scene_id().filter(|_| scene.value_at(&["sceneId"]).is_none()) {
            // A scene without a file does not have it.
            let own = Delta::set(DeltaPath::array(["sceneId"]), super::meta::tree(&id));
            drop(own.apply(&mut scene));
        }
        let mut turn = end.turn(&scene, self.turn() + 1, &self.game_time);
        if let Some(ended) = &end.ended {
            turn.game_time = Some(ended.clone());
        }
        self.append(&turn, now)
    }

    /// Returns the active scene.
    fn active_scene(&self) -> Option<JsonTree> {
        let rules = self.session.rules();
        let scene = rules.scene(&self.state);
        rules.is_active_scene(&scene).then_some(scene)
    }

    /// Returns the ID of the last scene.
    pub(crate) fn scene_id(&self) -> Option<String> {
        let rules = self.session.rules();
        let own = scene_id_of(&rules.scene(&self.state));
        if rules.has_scene_files() {
            return own;
        }
        own.or_else(|| self.meta.text(&["current", "sceneId"]))
    }

    fn next_scene_id(&self, now: Timestamp) -> Result<SceneId, GameError> {
        self.session.rules().next_scene_id(self, now)
    }

    /// Takes a snapshot now.
    pub fn snapshot(&mut self, now: Timestamp) -> Result<String, GameError> {
        self.take_snapshot(&SnapshotReason::Manual, false, now)
    }

    /// Writes pending derived data and releases the session.
    pub fn close(mut self, now: Timestamp) -> Result<(), GameError> {
        // Derived data of an earlier writer are completed without a change of the session's time.
        let modified = self.meta.tree.string_at(&["lastModified"]);
        let modified = modified.and_then(|time| time.parse().ok()).unwrap_or(now);
        if self.is_complete.get() || self.is_lost {
            return self.release();
        }
        self.write_all(if self.has_stored.get() { now } else { modified })?;
        Ok(self.writer.release()?)
    }

    /// Releases the session as it is: the next writer applies the changes since the states were written when it opens
    /// the session.
    pub fn release(self) -> Result<(), GameError> {
        Ok(self.writer.release()?)
    }

    pub(super) fn commit(&self, steps: Vec<Step>) -> Result<CommitReceipt, StoreError> {
        let receipt = match &self.held {
            Some(held) => held.hold(&*self.session.store, steps)?,
            None => self.writer.commit(steps, Durability::Synced)?,
        };
        self.has_stored.set(true);
        self.is_complete.set(false);
        Ok(receipt)
    }
}

/// Returns the row of the last turn, if it exists.
fn last_row(session: &Session) -> Result<Option<TurnRecord>, GameError> {
    let (first, last) = if session.rules().repeats_turns() {
        (session.turn.saturating_sub(1) / TURNS_PER_FILE * TURNS_PER_FILE + 1, u64::MAX - 1)
    } else {
        (session.turn, session.turn)
    };
    session.turns(first, last)?.last().transpose()
}

/// Returns the game time, as far as the metadata have it.
fn noted_game_time(meta: &GameMeta) -> JsonTree {
    let noted = |key: &str| meta.tree.value_at(&["current", key]).unwrap_or_else(JsonTree::null);
    let (day, time) = (noted("gameDay"), noted("gameTimeOfDay"));
    if day.is_null() && time.is_null() {
        return JsonTree::null();
    }
    let text = format!("{{\"day\":{},\"timeOfDay\":{}}}", day.to_line(), time.to_line());
    JsonTree::parse(text).unwrap_or_else(|_| JsonTree::null())
}

/// Returns the last segment of a log, determined from its files.
fn last_segment(session: &Session, log: LogKind) -> Result<LogSegment, GameError> {
    let files = session.files()?;
    let last = files.log(log).last().filter(|(file, _)| file.last.is_none());
    let bytes = match last {
        Some((_, path)) => session.store.stat(path)?.map_or(0, |stat| stat.len),
        None => 0,
    };
    if let Some(first) = last.and_then(|(file, _)| file.first) {
        return Ok(LogSegment { first, bytes });
    }
    // While a file has no lines, its first turn advances as if it were renamed each time it would be full.
    let mut begun = None;
    if let Some((_, path)) = last {
        for piece in RecordLog::open(&session.store, path, 0..u64::MAX, ChangeLine::parse)? {
            if let LogItem::Row(change, _) = piece? {
                begun = Some(change.turn_number());
                break;
            }
        }
    }
    let first = files.last_closed(log).max(session.first_turn()?) + 1;
    let passed = begun.unwrap_or(session.turn + 1).saturating_sub(first);
    Ok(LogSegment { first: first + passed / TURNS_PER_FILE * TURNS_PER_FILE, bytes })
}
