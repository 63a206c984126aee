//! Measures sessions in PostgreSQL beside plain files, a raw `INSERT` of the same bytes, and LangGraph's `PostgresSaver`,
//! all on one private server on loopback.

#[path = "../../postgres/tests/postgres/cluster.rs"]
#[expect(dead_code, reason = "shared with the tests of the store")]
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "without a server there is nothing to measure"
)]
#[expect(clippy::disallowed_methods, reason = "it starts a server and removes its files")]
mod cluster;
mod sessions;
mod turns;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use everturn::disk::RealDisk;
use everturn::format::SessionError;
use everturn::names::NameError;
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};
use everturn_postgres::PostgresStore;
use serde_json::{Value, json};
use thiserror::Error;

use crate::files;
use crate::machine::Machine;
use crate::peer::PeerError;
use cluster::{Cluster, holder};
use sessions::SessionTimes;
use turns::{TURN, TurnTimes};

/// The goals: the p50 of one writer by that of a raw `INSERT`; turns per second of 64 sessions by those of one
/// connection per session; a jump by that of plain files.
const ONE_WRITER: f64 = 1.3;
const SHARED: f64 = 3.0;
const JUMP: f64 = 3.0;

/// How many sessions are written at once.
const COUNTS: [usize; 3] = [1, 16, 64];

/// The script that measures `PostgresSaver`.
const SAVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/bench/postgres_saver.py");

/// What the command line says about this benchmark.
#[derive(Debug, Args)]
pub(crate) struct PostgresBench {
    /// Seconds for each row of durable turns
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u64).range(1..))]
    seconds: u64,

    /// Turns of the session that is resumed and read at earlier turns
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(2..))]
    turns: u64,

    /// Number of listed sessions
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
    sessions: u32,

    /// A Python with langgraph-checkpoint-postgres and psycopg; without it, PostgresSaver is not measured
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,

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
pub(crate) enum PostgresError {
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// A file or a process failed.
    #[error("cannot use the data directory")]
    Io(#[from] io::Error),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A format failed.
    #[error(transparent)]
    Format(#[from] SessionError),
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The server refused a statement of the benchmark itself.
    #[error("the server failed")]
    Server(#[from] ::postgres::Error),
    /// The script for `PostgresSaver` failed.
    #[error("PostgresSaver cannot be measured: {0}")]
    Saver(String),
    /// Something is not there that was created.
    #[error("{0}")]
    Wrong(String),
}

/// All results.
struct PostgresReport {
    machine: Machine,
    turns: Vec<TurnTimes>,
    /// Those of the two stores, PostgreSQL first.
    sessions: [SessionTimes; 2],
    bytes_per_turn: i64,
}

impl PostgresBench {
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), PostgresError> {
        files::create_dir(&self.dir).map_err(PostgresError::Directory)?;
        let dir = tempfile::tempdir_in(&self.dir)?;
        let place = files::absolute(dir.path()).map_err(PostgresError::Directory)?;
        let server = Cluster::start("");
        let address = server.address("bench");
        let shared: Arc<dyn Store> = Arc::new(PostgresStore::open(&address, &holder("bench"))?);
        let owner = LockOwner { pid: std::process::id(), started: String::new() };
        let disk = Arc::new(RealDisk::open(&place)?);
        let plain: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(owner))?);
        let time = Duration::from_secs(self.seconds);
        let mut turns = Vec::new();
        for count in COUNTS {
            writeln!(progress, "durable turns of {count} sessions")?;
            turns.push(turns::raw(&server, count, time)?);
            turns.push(turns::store("PostgreSQL", &shared, count, time)?);
            turns.push(turns::one_store_each(&address, count, time)?);
            turns.extend(self.saver(&server, count)?);
            turns.push(turns::store("plain files", &plain, count, time)?);
        }
        let bytes_per_turn = turns::bytes_per_turn(&server)?;
        let mut measure = |name: &str, store: &Arc<dyn Store>| {
            writeln!(progress, "sessions in {name}")?;
            sessions::measure(store, self.turns, self.sessions)
        };
        let sessions = [measure("PostgreSQL", &shared)?, measure("plain files", &plain)?];
        let machine = Machine::detect(&place);
        self.print(&PostgresReport { machine, turns, sessions, bytes_per_turn }, out)?;
        Ok(())
    }

