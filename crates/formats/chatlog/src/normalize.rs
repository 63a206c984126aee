//! Normalizes a document so that every part is valid: missing values are derived from what is known, invalid ones are
//! left out, and ids become unique.
//!
//! Messages with the same id and the same content are merged. If their contents differ, both stay, and the later one
//! gets an id of its own. A message of unknown kind becomes the narrator's, and a message without a time gets that of
//! the one before it.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::rebuild::is_content;
use super::rewrite::correct;
use super::schema::{FieldRule, HEAD, MESSAGE, SNAPSHOT, apply_defaults, find_type_errors, time};
use everturn_json::json;
use everturn_value::document::{Document, JsonStyle};
use everturn_value::tree::{JsonTree, ValueKind, canonical_text};

/// The default kind of a message.
const NARRATOR: &str = "narrator";

/// A normalized document, and the changes made.
pub(crate) struct NormalizedDocument {
    pub(crate) bytes: Vec<u8>,
    pub(crate) what: Vec<String>,
}

/// Which references of marks and the context window are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferencePolicy {
    /// All: they cannot be repaired automatically.
    Stay,
    /// Those to existing messages, because the others are known to be lost.
    Known,
}

fn text(value: &str) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

fn list(elements: &[JsonTree]) -> JsonTree {
    let elements: Vec<String> = elements.iter().map(JsonTree::to_line).collect();
    let text = format!("[{}]", elements.join(","));
    let end = text.len();
    JsonTree::from_trusted(text.into(), 0..end)
}

/// The members of a message.
const MEMBERS: [&str; 6] = ["id", "timestamp", "type", "sender", "content", "metadata"];

struct Normalizer<'a> {
    id: &'a str,
    now: Timestamp,
    what: Vec<String>,
    /// The ids of messages, with their contents.
    messages: HashMap<String, String>,
}

/// Normalizes a document that is valid JSON. `id` is derived from the name of its file.
pub(crate) fn normalize_document(
    bytes: &[u8],
    id: &str,
    references: ReferencePolicy,
    now: Timestamp,
) -> Option<NormalizedDocument> {
    let document = Document::parse(bytes).ok()?;
    let style = *document.style();
    let whole = document.get(&[])?.to_owned();
    let end = whole.len();
    let root = JsonTree::from_trusted(whole.into(), 0..end);
    let mut reshape = Normalizer { id, now, what: Vec::new(), messages: HashMap::new() };
    let mut members = reshape.head(&root);
    if root.children().len() < json::entries(root.to_line().as_bytes(), 0).ok()??.list.len() {
        reshape.note("duplicate keys in the document: the last values are kept");
    }
    let elements = |key: &str| {
        let found = root.value_at(&[key]).filter(|list| list.kind() == ValueKind::Array);
        found.map(|list| list.children()).unwrap_or_default().into_iter().map(|(_, one)| one)
    };
    let messages = reshape.messages(elements("messages").collect(), &members);
    let snapshots = reshape.snapshots(elements("tool_snapshots").collect(), references);
    if references == ReferencePolicy::Known {
        reshape.known_marks(&mut members);
    }
    let times = messages.iter().filter_map(|message| message.string_at(&["timestamp"]));
    let newest = times.max_by_key(|text| time(text));
    let count = messages.len() as u64;
    for (key, elements) in [("messages", &messages), ("tool_snapshots", &snapshots)] {
        if key == "messages" || root.value_at(&[key]).is_some() {
            match members.iter_mut().find(|(name, _)| name == key) {
                Some((_, value)) => *value = list(elements),
                None => members.push((key.to_owned(), list(elements))),
            }
        }
    }
    let text = JsonTree::from_members(members).to_text(&JsonStyle { bom: false, ..style });
    let mut document = Document::parse_like(text.as_bytes(), &style).ok()?;
    correct(&mut document, count, newest.as_deref());
    Some(NormalizedDocument { bytes: document.into_bytes(), what: reshape.what })
}

