//! Recovers appended lines: rewrites them where they were, or finds where another program has moved them.
//!
//! A file that another program has changed is read once, however many lines the log has for it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;

use super::tail::{cut_tail, kept_tail, lines_from};
use super::{Recovery, RecoveryProgress, RecoveryStage, WrittenFile, open_uncached, stat_optional};
use crate::disk::{DiskFile, FileAccess, FilePermissions, read_full, read_range, write_full};
use crate::store::StoreError;
use crate::store::fingerprint::Fingerprint;
use crate::store::quarantine::quarantine_range;
use crate::store::replay::{TailEdit, is_remnant};
use everturn_json::checksum::{Checksum, checksum};
use everturn_json::jsonl::FileTail;
use everturn_json::names::FilePath;

/// The number of bytes read at a time.
const CHUNK: usize = 1 << 20;

impl Recovery<'_> {
    /// Brings the end of a file to the state in the log.
    pub(super) fn replay_edits(
        &mut self,
        name: &FilePath,
        place: &FilePath,
        edits: &[TailEdit],
    ) -> Result<(), StoreError> {
        if stat_optional(self.disk, place)?.is_none() {
            self.make_parents(place)?;
            self.disk
                .create(place, FilePermissions::Default)
                .map_err(StoreError::io("create", place))?;
        }
        let file = open_uncached(self.disk, place, FileAccess::Write)?;
        let mut lines = PlacedLines { file: &*file, parts: Vec::new(), lost: VecDeque::new() };
        for (index, edit) in edits.iter().enumerate() {
            match edit {
                TailEdit::Cut { at, was } => {
                    let ours = lines_from(*at, edits.get(index + 1..).unwrap_or_default());
                    let tail = kept_tail(self.disk, place, *at, *was)?;
                    cut_tail(&*file, *at, *was, &tail, &ours)
                }
                TailEdit::Append { at, bytes } => lines.place(*at, bytes),
            }
            .map_err(StoreError::io("write", place))?;
        }
        lines.find_moved(self.progress).map_err(StoreError::io("read", place))?;
        lines.complete_torn(self.progress).map_err(StoreError::io("write", place))?;
        let PlacedLines { mut parts, lost, .. } = lines;
        if let Some((first, _)) = lost.front() {
            let first = *first;
            let all: Vec<u8> = lost.iter().flat_map(|(_, lines)| *lines).copied().collect();
            parts.push(self.append_lost(place, &*file, first, &all)?);
        }
        let (name, place) = (name.clone(), place.clone());
        self.written.push(WrittenFile { name, place, file, parts });
        Ok(())
    }

    /// Appends lines that another program has removed.
    fn append_lost(
        &mut self,
        path: &FilePath,
        file: &dyn DiskFile,
        at: u64,
        lines: &[u8],
    ) -> Result<(u64, Fingerprint), StoreError> {
        let len = file.stat().map_err(StoreError::io("access", path))?.len;
        let tail = FileTail::examine(file).map_err(StoreError::io("read", path))?;
        if tail.good_end < len {
            quarantine_range(self.disk, path, file, tail.good_end, len)?;
            file.set_len(tail.good_end).map_err(StoreError::io("truncate", path))?;
        }
        let gap: &[u8] = if tail.newline_missing { b"\n" } else { b"" };
        let added = [gap, lines].concat();
        write_full(file, tail.good_end, &added).map_err(StoreError::io("write", path))?;
        let end = tail.good_end;
        let message = format!(
            "changed by another program; committed lines were appended again at byte {end}"
        );
        self.report_finding(path, Some(at), message);
        Ok((end, Fingerprint::of(&added)))
    }
}

/// The lines of one file: those with a known position, and those that are still to be found.
struct PlacedLines<'a> {
    file: &'a dyn DiskFile,
    /// The positions of lines that were written or found.
    parts: Vec<(u64, Fingerprint)>,
    /// Lines that are not where they were appended, in order, with that offset.
    lost: VecDeque<(u64, &'a [u8])>,
}

