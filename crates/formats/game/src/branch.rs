//! Forks and rewinds: [`fork`] starts a new session from any turn, [`rewind`] returns a session to an earlier turn.

mod copy;
mod staged_indexes;
mod totals;
mod truncation;

use std::sync::Arc;

use jiff::Timestamp;

pub(crate) use self::staged_indexes::index_steps;
pub(super) use self::totals::TurnTotals;
pub(super) use self::truncation::Truncation;
use self::truncation::{KeptPart, is_derived};
use super::error::GameError;
use super::meta::{GameMeta, stamp};
use super::paths::{DocumentFile, GameStatus, LogFile, LogKind, archive, join_names, scene_path};
use super::scenes::scenes_at;
use super::session::{Session, find};
use super::state::GameState;
use super::writer::turns::replace;
use super::writer::{lock, lock_with};
use everturn_archive::PackProgress;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_session::marks;
use everturn_session::model::BranchKind;
use everturn_session::session_files::files_below;
use everturn_session::staging::{BATCH_BYTES, StagingDir, build_staged, staging_path};
use everturn_store::{Step, Store, StoreError, Writer};
use everturn_value::document::JsonStyle;

/// Options of [`fork`] and [`rewind`].
#[derive(Debug, Clone)]
pub struct BranchOptions {
    /// The last turn that is kept; defaults to the last turn of the session.
    pub turn: Option<u64>,
    /// The ID of the new session. [`rewind`] picks a free one if there is none.
    pub id: Option<SessionId>,
    /// The maximum size of a commit in bytes, unless a single file or line is larger.
    pub batch: u64,
}

impl BranchOptions {
    /// Options for a new session with this ID that ends with this turn.
    #[must_use]
    pub fn new(id: SessionId, turn: u64) -> BranchOptions {
        BranchOptions { turn: Some(turn), id: Some(id), batch: BATCH_BYTES }
    }

    /// Options for a rewind to a turn. The branch, which keeps all turns, gets a free ID.
    #[must_use]
    pub fn rewind_to(turn: u64) -> BranchOptions {
        BranchOptions { turn: Some(turn), id: None, batch: BATCH_BYTES }
    }
}

/// The result of [`fork`]: a new session that starts with the turns of another.
#[derive(Debug, Clone)]
pub struct GameFork {
    /// The ID of the new session.
    pub id: SessionId,
    /// The last turn of the new session.
    pub turn: u64,
    /// Findings from computing the state at that turn.
    pub findings: Vec<Finding>,
}

/// The result of [`rewind`].
#[derive(Debug, Clone)]
pub struct GameRewind {
    /// The last turn of the session now.
    pub turn: u64,
    /// The paused session that keeps all turns.
    pub branch: SessionId,
    /// Findings from computing the state at that turn.
    pub findings: Vec<Finding>,
}

/// Creates a new, active session from the turns of another, up to a turn.
///
/// The new session has copies of everything; the IDs of events and changes are kept. The source may have any status and
/// is only read, but no other process may write it meanwhile.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{BranchOptions, GameWriter, NewGame, Session, TurnInput, fork};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let mut game = GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?;
/// for _ in 0..3 {
///     game.append(&TurnInput::new("player"), now)?;
/// }
/// game.close(now)?;
/// let other = SessionId::parse("session-other")?;
/// fork(&store, &id, &BranchOptions::new(other.clone(), 2), now, &mut |_| {})?;
/// assert_eq!(Session::open(Arc::clone(&store), &other)?.turn(), 2);
/// assert_eq!(Session::open(store, &id)?.turn(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fork(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &BranchOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<GameFork, GameError> {
    let Some(new) = &how.id else {
        return Err(GameError::input("a fork needs the id of the new session"));
    };
    let source = lock(store, id)?;
    let session = Session::open(Arc::clone(store), id)?;
    let writer = lock_branch(&session, new)?;
    let turn = how.turn.unwrap_or(session.turn);
    let branch = BranchPlan {
        session: &session,
        id: new,
        kind: BranchKind::Fork,
        status: GameStatus::Active,
    };
    let findings = branch.make(&*writer, turn, Vec::new(), how.batch, now, progress)?;
    writer.release()?;
    source.release()?;
    Ok(GameFork { id: new.clone(), turn, findings })
}

