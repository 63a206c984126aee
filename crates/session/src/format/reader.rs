//! [`SessionReader`] reads a session, and its [`ReaderAbilities`] name what it offers beyond entries. A [`RecordStream`]
//! streams entries, changes or states.

use std::ops::RangeInclusive;

use super::SessionError;
use super::abilities::SessionAbility;
use crate::model::{
    Entry, Mark, RecordCounts, SessionBranch, SessionEvent, SessionOutline, SessionState,
    SessionUsage, StateChange,
};
use everturn_json::finding::Finding;
use everturn_value::tree::JsonTree;

/// Reads a session. It never writes and never waits for a writer.
///
/// The methods of `dyn SessionReader` read what its [`ReaderAbilities`] offer, and return an empty result or an error for
/// the rest.
pub trait SessionReader: Send {
    /// The name of the format.
    fn format_name(&self) -> &'static str;

    /// The first and the last turn whose state is available.
    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError>;

    /// The findings from opening the session.
    fn findings(&self) -> Vec<Finding>;

    /// Streams the entries of a range of turns, in order. The range may extend beyond the last turn.
    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError>;

    /// What it offers beyond entries.
    fn abilities(&self) -> ReaderAbilities<'_>;
}

/// The optional abilities of a reader. The default has none.
#[derive(Clone, Copy, Default)]
pub struct ReaderAbilities<'r> {
    /// Reads the current state.
    pub state: Option<&'r dyn CurrentState>,
    /// Reads past states and the changes between them.
    pub history: Option<&'r dyn StateHistory>,
    /// Reads the states that were stored with turns.
    pub snapshots: Option<&'r dyn StoredSnapshots>,
    /// Reads marks.
    pub marks: Option<&'r dyn MarkedSession>,
    /// Reads scenes, snapshots and events.
    pub outline: Option<&'r dyn OutlinedSession>,
    /// Reads branches within the session.
    pub branches: Option<&'r dyn BranchedSession>,
    /// Reads metadata.
    pub metadata: Option<&'r dyn SessionMetadata>,
    /// Reads token usage.
    pub usage: Option<&'r dyn UsageRecords>,
    /// Reports on the records that the session was read from.
    pub records: Option<&'r dyn RecordReport>,
    /// Finds the turn of an entry faster than by reading all entries.
    pub entry_index: Option<&'r dyn EntryIndex>,
    /// Whether turn numbers may start again, so that a turn may precede one with a lower number.
    pub repeats_turns: bool,
}

/// A session with a state.
pub trait CurrentState {
    /// The state after the last turn.
    fn state(&self) -> Result<SessionState, SessionError>;
}

/// A session that stores the changes of its state.
pub trait StateHistory {
    /// The state after a turn.
    fn state_at(&self, turn: u64) -> Result<SessionState, SessionError>;

    /// Streams the changes of a range of turns, in order.
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError>;
}

/// A session that stores states with its turns.
pub trait StoredSnapshots {
    /// Streams the stored states of a range of turns, unchanged, each with its turn.
    fn snapshots(&self, turns: RangeInclusive<u64>) -> Result<SnapshotStream<'_>, SessionError>;
}

/// A session with marks.
pub trait MarkedSession {
    /// The marks, ordered by turn.
    fn marks(&self) -> Result<Vec<Mark>, SessionError>;
}

/// A session with scenes, snapshots and events.
pub trait OutlinedSession {
    /// What the session contains besides its entries, with the findings of reading it.
    fn outline(&self) -> Result<(SessionOutline, Vec<Finding>), SessionError>;

    /// The events that are wanted, in order, with the findings of reading them.
    fn events(
        &self,
        wanted: &dyn Fn(&SessionEvent) -> bool,
    ) -> Result<(Vec<SessionEvent>, Vec<Finding>), SessionError>;
}

/// A session whose records form a tree. All other methods of its reader read the main line.
pub trait BranchedSession {
    /// The branches.
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError>;

    /// Opens a branch, from its first turn on.
    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError>;
}

/// A session with metadata.
pub trait SessionMetadata {
    /// The metadata as one object, in the terms of the format.
    fn metadata(&self) -> Result<JsonTree, SessionError>;
}

/// A session whose records contain token usage.
pub trait UsageRecords {
    /// The token usage of the session, if it is known.
    fn usage(&self) -> Option<SessionUsage>;
}

/// A session that was read from the records of another program.
pub trait RecordReport {
    /// Counts of the records.
    fn record_counts(&self) -> RecordCounts;

