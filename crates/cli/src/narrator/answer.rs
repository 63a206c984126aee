//! Parses the output of a model: finds the JSON object in it.

use everturn::campaign::{NarratorError, NarratorOutput};
use everturn::tree::{JsonTree, ValueKind};
use serde_json::{Value, json};

use super::reasoning::without_reasoning;

/// How many opening brackets are tried. A text with more is not an answer.
const MOST_TRIES: usize = 64;

/// Returns the answer in a text: the first object of the right form, or, if the text contains nothing like an object,
/// the text itself. Reasoning is no part of it.
pub(super) fn output(content: &str) -> Result<NarratorOutput, NarratorError> {
    let content = &without_reasoning(content);
    if let Some(object) = objects(content).find(has_shape) {
        let mut output = NarratorOutput::from_tree(&object)?;
        output.tool_calls = (1..)
            .zip(&output.tool_calls)
            .map(|(number, call)| normalize_call(call, number))
            .collect();
        return Ok(output);
    }
    let text = content.trim();
    if text.is_empty() {
        return Err(NarratorError::passing("the model returned an empty answer"));
    }
    if text.contains(['{', '[']) || text.starts_with("```") {
        return Err(NarratorError::passing("the model returned invalid JSON"));
    }
    Ok(NarratorOutput::text(text))
}

/// Returns whether a value is an answer: an object with a text, or at least with calls.
fn has_shape(tree: &JsonTree) -> bool {
    let is = |key: &str, kind: ValueKind| {
        tree.value_at(&[key]).is_some_and(|value| value.kind() == kind)
    };
    is("assistant_text", ValueKind::String)
        || is("tool_calls", ValueKind::Array) && is("dialog_type", ValueKind::String)
}

/// Returns the objects in a text, from the first opening bracket on, including nested ones.
fn objects(text: &str) -> impl Iterator<Item = JsonTree> {
    let starts = text.match_indices('{').map(|(at, _)| at).take(MOST_TRIES);
    starts.filter_map(|start| {
        let rest = text.get(start..)?;
        let end = end_of_object(rest)?;
        JsonTree::parse(rest.get(..end)?).ok()
    })
}

/// Returns the end of the object at the start of a text, taking strings into account.
fn end_of_object(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Adds the tool calls that a model has made in the form of the endpoint.
pub(super) fn add_calls(output: &mut NarratorOutput, calls: &[Value]) {
    let number = output.tool_calls.len() + 1;
    let calls = calls.iter().filter_map(|call| JsonTree::from_value(call).ok());
    output
        .tool_calls
        .extend((number..).zip(calls).map(|(number, call)| normalize_call(&call, number)));
}

/// Normalizes a tool call for the engine. Models write calls in several forms.
fn normalize_call(call: &JsonTree, number: usize) -> JsonTree {
    let Ok(Value::Object(fields)) = call.to_value() else { return call.clone() };
    let function = fields.get("function").and_then(Value::as_object);
    let find = |names: &[&str]| {
        let inner = || names.iter().find_map(|name| function?.get(*name));
        names.iter().find_map(|name| fields.get(*name)).or_else(inner).cloned()
    };
    let tool = find(&["tool", "name"]).filter(Value::is_string);
    let tool = tool.or_else(|| fields.get("function").filter(|name| name.is_string()).cloned());
    let args = match find(&["args", "arguments", "parameters"]) {
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(args) => args,
        None => json!({}),
    };
    let id = fields.get("id").filter(|id| id.is_string()).cloned();
    let id = id.unwrap_or_else(|| format!("call_{number:03}").into());
    let reason = fields.get("reason").filter(|reason| reason.is_string());
    let Some(tool) = tool else { return call.clone() };
    let tidied = json!({"id": id, "tool": tool, "args": args, "reason": reason});
    JsonTree::from_value(&tidied).unwrap_or_else(|_| call.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: Result<&str, &str>) {
        let found = output(content);
        let found = found.as_ref().map(|output| output.text.as_str());
        let found = found.map_err(|error| error.reason.as_str());
        assert_eq!(found, expect, "{content}");
    }

    #[test]
    fn the_object_is_found_wherever_it_stands() {
        let text = Ok("You rest.");
        check(r#"{"assistant_text": "You rest."}"#, text);
        check("```json\n{\"assistant_text\": \"You rest.\"}\n```", text);
        check("Sure! Here you go:\n{\"assistant_text\": \"You rest.\"} Anything else?", text);
        check(r#"<think>{maybe} {"a": 1}</think>{"assistant_text": "You rest."}"#, text);
        check(r#"<think>{"assistant_text": "draft"}</think>{"assistant_text": "You rest."}"#, text);
        check("<think>What now?</think>\nYou rest.", text);
        check(r#"{"response": {"assistant_text": "You rest."}}"#, text);
        check(r#"{ broken {"assistant_text": "You rest."}"#, text);
        check(r#"{"assistant_text": "a } in { a \" string"}"#, Ok("a } in { a \" string"));
        check(r#"{"dialog_type": "action_prompt", "tool_calls": []}"#, Ok(""));
    }

    #[test]
    fn what_is_no_answer_is_said_to_be_none() {
        check("You rest, and the fire burns down.", Ok("You rest, and the fire burns down."));
        let broken = Err("the model returned invalid JSON");
        check(r#"{"assistant_text": "cut o"#, broken);
        check(r#"{"text": "the wrong key"}"#, broken);
        check("```\n```", broken);
        check("[1, 2]", broken);
        check(&"{".repeat(100_000), broken);
        check(" \n", Err("the model returned an empty answer"));
        check("<think>What n", Err("the model returned an empty answer"));
    }

    #[test]
    fn calls_are_understood_in_several_spellings() {
        let expect = r#"{"id":"call_001","tool":"move","args":{"to_area_id":"b"},"reason":null}"#;
        for call in [
            r#"{"tool": "move", "args": {"to_area_id": "b"}}"#,
            r#"{"name": "move", "arguments": {"to_area_id": "b"}, "id": 5}"#,
            r#"{"type": "function", "function": {"name": "move", "arguments": "{\"to_area_id\": \"b\"}"}}"#,
            r#"{"id": "call_001", "function": "move", "parameters": {"to_area_id": "b"}, "reason": null}"#,
        ] {
            let content = format!(r#"{{"assistant_text": "x", "tool_calls": [{call}]}}"#);
            assert_eq!(output(&content).unwrap().tool_calls[0].to_line(), expect, "{call}");
        }
        let odd = output(r#"{"assistant_text": "x", "tool_calls": ["move", {"a": 1}]}"#).unwrap();
        assert_eq!(odd.tool_calls[1].to_line(), r#"{"a":1}"#);
    }
}
