//! The reader of a game session in the common model.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::{NAME, outline};
use crate::changes;
use crate::error::GameError;
use crate::history::StateAt;
use crate::session::{LogRows, Session};
use crate::state::{Scope, unstamped};
use crate::turn::TurnRecord;
use everturn_json::finding::Finding;
use everturn_session::format::{
    CurrentState, MarkedSession, OutlinedSession, ReaderAbilities, RecordStream, SessionError,
    SessionReader, StateHistory,
};
use everturn_session::marks;
use everturn_session::model::carried::restore_single_entry;
use everturn_session::model::{
    Entry, EntryExtras, EntryKind, Mark, SessionEvent, SessionOutline, SessionState, StateChange,
};
use everturn_store::StoreError;

pub(super) struct GameReader {
    pub(super) session: Session,
}

impl GameReader {
    fn session_state(&self, moment: StateAt) -> SessionState {
        let mut scopes = Vec::new();
        for scope in Scope::ALL {
            let Some(tree) = moment.state.get(scope) else { continue };
            let tree = match scope {
                Scope::Scene => self.session.rules().scene(&moment.state),
                _ => unstamped(tree),
            };
            scopes.push((scope.to_string(), tree));
        }
        SessionState { turn: moment.turn, scopes, findings: moment.findings }
    }
}

impl SessionReader for GameReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(self.session.first_turn()?..=self.session.turn())
    }

    fn findings(&self) -> Vec<Finding> {
        self.session.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        // If turn numbers may restart, entries have to be counted.
        let counted = self.session.rules().repeats_turns();
        let read = if counted { 0..=u64::MAX } else { turns.clone() };
        let log = LogStream::new(&self.session, read, Session::turns)?;
        Ok(Box::new(GameEntries { log, turns, counted: counted.then_some(0) }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            state: Some(self),
            history: Some(self),
            marks: Some(self),
            outline: Some(self),
            repeats_turns: self.session.rules().repeats_turns(),
            ..ReaderAbilities::default()
        }
    }
}

impl CurrentState for GameReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        Ok(self.session_state(self.session.resume()?))
    }
}

impl StateHistory for GameReader {
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError> {
        let log = LogStream::new(&self.session, turns, Session::changes)?;
        Ok(Box::new(GameChanges { log, ready: VecDeque::new() }))
    }

    fn state_at(&self, turn: u64) -> Result<SessionState, SessionError> {
        Ok(self.session_state(self.session.state_at(turn)?))
    }
}

impl MarkedSession for GameReader {
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        marks::read_marks(&self.session.store, &self.session.dir)
    }
}

impl OutlinedSession for GameReader {
    fn outline(&self) -> Result<(SessionOutline, Vec<Finding>), SessionError> {
        Ok(outline::outline(&self.session)?)
    }

    fn events(
        &self,
        wanted: &dyn Fn(&SessionEvent) -> bool,
    ) -> Result<(Vec<SessionEvent>, Vec<Finding>), SessionError> {
        Ok(outline::events(&self.session, wanted)?)
    }
}

/// How often a log is reopened when its files are renamed while it is read.
const TRIES: usize = 5;

/// The lines of a log for a range of turns. If a writer renames a file before it is read, reading resumes at the same
/// position.
struct LogStream<'s, R> {
    session: &'s Session,
    rows: LogRows<R>,
    open: fn(&Session, u64, u64) -> Result<LogRows<R>, GameError>,
    /// The turn after the last one read.
    next: u64,
    last: u64,
    tries: usize,
}

impl<'s, R> LogStream<'s, R>
where
    LogRows<R>: Iterator<Item = Result<R, GameError>>,
{
    fn new(
        session: &'s Session,
        turns: RangeInclusive<u64>,
        open: fn(&Session, u64, u64) -> Result<LogRows<R>, GameError>,
    ) -> Result<LogStream<'s, R>, GameError> {
        let (next, last) = turns.into_inner();
        let last = last.min(u64::MAX - 1);
        Ok(LogStream { session, rows: open(session, next, last)?, open, next, last, tries: TRIES })
    }

    fn next(&mut self, turn: fn(&R) -> u64) -> Option<Result<R, GameError>> {
        loop {
            match self.rows.next()? {
                Ok(row) => {
                    self.next = turn(&row) + 1;
                    return Some(Ok(row));
                }
                Err(GameError::Store(StoreError::Missing { .. })) if self.tries > 0 => {
                    self.tries -= 1;
                    self.session.invalidate_files();
                    let findings = std::mem::take(&mut self.rows.findings);
                    match (self.open)(self.session, self.next, self.last) {
                        Ok(rows) => self.rows = rows,
                        Err(error) => return Some(Err(error)),
                    }
                    self.rows.findings = findings;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

struct GameEntries<'s> {
    log: LogStream<'s, TurnRecord>,
    turns: RangeInclusive<u64>,
    /// The number of entries so far, if they must be counted.
    counted: Option<u64>,
}

impl RecordStream for GameEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        loop {
            let turn = match self.log.next(|turn| turn.turn)? {
                Ok(turn) => turn,
                Err(error) => return Some(Err(error.into())),
            };
            let seq = match &mut self.counted {
                Some(count) => {
                    *count += 1;
                    *count
                }
                None => turn.turn,
            };
            if self.turns.contains(&turn.turn) {
                return Some(Ok(restore_single_entry(entry(turn, seq))));
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.log.rows.findings)
    }
}

/// Converts a turn to an entry.
fn entry(turn: TurnRecord, seq: u64) -> Entry {
    let first = turn.events().first().map(|event| event.id.clone());
    Entry {
        seq,
        turn: turn.turn,
        id: first.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("turn-{}", turn.turn)),
        time: turn.time.and_then(|time| Timestamp::from_millisecond(time).ok()),
        kind: kind(&turn.actor),
        text: turn.text(),
        speaker: turn.actor,
        extras: EntryExtras::default(),
        raw: turn.raw,
    }
}

fn kind(actor: &str) -> EntryKind {
    match actor {
        "player" => EntryKind::User,
        "gm" => EntryKind::Narrator,
        "system" => EntryKind::System,
        _ => EntryKind::Npc,
    }
}

struct GameChanges<'s> {
    log: LogStream<'s, changes::ChangeRecord>,
    /// Changes of the current line that have not been returned yet.
    ready: VecDeque<StateChange>,
}

impl RecordStream for GameChanges<'_> {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Some(Ok(change));
            }
            let line = match self.log.next(|change| change.turn)? {
                Ok(line) => line,
                Err(error) => return Some(Err(error.into())),
            };
            let (turn, scope) = (line.turn, line.group.scope.to_string());
            let time = line.time.and_then(|time| Timestamp::from_millisecond(time).ok());
            let change = |delta| StateChange { turn, scope: scope.clone(), delta, time };
            self.ready.extend(line.group.deltas.into_iter().map(change));
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.log.rows.findings)
    }
}
