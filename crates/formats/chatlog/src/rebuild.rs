//! Rebuilds a damaged document from its intact parts.

mod fragments;

use std::ops::Range;

use fragments::read_fragments;

use super::schema::MARKERS;
use super::survey::ListKind;
use everturn_json::json;
use everturn_session::repair::{find_objects, find_value_after, parse_tree, trim_whitespace};
use everturn_value::tree::{JsonTree, ValueKind};

/// A rebuilt document.
pub(crate) struct RebuiltDocument {
    pub(crate) bytes: Vec<u8>,
    /// The ranges outside of all found parts, except mere punctuation.
    pub(crate) left_out: Vec<Range<usize>>,
}

/// The kind of an intact object in a damaged document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentPart {
    /// A message.
    Message,
    /// The content of a damaged message.
    Content,
    /// An element of another list.
    Element(&'static str),
    /// A member of the document.
    Member(&'static str),
    /// A member of the `session` object, which is itself damaged.
    OfSession(&'static str),
}

/// The lists of a document, in order.
const LISTS: [&str; 4] = ["messages", "tool_snapshots", "bookmarks", "narrative_markers"];

/// The fields of a message's content.
const CONTENT: [&str; 4] = ["text", "formatted_text", "attachments", "actions"];

/// Tokens that join parts, or are the same in every document; losing them is no loss.
const JOINTS: [&str; 12] = [
    "\"version\"",
    "\"1.0\"",
    "\"type\"",
    "\"chat-log\"",
    "\"metadata\"",
    "\"session\"",
    "\"messages\"",
    "\"tool_snapshots\"",
    "\"bookmarks\"",
    "\"narrative_markers\"",
    "\"context_window\"",
    "\"export\"",
];

/// Whether leaving out these bytes loses data.
fn is_loss(part: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(part) else { return true };
    let rest = JOINTS.iter().fold(text.to_owned(), |text, joint| text.replace(joint, ""));
    !rest.chars().all(|c| c.is_ascii_whitespace() || ",:[]{}".contains(c))
}

/// The key before a value.
fn key_before(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let before = bytes.get(..start)?.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let before = before.strip_suffix(b"\"")?;
    let open = before.iter().rposition(|byte| *byte == b'"')?;
    before.get(open + 1..)
}

/// Whether a position is in the list of tools: no list has been closed since its key.
fn is_among_tools(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default();
    let word = b"\"support_tools\"";
    let found = before.windows(word.len()).rposition(|part| part == word);
    found.is_some_and(|at| !before.get(at..).unwrap_or_default().contains(&b']'))
}

/// Whether an object contains messages, because something before them was lost.
fn holds_messages(tree: &JsonTree) -> bool {
    tree.to_line().contains("\"content\"")
}

/// Whether two messages were merged into one.
fn is_merged(tree: &JsonTree) -> bool {
    let line = tree.to_line();
    let entries = json::entries(line.as_bytes(), 0).ok().flatten();
    let is_content = |entry: &json::ContainerEntry| {
        let key = entry.key.clone().and_then(|key| line.as_bytes().get(key));
        key.is_some_and(|key| json::key_matches(key, "content"))
    };
    entries.is_some_and(|entries| entries.list.iter().filter(|one| is_content(one)).count() > 1)
}

/// Whether a message contains other messages, because the text between them was lost.
fn swallows(message: &JsonTree) -> bool {
    let line = message.to_line();
    if line.matches("\"content\"").count() < 2 {
        return false;
    }
    if message.children().iter().any(|(_, part)| encloses_content(part)) {
        return true;
    }
    let is_message = |tree: &JsonTree| {
        tree.string_at(&["id"]).is_some() && tree.string_at(&["content", "text"]).is_some()
    };
    // The bytes after its own brace are inside.
    let (inner, _) =
        find_objects(line.as_bytes().get(1..).unwrap_or_default(), |_, tree| is_message(tree));
    !inner.is_empty()
}

/// The kind of an object, if it has one. In a damaged document, `content` may accept any content of a message.
fn part(
    bytes: &[u8],
    start: usize,
    tree: &JsonTree,
    in_head: bool,
    content: fn(Option<&[u8]>) -> bool,
) -> Option<DocumentPart> {
    let text = |key: &str| tree.string_at(&[key]);
    let is_object =
        |key: &str| tree.value_at(&[key]).is_some_and(|value| value.kind() == ValueKind::Object);
    if tree.string_at(&["content", "text"]).is_some() {
        // A history has contents with a time and nothing else.
        let is_message =
            ["id", "type", "sender"].iter().any(|key| tree.value_at(&[*key]).is_some());
        let is_whole = is_message && !is_merged(tree) && !swallows(tree);
        return is_whole.then_some(DocumentPart::Message);
    }
    if holds_messages(tree) {
        return None;
    }
    match key_before(bytes, start) {
        Some(b"metadata") if text("id").is_some() => return Some(DocumentPart::Member("metadata")),
        Some(b"session") if tree.value_at(&["id"]).is_none() => {
            let swallowed =
                |key: &&str| tree.value_at(&[*key]).is_some_and(|value| is_content(&value));
            let is_whole = !["protagonist", "settings"].iter().any(swallowed);
            return is_whole.then_some(DocumentPart::Member("session"));
        }
        Some(b"context_window") => return Some(DocumentPart::Member("context_window")),
        Some(b"export") => return Some(DocumentPart::Member("export")),
        Some(b"protagonist") if !is_content(tree) => {
            return Some(DocumentPart::OfSession("protagonist"));
        }
        Some(b"settings") if !is_content(tree) => return Some(DocumentPart::OfSession("settings")),
        _ => {}
    }
    if text("tool_id").is_some() && is_object("state") {
        return Some(DocumentPart::Element("tool_snapshots"));
    }
    if text("message_id").is_some() && text("name").is_some() {
        let is_marker = text("type").is_some_and(|kind| MARKERS.contains(&kind.as_str()));
        return Some(DocumentPart::Element(if is_marker {
            "narrative_markers"
        } else {
            "bookmarks"
        }));
    }
    if in_head && text("id").is_some() && is_among_tools(bytes, start) {
        return Some(DocumentPart::OfSession("support_tools"));
    }
    (is_content(tree) && content(key_before(bytes, start))).then_some(DocumentPart::Content)
}

/// Whether an object looks like the content of a message.
pub(crate) fn is_content(tree: &JsonTree) -> bool {
    let is_known = |(key, _): &(String, JsonTree)| CONTENT.contains(&key.as_str());
    tree.string_at(&["text"]).is_some() && tree.children().iter().all(is_known)
}

/// Whether a part of a message has the content of another one in it, because the text between them was lost.
fn encloses_content(part: &JsonTree) -> bool {
    part.value_at(&["content"]).is_some_and(|content| is_content(&content))
}

/// Whether a key is `content`, or a remnant of it.
fn may_be_content(key: Option<&[u8]>) -> bool {
    key.is_none_or(|key| key.starts_with(b"cont") || key.ends_with(b"tent"))
}

/// Whether a damaged key may have been `content`. The state of a tool may look like a content.
fn was_content(key: Option<&[u8]>) -> bool {
    key.is_none_or(|key| key != b"state")
}

/// The texts of all messages in a document, at any position.
pub(crate) fn texts(bytes: &[u8]) -> Vec<String> {
    let (spans, _) = find_objects(bytes, |span, tree| {
        let part = part(bytes, span.start, tree, false, may_be_content);
        matches!(part, Some(DocumentPart::Message | DocumentPart::Content))
    });
    let trees = spans.iter().filter_map(|span| parse_tree(bytes, span));
    let text =
        |tree: JsonTree| tree.string_at(&["content", "text"]).or_else(|| tree.string_at(&["text"]));
    trees.filter_map(text).collect()
}

/// Rebuilds a document from all intact parts of a damaged one. Values are not validated.
pub(crate) fn rebuild_document(bytes: &[u8]) -> RebuiltDocument {
    let mut parts: Vec<(DocumentPart, Range<usize>)> = Vec::new();
    find_objects(bytes, |span, tree| {
        let in_head = !parts.iter().any(|(part, _)| *part == DocumentPart::Message);
        let Some(part) = part(bytes, span.start, tree, in_head, was_content) else { return false };
        parts.push((part, span));
        true
    });
    // The content of a damaged message is read with the rest of the message.
    parts.retain(|(part, _)| *part != DocumentPart::Content);
    let mut messages: Vec<(usize, String)> = parts
        .iter()
        .filter(|(part, _)| *part == DocumentPart::Message)
        .map(|(_, span)| (span.start, text_of(bytes, span)))
        .collect();
    let mut used: Vec<Range<usize>> = parts.iter().map(|(_, span)| span.clone()).collect();
    for gap in gaps(&used, bytes.len()) {
        let found = read_fragments(bytes, gap);
        messages.extend(found.messages);
        used.extend(found.used);
    }
    messages.sort();
    used.sort_by_key(|span| span.start);
    let left_out = gaps(&used, bytes.len()).into_iter();
    let left_out = left_out.filter_map(|gap| trim_whitespace(bytes, gap));
    let is_lost = |gap: &Range<usize>| bytes.get(gap.clone()).is_some_and(is_loss);
    let left_out = left_out.filter(is_lost).collect();
    let messages = messages.into_iter().map(|(_, text)| text).collect();
    RebuiltDocument { bytes: document(bytes, &parts, messages), left_out }
}

/// The ranges between others, which are in order.
fn gaps(spans: &[Range<usize>], length: usize) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut done = 0;
    for (start, end) in spans.iter().map(|span| (span.start, span.end)).chain([(length, length)]) {
        if start > done {
            gaps.push(done..start);
        }
        done = done.max(end);
    }
    gaps
}

fn text_of(bytes: &[u8], span: &Range<usize>) -> String {
    String::from_utf8_lossy(bytes.get(span.clone()).unwrap_or_default()).into_owned()
}

/// The document that has these parts, and these messages.
fn document(
    bytes: &[u8],
    parts: &[(DocumentPart, Range<usize>)],
    messages: Vec<String>,
) -> Vec<u8> {
    let first = parts.iter().find(|(part, _)| *part == DocumentPart::Message);
    let head = bytes.get(..first.map_or(bytes.len(), |(_, span)| span.start)).unwrap_or_default();
    let scalar = |key: &str| {
        let value = find_value_after(head, key).filter(|value| value.kind() == ValueKind::String);
        value.map(|value| format!("\"{key}\": {}", value.to_line()))
    };
    let all = |wanted: DocumentPart| {
        parts.iter().filter(move |(part, _)| *part == wanted).map(|(_, span)| text_of(bytes, span))
    };
    let mut members = vec!["\"version\": \"1.0\"".to_owned(), "\"type\": \"chat-log\"".to_owned()];
    let metadata = all(DocumentPart::Member("metadata")).next().unwrap_or_else(|| {
        let known: Vec<String> = ["created", "modified", "series", "title"]
            .iter()
            .filter_map(|key| scalar(key))
            .collect();
        format!("{{{}}}", known.join(", "))
    });
    members.push(format!("\"metadata\": {metadata}"));
    let session = all(DocumentPart::Member("session")).next().unwrap_or_else(|| {
        let mut known: Vec<String> = ["start_time", "end_time", "lorebook_id"]
            .iter()
            .filter_map(|key| scalar(key))
            .collect();
        for key in ["protagonist", "settings"] {
            known.extend(
                all(DocumentPart::OfSession(key)).next().map(|text| format!("\"{key}\": {text}")),
            );
        }
        let tools: Vec<String> = all(DocumentPart::OfSession("support_tools")).collect();
        known.push(format!("\"support_tools\": [{}]", tools.join(", ")));
        format!("{{{}}}", known.join(", "))
    });
    members.push(format!("\"session\": {session}"));
    let mut messages = Some(messages);
    for list in LISTS {
        let elements: Vec<String> = match messages.take_if(|_| list == ListKind::Messages.key()) {
            Some(messages) => messages,
            None => all(DocumentPart::Element(list)).collect(),
        };
        members.push(match elements.is_empty() {
            true => format!("\"{list}\": []"),
            false => format!("\"{list}\": [\n    {}\n  ]", elements.join(",\n    ")),
        });
    }
    for key in ["context_window", "export"] {
        let found = all(DocumentPart::Member(key)).next();
        members.extend(found.map(|text| format!("\"{key}\": {text}")));
    }
    format!("{{\n  {}\n}}\n", members.join(",\n  ")).into_bytes()
}

/// The intact messages in damaged bytes.
#[cfg(test)]
fn messages(bytes: &[u8]) -> Vec<String> {
    let rescued = rebuild_document(bytes);
    let text = String::from_utf8(rescued.bytes).unwrap();
    let tree = JsonTree::parse(text).unwrap();
    let list = tree.value_at(&["messages"]).unwrap().children();
    let text = |tree: &JsonTree| tree.string_at(&["content", "text"]).or(tree.string_at(&["text"]));
    list.iter().filter_map(|(_, message)| text(message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(word: &str) -> String {
        format!("{{\"id\":\"{word}\",\"content\":{{\"text\":\"{word}\"}}}}")
    }

    #[test]
    fn whole_messages_are_found_in_any_damage() {
        let (a, b) = (message("a"), message("b"));
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(messages(text.as_bytes()), expect, "{text:?}");
        };
        check("", &[]);
        check("\0\0\0\0", &[]);
        check(&format!("{{\"messages\":[{a},{b}"), &["a", "b"]);
        check(&format!("{{\"messages\":[{a},{{\"id\":\"x\",\"con{b}]}}"), &["a", "b"]);
        check(&format!("{}{b}", &a[..a.len() - 1]), &["a", "b"]);
        check(&format!("{}\0\0{b}", &a[..8]), &["b"]);
    }

    #[test]
    fn the_parts_of_the_envelope_are_found_by_their_keys() {
        let text = r#"{"metadata":{"id":"t","title":"T"},"session":{"start_time":"s","settings":{"model":"m"},
            "support_tools":[{"id":"hp"}],"messages":[{"id":"1","content":{"text":"x"}}],
            "bookmarks":[{"id":"b","name":"n","message_id":"1"}],"tool_snapshots":[{"tool_id":"hp","state":{}}"#;
        let rescued = rebuild_document(text.as_bytes());
        let tree = JsonTree::parse(String::from_utf8(rescued.bytes).unwrap()).unwrap();
        let check = |path: &[&str], expect: &str| {
            assert_eq!(tree.text_at(path).as_deref(), Some(expect), "{path:?}");
        };
        check(&["metadata", "title"], "\"T\"");
        check(&["session", "start_time"], "\"s\"");
        check(&["session", "settings", "model"], "\"m\"");
        check(&["session", "support_tools", "0", "id"], "\"hp\"");
        check(&["bookmarks", "0", "id"], "\"b\"");
        check(&["tool_snapshots", "0", "tool_id"], "\"hp\"");
    }
}
