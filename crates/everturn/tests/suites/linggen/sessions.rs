//! Sessions: bytes as documented, titles, branches, and messages that are cleared away without being lost.

use std::sync::Arc;

use everturn::linggen::{
    LinggenError, LinggenWriter, Message, NewLinggenSession, Session, clear_messages, fork, rewind,
    session_permission, sessions,
};
use everturn::names::SessionId;
use everturn::store::StoreError;

use crate::linggen::support::{
    DIR, at, exists, memory, names, path, project, put, read, said, say, session,
};

#[test]
fn a_session_is_written_as_documented() {
    let store = memory();
    let new = NewLinggenSession { title: "Fix login bug".to_owned(), id: None };
    let writer = LinggenWriter::create(&store, &project(&store).dir, &new, at(0)).unwrap();
    let (id, dir) = (writer.place().id.to_string(), writer.place().dir.to_string());
    let (prefix, digits) = id.rsplit_once('-').unwrap();
    assert_eq!((prefix, digits.len()), ("sess-1700000000", 8));
    assert_eq!(
        read(&store, &format!("{dir}/session.yaml")),
        format!("id: {id}\ntitle: Fix login bug\ncreated_at: 1700000000\n")
    );
    assert_eq!(read(&store, &format!("{dir}/messages.jsonl")), "");
    writer.append(&Message::from_user("ling", "Héllo \"you\""), at(0)).unwrap();
    assert_eq!(
        read(&store, &format!("{dir}/messages.jsonl")),
        "{\"agent_id\":\"ling\",\"from_id\":\"user\",\"to_id\":\"ling\",\"content\":\"Héllo \\\"you\\\"\",\
         \"timestamp\":1700000000,\"is_observation\":false}\n"
    );
    let again = LinggenWriter::create(&store, &project(&store).dir, &new, at(0)).unwrap();
    assert_ne!(again.place().id.as_str(), id, "two sessions of one instant are two");
}

#[test]
fn the_first_thing_a_user_says_becomes_the_title() {
    let store = memory();
    let place = session(&store);
    let yaml = "id: sess-1\n# ours\ntitle: ''\ncreated_at: 1700000000\nmodel_id: x\n";
    put(&store, &format!("{DIR}/session.yaml"), yaml);
    say(&store, &place, &["yes: this is one two three four", "another"]);
    let titled = yaml.replace("''", "'yes: this is one two three'");
    assert_eq!(read(&store, &format!("{DIR}/session.yaml")), titled);
    let writer = LinggenWriter::open(&store, &place).unwrap();
    writer.set_title("Two\nlines").unwrap();
    let titled = yaml.replace("''", "|-\n  Two\n  lines");
    assert_eq!(read(&store, &format!("{DIR}/session.yaml")), titled);
}

