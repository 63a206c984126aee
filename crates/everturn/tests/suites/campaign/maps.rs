//! Areas and worlds that are made.

use everturn::campaign::{CampaignError, RecordedNarrator, Submission};
use serde_json::{Value, json};

use crate::campaign::support::{
    answer, at, exists, first_with, now, open, put, read, second, value,
};

fn generate(change: impl FnOnce(&mut Value), tool: &str, args: Value) -> (Value, Value) {
    let (store, id) = second(change);
    let mut campaign = open(&store, &id);
    let mut narrator = RecordedNarrator::new([answer("", &[(tool, args)])]);
    let row = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap().row;
    (value(&row), value(campaign.state().unwrap()))
}

#[test]
fn first_rules_add_one_area() {
    let (store, id) = first_with(|document| {
        document["map"]["areas"]["area_004"] = json!({"id": "area_004"});
    });
    let mut campaign = open(&store, &id);
    let calls = [
        ("map_generate", json!({"parent_area_id": "area_002"})),
        ("map_generate", json!({"parent_area_id": "area_009"})),
        ("map_generate", json!({"parent_area_id": null})),
        ("map_generate", json!({})),
    ];
    let mut narrator = RecordedNarrator::new([answer("", &calls)]);
    let row = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap().row;
    let row = value(&row);
    // Three areas are there, and the fourth number is taken.
    assert_eq!(row["applied_actions"][0]["result"], json!({"new_area_id": "area_005"}));
    assert_eq!(row["tool_feedback"]["failed_calls"].as_array().unwrap().len(), 3);
    let map = &value(campaign.state().unwrap())["map"];
    let area = json!({"id": "area_005", "name": "Generated Area", "parent_area_id": "area_002"});
    assert_eq!(map["areas"]["area_005"], area);
    let connection = json!({"from_area_id": "area_002", "to_area_id": "area_005"});
    assert_eq!(map["connections"][1], connection);
}

#[test]
fn between_the_generations_maps_grow_as_the_program_has_let_them() {
    let (store, id) = first_with(|document| {
        document["map"]["areas"]["area_001"]["reachable_area_ids"] = json!(["area_002"]);
        document["map"]["areas"]["area_002"]["reachable_area_ids"] = json!([]);
    });
    let mut campaign = open(&store, &id);
    let theme = |theme: &str, parent: Value, size: u64, seed: &str| {
        let constraints = json!({"size": size, "seed": seed});
        json!({"parent_area_id": parent, "theme": theme, "constraints": constraints})
    };
    let calls = [
        ("map_generate", theme("Root Test", Value::Null, 6, "test-root")),
        ("map_generate", theme("Child Test", "area_001".into(), 5, "test-child")),
    ];
    let mut narrator = RecordedNarrator::new([answer("", &calls)]);
    let row = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap().row;
    let results = &value(&row)["applied_actions"];
    let made = |at: usize| results[at]["result"]["created_connections"].as_u64().unwrap();
    assert_eq!((made(0), made(1)), (8, 6));
    let map = &value(campaign.state().unwrap())["map"];
    let roads: Vec<String> = map["areas"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, area)| format!("{id}: {}", area["reachable_area_ids"]).replace("area_", ""))
        .collect();
    let expect = [
        r#"001: ["002","003","009"]"#,
        "002: []",
        r#"003: ["004"]"#,
        r#"004: ["005","008"]"#,
        r#"005: ["006","008"]"#,
        r#"006: ["007"]"#,
        r#"007: ["008"]"#,
        "008: []",
        r#"009: ["010"]"#,
        r#"010: ["011"]"#,
        r#"011: ["012","013"]"#,
        r#"012: ["013"]"#,
        "013: []",
    ];
    assert_eq!(roads, expect);
    let keys: Vec<&String> = map["areas"]["area_009"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "parent_area_id", "reachable_area_ids"]);
    assert_eq!(map["areas"]["area_009"]["name"], "Child Test Entry");
}

