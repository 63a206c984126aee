//! Every tool, in every state, with every reason, by both rules.

use everturn::campaign::{CampaignWriter, Submission};
use everturn::campaign::{NarratorOutput, RecordedNarrator};
use serde_json::{Value, json};

use crate::campaign::support::{answer, first_with, now, open, second, value};

/// What one call leads to: its result, or its status and reason.
fn call_in(campaign: &mut CampaignWriter, tool: &str, args: &Value) -> Result<Value, String> {
    let output = NarratorOutput {
        // An explanation of rules may use any words, so that only the call matters.
        dialog_type: Some("rule_explanation".to_owned()),
        ..answer("", &[(tool, args.clone())])
    };
    let mut narrator = RecordedNarrator::new([output]);
    let submission = Submission { seed: 7, ..Submission::new("x") };
    let row = campaign.submit(&submission, &mut narrator, now()).unwrap().row;
    let row = value(&row);
    match row["applied_actions"].as_array().unwrap().first() {
        Some(action) => {
            assert_eq!(row["tool_feedback"], Value::Null);
            assert_eq!(action["tool"], tool);
            Ok(action["result"].clone())
        }
        None => {
            let failed = &row["tool_feedback"]["failed_calls"][0];
            assert_eq!((&failed["id"], &failed["tool"]), (&json!("call_0"), &json!(tool)));
            let text = |key: &str| failed[key].as_str().unwrap().to_owned();
            Err(format!("{}/{}", text("status"), text("reason")))
        }
    }
}

#[track_caller]
fn check_first(state: &str, tool: &str, args: Value, expect: Result<Value, &str>) {
    let (store, id) = first_with(|document| {
        document["character_states"]["pc_001"] = state.into();
        document["map"]["areas"]["area_003"] = json!({"id": "area_003", "name": "Far"});
        document["allowlist"]
            .as_array_mut()
            .unwrap()
            .extend(["unknown".into(), "actor_spawn".into()]);
    });
    let found = call_in(&mut open(&store, &id), tool, &args);
    assert_eq!(found, expect.map_err(str::to_owned), "{state}: {tool} {args}");
}

#[track_caller]
fn check_second(state: &str, tool: &str, args: Value, expect: Result<Value, &str>) {
    let (store, id) = second(|document| {
        document["actors"]["pc_001"]["character_state"] = state.into();
        document["allowlist"].as_array_mut().unwrap().push("scene_action".into());
    });
    let found = call_in(&mut open(&store, &id), tool, &args);
    assert_eq!(found, expect.map_err(str::to_owned), "{state}: {tool} {args}");
}

const BAD: Result<Value, &str> = Err("error/invalid_args");
const RESTRICTED: Result<Value, &str> = Err("rejected/actor_state_restricted");

fn walk(actor: &str, from: &str, to: &str) -> Value {
    json!({"actor_id": actor, "from_area_id": from, "to_area_id": to})
}

fn hurt(target: &str, delta: impl Into<Value>) -> Value {
    json!({"target_character_id": target, "delta": delta.into(), "cause": "trap"})
}

#[test]
fn first_rules_move() {
    let done = || Ok(json!({"to_area_id": "area_002"}));
    check_first("alive", "move", walk("pc_001", "area_001", "area_002"), done());
    for args in [
        json!({}),
        json!({"actor_id": "pc_001", "to_area_id": "area_002"}),
        json!({"actor_id": "pc_001", "from_area_id": 1, "to_area_id": "area_002"}),
        walk("pc_002", "area_001", "area_002"),
        walk("pc_001", "area_002", "area_001"),
        walk("pc_001", "area_001", "area_003"),
        walk("pc_001", "area_001", "area_001"),
        walk("pc_001", "area_001", "../area_002"),
    ] {
        check_first("alive", "move", args, BAD);
    }
}

