//! Runs the measurements: sessions are built once, then every row is measured in turn.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::memory::{self, MemoryPeak};
use super::peer::{GamePeer, ReplayDepth};
use super::workload::NewTurn;
use super::write;
use crate::files;
use crate::peer::PeerError;
use crate::stats::percentile;
use crate::workload::SEED;

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
/// The number of turns at which the states of all peers are compared.
const CHECKED: u32 = 5;

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
    fn replayed(&self) -> RangeInclusive<u64> {
        let size = u64::from(self.size);
        let turns = size.min(REPLAY_TURNS);
        let first = (size - turns) / 2 + 1;
        first..=first + turns - 1
    }
}

/// Builds all sessions in `dir`, and performs the measurements of `plan`.
pub(crate) fn measure(
    plan: &MeasurementPlan,
    dir: &Path,
    progress: &mut dyn Write,
) -> Result<GameMeasurements, GameRunError> {
    let home = tempfile::Builder::new()
        .prefix("game")
        .tempdir_in(dir)
        .map_err(|source| GameRunError::Directory { dir: dir.display().to_string(), source })?;
    let mut measured = GameMeasurements::default();
    let mut sites = Vec::new();
    for &size in &plan.sizes {
        for &peer in &plan.peers {
            let dir = home.path().join(format!("{}-{size}", peer.name));
            let site = BenchSession { peer, size, dir };
            say(progress, &format!("building a session of {size} turns: {}", peer.name))?;
            let start = Instant::now();
            build(&site).map_err(site.failed("build"))?;
            let seconds = start.elapsed().as_secs_f64();
            measured.built.push(BuildTime { size, peer: peer.name, seconds });
            sites.push(site);
        }
    }
    check(&sites)?;
    files::sync_all();
    for run in 1..=plan.runs {
        for site in &sites {
            say(
                progress,
                &format!("run {run} of {}: {} {}", plan.runs, site.peer.name, site.size),
            )?;
            for &op in &plan.ops {
                read(op, site, run, &mut measured).map_err(site.failed(op.name()))?;
            }
        }
        // Each round starts with another session, so that none is always first.
        sites.rotate_left(1);
    }
    sites.sort_by_key(|site| site.size);
    for site in &sites {
        measured.peaks.extend(memory::peaks(site).map_err(site.failed("measure the memory of"))?);
        measured.kinds.extend(sizes(site).map_err(site.failed("count the files of"))?);
    }
    write::measure(plan, &sites, home.path(), progress, &mut measured)?;
    Ok(measured)
}

pub(crate) fn say(progress: &mut dyn Write, text: &str) -> Result<(), GameRunError> {
    writeln!(progress, "{text}").map_err(GameRunError::Progress)
}

/// Plays a session up to its size. The last snapshot, and with it the state files, is a few turns old.
fn build(site: &BenchSession) -> Result<(), PeerError> {
    files::create_dir(&site.dir)?;
    let mut keeper = (site.peer.create)(&site.dir)?;
    for number in 1..=site.last() {
        keeper.save(&NewTurn::new(number)?)?;
        if number + BEHIND == site.last() {
            keeper.snapshot()?;
        }
    }
    keeper.close()
}

/// Returns a pseudo-random turn of the session, the same in every run of the program.
fn random_turn(size: u32, count: u32, salt: u32) -> u64 {
    // A multiplicative mix, twice: good enough for choosing turns.
    let seed = SEED ^ (u64::from(salt) << 32) ^ u64::from(count);
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    1 + (mixed >> 17) % u64::from(size)
}

/// Verifies that all peers have the same turns and states.
fn check(sites: &[BenchSession]) -> Result<(), GameRunError> {
    for site in sites {
        let Some(first) = sites.iter().find(|first| first.size == site.size) else { continue };
        let differs =
            |what: String| GameRunError::Differs { peer: site.peer.name, what, size: site.size };
        let open = |site: &BenchSession| (site.peer.read)(&site.dir).map_err(site.failed("open"));
        let (mut one, mut two) = (open(first)?, open(site)?);
        let some = (0..CHECKED).map(|count| random_turn(site.size, count, 0));
        for turn in some.chain([1, u64::from(site.last())]) {
            let a = one.jump(turn).and_then(|held| held.into_values());
            let b = two.jump(turn).and_then(|held| held.into_values());
            let what = "jump in";
            if a.map_err(first.failed(what))? != b.map_err(site.failed(what))? {
                return Err(differs(format!("state at turn {turn}")));
            }
        }
        let (a, b) = (one.resume(), two.resume());
        let a = a.and_then(|held| held.into_values()).map_err(first.failed("resume"))?;
        let b = b.and_then(|held| held.into_values()).map_err(site.failed("resume"))?;
        if site.peer.resumes_all && a.unstamped() != b.unstamped() {
            return Err(differs("last state".to_owned()));
        }
        let what = "replay";
        let (a, _) =
            one.replay(site.replayed(), ReplayDepth::AsFound).map_err(first.failed(what))?;
        let (b, _) = two.replay(site.replayed(), ReplayDepth::Values).map_err(site.failed(what))?;
        if a != b || a.turns != u64::from(site.size).min(REPLAY_TURNS) {
            return Err(differs(format!("turns {a:?}, {b:?}")));
        }
    }
    Ok(())
}

