//! Run logs: what happened while a model was at work, one record per line, one file per run.
//!
//! [`RunLogs`] finds and reads runs, [`RunWriter`] writes one, and [`RunSummary`] describes one.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::log::MessageReader;
use super::paths::{LOG_END, id_in};
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::{FilePath, SessionId};
use everturn_store::disk::FileKind;
use everturn_store::{AppendAt, CommitReceipt, Durability, Step, StoreError, StoreSource, Writer};
use everturn_value::tree::{JsonTree, ValueKind};

/// The known record types. Others are kept and shown as they are.
pub const RUN_RECORDS: &[&str] = &[
    "header",
    "run.start",
    "run.context",
    "agent.event",
    "tool.output",
    "llm.request",
    "llm.response",
    "run.status",
    "run.error",
    "run.end",
];

/// The number of records at the end of a log that are searched for the outcome of the run.
const END_RECORDS: usize = 8;

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id, which is the name of its file.
    pub id: String,
    /// The path of its log.
    pub path: FilePath,
    /// The session it belongs to, from its header.
    pub session: Option<String>,
    /// The start time, from its header.
    pub started: Option<Timestamp>,
    /// The outcome; `None` if it is still running or was interrupted.
    pub outcome: Option<String>,
    /// The type of the last record.
    pub last: Option<String>,
}

/// The runs of a home.
pub struct RunLogs<'h> {
    home: &'h CodeliaHome,
}

