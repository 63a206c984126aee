//! The state at any turn, undo, rewind, fork and checkpoints.

use everturn::campaign::{
    CampaignError, CampaignWriter, NarratorOutput, RecordedNarrator, fork, list,
};
use everturn::names::SessionId;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::json;
use std::sync::Arc;

use crate::campaign::support::{
    answer, at, exists, first, now, open, play, put, read, reader, second, step, value,
};

/// Six turns that change this and that; the documents after each of them, from turn 0 on.
fn story(campaign: &mut CampaignWriter) -> Vec<JsonTree> {
    let hurt = |delta: i64| {
        ("hp_delta", json!({"target_character_id": "pc_002", "delta": delta, "cause": "x"}))
    };
    let mut states = vec![campaign.state().unwrap().clone()];
    let outputs = [
        answer("", &[step("area_001", "area_002")]),
        answer("", &[hurt(-12)]),
        NarratorOutput::text("Silence."),
        answer(
            "",
            &[
                ("map_generate", json!({"parent_area_id": "area_002"})),
                step("area_002", "area_003"),
            ],
        ),
        answer("", &[hurt(5), hurt(1)]),
        answer("", &[step("area_003", "area_002")]),
    ];
    for output in outputs {
        play(campaign, output).unwrap();
        states.push(campaign.state().unwrap().clone());
    }
    states
}

fn settings(campaign: &mut CampaignWriter, checkpoints: u64) {
    campaign
        .patch_settings(&[("rollback.max_checkpoints".to_owned(), json!(checkpoints))])
        .unwrap();
}

fn assert_same(found: &JsonTree, expect: &JsonTree) {
    assert_eq!(found.to_line(), expect.to_line());
}

#[test]
fn the_state_at_any_turn_is_what_it_was() {
    let (store, id) = first();
    let states = story(&mut open(&store, &id));
    let campaign = reader(&store, &id);
    for (turn, expect) in (0..).zip(&states) {
        let moment = campaign.state_at(turn).unwrap();
        assert_eq!(moment.findings, [], "turn {turn}");
        assert_same(&moment.state, expect);
    }
    let error = campaign.state_at(7).unwrap_err();
    assert_eq!(error.to_string(), "there is no turn 7: the campaign has turns 0 to 6");
    let paths: Vec<String> =
        campaign.diff(1, 2).unwrap().iter().map(|delta| delta.path.to_string()).collect();
    assert_eq!(paths, ["hp.pc_002", "character_states.pc_002"]);
    assert_eq!(campaign.diff(2, 3).unwrap().len(), 0);
    assert_eq!(campaign.check().unwrap(), []);
}

#[test]
fn changes_between_turns_belong_to_the_turn_before() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    campaign.select_actor("pc_002").unwrap();
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    settings(&mut campaign, 0);
    campaign.select_actor("pc_001").unwrap();
    let actor = |turn: u64| {
        let state = reader(&store, &id).state_at(turn).unwrap().state;
        state.string_at(&["selected", "active_actor_id"]).unwrap()
    };
    assert_eq!((actor(0).as_str(), actor(1).as_str()), ("pc_002", "pc_001"));
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(
        (actor(0).as_str(), actor(1).as_str(), actor(2).as_str()),
        ("pc_002", "pc_001", "pc_001")
    );
}

