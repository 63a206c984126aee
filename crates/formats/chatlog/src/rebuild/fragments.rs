//! Reads what is whole of damaged messages.
//!
//! A damaged message is no longer one value, but most of its members still are. [`read_fragments`] collects these in
//! order, and begins another message where one begins: at a second id, time or content.

use std::ops::Range;

use super::encloses_content;
use everturn_json::json::value_end;
use everturn_session::repair::parse_tree;
use everturn_value::tree::{JsonTree, ValueKind};

/// The longest known key, in bytes.
const LONGEST_KEY: usize = 24;

/// How many times the bytes may be scanned for objects.
const PASSES: usize = 16;

/// The members of a document after its messages.
const AFTER: [&str; 5] =
    ["tool_snapshots", "bookmarks", "narrative_markers", "context_window", "export"];

/// The members that only a message has, and none of its earlier versions.
const OWN: [&str; 4] = ["id", "type", "sender", "metadata"];

const SENDER: [&str; 2] = ["name", "avatar"];
const CONTENT: [&str; 2] = ["text", "formatted_text"];
const METADATA: [&str; 4] = ["is_edited", "is_regenerated", "tokens", "processing_time_ms"];
const HISTORIES: [&str; 2] = ["edit_history", "regeneration_history"];

/// The damaged messages in a range.
#[derive(Default)]
pub(super) struct MessageFragments {
    /// Each message with the position of its first whole member.
    pub(super) messages: Vec<(usize, String)>,
    /// The ranges of the members in use.
    pub(super) used: Vec<Range<usize>>,
}

/// The damaged value that encloses a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum BrokenParent {
    #[default]
    Message,
    Sender,
    Actions,
    Attachments,
    Metadata,
    /// The history with this name.
    History(&'static str),
}

type Members = Vec<(&'static str, JsonTree)>;

/// The whole members of one message.
#[derive(Default)]
struct MessageFragment {
    start: Option<usize>,
    used: Vec<Range<usize>>,
    top: Members,
    sender: Members,
    content: Vec<(String, JsonTree)>,
    actions: Vec<JsonTree>,
    attachments: Vec<JsonTree>,
    metadata: Members,
    histories: Vec<(&'static str, Vec<JsonTree>)>,
}

fn list(elements: &[JsonTree]) -> JsonTree {
    let elements: Vec<String> = elements.iter().map(JsonTree::to_line).collect();
    JsonTree::parse(format!("[{}]", elements.join(","))).unwrap_or_else(|_| JsonTree::null())
}

fn object(members: impl IntoIterator<Item = (&'static str, JsonTree)>) -> JsonTree {
    JsonTree::from_members(members.into_iter().map(|(key, value)| (key.to_owned(), value)))
}

impl MessageFragment {
    fn has(&self, key: &str) -> bool {
        self.top.iter().any(|(known, _)| *known == key)
    }

    fn has_content(&self) -> bool {
        !self.content.is_empty()
    }

    /// Whether it has anything to read.
    fn is_message(&self) -> bool {
        let text = |key: &str| {
            let text = self.content.iter().find(|(known, _)| known == key);
            text.is_some_and(|(_, text)| text.kind() == ValueKind::String)
        };
        CONTENT.into_iter().any(text)
            || !self.actions.is_empty()
            || !self.attachments.is_empty()
            || self.content.iter().any(|(key, _)| key == "actions" || key == "attachments")
    }

    fn history(&mut self, name: &'static str) -> &mut Vec<JsonTree> {
        let at = self.histories.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.histories.push((name, Vec::new()));
            self.histories.len() - 1
        });
        match self.histories.get_mut(at) {
            Some((_, entries)) => entries,
            None => &mut self.actions,
        }
    }

    fn into_text(mut self) -> String {
        for (key, elements) in [("actions", &self.actions), ("attachments", &self.attachments)] {
            if !elements.is_empty() && !self.content.iter().any(|(known, _)| known == key) {
                self.content.push((key.to_owned(), list(elements)));
            }
        }
        if !self.sender.is_empty() {
            self.top.push(("sender", object(self.sender)));
        }
        self.top.push(("content", JsonTree::from_members(self.content)));
        self.metadata.extend(self.histories.iter().map(|(name, entries)| (*name, list(entries))));
        if !self.metadata.is_empty() {
            self.top.push(("metadata", object(self.metadata)));
        }
        object(self.top).to_line()
    }
}

struct FragmentReader<'b> {
    bytes: &'b [u8],
    parent: BrokenParent,
    current: MessageFragment,
    found: MessageFragments,
    /// The number of bytes that may still be scanned for objects.
    budget: usize,
}

