//! The records of a log: [`ThreadRecord`] and its [`RecordType`].

use jiff::Timestamp;

use everturn_session::format::SessionError;
use everturn_value::tree::{JsonTree, ValueKind};

/// The type of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordType {
    /// The first record: the ID and the origin of the thread.
    Header,
    /// A message or an event.
    Item,
    /// The values of channels at one point.
    Checkpoint,
    /// Writes of a task that belong to a checkpoint and are not part of it yet.
    Writes,
    /// The idempotency key of a change of items.
    Operation,
}

impl RecordType {
    const ALL: [RecordType; 5] = [
        RecordType::Header,
        RecordType::Item,
        RecordType::Checkpoint,
        RecordType::Writes,
        RecordType::Operation,
    ];

    /// Its name in the records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RecordType::Header => "thread",
            RecordType::Item => "item",
            RecordType::Checkpoint => "checkpoint",
            RecordType::Writes => "writes",
            RecordType::Operation => "operation",
        }
    }

    /// The text members that a record of this type must have.
    fn required(self) -> &'static [&'static str] {
        match self {
            RecordType::Header | RecordType::Checkpoint => &["id"],
            RecordType::Item => &[],
            RecordType::Writes => &["checkpoint", "task"],
            RecordType::Operation => &["operation", "digest"],
        }
    }
}

/// A valid record of a log.
#[derive(Debug, Clone)]
pub struct ThreadRecord {
    /// Its type.
    pub kind: RecordType,
    /// The whole record.
    pub tree: JsonTree,
    /// The offset of its first byte.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) length: u64,
}

impl ThreadRecord {
    /// Parses a record, or says why it is not one. A record without a type, or with one of a framework, is an item.
    pub(crate) fn parse(tree: JsonTree) -> Result<ThreadRecord, String> {
        if tree.kind() != ValueKind::Object {
            return Err(format!("a record must be an object, not {}", tree.kind()));
        }
        let tree = tree.into_expanded();
        let kind = match tree.value_at(&["type"]) {
            None => RecordType::Item,
            Some(value) => {
                let name = value.string_at::<&str>(&[]).unwrap_or_default();
                let known = RecordType::ALL.into_iter().find(|kind| kind.as_str() == name);
                known.unwrap_or(RecordType::Item)
            }
        };
        for field in kind.required() {
            if tree.string_at(&[field]).is_none_or(|text| text.is_empty()) {
                return Err(format!("a {} record needs the text {field:?}", kind.as_str()));
            }
        }
        if kind == RecordType::Checkpoint {
            for field in ["versions", "values"] {
                let found = tree.value_at(&[field]).map(|value| value.kind());
                if found.is_some_and(|found| found != ValueKind::Object) {
                    return Err(format!("{field:?} of a checkpoint must be an object"));
                }
            }
        }
        Ok(ThreadRecord { kind, tree, offset: 0, length: 0 })
    }

    /// Parses a record that is about to be stored.
    pub(crate) fn parse_input(text: &str) -> Result<ThreadRecord, SessionError> {
        let tree = JsonTree::parse(text)
            .map_err(|error| SessionError::request(format!("the record is not JSON: {error}")))?;
        let record = ThreadRecord::parse(tree).map_err(SessionError::request)?;
        match record.kind {
            RecordType::Header => Err(SessionError::request("a thread has its header already")),
            _ => Ok(record),
        }
    }

    /// A text member.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<String> {
        self.tree.string_at(&[field])
    }

    /// The ID of the record; empty if it has none.
    #[must_use]
    pub fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// The namespace of a checkpoint: empty for the thread itself, otherwise that of a subgraph.
    #[must_use]
    pub fn namespace(&self) -> String {
        self.text("ns").unwrap_or_default()
    }

    /// The time of the record.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.text("time")?.parse().ok()
    }

    /// The idempotency key: that of an item, or the ID of a checkpoint in its namespace.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        match self.kind {
            RecordType::Item => self.text("key"),
            RecordType::Checkpoint => {
                Some(format!("checkpoint:{}:{}", self.namespace(), self.id()))
            }
            _ => None,
        }
    }

    /// The versions of the channels of a checkpoint, as JSON text.
    pub(crate) fn versions(&self) -> Vec<(String, String)> {
        let versions = self.tree.value_at(&["versions"]).map(|all| all.children());
        let version = |(channel, version): (String, JsonTree)| (channel, version.to_line());
        versions.unwrap_or_default().into_iter().map(version).collect()
    }

    /// The end of its line.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.length
    }
}
