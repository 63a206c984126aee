//! The state at any turn: [`StateAt`] is one state, [`Replay`] yields turn after turn with the state after each.

use super::changes::{ChangeLine, ChangeRecord, DeltaGroup};
use super::error::GameError;
use super::session::{HasTurn, LocatedRecord, LogRows, Session};
use super::snapshot::{self, Snapshot};
use super::state::{GameState, Scope};
use super::state_source;
use super::turn::{OWN, TurnRecord};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::model::turn_precedes;
use everturn_store::StoreError;
use everturn_value::delta::{Delta, DeltaError, DeltaOp};
use everturn_value::tree::{TextSlice, ValueKind};

/// The state at a turn, and the findings from computing it.
#[derive(Debug, Clone)]
pub struct StateAt {
    /// The turn.
    pub turn: u64,
    /// The state after it.
    pub state: GameState,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// How often reading is retried while another process changes the session.
const TRIES: usize = 5;

impl Session {
    /// Returns the state after the last turn: the state files plus the changes since they were written.
    ///
    /// Files that are missing, damaged, modified by another program, or of an unknown turn are not trusted. The state
    /// then comes from the newest good snapshot and the changes.
    pub fn resume(&self) -> Result<StateAt, GameError> {
        self.with_retries(|| state_source::last_state(self))
    }

    /// Returns the state after `turn`: the newest snapshot at or before it plus the changes since. If there is none,
    /// takes the nearest later state and reverts the changes after `turn`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use everturn_game::{GameWriter, NewGame, Session, TurnInput};
    /// use everturn_json::names::SessionId;
    /// use everturn_store::{MemoryStore, Store};
    ///
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    /// let now = "2026-01-01T10:00:00Z".parse()?;
    /// let id = SessionId::parse("session-abc123")?;
    /// let mut game = GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?;
    /// for hp in [3, 2] {
    ///     let turn = format!(
    ///         r#"{{"actor": "player", "deltas": [{{"scope": "player",
    ///             "deltas": [{{"op": "set", "path": "hp", "value": {hp}}}]}}]}}"#
    ///     );
    ///     game.append(&TurnInput::parse(&turn)?, now)?;
    /// }
    /// game.close(now)?;
    /// let moment = Session::open(store, &id)?.state_at(1)?;
    /// assert_eq!(moment.state.player.text_at(&["hp"]).as_deref(), Some("3"));
    /// assert!(moment.findings.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state_at(&self, turn: u64) -> Result<StateAt, GameError> {
        let first = self.first_turn()?;
        if turn < first || turn > self.turn {
            return Err(GameError::NoTurn { turn, first, last: self.turn });
        }
        self.with_retries(|| {
            let mut findings = Vec::new();
            if let Some(mut state) = self.by_snapshot(turn, &mut findings)? {
                state_source::take_scene(self, &mut state, turn)?;
                return Ok(StateAt { turn, state, findings });
            }
            let (from, mut state) = self.later_state(turn, &mut findings)?;
            self.revert_to(&mut state, from, turn, &mut findings)?;
            state_source::take_scene(self, &mut state, turn)?;
            Ok(StateAt { turn, state, findings })
        })
    }

