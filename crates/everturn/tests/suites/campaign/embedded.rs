//! The embedded narrator: what it does by the rules of each generation, and that it never contradicts a state.

use std::sync::Arc;

use everturn::campaign::{
    CampaignError, CampaignWriter, EmbeddedNarrator, Generation, PlayOutcome, Submission,
};
use everturn::names::SessionId;
use everturn::store::Store;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::campaign::support::{first, first_with, now, open, reader, second, value};

fn say(campaign: &mut CampaignWriter, seed: u64, input: &str) -> PlayOutcome {
    let played = campaign.submit(&Submission::new(input), &mut EmbeddedNarrator::new(seed), now());
    played.unwrap_or_else(|error| panic!("{input}: {error}"))
}

/// What a turn says and does, for people to read.
fn shown(input: &str, played: &PlayOutcome) -> String {
    let row = value(&played.row);
    let text = row["assistant_text"].as_str().unwrap();
    let mut out = format!("> {input}\n[{}]\n{text}\n", row["dialog_type"].as_str().unwrap());
    for action in row["applied_actions"].as_array().unwrap() {
        out += &format!(
            "  {} {} -> {}\n",
            action["tool"].as_str().unwrap(),
            action["args"],
            action["result"]
        );
    }
    assert_eq!(row["tool_feedback"], Value::Null, "{input}: {row}");
    assert_eq!(row["conflict_report"], Value::Null, "{input}: {row}");
    assert_eq!(row["dialog_type_source"], "model");
    out + "\n"
}

/// A game of these inputs.
fn game(store: &Arc<dyn Store>, id: &SessionId, seed: u64, inputs: &[&str]) -> String {
    let mut campaign = open(store, id);
    inputs.iter().map(|input| shown(input, &say(&mut campaign, seed, input))).collect()
}

/// A campaign between the generations: maps as in the first, roads as in the second.
fn between(change: impl FnOnce(&mut Value)) -> (Arc<dyn Store>, SessionId) {
    first_with(|document| {
        change(document);
        document["map"]["areas"]["area_001"]["reachable_area_ids"] = json!(["area_002"]);
        document["map"]["areas"]["area_002"]["reachable_area_ids"] = json!(["area_001"]);
        document["state"] = json!({"positions": {}, "positions_parent": {}, "positions_child": {}});
    })
}

fn third() -> (Arc<dyn Store>, SessionId) {
    second(|document| {
        document["items"] = json!({});
        document["entities"] = json!({});
    })
}

/// The tools that an input leads to, one after another.
#[track_caller]
fn tools(campaign: &mut CampaignWriter, seed: u64, input: &str, expect: &[&str]) -> Value {
    let row = value(&say(campaign, seed, input).row);
    let mut applied = row["applied_actions"].as_array().unwrap().clone();
    // A foe that happens to be there strikes whatever the player does.
    let is_blow = |action: &Value| action["args"]["delta"].as_i64().is_some_and(|delta| delta < 0);
    applied.retain(|action| !is_blow(action));
    applied.dedup_by(|one, other| one["tool"] == other["tool"]);
    let names: Vec<&str> = applied.iter().map(|action| action["tool"].as_str().unwrap()).collect();
    assert_eq!(names, expect, "{input}: {row}");
    applied.first().cloned().unwrap_or_default()
}

const SHORT_GAME: &[&str] = &[
    "look around",
    "I talk to the stranger",
    "where can I go?",
    "take it",
    "go to area_002",
    "attack!",
    "attack it again",
    "hit it once more",
    "search the place",
    "rest",
    "explore",
    "yes",
    "summarise what happened so far",
    "what are the rules of fights?",
    "go back",
    "inventory",
    "frobnicate the constellations",
];

