//! How each program would have noted that a tool was interrupted, and what else is its own about mending.

use serde_json::{Map, Value, json};

use super::super::blocks::{spread_text, time_at};
use everturn_session::repairs::INTERRUPTED;
use everturn_value::outline::text_at;
use everturn_value::tree::{Kind as Shape, Tree};

/// The members of a record.
pub(super) type Members = Map<String, Value>;

/// A member of a record, and its new value.
pub(super) type Edit = (&'static str, String);

/// How the files of a program are mended.
pub(crate) struct Mending {
    /// The key of a record's id.
    pub(super) id: Option<&'static str>,
    /// The keys that may name the record that it follows, the first of which counts.
    pub(super) parents: &'static [&'static str],
    /// Whether the program leaves out the last newline.
    pub(super) ends_open: bool,
    /// The message of which a record is a part.
    pub(super) message: fn(&Tree) -> Option<String>,
    pub(super) answer: Answer,
    /// A member that the program has spoiled, and what it should be.
    pub(super) restored: fn(&Tree) -> Option<Edit>,
}

/// How calls are answered that nobody has answered.
pub(super) enum Answer {
    /// The program knows no calls.
    Never,
    /// By records behind the one that called, which get ids and parents if they need them.
    Behind(fn(&Tree, &[String]) -> Vec<Members>),
    /// By another value of a member of the one that called.
    Within(fn(&Tree, &[String]) -> Option<Edit>),
}

const PLAIN: Mending = Mending {
    id: None,
    parents: &[],
    ends_open: false,
    message: |_| None,
    answer: Answer::Never,
    restored: |_| None,
};

pub(crate) const CLAUDE: Mending = Mending {
    id: Some("uuid"),
    parents: &["parentUuid", "logicalParentUuid"],
    message: |record| text_at(record, &["message", "id"]),
    answer: Answer::Behind(claude),
    restored: claude_message,
    ..PLAIN
};

pub(crate) const CODEX: Mending = Mending { answer: Answer::Behind(codex), ..PLAIN };

pub(crate) const GEMINI: Mending = Mending { answer: Answer::Within(gemini), ..PLAIN };

pub(crate) const SILLYTAVERN: Mending = Mending { ends_open: true, ..PLAIN };

pub(crate) const PI: Mending =
    Mending { id: Some("id"), parents: &["parentId"], answer: Answer::Behind(pi), ..PLAIN };

pub(crate) const GOOSE: Mending = Mending { answer: Answer::Behind(goose), ..PLAIN };

/// Members of a record, as they are.
fn members(record: &Tree, keys: &[&str]) -> Members {
    let member = |key: &&str| {
        let value = record.at(&[key])?.to_value().ok()?;
        Some(((*key).to_owned(), value))
    };
    keys.iter().filter_map(member).collect()
}

fn object(value: Value) -> Members {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn claude(record: &Tree, calls: &[String]) -> Vec<Members> {
    let result = |id: &String| json!({"type": "tool_result", "tool_use_id": id, "content": INTERRUPTED, "is_error": true});
    let results: Vec<Value> = calls.iter().map(result).collect();
    let keys = ["isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug"];
    let mut answer = members(record, &keys);
    answer.extend(members(record, &["agentId", "timestamp"]));
    answer.extend(object(json!({
        "type": "user", "message": {"role": "user", "content": results},
        "toolUseResult": INTERRUPTED, "sourceToolAssistantUUID": text_at(record, &["uuid"]),
    })));
    vec![answer]
}

/// A message that was taken apart into its characters.
fn claude_message(record: &Tree) -> Option<Edit> {
    let message = record.at(&["message"]).filter(|message| message.at(&["content"]).is_none())?;
    let text = spread_text(&message)?;
    let mut members = object(message.to_value().ok()?);
    members.retain(|key, _| key.parse::<usize>().is_err());
    let role = text_at(record, &["type"]).unwrap_or_else(|| "user".to_owned());
    members.entry("role").or_insert_with(|| role.into());
    members.insert("content".to_owned(), text.into());
    Some(("message", Value::Object(members).to_string()))
}

fn codex(record: &Tree, calls: &[String]) -> Vec<Members> {
    let payload = record.at(&["payload"]);
    let item = payload.clone().unwrap_or_else(|| record.clone());
    let kind = match text_at(&item, &["type"]).as_deref() {
        Some("custom_tool_call") => "custom_tool_call_output",
        _ => "function_call_output",
    };
    let answer = |id: &String| {
        let output = json!({"type": kind, "call_id": id, "output": INTERRUPTED});
        if payload.is_none() {
            return object(output);
        }
        let mut answer = members(record, &["timestamp", "type"]);
        answer.insert("payload".to_owned(), output);
        answer
    };
    calls.iter().map(answer).collect()
}

fn gemini(record: &Tree, calls: &[String]) -> Option<Edit> {
    let mut list = record.at(&["toolCalls"])?.to_value().ok()?;
    for call in list.as_array_mut()? {
        let (id, name) = (call.get("id").cloned()?, call.get("name").cloned());
        let is_open = call.get("result").is_none_or(Value::is_null);
        if !is_open || !calls.iter().any(|open| id == open.as_str()) {
            continue;
        }
        let response = json!({"id": id, "name": name, "response": {"error": INTERRUPTED}});
        let members = call.as_object_mut()?;
        members.insert("result".to_owned(), json!([{"functionResponse": response}]));
        members.insert("status".to_owned(), "cancelled".into());
    }
    Some(("toolCalls", list.to_string()))
}

fn pi(record: &Tree, calls: &[String]) -> Vec<Members> {
    let content = record.at(&["message", "content"]).unwrap_or_else(Tree::null);
    let blocks = if content.kind() == Shape::Array { content.children() } else { Vec::new() };
    let answer = |id: &String| {
        let call = blocks
            .iter()
            .find(|(_, block)| text_at(block, &["id"]).as_deref() == Some(id.as_str()));
        let name = call.and_then(|(_, block)| text_at(block, &["name"]));
        let mut message = object(json!({
            "role": "toolResult", "toolCallId": id, "toolName": name,
            "content": [{"type": "text", "text": INTERRUPTED}], "isError": true,
        }));
        if let Some(time) = time_at(record, &["timestamp"]) {
            message.insert("timestamp".to_owned(), time.as_millisecond().into());
        }
        let mut answer = members(record, &["type", "timestamp"]);
        answer.insert("message".to_owned(), Value::Object(message));
        answer
    };
    calls.iter().map(answer).collect()
}

fn goose(record: &Tree, calls: &[String]) -> Vec<Members> {
    let result = |id: &String| json!({"type": "toolResponse", "id": id, "toolResult": {"status": "error", "error": INTERRUPTED}});
    let results: Vec<Value> = calls.iter().map(result).collect();
    let mut answer = members(record, &["created"]);
    answer.extend(object(json!({"role": "user", "content": results})));
    vec![answer]
}
