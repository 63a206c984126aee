//! The journal beside a document: one line per change since the document was written.
//!
//! ```text
//! {"journal":1,"document":{"bytes":9310,"sum":"…","messages":3,"tool_snapshots":1}}
//! {"op":"message","at":"…","place":4,"value":{…}}
//! {"op":"snapshot","at":"…","place":2,"message":4,"value":{…}}
//! {"op":"edit","at":"…","list":"messages","place":4,"id":"…","edits":[{"op":"set","path":["content","text"],"value":"…"}]}
//! {"op":"remove","at":"…","list":"messages","place":3,"id":"…"}
//! {"op":"head","at":"…","edits":[…]}
//! {"op":"folded","document":{"bytes":9874,"sum":"…"}}
//! ```
//!
//! The last line is part of the commit that folds the journal and removes it. Only a journal that reappeared has it.
//!
//! A place counts the elements of the document and then those of the journal, from 1, and never changes while the
//! journal exists: a removed element keeps its place. Edits are deltas, so they change only what they name.
//!
//! `JournalOp` is one change, `JournalBase` the first line, and `JournalOverlay` all changes in the form that readers
//! apply.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::content::DocumentDigest;
use super::error::ChatError;
use super::index::id_hash;
use super::survey::ListKind;
use everturn_json::checksum::checksum;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{JsonlRecord, JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::delta::Delta;
use everturn_value::tree::{JsonTree, ValueKind};

/// The version in the first line.
const VERSION: &str = "1";

/// One change.
#[derive(Debug, Clone)]
pub(crate) enum JournalOp {
    /// A message was added.
    Message { place: u64, value: JsonTree },
    /// The state of a tool was recorded, after a message.
    Snapshot { place: u64, message: u64, value: JsonTree },
    /// An element was edited. A snapshot may have moved to another message.
    Edit { list: ListKind, place: u64, id: Option<String>, message: Option<u64>, edits: Vec<Delta> },
    /// A message was removed.
    Remove { place: u64, id: Option<String> },
    /// Something outside of the long lists was edited.
    Head { edits: Vec<Delta> },
    /// All lines above were folded into this document.
    Folded { document: DocumentDigest },
}

/// The document that a journal was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JournalBase {
    pub(crate) mark: DocumentDigest,
    /// The number of its messages and snapshots.
    pub(crate) messages: u64,
    pub(crate) snapshots: u64,
}

impl JournalBase {
    /// The first line of a journal.
    pub(crate) fn line(&self) -> String {
        let JournalBase { mark: DocumentDigest { bytes, sum }, messages, snapshots } = self;
        format!(
            "{{\"journal\":{VERSION},\"document\":{{\"bytes\":{bytes},\"sum\":\"{sum:016x}\",\
             \"messages\":{messages},\"tool_snapshots\":{snapshots}}}}}\n"
        )
    }

    pub(super) fn parse(tree: &JsonTree) -> Option<JournalBase> {
        let number = |key: &str| tree.text_at(&["document", key])?.parse().ok();
        Some(JournalBase {
            mark: document_mark(tree)?,
            messages: number("messages")?,
            snapshots: number("tool_snapshots")?,
        })
    }
}

/// The digest of the document that a line names.
fn document_mark(tree: &JsonTree) -> Option<DocumentDigest> {
    let bytes = tree.text_at(&["document", "bytes"])?.parse().ok()?;
    let sum = u64::from_str_radix(&tree.string_at(&["document", "sum"])?, 16).ok()?;
    Some(DocumentDigest { bytes, sum })
}

/// The member of a line that holds the id of an element.
fn id_text(id: Option<&str>) -> String {
    let id = id.and_then(|id| JsonTree::from_value(id).ok());
    id.map(|id| format!(",\"id\":{}", id.to_line())).unwrap_or_default()
}

fn edits_text(edits: &[Delta]) -> String {
    let edits: Vec<String> = edits.iter().map(Delta::to_line).collect();
    format!("[{}]", edits.join(","))
}