#[test]
fn first_rules_connections_lead_both_ways() {
    let (store, id) = first_with(|document| document["positions"]["pc_001"] = "area_002".into());
    let mut campaign = open(&store, &id);
    let found = call_in(&mut campaign, "move", &walk("pc_001", "area_002", "area_001"));
    assert_eq!(found, Ok(json!({"to_area_id": "area_001"})));
}

#[test]
fn second_rules_move() {
    let done = || Ok(json!({"from_area_id": "area_001", "to_area_id": "area_002"}));
    check_second("alive", "move", json!({"to_area_id": "area_002"}), done());
    check_second(
        "alive",
        "move",
        json!({"actor_id": " pc_001 ", "to_area_id": "area_002"}),
        done(),
    );
    for args in [
        json!({}),
        json!({"to_area_id": 2}),
        walk("pc_001", "area_001", "area_002"),
        json!({"to_area_id": "area_001"}),
        json!({"to_area_id": "area_003"}),
        json!({"to_area_id": "area_009"}),
    ] {
        check_second("alive", "move", args, BAD);
    }
}

#[test]
fn second_rules_roads_lead_one_way() {
    let (store, id) =
        second(|document| document["actors"]["pc_001"]["position"] = "area_002".into());
    let mut campaign = open(&store, &id);
    let back = call_in(&mut campaign, "move", &json!({"to_area_id": "area_001"}));
    assert_eq!(back, Err("error/invalid_args".to_owned()));
}

#[test]
fn second_rules_who_acts_must_be_said_right() {
    for tool in ["move", "move_options", "inventory_add", "map_generate", "actor_spawn"] {
        for actor in [json!(1), json!(null), json!(""), json!("  ")] {
            check_second("alive", tool, json!({"actor_id": actor}), Err("rejected/invalid_args"));
        }
        let other = json!({"actor_id": "pc_002"});
        check_second("dead", tool, other, Err("rejected/actor_context_mismatch"));
    }
}

#[test]
fn tools_that_are_not_allowed_are_rejected_before_anything_else() {
    for state in ["alive", "dead", "asleep"] {
        check_first(state, "inventory_add", json!({}), Err("rejected/tool_not_allowed"));
        check_second(state, "teleport", json!({"actor_id": 1}), Err("rejected/tool_not_allowed"));
    }
    check_first("alive", "unknown", json!({}), BAD);
    check_first("alive", "actor_spawn", json!({"character_id": "x"}), BAD);
    check_second("alive", "scene_action", json!({}), BAD);
}

#[test]
fn states_decide_who_may_do_what() {
    let invalid = || Err("rejected/invalid_actor_state");
    let tools = [
        ("move", json!({"to_area_id": "area_002"})),
        ("hp_delta", hurt("pc_001", 3)),
        ("map_generate", json!({"parent_area_id": "area_001"})),
    ];
    for (tool, args) in &tools {
        for state in ["unconscious", "restrained_permanent", "dead"] {
            check_first(state, tool, args.clone(), RESTRICTED);
        }
        for state in ["", "Alive", "asleep"] {
            check_first(state, tool, args.clone(), invalid());
            check_second(state, tool, args.clone(), invalid());
        }
    }
    let more = ["move_options", "inventory_add", "world_generate", "actor_spawn"];
    for (tool, args) in tools.iter().cloned().chain(more.map(|tool| (tool, json!({})))) {
        for state in ["restrained_permanent", "dead"] {
            check_second(state, tool, args.clone(), RESTRICTED);
        }
        if tool != "hp_delta" {
            check_first(
                "dying",
                if tool == "move" { "move" } else { "map_generate" },
                args.clone(),
                RESTRICTED,
            );
            check_second("dying", tool, args, RESTRICTED);
        }
    }
}

