//! Damaged campaigns: what is still read, what is reported, and how they are put right.

use everturn::campaign::{
    CampaignError, CampaignWriter, NarratorOutput, list, plan_repair, repair, undo_repair,
};
use everturn::finding::{FindingCode, Severity};
use everturn::store::Store;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::campaign::support::{
    answer, exists, first, first_with, now, open, play, put, read, reader, second, step, value,
};

const FILE: &str = "campaigns/camp_0001/campaign.json";
const LOG: &str = "campaigns/camp_0001/turn_log.jsonl";
const CHANGES: &str = "campaigns/camp_0001/turn_deltas.jsonl";

fn codes(store: &Arc<dyn Store>) -> Vec<FindingCode> {
    let campaign = reader(store, &crate::campaign::support::id("camp_0001"));
    campaign.check().unwrap().iter().map(|finding| finding.code).collect()
}

fn remove(store: &Arc<dyn Store>, file: &str) {
    let path = crate::campaign::support::path(file);
    let writer = store.lock(std::slice::from_ref(&path)).unwrap();
    let step = everturn::store::Step::Remove { path };
    writer.commit(vec![step], everturn::store::Durability::Synced).unwrap();
    writer.release().unwrap();
}

fn played(checkpoints: u64) -> (Arc<dyn Store>, Value) {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, answer("", &[step("area_001", "area_002")])).unwrap();
    campaign
        .patch_settings(&[("rollback.max_checkpoints".to_owned(), json!(checkpoints))])
        .unwrap();
    play(&mut campaign, answer("", &[("map_generate", json!({"parent_area_id": "area_002"}))]))
        .unwrap();
    play(&mut campaign, answer("", &[step("area_002", "area_003")])).unwrap();
    campaign.patch_settings(&[("dialog.auto_type_enabled".to_owned(), json!(false))]).unwrap();
    let state = value(campaign.state().unwrap());
    (store, state)
}

#[test]
fn a_damaged_document_leaves_the_rows_readable() {
    for (text, code) in [
        ("", FindingCode::EmptyDocument),
        ("\0\0\0", FindingCode::EmptyDocument),
        ("{\"id\": \"camp_00", FindingCode::BadDocument),
        ("[]", FindingCode::BadDocument),
    ] {
        let (store, _) = played(0);
        put(&store, FILE, text);
        let id = crate::campaign::support::id("camp_0001");
        let campaign = reader(&store, &id);
        assert_eq!(campaign.findings()[0].code, code, "{text:?}");
        assert_eq!(campaign.rows().unwrap().count(), 3);
        assert_eq!(campaign.turn(), 3);
        assert!(matches!(campaign.state(), Err(CampaignError::Damaged { .. })));
        assert!(CampaignWriter::open(Arc::clone(&store), &id).is_err());
        assert_eq!(read(&store, FILE), text);
        assert_eq!(list(&store).unwrap(), [id], "it is listed all the same");
    }
}

/// Damages the document, repairs it, and returns what it is then and how that was done.
fn repaired(store: &Arc<dyn Store>) -> (Value, String) {
    let id = crate::campaign::support::id("camp_0001");
    put(store, FILE, "{\"id\": ");
    let plan = plan_repair(store, &id).unwrap();
    assert_eq!(read(store, FILE), "{\"id\": ", "a plan changes nothing");
    let done = repair(store, &id, now()).unwrap();
    assert_eq!(plan.actions.len(), done.actions.len());
    let what = done.actions.last().unwrap().what.clone();
    let kept = format!("{}/{FILE}", done.kept.unwrap().as_str());
    assert_eq!(read(store, &kept), "{\"id\": ");
    let campaign = reader(store, &id);
    let mut left = campaign.check().unwrap();
    left.retain(|finding| finding.code != FindingCode::LostValue);
    assert_eq!(left, [], "{what}");
    assert!(repair(store, &id, now()).unwrap().actions.is_empty());
    let state = value(campaign.state().unwrap());
    play(&mut open(store, &id), NarratorOutput::text("Silence.")).unwrap();
    (state, what)
}

