//! [`FileTail`]: the end of a file, as an append needs it.

use std::io;

use super::events::{EventContent, LineEvent, LineEvents};
use super::source::{ByteSource, DEFAULT_CHUNK, SourceWindow};
use crate::json::JsonError;

/// A range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSpan {
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// Bytes at the end of a file that are not a whole record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// Their range.
    pub span: ByteSpan,
    /// Where and why they are not JSON; mostly because they end too early.
    pub bad: JsonError,
}

/// The end of a file.
///
/// A clean file ends with a newline or is empty. Otherwise the content ends at [`FileTail::good_end`], and is followed
/// by [`FileTail::torn`], then [`FileTail::nuls`]. To append a record, move the torn bytes to quarantine, truncate the
/// file at `good_end`, and write a newline first if [`FileTail::newline_missing`] is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTail {
    /// Where the next record, or the newline before it, must be written.
    pub good_end: u64,
    /// Whether the last line before `good_end` has content and no newline.
    pub newline_missing: bool,
    /// The rest of an incomplete record; it starts at `good_end`.
    pub torn: Option<TornTail>,
    /// NUL bytes up to the end of the file, as left by a power cut.
    pub nuls: Option<ByteSpan>,
}

impl FileTail {
    /// Examines the end of `source`: its last byte, or its last line.
    pub fn examine(source: &(impl ByteSource + ?Sized)) -> io::Result<FileTail> {
        let length = source.len()?;
        // Before most appends the file ends in a newline, and a larger read would be a waste.
        if let Some(last) = length.checked_sub(1) {
            let last = SourceWindow::new(source, 1).read_last(last, length)?.to_vec();
            if last == b"\n" {
                return Ok(FileTail::clean(length));
            }
        }
        FileTail::from_window(&mut SourceWindow::new(source, DEFAULT_CHUNK))
    }

    /// Whether the next record can be written at the end of the file as it is.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.newline_missing && self.torn.is_none() && self.nuls.is_none()
    }

    fn clean(length: u64) -> FileTail {
        FileTail { good_end: length, newline_missing: false, torn: None, nuls: None }
    }

    /// The tail of the window's source, with its present length.
    pub(super) fn from_window(window: &mut SourceWindow<impl ByteSource>) -> io::Result<FileTail> {
        let length = window.source_len()?;
        let content_end = window.trim_nuls(0, length)?;
        let line = window.line_start(0, content_end)?;
        let mut events = LineEvents::new(line, content_end);
        let mut occupied = false;
        let mut last = None;
        while let Some(event) = events.next(window)? {
            occupied |= last.is_some();
            last = Some(event);
        }
        let mut tail = FileTail::clean(content_end);
        match last {
            // Bad content extends to the end of its piece, and nothing follows this one.
            Some(LineEvent { start, end, content: EventContent::Bad(bad), .. }) => {
                tail.torn =
                    Some(TornTail { span: ByteSpan { offset: start, length: end - start }, bad });
                tail.good_end = start;
            }
            last => occupied |= last.is_some(),
        }
        tail.newline_missing = occupied;
        if content_end < length {
            tail.nuls = Some(ByteSpan { offset: content_end, length: length - content_end });
        }
        Ok(tail)
    }
}
