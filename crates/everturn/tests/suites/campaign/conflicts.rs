//! Answers that contradict the state, and what becomes of them.

use everturn::campaign::{
    CampaignError, CampaignWriter, Narrator, NarratorError, NarratorOutput, NarratorRequest,
    RecordedNarrator, Submission,
};
use serde_json::{Value, json};

use crate::campaign::support::{
    answer, exists, first, first_with, now, open, play, read, second, step, value,
};

/// The conflicts of one answer: the same answer three times, so that it is refused.
fn conflicts(second_rules: bool, output: &NarratorOutput, dead: bool) -> Vec<Value> {
    let (store, id) = if second_rules {
        second(|document| {
            document["settings_snapshot"]["dialog"]["conflict_text_checks_enabled"] = true.into();
            if dead {
                document["actors"]["pc_002"]["character_state"] = "dead".into();
            }
        })
    } else {
        first_with(|document| {
            if dead {
                document["character_states"]["pc_002"] = "dead".into();
            }
        })
    };
    let mut campaign = open(&store, &id);
    let mut narrator = RecordedNarrator::new(vec![output.clone(); 3]);
    match campaign.submit(&Submission::new("x"), &mut narrator, now()) {
        Ok(_) => Vec::new(),
        Err(CampaignError::Conflicts { report }) => {
            assert_eq!(report.retries, 2);
            assert_eq!(narrator.left(), 0);
            assert!(!exists(&store, "campaigns/camp_0001/turn_log.jsonl"));
            assert!(!exists(&store, "campaigns/camp_0001/turn_deltas.jsonl"));
            report.to_value()["conflicts"].as_array().unwrap().clone()
        }
        Err(error) => panic!("{error}"),
    }
}

/// What a text without calls leads to, by both rules: type, field, expected and what is shown.
#[track_caller]
fn check(text: &str, expect: &[[&str; 4]]) {
    check_dialog(text, "scene_description", expect);
}

#[track_caller]
fn check_dialog(text: &str, dialog: &str, expect: &[[&str; 4]]) {
    for second_rules in [false, true] {
        let output =
            NarratorOutput { dialog_type: Some(dialog.to_owned()), ..NarratorOutput::text(text) };
        let found: Vec<[String; 4]> = conflicts(second_rules, &output, false)
            .iter()
            .map(|conflict| {
                ["type", "field", "expected", "found_in_text"]
                    .map(|key| conflict[key].as_str().unwrap().to_owned())
            })
            .collect();
        assert_eq!(found, expect, "{text}");
    }
}

fn change(found: &str) -> [&str; 4] {
    ["state_mismatch", "applied_actions", "no_state_change", found]
}

fn forbidden(found: &str) -> [&str; 4] {
    ["forbidden_change", "rules_or_world", "no_rule_or_world_change", found]
}

#[test]
fn a_text_must_not_tell_changes_that_did_not_happen() {
    check("Silence.", &[]);
    check("You MOVE on.", &[change("you move on.")]);
    check("You arrive.", &[change("move")]);
    check(
        "She enters a centered room, removed from all.",
        &[change(" a centered room, removed from all.")],
    );
    for word in ["arrives", "entered", "hp", "health", "damage", "heal", "healthy", "chp"] {
        check(word, &[change("move")]);
    }
    let far = format!("{} you move away from there, at last, my friend", "x".repeat(40));
    let shown = format!("{} you move away from there,", "x".repeat(15));
    check(&far, &[change(shown.get(..40).unwrap())]);
}

#[test]
fn nobody_is_dead_whom_the_state_does_not_know_as_dead() {
    let death = ["state_mismatch", "character_states", "no_dead_state", "dead"];
    check("He dies.", &[change("move"), death]);
    check(
        "It is dead.",
        &[change("move"), ["state_mismatch", "character_states", "no_dead_state", "it is dead."]],
    );
    for second_rules in [false, true] {
        let output = answer(
            "He dies.",
            &[("hp_delta", json!({"target_character_id": "pc_001", "delta": -1, "cause": "x"}))],
        );
        assert_eq!(conflicts(second_rules, &output, true), Vec::<Value>::new());
        let found = conflicts(second_rules, &output, false);
        assert_eq!((found.len(), &found[0]["field"]), (1, &json!("character_states")));
    }
}

#[test]
fn nobody_changes_the_rules() {
    for text in ["rewrite the rules", "rules updated", "a new rule", "change the rules"] {
        check(text, &[forbidden(text)]);
    }
    for text in ["the map changed", "the world changed", "the timeline changed"] {
        check(text, &[forbidden("rule")]);
    }
    check("The rules of old.", &[]);
}

#[test]
fn who_explains_rules_may_use_their_words() {
    check_dialog(
        "You may move, enter, heal, and die: the dead stay dead.",
        "rule_explanation",
        &[],
    );
    check_dialog(
        "I rewrite the rules, move.",
        "Rule_Explanation",
        &[forbidden("i rewrite the rules, move.")],
    );
}

