//! [`Record`] and [`LogOp`]: the records of the write-ahead log and their encoding.
//!
//! A record is a head of [`HEAD`] bytes and a body. Each record's checksum covers the checksum of the record before, so
//! that a record counts only at the position it was written for.

use super::fingerprint::Fingerprint;
use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;

/// The size of a record's head: length, kind, link to the record before, checksum.
pub(super) const HEAD: usize = 24;

/// The alignment of records.
const ALIGN: usize = 8;

/// One change in the log, with everything that is needed to redo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogOp {
    /// The bytes from `at` to the end were moved to quarantine, and the file is cut there.
    Cut { file: FilePath, at: u64, was: Fingerprint },
    /// `bytes` were appended at `at`.
    Append { file: FilePath, at: u64, bytes: Vec<u8> },
    /// The content `was` is replaced with `new`.
    Replace { file: FilePath, was: Option<Fingerprint>, private: bool, new: NewContent },
    /// `from` is renamed to `to`, which did not exist.
    Rename { from: FilePath, to: FilePath },
    /// `path`, which held this content, is removed.
    Remove { path: FilePath, held: RemovedContent },
}

/// The content of a file or directory when it was removed, so that a later one of the same name is left alone.
///
/// Inode and device numbers do not identify it: they change when a file system is remounted or a root is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemovedContent {
    /// The digests of its files; see [`digest_contents`](super::digest::digest_contents).
    Files(Vec<u64>),
    /// Unknown: other steps of the same batch change it.
    Unknown,
    /// The inode number and creation time, in logs of version 2 and older.
    Inode { number: u64, born: u64 },
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewContent {
    /// The bytes themselves.
    Bytes(Vec<u8>),
    /// The content of a staged file.
    Staged(StagedContent),
}

impl NewContent {
    pub(super) fn fingerprint(&self) -> Fingerprint {
        match self {
            NewContent::Bytes(bytes) => Fingerprint::of(bytes),
            NewContent::Staged(staged) => staged.fingerprint,
        }
    }
}

/// A staged content, by the number in the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StagedContent {
    pub(super) number: u64,
    pub(super) fingerprint: Fingerprint,
}

impl LogOp {
    /// Returns the names that this touches.
    pub(super) fn paths(&self) -> impl Iterator<Item = &FilePath> {
        let (first, second) = match self {
            LogOp::Cut { file, .. } | LogOp::Append { file, .. } | LogOp::Replace { file, .. } => {
                (file, None)
            }
            LogOp::Remove { path, .. } => (path, None),
            LogOp::Rename { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }

    /// Returns an upper bound of its size in a record.
    pub(super) fn max_size(&self) -> u64 {
        const FIELDS: u64 = 64;
        let len = |path: &FilePath| path.as_str().len() as u64;
        FIELDS
            + match self {
                LogOp::Cut { file, .. } => len(file),
                LogOp::Append { file, bytes, .. }
                | LogOp::Replace { file, new: NewContent::Bytes(bytes), .. } => {
                    len(file) + bytes.len() as u64
                }
                LogOp::Replace { file, new: NewContent::Staged(_), .. } => len(file),
                LogOp::Rename { from, to } => len(from) + len(to),
                LogOp::Remove { path, held: RemovedContent::Files(sums) } => {
                    len(path) + 8 * sums.len() as u64
                }
                LogOp::Remove { path, .. } => len(path),
            }
    }
}

/// One record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    /// A commit with all its operations.
    Batch(Vec<LogOp>),
    /// The batch at this index among the records of the epoch was undone.
    Abort(u64),
    /// All earlier changes of these names, and of names below them, are flushed.
    Barrier(Vec<FilePath>),
}

impl Record {
    /// Returns an upper bound of its size in the log.
    pub(super) fn size_at_most(&self) -> u64 {
        const FIELDS: u64 = 64;
        FIELDS
            + match self {
                Record::Batch(ops) => ops.iter().map(LogOp::max_size).sum(),
                Record::Abort(_) => 0,
                Record::Barrier(paths) => {
                    paths.iter().map(|path| 8 + path.as_str().len() as u64).sum()
                }
            }
    }
}

struct RecordEncoder(Vec<u8>);

impl RecordEncoder {
    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn path(&mut self, path: &FilePath) {
        self.bytes(path.as_str().as_bytes());
    }

    fn fingerprint(&mut self, print: Fingerprint) {
        self.number(print.len);
        self.number(print.sum);
    }

