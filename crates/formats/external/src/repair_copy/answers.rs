//! The repair rules of each program, and how it would have recorded an interrupted tool.
//!
//! `RepairRules` are the rules of a program, and `AnswerPlacement` says where missing tool results go.

use serde_json::{Map, Value, json};

use super::super::blocks::{spread_text, time_at};
use everturn_session::repair::INTERRUPTED;
use everturn_value::outline::text_at;
use everturn_value::tree::{JsonTree, ValueKind as Shape};

/// The members of a record.
pub(super) type RecordMembers = Map<String, Value>;

/// A member of a record, and its new value.
pub(super) type MemberEdit = (&'static str, String);

/// The rules for repairing the files of a program.
pub(crate) struct RepairRules {
    /// The key of a record's id.
    pub(super) id: Option<&'static str>,
    /// The keys that may name its parent; the first one present counts.
    pub(super) parents: &'static [&'static str],
    /// Whether the program omits the last newline.
    pub(super) ends_open: bool,
    /// The message that a record is part of.
    pub(super) message: fn(&JsonTree) -> Option<String>,
    pub(super) answer: AnswerPlacement,
    /// A member that the program has corrupted, with the value it should have.
    pub(super) restored: fn(&JsonTree) -> Option<MemberEdit>,
}

/// How missing tool results are added.
pub(super) enum AnswerPlacement {
    /// The program has no tool calls.
    Never,
    /// By records after the calling one, which get ids and parents if they need them.
    Behind(fn(&JsonTree, &[String]) -> Vec<RecordMembers>),
    /// By a new value for a member of the calling record.
    Within(fn(&JsonTree, &[String]) -> Option<MemberEdit>),
}

const PLAIN: RepairRules = RepairRules {
    id: None,
    parents: &[],
    ends_open: false,
    message: |_| None,
    answer: AnswerPlacement::Never,
    restored: |_| None,
};

pub(crate) const CLAUDE: RepairRules = RepairRules {
    id: Some("uuid"),
    parents: &["parentUuid", "logicalParentUuid"],
    message: |record| text_at(record, &["message", "id"]),
    answer: AnswerPlacement::Behind(claude),
    restored: claude_message,
    ..PLAIN
};

pub(crate) const CODEX: RepairRules =
    RepairRules { answer: AnswerPlacement::Behind(codex), ..PLAIN };

pub(crate) const GEMINI: RepairRules =
    RepairRules { answer: AnswerPlacement::Within(gemini), ..PLAIN };

pub(crate) const SILLYTAVERN: RepairRules = RepairRules { ends_open: true, ..PLAIN };

pub(crate) const PI: RepairRules = RepairRules {
    id: Some("id"),
    parents: &["parentId"],
    answer: AnswerPlacement::Behind(pi),
    ..PLAIN
};

pub(crate) const GOOSE: RepairRules =
    RepairRules { answer: AnswerPlacement::Behind(goose), ..PLAIN };

/// The given members of a record, unchanged.
fn members(record: &JsonTree, keys: &[&str]) -> RecordMembers {
    let member = |key: &&str| {
        let value = record.value_at(&[key])?.to_value().ok()?;
        Some(((*key).to_owned(), value))
    };
    keys.iter().filter_map(member).collect()
}

fn object(value: Value) -> RecordMembers {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn claude(record: &JsonTree, calls: &[String]) -> Vec<RecordMembers> {
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

/// Restores a message that was split into its characters.
fn claude_message(record: &JsonTree) -> Option<MemberEdit> {
    let message =
        record.value_at(&["message"]).filter(|message| message.value_at(&["content"]).is_none())?;
    let text = spread_text(&message)?;
    let mut members = object(message.to_value().ok()?);
    members.retain(|key, _| key.parse::<usize>().is_err());
    let role = text_at(record, &["type"]).unwrap_or_else(|| "user".to_owned());
    members.entry("role").or_insert_with(|| role.into());
    members.insert("content".to_owned(), text.into());
    Some(("message", Value::Object(members).to_string()))
}

fn codex(record: &JsonTree, calls: &[String]) -> Vec<RecordMembers> {
    let payload = record.value_at(&["payload"]);
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

fn gemini(record: &JsonTree, calls: &[String]) -> Option<MemberEdit> {
    let mut list = record.value_at(&["toolCalls"])?.to_value().ok()?;
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

fn pi(record: &JsonTree, calls: &[String]) -> Vec<RecordMembers> {
    let content = record.value_at(&["message", "content"]).unwrap_or_else(JsonTree::null);
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

fn goose(record: &JsonTree, calls: &[String]) -> Vec<RecordMembers> {
    let result = |id: &String| json!({"type": "toolResponse", "id": id, "toolResult": {"status": "error", "error": INTERRUPTED}});
    let results: Vec<Value> = calls.iter().map(result).collect();
    let mut answer = members(record, &["created"]);
    answer.extend(object(json!({"role": "user", "content": results})));
    vec![answer]
}