/// Rewinds a session to an earlier turn, text and state together.
///
/// Nothing is lost: a paused branch keeps the session as it was. Its ID is `<id>-branch-<last turn>` unless another one
/// is given. The branch is built in the staging directory; one commit renames it into place and truncates the session.
/// The next turn gets the number after `how.turn`.
pub fn rewind(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &BranchOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<GameRewind, GameError> {
    let Some(turn) = how.turn else {
        return Err(GameError::input("a rewind needs a target turn"));
    };
    let (session, name, writer) = lock_with_branch(store, id, how.id.as_ref())?;
    session.must_be(&[GameStatus::Active, GameStatus::Paused], "active or paused")?;
    if turn == session.turn {
        return Err(GameError::input(format!("turn {turn} is already the last turn")));
    }
    let (steps, findings) = plan_truncation(&session, turn, now)?;
    let branch = BranchPlan {
        session: &session,
        id: &name,
        kind: BranchKind::Rewind,
        status: GameStatus::Paused,
    };
    branch.make(&*writer, session.turn, steps, how.batch, now, progress)?;
    writer.release()?;
    Ok(GameRewind { turn, branch: name, findings })
}

/// Locks a session and the branch to be made of it with one writer, so that one commit can change both. A branch
/// without an ID gets the first free name.
fn lock_with_branch(
    store: &Arc<dyn Store>,
    id: &SessionId,
    branch: Option<&SessionId>,
) -> Result<(Session, SessionId, Box<dyn Writer>), GameError> {
    let mut number = 1_u64;
    loop {
        let last = Session::open(Arc::clone(store), id)?.turn;
        let name = match branch {
            Some(name) => name.clone(),
            None => branch_name(id, last, number)?,
        };
        let own = GameStatus::ALL.map(|status| status.session(id));
        // The scopes of the branch come first, so that a busy branch can be distinguished from a busy session.
        let mut scopes = GameStatus::ALL.map(|status| status.session(&name)).to_vec();
        scopes.push(staging_path(&name));
        scopes.extend(own.iter().cloned());
        let writer = match store.lock(&scopes) {
            Ok(writer) => writer,
            Err(StoreError::Busy { scope, .. }) if branch.is_none() && !own.contains(&scope) => {
                number += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let session = Session::open(Arc::clone(store), id)?;
        if branch.is_none() && session.turn != last {
            // Another process has appended turns in between.
            writer.release()?;
            continue;
        }
        match must_be_free(&session, &name) {
            Ok(()) => return Ok((session, name, writer)),
            Err(GameError::Taken { .. }) if branch.is_none() => {
                writer.release()?;
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the name of the branch that a rewind makes; the first one has no number.
fn branch_name(id: &SessionId, last: u64, number: u64) -> Result<SessionId, GameError> {
    let name = match number {
        1 => format!("{id}-branch-{last}"),
        _ => format!("{id}-branch-{last}-{number}"),
    };
    Ok(SessionId::parse(&name)?)
}

/// Locks a session that is to be made from another; its ID must be free.
fn lock_branch(session: &Session, id: &SessionId) -> Result<Box<dyn Writer>, GameError> {
    if *id == session.id {
        return Err(GameError::Taken { id: id.clone(), place: session.dir.clone() });
    }
    let writer = lock_with(&session.store, id, &[staging_path(id)])?;
    must_be_free(session, id)?;
    Ok(writer)
}

/// Fails if a session with this ID exists, also in an archive.
fn must_be_free(session: &Session, id: &SessionId) -> Result<(), GameError> {
    let (store, archived) = (&session.store, archive(id)?);
    let place = match find(store, id)? {
        Some(status) => Some(status.session(id)),
        None => store.stat(&archived)?.map(|_| archived),
    };
    match place {
        Some(place) => Err(GameError::Taken { id: id.clone(), place }),
        None => Ok(()),
    }
}

/// Returns the steps for the current log files that have no lines: other programs expect them to exist.
fn empty_logs(session: &Session, cut: &Truncation, dir: &FilePath) -> Vec<Step> {
    if !session.rules().renames_full_logs() {
        return Vec::new();
    }
    let first = cut.current_turns();
    let is_kept = |log: LogKind, file: LogFile| {
        let mut logs = cut.logs.iter().filter(|end| end.log == log && end.name == file);
        logs.any(|end| end.left != KeptPart::Nothing)
    };
    let logs = [LogKind::Turns, LogKind::Deltas].map(|log| (log, LogFile::current(log, first)));
    let empty = logs.into_iter().filter(|(log, file)| !is_kept(*log, *file));
    empty.map(|(log, file)| replace(file.path(log, dir), Vec::new())).collect()
}

/// Returns the steps that put the files of scenes back to how they were at the turn.
fn scene_files(
    session: &Session,
    cut: &Truncation,
    dir: &FilePath,
) -> Result<Vec<Step>, GameError> {
    if !session.rules().has_scene_files() || cut.turn == session.turn {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for (id, scene) in scenes_at(session, cut.turn)? {
        let path = scene_path(dir, &SceneId::parse(&id)?)?;
        steps.push(replace(path, scene.to_text(&JsonStyle::PRETTY_RAW).into_bytes()));
    }
    Ok(steps)
}

/// Returns the steps for files derived from the logs: states, metadata, and marks of later turns.
fn derived_files(
    session: &Session,
    cut: &Truncation,
    dir: &FilePath,
    state: &GameState,
    now: Timestamp,
    change: impl FnOnce(&mut GameMeta),
) -> Result<Vec<Step>, GameError> {
    let mut meta = session.writable_meta()?;
    let mut steps = scene_files(session, cut, dir)?;
    let states = session.rules().truncated_files(session, cut, dir, state, &mut meta, now)?;
    // The current scene is written with the states.
    let written: Vec<FilePath> = states.iter().flat_map(Step::paths).cloned().collect();
    steps.retain(|step| !step.paths().into_iter().any(|path| written.contains(path)));
    steps.extend(states);
    steps.extend(empty_logs(session, cut, dir));
    let marked = marks::truncated_marks(&session.store, &session.dir, cut.turn)?;
    steps.extend(marked.map(|bytes| replace(marks::marks_file(dir), bytes)));
    let before = meta.to_bytes();
    change(&mut meta);
    let bytes = meta.to_bytes();
    if session.rules().keeps_metadata() || bytes != before {
        steps.push(replace(DocumentFile::Meta.in_dir(dir), bytes));
    }
    Ok(steps)
}

/// Returns the steps that truncate a session to a turn, and the findings from computing its state.
fn plan_truncation(
    session: &Session,
    turn: u64,
    now: Timestamp,
) -> Result<(Vec<Step>, Vec<Finding>), GameError> {
    let cut = Truncation::find(session, turn)?;
    let moment = session.state_at(turn)?;
    let mut steps = derived_files(session, &cut, &session.dir, &moment.state, now, |_| {})?;
    for end in &cut.logs {
        let to = end.name.path(end.log, &session.dir);
        match end.left {
            KeptPart::All => {}
            KeptPart::Start(len) => {
                let mut bytes = session.store.read(&end.path, 0..len)?;
                if bytes.last() != Some(&b'\n') {
                    bytes.push(b'\n');
                }
                if to != end.path {
                    steps.push(Step::Remove { path: end.path.clone() });
                }
                steps.push(replace(to, bytes));
            }
            KeptPart::Nothing => steps.push(Step::Remove { path: end.path.clone() }),
        }
    }
    for file in copy::files_of(session)? {
        let is_log = cut.logs.iter().any(|end| end.path == file.path);
        if !is_log && !is_derived(session, &file.path) && !cut.keeps(session, &file.path)? {
            steps.push(Step::Remove { path: file.path });
        }
    }
    for path in files_below(&session.store, &join_names(&session.dir, &["indexes"]))? {
        steps.push(Step::Remove { path });
    }
    let steps = drop_redundant_removals(steps);
    let indexes = index_steps(&session.store, &session.id, session.status, &session.dir, &steps)?;
    Ok((drop_redundant_removals([steps, indexes].concat()), moment.findings))
}

/// Drops removals of files that the same commit replaces.
fn drop_redundant_removals(steps: Vec<Step>) -> Vec<Step> {
    let written: Vec<FilePath> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Replace { file, .. } => Some(file.clone()),
            _ => None,
        })
        .collect();
    let stays = |step: &Step| !matches!(step, Step::Remove { path } if written.contains(path));
    steps.into_iter().filter(stays).collect()
}

/// A session that is to be made from another.
struct BranchPlan<'a> {
    session: &'a Session,
    id: &'a SessionId,
    kind: BranchKind,
    status: GameStatus,
}

impl BranchPlan<'_> {
    /// Creates the branch. It is invisible until the last commit, which includes `with`, and durable on return.
    fn make(
        &self,
        writer: &dyn Writer,
        turn: u64,
        with: Vec<Step>,
        batch: u64,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Vec<Finding>, GameError> {
        let session = self.session;
        session.writable_meta()?;
        let cut = Truncation::find(session, turn)?;
        let moment =
            if turn == session.turn { session.resume()? } else { session.state_at(turn)? };
        let dir = staging_path(self.id);
        let change = |meta: &mut GameMeta| self.describe(meta, turn, now);
        let last = derived_files(session, &cut, &dir, &moment.state, now, change)?;
        let copies = copy::plan(session, &cut, &dir, &last)?;
        let total = copies.iter().map(|copy| copy.len).sum();
        build_staged(&session.store, writer, self.id, || {
            let mut staging =
                StagingDir::begin(&session.store, writer, self.id, batch, total, progress)?;
            for copy in &copies {
                staging.copy(&copy.from, &copy.to, copy.len, copy.content)?;
            }
            staging.flush()?;
            let indexes = index_steps(&session.store, self.id, self.status, &dir, &last)?;
            let steps = [last, indexes, with].concat();
            staging.finish(self.status.session(self.id), steps)?;
            Ok::<_, GameError>(moment.findings)
        })
    }

    /// Sets the fields of the metadata that describe the new session.
    fn describe(&self, meta: &mut GameMeta, turn: u64, now: Timestamp) {
        if self.session.rules().keeps_metadata() {
            meta.put(&["sessionId"], self.id.as_str());
            meta.put(&["created"], &stamp(now));
            meta.put(&["status"], self.status.as_str());
        }
        let (parent, kind) = (self.session.id.as_str(), self.kind.as_str());
        meta.put(&["lineage"], &serde_json::json!({"parent": parent, "turn": turn, "kind": kind}));
    }
}
