//! [`SessionReader`] reads a session; a [`RecordStream`] streams its entries, changes or states.

use std::ops::RangeInclusive;

use super::SessionError;
use crate::model::{
    Entry, Mark, RecordCounts, SessionBranch, SessionEvent, SessionOutline, SessionState,
    SessionUsage, StateChange,
};
use everturn_json::finding::Finding;
use everturn_value::tree::JsonTree;

/// Reads a session. It never writes and never waits for a writer.
pub trait SessionReader: Send {
    /// The first and the last turn whose state is available.
    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError>;

    /// The findings from opening the session.
    fn findings(&self) -> Vec<Finding>;

    /// Streams the entries of a range of turns, in order. The range may extend beyond the last turn.
    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError>;

    /// Streams the changes of a range of turns, in order.
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError>;

    /// The state after a turn, or after the last one.
    fn state(&self, turn: Option<u64>) -> Result<SessionState, SessionError>;

    /// Whether turn numbers may start again, so that a turn may precede one with a lower number.
    fn repeats_turns(&self) -> bool {
        false
    }

    /// The turn of the entry with this ID.
    fn turn_of(&self, entry: &str) -> Result<Option<u64>, SessionError> {
        let mut entries = self.entries(self.turns()?)?;
        while let Some(found) = entries.next() {
            let found = found?;
            if found.id == entry {
                return Ok(Some(found.turn));
            }
        }
        Ok(None)
    }

    /// The marks, ordered by turn; empty if the format has no marks.
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        Ok(Vec::new())
    }

    /// What the session contains besides its entries, with the findings of reading it. Empty if the format has no scenes,
    /// snapshots and events.
    fn outline(&self) -> Result<(SessionOutline, Vec<Finding>), SessionError> {
        Ok((SessionOutline::default(), Vec::new()))
    }

    /// The events that are wanted, in order, with the findings of reading them.
    fn events(
        &self,
        _wanted: &dyn Fn(&SessionEvent) -> bool,
    ) -> Result<(Vec<SessionEvent>, Vec<Finding>), SessionError> {
        Ok((Vec::new(), Vec::new()))
    }

    /// The metadata of the session as one object, in the terms of its format.
    fn metadata(&self) -> Result<JsonTree, SessionError> {
        Ok(JsonTree::object())
    }

    /// Streams the states that were stored with a range of turns, unchanged, each with its turn. `None` if the format
    /// does not store states with turns.
    fn snapshots(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Option<SnapshotStream<'_>>, SessionError> {
        let _ = turns;
        Ok(None)
    }

    /// The branches of a session whose records form a tree. All other methods read its main line.
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        Ok(Vec::new())
    }

    /// Counts of the records that the session was read from, for sessions of other programs.
    fn record_counts(&self) -> Option<RecordCounts> {
        None
    }

    /// The token usage of the session, if its records contain it.
    fn usage(&self) -> Option<SessionUsage> {
        None
    }

    /// Irregularities that do not affect reading.
    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Opens a branch of the session, from its first turn on.
    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        Err(SessionError::request(format!("there is no branch {branch:?} in the session")))
    }
}

/// A stream of stored states, each with its turn.
pub type SnapshotStream<'r> = Box<dyn RecordStream<Item = (u64, JsonTree)> + 'r>;

/// A stream of items with the findings of reading them.
pub trait RecordStream {
    /// The type of the items.
    type Item;

    /// The next item.
    fn next(&mut self) -> Option<Result<Self::Item, SessionError>>;

    /// The findings since the last call.
    fn take_findings(&mut self) -> Vec<Finding>;
}

/// The empty changes of an append-only session.
pub struct EmptyChanges;

impl RecordStream for EmptyChanges {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        None
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
