//! The messages of a session: one JSON object per line, never rewritten, readable in any state of the file.
//!
//! The number of a message is its position among the records of the file, so that the meaning of one record never
//! changes the numbers of others.
//!
//! [`Message`] is a message to be written, [`MessageReader`] reads a file, and [`MessageRow`] is one of its records.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::LinggenError;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{JsonlRecord, JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::record_file::{ReadFrom, RecordFile};
use everturn_store::{Store, StoreError};
use everturn_value::document::{JsonStyle, render_line};
use everturn_value::tree::{JsonTree, ValueKind};

/// The fields that programs require in each message, in order.
const FIELDS: [(&str, ValueKind); 6] = [
    ("agent_id", ValueKind::String),
    ("from_id", ValueKind::String),
    ("to_id", ValueKind::String),
    ("content", ValueKind::String),
    ("timestamp", ValueKind::Number),
    ("is_observation", ValueKind::Bool),
];

/// The id of the user.
pub(crate) const USER: &str = "user";

/// The default agent.
const DEFAULT_AGENT: &str = "ling";

/// A message to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The agent whose conversation it belongs to.
    pub agent_id: String,
    /// The sender.
    pub from_id: String,
    /// The recipient.
    pub to_id: String,
    /// The text. Tool calls, plans and results are embedded as JSON.
    pub content: String,
    /// The time in seconds; `None` for now.
    pub timestamp: Option<i64>,
    /// Whether it is the result of a tool.
    pub is_observation: bool,
    /// Unknown fields, which are kept.
    pub other: Map<String, Value>,
}

impl Message {
    /// A message from the user to an agent.
    #[must_use]
    pub fn from_user(agent: &str, content: &str) -> Message {
        Message {
            agent_id: agent.to_owned(),
            from_id: USER.to_owned(),
            to_id: agent.to_owned(),
            content: content.to_owned(),
            timestamp: None,
            is_observation: false,
            other: Map::new(),
        }
    }

    /// Parses a message from one JSON object. Only `content` is required; if it is not a string, its JSON text is used.
    /// Without `from_id`, the user is the sender.
    ///
    /// ```
    /// use everturn_linggen::Message;
    ///
    /// let message = Message::parse(r#"{"from_id": "ling", "content": {"type": "done"}}"#)?;
    /// assert_eq!((message.to_id.as_str(), message.content.as_str()), ("user", r#"{"type":"done"}"#));
    /// # Ok::<(), everturn_linggen::LinggenError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Message, LinggenError> {
        let wrong = |what: String| LinggenError::input(what);
        let tree = JsonTree::parse(text)
            .map_err(|bad| wrong(format!("the message is not JSON: {bad}")))?;
        let value = tree.to_value().map_err(|error| wrong(format!("the message: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(wrong(format!("a message must be an object, not {}", tree.kind())));
        };
        let mut text = |key: &str| match fields.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(LinggenError::input(format!("{key} is not a string"))),
        };
        let (agent, from, to) = (text("agent_id")?, text("from_id")?, text("to_id")?);
        let content = match fields.shift_remove("content") {
            Some(Value::String(content)) => content,
            Some(other) => other.to_string(),
            None => return Err(LinggenError::input("a message needs content")),
        };
        let timestamp = match fields.shift_remove("timestamp") {
            None | Some(Value::Null) => None,
            Some(time) => Some(
                time.as_i64()
                    .ok_or_else(|| wrong("timestamp is not a number of seconds".into()))?,
            ),
        };
        let is_observation = match fields.shift_remove("is_observation") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is)) => is,
            Some(_) => return Err(wrong("is_observation is neither true nor false".into())),
        };
        let from_id =
            from.unwrap_or_else(|| if is_observation { "system" } else { USER }.to_owned());
        let spoken = Some(from_id.clone()).filter(|from| from != USER && from != "system");
        let agent_id = agent.or(spoken).unwrap_or_else(|| DEFAULT_AGENT.to_owned());
        let to_id = to.unwrap_or_else(|| match from_id.as_str() {
            USER | "system" => agent_id.clone(),
            _ => USER.to_owned(),
        });
        Ok(Message { agent_id, from_id, to_id, content, timestamp, is_observation, other: fields })
    }

    /// The message as one line of its file.
    pub(crate) fn line(&self, now: Timestamp) -> Result<Vec<u8>, LinggenError> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        put("agent_id", self.agent_id.as_str().into());
        put("from_id", self.from_id.as_str().into());
        put("to_id", self.to_id.as_str().into());
        put("content", self.content.as_str().into());
        put("timestamp", self.timestamp.unwrap_or(now.as_second()).into());
        put("is_observation", self.is_observation.into());
        for (key, value) in &self.other {
            fields.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let line = render_line(&fields, &JsonStyle::COMPACT);
        let mut line = line.map_err(|error| LinggenError::input(error.to_string()))?;
        line.push('\n');
        Ok(line.into_bytes())
    }
}

