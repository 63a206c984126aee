//! The last message before a chat log is closed goes into the document at once, as if it had been folded.

use everturn::chatlog::{ChatLog, ChatWriter};

use crate::chatlog::support::{EXAMPLE, TALE, at, exists, memory, path, put, read, tree, writer};

const JOURNAL: &str = "chats/tale.journal.jsonl";

fn documents() -> Vec<String> {
    let pretty = EXAMPLE.to_owned();
    let value: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
    let compact = value.to_string();
    let mut empty = value.clone();
    empty["messages"] = serde_json::json!([]);
    let bare = r#"{"session": {}, "metadata": {"modified": "x"}}"#.to_owned();
    let odd = EXAMPLE.replace("\n", "\r\n");
    vec![pretty, compact, empty.to_string(), format!("{empty:#}"), bare, odd]
}

fn messages() -> [&'static str; 3] {
    [
        r#"{"type": "narrator", "text": "It is *cold*."}"#,
        r#"{"id": "own-1", "type": "npc", "name": "Luna", "text": "Ä \u00e4 \ud83d\ude00", "extra": 1.50}"#,
        r#"{"type": "narrator", "text": "One. <tool:update id=death-counter value=1>"}"#,
    ]
}

#[test]
fn the_document_is_as_folded() {
    for document in documents() {
        for message in messages() {
            let appended = |last: bool| {
                let store = memory();
                put(&store, TALE, &document);
                for seconds in [1, 2] {
                    let mut log = writer(&store);
                    let given = tree(message);
                    let told = match last {
                        true => log.append_last(&given, at(seconds)),
                        false => log.append(&given, at(seconds)),
                    };
                    // An ID can be used once.
                    assert_eq!(told.is_ok(), seconds == 1 || !message.contains("own-1"));
                    if let Ok(told) = told {
                        assert_eq!(told.number, log.log().len());
                    }
                    log.close().unwrap();
                }
                assert!(!exists(&store, JOURNAL));
                let log = ChatLog::open(&store, &path(TALE)).unwrap();
                assert!(log.findings().is_empty());
                read(&store, TALE)
            };
            assert_eq!(appended(true), appended(false), "{message}");
        }
    }
}

#[test]
fn more_can_follow() {
    let store = memory();
    put(&store, TALE, EXAMPLE);
    let mut log: ChatWriter = writer(&store);
    let before = log.log().len();
    log.append_last(&tree(messages()[0]), at(1)).unwrap();
    log.append(&tree(messages()[0]), at(2)).unwrap();
    log.append_last(&tree(messages()[0]), at(3)).unwrap();
    log.close().unwrap();
    let log = ChatLog::open(&store, &path(TALE)).unwrap();
    assert_eq!(log.len(), before + 3);
    assert!(log.findings().is_empty());
}
