//! Runs the scanner over a slice to find the positions of keys and values.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::{Completeness, Container, JsonError, ScanProgress, Scanner, TokenVisitor};

/// A member of an object or an element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEntry {
    /// The key with its quotes; array elements have none.
    pub key: Option<Range<usize>>,
    /// The value.
    pub value: Range<usize>,
}

impl ContainerEntry {
    /// Where the entry starts: at its key, if it has one.
    #[must_use]
    pub fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.start, |key| key.start)
    }
}

/// The entries directly inside one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEntries {
    /// The kind of container.
    pub container: Container,
    /// The container with its brackets.
    pub span: Range<usize>,
    /// The entries in order.
    pub list: Vec<ContainerEntry>,
}

/// The end of the value that starts at `start`, after optional white space.
///
/// Positions, also those of errors, are relative to the start of `text`.
pub fn value_end(text: &[u8], start: usize) -> Result<usize, JsonError> {
    scan_value(text, start, &mut ())
}

/// The entries of the container at `start`; `None` if the value is a scalar.
///
/// ```
/// use everturn_json::json::entries;
///
/// let text = br#"{"a": [1, 2], "b": null}"#;
/// let found = entries(text, 0)?.unwrap();
/// assert_eq!(&text[found.list[0].value.clone()], b"[1, 2]");
/// # Ok::<(), everturn_json::json::JsonError>(())
/// ```
pub fn entries(text: &[u8], start: usize) -> Result<Option<ContainerEntries>, JsonError> {
    let mut collect = EntryCollector { base: start, depth: 0, key: None, value: 0, found: None };
    let end = scan_value(text, start, &mut collect)?;
    Ok(collect.found.map(|found| ContainerEntries { span: found.span.start..end, ..found }))
}

/// The positions of duplicate keys, at any depth of the value at `start`.
///
/// Keys are equal if they are the same characters, however they are escaped.
pub fn duplicate_keys(text: &[u8], start: usize) -> Result<Vec<Range<usize>>, JsonError> {
    let mut search = DuplicateKeyFinder { text, base: start, open: Vec::new(), found: Vec::new() };
    scan_value(text, start, &mut search)?;
    Ok(search.found)
}

/// Whether `raw`, a key with its quotes, equals `key`.
#[must_use]
pub fn key_matches(raw: &[u8], key: &str) -> bool {
    *unescape(raw) == *key.as_bytes()
}

/// Unescapes `raw`, a string with its quotes, to UTF-8.
///
/// A lone surrogate becomes the three bytes that its number would have, so that different strings stay different; no
/// `str` contains such bytes.
#[must_use]
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    let inner = raw.strip_prefix(b"\"").unwrap_or(raw);
    unescape_inner(inner.strip_suffix(b"\"").unwrap_or(inner))
}

/// Like [`unescape`], for a string without its quotes.
pub fn unescape_inner(inner: &[u8]) -> Cow<'_, [u8]> {
    if !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
        } else if let Some((high, after)) = parse_utf16_unit(rest) {
            let pair =
                after.strip_prefix(b"\\").and_then(parse_utf16_unit).and_then(|(low, after)| {
                    let pair = char::decode_utf16([high, low]).next()?.ok()?;
                    (pair.len_utf16() == 2).then_some((u32::from(pair), after))
                });
            let (code, after) = pair.unwrap_or((u32::from(high), after));
            push_code(&mut out, code);
            rest = after;
        } else if let Some((&escape, after)) = rest.split_first() {
            out.push(match escape {
                b'b' => 0x08,
                b'f' => 0x0c,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => other,
            });
            rest = after;
        }
    }
    Cow::Owned(out)
}

/// The number in `uXXXX`, and the rest of the text.
fn parse_utf16_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.strip_prefix(b"u")?.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

fn push_code(out: &mut Vec<u8>, code: u32) {
    if let Some(character) = char::from_u32(code) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        // Only surrogates are left, and they all have 16 bits.
        let [_, _, high, low] = code.to_be_bytes();
        out.extend([
            0xe0 | (high >> 4),
            0x80 | ((high & 0x0f) << 2) | (low >> 6),
            0x80 | (low & 0x3f),
        ]);
    }
}

/// Runs the scanner over the value at `start` and returns its end.
fn scan_value<V: TokenVisitor>(
    text: &[u8],
    start: usize,
    visit: &mut V,
) -> Result<usize, JsonError> {
    let rest = text.get(start..).unwrap_or_default();
    let mut scanner = Scanner::new();
    match scanner.feed_with(rest, visit) {
        Ok(ScanProgress::End(used)) => Ok(start + used),
        Ok(ScanProgress::More) if scanner.finish() == Completeness::Complete => Ok(text.len()),
        Ok(ScanProgress::More) => {
            Err(JsonError { at: text.len() as u64, reason: scanner.unfinished() })
        }
        Err(bad) => Err(JsonError { at: bad.at + start as u64, ..bad }),
    }
}

/// A position in a slice; positions that the scanner reports for a slice always fit.
fn slice_index(base: usize, at: u64) -> usize {
    base.saturating_add(usize::try_from(at).unwrap_or(usize::MAX))
}

/// Collects the entries at depth one.
struct EntryCollector {
    base: usize,
    depth: usize,
    key: Option<Range<usize>>,
    /// The start of the current container at depth one.
    value: usize,
    found: Option<ContainerEntries>,
}

impl EntryCollector {
    fn add(&mut self, value: Range<usize>) {
        let key = self.key.take();
        if let Some(found) = &mut self.found {
            found.list.push(ContainerEntry { key, value });
        }
    }
}

