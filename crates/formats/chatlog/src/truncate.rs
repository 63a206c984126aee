//! Recovers the usable start of a document that is truncated or damaged in the middle.

use everturn_json::json::{Container, Scanner, TokenVisitor};

/// Tracks the last position where the document can be closed without a partial value.
#[derive(Default)]
struct SafeEnd {
    depth: usize,
    in_array: bool,
    root: Option<Container>,
    /// The end of the last whole member or element, and whether it is an element.
    end: Option<(u64, bool)>,
}

impl SafeEnd {
    fn whole(&mut self, end: u64) {
        match self.depth {
            1 => self.end = Some((end, false)),
            2 if self.in_array => self.end = Some((end, true)),
            _ => {}
        }
    }
}

impl TokenVisitor for SafeEnd {
    fn container_opened(&mut self, container: Container, _start: u64) {
        match self.depth {
            0 => self.root = Some(container),
            1 => self.in_array = container == Container::Array,
            _ => {}
        }
        self.depth += 1;
    }

    fn container_closed(&mut self, end: u64) {
        self.depth = self.depth.saturating_sub(1);
        self.whole(end);
    }

    fn scalar(&mut self, _start: u64, end: u64) {
        self.whole(end);
    }
}

/// The document up to its last whole member or element, closed; `None` if there is none.
///
/// The caller must keep the rest of the bytes.
pub(crate) fn close_truncated(bytes: &[u8]) -> Option<Vec<u8>> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let text = bytes.get(start..)?;
    // Invalid UTF-8 also ends the usable part.
    let valid = match std::str::from_utf8(text) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    let (mut scanner, mut safe) = (Scanner::new(), SafeEnd::default());
    // Where the scan fails does not matter, only what precedes it.
    let _stopped = scanner.feed_with(text.get(..valid)?, &mut safe);
    if safe.root != Some(Container::Object) {
        return None;
    }
    let (end, in_array) = safe.end?;
    let end = start + usize::try_from(end).ok()?;
    let on_lines = bytes.get(..end)?.contains(&b'\n');
    let mut left = bytes.get(..end)?.to_vec();
    let closing: &[u8] = match (in_array, on_lines) {
        (true, true) => b"\n  ]\n}\n",
        (true, false) => b"]}",
        (false, true) => b"\n}\n",
        (false, false) => b"}",
    };
    left.extend_from_slice(closing);
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let left = close_truncated(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(left.as_deref(), expect, "{text:?}");
    }

    #[test]
    fn what_is_whole_is_left() {
        check(r#"{"a":1,"m":[{"x":1},{"x":2},{"x"#, Some(r#"{"a":1,"m":[{"x":1},{"x":2}]}"#));
        check(r#"{"a":1,"m":[{"x":1}],"b":{"c":"#, Some(r#"{"a":1,"m":[{"x":1}]}"#));
        check("{\"a\":1,\n\"m\":[{}\0\0\0", Some("{\"a\":1,\n\"m\":[{}\n  ]\n}\n"));
        check(r#"{"a":1,"m":["#, Some(r#"{"a":1}"#));
        check("{", None);
        check("[1,2", None);
        check("", None);
    }

    #[test]
    fn every_cut_of_a_document_leaves_json() {
        let text = r#"{"v":"1","m":[{"id":"é","n":[1,{"a":null}]},7,"x"],"t":{"u":true}}"#;
        for end in 0..text.len() {
            if let Some(left) = close_truncated(&text.as_bytes()[..end]) {
                serde_json::from_slice::<serde_json::Value>(&left).unwrap();
            }
        }
    }
}
