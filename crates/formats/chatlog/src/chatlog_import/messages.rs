//! Messages: content in one of three forms, histories, and their order.

use jiff::Timestamp;

use super::ledger::ImportLedger;
use super::rows::TableRow;
use super::value::{flag, list, object, text, with};
use everturn_value::outline::text_of;
use everturn_value::tree::{JsonTree, ValueKind};

/// The kinds of messages.
const TYPES: &[&str] = &["system", "narrator", "protagonist", "npc", "ooc"];

/// A message with its time.
pub(super) struct ImportedMessage {
    pub(super) id: String,
    pub(super) time: Timestamp,
    pub(super) message: JsonTree,
}

/// The messages of a session in order: by time, and within a second, which is the program's precision, in the order in
/// which they were written, which is the order of `rows`.
pub(super) fn in_order(
    rows: Vec<TableRow>,
    start: Timestamp,
    ledger: &mut ImportLedger,
) -> Vec<ImportedMessage> {
    let mut last = start;
    let mut said = Vec::with_capacity(rows.len());
    let mut backwards = 0_u64;
    for row in rows {
        let message = message(row, last, ledger);
        backwards += u64::from(message.time.as_second() < last.as_second() && !said.is_empty());
        last = message.time;
        said.push(message);
    }
    if backwards > 0 {
        let what = format!("the clock went back {backwards} times; messages are sorted by time");
        ledger.note("chat_messages", None, what);
    }
    said.sort_by_key(|said| said.time.as_second());
    said
}

fn message(mut row: TableRow, before: Timestamp, ledger: &mut ImportLedger) -> ImportedMessage {
    let id = row.id("msg");
    let time = row.time("timestamp", before);
    let kind = row.needed("type", "system");
    if !TYPES.contains(&kind.as_str()) {
        ledger.note(row.table(), Some(row.number), format!("unknown type {kind:?}"));
    }
    let mut sender = Vec::new();
    if let Some(sender_id) = row.text("sender_id") {
        sender.push(("id", text(&sender_id)));
    }
    sender.push(("name", text(&row.text("sender_name").unwrap_or_default())));
    let words = row.needed("content", "");
    let formatted = row.text("formatted_content");
    if is_lost(&words) {
        let what = "the text was lost at the source: the program saved [object Object] instead";
        ledger.note(row.table(), Some(row.number), format!("message {id}: {what}"));
        ledger.lost(id.clone());
    }
    let content = content(&words, formatted.as_deref());
    let metadata = metadata(&mut row, ledger);
    row.cells_of_session();
    let mut members = vec![
        ("id", text(&id)),
        ("timestamp", text(&time.to_string())),
        ("type", text(&kind)),
        ("sender", object(sender)),
        ("content", content),
        ("metadata", metadata),
    ];
    members.extend(row.placed(ledger));
    ImportedMessage { id, time, message: object(members) }
}

/// Whether the program stored an object where a text belongs.
fn is_lost(words: &str) -> bool {
    let parts = words.trim().split(',');
    !words.trim().is_empty() && parts.into_iter().all(|part| part.trim() == "[object Object]")
}

/// The content in the form of the document. The program saved texts, and for narrators also objects with a text.
fn content(words: &str, formatted: Option<&str>) -> JsonTree {
    let held = words.trim_start().starts_with('{').then(|| JsonTree::parse(words).ok()).flatten();
    let held = held
        .filter(|held| held.value_at(&["text"]).is_some_and(|it| it.kind() == ValueKind::String));
    let content = held.unwrap_or_else(|| object([("text", text(words))]));
    match formatted {
        Some(formatted) => with(&content, [("formatted_text", text(formatted))]),
        None => content,
    }
}

fn metadata(row: &mut TableRow, ledger: &mut ImportLedger) -> JsonTree {
    let own = row.json_object("metadata").unwrap_or_else(JsonTree::object);
    let edited = row.flag("is_edited");
    let edits = history(row, "edit_history", ledger);
    let regenerated = row.flag("is_regenerated");
    let tellings = history(row, "regeneration_history", ledger);
    let members = [
        ("is_edited", flag(edited)),
        ("edit_history", edits),
        ("is_regenerated", flag(regenerated)),
        ("regeneration_history", tellings),
    ];
    let taken = members.iter().filter_map(|(key, _)| Some((*key, own.value_at(&[key])?)));
    let taken: Vec<(&str, JsonTree)> = taken.collect();
    if !taken.is_empty() {
        row.keep("metadata", object(taken));
    }
    with(&own, members)
}

/// A history of contents in the form of the document, each with its time.
fn history(row: &mut TableRow, column: &str, ledger: &mut ImportLedger) -> JsonTree {
    let Some(tree) = row.json(column) else { return list(Vec::new()) };
    if tree.kind() != ValueKind::Array {
        if tree.kind() != ValueKind::Null {
            row.repaired(format!("{column} is {}, not an array", tree.kind()));
            row.keep(column, tree);
        }
        return list(Vec::new());
    }
    let entries = tree.children().into_iter().map(|(_, entry)| {
        let words = entry.value_at(&["content"]).as_ref().and_then(text_of);
        let Some(words) = words.or_else(|| text_of(&entry)) else { return entry };
        if is_lost(&words) {
            let what = format!("{column} contains a text that was lost at the source");
            ledger.note(row.table(), Some(row.number), what);
        }
        let formatted = entry.value_at(&["formatted_content"]).as_ref().and_then(text_of);
        let time = entry.value_at(&["timestamp"]).map(|time| ("timestamp".to_owned(), time));
        let known = ["content", "formatted_content", "timestamp"];
        let content = ("content".to_owned(), content(&words, formatted.as_deref()));
        let rest = entry.children().into_iter().filter(|(key, _)| !known.contains(&key.as_str()));
        object(time.into_iter().chain([content]).chain(rest))
    });
    list(entries.collect())
}

impl TableRow {
    /// Drops the column with the session id, which the position in a document implies.
    pub(super) fn cells_of_session(&mut self) {
        drop(self.text("session_id"));
    }
}
