//! Measures the cost of a campaign turn, and whether it grows with the campaign.
//!
//! Everturn plays a turn by its rules and stores it durably. It is compared with the method of the upstream program,
//! reimplemented in Rust without its rules: it counts the lines of the log, rewrites the document, and appends the
//! row. Neither is flushed, and a crash may leave any mixture.

mod peers;
mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use thiserror::Error;

use crate::files;
use crate::machine::Machine;
use crate::peer::PeerError;
use crate::stats::percentile;
use peers::{CampaignPeer, EverturnCampaign, LineCountingPeer};

pub(crate) use report::SHAPE as JSON_SHAPE;

/// How many turns are played before the measurement, to warm up files and memory.
const WARM_UP: u32 = 10;

/// What the command line says about the benchmark of campaigns.
#[derive(Debug, Args)]
pub(crate) struct CampaignBench {
    /// Number of runs of each row; the report shows the median
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Number of turns in the campaign before measuring
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_values_t = [100, 1000, 10_000],
        value_parser = value_parser!(u32).range(1..)
    )]
    sizes: Vec<u32>,

    /// Number of measured turns in each run
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = value_parser!(u32).range(1..))]
    turns: u32,

    /// Parent of the temporary data directory, which is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// An error of this benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CampaignError {
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// A peer failed to store or keep its turns.
    #[error("{peer} with {size} turns")]
    Peer {
        /// The peer.
        peer: &'static str,
        /// The number of turns it had.
        size: u32,
        /// The cause.
        #[source]
        source: PeerError,
    },
    /// The report could not be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
}

/// The result of a peer at a size, from the median run.
#[derive(Debug)]
struct CampaignRow {
    peer: &'static str,
    size: u32,
    p50: Duration,
    p99: Duration,
}

/// All measurements.
#[derive(Debug)]
struct CampaignReport {
    machine: Machine,
    runs: u32,
    turns: u32,
    rows: Vec<CampaignRow>,
}

impl CampaignBench {
    /// Runs the benchmark and writes the report.
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), CampaignError> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        files::create_dir(&self.dir).map_err(CampaignError::Directory)?;
        let dir = files::absolute(&self.dir).map_err(CampaignError::Directory)?;
        let mut runs: Vec<Vec<CampaignRow>> = Vec::new();
        for run in 1..=self.runs {
            writeln!(progress, "run {run} of {}", self.runs)?;
            runs.push(self.run(&sizes, &dir)?);
        }
        let (machine, turns) = (Machine::detect(&dir), self.turns);
        let report = CampaignReport { machine, runs: self.runs, turns, rows: middle(runs) };
        if self.json {
            writeln!(out, "{:#}", report::document(&report))?;
        } else {
            report::write(&report, out)?;
        }
        Ok(())
    }

    /// Performs one run: every peer at every size, each with one growing campaign.
    fn run(&self, sizes: &[u32], dir: &Path) -> Result<Vec<CampaignRow>, CampaignError> {
        let temporary = tempfile::tempdir_in(dir);
        let temporary =
            temporary.map_err(|error| CampaignError::Directory(files::at(dir)(error)))?;
        let mut rows = Vec::new();
        let mut everturn = EverturnCampaign::create(&temporary.path().join("everturn"));
        let mut counting = LineCountingPeer::create(&temporary.path().join("counting"));
        for size in sizes {
            for peer in [open(&mut everturn, *size)?, open(&mut counting, *size)?] {
                rows.push(self.measure(peer, *size)?);
            }
        }
        Ok(rows)
    }

    fn measure(
        &self,
        peer: &mut dyn CampaignPeer,
        size: u32,
    ) -> Result<CampaignRow, CampaignError> {
        let name = peer.name();
        let failed = |source| CampaignError::Peer { peer: name, size, source };
        peer.grow(size.saturating_sub(WARM_UP)).map_err(failed)?;
        files::sync_all();
        for _ in 0..WARM_UP {
            peer.turn().map_err(failed)?;
        }
        let mut times = Vec::new();
        for _ in 0..self.turns {
            let start = Instant::now();
            peer.turn().map_err(failed)?;
            times.push(start.elapsed());
        }
        peer.verify().map_err(failed)?;
        times.sort_unstable();
        Ok(CampaignRow {
            peer: name,
            size,
            p50: percentile(&times, 50),
            p99: percentile(&times, 99),
        })
    }
}

fn open<P: CampaignPeer>(
    peer: &mut Result<P, PeerError>,
    size: u32,
) -> Result<&mut dyn CampaignPeer, CampaignError> {
    match peer {
        Ok(peer) => Ok(peer),
        Err(error) => {
            let source = PeerError::Batch(error.to_string());
            Err(CampaignError::Peer { peer: "a peer", size, source })
        }
    }
}

/// Returns for each row the run with the median result.
fn middle(runs: Vec<Vec<CampaignRow>>) -> Vec<CampaignRow> {
    let mut columns: Vec<Vec<CampaignRow>> = Vec::new();
    for run in runs {
        for (at, row) in run.into_iter().enumerate() {
            match columns.get_mut(at) {
                Some(column) => column.push(row),
                None => columns.push(vec![row]),
            }
        }
    }
    let pick = |mut column: Vec<CampaignRow>| {
        column.sort_by_key(|row| row.p50);
        let at = column.len().saturating_sub(1) / 2;
        column.into_iter().nth(at)
    };
    columns.into_iter().filter_map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_peers_keep_every_turn_and_the_report_has_a_row_for_each() {
        let dir = tempfile::tempdir().unwrap();
        let bench = CampaignBench {
            runs: 1,
            sizes: vec![30, 20],
            turns: 5,
            dir: dir.path().to_owned(),
            json: false,
        };
        let (mut out, mut progress) = (Vec::new(), Vec::new());
        bench.execute(&mut out, &mut progress).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert_eq!(table.matches("everturn").count(), 2, "{table}");
        assert_eq!(table.matches("counting").count(), 2, "{table}");
    }

    #[test]
    fn the_middle_of_the_runs_is_shown() {
        let row = |micros: u64| CampaignRow {
            peer: "x",
            size: 1,
            p50: Duration::from_micros(micros),
            p99: Duration::ZERO,
        };
        let shown = middle(vec![vec![row(9)], vec![row(1)], vec![row(5)]]);
        assert_eq!(shown[0].p50, Duration::from_micros(5));
    }
}