#[test]
#[expect(clippy::disallowed_methods, reason = "the transcript is not stored data")]
fn a_short_game_reads_as_it_should() {
    let (store, id) = first();
    let found = game(&store, &id, 7, SHORT_GAME);
    let expect = include_str!("embedded.txt");
    if std::env::var_os("EVERTURN_BLESS").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/campaign/embedded.txt");
        std::fs::write(file, &found).unwrap();
        return;
    }
    assert_eq!(found, expect, "EVERTURN_BLESS=1 writes it anew");
}

#[test]
fn the_same_seed_tells_the_same_story_and_another_one_does_not() {
    let tell = |seed: u64| {
        let (store, id) = first();
        game(&store, &id, seed, SHORT_GAME)
    };
    assert_eq!(tell(1), tell(1));
    assert_ne!(tell(1), tell(2));
}

#[test]
fn tools_are_called_by_the_rules_of_the_first_generation() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let moved = tools(&mut campaign, 1, "go to area_002", &["move"]);
    let args = json!({"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"});
    assert_eq!(moved["args"], args);
    tools(&mut campaign, 1, "where can I go?", &[]);
    tools(&mut campaign, 1, "take everything", &[]);
    let made = tools(&mut campaign, 1, "explore", &["map_generate"]);
    assert_eq!(made["args"], json!({"parent_area_id": "area_002"}));
    assert_eq!(made["result"], json!({"new_area_id": "area_003"}));
    tools(&mut campaign, 1, "go to area_003", &["move"]);
    tools(&mut campaign, 1, "go back", &["move"]);
    let positions = value(campaign.state().unwrap())["positions"].clone();
    assert_eq!(positions, json!({"pc_001": "area_002", "pc_002": "area_001"}));
}

#[test]
fn tools_are_called_by_the_rules_of_the_later_generations() {
    for (store, id) in [second(|_| {}), third()] {
        let mut campaign = open(&store, &id);
        let asked = tools(&mut campaign, 1, "where can I go?", &["move_options"]);
        assert_eq!(asked["args"], json!({"actor_id": "pc_001"}));
        let taken = tools(&mut campaign, 1, "take everything", &["inventory_add"]);
        assert_eq!(taken["args"]["quantity"], 1);
        let moved = tools(&mut campaign, 1, "to the stairs", &["move"]);
        assert_eq!(moved["args"], json!({"actor_id": "pc_001", "to_area_id": "area_002"}));
        let made = tools(&mut campaign, 1, "explore", &["map_generate"]);
        assert_eq!(made["result"]["created_area_ids"], json!(["area_004", "area_005"]));
        let item = taken["args"]["item_id"].as_str().unwrap().to_owned();
        let state = value(campaign.state().unwrap());
        assert_eq!(state["actors"]["pc_001"]["inventory"][&item], 1);
    }
}

#[test]
fn a_person_who_joins_becomes_a_member_of_the_party() {
    for seed in 0..80 {
        let (store, id) = second(|_| {});
        let mut campaign = open(&store, &id);
        say(&mut campaign, seed, "to the stairs");
        let world = value(campaign.state().unwrap())["everturn"]["world"].clone();
        let quest = &world["quest"];
        let mut people = world["people"].as_object().unwrap().iter();
        let is_free = |(id, person): &(&String, &Value)| {
            let needed =
                ["giver", "informant", "rival"].iter().any(|role| quest[role] == id.as_str());
            !needed && person["at"] == "area_002"
        };
        let Some((_, person)) = people.find(is_free) else { continue };
        let name = person["name"].as_str().unwrap();
        let row = value(&say(&mut campaign, seed, &format!("{name}, will you join us?")).row);
        let applied = row["applied_actions"].as_array().unwrap();
        let Some(joined) = applied.iter().find(|action| action["tool"] == "actor_spawn") else {
            continue;
        };
        assert_eq!(joined["args"]["spawn_position"], "area_002");
        let state = value(campaign.state().unwrap());
        let member = &state["selected"]["party_character_ids"][2];
        assert_eq!(*member, joined["result"]["actor_id"]);
        // They follow from now on.
        tools(&mut campaign, seed, "explore", &["map_generate"]);
        say(&mut campaign, seed, "go to area_004");
        let state = value(campaign.state().unwrap());
        let positions = |actor: &str| state["actors"][actor]["position"].clone();
        assert_eq!(positions(member.as_str().unwrap()), positions("pc_001"));
        return;
    }
    panic!("nobody joined");
}

