//! [`Plan`]: the changes of rows that a batch amounts to. Pure, except for the contents that it asks for.

use everturn_json::checksum::checksum;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::FileTail;
use everturn_json::names::FilePath;
use everturn_store::{
    AppendAt, CommitReceipt, FileMode, Fingerprint, Precondition, Step, StoreError,
    check_append_offset, quarantine_dir,
};

use crate::entries::{Content, Entries, Entry, PIECE_BYTES};
use crate::error::Failure;

/// The number of appended pieces that are merged into larger ones.
const MERGE_PIECES: i32 = 64;

/// The most contents that one batch may create, because their IDs share the number of the change.
const MOST_CONTENTS: i64 = 1 << 20;

/// A new row of the table `pieces`.
pub(crate) struct Piece {
    pub(crate) content: i64,
    pub(crate) start: i64,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the present content of a file.
pub(crate) type ReadContent<'a> = dyn FnMut(&FilePath) -> Result<Vec<u8>, Failure> + 'a;

/// The entries that a batch touches, before and after it, and the pieces that it adds.
pub(crate) struct Plan {
    pub(crate) before: Entries,
    pub(crate) after: Entries,
    pub(crate) pieces: Vec<Piece>,
    /// Contents whose pieces from an offset on are to be merged after this batch.
    pub(crate) merges: Vec<(i64, i64)>,
    pub(crate) receipt: CommitReceipt,
    pub(crate) number: i64,
    created: i64,
}

impl Plan {
    /// Starts a plan for the change with this number on the entries that it touches.
    pub(crate) fn new(before: Entries, number: i64) -> Plan {
        let after = before.clone();
        let (pieces, merges, receipt) = (Vec::new(), Vec::new(), CommitReceipt::default());
        Plan { before, after, pieces, merges, receipt, number, created: 0 }
    }

    pub(crate) fn apply(&mut self, step: &Step, read: &mut ReadContent<'_>) -> Result<(), Failure> {
        match step {
            Step::Append { file, at, lines } => self.append(file, *at, lines, read),
            Step::Replace { file, expect, bytes, mode } => {
                self.check_expectation(file, *expect, read)?;
                self.replace(file, bytes, *mode)
            }
            Step::Rename { from, to } => Ok(self.rename(from, to)?),
            Step::Remove { path } => {
                if !self.after.contains_key(path) {
                    return Err(StoreError::Missing { path: path.clone() }.into());
                }
                self.after.retain(|entry, _| !entry.is_within(path));
                Ok(())
            }
        }
    }

    fn append(
        &mut self,
        file: &FilePath,
        at: AppendAt,
        lines: &[u8],
        read: &mut ReadContent<'_>,
    ) -> Result<(), Failure> {
        self.check_name(file)?;
        let Some(content) = self.content(file).cloned() else {
            check_append_offset(file, at, 0, 0)?;
            self.receipt.appended.push(0);
            return self.replace(file, lines, FileMode::Default);
        };
        let len = content.len.unsigned_abs();
        if content.open_tail {
            let bytes = read(file)?;
            let tail = FileTail::examine(&bytes).map_err(StoreError::io("read", file))?;
            check_append_offset(file, at, tail.good_end, len)?;
            let (good, rest) =
                bytes.split_at(usize::try_from(tail.good_end).unwrap_or(0).min(bytes.len()));
            let mut good = good.to_vec();
            if !rest.is_empty() {
                self.quarantine(file, tail.good_end, rest)?;
            }
            if tail.newline_missing {
                good.push(b'\n');
            }
            self.receipt.appended.push(good.len() as u64);
            good.extend_from_slice(lines);
            return self.replace(file, &good, FileMode::Default);
        }
        check_append_offset(file, at, len, len)?;
        self.receipt.appended.push(len);
        let mut grown = Content { sum: None, ..content };
        let added = self.add_pieces(grown.id, grown.len, lines);
        grown.len += i64::try_from(lines.len()).unwrap_or(0);
        grown.tail_pieces += added;
        if grown.tail_pieces >= MERGE_PIECES {
            self.merges.push((grown.id, grown.tail_start));
            (grown.tail_start, grown.tail_pieces) = (grown.len, 0);
        }
        self.after.insert(file.clone(), Entry { content: Some(grown) });
        Ok(())
    }

