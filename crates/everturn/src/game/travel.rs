//! The state at any turn.

use super::changes::{Change, ChangeLine, Group};
use super::error::GameError;
use super::form::Form;
use super::session::{Found, LogRows, OfTurn, Session};
use super::snapshot::{self, Snapshot};
use super::state::{Scope, State};
use super::turn::Turn;
use crate::delta::{Delta, DeltaError, Op};
use crate::finding::{Code, Finding};
use crate::names::FilePath;
use crate::store::StoreError;

/// The state at a turn, and what was noticed while it was worked out.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The turn.
    pub turn: u64,
    /// The state after it.
    pub state: State,
    /// What was noticed.
    pub findings: Vec<Finding>,
}

/// How often a session is looked at again that another process changes meanwhile.
const TRIES: usize = 5;

impl Session {
    /// The state after the last turn: the state files, and the changes since they were written.
    pub fn resume(&self) -> Result<Moment, GameError> {
        self.steadily(|| {
            let (turn, mut state) = self.stored_state()?;
            let mut findings = Vec::new();
            if turn < self.turn {
                self.advance(&mut state, turn, self.turn, &mut findings)?;
            }
            Ok(Moment { turn: self.turn, state, findings })
        })
    }

    /// The state after `turn`: that of a snapshot at or before it, and the changes since then.
    pub fn state_at(&self, turn: u64) -> Result<Moment, GameError> {
        let first = self.first_turn()?;
        if turn < first || turn > self.turn {
            return Err(GameError::NoTurn { turn, first, last: self.turn });
        }
        self.steadily(|| {
            let mut findings = Vec::new();
            for (_, path) in self.files()?.snapshots_until(turn) {
                match self.load_snapshot(path)? {
                    Err(finding) => findings.push(finding),
                    Ok(Snapshot { turn: from, mut state, .. }) => {
                        self.advance(&mut state, from, turn, &mut findings)?;
                        return Ok(Moment { turn, state, findings });
                    }
                }
            }
            let Moment { mut state, findings: more, .. } = self.resume()?;
            findings.extend(more);
            self.go_back(&mut state, turn, &mut findings)?;
            Ok(Moment { turn, state, findings })
        })
    }

    /// The first turn whose state can be asked for: that before the first one of the log.
    pub fn first_turn(&self) -> Result<u64, GameError> {
        let files = self.files()?;
        let logged = files.turns.iter().filter_map(|(file, _)| file.first).min();
        let snapshot = files.snapshots.first().map(|(file, _)| file.turn);
        let logged = logged.map(|first| first.saturating_sub(1));
        Ok(snapshot.into_iter().chain(logged).min().unwrap_or(0))
    }

    /// Does what reads several files again, if some of them got other names meanwhile.
    fn steadily<T>(&self, mut work: impl FnMut() -> Result<T, GameError>) -> Result<T, GameError> {
        for _ in 1..TRIES {
            match work() {
                Err(GameError::Store(StoreError::Missing { .. })) => self.look_again(),
                other => return other,
            }
        }
        work()
    }

    /// A snapshot, or what is wrong with it.
    pub(crate) fn load_snapshot(
        &self,
        path: &FilePath,
    ) -> Result<Result<Snapshot, Finding>, GameError> {
        let name = path.name().map(|name| name.to_string()).unwrap_or_default();
        let Some(file) = super::names::SnapshotFile::parse(&name) else {
            return Err(GameError::damaged(path, "its name is not that of a snapshot"));
        };
        let bytes = self.store.read(path, 0..u64::MAX)?;
        Ok(snapshot::read(file, bytes).map_err(|reason| Finding {
            file: path.clone(),
            line: None,
            offset: None,
            code: Code::BadSnapshot,
            message: format!("the snapshot cannot be used: {reason}"),
        }))
    }

