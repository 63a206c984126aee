//! Runs a row: creates a store, saves and times every turn, closes the store and reads it back.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::files;
use crate::peer::{PeerError, PeerRow, Saver};
use crate::sharing::{SaverGroup, make_savers};
use crate::stats::percentile;
use crate::workload::{Workload, WorkloadTurn};

/// The result of one run of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SaveSample {
    /// The 50th percentile of the save times.
    pub(crate) p50: Duration,
    /// The 99th percentile of the save times.
    pub(crate) p99: Duration,
    /// All turns, divided by the time from the first start to the last end.
    pub(crate) turns_per_second: f64,
    /// The flushes per turn, where the peer counts them.
    pub(crate) flushes_per_turn: Option<f64>,
    /// The disk usage of the closed store.
    pub(crate) bytes_on_disk: u64,
}

/// An error of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum RunError {
    /// A peer, or its directory, failed.
    #[error("row {row:?} failed")]
    Peer {
        /// The row.
        row: &'static str,
        /// The cause.
        source: PeerError,
    },
    /// A store that was closed and reopened does not contain what was saved.
    #[error(
        "row {row:?} lost or changed records: {saved} saved, {found} found, {intact} of them intact"
    )]
    Lost {
        /// The row.
        row: &'static str,
        /// The number of saved records.
        saved: usize,
        /// The number of records read back.
        found: usize,
        /// The number of those that match a saved record.
        intact: usize,
    },
    /// A thread of the row panicked.
    #[error("a thread of row {row:?} panicked")]
    Panicked {
        /// The row.
        row: &'static str,
    },
    /// The directory for the runs could not be created.
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

