//! What a message says: words, and tool calls, plans and results that stand in it as JSON.

use std::ops::Range;

use everturn_json::json;
use everturn_session::view::Kind;
use everturn_value::tree::{Kind as TreeKind, Tree};

/// How much JSON in one message is understood; the rest is shown as it is.
const MOST_PARTS: usize = 256;

/// One thing that a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: Kind,
    pub(crate) text: String,
}

/// Takes the content of an agent's message apart. `plain` is the kind of what is simply said.
pub fn parts(content: &str, plain: &Kind) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut words = 0;
    for span in objects(content) {
        let Some(part) = content.get(span.clone()).and_then(understood) else { continue };
        say(&mut parts, content.get(words..span.start), plain);
        parts.push(part);
        words = span.end;
    }
    say(&mut parts, content.get(words..), plain);
    if parts.is_empty() {
        parts.push(Part { kind: plain.clone(), text: content.to_owned() });
    }
    parts
}

fn say(parts: &mut Vec<Part>, words: Option<&str>, plain: &Kind) {
    let text = words.unwrap_or_default();
    // A message that is only words keeps all its white space.
    let shown = if parts.is_empty() { text.trim_end() } else { text.trim() };
    if !shown.trim().is_empty() {
        parts.push(Part { kind: plain.clone(), text: shown.to_owned() });
    }
}

/// Where JSON objects stand in a text.
fn objects(content: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // An object that does not end would be looked through again from each of its braces.
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

/// What an object of a known shape says.
fn understood(text: &str) -> Option<Part> {
    let tree = Tree::parse(text).ok()?;
    let kind = tree.string_at(&["type"]).unwrap_or_default();
    if let Some(tool) = tree.string_at(&["tool"]).or_else(|| named_call(&tree)) {
        let args = ["args", "tool_args", "arguments", "input"];
        let args = args.iter().find_map(|key| tree.at(&[key])).map(|args| args.to_line());
        let text = format!("{tool} {}", args.unwrap_or_else(|| "{}".to_owned()));
        return Some(Part { kind: Kind::ToolCall, text });
    }
    match kind.as_str() {
        "plan" => Some(Part { kind: Kind::Event, text: plan(&tree) }),
        "finalize_task" => {
            let title = tree.string_at(&["packet", "title"]).unwrap_or_default();
            let lists = ["user_stories", "acceptance_criteria"];
            let mut text = format!("Task: {title}");
            for (_, item) in lists
                .iter()
                .filter_map(|list| tree.at(&["packet", list]))
                .flat_map(|list| list.children())
            {
                text.push_str(&format!("\n- {}", words(&item)));
            }
            Some(Part { kind: Kind::Event, text })
        }
        "done" => {
            let text = tree.string_at(&["message"]).unwrap_or_else(|| "Done.".to_owned());
            Some(Part { kind: Kind::Assistant, text })
        }
        "patch" => {
            let diff = tree.string_at(&["diff"])?;
            Some(Part { kind: Kind::ToolCall, text: format!("patch\n{diff}") })
        }
        _ => None,
    }
}

/// A call that names its tool as other models do.
fn named_call(tree: &Tree) -> Option<String> {
    let called = ["args", "arguments", "input"]
        .iter()
        .any(|key| tree.at(&[key]).is_some_and(|args| args.kind() == TreeKind::Object));
    tree.string_at(&["name"]).filter(|_| called)
}

fn words(tree: &Tree) -> String {
    tree.string_at::<&str>(&[])
        .or_else(|| tree.string_at(&["title"]))
        .unwrap_or_else(|| tree.to_line())
}

/// A plan as its file would show it.
fn plan(tree: &Tree) -> String {
    let plan = tree.at(&["plan"]).unwrap_or_else(|| tree.clone());
    let mut text = format!("Plan: {}", plan.string_at(&["summary"]).unwrap_or_default());
    for (_, item) in plan.at(&["items"]).map(|items| items.children()).unwrap_or_default() {
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

    fn check(content: &str, expect: &[(Kind, &str)]) {
        let found = parts(content, &Kind::Assistant);
        let found: Vec<(Kind, &str)> =
            found.iter().map(|part| (part.kind.clone(), part.text.as_str())).collect();
        assert_eq!(found, expect, "{content:?}");
    }

    #[test]
    fn words_calls_plans_and_results_are_told_apart() {
        check("Hello {world}", &[(Kind::Assistant, "Hello {world}")]);
        check("", &[(Kind::Assistant, "")]);
        check("  let x = {};", &[(Kind::Assistant, "  let x = {};")]);
        check(
            r#"{"type":"tool","tool":"Read","args":{"path":"a.rs"}}"#,
            &[(Kind::ToolCall, r#"Read {"path":"a.rs"}"#)],
        );
        check(
            "I look.\n{\"tool\":\"Grep\",\"args\":{\"q\":\"{\"}}\nand then\n{\"type\":\"done\",\"message\":\"Bye\"}\n",
            &[
                (Kind::Assistant, "I look."),
                (Kind::ToolCall, r#"Grep {"q":"{"}"#),
                (Kind::Assistant, "and then"),
                (Kind::Assistant, "Bye"),
            ],
        );
        check(
            r#"{"type":"finalize_task","packet":{"title":"T","user_stories":["a"],"acceptance_criteria":["b"]}}"#,
            &[(Kind::Event, "Task: T\n- a\n- b")],
        );
        check(
            r#"{"type":"plan","plan":{"summary":"S","items":[{"title":"one","status":"done"},{"title":"two"}]}}"#,
            &[(Kind::Event, "Plan: S\n- [x] one\n- [ ] two")],
        );
        check(
            r#"{"name":"bash","input":{"cmd":"ls"}}"#,
            &[(Kind::ToolCall, r#"bash {"cmd":"ls"}"#)],
        );
        check(r#"{"type":"patch","diff":"-a"}"#, &[(Kind::ToolCall, "patch\n-a")]);
        check(r#"{"any":"thing"}"#, &[(Kind::Assistant, r#"{"any":"thing"}"#)]);
        check("{\"type\":\"tool\"", &[(Kind::Assistant, "{\"type\":\"tool\"")]);
    }

    #[test]
    fn braces_without_end_cost_no_more_than_they_should() {
        let many = "{".repeat(200_000);
        assert_eq!(parts(&many, &Kind::Assistant).len(), 1);
        let nested = "{\"a\":".repeat(100_000);
        assert_eq!(parts(&nested, &Kind::Assistant).len(), 1);
        check(
            "if x { y }\n{\"tool\":\"Read\"}",
            &[(Kind::Assistant, "if x { y }"), (Kind::ToolCall, "Read {}")],
        );
    }
}