/// Times `work` several times; its results are dropped after the clock has stopped.
fn timed<T>(
    times: u32,
    mut work: impl FnMut(u32) -> Result<T, PeerError>,
) -> Result<Vec<Duration>, PeerError> {
    let mut taken = Vec::new();
    for count in 0..times {
        let start = Instant::now();
        let made = work(count)?;
        taken.push(start.elapsed());
        drop(made);
    }
    Ok(taken)
}

/// Measures one reading operation of a session; writing is measured later.
fn read(
    op: GameOp,
    site: &BenchSession,
    run: u32,
    measured: &mut GameMeasurements,
) -> Result<(), PeerError> {
    let (peer, size) = (site.peer, site.size);
    let values = format!("{}-values", peer.name);
    let open = || (peer.read)(&site.dir);
    match op {
        GameOp::Jump => {
            let mut reader = open()?;
            let turn = |count: u32| random_turn(size, count, run);
            let times = timed(JUMPS, |count| reader.jump(turn(count)))?;
            measured.add(op, size, peer.name, times);
            if peer.lazy {
                let jump = |count| reader.jump(turn(count))?.into_values();
                measured.add(op, size, &values, timed(JUMPS, jump)?);
            }
        }
        GameOp::Resume => {
            measured.add(op, size, peer.name, timed(RESUMES, |_| open()?.resume())?);
            if peer.lazy {
                let resume = |_| open()?.resume()?.into_values();
                measured.add(op, size, &values, timed(RESUMES, resume)?);
            }
            let play = format!("{}-play", peer.name);
            let mut times = Vec::new();
            for _ in 0..RESUMES {
                let start = Instant::now();
                let keeper = (peer.play)(&site.dir)?;
                times.push(start.elapsed());
                keeper.close()?;
            }
            measured.add(op, size, &play, times);
        }
        GameOp::Replay => {
            let mut reader = open()?;
            let mut replay = |reading| {
                timed(REPLAYS, |_| {
                    let (seen, held) = reader.replay(site.replayed(), reading)?;
                    Ok((
                        seen,
                        if reading == ReplayDepth::Values {
                            Ok(held.into_values()?)
                        } else {
                            Err(held)
                        },
                    ))
                })
            };
            measured.add(op, size, peer.name, replay(ReplayDepth::AsFound)?);
            if peer.lazy {
                measured.add(op, size, &values, replay(ReplayDepth::Values)?);
            }
        }
        GameOp::Save | GameOp::Snapshot => {}
    }
    Ok(())
}

/// Returns the disk usage of a session's files.
fn sizes(site: &BenchSession) -> Result<Vec<FileUsage>, PeerError> {
    let mut kinds = Vec::new();
    for (kind, place) in (site.peer.kinds)(&site.dir) {
        if files::is_there(&place) {
            let (files, bytes) = files::count(&place)?;
            kinds.push(FileUsage { size: site.size, peer: site.peer.name, kind, files, bytes });
        }
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_turns_are_in_the_session_spread_out_and_the_same_every_time() {
        let turns: Vec<u64> = (0..200).map(|count| random_turn(1000, count, 3)).collect();
        assert!(turns.iter().all(|turn| (1..=1000).contains(turn)));
        let low = turns.iter().filter(|turn| **turn <= 500).count();
        assert!((70..=130).contains(&low), "{low} of 200 are in the first half");
        let again: Vec<u64> = (0..200).map(|count| random_turn(1000, count, 3)).collect();
        assert_eq!(turns, again);
        assert_ne!(turns, (0..200).map(|count| random_turn(1000, count, 4)).collect::<Vec<u64>>());
    }
}