#[test]
fn undo_is_a_turn_that_takes_others_back() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let states = story(&mut campaign);
    let undone = campaign.undo(2, at(9)).unwrap();
    assert_same(campaign.state().unwrap(), &states[4]);
    let row = value(&undone.row);
    assert_eq!(row["turn_id"], "turn_0007");
    assert_eq!(row["user_input"], "undo 2");
    assert_eq!(row["assistant_text"], "Took back turn_0005 to turn_0006.");
    assert_eq!(
        (&row["dialog_type"], &row["dialog_type_source"]),
        (&json!("resolution_summary"), &json!("fallback"))
    );
    assert_eq!(row["assistant_structured"], json!({"tool_calls": []}));
    assert_eq!(row["state_summary"]["positions"]["pc_001"], "area_003");
    campaign.undo(1, at(10)).unwrap();
    assert_same(campaign.state().unwrap(), &states[3]);
    campaign.undo(3, at(11)).unwrap();
    assert_same(campaign.state().unwrap(), &states[0]);
    assert!(campaign.undo(0, now()).is_err());
    let error = campaign.undo(1, now()).unwrap_err();
    assert!(error.to_string().contains("the story has 0"), "{error}");
    let campaign = reader(&store, &id);
    assert_eq!(campaign.turn(), 9);
    assert_eq!(campaign.story_back().unwrap().count(), 0);
    assert_same(&campaign.state_at(5).unwrap().state, &states[5]);
    assert_eq!(campaign.check().unwrap(), []);
}

/// The turns of the story, oldest first.
fn told(campaign: &everturn::campaign::Campaign) -> Vec<u64> {
    let mut turns: Vec<u64> = campaign.story_back().unwrap().map(|row| row.unwrap().turn).collect();
    turns.reverse();
    turns
}

#[test]
fn redo_brings_undone_turns_back_in_order() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    let states = story(&mut campaign);
    campaign.undo(1, at(7)).unwrap();
    campaign.undo(2, at(8)).unwrap();
    assert_same(campaign.state().unwrap(), &states[3]);
    settings(&mut campaign, 3);
    campaign.redo(1, at(9)).unwrap();
    assert_eq!(told(campaign.campaign()), [1, 2, 3, 4]);
    let state = value(campaign.state().unwrap());
    assert_eq!(state["map"], value(&states[4])["map"]);
    assert_eq!(state["settings_snapshot"]["rollback"]["max_checkpoints"], 3, "settings stay");
    settings(&mut campaign, 0);
    campaign.redo(2, at(10)).unwrap();
    assert_eq!(value(campaign.state().unwrap())["positions"], value(&states[6])["positions"]);
    assert_eq!(told(campaign.campaign()), [1, 2, 3, 4, 5, 6]);
    assert!(campaign.redo(1, now()).is_err(), "nothing is left");
    campaign.undo(1, at(11)).unwrap();
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert!(campaign.redo(1, now()).is_err(), "the story has gone on");
    assert_eq!(reader(&store, &id).check().unwrap(), []);
}

#[test]
fn a_turn_is_told_again_and_every_version_can_be_chosen() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    play(&mut campaign, answer("North.", &[step("area_001", "area_002")])).unwrap();
    let again = |campaign: &mut CampaignWriter, input: Option<&str>, output: NarratorOutput| {
        let mut narrator = RecordedNarrator::new([output]);
        campaign.retell(input, 0, &mut narrator, now())
    };
    let place =
        |campaign: &CampaignWriter| value(campaign.state().unwrap())["positions"]["pc_001"].clone();
    // A narrator that fails leaves everything as it was.
    assert!(campaign.retell(None, 0, &mut RecordedNarrator::new([]), now()).is_err());
    assert_eq!((campaign.turn(), place(&campaign)), (2, json!("area_002")));
    let told_again = again(&mut campaign, None, NarratorOutput::text("Nothing.")).unwrap();
    assert_eq!(value(&told_again.row)["user_input"], "go on");
    assert_eq!(place(&campaign), "area_001");
    again(&mut campaign, Some("wait"), NarratorOutput::text("You wait.")).unwrap();
    assert_eq!(told(campaign.campaign()), [1, 4]);
    let (versions, current) = campaign.campaign().last_versions().unwrap().unwrap();
    let texts: Vec<String> =
        versions.iter().map(|row| row.row.string_at(&["assistant_text"]).unwrap()).collect();
    assert_eq!((texts.join(" "), current), ("North. Nothing. You wait.".to_owned(), 2));
    campaign.choose_version(1, now()).unwrap();
    assert_eq!((told(campaign.campaign()), place(&campaign)), (vec![1, 2], json!("area_002")));
    assert!(campaign.choose_version(1, now()).is_err(), "it is the current one");
    assert!(campaign.choose_version(4, now()).is_err());
    campaign.choose_version(3, now()).unwrap();
    assert_eq!((told(campaign.campaign()), place(&campaign)), (vec![1, 4], json!("area_001")));
    campaign.undo(1, now()).unwrap();
    assert_eq!(told(campaign.campaign()), [1], "no version is left in the story");
    campaign.redo(1, now()).unwrap();
    assert_eq!(told(campaign.campaign()), [1, 4]);
    assert_eq!(reader(&store, &id).check().unwrap(), []);
}