    /// Applies the changes after `from`, up to and with those of `to`.
    pub(crate) fn advance(
        &self,
        state: &mut State,
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

    /// Takes back the changes after `to`, from the state after the last turn.
    fn go_back(
        &self,
        state: &mut State,
        to: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<(), GameError> {
        let mut rows = self.changes(0, u64::MAX - 1)?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next_line() {
            changes.push(row?.0);
        }
        findings.append(&mut rows.findings);
        if self.form == Form::Program {
            // Numbers may have started again; the times tell what came later.
            changes.sort_by_key(|change| change.time);
        }
        let kept = changes.iter().rposition(|change| change.turn <= to).map_or(0, |at| at + 1);
        for change in changes.drain(kept..).rev() {
            state.unwind(&change.group).map_err(|error| GameError::NoState {
                turn: to,
                reason: format!("change {} cannot be taken back: {error}", change.id),
            })?;
        }
        Ok(())
    }

    /// All turns from `first` on, each with its changes, while the state follows.
    pub fn replay(&self, first: u64) -> Result<Replay<'_>, GameError> {
        let first = first.max(self.first_turn()? + 1);
        let start = self.state_at((first - 1).min(self.turn))?;
        Ok(Replay {
            turns: self.turns(first, self.turn)?,
            changes: self.change_lines(first, self.turn)?,
            next: None,
            state: start.state,
            findings: start.findings,
            session: self,
        })
    }
}

fn bad_change(file: &FilePath, line: &super::log::Line, error: &DeltaError) -> Finding {
    Finding {
        file: file.clone(),
        line: Some(line.line),
        offset: Some(line.offset),
        code: Code::BadChange,
        message: format!("a change that does not fit the state was left out: {error}"),
    }
}

impl State {
    /// Takes back a group of changes that may have been stored without notes.
    fn unwind(&mut self, group: &Group) -> Result<(), DeltaError> {
        for delta in group.deltas.iter().rev() {
            let mut back = self.way_back(group.scope, delta)?;
            back.apply_in_place(self.get_mut(group.scope))?;
        }
        Ok(())
    }

    /// The change that takes back one that was made last, also if that was stored without notes.
    pub(crate) fn way_back(&self, scope: Scope, delta: &Delta) -> Result<Delta, DeltaError> {
        match delta.op {
            Op::Push if delta.positions.is_empty() => {
                let tree = self.get(scope);
                let length = tree.and_then(|tree| tree.len_at(delta.path.segments())).unwrap_or(0);
                Ok(Delta::delete(delta.path.join(&length.saturating_sub(1).to_string())))
            }
            _ => delta.inverse(),
        }
    }
}

/// A turn with its changes.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The turn.
    pub turn: Turn,
    /// How many deltas it has brought.
    pub deltas: usize,
    lines: Vec<Found<ChangeLine>>,
}

impl Frame {
    /// What the turn changed.
    pub fn changes(&self) -> Result<Vec<Change>, GameError> {
        let read = |(line, file, _): &Found<ChangeLine>| {
            line.change().map_err(|reason| GameError::damaged(file, reason))
        };
        self.lines.iter().map(read).collect()
    }
}

/// Turns, one after the other, with the state after each. Memory does not grow with their number.
pub struct Replay<'s> {
    turns: LogRows<Turn>,
    changes: LogRows<ChangeLine>,
    /// A change that belongs to a turn which has not come yet.
    next: Option<Found<ChangeLine>>,
    state: State,
    findings: Vec<Finding>,
    session: &'s Session,
}

impl Replay<'_> {
    /// The state after the turn that came last.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The same, for whoever wants no more turns.
    #[must_use]
    pub fn into_state(self) -> State {
        self.state
    }

    /// The session that is replayed.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.session
    }

    /// What was noticed since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.findings.append(&mut self.turns.findings);
        self.findings.append(&mut self.changes.findings);
        std::mem::take(&mut self.findings)
    }

    /// Applies the changes up to and with those of `turn`.
    fn follow(&mut self, turn: u64) -> Result<Vec<Found<ChangeLine>>, GameError> {
        let mut done = Vec::new();
        loop {
            let row = match self.next.take() {
                Some(row) => Some(Ok(row)),
                None => self.changes.next_line(),
            };
            let Some(row) = row else { return Ok(done) };
            let (change, file, line) = row?;
            if change.of_turn() > turn {
                self.next = Some((change, file, line));
                return Ok(done);
            }
            if let Err(error) = change.apply(&mut self.state) {
                self.findings.push(bad_change(&file, &line, &error));
            }
            done.push((change, file, line));
        }
    }
}

impl Iterator for Replay<'_> {
    type Item = Result<Frame, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let turn = match self.turns.next()? {
            Ok(turn) => turn,
            Err(error) => return Some(Err(error)),
        };
        let lines = self.follow(turn.turn);
        Some(lines.map(|lines| {
            let deltas = lines.iter().map(|(line, ..)| line.deltas()).sum();
            Frame { turn, deltas, lines }
        }))
    }
}
