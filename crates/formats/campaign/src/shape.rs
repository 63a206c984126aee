//! The shape of a campaign's document: the kinds of its known values.

use everturn_value::tree::{JsonTree, ValueKind};

const OBJECT: &[ValueKind] = &[ValueKind::Object];
const ARRAY: &[ValueKind] = &[ValueKind::Array];
const STRING: &[ValueKind] = &[ValueKind::String];
const NUMBER: &[ValueKind] = &[ValueKind::Number];
const OPTIONAL_STRING: &[ValueKind] = &[ValueKind::String, ValueKind::Null];

/// A known value. `*` stands for any key or index.
struct ShapeRule {
    path: &'static [&'static str],
    kinds: &'static [ValueKind],
}

const fn rule(path: &'static [&'static str], kinds: &'static [ValueKind]) -> ShapeRule {
    ShapeRule { path, kinds }
}

/// The known values of all generations.
const SHAPE: &[ShapeRule] = &[
    rule(&["id"], STRING),
    rule(&["selected"], OBJECT),
    rule(&["selected", "world_id"], STRING),
    rule(&["selected", "map_id"], STRING),
    rule(&["selected", "party_character_ids"], ARRAY),
    rule(&["selected", "party_character_ids", "*"], STRING),
    rule(&["selected", "active_actor_id"], STRING),
    rule(&["settings_snapshot"], OBJECT),
    rule(&["settings_snapshot", "context"], OBJECT),
    rule(&["settings_snapshot", "rules"], OBJECT),
    rule(&["settings_snapshot", "rollback"], OBJECT),
    rule(&["settings_snapshot", "dialog"], OBJECT),
    rule(&["settings_revision"], NUMBER),
    rule(&["allowlist"], ARRAY),
    rule(&["allowlist", "*"], STRING),
    rule(&["map"], OBJECT),
    rule(&["map", "areas"], OBJECT),
    rule(&["map", "areas", "*"], OBJECT),
    rule(&["map", "areas", "*", "id"], STRING),
    rule(&["map", "areas", "*", "name"], STRING),
    rule(&["map", "areas", "*", "parent_area_id"], OPTIONAL_STRING),
    rule(&["map", "areas", "*", "reachable_area_ids"], ARRAY),
    rule(&["map", "areas", "*", "reachable_area_ids", "*"], STRING),
    rule(&["map", "connections"], ARRAY),
    rule(&["map", "connections", "*"], OBJECT),
    rule(&["map", "connections", "*", "from_area_id"], STRING),
    rule(&["map", "connections", "*", "to_area_id"], STRING),
    rule(&["positions"], OBJECT),
    rule(&["positions", "*"], OPTIONAL_STRING),
    rule(&["hp"], OBJECT),
    rule(&["hp", "*"], NUMBER),
    rule(&["character_states"], OBJECT),
    rule(&["character_states", "*"], STRING),
    rule(&["actors", "*"], OBJECT),
    rule(&["actors", "*", "position"], OPTIONAL_STRING),
    rule(&["actors", "*", "hp"], NUMBER),
    rule(&["actors", "*", "character_state"], STRING),
    rule(&["actors", "*", "inventory"], OBJECT),
    rule(&["goal"], OBJECT),
    rule(&["goal", "text"], STRING),
    rule(&["goal", "status"], STRING),
    rule(&["milestone"], OBJECT),
    rule(&["milestone", "current"], STRING),
    rule(&["created_at"], STRING),
];

/// The values that every document must have.
const REQUIRED: &[&[&str]] = &[
    &["id"],
    &["selected"],
    &["selected", "party_character_ids"],
    &["selected", "active_actor_id"],
    &["settings_snapshot"],
    &["settings_revision"],
    &["allowlist"],
    &["map"],
    &["map", "areas"],
    &["map", "connections"],
];

/// A value of the wrong kind.
pub(crate) struct WrongKind {
    pub(crate) path: Vec<String>,
    pub(crate) found: ValueKind,
    pub(crate) wanted: ValueKind,
}

/// Returns the values of the wrong kind.
pub(crate) fn wrong_kinds(document: &JsonTree) -> Vec<WrongKind> {
    let mut wrong = Vec::new();
    examine(document, &SHAPE.iter().collect::<Vec<_>>(), &[], &mut wrong);
    wrong
}

/// Examines a value by the rules for it and for what is in it. The depth is that of the rules.
fn examine(value: &JsonTree, rules: &[&ShapeRule], path: &[String], wrong: &mut Vec<WrongKind>) {
    let own = rules.iter().find(|rule| rule.path.len() == path.len());
    if let Some(rule) = own
        && !rule.kinds.contains(&value.kind())
    {
        let wanted = rule.kinds.first().copied().unwrap_or(ValueKind::Null);
        wrong.push(WrongKind { path: path.to_vec(), found: value.kind(), wanted });
        return;
    }
    let below: Vec<&ShapeRule> =
        rules.iter().filter(|rule| rule.path.len() > path.len()).copied().collect();
    if below.is_empty() {
        return;
    }
    for (key, child) in value.children() {
        let fits = |rule: &&&ShapeRule| {
            rule.path.get(path.len()).is_some_and(|segment| *segment == "*" || *segment == key)
        };
        let rules: Vec<&ShapeRule> = below.iter().filter(fits).copied().collect();
        if !rules.is_empty() {
            let path: Vec<String> = path.iter().cloned().chain([key]).collect();
            examine(&child, &rules, &path, wrong);
        }
    }
}

/// Returns the paths of required values that are missing, unless a part above them is missing or of the wrong kind.
pub(crate) fn missing_parts(document: &JsonTree) -> Vec<&'static [&'static str]> {
    let is_missing = |path: &&&[&str]| {
        let above = path.split_last().map_or(&[][..], |(_, above)| above);
        let has_place =
            document.value_at(above).is_some_and(|above| above.kind() == ValueKind::Object);
        has_place && document.value_at(path).is_none()
    };
    REQUIRED.iter().filter(is_missing).copied().collect()
}

/// Returns the known keys of an object.
pub(crate) fn known_keys(object: &[&str]) -> Vec<&'static str> {
    let inside = SHAPE
        .iter()
        .filter(|rule| rule.path.len() == object.len() + 1 && rule.path.starts_with(object));
    let keys = inside.filter_map(|rule| rule.path.last().copied()).filter(|key| *key != "*");
    keys.chain(
        match object {
            [] => &["actors", "items", "entities", "state", "lifecycle"][..],
            _ => &[],
        }
        .iter()
        .copied(),
    )
    .collect()
}

/// The objects of which all keys are known.
pub(crate) const FIXED_OBJECTS: &[&[&str]] =
    &[&[], &["selected"], &["settings_snapshot"], &["map"], &["goal"], &["milestone"]];
