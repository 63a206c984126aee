//! States of tools: one snapshot each, in the form of the document, with the program's form beside it.

use std::collections::HashMap;

use jiff::Timestamp;

use super::ledger::ImportLedger;
use super::rows::TableRow;
use super::value::{list, object, text};
use everturn_value::tree::{JsonTree, ValueKind};

/// A snapshot with its time.
pub(super) struct ImportedSnapshot {
    pub(super) id: String,
    pub(super) time: Timestamp,
    pub(super) message: Option<String>,
    pub(super) snapshot: JsonTree,
}

/// The snapshots of a session, by time, and within a second in the order in which they were written.
pub(super) fn in_order(
    rows: Vec<TableRow>,
    start: Timestamp,
    ledger: &mut ImportLedger,
) -> Vec<ImportedSnapshot> {
    let mut last = start;
    let mut before: HashMap<String, JsonTree> = HashMap::new();
    let mut snapshots = Vec::with_capacity(rows.len());
    for row in rows {
        let snapshot = snapshot(row, last, &mut before, ledger);
        last = snapshot.time;
        snapshots.push(snapshot);
    }
    snapshots.sort_by_key(|snapshot| snapshot.time.as_second());
    snapshots
}

fn snapshot(
    mut row: TableRow,
    last: Timestamp,
    before: &mut HashMap<String, JsonTree>,
    ledger: &mut ImportLedger,
) -> ImportedSnapshot {
    let id = row.id("state");
    let time = row.time("timestamp", last);
    let tool = row.needed("tool_id", "");
    let message = row.text("message_id");
    if message.is_none() {
        let what = format!("the message of tool state {id} was deleted");
        ledger.note(row.table(), Some(row.number), what);
    }
    let previous = before.get(&tool).cloned();
    let (documented, values) = match row.json_object("state") {
        Some(state) => documented_state(&mut row, state, previous.as_ref()),
        None => {
            let values = previous.clone().unwrap_or_else(JsonTree::object);
            (components(&values), values)
        }
    };
    let changes = row.json("changes");
    before.insert(tool.clone(), values.clone());
    let changes = documented_changes(&mut row, changes, previous.as_ref(), &values);
    row.cells_of_session();
    let mut members = vec![("id", text(&id)), ("timestamp", text(&time.to_string()))];
    members.extend(message.as_deref().map(|message| ("message_id", text(message))));
    members.extend([("tool_id", text(&tool)), ("state", documented), ("changes", changes)]);
    members.extend(row.placed(ledger));
    ImportedSnapshot { id, time, message, snapshot: object(members) }
}

/// The state in the form of the document, and its values by component. The program also saves partial states: what one
/// does not name stays as it was.
fn documented_state(
    row: &mut TableRow,
    state: JsonTree,
    before: Option<&JsonTree>,
) -> (JsonTree, JsonTree) {
    let listed = state.value_at(&["components"]).filter(|list| list.kind() == ValueKind::Array);
    let named = match &listed {
        Some(listed) => object(listed.children().into_iter().filter_map(|(_, component)| {
            Some((component.string_at(&["id"])?, component.value_at(&["current_value"])?))
        })),
        None => state.clone(),
    };
    let before = before.map(JsonTree::children).unwrap_or_default();
    let is_partial = before.iter().any(|(id, _)| named.value_at(&[id]).is_none());
    if listed.is_some() && !is_partial {
        return (state, named);
    }
    row.keep("state", state);
    let mut values: Vec<(String, JsonTree)> = before
        .into_iter()
        .map(|(id, value)| (id.clone(), named.value_at(&[&id]).unwrap_or(value)))
        .collect();
    let new = named.children().into_iter();
    let new: Vec<_> = new.filter(|(id, _)| !values.iter().any(|(known, _)| known == id)).collect();
    values.extend(new);
    let values = object(values);
    (components(&values), values)
}

/// Values by component, in the form of the document.
fn components(values: &JsonTree) -> JsonTree {
    let components = values
        .children()
        .into_iter()
        .map(|(id, value)| object([("id", text(&id)), ("current_value", value)]));
    object([("components", list(components.collect()))])
}

/// The changes in the form of the document: a list, each with the value before and after, and its cause.
fn documented_changes(
    row: &mut TableRow,
    changes: Option<JsonTree>,
    before: Option<&JsonTree>,
    after: &JsonTree,
) -> JsonTree {
    let Some(changes) = changes.filter(|changes| changes.kind() != ValueKind::Null) else {
        return list(Vec::new());
    };
    match changes.kind() {
        ValueKind::Array => return changes,
        ValueKind::Object => {}
        kind => {
            row.repaired(format!("changes is {kind}, not an object"));
            row.keep("changes", changes);
            return list(Vec::new());
        }
    }
    let documented = changes.children().into_iter().map(|(id, change)| {
        let value = |tree: Option<&JsonTree>| tree.and_then(|tree| tree.value_at(&[&id]));
        let previous = change.value_at(&["from"]).or_else(|| value(before));
        let new = change
            .value_at(&["to"])
            .or_else(|| value(Some(after)))
            .or_else(|| change.value_at(&["value"]));
        let members = [
            ("component_id", Some(text(&id))),
            ("previous_value", previous),
            ("new_value", new),
            ("cause", change.value_at(&["reason"])),
        ];
        object(members.into_iter().filter_map(|(key, value)| Some((key, value?))))
    });
    let documented = list(documented.collect());
    row.keep("changes", changes);
    documented
}
