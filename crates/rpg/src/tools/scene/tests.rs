//! The results and changes of `scene_action`, as the upstream program returns and stores them.

use serde_json::{Value, json};

use crate::WorldError;
use crate::embedded::EmbeddedNarrator;
use crate::narrator::{Narrator, NarratorOutput, RecordedNarrator};
use crate::turn::{TurnSetup, play};
use everturn_value::tree::JsonTree;

/// A campaign of the third generation: a locked door, a chest, a lever, a guard, a stone, and a key that is carried.
fn campaign() -> Value {
    let entity = |id: &str, kind: &str, label: &str, loc: Value, verbs: Value, state: Value| {
        json!({"id": id, "kind": kind, "label": label, "tags": [], "loc": loc, "verbs": verbs,
            "state": state, "props": {"mass": 2}})
    };
    let here = || json!({"type": "area", "id": "area_001"});
    json!({
        "id": "camp_0001",
        "selected": {"party_character_ids": ["pc_001"], "active_actor_id": "pc_001"},
        "allowlist": ["move", "hp_delta", "scene_action", "inventory_add"],
        "map": {"areas": {
            "area_001": {"id": "area_001", "name": "Cell", "reachable_area_ids": ["area_002"]},
            "area_002": {"id": "area_002", "name": "Yard", "reachable_area_ids": ["area_001"]},
        }, "connections": []},
        "actors": {"pc_001": {"position": "area_001", "hp": 10, "character_state": "alive",
            "inventory": {}, "meta": {}}},
        "items": {},
        "entities": {
            "door_01": entity("door_01", "object", "Rusty Door", here(), json!(["inspect", "open", "use"]),
                json!({"locked": true, "hint": " The lock is old. "})),
            "chest_01": entity("chest_01", "container", "Chest", here(), json!(["open", "search"]), json!({})),
            "straw": entity("straw", "object", "Straw", here(), json!(["search"]),
                json!({"inventory_item_id": "coin", "inventory_quantity": 2})),
            "guard": entity("guard", "npc", "Guard", here(), json!(["take"]), json!({})),
            "stone": entity("stone", "object", "Stone", here(), json!(["Take", "detach"]), json!({})),
            "key": entity("key", "item", "Key", json!({"type": "actor", "id": "pc_001"}),
                json!(["drop", "use"]), json!({})),
            "far": entity("far", "object", "Well", json!({"type": "area", "id": "area_002"}),
                json!(["inspect"]), json!({})),
        },
    })
}

/// Plays a turn; returns the row and the document after it.
fn turn(campaign: &Value, input: &str, narrator: &mut dyn Narrator) -> (Value, Value) {
    let document = JsonTree::from_value(campaign).unwrap();
    let setup = TurnSetup {
        campaign: &document,
        user_input: input,
        actor: None,
        turn: 1,
        recent: &[],
        worlds: &|_| -> Result<_, WorldError> { Ok(None) },
        now: "2026-01-14T16:05:00Z".parse().unwrap(),
        seed: 7,
    };
    let played = play(&setup, narrator).unwrap();
    (played.row, played.draft.into_parts().0.to_value().unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "the callers pass literals")]
fn act(campaign: &Value, args: Value) -> (Value, Value) {
    let call = json!({"id": "c", "tool": "scene_action", "args": args, "reason": null});
    let output = NarratorOutput {
        tool_calls: vec![JsonTree::from_value(&call).unwrap()],
        ..NarratorOutput::text("So be it.")
    };
    let (row, after) = turn(campaign, "x", &mut RecordedNarrator::new([output]));
    match row["applied_actions"].get(0) {
        Some(action) => (action["result"].clone(), after),
        None => (row["tool_feedback"]["failed_calls"][0]["reason"].clone(), after),
    }
}

fn on(target: &str, action: &str) -> Value {
    json!({"action": action, "target_id": target})
}