#[test]
fn maps_between_the_generations_grow_and_can_be_walked() {
    let (store, id) = between(|_| {});
    let mut campaign = open(&store, &id);
    assert_eq!(reader(&store, &id).generation().unwrap(), Generation::Between);
    tools(&mut campaign, 3, "explore", &["map_generate"]);
    let moved = tools(&mut campaign, 3, "go to area_003", &["move"]);
    assert_eq!(moved["args"]["from_area_id"], "area_001");
}

#[test]
fn what_is_not_allowed_is_not_asked_for() {
    let (store, id) = first_with(|document| document["allowlist"] = json!([]));
    let mut campaign = open(&store, &id);
    for input in ["go to area_002", "explore", "attack", "search", "rest"] {
        tools(&mut campaign, 1, input, &[]);
    }
}

#[test]
fn who_is_dying_can_hold_on_and_nothing_else() {
    let (store, id) = first_with(|document| {
        document["hp"]["pc_001"] = json!(-2);
        document["character_states"]["pc_001"] = json!("dying");
    });
    let mut campaign = open(&store, &id);
    tools(&mut campaign, 1, "go to area_002", &[]);
    tools(&mut campaign, 1, "look", &[]);
    tools(&mut campaign, 1, "rest", &["hp_delta"]);
    let state = value(campaign.state().unwrap());
    assert_eq!(state["character_states"]["pc_001"], "alive");
    assert!(state["hp"]["pc_001"].as_i64().unwrap() > 0);
    for state in ["unconscious", "dead", "restrained_permanent", "bewildered"] {
        let (store, id) = first_with(|document| {
            document["character_states"]["pc_001"] = json!(state);
        });
        let mut campaign = open(&store, &id);
        for input in ["go to area_002", "rest", "look", "attack", "take it"] {
            tools(&mut campaign, 1, input, &[]);
        }
    }
}

#[test]
fn a_companion_who_is_down_can_be_helped_up() {
    let (store, id) = first_with(|document| {
        document["hp"]["pc_002"] = json!(-7);
        document["character_states"]["pc_002"] = json!("dying");
    });
    let mut campaign = open(&store, &id);
    let helped = tools(&mut campaign, 1, "help pc_002", &["hp_delta"]);
    assert_eq!(helped["args"]["target_character_id"], "pc_002");
    let state = value(campaign.state().unwrap());
    assert_eq!(state["character_states"]["pc_002"], "alive");
}

#[test]
fn a_fight_ends_with_a_winner() {
    let (mut won, mut lost) = (0, 0);
    for seed in 0..40 {
        let (store, id) = first();
        let mut campaign = open(&store, &id);
        // The first place beyond the map is a den.
        say(&mut campaign, seed, "explore");
        say(&mut campaign, seed, "go to area_003");
        let foe = |campaign: &CampaignWriter| {
            let foes = value(campaign.state().unwrap())["everturn"]["world"]["foes"].clone();
            let foe = foes.as_object().unwrap().values().find(|foe| foe["at"] == "area_003");
            foe.map(|foe| foe["name"].as_str().unwrap().to_owned())
        };
        assert!(foe(&campaign).is_some(), "seed {seed}: there is nothing to fight");
        let is_over = (0..60).any(|_| {
            let Some(name) = foe(&campaign) else { return true };
            say(&mut campaign, seed, &format!("attack the {name}"));
            value(campaign.state().unwrap())["character_states"]["pc_001"] == "dying"
        });
        assert!(is_over, "seed {seed}: the fight goes on for ever");
        if foe(&campaign).is_none() { won += 1 } else { lost += 1 }
    }
    assert!(won > 5 && lost > 0, "{won} won, {lost} lost");
}

