//! Homes of agents with many sessions: how long it takes to list them.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, value_parser};
use everturn::disk::RealDisk;
use everturn::layout::{self, LayoutError};
use everturn::names::{FilePath, NameError};
use everturn::store::{
    Durability, Expect, FileStore, Holder, Options, Secrecy, Step, Store, StoreError,
};
use everturn::view::Place;
use serde_json::json;
use thiserror::Error;

use crate::files;
use crate::peer::PeerError;
use crate::stats::median;

/// What a list may take, in milliseconds.
const TARGET: f64 = 100.0;

/// How many files one commit makes.
const BATCH: u32 = 500;

/// What the command line says about the benchmark of homes.
#[derive(Debug, Args)]
pub(crate) struct Homes {
    /// How many sessions the home has
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
    sessions: u32,

    /// How often the list is made; the report shows the median
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Where the data goes, in a temporary directory that is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,

    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// Why homes could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum HomesError {
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// The files could not be made.
    #[error("cannot use the data directory")]
    Io(#[from] io::Error),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layout said no.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such layout.
    #[error("there is no layout codelia")]
    NoLayout,
    /// What was listed is not what was made.
    #[error("{found} sessions were listed, {made} were made")]
    Wrong {
        /// How many were listed.
        found: usize,
        /// How many were made.
        made: u32,
    },
}

fn log(number: u32) -> Result<FilePath, NameError> {
    FilePath::parse(&format!("sessions/messages/{number:08x}.jsonl"))
}

impl Homes {
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), HomesError> {
        files::create_dir(&self.dir).map_err(HomesError::Directory)?;
        let place = tempfile::tempdir_in(&self.dir)?;
        let disk = Arc::new(RealDisk::open(place.path())?);
        let holder = Holder { pid: std::process::id(), started: String::new() };
        let store: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(holder))?);
        writeln!(progress, "making {} sessions", self.sessions)?;
        self.make(&store)?;
        let codelia = layout::find("codelia").ok_or(HomesError::NoLayout)?;
        let mut millis = Vec::new();
        // The first list finds nothing in the caches of the system and does not count.
        for run in 0..=self.runs {
            let start = Instant::now();
            let (summaries, _) = codelia.list(&store)?;
            let took = start.elapsed().as_secs_f64() * 1000.0;
            if summaries.len() != usize::try_from(self.sessions).unwrap_or(usize::MAX) {
                return Err(HomesError::Wrong { found: summaries.len(), made: self.sessions });
            }
            if run > 0 {
                millis.push(took);
            }
        }
        let took = median(millis);
        if self.json {
            let report = json!({
                "sessions": self.sessions, "runs": self.runs, "list_ms": took, "target_ms": TARGET,
            });
            writeln!(out, "{report:#}")?;
        } else {
            writeln!(out, "list of {} sessions: {took:.1} ms (target {TARGET} ms)", self.sessions)?;
        }
        Ok(())
    }

    /// Makes the logs, then lets each session be opened once, so that the index knows it.
    fn make(&self, store: &Arc<dyn Store>) -> Result<(), HomesError> {
        let codelia = layout::find("codelia").ok_or(HomesError::NoLayout)?;
        let writer = store.lock(&[FilePath::parse("sessions")?])?;
        let mut steps = Vec::new();
        for number in 0..self.sessions {
            let text = format!(
                "{{\"role\":\"user\",\"content\":\"question {number}\"}}\n\
                 {{\"role\":\"assistant\",\"content\":\"answer {number}\"}}\n"
            );
            let (expect, secrecy) = (Expect::Absent, Secrecy::Usual);
            let (file, bytes) = (log(number)?, text.into_bytes());
            steps.push(Step::Replace { file, expect, bytes, secrecy });
            if number % BATCH == BATCH - 1 || number + 1 == self.sessions {
                writer.commit(std::mem::take(&mut steps), Durability::Synced)?;
            }
        }
        writer.release()?;
        for number in 0..self.sessions {
            let place = Place { id: format!("{number:08x}"), path: log(number)? };
            codelia.edit(store, &place)?.release()?;
        }
        Ok(())
    }
}
