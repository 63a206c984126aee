//! Events turned into what a scan yields, and counted.

use std::io;

use super::events::{Content, Event};
use super::source::{Source, Window};
use super::tail::{Span, Tail, Torn};
use super::{Item, Record, Text};
use crate::finding::{Code, Finding};
use crate::names::FilePath;

/// What a scan has yielded so far.
///
/// After a whole scan, `record_bytes + reported_bytes + blank_bytes` is the length of what was to be
/// read: nothing is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many records there were.
    pub records: u64,
    /// How many findings there were.
    pub findings: u64,
    /// How many bytes the records have.
    pub record_bytes: u64,
    /// How many bytes the findings report as not being records.
    pub reported_bytes: u64,
    /// How many bytes are white space around records, newlines, or a byte order mark.
    pub blank_bytes: u64,
}

/// One item or two, in the order of the file.
pub(super) type Pair = [Option<Item>; 2];

/// Makes items of events.
#[derive(Debug)]
pub(super) struct Report {
    file: FilePath,
    largest_text: u64,
    pub(super) tail: Tail,
    pub(super) summary: Summary,
}

impl Report {
    pub(super) fn new(file: FilePath, largest_text: u64, tail: Tail) -> Report {
        Report { file, largest_text, tail, summary: Summary::default() }
    }

    /// What `event`, on `line`, is to the reader.
    pub(super) fn event_items(
        &mut self,
        event: &Event,
        line: Option<u64>,
        window: &Window<impl Source>,
    ) -> io::Result<Pair> {
        let Event { start, end, .. } = *event;
        let span = Span { offset: start, length: end - start };
        Ok(match event.content {
            Content::Value { glued, not_utf8 } => {
                let glue = glued.then(|| {
                    let message = "this value follows another one on the same line";
                    self.finding(line, start, Code::GluedRecords, message.to_owned())
                });
                let value = match not_utf8 {
                    Some(at) => {
                        let message =
                            format!("a record of {} bytes is not UTF-8 at byte {at}", span.length);
                        self.reported(line, span, Code::NotUtf8, message)
                    }
                    None => self.record(line, span, window)?,
                };
                [glue, Some(value)]
            }
            Content::Bad(bad) => {
                let message = format!("not JSON: {bad}");
                [Some(self.reported(line, span, Code::BadLine, message)), None]
            }
            Content::Nuls => {
                let message = format!("not JSON: NUL bytes ({} B)", span.length);
                [Some(self.reported(line, span, Code::BadLine, message)), None]
            }
        })
    }

    /// What is wrong with the end of the file, whose last line is `line`.
    pub(super) fn tail_items(&mut self, line: Option<u64>) -> Pair {
        let Tail { torn, nuls, .. } = self.tail;
        let torn = torn.map(|torn| {
            let Torn { span, bad } = torn;
            let message =
                format!("the file does not end with a whole record ({} B): {bad}", span.length);
            self.reported(line, torn.span, Code::TornTail, message)
        });
        let nuls = nuls.map(|span| {
            let message = format!("the file ends in NUL bytes ({} B)", span.length);
            self.reported(line, span, Code::NulTail, message)
        });
        [torn, nuls]
    }

    fn record(
        &mut self,
        line: Option<u64>,
        span: Span,
        window: &Window<impl Source>,
    ) -> io::Result<Item> {
        let text = if span.length > self.largest_text {
            Text::Large
        } else {
            let bytes = window.whole(span.offset, span.offset + span.length)?;
            // The bytes were checked when they were scanned, but may have been read again since.
            let changed = |_| {
                let message =
                    format!("the file was changed while it was read, at byte {}", span.offset);
                io::Error::new(io::ErrorKind::InvalidData, message)
            };
            Text::Whole(String::from_utf8(bytes).map_err(changed)?)
        };
        self.summary.records += 1;
        self.summary.record_bytes += span.length;
        Ok(Item::Record(Record { line, offset: span.offset, length: span.length, text }))
    }

    fn reported(&mut self, line: Option<u64>, span: Span, code: Code, message: String) -> Item {
        self.summary.reported_bytes += span.length;
        self.finding(line, span.offset, code, message)
    }

    fn finding(&mut self, line: Option<u64>, offset: u64, code: Code, message: String) -> Item {
        self.summary.findings += 1;
        let file = self.file.clone();
        Item::Finding(Finding { file, line, offset: Some(offset), code, message })
    }
}
