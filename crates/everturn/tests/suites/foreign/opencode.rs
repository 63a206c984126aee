//! OpenCode.

use std::sync::Arc;

use everturn::format::SessionReader;
use everturn::store::Store;
use serde_json::{Value, json};

use crate::foreign::support::{
    branch_lines, codes, converts, counts, layout, only, open, store, told, told_along,
};

fn session() -> Value {
    json!({"id": "ses_1", "version": "0.14.0", "projectID": "p", "directory": "/srv/app", "title": "Counting",
        "time": {"created": 1_767_261_600_000_i64, "updated": 1_767_261_700_000_i64}})
}

fn user(id: &str) -> Value {
    json!({"id": id, "sessionID": "ses_1", "role": "user", "time": {"created": 1_767_261_601_000_i64}})
}

fn model(id: &str, parent: &str) -> Value {
    json!({"id": id, "sessionID": "ses_1", "role": "assistant", "parentID": parent, "modelID": "sonnet",
        "providerID": "anthropic", "time": {"created": 1_767_261_602_000_i64}, "cost": 0.5,
        "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}}})
}

fn text(id: &str, message: &str, text: &str) -> Value {
    json!({"id": id, "messageID": message, "sessionID": "ses_1", "type": "text", "text": text})
}

fn tool(id: &str, message: &str, call: &str, state: Value) -> Value {
    json!({"id": id, "messageID": message, "sessionID": "ses_1", "type": "tool", "callID": call, "tool": "bash",
        "state": state})
}

/// The files of a session as the program lays them out.
fn laid_out(session: &Value, messages: &[Value], parts: &[Value]) -> Vec<(String, Vec<u8>)> {
    let name = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let mut files = vec![("storage/migration".to_owned(), b"2".to_vec())];
    let mut add = |path: String, value: &Value| files.push((path, value.to_string().into_bytes()));
    add(format!("storage/session/p/{}.json", name(session, "id")), session);
    for message in messages {
        add(format!("storage/message/ses_1/{}.json", name(message, "id")), message);
    }
    for part in parts {
        add(format!("storage/part/{}/{}.json", name(part, "messageID"), name(part, "id")), part);
    }
    files
}

fn held(files: &[(String, Vec<u8>)]) -> Arc<dyn Store> {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    store(&files)
}

fn read(files: &[(String, Vec<u8>)]) -> Box<dyn SessionReader> {
    let store = held(files);
    let layout = layout("opencode");
    let place = only(layout, &store);
    converts(layout, &store, &place);
    layout.open(&store, &place).unwrap()
}

fn talk() -> (Vec<Value>, Vec<Value>) {
    let messages = vec![user("msg_1"), model("msg_2", "msg_1"), user("msg_3")];
    let mut note = text("prt_11", "msg_1", "Files are attached.");
    note["synthetic"] = json!(true);
    let parts = vec![
        text("prt_10", "msg_1", "Count."),
        note,
        json!({"id": "prt_20", "messageID": "msg_2", "sessionID": "ses_1", "type": "step-start"}),
        json!({"id": "prt_21", "messageID": "msg_2", "sessionID": "ses_1", "type": "reasoning", "text": "Hm."}),
        tool(
            "prt_22",
            "msg_2",
            "c1",
            json!({"status": "completed", "input": {"command": "wc"}, "output": "3"}),
        ),
        tool("prt_23", "msg_2", "c2", json!({"status": "error", "input": {}, "error": "no"})),
        text("prt_24", "msg_2", "Three."),
        text("prt_30", "msg_3", "Thanks."),
    ];
    (messages, parts)
}

const TOLD: [&str; 9] = [
    "1 user: Count.",
    "1 system: Files are attached.",
    "1 thinking: Hm.",
    "1 tool_call: bash {\"command\":\"wc\"}",
    "1 tool_result: 3",
    "1 tool_call: bash {}",
    "1 tool_result: no",
    "1 assistant: Three.",
    "2 user: Thanks.",
];

#[test]
fn a_directory_is_read_in_the_order_of_ids() {
    let (messages, parts) = talk();
    let reader = read(&laid_out(&session(), &messages, &parts));
    assert_eq!(told(&*reader), TOLD);
    // A session, three messages and eight parts.
    assert_eq!(counts(&*reader), [12, 12, 0, 0, 0]);
    assert_eq!((reader.findings(), reader.warnings()), (vec![], vec![]));
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.input, spent.output, spent.reasoning), (10, 7, 2));
    assert_eq!((spent.cache_read, spent.cache_write, spent.cost), (3, 1, Some(0.5)));
}

#[test]
fn an_export_reads_like_the_directory() {
    let (messages, parts) = talk();
    let whole = |message: &Value| {
        let own: Vec<&Value> =
            parts.iter().filter(|part| part["messageID"] == message["id"]).collect();
        json!({"info": message, "parts": own})
    };
    let messages: Vec<Value> = messages.iter().map(whole).collect();
    let export = json!({"info": session(), "messages": messages});
    let reader = open("opencode", "export.json", export.to_string().as_bytes());
    assert_eq!(told(&*reader), TOLD);
    assert_eq!(counts(&*reader), [12, 12, 0, 0, 0]);
    // It is one wherever its messages begin, and without any.
    let mut long = export.clone();
    long["info"]["summary"] = json!({"diffs": ["x".repeat(70_000)]});
    let reader = open("opencode", "export.json", long.to_string().as_bytes());
    assert_eq!(told(&*reader), TOLD);
    let mut long = export;
    long["messages"][0]["info"]["system"] = json!(["x".repeat(70_000)]);
    let reader = open("opencode", "export.json", long.to_string().as_bytes());
    assert_eq!(told(&*reader), TOLD);
    let empty = json!({"info": session(), "messages": []});
    open("opencode", "export.json", empty.to_string().as_bytes());
}

