//! Lines of the change log in both dialects: [`ChangeRecord`] is a line, [`DeltaGroup`] its changes.

mod fast_lines;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::dialect::Dialect;
use super::state::Scope;
use super::turn::millis;
use everturn_value::delta::{
    Delta, DeltaOp, DeltaPath, DeltaText, PathNotation, parse_path, present, render_path,
    shared_tree, write_fields,
};
use everturn_value::tree::{JsonTree, TextSlice, TreeNode, ValueKind};

pub(crate) use fast_lines::ChangeLine;

/// Changes that belong together: one line of the change log.
#[derive(Debug, Clone)]
pub struct DeltaGroup {
    /// The part of the state that they change.
    pub scope: Scope,
    /// The changes, in order.
    pub deltas: Vec<Delta>,
}

/// A line of the change log.
#[derive(Debug, Clone)]
pub struct ChangeRecord {
    /// The ID of the change.
    pub id: String,
    /// The turn it belongs to.
    pub turn: u64,
    /// The event that caused it.
    pub event: Option<String>,
    /// The time of the change in milliseconds.
    pub time: Option<i64>,
    /// The changes.
    pub group: DeltaGroup,
    /// Unknown fields of a change that is to be written.
    pub(crate) extra: Vec<(String, JsonTree)>,
}

/// All fields that a line may have in either dialect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeText<'t> {
    #[serde(borrow, default)]
    delta_id: Option<Cow<'t, str>>,
    turn_id: u64,
    #[serde(borrow, default)]
    event_id: Option<Cow<'t, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    timestamp: Option<&'t RawValue>,
    #[serde(borrow, default)]
    scope: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    deltas: Option<Vec<DeltaText<'t>>>,
    #[serde(borrow, default)]
    target: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    operation: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    path: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    previous_value: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    new_value: Option<&'t RawValue>,
    #[serde(default)]
    positions: Option<Vec<usize>>,
    #[serde(default)]
    position: Option<usize>,
    #[serde(default)]
    created_parents: usize,
}

impl ChangeRecord {
    /// Parses a line in either dialect.
    pub(crate) fn parse(slice: &TextSlice) -> Result<ChangeRecord, String> {
        let text: ChangeText<'_> =
            serde_json::from_str(slice.as_str()).map_err(|error| error.to_string())?;
        let group = match (&text.deltas, &text.operation) {
            (Some(deltas), _) => {
                let scope = text.scope.as_deref().unwrap_or_default();
                let scope =
                    Scope::parse(scope).ok_or_else(|| format!("unknown scope {scope:?}"))?;
                let deltas = deltas.iter().map(|delta| delta.to_delta(slice));
                DeltaGroup { scope, deltas: deltas.collect::<Result<_, _>>()? }
            }
            (None, Some(operation)) => text.flat(operation, slice)?,
            (None, None) => return Err("neither deltas nor an operation".to_owned()),
        };
        let time = match text.timestamp.map(RawValue::get) {
            None | Some("null") => None,
            Some(raw) => Some(millis(raw).ok_or_else(|| format!("{raw} is not a time"))?),
        };
        Ok(ChangeRecord {
            id: text.delta_id.unwrap_or_default().into_owned(),
            turn: text.turn_id,
            event: text.event_id.map(Cow::into_owned),
            time,
            group,
            extra: Vec::new(),
        })
    }

    /// Returns the dialect of a line, or `None` if it matches neither.
    pub(crate) fn dialect_of(line: &str) -> Option<Dialect> {
        let text: ChangeText<'_> = serde_json::from_str(line).ok()?;
        match (text.deltas, text.operation) {
            (Some(_), _) => Some(Dialect::Spec),
            (None, Some(_)) => Some(Dialect::Upstream),
            (None, None) => None,
        }
    }

    /// Writes the lines of this change, each with a newline.
    pub(crate) fn write(&self, form: Dialect, cause: &str, out: &mut String) {
        match form {
            Dialect::Spec => self.write_spec(out),
            Dialect::Upstream => self.write_upstream(cause, out),
        }
    }

