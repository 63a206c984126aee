//! Measures the catalog: indexing speed, index size and query time, compared with SQLite's FTS5 on the same entries;
//! and the time to list many sessions.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, value_parser};
use everturn::disk::RealDisk;
use everturn::format::{self, SessionError, SessionFormat};
use everturn::names::{FilePath, NameError};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, Options, Precondition, Step, Store, StoreError,
};
use everturn_catalog::{
    Catalog, CatalogError, CatalogListing, Query, QueryError, SessionSource, SortOrder,
    SummaryDetail, open_session,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use thiserror::Error;

use crate::corpus::Corpus;
use crate::files;
use crate::peer::PeerError;
use crate::stats::{median, percentile};

/// The targets: megabytes per second, index size relative to the text, milliseconds per query, and per list.
const SPEED: f64 = 60.0;
const RATIO: f64 = 0.3;
const QUERY: f64 = 20.0;
const LIST: f64 = 100.0;

/// The number of queries of each kind.
const QUERIES: usize = 200;

/// The size of a session before the next one begins.
const SESSION_BYTES: usize = 4_000_000;

/// The number of hits requested.
const LIMIT: usize = 20;

/// What the command line says about the benchmark of searches.
#[derive(Debug, Args)]
pub(crate) struct SearchBench {
    /// Amount of text to search, in megabytes, at most
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = value_parser!(u64).range(1..))]
    megabytes: u64,

    /// Directory of source files and documents to take the text from
    #[arg(long, value_name = "DIR", default_value_os_t = crates())]
    text: PathBuf,

    /// Number of listed sessions
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
    sessions: u32,

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
pub(crate) enum SearchError {
    /// The directory for the data cannot be used.
    #[error("cannot use the data directory")]
    Directory(#[source] PeerError),
    /// There is no text to search.
    #[error("cannot read the text")]
    Text(#[source] PeerError),
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
    /// The index failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A query is invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// An unexpected result.
    #[error("{0}")]
    Wrong(String),
}

/// Queries of each kind.
type QuerySets = Vec<(&'static str, Vec<String>)>;

/// The sources of this project's dependencies, which exist if it was built.
#[expect(clippy::disallowed_methods, reason = "cargo sets their location in a variable")]
fn crates() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    home.unwrap_or_default().join("registry/src")
}

/// The results of one engine.
struct SearchMeasurement {
    name: &'static str,
    index: Duration,
    bytes: u64,
    /// The kinds of queries, each with the median, the 99th percentile, and the number of hits.
    queries: Vec<(&'static str, Duration, Duration, usize)>,
}

impl SearchBench {
    pub(crate) fn execute(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<(), SearchError> {
        files::create_dir(&self.dir).map_err(SearchError::Directory)?;
        let place = tempfile::tempdir_in(&self.dir)?;
        let root = place.path().join("root");
        writeln!(progress, "creating {} MB of sessions", self.megabytes)?;
        let source = source(&root, "codelia")?;
        let (text, queries) = self.make(source.store())?;
        let sources = [source];
        let mut catalog = Catalog::new(Some(&place.path().join("catalog")));
        let sessions = catalog.sessions(&sources, SummaryDetail::All, now());
        files::sync_all();
        writeln!(progress, "indexing")?;
        let ours = measure_catalog(
            &mut catalog,
            (&sources, &sessions),
            &place.path().join("catalog"),
            &queries,
        )?;
        writeln!(progress, "indexing with FTS5")?;
        let dir = place.path().join("fts5");
        files::create_dir(&dir).map_err(SearchError::Directory)?;
        files::sync_all();
        let theirs = measure_fts5((&sources, &sessions), &dir.join("entries.db"), &queries)?;
        drop(place);
        let place = tempfile::tempdir_in(&self.dir)?;
        writeln!(progress, "creating {} sessions", self.sessions)?;
        let list = self.list(place.path())?;
        self.report(out, text, &[ours, theirs], list)
    }

    /// Creates the sessions; returns the size of their text in bytes, and the queries.
    fn make(&self, store: &Arc<dyn Store>) -> Result<(u64, QuerySets), SearchError> {
        let mut corpus = Corpus::open(&self.text).map_err(SearchError::Text)?;
        let writer = store.lock(&[FilePath::parse("sessions")?])?;
        let (mut lines, mut number) = (String::new(), 0);
        loop {
            let message = match corpus.bytes < self.megabytes * 1_000_000 {
                true => corpus.next_message(),
                false => None,
            };
            if let Some(message) = &message {
                let line = json!({"role": "user", "content": message});
                lines.push_str(&format!("{line}\n"));
            }
            if lines.len() > SESSION_BYTES || message.is_none() {
                let file = FilePath::parse(&format!("sessions/messages/{number:06}.jsonl"))?;
                let (expect, mode) = (Precondition::Absent, FileMode::Default);
                let bytes = std::mem::take(&mut lines).into_bytes();
                let step = Step::Replace { file, expect, bytes, mode };
                writer.commit(vec![step], Durability::Synced)?;
                number += 1;
            }
            if message.is_none() {
                break;
            }
        }
        writer.release()?;
        if corpus.bytes == 0 {
            let place = self.text.display();
            return Err(SearchError::Wrong(format!(
                "no text found in {place}; choose another directory with --text"
            )));
        }
        Ok((corpus.bytes, corpus.queries(QUERIES)))
    }

    /// Returns the time of an unchanged list of many sessions, and of the first list, in milliseconds.
    fn list(&self, place: &Path) -> Result<(f64, f64), SearchError> {
        let source = source(&place.join("root"), "linggen")?;
        let writer = source.store().lock(&[FilePath::parse("projects")?])?;
        for first in (0..self.sessions).step_by(500) {
            let mut steps = Vec::new();
            for number in first..(first + 500).min(self.sessions) {
                let id = format!("sess-{}-{number:08x}", 1_700_000_000 + number);
                let dir = format!("projects/-srv-p{}/sessions/{id}", number % 20);
                let meta = format!("id: {id}\ntitle: Question {number}\ncreated_at: 1700000000\n");
                let message = format!(
                    "{{\"agent_id\":\"ling\",\"from_id\":\"user\",\"to_id\":\"ling\",\
                     \"content\":\"question {number}\",\"timestamp\":1700000000,\"is_observation\":false}}\n"
                );
                for (name, text) in [("session.yaml", meta), ("messages.jsonl", message)] {
                    let file = FilePath::parse(&format!("{dir}/{name}"))?;
                    let (expect, mode) = (Precondition::Absent, FileMode::Default);
                    steps.push(Step::Replace { file, expect, bytes: text.into_bytes(), mode });
                }
            }
            writer.commit(steps, Durability::Synced)?;
        }
        writer.release()?;
        let sources = [source];
        let mut first = 0.0;
        let mut warm = Vec::new();
        for run in 0..10 {
            let start = Instant::now();
            let mut catalog = Catalog::new(Some(&place.join("catalog")));
            let found = catalog.sessions(&sources, SummaryDetail::All, now()).sessions.len();
            let took = start.elapsed().as_secs_f64() * 1000.0;
            if found != usize::try_from(self.sessions).unwrap_or(0) {
                return Err(SearchError::Wrong(format!("{found} sessions were listed")));
            }
            match run {
                0 => first = took,
                _ => warm.push(took),
            }
        }
        Ok((median(warm), first))
    }

    fn report(
        &self,
        out: &mut dyn Write,
        text: u64,
        engines: &[SearchMeasurement],
        (warm, first): (f64, f64),
    ) -> Result<(), SearchError> {
        let megabytes = text as f64 / 1e6;
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        if self.json {
            let engine = |measured: &SearchMeasurement| {
                let query = |(kind, half, most, hits): &(&str, Duration, Duration, usize)| json!({"kind": kind, "p50_ms": millis(*half), "p99_ms": millis(*most), "hits": hits});
                json!({
                    "engine": measured.name,
                    "mb_per_s": megabytes / measured.index.as_secs_f64(),
                    "size_by_text": measured.bytes as f64 / text as f64,
                    "queries": measured.queries.iter().map(query).collect::<Vec<Value>>(),
                })
            };
            let engines: Vec<Value> = engines.iter().map(engine).collect();
            let list = json!({"sessions": self.sessions, "warm_ms": warm, "first_ms": first});
            let targets =
                json!({"mb_per_s": SPEED, "size_by_text": RATIO, "p99_ms": QUERY, "list_ms": LIST});
            let report =
                json!({"text_bytes": text, "targets": targets, "engines": engines, "list": list});
            return Ok(writeln!(out, "{report:#}")?);
        }
        writeln!(
            out,
            "{megabytes:.0} MB of text; {QUERIES} queries of each kind, {LIMIT} hits each\n"
        )?;
        for measured in engines {
            writeln!(
                out,
                "{:<9} indexed at {:.0} MB/s (target {SPEED}), size {:.2} of the text (target at most {RATIO})",
                measured.name,
                megabytes / measured.index.as_secs_f64(),
                measured.bytes as f64 / text as f64,
            )?;
            for (kind, half, most, hits) in &measured.queries {
                writeln!(
                    out,
                    "          {kind:<10} p50 {:>8.2} ms   p99 {:>8.2} ms (target {QUERY})   {hits} hits",
                    millis(*half),
                    millis(*most)
                )?;
            }
        }
        let count = self.sessions;
        Ok(writeln!(
            out,
            "\nlist of {count} sessions: {warm:.1} ms (target {LIST}), first time {first:.0} ms"
        )?)
    }
}

/// Returns the system time plus some seconds, so that all created files count as stable.
#[expect(clippy::disallowed_methods, reason = "timestamps are compared with the clock")]
fn now() -> SystemTime {
    SystemTime::now() + Duration::from_secs(10)
}

fn source(root: &Path, name: &'static str) -> Result<SessionSource, SearchError> {
    let owner = LockOwner { pid: std::process::id(), started: String::new() };
    let disk = Arc::new(RealDisk::create(root)?);
    let store: Arc<dyn Store> = Arc::new(FileStore::open(disk, Options::new(owner))?);
    let layout: Option<&'static dyn SessionFormat> = format::find(name);
    let layout = layout.ok_or_else(|| SearchError::Wrong(format!("unknown format {name}")))?;
    Ok(SessionSource::new(root, store, vec![layout]))
}

/// Runs all queries; `ask` returns the number of hits.
fn ask(
    queries: &QuerySets,
    mut ask: impl FnMut(&str) -> Result<usize, SearchError>,
) -> Result<Vec<(&'static str, Duration, Duration, usize)>, SearchError> {
    let mut measured = Vec::new();
    for (kind, texts) in queries {
        let (mut times, mut hits) = (Vec::new(), 0);
        for text in texts {
            let start = Instant::now();
            hits += ask(text)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        measured.push((*kind, percentile(&times, 50), percentile(&times, 99), hits));
    }
    Ok(measured)
}

fn measure_catalog(
    catalog: &mut Catalog,
    (sources, sessions): (&[SessionSource], &CatalogListing),
    dir: &Path,
    queries: &QuerySets,
) -> Result<SearchMeasurement, SearchError> {
    let start = Instant::now();
    catalog.update(sources, sessions, now(), &mut |_| {});
    let index = start.elapsed();
    if let Some(note) = catalog.take_notes().pop() {
        return Err(SearchError::Wrong(note));
    }
    let search = catalog.searcher(sources, sessions);
    let search = search.ok_or_else(|| SearchError::Wrong("the index is missing".to_owned()))?;
    let moment = jiff::Timestamp::UNIX_EPOCH;
    let queries = ask(queries, |text| {
        let query = Query::parse(text, moment)?;
        Ok(search.find(sessions, &query, (LIMIT, SortOrder::Relevance))?.hits.len())
    })?;
    let bytes = files::bytes_on_disk(dir).map_err(SearchError::Directory)?;
    Ok(SearchMeasurement { name: "everturn", index, bytes, queries })
}

/// Measures an FTS5 index of the same entries, read in the same way, that stores no texts either.
fn measure_fts5(
    (sources, sessions): (&[SessionSource], &CatalogListing),
    file: &Path,
    queries: &QuerySets,
) -> Result<SearchMeasurement, SearchError> {
    let start = Instant::now();
    let mut database = Connection::open(file)?;
    database.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
         CREATE VIRTUAL TABLE entries USING fts5(text, content='', tokenize='unicode61')",
    )?;
    let work = database.transaction()?;
    {
        let mut insert = work.prepare("INSERT INTO entries(rowid, text) VALUES (?, ?)")?;
        let mut number = 0;
        for session in &sessions.sessions {
            let Some(reader) = open_session(sources, session)? else { continue };
            let mut entries = reader.entries(reader.turns()?)?;
            while let Some(entry) = entries.next() {
                number += 1;
                insert.execute((number, entry?.text))?;
            }
        }
    }
    work.commit()?;
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let index = start.elapsed();
    let text =
        format!("SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY rank LIMIT {LIMIT}");
    let mut select = database.prepare(&text)?;
    let queries = ask(queries, |text| {
        let rows = select.query_map([text], |row| row.get::<_, i64>(0))?;
        Ok(rows.count())
    })?;
    let dir = file.parent().unwrap_or(file);
    let bytes = files::bytes_on_disk(dir).map_err(SearchError::Directory)?;
    Ok(SearchMeasurement { name: "fts5", index, bytes, queries })
}
