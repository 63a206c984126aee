//! The errors of documents: [`ParseError`], [`ReadError`] and [`EditError`].

use std::fmt;

use thiserror::Error;

use super::path::{PathSegment, json_pointer};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json::{Container, JsonError, JsonErrorKind};
use everturn_json::names::FilePath;

/// Why bytes are not a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// There is no content: no bytes at all, or only white space or NUL bytes.
    #[error("the document is empty ({bytes} bytes without content)")]
    Empty {
        /// The number of bytes.
        bytes: usize,
    },
    /// It is not UTF-8.
    #[error("not UTF-8 in line {line}, byte {byte}")]
    NotUtf8 {
        /// The line, counted from 1.
        line: u64,
        /// The offset of the first invalid byte.
        byte: usize,
    },
    /// It is not one JSON value.
    #[error("not JSON in line {line}, column {column}, byte {byte}: {reason}")]
    NotJson {
        /// The line, counted from 1.
        line: u64,
        /// The column in characters, counted from 1.
        column: u64,
        /// The byte, counted from 0.
        byte: usize,
        /// The reason.
        reason: JsonErrorKind,
    },
}

impl ParseError {
    pub(super) fn bad(text: &str, bad: JsonError) -> ParseError {
        let byte = usize::try_from(bad.at).unwrap_or(usize::MAX);
        let (line, column) = line_and_column(text, byte);
        ParseError::NotJson { line, column, byte, reason: bad.reason }
    }

    pub(super) fn not_utf8(bytes: &[u8], byte: usize) -> ParseError {
        let before = bytes.iter().take(byte);
        let line = 1 + before.filter(|&&byte| byte == b'\n').count() as u64;
        ParseError::NotUtf8 { line, byte }
    }

    /// The error as a finding about `file`.
    #[must_use]
    pub fn finding(&self, file: &FilePath) -> Finding {
        let (code, line, offset) = match *self {
            ParseError::Empty { .. } => (FindingCode::EmptyDocument, None, None),
            ParseError::NotUtf8 { line, byte } => {
                (FindingCode::NotUtf8, Some(line), Some(byte as u64))
            }
            ParseError::NotJson { line, byte, .. } => {
                (FindingCode::BadDocument, Some(line), Some(byte as u64))
            }
        };
        Finding::new(file, code, self.to_string()).at_line(line).at_offset(offset)
    }
}

/// The line and the column of a byte, counted from 1.
pub(super) fn line_and_column(text: &str, byte: usize) -> (u64, u64) {
    let before = text.get(..byte).unwrap_or(text);
    let newlines = before.bytes().filter(|&byte| byte == b'\n').count();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let column = line.chars().filter(|&character| character != '\u{feff}').count();
    (newlines as u64 + 1, column as u64 + 1)
}

/// Why a value could not be read from a document.
#[derive(Debug, Error)]
#[error("cannot read {path:?} at byte {byte}: {source}")]
pub struct ReadError {
    /// The path, as a JSON pointer.
    pub path: String,
    /// The offset of the value in the document; the source counts from there.
    pub byte: usize,
    /// The error of serde_json.
    pub source: serde_json::Error,
}

/// Why a document could not be changed; it is unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EditError {
    /// A value on the path cannot have such entries.
    #[error("cannot change {path:?}: {at:?} is {found}, not {}", ContainerName(*wanted))]
    Mismatch {
        /// The path, as a JSON pointer.
        path: String,
        /// The path of that value.
        at: String,
        /// Its kind.
        found: &'static str,
        /// The kind that is needed.
        wanted: Container,
    },
    /// An array is too short.
    #[error(
        "cannot change {path:?}: the array has {length} elements, so there is no index {index}"
    )]
    Index {
        /// The path, as a JSON pointer.
        path: String,
        /// The index that is out of range.
        index: usize,
        /// The length of the array.
        length: usize,
    },
    /// An array does not exist; only missing objects are created.
    #[error("cannot change {path:?}: there is no array at {at:?}")]
    NoArray {
        /// The path, as a JSON pointer.
        path: String,
        /// The path of the array.
        at: String,
    },
    /// The root cannot be removed.
    #[error("cannot remove the root of a document")]
    Root,
    /// The value cannot be written as JSON.
    #[error("cannot write the value for {path:?}: {source}")]
    Write {
        /// The path, as a JSON pointer.
        path: String,
        /// The error of serde_json.
        source: serde_json::Error,
    },
}

impl EditError {
    pub(super) fn write(path: &[PathSegment<'_>], source: serde_json::Error) -> EditError {
        EditError::Write { path: json_pointer(path), source }
    }
}

/// The name of a container in messages.
struct ContainerName(Container);

impl fmt::Display for ContainerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Container::Object => "an object",
            Container::Array => "an array",
        })
    }
}
