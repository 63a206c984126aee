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
    let area = |id: &str, name: &str, roads: &[&str]| {
        let mut area = Map::new();
        area.insert("id".to_owned(), id.into());
        area.insert("name".to_owned(), name.into());
        if matches!(generation, Generation::Second | Generation::Third) {
            area.insert("description".to_owned(), "".into());
        }
        area.insert("parent_area_id".to_owned(), Value::Null);
        if generation.has_one_way_roads() {
            area.insert("reachable_area_ids".to_owned(), json!(roads));
        }
        area
    };
    json!({
        "areas": {
            "area_001": area("area_001", "Starting Area", &["area_002"]),
            "area_002": area("area_002", "Side Room", &[]),
        },
        "connections": [{"from_area_id": "area_001", "to_area_id": "area_002"}],
    })
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