impl<'h> RunLogs<'h> {
    /// The runs of a home.
    #[must_use]
    pub fn new(home: &'h CodeliaHome) -> RunLogs<'h> {
        RunLogs { home }
    }

    /// Subdirectories whose names are numbers of so many digits, highest first.
    fn numbered(&self, dir: &FilePath, digits: usize) -> Result<Vec<FilePath>, CodeliaError> {
        let listing = match self.home.store.list(dir) {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            other => other?,
        };
        let is_number =
            |name: &str| name.len() == digits && name.bytes().all(|byte| byte.is_ascii_digit());
        let dirs = listing.entries.iter().filter(|entry| {
            entry.kind == FileKind::Dir && !entry.linked && is_number(entry.name.as_str())
        });
        Ok(dirs.rev().map(|entry| dir.join(&entry.name)).collect())
    }

    /// The directories of days, newest first.
    fn days(&self) -> Result<Vec<FilePath>, CodeliaError> {
        let mut days = Vec::new();
        for year in self.numbered(&self.home.files.sessions(), 4)? {
            for month in self.numbered(&year, 2)? {
                days.extend(self.numbered(&month, 2)?);
            }
        }
        Ok(days)
    }

    /// All logs, those of the newest day first. Days that cannot be read are left out.
    pub(super) fn readable_logs(&self) -> Result<Vec<FilePath>, CodeliaError> {
        let days = self.days()?;
        let logs = days.iter().flat_map(|day| self.logs(day).unwrap_or_default());
        Ok(logs.map(|(_, path)| path).collect())
    }

    /// The logs of a day.
    fn logs(&self, day: &FilePath) -> Result<Vec<(SessionId, FilePath)>, CodeliaError> {
        let entries = self.home.store.list(day)?.entries;
        let files = entries.iter().filter(|entry| entry.kind == FileKind::File);
        Ok(files
            .filter_map(|entry| Some((id_in(&entry.name, LOG_END)?.ok()?, day.join(&entry.name))))
            .collect())
    }

    /// The newest runs, of one session or of all, at most `most`. Earlier days are not read.
    pub fn list(
        &self,
        session: Option<&str>,
        most: usize,
    ) -> Result<Vec<RunSummary>, CodeliaError> {
        let mut runs = Vec::new();
        for day in self.days()? {
            let mut of_day = Vec::new();
            for (id, path) in self.logs(&day)? {
                let run = self.summary(&id, path)?;
                if session.is_none() || run.session.as_deref() == session {
                    of_day.push(run);
                }
            }
            of_day.sort_by_key(|run| (Reverse(run.started), run.id.clone()));
            runs.extend(of_day);
            if runs.len() >= most {
                break;
            }
        }
        runs.truncate(most);
        Ok(runs)
    }

    /// The runs of a session with their logs, oldest first. Only the headers of other runs are read.
    pub(super) fn of_session(
        &self,
        session: &str,
    ) -> Result<Vec<(String, FilePath)>, CodeliaError> {
        let mut found = Vec::new();
        for day in self.days()?.into_iter().rev() {
            let mut of_day = Vec::new();
            for (id, path) in self.logs(&day)? {
                let header = self.header(&path)?;
                let field = |key: &str| header.as_ref()?.string_at(&[key]);
                if field("session_id").as_deref() == Some(session) {
                    let started: Option<Timestamp> =
                        field("started_at").and_then(|time| time.parse().ok());
                    of_day.push((started, id.to_string(), path));
                }
            }
            of_day.sort();
            found.extend(of_day.into_iter().map(|(_, id, path)| (id, path)));
        }
        Ok(found)
    }

    /// The unknown sessions that were never saved: none of their runs has ended. A session that was saved and is no longer
    /// there was removed.
    pub(super) fn unsaved_sessions(
        &self,
        is_known: impl Fn(&SessionId) -> bool,
    ) -> Result<BTreeSet<SessionId>, CodeliaError> {
        let (mut unsaved, mut saved) = (BTreeSet::new(), BTreeSet::new());
        for day in self.days()? {
            for (_, path) in self.logs(&day)? {
                let id = self.header(&path)?.and_then(|header| header.string_at(&["session_id"]));
                let Some(id) = id.and_then(|id| SessionId::parse(&id).ok()) else { continue };
                if is_known(&id) || saved.contains(&id) {
                    continue;
                }
                let has_ended = self.end(&path)?.0.is_some();
                if has_ended {
                    saved.insert(id)
                } else {
                    unsaved.insert(id)
                };
            }
        }
        Ok(unsaved.difference(&saved).cloned().collect())
    }

    /// The records of a log, in order.
    pub(super) fn records_of(&self, path: &FilePath) -> Result<MessageReader, CodeliaError> {
        MessageReader::open(&self.home.store, path, 0, 0)
    }

    /// The header of a log, if it has one.
    fn header(&self, path: &FilePath) -> Result<Option<JsonTree>, CodeliaError> {
        let first = self.records_of(path)?.next().transpose()?.map(|first| first.message);
        Ok(first.filter(|header| kind_of(header).as_deref() == Some("header")))
    }

    /// The run with that id, or the only one whose id starts with it.
    pub fn find(&self, id: &str) -> Result<RunSummary, CodeliaError> {
        let mut like = Vec::new();
        for day in self.days()? {
            for (found, path) in self.logs(&day)? {
                if found.as_str() == id {
                    return self.summary(&found, path);
                }
                if found.as_str().starts_with(id) {
                    like.push((found, path));
                }
            }
        }
        match (like.pop(), like.is_empty()) {
            (Some((id, path)), true) => self.summary(&id, path),
            (None, _) => Err(CodeliaError::input(format!("there is no run {id:?}"))),
            (Some(_), false) => {
                Err(CodeliaError::input(format!("{id:?} is ambiguous: {} runs", like.len() + 1)))
            }
        }
    }

    /// The records of a run, in order.
    pub fn records(&self, run: &RunSummary) -> Result<MessageReader, CodeliaError> {
        MessageReader::open(&self.home.store, &run.path, 0, 0)
    }

    fn summary(&self, id: &SessionId, path: FilePath) -> Result<RunSummary, CodeliaError> {
        let header = self.header(&path)?;
        let field = |key: &str| header.as_ref()?.string_at(&[key]);
        let (outcome, last) = self.end(&path)?;
        Ok(RunSummary {
            id: id.to_string(),
            session: field("session_id"),
            started: field("started_at").and_then(|time| time.parse().ok()),
            path,
            outcome,
            last,
        })
    }

    /// The outcome of a run, and its last record.
    fn end(&self, path: &FilePath) -> Result<(Option<String>, Option<String>), CodeliaError> {
        let source = StoreSource::open(&self.home.store, path)?;
        let failed = StoreError::io("read", path);
        let scan = JsonlScan::new(source, path.clone()).reverse().map_err(failed)?;
        let mut last = None;
        for item in scan.take(END_RECORDS) {
            let ScanItem::Record(record) = item.map_err(StoreError::io("read", path))? else {
                continue;
            };
            let Some(record) = record.text().and_then(|text| JsonTree::parse(text).ok()) else {
                continue;
            };
            let kind = kind_of(&record);
            if kind.as_deref() == Some("run.end") {
                let outcome = record.string_at(&["outcome"]).unwrap_or_else(|| "ended".to_owned());
                return Ok((Some(outcome), last.or(kind)));
            }
            last = last.or(kind);
        }
        Ok((None, last))
    }
}

/// The type of a record.
pub(super) fn kind_of(record: &JsonTree) -> Option<String> {
    record.string_at(&["type"])
}

/// The only writer of a run's log.
pub struct RunWriter {
    path: FilePath,
    writer: Box<dyn Writer>,
}

impl RunWriter {
    /// Starts the log of a run with its header. The day is that of `started_at`, or of `now`.
    pub fn start(
        home: &CodeliaHome,
        header: &JsonTree,
        now: Timestamp,
    ) -> Result<RunWriter, CodeliaError> {
        let id = header.string_at(&["run_id"]);
        let id = id.ok_or_else(|| CodeliaError::input("the header has no run_id"))?;
        let id = SessionId::parse(&id)?;
        if kind_of(header).as_deref() != Some("header") {
            return Err(CodeliaError::input("the first record of a run must be its header"));
        }
        let started = header.string_at(&["started_at"]).and_then(|time| time.parse().ok());
        let path = home.files.run(&id, started.unwrap_or(now))?;
        let writer = home.store.lock(std::slice::from_ref(&path))?;
        match home.store.stat(&path) {
            Ok(None) | Err(StoreError::Missing { .. }) => {}
            Ok(Some(_)) => return Err(CodeliaError::Taken { id, path }),
            Err(error) => return Err(error.into()),
        }
        let run = RunWriter { path, writer };
        run.append(header, Durability::Synced)?;
        Ok(run)
    }