    /// Irregularities that do not affect reading.
    fn warnings(&self) -> Vec<Finding>;
}

/// A session that finds its entries by ID.
pub trait EntryIndex {
    /// The turn of the entry with this ID.
    fn turn_of(&self, entry: &str) -> Result<Option<u64>, SessionError>;
}

impl dyn SessionReader + '_ {
    /// The state after a turn, or after the last one.
    pub fn state(&self, turn: Option<u64>) -> Result<SessionState, SessionError> {
        let abilities = self.abilities();
        let current =
            abilities.state.ok_or_else(|| SessionAbility::State.unsupported(self.format_name()))?;
        let Some(turn) = turn else { return current.state() };
        if let Some(history) = abilities.history {
            return history.state_at(turn);
        }
        let last = *self.turns()?.end();
        match turn {
            turn if turn > last => Err(SessionError::NoTurn { turn, first: 0, last }),
            turn if turn < last => {
                Err(SessionAbility::StateHistory.unsupported(self.format_name()))
            }
            _ => current.state(),
        }
    }

    /// Streams the changes of a range of turns, in order; nothing if the format stores no changes.
    pub fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError> {
        match self.abilities().history {
            Some(history) => history.changes(turns),
            None => Ok(Box::new(EmptyChanges)),
        }
    }

    /// Streams the states that were stored with a range of turns, unchanged, each with its turn. `None` if the format
    /// does not store states with turns.
    pub fn snapshots(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Option<SnapshotStream<'_>>, SessionError> {
        self.abilities().snapshots.map(|stored| stored.snapshots(turns)).transpose()
    }

    /// The marks, ordered by turn; empty if the format has no marks.
    pub fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        self.abilities().marks.map_or(Ok(Vec::new()), MarkedSession::marks)
    }

    /// What the session contains besides its entries, with the findings of reading it. Empty if the format has no scenes,
    /// snapshots and events.
    pub fn outline(&self) -> Result<(SessionOutline, Vec<Finding>), SessionError> {
        self.abilities().outline.map_or_else(|| Ok(Default::default()), OutlinedSession::outline)
    }

    /// The events that are wanted, in order, with the findings of reading them.
    pub fn events(
        &self,
        wanted: &dyn Fn(&SessionEvent) -> bool,
    ) -> Result<(Vec<SessionEvent>, Vec<Finding>), SessionError> {
        let outlined = self.abilities().outline;
        outlined.map_or_else(|| Ok(Default::default()), |outlined| outlined.events(wanted))
    }

    /// The branches of a session whose records form a tree.
    pub fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        self.abilities().branches.map_or(Ok(Vec::new()), BranchedSession::branches)
    }

    /// Opens a branch of the session, from its first turn on.
    pub fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        match self.abilities().branches {
            Some(branched) => branched.open_branch(branch),
            None => Err(SessionError::no_branch(branch)),
        }
    }

    /// The metadata of the session as one object, in the terms of its format.
    pub fn metadata(&self) -> Result<JsonTree, SessionError> {
        self.abilities().metadata.map_or_else(|| Ok(JsonTree::object()), SessionMetadata::metadata)
    }

    /// The token usage of the session, if its records contain it.
    #[must_use]
    pub fn usage(&self) -> Option<SessionUsage> {
        self.abilities().usage?.usage()
    }

    /// Counts of the records that the session was read from, for sessions of other programs.
    #[must_use]
    pub fn record_counts(&self) -> Option<RecordCounts> {
        self.abilities().records.map(RecordReport::record_counts)
    }

    /// Irregularities that do not affect reading.
    #[must_use]
    pub fn warnings(&self) -> Vec<Finding> {
        self.abilities().records.map(RecordReport::warnings).unwrap_or_default()
    }

    /// Whether turn numbers may start again, so that a turn may precede one with a lower number.
    #[must_use]
    pub fn repeats_turns(&self) -> bool {
        self.abilities().repeats_turns
    }

    /// The turn of the entry with this ID.
    pub fn turn_of(&self, entry: &str) -> Result<Option<u64>, SessionError> {
        if let Some(index) = self.abilities().entry_index {
            return index.turn_of(entry);
        }
        let mut entries = self.entries(self.turns()?)?;
        while let Some(found) = entries.next() {
            let found = found?;
            if found.id == entry {
                return Ok(Some(found.turn));
            }
        }
        Ok(None)
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

/// The changes of a session that stores none.
struct EmptyChanges;

impl RecordStream for EmptyChanges {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        None
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
