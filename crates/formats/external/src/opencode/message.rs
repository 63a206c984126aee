//! Messages of OpenCode and their parts, in the form of its files and exports, and in that of its newer table.

use everturn_session::model::{EntryKind, SessionUsage, TokenUsage};
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};
use jiff::Timestamp;

use crate::blocks::{any_time_at, block_text, content_text, count_at, price_at};
use crate::record::{EntryDraft, RecordInfo, RecordRole, TextHash};
use crate::survey::is_object;

/// An array of values.
fn list(trees: &[JsonTree]) -> JsonTree {
    let texts: Vec<String> = trees.iter().map(JsonTree::to_line).collect();
    JsonTree::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| JsonTree::null())
}

/// A message with its parts.
pub(super) fn message(info: JsonTree, parts: &[JsonTree]) -> JsonTree {
    JsonTree::from_members([("info".to_owned(), info), ("parts".to_owned(), list(parts))])
}

/// The entries of a tool part: the call, and the result if there is one.
fn tool(part: &JsonTree) -> Vec<EntryDraft> {
    let name = text_at(part, &["tool"]).unwrap_or_else(|| "tool".to_owned());
    let id = text_at(part, &["callID"]);
    let input = part.text_at(&["state", "input"]).unwrap_or_default();
    let mut drafts = vec![EntryDraft::called("assistant", &name, &input, id.clone()).by(part)];
    let answer = match text_at(part, &["state", "status"]).as_deref() {
        Some("completed") => part.value_at(&["state", "output"]),
        Some("error") => part.value_at(&["state", "error"]),
        _ => None,
    };
    if let Some(answer) = answer {
        drafts.push(EntryDraft::answered(&name, content_text(&answer), id).by(part));
    }
    drafts
}

fn part(role: &str, part: &JsonTree) -> Vec<EntryDraft> {
    let kind = text_at(part, &["type"]).unwrap_or_default();
    let text = |key: &str| text_at(part, &[key]).unwrap_or_default();
    let draft = match kind.as_str() {
        "text" if flag_at(part, &["synthetic"]) == Some(true) => {
            EntryDraft::new(EntryKind::System, "system", text("text"))
        }
        "text" if role == "user" => EntryDraft::new(EntryKind::User, "user", text("text")),
        "text" => EntryDraft::new(EntryKind::Assistant, "assistant", text("text")),
        "reasoning" => EntryDraft::new(EntryKind::thinking(), "assistant", text("text")),
        "tool" => return tool(part),
        "file" => EntryDraft::new(EntryKind::Event, role, format!("file {}", text("filename"))),
        "compaction" => EntryDraft::new(EntryKind::Event, "system", "context compacted"),
        "subtask" => EntryDraft::new(EntryKind::Event, role, format!("task: {}", text("prompt"))),
        "retry" => EntryDraft::new(EntryKind::Event, "system", "the request was retried"),
        other => EntryDraft::bookkeeping(other, ""),
    };
    vec![draft.by(part)]
}

pub(super) fn record_info(record: &JsonTree) -> RecordInfo {
    let drafts = drafts(record);
    let asks = drafts.iter().any(|draft| draft.kind == EntryKind::User);
    let told = RecordInfo::from_drafts(drafts);
    let role = match text_at(record, &["info", "role"]).as_deref() {
        Some("user") if asks => RecordRole::Prompt,
        Some(_) => RecordRole::Message,
        None => told.role,
    };
    RecordInfo { time: time_of(record), id: id(record), role, ..told }
}

/// The time of a record.
fn time_of(record: &JsonTree) -> Option<Timestamp> {
    let paths: [&[&str]; 3] =
        [&["info", "time", "created"], &["data", "time", "created"], &["time_created"]];
    paths.iter().find_map(|path| any_time_at(record, path))
}

pub(super) fn add_usage(usage: &mut SessionUsage, record: &JsonTree) {
    let about = if is_row(record) { "data" } else { "info" };
    let Some(tokens) = record.value_at(&[about, "tokens"]).filter(is_object) else { return };
    let model = text_at(record, &["info", "modelID"]);
    let model = model.or_else(|| text_at(record, &["data", "model", "id"]));
    let model = model.unwrap_or_else(|| "unknown".to_owned());
    let reasoning = count_at(&tokens, &["reasoning"]);
    let spent = TokenUsage {
        answers: 1,
        input: count_at(&tokens, &["input"]),
        output: count_at(&tokens, &["output"]) + reasoning,
        cache_read: count_at(&tokens, &["cache", "read"]),
        cache_write: count_at(&tokens, &["cache", "write"]),
        reasoning,
        cost: price_at(record, &[about, "cost"]),
    };
    let time = time_of(record);
    match id(record) {
        Some(id) => usage.add_usage_once(TextHash::of(&id).number(), &model, &spent, time),
        None => usage.add_usage(&model, &spent, time),
    }
}

