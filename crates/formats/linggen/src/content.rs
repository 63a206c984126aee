//! The content of a message: text, and tool calls, plans and results embedded as JSON.

use std::ops::Range;

use everturn_json::json;
use everturn_session::model::EntryKind;
use everturn_value::tree::{JsonTree, ValueKind as TreeKind};

/// The maximum number of JSON objects parsed in one message; the rest is shown as it is.
const MOST_PARTS: usize = 256;

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePart {
    pub kind: EntryKind,
    pub(crate) text: String,
}

/// Splits the content of an agent's message. `plain` is the kind of plain text.
pub fn parts(content: &str, plain: &EntryKind) -> Vec<MessagePart> {
    let mut parts: Vec<MessagePart> = Vec::new();
    let mut words = 0;
    for span in objects(content) {
        let Some(part) = content.get(span.clone()).and_then(parse_object) else { continue };
        push_text(&mut parts, content.get(words..span.start), plain);
        parts.push(part);
        words = span.end;
    }
    push_text(&mut parts, content.get(words..), plain);
    if parts.is_empty() {
        parts.push(MessagePart { kind: plain.clone(), text: content.to_owned() });
    }
    parts
}

fn push_text(parts: &mut Vec<MessagePart>, words: Option<&str>, plain: &EntryKind) {
    let text = words.unwrap_or_default();
    // A message of text only keeps all its white space.
    let shown = if parts.is_empty() { text.trim_end() } else { text.trim() };
    if !shown.trim().is_empty() {
        parts.push(MessagePart { kind: plain.clone(), text: shown.to_owned() });
    }
}

/// The positions of JSON objects in a text.
fn objects(content: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // An object without an end would be scanned again from each of its braces.
    let mut budget = 4 * content.len() + 4096;
    let mut at = 0;
    while found.len() < MOST_PARTS && budget > 0 {
        let Some(start) = content.get(at..).and_then(|rest| rest.find('{')) else { break };
        let start = at + start;
        match json::value_end(content.as_bytes(), start) {
            Ok(end) => {
                found.push(start..end);
                at = end;
            }
            Err(bad) => {
                let looked = usize::try_from(bad.at).unwrap_or(usize::MAX).saturating_sub(start);
                budget = budget.saturating_sub(looked + 1);
                at = start + 1;
            }
        }
    }
    found
}

/// The part that an object of a known shape makes.
fn parse_object(text: &str) -> Option<MessagePart> {
    let tree = JsonTree::parse(text).ok()?;
    let kind = tree.string_at(&["type"]).unwrap_or_default();
    if let Some(tool) = tree.string_at(&["tool"]).or_else(|| named_call(&tree)) {
        let args = ["args", "tool_args", "arguments", "input"];
        let args = args.iter().find_map(|key| tree.value_at(&[key])).map(|args| args.to_line());
        let text = format!("{tool} {}", args.unwrap_or_else(|| "{}".to_owned()));
        return Some(MessagePart { kind: EntryKind::ToolCall, text });
    }
    match kind.as_str() {
        "plan" => Some(MessagePart { kind: EntryKind::Event, text: plan(&tree) }),
        "finalize_task" => {
            let title = tree.string_at(&["packet", "title"]).unwrap_or_default();
            let lists = ["user_stories", "acceptance_criteria"];
            let mut text = format!("Task: {title}");
            for (_, item) in lists
                .iter()
                .filter_map(|list| tree.value_at(&["packet", list]))
                .flat_map(|list| list.children())
            {
                text.push_str(&format!("\n- {}", words(&item)));
            }
            Some(MessagePart { kind: EntryKind::Event, text })
        }
        "done" => {
            let text = tree.string_at(&["message"]).unwrap_or_else(|| "Done.".to_owned());
            Some(MessagePart { kind: EntryKind::Assistant, text })
        }
        "patch" => {
            let diff = tree.string_at(&["diff"])?;
            Some(MessagePart { kind: EntryKind::ToolCall, text: format!("patch\n{diff}") })
        }
        _ => None,
    }
}

