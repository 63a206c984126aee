//! Renders a selection as a prompt.

use serde_json::{Value, json};

use super::item::{ChatRole, ContextItem, ItemKind};
use super::select::{ContextSelection, IncludedItem};

/// The selection as one text, with an empty line between items.
#[must_use]
pub fn prompt_text(selection: &ContextSelection) -> String {
    let lines: Vec<String> =
        selection.included.iter().map(|included| included.item.prompt_line()).collect();
    lines.join("\n\n")
}

/// The selection as the messages of a chat completion. Adjacent background items become one message.
#[must_use]
pub fn chat_json(selection: &ContextSelection) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut background = String::new();
    for IncludedItem { item, .. } in &selection.included {
        if item.kind != ItemKind::Message {
            background.push_str(if background.is_empty() { "" } else { "\n\n" });
            background.push_str(&item.prompt_line());
            continue;
        }
        flush(&mut background, &mut messages);
        messages.push(message(item));
    }
    flush(&mut background, &mut messages);
    Value::Array(messages)
}

fn flush(background: &mut String, messages: &mut Vec<Value>) {
    if !background.is_empty() {
        let content = std::mem::take(background);
        messages.push(json!({"role": ChatRole::System.as_str(), "content": content}));
    }
}

fn message(item: &ContextItem) -> Value {
    json!({"role": item.role.as_str(), "content": item.prompt_line()})
}
