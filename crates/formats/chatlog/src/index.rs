//! The index of a document: built by one pass over it, kept beside it, and never trusted.
//!
//! The file has one line of JSON and then lines of one to three numbers with a checksum, all of the same length per
//! kind, so that any of them can be read alone. It can be deleted at any time. Whatever is found by it is verified
//! before it is used, so a wrong index costs time and changes no result.
//!
//! `DocumentIndex` answers lookups, `IndexLines` collects the lines while it is built, and `ListFacts` describes one
//! array.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::{DocumentBytes, DocumentDigest};
use super::error::ChatError;
use super::survey::{EVERY, ListKind};
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_store::Store;

/// The version of the file format.
const VERSION: u32 = 1;

/// The length of a line of numbers: 16 digits and a space each, 4 digits of a checksum, a newline.
const BLOCK_LINE: u64 = line_length(1);
const ID_LINE: u64 = line_length(2);
const SNAPSHOT_LINE: u64 = line_length(3);

const fn line_length(numbers: u64) -> u64 {
    17 * numbers + 5
}

/// One line of numbers. The checksum includes the position of the line, so that no line passes for another.
fn line(at: u64, numbers: &[u64]) -> String {
    let digits: String = numbers.iter().map(|number| format!("{number:016x} ")).collect();
    let sum = checksum(&[&at.to_le_bytes(), digits.as_bytes()]) & 0xffff;
    format!("{digits}{sum:04x}\n")
}

/// The maximum length of the first line.
const MOST_HEADER: u64 = 1 << 20;

/// The position of an array, and of its first and last elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListFacts {
    /// The positions of its brackets.
    pub(crate) open: u64,
    pub(crate) close: u64,
    /// The number of elements.
    pub(crate) count: u64,
    /// The start of the first element, and the start and the end of the last one.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) end: u64,
    /// The end of the last element but one.
    pub(crate) before: u64,
}

impl ListFacts {
    pub(crate) fn new(open: u64) -> ListFacts {
        let start = open + 1;
        ListFacts {
            open,
            close: start,
            count: 0,
            first: start,
            last: start,
            end: start,
            before: start,
        }
    }

    pub(crate) fn add(&mut self, span: &Range<u64>) {
        if self.count == 0 {
            self.first = span.start;
        }
        self.before = self.end;
        (self.last, self.end) = (span.start, span.end);
        self.count += 1;
    }
}

/// The checksum under which an id is indexed.
pub(crate) fn id_hash(id: &str) -> u64 {
    checksum(&[id.as_bytes()])
}

/// The id of an element, and its place. Sorted by list, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdRow {
    list: u8,
    hash: u64,
    place: u64,
}

impl IdRow {
    pub(crate) fn new(list: ListKind, hash: u64, place: u64) -> IdRow {
        IdRow { list: IdRow::kind_of(list), hash, place }
    }

    pub(crate) fn kind_of(list: ListKind) -> u8 {
        u8::from(list == ListKind::Snapshots)
    }

    pub(crate) fn kind(&self) -> u8 {
        self.list
    }
}

/// A snapshot of a tool: the message it follows, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SnapshotPosition {
    pub(crate) message: u64,
    /// Its place among all snapshots.
    pub(crate) place: u64,
    pub(crate) offset: u64,
}

/// The lines of an index that is being built.
pub(crate) struct IndexLines {
    ids: Vec<IdRow>,
    snapshots: Vec<(u64, SnapshotPosition)>,
}

impl IndexLines {
    /// Expects sorted ids.
    pub(crate) fn new(ids: Vec<IdRow>) -> IndexLines {
        IndexLines { ids, snapshots: Vec::new() }
    }

    /// The first place of an id in a list.
    pub(crate) fn first(&self, list: ListKind, hash: u64) -> Option<u64> {
        let from = IdRow { list: IdRow::kind_of(list), hash, place: 0 };
        let at = self.ids.partition_point(|row| *row < from);
        let row = self.ids.get(at)?;
        (row.list == from.list && row.hash == hash).then_some(row.place)
    }

