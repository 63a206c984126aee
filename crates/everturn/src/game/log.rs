//! The lines of a session's logs, read whatever state they are in.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::error::GameError;
use crate::finding::{Code, Finding};
use crate::json;
use crate::lines::{Forward, Item, Scan, Source};
use crate::names::FilePath;
use crate::store::{Store, StoreError};
use crate::tree::Slice;

/// Files up to this size are read whole; larger ones in pieces.
const WHOLE: u64 = 16 << 20;

/// A line of a log that may be a record.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) slice: Slice,
    /// Counted from 1.
    pub(crate) line: u64,
    pub(crate) offset: u64,
}

/// What reading a log yields.
pub(crate) enum Piece<R> {
    Row(R, Line),
    Finding(Finding),
}

/// A file of a store, read in pieces.
pub(crate) struct StoreSource {
    store: Arc<dyn Store>,
    file: FilePath,
    len: u64,
}

impl StoreSource {
    pub(crate) fn open(store: &Arc<dyn Store>, file: &FilePath) -> Result<StoreSource, StoreError> {
        let stat = store.stat(file)?.ok_or_else(|| StoreError::Missing { path: file.clone() })?;
        Ok(StoreSource { store: Arc::clone(store), file: file.clone(), len: stat.len })
    }

    /// The whole content.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        self.store.read(&self.file, 0..self.len).map_err(io::Error::other)
    }
}

impl Source for StoreSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let end = offset.saturating_add(buf.len() as u64).min(self.len);
        let bytes = self.store.read(&self.file, offset..end).map_err(io::Error::other)?;
        let count = bytes.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Reads the rows of one file; what is no row becomes a finding.
pub(crate) struct Rows<R> {
    file: FilePath,
    content: Content,
    parse: fn(&Slice) -> Result<R, String>,
    /// Which turns are wanted, by a glance at the line; lines that do not show theirs are always read.
    wanted: Range<u64>,
    /// What a line that is no single record turned out to be.
    waiting: std::collections::VecDeque<Piece<R>>,
}

enum Content {
    /// All of it, and how far it was read: the byte, and lines before it.
    Whole {
        text: Arc<String>,
        at: usize,
        line: u64,
    },
    Pieces(Box<Forward<StoreSource>>),
}

