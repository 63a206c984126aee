//! Measures how long `everturn ls` takes to list the sessions of large agent homes, as a user runs it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The time after which the catalog trusts the times of files.
const SETTLE: Duration = Duration::from_secs(3);

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

    /// The program to measure; default: `everturn` beside this program
    #[arg(long, value_name = "FILE")]
    everturn: Option<PathBuf>,

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
    /// The command could not be run.
    #[error("cannot run {program}; build it with: cargo build --release -p everturn-cli")]
    Command {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The command failed.
    #[error("everturn ls failed: {message}")]
    Failed {
        /// What it said.
        message: String,
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

/// The median times of the command in a home, in milliseconds.
struct HomeTimes {
    kind: HomeKind,
    /// Without any cache of Everturn.
    cold: f64,
    /// With nothing changed since the last list.
    warm: f64,
}

impl HomeBench {
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), HomesError> {
        files::create_dir(&self.dir).map_err(HomesError::Directory)?;
        let program = self.program()?;
        let mut report = Vec::new();
        for kind in [HomeKind::Codelia, HomeKind::Linggen] {
            let dir = tempfile::tempdir_in(&self.dir)?;
            let user = files::absolute(dir.path()).map_err(HomesError::Directory)?;
            let home = user.join(format!(".{}", kind.name()));
            files::create_dir(&home).map_err(HomesError::Directory)?;
            writeln!(progress, "creating {} {} sessions", self.sessions, kind.name())?;
            let disk = Arc::new(RealDisk::open(&home)?);
            let owner = LockOwner { pid: std::process::id(), started: String::new() };
            let store = FileStore::open(disk, Options::new(owner))?;
            let shared: Arc<dyn Store> = Arc::new(store.clone());
            self.make(kind, &shared)?;
            drop(shared);
            store.close()?;
            report.push(self.measure(kind, &program, &user)?);
        }
        self.print(&report, out)?;
        Ok(())
    }

    fn print(&self, report: &[HomeTimes], out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            let home = |times: &HomeTimes| json!({"layout": times.kind.name(), "cold_ms": times.cold, "warm_ms": times.warm});
            let homes: Vec<_> = report.iter().map(home).collect();
            let report = json!({
                "sessions": self.sessions, "runs": self.runs, "target_ms": TARGET, "homes": homes,
            });
            return writeln!(out, "{report:#}");
        }
        for HomeTimes { kind, cold, warm } in report {
            let name = kind.name();
            writeln!(
                out,
                "{name}: everturn ls of {} sessions: {cold:.1} ms without a catalog, {warm:.1} ms with nothing changed (target {TARGET} ms)",
                self.sessions
            )?;
        }
        Ok(())
    }

    fn program(&self) -> Result<PathBuf, HomesError> {
        if let Some(program) = &self.everturn {
            return files::absolute(program).map_err(HomesError::Directory);
        }
        let this = files::this_program().map_err(HomesError::Directory)?;
        Ok(this.with_file_name("everturn"))
    }

    /// Runs the command for a user, and returns how long it took in milliseconds.
    fn list(&self, kind: HomeKind, program: &Path, user: &Path) -> Result<f64, HomesError> {
        let start = Instant::now();
        let output = Command::new(program)
            .args(["ls", "--layout", kind.name()])
            .current_dir(user)
            .env_clear()
            .env("HOME", user)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| HomesError::Command {
                program: program.display().to_string(),
                source,
            })?;
        let took = start.elapsed().as_secs_f64() * 1000.0;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(HomesError::Failed { message });
        }
        let found = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        if found != usize::try_from(self.sessions).unwrap_or(usize::MAX) {
            return Err(HomesError::Wrong { found, made: self.sessions });
        }
        Ok(took)
    }

    /// Measures the command, first without a catalog, then with one.
    fn measure(
        &self,
        kind: HomeKind,
        program: &Path,
        user: &Path,
    ) -> Result<HomeTimes, HomesError> {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        let own = user.join(".everturn");
        for run in 0..self.runs {
            if files::is_there(&own) {
                let aside = user.join(format!("former-{run}"));
                files::rename(&own, &aside).map_err(HomesError::Directory)?;
            }
            cold.push(self.list(kind, program, user)?);
        }
        // What changed within the last two seconds is read again.
        std::thread::sleep(SETTLE);
        self.list(kind, program, user)?;
        for _ in 0..self.runs {
            warm.push(self.list(kind, program, user)?);
        }
        Ok(HomeTimes { kind, cold: median(cold), warm: median(warm) })
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