#[test]
fn who_is_dying_may_only_heal_themselves() {
    for check in [check_first, check_second] {
        check("dying", "hp_delta", hurt("pc_001", 2), Ok(json!({"new_hp": 12})));
        check("dying", "hp_delta", hurt("pc_001", true), Ok(json!({"new_hp": 11})));
        check("dying", "hp_delta", hurt("pc_001", 0), RESTRICTED);
        check("dying", "hp_delta", hurt("pc_001", -2), RESTRICTED);
        check("dying", "hp_delta", hurt("pc_002", 2), RESTRICTED);
        check("dying", "hp_delta", hurt("pc_001", "2"), RESTRICTED);
        check("dying", "hp_delta", json!({"target_character_id": "pc_001", "delta": 2}), BAD);
    }
}

#[test]
fn an_unconscious_actor_waits_while_somebody_else_could_act() {
    let (store, id) =
        second(|document| document["actors"]["pc_001"]["character_state"] = "unconscious".into());
    let mut campaign = open(&store, &id);
    let error = campaign
        .submit(&Submission::new("x"), &mut RecordedNarrator::default(), now())
        .unwrap_err();
    assert_eq!(error.to_string(), "actor pc_001 is unconscious; select another actor");
    let (store, id) = second(|document| {
        document["actors"]["pc_001"]["character_state"] = "unconscious".into();
        document["actors"]["pc_002"]["character_state"] = "dead".into();
    });
    let found = call_in(&mut open(&store, &id), "move", &json!({"to_area_id": "area_002"}));
    assert_eq!(found, Err("rejected/actor_state_restricted".to_owned()));
}

#[test]
fn health_changes_by_whole_numbers() {
    for check in [check_first, check_second] {
        check("alive", "hp_delta", hurt("pc_002", -3), Ok(json!({"new_hp": 7})));
        check("alive", "hp_delta", hurt("pc_002", true), Ok(json!({"new_hp": 11})));
        check("alive", "hp_delta", hurt("pc_002", false), Ok(json!({"new_hp": 10})));
        for args in [
            hurt("pc_009", 1),
            hurt("pc_001", 1.5),
            hurt("pc_001", "1"),
            hurt("pc_001", Value::Null),
            hurt("pc_001", i64::MAX),
            hurt("pc_001", u64::MAX),
            json!({"target_character_id": "pc_001", "delta": 1}),
            json!({"target_character_id": "pc_001", "delta": 1, "cause": 2}),
            json!({"target_character_id": 1, "delta": 1, "cause": "x"}),
            json!({"delta": 1, "cause": "x"}),
        ] {
            check("alive", "hp_delta", args, BAD);
        }
    }
    check_first("alive", "hp_delta", hurt("pc_002", -13), Ok(json!({"new_hp": -3})));
    check_second("alive", "hp_delta", hurt("pc_002", -13), Ok(json!({"new_hp": 0})));
}

/// The state of the second character after their health changed.
#[track_caller]
fn becomes(before: &str, ends: bool, delta: i64, expect: &str) {
    let (store, id) = first_with(|document| {
        document["character_states"]["pc_002"] = before.into();
        document["settings_snapshot"]["rules"]["hp_zero_ends_game"] = ends.into();
    });
    let mut campaign = open(&store, &id);
    call_in(&mut campaign, "hp_delta", &hurt("pc_002", delta)).unwrap();
    let state = campaign.state().unwrap().string_at(&["character_states", "pc_002"]);
    assert_eq!(state.as_deref(), Some(expect), "{before}, {ends}, {delta}");
}

#[test]
fn without_health_one_is_dying_if_the_settings_say_so() {
    becomes("alive", true, -9, "alive");
    becomes("alive", true, -10, "dying");
    becomes("alive", true, -11, "dying");
    becomes("dying", true, 1, "alive");
    becomes("dying", true, -10, "dying");
    becomes("unconscious", true, 1, "unconscious");
    becomes("dead", true, -10, "dying");
    becomes("alive", false, -10, "alive");
    becomes("dying", false, 1, "dying");
}

