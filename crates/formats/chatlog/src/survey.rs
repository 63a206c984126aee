//! One pass over a document in bounded memory, which finds its messages and tool snapshots.
//!
//! `DocumentSurvey` drives the scan, `ScanVisitor` turns tokens into `ScanEvent`s, and the result is a `DocumentIndex`.

use std::collections::HashMap;
use std::ops::Range;

use super::content::{CHUNK, DocumentBytes};
use super::error::ChatError;
use super::index::{DocumentIndex, IdRow, IndexLines, ListFacts, id_hash};
use everturn_json::json::{Completeness, Container, ScanProgress, Scanner, TokenVisitor, unescape};
use everturn_json::jsonl::Utf8Check;
use everturn_value::tree::{JsonTree, ValueKind};

/// The arrays that may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ListKind {
    Messages,
    Snapshots,
}

impl ListKind {
    pub(crate) const ALL: [ListKind; 2] = [ListKind::Messages, ListKind::Snapshots];

    pub(crate) fn key(self) -> &'static str {
        match self {
            ListKind::Messages => "messages",
            ListKind::Snapshots => "tool_snapshots",
        }
    }

    pub(crate) fn named(key: &[u8]) -> Option<ListKind> {
        ListKind::ALL.into_iter().find(|list| list.key().as_bytes() == key)
    }
}

/// The number of messages between two indexed offsets.
pub(crate) const EVERY: u64 = 16;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// An event at the top levels of a document during the scan of a chunk.
enum ScanEvent {
    Key(Range<u64>),
    Opened(Container, u64),
    Closed(u64),
    Scalar,
    Element(Range<u64>),
}

/// Records the events one and two levels deep.
#[derive(Default)]
struct ScanVisitor {
    /// The offset of the text in the file.
    start: u64,
    depth: usize,
    /// Whether the container one level deep is an array.
    in_array: bool,
    element: u64,
    root: Option<Container>,
    events: Vec<ScanEvent>,
}

impl TokenVisitor for ScanVisitor {
    fn container_opened(&mut self, container: Container, start: u64) {
        let start = self.start + start;
        match self.depth {
            0 => self.root = Some(container),
            1 => {
                self.in_array = container == Container::Array;
                self.events.push(ScanEvent::Opened(container, start));
            }
            2 => self.element = start,
            _ => {}
        }
        self.depth += 1;
    }

    fn container_closed(&mut self, end: u64) {
        self.depth = self.depth.saturating_sub(1);
        let end = self.start + end;
        match self.depth {
            1 => self.events.push(ScanEvent::Closed(end)),
            2 if self.in_array => self.events.push(ScanEvent::Element(self.element..end)),
            _ => {}
        }
    }

    fn key(&mut self, start: u64, end: u64) {
        if self.depth == 1 {
            self.events.push(ScanEvent::Key(self.start + start..self.start + end));
        }
    }

    fn scalar(&mut self, start: u64, end: u64) {
        match self.depth {
            1 => self.events.push(ScanEvent::Scalar),
            2 if self.in_array => {
                self.events.push(ScanEvent::Element(self.start + start..self.start + end));
            }
            _ => {}
        }
    }
}

/// A tool snapshot before the number of its message is known.
struct ScannedSnapshot {
    tool: u64,
    message: Option<u64>,
    offset: u64,
}

/// The results of one pass.
struct DocumentSurvey<'c> {
    content: &'c DocumentBytes,
    chunk: Vec<u8>,
    at: u64,
    key: Option<ListKind>,
    list: Option<ListKind>,
    lists: [Option<ListFacts>; 2],
    wrong: [bool; 2],
    blocks: Vec<u64>,
    ids: Vec<IdRow>,
    seen: Vec<ScannedSnapshot>,
    tools: Vec<String>,
    numbers: HashMap<String, u64>,
}

/// Scans a document and builds its index.
pub(crate) fn survey(content: &DocumentBytes) -> Result<DocumentIndex, ChatError> {
    let mut survey = DocumentSurvey {
        content,
        chunk: Vec::new(),
        at: 0,
        key: None,
        list: None,
        lists: [None, None],
        wrong: [false; 2],
        blocks: Vec::new(),
        ids: Vec::new(),
        seen: Vec::new(),
        tools: Vec::new(),
        numbers: HashMap::new(),
    };
    survey.pass()?;
    survey.into_index()
}

