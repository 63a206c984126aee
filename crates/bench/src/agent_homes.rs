//! Measures how long it takes to list the sessions of large agent homes.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, value_parser};
use everturn::disk::RealDisk;
use everturn::format::{self, Operation, SessionError, SessionFormat};
use everturn::model::SessionRef;
use everturn::names::{FilePath, NameError};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, Options, Precondition, Step, Store, StoreError,
};
use serde_json::json;
use thiserror::Error;

use crate::files;
use crate::peer::PeerError;
use crate::stats::median;

/// The target for a list, in milliseconds.
const TARGET: f64 = 100.0;

/// The number of files created by one commit.
const BATCH: u32 = 500;

/// What the command line says about the benchmark of homes.
#[derive(Debug, Args)]
pub(crate) struct HomeBench {
    /// Number of sessions in the home
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
    sessions: u32,

    /// Number of runs; the report shows the median
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

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
pub(crate) enum HomesError {
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// The files could not be created.
    #[error("cannot use the data directory")]
    Io(#[from] io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The format failed.
    #[error(transparent)]
    Layout(#[from] SessionError),
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The format does not exist.
    #[error("unknown format {name}")]
    NoLayout {
        /// The name of the format.
        name: &'static str,
    },
    /// The list does not match the created sessions.
    #[error("{found} sessions were listed, {made} were created")]
    Wrong {
        /// The number of listed sessions.
        found: usize,
        /// The number of created sessions.
        made: u32,
    },
}

/// A home to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HomeKind {
    Codelia,
    Linggen,
}

impl HomeKind {
    fn name(self) -> &'static str {
        match self {
            HomeKind::Codelia => "codelia",
            HomeKind::Linggen => "linggen",
        }
    }

    fn layout(self) -> Result<&'static dyn SessionFormat, HomesError> {
        format::find(self.name()).ok_or(HomesError::NoLayout { name: self.name() })
    }

    /// Returns the files of a session, with their contents.
    fn files(self, number: u32) -> Result<Vec<(FilePath, String)>, NameError> {
        let files = match self {
            HomeKind::Codelia => {
                let text = format!(
                    "{{\"role\":\"user\",\"content\":\"question {number}\"}}\n\
                     {{\"role\":\"assistant\",\"content\":\"answer {number}\"}}\n"
                );
                vec![(format!("sessions/messages/{number:08x}.jsonl"), text)]
            }
            HomeKind::Linggen => {
                let id = format!("sess-{}-{number:08x}", 1_700_000_000 + number);
                let dir = format!("projects/-srv-p{}/sessions/{id}", number % 20);
                let meta = format!("id: {id}\ntitle: Question {number}\ncreated_at: 1700000000\n");
                let message = format!(
                    "{{\"agent_id\":\"ling\",\"from_id\":\"user\",\"to_id\":\"ling\",\
                     \"content\":\"question {number}\",\"timestamp\":1700000000,\"is_observation\":false}}\n"
                );
                vec![
                    (format!("{dir}/session.yaml"), meta),
                    (format!("{dir}/messages.jsonl"), message),
                ]
            }
        };
        files.into_iter().map(|(file, text)| Ok((FilePath::parse(&file)?, text))).collect()
    }
}

impl HomeBench {
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), HomesError> {
        files::create_dir(&self.dir).map_err(HomesError::Directory)?;
        let mut report = Vec::new();
        for kind in [HomeKind::Codelia, HomeKind::Linggen] {
            let place = tempfile::tempdir_in(&self.dir)?;
            let disk = Arc::new(RealDisk::open(place.path())?);
            let owner = LockOwner { pid: std::process::id(), started: String::new() };
            let store: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(owner))?);
            writeln!(progress, "creating {} {} sessions", self.sessions, kind.name())?;
            self.make(kind, &store)?;
            report.push((kind, self.measure(kind, &store)?));
        }
        if self.json {
            let homes: Vec<_> = report
                .iter()
                .map(|(kind, took)| json!({"layout": kind.name(), "list_ms": took}))
                .collect();
            let report = json!({
                "sessions": self.sessions, "runs": self.runs, "target_ms": TARGET, "homes": homes,
            });
            writeln!(out, "{report:#}")?;
            return Ok(());
        }
        for (kind, took) in report {
            let name = kind.name();
            writeln!(
                out,
                "{name}: list of {} sessions: {took:.1} ms (target {TARGET} ms)",
                self.sessions
            )?;
        }
        Ok(())
    }

    /// Returns the median time of a list, in milliseconds.
    fn measure(&self, kind: HomeKind, store: &Arc<dyn Store>) -> Result<f64, HomesError> {
        let layout = kind.layout()?;
        let mut millis = Vec::new();
        // The first list runs with cold system caches and is not counted.
        for run in 0..=self.runs {
            let start = Instant::now();
            let (summaries, _) = layout.list(store)?;
            let took = start.elapsed().as_secs_f64() * 1000.0;
            if summaries.len() != usize::try_from(self.sessions).unwrap_or(usize::MAX) {
                return Err(HomesError::Wrong { found: summaries.len(), made: self.sessions });
            }
            if run > 0 {
                millis.push(took);
            }
        }
        Ok(median(millis))
    }

    /// Creates the files; each Codelia session is then opened once, so that the index contains it.
    fn make(&self, kind: HomeKind, store: &Arc<dyn Store>) -> Result<(), HomesError> {
        let writer = store.lock(&[FilePath::parse("sessions")?, FilePath::parse("projects")?])?;
        let mut steps = Vec::new();
        for number in 0..self.sessions {
            for (file, text) in kind.files(number)? {
                let (expect, mode) = (Precondition::Absent, FileMode::Default);
                steps.push(Step::Replace { file, expect, bytes: text.into_bytes(), mode });
            }
            if number % BATCH == BATCH - 1 || number + 1 == self.sessions {
                writer.commit(std::mem::take(&mut steps), Durability::Synced)?;
            }
        }
        writer.release()?;
        if kind == HomeKind::Codelia {
            for number in 0..self.sessions {
                for (path, _) in kind.files(number)? {
                    let place = SessionRef { id: format!("{number:08x}"), path };
                    let editing = kind.layout()?.editing(Operation::Write)?;
                    editing.edit(store, &place)?.release()?;
                }
            }
        }
        Ok(())
    }
}
