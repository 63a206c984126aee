//! Carried entries: the parts of an entry for which the format of its record has no field.
//!
//! In a session that was converted from another format, each record has a member `everturn`. It contains the entries
//! that the record represents, with everything that the record itself cannot express, so that they read as before.

use crate::model::{Entry, EntryKind};
use everturn_value::tree::{JsonTree, TreeNode};

/// The member of a record that carries entries.
pub const MEMBER: &str = "everturn";

/// The entries that a record carries, in order; empty if it represents its entry itself.
pub fn carried_entries(record: &JsonTree) -> Vec<JsonTree> {
    // Almost no record has the member, and searching for its name is cheaper than parsing the record.
    if let TreeNode::Text(text) = &record.0
        && !text.as_str().contains(MEMBER)
    {
        return Vec::new();
    }
    let entries = record.value_at(&[MEMBER, "entries"]);
    entries
        .map(|list| list.children())
        .unwrap_or_default()
        .into_iter()
        .map(|(_, one)| one)
        .collect()
}

/// A record that only carries one entry.
pub fn carrier_record(entry: &JsonTree) -> JsonTree {
    let text = format!("{{\"{MEMBER}\":{{\"entries\":[{}]}}}}", entry.to_line());
    let end = text.len();
    JsonTree::from_trusted(text.into(), 0..end)
}

/// Overrides the fields of an entry, as decoded from its record, with the carried ones.
pub fn restore_entry(decoded: Entry, carried: &JsonTree) -> Entry {
    let carried = carried.clone().into_expanded();
    let text = |key: &str| carried.string_at(&[key]);
    let time = match carried.value_at(&["time"]) {
        None => decoded.time,
        Some(time) => time.string_at::<&str>(&[]).and_then(|time| time.parse().ok()),
    };
    Entry {
        id: text("id").unwrap_or(decoded.id),
        speaker: text("speaker").unwrap_or(decoded.speaker),
        kind: text("kind").map_or(decoded.kind, |kind| EntryKind::parse(&kind)),
        text: text("text").unwrap_or(decoded.text),
        time,
        ..decoded
    }
}

/// Restores an entry whose record carries one; otherwise returns it unchanged.
pub fn restore_single_entry(decoded: Entry) -> Entry {
    match carried_entries(&decoded.raw).first() {
        Some(carried) => restore_entry(decoded, carried),
        None => decoded,
    }
}