#[test]
fn a_document_is_restored_from_a_checkpoint() {
    let (store, state) = played(2);
    let (found, what) = repaired(&store);
    assert_eq!(found, state);
    assert_eq!(what, "it is restored from the checkpoint of turn_0003");
    let (store, state) = played(2);
    put(&store, "campaigns/camp_0001/checkpoints/turn_0003.json", "{");
    assert_eq!(codes(&store), [FindingCode::BadSnapshot]);
    let (found, what) = repaired(&store);
    assert_eq!(found, state);
    assert_eq!(what, "it is restored from the checkpoint of turn_0002");
    assert!(!exists(&store, "campaigns/camp_0001/checkpoints/turn_0003.json"));
}

#[test]
fn a_document_is_restored_from_the_changes() {
    let (store, state) = played(0);
    let (found, what) = repaired(&store);
    assert_eq!(found, state);
    assert_eq!(what, "it is restored from the changes");
}

#[test]
fn a_document_is_put_together_from_the_rows_if_there_is_nothing_else() {
    let (store, state) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    remove(&store, CHANGES);
    let (found, what) = repaired(&store);
    assert!(what.contains("composed from the rows"), "{what}");
    for part in ["positions", "hp", "character_states"] {
        assert_eq!(found[part], state[part]);
    }
    assert!(found["map"]["areas"]["area_003"].is_object());
    assert_eq!(reader(&store, &id).turn(), 4);
    let (store, id) = second(|_| {});
    let mut campaign = open(&store, &id);
    play(&mut campaign, answer("", &[("move", json!({"to_area_id": "area_002"}))])).unwrap();
    campaign.release().unwrap();
    put(&store, CHANGES, "noise\n");
    let (found, _) = repaired(&store);
    assert_eq!(found["actors"]["pc_001"]["position"], "area_002");
    assert_eq!(found["positions"], json!({}));
}

#[test]
fn nothing_comes_from_nothing() {
    let (store, id) = first();
    put(&store, FILE, "");
    let error = plan_repair(&store, &id).unwrap_err();
    assert!(error.to_string().contains("to restore it from"), "{error}");
}

const TORN: [&str; 3] = [
    "{\"turn_id\": \"turn_0004\", \"user_input\": \"sing\", \"dialog",
    "{\"tur",
    "{\"turn_id\": \"turn_0002\"",
];

/// Asserts that a campaign with a torn row after three whole ones takes no turns, and that a repair keeps the torn one.
#[track_caller]
fn assert_torn_turn_is_kept(store: &Arc<dyn Store>, whole: &str, torn: &str) {
    let id = crate::campaign::support::id("camp_0001");
    assert!(codes(store).contains(&FindingCode::TornTail));
    let refused = CampaignWriter::open(Arc::clone(store), &id).err().unwrap();
    assert!(matches!(refused, CampaignError::Damaged { .. }), "{refused}");
    repair(store, &id, now()).unwrap();
    let mut campaign = open(store, &id);
    assert_eq!(play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().turn, 5);
    let log = read(store, LOG);
    assert!(log.starts_with(whole) && log.lines().count() == 5);
    let row: Value = serde_json::from_str(log.lines().nth(3).unwrap()).unwrap();
    assert_eq!(row["user_input"], if torn.contains("sing") { "sing" } else { "" });
    assert_eq!(row["everturn"]["mended"], true);
}

#[test]
fn the_number_of_a_torn_row_of_another_program_is_not_used_again() {
    // The program writes the document first: a torn row is a turn whose effects are stored.
    for torn in TORN {
        let (store, _) = played(0);
        let whole = read(&store, LOG);
        put(&store, LOG, &format!("{whole}{torn}"));
        remove(&store, CHANGES);
        assert_torn_turn_is_kept(&store, &whole, torn);
    }
}

#[test]
fn the_number_of_a_torn_row_whose_effects_are_stored_is_not_used_again() {
    // Another program has played a turn after ours.
    for (pointer, after) in
        [("/positions/pc_001", json!("area_001")), ("/map/areas/area_001/name", json!("Cellar"))]
    {
        for torn in TORN {
            let (store, mut state) = played(0);
            *state.pointer_mut(pointer).unwrap() = after.clone();
            put(&store, FILE, &serde_json::to_string_pretty(&state).unwrap());
            let whole = read(&store, LOG);
            put(&store, LOG, &format!("{whole}{torn}"));
            assert_torn_turn_is_kept(&store, &whole, torn);
            let id = crate::campaign::support::id("camp_0001");
            let now = value(reader(&store, &id).state().unwrap());
            assert_eq!(now.pointer(pointer), Some(&after));
        }
    }
}