    /// Opens an existing run log for appending.
    pub fn open(home: &CodeliaHome, run: &RunSummary) -> Result<RunWriter, CodeliaError> {
        let path = run.path.clone();
        let writer = home.store.lock(std::slice::from_ref(&path))?;
        Ok(RunWriter { path, writer })
    }

    /// Appends a record at the current end of the log.
    pub fn append(
        &self,
        record: &JsonTree,
        durability: Durability,
    ) -> Result<CommitReceipt, CodeliaError> {
        self.append_all(std::slice::from_ref(record), durability)
    }

    /// Appends records at the current end of the log, all or none.
    pub fn append_all(
        &self,
        records: &[JsonTree],
        durability: Durability,
    ) -> Result<CommitReceipt, CodeliaError> {
        let is_record = |one: &JsonTree| one.kind() == ValueKind::Object && kind_of(one).is_some();
        if !records.iter().all(is_record) {
            return Err(CodeliaError::input("a record of a run must be an object with a type"));
        }
        let lines = records.iter().flat_map(|record| [record.to_line(), "\n".to_owned()]);
        let lines = lines.collect::<String>().into_bytes();
        let step = Step::Append { file: self.path.clone(), at: AppendAt::End, lines };
        Ok(self.writer.commit(vec![step], durability)?)
    }

    /// The path of the log.
    #[must_use]
    pub fn path(&self) -> &FilePath {
        &self.path
    }

    /// Releases the lock on the log.
    pub fn release(self) -> Result<(), CodeliaError> {
        Ok(self.writer.release()?)
    }
}