/// A narrator that keeps what it was told.
struct Listener(Vec<String>);

impl everturn::campaign::Narrator for Listener {
    fn narrate(
        &mut self,
        request: &everturn::campaign::NarratorRequest<'_>,
    ) -> Result<NarratorOutput, everturn::campaign::NarratorError> {
        let said = request.recent.iter().filter_map(|row| row.string_at(&["assistant_text"]));
        self.0 = said.collect();
        Ok(NarratorOutput::text("Silence."))
    }
}

#[test]
fn undone_turns_leave_the_prompt_and_the_story() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("A gate.")).unwrap();
    play(&mut campaign, NarratorOutput::text("A golden crown.")).unwrap();
    campaign.undo(1, now()).unwrap();
    for reopened in [false, true] {
        if reopened {
            campaign.release().unwrap();
            campaign = open(&store, &id);
        }
        let mut narrator = Listener(Vec::new());
        campaign.retell(None, 0, &mut narrator, now()).unwrap();
        assert_eq!(narrator.0, Vec::<String>::new(), "the turn that is told again is not known");
        campaign.submit(&everturn::campaign::Submission::new("on"), &mut narrator, now()).unwrap();
        assert_eq!(narrator.0, ["Silence."]);
        campaign.undo(1, now()).unwrap();
    }
    let place = everturn::campaign::FORMAT.locate(&store).unwrap().sessions.remove(0);
    let reader = everturn::campaign::FORMAT.open(&store, &place).unwrap();
    let mut entries = reader.entries(0..=u64::MAX).unwrap();
    let mut texts = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        if !entry.kind.is_bookkeeping() {
            texts.push(entry.text);
        }
    }
    assert_eq!(texts, ["go on", "Silence."]);
}

#[test]
fn undo_leaves_settings_alone() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, answer("", &[step("area_001", "area_002")])).unwrap();
    settings(&mut campaign, 3);
    campaign.undo(1, now()).unwrap();
    let state = value(campaign.state().unwrap());
    assert_eq!(state["positions"]["pc_001"], "area_001");
    assert_eq!(state["settings_snapshot"]["rollback"]["max_checkpoints"], 3);
    assert_eq!(state["settings_revision"], 1);
}

fn ids(store: &Arc<dyn Store>) -> Vec<String> {
    list(store).unwrap().iter().map(SessionId::to_string).collect()
}

