//! Short stories with a known outcome.

use super::super::intent::words;
use super::super::{EmbeddedNarrator, LanguagePack, Tongue};
use super::winner::win;
use super::{GameTable, document};
use everturn_value::tree::JsonTree;
use serde_json::json;

#[test]
fn one_seed_gives_one_story_and_another_narrator_keeps_it() {
    let tell = |seed: u64, late: u64| {
        let mut table = GameTable::new(seed, "en");
        let mut all = table.say("");
        table.narrator = EmbeddedNarrator::new(late);
        for input in ["look", "explore", "yes", "search", "talk", "goal"] {
            all.push_str(&table.say(input));
        }
        all
    };
    assert_eq!(tell(1, 1), tell(1, 1));
    assert_eq!(tell(1, 1), tell(1, 99), "the stored seed counts");
    assert_ne!(tell(1, 1), tell(2, 2));
}

#[test]
fn the_world_is_stored_and_does_not_depend_on_the_log() {
    let mut table = GameTable::new(4, "en");
    table.say("");
    table.say("take everything");
    let carried = table.say("inventory");
    for _ in 0..60 {
        table.say("wait");
    }
    table.rows.clear();
    assert_eq!(table.say("inventory"), carried);
    let here = table.here();
    let name = table.view().area_name(&here).unwrap();
    assert_ne!(name, "Starting Area");
    assert_ne!(table.campaign.string_at(&["goal", "text"]).unwrap(), "Define the main objective");
    assert_eq!(table.narrator.place_name(&table.campaign, &here), format!("the {name}"));
}

#[test]
fn companions_follow_when_asked_and_stay_when_told() {
    let mut table = GameTable::new(5, "en");
    table.say("");
    table.say("explore");
    table.say("I tell Joss to follow me");
    table.say("go to area_003");
    assert_eq!(table.view().position("Joss").as_deref(), Some("area_003"));
    table.say("Joss, wait here");
    table.say("go to area_001");
    assert_eq!(table.view().position("Joss").as_deref(), Some("area_003"));
}

#[test]
fn a_question_which_one_is_answered_by_a_name() {
    for seed in 0..30 {
        let mut table = GameTable::new(seed, "en");
        table.say("");
        table.say("go to area_002");
        let text = table.say("ask about the quest");
        let Some(names) = text.strip_prefix("Which one: ") else { continue };
        let name = names.split([',', ' ']).next().unwrap().to_owned();
        let text = table.say(&name);
        assert!(text.contains(&format!("says {name}")) || text.contains(&name), "{text}");
        assert!(!text.contains("Which one"), "{text}");
        return;
    }
    panic!("nobody was ambiguous");
}

#[test]
fn an_old_campaign_goes_on_with_the_names_of_its_log() {
    let mut document = document();
    document["positions"] = json!({"Mira": "area_002", "Joss": "area_001"});
    let mut table = GameTable::of(&document, 7, "en");
    let row = json!({
        "turn_id": "turn_0001",
        "assistant_text": "You set out, and before long you stand in the Winter Watch. The wind has room here.",
        "applied_actions": [{"tool": "move", "args": {}, "result": {"to_area_id": "area_002"}}],
        "state_summary": {"active_actor_id": "Mira", "positions": {"Mira": "area_002", "Joss": "area_001"}},
    });
    table.rows.push_back(JsonTree::from_value(&row).unwrap());
    table.turn = 1;
    let text = table.say("look");
    assert!(text.contains("Winter Watch"), "{text}");
    assert_eq!(table.view().area_name("area_002").as_deref(), Some("Winter Watch"));
}

#[test]
fn a_goal_of_the_campaign_is_kept_and_can_be_reached() {
    let mut document = document();
    document["goal"]["text"] = json!("Find out who rang the bell");
    let mut table = GameTable::of(&document, 3, "en");
    let text = table.say("");
    assert!(text.contains("Find out who rang the bell"), "{text}");
    assert_eq!(win(&mut table), "achieved");
    assert_eq!(
        table.campaign.string_at(&["goal", "text"]).as_deref(),
        Some("Find out who rang the bell")
    );
}

#[test]
fn the_language_follows_the_player_and_others_are_refused_plainly() {
    let mut table = GameTable::of(&document(), 3, "");
    let text = table.say("schau dich um");
    assert!(text.contains("Wege: "), "{text}");
    let text = table.say("je regarde la table");
    assert!(text.contains("Ich kann nur Deutsch und Englisch"), "{text}");
    let text = table.say("please speak English");
    assert!(text.contains("told in English") && text.contains("Ways: "), "{text}");
    assert_eq!(table.world().language, "en");
}

#[test]
fn everything_can_be_dropped_and_a_way_that_was_found_can_be_taken() {
    for (language, inputs) in [
        (
            "en",
            ["search", "take everything", "drop everything", "inventory", "explore", "go there"],
        ),
        ("de", ["suche", "nimm alles", "lege alles ab", "inventar", "erkunde", "geh dorthin"]),
    ] {
        let mut table = GameTable::new(7, language);
        table.say("");
        let before = table.here();
        let told: Vec<String> = inputs.iter().map(|input| table.say(input)).collect();
        let held = table.world().items.values().filter(|item| item.at == "Mira").count();
        assert_eq!(held, 0, "{told:#?}");
        assert_ne!(table.here(), before, "{told:#?}");
    }
}

/// What a description mentions is not said to be absent.
#[test]
fn what_a_description_mentions_is_not_denied() {
    let mut table = GameTable::new(7, "en");
    table.say("");
    let place = table.world().places.get(&table.here()).unwrap().kind.clone();
    let pack = LanguagePack::of(Tongue::English);
    let sight = pack.place(&place).unwrap().sights[0].clone();
    let nouns = words(&sight);
    let word = nouns.iter().max_by_key(|word| word.len()).unwrap();
    let text = table.say(&format!("take the {word}"));
    assert!(!text.contains("Not here"), "{text}");
    assert!(table.say("take the zeppelin").contains("Not here: zeppelin"));
}