/// Whether a record is a row of the newer table of messages.
fn is_row(record: &JsonTree) -> bool {
    record.value_at(&["session_id"]).is_some() && record.value_at(&["data"]).is_some()
}

/// The entries of a row of the newer table of messages.
fn row_drafts(record: &JsonTree) -> Vec<EntryDraft> {
    let data = record.value_at(&["data"]).unwrap_or_else(JsonTree::null);
    let text = |key: &str| text_at(&data, &[key]).unwrap_or_default();
    let kind = text_at(record, &["type"]).unwrap_or_default();
    match kind.as_str() {
        "user" => vec![EntryDraft::new(EntryKind::User, "user", text("text"))],
        "synthetic" | "system" => vec![EntryDraft::new(EntryKind::System, "system", text("text"))],
        "shell" => {
            let id = text_at(&data, &["callID"]);
            vec![
                EntryDraft::called("user", "shell", &text("command"), id.clone()),
                EntryDraft::answered("shell", text("output"), id),
            ]
        }
        "compaction" => {
            let summary = text("summary");
            let more = if summary.is_empty() { summary } else { format!(": {summary}") };
            vec![EntryDraft::new(EntryKind::Event, "system", format!("context compacted{more}"))]
        }
        "assistant" => {
            let content = data.value_at(&["content"]).map(|list| list.children());
            let mut drafts: Vec<EntryDraft> = content
                .unwrap_or_default()
                .iter()
                .flat_map(|(_, block)| row_block(block))
                .collect();
            if let Some(error) = text_at(&data, &["error", "message"]) {
                let text = format!("error: {error}");
                drafts.push(EntryDraft::new(EntryKind::Event, "system", text));
            }
            if drafts.is_empty() {
                drafts.push(EntryDraft::bookkeeping("assistant", "a message without content"));
            }
            drafts
        }
        other => vec![EntryDraft::bookkeeping(other, "")],
    }
}

/// The entries of one block of an answer in the newer table.
fn row_block(block: &JsonTree) -> Vec<EntryDraft> {
    let text = || text_at(block, &["text"]).unwrap_or_default();
    match text_at(block, &["type"]).as_deref() {
        Some("reasoning") => {
            vec![EntryDraft::new(EntryKind::thinking(), "assistant", text()).by(block)]
        }
        Some("tool") => {
            let name = text_at(block, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let id = text_at(block, &["id"]);
            let input = block.text_at(&["state", "input"]).unwrap_or_default();
            let mut drafts =
                vec![EntryDraft::called("assistant", &name, &input, id.clone()).by(block)];
            let answer = match text_at(block, &["state", "status"]).as_deref() {
                Some("completed") => block.value_at(&["state", "content"]),
                Some("error") => block.value_at(&["state", "error", "message"]),
                _ => None,
            };
            if let Some(answer) = answer {
                drafts.push(EntryDraft::answered(&name, content_text(&answer), id).by(block));
            }
            drafts
        }
        _ => vec![EntryDraft::new(EntryKind::Assistant, "assistant", block_text(block)).by(block)],
    }
}

/// The id of a record.
pub(super) fn id(record: &JsonTree) -> Option<String> {
    text_at(record, &["info", "id"]).or_else(|| text_at(record, &["id"]))
}

/// The entries that a record makes.
pub(super) fn drafts(record: &JsonTree) -> Vec<EntryDraft> {
    if is_row(record) {
        return row_drafts(record);
    }
    if record.kind() == Shape::Array {
        return vec![EntryDraft::bookkeeping("session_diff", "")];
    }
    if record.value_at(&["messages"]).is_some() || record.value_at(&["projectID"]).is_some() {
        return vec![EntryDraft::bookkeeping("session", "")];
    }
    let Some(info) = record.value_at(&["info"]) else { return part("assistant", record) };
    let role = text_at(&info, &["role"]).unwrap_or_default();
    let parts = record.value_at(&["parts"]).map(|parts| parts.children()).unwrap_or_default();
    let mut drafts: Vec<EntryDraft> =
        parts.iter().flat_map(|(_, found)| part(&role, found)).collect();
    if let Some(error) = info.value_at(&["error"]).filter(|error| !error.is_null()) {
        let text = text_at(&error, &["data", "message"]).or_else(|| text_at(&error, &["name"]));
        let text = format!("error: {}", text.unwrap_or_default());
        drafts.push(EntryDraft::new(EntryKind::Event, "system", text).by(&error));
    }
    if drafts.is_empty() {
        drafts.push(EntryDraft::bookkeeping(&role, "a message without parts"));
    }
    drafts
}
