//! Old sessions of one file become sessions of today, whole or not at all, and nothing of them is dropped.

use std::sync::Arc;

use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::game::{GameError, GameStatus, GameWriter, ImportOutcome, Migration, Session};
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;

use super::damage::{findings, open, path};
use super::support::{at, id, now};

/// An old session with something of everything.
const OLD: &str = r#"{
  "sessionId": "old-1", "version": "0.3", "created": "2024-05-01T10:00:00Z", "status": "completed",
  "config": {"theme": "noir"}, "mood": "grim", "huge": 123456789012345678901234567890,
  "worldState": {"clock": 3, "npcs": {"luna": {"trust": 7}}},
  "player": {"name": "Vex", "inventory": ["lamp"], "location": {"id": "loc-2"}},
  "frames": [
    {"frameId": 1, "actor": "player", "timestamp": 1714557600000, "playerInput": "go north",
     "text": "You go north.", "weather": "rain",
     "deltas": [{"op": "set", "path": "world.clock", "value": 1}]},
    {"frameId": 2, "timestamp": "2024-05-01T10:05:00Z", "narration": "A lamp!",
     "events": [{"eventId": "e-9", "type": "zorp", "description": "It glows.", "level": 1.50}],
     "changes": [{"scope": "player", "eventId": "e-9", "deltas": [{"op": "push", "path": "inventory", "value": "lamp"}]}]},
    {"frameId": 3, "speaker": "luna", "content": "Hm.", "weather": "fog",
     "deltas": [{"op": "set", "path": "world.clock", "value": 3}, {"op": "increment", "path": "world.npcs.luna.trust", "value": 7}]},
    {"frameId": 4, "description": "The end.", "deltas": [{"op": "frobnicate", "path": "x"}]}
  ],
  "checkpoints": [
    {"frame": 0, "reason": "initial", "state": {"world": {"clock": 0, "npcs": {"luna": {"trust": 0}}},
     "player": {"name": "Vex", "inventory": [], "location": {"id": "loc-2"}}}},
    {"frame": 2, "label": "lamp found", "worldState": {"clock": 1, "npcs": {"luna": {"trust": 0}}},
     "playerState": {"name": "Vex", "inventory": ["lamp"], "location": {"id": "loc-2"}}},
    {"frame": 3, "label": "no state"}
  ]
}"#;

fn read(text: &str) -> Migration {
    Migration::read(text.as_bytes(), None, now()).unwrap()
}

fn import(disk: &SimDisk, migration: &Migration) -> ImportOutcome {
    migration.import(&open(disk), now()).unwrap()
}

fn session(disk: &SimDisk, name: &str) -> Session {
    Session::open(open(disk), &id(name)).unwrap()
}

