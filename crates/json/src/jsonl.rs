//! JSONL files: one JSON value per line, read whatever state they are in.
//!
//! A [`JsonlScan`] reads a file forwards or backwards in bounded memory and yields [`ScanItem`]s: the records
//! that are there, and a [`Finding`] for everything that is not one. Reading never stops at bad content,
//! only at an I/O error, which is never taken for the end of the file. [`FileTail`] looks at the end of a
//! file alone and says where and how the next record may be appended.
//!
//! # What is read how
//!
//! A file is divided into lines at `\n`, and a line into pieces at runs of NUL bytes, which power cuts
//! leave behind. Spaces, tabs and `\r` around values are not content, so CRLF files and blank lines need
//! no mention. A UTF-8 byte order mark at the start of the file is passed over.
//!
//! | what is there | records | finding |
//! |---|---|---|
//! | a value alone on its line | the value | |
//! | several objects or arrays on one line | each of them | one `glued-records`, before the second one and at its offset |
//! | an object or array, then something else | the value | `bad-line` for the rest, at its offset |
//! | anything else on a line, also a value that the newline cuts off | | `bad-line`, at the first byte that is not white space |
//! | NUL bytes that are not at the end of the file | what lies around them | `bad-line` for the NUL bytes |
//! | a value that is JSON but not UTF-8 | | `not-utf8`, at the start of the value |
//! | a last line without `\n` that does not end in a whole value | its whole values | `torn-tail` for the rest |
//! | NUL bytes at the end of the file | | `nul-tail` |
//! | a last line without `\n` that ends in a whole value | its values | none: [`FileTail::newline_missing`] |
//!
//! Only objects and arrays show their own end, so numbers, strings and words count as records only if
//! they are alone on their line: `1 2` is a bad line.
//!
//! The line and offset of a finding say where the trouble starts; where the grammar broke is in its
//! message. A finding of a backward scan has no line, otherwise both directions yield the same items.
//!
//! Every byte is accounted for: it belongs to a record, to what a finding reports, or to the white space
//! between them, and the [`ScanSummary`] has the three sums.

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
pub use scan::{DEFAULT_CHUNK, JsonlScan, LARGEST_TEXT};
pub use source::ByteSource;
pub use tail::{ByteSpan, FileTail, TornTail};
pub use utf8::Utf8Check;

/// What a scan yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanItem {
    /// A record.
    Record(JsonlRecord),
    /// Something that is not one.
    Finding(Finding),
}

/// One JSON value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonlRecord {
    /// The line, counted from 1, where the count is known.
    pub line: Option<u64>,
    /// The first byte of the value.
    pub offset: u64,
    /// How many bytes it has, without white space around it.
    pub length: u64,
    /// The value itself.
    pub text: RecordText,
}

/// The text of a record: JSON by the grammar of [`crate::json`], in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordText {
    /// All of it.
    Whole(String),
    /// It was checked like any other, but is too long to be held; the caller may read it in parts.
    Large,
}

impl JsonlRecord {
    /// The text, unless it is too long to be held.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.text {
            RecordText::Whole(text) => Some(text),
            RecordText::Large => None,
        }
    }
}
