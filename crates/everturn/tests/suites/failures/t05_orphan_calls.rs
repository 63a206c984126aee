//! T5: a tool that was called and never answered, and an answer that nobody asked for.

use everturn::finding::FindingCode;
use everturn::format::{RepairMode, SessionReader};
use everturn::model::EntryKind;
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::failures::foreign::{codes, entries, layout, lines, only, open as open_file, store};
use crate::failures::kinds::{ALL, at, open};
use crate::failures::records::{FILE, answers, calls, says, user};
use crate::failures::support::{bytes, checked, log, played};

/// Whether a talk could be sent to a model: every call is answered before anybody speaks again, and nothing else
/// answers.
fn can_be_sent(reader: &dyn SessionReader) -> bool {
    let mut open = 0_i64;
    for entry in entries(reader, 0, u64::MAX) {
        match entry.kind {
            EntryKind::ToolCall => open += 1,
            EntryKind::ToolResult => open -= 1,
            EntryKind::User | EntryKind::Assistant if open != 0 => return false,
            _ => {}
        }
        if open < 0 {
            return false;
        }
    }
    open == 0
}

/// Talks in which a program was killed between a call and its answer, at the end and in the middle.
fn talks() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let codex = |payload: Value| json!({"timestamp": "2026-01-01T10:00:00Z", "type": "response_item", "payload": payload});
    let says_codex = |role: &str, text: &str| {
        codex(
            json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}),
        )
    };
    let call = |id: &str| {
        codex(json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id}))
    };
    let pi = |id: &str, parent: Option<&str>, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T10:00:00.000Z", "message": message});
    let asks = |id: &str| json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "sh", "arguments": {}}]});
    let goose = |role: &str, content: Value| json!({"role": role, "created": 1_767_261_600, "content": [content]});
    let request = |id: &str| json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": {"name": "sh", "arguments": {}}}});
    let gemini = |id: &str, call: &str| json!({"id": id, "type": "gemini", "content": "", "timestamp": "2026-01-01T10:00:00Z", "toolCalls": [{"id": call, "name": "sh", "args": {}, "status": "executing"}]});
    let asked = |id: &str| json!({"id": id, "type": "user", "content": "Go.", "timestamp": "2026-01-01T10:00:00Z"});
    vec![
        (
            "claude-code",
            FILE,
            vec![
                user("u1", "", "Go."),
                calls("c1", "u1", "t1"),
                user("u2", "c1", "And?"),
                says("a2", "u2", "Hm."),
                calls("c2", "a2", "t2"),
            ],
        ),
        (
            "codex",
            "rollout-1.jsonl",
            vec![says_codex("user", "Go."), call("c1"), says_codex("user", "And?"), call("c2")],
        ),
        (
            "pi",
            "2026_x.jsonl",
            vec![
                json!({"type": "session", "version": 3, "id": "x", "cwd": "/srv/app"}),
                pi("aaaa0001", None, json!({"role": "user", "content": "Go."})),
                pi("aaaa0002", Some("aaaa0001"), asks("c1")),
                pi("aaaa0003", Some("aaaa0002"), json!({"role": "user", "content": "And?"})),
                pi("aaaa0004", Some("aaaa0003"), asks("c2")),
            ],
        ),
        (
            "goose",
            "g.jsonl",
            vec![
                json!({"description": "G", "working_dir": "/srv/app"}),
                goose("user", json!({"type": "text", "text": "Go."})),
                goose("assistant", request("c1")),
                goose("user", json!({"type": "text", "text": "And?"})),
                goose("assistant", request("c2")),
            ],
        ),
        (
            "gemini-cli",
            "session-1.jsonl",
            vec![
                json!({"sessionId": "g", "startTime": "2026-01-01T10:00:00Z"}),
                asked("m1"),
                gemini("m2", "c1"),
                asked("m3"),
                gemini("m4", "c2"),
            ],
        ),
    ]
}

#[test]
fn t05_an_unanswered_call_is_flagged_and_answered_in_a_copy() {
    for (name, file, records) in talks() {
        let before = lines(&records);
        let from = store(&[(file, &before)]);
        let place = only(layout(name), &from);
        let reader = layout(name).open(&from, &place).unwrap();
        let found = codes(&reader.warnings());
        assert_eq!(found.len(), 2, "{name}: {found:?}");
        assert!(found.iter().all(|code| code.ends_with("orphan-call")), "{name}: {found:?}");
        assert!(!can_be_sent(&*reader), "{name}");
        let repaired = layout(name).foreign().repaired_copy(&from, &place).unwrap();
        let into = store(&[]);
        repaired.write(&into).unwrap();
        assert_eq!(from.read(&place.path, 0..u64::MAX).unwrap(), before, "{name}");
        let copy = layout(name).open(&into, &only(layout(name), &into)).unwrap();
        assert_eq!(codes(&copy.warnings()), [""; 0], "{name}");
        assert!(can_be_sent(&*copy), "{name}");
        let told = entries(&*copy, 0, u64::MAX);
        assert_eq!(told.iter().filter(|it| it.text.contains("interrupted")).count(), 2, "{name}");
    }
}

#[test]
fn t05_an_answer_that_nobody_asked_for_is_flagged() {
    let records = [user("u1", "", "Go."), answers("r1", "u1", "t9"), says("a1", "r1", "Hm.")];
    let reader = open_file("claude-code", FILE, &lines(&records));
    assert_eq!(codes(&reader.warnings()), ["2 orphan-call"]);
    assert!(!can_be_sent(&*reader));
}

#[test]
fn t05_an_own_session_is_answered_behind_its_last_message() {
    let kind = ALL.iter().find(|kind| kind.layout == "codelia").unwrap();
    let (disk, file) = (played(kind, 1), log(kind));
    let store = open(&disk).unwrap();
    let place = kind.place(&store).unwrap();
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]});
    let mut editor = kind.layout().editable().edit(&store, &place).unwrap();
    editor.append(&call.to_string(), at(2)).unwrap();
    editor.release().unwrap();
    let before = bytes(&disk, &file);
    let orphans = |found: Vec<everturn::finding::Finding>| {
        found.iter().filter(|finding| finding.code == FindingCode::OrphanCall).count()
    };
    assert_eq!(orphans(checked(&disk)), 1);
    let plan = kind.layout().editable().repair(&store, &place, RepairMode::Plan, at(3)).unwrap();
    let planned = plan.actions.iter().filter(|action| action.what.contains("interrupted"));
    assert_eq!((planned.count(), bytes(&disk, &file)), (1, before.clone()));
    kind.layout().editable().repair(&store, &place, RepairMode::Apply, at(3)).unwrap();
    let after = bytes(&disk, &file);
    assert!(after.starts_with(&before), "what was there stays");
    assert!(String::from_utf8_lossy(&after[before.len()..]).contains("interrupted"));
    assert_eq!(orphans(checked(&disk)), 0);
    let reader = kind.layout().open(&store, &place).unwrap();
    assert!(can_be_sent(&*reader));
}
