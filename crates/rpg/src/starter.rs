//! The parts of a document that are the same in every new campaign.

use serde_json::{Map, Value, json};

use super::document_view::{DEFAULT_HP, DEFAULT_STATE};
use super::generation::{Generation, RuleSet};
use super::settings::settings;

/// Returns the default settings.
#[must_use]
pub fn default_settings(rules: RuleSet) -> Value {
    let mut all = json!({});
    for setting in settings(rules).filter(|setting| setting.is_in_new(rules)) {
        let mut place = &mut all;
        for level in setting.key.split('.') {
            if !place.is_object() {
                *place = json!({});
            }
            let Value::Object(fields) = place else { break };
            place = fields.entry(level).or_insert(Value::Null);
        }
        *place = setting.default_value();
    }
    all
}

/// Returns the two rooms of a campaign without a map.
#[must_use]
pub fn starter_map(generation: Generation) -> Value {
    sized_map(generation, 2)
}

/// Returns a map without names: two rooms, and more of them around these. Narrators name them as they are seen.
#[must_use]
pub fn sized_map(generation: Generation, size: usize) -> Value {
    let id = |number: usize| format!("area_{number:03}");
    // Each area beyond the second has the way that leads to half its number.
    let parent = |number: usize| if number == 2 { 1 } else { number / 2 };
    let mut areas = Map::new();
    let mut connections = Vec::new();
    for number in 1..=size.max(2) {
        let name = match number {
            1 => "Starting Area",
            2 => "Side Room",
            _ => "Generated Area",
        };
        let children = (2..=size.max(2)).filter(|child| parent(*child) == number);
        let mut roads: Vec<String> = children.map(id).collect();
        // The two rooms of the program have no way back.
        if number > 2 || number == 2 && size > 2 {
            roads.push(id(parent(number)));
        }
        let mut area = Map::new();
        area.insert("id".to_owned(), id(number).into());
        area.insert("name".to_owned(), name.into());
        if matches!(generation, Generation::Second | Generation::Third) {
            area.insert("description".to_owned(), "".into());
        }
        area.insert("parent_area_id".to_owned(), Value::Null);
        if generation.has_one_way_roads() {
            area.insert("reachable_area_ids".to_owned(), json!(roads));
        }
        areas.insert(id(number), area.into());
        if number > 1 {
            let (from, to) = (id(parent(number)), id(number));
            connections.push(json!({"from_area_id": from, "to_area_id": to}));
        }
    }
    json!({"areas": areas, "connections": connections})
}

/// Returns a new character, for campaigns with `actors`.
#[must_use]
pub fn new_actor(position: &str) -> Value {
    json!({
        "position": position,
        "hp": DEFAULT_HP,
        "character_state": DEFAULT_STATE,
        "inventory": {},
        "meta": {},
    })
}