#[test]
fn tools_that_failed_did_nothing() {
    let wrong = |tool: &str| (tool.to_owned(), json!({}));
    for (tool, text, found) in [
        ("move", "You moved.", "you moved."),
        ("move", "You ENTER.", "move"),
        ("hp_delta", "More health!", "hp"),
        ("map_generate", "A room.", "map"),
    ] {
        for second_rules in [false, true] {
            let (tool, args) = wrong(tool);
            let fine = ("map_generate", json!({"parent_area_id": "area_001"}));
            let all = conflicts(second_rules, &answer(text, &[(&tool, args), fine]), false);
            let failed = json!({"type": "tool_result_mismatch", "field": tool,
                "expected": "tool_failed", "found_in_text": found});
            // A call of map_generate without arguments is fine by the second rules.
            let works = second_rules && tool == "map_generate";
            assert_eq!(all, if works { vec![] } else { vec![failed] }, "{tool}: {text}");
        }
    }
}

#[test]
fn second_rules_look_at_words_only_if_told_to() {
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("You move, he dies, I rewrite the rules.")).unwrap();
    let there_and_back = [
        ("move", json!({"to_area_id": "area_002"})),
        ("move", json!({"to_area_id": "area_003"})),
        ("move", json!({"to_area_id": "area_009"})),
    ];
    let row = play(&mut campaign, answer("", &there_and_back)).unwrap().row;
    assert_eq!(value(&row)["state_summary"]["positions"]["pc_001"], "area_003");
    assert_eq!(value(&row)["conflict_report"], Value::Null);
}

/// Remembers what it is asked.
struct Attentive {
    outputs: Vec<NarratorOutput>,
    asked: Vec<(usize, Vec<Value>, Value)>,
}

impl Narrator for Attentive {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        let conflicts = request.conflicts.iter().map(|conflict| conflict.to_value()).collect();
        self.asked.push((request.retry, conflicts, value(request.campaign)));
        Ok(self.outputs.remove(0))
    }
}

#[test]
fn a_narrator_is_told_its_conflicts_and_asked_again_over_the_same_state() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let before = value(campaign.state().unwrap());
    let wrong = answer(
        "He dies.",
        &[step("area_001", "area_002"), ("map_generate", json!({"parent_area_id": "area_002"}))],
    );
    let outputs = vec![
        wrong,
        NarratorOutput::text("You move."),
        answer("You walk.", &[step("area_001", "area_002")]),
    ];
    let mut narrator = Attentive { outputs, asked: Vec::new() };
    let played = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap();
    let asked = narrator.asked;
    assert_eq!(asked.iter().map(|(retry, ..)| *retry).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(asked[0].1, Vec::<Value>::new());
    assert_eq!(asked[1].1[0]["field"], "character_states");
    assert_eq!(asked[2].1[0]["field"], "applied_actions");
    assert!(asked.iter().all(|(_, _, state)| *state == before));
    let row = value(&played.row);
    assert_eq!(row["conflict_report"]["retries"], 2);
    assert_eq!(row["conflict_report"]["conflicts"], json!(asked[2].1));
    assert_eq!(row["state_summary"]["positions"]["pc_001"], "area_002");
    assert!(!read(&store, "campaigns/camp_0001/campaign.json").contains("area_003"));
}

#[test]
fn a_narrator_without_an_answer_leaves_no_trace() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let mut narrator = RecordedNarrator::new([NarratorOutput::text("You move.")]);
    let error = campaign.submit(&Submission::new("x"), &mut narrator, now()).unwrap_err();
    assert!(matches!(error, CampaignError::Narrator(_)), "{error}");
    assert!(!exists(&store, "campaigns/camp_0001/turn_log.jsonl"));
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(campaign.turn(), 1);
}

#[test]
fn the_text_check_of_the_first_rules_can_be_switched_off() {
    let (store, id) = first();
    let key = "dialog.conflict_text_checks_enabled";
    let mut campaign = open(&store, &id);
    let text = "The movement of the crowd is slow.";
    let told = |campaign: &mut CampaignWriter| {
        let outputs = [(); 3].map(|()| NarratorOutput::text(text));
        let mut narrator = RecordedNarrator::new(outputs);
        campaign.submit(&Submission::new("watch"), &mut narrator, now())
    };
    assert!(matches!(told(&mut campaign), Err(CampaignError::Conflicts { .. })));
    let settings = campaign.campaign().settings().unwrap();
    assert!(settings.iter().any(|(setting, value)| setting.key == key && *value == true));
    let state = value(campaign.state().unwrap());
    assert_eq!(state["settings_snapshot"]["dialog"], json!({"auto_type_enabled": true}));
    campaign.patch_settings(&[(key.to_owned(), json!(false))]).unwrap();
    assert_eq!(told(&mut campaign).unwrap().turn, 1);
    campaign.patch_settings(&[(key.to_owned(), json!(true))]).unwrap();
    assert!(told(&mut campaign).is_err());
}