impl<R> Rows<R> {
    /// Begins to read a file that must be there.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        wanted: Range<u64>,
        parse: fn(&Slice) -> Result<R, String>,
    ) -> Result<Rows<R>, GameError> {
        let bytes = store.read(file, 0..WHOLE + 1)?;
        let whole = if bytes.len() as u64 <= WHOLE { String::from_utf8(bytes).ok() } else { None };
        let content = match whole {
            Some(text) => Content::Whole { text: Arc::new(text), at: 0, line: 0 },
            None => {
                let source = StoreSource::open(store, file)?;
                let scan = Scan::new(source, file.clone()).forward();
                Content::Pieces(Box::new(scan.map_err(StoreError::io("read", file))?))
            }
        };
        let waiting = std::collections::VecDeque::new();
        Ok(Rows { file: file.clone(), content, parse, wanted, waiting })
    }

    /// The turn of the first line, if that shows at a glance and nothing was read yet.
    pub(crate) fn first_turn(&self) -> Option<u64> {
        let Content::Whole { text, at: 0, .. } = &self.content else { return None };
        glance(text.lines().next()?)
    }

    fn row(&self, line: Line) -> Piece<R> {
        match (self.parse)(&line.slice) {
            Ok(row) => Piece::Row(row, line),
            Err(reason) => Piece::Finding(Finding {
                file: self.file.clone(),
                line: Some(line.line),
                offset: Some(line.offset),
                code: Code::BadRecord,
                message: format!("a record that does not belong here: {reason}"),
            }),
        }
    }

    /// Looks closely at a line that is no record: glued records, a torn tail, bytes that are no JSON.
    fn examine(&mut self, text: &Arc<String>, span: Range<usize>, line: u64) {
        let part = text.get(span.clone()).unwrap_or_default();
        let scan = Scan::new(part.as_bytes(), self.file.clone()).forward();
        // Reading from memory does not fail.
        let Ok(scan) = scan else { return };
        for item in scan.flatten() {
            let piece = match item {
                Item::Record(record) => {
                    let start = span.start + usize::try_from(record.offset).unwrap_or_default();
                    let length = usize::try_from(record.length).unwrap_or_default();
                    let slice = Slice::new(Arc::clone(text), start..start + length);
                    self.row(Line { slice, line, offset: start as u64 })
                }
                Item::Finding(finding) => Piece::Finding(Finding {
                    line: Some(line),
                    offset: finding.offset.map(|offset| offset + span.start as u64),
                    ..finding
                }),
            };
            self.waiting.push_back(piece);
        }
    }

    fn next_whole(&mut self) -> Option<Piece<R>> {
        loop {
            let Content::Whole { text, at, line } = &mut self.content else { return None };
            let start = *at;
            let rest = text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
            let length = json::find(rest, |byte| byte == b'\n');
            *at = start + length + 1;
            *line += 1;
            let (text, line) = (Arc::clone(text), *line);
            let trimmed = text.get(start..start + length).unwrap_or_default().trim_ascii();
            if trimmed.is_empty() {
                continue;
            }
            if let Some(turn) = glance(trimmed)
                && !self.wanted.contains(&turn)
                && trimmed.ends_with('}')
            {
                continue;
            }
            let offset = start
                + text
                    .get(start..start + length)
                    .map_or(0, |line| line.len() - line.trim_ascii_start().len());
            let slice = Slice::new(Arc::clone(&text), offset..offset + trimmed.len());
            if let Ok(row) = (self.parse)(&slice) {
                return Some(Piece::Row(row, Line { slice, line, offset: offset as u64 }));
            }
            let end = (start + length + 1).min(text.len());
            self.examine(&text, start..end, line);
            if let Some(piece) = self.waiting.pop_front() {
                return Some(piece);
            }
        }
    }
}

impl<R> Iterator for Rows<R> {
    type Item = Result<Piece<R>, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(piece) = self.waiting.pop_front() {
            return Some(Ok(piece));
        }
        let Content::Pieces(scan) = &mut self.content else { return self.next_whole().map(Ok) };
        loop {
            let record = match scan.next()? {
                Err(error) => return Some(Err(StoreError::io("read", &self.file)(error).into())),
                Ok(Item::Finding(finding)) => return Some(Ok(Piece::Finding(finding))),
                Ok(Item::Record(record)) => record,
            };
            let (line, offset) = (record.line.unwrap_or_default(), record.offset);
            let Some(text) = record.text() else {
                let message =
                    format!("a record of {} bytes is too large to be used", record.length);
                let (file, code) = (self.file.clone(), Code::BadRecord);
                let finding =
                    Finding { file, line: Some(line), offset: Some(offset), code, message };
                return Some(Ok(Piece::Finding(finding)));
            };
            if glance(text).is_some_and(|turn| !self.wanted.contains(&turn)) {
                continue;
            }
            return Some(Ok(self.row(Line { slice: Slice::whole(text), line, offset })));
        }
    }
}

/// The turn of the first line of a file, if it begins as ours do.
pub(crate) fn first_turn(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<u64>, StoreError> {
    let start = store.read(file, 0..FIRST_BYTES)?;
    let text = str::from_utf8(&start).unwrap_or_else(|error| {
        start.get(..error.valid_up_to()).and_then(|good| str::from_utf8(good).ok()).unwrap_or("")
    });
    Ok(glance(text))
}

/// How much of a file tells the turn of its first line.
const FIRST_BYTES: u64 = 1024;

/// The turn of a line that begins as ours do, without reading all of it.
pub(crate) fn glance(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("{\"turnId\":") {
        Some(rest) => rest,
        None => {
            let id = line.strip_prefix("{\"deltaId\":\"")?;
            let end = json::find(id.as_bytes(), |byte| byte == b'"' || byte == b'\\');
            id.get(end..)?.strip_prefix("\",\"turnId\":")?
        }
    };
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}