/// Checks an action that is not possible: it is reported, and changes nothing.
#[expect(clippy::needless_pass_by_value, reason = "the callers pass literals")]
#[track_caller]
fn check_refused(args: Value, code: &str, narrative: &str) {
    let (result, after) = act(&campaign(), args.clone());
    assert_eq!(result["ok"], false, "{args}: {result}");
    assert_eq!((&result["error"]["code"], &result["narrative"]), (&json!(code), &json!(narrative)));
    assert_eq!(after["entities"], campaign()["entities"], "{args}");
}

#[test]
fn actions_that_are_not_possible_change_nothing() {
    check_refused(on("nobody", "inspect"), "target_not_found", "You cannot find that target here.");
    check_refused(on("far", "inspect"), "not_reachable", "Well is not reachable right now.");
    check_refused(on("door_01", "open"), "locked", "Rusty Door is locked.");
    check_refused(on("chest_01", "take"), "not_allowed", "You cannot take Chest.");
    check_refused(on("guard", "take"), "not_allowed", "You cannot take Guard.");
    check_refused(on("stone", "drop"), "not_allowed", "You cannot drop Stone.");
    let with = json!({"action": "use", "target_id": "door_01", "params": {"item_id": "stone"}});
    check_refused(with, "missing_item", "That item is not in your inventory.");
}

#[test]
fn calls_without_sense_fail() {
    for args in [
        json!({}),
        json!({"action": "dance", "target_id": "guard"}),
        json!({"action": "open"}),
        json!({"action": "open", "target_id": " "}),
        json!({"action": "open", "target_id": "chest_01", "params": null}),
        json!({"action": 1, "target_id": "chest_01"}),
    ] {
        assert_eq!(act(&campaign(), args.clone()).0, "invalid_args", "{args}");
    }
    let mut second = campaign();
    second.as_object_mut().unwrap().remove("entities");
    second.as_object_mut().unwrap().remove("items");
    assert_eq!(act(&second, on("door_01", "inspect")).0, "invalid_args");
}

#[test]
fn looking_talking_and_waiting_change_nothing() {
    for (args, narrative) in [
        (on(" door_01 ", " Inspect "), "You inspect Rusty Door. The lock is old."),
        (on("guard", "talk"), "You talk to Guard."),
        (json!({"action": "wait"}), "You wait and observe the surroundings."),
    ] {
        let (result, after) = act(&campaign(), args);
        assert_eq!((&result["ok"], &result["narrative"]), (&json!(true), &json!(narrative)));
        assert_eq!(result["patches"]["entity_patches"], json!([]));
        assert_eq!(after["entities"], campaign()["entities"]);
    }
}

#[test]
fn what_is_taken_is_carried_and_can_be_put_down() {
    let (result, after) = act(&campaign(), on("stone", "take"));
    let changes =
        json!({"kind": "item", "loc": {"type": "actor", "id": "pc_001"}, "verbs": ["drop"]});
    assert_eq!(result["patches"]["entity_patches"], json!([{"id": "stone", "changes": changes}]));
    assert_eq!(after["entities"]["stone"]["kind"], "item");
    let (result, after) = act(&after, on("stone", "drop"));
    assert_eq!(result["narrative"], "You drop Stone.");
    assert_eq!(after["entities"]["stone"]["loc"], json!({"type": "area", "id": "area_001"}));
    assert_eq!(after["entities"]["stone"]["verbs"], json!(["take"]));
    let (_, after) = act(&campaign(), on("stone", "detach"));
    assert_eq!(after["entities"]["stone"]["state"], json!({"detached": true}));
}

#[test]
fn what_is_too_heavy_stays() {
    let mut heavy = campaign();
    heavy["actors"]["pc_001"]["meta"]["carry_mass_limit"] = json!(3.5);
    let (result, after) = act(&heavy, on("stone", "take"));
    assert_eq!(result["error"]["code"], "carry_limit");
    assert_eq!(after["entities"], heavy["entities"]);
}

