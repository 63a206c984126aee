//! Imports of intact databases.

use everturn_chatlog::chatlog_import::RowCounts;
use everturn_prompt::card::CharacterCard;
use everturn_prompt::lorebook::Lorebook;

use crate::{BASE, Made, SCHEMA, at, has_note, texts};

const TALK: &str = r#"
    insert into chat_messages (id, session_id, type, sender_name, content, timestamp) values
        ('msg-b', 's1', 'system', 'System', 'Welcome.', '2023-05-18 12:00:00'),
        ('msg-a', 's1', 'narrator', 'Narrator', '{"text":"A market.","actions":[{"type":"emote","text":"x"}]}',
            '2023-05-18 12:00:00');
    insert into chat_messages values ('msg-c', 's1', 'protagonist', 'char-1', 'Subaru', 'Third text', '<p>Third text</p>',
        '2023-05-18 12:03:00', 1, '[{"content":"First","formatted_content":"<p>First</p>","timestamp":"2023-05-18T12:04:00.000Z"},
        {"content":"{\"text\":\"Second\"}","formatted_content":null,"timestamp":"2023-05-18T12:05:00.000Z"}]',
        0, null, '{"tokens":12,"model":"gemini-pro"}');
    insert into session_tools values ('s1', 'tool-1', 1, 'sidebar');
    insert into tool_states values
        ('state-1', 's1', 'tool-1', 'msg-b', '{"deaths":"0","log":["one"]}', null, '2023-05-18 12:00:00'),
        ('state-2', 's1', 'tool-1', 'msg-c', '{"deaths":"1","log":["one","two"]}',
            '{"deaths":{"from":"0","to":"1","reason":"knife"},"log":{"action":"add","value":"two","reason":"reset"}}',
            '2023-05-18 12:03:00'),
        ('state-3', 's1', 'tool-1', 'msg-c', '{"components":[{"id":"deaths","current_value":"2"}]}',
            '[{"component_id":"deaths","previous_value":"1","new_value":"2","cause":"fall"}]', '2023-05-18 12:03:00');
    insert into bookmarks values ('bm-1', 's1', 'Start', 'The arrival', 'msg-a', '2023-05-18 12:05:00');
    insert into bookmark_tool_states values ('bm-1', 'state-1');
    insert into narrative_markers values ('nm-1', 's1', 'chapter', 'One', null, 'msg-a', '2023-05-18 12:01:00');"#;

