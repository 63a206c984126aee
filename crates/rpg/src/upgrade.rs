//! Upgrades a document of the first rules to the second ones: [`upgrade`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::document_view::{CampaignView, CharacterFact};
use super::draft::CampaignDraft;
use super::error::RulesError;
use super::generation::{Generation, RuleSet};
use super::settings::{TEXT_CHECKS, settings};
use super::starter::{new_actor, new_milestone};
use super::tools::default_allowlist;

/// The states that the rules know. Any other becomes the default.
const STATES: [&str; 5] = ["alive", "dying", "unconscious", "restrained_permanent", "dead"];

/// Turns a document of the first rules into one of the second generation. Returns whether anything has changed: a
/// document of the second rules stays as it is.
///
/// Connections of the first generation lead both ways, and do so afterwards. The upstream program keeps one direction
/// only when it upgrades a document.
pub fn upgrade(draft: &mut CampaignDraft) -> Result<bool, RulesError> {
    if draft.view().generation.rules() == RuleSet::Second {
        return Ok(false);
    }
    draft.ensure_minimum()?;
    let actors = actors(draft.view());
    let roads = roads(draft.view());
    let allowed = allowlist(draft.view());
    let checks_text = draft.view().is_on(TEXT_CHECKS);
    for (id, area) in draft.view().areas() {
        if area.value_at(&["description"]).is_none() {
            draft.set(&["map", "areas", &id, "description"], "")?;
        }
        let roads: Vec<&String> = roads.get(&id).into_iter().flatten().collect();
        draft.set(&["map", "areas", &id, "reachable_area_ids"], &roads)?;
    }
    let connection = |from: &String, to: &String| json!({"from_area_id": from, "to_area_id": to});
    let connections: Vec<Value> = roads
        .iter()
        .flat_map(|(from, ends)| ends.iter().map(move |to| connection(from, to)))
        .collect();
    draft.set(&["map", "connections"], &connections)?;
    draft.set(&["actors"], &actors)?;
    for fact in CharacterFact::ALL {
        let [map, _] = fact.names();
        draft.set(&[map], &json!({}))?;
    }
    draft.set(&["allowlist"], &allowed)?;
    for setting in settings(RuleSet::Second) {
        let path: Vec<&str> =
            std::iter::once("settings_snapshot").chain(setting.key.split('.')).collect();
        if draft.view().tree.value_at(&path).is_none() {
            let value = match setting.key == TEXT_CHECKS {
                true => checks_text.into(),
                false => setting.default_value(),
            };
            draft.set(&path, &value)?;
        }
    }
    add_missing(draft, "milestone", &new_milestone(RuleSet::Second))?;
    add_missing(draft, "lifecycle", &json!({"ended": false, "reason": null, "ended_at": null}))?;
    Ok(true)
}

/// Adds the fields of an object that are not there.
fn add_missing(draft: &mut CampaignDraft, key: &str, fields: &Value) -> Result<(), RulesError> {
    for (name, value) in fields.as_object().into_iter().flatten() {
        if draft.view().tree.value_at(&[key, name]).is_none() {
            draft.set(&[key, name], value)?;
        }
    }
    Ok(())
}

/// Returns the actors: the party, and everybody of whom something is known.
fn actors(view: CampaignView<'_>) -> Map<String, Value> {
    let facts = CharacterFact::ALL.map(|fact| view.facts(fact));
    let known = facts.iter().flat_map(|facts| facts.keys().cloned());
    let mut ids: Vec<String> = view.party();
    for id in view.active_actor().into_iter().chain(known) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let actor = |id: &String| {
        let mut actor = new_actor("");
        if let Value::Object(fields) = &mut actor {
            let place = view.position(id).filter(|area| view.has_area(area));
            fields.insert("position".to_owned(), place.into());
            if let Some(hp) = view.hp(id) {
                fields.insert("hp".to_owned(), hp.max(0).into());
            }
            let state = view.state(id);
            if STATES.contains(&state.as_str()) {
                fields.insert("character_state".to_owned(), state.into());
            }
        }
        actor
    };
    ids.iter().map(|id| (id.clone(), actor(id))).collect()
}

/// Returns the roads of each area. Those of the first generation lead both ways.
fn roads(view: CampaignView<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let areas = view.areas();
    let mut roads: BTreeMap<String, BTreeSet<String>> =
        areas.iter().map(|(id, _)| (id.clone(), BTreeSet::new())).collect();
    let mut add = |from: &str, to: &str| {
        if from != to
            && view.has_area(to)
            && let Some(ends) = roads.get_mut(from)
        {
            ends.insert(to.to_owned());
        }
    };
    if view.generation == Generation::First {
        for (one, other) in view.connections() {
            add(&one, &other);
            add(&other, &one);
        }
    } else {
        for (id, _) in &areas {
            view.roads(id).iter().for_each(|to| add(id, to));
        }
    }
    roads
}

