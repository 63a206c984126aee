//! What is read, and what is refused, when files are missing or are not what was written.

use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, FindingCode};
use everturn::game::{GameError, GameState, GameWriter, Session, StateAt, TurnInput, repair};

use super::damage::{SESSION, edit, file, findings, good, open, remove, replace};
use super::support::{assert_states, at, id, memory, played, turn};

fn session(disk: &SimDisk) -> Session {
    Session::open(open(disk), &id(SESSION)).unwrap()
}

/// The state at each turn of the good session.
fn state(turn: u64) -> GameState {
    session(&good()).state_at(turn).unwrap().state
}

#[track_caller]
fn found(moment: &StateAt, code: FindingCode, name: &str) {
    let is = |finding: &Finding| finding.code == code && finding.file == file(name);
    assert!(moment.findings.iter().any(is), "{:?}", moment.findings);
}

#[track_caller]
fn refused(disk: &SimDisk) {
    let error = GameWriter::open(open(disk), &id(SESSION)).err().unwrap();
    assert!(matches!(error, GameError::Damaged { .. }), "{error}");
}

/// After a repair, the session goes on.
#[track_caller]
fn repaired(disk: &SimDisk) {
    repair(&open(disk), &id(SESSION), at(1000)).unwrap();
    let mut game = GameWriter::open(open(disk), &id(SESSION)).unwrap();
    let next = game.turn() + 1;
    assert_eq!(game.append(&turn(next), at(1001)).unwrap().turn, next);
}

#[test]
fn turns_count_in_a_session_whose_metadata_do_not_say_what_the_states_show() {
    let store = memory();
    let mut states = played(&store, SESSION, 3);
    let mut game = GameWriter::open(Arc::clone(&store), &id(SESSION)).unwrap();
    game.snapshot(at(3)).unwrap();
    game.close(at(3)).unwrap();
    let name = format!("sessions/active/{SESSION}/session.meta.json");
    let bytes = store.read(&super::support::path(&name), 0..u64::MAX).unwrap();
    let mut meta: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    meta.as_object_mut().unwrap().remove("stateFiles").unwrap();
    super::support::put(&store, &name, meta.to_string().as_bytes());
    assert_states(&store, SESSION, &states);
    for number in 4..=6 {
        let mut game = GameWriter::open(Arc::clone(&store), &id(SESSION)).unwrap();
        game.append(&turn(number), at(i64::try_from(number).unwrap())).unwrap();
        states.push(game.state().clone());
        game.release().unwrap();
        assert_states(&store, SESSION, &states);
    }
}

#[test]
fn a_missing_file_of_changes_is_told_and_nothing_is_written_then() {
    let disk = good();
    remove(&disk, "deltas/deltas-0001-0100.jsonl");
    let moment = session(&disk).state_at(50).unwrap();
    found(&moment, FindingCode::MissingFile, "deltas/deltas-0001-0100.jsonl");
    // What does not need it is known.
    assert!(session(&disk).state_at(145).unwrap().state.is_same(&state(145)));
    assert_eq!(session(&disk).state_at(145).unwrap().findings, []);
    refused(&disk);
    repaired(&disk);

    let disk = good();
    remove(&disk, "deltas/deltas-current.jsonl");
    found(
        &session(&disk).state_at(150).unwrap(),
        FindingCode::MissingFile,
        "deltas/deltas-current.jsonl",
    );
    assert!(session(&disk).resume().unwrap().state.is_same(&state(150)));
    refused(&disk);
    repaired(&disk);
}

#[test]
fn a_missing_file_of_turns_is_told_and_nothing_is_written_then() {
    for (name, expect) in [
        ("turns/turns-0001-0100.jsonl", (101..=150).collect::<Vec<u64>>()),
        ("turns/turns-0101-current.jsonl", (90..=100).collect()),
    ] {
        let disk = good();
        remove(&disk, name);
        let session = session(&disk);
        let mut rows = session.turns(90, 150).unwrap();
        let turns: Vec<u64> = rows.by_ref().map(|turn| turn.unwrap().turn).collect();
        assert_eq!(turns, expect);
        let told: Vec<_> = rows.findings.iter().map(|found| (found.code, &found.file)).collect();
        assert_eq!(told, [(FindingCode::MissingFile, &file(name))]);
        refused(&disk);
        repaired(&disk);
    }
}

#[test]
fn turns_that_change_nothing_leave_no_file_and_miss_none() {
    let store = memory();
    let mut game = super::support::game(&store, SESSION);
    for number in 1..=330_u64 {
        let quiet = (90..=310).contains(&number) && number != 205;
        let input = if quiet { TurnInput::new("gm") } else { turn(number) };
        game.append(&input, at(i64::try_from(number).unwrap())).unwrap();
    }
    game.release().unwrap();
    let session = Session::open(Arc::clone(&store), &id(SESSION)).unwrap();
    for turn in [95, 101, 150, 206, 250, 309, 312, 330] {
        assert_eq!(session.state_at(turn).unwrap().findings, [], "{turn}");
    }
    assert_eq!(session.resume().unwrap().findings, []);
    GameWriter::open(store, &id(SESSION)).unwrap().release().unwrap();
}

