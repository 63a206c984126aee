//! Forks and rewinds, and the whole life of a chat log.

use everturn::chatlog::{ChatError, ChatLog, ChatWriter, NewChatMark, fork};
use everturn::format::{self, Transition};
use everturn::model::SessionRef;

use crate::chatlog::support::{
    EXAMPLE, TALE, at, document, example, exists, path, put, read, reader, tell, told, writer,
};
use crate::common::capabilities::KnownCapabilities;

#[test]
fn a_fork_has_the_messages_up_to_one_and_the_tools_with_them() {
    let store = example();
    let mut log = writer(&store);
    tell(&mut log, "Dead. <tool:update id=death-counter value=1>", 5);
    log.add_mark(
        &NewChatMark { kind: "bookmark", name: "end", description: None, number: 4 },
        at(6),
    )
    .unwrap();
    log.release().unwrap();
    let before = told(&reader(&store));
    let made = fork(&store, &path(TALE), Some(2), None, at(9)).unwrap();
    assert_eq!(
        (made.id.as_str(), made.path.as_str(), made.messages),
        ("tale-fork", "chats/tale-fork.json", 2)
    );
    let branch = ChatLog::open(&store, &made.path).unwrap();
    let (own, theirs) = (told(&branch), told(&reader(&store)));
    assert_eq!(theirs, before);
    for line in own.lines() {
        assert!(before.contains(line), "{line}");
    }
    let text: serde_json::Value = serde_json::from_str(&read(&store, made.path.as_str())).unwrap();
    assert_eq!(
        text["metadata"]["lineage"],
        serde_json::json!({"parent": "tale", "turn": 2, "kind": "fork"})
    );
    assert_eq!(text["session"]["message_count"], 2);
    assert_eq!(text["session"]["end_time"], "2023-05-18T12:01:00Z");
    assert_eq!(text["bookmarks"].as_array().unwrap().len(), 1);
    assert_eq!(
        text["context_window"]["included_messages"],
        serde_json::json!(["msg-001", "msg-002"])
    );
    let all = fork(&store, &path(TALE), None, None, at(9)).unwrap();
    assert_eq!((all.id.as_str(), all.messages), ("tale-fork-2", 4));
    let taken = fork(&store, &path(TALE), None, Some("tale-fork"), at(9));
    assert!(matches!(taken, Err(ChatError::Taken { .. })));
    assert!(matches!(
        fork(&store, &path(TALE), None, Some("tale"), at(9)),
        Err(ChatError::Taken { .. })
    ));
    assert!(matches!(
        fork(&store, &path(TALE), Some(9), None, at(9)),
        Err(ChatError::NoNumber { .. })
    ));
    assert!(fork(&store, &path(TALE), None, Some("../x"), at(9)).is_err());
}

#[test]
fn a_rewind_loses_nothing_and_takes_the_tools_back() {
    let store = example();
    let mut log = writer(&store);
    for number in 1..=3 {
        tell(&mut log, &format!("Dead. <tool:update id=death-counter value={number}>"), number);
    }
    let whole = told(log.log());
    let branch = log.rewind(4, at(9)).unwrap();
    assert_eq!(branch.id, "tale-branch-6");
    let kept = ChatWriter::open(&store, &branch.path).unwrap();
    assert_eq!(told(kept.log()), whole);
    kept.release().unwrap();
    assert!(ChatWriter::open(&store, &path(TALE)).is_err(), "it still has its writer");
    let counter = |number| {
        log.log().states(number).unwrap().0.to_value().unwrap()["rezero-timeline-tracker"]["death-counter"].clone()
    };
    assert_eq!((log.log().len(), counter(4)), (4, serde_json::json!("1")));
    assert_eq!(tell(&mut log, "Alive.", 10), "msg-005");
    assert!(log.rewind(5, at(11)).is_err());
    assert!(log.rewind(6, at(11)).is_err());
    log.close().unwrap();
    assert_eq!(document(&store)["tool_snapshots"].as_array().unwrap().len(), 2);
    let mut log = writer(&store);
    log.rewind(0, at(12)).unwrap();
    assert_eq!(log.log().len(), 0);
    log.close().unwrap();
    assert_eq!(document(&store)["messages"], serde_json::json!([]));
}

#[test]
fn a_chat_log_is_thrown_away_and_taken_back() {
    let store = example();
    let chatlog = format::find("chatlog").unwrap();
    put(&store, "notes.json", "{\"type\": \"note\"}");
    put(&store, "loose.json", EXAMPLE);
    let places = || {
        let mut places: Vec<String> = chatlog
            .locate(&store)
            .unwrap()
            .sessions
            .into_iter()
            .map(|place| place.path.to_string())
            .collect();
        places.sort();
        places
    };
    assert_eq!(places(), [TALE, "loose.json"]);
    let place = SessionRef { id: "tale".to_owned(), path: path(TALE) };
    let mut log = writer(&store);
    tell(&mut log, "More.", 5);
    log.release().unwrap();
    let before = told(&reader(&store));
    let gone = chatlog
        .movable()
        .transition(&store, &place, Transition::Trash, at(9), &mut |_| {})
        .unwrap();
    assert_eq!(gone.trashed.as_deref(), Some("20260101T100009Z-tale"));
    assert_eq!(places(), ["loose.json"]);
    assert!(!exists(&store, "chats/tale.journal.jsonl"));
    let trashed = chatlog.movable().list_trash(&store).unwrap();
    assert_eq!((trashed.len(), trashed[0].path.as_str()), (1, TALE));
    assert_eq!(format::find("game").unwrap().movable().list_trash(&store).unwrap().len(), 0);
    chatlog.movable().restore(&store, "20260101T100009Z-tale").unwrap();
    assert_eq!(told(&reader(&store)), before);
    assert!(chatlog.movable().restore(&store, "20260101T100009Z-tale").is_err());
    chatlog.movable().transition(&store, &place, Transition::Trash, at(10), &mut |_| {}).unwrap();
    put(&store, TALE, EXAMPLE);
    assert!(chatlog.movable().restore(&store, "20260101T100010Z-tale").is_err());
    chatlog.movable().purge(&store, &chatlog.movable().list_trash(&store).unwrap()).unwrap();
    assert!(chatlog.movable().list_trash(&store).unwrap().is_empty());
    assert!(
        chatlog
            .movable()
            .transition(&store, &place, Transition::Pause, at(10), &mut |_| {})
            .is_err()
    );
}
