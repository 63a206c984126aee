//! The parts of a document that are the same in every new campaign.

use serde_json::{Map, Value, json};

use super::document_view::{DEFAULT_HP, DEFAULT_STATE};
use super::generation::{Generation, RuleSet};

/// Returns the two rooms of a campaign without a map.
#[must_use]
pub fn starter_map(generation: Generation) -> Value {
    let mut map = sized_map(generation, 2);
    // The second room of the program has no way back.
    if let Some(back) = map.pointer_mut("/areas/area_002/reachable_area_ids") {
        *back = json!([]);
    }
    map
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
        if number > 1 {
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

/// Returns the milestone of a new campaign.
#[must_use]
pub fn new_milestone(rules: RuleSet) -> Value {
    match rules {
        RuleSet::First => json!({"current": "intro", "last_advanced_turn": 0}),
        RuleSet::Second => json!({
            "current": "intro",
            "last_advanced_turn": 0,
            "turn_trigger_interval": 6,
            "pressure": 0,
            "pressure_threshold": 2,
            "summary": "",
        }),
    }
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