#[test]
fn a_torn_row_that_changed_nothing_is_set_aside() {
    for torn in TORN {
        let (store, state) = played(0);
        let id = crate::campaign::support::id("camp_0001");
        let whole = read(&store, LOG);
        put(&store, LOG, &format!("{whole}{torn}"));
        let mut campaign = open(&store, &id);
        let played = play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
        assert_eq!((played.turn, played.findings[0].code), (4, FindingCode::SetAside));
        assert_eq!(value(campaign.state().unwrap()), state);
        let log = read(&store, LOG);
        assert!(log.starts_with(&whole) && log.lines().count() == 4);
    }
}

#[test]
fn a_torn_row_that_the_changes_have_is_not_played_over() {
    let (store, state) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    let log = read(&store, LOG);
    put(&store, LOG, &log[..log.len() - 20]);
    let refused = CampaignWriter::open(Arc::clone(&store), &id).err().unwrap();
    assert!(matches!(refused, CampaignError::Damaged { .. }), "{refused}");
    repair(&store, &id, now()).unwrap();
    let mut campaign = open(&store, &id);
    assert_eq!((campaign.turn(), value(campaign.state().unwrap())), (3, state));
    assert_eq!(play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().turn, 4);
}

#[test]
fn a_log_without_the_turns_of_the_changes_is_not_played_over() {
    let cut = |log: &str, rows: usize| log.split_inclusive('\n').take(rows).collect::<String>();
    for rows in 0..3 {
        let (store, state) = played(0);
        let id = crate::campaign::support::id("camp_0001");
        let log = read(&store, LOG);
        put(&store, LOG, &cut(&log, rows));
        let campaign = reader(&store, &id);
        assert_eq!(campaign.turn(), 3, "the changes have the turns");
        assert_eq!(campaign.findings()[0].code, FindingCode::MissingTurns);
        assert!(CampaignWriter::open(Arc::clone(&store), &id).is_err());
        repair(&store, &id, now()).unwrap();
        let campaign = reader(&store, &id);
        assert_eq!((campaign.turn(), value(campaign.state().unwrap())), (3, state));
        let mut campaign = open(&store, &id);
        assert_eq!(play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().turn, 4);
    }
}

#[test]
fn values_of_the_wrong_kind_come_from_the_changes() {
    for part in ["hp", "positions", "map", "settings_snapshot", "selected", "allowlist"] {
        for wrong in [json!([]), json!({}), json!("x"), json!(1), json!(null)] {
            let (store, state) = played(0);
            let id = crate::campaign::support::id("camp_0001");
            let mut document = state.clone();
            if document[part].is_array() == wrong.is_array()
                && document[part].is_object() == wrong.is_object()
            {
                continue;
            }
            document[part] = wrong;
            put(&store, FILE, &serde_json::to_string_pretty(&document).unwrap());
            assert!(codes(&store).contains(&FindingCode::BadDocument));
            repair(&store, &id, now()).unwrap();
            let campaign = reader(&store, &id);
            assert_eq!(value(campaign.state().unwrap()), state, "{part}");
            assert_eq!(campaign.check().unwrap(), [], "{part}");
        }
    }
}

#[test]
fn a_torn_change_is_a_gap_and_not_a_wrong_state() {
    let (store, state) = played(0);
    let lines = read(&store, CHANGES);
    let cut = lines.len() - 20;
    put(&store, CHANGES, &lines[..cut]);
    let campaign = reader(&store, &crate::campaign::support::id("camp_0001"));
    assert_eq!(value(&campaign.state_at(3).unwrap().state), state);
    let moment = campaign.state_at(1).unwrap();
    assert_eq!(value(&moment.state)["positions"]["pc_001"], "area_002");
    assert!(codes(&store).contains(&FindingCode::TornTail));
}

