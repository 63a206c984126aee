//! The document: what is not changed stays as it is, to the byte.

use everturn::chatlog::{ChatError, ChatLog, ChatWriter, NewChatMark, import};
use everturn::model::ExportRecord;

use crate::chatlog::support::{
    EXAMPLE, TALE, at, document, example, exists, memory, path, put, read, reader, remove, tale,
    tell, told, tree, writer,
};

#[test]
fn the_example_is_never_written_when_nothing_changes() {
    let store = example();
    let log = reader(&store);
    assert_eq!(log.len(), 3);
    assert_eq!(log.findings(), []);
    assert_eq!(log.message(3).unwrap().id().as_deref(), Some("msg-003"));
    writer(&store).close().unwrap();
    assert_eq!(read(&store, TALE), EXAMPLE);
    assert!(!exists(&store, "chats/tale.journal.jsonl"));
    let copy = memory();
    let done = import(&copy, EXAMPLE.as_bytes(), None).unwrap();
    assert_eq!((done.id.as_str(), done.messages, done.new), ("cl-rezero-2023-05-18", 3, true));
    assert_eq!(read(&copy, done.path.as_str()), EXAMPLE);
    assert!(!import(&copy, EXAMPLE.as_bytes(), None).unwrap().new);
}

#[test]
fn what_is_added_looks_like_the_rest_and_everything_else_keeps_its_bytes() {
    let store = example();
    let mut log = writer(&store);
    log.append(&tree(r#"{"type":"npc","name":"Kadomon","text":"Apples?","mood":"gruff"}"#), at(0))
        .unwrap();
    log.close().unwrap();
    let expected = EXAMPLE
        .replace("2023-05-18T14:30:00Z\",\n    \"series\"", "2026-01-01T10:00:00Z\",\n    \"series\"")
        .replace("\"end_time\": \"2023-05-18T14:30:00Z\"", "\"end_time\": \"2026-01-01T10:00:00Z\"")
        .replace("\"duration_seconds\": 9000", "\"duration_seconds\": 82850400")
        .replace("\"message_count\": 42", "\"message_count\": 4")
        .replace(
            "\n      }\n    }\n  ],\n  \"tool_snapshots\"",
            "\n      }\n    },\n    {\n      \"id\": \"msg-004\",\n      \"timestamp\": \"2026-01-01T10:00:00Z\",\n      \
             \"type\": \"npc\",\n      \"sender\": {\n        \"id\": \"kadomon\",\n        \"name\": \"Kadomon\"\n      },\n      \
             \"content\": {\n        \"text\": \"Apples?\"\n      },\n      \"metadata\": {\n        \"is_edited\": false,\n        \
             \"edit_history\": [],\n        \"is_regenerated\": false,\n        \"regeneration_history\": []\n      },\n      \
             \"mood\": \"gruff\"\n    }\n  ],\n  \"tool_snapshots\"",
        );
    assert_eq!(read(&store, TALE), expected);
}

#[test]
fn documents_of_any_style_keep_it() {
    let message = |id: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T10:00:00Z","type":"ooc","content":{{"text":"é"}}}}"#
        )
    };
    let compact =
        format!(r#"{{"type":"chat-log","messages":[{},{}],"x":1.50}}"#, message("a"), message("b"));
    for (text, more) in [
        (compact.clone(), ""),
        (compact.replace("\"messages\":[", "\"messages\":[ ").replace("],\"x\"", " ],\"x\""), " "),
        (format!("\u{feff}{compact}\r\n"), ""),
        (compact.replace(':', ": ").replace(",\"", ", \""), ""),
        (r#"{"messages":[],"odd":{"b":2,"a":1}}"#.to_owned(), ""),
        (r#"{"odd":[ ]}"#.to_owned(), ""),
        (r#"{"messages":[ ],"messages" : [   ],"tool_snapshots":[]}"#.to_owned(), ""),
    ] {
        let store = memory();
        put(&store, TALE, &text);
        let before = told(&reader(&store));
        let mut log = writer(&store);
        let count = log.log().len();
        let id = tell(&mut log, "New.", 5);
        let unfolded = told(log.log());
        log.close().unwrap();
        let after = read(&store, TALE);
        assert_eq!(told(&reader(&store)), unfolded, "{after}");
        assert_eq!(reader(&store).message(count + 1).unwrap().id(), Some(id));
        // Everything that was there still is, in its order.
        let mut rest = after.as_str();
        for part in text.split([',', ']', '}']).map(str::trim).filter(|part| !part.is_empty()) {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is gone from {after}"));
            rest = &rest[at + part.len()..];
        }
        assert!(before.lines().all(|line| unfolded.contains(line)));
        assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        assert!(more.is_empty() || after.contains("[ {"));
        serde_json::from_str::<serde_json::Value>(after.trim_start_matches('\u{feff}')).unwrap();
    }
}

#[test]
fn derived_values_follow_the_messages() {
    let store = memory();
    let mut log = tale(&store);
    tell(&mut log, "One.", 10);
    tell(&mut log, "Two.", 70);
    log.close().unwrap();
    let document = document(&store);
    assert_eq!(document["session"]["message_count"], 2);
    assert_eq!(document["session"]["duration_seconds"], 70);
    assert_eq!(document["session"]["end_time"], "2026-01-01T10:01:10Z");
    assert_eq!(document["metadata"]["modified"], "2026-01-01T10:01:10Z");
    assert_eq!(document["messages"][0]["id"], "msg-001");
}

#[test]
fn a_fold_changes_nothing_that_can_be_read() {
    let store = example();
    let mut log = writer(&store);
    for words in ["One. <tool:update id=\"death-counter\" value=\"1\" reason=\"stabbed\">", "Two."]
    {
        tell(&mut log, words, 5);
    }
    log.edit(2, "Another market.", at(6)).unwrap();
    log.regenerate(5, "Two again. <tool:add id=timeline-log value='Timeline 2'>", at(7)).unwrap();
    log.add_mark(
        &NewChatMark { kind: "scene", name: "Alley", description: None, number: 4 },
        at(8),
    )
    .unwrap();
    log.add_mark(
        &NewChatMark { kind: "bookmark", name: "Here", description: Some("x"), number: 5 },
        at(8),
    )
    .unwrap();
    log.delete(3, at(9)).unwrap();
    let before = told(log.log());
    assert_eq!(told(&reader(&store)), before);
    log.fold().unwrap();
    assert_eq!(told(log.log()), before);
    assert_eq!(told(&reader(&store)), before);
    assert!(!exists(&store, "chats/tale.journal.jsonl"));
    let document = document(&store);
    assert_eq!(document["session"]["message_count"], 4);
    let history = &document["messages"][1]["metadata"]["edit_history"];
    assert!(history[0]["content"]["formatted_text"].as_str().unwrap().len() > 10);
    let marks = &document["bookmarks"][1]["tool_snapshot_ids"];
    assert_eq!(marks.as_array().unwrap().len(), 1, "{marks}");
}

#[test]
fn a_large_document_is_folded_in_pieces_with_the_same_result() {
    for compact in [false, true] {
        let small = example();
        if compact {
            let text = serde_json::to_string(&document(&small)).unwrap();
            put(&small, TALE, &text);
        }
        let large = memory();
        put(&large, TALE, &read(&small, TALE));
        for (store, batch) in [(&small, u64::MAX), (&large, 700)] {
            let mut log = writer(store).with_limits(batch, 3000);
            for number in 0..20 {
                tell(
                    &mut log,
                    &format!("Number {number}. <tool:update id=witch-factor value={number}>"),
                    number,
                );
            }
            log.edit(7, "Edited.", at(30)).unwrap();
            log.delete(9, at(31)).unwrap();
            log.close().unwrap();
        }
        assert_eq!(told(&reader(&small)), told(&reader(&large)));
        let (one, other) = (read(&small, TALE), read(&large, TALE));
        if compact {
            assert_eq!(one, other.replace('\n', ""));
        } else {
            assert_eq!(one, other);
        }
        assert!(!exists(&large, "chats/tale.folded.json"));
        assert!(!exists(&large, ".everturn/staging/chats%2Ftale.json"));
    }
}

#[test]
fn comments_are_refused_with_a_clear_error() {
    let store = memory();
    put(&store, TALE, "{\"type\": \"chat-log\", // a template\n \"messages\": []}");
    let error = ChatLog::open(&store, &path(TALE)).err().unwrap();
    assert!(error.to_string().contains("there is a comment at byte 21"), "{error}");
    assert!(ChatWriter::open(&store, &path(TALE)).is_err());
    let error = import(&store, b"{ /* x */ }", None).unwrap_err();
    assert!(matches!(&error, ChatError::Input { what } if what.contains("comment")), "{error}");
}

#[test]
fn an_index_is_used_checked_and_never_needed() {
    let store = memory();
    let mut log = tale(&store);
    for number in 0..300 {
        let words = format!("{number} {}", "x".repeat(1000));
        tell(&mut log, &words, number);
    }
    log.close().unwrap();
    let index = "chats/tale.index";
    assert!(exists(&store, index));
    let expected = told(&reader(&store));
    let bytes = read(&store, index);
    for (at, _) in bytes.char_indices().step_by(97) {
        let mut wrong = bytes.clone().into_bytes();
        wrong[at] = if wrong[at] == b'3' { b'4' } else { b'3' };
        put(&store, index, &String::from_utf8(wrong).unwrap());
        let log = reader(&store);
        for number in [1, 17, 150, 300] {
            let id = format!("msg-{number:03}");
            assert_eq!(
                log.message(number).unwrap().id().as_deref(),
                Some(id.as_str()),
                "byte {at}"
            );
            assert_eq!(log.find(&id).unwrap(), Some(number), "byte {at}");
        }
    }
    for text in ["", "{}\n", &bytes[..bytes.len() / 2]] {
        put(&store, index, text);
        assert_eq!(told(&reader(&store)), expected);
    }
    remove(&store, index);
    assert_eq!(told(&reader(&store)), expected);
    let mut log = writer(&store);
    tell(&mut log, "More.", 301);
    log.release().unwrap();
    assert_eq!(read(&store, index), bytes);
}

#[test]
fn an_export_is_noted_and_the_rest_of_the_notes_stays() {
    let exported = |style: &str| ExportRecord {
        format: "md".to_owned(),
        style: style.to_owned(),
        metadata: false,
        snapshots: false,
        ooc: true,
    };
    let store = example();
    let mut log = writer(&store);
    log.note_export(&exported("minimal"), at(0)).unwrap();
    log.close().unwrap();
    let said = reader(&store).head().text_at(&["export"]).unwrap();
    assert_eq!(
        said,
        concat!(
            r#"{"formats":["txt","html","pdf","json","md"],"last_exported":"2026-01-01T10:00:00Z","#,
            r#""export_settings":{"include_metadata":false,"include_tool_snapshots":false,"#,
            r#""include_ooc_messages":true,"formatting_style":"minimal"}}"#
        )
    );
    let store = memory();
    let mut log = tale(&store);
    log.note_export(&exported("rich"), at(1)).unwrap();
    log.close().unwrap();
    let head = reader(&store).head();
    assert_eq!(head.string_at(&["export", "last_exported"]).unwrap(), at(1).to_string());
    assert_eq!(head.text_at(&["export", "formats"]).unwrap(), r#"["md"]"#);
    assert_eq!(
        head.string_at(&["export", "export_settings", "formatting_style"]).as_deref(),
        Some("rich")
    );
}

#[test]
fn a_message_says_what_entry_of_another_layout_it_was() {
    let store = memory();
    let mut log = tale(&store);
    let given = r#"{"type":"system","text":"ls {}","metadata":{"entry":{"kind":"tool_call","timed":false}}}"#;
    log.append(&tree(given), at(0)).unwrap();
    tell(&mut log, "Plain.", 1);
    log.close().unwrap();
    let log = reader(&store);
    let (first, second) = (log.message(1).unwrap(), log.message(2).unwrap());
    assert_eq!((first.kind().as_str(), first.time()), ("tool_call", None));
    assert_eq!((second.kind().as_str(), second.time()), ("narrator", Some(at(1))));
}
