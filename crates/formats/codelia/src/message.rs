//! Messages: validation, and the readable text in them.

use everturn_value::tree::{JsonTree, ValueKind};

/// The role of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageRole {
    User,
    System,
    Assistant,
    Tool,
    Reasoning,
    /// An unknown or missing role.
    Other(String),
}

pub(super) fn role(message: &JsonTree) -> MessageRole {
    match message.string_at(&["role"]).unwrap_or_default().as_str() {
        "user" => MessageRole::User,
        "system" => MessageRole::System,
        "assistant" => MessageRole::Assistant,
        "tool" => MessageRole::Tool,
        "reasoning" => MessageRole::Reasoning,
        other => MessageRole::Other(other.to_owned()),
    }
}

fn is_text(message: &JsonTree, key: &str) -> Result<(), String> {
    match message.value_at(&[key]).map(|value| value.kind()) {
        Some(ValueKind::String) => Ok(()),
        Some(kind) => Err(format!("{key} is {kind}, not a string")),
        None => Err(format!("{key} is missing")),
    }
}

/// The problem of a message to be written; unknown fields are not checked.
pub(super) fn problem(message: &JsonTree) -> Option<String> {
    check(message).err()
}

/// The defect of a stored message. A role of a newer program is none.
pub(super) fn defect(message: &JsonTree) -> Option<String> {
    match role(message) {
        MessageRole::Other(role) if !role.is_empty() => None,
        _ => problem(message),
    }
}

/// Whether an object among damaged bytes is a message rather than a part of one.
pub(super) fn is_message(tree: &JsonTree) -> bool {
    defect(tree).is_none() && (problem(tree).is_none() || tree.value_at(&["content"]).is_some())
}

fn check(message: &JsonTree) -> Result<(), String> {
    if message.kind() != ValueKind::Object {
        return Err(format!("a message must be an object, not {}", message.kind()));
    }
    let role = role(message);
    let content = message.value_at(&["content"]).map(|content| content.kind());
    match (&role, content) {
        (MessageRole::Other(role), _) if role.is_empty() => {
            return Err("role is missing".to_owned());
        }
        (MessageRole::Other(role), _) => return Err(format!("unknown role {role:?}")),
        (_, Some(ValueKind::String | ValueKind::Array)) => {}
        (MessageRole::Assistant | MessageRole::Reasoning, Some(ValueKind::Null)) => {}
        (MessageRole::Assistant, None) if message.value_at(&["tool_calls"]).is_some() => {}
        (_, None) => return Err("content is missing".to_owned()),
        (_, Some(kind)) => return Err(format!("content is {kind}")),
    }
    match role {
        MessageRole::Tool => {
            is_text(message, "tool_call_id").and_then(|()| is_text(message, "tool_name"))
        }
        MessageRole::Assistant => check_calls(message),
        _ => Ok(()),
    }
}

fn check_calls(message: &JsonTree) -> Result<(), String> {
    let Some(calls) = message.value_at(&["tool_calls"]) else { return Ok(()) };
    if calls.kind() != ValueKind::Array {
        return Err(format!("tool_calls is {}, not an array", calls.kind()));
    }
    for (at, call) in calls.children() {
        let function = call.value_at(&["function"]).unwrap_or_else(JsonTree::null);
        let checked = is_text(&call, "id")
            .and_then(|()| is_text(&function, "name"))
            .and_then(|()| is_text(&function, "arguments"));
        checked.map_err(|what| format!("tool_calls[{at}]: {what}"))?;
    }
    Ok(())
}

/// The readable text in the content of a message.
pub(super) fn text(message: &JsonTree) -> String {
    let Some(content) = message.value_at(&["content"]) else { return String::new() };
    match content.kind() {
        ValueKind::String => content.string_at::<&str>(&[]).unwrap_or_else(|| content.to_line()),
        ValueKind::Null => String::new(),
        ValueKind::Array => match content.children() {
            parts if parts.is_empty() => content.to_line(),
            parts => parts.iter().map(|(_, part)| part_text(part)).collect(),
        },
        _ => content.to_line(),
    }
}

