//! Reads what is left of a damaged JSON document: [`read_intact`].
//!
//! Everything before the first error is read by the grammar. After an error, documents with one value per line are read
//! on line by line: the indentation of a line tells to which object or array it belongs, so damage costs the lines that
//! it hits and nothing else. Of other documents only the part before the error is known.

mod builder;
mod lines;

use everturn_json::json;

use crate::tree::{JsonTree, ValueKind};
use builder::DocumentBuilder;

/// What is left of a damaged document.
#[derive(Debug, Clone)]
pub struct IntactParts {
    /// The values that could be read, at their paths.
    pub tree: JsonTree,
    /// The paths of the objects and arrays from which something is missing.
    pub gaps: Vec<Vec<String>>,
}

/// How many lines before an error are searched for its cause.
const LINES_BACK: usize = 3;

/// Reads what is left of a damaged document, which was an object. Returns `None` if nothing is left.
///
/// ```
/// use everturn_value::intact::read_intact;
///
/// let left = read_intact(b"{\n  \"a\": 1,\n  \"b\": \"lo#t\"x\",\n  \"c\": [\n    2,\n    3").unwrap();
/// assert_eq!(left.tree.to_line(), r#"{"a":1,"c":[2]}"#);
/// assert_eq!(left.gaps, [vec![], vec!["c".to_owned()]]);
/// ```
#[must_use]
pub fn read_intact(bytes: &[u8]) -> Option<IntactParts> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(tree) = whole_prefix(bytes) {
        return Some(IntactParts { tree, gaps: Vec::new() });
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
    };
    let mut prefix = DocumentBuilder::default();
    let error = prefix.read_prefix(text);
    if !lines::is_one_per_line(bytes) {
        return prefix.finish().map(|(tree, gaps)| IntactParts { tree, gaps });
    }
    // Where grammar and indentation disagree, the grammar has been misled by the damage.
    let mut from = lines::first_misaligned(bytes, error, &prefix).unwrap_or(error);
    let mut starts = vec![from];
    for _ in 0..LINES_BACK {
        from = lines::line_before(bytes, from);
        starts.push(from);
    }
    starts.dedup();
    starts.retain(|from| lines::is_start(bytes, *from));
    // The reading that finds most is right: where it goes on too late, it misses what is in the lines between.
    let readings = starts.into_iter().filter_map(|from| read_from(bytes, text, from));
    let best = readings
        .filter_map(DocumentBuilder::finish)
        .max_by_key(|(tree, gaps)| (tree.to_line().len(), std::cmp::Reverse(gaps.len())));
    best.map(|(tree, gaps)| IntactParts { tree, gaps })
}

/// Reads a document by the grammar up to a line, and then line by line.
fn read_from(bytes: &[u8], text: &str, from: usize) -> Option<DocumentBuilder> {
    let mut builder = DocumentBuilder::default();
    builder.read_prefix(text.get(..from).unwrap_or(text));
    if !lines::is_aligned(bytes, from, builder.depth()) {
        return None;
    }
    lines::read_lines(&mut builder, bytes, from);
    Some(builder)
}

/// Returns the document if it is whole, with other bytes after it.
fn whole_prefix(bytes: &[u8]) -> Option<JsonTree> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let end = json::value_end(bytes, start).ok()?;
    let text = std::str::from_utf8(bytes.get(start..end)?).ok()?;
    // In a document of several lines, a brace that is not at the start of a line does not end the document, nor does
    // one before a member.
    let rest = bytes.get(end..)?.trim_ascii_start();
    let is_end = (!text.contains('\n') || text.ends_with("\n}")) && rest.first() != Some(&b'"');
    let tree = JsonTree::parse(text).ok()?;
    (is_end && tree.kind() == ValueKind::Object).then_some(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str, gaps: &[&str]) {
        let left = read_intact(text.as_bytes()).unwrap();
        assert_eq!(left.tree.to_line(), expect, "{text}");
        let found: Vec<String> = left.gaps.iter().map(|gap| gap.join(".")).collect();
        assert_eq!(found, gaps, "{text}");
    }

    const PRETTY: &str = "{\n  \"a\": {\n    \"x\": 1,\n    \"y\": \"two\"\n  },\n  \"b\": [\n    true,\n    12\n  ],\n  \"c\": null\n}";

    #[test]
    fn what_follows_a_whole_document_is_ignored() {
        for tail in ["}", "\n}", "\0\0\0", "00:00\"\n}"] {
            check(
                &format!("{PRETTY}{tail}"),
                r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#,
                &[],
            );
        }
        check("{\"a\": 1}}", r#"{"a":1}"#, &[]);
    }

    #[test]
    fn a_compact_document_is_read_up_to_the_error() {
        check(r#"{"a":1,"b":{"c":"x","d":"#, r#"{"a":1,"b":{"c":"x"}}"#, &["", "b"]);
        check(r#"{"a":1,"b":[1,2"#, r#"{"a":1,"b":[1]}"#, &["", "b"]);
        check(r#"{"a":"x""#, r#"{"a":"x"}"#, &[""]);
        check(r#"{"a":true,"b":"x"y","c":1}"#, r#"{"a":true}"#, &[""]);
        check(r#"{"a":1,"b":2]"#, r#"{"a":1}"#, &[""]);
    }

    #[test]
    fn damage_in_a_line_costs_that_line() {
        let hit = |from: &str, to: &str| PRETTY.replace(from, to);
        check(&hit("\"x\": 1", "\"x: 1"), r#"{"a":{"y":"two"},"b":[true,12],"c":null}"#, &["a"]);
        check(&hit("\"two\"", "\"t\"o\""), r#"{"a":{"x":1},"b":[true,12],"c":null}"#, &["a"]);
        check(&hit("\"two\"", "\"tw\"\""), r#"{"a":{"x":1},"b":[true,12],"c":null}"#, &["a"]);
        check(&hit("true,", "true}"), r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#, &[]);
        check(
            &hit("\"a\": {", "\"a\": x"),
            r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#,
            &[],
        );
        check(
            &hit("\"b\": [", "\"b\"x ["),
            r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#,
            &[],
        );
        check(&hit("\"a\": {", "xa\": {"), r#"{"b":[true,12],"c":null}"#, &[""]);
        check(&hit("  },", "  x,"), r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#, &["a"]);
        check(
            &hit("{\n  \"a\"", "x\n  \"a\""),
            r#"{"a":{"x":1,"y":"two"},"b":[true,12],"c":null}"#,
            &[],
        );
    }

    #[test]
    fn of_nothing_nothing_is_left() {
        for text in ["", "\0\0", "[]", "x", "[1,2", "\"a\""] {
            assert!(read_intact(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