impl TokenVisitor for EntryCollector {
    fn container_opened(&mut self, container: Container, start: u64) {
        let start = slice_index(self.base, start);
        match self.depth {
            0 => {
                let span = start..start;
                self.found = Some(ContainerEntries { container, span, list: Vec::new() });
            }
            1 => self.value = start,
            _ => {}
        }
        self.depth += 1;
    }

    fn container_closed(&mut self, end: u64) {
        self.depth -= 1;
        if self.depth == 1 {
            self.add(self.value..slice_index(self.base, end));
        }
    }

    fn key(&mut self, start: u64, end: u64) {
        if self.depth == 1 {
            self.key = Some(slice_index(self.base, start)..slice_index(self.base, end));
        }
    }

    fn scalar(&mut self, start: u64, end: u64) {
        if self.depth == 1 {
            self.add(slice_index(self.base, start)..slice_index(self.base, end));
        }
    }
}

/// Finds duplicate keys.
struct DuplicateKeyFinder<'t> {
    text: &'t [u8],
    base: usize,
    /// The keys of each open container; arrays have none, and an empty set takes no memory of its own.
    open: Vec<HashSet<Cow<'t, [u8]>>>,
    found: Vec<Range<usize>>,
}

impl TokenVisitor for DuplicateKeyFinder<'_> {
    fn container_opened(&mut self, _container: Container, _start: u64) {
        self.open.push(HashSet::new());
    }

    fn container_closed(&mut self, _end: u64) {
        self.open.pop();
    }

    fn key(&mut self, start: u64, end: u64) {
        let span = slice_index(self.base, start)..slice_index(self.base, end);
        let raw = self.text.get(span.clone()).unwrap_or_default();
        if let Some(keys) = self.open.last_mut()
            && !keys.insert(unescape(raw))
        {
            self.found.push(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_entries(text: &str, expect: &[(&str, &str)]) {
        let found = entries(text.as_bytes(), 0).unwrap().unwrap();
        let got: Vec<(&str, &str)> = found
            .list
            .iter()
            .map(|e| (e.key.clone().map_or("", |key| &text[key]), &text[e.value.clone()]))
            .collect();
        assert_eq!(got, expect);
        assert_eq!(&text[found.span], text.trim());
    }

    #[test]
    fn entries_have_the_places_of_keys_and_values() {
        check_entries("{}", &[]);
        check_entries(" [ ] ", &[]);
        check_entries(
            "[1,-2.5e3 ,\"x\" , null]",
            &[("", "1"), ("", "-2.5e3"), ("", "\"x\""), ("", "null")],
        );
        check_entries(
            r#" {"a" : {"b":[1,{}]}, "a":[[]] } "#,
            &[("\"a\"", r#"{"b":[1,{}]}"#), ("\"a\"", "[[]]")],
        );
        assert_eq!(entries(b"17", 0), Ok(None));
    }

    #[test]
    fn places_are_counted_from_the_start_of_the_text() {
        let text = br#"["skip", {"k": 7}]"#;
        let found = entries(text, 9).unwrap().unwrap();
        assert_eq!(&text[found.span.clone()], br#"{"k": 7}"#);
        assert_eq!(&text[found.list[0].value.clone()], b"7");
        assert_eq!(value_end(text, 1), Ok(7));
        assert_eq!(value_end(b"[1, x]", 3).unwrap_err().at, 4);
        assert_eq!(value_end(b"[1, 2", 0).unwrap_err().at, 5);
        assert_eq!(value_end(b"12", 0), Ok(2));
        assert!(value_end(b"  ", 0).is_err());
        assert!(value_end(b"x", 9).is_err());
    }

    fn check_duplicates(text: &str, expect: &[usize]) {
        let found = duplicate_keys(text.as_bytes(), 0).unwrap();
        let starts: Vec<usize> = found.iter().map(|key| key.start).collect();
        assert_eq!(starts, expect, "in {text}");
    }

    #[test]
    fn a_key_that_comes_twice_is_found_at_any_depth() {
        check_duplicates(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}"#, &[]);
        check_duplicates(r#"{"a":1,"a":2,"a":3}"#, &[7, 13]);
        check_duplicates(r#"[{"x":{"a":1,"\u0061":2}}]"#, &[13]);
        check_duplicates(r#"{"\ud800":1,"\ud801":2,"\ud800":3}"#, &[23]);
    }

    fn check_unescape(raw: &str, expect: &[u8]) {
        assert_eq!(&*unescape(raw.as_bytes()), expect, "of {raw}");
    }

    #[test]
    fn escapes_are_resolved_and_half_pairs_stay_apart() {
        check_unescape(r#""plain""#, b"plain");
        check_unescape(r#""\"\\\/\b\f\n\r\t""#, b"\"\\/\x08\x0c\n\r\t");
        check_unescape(r#""\u00e9\ud83d\uDE00!""#, "é😀!".as_bytes());
        check_unescape(r#""\ud83dx""#, b"\xed\xa0\xbdx");
        check_unescape(r#""\ud83d\n""#, b"\xed\xa0\xbd\n");
        check_unescape(r#""\ud83d\ud83d\ude00""#, b"\xed\xa0\xbd\xf0\x9f\x98\x80");
        check_unescape(r#""\ude00\ud83d""#, b"\xed\xb8\x80\xed\xa0\xbd");
        check_unescape(r#""\u0041\u0042""#, b"AB");
    }
}
