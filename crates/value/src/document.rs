//! JSON files, edited in place: every byte outside a change is preserved.
//!
//! A [`Document`] is the text of the file. Reads find a value by its path, and edits replace, insert or remove only
//! that part. So unknown fields, key order, the spelling of numbers and escapes and all white space are preserved, and
//! an unchanged document is saved byte for byte. Inserted text matches the rest of the file: its [`JsonStyle`] is
//! detected by the parser, and new entries of a container use the separators of the existing ones.
//!
//! If an object has the same key twice, the last one is read and edited, as in other readers.

mod edit;
mod error;
mod formatter;
mod locate;
mod path;
mod style;

use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json;
use everturn_json::names::FilePath;

pub use error::{EditError, ParseError, ReadError};
pub use formatter::render_line;
pub use path::PathSegment;
pub use style::{Indent, JsonLayout, JsonStyle, LineEnding, NonAscii};

/// The byte order mark as text.
const BOM: &str = "\u{feff}";

/// A JSON file in memory.
///
/// ```
/// use everturn_value::document::{Document, PathSegment};
///
/// let path = [PathSegment::Key("player"), PathSegment::Key("hp")];
/// let mut document = Document::parse(b"{\"v\": 1.0, \"player\": {\"hp\": 12}}\n")?;
/// document.set(&path, &9)?;
/// document.set(&[PathSegment::Key("turn")], &3)?;
/// assert_eq!(document.text(), "{\"v\": 1.0, \"player\": {\"hp\": 9}, \"turn\": 3}\n");
/// assert_eq!(document.get(&path), Some("9"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Valid JSON, with white space around it, and possibly a byte order mark.
    text: String,
    /// The range of the value, without the white space around it.
    root: Range<usize>,
    style: JsonStyle,
}

impl Document {
    /// Parses one JSON value in UTF-8, and keeps its text.
    ///
    /// Properties of the style that the text does not show are taken from [`JsonStyle::PRETTY_RAW`].
    pub fn parse(bytes: &[u8]) -> Result<Document, ParseError> {
        Document::parse_like(bytes, &JsonStyle::PRETTY_RAW)
    }

    /// Like [`Document::parse`], with `style` for properties that the text does not show. An empty object does not show
    /// indents, an ASCII text does not show how other characters are written.
    pub fn parse_like(bytes: &[u8], style: &JsonStyle) -> Result<Document, ParseError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| ParseError::not_utf8(bytes, error.valid_up_to()))?;
        let before = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let content = text.get(before..).unwrap_or_default();
        let start = before + json::find_byte(content.as_bytes(), |byte| !is_space(byte));
        if content.bytes().all(|byte| is_space(byte) || byte == 0) {
            return Err(ParseError::Empty { bytes: bytes.len() });
        }
        let end = json::value_end(bytes, start).map_err(|bad| ParseError::bad(text, bad))?;
        let after = bytes.get(end..).unwrap_or_default();
        if let Some((at, &byte)) = after.iter().enumerate().find(|&(_, &byte)| !is_space(byte)) {
            let wanted = "the end of the document";
            let reason = json::JsonErrorKind::Unexpected { byte, wanted };
            return Err(ParseError::bad(text, json::JsonError { at: (end + at) as u64, reason }));
        }
        let root = start..end;
        let style = JsonStyle::detect(text, &root, style);
        Ok(Document { text: text.to_owned(), root, style })
    }

    /// A new document with `value`, written in `style`.
    pub fn new<T: Serialize + ?Sized>(value: &T, style: JsonStyle) -> Result<Document, EditError> {
        let mut text = if style.bom { BOM.to_owned() } else { String::new() };
        let start = text.len();
        let value = formatter::render_value(value, &style, style.layout, "")
            .map_err(|source| EditError::write(&[], source))?;
        text.push_str(&value);
        let root = start..text.len();
        if style.final_newline {
            text.push_str(style.line_end.as_str());
        }
        Ok(Document { text, root, style })
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text as bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// The style of new values.
    #[must_use]
    pub fn style(&self) -> &JsonStyle {
        &self.style
    }

    /// The text of the value at `path`, if there is one.
    #[must_use]
    pub fn get(&self, path: &[PathSegment<'_>]) -> Option<&str> {
        self.text.get(self.find(path)?)
    }

    /// The value at `path`, if there is one.
    ///
    /// An integer beyond 64 bits becomes the nearest floating-point number, as in most programs; in the document it
    /// keeps its digits. Numbers out of range, more than 127 levels of nesting and lone surrogates are errors.
    pub fn value(&self, path: &[PathSegment<'_>]) -> Result<Option<Value>, ReadError> {
        self.read(path)
    }

    /// The value at `path` as a `T`, if there is one.
    pub fn read<T: DeserializeOwned>(
        &self,
        path: &[PathSegment<'_>],
    ) -> Result<Option<T>, ReadError> {
        let Some(span) = self.find(path) else { return Ok(None) };
        let text = self.text.get(span.clone()).unwrap_or_default();
        serde_json::from_str(text).map(Some).map_err(|source| ReadError {
            path: path::json_pointer(path),
            byte: span.start,
            source,
        })
    }

    /// One finding for every duplicate key.
    #[must_use]
    pub fn findings(&self, file: &FilePath) -> Vec<Finding> {
        // The text is valid, so the scan cannot fail.
        let keys = json::duplicate_keys(self.text.as_bytes(), self.root.start).unwrap_or_default();
        keys.into_iter()
            .map(|key| {
                let start = key.start;
                let key = self.text.get(key).unwrap_or_default();
                let message = format!("duplicate key {key}; this value takes precedence");
                Finding::new(file, FindingCode::DuplicateKey, message)
                    .at_line(error::line_and_column(&self.text, start).0)
                    .at_offset(start as u64)
            })
            .collect()
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
