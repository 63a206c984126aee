//! Converts the changes in legacy frames, in the known forms.

use std::collections::HashMap;

use super::DIALECT;
use crate::changes::{ChangeRecord, DeltaGroup};
use crate::state::Scope;
use everturn_json::names::SessionId;
use everturn_value::delta::{Delta, DeltaPath, PathNotation};
use everturn_value::tree::{JsonTree, TextSlice};

/// Returns a group of changes as a JSON value.
pub(super) fn tree_of(group: &DeltaGroup) -> JsonTree {
    let deltas: Vec<String> = group.deltas.iter().map(Delta::to_line).collect();
    let text = format!("{{\"scope\":\"{}\",\"deltas\":[{}]}}", group.scope, deltas.join(","));
    JsonTree::parse(text).unwrap_or_else(|_| JsonTree::null())
}

/// Returns whether these changes can be written in the current form without loss.
pub(super) fn are_plain(list: &JsonTree, events: &HashMap<String, String>) -> bool {
    const DELTA: [&str; 4] = ["op", "path", "value", "previousValue"];
    const OWN: [&str; 7] =
        ["scope", "target", "deltas", "operation", "newValue", "eventId", "turnId"];
    let plain = |tree: &JsonTree, more: &[&str]| {
        tree.children()
            .iter()
            .all(|(key, _)| DELTA.contains(&key.as_str()) || more.contains(&key.as_str()))
    };
    list.children().iter().all(|(_, element)| {
        let event = element.value_at(&["eventId"]).is_none()
            || element.string_at(&["eventId"]).is_some_and(|event| events.contains_key(&event));
        let inner =
            element.value_at(&["deltas"]).map(|deltas| deltas.children()).unwrap_or_default();
        event && plain(element, &OWN) && inner.iter().all(|(_, delta)| plain(delta, &[]))
    })
}

/// Reads a list of changes. Returns `None` if one of them has an unknown form.
pub(super) fn read(
    list: &JsonTree,
    id: &SessionId,
    turn: u64,
    time: i64,
    events: &HashMap<String, String>,
) -> Option<Vec<ChangeRecord>> {
    let mut changes: Vec<ChangeRecord> = Vec::new();
    for (_, element) in list.children() {
        let group = group(&element, turn)?;
        let event = element.string_at(&["eventId"]).and_then(|event| events.get(&event).cloned());
        let number = changes.len() as u64 + 1;
        let id = DIALECT.rules().change_id(id, turn, number);
        changes.push(ChangeRecord { id, turn, event, time: Some(time), group, extra: Vec::new() });
    }
    (!changes.is_empty()).then_some(changes)
}

fn group(element: &JsonTree, turn: u64) -> Option<DeltaGroup> {
    let has = |key: &str| element.value_at(&[key]).is_some();
    if has("deltas") || has("operation") {
        // The forms of current logs, except for the turn.
        let mut text = format!("{{\"turnId\":{turn}");
        for (key, value) in element.children().into_iter().filter(|(key, _)| key != "turnId") {
            text.push_str(&format!(",{}:{}", serde_json::to_string(&key).ok()?, value.to_line()));
        }
        text.push('}');
        let change = ChangeRecord::parse(&TextSlice::from_text(&text)).ok()?;
        // Sessions of this dialect have no file for NPCs.
        return (change.group.scope != Scope::Npcs).then_some(change.group);
    }
    if !has("op") || !has("path") {
        return None;
    }
    let delta = Delta::parse(&element.to_line()).ok()?;
    let named = element.string_at(&["scope"]).or_else(|| element.string_at(&["target"]));
    match named {
        Some(name) => {
            let scope = scope(&name)?;
            Some(DeltaGroup { scope, deltas: vec![delta] })
        }
        None => {
            // Otherwise the first path segment may name the scope.
            let first = delta.path.segments().first().and_then(|first| scope(first));
            Some(match first {
                Some(scope) => {
                    let path = DeltaPath::array(delta.path.segments().iter().skip(1).cloned());
                    let path = path.with_notation(PathNotation::Dotted);
                    DeltaGroup { scope, deltas: vec![Delta { path, ..delta }] }
                }
                None => DeltaGroup { scope: Scope::World, deltas: vec![delta] },
            })
        }
    }
}

fn scope(name: &str) -> Option<Scope> {
    match name {
        "world" | "worldState" => Some(Scope::World),
        "player" | "playerState" | "character" => Some(Scope::Player),
        "scene" | "activeScene" | "currentScene" => Some(Scope::Scene),
        _ => None,
    }
}