/// A row of areas, each connected with the next.
fn long_row(document: &mut Value, length: usize) {
    let id = |number: usize| format!("area_{number:04}");
    for number in 1..=length {
        document["map"]["areas"][id(number)] =
            json!({"id": id(number), "name": format!("Cell {number}"), "parent_area_id": null});
    }
    let connection = |from: usize| json!({"from_area_id": id(from), "to_area_id": id(from + 1)});
    document["map"]["connections"] = (1..length).map(connection).collect();
    document["positions"] = json!({"pc_001": id(5), "pc_002": id(5)});
}

#[test]
fn the_way_to_a_far_place_is_told_also_on_a_large_map() {
    let (store, id) = first_with(|document| long_row(document, 3000));
    let mut campaign = open(&store, &id);
    let text = |played: &PlayOutcome| played.row.string_at(&["assistant_text"]).unwrap();
    let told = text(&say(&mut campaign, 1, "go to area_2999"));
    assert!(told.contains("Cell 2999") && told.contains("Cell 6"), "{told}");
    let told = text(&say(&mut campaign, 1, "go to cell 5"));
    assert!(told.contains("You are at: Cell 5"), "{told}");
    let told = text(&say(&mut campaign, 1, "go to the moon"));
    assert!(told.contains("Ways: "), "{told}");
    tools(&mut campaign, 1, "cell 6", &["move"]);
    tools(&mut campaign, 1, "explore", &[]);
}

#[test]
fn what_is_taken_back_is_forgotten() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let text = |played: &PlayOutcome| played.row.string_at(&["assistant_text"]).unwrap();
    say(&mut campaign, 1, "take everything");
    assert!(!text(&say(&mut campaign, 1, "inventory")).contains("You carry: nothing"));
    campaign.undo(2, now()).unwrap();
    assert!(text(&say(&mut campaign, 1, "inventory")).contains("You carry: nothing"));
}

#[test]
fn a_second_narrator_sees_the_world_of_the_first() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let text = |played: &PlayOutcome| played.row.string_at(&["assistant_text"]).unwrap();
    let opening = say(&mut campaign, 7, "");
    assert_eq!(value(&opening.row)["user_input"], "");
    say(&mut campaign, 7, "take everything");
    let carried = text(&say(&mut campaign, 7, "inventory"));
    campaign.release().unwrap();
    let mut campaign = open(&store, &id);
    assert_eq!(text(&say(&mut campaign, 99, "inventory")), carried);
    let state = value(campaign.state().unwrap());
    assert_eq!(state["everturn"]["world"]["seed"], 7);
    let name = state["map"]["areas"]["area_001"]["name"].as_str().unwrap();
    assert!(text(&opening).contains(name), "{name}");
    assert_ne!(state["goal"]["text"], "Define the main objective");
}

#[test]
fn fields_of_other_programs_survive_in_the_world() {
    let (store, id) = first_with(|document| {
        document["everturn"] =
            json!({"title": "Salt", "world": {"version": 1, "seed": 5, "strange": [1, 2]}});
    });
    let mut campaign = open(&store, &id);
    say(&mut campaign, 1, "look");
    let state = value(campaign.state().unwrap());
    assert_eq!(state["everturn"]["title"], "Salt");
    assert_eq!(state["everturn"]["world"]["strange"], json!([1, 2]));
    assert_eq!(state["everturn"]["world"]["seed"], 5);
}

#[test]
fn a_world_that_cannot_be_read_stops_the_turn_and_changes_nothing() {
    let (store, id) = first_with(|document| document["everturn"] = json!({"world": {"items": 3}}));
    let mut campaign = open(&store, &id);
    let before = value(campaign.state().unwrap());
    let told = campaign.submit(&Submission::new("look"), &mut EmbeddedNarrator::new(1), now());
    let error = told.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("everturn.world"), "{cause}");
    assert_eq!(value(campaign.state().unwrap()), before);
    assert_eq!(campaign.turn(), 0);
}