/// A call that names its tool as other models do.
fn named_call(tree: &JsonTree) -> Option<String> {
    let called = ["args", "arguments", "input"]
        .iter()
        .any(|key| tree.value_at(&[key]).is_some_and(|args| args.kind() == TreeKind::Object));
    tree.string_at(&["name"]).filter(|_| called)
}

fn words(tree: &JsonTree) -> String {
    tree.string_at::<&str>(&[])
        .or_else(|| tree.string_at(&["title"]))
        .unwrap_or_else(|| tree.to_line())
}

/// A plan in the form of its file.
fn plan(tree: &JsonTree) -> String {
    let plan = tree.value_at(&["plan"]).unwrap_or_else(|| tree.clone());
    let mut text = format!("Plan: {}", plan.string_at(&["summary"]).unwrap_or_default());
    for (_, item) in plan.value_at(&["items"]).map(|items| items.children()).unwrap_or_default() {
        let mark = match item.string_at(&["status"]).unwrap_or_default().as_str() {
            "done" | "completed" => "x",
            "in_progress" | "inprogress" => "~",
            "skipped" => "-",
            _ => " ",
        };
        text.push_str(&format!("\n- [{mark}] {}", words(&item)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expect: &[(EntryKind, &str)]) {
        let found = parts(content, &EntryKind::Assistant);
        let found: Vec<(EntryKind, &str)> =
            found.iter().map(|part| (part.kind.clone(), part.text.as_str())).collect();
        assert_eq!(found, expect, "{content:?}");
    }

    #[test]
    fn words_calls_plans_and_results_are_told_apart() {
        check("Hello {world}", &[(EntryKind::Assistant, "Hello {world}")]);
        check("", &[(EntryKind::Assistant, "")]);
        check("  let x = {};", &[(EntryKind::Assistant, "  let x = {};")]);
        check(
            r#"{"type":"tool","tool":"Read","args":{"path":"a.rs"}}"#,
            &[(EntryKind::ToolCall, r#"Read {"path":"a.rs"}"#)],
        );
        check(
            "I look.\n{\"tool\":\"Grep\",\"args\":{\"q\":\"{\"}}\nand then\n{\"type\":\"done\",\"message\":\"Bye\"}\n",
            &[
                (EntryKind::Assistant, "I look."),
                (EntryKind::ToolCall, r#"Grep {"q":"{"}"#),
                (EntryKind::Assistant, "and then"),
                (EntryKind::Assistant, "Bye"),
            ],
        );
        check(
            r#"{"type":"finalize_task","packet":{"title":"T","user_stories":["a"],"acceptance_criteria":["b"]}}"#,
            &[(EntryKind::Event, "Task: T\n- a\n- b")],
        );
        check(
            r#"{"type":"plan","plan":{"summary":"S","items":[{"title":"one","status":"done"},{"title":"two"}]}}"#,
            &[(EntryKind::Event, "Plan: S\n- [x] one\n- [ ] two")],
        );
        check(
            r#"{"name":"bash","input":{"cmd":"ls"}}"#,
            &[(EntryKind::ToolCall, r#"bash {"cmd":"ls"}"#)],
        );
        check(r#"{"type":"patch","diff":"-a"}"#, &[(EntryKind::ToolCall, "patch\n-a")]);
        check(r#"{"any":"thing"}"#, &[(EntryKind::Assistant, r#"{"any":"thing"}"#)]);
        check("{\"type\":\"tool\"", &[(EntryKind::Assistant, "{\"type\":\"tool\"")]);
    }

    #[test]
    fn braces_without_end_cost_no_more_than_they_should() {
        let many = "{".repeat(200_000);
        assert_eq!(parts(&many, &EntryKind::Assistant).len(), 1);
        let nested = "{\"a\":".repeat(100_000);
        assert_eq!(parts(&nested, &EntryKind::Assistant).len(), 1);
        check(
            "if x { y }\n{\"tool\":\"Read\"}",
            &[(EntryKind::Assistant, "if x { y }"), (EntryKind::ToolCall, "Read {}")],
        );
    }
}