    fn quarantine(&mut self, file: &FilePath, start: u64, bytes: &[u8]) -> Result<(), Failure> {
        let name = file.flat_name(&format!("@{start}.{:016x}", checksum(&[bytes])));
        let place = quarantine_dir().join(&name);
        self.replace(&place, bytes, FileMode::OwnerOnly)?;
        let message = format!("an incomplete record was moved to {place}");
        self.receipt
            .findings
            .push(Finding::new(file, FindingCode::SetAside, message).at_offset(start));
        Ok(())
    }

    fn check_expectation(
        &self,
        file: &FilePath,
        expect: Precondition,
        read: &mut ReadContent<'_>,
    ) -> Result<(), Failure> {
        self.check_name(file)?;
        match (expect, self.content(file)) {
            (Precondition::Anything, _) | (Precondition::Absent, None) => Ok(()),
            (Precondition::Absent, Some(_)) => Err(StoreError::Taken { path: file.clone() }.into()),
            (Precondition::Content(expected), Some(known)) => {
                let len = known.len.unsigned_abs();
                let found = match known.sum {
                    Some(sum) => Fingerprint { len, sum: sum.cast_unsigned() },
                    None if len != expected.len => Fingerprint { len, sum: 0 },
                    None => Fingerprint::of(&read(file)?),
                };
                let changed = || StoreError::Changed { file: file.clone() }.into();
                if found == expected { Ok(()) } else { Err(changed()) }
            }
            (Precondition::Content(_), None) => {
                Err(StoreError::Changed { file: file.clone() }.into())
            }
        }
    }

    fn replace(&mut self, file: &FilePath, bytes: &[u8], mode: FileMode) -> Result<(), Failure> {
        self.check_name(file)?;
        self.add_parents(file);
        let secret =
            mode == FileMode::OwnerOnly || self.content(file).is_some_and(|old| old.secret);
        if self.created >= MOST_CONTENTS {
            let reason = "a batch of more than a million new files is too large";
            return Err(StoreError::BadStep { path: file.clone(), reason }.into());
        }
        let id = self.number * MOST_CONTENTS + self.created;
        self.created += 1;
        self.add_pieces(id, 0, bytes);
        let len = i64::try_from(bytes.len()).unwrap_or(0);
        let content = Content {
            id,
            len,
            secret,
            open_tail: bytes.last().is_some_and(|last| *last != b'\n'),
            sum: Some(checksum(&[bytes]).cast_signed()),
            tail_start: len,
            tail_pieces: 0,
        };
        self.after.insert(file.clone(), Entry { content: Some(content) });
        Ok(())
    }

    /// Adds the pieces of `bytes`; returns their number.
    fn add_pieces(&mut self, content: i64, start: i64, bytes: &[u8]) -> i32 {
        let mut at = start;
        let mut count = 0;
        for part in bytes.chunks(PIECE_BYTES) {
            self.pieces.push(Piece { content, start: at, bytes: part.to_vec() });
            at += i64::try_from(part.len()).unwrap_or(0);
            count += 1;
        }
        count
    }

    fn rename(&mut self, from: &FilePath, to: &FilePath) -> Result<(), StoreError> {
        if !self.after.contains_key(from) {
            return Err(StoreError::Missing { path: from.clone() });
        }
        if self.after.contains_key(to) {
            return Err(StoreError::Taken { path: to.clone() });
        }
        self.check_name(to)?;
        self.add_parents(to);
        let moved = |path: FilePath| path.rebased(from, to).unwrap_or(path);
        let entries = std::mem::take(&mut self.after).into_iter();
        self.after = entries.map(|(path, entry)| (moved(path), entry)).collect();
        Ok(())
    }

    /// Refuses a name that belongs to a directory, or has a file above it.
    fn check_name(&self, path: &FilePath) -> Result<(), StoreError> {
        let is_file = |above: FilePath| self.content(&above).is_some();
        let is_dir = self.after.get(path).is_some_and(|entry| entry.content.is_none());
        if is_dir || path.ancestors().any(is_file) {
            let reason = "a directory and a file cannot have the same name";
            return Err(StoreError::BadStep { path: path.clone(), reason });
        }
        Ok(())
    }

    fn add_parents(&mut self, path: &FilePath) {
        for dir in path.ancestors().filter(|dir| !dir.is_root()) {
            self.after.entry(dir).or_insert(Entry { content: None });
        }
    }

    fn content(&self, path: &FilePath) -> Option<&Content> {
        self.after.get(path)?.content.as_ref()
    }
}
