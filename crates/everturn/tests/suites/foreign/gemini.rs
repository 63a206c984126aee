//! Gemini CLI.

use everturn::format::SessionReader;
use serde_json::{Value, json};

use crate::foreign::support::{
    branch_lines, codes, counts, entries, layout, lines, only, open, reached, sorted, store, told,
    told_along,
};

const FILE: &str = "tmp/hash/chats/session-2026-01-01T10-00-abc.jsonl";

fn start() -> Value {
    json!({"sessionId": "abc-1", "projectHash": "hash", "startTime": "2026-01-01T10:00:00.000Z",
        "lastUpdated": "2026-01-01T10:00:00.000Z", "kind": "main"})
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T10:00:01.000Z", "type": "user", "content": [{"text": text}]})
}

fn says(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T10:00:02.000Z", "type": "gemini", "content": text,
        "model": "flash", "tokens": {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 0, "total": 115}})
}

fn read(records: &[Value]) -> Box<dyn SessionReader> {
    open("gemini-cli", FILE, &lines(records))
}

#[test]
fn a_message_that_is_written_again_takes_the_place_of_the_first() {
    let mut done = says("m2", "");
    done["toolCalls"] = json!([{"id": "c1", "name": "read", "args": {"path": "a"}, "status": "success",
        "result": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "text"}}}]}]);
    done["thoughts"] = json!([{"subject": "Plan", "description": "Read it."}]);
    let records = [start(), user("m1", "Read a."), says("m2", ""), user("m3", "Now?"), done];
    let reader = read(&records);
    assert_eq!(reached(&*reader), sorted(&records));
    assert_eq!(
        told(&*reader),
        [
            "1 user: Read a.",
            "1 thinking: Plan: Read it.",
            "1 tool_call: read {\"path\":\"a\"}",
            "1 tool_result: text",
            "2 user: Now?",
        ]
    );
    assert_eq!(branch_lines(&*reader), ["superseded -+1: 1 record, superseded"]);
    assert_eq!(counts(&*reader), [5, 5, 0, 0, 1]);
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.answers, spent.input, spent.cache_read), (1, 40, 60));
    assert_eq!((spent.output, spent.reasoning), (15, 5));
}

#[test]
fn going_back_leaves_a_branch() {
    let records = [
        start(),
        user("m1", "One."),
        says("m2", "First."),
        user("m3", "Two."),
        says("m4", "Second."),
        json!({"$rewindTo": "m3"}),
        user("m5", "Other."),
    ];
    let reader = read(&records);
    assert_eq!(reached(&*reader), sorted(&records));
    assert_eq!(
        told(&*reader),
        ["1 user: One.", "1 assistant: First.", "1 event: rewound to before m3", "2 user: Other."]
    );
    assert_eq!(branch_lines(&*reader), ["m3 1+1: Two."]);
    assert_eq!(told_along(&*reader, "m3")[2..], ["2 user: Two.", "2 assistant: Second."]);
}

#[test]
fn going_back_to_nowhere_clears_all_and_loses_nothing() {
    let records = [
        start(),
        user("m1", "One."),
        says("m2", "First."),
        json!({"$rewindTo": "gone"}),
        user("m3", "New."),
    ];
    let reader = read(&records);
    assert_eq!(reached(&*reader), sorted(&records));
    assert_eq!(told(&*reader), ["1 event: rewound to before gone", "1 user: New."]);
    assert_eq!(branch_lines(&*reader), ["m1 -+1: One."]);
    assert_eq!(told_along(&*reader, "m1"), ["1 user: One.", "1 assistant: First."]);
    // Nothing may follow.
    let reader = read(&records[..4]);
    assert_eq!(reached(&*reader), sorted(&records[..4]));
    assert_eq!(branch_lines(&*reader), ["m1 -+1: One."]);
}

#[test]
fn a_checkpoint_replaces_all_messages() {
    let (one, two) = (user("m1", "One."), says("m2", "First."));
    let longer = says("m2", "First, and more.");
    let records = [
        start(),
        one.clone(),
        two,
        json!({"$set": {"messages": [one, longer, user("m3", "Two.")]}}),
        json!({"$set": {"summary": "About numbers", "lastUpdated": "2026-01-01T11:00:00Z"}}),
        user("m4", "Three."),
    ];
    let reader = read(&records);
    assert_eq!(
        told(&*reader),
        ["1 user: One.", "1 assistant: First, and more.", "2 user: Two.", "3 user: Three."]
    );
    assert_eq!(branch_lines(&*reader), ["superseded -+1: 1 record, superseded"]);
    assert_eq!(counts(&*reader), [6, 6, 0, 0, 1]);
    // What a compression leaves out stays.
    let reader = read(&[
        start(),
        user("m1", "One."),
        says("m2", "First."),
        json!({"$set": {"messages": [user("m9", "In short.")]}}),
        says("m10", "Yes."),
    ]);
    assert_eq!(told(&*reader), ["1 user: In short.", "1 assistant: Yes."]);
    assert_eq!(branch_lines(&*reader), ["m1 -+1: One."]);
    let reader =
        read(&[start(), user("m1", "One."), json!({"$set": {"messages": []}}), user("m2", "Two.")]);
    assert_eq!(told(&*reader), ["1 user: Two."]);
    assert_eq!(branch_lines(&*reader), ["m1 -+1: One."]);
}