    fn op(&mut self, op: &LogOp) {
        match op {
            LogOp::Cut { file, at, was } => {
                self.byte(1);
                self.path(file);
                self.number(*at);
                self.fingerprint(*was);
            }
            LogOp::Append { file, at, bytes } => {
                self.byte(2);
                self.path(file);
                self.number(*at);
                self.bytes(bytes);
            }
            LogOp::Replace { file, was, private, new } => {
                self.byte(if matches!(new, NewContent::Bytes(_)) { 3 } else { 6 });
                self.path(file);
                self.byte(u8::from(*private) | (u8::from(was.is_some()) << 1));
                was.iter().for_each(|was| self.fingerprint(*was));
                match new {
                    NewContent::Bytes(bytes) => self.bytes(bytes),
                    NewContent::Staged(StagedContent { number, fingerprint: print }) => {
                        self.number(*number);
                        self.fingerprint(*print);
                    }
                }
            }
            LogOp::Rename { from, to } => {
                self.byte(4);
                self.path(from);
                self.path(to);
            }
            LogOp::Remove { path, held } => {
                self.byte(if matches!(held, RemovedContent::Inode { .. }) { 5 } else { 7 });
                self.path(path);
                match held {
                    // Device 0: no device has that number.
                    RemovedContent::Inode { number, born } => {
                        [0, *number, *born].into_iter().for_each(|field| self.number(field));
                    }
                    RemovedContent::Files(sums) => {
                        self.number(sums.len() as u64 + 1);
                        sums.iter().for_each(|sum| self.number(*sum));
                    }
                    RemovedContent::Unknown => self.number(0),
                }
            }
        }
    }
}

struct RecordDecoder<'a>(&'a [u8]);

impl RecordDecoder<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = usize::try_from(self.number()?).ok()?;
        Some(self.take(len)?.to_vec())
    }

    fn path(&mut self) -> Option<FilePath> {
        FilePath::parse(std::str::from_utf8(&self.bytes()?).ok()?).ok()
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        Some(Fingerprint { len: self.number()?, sum: self.number()? })
    }

    fn op(&mut self) -> Option<LogOp> {
        Some(match self.byte()? {
            1 => LogOp::Cut { file: self.path()?, at: self.number()?, was: self.fingerprint()? },
            2 => LogOp::Append { file: self.path()?, at: self.number()?, bytes: self.bytes()? },
            tag @ (3 | 6) => {
                let file = self.path()?;
                let flags = self.byte()?;
                let was = if flags & 2 != 0 { Some(self.fingerprint()?) } else { None };
                let new = if tag == 3 {
                    NewContent::Bytes(self.bytes()?)
                } else {
                    let (number, print) = (self.number()?, self.fingerprint()?);
                    NewContent::Staged(StagedContent { number, fingerprint: print })
                };
                LogOp::Replace { file, was, private: flags & 1 != 0, new }
            }
            4 => LogOp::Rename { from: self.path()?, to: self.path()? },
            5 => {
                let (path, _device) = (self.path()?, self.number()?);
                let held = RemovedContent::Inode { number: self.number()?, born: self.number()? };
                LogOp::Remove { path, held }
            }
            7 => {
                let path = self.path()?;
                let held = match self.number()?.checked_sub(1) {
                    None => RemovedContent::Unknown,
                    Some(count) => {
                        let count = usize::try_from(count).ok()?;
                        let sums = self.take(count.checked_mul(8)?)?.chunks_exact(8);
                        let sum = |field: &[u8]| Some(u64::from_le_bytes(field.try_into().ok()?));
                        RemovedContent::Files(sums.map(sum).collect::<Option<_>>()?)
                    }
                };
                LogOp::Remove { path, held }
            }
            _ => return None,
        })
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        self.0.is_empty().then_some(items)
    }
}

impl Record {
    fn kind(&self) -> u32 {
        match self {
            Record::Batch(_) => 1,
            Record::Abort(_) => 2,
            Record::Barrier(_) => 3,
        }
    }

    /// Appends the record to `out`, linked to the checksum of the record before; returns its own checksum.
    pub(super) fn encode(&self, link: u64, out: &mut Vec<u8>) -> u64 {
        let start = out.len();
        let mut encoder = RecordEncoder(std::mem::take(out));
        encoder.0.resize(start + HEAD, 0);
        match self {
            Record::Batch(ops) => {
                encoder.number(ops.len() as u64);
                ops.iter().for_each(|op| encoder.op(op));
            }
            Record::Abort(index) => encoder.number(*index),
            Record::Barrier(paths) => {
                encoder.number(paths.len() as u64);
                paths.iter().for_each(|path| encoder.path(path));
            }
        }
        *out = encoder.0;
        let (head, body) = out.split_at_mut(start).1.split_at_mut(HEAD);
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let (fields, sum_field) = head.split_at_mut(HEAD - 8);
        let (len_field, rest) = fields.split_at_mut(4);
        let (kind_field, link_field) = rest.split_at_mut(4);
        len_field.copy_from_slice(&len.to_le_bytes());
        kind_field.copy_from_slice(&self.kind().to_le_bytes());
        link_field.copy_from_slice(&link.to_le_bytes());
        let sum = checksum(&[fields, body]);
        sum_field.copy_from_slice(&sum.to_le_bytes());
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        sum
    }
}

