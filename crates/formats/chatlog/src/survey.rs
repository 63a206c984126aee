//! One pass over a document, from start to end in bounded memory: where its messages and tool snapshots are.

use std::collections::HashMap;
use std::ops::Range;

use super::content::{CHUNK, Content};
use super::error::ChatError;
use super::index::{Index, Lines, ListFacts, Row, id_hash};
use everturn_json::json::{Container, Ending, Progress, Scanner, Visit, unescape};
use everturn_json::lines::Utf8Check;
use everturn_value::tree::{Kind, Tree};

/// The arrays that may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum List {
    Messages,
    Snapshots,
}

impl List {
    pub(crate) const ALL: [List; 2] = [List::Messages, List::Snapshots];

    pub(crate) fn key(self) -> &'static str {
        match self {
            List::Messages => "messages",
            List::Snapshots => "tool_snapshots",
        }
    }

    pub(crate) fn named(key: &[u8]) -> Option<List> {
        List::ALL.into_iter().find(|list| list.key().as_bytes() == key)
    }
}

/// How many messages lie between two places that the index knows.
pub(crate) const EVERY: u64 = 16;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What was seen at the top of a document while a chunk was scanned.
enum Event {
    Key(Range<u64>),
    Opened(Container, u64),
    Closed(u64),
    Scalar,
    Element(Range<u64>),
}

/// Notes what happens one and two levels deep.
#[derive(Default)]
struct Look {
    /// Where the text begins in the file.
    start: u64,
    depth: usize,
    /// Whether the container one level deep is an array.
    in_array: bool,
    element: u64,
    root: Option<Container>,
    events: Vec<Event>,
}

impl Visit for Look {
    fn opened(&mut self, container: Container, start: u64) {
        let start = self.start + start;
        match self.depth {
            0 => self.root = Some(container),
            1 => {
                self.in_array = container == Container::Array;
                self.events.push(Event::Opened(container, start));
            }
            2 => self.element = start,
            _ => {}
        }
        self.depth += 1;
    }

    fn closed(&mut self, end: u64) {
        self.depth = self.depth.saturating_sub(1);
        let end = self.start + end;
        match self.depth {
            1 => self.events.push(Event::Closed(end)),
            2 if self.in_array => self.events.push(Event::Element(self.element..end)),
            _ => {}
        }
    }

    fn key(&mut self, start: u64, end: u64) {
        if self.depth == 1 {
            self.events.push(Event::Key(self.start + start..self.start + end));
        }
    }

    fn scalar(&mut self, start: u64, end: u64) {
        match self.depth {
            1 => self.events.push(Event::Scalar),
            2 if self.in_array => {
                self.events.push(Event::Element(self.start + start..self.start + end));
            }
            _ => {}
        }
    }
}

/// A tool snapshot before its message is known by number.
struct Seen {
    tool: u64,
    message: Option<u64>,
    offset: u64,
}

/// What one pass has found.
struct Survey<'c> {
    content: &'c Content,
    chunk: Vec<u8>,
    at: u64,
    key: Option<List>,
    list: Option<List>,
    lists: [Option<ListFacts>; 2],
    wrong: [bool; 2],
    blocks: Vec<u64>,
    ids: Vec<Row>,
    seen: Vec<Seen>,
    tools: Vec<String>,
    numbers: HashMap<String, u64>,
}

