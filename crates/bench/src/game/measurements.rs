//! What is measured, and the results: [`MeasurementPlan`], [`BenchSession`] and [`GameMeasurements`].

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::peer::GamePeer;
use crate::peer::PeerError;
use crate::stats::percentile;

/// The number of turns that a replay reads.
pub(crate) const REPLAY_TURNS: u64 = 1000;
/// How many turns the state files are behind when a session is resumed.
pub(crate) const BEHIND: u32 = 12;
/// The number of turns beyond the size of a session, so that the last files of its logs, which hold a hundred, are
/// neither new nor full.
pub(crate) const MORE: u32 = 40;
/// How often each operation is done in one run.
pub(crate) const JUMPS: u32 = 50;
pub(crate) const RESUMES: u32 = 20;
pub(crate) const REPLAYS: u32 = 3;
pub(crate) const SAVES: u32 = 100;
pub(crate) const SNAPSHOTS: u32 = 5;
/// What is done with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum GameOp {
    /// The state at a random turn, with the session open.
    Jump,
    /// The session opened, and the state after its last turn.
    Resume,
    /// A thousand turns and their changes, while the state follows.
    Replay,
    /// One turn saved.
    Save,
    /// A snapshot taken and the states written.
    Snapshot,
}

impl GameOp {
    /// All operations, in the order of the report.
    pub(crate) const ALL: [GameOp; 5] =
        [GameOp::Jump, GameOp::Resume, GameOp::Replay, GameOp::Save, GameOp::Snapshot];

    /// The name for `--op` and `--json`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            GameOp::Jump => "jump",
            GameOp::Resume => "resume",
            GameOp::Replay => "replay",
            GameOp::Save => "save",
            GameOp::Snapshot => "snapshot",
        }
    }
}

/// The times of an operation in one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GameSample {
    /// The 50th percentile.
    pub(crate) p50: Duration,
    /// The 99th percentile.
    pub(crate) p99: Duration,
}

impl GameSample {
    /// Summarizes the times of one run.
    pub(crate) fn of(mut times: Vec<Duration>) -> GameSample {
        times.sort_unstable();
        GameSample { p50: percentile(&times, 50), p99: percentile(&times, 99) }
    }
}

/// The key of a row: operation, session size, name.
pub(crate) type RowKey = (GameOp, u32, String);

/// The disk usage of a kind of file.
#[derive(Debug)]
pub(crate) struct FileUsage {
    pub(crate) size: u32,
    pub(crate) peer: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// The time it took to build a session.
#[derive(Debug)]
pub(crate) struct BuildTime {
    pub(crate) size: u32,
    pub(crate) peer: &'static str,
    pub(crate) seconds: f64,
}

/// The peak memory of a process.
#[derive(Debug)]
pub(crate) struct MemoryPeak {
    pub(crate) op: GameOp,
    pub(crate) size: u32,
    pub(crate) peer: &'static str,
    /// In kB, as the system reports it; `None` if it does not.
    pub(crate) peak: Option<u64>,
}

/// All measurements.
#[derive(Debug, Default)]
pub(crate) struct GameMeasurements {
    pub(crate) built: Vec<BuildTime>,
    pub(crate) samples: BTreeMap<RowKey, Vec<GameSample>>,
    pub(crate) peaks: Vec<MemoryPeak>,
    pub(crate) kinds: Vec<FileUsage>,
}

impl GameMeasurements {
    /// Adds a run to a row.
    pub(crate) fn add(&mut self, op: GameOp, size: u32, row: &str, times: Vec<Duration>) {
        self.samples.entry((op, size, row.to_owned())).or_default().push(GameSample::of(times));
    }
}

/// The plan of the measurements.
#[derive(Debug)]
pub(crate) struct MeasurementPlan {
    pub(crate) runs: u32,
    pub(crate) sizes: Vec<u32>,
    pub(crate) ops: Vec<GameOp>,
    pub(crate) peers: Vec<&'static GamePeer>,
}

/// An error of a measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum GameRunError {
    /// A peer failed.
    #[error("{peer} failed to {what} a session of {size} turns")]
    Peer {
        /// The peer.
        peer: &'static str,
        /// The operation.
        what: &'static str,
        /// The size of the session.
        size: u32,
        /// The cause.
        source: PeerError,
    },
    /// Two peers have different sessions.
    #[error("{peer} and the first peer differ in {what}, in a session of {size} turns")]
    Differs {
        /// The peer.
        peer: &'static str,
        /// The difference.
        what: String,
        /// The size of the session.
        size: u32,
    },
    /// The directory for the sessions could not be created.
    #[error("cannot create a temporary directory in {dir}")]
    Directory {
        /// The parent directory.
        dir: String,
        /// The cause.
        source: io::Error,
    },
    /// The progress text could not be written.
    #[error("cannot report progress")]
    Progress(#[source] io::Error),
}

/// A session of one peer.
pub(crate) struct BenchSession {
    pub(crate) peer: &'static GamePeer,
    pub(crate) size: u32,
    pub(crate) dir: PathBuf,
}

impl BenchSession {
    /// Converts an error of the peer, with its operation.
    pub(crate) fn failed(&self, what: &'static str) -> impl Fn(PeerError) -> GameRunError {
        let (peer, size) = (self.peer.name, self.size);
        move |source| GameRunError::Peer { peer, what, size, source }
    }

    /// The last turn.
    pub(crate) fn last(&self) -> u32 {
        self.size + MORE
    }

    /// Returns the turns that a replay reads: those in the middle.
    pub(crate) fn replayed(&self) -> RangeInclusive<u64> {
        let size = u64::from(self.size);
        let turns = size.min(REPLAY_TURNS);
        let first = (size - turns) / 2 + 1;
        first..=first + turns - 1
    }
}

/// Reports the progress.
pub(crate) fn say(progress: &mut dyn Write, text: &str) -> Result<(), GameRunError> {
    writeln!(progress, "{text}").map_err(GameRunError::Progress)
}