impl Normalizer<'_> {
    fn note(&mut self, what: impl Into<String>) {
        self.what.push(what.into());
    }

    /// The value without repeated keys; the last one counts.
    fn without_repeated_keys(&mut self, named: &str, tree: JsonTree) -> JsonTree {
        let line = tree.to_line();
        if json::duplicate_keys(line.as_bytes(), 0).is_ok_and(|keys| keys.is_empty()) {
            return tree;
        }
        let value = tree.to_value().ok().and_then(|value| JsonTree::from_value(&value).ok());
        let Some(value) = value else { return tree };
        self.note(format!("{named} has a duplicate key; the last value is kept"));
        value
    }

    /// Normalizes a value by its table; problems are noted.
    fn normalize_value(
        &mut self,
        named: &str,
        tree: &JsonTree,
        table: &'static [FieldRule],
        default: &dyn Fn(&str) -> Option<JsonTree>,
    ) -> Option<JsonTree> {
        let found = find_type_errors(tree, table);
        if found.is_empty() {
            return Some(tree.clone());
        }
        let right = apply_defaults(tree, table, default);
        let done = if right.is_some() { "fixed" } else { "omitted" };
        self.note(format!("{named} {done}: {}", found.join(", ")));
        right
    }

    /// The members of the document, without the elements of its long lists.
    fn head(&mut self, root: &JsonTree) -> Vec<(String, JsonTree)> {
        let lists = ["messages", "tool_snapshots"];
        let mut members: Vec<(String, JsonTree)> = Vec::new();
        for (key, value) in root.children() {
            let empty = lists.contains(&key.as_str()) && value.kind() == ValueKind::Array;
            let value = if empty { list(&[]) } else { self.without_repeated_keys(&key, value) };
            if members.iter().any(|(other, _)| *other == key) {
                self.note(format!("duplicate key {key}; the last value is kept"));
                members.retain(|(other, _)| *other != key);
            }
            members.push((key, value));
        }
        let head = JsonTree::from_members(members);
        let (id, object) = (text(self.id), JsonTree::object());
        let default = |path: &str| match path {
            "version" => Some(text("1.0")),
            "type" => Some(text("chat-log")),
            "metadata" | "session" => Some(object.clone()),
            "metadata.id" => Some(id.clone()),
            "messages" => Some(list(&[])),
            _ => None,
        };
        let right = self.normalize_value("the document", &head, HEAD, &default);
        right.unwrap_or(head).children()
    }

    fn messages(&mut self, elements: Vec<JsonTree>, head: &[(String, JsonTree)]) -> Vec<JsonTree> {
        let member = |name: &str| head.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let started = member("session").and_then(|session| session.string_at(&["start_time"]));
        let mut before =
            started.filter(|start| time(start).is_some()).unwrap_or_else(|| self.now.to_string());
        let mut kept = Vec::new();
        for (tree, number) in elements.into_iter().zip(1_u64..) {
            let tree = self.without_repeated_keys(&format!("message {number}"), tree);
            if tree.kind() != ValueKind::Object {
                self.note(format!("message {number} omitted, because it is {}", tree.kind()));
                continue;
            }
            let tree = self.with_content(number, tree);
            if tree.string_at(&["content", "text"]).is_none() {
                self.note(format!("message {number} has no text"));
            }
            let (made, at) = (text(&format!("message-{number}")), text(&before));
            let default = |path: &str| match path {
                "id" => Some(made.clone()),
                "timestamp" => Some(at.clone()),
                "type" => Some(text(NARRATOR)),
                "content" => Some(JsonTree::object()),
                "content.text" => Some(text("")),
                _ => None,
            };
            let Some(tree) =
                self.normalize_value(&format!("message {number}"), &tree, MESSAGE, &default)
            else {
                continue;
            };
            before = tree.string_at(&["timestamp"]).unwrap_or(before);
            kept.extend(self.with_unique_id(number, tree));
        }
        kept
    }

    /// The message with a content that is an object: a content may be a plain text, a text may be in its place, and its
    /// key may be damaged.
    fn with_content(&mut self, number: u64, tree: JsonTree) -> JsonTree {
        let members = tree.children();
        let is_text = |value: &JsonTree| value.kind() == ValueKind::String;
        let is_lost = !members.iter().any(|(key, _)| key == "content");
        let replaced = members.iter().find(|(key, value)| match key.as_str() {
            "content" => is_text(value),
            "text" => is_lost && is_text(value),
            key => is_lost && !MEMBERS.contains(&key) && is_content(value),
        });
        let Some((replaced, value)) = replaced.cloned() else { return tree };
        self.note(format!("message {number}: {replaced:?} becomes its content"));
        let content = match is_text(&value) {
            true => JsonTree::from_members([("text".to_owned(), value)]),
            false => value,
        };
        JsonTree::from_members(members.into_iter().map(|(key, value)| match key == replaced {
            true => ("content".to_owned(), content.clone()),
            false => (key, value),
        }))
    }

    /// The message with a unique id; `None` if it is a copy of an earlier one.
    fn with_unique_id(&mut self, number: u64, tree: JsonTree) -> Option<JsonTree> {
        let id = tree.string_at(&["id"]).unwrap_or_default();
        let content = canonical_text(&tree);
        match self.messages.get(&id) {
            None => {
                self.messages.insert(id, content);
                return Some(tree);
            }
            Some(other) if *other == content => {
                self.note(format!("message {number} omitted, because {id} already exists"));
                return None;
            }
            Some(_) => {}
        }
        let mut copy = 2;
        let mut new = format!("{id}-{copy}");
        while self.messages.contains_key(&new) {
            copy += 1;
            new = format!("{id}-{copy}");
        }
        self.note(format!("message {number} gets the id {new}, because {id} already exists"));
        let members = tree.children().into_iter();
        let members = members.map(|(key, value)| match key.as_str() {
            "id" => (key, text(&new)),
            _ => (key, value),
        });
        self.messages.insert(new.clone(), content);
        Some(JsonTree::from_members(members))
    }

    fn snapshots(&mut self, elements: Vec<JsonTree>, references: ReferencePolicy) -> Vec<JsonTree> {
        let (mut kept, mut ids) = (Vec::new(), HashSet::new());
        for (tree, number) in elements.into_iter().zip(1_u64..) {
            let named = format!("tool snapshot {number}");
            let tree = self.without_repeated_keys(&named, tree);
            let Some(mut tree) = self.normalize_value(&named, &tree, SNAPSHOT, &|_| None) else {
                continue;
            };
            let lost = tree.string_at(&["message_id"]);
            let lost = lost.filter(|message| !self.messages.contains_key(message));
            if let Some(message) = lost.filter(|_| references == ReferencePolicy::Known) {
                self.note(format!("{named} belongs to no message, because {message} is lost"));
                let members = tree.children().into_iter();
                tree = JsonTree::from_members(members.filter(|(key, _)| key != "message_id"));
            }
            if let Some(id) = tree.string_at(&["id"])
                && !ids.insert(id.clone())
            {
                self.note(format!("{named} omitted, because {id} already exists"));
                continue;
            }
            kept.push(tree);
        }
        kept
    }

    /// Removes the marks of lost messages, and removes these from the context window.
    fn known_marks(&mut self, members: &mut [(String, JsonTree)]) {
        for (key, value) in members.iter_mut() {
            match key.as_str() {
                "bookmarks" | "narrative_markers" => {
                    let (marks, lost): (Vec<JsonTree>, Vec<JsonTree>) =
                        value.children().into_iter().map(|(_, mark)| mark).partition(|mark| {
                            let message = mark.string_at(&["message_id"]).unwrap_or_default();
                            self.messages.contains_key(&message)
                        });
                    for mark in &lost {
                        let name = mark.string_at(&["name"]).unwrap_or_default();
                        self.what.push(format!(
                            "the mark {name:?} omitted, because its message is lost"
                        ));
                    }
                    *value = list(&marks);
                }
                "context_window" => {
                    let kept = value.children().into_iter();
                    *value = JsonTree::from_members(kept.map(|(key, inner)| {
                        if key != "included_messages" {
                            return (key, inner);
                        }
                        let ids = inner.children().into_iter().map(|(_, id)| id);
                        let is_there = |id: &JsonTree| {
                            let id = id.string_at::<&str>(&[]).unwrap_or_default();
                            self.messages.contains_key(&id)
                        };
                        (key, list(&ids.filter(is_there).collect::<Vec<JsonTree>>()))
                    }));
                }
                _ => {}
            }
        }
    }
}
