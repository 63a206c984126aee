//! Gemini CLI 0.61.

use std::sync::Arc;

use everturn_store::Store;

use crate::support::{format, golden, open, session, sessions, store_at, store_of, summary, told};

fn recorded() -> Arc<dyn Store> {
    store_at(&golden("gemini-cli-0.61.0"))
}

#[test]
fn a_resumed_session_reads_as_it_was_held() {
    let (format, store) = (format("gemini-cli"), recorded());
    let reader = open(format, &store, "b099fa4e");
    let mut told = told(&*reader);
    told.retain(|line| !line.contains("tool_result"));
    assert_eq!(
        told,
        [
            "1 system: <session_context>(left out)",
            "1 user: First question",
            "1 thinking: **Subject** Which tool?",
            "1 assistant: I will look.",
            "1 tool_call: run_shell_command {\"command\":\"ls\",\"description\":\"Run echo\"}",
            "1 assistant: It is done.",
            "2 user: Second question",
            "2 thinking: Subject: A short thought.",
            "2 assistant: Answer to Second question",
        ]
    );
    let results = |reader: &dyn everturn_session::format::SessionReader| {
        crate::support::told(reader).iter().filter(|line| line.contains("tool_result")).count()
    };
    assert_eq!(results(&*reader), 1);
    let shown = summary(format, &store, "b099fa4e");
    assert_eq!((shown.title.as_str(), shown.turns), ("First question", Some(2)));
    let place = session(format, &store, "b099fa4e");
    assert_eq!(format.project(&store, &place).unwrap().as_deref(), Some("/srv/app"));
}

fn line(json: &str) -> String {
    format!("{json}\n")
}

/// A file that a resume in another minute leaves: the same session, with its preamble only.
#[test]
fn the_stub_of_a_resume_is_the_same_session() {
    let head = line(
        r#"{"sessionId":"b099fa4e-9d4e","projectHash":"x","startTime":"2026-01-01T10:00:00Z","lastUpdated":"2026-01-01T10:00:00Z","kind":"main"}"#,
    );
    let stub = format!(
        "{head}{}",
        line(
            r#"{"$set":{"messages":[{"id":"c","timestamp":"2026-01-01T10:05:00Z","type":"user","content":[{"text":"<session_context>\nx"}]}]}}"#
        )
    );
    let whole = format!(
        "{stub}{}{}",
        line(
            r#"{"id":"u","timestamp":"2026-01-01T10:00:01Z","type":"user","content":[{"text":"Hello."}]}"#
        ),
        line(r#"{"id":"g","timestamp":"2026-01-01T10:00:02Z","type":"gemini","content":"Hi."}"#)
    );
    let store = store_of(&[
        ("tmp/app/chats/session-2026-01-01T10-00-b099fa4e.jsonl", whole.as_bytes()),
        ("tmp/app/chats/session-2026-01-01T10-05-b099fa4e.jsonl", stub.as_bytes()),
        ("projects.json", br#"{"projects":{"/srv/other":"other","/srv/app":"app"}}"#),
    ]);
    let format = format("gemini-cli");
    assert_eq!(sessions(format, &store).len(), 1);
    let reader = open(format, &store, "b099fa4e");
    let told = told(&*reader);
    assert_eq!(told[1..], ["1 user: Hello.", "1 assistant: Hi."]);
    // Every record is still reached: the whole file has four, the stub two.
    assert_eq!(reader.record_counts().unwrap().read, 6);
    let place = session(format, &store, "b099fa4e");
    assert_eq!(format.project(&store, &place).unwrap().as_deref(), Some("/srv/app"));
}
