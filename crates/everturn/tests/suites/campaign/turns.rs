//! Turns: who acts, what counts as a call, what is refused, and what a row says.

use std::sync::Arc;

use everturn::campaign::{
    Campaign, CampaignError, NarratorOutput, NewCampaign, RecordedNarrator, Submission, create,
    list,
};
use everturn::names::SessionId;
use everturn::store::StoreError;
use everturn::tree::JsonTree;
use serde_json::json;

use crate::campaign::support::{
    answer, exists, first, first_with, id, memory, now, open, play, put, read, reader, second,
    step, value,
};

const LOG: &str = "campaigns/camp_0001/turn_log.jsonl";

#[test]
fn ids_follow_the_highest_number() {
    let store = memory();
    let make = || create(&store, &NewCampaign::default(), now()).unwrap().to_string();
    assert_eq!(make(), "camp_0001");
    put(&store, "campaigns/camp_0007/other.txt", "");
    put(&store, "campaigns/camp_x9/other.txt", "");
    assert_eq!(make(), "camp_0008");
    put(&store, "campaigns/camp_9999/other.txt", "");
    assert_eq!(make(), "camp_10000");
    let mine = NewCampaign { id: Some(id("mine")), ..NewCampaign::default() };
    assert_eq!(create(&store, &mine, now()).unwrap().as_str(), "mine");
    let again = create(&store, &mine, now()).unwrap_err();
    assert!(matches!(again, CampaignError::Taken { .. }), "{again}");
    let ids: Vec<String> = list(&store).unwrap().iter().map(SessionId::to_string).collect();
    assert_eq!(ids, ["camp_0001", "camp_0008", "camp_10000", "mine"]);
}

#[test]
fn ids_that_climb_are_refused() {
    for bad in ["../x", "..", "a/b", "", "a\\b", "camp_0001/../../x"] {
        assert!(SessionId::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_party_has_its_actor() {
    let store = memory();
    let party = |party: &[&str], actor: Option<&str>| {
        let party = party.iter().map(|id| (*id).to_owned()).collect();
        let actor = actor.map(str::to_owned);
        create(&store, &NewCampaign { party, actor, ..NewCampaign::default() }, now())
    };
    for (members, actor) in
        [(&["a"][..], Some("b")), (&[][..], None), (&["a", "a"][..], None), (&["a", " "][..], None)]
    {
        assert!(party(members, actor).is_err(), "{members:?} {actor:?}");
    }
    let id = party(&["a", "b"], Some("b")).unwrap();
    assert_eq!(reader(&store, &id).active_actor().unwrap().as_deref(), Some("b"));
}

#[test]
fn the_active_actor_acts_unless_another_is_named() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let acts = |actor: Option<&'static str>| Submission { actor, ..Submission::new("x") };
    let mut say = |actor| {
        let mut narrator = RecordedNarrator::new([NarratorOutput::text("Silence.")]);
        campaign.submit(&acts(actor), &mut narrator, now())
    };
    let who = |row: &JsonTree| row.string_at(&["state_summary", "active_actor_id"]).unwrap();
    assert_eq!(who(&say(None).unwrap().row), "pc_001");
    assert_eq!(who(&say(Some("pc_002")).unwrap().row), "pc_002");
    for stranger in ["pc_003", "", "../x"] {
        let error = say(Some(stranger)).unwrap_err();
        let expect = format!("actor_id not in party_character_ids: {stranger:?}");
        assert_eq!(error.to_string(), expect);
    }
    assert!(campaign.select_actor("pc_002").unwrap());
    assert!(!campaign.select_actor("pc_002").unwrap());
    assert!(campaign.select_actor("pc_003").is_err());
    assert_eq!(who(&play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row), "pc_002");
    assert_eq!(campaign.turn(), 3);
}

#[test]
fn what_is_no_call_is_passed_over() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let calls = r#"[1, null, "move", [], {}, {"id": 1, "tool": "move", "args": {}},
        {"id": "a", "tool": "move", "args": []}, {"id": "a", "args": {}},
        {"id": "a", "tool": "move", "args": {}, "reason": 3},
        {"id": "b", "tool": "move", "args": {}, "reason": "why", "more": 1},
        {"id": "c", "tool": "move", "args": {}}]"#;
    let calls = JsonTree::parse(calls).unwrap().children().into_iter().map(|(_, call)| call);
    let output = NarratorOutput { tool_calls: calls.collect(), ..NarratorOutput::text("Silence.") };
    let row = value(&play(&mut campaign, output).unwrap().row);
    let expect = json!([
        {"id": "b", "tool": "move", "args": {}, "reason": "why"},
        {"id": "c", "tool": "move", "args": {}, "reason": null}
    ]);
    assert_eq!(row["assistant_structured"]["tool_calls"], expect);
    assert_eq!(row["tool_feedback"]["failed_calls"].as_array().unwrap().len(), 2);
}