/// Runs each of `rows` `runs` times, interleaved, so that changes in the speed of the machine affect all of them. The
/// samples are in the order of the rows.
pub(crate) fn measure(
    rows: &[&'static PeerRow],
    workload: &Workload,
    runs: u32,
    dir: &Path,
    progress: &mut dyn Write,
) -> Result<Vec<Vec<SaveSample>>, RunError> {
    let expected = workload.records();
    let mut samples: Vec<Vec<SaveSample>> = rows.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<(&'static PeerRow, &mut Vec<SaveSample>)> =
        rows.iter().copied().zip(&mut samples).collect();
    for run in 1..=runs {
        for (row, samples) in &mut order {
            writeln!(progress, "run {run} of {runs}: {}", row.name).map_err(RunError::Progress)?;
            samples.push(run_once(row, workload, &expected, dir)?);
        }
        // Each round starts with another row, so that none is always first.
        let next = order.len().min(1);
        order.rotate_left(next);
    }
    Ok(samples)
}

/// Runs `row` once in its own directory below `dir`, which is removed afterwards.
pub(crate) fn run_once(
    row: &'static PeerRow,
    workload: &Workload,
    expected: &[&[u8]],
    dir: &Path,
) -> Result<SaveSample, RunError> {
    let failed = |source| RunError::Peer { row: row.name, source };
    let home = tempfile::Builder::new()
        .prefix(row.name)
        .tempdir_in(dir)
        .map_err(|source| RunError::Directory { dir: dir.display().to_string(), source })?;
    let peer = (row.create)(home.path()).map_err(failed)?;
    let SaverGroup { savers, writer } =
        make_savers(peer.as_ref(), row.sharing, row.scenario.sessions()).map_err(failed)?;
    files::sync_dir(home.path()).map_err(failed)?;

    let timing = drive(row.name, savers, workload)?;
    if let Some(writer) = writer {
        writer.join().map_err(|_| RunError::Panicked { row: row.name })?;
    }
    let flushes = peer.flushes();
    drop(peer);

    let bytes_on_disk = files::bytes_on_disk(home.path()).map_err(failed)?;
    let found = (row.read_back)(home.path()).map_err(failed)?;
    compare(row.name, expected, found)?;
    Ok(timing.sample(flushes, workload.turns(), bytes_on_disk))
}

/// The times of the saves of a run.
struct SaveTiming {
    /// The time of each save, sorted.
    latencies: Vec<Duration>,
    /// From the first start to the last end.
    wall: Duration,
}

impl SaveTiming {
    /// Returns the sample. `saved` counts all saved turns, including those before the clock started.
    fn sample(&self, flushes: Option<u64>, saved: usize, bytes_on_disk: u64) -> SaveSample {
        let turns = self.latencies.len() as f64;
        SaveSample {
            p50: percentile(&self.latencies, 50),
            p99: percentile(&self.latencies, 99),
            turns_per_second: turns / self.wall.as_secs_f64(),
            flushes_per_turn: flushes.map(|flushes| flushes as f64 / saved as f64),
            bytes_on_disk,
        }
    }
}

/// Saves the turns of each session in its own thread, all starting together.
fn drive(
    row: &'static str,
    savers: Vec<Box<dyn Saver>>,
    workload: &Workload,
) -> Result<SaveTiming, RunError> {
    let start = Barrier::new(savers.len());
    let threads: Vec<Result<SessionTiming, PeerError>> = thread::scope(|scope| {
        let sessions = savers.into_iter().zip(workload.sessions());
        let threads: Vec<_> = sessions
            .map(|(saver, turns)| scope.spawn(|| save_session(saver, turns, &start)))
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Result<_, _>>()
    })
    .map_err(|_| RunError::Panicked { row })?;

    let mut latencies = Vec::with_capacity(workload.turns());
    let mut span: Option<(Instant, Instant)> = None;
    for session in threads {
        let session = session.map_err(|source| RunError::Peer { row, source })?;
        latencies.extend(session.latencies);
        span = Some(span.map_or((session.start, session.end), |(start, end)| {
            (start.min(session.start), end.max(session.end))
        }));
    }
    latencies.sort_unstable();
    let wall = span.map_or(Duration::ZERO, |(start, end)| end - start);
    Ok(SaveTiming { latencies, wall })
}

struct SessionTiming {
    start: Instant,
    end: Instant,
    latencies: Vec<Duration>,
    /// Kept until all sessions are done: closing one must not delay the others.
    _saver: Box<dyn Saver>,
}

fn save_session(
    mut saver: Box<dyn Saver>,
    turns: &[Arc<WorkloadTurn>],
    together: &Barrier,
) -> Result<SessionTiming, PeerError> {
    // The first turn creates files and fills caches; some peers do that earlier. It is saved but not timed.
    let (first, timed) = match turns.split_first() {
        Some((first, rest)) if !rest.is_empty() => (Some(first), rest),
        _ => (None, turns),
    };
    let begun = first.map_or(Ok(()), |first| saver.save(std::slice::from_ref(first)));
    let mut latencies = Vec::with_capacity(timed.len());
    // The other threads wait for this one even if its peer has failed.
    together.wait();
    begun?;
    let start = Instant::now();
    let mut before = start;
    for turn in timed {
        saver.save(std::slice::from_ref(turn))?;
        let after = Instant::now();
        latencies.push(after - before);
        before = after;
    }
    Ok(SessionTiming { start, end: before, latencies, _saver: saver })
}

/// Compares the records read back with those saved. `expected` is sorted.
fn compare(row: &'static str, expected: &[&[u8]], mut found: Vec<Vec<u8>>) -> Result<(), RunError> {
    found.sort_unstable();
    if found == expected {
        return Ok(());
    }
    let intact = found.iter().filter(|record| expected.binary_search(&record.as_slice()).is_ok());
    let intact = intact.count();
    Err(RunError::Lost { row, saved: expected.len(), found: found.len(), intact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Scenario, Sharing};
    use crate::peers::ROWS;
    use crate::workload::DELTAS_PER_TURN;

    fn rows() -> impl Iterator<Item = &'static PeerRow> {
        ROWS.iter().copied().flatten()
    }

    #[test]
    fn every_peer_holds_every_record_after_it_was_closed() {
        let dir = tempfile::tempdir().unwrap();
        for row in rows() {
            // Enough that a store cannot hold it all in the pages that it reads on opening.
            let turns_each = 128 / row.scenario.sessions();
            let workload = Workload::new(row.scenario.sessions(), turns_each);
            let expected = workload.records();
            let turns = (turns_each * row.scenario.sessions()) as usize;
            assert_eq!(expected.len(), turns * (1 + DELTAS_PER_TURN));

            let sample = run_once(row, &workload, &expected, dir.path()).unwrap();
            assert!(sample.bytes_on_disk >= expected.concat().len() as u64, "{}", row.name);
            assert!(files::entries(dir.path()).unwrap().is_empty(), "{} left files", row.name);
        }
    }

    #[test]
    fn a_raw_row_flushes_each_file_for_each_save_and_a_group_shares_its_flushes() {
        let dir = tempfile::tempdir().unwrap();
        for row in rows().filter(|row| row.family == "raw") {
            let workload = Workload::new(row.scenario.sessions(), 2);
            let sample = run_once(row, &workload, &workload.records(), dir.path()).unwrap();
            let flushes = sample.flushes_per_turn.unwrap();
            match (row.name, row.sharing) {
                ("raw-two-files", _) => assert!((flushes - 2.0).abs() < 1e-9, "{flushes}"),
                (_, Sharing::WriterThread) => assert!(flushes <= 1.0, "{flushes}"),
                (name, _) => assert!((flushes - 1.0).abs() < 1e-9, "{name}: {flushes}"),
            }
        }
    }

    #[test]
    fn a_lost_a_changed_and_a_doubled_record_are_noticed() {
        let workload = Workload::new(1, 2);
        let expected = workload.records();
        let saved: Vec<Vec<u8>> = expected.iter().map(|record| record.to_vec()).collect();
        let check = |found: Vec<Vec<u8>>, intact_expected: usize| match compare(
            "row",
            &expected,
            found.clone(),
        )
        .unwrap_err()
        {
            RunError::Lost { saved, found: count, intact, .. } => {
                assert_eq!((saved, count, intact), (14, found.len(), intact_expected));
            }
            other => panic!("{other}"),
        };
        assert!(compare("row", &expected, saved.iter().rev().cloned().collect()).is_ok());
        check(saved[1..].to_vec(), 13);
        let mut changed = saved.clone();
        changed[3][50] ^= 1;
        check(changed, 13);
        let mut doubled = saved.clone();
        doubled.push(saved[0].clone());
        check(doubled, 15);
    }

    #[test]
    fn a_peer_that_does_not_save_fails_its_run() {
        static LAZY: PeerRow = PeerRow {
            name: "lazy",
            family: "lazy",
            about: "",
            scenario: Scenario::OneWriter,
            durability: crate::peer::Durability::AtReturn,
            sharing: Sharing::OwnSaver,
            create: |_| Ok(Box::new(LazyPeer)),
            read_back: |_| Ok(Vec::new()),
        };
        struct LazyPeer;
        impl crate::peer::StorePeer for LazyPeer {
            fn saver(&self, _: u32) -> Result<Box<dyn Saver>, PeerError> {
                Ok(Box::new(LazyPeer))
            }
        }
        impl Saver for LazyPeer {
            fn save(&mut self, _: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
                Ok(())
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let workload = Workload::new(1, 1);
        let error = run_once(&LAZY, &workload, &workload.records(), dir.path()).unwrap_err();
        assert!(matches!(error, RunError::Lost { saved: 7, found: 0, .. }), "{error}");
    }
}
