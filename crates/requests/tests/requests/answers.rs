//! Every request of a game, and what it answers.

use everturn_requests::{Request, SessionHandler};
use serde_json::{Value, json};

use crate::conversation::{Conversation, Kind, open_root};

/// A game with so many turns.
fn game(turns: u64) -> (tempfile::TempDir, Conversation) {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut conversation = Conversation::open(&root, &id);
    for turn in 1..=turns {
        let data = Kind::Game.turn(turn);
        conversation.ok(&format!(r#"{{"request":"append","data":{data}}}"#));
    }
    (dir, conversation)
}

#[test]
fn append_answers_with_turn_events_and_snapshot() {
    let (_dir, mut game) = game(0);
    let data = Kind::Game.turn(1);
    let answer = game.ok(&format!(r#"{{"request":"append","data":{data}}}"#));
    let expect = json!({"turn": 1, "stored": "now", "events": ["one-1-1"], "snapshot": null, "warnings": []});
    assert_eq!(answer, expect);
    let milestone = r#"{"request":"append","data":{"actor":"gm","events":[{"type":"milestone","description":"The gate."}]}}"#;
    let answer = game.ok(milestone);
    assert_eq!((&answer["turn"], &answer["snapshot"]), (&json!(2), &json!("snapshot-0002")));
    assert_eq!(
        game.error(&format!(r#"{{"request":"append","data":{data},"after":1}}"#)),
        "conflict"
    );
    assert_eq!(game.ok(&format!(r#"{{"request":"append","data":{data},"after":2}}"#))["turn"], 3);
}

#[test]
fn state_is_read_at_any_path_and_turn_with_its_spelling() {
    let (_dir, mut game) = game(3);
    let line = |fields: &str| format!(r#"{{"request":"state"{fields}}}"#);
    let state = game.ok(&line(""));
    assert_eq!((&state["turn"], &state["state"]["world"]["step"]), (&json!(3), &json!(3.5)));
    assert_eq!(game.ok(&line(r#","turn":1,"path":"world.step""#))["state"], json!(1.5));
    assert_eq!(game.ok(&line(r#","path":["world","step"]"#))["state"], json!(3.5));
    assert_eq!(game.ok(&line(r#","turn":0,"path":"world""#))["turn"], 0);
    assert_eq!(game.error(&line(r#","path":"world.nothing""#)), "not_found");
    assert_eq!(game.error(&line(r#","path":"planet.step""#)), "not_found");
    assert_eq!(game.error(&line(r#","turn":9"#)), "not_found");
    let handler = game.send(line(r#","path":"world.step""#).as_bytes());
    assert_eq!(handler["ok"]["state"].to_string(), "3.5");
}

#[test]
fn values_keep_their_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut handler = SessionHandler::new(root.find(&id).unwrap());
    let data = Kind::Game.turn(1);
    handler.answer_line(format!(r#"{{"request":"append","data":{data}}}"#).as_bytes());
    let answer = handler.answer_line(br#"{"id":1.50,"request":"state","path":"world.step"}"#);
    assert_eq!(answer.text, r#"{"id":1.50,"ok":{"turn":1,"state":1.50,"warnings":[]}}"#);
}

#[test]
fn diff_lists_the_changes_between_two_turns() {
    let (_dir, mut game) = game(3);
    let answer = game.ok(r#"{"request":"diff","from":1,"to":3}"#);
    let change =
        json!({"scope": "world", "op": "set", "path": "step", "value": 3.5, "previousValue": 1.5});
    assert_eq!(answer, json!({"from": 1, "to": 3, "changes": [change], "warnings": []}));
    assert_eq!(game.ok(r#"{"request":"diff","from":1}"#)["to"], 3);
    assert_eq!(game.ok(r#"{"request":"diff","from":1,"scope":"player"}"#)["changes"], json!([]));
    assert_eq!(game.error(r#"{"request":"diff","from":1,"scope":"planet"}"#), "not_found");
}

#[test]
fn entries_come_in_pages() {
    let (_dir, mut game) = game(7);
    let (mut cursor, mut turns) = (String::new(), Vec::new());
    loop {
        let page = game.ok(&format!(r#"{{"request":"entries","from":2,"limit":2{cursor}}}"#));
        let entries = page["entries"].as_array().unwrap();
        assert!(entries.len() <= 2 && !entries.is_empty());
        turns.extend(entries.iter().map(|entry| entry["turn"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!(r#","cursor":"{next}""#);
    }
    assert_eq!(turns, [2, 3, 4, 5, 6, 7]);
    let page = game.ok(r#"{"request":"entries","from":3,"to":4,"raw":true}"#);
    assert_eq!((page["entries"].as_array().unwrap().len(), &page["next"]), (2, &Value::Null));
    assert_eq!(page["entries"][0]["raw"]["turnId"], 3);
    assert_eq!(page["entries"][1]["text"], "Step 4.");
    for wrong in [r#""limit":0"#, r#""limit":1001"#, r##""cursor":"#3""##, r#""cursor":"x""#] {
        assert_eq!(game.error(&format!(r#"{{"request":"entries",{wrong}}}"#)), "bad_request");
    }
}

#[test]
fn undo_rewind_and_fork_go_on_in_the_same_conversation() {
    let (_dir, mut game) = game(4);
    assert_eq!(
        game.ok(r#"{"request":"undo","turns":2,"after":4}"#),
        json!({"turn": 5, "warnings": []})
    );
    // Sent again, it is refused instead of undoing more.
    assert_eq!(game.error(r#"{"request":"undo","turns":2,"after":4}"#), "conflict");
    assert_eq!(game.ok(r#"{"request":"state","path":"world.step"}"#)["state"], json!(2.5));
    let fork = game.ok(r#"{"request":"fork","turn":2,"session":"what-if"}"#);
    assert_eq!(
        (&fork["session"], &fork["turn"], &fork["parent"]),
        (&json!("what-if"), &json!(2), &json!("one"))
    );
    assert_eq!(game.error(r#"{"request":"fork","session":"what-if"}"#), "taken");
    let rewound = game.ok(r#"{"request":"rewind","turn":1,"after":5}"#);
    assert_eq!((&rewound["turn"], &rewound["branch"]), (&json!(1), &json!("one-branch-5")));
    assert_eq!(game.error(r#"{"request":"rewind","turn":9}"#), "not_found");
    let data = Kind::Game.turn(8);
    assert_eq!(game.ok(&format!(r#"{{"request":"append","data":{data}}}"#))["turn"], 2);
    let branches = game.ok(r#"{"request":"branches"}"#);
    assert_eq!(
        branches,
        json!({"branches": [], "forks": ["one-branch-5", "what-if"], "warnings": []})
    );
}

#[test]
fn scenes_and_snapshots() {
    let (_dir, mut game) = game(1);
    let started = game.ok(r#"{"request":"scene_start","data":{"type":"social"},"after":1}"#);
    assert_eq!(started, json!({"turn": 2, "scene": "scene-001", "warnings": []}));
    assert_eq!(
        game.ok(r#"{"request":"scene_end","data":{"outcome":"They let you in."}}"#)["scene"],
        "scene-001"
    );
    assert_eq!(game.error(r#"{"request":"scene_end"}"#), "bad_request");
    assert_eq!(game.error(r#"{"request":"scene_start","after":1}"#), "conflict");
    let taken = game.ok(r#"{"request":"snapshot"}"#);
    assert_eq!(taken, json!({"turn": 3, "snapshot": "snapshot-0003", "warnings": []}));
}

#[test]
fn marks_are_added_listed_and_removed() {
    let (_dir, mut game) = game(2);
    let mark = game.ok(r#"{"request":"mark_add","name":"gate","kind":"chapter","turn":1}"#)["mark"]
        .clone();
    assert_eq!(
        (&mark["name"], &mark["kind"], &mark["turn"]),
        (&json!("gate"), &json!("chapter"), &json!(1))
    );
    assert_eq!(game.ok(r#"{"request":"mark_list"}"#)["marks"], json!([mark]));
    // The session stays locked.
    assert_eq!(game.ok(r#"{"request":"info"}"#)["locked"], true);
    let id = mark["id"].as_str().unwrap();
    let removed = game.ok(&format!(r#"{{"request":"mark_remove","mark":"{id}"}}"#));
    assert_eq!(removed["mark"], mark);
    assert_eq!(game.error(&format!(r#"{{"request":"mark_remove","mark":"{id}"}}"#)), "bad_request");
    assert_eq!(game.error(r#"{"request":"mark_add","name":"far","turn":9}"#), "not_found");
}

#[test]
fn a_paused_or_completed_session_is_read_and_resumed() {
    let (_dir, mut game) = game(1);
    let append = format!(r#"{{"request":"append","data":{}}}"#, Kind::Game.turn(2));
    let paused = game.ok(r#"{"request":"pause"}"#);
    assert_eq!(
        (&paused["status"], &paused["path"]),
        (&json!("paused"), &json!("sessions/paused/one"))
    );
    assert_eq!(game.error(&append), "wrong_status");
    assert_eq!(game.ok(r#"{"request":"state","path":"world.step"}"#)["state"], json!(1.5));
    assert_eq!(game.ok(r#"{"request":"mark_add","name":"here"}"#)["mark"]["turn"], 1);
    assert_eq!(game.ok(r#"{"request":"resume"}"#)["status"], "active");
    assert_eq!(game.ok(&append)["turn"], 2);
    assert_eq!(game.ok(r#"{"request":"complete"}"#)["status"], "completed");
    assert_eq!(game.error(&append), "wrong_status");
    let info = game.ok(r#"{"request":"info"}"#);
    assert_eq!(
        (&info["status"], &info["turns"], &info["locked"]),
        (&json!("completed"), &json!(2), &json!(false))
    );
    assert_eq!(game.ok(r#"{"request":"entries"}"#)["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn sync_writes_state_files_and_lets_others_write() {
    let (dir, mut game) = game(3);
    let state = dir.path().join("sessions/active/one/world.state.json");
    let other = open_root(dir.path());
    let mut second = Conversation::open(&other, "one");
    let append = format!(r#"{{"request":"append","data":{}}}"#, Kind::Game.turn(4));
    assert_eq!(second.error(&append), "busy");
    assert_eq!(game.ok(r#"{"request":"sync"}"#), json!({"turn": 3}));
    #[expect(
        clippy::disallowed_methods,
        reason = "the test reads the file as another program would"
    )]
    let text = std::fs::read_to_string(&state).unwrap();
    assert!(text.contains("3.50"), "{text}");
    assert_eq!(second.ok(&append)["turn"], 4);
    // A conversation without the lock sees what others have stored.
    assert_eq!(game.ok(r#"{"request":"state","path":"world.step"}"#)["state"], json!(4.5));
    assert_eq!(second.ok(r#"{"request":"pause"}"#)["status"], "paused");
    assert_eq!(game.ok(r#"{"request":"info"}"#)["status"], "paused");
    assert_eq!(second.ok(r#"{"request":"close"}"#), json!({"turn": 4}));
    assert_eq!(second.error(r#"{"request":"info"}"#), "closed");
}

#[test]
fn a_read_only_conversation_refuses_to_write() {
    let (dir, mut game) = game(2);
    let root = open_root(dir.path());
    let mut reader = Conversation::new(SessionHandler::read_only(root.find("one").unwrap()));
    for name in Request::NAMES {
        let data = Kind::Game.turn(3);
        let fields = match *name {
            "append" => format!(r#","data":{data}"#),
            "rewind" => r#","turn":1"#.to_owned(),
            "mark_add" => r#","name":"x""#.to_owned(),
            "mark_remove" => r#","mark":"x""#.to_owned(),
            "diff" => r#","from":1"#.to_owned(),
            _ => String::new(),
        };
        let line = format!(r#"{{"request":"{name}"{fields}}}"#);
        let request = Request::parse(name, &format!("{{{}}}", fields.trim_start_matches(',')));
        match request.unwrap().is_write() {
            true => assert_eq!(reader.error(&line), "read_only", "{name}"),
            false => drop(reader.ok(&line)),
        }
    }
    assert_eq!(game.ok(r#"{"request":"info"}"#)["turns"], 2);
}

#[test]
fn a_handler_is_served_by_another_thread() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let handler = std::sync::Mutex::new(SessionHandler::new(root.find(&id).unwrap()));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let handler = &handler;
            scope.spawn(move || {
                for turn in 0..5 {
                    let data = Kind::Game.turn(turn);
                    let line =
                        format!(r#"{{"request":"append","key":"{thread}-{turn}","data":{data}}}"#);
                    let answer = handler.lock().unwrap().answer_line(line.as_bytes());
                    assert!(answer.text.starts_with("{\"ok\""), "{}", answer.text);
                }
            });
        }
    });
    let mut conversation = Conversation::new(handler.into_inner().unwrap());
    assert_eq!(
        conversation.ok(r#"{"request":"entries"}"#)["entries"].as_array().unwrap().len(),
        20
    );
}
