//! The log of a session: its messages in order, and their count.
//!
//! [`MessageReader`] reads messages, `MessageCount` counts them, and `LogCheckpoint` records how far they were counted.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::error::CodeliaError;
use everturn_json::checksum::checksum;
use everturn_json::finding::Finding;
use everturn_json::jsonl::{JsonlRecord, RecordText};
use everturn_json::names::FilePath;
use everturn_session::record_file::{ReadFrom, RecordFile};
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// A message as it is stored.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// Its number, counted from 1.
    pub number: u64,
    /// The message itself.
    pub message: JsonTree,
    /// Its line, counted from 1.
    pub line: Option<u64>,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// Reads the messages of a log in order. Anything else becomes a finding.
pub struct MessageReader {
    records: RecordFile,
    number: u64,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

impl MessageReader {
    /// Starts to read a log at `start`, which `number` messages precede. A missing log has none.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        start: u64,
        number: u64,
    ) -> Result<MessageReader, CodeliaError> {
        let records = RecordFile::open(store, file, ReadFrom::Offset(start))?;
        Ok(MessageReader { records, number, findings: Vec::new() })
    }

    /// Converts a record to a message: every object counts as one, regardless of its members.
    fn examine(&mut self, record: JsonlRecord) -> Option<StoredMessage> {
        let JsonlRecord { line, offset, length, .. } = record;
        let RecordText::Whole(text) = record.text else {
            self.number += 1;
            let what = format!("message {} has {length} bytes, too many to display", self.number);
            self.records.note_bad_record(line, offset, what);
            return None;
        };
        if !text.starts_with('{') {
            let what = "a record is not a message, because it is not an object".to_owned();
            self.records.note_bad_record(line, offset, what);
            return None;
        }
        self.number += 1;
        let end = text.len();
        let message = JsonTree::from_trusted(text.into(), 0..end);
        Some(StoredMessage { number: self.number, message, line, offset, length })
    }

    /// The number of messages so far, including those too long to be shown.
    pub(super) fn read_so_far(&self) -> u64 {
        self.number
    }
}

impl Iterator for MessageReader {
    type Item = Result<StoredMessage, CodeliaError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let record = self.records.next();
            self.findings.append(&mut self.records.findings);
            match record? {
                Err(error) => return Some(Err(error.into())),
                Ok(record) => {
                    if let Some(stored) = self.examine(record) {
                        return Some(Ok(stored));
                    }
                    self.findings.append(&mut self.records.findings);
                }
            }
        }
    }
}

/// The number of bytes before a checkpoint that its checksum covers.
const MARK_BYTES: u64 = 4096;

/// A position in a log up to which the messages were counted: the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(super) struct LogCheckpoint {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// The checksum of the bytes before it.
    #[serde(deserialize_with = "sixteen_digits")]
    sum: u64,
}

fn sixteen_digits<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let digits = Cow::<str>::deserialize(from)?;
    u64::from_str_radix(&digits, 16).map_err(D::Error::custom)
}

impl LogCheckpoint {
    pub(super) fn to_value(self) -> Value {
        let LogCheckpoint { messages, bytes, sum } = self;
        json!({"messages": messages, "bytes": bytes, "sum": format!("{sum:016x}")})
    }

    /// Whether the counted part of the log is unchanged.
    fn holds(self, store: &Arc<dyn Store>, file: &FilePath, len: u64) -> Result<bool, StoreError> {
        if self.bytes > len {
            return Ok(false);
        }
        let before = store.read(file, self.bytes.saturating_sub(MARK_BYTES)..self.bytes)?;
        Ok(checksum(&[&before]) == self.sum)
    }
}

/// The size of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageCount {
    /// The number of messages.
    pub(super) messages: u64,
    /// The length in bytes; `None` if there is no log.
    pub(super) len: Option<u64>,
    /// The checkpoint up to which the count is final.
    pub(super) mark: LogCheckpoint,
    pub(super) findings: Vec<Finding>,
}

impl MessageCount {
    /// Counts the messages of a log, starting at a checkpoint if it is valid.
    pub(super) fn count(
        store: &Arc<dyn Store>,
        file: &FilePath,
        mark: Option<LogCheckpoint>,
    ) -> Result<MessageCount, CodeliaError> {
        let Some(stat) = store.stat(file)? else { return Ok(MessageCount::default()) };
        let mut start = LogCheckpoint::default();
        if let Some(mark) = mark
            && mark.holds(store, file, stat.len)?
        {
            start = mark;
        }
        let mut messages = MessageReader::open(store, file, start.bytes, start.messages)?;
        for message in messages.by_ref() {
            message?;
        }
        // The log may have grown since it was opened; the count and the recorded length belong together.
        let (count, len) = (messages.read_so_far(), messages.records.len_at_open());
        let tail = store.read(file, len.saturating_sub(MARK_BYTES)..len)?;
        let ends_well = tail.last() == Some(&b'\n');
        let mark = match ends_well {
            true => LogCheckpoint { messages: count, bytes: len, sum: checksum(&[&tail]) },
            false => start,
        };
        Ok(MessageCount { messages: count, len: Some(len), mark, findings: messages.findings })
    }
}
