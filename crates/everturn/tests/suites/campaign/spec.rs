//! The documented campaign and row, and a campaign as the program writes it: opened, checked, saved again.

use everturn::campaign::{Generation, Submission};
use everturn::campaign::{NarratorOutput, NewCampaign, RecordedNarrator, create};
use serde_json::Value;

use crate::campaign::support::{
    answer, first, id, memory, now, open, play, put, read, reader, step,
};

/// The document of the specification, as it stands there.
const DOCUMENTED: &str = r#"{
  "id": "camp_0001",
  "selected": {
    "world_id": "world_001",
    "map_id": "map_001",
    "party_character_ids": ["pc_001", "pc_002"],
    "active_actor_id": "pc_001"
  },
  "settings_revision": 0,
  "allowlist": ["move", "hp_delta", "map_generate"],
  "map": {
    "areas": {
      "area_001": { "id": "area_001", "name": "Starting Area", "parent_area_id": null },
      "area_002": { "id": "area_002", "name": "Side Room", "parent_area_id": null }
    },
    "connections": [
      { "from_area_id": "area_001", "to_area_id": "area_002" }
    ]
  },
  "positions": {
    "pc_001": "area_001",
    "pc_002": "area_001"
  },
  "hp": {
    "pc_001": 10,
    "pc_002": 10
  },
  "character_states": {
    "pc_001": "alive",
    "pc_002": "alive"
  },
  "settings_snapshot": {
    "context": {
      "full_context_enabled": true,
      "compress_enabled": false
    },
    "rules": {
      "hp_zero_ends_game": true
    },
    "rollback": {
      "max_checkpoints": 0
    },
    "dialog": {
      "auto_type_enabled": true
    }
  },
  "goal": {
    "text": "Define the main objective",
    "status": "active"
  },
  "milestone": {
    "current": "intro",
    "last_advanced_turn": 0
  },
  "created_at": "2026-01-14T16:05:00+00:00"
}"#;

/// The row of the specification, on one line, with the state that the document above would have after it.
const ROW: &str = r#"{"turn_id": "turn_0001", "timestamp": "2026-01-14T16:05:30+00:00", "user_input": "I light a torch.", "dialog_type": "scene_description", "dialog_type_source": "auto", "settings_revision": 0, "assistant_text": "Echo: I light a torch.", "assistant_structured": {"tool_calls": [{"id": "call_001", "tool": "move", "args": {}, "reason": "demo"}]}, "applied_actions": [{"tool": "move", "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}, "result": {"to_area_id": "area_002"}, "timestamp": "2026-01-14T16:05:31+00:00"}], "tool_feedback": {"failed_calls": [{"id": "call_002", "tool": "hp_delta", "status": "rejected", "reason": "actor_state_restricted"}]}, "conflict_report": {"retries": 1, "conflicts": [{"type": "state_mismatch", "field": "hp.pc_001", "expected": 0, "found_in_text": "still healthy"}]}, "state_summary": {"active_actor_id": "pc_001", "positions": {"pc_001": "area_001", "pc_002": "area_001"}, "hp": {"pc_001": 10, "pc_002": 10}, "character_states": {"pc_001": "alive", "pc_002": "alive"}}}"#;

const FILE: &str = "campaigns/camp_0001/campaign.json";
const LOG: &str = "campaigns/camp_0001/turn_log.jsonl";

#[test]
fn the_documented_campaign_opens_is_whole_and_keeps_its_bytes() {
    let store = memory();
    put(&store, FILE, DOCUMENTED);
    put(&store, LOG, &format!("{ROW}\n"));
    let campaign = reader(&store, &id("camp_0001"));
    assert_eq!(campaign.generation().unwrap(), Generation::First);
    assert_eq!(campaign.turn(), 1);
    assert_eq!(campaign.check().unwrap(), []);
    let mut writer = open(&store, &id("camp_0001"));
    play(&mut writer, NarratorOutput::text("Nothing stirs.")).unwrap();
    assert_eq!(read(&store, FILE), DOCUMENTED, "a turn without a change leaves the document alone");
    assert!(read(&store, LOG).starts_with(ROW));
}