#[test]
fn second_rules_make_a_chain_with_short_cuts() {
    let args = json!({"theme": "Cave", "constraints": {"size": 6, "seed": "test-root"}});
    let (row, state) = generate(|_| {}, "map_generate", args);
    let result = &row["applied_actions"][0]["result"];
    let ids = ["area_004", "area_005", "area_006", "area_007", "area_008", "area_009"];
    // 5 in the chain, 2 short cuts, 1 from the first area.
    let expect = json!({"created_area_ids": ids, "created_connections": 8,
        "root_parent_area_id": null, "warnings": []});
    assert_eq!(result, &expect);
    let areas = &state["map"]["areas"];
    assert_eq!(areas["area_001"]["reachable_area_ids"], json!(["area_002", "area_004"]));
    assert_eq!(areas["area_005"]["reachable_area_ids"], json!(["area_006", "area_009"]));
    assert_eq!(areas["area_005"]["name"], "Cave Area 02");
    let keys: Vec<&String> = areas["area_004"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "description", "parent_area_id", "reachable_area_ids"]);
    assert_eq!(state["map"]["connections"].as_array().unwrap().len(), 11);
}

#[test]
fn second_rules_link_children_with_their_parent_both_ways() {
    let args = json!({"parent_area_id": "area_002", "size": 2, "theme": " "});
    let (row, state) = generate(|_| {}, "map_generate", args);
    let result = &row["applied_actions"][0]["result"];
    assert_eq!(result["warnings"], json!(["theme_defaulted", "seed_defaulted"]));
    let areas = &state["map"]["areas"];
    assert_eq!(
        areas["area_002"]["reachable_area_ids"],
        json!(["area_003", "area_004", "area_005"])
    );
    assert_eq!(areas["area_004"]["reachable_area_ids"], json!(["area_002", "area_005"]));
    assert_eq!(areas["area_005"]["reachable_area_ids"], json!(["area_002"]));
    assert_eq!(areas["area_004"]["name"], "Generated Entry");
    assert_eq!(areas["area_004"]["parent_area_id"], "area_002");
}

#[test]
fn second_rules_refuse_what_makes_no_map() {
    for args in [
        json!({"parent_area_id": "area_009"}),
        json!({"parent_area_id": 1}),
        json!({"size": 0}),
        json!({"size": 31}),
        json!({"size": "6"}),
        json!({"constraints": {"size": null}}),
        json!({"constraints": {"size": 2.0}}),
        json!({"constraints": []}),
        json!({"seed": 1}),
        json!({"theme": 1}),
    ] {
        let (row, state) = generate(|_| {}, "map_generate", args.clone());
        assert_eq!(row["tool_feedback"]["failed_calls"][0]["reason"], "invalid_args", "{args}");
        assert_eq!(state["map"], crate::campaign::support::second_document()["map"], "{args}");
    }
    for (path, roads) in [
        ("area_001", json!(["area_001"])),
        ("area_001", json!(["area_009"])),
        ("area_001", json!(["area_002", "area_002"])),
        ("area_001", json!(["area_002", 7])),
    ] {
        let broken = |document: &mut Value| {
            document["map"]["areas"][path]["reachable_area_ids"] = roads.clone();
        };
        let (row, _) = generate(broken, "map_generate", json!({}));
        assert_eq!(row["tool_feedback"]["failed_calls"][0]["reason"], "invalid_args", "{roads}");
    }
    let apart = |document: &mut Value| {
        document["map"]["areas"]["area_001"]["reachable_area_ids"] = json!([]);
    };
    let (row, _) = generate(apart, "map_generate", json!({}));
    assert_eq!(row["tool_feedback"]["failed_calls"][0]["reason"], "invalid_args");
}

