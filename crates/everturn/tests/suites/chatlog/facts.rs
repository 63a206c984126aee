//! Facts about a session that a change to something else must leave alone.

use everturn::chatlog::{NewChatMark, fork, plan_repair, repair};
use everturn::finding::FindingCode;
use everturn::model::ExportRecord;
use everturn::store::Store;
use serde_json::json;
use std::sync::Arc;

use crate::chatlog::support::{
    EXAMPLE, TALE, at, document, example, memory, path, put, read, reader, tale, tell, tree, writer,
};

/// The recorded end and duration.
fn end(store: &Arc<dyn Store>) -> (String, i64) {
    let session = document(store)["session"].clone();
    (
        session["end_time"].as_str().unwrap().to_owned(),
        session["duration_seconds"].as_i64().unwrap(),
    )
}

/// The end and the duration in the example, which are not those of its last message.
fn example_end() -> (String, i64) {
    ("2023-05-18T14:30:00Z".to_owned(), 9000)
}

#[test]
fn marks_edits_deletions_and_exports_leave_the_end_of_a_session_alone() {
    let store = example();
    let mut log = writer(&store);
    let mark = NewChatMark { kind: "bookmark", name: "b", description: None, number: 2 };
    log.add_mark(&mark, at(0)).unwrap();
    log.fold().unwrap();
    assert_eq!(end(&store), example_end(), "a bookmark");
    log.edit(2, "Edited.", at(1)).unwrap();
    log.fold().unwrap();
    assert_eq!(end(&store), example_end(), "an edit");
    let exported = ExportRecord {
        format: "md".to_owned(),
        style: "rich".to_owned(),
        metadata: true,
        snapshots: true,
        ooc: false,
    };
    log.note_export(&exported, at(2)).unwrap();
    log.fold().unwrap();
    assert_eq!(end(&store), example_end(), "an export");
    let gone = log.delete(3, at(3)).unwrap();
    log.fold().unwrap();
    assert_eq!(end(&store), example_end(), "a deletion");
    log.restore(&gone.name, at(4)).unwrap();
    log.close().unwrap();
    assert_eq!(end(&store), example_end(), "a restored message");
    assert_eq!(document(&store)["session"]["message_count"], 3);
}

#[test]
fn only_a_new_message_moves_the_end_and_never_back() {
    let store = example();
    let mut log = writer(&store);
    let early = r#"{"type":"npc","text":"Before.","timestamp":"2023-05-18T13:00:00Z"}"#;
    log.append(&tree(early), at(0)).unwrap();
    log.fold().unwrap();
    assert_eq!(end(&store), example_end());
    let late = r#"{"type":"npc","text":"After.","timestamp":"2023-05-18T15:00:00Z"}"#;
    log.append(&tree(late), at(1)).unwrap();
    log.append(&tree(early), at(2)).unwrap();
    log.close().unwrap();
    assert_eq!(end(&store), ("2023-05-18T15:00:00Z".to_owned(), 10_800));
    assert!(reader(&store).check().unwrap().iter().all(|it| it.code != FindingCode::WrongMetadata));
}

#[test]
fn a_message_older_than_its_session_makes_no_negative_duration() {
    let store = memory();
    let mut log = tale(&store);
    let old = r#"{"type":"npc","text":"late","timestamp":"2020-01-01T00:00:00Z"}"#;
    log.append(&tree(old), at(5)).unwrap();
    log.close().unwrap();
    assert_eq!(end(&store), (at(0).to_string(), 0));
}

#[test]
fn an_end_before_the_start_or_before_a_message_is_a_finding_and_is_corrected() {
    let wrong = [
        ("2020-01-01T00:00:00Z", "-106401600", "session.end_time is before session.start_time"),
        ("2023-05-18T12:02:00Z", "120", "session.end_time is before the newest message"),
    ];
    for (time, seconds, words) in wrong {
        let text = EXAMPLE
            .replace("\"end_time\": \"2023-05-18T14:30:00Z\"", &format!("\"end_time\": \"{time}\""))
            .replace("\"duration_seconds\": 9000", &format!("\"duration_seconds\": {seconds}"))
            .replace("\"message_count\": 42", "\"message_count\": 3");
        let store = memory();
        put(&store, TALE, &text);
        let findings = reader(&store).check().unwrap();
        assert!(findings.iter().any(|it| it.message.contains(words)), "{words}: {findings:?}");
        repair(&store, &path(TALE), at(1)).unwrap();
        assert_eq!(end(&store), ("2023-05-18T12:03:00Z".to_owned(), 180), "{words}");
        assert_eq!(plan_repair(&store, &path(TALE)).unwrap().actions, []);
    }
}

#[test]
fn a_repair_of_something_else_leaves_the_end_alone() {
    let store = example();
    repair(&store, &path(TALE), at(1)).unwrap();
    assert_eq!(end(&store), example_end());
    assert_eq!(
        read(&store, TALE),
        EXAMPLE.replace("\"message_count\": 42", "\"message_count\": 3")
    );
}