#[test]
fn rewind_returns_state_and_log_together_and_keeps_the_rest_as_a_branch() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    settings(&mut campaign, 3);
    let states = story(&mut campaign);
    let log = read(&store, "campaigns/camp_0001/turn_log.jsonl");
    let branched = campaign.rewind(4).unwrap();
    assert_eq!((branched.id.as_str(), branched.turn), ("camp_0002", 4));
    assert_eq!(ids(&store), ["camp_0001", "camp_0002"]);
    open(&store, &branched.id).release().unwrap();
    assert!(CampaignWriter::open(Arc::clone(&store), &id).is_err(), "it still has its writer");
    assert_eq!(campaign.turn(), 4);
    assert_same(campaign.state().unwrap(), &states[4]);
    let cut = read(&store, "campaigns/camp_0001/turn_log.jsonl");
    assert!(log.starts_with(&cut) && cut.lines().count() == 4);
    assert!(exists(&store, "campaigns/camp_0001/checkpoints/turn_0004.json"));
    assert!(!exists(&store, "campaigns/camp_0001/checkpoints/turn_0005.json"));
    assert!(exists(&store, "campaigns/camp_0002/checkpoints/turn_0006.json"));
    let row = play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row;
    assert_eq!(row.string_at(&["turn_id"]).unwrap(), "turn_0005");
    let branch = reader(&store, &branched.id);
    assert_eq!(read(&store, "campaigns/camp_0002/turn_log.jsonl"), log);
    let lineage = branch.lineage().unwrap().unwrap();
    assert_eq!(
        (lineage.parent.as_str(), lineage.turn, lineage.kind.as_str()),
        ("camp_0001", 4, "rewind")
    );
    assert_eq!(branch.state().unwrap().string_at(&["id"]).unwrap(), "camp_0002");
    for campaign in [reader(&store, &id), branch] {
        assert_eq!(campaign.check().unwrap(), []);
        assert_eq!(campaign.state_at(2).unwrap().findings, []);
    }
}

#[test]
fn rewind_to_the_start_leaves_a_campaign_without_a_log() {
    let (store, id) = first();
    let before = read(&store, "campaigns/camp_0001/campaign.json");
    let mut campaign = open(&store, &id);
    story(&mut campaign);
    campaign.rewind(0).unwrap();
    assert!(!exists(&store, "campaigns/camp_0001/turn_log.jsonl"));
    assert_eq!(read(&store, "campaigns/camp_0001/campaign.json"), before);
    assert_eq!(campaign.turn(), 0);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(reader(&store, &id).check().unwrap(), []);
    assert!(matches!(campaign.rewind(2), Err(CampaignError::NoTurn { turn: 2, last: 1 })));
}

#[test]
fn a_fork_goes_its_own_way() {
    let (store, id) = second(|_| {});
    put(&store, "campaigns/camp_0001/characters/generated/a.json", "{}");
    let mut campaign = open(&store, &id);
    for _ in 0..3 {
        play(&mut campaign, answer("", &[("inventory_add", json!({"item_id": "coin"}))])).unwrap();
    }
    let busy = fork(&store, &id, 2, None).unwrap_err();
    assert!(matches!(busy, CampaignError::Store(_)), "{busy}");
    campaign.release().unwrap();
    let made = fork(&store, &id, 2, Some(&crate::campaign::support::id("mine"))).unwrap();
    assert_eq!(made.id.as_str(), "mine");
    for taken in [&made.id, &id] {
        let error = fork(&store, &id, 2, Some(taken)).unwrap_err();
        assert!(matches!(error, CampaignError::Taken { .. }), "{error}");
    }
    assert!(fork(&store, &id, 4, None).is_err(), "there is no such turn");
    let mut mine = open(&store, &made.id);
    let coins = |campaign: &CampaignWriter| {
        campaign.state().unwrap().text_at(&["actors", "pc_001", "inventory", "coin"]).unwrap()
    };
    assert_eq!((mine.turn(), coins(&mine).as_str()), (2, "2"));
    play(&mut mine, answer("", &[("inventory_add", json!({"item_id": "coin", "quantity": 5}))]))
        .unwrap();
    assert_eq!((coins(&mine).as_str(), coins(&open(&store, &id)).as_str()), ("7", "3"));
    assert!(exists(&store, "campaigns/mine/characters/generated/a.json"));
    let lineage = reader(&store, &made.id).lineage().unwrap().unwrap();
    assert_eq!(lineage.kind, "fork");
    assert_eq!(reader(&store, &made.id).check().unwrap(), []);
}

fn checkpoints(store: &Arc<dyn Store>) -> Vec<String> {
    let Ok(listing) =
        store.list(&crate::campaign::support::path("campaigns/camp_0001/checkpoints"))
    else {
        return Vec::new();
    };
    listing.entries.iter().map(|entry| entry.name.to_string()).collect()
}

