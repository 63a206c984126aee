//! A session that is played: turns are appended, and what follows from them is kept up.

mod create;
pub(super) mod indexing;
mod scenes;
pub(super) mod turns;
pub(super) mod upkeep;

use std::sync::Arc;

use jiff::Timestamp;

use super::changes::ChangeLine;
use super::error::GameError;
use super::form::Form;
use super::indexes::Indexes;
use super::log::{Piece, Rows};
use super::meta::Meta;
use super::names::{Log, Status};
use super::scenes::{NewScene, SceneEnd};
use super::session::{OfTurn, Session};
use super::snapshot::Reason;
use super::state::State;
use crate::finding::Finding;
use crate::names::{FilePath, SceneId, SessionId};
use crate::store::{Durability, Receipt, Step, Store, StoreError, Writer};
use crate::tree::Tree;

pub(crate) use turns::LONGEST_PAUSE;
pub(crate) use upkeep::SNAPSHOT_TURNS;

/// How many turns, and how many bytes, a file of a log takes before the next one is begun.
pub(crate) const TURNS_PER_FILE: u64 = 100;
pub(crate) const BYTES_PER_FILE: u64 = 1 << 20;

/// A session in the hands of its one writer.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn::game::{GameWriter, NewSession, Scope, TurnInput};
/// use everturn::names::SessionId;
/// use everturn::store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let mut game = GameWriter::create(store, &NewSession::new(id), now)?;
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
    pub(super) meta: Meta,
    pub(super) state: State,
    /// The turn that the state files show.
    pub(super) state_turn: u64,
    turns: Tape,
    deltas: Tape,
    /// When the last turn was, in milliseconds.
    last_time: Option<i64>,
    /// The time in the game.
    game_time: Tree,
    /// The indexes up to the last turn, once somebody has needed them.
    indexes: Option<Indexes>,
    findings: Vec<Finding>,
}

/// The file at the end of a log.
#[derive(Debug, Clone, Copy)]
struct Tape {
    /// The first turn it is about.
    first: u64,
    bytes: u64,
}

/// What became of a turn.
#[derive(Debug, Clone)]
pub struct Appended {
    /// The number that the turn got.
    pub turn: u64,
    /// The ids of its events.
    pub events: Vec<String>,
    /// The snapshot that followed, if one was due.
    pub snapshot: Option<String>,
    /// What was noticed on the way.
    pub findings: Vec<Finding>,
    /// Why states, snapshots or indexes could not be written although they were due. The turn is safe, and
    /// they are tried again with the next one.
    pub overdue: Option<GameError>,
}

/// Becomes the one writer of a session, whatever its status is or becomes.
pub(crate) fn lock(store: &Arc<dyn Store>, id: &SessionId) -> Result<Box<dyn Writer>, StoreError> {
    lock_with(store, id, &[])
}

/// As [`lock`], with other places that are to be written in the same commits.
pub(crate) fn lock_with(
    store: &Arc<dyn Store>,
    id: &SessionId,
    others: &[FilePath],
) -> Result<Box<dyn Writer>, StoreError> {
    let own = Status::ALL.iter().map(|status| status.session(id));
    let scopes: Vec<FilePath> = own.chain(others.iter().cloned()).collect();
    store.lock(&scopes)
}

impl GameWriter {
    /// Opens a session to play on. It must be active; [`resume`](super::resume) makes a paused one so.
    pub fn open(store: Arc<dyn Store>, id: &SessionId) -> Result<GameWriter, GameError> {
        let writer = lock(&store, id)?;
        let session = Session::open(store, id)?;
        if session.status != Status::Active {
            let (id, status, wanted) = (id.clone(), session.status, "active");
            return Err(GameError::Status { id, status, wanted });
        }
        GameWriter::with(session, writer)
    }

    /// Goes on with a session that is locked, whatever its status.
    pub(crate) fn with(session: Session, writer: Box<dyn Writer>) -> Result<GameWriter, GameError> {
        let meta = session.writable_meta()?;
        let logged = session.last_logged_turn()?;
        if logged != session.turn {
            let file = super::names::Document::Meta.in_dir(&session.dir);
            let reason = format!(
                "it says that turn {} was the last, but the log of turns ends with {logged}",
                session.turn
            );
            return Err(GameError::damaged(&file, reason));
        }
        let moment = session.resume()?;
        let (turns, deltas) = (tape(&session, Log::Turns)?, tape(&session, Log::Deltas)?);
        let (state, game_time) = match session.form {
            Form::Documented => (moment.state.unstamped(), last_game_time(&session)?),
            Form::Program => (moment.state, Tree::null()),
        };
        let stored = meta.number(&["stateFiles", "turnId"]).unwrap_or(session.turn);
        Ok(GameWriter {
            state_turn: stored,
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
        })
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.session.id
    }