/// Decodes the record at the start of `bytes`, if it is valid and linked to `link`.
///
/// Returns it with its checksum and its size in bytes.
pub(super) fn decode_record(bytes: &[u8], link: u64) -> Option<(Record, u64, usize)> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let mut fields = RecordDecoder(head);
    let len = u32::from_le_bytes(fields.take(4)?.try_into().ok()?) as usize;
    let kind = u32::from_le_bytes(fields.take(4)?.try_into().ok()?);
    let (found_link, sum) = (fields.number()?, fields.number()?);
    let body = rest.get(..len)?;
    if found_link != link || sum != checksum(&[head.get(..HEAD - 8)?, body]) {
        return None;
    }
    let mut decoder = RecordDecoder(body);
    let record = match kind {
        1 => Record::Batch(decoder.list(RecordDecoder::op)?),
        2 => Record::Abort(decoder.number()?),
        3 => Record::Barrier(decoder.list(RecordDecoder::path)?),
        _ => return None,
    };
    Some((record, sum, (HEAD + len).next_multiple_of(ALIGN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).unwrap()
    }

    fn samples() -> Vec<Record> {
        let was = Fingerprint::of(b"old");
        let bytes = |bytes: &[u8]| NewContent::Bytes(bytes.to_vec());
        let staged = NewContent::Staged(StagedContent { number: 7, fingerprint: was });
        vec![
            Record::Batch(vec![
                LogOp::Cut { file: path("a.jsonl"), at: 3, was },
                LogOp::Append { file: path("a.jsonl"), at: 3, bytes: b"{}\n".to_vec() },
                LogOp::Replace {
                    file: path("s"),
                    was: Some(was),
                    private: true,
                    new: bytes(&[0, 255]),
                },
                LogOp::Replace { file: path("s"), was: None, private: false, new: bytes(&[]) },
                LogOp::Replace {
                    file: path("s"),
                    was: Some(was),
                    private: true,
                    new: staged.clone(),
                },
                LogOp::Replace { file: path("s"), was: None, private: false, new: staged },
                LogOp::Rename { from: path("x/y"), to: path("z") },
                LogOp::Remove {
                    path: path("ü/日本"), held: RemovedContent::Files(vec![1, 2, 3])
                },
                LogOp::Remove { path: path("x"), held: RemovedContent::Unknown },
                LogOp::Remove {
                    path: path("x"),
                    held: RemovedContent::Inode { number: 2, born: 3 },
                },
            ]),
            Record::Abort(7),
            Record::Barrier(vec![path("a"), FilePath::root()]),
            Record::Batch(vec![]),
        ]
    }

    #[test]
    fn records_read_back_as_they_were_written() {
        let (mut bytes, mut link) = (Vec::new(), 42);
        for record in samples() {
            link = record.encode(link, &mut bytes);
        }
        let (mut rest, mut link) = (&bytes[..], 42);
        for expected in samples() {
            let (record, sum, len) = decode_record(rest, link).unwrap();
            assert_eq!(record, expected);
            (rest, link) = (&rest[len..], sum);
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn no_operation_takes_more_room_than_it_says() {
        let Record::Batch(ops) = &samples()[0] else { unreachable!() };
        for op in ops {
            let (mut one, mut none) = (Vec::new(), Vec::new());
            Record::Batch(vec![op.clone()]).encode(0, &mut one);
            Record::Batch(vec![]).encode(0, &mut none);
            assert!((one.len() - none.len()) as u64 <= op.max_size(), "{op:?}");
        }
    }

    #[test]
    fn no_record_takes_more_room_than_it_says() {
        for record in samples() {
            let mut bytes = Vec::new();
            record.encode(0, &mut bytes);
            assert!(bytes.len() as u64 <= record.size_at_most(), "{record:?}");
        }
    }

    #[test]
    fn a_record_counts_only_after_the_one_it_was_written_for() {
        let mut bytes = Vec::new();
        Record::Abort(1).encode(42, &mut bytes);
        assert!(decode_record(&bytes, 42).is_some());
        assert!(decode_record(&bytes, 43).is_none());
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let mut bytes = Vec::new();
        samples()[0].encode(42, &mut bytes);
        let len = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize + HEAD;
        for bit in 0..len * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_record(&bad, 42).is_none(), "bit {bit}");
        }
        for cut in 0..len {
            assert!(decode_record(&bytes[..cut], 42).is_none(), "cut at {cut}");
        }
    }
}