#[test]
fn options_are_the_roads_in_their_order() {
    let options = json!([{"to_area_id": "area_002", "name": "Stairs"}]);
    check_second("alive", "move_options", json!({}), Ok(json!({"options": options})));
    check_second(
        "alive",
        "move_options",
        json!({"actor_id": "pc_001"}),
        Ok(json!({"options": options})),
    );
    let (store, id) = second(|document| document["actors"]["pc_001"]["position"] = "gone".into());
    let found = call_in(&mut open(&store, &id), "move_options", &json!({}));
    assert_eq!(found, Err("error/invalid_args".to_owned()));
}

#[test]
fn items_are_counted() {
    let added = |item: &str, added: i64, total: i64| {
        Ok(
            json!({"actor_id": "pc_001", "item_id": item, "quantity_added": added, "new_quantity": total}),
        )
    };
    check_second("alive", "inventory_add", json!({"item_id": " lamp "}), added("lamp", 1, 1));
    check_second(
        "alive",
        "inventory_add",
        json!({"item_id": "rope", "quantity": 3}),
        added("rope", 3, 4),
    );
    for args in [
        json!({}),
        json!({"item_id": " "}),
        json!({"item_id": 1}),
        json!({"item_id": "rope", "quantity": 0}),
        json!({"item_id": "rope", "quantity": -1}),
        json!({"item_id": "rope", "quantity": 1.0}),
        json!({"item_id": "rope", "quantity": "1"}),
        json!({"item_id": "rope", "quantity": i64::MAX}),
    ] {
        check_second("alive", "inventory_add", args, BAD);
    }
}

#[test]
fn new_actors_have_ids_that_follow_from_the_seed() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    let args = json!({"character_id": " ch_9 ", "spawn_position": "area_003"});
    let one = call_in(&mut campaign, "actor_spawn", &args).unwrap();
    let two = call_in(
        &mut campaign,
        "actor_spawn",
        &json!({"character_id": "c", "bind_to_party": false}),
    );
    let (one, two) = (one["actor_id"].as_str().unwrap().to_owned(), two.unwrap());
    assert!(one.starts_with("actor_") && one.len() == 38, "{one}");
    assert_ne!(two["actor_id"], one.as_str());
    assert_eq!(
        (&two["position"], &two["hp"], &two["created"]),
        (&json!("area_001"), &json!(10), &json!(true))
    );
    let state = value(campaign.state().unwrap());
    assert_eq!(state["actors"][&one]["meta"], json!({"character_id": "ch_9"}));
    assert_eq!(state["actors"][&one]["position"], "area_003");
    assert_eq!(state["selected"]["party_character_ids"], json!(["pc_001", "pc_002", one]));
    for args in [
        json!({}),
        json!({"character_id": " "}),
        json!({"character_id": "x", "spawn_position": "area_009"}),
        json!({"character_id": "x", "spawn_position": null}),
        json!({"character_id": "x", "bind_to_party": "yes"}),
    ] {
        check_second("alive", "actor_spawn", args, BAD);
    }
}

#[test]
fn several_calls_work_on_what_the_ones_before_left() {
    let (store, id) = first_with(|_| {});
    let mut campaign = open(&store, &id);
    let output = answer(
        "",
        &[
            ("map_generate", json!({"parent_area_id": "area_002"})),
            ("move", walk("pc_001", "area_001", "area_002")),
            ("move", walk("pc_001", "area_001", "area_002")),
            ("move", walk("pc_001", "area_002", "area_003")),
        ],
    );
    let row = campaign.submit(&Submission::new("x"), &mut RecordedNarrator::new([output]), now());
    let row = value(&row.unwrap().row);
    assert_eq!(row["applied_actions"].as_array().unwrap().len(), 3);
    assert_eq!(row["tool_feedback"]["failed_calls"][0]["id"], "call_2");
    assert_eq!(row["state_summary"]["positions"]["pc_001"], "area_003");
    assert_eq!(row["assistant_structured"]["tool_calls"].as_array().unwrap().len(), 4);
}
