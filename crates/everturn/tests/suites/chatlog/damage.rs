//! Bad input: what is given, what others did to the files, what is too large or too strange.

use everturn::chatlog::{ChatError, ChatLog, ChatWriter, NewChat, import};
use everturn::finding::FindingCode;
use everturn::format::{self, Transition};
use everturn::model::SessionRef;
use everturn::store::StoreError;

use crate::chatlog::support::{
    EXAMPLE, TALE, at, example, memory, path, put, read, reader, tale, tell, told, tree, writer,
};
use crate::common::capabilities::KnownCapabilities;

/// A message that is refused, and why; nothing is written.
fn refused(given: &str, words: &str) {
    let store = memory();
    let mut log = tale(&store);
    let before = read(&store, TALE);
    let error = log.append(&tree(given), at(1)).unwrap_err();
    assert!(
        matches!(&error, ChatError::Input { what } if what.contains(words)),
        "{given}: {error}"
    );
    log.close().unwrap();
    assert_eq!(read(&store, TALE), before);
}

#[test]
fn messages_with_anything_wrong_are_refused() {
    refused("[]", "an object, not an array");
    refused("{}", "needs a type");
    refused(r#"{"type": 7, "text": "x"}"#, "needs a type");
    refused(r#"{"type": "bard", "text": "x"}"#, "type is \"bard\"");
    refused(r#"{"type": "npc"}"#, "needs content");
    refused(r#"{"type": "npc", "text": 7}"#, "content.text is a number");
    refused(r#"{"type": "npc", "content": []}"#, "content is an array");
    refused(r#"{"type": "npc", "content": {}}"#, "no content.text");
    refused(r#"{"type": "npc", "text": "x", "sender": "me"}"#, "sender is a string");
    refused(r#"{"type": "npc", "text": "x", "sender": {"name": 1}}"#, "sender.name");
    refused(r#"{"type": "npc", "text": "x", "timestamp": "later"}"#, "which is not a time");
    refused(r#"{"type": "npc", "text": "x", "timestamp": 12}"#, "timestamp is a number");
    refused(r#"{"type": "npc", "text": "x", "metadata": 3}"#, "metadata is a number");
    refused(
        r#"{"type": "npc", "text": "x", "metadata": {"edit_history": {}}}"#,
        "metadata.edit_history",
    );
    refused(
        r#"{"type": "npc", "content": {"text": "x", "attachments": [{"type": "film", "url": "u"}]}}"#,
        "attachments[0]: type",
    );
    refused(
        r#"{"type": "npc", "content": {"text": "x", "actions": [{"type": "emote"}]}}"#,
        "actions[0]: it has no text",
    );
    refused(
        r#"{"type": "npc", "content": {"text": "x", "formatted_text": false}}"#,
        "content.formatted_text",
    );
}

#[test]
fn an_id_is_there_once() {
    let store = example();
    let mut log = writer(&store);
    for id in ["msg-002", "mine"] {
        let given = tree(&format!(r#"{{"id": "{id}", "type": "ooc", "text": "x"}}"#));
        let first = log.append(&given, at(1)).is_ok();
        assert_eq!(first, id == "mine");
        assert!(log.append(&given, at(1)).is_err());
    }
    // Ids that are made give way to those that are there.
    log.append(&tree(r#"{"id": "msg-005", "type": "ooc", "text": "x"}"#), at(1)).unwrap();
    assert_eq!(tell(&mut log, "x", 2), "msg-006");
}

#[test]
fn strange_texts_are_kept_as_they_are() {
    let store = memory();
    let mut log = tale(&store);
    let long = "x".repeat(10 << 20);
    let deep = format!("{}7{}", "[".repeat(5000), "]".repeat(5000));
    for (field, value) in [
        ("text", r#""half \ud83d here""#.to_owned()),
        ("text", "\"\\u0000 \u{202e} 日本\"".to_owned()),
        ("text", format!("\"{long}\"")),
        ("extra", deep),
        ("extra", "123456789012345678901234567890.5e-400".to_owned()),
        ("extra", r#"{"a": 1, "b": {"c": []}}"#.to_owned()),
    ] {
        let more = if field == "text" { "" } else { r#""text": "x","# };
        log.append(&tree(&format!(r#"{{"type": "npc", {more} "{field}": {value}}}"#)), at(1))
            .unwrap();
    }
    let before = told(log.log());
    log.close().unwrap();
    let after = reader(&store);
    assert_eq!(told(&after), before);
    assert_eq!(after.message(3).unwrap().text().len(), 10 << 20);
    assert!(read(&store, TALE).contains("half \\ud83d here"));
    assert!(
        after.message(1).unwrap().text().starts_with("half \u{fffd}"),
        "{}",
        after.message(1).unwrap().text()
    );
    assert!(read(&store, TALE).contains("123456789012345678901234567890.5e-400"));
    assert_eq!(after.check().unwrap(), []);
    let mut log = writer(&store);
    log.edit(1, "whole", at(2)).unwrap();
    log.close().unwrap();
    let document = read(&store, TALE);
    assert!(document.contains("half \\ud83d here"), "the history has it");
}

#[test]
fn documents_that_are_no_chat_logs_are_refused_untouched() {
    for text in [
        "",
        "\0\0",
        "[]",
        "7",
        "{",
        "{\"messages\": 7}",
        "{\"messages\": {}}",
        "{\"tool_snapshots\": \"x\"}",
        "{\"a\": tru}",
        "{\"a\": 1} x",
        "{\"a\": \"\\x\"}",
        "{\"version\": \"2.1\", \"messages\": []}",
    ] {
        let store = memory();
        put(&store, TALE, text);
        assert!(ChatWriter::open(&store, &path(TALE)).is_err(), "{text}");
        assert_eq!(read(&store, TALE), text);
        assert!(import(&store, text.as_bytes(), Some("other")).is_err(), "{text}");
    }
    let store = memory();
    let writer = store.lock(&[path(TALE)]).unwrap();
    let bytes = b"{\"type\":\"chat-log\",\"x\":\"\xff\"}".to_vec();
    let step = everturn::store::Step::Replace {
        file: path(TALE),
        expect: everturn::store::Precondition::Anything,
        bytes: bytes.clone(),
        mode: everturn::store::FileMode::Default,
    };
    writer.commit(vec![step], everturn::store::Durability::Synced).unwrap();
    drop(writer);
    let error = ChatLog::open(&store, &path(TALE)).err().unwrap();
    assert!(error.to_string().contains("not UTF-8 at byte"), "{error}");
    assert!(import(&store, &bytes, Some("other")).is_err());
    assert!(matches!(
        ChatLog::open(&store, &path("chats/none.json")),
        Err(ChatError::NoLog { .. })
    ));
    assert!(matches!(
        ChatWriter::create(&store, &NewChat::new("../x"), at(0)),
        Err(ChatError::Name(_))
    ));
}

#[test]
fn a_document_that_another_program_changed_keeps_its_change_and_gets_the_journal() {
    let store = example();
    let mut log = writer(&store);
    tell(&mut log, "Ours.", 1);
    log.edit(4, "Ours, edited.", at(2)).unwrap();
    log.release().unwrap();
    let theirs = r#"{"id": "msg-003b", "timestamp": "2023-05-18T12:04:00Z", "type": "ooc", "content": {"text": "Theirs."}}"#;
    let changed = EXAMPLE.replace(
        "\n    }\n  ],\n  \"tool_snapshots\"",
        &format!("\n    }},\n    {theirs}\n  ],\n  \"tool_snapshots\""),
    );
    put(&store, TALE, &changed);
    let log = reader(&store);
    let texts: Vec<String> =
        log.messages(4..=9).unwrap().map(|message| message.unwrap().text()).collect();
    assert_eq!(texts, ["Theirs.", "Ours, edited."]);
    assert_eq!(log.findings()[0].code, FindingCode::ChangedByOthers);
    let before = told(&log);
    writer(&store).close().unwrap();
    assert_eq!(told(&reader(&store)), before);
    assert_eq!(reader(&store).findings(), []);
}

#[test]
fn there_is_one_writer_and_any_number_of_readers() {
    let store = example();
    let mut first = writer(&store);
    let second = ChatWriter::open(&store, &path(TALE));
    assert!(matches!(second, Err(ChatError::Store(StoreError::Busy { .. }))));
    let early = reader(&store);
    tell(&mut first, "More.", 1);
    assert_eq!((early.len(), reader(&store).len()), (3, 4));
    first.close().unwrap();
    assert!(ChatWriter::open(&store, &path(TALE)).is_ok());
}

#[test]
fn resuming_again_and_again_grows_the_document_by_what_is_new_only() {
    let store = memory();
    tale(&store).close().unwrap();
    let mut sizes = Vec::new();
    for number in 0..200 {
        let mut log = writer(&store);
        tell(&mut log, "The same words each time.", number);
        log.close().unwrap();
        sizes.push(read(&store, TALE).len());
    }
    let steps: Vec<usize> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
    assert!(most - least < 20, "{least} to {most}");
}

/// A document that cannot be read goes to the trash with its journal, and comes back as it was.
#[test]
fn a_damaged_document_goes_to_the_trash() {
    let store = memory();
    let chatlog = format::find("chatlog").unwrap();
    put(&store, TALE, "{\"type\":\"chat-log\",");
    let place = SessionRef { id: "tale".to_owned(), path: path(TALE) };
    let moved = chatlog
        .movable()
        .transition(&store, &place, Transition::Trash, at(60), &mut |_| {})
        .unwrap();
    let name = moved.trashed.unwrap();
    assert!(store.stat(&path(TALE)).unwrap().is_none());
    chatlog.movable().restore(&store, &name).unwrap();
    assert_eq!(read(&store, TALE), "{\"type\":\"chat-log\",");
}
