//! JSON values as readable text: [`ValueOutline`] converts a value to labelled lines.

use crate::tree::{JsonTree, ValueKind};
use everturn_json::json;

/// The maximum depth of an outline; deeper values are omitted.
const MAX_DEPTH: usize = 32;

/// Members that contain pictures, which are of no use in a prompt.
const PICTURES: &[&str] =
    &["avatar", "image", "portrait", "full_body", "expressions", "visualization", "assets"];

/// The text of a string; a lone surrogate becomes replacement characters.
pub fn text_of(tree: &JsonTree) -> Option<String> {
    if tree.kind() != ValueKind::String {
        return None;
    }
    let whole = tree.string_at::<&str>(&[]);
    Some(whole.unwrap_or_else(|| {
        String::from_utf8_lossy(&json::unescape(tree.to_line().as_bytes())).into_owned()
    }))
}

/// The text of the string at `path`, if there is one.
pub fn text_at(tree: &JsonTree, path: &[&str]) -> Option<String> {
    text_of(&tree.value_at(path)?)
}

/// The strings of the array at `path`.
pub fn texts_at(tree: &JsonTree, path: &[&str]) -> Vec<String> {
    let children = tree.value_at(path).map(|tree| tree.children()).unwrap_or_default();
    children.iter().filter_map(|(_, tree)| text_of(tree)).collect()
}

/// The boolean at `path`; numbers count as in JavaScript, because some programs write them.
pub fn flag_at(tree: &JsonTree, path: &[&str]) -> Option<bool> {
    match tree.text_at(path)?.as_str() {
        "true" => Some(true),
        "false" => Some(false),
        number => number.parse::<f64>().ok().map(|number| number != 0.0),
    }
}

/// The integer at `path`, as a number or as a string of digits.
pub fn number_at(tree: &JsonTree, path: &[&str]) -> Option<i64> {
    let value = tree.value_at(path)?;
    let text = text_of(&value).unwrap_or_else(|| value.to_line());
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        let whole = number.fract() == 0.0 && number.abs() < 9e15;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number is an integer and in range"
        )]
        whole.then_some(number as i64)
    })
}

/// A key as a label: `speech_patterns` becomes `Speech patterns`.
pub fn format_label(key: &str) -> String {
    let words = key.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A named value, which is shown separately from its container.
pub struct NamedText {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The parts of an outline.
#[derive(Default)]
pub struct ValueOutline {
    /// Lines that belong to no named object.
    pub lines: Vec<String>,
    /// All named objects, at any depth, in document order.
    pub named: Vec<NamedText>,
}

/// A value that is still to be processed.
struct PendingValue {
    label: String,
    value: JsonTree,
    depth: usize,
    /// The named object that it belongs to.
    owner: Option<usize>,
}

impl ValueOutline {
    /// The outline of a value; `start` is its label, if it needs one.
    pub fn from_value(value: &JsonTree, start: &str) -> ValueOutline {
        let mut outline = ValueOutline::default();
        let first = PendingValue {
            label: format_label(start),
            value: value.clone(),
            depth: 0,
            owner: None,
        };
        let mut stack = vec![first];
        while let Some(next) = stack.pop() {
            outline.add_value(next, &mut stack);
        }
        outline
    }

    fn add_value(&mut self, waiting: PendingValue, stack: &mut Vec<PendingValue>) {
        let PendingValue { label: called, value, depth, mut owner } = waiting;
        match value.kind() {
            ValueKind::Null => {}
            ValueKind::Bool | ValueKind::Number => self.add(owner, &called, &value.to_line()),
            ValueKind::String => {
                let text = text_of(&value).unwrap_or_default();
                self.add(owner, &called, text.trim());
            }
            ValueKind::Array | ValueKind::Object if depth >= MAX_DEPTH => {}
            ValueKind::Array => {
                let children = value.children();
                let texts: Vec<String> =
                    children.iter().filter_map(|(_, it)| text_of(it)).collect();
                if texts.len() == children.len() {
                    return self.add(owner, &called, &texts.join(", "));
                }
                let below = children.into_iter().rev().map(|(_, value)| PendingValue {
                    label: called.clone(),
                    value,
                    depth: depth + 1,
                    owner,
                });
                stack.extend(below);
            }
            ValueKind::Object => {
                let name = text_at(&value, &["name"]).filter(|name| !name.trim().is_empty());
                if let Some(name) = name.as_deref().map(str::trim) {
                    owner = Some(self.named.len());
                    self.named.push(NamedText { name: name.to_owned(), text: name.to_owned() });
                }
                let told =
                    |key: &str| !(PICTURES.contains(&key) || name.is_some() && key == "name");
                let members = value.children().into_iter().filter(|(key, _)| told(key)).rev();
                stack.extend(members.map(|(key, value)| PendingValue {
                    label: format_label(&key),
                    value,
                    depth: depth + 1,
                    owner,
                }));
            }
        }
    }

    fn add(&mut self, owner: Option<usize>, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let line = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
        match owner.and_then(|owner| self.named.get_mut(owner)) {
            Some(named) => {
                named.text.push('\n');
                named.text.push_str(&line);
            }
            None => self.lines.push(line),
        }
    }

    /// Everything as one text.
    pub fn into_text(self) -> String {
        let named = self.named.into_iter().map(|named| named.text);
        self.lines.into_iter().chain(named).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        ValueOutline::from_value(&JsonTree::parse(text).unwrap(), "").into_text()
    }

    #[test]
    fn values_are_told_in_lines() {
        let check = |text: &str, expect: &str| assert_eq!(told(text), expect, "of {text}");
        check("null", "");
        check("\"hello\"", "hello");
        check(
            r#"{"speech_patterns": "loud", "age": 17, "alive": true}"#,
            "Speech patterns: loud\nAge: 17\nAlive: true",
        );
        check(r#"{"traits": ["kind", "rash"], "none": [], "empty": ""}"#, "Traits: kind, rash");
        check(
            r#"{"skills": [{"name": "Sword", "level": 2}, {"level": 3}]}"#,
            "Level: 3\nSword\nLevel: 2",
        );
        check(r#"{"avatar": "AAAA", "image": "AAAA", "a": "b"}"#, "A: b");
        check(r#"{"a": "\ud800x"}"#, "A: \u{fffd}\u{fffd}\u{fffd}x");
    }

    #[test]
    fn deep_values_are_kept_out_and_do_no_harm() {
        let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        assert_eq!(told(&format!("{{\"a\": {deep}, \"b\": \"c\"}}")), "B: c");
    }

    #[test]
    fn numbers_and_flags_are_read_however_they_are_written() {
        let tree =
            JsonTree::parse(r#"{"a": 3, "b": "4", "c": 5.0, "d": 5.5, "e": true, "f": 0, "g": 1}"#);
        let tree = tree.unwrap();
        for (key, expect) in
            [("a", Some(3)), ("b", Some(4)), ("c", Some(5)), ("d", None), ("e", None), ("z", None)]
        {
            assert_eq!(number_at(&tree, &[key]), expect, "{key}");
        }
        for (key, expect) in [("e", Some(true)), ("f", Some(false)), ("g", Some(true)), ("z", None)]
        {
            assert_eq!(flag_at(&tree, &[key]), expect, "{key}");
        }
    }
}
