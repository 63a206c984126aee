//! What a session contains besides its entries: scenes, stored states, events and statistics.

use std::collections::BTreeMap;

/// The contents of a session besides its entries.
#[derive(Debug, Clone, Default)]
pub struct SessionOutline {
    /// The scenes, in the order of their first turns.
    pub scenes: Vec<SceneOutline>,
    /// The stored snapshots, in the order of their turns.
    pub snapshots: Vec<SnapshotOutline>,
    /// The number of events of each type.
    pub events: BTreeMap<String, u64>,
    /// The number of changes of each part of the state.
    pub changes: BTreeMap<String, u64>,
    /// The time that was played, in milliseconds.
    pub play_time: Option<u64>,
}

/// A scene of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneOutline {
    /// Its ID.
    pub id: String,
    /// Its type, such as `social`; empty if it is unknown.
    pub kind: String,
    /// Where it takes place; empty if it is unknown.
    pub location: String,
    /// The first turn.
    pub first: u64,
    /// The last turn so far.
    pub last: u64,
    /// Whether it has not ended.
    pub is_open: bool,
}

/// A stored snapshot of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOutline {
    /// Its ID.
    pub id: String,
    /// The turn whose state it has.
    pub turn: u64,
    /// Why it was taken.
    pub reason: String,
}

/// An event in an entry of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEvent {
    /// The turn.
    pub turn: u64,
    /// Its ID.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// What happens.
    pub text: String,
    /// Whether it matters for the whole session.
    pub is_significant: bool,
}