/// Returns the allowed tools: those of the new rules if the campaign allowed the default ones, or its own and
/// `inventory_add`.
fn allowlist(view: CampaignView<'_>) -> Vec<String> {
    let mut allowed = view.allowlist();
    let had_defaults = default_allowlist(RuleSet::First)
        .iter()
        .all(|tool| allowed.iter().any(|allowed| allowed == tool));
    let more =
        if had_defaults { default_allowlist(RuleSet::Second) } else { vec!["inventory_add"] };
    for tool in more {
        if !allowed.iter().any(|allowed| allowed == tool) {
            allowed.push(tool.to_owned());
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_value::tree::JsonTree;

    #[test]
    fn both_directions_of_connections_and_everything_known_are_kept() {
        let text = r#"{"id": "camp_0001", "own": {"kept": [1]},
            "selected": {"party_character_ids": ["pc_001"], "active_actor_id": "pc_001"},
            "settings_snapshot": {"context": {"full_context_enabled": false}},
            "allowlist": ["move", "hp_delta", "map_generate"],
            "map": {"areas": {"a": {"id": "a", "name": "A"}, "b": {"id": "b", "name": "B", "description": "wet"},
                "c": {"id": "c", "name": "C"}},
                "connections": [{"from_area_id": "b", "to_area_id": "a"}, {"from_area_id": "b", "to_area_id": "c"}]},
            "positions": {"pc_001": "c", "ghost": "nowhere"}, "hp": {"pc_001": -3, "ghost": 4},
            "character_states": {"pc_001": "dying", "ghost": "odd"},
            "milestone": {"current": "intro", "last_advanced_turn": 2}}"#;
        let mut draft = CampaignDraft::new(JsonTree::parse(text).unwrap());
        assert!(upgrade(&mut draft).unwrap());
        let after = draft.view().tree.to_value().unwrap();
        assert_eq!(Generation::of(draft.view().tree), Generation::Second);
        let areas = &after["map"]["areas"];
        assert_eq!(areas["a"]["reachable_area_ids"], json!(["b"]));
        assert_eq!(areas["b"]["reachable_area_ids"], json!(["a", "c"]));
        assert_eq!(areas["c"]["reachable_area_ids"], json!(["b"]));
        assert_eq!(areas["b"]["description"], "wet");
        assert_eq!(after["map"]["connections"].as_array().unwrap().len(), 4);
        let (pc, ghost) = (&after["actors"]["pc_001"], &after["actors"]["ghost"]);
        assert_eq!((&pc["position"], &pc["hp"]), (&json!("c"), &json!(0)));
        assert_eq!(pc["character_state"], "dying");
        assert_eq!(
            (&ghost["position"], &ghost["character_state"]),
            (&Value::Null, &json!("alive"))
        );
        assert_eq!(after["positions"], json!({}));
        assert_eq!(after["own"], json!({"kept": [1]}));
        assert_eq!(after["milestone"]["last_advanced_turn"], 2);
        assert_eq!(after["milestone"]["turn_trigger_interval"], 6);
        assert_eq!(after["settings_snapshot"]["context"]["full_context_enabled"], false);
        assert_eq!(after["settings_snapshot"]["dialog"]["conflict_text_checks_enabled"], true);
        assert!(after["allowlist"].as_array().unwrap().contains(&json!("actor_spawn")));
        assert!(!after["allowlist"].as_array().unwrap().contains(&json!("scene_action")));
        let mut again = CampaignDraft::new(draft.into_parts().0);
        assert!(!upgrade(&mut again).unwrap());
    }

    #[test]
    fn roads_that_lead_one_way_stay_so() {
        let text = r#"{"selected": {"party_character_ids": []}, "allowlist": ["move"],
            "map": {"areas": {"a": {"reachable_area_ids": ["b"]}, "b": {"reachable_area_ids": []}}}}"#;
        let mut draft = CampaignDraft::new(JsonTree::parse(text).unwrap());
        assert!(upgrade(&mut draft).unwrap());
        let after = draft.view().tree.to_value().unwrap();
        assert_eq!(after["map"]["areas"]["b"]["reachable_area_ids"], json!([]));
        assert_eq!(after["allowlist"], json!(["move", "inventory_add"]));
    }
}