#[test]
fn what_is_found_is_in_the_inventory_and_in_a_stack() {
    for args in [on("straw", "search"), on("area_001", "search")] {
        let (result, after) = act(&campaign(), args);
        assert!(result["narrative"].as_str().unwrap().contains("find coin"), "{result}");
        assert_eq!(after["actors"]["pc_001"]["inventory"], json!({"coin": 2}));
        assert_eq!(after["entities"]["straw"]["state"]["inventory_granted"], true);
        let stacks: Vec<&Value> = after["items"].as_object().unwrap().values().collect();
        assert_eq!(stacks.len(), 1);
        assert_eq!(
            (&stacks[0]["definition_id"], &stacks[0]["quantity"]),
            (&json!("coin"), &json!(2))
        );
        let (again, after) = act(&after, on("straw", "search"));
        assert_eq!(again["narrative"], "You search Straw but find nothing useful.");
        assert_eq!(after["actors"]["pc_001"]["inventory"], json!({"coin": 2}));
    }
}

#[test]
fn stacks_of_the_same_item_grow() {
    let add = |document: &Value| {
        let call = json!({"id": "c", "tool": "inventory_add", "args": {"item_id": "coin"}});
        let calls = vec![JsonTree::from_value(&call).unwrap()];
        let output = NarratorOutput { tool_calls: calls, ..NarratorOutput::text("Here.") };
        turn(document, "x", &mut RecordedNarrator::new([output])).1
    };
    let after = add(&add(&campaign()));
    let stacks: Vec<&Value> = after["items"].as_object().unwrap().values().collect();
    assert_eq!((stacks.len(), &stacks[0]["quantity"]), (1, &json!(2)));
    assert_eq!(after["actors"]["pc_001"]["inventory"], json!({"coin": 2}));
}

#[test]
fn an_open_container_has_something_in_it_once() {
    let (_, open) = act(&campaign(), on("chest_01", "open"));
    assert_eq!(open["entities"]["chest_01"]["state"], json!({"opened": true}));
    let (result, after) = act(&open, on("chest_01", "search"));
    assert_eq!(result["narrative"], "You search Chest and find Chest Trinket.");
    assert_eq!(result["patches"]["new_entities"][0], after["entities"]["chest_01_loot_01"]);
    let (result, _) = act(&after, on("chest_01", "search"));
    assert_eq!(result["narrative"], "You search Chest but find nothing useful.");
    let (result, _) = act(&after, on("chest_01_loot_01", "take"));
    assert_eq!(result["narrative"], "You take Chest Trinket.");
}

#[test]
fn things_are_used_with_what_is_carried() {
    let with = json!({"action": "use", "target_id": "door_01", "params": {"item_id": "key"}});
    let (result, after) = act(&campaign(), with.clone());
    assert_eq!(result["narrative"], "You use Key on Rusty Door.");
    assert_eq!(after["entities"]["door_01"]["state"]["used"], true);
    let (_, after) = act(&after, with);
    assert_eq!(after["entities"]["door_01"]["state"]["used"], false);
}

#[test]
fn the_embedded_narrator_acts_on_entities() {
    for (input, expect) in [
        ("open the door", "Rusty Door is locked."),
        ("examine the rusty door", "You inspect Rusty Door. The lock is old."),
        ("take the stone", "You take Stone."),
        ("search the straw", "You search Straw and find coin."),
        ("use the key on the door", "You use Key on Rusty Door."),
        ("talk to the guard", "You talk to Guard."),
    ] {
        let (row, _) = turn(&campaign(), input, &mut EmbeddedNarrator::new(7));
        let text = row["assistant_text"].as_str().unwrap();
        assert!(text.contains(expect), "{input}: {text}");
        assert_eq!(row["applied_actions"][0]["tool"], "scene_action", "{input}: {row}");
    }
    let (row, _) = turn(&campaign(), "look", &mut EmbeddedNarrator::new(7));
    assert!(row["assistant_text"].as_str().unwrap().contains("Rusty Door"), "{row}");
    let (row, _) =
        turn(&campaign(), "öffne Door", &mut EmbeddedNarrator::new(7).with_language("de"));
    assert!(
        row["assistant_text"].as_str().unwrap().contains("„Rusty Door“ ist verschlossen"),
        "{row}"
    );
}
