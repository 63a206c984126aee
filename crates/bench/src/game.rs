//! Measures reading and writing of long game sessions with Everturn and its peers.
//!
//! `workload -> build (once per size and peer) -> check -> read, write (timed) -> report`
//!
//! The modules, in reading order:

mod workload;

mod values;

mod peer;
mod peers;

mod measurements;

mod memory;
mod run;
mod write;

mod report;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, value_parser};
use thiserror::Error;

use crate::files;
use crate::machine::Machine;
use crate::peer::PeerError;
use measurements::{GameOp, GameRunError, MeasurementPlan};
use peer::GamePeer;
use peers::PEERS;

pub(crate) use memory::MemoryTask;
pub(crate) use report::json::SHAPE as JSON_SHAPE;

/// What the command line says about the benchmark of games.
#[derive(Debug, Args)]
pub(crate) struct GameBench {
    /// Number of runs of each row; the report shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Number of turns in each session
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_values_t = [1000, 10_000, 100_000],
        value_parser = value_parser!(u32).range(1..)
    )]
    sizes: Vec<u32>,

    /// Measure only this operation; may be repeated
    #[arg(long = "op", value_name = "OP")]
    ops: Vec<GameOp>,

    /// Measure only the peer of this name; may be repeated
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<String>,

    /// Parent of the temporary data directory, which is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,

    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// An error of this benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum GameError {
    /// `--peer` names an unknown peer.
    #[error("no peer named {name:?}; known peers: {known}")]
    UnknownPeer {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// Something could not be measured.
    #[error(transparent)]
    Run(#[from] GameRunError),
    /// The report could not be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
}

impl GameBench {
    /// Runs the benchmark and writes the report.
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), GameError> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let plan = MeasurementPlan {
            runs: self.runs,
            sizes,
            ops: if self.ops.is_empty() { GameOp::ALL.to_vec() } else { self.ops.clone() },
            peers: choose(&self.peers)?,
        };
        files::create_dir(&self.dir).map_err(GameError::Directory)?;
        let dir = files::absolute(&self.dir).map_err(GameError::Directory)?;
        let measured = run::measure(&plan, &dir, progress)?;
        let report = report::GameReport { machine: Machine::detect(&dir), plan, measured };
        if self.json {
            writeln!(out, "{:#}", report::json::document(&report))?;
        } else {
            report::table::write(&report, out)?;
        }
        Ok(())
    }
}

/// Returns the peers with these names; all peers if there are no names.
fn choose(names: &[String]) -> Result<Vec<&'static GamePeer>, GameError> {
    if let Some(name) = names.iter().find(|name| !PEERS.iter().any(|peer| peer.name == **name)) {
        let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
        return Err(GameError::UnknownPeer { name: name.clone(), known: known.join(", ") });
    }
    let wanted = |peer: &&GamePeer| names.is_empty() || names.iter().any(|name| peer.name == name);
    Ok(PEERS.iter().filter(wanted).collect())
}
