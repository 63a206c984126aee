//! The interface of a peer: [`GamePeer`] describes it, [`GameKeeper`] writes a session, [`GameReader`] reads it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use everturn::game::GameState;
use serde_json::Value;

use super::values::StateValues;
use super::workload::NewTurn;
use crate::peer::{Durability, PeerError};

/// A peer, as it appears in the report.
#[derive(Debug)]
pub(crate) struct GamePeer {
    /// The name, for `--peer` and `--json`; unique.
    pub(crate) name: &'static str,
    /// The set-up in a few words.
    pub(crate) about: &'static str,
    /// The durability of a save that has returned.
    pub(crate) durability: Durability,
    /// Creates a session in an empty directory. Nothing is flushed while it is built.
    pub(crate) create: fn(&Path) -> Result<Box<dyn GameKeeper>, PeerError>,
    /// Opens a session for writing.
    pub(crate) play: fn(&Path) -> Result<Box<dyn GameKeeper>, PeerError>,
    /// Opens a session for reading.
    pub(crate) read: fn(&Path) -> Result<Box<dyn GameReader>, PeerError>,
    /// Whether values are parsed lazily, so that converting them is measured, too.
    pub(crate) lazy: bool,
    /// Whether resuming returns the state after the last turn, rather than that of an earlier turn.
    pub(crate) resumes_all: bool,
    /// The files of a session, by kind.
    pub(crate) kinds: fn(&Path) -> Vec<(&'static str, PathBuf)>,
}

/// A session open for writing.
pub(crate) trait GameKeeper {
    /// Saves a turn with the peer's durability, and performs the peer's periodic writes.
    fn save(&mut self, turn: &NewTurn) -> Result<(), PeerError>;

    /// Takes a snapshot and writes the states; returns the files that hold them, where known.
    fn snapshot(&mut self) -> Result<Vec<PathBuf>, PeerError>;

    /// Closes the session, with all saved turns on the disk and the states unchanged.
    fn close(self: Box<Self>) -> Result<(), PeerError>;
}

/// A session open for reading.
pub(crate) trait GameReader {
    /// Returns the state after the last turn, as the peer finds it.
    fn resume(&mut self) -> Result<LoadedState, PeerError>;

    /// Returns the state after a turn.
    fn jump(&mut self, turn: u64) -> Result<LoadedState, PeerError>;

    /// Reads all turns of a range with their changes, and updates the state along the way.
    fn replay(
        &mut self,
        turns: RangeInclusive<u64>,
        reading: ReplayDepth,
    ) -> Result<(ReplayCounts, LoadedState), PeerError>;
}

/// How far the data is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayDepth {
    /// As the peer returns it, which may be unparsed text.
    AsFound,
    /// Parsed values, as with the other peers.
    Values,
}

/// A state as the peer returns it.
pub(crate) enum LoadedState {
    /// Parsed values.
    Values(Box<StateValues>),
    /// Text that is parsed on access.
    Lazy(Box<GameState>),
}

impl LoadedState {
    /// Converts the whole state to values.
    pub(crate) fn into_values(self) -> Result<StateValues, PeerError> {
        match self {
            LoadedState::Values(values) => Ok(*values),
            LoadedState::Lazy(state) => Ok(StateValues {
                world: state.world.to_value()?,
                player: state.player.to_value()?,
                scene: state.scene.to_value()?,
            }),
        }
    }
}

/// The counts of a replay.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayCounts {
    /// The number of turns.
    pub(crate) turns: u64,
    /// The number of changes, not of groups.
    pub(crate) changes: u64,
    /// The number of bytes in event descriptions, which requires access to every turn.
    pub(crate) words: u64,
}

impl ReplayCounts {
    /// Counts a turn.
    pub(crate) fn turn(&mut self, turn: &Value) {
        self.turns += 1;
        let events = turn.get("events").and_then(Value::as_array);
        for event in events.into_iter().flatten() {
            let words = event.get("description").and_then(Value::as_str).map_or(0, str::len);
            self.words += words as u64;
        }
    }
}

/// The number of turns between two writes of the states.
pub(crate) const STATES_EVERY: u64 = 25;
/// The number of changes, and of turns, between two snapshots.
pub(crate) const SNAPSHOT_CHANGES: u64 = 500;
pub(crate) const SNAPSHOT_TURNS: u64 = 100;

/// The periodic writes of the peers other than Everturn: as often as those of Everturn.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) turn: u64,
    pub(crate) snapshot_turn: u64,
    pub(crate) changes: u64,
    pub(crate) states_turn: u64,
}

/// The write that is due after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueWrite {
    Nothing,
    States,
    Snapshot,
}

impl Schedule {
    /// Counts a turn; returns the write that is due.
    pub(crate) fn count(&mut self, turn: &NewTurn) -> DueWrite {
        self.turn = turn.number;
        let changes: usize = turn.groups.iter().map(|group| group.deltas.len()).sum();
        self.changes += changes as u64;
        if self.changes >= SNAPSHOT_CHANGES || self.turn - self.snapshot_turn >= SNAPSHOT_TURNS {
            DueWrite::Snapshot
        } else if self.turn - self.states_turn >= STATES_EVERY {
            DueWrite::States
        } else {
            DueWrite::Nothing
        }
    }

    /// Records that the states were written.
    pub(crate) fn states_written(&mut self) {
        self.states_turn = self.turn;
    }

    /// Records that a snapshot was taken, and the states with it.
    pub(crate) fn snapshot_taken(&mut self) {
        (self.snapshot_turn, self.states_turn, self.changes) = (self.turn, self.turn, 0);
    }
}