#[test]
fn lines_that_the_program_would_ignore_are_reported() {
    let mut bytes = lines(&[start(), user("m1", "One.")]);
    bytes.extend_from_slice(b"{\"id\":\"m2\",\n");
    bytes.extend(lines(&[says("m3", "First.")]));
    let reader = open("gemini-cli", FILE, &bytes);
    assert_eq!(told(&*reader), ["1 user: One.", "1 assistant: First."]);
    assert_eq!(codes(&reader.findings()), ["3 bad-line"]);
    assert_eq!(counts(&*reader), [4, 3, 0, 1, 0]);
}

#[test]
fn documents_of_earlier_versions_are_read() {
    let mut document = start();
    document["summary"] = json!("Numbers");
    document["messages"] = json!([user("m1", "One."), says("m2", "First."),
        {"id": "m3", "timestamp": "2026-01-01T10:00:03Z", "type": "info", "content": "quiet"}]);
    let bytes = serde_json::to_vec_pretty(&document).unwrap();
    let store = store(&[("tmp/hash/chats/session-1.json", &bytes)]);
    let layout = layout("gemini-cli");
    let place = only(layout, &store);
    assert_eq!(place.id, "abc-1");
    assert_eq!(layout.summary(&store, &place).unwrap().title, "Numbers");
    let reader = layout.open(&store, &place).unwrap();
    assert_eq!(told(&*reader), ["1 user: One.", "1 assistant: First.", "1 event: info: quiet"]);
    assert_eq!(counts(&*reader), [4, 4, 0, 0, 0]);
    let header = entries(&*reader, 0, 1).remove(0).raw.to_line();
    assert!(header.contains("Numbers") && !header.contains("First."), "{header}");
    // A document that is cut is reported, and is not empty.
    let reader = open("gemini-cli", "tmp/hash/chats/session-1.json", &bytes[..bytes.len() - 9]);
    assert_eq!(codes(&reader.findings()), ["bad-document"]);
    assert_eq!(counts(&*reader), [1, 0, 0, 1, 0]);
}

#[test]
fn prompts_and_saved_chats_are_sessions_too() {
    let logs = json!([{"sessionId": "s", "messageId": 0, "type": "user", "message": "Hello",
        "timestamp": "2026-01-01T10:00:00Z"}]);
    let saved = json!([{"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"text": "Yo"}, {"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]}]);
    let history = json!({"history": saved, "authType": "oauth"});
    let store = store(&[
        ("tmp/hash/logs.json", logs.to_string().as_bytes()),
        ("tmp/hash/checkpoint-try.json", saved.to_string().as_bytes()),
        ("tmp/hash/checkpoints/later.json", history.to_string().as_bytes()),
        ("settings.json", b"{\"theme\":\"dark\"}"),
    ]);
    let layout = layout("gemini-cli");
    let mut places = layout.locate(&store).unwrap().sessions;
    places.sort();
    let ids: Vec<&str> = places.iter().map(|place| place.id.as_str()).collect();
    assert_eq!(ids, ["checkpoint-try", "later", "logs-hash"]);
    let told_by = |at: usize| told(&*layout.open(&store, &places[at]).unwrap());
    let expect = ["1 user: Hi", "1 assistant: Yo", "1 tool_call: ls {}", "1 tool_result: a"];
    assert_eq!(told_by(0), expect);
    assert_eq!(told_by(1), expect);
    assert_eq!(told_by(2), ["1 user: Hello"]);
}

#[test]
fn helpers_are_told_apart_and_directories_are_the_project() {
    let mut first = start();
    first["kind"] = json!("subagent");
    first["directories"] = json!(["/srv/app", "/srv/lib"]);
    let store = store(&[(FILE, &lines(&[first, user("m1", "One.")]))]);
    let layout = layout("gemini-cli");
    let place = only(layout, &store);
    assert_eq!(layout.summary(&store, &place).unwrap().status.as_str(), "helper");
    assert_eq!(layout.project(&store, &place).unwrap().as_deref(), Some("/srv/app"));
}