impl JournalOp {
    /// The line of the change. `at` is a time as text.
    pub(crate) fn line(&self, at: &str) -> String {
        let start = |op: &str| format!("{{\"op\":\"{op}\",\"at\":\"{at}\"");
        match self {
            JournalOp::Message { place, value } => {
                format!("{},\"place\":{place},\"value\":{}}}\n", start("message"), value.to_line())
            }
            JournalOp::Snapshot { place, message, value } => {
                let start = start("snapshot");
                let value = value.to_line();
                format!("{start},\"place\":{place},\"message\":{message},\"value\":{value}}}\n")
            }
            JournalOp::Edit { list, place, id, message, edits } => {
                let message = message.map(|place| format!(",\"message\":{place}"));
                let (list, message) = (list.key(), message.unwrap_or_default());
                let (start, id, edits) = (start("edit"), id_text(id.as_deref()), edits_text(edits));
                format!(
                    "{start},\"list\":\"{list}\",\"place\":{place}{id}{message},\"edits\":{edits}}}\n"
                )
            }
            JournalOp::Remove { place, id } => {
                let (start, id) = (start("remove"), id_text(id.as_deref()));
                format!("{start},\"list\":\"messages\",\"place\":{place}{id}}}\n")
            }
            JournalOp::Head { edits } => {
                format!("{},\"edits\":{}}}\n", start("head"), edits_text(edits))
            }
            JournalOp::Folded { document: DocumentDigest { bytes, sum } } => format!(
                "{{\"op\":\"folded\",\"document\":{{\"bytes\":{bytes},\"sum\":\"{sum:016x}\"}}}}\n"
            ),
        }
    }

    fn parse(tree: &JsonTree) -> Result<JournalOp, String> {
        let number = |key: &str| tree.text_at(&[key]).and_then(|text| text.parse::<u64>().ok());
        let place = || number("place").filter(|place| *place > 0).ok_or("it has no place");
        let id = || tree.string_at(&["id"]);
        let value = || match tree.value_at(&["value"]) {
            Some(value) if value.kind() == ValueKind::Object => Ok(value),
            _ => Err("its value is not an object"),
        };
        let edits = || -> Result<Vec<Delta>, String> {
            let edits = tree.value_at(&["edits"]).filter(|edits| edits.kind() == ValueKind::Array);
            let edits = edits.ok_or("it has no edits")?.children();
            edits.iter().map(|(_, edit)| Delta::parse(&edit.to_line())).collect()
        };
        let op = tree.string_at(&["op"]).ok_or("it has no op")?;
        Ok(match op.as_str() {
            "message" => JournalOp::Message { place: place()?, value: value()? },
            "snapshot" => {
                let message = number("message").ok_or("it has no message")?;
                JournalOp::Snapshot { place: place()?, message, value: value()? }
            }
            "edit" => {
                let list = tree.string_at(&["list"]).unwrap_or_default();
                let list = ListKind::named(list.as_bytes()).ok_or("it has no list")?;
                let (place, message) = (place()?, number("message"));
                JournalOp::Edit { list, place, id: id(), message, edits: edits()? }
            }
            "remove" => JournalOp::Remove { place: place()?, id: id() },
            "head" => JournalOp::Head { edits: edits()? },
            "folded" => {
                JournalOp::Folded { document: document_mark(tree).ok_or("it names no document")? }
            }
            other => return Err(format!("unknown operation {other:?}")),
        })
    }
}

/// Whether a record of a journal is valid.
pub(crate) fn says_something(tree: &JsonTree) -> bool {
    match tree.value_at(&["journal"]) {
        Some(_) => JournalBase::parse(tree).is_some(),
        None => JournalOp::parse(tree).is_ok(),
    }
}

/// Whether a record of a journal adds something, and so does not refer to places in the document.
pub(crate) fn is_addition(tree: &JsonTree) -> bool {
    let op = tree.string_at(&["op"]);
    op.is_some_and(|op| matches!(op.as_str(), "message" | "snapshot" | "head"))
}

/// A snapshot in the journal.
#[derive(Debug, Clone)]
pub(crate) struct AddedSnapshot {
    pub(crate) tool: String,
    pub(crate) message: u64,
    pub(crate) line: Range<u64>,
}

/// The changes of a journal, with the positions of long values.
#[derive(Debug, Clone, Default)]
pub(crate) struct JournalOverlay {
    /// The document that the journal was started for, if recorded.
    pub(crate) base: Option<JournalBase>,
    /// The length of the journal in bytes; 0 if there is no journal.
    pub(crate) bytes: u64,
    /// The lines of messages, by place.
    pub(crate) messages: BTreeMap<u64, Range<u64>>,
    pub(crate) snapshots: BTreeMap<u64, AddedSnapshot>,
    pub(crate) removed: BTreeSet<u64>,
    pub(crate) message_edits: BTreeMap<u64, Vec<Delta>>,
    pub(crate) snapshot_edits: BTreeMap<u64, Vec<Delta>>,
    /// Snapshots that were moved to another message.
    pub(crate) moved: BTreeMap<u64, u64>,
    pub(crate) head: Vec<Delta>,
    /// The ids of messages and snapshots in the journal, by checksum.
    ids: HashMap<(u8, u64), Vec<u64>>,
    /// The time of the last change.
    pub(crate) time: Option<String>,
    pub(crate) findings: Vec<Finding>,
    /// Checksums of the lines of messages, by place.
    sums: HashMap<u64, u64>,
}