    /// Computes the state after `turn` from the newest good snapshot at or before it, if there is one.
    ///
    /// Everturn always writes snapshots with checksums; other programs may not. In a session of Everturn, a snapshot
    /// without them is used only if there is no other.
    pub(crate) fn by_snapshot(
        &self,
        turn: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<GameState>, GameError> {
        let mut plain = None;
        for (_, path) in self.files()?.snapshots_until(turn) {
            match self.load_snapshot(path)? {
                Err(finding) => findings.push(finding),
                Ok(snapshot) if self.has_checksums(snapshot.turn) && !snapshot.summed => {
                    let message =
                        "it has no checksums, and is used only if there is no other snapshot";
                    findings.push(Finding::new(path, FindingCode::BadSnapshot, message.to_owned()));
                    plain.get_or_insert(snapshot);
                }
                Ok(snapshot) => return self.after(snapshot, turn, findings).map(Some),
            }
        }
        plain.map(|snapshot| self.after(snapshot, turn, findings)).transpose()
    }

    /// Returns whether Everturn has written the states of a turn, and therefore also a snapshot of it, with checksums.
    /// Older snapshots may come from another program.
    pub(crate) fn has_checksums(&self, turn: u64) -> bool {
        let adopted = self.meta.as_ref().and_then(|meta| meta.number(&["stateFiles", "adoptedAt"]));
        let noted = self.noted_states().is_some() && self.rules().keeps_metadata();
        noted && adopted.is_none_or(|adopted| turn > adopted)
    }

    /// Returns the state after `turn`, starting from a snapshot.
    fn after(
        &self,
        snapshot: Snapshot,
        turn: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<GameState, GameError> {
        let mut state = snapshot.state;
        self.advance(&mut state, snapshot.turn, turn, findings)?;
        Ok(state)
    }

    /// Returns the nearest known state after `turn`, and its turn.
    fn later_state(
        &self,
        turn: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<(u64, GameState), GameError> {
        // If turn numbers restart, a snapshot says nothing about the turns before it.
        if !self.rules().repeats_turns() {
            for (_, path) in self.files()?.snapshots.iter().filter(|(file, _)| file.turn > turn) {
                match self.load_snapshot(path)? {
                    Err(finding) => findings.push(finding),
                    Ok(snapshot) => return Ok((snapshot.turn, snapshot.state)),
                }
            }
        }
        let moment = self.resume()?;
        findings.extend(moment.findings);
        Ok((self.turn, moment.state))
    }

    /// Returns the first turn whose state is available: the turn before the first one in the log.
    pub fn first_turn(&self) -> Result<u64, GameError> {
        let files = self.files()?;
        let logged = files.turns.iter().filter_map(|(file, _)| file.first).min();
        let snapshot = files.snapshots.first().map(|(file, _)| file.turn);
        let logged = logged.map(|first| first.saturating_sub(1));
        Ok(snapshot.into_iter().chain(logged).min().unwrap_or(0))
    }

    /// Retries an operation that reads several files if some of them were renamed meanwhile.
    fn with_retries<T>(
        &self,
        mut work: impl FnMut() -> Result<T, GameError>,
    ) -> Result<T, GameError> {
        for _ in 1..TRIES {
            match work() {
                Err(GameError::Store(StoreError::Missing { .. })) => self.invalidate_files(),
                other => return other,
            }
        }
        work()
    }

    /// Loads a snapshot; returns a finding if it is damaged.
    pub(crate) fn load_snapshot(
        &self,
        path: &FilePath,
    ) -> Result<Result<Snapshot, Finding>, GameError> {
        let name = path.name().map(|name| name.to_string()).unwrap_or_default();
        let Some(file) = super::paths::SnapshotFile::parse(&name) else {
            return Err(GameError::damaged(path, "its name is not a snapshot name"));
        };
        let bytes = self.store.read(path, 0..u64::MAX)?;
        Ok(snapshot::read(file, bytes).map_err(|reason| {
            Finding::new(
                path,
                FindingCode::BadSnapshot,
                format!("the snapshot cannot be used: {reason}"),
            )
        }))
    }

    /// Applies the changes after `from`, up to and including `to`.
    pub(crate) fn advance(
        &self,
        state: &mut GameState,
        from: u64,
        to: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<(), GameError> {
        if from >= to {
            return Ok(());
        }
        let mut rows = self.changes_after(from, to)?;
        while let Some(row) = rows.next_line() {
            let (change, file, line) = row?;
            if let Err(error) = change.apply(state) {
                findings.push(bad_change(&file, &line, &error));
            }
        }
        findings.append(&mut rows.findings);
        Ok(())
    }

    /// Reverts the changes after `to`, starting from the state after `from`.
    fn revert_to(
        &self,
        state: &mut GameState,
        from: u64,
        to: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<(), GameError> {
        let repeats_turns = self.rules().repeats_turns();
        let mut rows = if repeats_turns {
            self.changes(0, u64::MAX - 1)?
        } else {
            self.changes(to + 1, from)?
        };
        let mut changes = Vec::new();
        while let Some(row) = rows.next_line() {
            changes.push(row?.0);
        }
        findings.append(&mut rows.findings);
        let unknown = |reason: String| GameError::NoState { turn: to, reason };
        let mut turns: Vec<u64> = changes.iter().map(|change| change.turn).collect();
        turns.dedup();
        if self.is_migrated() && (turns.len() as u64) < from - to {
            let reason = format!(
                "the legacy session has the state at turn {from}, but not the changes that led to it"
            );
            return Err(unknown(reason));
        }
        if repeats_turns {
            // Turn numbers may have restarted; the times give the order.
            changes.sort_by_key(|change| change.time);
        }
        let kept = changes.iter().rposition(|change| change.turn <= to).map_or(0, |at| at + 1);
        for change in changes.drain(kept..).rev() {
            state.revert_group(&change.group).map_err(|error| {
                unknown(format!("change {} cannot be reverted: {error}", change.id))
            })?;
        }
        Ok(())
    }

    /// Returns whether the session was migrated from a legacy session, whose turns do not record all changes.
    fn is_migrated(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.tree.value_at(&["migratedFrom"]).is_some())
    }

    /// Replays all turns from `first` on, each with its changes and the state after it.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use everturn_game::{GameWriter, NewGame, Session, TurnInput};
    /// use everturn_json::names::SessionId;
    /// use everturn_store::{MemoryStore, Store};
    ///
    /// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    /// let now = "2026-01-01T10:00:00Z".parse()?;
    /// let id = SessionId::parse("session-abc123")?;
    /// let mut game = GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?;
    /// let turn = r#"{"actor": "player", "deltas": [
    ///     {"scope": "player", "deltas": [{"op": "set", "path": "hp", "value": 3}]}]}"#;
    /// game.append(&TurnInput::parse(turn)?, now)?;
    /// game.close(now)?;
    /// let session = Session::open(store, &id)?;
    /// let mut replay = session.replay(1)?;
    /// while let Some(frame) = replay.next() {
    ///     assert_eq!((frame?.turn.turn, replay.state().player.len_at::<&str>(&[])), (1, Some(4)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(&self, first: u64) -> Result<Replay<'_>, GameError> {
        let first = first.max(self.first_turn()? + 1);
        let start = self.state_at((first - 1).min(self.turn))?;
        Ok(Replay {
            turns: self.turns(first, self.turn)?,
            changes: self.change_lines(first, self.turn)?,
            next: None,
            ahead: None,
            last: 0,
            state: start.state,
            findings: start.findings,
            session: self,
        })
    }
}

fn bad_change(file: &FilePath, line: &super::log::LogLine, error: &DeltaError) -> Finding {
    Finding::new(
        file,
        FindingCode::BadChange,
        format!("a change that cannot be applied to the state was skipped: {error}"),
    )
    .at_line(line.line)
    .at_offset(line.offset)
}

impl GameState {
    /// Reverts a group of changes that may have been stored without inverse data.
    fn revert_group(&mut self, group: &DeltaGroup) -> Result<(), DeltaError> {
        for delta in group.deltas.iter().rev() {
            let mut back = self.verified_inverse(group.scope, delta)?;
            back.apply_in_place(self.get_mut(group.scope))?;
        }
        Ok(())
    }

    /// As [`GameState::inverse`], for callers that cannot verify the result otherwise: fails unless the elements that a
    /// `pull` removed are known.
    fn verified_inverse(&self, scope: Scope, delta: &Delta) -> Result<Delta, DeltaError> {
        if delta.op != DeltaOp::Pull || !delta.positions.is_empty() {
            return self.inverse(scope, delta);
        }
        let path = || delta.path.clone();
        let was = delta.previous.clone().filter(|was| was.kind() == ValueKind::Array);
        let was = was.ok_or_else(|| DeltaError::NotInvertible { op: delta.op, path: path() })?;
        // Everturn records everything it removes; other programs record the whole previous array.
        match was.len_at::<&str>(&[]) {
            Some(0) | None => Ok(delta.clone()),
            Some(_) => Ok(Delta::set(path(), was)),
        }
    }

    /// Returns the inverse of the most recent change, even if that was stored without inverse data.
    pub(crate) fn inverse(&self, scope: Scope, delta: &Delta) -> Result<Delta, DeltaError> {
        match self.get(scope) {
            Some(tree) => delta.inverse_after(tree),
            None => delta.inverse(),
        }
    }
}

/// A turn with its changes.
#[derive(Debug, Clone)]
pub struct ReplayFrame {
    /// The turn.
    pub turn: TurnRecord,
    /// The number of its deltas.
    pub deltas: usize,
    lines: Vec<LocatedRecord<ChangeLine>>,
}

impl ReplayFrame {
    /// Returns the changes of the turn.
    pub fn changes(&self) -> Result<Vec<ChangeRecord>, GameError> {
        let read = |(line, file, _): &LocatedRecord<ChangeLine>| {
            line.change().map_err(|reason| GameError::damaged(file, reason))
        };
        self.lines.iter().map(read).collect()
    }
}

/// An iterator over turns with the state after each. Memory does not grow with their number.
///
/// Changes of a turn whose line is lost come with a placeholder turn that says so.
pub struct Replay<'s> {
    turns: LogRows<TurnRecord>,
    changes: LogRows<ChangeLine>,
    /// A change of a later turn.
    next: Option<LocatedRecord<ChangeLine>>,
    /// A turn held back until the changes before it are applied.
    ahead: Option<TurnRecord>,
    /// The last turn returned.
    last: u64,
    state: GameState,
    findings: Vec<Finding>,
    session: &'s Session,
}

impl Replay<'_> {
    /// Returns the state after the last turn returned.
    #[must_use]
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// Consumes the replay and returns the state.
    #[must_use]
    pub fn into_state(self) -> GameState {
        self.state
    }

    /// Returns the session that is replayed.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.session
    }