#[test]
fn the_directory_is_the_project() {
    let (messages, parts) = talk();
    let store = held(&laid_out(&session(), &messages, &parts));
    let place = only(layout("opencode"), &store);
    let project = layout("opencode").project(&store, &place).unwrap();
    assert_eq!(project.as_deref(), Some("/srv/app"));
}

#[test]
fn messages_that_were_taken_back_are_a_branch() {
    let (messages, parts) = talk();
    let mut session = session();
    session["revert"] = json!({"messageID": "msg_3"});
    let reader = read(&laid_out(&session, &messages, &parts));
    assert_eq!(told(&*reader), TOLD[..8]);
    assert_eq!(branch_lines(&*reader), ["msg_3 1+1: Thanks."]);
    assert_eq!(told_along(&*reader, "msg_3"), TOLD);
    // Of that message only parts may be taken back.
    session["revert"] = json!({"messageID": "msg_2", "partID": "prt_24"});
    let reader = read(&laid_out(&session, &messages, &parts));
    assert_eq!(told(&*reader), TOLD[..8]);
    assert_eq!(branch_lines(&*reader), ["msg_3 1+1: Thanks."]);
    // All of them may be.
    session["revert"] = json!({"messageID": "msg_1"});
    let reader = read(&laid_out(&session, &messages, &parts));
    assert_eq!(told(&*reader), Vec::<String>::new());
    assert_eq!(branch_lines(&*reader), ["msg_1 -+2: Count."]);
    assert_eq!(told_along(&*reader, "msg_1"), TOLD);
}

#[test]
fn a_tool_that_never_ended_is_noticed() {
    let messages = [user("msg_1"), model("msg_2", "msg_1")];
    let running = tool("prt_2", "msg_2", "c1", json!({"status": "running", "input": {}}));
    let reader = read(&laid_out(&session(), &messages, &[text("prt_1", "msg_1", "Go."), running]));
    assert_eq!(codes(&reader.warnings()), ["orphan-call"]);
}

#[test]
fn parts_without_their_message_are_kept_and_reported() {
    let (messages, mut parts) = talk();
    parts.push(text("prt_90", "msg_9", "Lost words."));
    let mut other = text("prt_91", "msg_8", "Of another session.");
    other["sessionID"] = json!("ses_2");
    parts.push(other);
    let files = laid_out(&session(), &messages, &parts);
    let store = held(&files);
    let layout = layout("opencode");
    let places = layout.locate(&store).unwrap().sessions;
    let ids: Vec<&str> = places.iter().map(|place| place.id.as_str()).collect();
    assert_eq!(ids, ["ses_1", "msg_8", "msg_9"]);
    let reader = layout.open(&store, &places[2]).unwrap();
    assert_eq!(told(&*reader), ["1 assistant: Lost words."]);
    assert_eq!(codes(&reader.findings()), ["orphan-part"]);
    assert_eq!(counts(&*reader), [1, 0, 1, 0, 0]);
    let summary = layout.summary(&store, &places[1]).unwrap();
    let parent = summary.parent.as_deref();
    assert_eq!((summary.title.as_str(), parent), ("Of another session.", Some("ses_2")));
    assert_eq!(counts(&*layout.open(&store, &places[0]).unwrap()), [12, 12, 0, 0, 0]);
}

#[test]
fn messages_without_their_session_are_a_session() {
    let (messages, parts) = talk();
    let mut files = laid_out(&session(), &messages, &parts);
    files.retain(|(path, _)| !path.contains("storage/session/"));
    let store = held(&files);
    let place = only(layout("opencode"), &store);
    assert_eq!(place.id, "ses_1");
    converts(layout("opencode"), &store, &place);
    let reader = layout("opencode").open(&store, &place).unwrap();
    assert_eq!(told(&*reader), TOLD);
    assert_eq!(codes(&reader.findings()), ["orphan-part"]);
}

#[test]
fn what_a_session_changed_in_files_is_a_record() {
    let (messages, parts) = talk();
    let mut files = laid_out(&session(), &messages, &parts);
    let diff = ("storage/session_diff/ses_1.json".to_owned(), b"[{\"file\":\"a\"}]".to_vec());
    files.push(diff);
    let reader = read(&files);
    assert_eq!((told(&*reader).len(), counts(&*reader)), (TOLD.len(), [13, 13, 0, 0, 0]));
}

#[test]
fn files_that_are_no_documents_are_reported_and_hide_nothing() {
    let (messages, parts) = talk();
    let mut files = laid_out(&session(), &messages, &parts);
    for (path, bytes) in &mut files {
        if path.ends_with("prt_24.json") {
            bytes.truncate(9);
        }
        if path.ends_with("msg_3.json") {
            bytes.clear();
        }
    }
    let reader = read(&files);
    assert_eq!(codes(&reader.findings()), ["bad-document", "empty-document", "orphan-part"]);
    // The words of the message that is empty are still there.
    assert_eq!(told(&*reader).last().unwrap(), "1 assistant: Thanks.");
    assert_eq!(counts(&*reader), [12, 9, 1, 2, 0]);
}
