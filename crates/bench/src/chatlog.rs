//! Measures growing chat logs: the cost of a message, of a fold, and of reading history.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use everturn::chatlog::{ChatError, ChatLog, ChatWriter};
use everturn::disk::RealDisk;
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;
use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;

use crate::files;
use crate::peer::PeerError;
use crate::stats::{median, percentile};

/// A tool changes once in this many messages.
const TOOL_EVERY: u32 = 10;

/// What the command line says about the benchmark of chat logs.
#[derive(Debug, Args)]
pub(crate) struct ChatBench {
    /// Number of messages in the chat logs
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_values_t = [100, 10_000, 100_000],
        value_parser = value_parser!(u32).range(1..)
    )]
    sizes: Vec<u32>,

    /// Number of runs; the report shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    runs: u32,

    /// Number of messages appended in each run
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = value_parser!(u32).range(1..))]
    appends: u32,

    /// Parent of the temporary data directory, which is removed afterwards
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    dir: PathBuf,
}

/// The fold of one chat log, in a process that tells its peak.
#[derive(Debug, Args)]
pub(crate) struct FoldTask {
    /// The root
    dir: PathBuf,
}

/// An error of this benchmark.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ChatsError {
    /// The directory for the data cannot be used, or a process failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The chat log could not be written or read.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The report or the data could not be written.
    #[error("cannot write")]
    Output(#[from] io::Error),
    /// An unexpected result.
    #[error("{0}")]
    Odd(String),
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "called by `map_err`, which passes the error by value"
)]
fn odd(error: impl ToString) -> ChatsError {
    ChatsError::Odd(error.to_string())
}

fn path() -> Result<FilePath, ChatsError> {
    FilePath::parse("chats/tale.json").map_err(odd)
}

pub(crate) fn store(dir: &Path) -> Result<Arc<dyn Store>, ChatsError> {
    let disk = Arc::new(RealDisk::create(dir).map_err(files::at(dir))?);
    let owner = LockOwner { pid: std::process::id(), started: String::new() };
    Ok(Arc::new(FileStore::open(disk, Options::new(owner)).map_err(odd)?))
}

fn text(number: u32) -> String {
    format!("Message {number}. The lanterns swing over the river, and nobody says a word. ")
        .repeat(8)
}

/// Returns a chat log with `size` messages, as a program would have written it.
pub(crate) fn document(size: u32) -> Result<Vec<u8>, ChatsError> {
    let time = "2026-01-01T10:00:00Z";
    let message = |number: u32| {
        json!({
            "id": format!("msg-{number:03}"), "timestamp": time, "type": "narrator",
            "sender": {"id": "narrator", "name": "Narrator"},
            "content": {"text": text(number)},
            "metadata": {"is_edited": false, "edit_history": [], "is_regenerated": false,
                "regeneration_history": [], "tokens": 150},
        })
    };
    let snapshot = |number: u32| {
        json!({
            "id": format!("snapshot-{number:04}"), "timestamp": time,
            "message_id": format!("msg-{number:03}"), "tool_id": "bell",
            "state": {"components": [{"id": "tolls", "current_value": number}]}, "changes": [],
        })
    };
    let messages: Vec<_> = (1..=size).map(message).collect();
    let snapshots: Vec<_> =
        (1..=size).filter(|number| number % TOOL_EVERY == 1).map(snapshot).collect();
    let document = json!({
        "version": "1.0", "type": "chat-log",
        "metadata": {"id": "tale", "created": time, "modified": time, "series": "", "title": "Tale"},
        "session": {"start_time": time, "message_count": size,
            "support_tools": [{"id": "bell", "name": "Bell"}], "settings": {}},
        "messages": messages, "tool_snapshots": snapshots, "bookmarks": [], "narrative_markers": [],
    });
    serde_json::to_vec_pretty(&document).map_err(odd)
}