#[test]
fn calls_nested_without_end_are_passed_over() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let deep = format!(
        r#"{{"id":"a","tool":"move","args":{{"x":{}{}}}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let output = NarratorOutput {
        tool_calls: vec![JsonTree::parse(deep).unwrap()],
        ..NarratorOutput::text("Silence.")
    };
    let row = value(&play(&mut campaign, output).unwrap().row);
    assert_eq!(row["assistant_structured"]["tool_calls"], json!([]));
}

#[test]
fn a_campaign_that_is_over_takes_no_turns() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    let fall =
        |who: &str| ("hp_delta", json!({"target_character_id": who, "delta": -10, "cause": "x"}));
    play(&mut campaign, answer("", &[fall("pc_002")])).unwrap();
    let row = play(&mut campaign, answer("", &[fall("pc_001")])).unwrap().row;
    assert_eq!(
        value(&row)["state_summary"]["character_states"],
        json!({"pc_001": "dying", "pc_002": "dying"})
    );
    let lifecycle = value(campaign.state().unwrap())["lifecycle"].clone();
    let expect =
        json!({"ended": true, "reason": "party_dead", "ended_at": "2026-01-14T16:05:00+00:00"});
    assert_eq!(lifecycle, expect);
    let log = read(&store, LOG);
    let error = play(&mut campaign, NarratorOutput::text("x")).unwrap_err();
    assert_eq!(error.to_string(), "campaign has ended: party_dead");
    assert_eq!(read(&store, LOG), log);
}

#[test]
fn first_rules_know_no_end_and_no_milestones() {
    let (store, id) = first_with(|document| {
        document["character_states"] = json!({"pc_001": "dying", "pc_002": "dead"});
        document["goal"]["status"] = "completed".into();
    });
    let mut campaign = open(&store, &id);
    let before = read(&store, "campaigns/camp_0001/campaign.json");
    for _ in 0..8 {
        play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    }
    assert_eq!(read(&store, "campaigns/camp_0001/campaign.json"), before);
}

#[test]
fn second_rules_reach_milestones() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    let mut seen = Vec::new();
    for _ in 0..13 {
        play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
        seen.push(campaign.state().unwrap().string_at(&["milestone", "current"]).unwrap());
    }
    assert_eq!(seen[4..7], ["intro", "milestone_1", "milestone_1"]);
    assert_eq!(seen[10..], ["milestone_1", "milestone_2", "milestone_2"]);
}

#[test]
fn second_rules_turn_away_what_failed_three_times() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    let mut reasons = Vec::new();
    for turn in 0..6 {
        // The order of arguments does not make another request.
        let args = if turn % 2 == 0 {
            json!({"to_area_id": "x", "b": 1})
        } else {
            json!({"b": 1, "to_area_id": "x"})
        };
        let row = value(&play(&mut campaign, answer("", &[("move", args)])).unwrap().row);
        let logged = row["assistant_structured"]["tool_calls"].as_array().unwrap().len();
        reasons.push((
            row["tool_feedback"]["failed_calls"][0]["reason"].as_str().unwrap().to_owned(),
            logged,
        ));
    }
    let tried = ("invalid_args".to_owned(), 1);
    let away = ("repeat_illegal_request".to_owned(), 0);
    // What was turned away is not among the calls of its row, so the next one is tried again.
    let expect = [tried.clone(), tried.clone(), tried.clone(), away, tried.clone(), tried];
    assert_eq!(reasons, expect);
}

