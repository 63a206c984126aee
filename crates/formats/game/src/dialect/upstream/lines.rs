//! Lines of the upstream dialect: each line of the change log is one change with a `target` and an `operation`.

#[cfg(test)]
mod tests;

use crate::changes::{ChangeRecord, ChangeText, DeltaGroup};
use crate::dialect::line_builder::{LineBuilder, push_string};
use crate::state::Scope;
use crate::turn::{TurnInput, TurnLineParts};
use everturn_value::delta::{
    Delta, DeltaOp, DeltaPath, PathNotation, parse_path, render_path, shared_tree, write_fields,
};
use everturn_value::tree::{JsonTree, TextSlice, TreeNode, ValueKind};

/// Returns the line of a turn, with its newline.
pub(super) fn turn_line(parts: &TurnLineParts<'_>, input: &TurnInput) -> String {
    let mut line = LineBuilder::new();
    line.field("turnId", &parts.turn.to_string());
    line.field("turnNumber", &parts.turn.to_string());
    line.string("actor", &input.actor);
    line.optional_string("sceneId", parts.scene);
    line.field("timestamp", &parts.time.to_string());
    line.optional_tree("gameTime", parts.game_time);
    if !input.actions.is_empty() {
        line.list("actions", &input.actions);
    }
    let events: Vec<JsonTree> = (1..)
        .zip(input.events.iter().zip(parts.events))
        .map(|(sequence, (event, id))| identified(event, id, sequence, parts, input))
        .collect();
    line.list("events", &events);
    if !input.state_changes.is_empty() {
        line.list("stateChanges", &input.state_changes);
    }
    for (key, value) in input.extra.iter().filter(|(key, _)| key != "turnNumber") {
        line.field(key, &value.to_line());
    }
    line.into_line()
}

/// Returns an event with its ID, turn and position first, and with an actor and a time.
fn identified(
    event: &JsonTree,
    id: &str,
    sequence: u64,
    parts: &TurnLineParts<'_>,
    input: &TurnInput,
) -> JsonTree {
    let mut line = LineBuilder::new();
    line.string("eventId", id);
    line.field("turnId", &parts.turn.to_string());
    line.field("sequence", &sequence.to_string());
    let is_own = |key: &str| matches!(key, "eventId" | "turnId" | "sequence");
    let fields: Vec<(String, JsonTree)> =
        event.children().into_iter().filter(|(key, _)| !is_own(key)).collect();
    for (key, value) in &fields {
        line.field(key, &value.to_line());
    }
    let has = |key: &str| fields.iter().any(|(field, _)| field == key);
    if !has("actor") {
        line.string("actor", &input.actor);
    }
    if !has("timestamp") {
        line.field("timestamp", &parts.time.to_string());
    }
    line.into_tree()
}

/// Writes one line for each delta. The ID must end with a number, which is counted up.
pub(super) fn write_change(change: &ChangeRecord, cause: &str, out: &mut String) {
    let (stem, first) = change.id.rsplit_once('-').unwrap_or((&change.id, "1"));
    let first: usize = first.parse().unwrap_or(1);
    let (target, prefix) = flat_target(change.group.scope);
    let told = change.extra.iter().find(|(key, _)| key == "cause");
    let told = told.and_then(|(_, cause)| cause.string_at::<&str>(&[]));
    let cause = told.as_deref().unwrap_or(cause);
    for (sequence, delta) in (first..).zip(&change.group.deltas) {
        out.push_str("{\"deltaId\":");
        push_string(out, &format!("{stem}-{sequence}"));
        out.push_str(&format!(",\"turnId\":{},\"sequence\":{sequence}", change.turn));
        out.push_str(&format!(",\"timestamp\":{}", change.time.unwrap_or_default()));
        out.push_str(&format!(",\"target\":\"{target}\",\"operation\":\"{}\"", flat_op(delta.op)));
        let segments = delta.path.segments().iter().skip(prefix).cloned();
        let path = DeltaPath::array(segments).with_notation(PathNotation::Array);
        out.push_str(&format!(",\"path\":{}", render_path(&path)));
        let (previous, new) = flat_values(delta);
        if let Some(previous) = previous {
            out.push_str(&format!(",\"previousValue\":{previous}"));
        }
        if let Some(new) = new {
            out.push_str(&format!(",\"newValue\":{new}"));
        }
        out.push_str(",\"cause\":");
        push_string(out, cause);
        if let Some(event) = &change.event {
            out.push_str(",\"eventId\":");
            push_string(out, event);
        }
        delta.write_inverse_data(out);
        if delta.op == DeltaOp::Pull && delta.positions.is_empty() {
            // Without it, a reader could not see that nothing was removed.
            out.push_str(",\"positions\":[]");
        }
        let fields = delta.extra.iter().chain(&change.extra);
        let others = fields.filter(|(key, _)| !FLAT_FIELDS.contains(&key.as_str()));
        write_fields(&others.cloned().collect::<Vec<_>>(), out);
        out.push_str("}\n");
    }
}