/// Words that a player may say, those among them that make conflicts, and some that nobody would.
fn input() -> impl Strategy<Value = String> {
    let phrase = prop_oneof![
        prop_oneof![
            Just("look"),
            Just("go"),
            Just("go back"),
            Just("go to"),
            Just("north"),
            Just("explore"),
            Just("attack"),
            Just("rest"),
            Just("heal"),
            Just("search"),
            Just("take"),
            Just("talk"),
            Just("inventory"),
            Just("rules"),
            Just("summarise"),
            Just("help"),
            Just("wait"),
            Just("where can i go"),
            Just("join us"),
            Just("goal"),
            Just("status"),
            Just("take everything"),
            Just("flee"),
        ],
        prop_oneof![
            Just("area_001"),
            Just("area_002"),
            Just("area_003"),
            Just("pc_002"),
            Just("move to the dead"),
            Just("he dies"),
            Just("hp"),
            Just("damage"),
            Just("new rule"),
            Just("change the rules"),
            Just("the stairs"),
            Just("side room"),
            Just("it"),
            Just("attic"),
            Just("\u{1b}[31m"),
            Just("門が開く"),
        ],
    ];
    proptest::collection::vec(phrase, 0..4).prop_map(|words| words.join(" "))
}

/// Names, goals and states that are as bad as they come.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Hall".to_owned()),
        Just("the dead move".to_owned()),
        Just("map changed".to_owned()),
        Just(String::new()),
        Just("Health Centre".to_owned()),
        Just("a\nb\u{7}".to_owned()),
        Just("x".repeat(500)),
        Just("Generated Area".to_owned()),
        any::<String>(),
    ]
}

fn damage(
    document: &mut Value,
    (name, goal, state, hp, item): &(String, String, usize, i64, String),
) {
    let state = ["alive", "dying", "dead", "unconscious", "restrained_permanent", "odd"][state % 6];
    document["map"]["areas"]["area_001"]["name"] = json!(name);
    document["goal"]["text"] = json!(goal);
    if document["actors"].is_object() {
        document["actors"]["pc_002"]["character_state"] = json!(state);
        document["actors"]["pc_001"]["hp"] = json!(hp.max(&1));
        document["actors"]["pc_001"]["inventory"] = json!({item.as_str(): 2});
        document["settings_snapshot"]["dialog"]["conflict_text_checks_enabled"] =
            json!(hp % 2 == 0);
        document["settings_snapshot"]["dialog"]["strict_semantic_guard"] = json!(hp % 3 == 0);
    } else {
        document["character_states"]["pc_002"] = json!(state);
        document["hp"]["pc_001"] = json!(hp);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// Every turn ends with a row that has no failed call and needed no second answer. Only a campaign that is
    /// over takes no more turns.
    #[test]
    fn no_input_leads_to_a_conflict(
        shape in 0..4_usize,
        seed in any::<u64>(),
        facts in (text(), text(), 0..6_usize, prop_oneof![-5..14_i64, any::<i64>()], text()),
        inputs in proptest::collection::vec(prop_oneof![9 => input(), 1 => any::<String>()], 1..14),
    ) {
        let (store, id) = match shape {
            0 => first_with(|document| damage(document, &facts)),
            1 => between(|document| damage(document, &facts)),
            2 => second(|document| damage(document, &facts)),
            _ => second(|document| {
                damage(document, &facts);
                document["items"] = json!({});
            }),
        };
        let mut campaign = open(&store, &id);
        for input in &inputs {
            match campaign.submit(&Submission::new(input), &mut EmbeddedNarrator::new(seed), now()) {
                Ok(played) => drop(shown(input, &played)),
                Err(CampaignError::Ended { .. }) if shape >= 2 => break,
                Err(error) => panic!("{input:?}: {error}"),
            }
        }
    }
}
