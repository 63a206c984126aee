//! Texts that contain a secret.

use serde_json::json;

/// Inserts a text into another.
type Way = fn(&str) -> String;

/// All contexts with their names.
pub(crate) const WAYS: &[(&str, Way)] = &[
    ("prose", |it| format!("I think the key is {it} and it should work now.")),
    ("end of a sentence", |it| format!("Please use this one: {it}.\nThanks!")),
    ("JSON", |it| json!({"type": "text", "text": it, "n": 1}).to_string()),
    ("JSON in JSON", |it| {
        let inner = json!({"stdout": format!("found {it}\n"), "code": 0}).to_string();
        json!({"role": "tool", "content": inner}).to_string()
    }),
    ("shell", |it| format!("$ deploy --with \"{it}\" --yes && echo done\n")),
    ("log line", |it| format!("2026-03-01T12:00:00Z WARN auth: rejected {it} (401)\n")),
    ("code", |it| format!("    let client = Client::new(\"{it}\")?;\n")),
    ("Markdown", |it| format!("- set it to `{it}`\n- **then** restart\n")),
    ("tool output", |it| json!({"output": format!("a\tb\n{it}\nc\r\n"), "exit": 0}).to_string()),
    ("table", |it| format!("| name | value |\n|---|---|\n| it | {it} |\n")),
];
