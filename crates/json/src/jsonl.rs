//! JSONL files: one JSON value per line, read whatever state they are in.
//!
//! A [`JsonlScan`] reads a file forwards or backwards in bounded memory and yields [`ScanItem`]s: the records, and a
//! [`Finding`] for everything else. A scan never stops at bad content, only at an I/O error, which is never mistaken
//! for the end of the file. [`FileTail`] examines only the end of a file and determines where and how the next record
//! may be appended.
//!
//! # Records and findings
//!
//! A file is split into lines at `\n`, and a line into pieces at runs of NUL bytes, which power cuts leave behind.
//! Spaces, tabs and `\r` around values are ignored, so CRLF files and blank lines need no mention. A UTF-8 byte order
//! mark at the start of the file is skipped.
//!
//! | content | records | finding |
//! |---|---|---|
//! | a value alone on its line | the value | |
//! | several objects or arrays on one line | each of them | one `glued-records`, before the second one and at its offset |
//! | an object or array, then something else | the value | `bad-line` for the rest, at its offset |
//! | anything else on a line, also a value cut off by the newline | | `bad-line`, at the first byte that is not white space |
//! | NUL bytes that are not at the end of the file | the values around them | `bad-line` for the NUL bytes |
//! | a value that is JSON but not UTF-8 | | `not-utf8`, at the start of the value |
//! | a last line without `\n` that does not end in a whole value | its whole values | `torn-tail` for the rest |
//! | NUL bytes at the end of the file | | `nul-tail` |
//! | a last line without `\n` that ends in a whole value | its values | none: [`FileTail::newline_missing`] |
//!
//! Only objects and arrays mark their own end, so numbers, strings and words count as records only if they are alone on
//! their line: `1 2` is a bad line.
//!
//! The line and offset of a finding are where the problem starts; the position of the grammar error is in its message.
//! A finding of a reverse scan has no line; otherwise both directions yield the same items.
//!
//! Every byte is accounted for: it belongs to a record, to a finding, or to the white space between them, and
//! [`ScanSummary`] has the three sums.

mod events;
mod forward;
mod items;
mod reverse;
mod scan;
mod source;
mod tail;
mod utf8;

use crate::finding::Finding;

pub use forward::ForwardScan;
pub use items::ScanSummary;
pub use reverse::ReverseScan;
pub use scan::{JsonlScan, LARGEST_TEXT};
pub use source::{ByteSource, DEFAULT_CHUNK};
pub use tail::{ByteSpan, FileTail, TornTail};
pub use utf8::Utf8Check;

/// An item of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanItem {
    /// A record.
    Record(JsonlRecord),
    /// A problem.
    Finding(Finding),
}

/// One JSON value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonlRecord {
    /// The line, counted from 1, where the count is known.
    pub line: Option<u64>,
    /// The first byte of the value.
    pub offset: u64,
    /// The number of bytes, without the white space around it.
    pub length: u64,
    /// The value itself.
    pub text: RecordText,
}

/// The text of a record: JSON by the grammar of [`crate::json`], in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordText {
    /// The whole text.
    Whole(String),
    /// The record was checked like any other, but is too large for memory; the caller may read it in parts.
    Large,
}

impl JsonlRecord {
    /// The text, unless it is too large for memory.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.text {
            RecordText::Whole(text) => Some(text),
            RecordText::Large => None,
        }
    }
}
