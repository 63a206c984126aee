//! The texts of indexes: [`IndexText`] writes them readably, [`IndexFields`] reads them without trusting them.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::{Map, Value};

use super::{IndexError, IndexKind, MOST_READ};
use everturn_json::json;

/// The maximum size of an ID, name or kind between its quotes; file systems allow no longer names.
pub(super) const MOST_NAME: usize = 255;

/// The last character of a truncated text.
const CUT: char = '…';

/// A JSON object with one field per line, and one line per entry of a collection.
pub(super) struct IndexText {
    out: String,
}

impl IndexText {
    pub(super) fn new() -> IndexText {
        IndexText { out: "{".to_owned() }
    }

    fn key(&mut self, key: &str) {
        self.out.push_str(if self.out.len() == 1 { "\n  " } else { ",\n  " });
        self.out.push_str(&quote(key));
        self.out.push_str(": ");
    }

    /// Writes a field on one line: a number, or a value that is already JSON.
    pub(super) fn plain(&mut self, key: &str, value: impl Display) {
        self.key(key);
        self.out.push_str(&value.to_string());
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.plain(key, quote(value));
    }

    /// Writes an array of entries that are already JSON.
    pub(super) fn list(&mut self, key: &str, entries: impl Iterator<Item = String>) {
        self.entries(key, ['[', ']'], entries);
    }

    /// Writes an object whose values are already JSON.
    pub(super) fn object<V: Display>(
        &mut self,
        key: &str,
        members: impl Iterator<Item = (String, V)>,
    ) {
        let members = members.map(|(key, value)| format!("{}: {value}", quote(&key)));
        self.entries(key, ['{', '}'], members);
    }

    fn entries(&mut self, key: &str, brackets: [char; 2], entries: impl Iterator<Item = String>) {
        let [open, close] = brackets;
        self.key(key);
        self.out.push(open);
        let mut before = "\n    ";
        for entry in entries {
            self.out.push_str(before);
            self.out.push_str(&entry);
            before = ",\n    ";
        }
        if before.starts_with(',') {
            self.out.push_str("\n  ");
        }
        self.out.push(close);
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("\n}");
        self.out
    }
}

/// Returns `text` as a JSON string.
pub(super) fn quote(text: &str) -> String {
    // Serializing a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns the size of a character in a JSON string, in bytes.
fn written(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// Returns the size of `text` between the quotes of a JSON string, in bytes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(written).sum()
}

/// Truncates `text` to at most `most` bytes between its quotes.
pub(super) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    let mut used = 0;
    let mut end = 0;
    for (at, character) in text.char_indices() {
        if used + CUT.len_utf8() <= most {
            end = at;
        }
        used += written(character);
        if used > most {
            let mut kept = text.get(..end).unwrap_or_default().to_owned();
            kept.push(CUT);
            return Cow::Owned(kept);
        }
    }
    Cow::Borrowed(text)
}

/// Returns the string under a key of an entry, if [`clip`] would not change it.
pub(super) fn string(entry: &Value, key: &str, most: usize) -> Option<String> {
    let text = entry.get(key)?.as_str()?;
    (width(text) <= most).then(|| text.to_owned())
}

/// Returns the number under a key of an entry.
pub(super) fn number(entry: &Value, key: &str) -> Option<u64> {
    entry.get(key)?.as_u64()
}

/// Returns the two numbers under a key of an entry, if they are in order.
pub(super) fn range(entry: &Value, key: &str) -> Option<(u64, u64)> {
    match entry.get(key)?.as_array()?.as_slice() {
        [first, last] => Some((first.as_u64()?, last.as_u64()?)).filter(|(a, b)| a <= b),
        _ => None,
    }
}

/// The fields of an index that is read.
#[derive(Debug)]
pub(super) struct IndexFields {
    index: IndexKind,
    map: Map<String, Value>,
}

impl IndexFields {
    /// Parses the text of an index of `session`.
    pub(super) fn open(
        index: IndexKind,
        session: &str,
        text: &[u8],
    ) -> Result<IndexFields, IndexError> {
        if text.len() > MOST_READ {
            return Err(IndexError::TooLarge { index, bytes: text.len() });
        }
        let not_json = |why: String| IndexError::NotJson { index, why };
        let value: Value =
            serde_json::from_slice(text).map_err(|error| not_json(error.to_string()))?;
        let twice = json::duplicate_keys(text, 0).map_err(|bad| not_json(bad.to_string()))?;
        if let Some(key) = twice.first() {
            return Err(IndexError::DuplicateKey { index, at: key.start });
        }
        let Value::Object(map) = value else {
            return Err(not_json("an object is needed".to_owned()));
        };
        let fields = IndexFields { index, map };
        match fields.get("sessionId", Value::as_str)? {
            found if found == session => Ok(fields),
            found => Err(IndexError::Session {
                index,
                found: clip(found, MOST_NAME).into_owned(),
                wanted: session.to_owned(),
            }),
        }
    }

    pub(super) fn index(&self) -> IndexKind {
        self.index
    }

    /// Returns the error for an invalid `field`.
    pub(super) fn bad(&self, field: impl Into<String>) -> IndexError {
        IndexError::Field { index: self.index, field: field.into() }
    }

    fn get<'f, T>(
        &'f self,
        key: &str,
        read: impl Fn(&'f Value) -> Option<T>,
    ) -> Result<T, IndexError> {
        self.map.get(key).and_then(read).ok_or_else(|| self.bad(key))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub(super) fn value(&self, key: &str) -> Result<&Value, IndexError> {
        self.get(key, Some)
    }

    pub(super) fn number(&self, key: &str) -> Result<u64, IndexError> {
        self.get(key, Value::as_u64)
    }

    /// Returns a number that is left out if it is 0.
    pub(super) fn number_or_zero(&self, key: &str) -> Result<u64, IndexError> {
        if self.has(key) { self.number(key) } else { Ok(0) }
    }

    pub(super) fn list(&self, key: &str) -> Result<&[Value], IndexError> {
        self.get(key, |value| value.as_array().map(Vec::as_slice))
    }

    pub(super) fn object(&self, key: &str) -> Result<&Map<String, Value>, IndexError> {
        self.get(key, Value::as_object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_it_would_take_too_many_bytes() {
        let check = |text: &str, most: usize, expect: &str| {
            let cut = clip(text, most);
            assert_eq!(cut, expect, "{text:?} in {most}");
            assert_eq!(clip(&cut, most), expect);
            assert!(quote(&cut).len() <= most + 2);
        };
        check("", 3, "");
        check("abcdef", 6, "abcdef");
        check("abcdef", 5, "ab…");
        check("abcdef", 3, "…");
        check("ab\"\\", 6, "ab\"\\");
        check("ab\"\\", 5, "ab…");
        check("a\u{1}bcd", 9, "a…");
        check("a\u{1}bcd", 10, "a\u{1}bcd");
        check("ééé", 6, "ééé");
        check("ééé", 5, "é…");
        check("\n\n\n😀", 9, "\n\n\n…");
        check("a\u{7f}\u{8}\u{c}", 6, "a\u{7f}\u{8}\u{c}");
    }

    #[test]
    fn the_width_of_a_text_is_what_its_json_takes() {
        for code in (0..0x3000).chain(0xfff0..0x10010).filter_map(char::from_u32) {
            let text = code.to_string();
            assert_eq!(width(&text) + 2, quote(&text).len(), "{code:?}");
        }
    }
}