impl JournalOverlay {
    /// Reads a journal; a missing one has no changes.
    pub(crate) fn read(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<JournalOverlay, ChatError> {
        JournalOverlay::read_with(store, file, |op, _| Some(op))
    }

    /// Reads a journal; `fit` translates each change to the document, or drops it.
    pub(super) fn read_with(
        store: &Arc<dyn Store>,
        file: &FilePath,
        mut fit: impl FnMut(JournalOp, &JsonlRecord) -> Option<JournalOp>,
    ) -> Result<JournalOverlay, ChatError> {
        let mut overlay = JournalOverlay::default();
        let source = match StoreSource::open(store, file) {
            Ok(source) => source,
            Err(StoreError::Missing { .. }) => return Ok(overlay),
            Err(error) => return Err(error.into()),
        };
        let stat = store.stat(file)?;
        overlay.bytes = stat.map_or(0, |stat| stat.len);
        let scan = JsonlScan::new(source, file.clone()).largest_text(u64::MAX).forward();
        for item in scan.map_err(StoreError::io("read", file))? {
            match item.map_err(StoreError::io("read", file))? {
                ScanItem::Finding(finding) => overlay.findings.push(finding),
                ScanItem::Record(record) => overlay.record(file, &record, &mut fit),
            }
        }
        Ok(overlay)
    }

    fn record(
        &mut self,
        file: &FilePath,
        record: &JsonlRecord,
        fit: &mut impl FnMut(JournalOp, &JsonlRecord) -> Option<JournalOp>,
    ) {
        let text = Arc::new(record.text().unwrap_or_default().to_owned());
        let end = text.len();
        let tree = JsonTree::from_trusted(text, 0..end);
        if tree.value_at(&["journal"]).is_some() {
            return self.begin(file, record, &tree);
        }
        let span = record.offset..record.offset + record.length;
        match JournalOp::parse(&tree) {
            Ok(op) => {
                let time = tree.string_at(&["at"]);
                let op = self.placed(file, record, op);
                if let Some(op) = op.and_then(|op| fit(op, record)) {
                    self.note(op, span, time);
                }
            }
            Err(reason) => self.findings.push(
                Finding::new(
                    file,
                    FindingCode::BadRecord,
                    format!("invalid journal line: {reason}"),
                )
                .at_line(record.line)
                .at_offset(record.offset),
            ),
        }
    }

    /// Moves a message whose place is taken to the end, unless it is a copy of the same one.
    fn placed(
        &mut self,
        file: &FilePath,
        record: &JsonlRecord,
        op: JournalOp,
    ) -> Option<JournalOp> {
        let JournalOp::Message { place, value } = op else { return Some(op) };
        let sum = checksum(&[record.text().unwrap_or_default().as_bytes()]);
        let mut note = |message: String| {
            self.findings.push(
                Finding::new(file, FindingCode::DuplicateId, message)
                    .at_line(record.line)
                    .at_offset(record.offset),
            );
        };
        let place = match self.sums.get(&place) {
            None => place,
            Some(other) if *other == sum => {
                note(format!("message {place} already exists"));
                return None;
            }
            Some(_) => {
                note(format!("another message has position {place}; this one is placed after it"));
                self.sums.keys().max().map_or(place, |last| last + 1)
            }
        };
        self.sums.insert(place, sum);
        Some(JournalOp::Message { place, value })
    }

    fn begin(&mut self, file: &FilePath, record: &JsonlRecord, tree: &JsonTree) {
        let version = tree.text_at(&["journal"]).unwrap_or_default();
        if version != VERSION {
            self.findings.push(
                Finding::new(
                    file,
                    FindingCode::NewerVersion,
                    format!("unsupported journal version {version}"),
                )
                .at_line(record.line)
                .at_offset(record.offset),
            );
        }
        self.base = JournalBase::parse(tree);
    }

    /// Counts messages whose lines were lost as removed, so that the others keep their places.
    pub(crate) fn close_gaps(&mut self, count: u64) {
        let last = self.messages.keys().next_back().copied().unwrap_or(count);
        let lost = (count + 1..=last).filter(|place| !self.messages.contains_key(place));
        self.removed.extend(lost.collect::<Vec<u64>>());
        self.removed.retain(|place| *place <= last.max(count));
    }

    /// Adds a change whose line is, or will be, at this position of the journal.
    pub(crate) fn note(&mut self, op: JournalOp, line: Range<u64>, time: Option<String>) {
        self.time = time.or(self.time.take());
        let mut known = |list: ListKind, value: &JsonTree, place: u64| {
            if let Some(id) = value.string_at(&["id"]) {
                let key = (u8::from(list == ListKind::Snapshots), id_hash(&id));
                self.ids.entry(key).or_default().push(place);
            }
        };
        match op {
            JournalOp::Message { place, value } => {
                known(ListKind::Messages, &value, place);
                self.messages.insert(place, line);
            }
            JournalOp::Snapshot { place, message, value } => {
                known(ListKind::Snapshots, &value, place);
                let tool = value.string_at(&["tool_id"]).unwrap_or_default();
                self.snapshots.insert(place, AddedSnapshot { tool, message, line });
            }
            JournalOp::Edit { list: ListKind::Messages, place, edits, .. } => {
                self.message_edits.entry(place).or_default().extend(edits);
            }
            JournalOp::Edit { list: ListKind::Snapshots, place, message, edits, .. } => {
                self.snapshot_edits.entry(place).or_default().extend(edits);
                if let Some(message) = message {
                    self.moved.insert(place, message);
                }
            }
            JournalOp::Remove { place, .. } => drop(self.removed.insert(place)),
            JournalOp::Head { edits } => self.head.extend(edits),
            JournalOp::Folded { .. } => {}
        }
    }

    /// Whether there are no changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.snapshots.is_empty()
            && self.removed.is_empty()
            && self.message_edits.is_empty()
            && self.snapshot_edits.is_empty()
            && self.head.is_empty()
    }

