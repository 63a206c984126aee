//! Items and events of Codex, as entries.

use everturn_session::model::EntryKind;
use everturn_value::outline::text_at;
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use crate::blocks::{block_text, content_text, count_at, time_at};
use crate::record::{EntryDraft, RecordInfo};
use crate::survey::is_object;

/// The starts of messages that the program writes in the user's name.
const NOT_ASKED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
];

/// The kinds of items in old rollouts, which have no envelope.
pub(super) const BARE: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "custom_tool_call_output",
    "web_search_call",
    "ghost_snapshot",
];

/// The kind of a line, and its content.
pub(super) fn unpacked(record: &JsonTree) -> (String, JsonTree) {
    let kind = text_at(record, &["type"]);
    match (record.value_at(&["payload"]), kind) {
        (Some(payload), Some(kind)) => (kind, payload.into_expanded()),
        (None, Some(kind)) if BARE.contains(&kind.as_str()) => {
            ("response_item".to_owned(), record.clone())
        }
        (_, Some(kind)) => (kind, record.clone()),
        (None, None) if record.value_at(&["record_type"]).is_some() => {
            ("state".to_owned(), record.clone())
        }
        (_, None) => ("session_meta".to_owned(), record.clone()),
    }
}

/// Whether a message in the user's name was written by the user.
pub fn is_asked(text: &str) -> bool {
    let text = text.trim_start();
    !NOT_ASKED.iter().any(|start| text.starts_with(start))
}

/// The arguments of a call, which are either JSON text or JSON itself.
fn arguments(item: &JsonTree, key: &str) -> String {
    text_at(item, &[key]).or_else(|| item.text_at(&[key])).unwrap_or_default()
}

/// The texts of a list of blocks.
fn texts(item: &JsonTree, key: &str) -> Vec<String> {
    let blocks = item.value_at(&[key]).map(|list| list.children()).unwrap_or_default();
    blocks.iter().map(|(_, block)| block_text(block)).filter(|text| !text.is_empty()).collect()
}

pub(super) fn reasoning_texts(item: &JsonTree) -> Vec<String> {
    [texts(item, "summary"), texts(item, "content")].concat()
}

/// The entry of an item for the model.
fn item(item: &JsonTree) -> EntryDraft {
    let kind = text_at(item, &["type"]).unwrap_or_else(|| "message".to_owned());
    let id = || text_at(item, &["call_id"]).or_else(|| text_at(item, &["id"]));
    let name = |usual: &str| text_at(item, &["name"]).unwrap_or_else(|| usual.to_owned());
    match kind.as_str() {
        "message" => {
            let text = item
                .value_at(&["content"])
                .map(|content| content_text(&content))
                .unwrap_or_default();
            match text_at(item, &["role"]).as_deref() {
                Some("user") if is_asked(&text) => EntryDraft::new(EntryKind::User, "user", text),
                Some("assistant") => EntryDraft::new(EntryKind::Assistant, "assistant", text),
                _ => EntryDraft::new(EntryKind::System, "system", text),
            }
        }
        "agent_message" => {
            let text = item.value_at(&["content"]).or_else(|| item.value_at(&["message"]));
            let text = text.map(|text| content_text(&text)).unwrap_or_default();
            EntryDraft::new(EntryKind::Assistant, "assistant", text)
        }
        "reasoning" => {
            let text = reasoning_texts(item).join("\n");
            match text.is_empty() {
                true => EntryDraft::bookkeeping("reasoning", "encrypted"),
                false => EntryDraft::new(EntryKind::thinking(), "assistant", text),
            }
        }
        "function_call" => {
            EntryDraft::called("assistant", &name("tool"), &arguments(item, "arguments"), id())
        }
        "custom_tool_call" => {
            EntryDraft::called("assistant", &name("tool"), &arguments(item, "input"), id())
        }
        "local_shell_call" => {
            let command = item.text_at(&["action", "command"]).unwrap_or_default();
            EntryDraft::called("assistant", "shell", &command, id())
        }
        "tool_search_call" => {
            EntryDraft::called("assistant", "tool_search", &arguments(item, "arguments"), id())
        }
        "web_search_call" | "image_generation_call" => {
            let action = item.text_at(&["action"]).unwrap_or_default();
            EntryDraft::called("assistant", kind.trim_end_matches("_call"), &action, None)
        }
        "function_call_output"
        | "custom_tool_call_output"
        | "tool_search_output"
        | "local_shell_call_output" => {
            let output = item.value_at(&["output"]).unwrap_or_else(JsonTree::null);
            let inner =
                output.value_at(&["content"]).filter(|_| is_object(&output)).unwrap_or(output);
            EntryDraft::answered("tool", content_text(&inner), id())
        }
        "compaction" | "compaction_summary" | "context_compaction" => {
            EntryDraft::new(EntryKind::Event, "system", "context compacted")
        }
        other => EntryDraft::bookkeeping(other, ""),
    }
}