fn part_text(part: &JsonTree) -> String {
    let field = |key: &str| part.string_at(&[key]).unwrap_or_default();
    match field("type").as_str() {
        "text" => field("text"),
        "image_url" => "[image]".to_owned(),
        "document" => "[document]".to_owned(),
        "other" => format!("[other:{}/{}]", field("provider"), field("kind")),
        _ => "[content]".to_owned(),
    }
}

/// A tool call in a message.
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) raw: JsonTree,
}

/// The tool calls of a message.
pub(super) fn calls(message: &JsonTree) -> Vec<ToolCall> {
    let Some(calls) = message.value_at(&["tool_calls"]) else { return Vec::new() };
    let call = |raw: JsonTree| ToolCall {
        id: raw.string_at(&["id"]).unwrap_or_default(),
        name: raw.string_at(&["function", "name"]).unwrap_or_default(),
        arguments: raw.string_at(&["function", "arguments"]).unwrap_or_default(),
        raw,
    };
    calls.children().into_iter().map(|(_, raw)| call(raw)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expect: Option<&str>) {
        assert_eq!(problem(&JsonTree::parse(message).unwrap()).as_deref(), expect, "{message}");
    }

    #[test]
    fn messages_have_the_fields_of_their_role() {
        check(r#"{"role":"user","content":"Hi"}"#, None);
        check(
            r#"{"role":"user","content":[{"type":"text","text":"Hi"}],"name":"Ann","x":1}"#,
            None,
        );
        check(r#"{"role":"system","content":"Be brief."}"#, None);
        check(r#"{"role":"assistant","content":null}"#, None);
        check(r#"{"role":"assistant","tool_calls":[]}"#, None);
        check(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
            None,
        );
        check(r#"{"role":"tool","tool_call_id":"c","tool_name":"ls","content":"a"}"#, None);
        check(r#"{"role":"reasoning","content":null,"raw_item":{}}"#, None);
        check("[]", Some("a message must be an object, not an array"));
        check(r#"{"content":"x"}"#, Some("role is missing"));
        check(r#"{"role":"oracle","content":"x"}"#, Some("unknown role \"oracle\""));
        check(r#"{"role":"user"}"#, Some("content is missing"));
        check(r#"{"role":"user","content":null}"#, Some("content is null"));
        check(r#"{"role":"user","content":{}}"#, Some("content is an object"));
        check(r#"{"role":"tool","content":"x"}"#, Some("tool_call_id is missing"));
        check(
            r#"{"role":"tool","content":"x","tool_call_id":"c","tool_name":3}"#,
            Some("tool_name is a number, not a string"),
        );
        check(
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"ls","arguments":{}}}]}"#,
            Some("tool_calls[0]: arguments is an object, not a string"),
        );
    }

    #[test]
    fn a_role_of_a_newer_program_is_no_defect() {
        let tree = |text: &str| JsonTree::parse(text).unwrap();
        let newer = tree(r#"{"role":"developer","content":"x"}"#);
        assert!(defect(&newer).is_none() && is_message(&newer));
        assert!(!is_message(&tree(r#"{"role":"developer"}"#)));
        assert!(defect(&tree(r#"{"content":"x"}"#)).is_some());
        assert!(defect(&tree(r#"{"role":"user","content":{}}"#)).is_some());
    }

    fn reads(content: &str, expect: &str) {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        assert_eq!(text(&JsonTree::parse(message).unwrap()), expect, "{content}");
    }

    #[test]
    fn parts_are_joined_as_the_program_does() {
        reads(r#""Hi\nthere""#, "Hi\nthere");
        reads("null", "");
        reads("[]", "[]");
        reads(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "ab");
        reads(
            r#"[{"type":"text","text":"see "},{"type":"image_url","image_url":{"url":"x"}},{"type":"document"}]"#,
            "see [image][document]",
        );
        reads(
            r#"[{"type":"other","provider":"p","kind":"k","payload":1},{"type":"new"}]"#,
            "[other:p/k][content]",
        );
    }
}