/// Looks at a document and says where things are in it.
pub(crate) fn survey(content: &Content) -> Result<Index, ChatError> {
    let mut survey = Survey {
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

impl Survey<'_> {
    fn damaged(&self, reason: String) -> ChatError {
        ChatError::damaged(self.content.file(), reason)
    }

    fn pass(&mut self) -> Result<(), ChatError> {
        let (mut scanner, mut utf8, mut look) =
            (Scanner::new(), Utf8Check::default(), Look::default());
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
                    Ok(Progress::More) => used = bytes.len(),
                    Ok(Progress::End(end)) => (ended, used) = (true, end),
                    Err(bad) => return Err(self.not_json(look.start + bad.at, &bad.reason)),
                }
            }
            let rest = bytes.get(used..).unwrap_or_default();
            if let Some(count) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                let at = from + (used + count) as u64;
                return Err(
                    self.damaged(format!("not JSON at byte {at}: something follows the value"))
                );
            }
            for event in std::mem::take(&mut look.events) {
                self.event(event)?;
            }
            self.at += self.chunk.len() as u64;
        }
        if scanner.finish() != Ending::Complete {
            return Err(self.damaged(match scanner.finish() {
                Ending::Empty => "the document is empty".to_owned(),
                _ => format!("not JSON at byte {}: {}", self.at, scanner.unfinished()),
            }));
        }
        if let Some(bad) = utf8.bad() {
            return Err(self.damaged(format!("not UTF-8 at byte {}", look.start + bad)));
        }
        match look.root {
            Some(Container::Object) => Ok(()),
            _ => Err(self.damaged("it is not an object".to_owned())),
        }
    }

    /// The error for text that is not JSON; templates with comments are told from others.
    fn not_json(&self, at: u64, reason: &everturn_json::json::Reason) -> ChatError {
        let start = usize::try_from(at.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let there = self.chunk.get(start..).unwrap_or_default();
        if there.starts_with(b"//") || there.starts_with(b"/*") {
            return self.damaged(format!(
                "there is a comment at byte {at}, and JSON has none; take the comments out of the template"
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

    fn event(&mut self, event: Event) -> Result<(), ChatError> {
        match event {
            Event::Key(span) => {
                let raw = self.bytes(&span)?;
                self.key = List::named(&unescape(&raw));
            }
            Event::Opened(container, open) => {
                self.list = self.key.take();
                let Some(list) = self.list else { return Ok(()) };
                self.forget(list);
                if container == Container::Array {
                    *self.facts(list) = Some(ListFacts::new(open));
                } else {
                    self.wrong(list);
                }
            }
            Event::Scalar => {
                if let Some(list) = self.key.take() {
                    self.forget(list);
                    self.wrong(list);
                }
            }
            Event::Closed(end) => {
                if let Some(list) = self.list.take()
                    && let Some(facts) = self.facts(list)
                {
                    facts.close = end - 1;
                }
            }
            Event::Element(span) => {
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

    fn facts(&mut self, list: List) -> &mut Option<ListFacts> {
        let [messages, snapshots] = &mut self.lists;
        match list {
            List::Messages => messages,
            List::Snapshots => snapshots,
        }
    }

    fn wrong(&mut self, list: List) {
        let [messages, snapshots] = &mut self.wrong;
        match list {
            List::Messages => *messages = true,
            List::Snapshots => *snapshots = true,
        }
    }

    /// Of a key that comes twice, the last one counts.
    fn forget(&mut self, list: List) {
        *self.facts(list) = None;
        let kind = Row::kind_of(list);
        self.ids.retain(|row| row.kind() != kind);
        match list {
            List::Messages => self.blocks.clear(),
            List::Snapshots => self.seen.clear(),
        }
    }

    fn element(&mut self, list: List, place: u64, offset: u64, bytes: Vec<u8>) {
        if list == List::Messages && (place - 1).is_multiple_of(EVERY) {
            self.blocks.push(offset);
        }
        let tree = String::from_utf8(bytes).ok().map(|text| {
            let end = text.len();
            Tree::trusted(text.into(), 0..end)
        });
        let tree = tree.filter(|tree| tree.kind() == Kind::Object);
        let text = |key: &str| tree.as_ref().and_then(|tree| tree.string_at(&[key]));
        if let Some(id) = text("id") {
            self.ids.push(Row::new(list, id_hash(&id), place));
        }
        if list == List::Snapshots {
            let tool = text("tool_id").unwrap_or_default();
            let message = text("message_id").map(|id| id_hash(&id));
            let next = self.tools.len() as u64;
            let number = *self.numbers.entry(tool.clone()).or_insert(next);
            if number == next {
                self.tools.push(tool);
            }
            self.seen.push(Seen { tool: number, message, offset });
        }
    }

    fn into_index(mut self) -> Result<Index, ChatError> {
        self.ids.sort_unstable();
        let mut lines = Lines::new(self.ids);
        let mut carried = 0;
        for (seen, place) in self.seen.iter().zip(1..) {
            // A snapshot of a message that is not there belongs where it stands among the others.
            let number = seen.message.and_then(|hash| lines.first(List::Messages, hash));
            carried = number.unwrap_or(carried);
            lines.snapshot(seen.tool, carried, place, seen.offset);
        }
        Index::build(self.content.mark()?, self.lists, self.wrong, &self.blocks, self.tools, lines)
    }
}