#[test]
fn a_branch_ends_with_its_last_message_and_a_whole_copy_as_the_session_did() {
    let store = example();
    let whole = fork(&store, &path(TALE), None, Some("whole"), at(1)).unwrap();
    let cut = fork(&store, &path(TALE), Some(2), Some("cut"), at(2)).unwrap();
    let session = |file: &str| {
        let document: serde_json::Value = serde_json::from_str(&read(&store, file)).unwrap();
        (document["session"]["end_time"].clone(), document["session"]["duration_seconds"].clone())
    };
    assert_eq!(session(whole.path.as_str()), (json!("2023-05-18T14:30:00Z"), json!(9000)));
    assert_eq!(session(cut.path.as_str()), (json!("2023-05-18T12:01:00Z"), json!(60)));
    let mut log = writer(&store);
    tell(&mut log, "On.", 3);
    log.close().unwrap();
    assert_eq!(end(&store).0, at(3).to_string());
}

/// The example with a second version of its second message, so that its histories have texts of their own.
fn with_history() -> String {
    let store = example();
    let mut log = writer(&store);
    log.edit(2, "The market is loud.", at(1)).unwrap();
    log.close().unwrap();
    read(&store, TALE)
}

#[test]
fn a_repair_keeps_every_message_whose_text_is_whole() {
    let whole = with_history();
    let text = "\"text\": \"The market is loud.\"";
    let start = whole.find("\"id\": \"msg-002\"").unwrap();
    let end = whole.find("\"id\": \"msg-003\"").unwrap();
    let kept = whole[start..].find(text).unwrap() + start;
    let mut tried = 0;
    for position in (start..end).step_by(7) {
        if (kept..kept + text.len()).contains(&position) || !whole.is_char_boundary(position) {
            continue;
        }
        for odd in ["\"", "{", "}", "]", "\u{0}", "x", ""] {
            let next = (position + 1..).find(|at| whole.is_char_boundary(*at)).unwrap();
            let damaged = format!("{}{odd}{}", &whole[..position], &whole[next..]);
            let store = memory();
            put(&store, TALE, &damaged);
            let near = &damaged[position.saturating_sub(20)..next + 20];
            repair(&store, &path(TALE), at(2)).unwrap_or_else(|error| panic!("{near:?}: {error}"));
            let log = reader(&store);
            let texts: Vec<String> =
                log.messages(1..=9).unwrap().map(|message| message.unwrap().text()).collect();
            let of = |words: &str| texts.iter().filter(|text| text.starts_with(words)).count();
            let counts = (of("Welcome to"), of("The market is loud."), of("I look around"));
            assert_eq!((counts, texts.len()), ((1, 1, 1), 3), "{near:?}: {texts:?}");
            tried += 1;
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn a_repaired_message_has_what_is_whole_of_it() {
    let whole = with_history();
    // The history breaks, but nothing before it.
    let damaged = whole.replacen("\"edit_history\": [\n", "\"edit_history\": [\u{0}\n", 2);
    let damaged = damaged.replacen("\"is_edited\": true", "\"is_edited\": tr\u{0}e", 1);
    assert_ne!(damaged, whole);
    let store = memory();
    put(&store, TALE, &damaged);
    repair(&store, &path(TALE), at(2)).unwrap();
    let message = document(&store)["messages"][1].clone();
    assert_eq!(message["id"], "msg-002");
    assert_eq!(message["timestamp"], "2023-05-18T12:01:00Z");
    assert_eq!(message["type"], "narrator");
    assert_eq!(message["sender"]["avatar"], "path/to/narrator-avatar.png");
    assert_eq!(message["content"]["text"], "The market is loud.");
    assert_eq!(message["metadata"]["tokens"], 5, "an edit counts the new text");
    // A content whose text is broken keeps its other parts.
    let damaged = EXAMPLE.replacen("\"text\": \"I look", "\"text\": \"\u{0}I look", 1);
    put(&store, TALE, &damaged);
    repair(&store, &path(TALE), at(3)).unwrap();
    let message = document(&store)["messages"][2].clone();
    assert_eq!(message["id"], "msg-003");
    assert_eq!(message["content"]["actions"][1]["text"], "Is this some kind of elaborate prank?");
}

#[test]
fn a_message_without_a_text_stays_with_what_it_has() {
    let damaged = EXAMPLE.replacen("\"text\": \"I look", "\"texu\": \"I look", 1);
    let store = memory();
    put(&store, TALE, &damaged);
    repair(&store, &path(TALE), at(1)).unwrap();
    let messages = document(&store)["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 3);
    assert_eq!(messages[2]["id"], "msg-003");
    assert!(messages[2]["content"]["texu"].as_str().unwrap().starts_with("I look around"));
}