    pub(crate) fn snapshot(&mut self, tool: u64, message: u64, place: u64, offset: u64) {
        self.snapshots.push((tool, SnapshotPosition { message, place, offset }));
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexedTool {
    id: String,
    /// The number of its snapshots.
    count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexHeader {
    version: u32,
    /// The digest of the indexed document.
    bytes: u64,
    sum: String,
    messages: Option<ListFacts>,
    tool_snapshots: Option<ListFacts>,
    /// Whether a list exists but is not an array.
    wrong: [bool; 2],
    /// The number of lines of each kind: offsets of messages, ids of messages, ids of snapshots.
    blocks: u64,
    message_ids: u64,
    snapshot_ids: u64,
    tools: Vec<IndexedTool>,
}

/// The positions of messages and snapshots in one document.
#[derive(Clone)]
pub(crate) struct DocumentIndex {
    header: IndexHeader,
    content: DocumentBytes,
    /// The offset of the first line of numbers.
    base: u64,
}

impl DocumentIndex {
    pub(crate) fn build(
        mark: DocumentDigest,
        lists: [Option<ListFacts>; 2],
        wrong: [bool; 2],
        blocks: &[u64],
        tools: Vec<String>,
        lines: IndexLines,
    ) -> Result<DocumentIndex, ChatError> {
        let IndexLines { ids, mut snapshots } = lines;
        snapshots.sort_unstable();
        let [messages, tool_snapshots] = lists;
        let message_ids = ids.iter().filter(|row| row.list == 0).count() as u64;
        let tool = |(number, id): (u64, String)| {
            let first = snapshots.partition_point(|(tool, _)| *tool < number) as u64;
            let end = snapshots.partition_point(|(tool, _)| *tool <= number) as u64;
            IndexedTool { id, count: end - first }
        };
        let tools = (0..).zip(tools).map(tool).collect();
        let header = IndexHeader {
            version: VERSION,
            bytes: mark.bytes,
            sum: format!("{:016x}", mark.sum),
            messages,
            tool_snapshots,
            wrong,
            blocks: blocks.len() as u64,
            message_ids,
            snapshot_ids: ids.len() as u64 - message_ids,
            tools,
        };
        let mut text = serde_json::to_string(&header).unwrap_or_default();
        let sum = checksum(&[text.as_bytes()]);
        text.push_str(&format!(" {sum:016x}\n"));
        let base = text.len() as u64;
        let mut add = |numbers: &[u64]| {
            let next = line(text.len() as u64 - base, numbers);
            text.push_str(&next);
        };
        for offset in blocks {
            add(&[*offset]);
        }
        for row in &ids {
            add(&[row.hash, row.place]);
        }
        for (_, SnapshotPosition { message, place, offset }) in &snapshots {
            add(&[*message, *place, *offset]);
        }
        let content = DocumentBytes::held(&FilePath::root(), text.into_bytes());
        Ok(DocumentIndex { header, content, base })
    }

    /// The index beside a document, if it belongs to this document.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        mark: DocumentDigest,
    ) -> Result<Option<DocumentIndex>, ChatError> {
        let Some(content) = DocumentBytes::open(store, file)? else { return Ok(None) };
        let mut first = Vec::new();
        let newline = loop {
            if let Some(at) = first.iter().position(|byte| *byte == b'\n') {
                break at;
            }
            let at = first.len() as u64;
            if at >= content.len() || at > MOST_HEADER {
                return Ok(None);
            }
            first.extend(content.chunk(at, 4096)?);
        };
        let line = first.get(..newline).unwrap_or_default();
        let Some((line, sum)) = line.len().checked_sub(17).map(|end| line.split_at(end)) else {
            return Ok(None);
        };
        if sum != format!(" {:016x}", checksum(&[line])).as_bytes() {
            return Ok(None);
        }
        let Ok(header) = serde_json::from_slice::<IndexHeader>(line) else { return Ok(None) };
        let index = DocumentIndex { header, content, base: newline as u64 + 1 };
        let fits = index.header.version == VERSION
            && index.header.bytes == mark.bytes
            && index.header.sum == format!("{:016x}", mark.sum)
            && index.content.len() == index.base + index.size();
        Ok(fits.then_some(index))
    }

    /// The size of all lines of numbers in bytes.
    fn size(&self) -> u64 {
        let IndexHeader { blocks, message_ids, snapshot_ids, tools, .. } = &self.header;
        let snapshots: u64 = tools.iter().map(|tool| tool.count).sum();
        let ids = message_ids.saturating_add(*snapshot_ids).saturating_mul(ID_LINE);
        let blocks = blocks.saturating_mul(BLOCK_LINE);
        blocks.saturating_add(ids).saturating_add(snapshots.saturating_mul(SNAPSHOT_LINE))
    }

    /// The index as the content of a file.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ChatError> {
        self.content.read(0..self.content.len())
    }

    pub(crate) fn mark(&self) -> Option<DocumentDigest> {
        let sum = u64::from_str_radix(&self.header.sum, 16).ok()?;
        Some(DocumentDigest { bytes: self.header.bytes, sum })
    }

    pub(crate) fn list(&self, list: ListKind) -> Option<&ListFacts> {
        match list {
            ListKind::Messages => self.header.messages.as_ref(),
            ListKind::Snapshots => self.header.tool_snapshots.as_ref(),
        }
    }

    pub(crate) fn count(&self, list: ListKind) -> u64 {
        self.list(list).map_or(0, |facts| facts.count)
    }

    /// Whether a list exists but is not an array.
    pub(crate) fn is_wrong(&self, list: ListKind) -> bool {
        let [messages, snapshots] = self.header.wrong;
        match list {
            ListKind::Messages => messages,
            ListKind::Snapshots => snapshots,
        }
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.header.tools.iter().map(|tool| tool.id.as_str())
    }

    /// An indexed message at or before a place: its place, and its offset.
    pub(crate) fn block(&self, place: u64) -> Result<(u64, u64), ChatError> {
        let block = place.saturating_sub(1) / EVERY;
        let [offset] = self.numbers(self.base + block * BLOCK_LINE)?;
        Ok((block * EVERY + 1, offset))
    }

    /// The candidate places of elements with this id.
    pub(crate) fn find(&self, list: ListKind, id: &str) -> Result<Vec<u64>, ChatError> {
        let hash = id_hash(id);
        let IndexHeader { blocks, message_ids, snapshot_ids, .. } = &self.header;
        let ids = self.base + blocks * BLOCK_LINE;
        let (start, count) = match list {
            ListKind::Messages => (ids, *message_ids),
            ListKind::Snapshots => (ids + message_ids * ID_LINE, *snapshot_ids),
        };
        let row = |at: u64| self.numbers::<2>(start + at * ID_LINE);
        let (mut low, mut high) = self.around(start, count, hash)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let [found, _] = row(middle)?;
            if found < hash { low = middle + 1 } else { high = middle }
        }
        let mut places = Vec::new();
        while low < count {
            let [found, place] = row(low)?;
            if found != hash {
                break;
            }
            places.push(place);
            low += 1;
        }
        Ok(places)
    }