/// The entry of an event for the display.
fn event(event: &JsonTree) -> EntryDraft {
    let kind = text_at(event, &["type"]).unwrap_or_default();
    let text = |key: &str| text_at(event, &[key]).unwrap_or_default();
    match kind.as_str() {
        "user_message" => EntryDraft::new(EntryKind::User, "user", text("message")),
        "agent_message" => EntryDraft::new(EntryKind::Assistant, "assistant", text("message")),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            EntryDraft::new(EntryKind::thinking(), "assistant", text("text"))
        }
        "turn_aborted" => {
            EntryDraft::new(EntryKind::Event, "system", format!("turn aborted: {}", text("reason")))
        }
        "thread_rolled_back" => {
            let turns = count_at(event, &["num_turns"]);
            EntryDraft::new(EntryKind::Event, "system", format!("{turns} turns were rolled back"))
        }
        "context_compacted" => EntryDraft::new(EntryKind::Event, "system", "context compacted"),
        "entered_review_mode" | "exited_review_mode" => {
            EntryDraft::new(EntryKind::Event, "system", kind.replace('_', " "))
        }
        "error" | "stream_error" | "warning" => {
            EntryDraft::new(EntryKind::Event, "system", format!("{kind}: {}", text("message")))
        }
        "item_completed" => completed(event),
        other => EntryDraft::bookkeeping(other, ""),
    }
}

/// The entry of a finished item in newer rollouts.
fn completed(event: &JsonTree) -> EntryDraft {
    let item = event.value_at(&["item"]).unwrap_or_else(JsonTree::null);
    let kind = text_at(&item, &["type"]).unwrap_or_default();
    let content = ["text", "content", "summary_text", "message"];
    let text =
        content.iter().find_map(|key| item.value_at(&[key])).map(|found| content_text(&found));
    let text = text.unwrap_or_default();
    match kind.to_ascii_lowercase().replace('_', "").as_str() {
        "usermessage" => EntryDraft::new(EntryKind::User, "user", text),
        "agentmessage" | "assistantmessage" => {
            EntryDraft::new(EntryKind::Assistant, "assistant", text)
        }
        "reasoning" => EntryDraft::new(EntryKind::thinking(), "assistant", text),
        _ => EntryDraft::bookkeeping("item_completed", kind),
    }
}

fn draft(kind: &str, payload: &JsonTree) -> EntryDraft {
    match kind {
        "response_item" => item(payload),
        "event_msg" => event(payload),
        "compacted" => {
            let text = text_at(payload, &["message"]).filter(|text| !text.is_empty());
            let text = text.map_or_else(String::new, |text| format!(": {text}"));
            EntryDraft::new(EntryKind::Event, "system", format!("context compacted{text}"))
        }
        "session_meta" => {
            EntryDraft::bookkeeping("session", text_at(payload, &["cwd"]).unwrap_or_default())
        }
        other => EntryDraft::bookkeeping(other, ""),
    }
}

fn time(record: &JsonTree) -> Option<jiff::Timestamp> {
    time_at(record, &["timestamp"]).or_else(|| time_at(record, &["payload", "timestamp"]))
}

pub(super) fn record_info(record: &JsonTree) -> RecordInfo {
    RecordInfo { time: time(record), ..RecordInfo::from_drafts(drafts(record)) }
}

/// The entries that a record makes.
pub(super) fn drafts(record: &JsonTree) -> Vec<EntryDraft> {
    let (kind, payload) = unpacked(record);
    if payload.kind() != Shape::Object {
        return vec![EntryDraft::bookkeeping(&kind, "")];
    }
    vec![draft(&kind, &payload)]
}