#[test]
fn what_programs_say_besides_is_kept() {
    let store = memory();
    let place = session(&store);
    let writer = LinggenWriter::open(&store, &place).unwrap();
    let message = r#"{"content": [1], "from_id": "coder", "x": {"y": 1.50}, "timestamp": 5}"#;
    let appended = writer.append(&Message::parse(message).unwrap(), at(1)).unwrap();
    assert_eq!(writer.number(&appended).unwrap(), 1);
    assert_eq!(
        read(&store, &format!("{DIR}/messages.jsonl")),
        "{\"agent_id\":\"coder\",\"from_id\":\"coder\",\"to_id\":\"user\",\"content\":\"[1]\",\"timestamp\":5,\
         \"is_observation\":false,\"x\":{\"y\":1.5}}\n"
    );
    for bad in [
        "",
        "[]",
        "{}",
        "{\"content\": 1, \"timestamp\": \"x\"}",
        "{\"content\":\"a\",\"from_id\":1}",
    ] {
        assert!(Message::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn sessions_of_every_shape_are_found_by_name() {
    let store = memory();
    session(&store);
    put(&store, "projects/-x/sessions/default/messages.jsonl", "");
    put(&store, "projects/-x/sessions/empty/notes.txt", "not a session");
    let flat =
        "id: sess-9-a\ntitle: Flat\ncreated_at: 9\ncreator: user\ncwd: /w\nmission_id: null\n";
    put(&store, "sessions/sess-9-a/session.yaml", flat);
    put(
        &store,
        "sessions/sess-9-a/permission.json",
        r#"{"path_modes":[{"path":"/w","mode":"edit"}],"interactive":true}"#,
    );
    let (places, findings) = sessions(&store).unwrap();
    let found: Vec<&str> = places.iter().map(|place| place.dir.as_str()).collect();
    assert_eq!(found, ["sessions/sess-9-a", DIR, "projects/-x/sessions/default"]);
    assert_eq!(findings, []);
    let flat = Session::open(Arc::clone(&store), &places[0]).unwrap();
    assert_eq!(flat.meta().unwrap().title().as_deref(), Some("Flat"));
    assert_eq!(flat.meta().unwrap().values()["cwd"], "/w");
    let permission = session_permission(&store, &places[0]).unwrap().unwrap();
    assert_eq!(permission.path_modes, [("/w".to_owned(), "edit".to_owned())]);
    let bare = Session::open(Arc::clone(&store), &places[2]).unwrap();
    assert!(bare.meta().is_none());
    assert_eq!(bare.findings().len(), 1);
    say(&store, &places[2], &["idle"]);
    say(&store, &places[0], &["flat"]);
    assert_eq!(
        (said(&store, &places[2]), said(&store, &places[0])),
        (vec!["idle".into()], vec!["flat".into()])
    );
}

#[test]
fn clearing_keeps_what_was_said() {
    let store = memory();
    let place = session(&store);
    assert_eq!(clear_messages(&store, &place, at(2)).unwrap().messages, 0);
    say(&store, &place, &["a", "b"]);
    let before = read(&store, &format!("{DIR}/messages.jsonl"));
    let cleared = clear_messages(&store, &place, at(2)).unwrap();
    assert_eq!(cleared.messages, 2);
    assert_eq!(read(&store, &format!("{DIR}/messages.jsonl")), "");
    assert_eq!(read(&store, cleared.kept.unwrap().as_str()), before);
    say(&store, &place, &["c"]);
    let again = clear_messages(&store, &place, at(2)).unwrap();
    assert_eq!(again.messages, 1, "cleared twice in one second");
    assert_eq!(names(&store, ".everturn/trash").len(), 2);
}

#[test]
fn a_fork_has_the_messages_up_to_its_turn() {
    let store = memory();
    let place = session(&store);
    say(&store, &place, &["a", "b", "c"]);
    put(&store, &format!("{DIR}/permission.json"), "{}");
    let forked = fork(&store, &place, Some(2), None, at(5)).unwrap();
    assert_eq!(said(&store, &forked.place), ["a", "b"]);
    assert_eq!(said(&store, &place), ["a", "b", "c"]);
    let dir = forked.place.dir.to_string();
    assert!(
        read(&store, &format!("{dir}/session.yaml"))
            .starts_with(&format!("id: {}\ntitle: T\n", forked.place.id))
    );
    assert!(exists(&store, &format!("{dir}/permission.json")));
    let lineage =
        Session::open(Arc::clone(&store), &forked.place).unwrap().lineage().unwrap().unwrap();
    assert_eq!(
        (lineage.parent.as_str(), lineage.turn, lineage.kind.as_str()),
        ("sess-1", 2, "fork")
    );
    let all = fork(&store, &place, None, Some(SessionId::parse("all").unwrap()), at(5)).unwrap();
    assert_eq!((all.turn, said(&store, &all.place).len()), (3, 3));
    let none = fork(&store, &place, Some(0), None, at(6)).unwrap();
    assert_eq!(said(&store, &none.place), Vec::<String>::new());
    assert!(matches!(
        fork(&store, &place, Some(4), None, at(7)),
        Err(LinggenError::NoTurn { turn: 4, last: 3 })
    ));
    let taken = fork(&store, &place, None, Some(SessionId::parse("all").unwrap()), at(8));
    assert!(matches!(taken, Err(LinggenError::Taken { .. })));
}

#[test]
fn a_rewind_leaves_the_rest_in_a_branch() {
    let store = memory();
    let place = session(&store);
    say(&store, &place, &["a", "b", "c"]);
    let branch = rewind(&store, &place, 1, at(5)).unwrap();
    assert_eq!(said(&store, &place), ["a"]);
    assert_eq!(said(&store, &branch.place), ["a", "b", "c"]);
    say(&store, &place, &["d"]);
    assert_eq!(said(&store, &place), ["a", "d"]);
    assert_eq!(read(&store, &format!("{DIR}/messages.jsonl")).lines().count(), 2);
    let writer = LinggenWriter::open(&store, &place).unwrap();
    let busy = rewind(&store, &place, 1, at(6));
    assert!(matches!(busy, Err(LinggenError::Store(StoreError::Busy { .. }))));
    drop(writer);
}

#[test]
fn a_session_that_is_not_there_is_not_made_by_writing_to_it() {
    let store = memory();
    let mut place = session(&store);
    place.dir = path("projects/-srv-site/sessions/other");
    assert!(matches!(LinggenWriter::open(&store, &place), Err(LinggenError::NoSession { .. })));
    assert!(!exists(&store, "projects/-srv-site/sessions/other"));
}