/// A record of the file.
#[derive(Debug, Clone)]
pub struct MessageRow {
    /// Its number, counted from 1, if the file is read from the start.
    pub number: Option<u64>,
    /// Its line, if the file is read from the start.
    pub line: Option<u64>,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The record, unless it is too long to be held.
    pub tree: Option<JsonTree>,
}

impl MessageRow {
    /// Why programs skip this record, if they do.
    pub(crate) fn lacks(&self) -> Option<String> {
        lacking(self.tree.as_ref()?)
    }

    /// The time of the message.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let seconds = self.tree.as_ref()?.value_at(&["timestamp"])?.to_line().parse().ok()?;
        Timestamp::from_second(seconds).ok()
    }
}

/// Why programs skip a record, if they do.
pub(crate) fn lacking(tree: &JsonTree) -> Option<String> {
    if tree.kind() != ValueKind::Object {
        return Some(format!("a message must be an object, not {}", tree.kind()));
    }
    FIELDS.iter().find_map(|(key, kind)| match tree.value_at(&[key]).map(|value| value.kind()) {
        Some(found) if found == *kind => None,
        Some(found) => Some(format!("{key} is {found}, not {kind}")),
        None => Some(format!("it has no {key}")),
    })
}

/// Reads the records of a message file in order.
pub struct MessageReader {
    records: RecordFile,
    number: u64,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

impl MessageReader {
    /// Reads from the start. A missing file has no records.
    pub(crate) fn forward(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<MessageReader, StoreError> {
        MessageReader::open(store, file, ReadFrom::Start)
    }

    /// Reads from the end, at a cost proportional to what is read.
    pub(crate) fn backward(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<MessageReader, StoreError> {
        MessageReader::open(store, file, ReadFrom::End)
    }

    fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        from: ReadFrom,
    ) -> Result<MessageReader, StoreError> {
        let records = RecordFile::open(store, file, from)?;
        Ok(MessageReader { records, number: 0, findings: Vec::new() })
    }

    fn row(&mut self, record: &JsonlRecord) -> MessageRow {
        self.number += 1;
        let number = self.records.is_forward().then_some(self.number);
        let JsonlRecord { line, offset, length, .. } = *record;
        let tree = record.text().map(JsonTree::from_trusted_str);
        MessageRow { number, line, offset, length, tree }
    }
}

impl Iterator for MessageReader {
    type Item = Result<MessageRow, LinggenError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next();
        self.findings.append(&mut self.records.findings);
        Some(record?.map(|record| self.row(&record)).map_err(LinggenError::from))
    }
}

/// The number of records in a part of a file that consists of whole lines.
pub(crate) fn count_records(
    store: &Arc<dyn Store>,
    file: &FilePath,
    part: std::ops::Range<u64>,
) -> Result<u64, StoreError> {
    if part.is_empty() {
        return Ok(0);
    }
    let bytes = store.read(file, part)?;
    let scan = JsonlScan::new(bytes.as_slice(), file.clone()).largest_text(0).forward();
    let mut count = 0;
    for item in scan.map_err(StoreError::io("read", file))? {
        if let ScanItem::Record(_) = item.map_err(StoreError::io("read", file))? {
            count += 1;
        }
    }
    Ok(count)
}

/// The finding for a bad record.
pub(crate) fn finding(file: &FilePath, row: &MessageRow, message: String) -> Finding {
    Finding::new(file, FindingCode::BadRecord, message).at_line(row.line).at_offset(row.offset)
}