/// The measurements of one chat log.
#[derive(Debug, Default)]
struct ChatMeasurement {
    bytes: u64,
    opens: Vec<f64>,
    appends: Vec<f64>,
    late: Vec<f64>,
    folds: Vec<f64>,
    states: Vec<f64>,
    peak: Option<u64>,
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

impl ChatBench {
    /// Runs the benchmark and writes the report.
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), ChatsError> {
        files::create_dir(&self.dir)?;
        let dir = files::absolute(&self.dir)?;
        let mut rows = Vec::new();
        let mut homes = Vec::new();
        for size in &self.sizes {
            writeln!(progress, "building a chat log of {size} messages")?;
            let home = tempfile::tempdir_in(&dir)?;
            files::create_dir(&home.path().join("chats"))?;
            files::write(&home.path().join("chats/tale.json"), &document(*size)?)?;
            // The first change creates the index beside the document.
            let mut log = ChatWriter::open(&store(home.path())?, &path()?)?;
            append(&mut log, 1)?;
            log.close()?;
            homes.push(home);
            rows.push(ChatMeasurement::default());
        }
        for run in 1..=self.runs {
            writeln!(progress, "run {run} of {}", self.runs)?;
            for (home, row) in homes.iter().zip(&mut rows) {
                self.run(home.path(), row)?;
            }
        }
        report(&self.sizes, &rows, out)
    }

    fn run(&self, dir: &Path, row: &mut ChatMeasurement) -> Result<(), ChatsError> {
        files::sync_all();
        let shared = store(dir)?;
        let start = Instant::now();
        let mut log = ChatWriter::open(&shared, &path()?)?;
        row.opens.push(micros(start));
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..self.appends {
            let start = Instant::now();
            append(&mut log, 1)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        row.appends.push(percentile(&times, 50).as_secs_f64() * 1e6);
        row.late.push(percentile(&times, 99).as_secs_f64() * 1e6);
        log.release()?;
        drop(shared);
        let start = Instant::now();
        let peak = folded(dir)?;
        row.folds.push(micros(start) / 1e3);
        row.peak = row.peak.max(peak);
        let shared = store(dir)?;
        let start = Instant::now();
        let log = ChatLog::open(&shared, &path()?)?;
        log.states(log.len() / 2)?;
        row.states.push(micros(start));
        row.bytes = files::count(&dir.join("chats/tale.json"))?.1;
        Ok(())
    }
}

fn append(log: &mut ChatWriter, number: u32) -> Result<(), ChatsError> {
    let message = json!({"type": "narrator", "text": text(number)});
    let message = JsonTree::from_value(&message).map_err(odd)?;
    let now: Timestamp = "2026-01-01T11:00:00Z".parse().map_err(odd)?;
    log.append(&message, now)?;
    Ok(())
}

/// Folds a chat log in a separate process; returns its peak memory in kB.
fn folded(dir: &Path) -> Result<Option<u64>, ChatsError> {
    let output = Command::new(files::this_program()?)
        .arg("chatlog-fold")
        .arg(dir)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(odd("the fold process failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

impl FoldTask {
    /// Runs the operation; returns the peak memory in kB.
    pub(crate) fn execute(&self) -> Result<Option<u64>, ChatsError> {
        ChatWriter::open(&store(&self.dir)?, &path()?)?.close()?;
        Ok(peak())
    }
}

/// Returns the peak memory of this process, in kB.
pub(crate) fn peak() -> Option<u64> {
    let status = files::read_if_there("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn report(sizes: &[u32], rows: &[ChatMeasurement], out: &mut dyn Write) -> Result<(), ChatsError> {
    writeln!(
        out,
        "| messages | MB | open µs | append p50 µs | p99 µs | relative to first | fold ms | peak MB | middle state \
         µs |"
    )?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    let first = rows.first().map_or(1.0, |row| median(row.appends.iter().copied()));
    for (size, row) in sizes.iter().zip(rows) {
        let of = |values: &[f64]| median(values.iter().copied());
        writeln!(
            out,
            "| {size} | {:.1} | {:.0} | {:.0} | {:.0} | {:.2}x | {:.0} | {} | {:.0} |",
            row.bytes as f64 / 1e6,
            of(&row.opens),
            of(&row.appends),
            of(&row.late),
            of(&row.appends) / first,
            of(&row.folds),
            row.peak.map_or("?".to_owned(), |peak| format!("{:.0}", peak as f64 / 1024.0)),
            of(&row.states),
        )?;
    }
    Ok(())
}