#[test]
fn rows_that_are_glued_or_broken_get_their_own_lines() {
    let (store, _) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    let rows: Vec<String> = read(&store, LOG).lines().map(str::to_owned).collect();
    let bad = format!("{}{}\nnoise\n{}\n", rows[0], rows[1], rows[2]);
    put(&store, LOG, &bad);
    assert_eq!(codes(&store), [FindingCode::GluedRecords, FindingCode::BadLine]);
    let done = repair(&store, &id, now()).unwrap();
    assert_eq!(done.actions.len(), 1);
    assert_eq!(read(&store, LOG), format!("{}\n", rows.join("\n")));
    assert_eq!(read(&store, &format!("{}/{LOG}", done.kept.unwrap())), bad);
    assert_eq!(codes(&store), []);
    undo_repair(&store, &id, now()).unwrap();
    assert_eq!(read(&store, LOG), bad);
    assert!(undo_repair(&store, &id, now()).is_err(), "there is nothing more to take back");
}

#[test]
fn numbers_that_make_no_sense_are_put_in_order_and_lost_turns_say_so() {
    let (store, _) = played(0);
    let rows: Vec<String> = read(&store, LOG).lines().map(str::to_owned).collect();
    let third = rows[2].replace("turn_0003", "turn_0005");
    let log =
        [&rows[0], &rows[0], &third, &rows[1], &rows[2]].map(|row| format!("{row}\n")).concat();
    put(&store, LOG, &log);
    let expect = [FindingCode::DuplicateTurn, FindingCode::MissingTurns, FindingCode::TurnOrder];
    assert_eq!(codes(&store)[..3], expect);
    let id = crate::campaign::support::id("camp_0001");
    let done = repair(&store, &id, now()).unwrap();
    let repaired: Vec<Value> =
        read(&store, LOG).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let turns: Vec<&str> = repaired.iter().map(|row| row["turn_id"].as_str().unwrap()).collect();
    assert_eq!(turns, ["turn_0001", "turn_0002", "turn_0003", "turn_0004", "turn_0005"]);
    assert_eq!(repaired[3]["everturn"], json!({"lost": true}));
    let told = repaired[3]["assistant_text"].as_str().unwrap();
    assert!(told.contains(done.kept.unwrap().as_str()), "{told}");
    let left = reader(&store, &id).check().unwrap();
    assert!(left.iter().all(|left| left.code.severity() == Severity::Warning), "{left:?}");
    assert!(plan_repair(&store, &id).unwrap().actions.is_empty());
    undo_repair(&store, &id, now()).unwrap();
    assert_eq!(read(&store, LOG), log);
}

#[test]
fn two_rows_of_one_turn_are_both_kept() {
    let (store, _) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    let log = read(&store, LOG);
    let rows: Vec<&str> = log.lines().collect();
    let twin = rows[1].replace("\"assistant_text\": \"\"", "\"assistant_text\": \"Twin.\"");
    assert_ne!(twin, rows[1]);
    put(&store, LOG, &format!("{}\n{}\n{twin}\n{}\n", rows[0], rows[1], rows[2]));
    repair(&store, &id, now()).unwrap();
    assert_eq!(codes(&store), [FindingCode::TwinTurn]);
    let second: Value = serde_json::from_str(read(&store, LOG).lines().nth(1).unwrap()).unwrap();
    assert_eq!(second["everturn"]["also"][0]["assistant_text"], "Twin.");
}

#[test]
fn a_change_that_is_damaged_is_made_up_from_what_is_known() {
    let (store, state) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    let before: Vec<Value> =
        (0..=3).map(|turn| value(&reader(&store, &id).state_at(turn).unwrap().state)).collect();
    let lines: Vec<String> = read(&store, CHANGES).lines().map(str::to_owned).collect();
    for hit in 0..lines.len() {
        let mut damaged = lines.clone();
        damaged[hit] = damaged[hit].replace("\"kind\"", "\"kimd\"");
        put(&store, CHANGES, &format!("{}\n", damaged.join("\n")));
        let broken = read(&store, CHANGES);
        repair(&store, &id, now()).unwrap();
        let campaign = reader(&store, &id);
        let left = campaign.check().unwrap();
        let worst = left.iter().find(|left| left.code.severity() == Severity::Finding);
        assert_eq!(worst, None, "line {hit}");
        assert_eq!(value(campaign.state().unwrap()), state, "line {hit}");
        for (turn, before) in (0..).zip(&before) {
            let now = value(&campaign.state_at(turn).unwrap().state);
            for part in ["positions", "hp"] {
                assert_eq!(now[part], before[part], "line {hit}, turn {turn}");
            }
        }
        undo_repair(&store, &id, now()).unwrap();
        assert_eq!(read(&store, CHANGES), broken);
    }
}