    /// The candidate places of elements of the journal with this id.
    pub(crate) fn find(&self, list: ListKind, id: &str) -> &[u64] {
        let key = (u8::from(list == ListKind::Snapshots), id_hash(id));
        self.ids.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a table reads better without ampersands")]
    fn check(op: JournalOp) {
        let line = op.line("2026-01-01T10:00:00Z");
        let tree = JsonTree::parse(line.trim_end().to_owned()).unwrap();
        let again = JournalOp::parse(&tree).unwrap();
        assert_eq!(again.line("2026-01-01T10:00:00Z"), line);
    }

    #[test]
    fn a_change_is_read_as_it_is_written() {
        let value = || JsonTree::parse(r#"{"id":"a","x":"\ud800","n":1.50}"#).unwrap();
        let edit = Delta::set(everturn_value::delta::DeltaPath::array(["content", "a.b"]), value());
        check(JournalOp::Message { place: 3, value: value() });
        check(JournalOp::Snapshot { place: 2, message: 0, value: value() });
        let edits = vec![edit];
        let list = ListKind::Messages;
        let id = || Some("a \"b\"".to_owned());
        check(JournalOp::Edit { list, place: 1, id: None, message: None, edits: edits.clone() });
        let list = ListKind::Snapshots;
        check(JournalOp::Edit { list, place: 1, id: id(), message: Some(7), edits: edits.clone() });
        check(JournalOp::Remove { place: 9, id: None });
        check(JournalOp::Remove { place: 9, id: id() });
        check(JournalOp::Head { edits });
        check(JournalOp::Folded { document: DocumentDigest { bytes: 7, sum: 0xab } });
    }

    #[test]
    fn lines_that_say_nothing_are_refused() {
        for line in [
            "{}",
            r#"{"op":"message","place":0,"value":{}}"#,
            r#"{"op":"message","place":1,"value":[]}"#,
            r#"{"op":"edit","list":"marks","place":1,"edits":[]}"#,
            r#"{"op":"edit","list":"messages","place":1,"edits":[{"op":"set"}]}"#,
            r#"{"op":"remove"}"#,
            r#"{"op":"folded"}"#,
            r#"{"op":"dance"}"#,
        ] {
            assert!(JournalOp::parse(&JsonTree::parse(line).unwrap()).is_err(), "{line}");
        }
    }
}