    /// The session as readers see it.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The last turn.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.session.turn
    }

    /// The state after the last turn.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was noticed when the session was opened.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Begins a scene; one that is still going on ends first.
    pub fn start_scene(
        &mut self,
        scene: &NewScene,
        now: Timestamp,
    ) -> Result<(SceneId, Appended), GameError> {
        let id = match &scene.id {
            Some(id) => id.clone(),
            None => self.next_scene_id()?,
        };
        self.must_be_new(&id)?;
        // Nothing but the disk can keep the new one from beginning now.
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

    /// Ends the scene that is going on.
    pub fn end_scene(&mut self, end: &SceneEnd, now: Timestamp) -> Result<Appended, GameError> {
        let Some(scene) = self.active_scene() else {
            return Err(GameError::input("there is no scene that could end"));
        };
        let mut turn = end.turn(&scene, self.turn() + 1, &self.game_time);
        if let Some(ended) = &end.ended {
            turn.game_time = Some(ended.clone());
        }
        self.append(&turn, now)
    }

    /// The scene that is going on.
    fn active_scene(&self) -> Option<Tree> {
        let scene = &self.state.scene;
        (scene.string_at(&["status"]).as_deref() == Some("active")).then(|| scene.clone())
    }

    fn next_scene_id(&self) -> Result<SceneId, GameError> {
        let mut count = self.meta.number(&["stats", "totalScenes"]).unwrap_or(0);
        loop {
            count += 1;
            let id = SceneId::parse(&super::names::scene_name(count))?;
            let place = super::names::scene_path(&self.session.dir, &id)?;
            if self.session.store.stat(&place)?.is_none() {
                return Ok(id);
            }
        }
    }

    /// Takes a snapshot now.
    pub fn snapshot(&mut self, now: Timestamp) -> Result<String, GameError> {
        self.take_snapshot(&Reason::Manual, false, now)
    }

    /// Writes what is due and gives the session back.
    pub fn close(mut self, now: Timestamp) -> Result<(), GameError> {
        self.write_all(now)?;
        Ok(self.writer.release()?)
    }

    /// Gives the session back as it is: the changes since the states were written are applied by whoever
    /// opens it next.
    pub fn release(self) -> Result<(), GameError> {
        Ok(self.writer.release()?)
    }

    pub(super) fn commit(&self, steps: Vec<Step>) -> Result<Receipt, StoreError> {
        self.writer.commit(steps, Durability::Synced)
    }
}

/// The time in the game after the last turn.
fn last_game_time(session: &Session) -> Result<Tree, GameError> {
    let last = session.turns(session.turn, session.turn)?.last().transpose()?;
    Ok(last.and_then(|turn| turn.raw.at(&["gameTime"])).unwrap_or_else(Tree::null))
}

/// The end of a log as the files have it.
fn tape(session: &Session, log: Log) -> Result<Tape, GameError> {
    let files = session.files()?;
    let last = files.log(log).last().filter(|(file, _)| file.last.is_none());
    let bytes = match last {
        Some((_, path)) => session.store.stat(path)?.map_or(0, |stat| stat.len),
        None => 0,
    };
    if let Some(first) = last.and_then(|(file, _)| file.first) {
        return Ok(Tape { first, bytes });
    }
    // While a file has no lines, its first turn moves on as if it were renamed each time it would be full.
    let mut begun = None;
    if let Some((_, path)) = last {
        for piece in Rows::open(&session.store, path, 0..u64::MAX, ChangeLine::parse)? {
            if let Piece::Row(change, _) = piece? {
                begun = Some(change.of_turn());
                break;
            }
        }
    }
    let first = files.last_closed(log).max(session.first_turn()?) + 1;
    let passed = begun.unwrap_or(session.turn + 1).saturating_sub(first);
    Ok(Tape { first: first + passed / TURNS_PER_FILE * TURNS_PER_FILE, bytes })
}
