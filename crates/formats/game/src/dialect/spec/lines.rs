//! Lines of the documented dialect: a line of the change log has a scope and a list of changes.

use crate::changes::{ChangeRecord, ChangeText, DeltaGroup};
use crate::dialect::line_builder::{LineBuilder, push_string};
use crate::state::Scope;
use crate::turn::{TurnInput, TurnLineParts};
use everturn_value::delta::write_fields;
use everturn_value::tree::{JsonTree, TextSlice};

/// Returns the line of a turn, with its newline.
pub(super) fn turn_line(parts: &TurnLineParts<'_>, input: &TurnInput) -> String {
    let mut line = LineBuilder::new();
    line.field("turnId", &parts.turn.to_string());
    line.optional_string("sceneId", parts.scene);
    line.string("actor", &input.actor);
    line.field("timestamp", &parts.time.to_string());
    line.optional_tree("gameTime", parts.game_time);
    line.list("actions", &input.actions);
    let events: Vec<JsonTree> =
        input.events.iter().zip(parts.events).map(|(event, id)| identified(event, id)).collect();
    line.list("events", &events);
    line.list("stateChanges", &input.state_changes);
    for (key, value) in &input.extra {
        line.field(key, &value.to_line());
    }
    line.into_line()
}

/// Returns an event with its ID first.
fn identified(event: &JsonTree, id: &str) -> JsonTree {
    let mut line = LineBuilder::new();
    line.string("eventId", id);
    for (key, value) in event.children().into_iter().filter(|(key, _)| key != "eventId") {
        line.field(&key, &value.to_line());
    }
    line.into_tree()
}

/// Writes one line for all changes of the group.
pub(super) fn write_change(change: &ChangeRecord, out: &mut String) {
    out.push_str("{\"deltaId\":");
    push_string(out, &change.id);
    out.push_str(&format!(",\"turnId\":{},\"eventId\":", change.turn));
    match &change.event {
        Some(event) => push_string(out, event),
        None => out.push_str("null"),
    }
    out.push_str(&format!(",\"timestamp\":{}", change.time.unwrap_or_default()));
    out.push_str(&format!(",\"scope\":\"{}\",\"deltas\":[", change.group.scope));
    for (at, delta) in change.group.deltas.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        delta.write_line(out);
    }
    out.push(']');
    write_fields(&change.extra, out);
    out.push_str("}\n");
}

/// Reads the changes of a line.
pub(super) fn read_change(text: &ChangeText<'_>, slice: &TextSlice) -> Result<DeltaGroup, String> {
    let scope = text.scope.as_deref().unwrap_or_default();
    let scope = Scope::parse(scope).ok_or_else(|| format!("unknown scope {scope:?}"))?;
    let deltas = text.deltas.iter().flatten().map(|delta| delta.to_delta(slice));
    Ok(DeltaGroup { scope, deltas: deltas.collect::<Result<_, _>>()? })
}
