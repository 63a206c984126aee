//! Campaigns with real processes: two at once, and each kind of bad input.
#![expect(clippy::disallowed_methods, reason = "the test damages files as anybody could")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::everturn::{command, run};

/// Runs a command in a root; returns exit code, stdout and stderr.
fn everturn(root: &Path, words: &[&str], input: &str) -> (i32, String, String) {
    let mut command = command(root);
    command.args(words).args(["--root", "."]).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
    let output = run(command, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn campaign() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(everturn(dir.path(), &["new", "campaign"], "").0, 0);
    dir
}

fn turn(input: &str, text: &str) -> String {
    serde_json::json!({"user_input": input, "assistant_text": text}).to_string()
}

const TURNS: usize = 200;

/// Plays turns, each in a separate process; returns those that were applied.
fn player(root: &Path, name: &str) -> Vec<String> {
    let mut applied = Vec::new();
    for number in 0..TURNS {
        let input = format!("{name} {number}");
        match everturn(root, &["append", "camp_0001"], &turn(&input, "Silence.")) {
            (0, ..) => applied.push(input),
            (5, _, told) => assert!(told.contains("is being written by"), "{told}"),
            other => panic!("{input}: {other:?}"),
        }
    }
    applied
}

#[test]
fn of_two_processes_each_turn_is_applied_once_or_refused_as_busy() {
    let dir = campaign();
    let root = dir.path();
    let applied: Vec<String> = std::thread::scope(|scope| {
        let players = ["ann", "ben"].map(|name| scope.spawn(move || player(root, name)));
        players.into_iter().flat_map(|player| player.join().unwrap()).collect()
    });
    let log = fs::read_to_string(root.join("campaigns/camp_0001/turn_log.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row["turn_id"].as_str().unwrap()).collect();
    let expect: Vec<String> = (1..=applied.len()).map(|turn| format!("turn_{turn:04}")).collect();
    assert_eq!(ids, expect, "every id once, in order");
    let inputs: BTreeSet<&str> =
        rows.iter().map(|row| row["user_input"].as_str().unwrap()).collect();
    assert_eq!(inputs, applied.iter().map(String::as_str).collect());
    assert_eq!(inputs.len(), applied.len(), "no turn twice");
    assert!(applied.len() >= TURNS / 2, "only {} of {} were applied", applied.len(), 2 * TURNS);
    let (exit, _, told) = everturn(root, &["check", "."], "");
    assert_eq!(exit, 0, "{told}");
    println!("{} turns applied, {} refused as busy", applied.len(), 2 * TURNS - applied.len());
}

/// Creates a campaign of three turns with a damaged file.
fn damaged(file: &str, damage: impl FnOnce(String) -> String) -> tempfile::TempDir {
    let dir = campaign();
    for number in 1..=3 {
        let turn = turn(&format!("turn {number}"), "Silence.");
        assert_eq!(everturn(dir.path(), &["append", "camp_0001"], &turn).0, 0);
    }
    let file = dir.path().join("campaigns/camp_0001").join(file);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, damage(text)).unwrap();
    dir
}

#[test]
fn a_damaged_document_hides_no_rows_and_is_repaired_and_damaged_again() {
    let dir = damaged("campaign.json", |text| text[..text.len() / 2].to_owned());
    let root = dir.path();
    let (exit, shown, told) = everturn(root, &["show", "camp_0001"], "");
    assert!(shown.contains("turn 1") && shown.contains("turn 3"), "{shown}");
    assert!(told.contains("bad-document"), "{exit} {told}");
    let (exit, _, told) = everturn(root, &["append", "camp_0001"], &turn("x", "Silence."));
    assert_eq!(exit, 4, "{told}");
    let (exit, _, told) = everturn(root, &["play", "camp_0001"], "look\n");
    assert!(exit == 4 && told.contains("everturn repair camp_0001"), "{told}");
    assert_eq!(everturn(root, &["check", "."], "").0, 3);
    assert_eq!(everturn(root, &["repair", "camp_0001"], "").0, 0);
    assert_eq!(everturn(root, &["check", "."], "").0, 0);
    assert_eq!(everturn(root, &["repair", "--undo", "camp_0001"], "").0, 0);
    assert_eq!(everturn(root, &["check", "."], "").0, 3);
    assert_eq!(everturn(root, &["repair", "camp_0001"], "").0, 0);
    assert_eq!(everturn(root, &["append", "camp_0001"], &turn("x", "Silence.")).0, 0);
}

#[test]
fn a_torn_log_loses_nothing_but_the_torn_row() {
    let dir = damaged("turn_log.jsonl", |text| format!("{text}{{\"turn_id\": \"turn_00"));
    let root = dir.path();
    let (exit, shown, told) = everturn(root, &["show", "camp_0001", "--json"], "");
    assert_eq!(shown.lines().filter(|line| line.contains("\"user\"")).count(), 3, "{shown}");
    assert!(told.contains("torn-tail"), "{exit} {told}");
    let (exit, _, told) = everturn(root, &["append", "camp_0001"], &turn("x", "Silence."));
    assert!(exit == 0 && told.contains("set-aside"), "{told}");
    assert_eq!(everturn(root, &["check", "."], "").0, 0);
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_no_trace() {
    let dir = campaign();
    let root = dir.path();
    let log = root.join("campaigns/camp_0001/turn_log.jsonl");
    let unknown_actor = r#"{"user_input":"x","actor_id":"nobody","assistant_text":"Silence."}"#;
    for (input, expect) in [
        (unknown_actor, "actor_id not in party_character_ids"),
        (r#"{"user_input":7}"#, "user_input, which must be a string"),
        ("{", "the turn is not JSON"),
    ] {
        let (exit, _, told) = everturn(root, &["append", "camp_0001"], input);
        assert!(exit == 1 && told.contains(expect), "{input}: {told}");
        assert!(!log.exists());
    }
    let call = |area: &str| {
        serde_json::json!({"user_input": "x", "assistant_text": "", "tool_calls": [{
            "id": "c", "tool": "move",
            "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": area},
        }]})
        .to_string()
    };
    let (exit, _, told) = everturn(root, &["append", "camp_0001"], &call("../../etc"));
    assert_eq!(exit, 0, "a call that fails is part of the turn: {told}");
    let row = fs::read_to_string(&log).unwrap();
    assert!(row.contains("\"status\": \"error\", \"reason\": \"invalid_args\""), "{row}");
    for id in ["../camp_0002", "a/b", "..", "CON", "x\u{7}"] {
        let (exit, _, told) = everturn(root, &["new", "campaign", "--id", id], "");
        assert_eq!(exit, 1, "{id}: {told}");
    }
    assert!(!root.parent().unwrap().join("camp_0002").exists());
    for name in ["../camp_0001", "camp_0009", "../../etc/passwd"] {
        assert_eq!(everturn(root, &["show", name], "").0, 1, "{name}");
        assert_eq!(everturn(root, &["play", name], "look\n").0, 1, "{name}");
    }
}

#[test]
fn a_turn_of_a_megabyte_and_one_of_control_characters_are_kept_as_they_are() {
    let dir = campaign();
    let root = dir.path();
    let long = "x".repeat(1_000_000);
    assert_eq!(everturn(root, &["append", "camp_0001"], &turn(&long, "Silence.")).0, 0);
    let wild = "a\u{1b}[2J\u{0}\u{7}\u{9b}b";
    assert_eq!(everturn(root, &["append", "camp_0001"], &turn("x", wild)).0, 0);
    let (_, shown, _) = everturn(root, &["show", "camp_0001", "--json"], "");
    let texts: Vec<String> = shown
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| entry["text"].as_str().unwrap().to_owned())
        .collect();
    assert!(texts.contains(&long) && texts.contains(&wild.to_owned()));
    let (_, shown, _) = everturn(root, &["show", "camp_0001", "--turns", "2"], "");
    assert!(!shown.contains(|character: char| character.is_control() && character != '\n'));
}

#[test]
fn an_upgrade_keeps_both_directions_and_can_be_rewound() {
    let dir = campaign();
    let root = dir.path();
    let go = |from: &str, to: &str| {
        let args =
            serde_json::json!({"actor_id": "pc_001", "from_area_id": from, "to_area_id": to});
        let call = serde_json::json!({"id": "c", "tool": "move", "args": args});
        let output = serde_json::json!({"assistant_text": "You go.", "tool_calls": [call]});
        serde_json::json!({"user_input": "go", "outputs": [output]}).to_string() + "\n"
    };
    let (code, said, error) =
        everturn(root, &["campaign", "replay-outputs", "camp_0001"], &go("area_001", "area_002"));
    assert_eq!(code, 0, "{said} {error}");
    assert_eq!(everturn(root, &["campaign", "upgrade", "camp_0001"], "").0, 0);
    let (code, again, _) = everturn(root, &["campaign", "upgrade", "camp_0001", "--json"], "");
    assert_eq!((code, again.trim()), (0, r#"{"session":"camp_0001","upgraded":false}"#));
    let back = serde_json::json!({"id": "c", "tool": "move", "args": {"to_area_id": "area_001"}});
    let take = serde_json::json!({"id": "d", "tool": "inventory_add", "args": {"item_id": "lamp"}});
    let output = serde_json::json!({"assistant_text": "You go back.", "tool_calls": [back, take]});
    let line = serde_json::json!({"user_input": "back", "outputs": [output]}).to_string() + "\n";
    let (code, said, error) = everturn(root, &["campaign", "replay-outputs", "camp_0001"], &line);
    assert_eq!(code, 0, "{error}");
    let row: serde_json::Value = serde_json::from_str(&said).unwrap();
    let summary = &row["row"]["state_summary"];
    assert_eq!(summary["positions"]["pc_001"], "area_001", "{said}");
    assert_eq!(summary["inventories"]["pc_001"]["lamp"], 1, "{said}");
    assert_eq!(everturn(root, &["check", "camp_0001"], "").0, 0);
    let (_, before, _) = everturn(root, &["state", "camp_0001", "--turn", "1", "--json"], "");
    assert!(before.contains("\"actors\""), "the upgrade belongs to turn 1: {before}");
    let (_, before, _) = everturn(root, &["state", "camp_0001", "--turn", "0", "--json"], "");
    assert!(!before.contains("\"actors\""), "{before}");
}