    /// Measures `PostgresSaver`, if there is a Python that has it.
    fn saver(&self, server: &Cluster, count: usize) -> Result<Option<TurnTimes>, PostgresError> {
        let Some(python) = &self.python else { return Ok(None) };
        let url = format!("postgres://everturn@127.0.0.1:{}/postgres", server.port);
        let (count_text, seconds) = (count.to_string(), self.seconds.to_string());
        let bytes = TURN.to_string();
        let output = Command::new(python)
            .args([SAVER, &url, "--sessions", &count_text, "--seconds", &seconds])
            .args(["--bytes", &bytes])
            .output()?;
        let failed = |text: &[u8]| PostgresError::Saver(String::from_utf8_lossy(text).into_owned());
        let said: Value =
            serde_json::from_slice(&output.stdout).map_err(|_| failed(&output.stderr))?;
        let number = |name: &str| said.get(name).and_then(Value::as_u64).unwrap_or(0);
        let times = TurnTimes {
            name: "PostgresSaver".to_owned(),
            sessions: count,
            per_second: number("per_second"),
            p50: Duration::from_micros(number("p50_us")),
            p99: Duration::from_micros(number("p99_us")),
        };
        Ok(Some(times))
    }

    fn print(&self, report: &PostgresReport, out: &mut dyn Write) -> io::Result<()> {
        let goals = goals(report);
        let [served, plain] = &report.sessions;
        if self.json {
            let turns: Vec<Value> = report.turns.iter().map(TurnTimes::as_json).collect();
            let goal = |(name, found, goal, met): &Goal| json!({"goal": name, "found": found, "wanted": goal, "met": met});
            let goals: Vec<Value> = goals.iter().map(goal).collect();
            let document = json!({
                "build": report.machine.build, "cores": report.machine.cores,
                "turn_bytes": TURN, "bytes_per_turn": report.bytes_per_turn, "turns": turns,
                "postgres": served.as_json(), "files": plain.as_json(), "goals": goals,
            });
            return writeln!(out, "{document:#}");
        }
        let cores = report.machine.cores.unwrap_or(0);
        writeln!(out, "{} build, {cores} cores, turns of {TURN} bytes\n", report.machine.build)?;
        writeln!(
            out,
            "{:<30}{:>9}{:>9}{:>10}{:>10}",
            "", "sessions", "turns/s", "p50 us", "p99 us"
        )?;
        for row in &report.turns {
            let (p50, p99) = (row.p50.as_micros(), row.p99.as_micros());
            writeln!(
                out,
                "{:<30}{:>9}{:>9}{p50:>10}{p99:>10}",
                row.name, row.sessions, row.per_second
            )?;
        }
        writeln!(out, "\nbytes in the database for each turn: {}\n", report.bytes_per_turn)?;
        writeln!(
            out,
            "{:<30}{:>12}{:>12}{:>8}",
            "milliseconds", "PostgreSQL", "plain files", "ratio"
        )?;
        for ((name, ours), (_, theirs)) in served.rows().into_iter().zip(plain.rows()) {
            let ratio = ours / theirs.max(f64::EPSILON);
            writeln!(out, "{name:<30}{ours:>12.2}{theirs:>12.2}{ratio:>8.1}")?;
        }
        writeln!(out)?;
        for (name, found, goal, met) in goals {
            let outcome = if met { "met" } else { "missed" };
            writeln!(out, "{name}: {found:.2} (goal {goal}): {outcome}")?;
        }
        Ok(())
    }
}

/// A goal: its name, what was measured, what was wanted, and whether it is met.
type Goal = (&'static str, f64, f64, bool);

fn goals(report: &PostgresReport) -> Vec<Goal> {
    let find = |name: &str, sessions: usize| {
        report.turns.iter().find(|row| row.name == name && row.sessions == sessions)
    };
    let p50 = |name: &str| find(name, 1).map_or(0.0, |row| row.p50.as_secs_f64());
    let rate = |name: &str| find(name, 64).map_or(0, |row| row.per_second);
    let one = p50("PostgreSQL") / p50("raw INSERT").max(f64::EPSILON);
    let (shared, alone) = (rate("PostgreSQL"), rate("PostgreSQL, one store each"));
    #[expect(clippy::cast_precision_loss, reason = "turns per second are small")]
    let many = shared as f64 / (alone as f64).max(1.0);
    let [served, plain] = &report.sessions;
    let jump = served.jump / plain.jump.max(f64::EPSILON);
    vec![
        ("one writer by a raw INSERT, p50", one, ONE_WRITER, one <= ONE_WRITER),
        ("64 sessions by one connection each, turns/s", many, SHARED, many >= SHARED),
        ("a jump by that of plain files", jump, JUMP, jump <= JUMP),
    ]
}
