//! What a peer must offer to keep a game.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use everturn::game::GameState;
use serde_json::Value;

use super::values::StateValues;
use super::workload::NewTurn;
use crate::peer::{Durability, PeerError};

/// A peer, as the report has it.
#[derive(Debug)]
pub(crate) struct GamePeer {
    /// The name, for `--peer` and `--json`; unique.
    pub(crate) name: &'static str,
    /// The set-up in a few words, for people.
    pub(crate) about: &'static str,
    /// What a returned save is worth.
    pub(crate) durability: Durability,
    /// Makes a new session in an empty directory. Nothing is flushed while it is built.
    pub(crate) create: fn(&Path) -> Result<Box<dyn GameKeeper>, PeerError>,
    /// Opens a session to play on.
    pub(crate) play: fn(&Path) -> Result<Box<dyn GameKeeper>, PeerError>,
    /// Opens a session to read it.
    pub(crate) read: fn(&Path) -> Result<Box<dyn GameReader>, PeerError>,
    /// Whether it gives text that is looked into later, so that turning it into values is measured, too.
    pub(crate) lazy: bool,
    /// Whether resuming gives the state after the last turn, and not that of some turn before.
    pub(crate) resumes_all: bool,
    /// What the files of a session are, by kind.
    pub(crate) kinds: fn(&Path) -> Vec<(&'static str, PathBuf)>,
}

/// A session that is played.
pub(crate) trait GameKeeper {
    /// Saves a turn, as durable as the peer says, and whatever the peer writes now and then.
    fn save(&mut self, turn: &NewTurn) -> Result<(), PeerError>;

    /// Takes a snapshot and writes the states; says which files have them, where that is known.
    fn snapshot(&mut self) -> Result<Vec<PathBuf>, PeerError>;

    /// Ends, with all that was saved on the disk and the states as they are.
    fn close(self: Box<Self>) -> Result<(), PeerError>;
}

/// A session that is read.
pub(crate) trait GameReader {
    /// The state after the last turn, as the peer finds it.
    fn resume(&mut self) -> Result<LoadedState, PeerError>;

    /// The state after a turn.
    fn jump(&mut self, turn: u64) -> Result<LoadedState, PeerError>;

    /// Reads all turns of a range and their changes, while the state follows.
    fn replay(
        &mut self,
        turns: RangeInclusive<u64>,
        reading: ReplayDepth,
    ) -> Result<(ReplayCounts, LoadedState), PeerError>;
}

/// What is made of that which is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayDepth {
    /// What the peer gives, which may be text that is looked into later.
    AsFound,
    /// Values that are ready to be used, as the others have them.
    Values,
}

/// A state as the peer gives it.
pub(crate) enum LoadedState {
    /// Values that are ready to be used.
    Values(Box<StateValues>),
    /// Text that is looked into where somebody looks.
    Lazy(Box<GameState>),
}

impl LoadedState {
    /// The whole state as values.
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

/// What was seen in a replay.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayCounts {
    /// Turns.
    pub(crate) turns: u64,
    /// Changes, not groups of them.
    pub(crate) changes: u64,
    /// Bytes in the descriptions of events: a look into every turn.
    pub(crate) words: u64,
}

impl ReplayCounts {
    /// Looks at a turn.
    pub(crate) fn turn(&mut self, turn: &Value) {
        self.turns += 1;
        let events = turn.get("events").and_then(Value::as_array);
        for event in events.into_iter().flatten() {
            let words = event.get("description").and_then(Value::as_str).map_or(0, str::len);
            self.words += words as u64;
        }
    }
}

/// How many turns may pass before the states are written.
pub(crate) const STATES_EVERY: u64 = 25;
/// How many changes, and how many turns, may come together before a snapshot is taken.
pub(crate) const SNAPSHOT_CHANGES: u64 = 500;
pub(crate) const SNAPSHOT_TURNS: u64 = 100;

/// What the peers other than Everturn write now and then: as often as Everturn does.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) turn: u64,
    pub(crate) snapshot_turn: u64,
    pub(crate) changes: u64,
    pub(crate) states_turn: u64,
}

/// What is due after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueWrite {
    Nothing,
    States,
    Snapshot,
}

impl Schedule {
    /// Counts a turn; says what is due.
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

    /// Notes that the states were written.
    pub(crate) fn states_written(&mut self) {
        self.states_turn = self.turn;
    }

    /// Notes that a snapshot was taken, and the states with it.
    pub(crate) fn snapshot_taken(&mut self) {
        (self.snapshot_turn, self.states_turn, self.changes) = (self.turn, self.turn, 0);
    }
}
