//! Records as other programs write them.

use serde_json::{Value, json};

/// A file of Claude Code, wherever it is.
pub(crate) const FILE: &str = "3f0c9a52-6b1e-4c58-9d3a-0e7a11223344.jsonl";

pub(crate) const SESSION: &str = "3f0c9a52-6b1e-4c58-9d3a-0e7a11223344";

pub(crate) fn file() -> String {
    format!("projects/-srv-app/{SESSION}.jsonl")
}

/// A record of the chain.
pub(crate) fn chained(kind: &str, id: &str, parent: &str, more: Value) -> Value {
    let mut record = json!({
        "parentUuid": (!parent.is_empty()).then_some(parent), "isSidechain": false,
        "userType": "external", "cwd": "/srv/app", "sessionId": SESSION, "version": "2.0.1",
        "type": kind, "uuid": id, "timestamp": "2026-01-01T10:00:00.000Z",
    });
    let fields = record.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    record
}

pub(crate) fn user(id: &str, parent: &str, text: &str) -> Value {
    chained("user", id, parent, json!({"message": {"role": "user", "content": text}}))
}

pub(crate) fn block(id: &str, parent: &str, message: &str, block: &Value, output: u64) -> Value {
    let usage = json!({"input_tokens": 10, "output_tokens": output,
        "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100});
    let message = json!({"id": message, "type": "message", "role": "assistant", "model": "opus",
        "content": [block], "stop_reason": null, "usage": usage});
    chained("assistant", id, parent, json!({"message": message, "requestId": "req"}))
}

pub(crate) fn says(id: &str, parent: &str, text: &str) -> Value {
    block(id, parent, &format!("msg-{id}"), &json!({"type": "text", "text": text}), 20)
}

pub(crate) fn calls(id: &str, parent: &str, call: &str) -> Value {
    let call = json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}});
    block(id, parent, &format!("msg-{id}"), &call, 20)
}

pub(crate) fn answers(id: &str, parent: &str, call: &str) -> Value {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "a.txt"}]);
    let message = json!({"role": "user", "content": content});
    chained("user", id, parent, json!({"message": message, "toolUseResult": {"stdout": "a.txt"}}))
}

pub(crate) fn progress(id: &str, parent: &str) -> Value {
    chained("progress", id, parent, json!({"data": {"type": "hook_progress"}, "toolUseID": "t"}))
}

/// Two turns.
pub(crate) fn talk() -> Vec<Value> {
    vec![
        user("u1", "", "One."),
        says("a1", "u1", "First."),
        user("u2", "a1", "Two."),
        says("a2", "u2", "Second."),
    ]
}

/// Three records of every program that writes lines.
pub(crate) fn files() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let codex = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T10:00:00Z", "type": kind, "payload": payload});
    let said = |text: &str| {
        codex(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}),
        )
    };
    let gemini = |id: &str| json!({"id": id, "type": "user", "content": "Hi", "timestamp": "2026-01-01T10:00:00Z"});
    let tavern = |text: &str| json!({"name": "Ana", "is_user": true, "send_date": 1_685_631_845_000_i64, "mes": text});
    let pi = |id: &str, parent: Option<&str>| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": "Hi"}});
    let goose = |text: &str| json!({"role": "user", "created": 1_767_261_600, "content": [{"type": "text", "text": text}]});
    vec![
        ("claude-code", FILE, talk()[..3].to_vec()),
        (
            "codex",
            "rollout-1.jsonl",
            vec![codex("session_meta", json!({"id": "x"})), said("One."), said("Two.")],
        ),
        (
            "gemini-cli",
            "session-1.jsonl",
            vec![
                json!({"sessionId": "g", "startTime": "2026-01-01T10:00:00Z"}),
                gemini("m1"),
                gemini("m2"),
            ],
        ),
        (
            "sillytavern",
            "chat.jsonl",
            vec![json!({"chat_metadata": {}}), tavern("One."), tavern("Two.")],
        ),
        (
            "pi",
            "2026_x.jsonl",
            vec![
                json!({"type": "session", "id": "x", "cwd": "/srv/app"}),
                pi("a1", None),
                pi("a2", Some("a1")),
            ],
        ),
        (
            "goose",
            "g.jsonl",
            vec![
                json!({"description": "G", "working_dir": "/srv/app"}),
                goose("One."),
                goose("Two."),
            ],
        ),
    ]
}