    /// The rows between which an id must be. Checksums are spread evenly, so its position can be estimated, and one
    /// read of the rows around it finds it, however many there are.
    fn around(&self, start: u64, count: u64, hash: u64) -> Result<(u64, u64), ChatError> {
        const ROWS: u64 = 384;
        let guess = (u128::from(hash) * u128::from(count)) >> 64;
        let first = u64::try_from(guess).unwrap_or(0).saturating_sub(ROWS / 2);
        let last = count.min(first + ROWS);
        let bytes = self.content.read(start + first * ID_LINE..start + last * ID_LINE)?;
        let lines = bytes.chunks(usize::try_from(ID_LINE).unwrap_or(usize::MAX));
        let mut rows = Vec::new();
        for (at, bytes) in (first..).zip(lines) {
            let digits = bytes.get(..16).and_then(|digits| std::str::from_utf8(digits).ok());
            let found = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            rows.push((found.unwrap_or_default(), at));
        }
        let before = rows.partition_point(|(found, _)| *found < hash) as u64;
        let after = rows.partition_point(|(found, _)| *found <= hash) as u64;
        let inside = (first == 0 || before > 0) && (last == count || after < last - first);
        // The rows in question are read again, with their checksums.
        Ok(if inside { (first + before.saturating_sub(1), first + before) } else { (0, count) })
    }

    /// The snapshots of a tool at or before a message, newest first.
    pub(crate) fn snapshots(
        &self,
        tool: &str,
        message: u64,
    ) -> Result<impl Iterator<Item = Result<SnapshotPosition, ChatError>> + '_, ChatError> {
        let mut first = 0;
        let mut range = (0, 0);
        for known in &self.header.tools {
            if known.id == tool {
                range = (first, first + known.count);
            }
            first += known.count;
        }
        let IndexHeader { blocks, message_ids, snapshot_ids, .. } = &self.header;
        let start = self.base + blocks * BLOCK_LINE + (message_ids + snapshot_ids) * ID_LINE;
        let row = move |at: u64| {
            let [message, place, offset] = self.numbers(start + at * SNAPSHOT_LINE)?;
            Ok::<SnapshotPosition, ChatError>(SnapshotPosition { message, place, offset })
        };
        let (mut low, mut high) = range;
        while low < high {
            let middle = low + (high - low) / 2;
            if row(middle)?.message <= message { low = middle + 1 } else { high = middle }
        }
        Ok((range.0..low).rev().map(row))
    }

    /// The snapshots of all tools after these messages, in document order.
    pub(crate) fn snapshots_between(
        &self,
        messages: RangeInclusive<u64>,
    ) -> Result<Vec<SnapshotPosition>, ChatError> {
        let mut found = Vec::new();
        for tool in self.tools() {
            for place in self.snapshots(tool, *messages.end())? {
                let place = place?;
                if place.message < *messages.start() {
                    break;
                }
                found.push(place);
            }
        }
        found.sort_unstable_by_key(|place| place.place);
        Ok(found)
    }

    /// The numbers of one line.
    fn numbers<const N: usize>(&self, at: u64) -> Result<[u64; N], ChatError> {
        let bytes = self.content.read(at..at + line_length(N as u64))?;
        let mut numbers = [0; N];
        for (number, digits) in numbers.iter_mut().zip(bytes.chunks(17)) {
            let digits = digits.get(..16).and_then(|digits| std::str::from_utf8(digits).ok());
            let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            *number = value.unwrap_or_default();
        }
        if line(at - self.base, &numbers).as_bytes() != bytes {
            return Err(ChatError::damaged(
                self.content.file(),
                format!("no numbers at byte {at}"),
            ));
        }
        Ok(numbers)
    }
}
