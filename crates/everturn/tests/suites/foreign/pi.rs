//! pi.

use everturn::format::SessionReader;
use serde_json::{Value, json};

use crate::foreign::support::{
    branch_lines, codes, counts, layout, lines, only, open, reached, sorted, store, told,
};

const FILE: &str = "sessions/--srv-app--/2026-01-01T10-00-00-000Z_aaaa-bbbb.jsonl";

fn header(version: Option<u64>) -> Value {
    let mut header = json!({"type": "session", "id": "aaaa-bbbb", "timestamp": "2026-01-01T10:00:00.000Z",
        "cwd": "/srv/app"});
    if let Some(version) = version {
        header["version"] = json!(version);
    }
    header
}

fn entry(kind: &str, id: &str, parent: Option<&str>, more: Value) -> Value {
    let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T10:00:01.000Z"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn user(id: &str, parent: Option<&str>, text: &str) -> Value {
    entry("message", id, parent, json!({"message": {"role": "user", "content": text}}))
}

fn says(id: &str, parent: &str, text: &str) -> Value {
    let usage =
        json!({"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "cost": {"total": 0.25}});
    entry(
        "message",
        id,
        Some(parent),
        json!({"message": {"role": "assistant", "model": "sonnet",
        "content": [{"type": "text", "text": text}], "usage": usage}}),
    )
}

fn read(records: &[Value]) -> Box<dyn SessionReader> {
    let reader = open("pi", FILE, &lines(records));
    assert_eq!(reached(&*reader), sorted(records), "every record is reached once");
    reader
}

#[test]
fn the_last_entry_is_where_the_talk_goes_on() {
    let records = [
        header(Some(3)),
        user("a1", None, "One."),
        says("a2", "a1", "First."),
        user("a3", Some("a2"), "Two."),
        says("a4", "a3", "Second."),
        entry(
            "branch_summary",
            "a5",
            Some("a2"),
            json!({"fromId": "a4", "summary": "They counted."}),
        ),
        user("a6", Some("a5"), "Other."),
        entry("label", "a7", Some("a6"), json!({"targetId": "a2", "label": "here"})),
        entry("session_info", "a8", Some("a7"), json!({"name": "Counting"})),
    ];
    let reader = read(&records);
    assert_eq!(
        told(&*reader),
        [
            "1 user: One.",
            "1 assistant: First.",
            "1 event: left a branch: They counted.",
            "2 user: Other."
        ]
    );
    assert_eq!(branch_lines(&*reader), ["a3 1+1: Two."]);
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.answers, spent.input, spent.output, spent.cost), (2, 20, 10, Some(0.5)));
    let store = store(&[(FILE, &lines(&records))]);
    let (summaries, _) = layout("pi").list(&store).unwrap();
    assert_eq!(
        (summaries[0].session.id.as_str(), summaries[0].title.as_str()),
        ("aaaa-bbbb", "Counting")
    );
}

#[test]
fn whoever_goes_back_and_says_nothing_is_back() {
    let reader = read(&[
        header(Some(3)),
        user("a1", None, "One."),
        says("a2", "a1", "First."),
        user("a3", Some("a2"), "Two."),
        entry("model_change", "a4", Some("a2"), json!({"provider": "p", "modelId": "m"})),
    ]);
    assert_eq!(told(&*reader), ["1 user: One.", "1 assistant: First."]);
    assert_eq!(branch_lines(&*reader), ["a3 1+1: Two."]);
}

#[test]
fn tools_thoughts_and_other_kinds_are_kept() {
    let call = json!({"message": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}]}});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "t1", "toolName": "bash",
        "content": [{"type": "text", "text": "a"}], "isError": false}});
    let reader = read(&[
        header(Some(3)),
        user("a1", None, "Go."),
        entry("message", "a2", Some("a1"), call),
        entry("message", "a3", Some("a2"), result),
        entry(
            "compaction",
            "a4",
            Some("a3"),
            json!({"summary": "Short.", "firstKeptEntryId": "a3", "tokensBefore": 9}),
        ),
        entry(
            "custom_message",
            "a5",
            Some("a4"),
            json!({"customType": "x", "content": "Note.", "display": true}),
        ),
        entry("custom", "a6", Some("a5"), json!({"customType": "x", "data": {"a": 1}})),
        entry("thinking_level_change", "a7", Some("a6"), json!({"thinkingLevel": "high"})),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 user: Go.",
            "1 thinking: Hm.",
            "1 tool_call: bash {\"command\":\"ls\"}",
            "1 tool_result: a",
            "1 event: compacted: Short.",
            "1 system: Note.",
        ]
    );
    assert_eq!((counts(&*reader), reader.warnings()), ([8, 8, 0, 0, 0], vec![]));
}

#[test]
fn the_first_version_is_a_line_without_ids() {
    let mut first = header(None);
    first["branchedFrom"] = json!("/h/.pi/agent/sessions/x/2025_cccc.jsonl");
    let message = |role: &str, text: &str| json!({"type": "message", "timestamp": "2026-01-01T10:00:01Z", "message": {"role": role, "content": text}});
    let records =
        [first, message("user", "One."), message("assistant", "First."), message("user", "Two.")];
    let reader = read(&records);
    assert_eq!(told(&*reader), ["1 user: One.", "1 assistant: First.", "2 user: Two."]);
    let store = store(&[(FILE, &lines(&records))]);
    assert_eq!(layout("pi").list(&store).unwrap().0[0].parent.as_deref(), Some("cccc"));
}

#[test]
fn a_parent_that_is_not_there_is_reported() {
    let reader =
        read(&[header(Some(3)), user("a1", None, "One."), user("a3", Some("gone"), "Two.")]);
    assert_eq!(told(&*reader), ["1 user: One.", "2 user: Two."]);
    assert_eq!(codes(&reader.findings()), ["3 dangling-parent"]);
}

#[test]
fn long_files_have_their_parent_and_their_project() {
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T10:00:00Z",
        "cwd": "/srv/app", "parentSession": "/home/x/2026_before.jsonl"});
    let long = json!({"type": "message", "id": "a1", "parentId": null, "timestamp": "2026-01-01T10:00:00Z",
        "message": {"role": "user", "content": "x".repeat(200_000)}});
    let bytes = lines(&[header, long]);
    let store = store(&[("sessions/p/2026_s.jsonl", &bytes)]);
    let layout = layout("pi");
    let place = only(layout, &store);
    assert_eq!(layout.summary(&store, &place).unwrap().parent.as_deref(), Some("before"));
    assert_eq!(layout.project(&store, &place).unwrap().as_deref(), Some("/srv/app"));
}