#[test]
fn first_rules_try_everything_again() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    for _ in 0..5 {
        let row = value(&play(&mut campaign, answer("", &[("move", json!({}))])).unwrap().row);
        assert_eq!(row["tool_feedback"]["failed_calls"][0]["reason"], "invalid_args");
    }
}

#[test]
fn the_strict_guard_refuses_unknown_kinds_of_text() {
    let (store, id) = second(|document| {
        document["settings_snapshot"]["dialog"]["strict_semantic_guard"] = true.into();
    });
    let mut campaign = open(&store, &id);
    let say = |kind: &str| NarratorOutput {
        dialog_type: Some(kind.to_owned()),
        ..NarratorOutput::text("x")
    };
    let error = play(&mut campaign, say("poem")).unwrap_err();
    assert!(matches!(error, CampaignError::DialogType { .. }), "{error}");
    assert!(!exists(&store, LOG));
    assert_eq!(value(&play(&mut campaign, say("")).unwrap().row)["dialog_type_source"], "fallback");
    assert_eq!(
        value(&play(&mut campaign, say("ACTION_PROMPT")).unwrap().row)["dialog_type"],
        "action_prompt"
    );
    let (store, id) = first();
    let row = play(&mut open(&store, &id), say("poem")).unwrap().row;
    assert_eq!(value(&row)["dialog_type"], "scene_description");
    assert_eq!(value(&row)["dialog_type_source"], "fallback");
}

#[test]
fn the_summary_of_the_second_generation_has_more() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    let row = value(&play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row);
    let expect = json!({
        "active_actor_id": "pc_001",
        "positions": {"pc_001": "area_001", "pc_002": "area_001"},
        "positions_parent": {"pc_001": "area_001", "pc_002": "area_001"},
        "positions_child": {"pc_001": null, "pc_002": null},
        "hp": {"pc_001": 10, "pc_002": 10},
        "character_states": {"pc_001": "alive", "pc_002": "alive"},
        "inventories": {"pc_001": {"rope": 1}, "pc_002": {}},
        "objective": "Find the key",
        "active_area_id": "area_001",
        "active_area_name": "Hall",
        "active_area_description": "A hall.",
        "active_actor_inventory": {"rope": 1}
    });
    assert_eq!(row["state_summary"].to_string(), expect.to_string());
}

#[test]
fn the_summary_of_the_third_generation_has_the_stacks() {
    let (store, id) = second(|document| {
        document["items"] = json!({
            "stack_1": {"definition_id": "coin", "parent_type": "actor", "parent_id": "pc_002"},
            "stack_2": {"definition_id": "coin", "parent_type": "area", "parent_id": "area_001"}
        });
    });
    let mut campaign = open(&store, &id);
    let row = value(&play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row);
    let expect = json!({"pc_001": {}, "pc_002": {"coin": ["stack_1"]}});
    assert_eq!(row["state_summary"]["inventory_stack_ids"], expect);
}

#[test]
fn a_campaign_between_the_generations_keeps_both_kinds_of_positions() {
    let (store, id) = first_with(|document| {
        document["map"]["areas"]["area_001"]["reachable_area_ids"] = json!(["area_002"]);
        document["map"]["areas"]["area_002"]["reachable_area_ids"] = json!([]);
        let here = json!({"pc_001": "area_001", "pc_002": "area_001"});
        document["state"] = json!({"positions": here, "positions_parent": here,
            "positions_child": {"pc_001": null, "pc_002": null}});
    });
    let mut campaign = open(&store, &id);
    // Words are not looked at, and roads lead one way.
    let row =
        play(&mut campaign, answer("You move.", &[step("area_001", "area_002")])).unwrap().row;
    let row = value(&row);
    assert_eq!(row["applied_actions"][0]["result"], json!({"to_area_id": "area_002"}));
    assert_eq!(row["state_summary"]["positions_parent"]["pc_001"], "area_002");
    let state = value(campaign.state().unwrap());
    for positions in
        [&state["positions"], &state["state"]["positions"], &state["state"]["positions_parent"]]
    {
        assert_eq!(positions["pc_001"], "area_002");
    }
    let back = play(&mut campaign, answer("", &[step("area_002", "area_001")])).unwrap().row;
    assert_eq!(value(&back)["tool_feedback"]["failed_calls"][0]["reason"], "invalid_args");
}

