//! Reads the lines of a session's logs, damaged or not: [`RecordLog`] yields a [`LogItem`] per row or finding.

use std::ops::Range;
use std::sync::Arc;

use super::error::GameError;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json;
use everturn_json::jsonl::{ForwardScan, JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::tree::TextSlice;

/// Files up to this size are read whole; larger ones are streamed.
const WHOLE: u64 = 16 << 20;

/// A line of a log that may be a record.
#[derive(Debug, Clone)]
pub(crate) struct LogLine {
    pub(crate) slice: TextSlice,
    /// Counted from 1.
    pub(crate) line: u64,
    pub(crate) offset: u64,
}

/// An item of a log.
pub(crate) enum LogItem<R> {
    Row(R, LogLine),
    Finding(Finding),
}

/// Reads the rows of one file; anything else becomes a finding.
pub(crate) struct RecordLog<R> {
    file: FilePath,
    content: LogSource,
    parse: fn(&TextSlice) -> Result<R, String>,
    /// The wanted turns, judged by the start of the line; lines that do not show their turn are always parsed.
    wanted: Range<u64>,
    /// Items found in a line that is not a single record.
    waiting: std::collections::VecDeque<LogItem<R>>,
}

enum LogSource {
    /// The whole text and the read position: the byte offset, and the lines before it.
    Whole {
        text: Arc<String>,
        at: usize,
        line: u64,
    },
    Pieces(Box<ForwardScan<StoreSource>>),
}

impl<R> RecordLog<R> {
    /// Opens a file, which must exist.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        wanted: Range<u64>,
        parse: fn(&TextSlice) -> Result<R, String>,
    ) -> Result<RecordLog<R>, GameError> {
        let bytes = store.read(file, 0..WHOLE + 1)?;
        let whole = if bytes.len() as u64 <= WHOLE { String::from_utf8(bytes).ok() } else { None };
        let content = match whole {
            Some(text) => LogSource::Whole { text: Arc::new(text), at: 0, line: 0 },
            None => {
                let source = StoreSource::open(store, file)?;
                let scan = JsonlScan::new(source, file.clone()).forward();
                LogSource::Pieces(Box::new(scan.map_err(StoreError::io("read", file))?))
            }
        };
        let waiting = std::collections::VecDeque::new();
        Ok(RecordLog { file: file.clone(), content, parse, wanted, waiting })
    }

    /// Returns the turn of the first line, if the start of the line shows it and nothing was read yet.
    pub(crate) fn first_turn(&self) -> Option<u64> {
        let LogSource::Whole { text, at: 0, .. } = &self.content else { return None };
        peek_turn(text.lines().next()?)
    }

    fn row(&self, line: LogLine) -> LogItem<R> {
        match (self.parse)(&line.slice) {
            Ok(row) => LogItem::Row(row, line),
            Err(reason) => LogItem::Finding(
                Finding::new(
                    &self.file,
                    FindingCode::BadRecord,
                    format!("invalid record: {reason}"),
                )
                .at_line(line.line)
                .at_offset(line.offset),
            ),
        }
    }

    /// Examines a line that is not a record: glued records, a torn tail, bytes that are not JSON.
    fn examine(&mut self, text: &Arc<String>, span: Range<usize>, line: u64) {
        let part = text.get(span.clone()).unwrap_or_default();
        let scan = JsonlScan::new(part.as_bytes(), self.file.clone()).forward();
        // Reading from memory cannot fail.
        let Ok(scan) = scan else { return };
        for item in scan.flatten() {
            let piece = match item {
                ScanItem::Record(record) => {
                    let start = span.start + usize::try_from(record.offset).unwrap_or_default();
                    let length = usize::try_from(record.length).unwrap_or_default();
                    let slice = TextSlice::new(Arc::clone(text), start..start + length);
                    self.row(LogLine { slice, line, offset: start as u64 })
                }
                ScanItem::Finding(finding) => {
                    let offset = finding.offset.map(|offset| offset + span.start as u64);
                    LogItem::Finding(finding.at_line(line).at_offset(offset))
                }
            };
            self.waiting.push_back(piece);
        }
    }

    fn next_whole(&mut self) -> Option<LogItem<R>> {
        loop {
            let LogSource::Whole { text, at, line } = &mut self.content else { return None };
            let start = *at;
            let rest = text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
            let length = json::find_byte(rest, |byte| byte == b'\n');
            *at = start + length + 1;
            *line += 1;
            let (text, line) = (Arc::clone(text), *line);
            let trimmed = text.get(start..start + length).unwrap_or_default().trim_ascii();
            if trimmed.is_empty() {
                continue;
            }
            if let Some(turn) = peek_turn(trimmed)
                && !self.wanted.contains(&turn)
                && trimmed.ends_with('}')
            {
                continue;
            }
            let offset = start
                + text
                    .get(start..start + length)
                    .map_or(0, |line| line.len() - line.trim_ascii_start().len());
            let slice = TextSlice::new(Arc::clone(&text), offset..offset + trimmed.len());
            if let Ok(row) = (self.parse)(&slice) {
                return Some(LogItem::Row(row, LogLine { slice, line, offset: offset as u64 }));
            }
            let end = (start + length + 1).min(text.len());
            self.examine(&text, start..end, line);
            if let Some(piece) = self.waiting.pop_front() {
                return Some(piece);
            }
        }
    }
}

impl<R> Iterator for RecordLog<R> {
    type Item = Result<LogItem<R>, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(piece) = self.waiting.pop_front() {
            return Some(Ok(piece));
        }
        let LogSource::Pieces(scan) = &mut self.content else { return self.next_whole().map(Ok) };
        loop {
            let record = match scan.next()? {
                Err(error) => return Some(Err(StoreError::io("read", &self.file)(error).into())),
                Ok(ScanItem::Finding(finding)) => return Some(Ok(LogItem::Finding(finding))),
                Ok(ScanItem::Record(record)) => record,
            };
            let (line, offset) = (record.line.unwrap_or_default(), record.offset);
            let Some(text) = record.text() else {
                let message = format!("a record of {} bytes is too large", record.length);
                let finding = Finding::new(&self.file, FindingCode::BadRecord, message)
                    .at_line(line)
                    .at_offset(offset);
                return Some(Ok(LogItem::Finding(finding)));
            };
            if peek_turn(text).is_some_and(|turn| !self.wanted.contains(&turn)) {
                continue;
            }
            return Some(Ok(self.row(LogLine { slice: TextSlice::from_text(text), line, offset })));
        }
    }
}

/// Returns the turn of the first line of a file, if it starts like lines of Everturn.
pub(crate) fn first_turn(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<u64>, StoreError> {
    let start = store.read(file, 0..FIRST_BYTES)?;
    let text = str::from_utf8(&start).unwrap_or_else(|error| {
        start.get(..error.valid_up_to()).and_then(|good| str::from_utf8(good).ok()).unwrap_or("")
    });
    Ok(peek_turn(text))
}

/// How many bytes of a file are read for the turn of its first line.
const FIRST_BYTES: u64 = 1024;

/// Returns the turn of a line that starts like lines of Everturn, without parsing all of it.
pub(crate) fn peek_turn(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("{\"turnId\":") {
        Some(rest) => rest,
        None => {
            let id = line.strip_prefix("{\"deltaId\":\"")?;
            let end = json::find_byte(id.as_bytes(), |byte| byte == b'"' || byte == b'\\');
            id.get(end..)?.strip_prefix("\",\"turnId\":")?
        }
    };
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}