#[test]
fn a_session_becomes_a_chat_log() {
    let import = Made::of(&[SCHEMA, BASE, TALK]).read().unwrap();
    let check = |path: &[&str], expect: &str| assert_eq!(at(&import, path), expect, "{path:?}");
    check(&["version"], r#""1.0""#);
    check(&["type"], r#""chat-log""#);
    check(
        &["metadata"],
        r#"{"id":"s1","created":"2023-05-18T12:00:00Z","modified":"2023-05-18T14:30:00Z","series":"Re:Zero","title":"Arrival"}"#,
    );
    check(&["session", "start_time"], r#""2023-05-18T12:00:00Z""#);
    check(&["session", "end_time"], r#""2023-05-18T12:03:00Z""#);
    check(&["session", "duration_seconds"], "180");
    check(&["session", "message_count"], "3");
    check(&["session", "protagonist"], r#"{"name":"Subaru","character_card_id":"char-1"}"#);
    check(&["session", "lorebook_id"], r#""lore-1""#);
    check(
        &["session", "support_tools"],
        r#"[{"id":"tool-1","name":"Tracker","is_active":true,"ui_position":"sidebar"}]"#,
    );
    check(&["session", "settings"], r#"{"model":"gemini-pro","temperature":0.70}"#);
    check(
        &["bookmarks"],
        r#"[{"id":"bm-1","name":"Start","description":"The arrival","message_id":"msg-a","timestamp":"2023-05-18T12:05:00Z","tool_snapshot_ids":["state-1"]}]"#,
    );
    check(
        &["narrative_markers"],
        r#"[{"id":"nm-1","type":"chapter","name":"One","message_id":"msg-a","timestamp":"2023-05-18T12:01:00Z"}]"#,
    );
    assert!(import.report.notes.is_empty(), "{:?}", import.report.notes);
    let total = RowCounts { read: 14, kept: 14, repaired: 0, set_aside: 0 };
    assert_eq!(import.report.total(), total);
}

#[test]
fn messages_are_in_the_order_in_which_they_were_said() {
    let made = Made::of(&[SCHEMA, BASE, TALK]);
    let import = made.read().unwrap();
    let ids = |import: &everturn_chatlog::chatlog_import::DatabaseImport| {
        texts(import.logs[0].document.value_at(&["messages"]), "id").join(" ")
    };
    assert_eq!(ids(&import), "msg-b msg-a msg-c");
    let late = "insert into chat_messages (id, session_id, type, sender_name, content, timestamp)
        values ('late', 's1', 'ooc', 'x', 'y', '2023-05-18 11:00:00'), ('none', 's1', 'ooc', 'x', 'y', 'soon')";
    made.connection().execute_batch(late).unwrap();
    let import = made.read().unwrap();
    assert_eq!(ids(&import), "late none msg-b msg-a msg-c");
    assert!(has_note(&import, "the clock went back 1 times"));
    assert!(has_note(&import, "timestamp is not a time"));
    assert_eq!(at(&import, &["messages", "1", "source", "timestamp"]), r#""soon""#);
}

#[test]
fn contents_and_histories_have_the_shape_of_the_document() {
    let import = Made::of(&[SCHEMA, BASE, TALK]).read().unwrap();
    let check = |path: &[&str], expect: &str| assert_eq!(at(&import, path), expect, "{path:?}");
    check(&["messages", "0", "sender"], r#"{"name":"System"}"#);
    check(&["messages", "0", "content"], r#"{"text":"Welcome."}"#);
    check(
        &["messages", "1", "content"],
        r#"{"text":"A market.","actions":[{"type":"emote","text":"x"}]}"#,
    );
    check(
        &["messages", "2"],
        r#"{"id":"msg-c","timestamp":"2023-05-18T12:03:00Z","type":"protagonist","sender":{"id":"char-1","name":"Subaru"},"content":{"text":"Third text","formatted_text":"<p>Third text</p>"},"metadata":{"tokens":12,"model":"gemini-pro","is_edited":true,"edit_history":[{"timestamp":"2023-05-18T12:04:00.000Z","content":{"text":"First","formatted_text":"<p>First</p>"}},{"timestamp":"2023-05-18T12:05:00.000Z","content":{"text":"Second"}}],"is_regenerated":false,"regeneration_history":[]}}"#,
    );
}

#[test]
fn tool_states_have_both_shapes_where_they_differ() {
    let import = Made::of(&[SCHEMA, BASE, TALK]).read().unwrap();
    let check = |path: &[&str], expect: &str| assert_eq!(at(&import, path), expect, "{path:?}");
    check(
        &["tool_snapshots", "0"],
        r#"{"id":"state-1","timestamp":"2023-05-18T12:00:00Z","message_id":"msg-b","tool_id":"tool-1","state":{"components":[{"id":"deaths","current_value":"0"},{"id":"log","current_value":["one"]}]},"changes":[],"source":{"state":{"deaths":"0","log":["one"]}}}"#,
    );
    check(
        &["tool_snapshots", "1", "changes"],
        r#"[{"component_id":"deaths","previous_value":"0","new_value":"1","cause":"knife"},{"component_id":"log","previous_value":["one"],"new_value":["one","two"],"cause":"reset"}]"#,
    );
    check(
        &["tool_snapshots", "1", "source", "changes", "log"],
        r#"{"action":"add","value":"two","reason":"reset"}"#,
    );
    check(
        &["tool_snapshots", "2"],
        r#"{"id":"state-3","timestamp":"2023-05-18T12:03:00Z","message_id":"msg-c","tool_id":"tool-1","state":{"components":[{"id":"deaths","current_value":"2"},{"id":"log","current_value":["one","two"]}]},"changes":[{"component_id":"deaths","previous_value":"1","new_value":"2","cause":"fall"}],"source":{"state":{"components":[{"id":"deaths","current_value":"2"}]}}}"#,
    );
}

#[test]
fn characters_and_lorebooks_can_be_read_as_such() {
    let import = Made::of(&[SCHEMA, BASE]).read().unwrap();
    let card = CharacterCard::read(import.cards[0].document.to_line().as_bytes(), "x").unwrap();
    assert_eq!((card.id.as_str(), card.name.as_str()), ("char-1", "Subaru"));
    assert_eq!(
        import.cards[0].document.text_at(&["metadata"]).unwrap(),
        r#"{"id":"char-1","created":"2023-05-01T00:00:00.000Z","series":"Re:Zero","modified":"2023-05-02T00:00:00Z","title":"Subaru","is_favorite":true,"folder":"heroes"}"#
    );
    let book = import.lorebooks[0].document.to_line();
    let book = Lorebook::read(book.as_bytes(), "x").unwrap();
    assert_eq!(
        (book.id.as_str(), book.name.as_str(), book.entries.len()),
        ("lore-1", "Lugnica", 1)
    );
    let tool = &import.tools[0].document;
    assert_eq!(tool.text_at(&["type"]).unwrap(), r#""support-tool""#);
    assert_eq!(tool.text_at(&["tool", "components", "0", "id"]).unwrap(), r#""deaths""#);
    assert_eq!(tool.text_at(&["tool", "type"]).unwrap(), r#""tracker""#);
}

#[test]
fn what_is_not_imported_is_named_and_keys_stay_where_they_are() {
    let import = Made::of(&[SCHEMA, BASE]).read().unwrap();
    let skipped = [("api_keys".to_owned(), 1), ("settings".to_owned(), 1)];
    assert_eq!(import.report.skipped, skipped);
    assert!(!format!("{import:?}").contains("c2VjcmV0"));
}