#[test]
fn what_a_turn_needs_is_there_when_it_begins() {
    let (store, id) = first_with(|document| {
        document["map"] = json!({"areas": {}, "connections": []});
        for map in ["positions", "hp", "character_states"] {
            document[map] = json!({"pc_001": document[map]["pc_001"]});
        }
    });
    let mut campaign = open(&store, &id);
    let row = value(&play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row);
    assert_eq!(row["state_summary"]["positions"]["pc_002"], "area_001");
    assert_eq!(row["state_summary"]["hp"]["pc_002"], 10);
    assert_eq!(value(campaign.state().unwrap())["map"]["areas"]["area_002"]["name"], "Side Room");
    let (store, id) = second(|document| {
        document["actors"].as_object_mut().unwrap().remove("pc_002");
        document["map"]["areas"] = json!({"b": {"id": "b", "reachable_area_ids": []}});
    });
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(value(campaign.state().unwrap())["actors"]["pc_002"]["position"], "b");
}

#[test]
fn an_input_of_a_megabyte_is_a_turn() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let long = "ü\u{1b}[31m\0".repeat(1 << 17);
    let mut narrator = RecordedNarrator::new([NarratorOutput::text("Silence.")]);
    campaign.submit(&Submission::new(&long), &mut narrator, now()).unwrap();
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    let campaign = reader(&store, &id);
    assert_eq!(campaign.turn(), 2);
    let first = campaign.rows().unwrap().next().unwrap().unwrap();
    assert_eq!(first.row.string_at(&["user_input"]).unwrap(), long);
    assert!(!read(&store, LOG).contains('\u{1b}'));
}

#[test]
fn turn_numbers_follow_the_last_row_whatever_was_before() {
    let (store, id) = first();
    put(
        &store,
        LOG,
        "{\"turn_id\": \"turn_0003\"}\n\n{\"turn_id\": \"turn_9999\"}\nnoise\n{\"x\": 1}\n",
    );
    let mut campaign = open(&store, &id);
    assert_eq!(campaign.turn(), 9999);
    let row = play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row;
    assert_eq!(row.string_at(&["turn_id"]).unwrap(), "turn_10000");
}

#[test]
fn a_campaign_has_one_writer() {
    let (store, id) = first();
    let campaign = open(&store, &id);
    let error = everturn::campaign::CampaignWriter::open(Arc::clone(&store), &id).err().unwrap();
    assert!(matches!(error, CampaignError::Store(StoreError::Busy { .. })), "{error}");
    assert!(Campaign::open(Arc::clone(&store), &id).is_ok(), "readers do not wait");
    campaign.release().unwrap();
    open(&store, &id).release().unwrap();
    let nobody = Campaign::open(store, &crate::campaign::support::id("camp_0404")).err().unwrap();
    assert!(matches!(nobody, CampaignError::NoCampaign { .. }), "{nobody}");
}

#[test]
fn recorded_answers_may_be_texts_or_objects() {
    let parse = |text: &str| NarratorOutput::from_tree(&JsonTree::parse(text).unwrap());
    assert_eq!(parse("\"Hm.\"").unwrap().text, "Hm.");
    let output =
        parse(r#"{"assistant_text": "A", "dialog_type": "B", "tool_calls": [1, 2]}"#).unwrap();
    assert_eq!(
        (output.text.as_str(), output.dialog_type.as_deref(), output.tool_calls.len()),
        ("A", Some("B"), 2)
    );
    let logged = r#"{"assistant_text": "A", "assistant_structured": {"tool_calls": [1]}}"#;
    assert_eq!(parse(logged).unwrap().tool_calls.len(), 1);
    let odd = parse(r#"{"assistant_text": 1, "dialog_type": [], "tool_calls": {}}"#).unwrap();
    assert_eq!((odd.text.as_str(), odd.dialog_type, odd.tool_calls.len()), ("", None, 0));
    for none in ["1", "[]", "null", "true"] {
        assert!(parse(none).is_err(), "{none}");
    }
}