#[test]
fn a_state_that_is_not_what_the_last_row_says_is_reported() {
    let (store, _) = played(0);
    put(&store, FILE, &read(&store, FILE).replace("\"pc_001\": 10", "\"pc_001\": 4"));
    assert_eq!(codes(&store), [FindingCode::StateDiffers, FindingCode::UnexplainedChange]);
}

#[test]
fn what_the_document_names_must_be_there() {
    let check = |change: &dyn Fn(&mut Value), expect: &[FindingCode]| {
        let (store, _) = first_with(change);
        assert_eq!(codes(&store), expect);
    };
    check(&|_| {}, &[]);
    check(&|document| document["id"] = "camp_0009".into(), &[FindingCode::WrongPlace]);
    check(
        &|document| document["positions"]["pc_001"] = "../etc".into(),
        &[FindingCode::UnknownReference],
    );
    check(
        &|document| document["selected"]["active_actor_id"] = "pc_9".into(),
        &[FindingCode::UnknownReference],
    );
    check(
        &|document| document["map"]["connections"][0]["to_area_id"] = "x".into(),
        &[FindingCode::UnknownReference],
    );
    check(&|document| document["allowlist"] = json!({}), &[FindingCode::BadDocument]);
    check(
        &|document| drop(document.as_object_mut().unwrap().remove("map")),
        &[FindingCode::BadDocument, FindingCode::UnknownReference, FindingCode::UnknownReference],
    );
}

#[test]
fn a_turn_of_which_only_the_changes_are_left_gets_a_row_that_says_so() {
    let (store, state) = played(0);
    let rows: Vec<String> = read(&store, LOG).lines().map(str::to_owned).collect();
    put(&store, LOG, &format!("{}\n{}\n", rows[0], rows[1]));
    assert!(codes(&store).contains(&FindingCode::BadChange));
    let id = crate::campaign::support::id("camp_0001");
    repair(&store, &id, now()).unwrap();
    assert_eq!(codes(&store), [FindingCode::LostTurn]);
    let campaign = reader(&store, &id);
    assert_eq!(campaign.turn(), 3);
    assert_eq!(value(campaign.state().unwrap()), state);
}

#[test]
fn parts_of_the_wrong_kind_are_errors_and_no_crashes() {
    for (part, wrong) in
        [("positions", json!("x")), ("map", json!([])), ("hp", json!(1)), ("selected", json!(null))]
    {
        let (store, id) = first_with(|document| document[part] = wrong.clone());
        let before = read(&store, FILE);
        let mut campaign = open(&store, &id);
        let result = play(&mut campaign, answer("", &[step("area_001", "area_002")]));
        assert!(result.is_err(), "{part}");
        assert_eq!(read(&store, FILE), before);
        assert!(!exists(&store, LOG));
    }
}

#[test]
fn a_repair_is_taken_back_unless_the_campaign_went_on() {
    let (store, _) = played(0);
    let id = crate::campaign::support::id("camp_0001");
    put(&store, FILE, "{");
    repair(&store, &id, now()).unwrap();
    let repaired = read(&store, FILE);
    let back = undo_repair(&store, &id, now()).unwrap();
    assert_eq!(back.actions.len(), 1);
    assert_eq!(read(&store, FILE), "{");
    repair(&store, &id, now()).unwrap();
    assert_eq!(read(&store, FILE), repaired);
    play(&mut open(&store, &id), answer("", &[step("area_003", "area_002")])).unwrap();
    let error = undo_repair(&store, &id, now()).unwrap_err();
    assert!(error.to_string().contains("has changed since then"), "{error}");
    assert_eq!(reader(&store, &id).turn(), 4);
}