#[test]
fn a_state_file_that_is_not_what_was_written_is_not_believed() {
    type Harm = fn(&SimDisk);
    let cases: [(&str, FindingCode, Harm); 4] = [
        ("player.state.json", FindingCode::StateDiffers, |disk| {
            replace(disk, "player.state.json", "Vex", "Bob");
        }),
        ("player.state.json", FindingCode::MissingFile, |disk| remove(disk, "player.state.json")),
        ("world.state.json", FindingCode::StateDiffers, |disk| {
            edit(disk, "world.state.json", |text| text[..text.len() / 2].to_owned());
        }),
        ("scenes/scene-002.json", FindingCode::StateDiffers, |disk| {
            edit(disk, "scenes/scene-002.json", |_| "[]".to_owned());
        }),
    ];
    for (name, code, harm) in cases {
        let disk = good();
        harm(&disk);
        let moment = session(&disk).resume().unwrap();
        assert!(moment.state.is_same(&state(150)), "{name}");
        found(&moment, code, name);
        refused(&disk);
        repaired(&disk);
    }
    // Other spaces are no other state.
    let disk = good();
    replace(&disk, "player.state.json", "\"name\": ", "\"name\":  ");
    assert_eq!(session(&disk).resume().unwrap().findings, []);
    GameWriter::open(open(&disk), &id(SESSION)).unwrap().release().unwrap();
}

/// Takes the checksums out of a snapshot, and gives Luna other feelings.
fn tamper(disk: &SimDisk, name: &str) {
    edit(disk, name, |text| {
        let mut snapshot: serde_json::Value = serde_json::from_str(&text).unwrap();
        snapshot.as_object_mut().unwrap().remove("checksums").unwrap();
        snapshot["worldState"]["npcs"]["luna"]["trust"] = 999.into();
        snapshot.to_string()
    });
}

#[test]
fn a_snapshot_that_has_lost_its_checksums_counts_only_if_there_is_no_other() {
    let disk = good();
    tamper(&disk, "snapshots/snapshot-0140.json");
    for turn in [140, 149] {
        let moment = session(&disk).state_at(turn).unwrap();
        assert!(moment.state.is_same(&state(turn)), "{turn}");
        found(&moment, FindingCode::BadSnapshot, "snapshots/snapshot-0140.json");
    }
    repair(&open(&disk), &id(SESSION), at(1000)).unwrap();
    for turn in [139, 140, 149, 150] {
        let moment = session(&disk).state_at(turn).unwrap();
        assert!(moment.state.is_same(&state(turn)), "{turn}");
        assert_eq!(moment.findings, []);
    }
}

#[test]
fn states_before_the_first_snapshot_are_found_from_the_next_one() {
    let disk = good();
    remove(&disk, "snapshots/snapshot-0000.json");
    // The last state is of no use, and is not needed.
    remove(&disk, "world.state.json");
    for turn in [0, 7, 39] {
        let moment = session(&disk).state_at(turn).unwrap();
        assert!(moment.state.is_same(&state(turn)), "{turn}");
        assert_eq!(moment.findings, []);
    }
    let missing = |finding: &&Finding| finding.file == file("snapshots/snapshot-0000.json");
    assert_eq!(findings(&disk).iter().find(missing).unwrap().code, FindingCode::MissingFile);
    repair(&open(&disk), &id(SESSION), at(1000)).unwrap();
    assert_eq!(findings(&disk), []);
    assert!(disk.contents().contains_key(&file("snapshots/snapshot-0000.json")));
}

#[test]
fn a_pull_that_does_not_say_what_it_removed_hides_what_was_before() {
    let with = |pull: &str| {
        let disk = good();
        let start = r#"{"deltaId":"delta-abc123-40-9","turnId":40,"eventId":null,"timestamp":1,"scope":"player","deltas":["#;
        edit(&disk, "deltas/deltas-0001-0100.jsonl", |text| {
            let at = text.find("\"turnId\":40,").unwrap();
            let at = text[..at].rfind('\n').unwrap() + 1;
            format!("{}{start}{pull}]}}\n{}", &text[..at], &text[at..])
        });
        let snapshots = disk.contents();
        for name in snapshots.keys().filter_map(|path| path.as_str().split_once("/snapshots/")) {
            remove(&disk, &format!("snapshots/{}", name.1));
        }
        disk
    };
    let disk = with(r#"{"op":"pull","path":"inventory","value":"lamp"}"#);
    let error = session(&disk).state_at(39).unwrap_err();
    assert!(matches!(error, GameError::NoState { turn: 39, .. }), "{error}");
    assert!(session(&disk).state_at(40).is_ok());
    let disk = with(r#"{"op":"pull","path":"inventory","value":"lamp","previousValue":["lamp"]}"#);
    assert_eq!(
        session(&disk).state_at(39).unwrap().state.player.text_at(&["inventory", "0"]).as_deref(),
        Some("\"lamp\"")
    );
}

#[test]
fn what_should_be_a_directory_and_is_a_file_is_found() {
    for name in ["turns", "deltas", "snapshots"] {
        let disk = good();
        for path in disk.contents().keys().filter(|path| path.is_within(&file(name))) {
            let inside = path.as_str().split_once(&format!("{SESSION}/")).unwrap().1.to_owned();
            remove(&disk, &inside);
        }
        remove(&disk, name);
        disk.put_file(&file(name), b"x");
        let found = findings(&disk);
        let is = |finding: &&Finding| finding.file == file(name);
        assert_eq!(
            found.iter().find(is).map(|found| found.code),
            Some(FindingCode::Unreadable),
            "{name}"
        );
    }
}
