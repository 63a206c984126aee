//! Bookmarks and markers.

use jiff::Timestamp;

use super::ledger::ImportLedger;
use super::rows::TableRow;
use super::value::{list, object, text};
use everturn_value::tree::JsonTree;

/// The kinds of markers.
const MARKERS: &[&str] = &["chapter", "scene", "event", "decision"];

/// The common part of bookmarks and markers.
struct MarkRow {
    id: String,
    name: String,
    description: Option<String>,
    message: String,
    time: Timestamp,
}

impl MarkRow {
    fn of(row: &mut TableRow, prefix: &str, start: Timestamp) -> MarkRow {
        let id = row.id(prefix);
        let name = row.needed("name", &id);
        let description = row.text("description");
        let message = row.needed("message_id", "");
        let time = row.time("timestamp", start);
        row.cells_of_session();
        MarkRow { id, name, description, message, time }
    }

    fn members(&self, kind: Option<&str>) -> Vec<(&'static str, JsonTree)> {
        let time = self.time.to_string();
        let members = [
            ("id", Some(self.id.as_str())),
            ("type", kind),
            ("name", Some(self.name.as_str())),
            ("description", self.description.as_deref()),
            ("message_id", Some(self.message.as_str())),
            ("timestamp", Some(time.as_str())),
        ];
        members.into_iter().filter_map(|(key, value)| Some((key, text(value?)))).collect()
    }
}

/// Converts a bookmark; `states` returns the tool states of a bookmark.
pub(super) fn bookmark(
    mut row: TableRow,
    start: Timestamp,
    states: impl FnOnce(&str) -> Vec<String>,
    ledger: &mut ImportLedger,
) -> JsonTree {
    let mark = MarkRow::of(&mut row, "bm", start);
    let states = states(&mark.id).iter().map(|id| text(id)).collect();
    let mut members = mark.members(None);
    members.push(("tool_snapshot_ids", list(states)));
    members.extend(row.placed(ledger));
    object(members)
}

pub(super) fn marker(mut row: TableRow, start: Timestamp, ledger: &mut ImportLedger) -> JsonTree {
    let kind = row.needed("type", "event");
    if !MARKERS.contains(&kind.as_str()) {
        ledger.note(row.table(), Some(row.number), format!("unknown type {kind:?}"));
    }
    let mark = MarkRow::of(&mut row, "nm", start);
    let mut members = mark.members(Some(&kind));
    members.extend(row.placed(ledger));
    object(members)
}