#[test]
fn a_world_is_made_once_and_bound_if_asked() {
    let (store, id) = second(|document| document["selected"]["world_id"] = "".into());
    let mut campaign = open(&store, &id);
    let calls = [
        ("world_generate", json!({})),
        ("world_generate", json!({"world_id": "../up"})),
        ("world_generate", json!({"world_id": "w", "seed": true})),
        ("world_generate", json!({"world_id": "w", "seed": 1.5})),
        ("world_generate", json!({"world_id": "w", "bind_to_campaign": 1})),
        ("world_generate", json!({"world_id": 1})),
        ("world_generate", json!({"world_id": " w ", "bind_to_campaign": true})),
        ("world_generate", json!({"seed": "x"})),
    ];
    let mut narrator = RecordedNarrator::new([answer("", &calls)]);
    let row = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap().row;
    let row = value(&row);
    let failed = row["tool_feedback"]["failed_calls"].as_array().unwrap();
    let reasons: Vec<&str> = failed.iter().map(|call| call["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons[0], "world_id_missing");
    assert_eq!(reasons[1..], ["invalid_args"; 5]);
    assert!(failed.iter().all(|call| call["status"] == "error"));
    let results: Vec<&Value> =
        row["applied_actions"].as_array().unwrap().iter().map(|action| &action["result"]).collect();
    assert_eq!(results[0]["created"], true);
    assert_eq!(results[0]["bound_to_campaign"], true);
    assert_eq!((&results[1]["world_id"], &results[1]["created"]), (&json!("w"), &json!(false)));
    assert_eq!(results[0]["seed"], results[1]["seed"]);
    let keys: Vec<&String> = results[0].as_object().unwrap().keys().collect();
    let expect = [
        "world_id",
        "created",
        "normalized",
        "bound_to_campaign",
        "seed",
        "generator_id",
        "also_generate_map",
    ];
    assert_eq!(keys, expect);
    let world = read(&store, "worlds/w/world.json");
    assert!(world.starts_with("{\n  \"world_id\": \"w\",\n") && world.ends_with('}'));
    assert_eq!(value(campaign.state().unwrap())["selected"]["world_id"], "w");
}

#[test]
fn a_world_of_an_answer_that_was_refused_is_not_made() {
    let (store, id) = second(|document| {
        document["settings_snapshot"]["dialog"]["conflict_text_checks_enabled"] = true.into();
    });
    let mut campaign = open(&store, &id);
    let calls = [
        ("world_generate", json!({"world_id": "w", "bind_to_campaign": true})),
        ("actor_spawn", json!({"character_id": "ghost"})),
    ];
    let outputs = [answer("A new rule!", &calls), answer("Calm.", &[])];
    let played = campaign.submit(&Submission::new("x"), &mut RecordedNarrator::new(outputs), at(1));
    assert_eq!(value(&played.unwrap().row)["conflict_report"]["retries"], 1);
    assert!(!exists(&store, "worlds/w/world.json"));
    let state = value(campaign.state().unwrap());
    assert_eq!(state["selected"], crate::campaign::support::second_document()["selected"]);
    assert_eq!(state["actors"], crate::campaign::support::second_document()["actors"]);
}

#[test]
fn a_world_that_is_there_keeps_its_seed() {
    let (store, id) = second(|_| {});
    put(
        &store,
        "worlds/world_001/world.json",
        r#"{"world_id":"world_001","seed":"old","generator":{"id":"g"}}"#,
    );
    let mut campaign = open(&store, &id);
    let calls = [("world_generate", json!({"seed": 5}))];
    let mut narrator = RecordedNarrator::new([answer("", &calls)]);
    let row = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap().row;
    let result = &value(&row)["applied_actions"][0]["result"];
    assert_eq!((&result["seed"], &result["generator_id"]), (&json!("old"), &json!("g")));
    assert_eq!((&result["created"], &result["normalized"]), (&json!(false), &json!(false)));
}

#[test]
fn a_damaged_world_ends_the_turn_with_its_file() {
    let (store, id) = second(|_| {});
    put(&store, "worlds/world_001/world.json", "{");
    let mut campaign = open(&store, &id);
    let mut narrator = RecordedNarrator::new([answer("", &[("world_generate", json!({}))])]);
    let error = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap_err();
    let is_damaged = matches!(&error, CampaignError::Damaged { file, .. }
        if file.as_str() == "worlds/world_001/world.json");
    assert!(is_damaged, "{error}");
    assert_eq!(campaign.turn(), 0);
}