    /// Takes the findings since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.findings.append(&mut self.turns.findings);
        self.findings.append(&mut self.changes.findings);
        std::mem::take(&mut self.findings)
    }

    /// Returns the turn and time of the next change.
    fn next_change(&mut self) -> Result<Option<(u64, Option<i64>)>, GameError> {
        if self.next.is_none() {
            self.next = self.changes.next_line().transpose()?;
        }
        Ok(self.next.as_ref().map(|(change, ..)| (change.turn_number(), change.time())))
    }

    /// Applies the next changes that belong to `turn`.
    fn apply_turn(&mut self, turn: u64) -> Result<Vec<LocatedRecord<ChangeLine>>, GameError> {
        let mut done = Vec::new();
        while self.next_change()?.is_some_and(|(of, _)| of == turn) {
            let Some((change, file, line)) = self.next.take() else { break };
            if let Err(error) = change.apply(&mut self.state) {
                self.findings.push(bad_change(&file, &line, &error));
            }
            done.push((change, file, line));
        }
        Ok(done)
    }

    /// Returns the next turn of the log, or a placeholder if changes of a lost turn come before it.
    fn next_turn(&mut self) -> Result<Option<TurnRecord>, GameError> {
        if self.ahead.is_none() {
            self.ahead = self.turns.next().transpose()?;
        }
        let Some(of) = self.next_change()? else { return Ok(self.ahead.take()) };
        let is_next = self
            .ahead
            .as_ref()
            .is_some_and(|turn| turn_precedes((turn.turn, turn.time), of, self.last));
        if is_next { Ok(self.ahead.take()) } else { lost_turn(of.0).map(Some) }
    }
}

/// Returns a placeholder for a turn whose line is lost.
fn lost_turn(turn: u64) -> Result<TurnRecord, GameError> {
    let text = format!("Turn {turn} is missing; only its changes are known.");
    let line = serde_json::json!({
        "turnId": turn, "actor": "system", "events": [{"type": "lost", "description": text}],
        OWN: {"lost": true},
    });
    TurnRecord::parse(&TextSlice::from_text(line.to_string())).map_err(GameError::input)
}

impl Iterator for Replay<'_> {
    type Item = Result<ReplayFrame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let turn = match self.next_turn().transpose()? {
            Ok(turn) => turn,
            Err(error) => return Some(Err(error)),
        };
        self.last = turn.turn;
        let lines = self.apply_turn(turn.turn);
        Some(lines.map(|lines| {
            let deltas = lines.iter().map(|(line, ..)| line.deltas()).sum();
            ReplayFrame { turn, deltas, lines }
        }))
    }
}