/// Reads the damaged messages in a range that has no whole ones.
pub(super) fn read_fragments(bytes: &[u8], range: Range<usize>) -> MessageFragments {
    let budget = range.len().saturating_mul(PASSES);
    let mut reader = FragmentReader {
        bytes: bytes.get(..range.end).unwrap_or(bytes),
        parent: BrokenParent::default(),
        current: MessageFragment::default(),
        found: MessageFragments::default(),
        budget,
    };
    let mut at = range.start;
    while let Some(byte) = reader.bytes.get(at) {
        let end = match byte {
            b'"' => match reader.key(at) {
                Some((key, _)) if AFTER.contains(&key) => break,
                Some((key, value)) => reader.member(key, at, value),
                None => None,
            },
            b'{' => reader.object(at),
            _ => None,
        };
        at = end.unwrap_or(at + 1);
    }
    reader.finish();
    reader.found
}

impl<'b> FragmentReader<'b> {
    fn skip_blank(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        Some(at + rest.iter().position(|byte| !byte.is_ascii_whitespace())?)
    }

    /// The key at a position, and where its value starts.
    fn key(&self, at: usize) -> Option<(&'b str, usize)> {
        let bytes: &'b [u8] = self.bytes;
        let is_escaped = at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'\\');
        let rest = bytes.get(at + 1..).filter(|_| !is_escaped)?;
        let length = rest.iter().take(LONGEST_KEY).position(|byte| *byte == b'"')?;
        let key = std::str::from_utf8(rest.get(..length)?).ok()?;
        let colon = self.skip_blank(at + length + 2)?;
        (self.bytes.get(colon) == Some(&b':')).then_some(())?;
        Some((key, self.skip_blank(colon + 1)?))
    }

    /// The key of the member after one that ends at a position.
    fn next_key(&self, end: usize) -> Option<&'b str> {
        let comma = self.skip_blank(end).filter(|at| self.bytes.get(*at) == Some(&b','))?;
        let (key, _) = self.key(self.skip_blank(comma + 1)?)?;
        Some(key)
    }

    /// The whole value at a position, and its end. A string before a colon is the next key, and the value is lost.
    fn value(&self, start: usize) -> Option<(JsonTree, usize)> {
        let end = value_end(self.bytes, start).ok()?;
        let next = self.skip_blank(end).and_then(|at| self.bytes.get(at));
        let tree = parse_tree(self.bytes, &(start..end)).filter(|_| next != Some(&b':'))?;
        Some((tree, end))
    }

    fn finish(&mut self) {
        let fragment = std::mem::take(&mut self.current);
        self.parent = BrokenParent::Message;
        if let Some(start) = fragment.start.filter(|_| fragment.is_message()) {
            self.found.used.extend(fragment.used.clone());
            self.found.messages.push((start, fragment.into_text()));
        }
    }

    fn put(&mut self, span: Range<usize>) {
        self.current.start.get_or_insert(span.start);
        self.current.used.push(span);
    }

    /// Reads a member; returns its end, or `None` if it is not whole.
    fn member(&mut self, key: &str, start: usize, value_start: usize) -> Option<usize> {
        let named = |keys: &[&'static str]| keys.iter().copied().find(|known| *known == key);
        let value = self.value(value_start).filter(|(value, _)| !encloses_content(value));
        match key {
            "messages" => {
                self.finish();
                return None;
            }
            "sender" | "content" | "metadata" | "actions" | "attachments" if value.is_none() => {
                self.parent = match (key, self.parent) {
                    ("sender", _) => BrokenParent::Sender,
                    ("metadata", _) => BrokenParent::Metadata,
                    // An old version is damaged, too.
                    (_, history @ BrokenParent::History(_)) => history,
                    ("actions", _) => BrokenParent::Actions,
                    ("attachments", _) => BrokenParent::Attachments,
                    _ => BrokenParent::Message,
                };
                return None;
            }
            _ => {}
        }
        if let Some(history) = named(&HISTORIES) {
            self.parent = BrokenParent::History(history);
            let (value, end) = value?;
            // Without a comma or a brace after it, the list was closed by damage.
            let next = self.skip_blank(end).and_then(|at| self.bytes.get(at));
            if !matches!(next, Some(b',' | b'}')) {
                return None;
            }
            self.parent = BrokenParent::Metadata;
            self.current.metadata.push((history, value));
            self.put(start..end);
            return Some(end);
        }
        let (value, end) = value?;
        let is_used = match key {
            "id" => self.id(value, end),
            "timestamp" | "type" => self.stamp(key, value),
            "sender" | "content" | "metadata" => {
                let is_own = self.next_key(end) == Some("metadata");
                self.part(key, value, is_own)
            }
            "actions" | "attachments" => self.content(key, value),
            _ if named(&SENDER).is_some() => {
                let is_sender = self.parent == BrokenParent::Sender;
                self.current
                    .sender
                    .extend(named(&SENDER).filter(|_| is_sender).map(|key| (key, value)));
                is_sender
            }
            _ if named(&CONTENT).is_some() => self.content(key, value),
            _ => match named(&METADATA) {
                Some(key) => {
                    self.parent = BrokenParent::Metadata;
                    self.current.metadata.push((key, value));
                    true
                }
                None => return None,
            },
        };
        if is_used {
            self.put(start..end);
        }
        Some(end)
    }

    /// Takes the id of a message or of its sender, which comes before a name.
    fn id(&mut self, value: JsonTree, end: usize) -> bool {
        let is_sender = self.next_key(end).is_some_and(|key| SENDER.contains(&key));
        if is_sender || self.parent == BrokenParent::Sender {
            self.parent = BrokenParent::Sender;
            self.current.sender.push(("id", value));
            return true;
        }
        if self.current.has("id") || self.current.has_content() {
            self.finish();
        }
        self.parent = BrokenParent::Message;
        self.current.top.push(("id", value));
        true
    }

    /// Takes the time or the type of a message. Those of other parts are not used.
    fn stamp(&mut self, key: &str, value: JsonTree) -> bool {
        let key = if key == "type" { "type" } else { "timestamp" };
        let is_own = matches!(self.parent, BrokenParent::Message | BrokenParent::Sender);
        if !is_own {
            return false;
        }
        if self.current.has(key) {
            self.finish();
        }
        self.current.top.push((key, value));
        true
    }

    /// Takes a whole part of a message. Earlier versions have a content, and nothing else that a message has.
    fn part(&mut self, key: &str, value: JsonTree, is_own: bool) -> bool {
        if let (BrokenParent::History(history), "content", false) = (self.parent, key, is_own) {
            let entry = object([("content", value)]);
            self.current.history(history).push(entry);
            return true;
        }
        if key == "content" {
            if self.current.has_content() {
                self.finish();
            }
            self.parent = BrokenParent::Message;
            let members = match value.kind() {
                ValueKind::Object => value.children(),
                _ => vec![("text".to_owned(), value)],
            };
            self.current.content.extend(members);
            return true;
        }
        self.parent = BrokenParent::Message;
        let key = if key == "sender" { "sender" } else { "metadata" };
        if self.current.has(key) {
            self.finish();
        }
        self.current.top.push((key, value));
        true
    }

    /// Takes a member of a content that is not whole.
    fn content(&mut self, key: &str, value: JsonTree) -> bool {
        match self.parent {
            BrokenParent::Actions | BrokenParent::Attachments | BrokenParent::Metadata => false,
            BrokenParent::History(history) => {
                let content = JsonTree::from_members([(key.to_owned(), value)]);
                let entry = object([("content", content)]);
                self.current.history(history).push(entry);
                true
            }
            BrokenParent::Message | BrokenParent::Sender => {
                if self.current.content.iter().any(|(known, _)| known == key) {
                    self.finish();
                }
                self.parent = BrokenParent::Message;
                self.current.content.push((key.to_owned(), value));
                true
            }
        }
    }

    /// Reads a whole object that is an element of a broken list; returns its end.
    fn object(&mut self, start: usize) -> Option<usize> {
        let looked = value_end(self.bytes, start);
        let cost = looked
            .as_ref()
            .map_or_else(|bad| usize::try_from(bad.at).unwrap_or(usize::MAX), |end| *end);
        self.budget = self.budget.checked_sub(cost.saturating_sub(start) + 1)?;
        let end = looked.ok()?;
        let tree = parse_tree(self.bytes, &(start..end))?;
        let kind = tree.string_at(&["type"]).unwrap_or_default();
        let has = |key: &str| tree.value_at(&[key]).is_some();
        if matches!(kind.as_str(), "emote" | "action" | "thought") && has("text") {
            self.current.actions.push(tree);
        } else if matches!(kind.as_str(), "image" | "audio" | "file") && has("url") {
            self.current.attachments.push(tree);
        } else if let BrokenParent::History(history) = self.parent
            && (has("content") || has("text"))
            && !OWN.iter().any(|key| has(key))
        {
            self.current.history(history).push(tree);
        } else if has("timestamp") && has("content") && !OWN.iter().any(|key| has(key)) {
            // An old version, but of which history?
            return Some(end);
        } else {
            return None;
        }
        self.put(start..end);
        Some(end)
    }
}
