//! [`Thread`]: the records of a log, its main line and its branches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::paths::log_file;
use crate::record::{RecordType, ThreadRecord};
use crate::values::ChannelValues;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::record_file::{ReadFrom, RecordFile};
use everturn_store::Store;
use everturn_value::tree::JsonTree;

/// A thread that was read as a whole.
///
/// The main line has all items, and the checkpoints from the newest one back through its parents. Each of them is a turn.
#[derive(Debug, Default)]
pub struct Thread {
    pub(crate) records: Vec<ThreadRecord>,
    pub(crate) values: ChannelValues,
    /// The position of each checkpoint, by namespace and ID. A checkpoint that is stored again replaces the former one.
    checkpoints: HashMap<(String, String), usize>,
    /// The findings from reading it.
    pub findings: Vec<Finding>,
}

impl Thread {
    /// Reads the thread in a directory.
    pub fn open(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Thread, SessionError> {
        let file = log_file(dir);
        if store.stat(&file)?.is_none() {
            let id = dir.name().map_or_else(String::new, |name| name.as_str().to_owned());
            return Err(SessionError::NoSession { id });
        }
        let mut thread = Thread::default();
        let mut rows = RecordFile::open(store, &file, ReadFrom::Start)?;
        while let Some(row) = rows.next() {
            let row = row?;
            let parsed = match row.text() {
                Some(text) => ThreadRecord::parse(JsonTree::from_trusted_str(text)),
                None => Err(format!("a record of {} bytes is too long", row.length)),
            };
            match parsed {
                Err(reason) => rows.note_bad_record(row.line, row.offset, reason),
                Ok(record) => {
                    thread.push(ThreadRecord { offset: row.offset, length: row.length, ..record });
                }
            }
        }
        thread.findings = rows.findings;
        Ok(thread)
    }

    pub(crate) fn push(&mut self, record: ThreadRecord) {
        let position = self.records.len();
        if record.kind == RecordType::Checkpoint {
            self.values.add(position, &record);
            self.checkpoints.insert((record.namespace(), record.id()), position);
        }
        self.records.push(record);
    }

    /// The header, unless it is missing.
    #[must_use]
    pub fn header(&self) -> Option<&ThreadRecord> {
        self.records.iter().find(|record| record.kind == RecordType::Header)
    }

    /// All records in the order of the log.
    #[must_use]
    pub fn records(&self) -> &[ThreadRecord] {
        &self.records
    }

    /// The position of a checkpoint among the records.
    #[must_use]
    pub fn checkpoint(&self, namespace: &str, id: &str) -> Option<usize> {
        self.checkpoints.get(&(namespace.to_owned(), id.to_owned())).copied()
    }

    /// The checkpoints from one back through its parents.
    fn ancestors(&self, id: &str) -> HashSet<usize> {
        let (mut found, mut next) = (HashSet::new(), Some(id.to_owned()));
        while let Some(position) = next.and_then(|id| self.checkpoint("", &id)) {
            // A checkpoint that is its own ancestor ends the line.
            if !found.insert(position) {
                break;
            }
            next = self.records.get(position).and_then(|record| record.text("parent"));
        }
        found
    }

    /// Whether the record is a checkpoint of the thread itself that was not replaced.
    fn is_current(&self, position: usize, record: &ThreadRecord) -> bool {
        record.kind == RecordType::Checkpoint
            && record.namespace().is_empty()
            && self.checkpoint("", &record.id()) == Some(position)
    }

    /// The last checkpoints of the branches beside the main line: those that have no child.
    pub(crate) fn branch_ends(&self) -> Vec<usize> {
        let all = || {
            let records = self.records.iter().enumerate();
            records.filter(|(position, record)| self.is_current(*position, record))
        };
        let parents: HashSet<String> =
            all().filter_map(|(_, record)| record.text("parent")).collect();
        let main: HashSet<usize> = self.main_line().into_iter().collect();
        let ends = all().filter(|(_, record)| !parents.contains(&record.id()));
        ends.map(|(position, _)| position).filter(|position| !main.contains(position)).collect()
    }

    /// The positions of the turns of the main line.
    #[must_use]
    pub fn main_line(&self) -> Vec<usize> {
        let records = self.records.iter().enumerate();
        let newest = records.rev().find(|(position, record)| self.is_current(*position, record));
        self.line_to(newest.map(|(_, record)| record.id()).as_deref())
    }

    /// The positions of the turns that lead to a checkpoint: all items before it or after it, and its ancestors.
    pub(crate) fn line_to(&self, checkpoint: Option<&str>) -> Vec<usize> {
        let line = checkpoint.map(|id| self.ancestors(id)).unwrap_or_default();
        let records = self.records.iter().enumerate();
        let is_turn = |(position, record): &(usize, &ThreadRecord)| {
            record.kind == RecordType::Item || line.contains(position)
        };
        records.filter(is_turn).map(|(position, _)| position).collect()
    }

    /// Whether a version of a channel is stored. The version is JSON text.
    #[must_use]
    pub fn has_version(&self, namespace: &str, channel: &str, version: &str) -> bool {
        self.values.contains(namespace, channel, version)
    }

    /// The values of the channels at a checkpoint, in the order of its versions.
    pub fn channels(&self, position: usize) -> Result<Vec<(String, JsonTree)>, SessionError> {
        let Some(record) = self.records.get(position) else { return Ok(Vec::new()) };
        let ns = record.namespace();
        let mut channels = Vec::new();
        for (channel, version) in record.versions() {
            if let Some(value) = self.values.resolve(&ns, &channel, &version, position)? {
                channels.push((channel, value));
            }
        }
        Ok(channels)
    }
}