/// The fields of an upstream line; extra fields must not have these names.
const FLAT_FIELDS: [&str; 13] = [
    "deltaId",
    "turnId",
    "sequence",
    "timestamp",
    "target",
    "operation",
    "path",
    "previousValue",
    "newValue",
    "cause",
    "eventId",
    "scope",
    "deltas",
];

/// Returns the upstream name of a scope, and how many leading path segments it leaves out.
fn flat_target(scope: Scope) -> (&'static str, usize) {
    match scope {
        Scope::World => ("world", 0),
        Scope::Player => ("player", 0),
        Scope::Scene => ("scene", 0),
        Scope::Npcs => ("npc", 0),
    }
}

fn flat_op(op: DeltaOp) -> &'static str {
    match op {
        DeltaOp::Set => "set",
        DeltaOp::Delete => "delete",
        DeltaOp::Push => "append",
        DeltaOp::Pull => "remove",
        DeltaOp::Increment => "increment",
    }
}

/// Returns the previous and the new value in upstream form: for an increment the total; no value where none was set.
fn flat_values(delta: &Delta) -> (Option<String>, Option<String>) {
    let none = || (delta.op != DeltaOp::Set).then(|| "null".to_owned());
    let previous = delta.previous.as_ref().map(JsonTree::to_line).or_else(none);
    let new = match delta.op {
        DeltaOp::Increment => delta.total(),
        _ => delta.value.as_ref().map(JsonTree::to_line),
    };
    (previous, new)
}

/// Reads the change of a line.
pub(super) fn read_change(text: &ChangeText<'_>, slice: &TextSlice) -> Result<DeltaGroup, String> {
    let operation = text.operation.as_deref().unwrap_or_default();
    let path = text.path.ok_or("a path is missing")?;
    let path = parse_path(path.get())?;
    let target = text.target.as_deref().unwrap_or_default();
    let (scope, prefix) = target_root(target)?;
    let path = DeltaPath::array(
        prefix.iter().map(|&key| Box::from(key)).chain(path.segments().iter().cloned()),
    );
    let new = text.new_value.map(|raw| shared_tree(slice, raw));
    let previous = text.previous_value.map(|raw| shared_tree(slice, raw));
    // Everturn records the positions of everything it removes; `null` is then a value like any other.
    let is_noted = text.positions.is_some();
    let value = || new.clone().ok_or_else(|| format!("{operation} without a new value"));
    let mut delta = match operation {
        // Increments are stored with their result; applying them again would count twice.
        "set" | "create" | "increment" | "decrement" => Delta::set(path, value()?),
        "append" => Delta::push(path, value()?),
        "remove" => {
            let value = new.clone().or_else(|| previous.clone());
            match value.filter(|value| is_noted || !value.is_null()) {
                Some(value) => Delta { first_only: !is_noted, ..Delta::pull(path, value) },
                None => Delta::delete(path),
            }
        }
        "delete" => Delta::delete(path),
        other => return Err(format!("unknown operation {other:?}")),
    };
    let is_array = |tree: &JsonTree| tree.kind() == ValueKind::Array;
    delta.previous = match delta.op {
        DeltaOp::Push => previous.filter(|was| is_noted && is_array(was)),
        DeltaOp::Pull if text.positions.as_ref().is_some_and(Vec::is_empty) => {
            Some(JsonTree(TreeNode::Array(Vec::new())))
        }
        DeltaOp::Pull => previous.filter(|was| (is_noted || new.is_some()) && is_array(was)),
        DeltaOp::Set if operation == "create" || text.created_parents > 0 => {
            previous.filter(|was| !was.is_null())
        }
        _ => previous,
    };
    delta.positions = text.positions.clone().unwrap_or_default();
    delta.member = text.position;
    delta.created = text.created_parents;
    Ok(DeltaGroup { scope, deltas: vec![delta] })
}

/// Returns the scope of a target, and the prefix of its paths.
fn target_root(target: &str) -> Result<(Scope, &'static [&'static str]), String> {
    Ok(match target {
        "world" => (Scope::World, &[]),
        "player" => (Scope::Player, &[]),
        "npc" | "npcs" | "relationship" => (Scope::Npcs, &[]),
        "scene" => (Scope::World, &["currentScene"]),
        "location" => (Scope::World, &["locations"]),
        "quest" => (Scope::World, &["quests"]),
        "time" => (Scope::World, &["gameTime"]),
        "inventory" => (Scope::Player, &["inventory"]),
        other => return Err(format!("unknown target {other:?}")),
    })
}
