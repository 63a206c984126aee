//! Edits in the text of a document or an element that leave all other bytes alone.

use serde_json::value::RawValue;

use everturn_value::delta::{Delta, DeltaOp};
use everturn_value::document::{Document, EditError, JsonStyle, PathSegment};
use everturn_value::tree::JsonTree;

/// Applies a delta to a document. Its inverse is not recorded.
pub(crate) fn apply(document: &mut Document, delta: &Delta) -> Result<(), EditError> {
    let mut path: Vec<PathSegment<'_>> = Vec::new();
    for segment in delta.path.segments() {
        let in_array = document.get(&path).is_some_and(|text| text.starts_with('['));
        path.push(match segment.parse() {
            Ok(index) if in_array => PathSegment::Index(index),
            _ => PathSegment::Key(segment),
        });
    }
    match (delta.op, &delta.value) {
        (DeltaOp::Delete, _) => document.remove(&path).map(drop),
        (DeltaOp::Push, Some(value)) => with_value(value, |value| match value {
            WritableValue::Value(value) => document.push(&path, value),
            WritableValue::Raw(raw) => document.push(&path, raw),
        }),
        (_, Some(value)) => with_value(value, |value| match value {
            WritableValue::Value(value) => document.set(&path, value),
            WritableValue::Raw(raw) => document.set(&path, raw),
        }),
        (_, None) => Ok(()),
    }
}

enum WritableValue<'v> {
    Value(&'v serde_json::Value),
    Raw(&'v RawValue),
}

/// Values that serde_json cannot represent, such as lone surrogates, are written as their text.
fn with_value(
    tree: &JsonTree,
    write: impl FnOnce(WritableValue<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let text = tree.to_line();
    let is_text =
        |value: &serde_json::Value| serde_json::to_string(value).is_ok_and(|same| same == text);
    match tree.to_value() {
        Ok(value) if is_text(&value) => write(WritableValue::Value(&value)),
        other => match (RawValue::from_string(text), other) {
            (Ok(raw), _) => write(WritableValue::Raw(&raw)),
            (Err(_), Ok(value)) => write(WritableValue::Value(&value)),
            (Err(source), Err(_)) => Err(EditError::Write { path: String::new(), source }),
        },
    }
}

/// Applies edits to an element. `indent` is the indentation of its line.
pub(crate) fn edited(text: &str, indent: &str, edits: &[Delta]) -> Result<String, String> {
    let inner = text.split('\n').skip(1).all(|line| line.starts_with(indent));
    let shift = inner && !indent.is_empty();
    let flat = if shift { text.replace(&format!("\n{indent}"), "\n") } else { text.to_owned() };
    let mut document = Document::parse(flat.as_bytes()).map_err(|error| error.to_string())?;
    for edit in edits {
        apply(&mut document, edit).map_err(|error| error.to_string())?;
    }
    let text = document.text();
    Ok(if shift { text.replace('\n', &format!("\n{indent}")) } else { text.to_owned() })
}

/// A new element in the style of a document, with each further line indented by `indent`.
pub(crate) fn laid_out(tree: &JsonTree, style: &JsonStyle, indent: &str) -> String {
    let style = JsonStyle { bom: false, final_newline: false, ..*style };
    let text = tree.to_text(&style);
    if indent.is_empty() { text } else { text.replace('\n', &format!("\n{indent}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_value::delta::DeltaPath;

    #[test]
    fn an_element_keeps_its_indents() {
        let text = "{\n      \"id\": \"a\",\n      \"content\": {\n        \"text\": \"x\"\n      }\n    }";
        let value = JsonTree::parse(r#"{"n":[1]}"#).unwrap();
        let edits = [
            Delta::set(DeltaPath::array(["content", "text"]), JsonTree::parse("\"y\"").unwrap()),
            Delta::set(DeltaPath::array(["more"]), value),
        ];
        let after = edited(text, "    ", &edits).unwrap();
        let expect = "{\n      \"id\": \"a\",\n      \"content\": {\n        \"text\": \"y\"\n      },\n      \
            \"more\": {\n        \"n\": [\n          1\n        ]\n      }\n    }";
        assert_eq!(after, expect);
    }

    #[test]
    fn half_characters_and_long_numbers_are_written_as_they_are() {
        let edit = |value: &str| {
            let edits = [Delta::set(DeltaPath::array(["a"]), JsonTree::parse(value).unwrap())];
            edited("{\"a\":1}", "", &edits).unwrap()
        };
        assert_eq!(edit(r#""\ud800""#), r#"{"a":"\ud800"}"#);
        assert_eq!(edit("1.50"), r#"{"a":1.50}"#);
        assert_eq!(
            edit("123456789012345678901234567890"),
            r#"{"a":123456789012345678901234567890}"#
        );
    }
}
