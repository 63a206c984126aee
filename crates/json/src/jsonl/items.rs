//! Converts events to the items of a scan, and counts them.

use std::io;

use super::events::{EventContent, LineEvent};
use super::source::{ByteSource, SourceWindow};
use super::tail::{ByteSpan, FileTail, TornTail};
use super::{JsonlRecord, RecordText, ScanItem};
use crate::finding::{Finding, FindingCode};
use crate::names::FilePath;

/// The counts of a scan so far.
///
/// After a complete scan, `record_bytes + reported_bytes + blank_bytes` is the length of the range: no byte is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanSummary {
    /// The number of records.
    pub records: u64,
    /// The number of findings.
    pub findings: u64,
    /// The number of bytes in records.
    pub record_bytes: u64,
    /// The number of bytes that findings report as not being records.
    pub reported_bytes: u64,
    /// The number of bytes of white space around records, newlines, and a byte order mark.
    pub blank_bytes: u64,
}

/// One or two items, in file order.
pub(super) type ItemPair = [Option<ScanItem>; 2];

/// Builds items from events.
#[derive(Debug)]
pub(super) struct ItemBuilder {
    file: FilePath,
    largest_text: u64,
    pub(super) tail: FileTail,
    pub(super) summary: ScanSummary,
}

impl ItemBuilder {
    pub(super) fn new(file: FilePath, largest_text: u64, tail: FileTail) -> ItemBuilder {
        ItemBuilder { file, largest_text, tail, summary: ScanSummary::default() }
    }

    /// The items for `event` on `line`.
    pub(super) fn event_items(
        &mut self,
        event: &LineEvent,
        line: Option<u64>,
        window: &SourceWindow<impl ByteSource>,
    ) -> io::Result<ItemPair> {
        let LineEvent { start, end, .. } = *event;
        let span = ByteSpan { offset: start, length: end - start };
        Ok(match event.content {
            EventContent::Value { glued, not_utf8 } => {
                let glue = glued.then(|| {
                    let message = "this value follows another one on the same line";
                    self.finding(line, start, FindingCode::GluedRecords, message.to_owned())
                });
                let value = match not_utf8 {
                    Some(at) => {
                        let message =
                            format!("a record of {} bytes is not UTF-8 at byte {at}", span.length);
                        self.report_bytes(line, span, FindingCode::NotUtf8, message)
                    }
                    None => self.record(line, span, window)?,
                };
                [glue, Some(value)]
            }
            EventContent::Bad(bad) => {
                let message = format!("not JSON: {bad}");
                [Some(self.report_bytes(line, span, FindingCode::BadLine, message)), None]
            }
            EventContent::Nuls => {
                let message = format!("not JSON: NUL bytes ({} B)", span.length);
                [Some(self.report_bytes(line, span, FindingCode::BadLine, message)), None]
            }
        })
    }

    /// The findings about the end of the file, whose last line is `line`.
    pub(super) fn tail_items(&mut self, line: Option<u64>) -> ItemPair {
        let FileTail { torn, nuls, .. } = self.tail;
        let torn = torn.map(|torn| {
            let TornTail { span, bad } = torn;
            let message =
                format!("the file does not end with a whole record ({} B): {bad}", span.length);
            self.report_bytes(line, torn.span, FindingCode::TornTail, message)
        });
        let nuls = nuls.map(|span| {
            let message = format!("the file ends in NUL bytes ({} B)", span.length);
            self.report_bytes(line, span, FindingCode::NulTail, message)
        });
        [torn, nuls]
    }

    fn record(
        &mut self,
        line: Option<u64>,
        span: ByteSpan,
        window: &SourceWindow<impl ByteSource>,
    ) -> io::Result<ScanItem> {
        let text = if span.length > self.largest_text {
            RecordText::Large
        } else {
            let bytes = window.read_whole(span.offset, span.offset + span.length)?;
            // The bytes were checked when they were scanned, but may have been read again since.
            let changed = |_| {
                let message =
                    format!("the file was changed while it was read, at byte {}", span.offset);
                io::Error::new(io::ErrorKind::InvalidData, message)
            };
            RecordText::Whole(String::from_utf8(bytes).map_err(changed)?)
        };
        self.summary.records += 1;
        self.summary.record_bytes += span.length;
        Ok(ScanItem::Record(JsonlRecord { line, offset: span.offset, length: span.length, text }))
    }

    fn report_bytes(
        &mut self,
        line: Option<u64>,
        span: ByteSpan,
        code: FindingCode,
        message: String,
    ) -> ScanItem {
        self.summary.reported_bytes += span.length;
        self.finding(line, span.offset, code, message)
    }

    fn finding(
        &mut self,
        line: Option<u64>,
        offset: u64,
        code: FindingCode,
        message: String,
    ) -> ScanItem {
        self.summary.findings += 1;
        ScanItem::Finding(Finding::new(&self.file, code, message).at_line(line).at_offset(offset))
    }
}