#[test]
fn as_many_checkpoints_are_kept_as_the_settings_say() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(checkpoints(&store), Vec::<String>::new());
    settings(&mut campaign, 2);
    assert_eq!(checkpoints(&store), Vec::<String>::new());
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    play(&mut campaign, answer("", &[step("area_001", "area_002")])).unwrap();
    assert_eq!(checkpoints(&store), ["turn_0002.json", "turn_0003.json"]);
    let file = "campaigns/camp_0001/campaign.json";
    assert_eq!(read(&store, "campaigns/camp_0001/checkpoints/turn_0003.json"), read(&store, file));
    campaign.undo(1, now()).unwrap();
    assert_eq!(checkpoints(&store), ["turn_0003.json", "turn_0004.json"]);
    campaign.release().unwrap();
    let mut campaign = open(&store, &id);
    settings(&mut campaign, 1);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(checkpoints(&store), ["turn_0005.json"]);
    settings(&mut campaign, 0);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    assert_eq!(checkpoints(&store), Vec::<String>::new());
}

/// Rows as the program writes them: nothing says what they changed.
fn foreign_rows(store: &Arc<dyn Store>, positions: &[&str]) {
    let mut log = String::new();
    for (turn, area) in (1..).zip(positions) {
        let row = json!({
            "turn_id": format!("turn_{turn:04}"), "timestamp": "2026-01-14T16:05:00+00:00",
            "user_input": "x", "dialog_type": "scene_description", "dialog_type_source": "auto",
            "settings_revision": 0, "assistant_text": "y", "assistant_structured": {"tool_calls": []},
            "applied_actions": [], "tool_feedback": null, "conflict_report": null,
            "state_summary": {"active_actor_id": "pc_002",
                "positions": {"pc_001": area, "pc_002": "area_001"},
                "hp": {"pc_001": 10 - turn, "pc_002": 10},
                "character_states": {"pc_001": "alive", "pc_002": "alive"}}
        });
        log.push_str(&row.to_string());
        log.push('\n');
    }
    put(store, "campaigns/camp_0001/turn_log.jsonl", &log);
}

#[test]
fn rows_of_the_program_are_put_together_from_their_summaries() {
    let (store, id) = crate::campaign::support::first_with(|document| {
        document["positions"]["pc_001"] = "area_002".into();
        document["hp"]["pc_001"] = json!(7);
    });
    foreign_rows(&store, &["area_001", "area_001", "area_002"]);
    let mut campaign = open(&store, &id);
    play(&mut campaign, answer("", &[step("area_002", "area_001")])).unwrap();
    campaign.release().unwrap();
    let campaign = reader(&store, &id);
    assert_eq!(campaign.check().unwrap(), []);
    let exact = campaign.state_at(3).unwrap();
    assert_eq!(exact.findings, []);
    assert_eq!(value(&exact.state)["hp"]["pc_001"], 7);
    let guess = campaign.state_at(2).unwrap();
    assert_eq!(guess.findings.len(), 1);
    assert!(guess.findings[0].message.contains("is composed from"), "{}", guess.findings[0]);
    let state = value(&guess.state);
    assert_eq!(
        (&state["hp"]["pc_001"], &state["positions"]["pc_001"]),
        (&json!(8), &json!("area_001"))
    );
    assert_eq!(state["selected"]["active_actor_id"], "pc_002");
    assert!(matches!(campaign.state_at(0), Err(CampaignError::NoState { .. })));
    let mut campaign = open(&store, &id);
    let undone = campaign.undo(3, now()).unwrap();
    assert_eq!(value(&undone.row)["state_summary"]["hp"]["pc_001"], 9);
    campaign.rewind(2).unwrap();
    assert_eq!(value(campaign.state().unwrap())["hp"]["pc_001"], 8);
    assert_eq!(reader(&store, &id).check().unwrap(), []);
}
