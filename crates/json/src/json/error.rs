//! [`JsonError`]: where and why a text is not JSON.

use std::fmt;

use thiserror::Error;

/// The position where a text stops being JSON, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{reason} at byte {at}")]
pub struct JsonError {
    /// The byte that breaks the grammar, or the end of the text if more was needed; counted from 0.
    pub at: u64,
    /// The reason.
    pub reason: JsonErrorKind,
}

/// Why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// A byte that is not allowed here.
    Unexpected {
        /// The byte.
        byte: u8,
        /// What is allowed here.
        wanted: &'static str,
    },
    /// An unescaped control character inside a string.
    Control {
        /// The character.
        byte: u8,
    },
    /// A backslash before something that is not an escape.
    Escape {
        /// The byte after the backslash, or after `\u` and some digits.
        byte: u8,
    },
    /// The text ends before the value does.
    Unfinished {
        /// Where it ends, with a preposition: "inside a string".
        place: &'static str,
    },
    /// More than [`super::MAX_DEPTH`] nested containers.
    TooDeep,
}

/// A byte in readable form.
struct ByteDisplay(u8);

impl fmt::Display for ByteDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            byte @ 0x21..=0x7e => write!(f, "`{}`", char::from(byte)),
            b' ' => f.write_str("a space"),
            b'\n' => f.write_str("a newline"),
            0 => f.write_str("a NUL byte"),
            byte => write!(f, "byte 0x{byte:02x}"),
        }
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            JsonErrorKind::Unexpected { byte, wanted } => {
                write!(f, "found {} instead of {wanted}", ByteDisplay(byte))
            }
            JsonErrorKind::Control { byte } => {
                write!(f, "control character 0x{byte:02x} in a string")
            }
            JsonErrorKind::Escape { byte } => write!(f, "{} in an escape", ByteDisplay(byte)),
            JsonErrorKind::Unfinished { place } => write!(f, "the text ends {place}"),
            JsonErrorKind::TooDeep => write!(f, "more than {} levels of nesting", super::MAX_DEPTH),
        }
    }
}