    fn write_spec(&self, out: &mut String) {
        out.push_str("{\"deltaId\":");
        push_string(out, &self.id);
        out.push_str(&format!(",\"turnId\":{},\"eventId\":", self.turn));
        match &self.event {
            Some(event) => push_string(out, event),
            None => out.push_str("null"),
        }
        out.push_str(&format!(",\"timestamp\":{}", self.time.unwrap_or_default()));
        out.push_str(&format!(",\"scope\":\"{}\",\"deltas\":[", self.group.scope));
        for (at, delta) in self.group.deltas.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            delta.write_line(out);
        }
        out.push(']');
        write_fields(&self.extra, out);
        out.push_str("}\n");
    }

    /// Writes one line for each delta. `id` must end with a number, which is counted up.
    fn write_upstream(&self, cause: &str, out: &mut String) {
        let (stem, first) = self.id.rsplit_once('-').unwrap_or((&self.id, "1"));
        let first: usize = first.parse().unwrap_or(1);
        let (target, prefix) = flat_target(self.group.scope);
        let told = self.extra.iter().find(|(key, _)| key == "cause");
        let told = told.and_then(|(_, cause)| cause.string_at::<&str>(&[]));
        let cause = told.as_deref().unwrap_or(cause);
        for (sequence, delta) in (first..).zip(&self.group.deltas) {
            out.push_str("{\"deltaId\":");
            push_string(out, &format!("{stem}-{sequence}"));
            out.push_str(&format!(",\"turnId\":{},\"sequence\":{sequence}", self.turn));
            out.push_str(&format!(",\"timestamp\":{}", self.time.unwrap_or_default()));
            out.push_str(&format!(
                ",\"target\":\"{target}\",\"operation\":\"{}\"",
                flat_op(delta.op)
            ));
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
            if let Some(event) = &self.event {
                out.push_str(",\"eventId\":");
                push_string(out, event);
            }
            delta.write_inverse_data(out);
            if delta.op == DeltaOp::Pull && delta.positions.is_empty() {
                // Without it, a reader could not see that nothing was removed.
                out.push_str(",\"positions\":[]");
            }
            let fields = delta.extra.iter().chain(&self.extra);
            let others = fields.filter(|(key, _)| !FLAT_FIELDS.contains(&key.as_str()));
            write_fields(&others.cloned().collect::<Vec<_>>(), out);
            out.push_str("}\n");
        }
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

fn push_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl ChangeText<'_> {
    /// Reads a change in upstream form.
    fn flat(&self, operation: &str, slice: &TextSlice) -> Result<DeltaGroup, String> {
        let path = self.path.ok_or("a path is missing")?;
        let path = parse_path(path.get())?;
        let target = self.target.as_deref().unwrap_or_default();
        let (scope, prefix) = target_root(target)?;
        let path = DeltaPath::array(
            prefix.iter().map(|&key| Box::from(key)).chain(path.segments().iter().cloned()),
        );
        let new = self.new_value.map(|raw| shared_tree(slice, raw));
        let previous = self.previous_value.map(|raw| shared_tree(slice, raw));
        // Everturn records the positions of everything it removes; `null` is then a value like any other.
        let is_noted = self.positions.is_some();
        let value = || new.clone().ok_or_else(|| format!("{operation} without a new value"));
        let mut delta = match operation {
            // Increments are stored with their result; applying them again would count twice.
            "set" | "create" | "increment" | "decrement" => Delta::set(path, value()?),
            "append" => Delta::push(path, value()?),
            "remove" => {
                let value = new.clone().or_else(|| previous.clone());
                match value.filter(|value| is_noted || !value.is_null()) {
                    Some(value) => Delta::pull(path, value),
                    None => Delta::delete(path),
                }
            }
            "delete" => Delta::delete(path),
            other => return Err(format!("unknown operation {other:?}")),
        };
        let is_array = |tree: &JsonTree| tree.kind() == ValueKind::Array;
        delta.previous = match delta.op {
            DeltaOp::Push => previous.filter(|was| is_noted && is_array(was)),
            DeltaOp::Pull if self.positions.as_ref().is_some_and(Vec::is_empty) => {
                Some(JsonTree(TreeNode::Array(Vec::new())))
            }
            DeltaOp::Pull => previous.filter(|was| (is_noted || new.is_some()) && is_array(was)),
            DeltaOp::Set if operation == "create" || self.created_parents > 0 => {
                previous.filter(|was| !was.is_null())
            }
            _ => previous,
        };
        delta.positions = self.positions.clone().unwrap_or_default();
        delta.member = self.position;
        delta.created = self.created_parents;
        Ok(DeltaGroup { scope, deltas: vec![delta] })
    }
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