#[test]
fn an_old_session_becomes_one_of_today() {
    let migration = read(OLD);
    assert_eq!(
        (migration.turns, migration.snapshots, migration.status),
        (4, 2, GameStatus::Completed)
    );
    let disk = SimDisk::new();
    assert_eq!(import(&disk, &migration), ImportOutcome::New);
    let found = findings(&disk);
    assert_eq!(
        found,
        [],
        "{}",
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
    let session = session(&disk, "old-1");
    assert_eq!((session.status(), session.turn()), (GameStatus::Completed, 4));
    let turns: Vec<_> = session.turns(1, 4).unwrap().map(Result::unwrap).collect();
    let told: Vec<(String, String)> =
        turns.iter().map(|turn| (turn.actor.clone(), turn.text())).collect();
    let expect = [
        ("player", "You go north."),
        ("gm", "A lamp!\nIt glows."),
        ("luna", "Hm."),
        ("gm", "The end."),
    ];
    assert_eq!(told, expect.map(|(actor, text)| (actor.to_owned(), text.to_owned())));
    let clock =
        |turn: u64| session.state_at(turn).unwrap().state.world.text_at(&["clock"]).unwrap();
    assert_eq!([0, 1, 2, 3, 4].map(clock), ["0", "1", "1", "3", "3"]);
    let state = session.resume().unwrap().state;
    assert_eq!(state.player.text_at(&["inventory"]).as_deref(), Some("[\"lamp\"]"));
}

#[test]
fn what_has_no_place_is_kept_and_told() {
    let migration = read(OLD);
    let disk = SimDisk::new();
    import(&disk, &migration);
    let session = session(&disk, "old-1");
    let meta = session.metadata().unwrap();
    let from = |path: &[&str]| meta.text_at(&[&["migratedFrom"], path].concat()).unwrap();
    assert_eq!(from(&["fields", "mood"]), "\"grim\"");
    assert_eq!(from(&["fields", "huge"]), "123456789012345678901234567890");
    assert_eq!(from(&["fields", "version"]), "\"0.3\"");
    assert_eq!(from(&["checkpoints", "0", "label"]), "\"lamp found\"");
    assert_eq!(from(&["checkpoints", "1"]), "{\"frame\":3,\"label\":\"no state\"}");
    let turns: Vec<_> = session.turns(1, 4).unwrap().map(Result::unwrap).collect();
    assert_eq!(turns[0].raw.text_at(&["frame", "weather"]).as_deref(), Some("\"rain\""));
    assert_eq!(turns[0].raw.text_at(&["actions", "0", "text"]).as_deref(), Some("\"go north\""));
    let event = turns[1].raw.value_at(&["events", "1"]).unwrap();
    assert_eq!(event.text_at(&["type"]).as_deref(), Some("\"zorp\""), "unknown kinds stay");
    assert_eq!(event.text_at(&["originalEventId"]).as_deref(), Some("\"e-9\""));
    assert_eq!(event.text_at(&["level"]).as_deref(), Some("1.50"), "digits stay");
    let odd = turns[3].raw.text_at(&["frame", "deltas"]);
    assert_eq!(odd.as_deref(), Some("[{\"op\":\"frobnicate\",\"path\":\"x\"}]"));
    let notes: Vec<&str> = migration.notes.iter().map(|note| note.path.as_str()).collect();
    for path in [
        "version",
        "mood",
        "huge",
        "frames.0.weather",
        "frames.3.deltas",
        "checkpoints.1.label",
        "checkpoints.2",
    ] {
        assert!(notes.contains(&path), "{path} is not told: {notes:?}");
    }
}

/// Every string and number of a value.
fn leaves(tree: &JsonTree, into: &mut Vec<String>) {
    let children = tree.children();
    if children.is_empty() && tree.len_at::<&str>(&[]).is_none() {
        into.push(tree.to_line());
    }
    children.iter().for_each(|(_, child)| leaves(child, into));
}

#[test]
fn every_value_of_the_source_is_somewhere_in_the_session() {
    let disk = SimDisk::new();
    import(&disk, &read(OLD));
    let everything: String = disk
        .contents()
        .into_iter()
        .filter(|(file, _)| file.is_within(&path("sessions")))
        .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
        .collect();
    let mut all = Vec::new();
    leaves(&JsonTree::parse(OLD).unwrap(), &mut all);
    assert!(all.len() > 50);
    // Times are written in one way only, and of paths the scope stands beside them.
    let known = |leaf: &&String| everything.contains(&leaf.replace("\"world.", "\""));
    let lost: Vec<_> = all.iter().filter(|leaf| !known(leaf)).collect();
    assert_eq!(lost, ["\"2024-05-01T10:05:00Z\""]);
}

#[test]
fn old_sessions_of_many_shapes_are_understood() {
    #[track_caller]
    fn check(text: &str, name: &str, turns: &[u64]) {
        let migration = read(text);
        assert_eq!(migration.id.as_str(), name);
        let disk = SimDisk::new();
        import(&disk, &migration);
        let session = session(&disk, name);
        let found: Vec<u64> =
            session.turns(0, 1 << 40).unwrap().map(|turn| turn.unwrap().turn).collect();
        assert_eq!(found, turns);
        let codes: Vec<_> = findings(&disk).iter().map(|finding| finding.code.as_str()).collect();
        assert!(codes.iter().all(|code| *code == "missing-turns"), "{codes:?}");
    }
    check(r#"{"id": "a", "frames": []}"#, "a", &[]);
    check(r#"{"id": "a", "worldState": {}}"#, "a", &[]);
    check(r#"{"session": "a", "frames": [{}, "Text.", null, 7, []]}"#, "a", &[1, 2, 3, 4, 5]);
    check(r#"{"id": "a", "frames": [{"index": 0}, {"index": 1}]}"#, "a", &[1, 2]);
    check(r#"{"id": "a", "frames": [{"turn": 3}, {"turn": 5}]}"#, "a", &[3, 5]);
    check(r#"{"id": "a", "frames": [{"turn": 3}, {"turn": 3}]}"#, "a", &[1, 2]);
    check(r#"{"id": "a", "frames": {"x": {"text": "A"}, "y": {"text": "B"}}}"#, "a", &[1, 2]);
    check(r#"{"id": "a", "status": "abandoned", "frames": [{"turn": 1}]}"#, "a", &[1]);
    check(
        r#"{"id": "a", "frames": [{"turn": 1, "stateChanges": [{"type": "x"}], "action": {"type": "y"}}]}"#,
        "a",
        &[1],
    );
    check(
        r#"{"id": "a", "frames": [{"turn": 1, "deltas": [
            {"target": "world", "operation": "append", "path": ["quests"], "newValue": {"id": 1}}]}],
            "checkpoints": [{"turn": 0, "world": {}, "character": {}}]}"#,
        "a",
        &[1],
    );
    let long: Vec<String> =
        (1..=250).map(|turn| format!("{{\"turn\":{turn},\"text\":\"T{turn}\"}}")).collect();
    let all: Vec<u64> = (1..=250).collect();
    check(&format!(r#"{{"id": "a", "frames": [{}]}}"#, long.join(",")), "a", &all);
    assert!(read(r#"{"frames": []}"#).id.as_str().starts_with("session-"));
}

#[test]
fn what_is_no_old_session_is_refused() {
    for text in ["", "{", "[]", "{}", r#"{"messages": []}"#, r#"{"id": "../x", "frames": []}"#] {
        assert!(Migration::read(text.as_bytes(), None, now()).is_err(), "{text}");
    }
}

#[test]
fn the_same_source_is_imported_once_and_another_one_is_refused() {
    let disk = SimDisk::new();
    assert_eq!(import(&disk, &read(OLD)), ImportOutcome::New);
    let before = super::damage::files(&disk);
    assert_eq!(import(&disk, &read(OLD)), ImportOutcome::Already);
    assert_eq!(super::damage::files(&disk), before);
    let other = read(&OLD.replace("go north", "go south"));
    let refused = other.import(&open(&disk), now()).unwrap_err();
    assert!(matches!(refused, GameError::Taken { .. }), "{refused}");
    assert_eq!(super::damage::files(&disk), before);
    let renamed = Migration::read(OLD.as_bytes(), Some(&id("other")), now()).unwrap();
    assert_eq!(import(&disk, &renamed), ImportOutcome::New);
}

#[test]
fn an_imported_session_can_be_played_on() {
    let disk = SimDisk::new();
    let old = OLD.replace("\"status\": \"completed\"", "\"status\": \"active\"");
    import(&disk, &read(&old));
    let mut game = GameWriter::open(open(&disk), &id("old-1")).unwrap();
    assert_eq!(game.append(&everturn::game::TurnInput::new("player"), at(10)).unwrap().turn, 5);
    game.close(at(11)).unwrap();
    let codes: Vec<_> = findings(&disk).iter().map(|finding| finding.to_string()).collect();
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn an_import_that_is_cut_anywhere_is_there_whole_or_not_at_all() {
    let whole = SimDisk::new();
    let migration = read(OLD);
    import(&whole, &migration);
    let expected = super::damage::files(&whole);
    let mut points = 0;
    for point in 0.. {
        let disk = SimDisk::new();
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let owner = LockOwner { pid: 1, started: String::new() };
        let store = FileStore::open(Arc::new(disk.process()), Options::new(owner));
        let done = store
            .map(|store| migration.import(&(Arc::new(store) as Arc<dyn Store>), now()).is_ok());
        if !disk.crashed() {
            assert!(done.unwrap());
            break;
        }
        points += 1;
        for (data, names) in [
            (DataSurvival::Lost, NameSurvival::Lost),
            (DataSurvival::Kept, NameSurvival::Kept),
            (DataSurvival::Prefix, NameSurvival::Prefix),
            (DataSurvival::Mixed(point), NameSurvival::Prefix),
        ] {
            let disk = disk.fork();
            disk.power_cut(Survival { data, names });
            let store = open(&disk);
            let left = super::damage::files(&disk);
            assert!(left.is_empty() || left == expected, "cut at {point}: half a session");
            let again = migration.import(&store, now()).unwrap();
            let there = if left.is_empty() { ImportOutcome::New } else { ImportOutcome::Already };
            assert_eq!(again, there, "cut at {point}");
            assert_eq!(super::damage::files(&disk), expected, "cut at {point}");
            let staging: Vec<FilePath> = disk
                .contents()
                .into_keys()
                .filter(|file| file.is_within(&path(".everturn/staging")))
                .collect();
            assert_eq!(staging, []);
        }
    }
    assert!(points > 20, "{points}");
}

#[test]
fn a_state_that_the_old_session_does_not_tell_is_unknown() {
    let disk = SimDisk::new();
    let migration = read(
        r#"{"sessionId": "old-1", "worldState": {"clock": 3}, "player": {"name": "Vex"},
            "frames": [{"frameId": 1, "text": "one"}, {"frameId": 2, "text": "two"}, {"frameId": 3, "text": "three"}],
            "checkpoints": [{"frame": 2, "worldState": {"clock": 2}, "player": {"name": "Vex"}}]}"#,
    );
    assert_eq!(import(&disk, &migration), ImportOutcome::New);
    let session = session(&disk, "old-1");
    for turn in [0, 1] {
        let error = session.state_at(turn).unwrap_err();
        assert!(matches!(error, GameError::NoState { .. }), "{turn}: {error}");
    }
    let clock = |turn: u64| session.state_at(turn).unwrap().state.world.text_at(&["clock"]);
    assert_eq!((clock(2).as_deref(), clock(3).as_deref()), (Some("2"), Some("3")));
}

/// The frames of the document: a number, a type, data and a result. They come in the order of their numbers, have text,
/// and their checkpoints are snapshots.
#[test]
fn documented_frames_become_turns_with_text_and_snapshots() {
    let old = r#"{"sessionId": "old-2", "worldState": {"clock": 3}, "player": {"name": "Vex"},
      "frames": [
        {"frame": 3, "type": "travel", "data": {"destination": "harbour", "days": 2}, "result": {"ok": true}},
        {"frame": 1, "type": "player_action", "data": {"action": "open the door"},
         "result": {"narrative": "It creaks.", "roll": [1, 2]}},
        {"frame": 2, "type": "narration", "data": "Rain falls.", "result": null}],
      "checkpoints": [
        {"frame": 2, "fullState": {"worldState": {"clock": 2}, "playerState": {"name": "Vex"}, "mood": "grim"}}]}"#;
    let migration = read(old);
    assert_eq!((migration.turns, migration.snapshots), (3, 1));
    let disk = SimDisk::new();
    import(&disk, &migration);
    assert_eq!(findings(&disk), []);
    let session = session(&disk, "old-2");
    let texts: Vec<(String, String)> = session
        .turns(1, 3)
        .unwrap()
        .map(|turn| turn.map(|turn| (turn.actor.clone(), turn.text())).unwrap())
        .collect();
    let expected = [
        ("player", "open the door\nIt creaks."),
        ("gm", "Rain falls."),
        ("gm", "destination: harbour, days: 2\nok: true"),
    ];
    let expected = expected.map(|(actor, text)| (actor.to_owned(), text.to_owned()));
    assert_eq!(texts, expected);
    let world = session.state_at(2).unwrap().state.world;
    assert_eq!(world.text_at(&["clock"]).as_deref(), Some("2"));
    let files: Vec<String> = super::damage::files(&disk).keys().map(ToString::to_string).collect();
    for index in ["turn-index", "scene-index", "delta-index", "event-index"] {
        assert!(
            files.iter().any(|file| file.ends_with(&format!("indexes/{index}.json"))),
            "{files:?}"
        );
    }
    let all: String =
        super::damage::files(&disk).values().map(|it| String::from_utf8_lossy(it)).collect();
    assert!(all.contains("grim") && all.contains("harbour"));
}