impl DocumentSurvey<'_> {
    fn damaged(&self, reason: String) -> ChatError {
        ChatError::damaged(self.content.file(), reason)
    }

    fn pass(&mut self) -> Result<(), ChatError> {
        let (mut scanner, mut utf8, mut look) =
            (Scanner::new(), Utf8Check::default(), ScanVisitor::default());
        let mut ended = false;
        loop {
            self.chunk = self.content.chunk(self.at, CHUNK)?;
            let mut bytes = self.chunk.as_slice();
            if self.at == 0 && bytes.starts_with(BOM) {
                look.start = BOM.len() as u64;
                bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
            }
            if bytes.is_empty() {
                break;
            }
            utf8.feed(bytes);
            let from = self.at.max(look.start);
            let mut used = 0;
            if !ended {
                match scanner.feed_with(bytes, &mut look) {
                    Ok(ScanProgress::More) => used = bytes.len(),
                    Ok(ScanProgress::End(end)) => (ended, used) = (true, end),
                    Err(bad) => return Err(self.not_json(look.start + bad.at, &bad.reason)),
                }
            }
            let rest = bytes.get(used..).unwrap_or_default();
            if let Some(count) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                let at = from + (used + count) as u64;
                return Err(
                    self.damaged(format!("not JSON at byte {at}: trailing data after the value"))
                );
            }
            for event in std::mem::take(&mut look.events) {
                self.event(event)?;
            }
            self.at += self.chunk.len() as u64;
        }
        if scanner.finish() != Completeness::Complete {
            return Err(self.damaged(match scanner.finish() {
                Completeness::Empty => "the document is empty".to_owned(),
                _ => format!("not JSON at byte {}: {}", self.at, scanner.unfinished()),
            }));
        }
        if let Some(bad) = utf8.first_invalid() {
            return Err(self.damaged(format!("not UTF-8 at byte {}", look.start + bad)));
        }
        match look.root {
            Some(Container::Object) => Ok(()),
            _ => Err(self.damaged("the document is not an object".to_owned())),
        }
    }

    /// The error for text that is not JSON; templates with comments get a message of their own.
    fn not_json(&self, at: u64, reason: &everturn_json::json::JsonErrorKind) -> ChatError {
        let start = usize::try_from(at.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let there = self.chunk.get(start..).unwrap_or_default();
        if there.starts_with(b"//") || there.starts_with(b"/*") {
            return self.damaged(format!(
                "there is a comment at byte {at}, but JSON has no comments; remove the comments from the template"
            ));
        }
        self.damaged(format!("not JSON at byte {at}: {reason}"))
    }

    fn bytes(&self, span: &Range<u64>) -> Result<Vec<u8>, ChatError> {
        let place = |at: u64| usize::try_from(at.checked_sub(self.at)?).ok();
        let held = place(span.start)
            .zip(place(span.end))
            .and_then(|(start, end)| self.chunk.get(start..end));
        match held {
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.content.read(span.clone()),
        }
    }

    fn event(&mut self, event: ScanEvent) -> Result<(), ChatError> {
        match event {
            ScanEvent::Key(span) => {
                let raw = self.bytes(&span)?;
                self.key = ListKind::named(&unescape(&raw));
            }
            ScanEvent::Opened(container, open) => {
                self.list = self.key.take();
                let Some(list) = self.list else { return Ok(()) };
                self.drop_list(list);
                if container == Container::Array {
                    *self.facts(list) = Some(ListFacts::new(open));
                } else {
                    self.wrong(list);
                }
            }
            ScanEvent::Scalar => {
                if let Some(list) = self.key.take() {
                    self.drop_list(list);
                    self.wrong(list);
                }
            }
            ScanEvent::Closed(end) => {
                if let Some(list) = self.list.take()
                    && let Some(facts) = self.facts(list)
                {
                    facts.close = end - 1;
                }
            }
            ScanEvent::Element(span) => {
                let Some(list) = self.list else { return Ok(()) };
                let Some(facts) = self.facts(list) else { return Ok(()) };
                facts.add(&span);
                let place = facts.count;
                let bytes = self.bytes(&span)?;
                self.element(list, place, span.start, bytes);
            }
        }
        Ok(())
    }

    fn facts(&mut self, list: ListKind) -> &mut Option<ListFacts> {
        let [messages, snapshots] = &mut self.lists;
        match list {
            ListKind::Messages => messages,
            ListKind::Snapshots => snapshots,
        }
    }

    fn wrong(&mut self, list: ListKind) {
        let [messages, snapshots] = &mut self.wrong;
        match list {
            ListKind::Messages => *messages = true,
            ListKind::Snapshots => *snapshots = true,
        }
    }

    /// Drops the former list of a repeated key: the last one counts.
    fn drop_list(&mut self, list: ListKind) {
        *self.facts(list) = None;
        let kind = IdRow::kind_of(list);
        self.ids.retain(|row| row.kind() != kind);
        match list {
            ListKind::Messages => self.blocks.clear(),
            ListKind::Snapshots => self.seen.clear(),
        }
    }

    fn element(&mut self, list: ListKind, place: u64, offset: u64, bytes: Vec<u8>) {
        if list == ListKind::Messages && (place - 1).is_multiple_of(EVERY) {
            self.blocks.push(offset);
        }
        let tree = String::from_utf8(bytes).ok().map(|text| {
            let end = text.len();
            JsonTree::from_trusted(text.into(), 0..end)
        });
        let tree = tree.filter(|tree| tree.kind() == ValueKind::Object);
        let text = |key: &str| tree.as_ref().and_then(|tree| tree.string_at(&[key]));
        if let Some(id) = text("id") {
            self.ids.push(IdRow::new(list, id_hash(&id), place));
        }
        if list == ListKind::Snapshots {
            let tool = text("tool_id").unwrap_or_default();
            let message = text("message_id").map(|id| id_hash(&id));
            let next = self.tools.len() as u64;
            let number = *self.numbers.entry(tool.clone()).or_insert(next);
            if number == next {
                self.tools.push(tool);
            }
            self.seen.push(ScannedSnapshot { tool: number, message, offset });
        }
    }

    fn into_index(mut self) -> Result<DocumentIndex, ChatError> {
        self.ids.sort_unstable();
        let mut lines = IndexLines::new(self.ids);
        let mut carried = 0;
        for (seen, place) in self.seen.iter().zip(1..) {
            // A snapshot of a missing message is counted with the message of the snapshot before it.
            let number = seen.message.and_then(|hash| lines.first(ListKind::Messages, hash));
            carried = number.unwrap_or(carried);
            lines.snapshot(seen.tool, carried, place, seen.offset);
        }
        DocumentIndex::build(
            self.content.digest()?,
            self.lists,
            self.wrong,
            &self.blocks,
            self.tools,
            lines,
        )
    }
}
