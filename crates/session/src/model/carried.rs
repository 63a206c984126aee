//! What a record carries of an entry for which its layout has no field.
//!
//! A session that was made of one of another layout has, in each of its records, a member `everturn`. It says which
//! entries the record stands for and what of them the record itself cannot say, so that they read as they did before.

use crate::model::{Entry, EntryKind};
use everturn_value::tree::{JsonTree, TreeNode};

/// The member of a record that carries entries.
pub const MEMBER: &str = "everturn";

/// The entries that a record carries, in their order; none, if it tells them itself.
pub fn carried_entries(record: &JsonTree) -> Vec<JsonTree> {
    // Almost no record has the member, and looking for its name is cheaper than taking the record apart.
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

/// A record that carries one entry and nothing else.
pub fn carrier_record(entry: &JsonTree) -> JsonTree {
    let text = format!("{{\"{MEMBER}\":{{\"entries\":[{}]}}}}", entry.to_line());
    let end = text.len();
    JsonTree::from_trusted(text.into(), 0..end)
}

/// An entry as its record tells it, with what is carried of it in place of that.
pub fn restore_entry(told: Entry, carried: &JsonTree) -> Entry {
    let carried = carried.clone().into_expanded();
    let text = |key: &str| carried.string_at(&[key]);
    let time = match carried.value_at(&["time"]) {
        None => told.time,
        Some(time) => time.string_at::<&str>(&[]).and_then(|time| time.parse().ok()),
    };
    Entry {
        id: text("id").unwrap_or(told.id),
        speaker: text("speaker").unwrap_or(told.speaker),
        kind: text("kind").map_or(told.kind, |kind| EntryKind::parse(&kind)),
        text: text("text").unwrap_or(told.text),
        time,
        ..told
    }
}

/// The one entry of a record that carries one; otherwise what the record tells.
pub fn restore_single_entry(told: Entry) -> Entry {
    match carried_entries(&told.raw).first() {
        Some(carried) => restore_entry(told, carried),
        None => told,
    }
}