impl<'a> PlacedLines<'a> {
    /// Rewrites lines where they were appended, if they or a remnant of them are there.
    fn place(&mut self, at: u64, bytes: &'a [u8]) -> io::Result<()> {
        let found = read_range(self.file, at, at + bytes.len() as u64)?;
        let in_reach = at <= self.file.stat()?.len;
        // Once lines are lost, an empty position is no proof that these belong there.
        let fits = if self.lost.is_empty() { is_remnant(&found, bytes) } else { found == bytes };
        if in_reach && fits {
            return self.write(at, bytes);
        }
        self.lost.push_back((at, bytes.strip_prefix(b"\n").unwrap_or(bytes)));
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        write_full(self.file, at, bytes)?;
        self.parts.push((at, Fingerprint::of(bytes)));
        Ok(())
    }

    /// Finds lost lines that are intact elsewhere in the file.
    fn find_moved(&mut self, progress: &RecoveryProgress) -> io::Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let taken: BTreeSet<u64> = self.parts.iter().map(|(at, _)| *at).collect();
        let mut wanted: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (index, (_, lines)) in self.lost.iter().enumerate() {
            let first = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            wanted.entry(checksum(&[first])).or_default().push_back(index);
        }
        let mut found = BTreeSet::new();
        for_each_line(self.file, progress, |line| {
            let Some(candidates) = wanted.get_mut(&line.sum) else { return Ok(()) };
            if taken.contains(&line.start) {
                return Ok(());
            }
            for (position, index) in candidates.iter().enumerate() {
                let Some((_, lines)) = self.lost.get(*index) else { continue };
                let end = line.start + lines.len() as u64;
                if read_range(self.file, line.start, end)? == **lines {
                    found.insert(*index);
                    candidates.remove(position);
                    break;
                }
            }
            Ok(())
        })?;
        let lost = std::mem::take(&mut self.lost).into_iter().enumerate();
        self.lost =
            lost.filter(|(index, _)| !found.contains(index)).map(|(_, lost)| lost).collect();
        Ok(())
    }

    /// Completes lost lines of which a power cut has left parts after lines of another program.
    fn complete_torn(&mut self, progress: &RecoveryProgress) -> io::Result<()> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let mut torn = Vec::new();
        for_each_line(self.file, progress, |line| {
            if line.has_nul || !line.is_whole {
                torn.push(line.start);
            }
            Ok(())
        })?;
        for start in torn {
            let mut at = start;
            // The lines after these may be torn in the same way, with no sign of where they start.
            while let Some(index) = self.find_torn(at)? {
                let Some((_, lines)) = self.lost.remove(index) else { break };
                self.write(at, lines)?;
                at += lines.len() as u64;
            }
        }
        Ok(())
    }

    /// Returns which lost lines are at an offset in part.
    fn find_torn(&self, at: u64) -> io::Result<Option<usize>> {
        for (index, (_, lines)) in self.lost.iter().enumerate() {
            let found = read_range(self.file, at, at + lines.len() as u64)?;
            if !found.is_empty() && is_remnant(&found, lines) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// A line of a file.
struct LineSpan {
    start: u64,
    /// The checksum of its bytes, with the newline.
    sum: u64,
    has_nul: bool,
    /// Whether it ends with a newline.
    is_whole: bool,
}

/// Calls `each` for the lines of a file, however long they are.
fn for_each_line(
    file: &dyn DiskFile,
    progress: &RecoveryProgress,
    mut each: impl FnMut(&LineSpan) -> io::Result<()>,
) -> io::Result<()> {
    let (mut buf, mut at) = (vec![0; CHUNK], 0);
    let (mut start, mut sum, mut has_nul) = (0, Checksum::new(), false);
    let total = file.stat()?.len;
    loop {
        progress.tell(RecoveryStage::Bytes { done: at, total });
        let read = read_full(file, at, &mut buf)?;
        let chunk = buf.get(..read).unwrap_or_default();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            sum.update(piece);
            has_nul |= piece.contains(&0);
            at += piece.len() as u64;
            if piece.ends_with(b"\n") {
                each(&LineSpan { start, sum: sum.value(), has_nul, is_whole: true })?;
                (start, sum, has_nul) = (at, Checksum::new(), false);
            }
        }
        if read < CHUNK {
            break;
        }
    }
    if start < at {
        each(&LineSpan { start, sum: sum.value(), has_nul, is_whole: false })?;
    }
    Ok(())
}