#[test]
fn a_change_of_the_documented_campaign_touches_nothing_else() {
    let store = memory();
    put(&store, FILE, DOCUMENTED);
    let mut writer = open(&store, &id("camp_0001"));
    let moves = [step("area_001", "area_002")];
    play(&mut writer, answer("You walk on.", &moves)).unwrap();
    let expect = DOCUMENTED.replacen("\"pc_001\": \"area_001\"", "\"pc_001\": \"area_002\"", 1);
    assert_eq!(read(&store, FILE), expect);
}

#[test]
fn a_new_campaign_has_the_fields_in_the_order_of_the_program() {
    let (store, _) = first();
    let text = read(&store, FILE);
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let expect = "id selected settings_snapshot settings_revision allowlist map positions hp \
        character_states goal milestone created_at";
    assert_eq!(keys, expect.split_whitespace().collect::<Vec<_>>());
    let documented: Value = serde_json::from_str(DOCUMENTED).unwrap();
    assert_eq!(value, documented);
    assert!(text.starts_with("{\n  \"id\": \"camp_0001\",\n  \"selected\": {\n    \"world_id\""));
    assert!(text.ends_with("\"created_at\": \"2026-01-14T16:05:00+00:00\"\n}"));
}

#[test]
fn rows_are_written_as_python_writes_them() {
    let store = memory();
    let new = NewCampaign { party: vec!["pc_001".to_owned()], ..NewCampaign::default() };
    let id = create(&store, &new, now()).unwrap();
    let mut writer = open(&store, &id);
    let mut narrator =
        RecordedNarrator::new([answer("Ein Käfer 🐞.", &[step("area_001", "area_002")])]);
    let later = "2026-01-14T16:05:30.000120Z".parse().unwrap();
    let submission = Submission::new("Ich höre\u{7f}\n\"zu\"");
    let played = writer.submit(&submission, &mut narrator, later).unwrap();
    let expect = r#"{"turn_id": "turn_0001", "timestamp": "2026-01-14T16:05:30.000120+00:00", "user_input": "Ich h\u00f6re\u007f\n\"zu\"", "dialog_type": "scene_description", "dialog_type_source": "model", "settings_revision": 0, "assistant_text": "Ein K\u00e4fer \ud83d\udc1e.", "assistant_structured": {"tool_calls": [{"id": "call_0", "tool": "move", "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}, "reason": null}]}, "applied_actions": [{"tool": "move", "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}, "result": {"to_area_id": "area_002"}, "timestamp": "2026-01-14T16:05:30.000120+00:00"}], "tool_feedback": null, "conflict_report": null, "state_summary": {"active_actor_id": "pc_001", "positions": {"pc_001": "area_002"}, "hp": {"pc_001": 10}, "character_states": {"pc_001": "alive"}}}"#;
    assert_eq!(read(&store, LOG), format!("{expect}\n"));
    assert_eq!(played.row.to_value().unwrap(), serde_json::from_str::<Value>(expect).unwrap());
}

#[test]
fn files_with_carriage_returns_stay_so() {
    let store = memory();
    let document = DOCUMENTED.replace('\n', "\r\n");
    put(&store, FILE, &document);
    put(&store, LOG, &format!("{ROW}\r\n"));
    let mut writer = open(&store, &id("camp_0001"));
    let call = ("map_generate", serde_json::json!({"parent_area_id": "area_002"}));
    play(&mut writer, answer("A door opens.", &[call])).unwrap();
    let (document, log) = (read(&store, FILE), read(&store, LOG));
    assert_eq!(document.matches('\n').count(), document.matches("\r\n").count());
    assert!(document.contains("area_003"));
    assert_eq!(log.matches("\r\n").count(), 2);
    assert_eq!(reader(&store, &id("camp_0001")).check().unwrap(), []);
}

#[test]
fn unknown_fields_survive_a_turn() {
    let store = memory();
    let document =
        DOCUMENTED.replacen("{\n", "{\n  \"mine\": {\"n\": 1.50, \"s\": \"\\u00e9\"},\n", 1);
    put(&store, FILE, &document);
    let mut writer = open(&store, &id("camp_0001"));
    play(&mut writer, answer("You walk on.", &[step("area_001", "area_002")])).unwrap();
    assert!(read(&store, FILE).contains("\"mine\": {\"n\": 1.50, \"s\": \"\\u00e9\"}"));
}
