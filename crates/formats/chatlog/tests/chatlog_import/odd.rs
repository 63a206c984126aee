//! Rows that the program should not have written, or that other programs have changed.

use crate::{BASE, Made, SCHEMA, at, has_note};

/// A database whose messages table has no constraints.
fn loose(statements: &str) -> Made {
    let schema = SCHEMA.replace("not null", "").replace("check (type in", "check (1 or type in");
    let schema = schema.replace("check (role in", "check (1 or role in");
    let statements = format!("pragma foreign_keys = off; {statements}");
    Made::of(&[&schema, BASE, &statements])
}

#[test]
fn texts_that_the_program_lost_are_reported() {
    let import = Made::of(&[
        SCHEMA,
        BASE,
        "insert into chat_messages (id, session_id, type, sender_name, content, formatted_content) values
        ('m1', 's1', 'protagonist', 'x', '[object Object]', null),
        ('m2', 's1', 'protagonist', 'x', ' [object Object],[object Object]', '<p>Hi</p>'),
        ('m3', 's1', 'protagonist', 'x', 'He said [object Object].', null),
        ('m4', 's1', 'protagonist', 'x', '', null)",
    ])
    .read()
    .unwrap();
    assert_eq!(import.report.lost, ["m1", "m2"]);
    assert!(has_note(&import, "message m1: the text was lost at the source"));
    assert_eq!(at(&import, &["messages", "0", "content"]), r#"{"text":"[object Object]"}"#);
    assert_eq!(
        at(&import, &["messages", "1", "content"]),
        r#"{"text":" [object Object],[object Object]","formatted_text":"<p>Hi</p>"}"#
    );
}

#[test]
fn messages_whose_session_is_lost_become_a_session() {
    let import = loose(
        "insert into chat_messages (id, session_id, type, sender_name, content, timestamp) values
            ('m1', 'gone', 'ooc', 'x', 'one', '2023-05-18 12:00:00'),
            ('m2', null, 'ooc', 'x', 'two', '2023-05-18 12:00:01'),
            ('m3', '../up', 'ooc', 'x', 'three', '2023-05-18 12:00:02'),
            ('m4', 'gone', 'ooc', 'x', 'four', '2023-05-18 12:00:03');
        insert into tool_states (id, session_id, tool_id, message_id, state)
            values ('t1', 'gone', 'tool-1', 'm1', '{\"deaths\":1}');
        insert into bookmarks (id, session_id, name, message_id) values ('b1', 'gone', 'n', 'm4');",
    )
    .read()
    .unwrap();
    let ids: Vec<&str> = import.logs.iter().map(|log| log.id.as_str()).collect();
    assert_eq!(ids, ["s1", "gone", "recovered-2", "recovered-3"]);
    assert_eq!(import.report.recovered, ["gone", "recovered-2", "recovered-3"]);
    let of = |at: usize, path: &[&str]| import.logs[at].document.text_at(path).unwrap_or_default();
    assert_eq!(of(1, &["messages", "1", "content", "text"]), "\"four\"");
    assert_eq!(of(1, &["session", "message_count"]), "2");
    assert_eq!(of(1, &["session", "start_time"]), "\"2023-05-18T12:00:00Z\"");
    assert_eq!(of(1, &["session", "support_tools", "0", "id"]), "\"tool-1\"");
    assert_eq!(of(1, &["tool_snapshots", "0", "id"]), "\"t1\"");
    assert_eq!(of(1, &["bookmarks", "0", "id"]), "\"b1\"");
    assert_eq!(of(2, &["messages", "0", "content", "text"]), "\"two\"");
    assert_eq!(of(3, &["messages", "0", "content", "text"]), "\"three\"");
    assert!(has_note(&import, "there is no session \"gone\"; its 2 messages are session gone"));
    assert_eq!(import.report.total().set_aside, 0);
}

#[test]
fn rows_that_belong_nowhere_are_set_aside() {
    let import = loose(
        "insert into tool_states (id, session_id, tool_id, state) values ('t1', 'gone', 'tool-1', '{}');
        insert into bookmark_tool_states values ('gone', 't1');",
    )
    .read()
    .unwrap();
    let aside: Vec<(&str, &str)> =
        import.report.set_aside.iter().map(|it| (it.table.as_str(), it.why.as_str())).collect();
    assert_eq!(
        aside,
        [
            ("tool_states", "there is no session \"gone\""),
            ("bookmark_tool_states", "there is no bookmark \"gone\""),
        ]
    );
    assert_eq!(import.report.set_aside[0].content.string_at(&["id"]).as_deref(), Some("t1"));
    assert_eq!(import.report.total().set_aside, 2);
}

#[test]
fn a_partial_state_changes_what_it_names() {
    let import = loose(
        "insert into chat_messages (id, session_id, type, sender_name, content) values ('m', 's1', 'ooc', 'x', 'y');
        insert into tool_states (id, session_id, tool_id, message_id, state, timestamp) values
            ('t1', 's1', 'tool-1', 'm', '{\"deaths\":1,\"witch\":10}', '2023-05-18 12:00:00'),
            ('t2', 's1', 'tool-1', 'm', '{\"witch\":55}', '2023-05-18 12:00:01'),
            ('t3', 's1', 'tool-1', 'm', '{\"components\":[{\"id\":\"deaths\",\"current_value\":2}]}',
                '2023-05-18 12:00:02')",
    )
    .read()
    .unwrap();
    assert_eq!(
        at(&import, &["tool_snapshots", "1", "state", "components"]),
        r#"[{"id":"deaths","current_value":1},{"id":"witch","current_value":55}]"#
    );
    assert_eq!(
        at(&import, &["tool_snapshots", "2", "state", "components"]),
        r#"[{"id":"deaths","current_value":2},{"id":"witch","current_value":55}]"#
    );
    assert_eq!(at(&import, &["tool_snapshots", "1", "source", "state"]), r#"{"witch":55}"#);
    assert_eq!(
        at(&import, &["tool_snapshots", "2", "source", "state"]),
        r#"{"components":[{"id":"deaths","current_value":2}]}"#
    );
}

/// Checks a value in the chat log after a statement, and the note about it.
#[track_caller]
fn check(statement: &str, path: &[&str], expect: &str, note: &str) {
    let import = loose(statement).read().unwrap();
    assert_eq!(at(&import, path), expect, "{statement}");
    let told = note.is_empty() || has_note(&import, note);
    assert!(told, "{statement}: {:?}", import.report.notes);
}

#[test]
fn odd_messages_are_kept_and_told() {
    let message = |columns: &str, values: &str| {
        format!("insert into chat_messages (session_id, {columns}) values ('s1', {values})")
    };
    let first = |member: &'static str| ["messages", "0", member];
    check(
        &message("id, type, content", "'m', 'whisper', 'x'"),
        &first("type"),
        r#""whisper""#,
        "unknown type \"whisper\"",
    );
    check(&message("type, content", "'ooc', 'x'"), &first("id"), r#""msg-row-1""#, "id is missing");
    check(
        &message("id, type", "'m', 'ooc'"),
        &first("content"),
        r#"{"text":""}"#,
        "content is missing",
    );
    check(
        &message("id, type, content", "'m', 'ooc', x'ff00'"),
        &first("source"),
        r#"{"content":"/wA="}"#,
        "content is bytes, not text",
    );
    check(
        &message("id, type, content", "'m', 'ooc', cast(x'41ff42' as text)"),
        &["messages", "0", "content", "text"],
        "\"A\u{fffd}B\"",
        "content is not UTF-8",
    );
    check(
        &message("id, type, content, metadata", "'m', 'ooc', 'x', '{broken'"),
        &first("source"),
        r#"{"metadata":"{broken"}"#,
        "metadata is not JSON",
    );
    check(
        &message("id, type, content, edit_history", "'m', 'ooc', 'x', '{}'"),
        &first("source"),
        r#"{"edit_history":{}}"#,
        "edit_history is an object, not an array",
    );
    check(
        &message("id, type, content, metadata", r#"'m', 'ooc', 'x', '{"is_edited":"maybe"}'"#),
        &first("source"),
        r#"{"metadata":{"is_edited":"maybe"}}"#,
        "",
    );
    check(
        &message("id, type, content, metadata", r#"'m', 'ooc', 'x', '{"note":"\ud800"}'"#),
        &["messages", "0", "metadata", "note"],
        r#""\ud800""#,
        "",
    );
}

#[test]
fn odd_states_marks_and_sessions_are_kept_and_told() {
    let state = |state: &str, changes: &str| {
        format!(
            "insert into tool_states (id, session_id, tool_id, state, changes) values ('t', 's1', 'tool-1', {state}, {changes})"
        )
    };
    check(
        &state("'[1]'", "null"),
        &["tool_snapshots", "0", "source", "state"],
        "[1]",
        "state is an array, not an object",
    );
    check(
        &state("'{}'", "'3'"),
        &["tool_snapshots", "0", "source", "changes"],
        "3",
        "changes is a number, not an object",
    );
    check(&state("'{}'", "'{}'"), &["tool_snapshots", "0", "changes"], "[]", "was deleted");
    check(
        "update chat_sessions set settings = 'x', protagonist_id = 'nobody', lorebook_id = 'nothing'",
        &["source", "settings"],
        r#""x""#,
        "the protagonist \"nobody\" does not exist",
    );
    check(
        "insert into bookmarks (id, session_id, name, message_id) values ('b', 's1', 'n', 'gone');
         insert into bookmark_tool_states values ('b', 'none')",
        &["bookmarks", "0", "tool_snapshot_ids"],
        r#"["none"]"#,
        "b refers to the tool state \"none\", which does not exist",
    );
    check(
        "insert into narrative_markers (id, session_id, type, name, message_id) values ('n', 's1', 'battle', 'x', 'gone')",
        &["narrative_markers", "0", "type"],
        r#""battle""#,
        "n refers to the message \"gone\", which does not exist",
    );
    check(
        "alter table chat_messages add column mood text;
         insert into chat_messages (id, session_id, type, sender_name, content, mood) values ('m', 's1', 'ooc', 'x', 'y', 'grim')",
        &["messages", "0", "source"],
        r#"{"mood":"grim"}"#,
        "",
    );
}

#[test]
fn tables_and_columns_may_be_missing() {
    let import = Made::of(&["create table chat_sessions (id text primary key);
         create table chat_messages (id text primary key, session_id text, content text);
         insert into chat_sessions values ('s1');
         insert into chat_messages values ('m1', 's1', 'Hello.');"])
    .read()
    .unwrap();
    assert_eq!(at(&import, &["messages", "0", "content"]), r#"{"text":"Hello."}"#);
    assert_eq!(at(&import, &["messages", "0", "type"]), r#""system""#);
    for table in ["characters", "bookmarks", "tool_states"] {
        let told = import
            .report
            .notes
            .iter()
            .any(|it| it.table == table && it.what.contains("no such table"));
        assert!(told, "{table}");
    }
    assert_eq!(import.report.tables["chat_messages"].repaired, 1);
}

#[test]
fn a_database_of_another_program_is_refused() {
    let check = |statement: &str, expect: &str| {
        let error = Made::of(&[statement]).read().unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check("create table notes (id text)", "there is no table chat_sessions");
    check("create table chat_sessions (id text)", "there is no table chat_messages");
    check(
        "create table chat_sessions (name text); create table chat_messages (id text)",
        "the table chat_sessions has no column id",
    );
}
