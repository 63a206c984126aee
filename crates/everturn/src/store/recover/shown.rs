//! What the plain files show of a log.

use std::io;

use super::look;
use crate::disk::{Access, Disk, DiskFile, Kind, read_all, read_range};
use crate::names::FilePath;
use crate::store::StoreError;
use crate::store::fingerprint::Fingerprint;
use crate::store::record::NewContent;
use crate::store::replay::{Content, Edit, Ending, History, is_remnant};

/// How much of a file is searched at a time.
const SEARCH_CHUNK: u64 = 4 << 20;

/// How many commits of a log the plain files do not show.
pub(in crate::store) fn waiting(disk: &dyn Disk, history: &History) -> Result<usize, StoreError> {
    for (path, content) in &history.files {
        let Some(place) = history.place(disk, path)? else { continue };
        let shown = match look(disk, &place)? {
            Some(stat) if stat.kind == Kind::File => {
                let file =
                    disk.open(&place, Access::Read).map_err(StoreError::io("open", &place))?;
                shows(&*file, content).map_err(StoreError::io("read", &place))?
            }
            _ => false,
        };
        if !shown {
            return Ok(history.commits);
        }
    }
    for ending in &history.endings {
        let done = match ending {
            Ending::Renamed { to, .. } => look(disk, to)?.is_some(),
            Ending::Removed { path, id } => look(disk, path)?.is_none_or(|stat| stat.id != *id),
        };
        if !done {
            return Ok(history.commits);
        }
    }
    Ok(0)
}

fn shows(file: &dyn DiskFile, content: &Content) -> io::Result<bool> {
    match content {
        Content::Edited(edits) => {
            for edit in edits {
                if let Edit::Append { at, bytes } = edit {
                    let there = read_range(file, *at, at + bytes.len() as u64)? == *bytes;
                    if !there && find(file, bytes, <[u8]>::starts_with)?.is_none() {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        }
        Content::Replaced { before, after, .. } => {
            let found = read_all(file)?;
            let done = after.last().is_some_and(|new| match new {
                NewContent::Bytes(bytes) => *bytes == found,
                NewContent::Staged(staged) => staged.print == Fingerprint::of(&found),
            });
            Ok(done || !is_ours(&found, before, after))
        }
    }
}

/// Whether a content is one that our replacements have made or found, or the remnant of one.
///
/// Of a staged content there are no remnants: it was flushed before it got its name.
pub(super) fn is_ours(found: &[u8], before: &[Fingerprint], after: &[NewContent]) -> bool {
    let print = Fingerprint::of(found);
    let made = |new: &NewContent| match new {
        NewContent::Bytes(bytes) => is_remnant(found, bytes),
        NewContent::Staged(staged) => staged.print == print,
    };
    before.contains(&print) || after.iter().any(made)
}

/// Whether `found` begins with what a power cut can leave of `bytes`.
pub(super) fn starts_with_remnant(found: &[u8], bytes: &[u8]) -> bool {
    is_remnant(found.get(..bytes.len()).unwrap_or(found), bytes)
}

/// Where `bytes` stand in a file, at the start of a line, as `matches` sees it.
pub(super) fn find(
    file: &dyn DiskFile,
    bytes: &[u8],
    matches: fn(&[u8], &[u8]) -> bool,
) -> io::Result<Option<u64>> {
    let (needle, len) = (bytes.strip_prefix(b"\n").unwrap_or(bytes), file.stat()?.len);
    let Some(first) = needle.first() else { return Ok(Some(0)) };
    let mut start = 0;
    while start < len {
        let window = read_range(file, start, start + SEARCH_CHUNK + needle.len() as u64)?;
        // Beyond the chunk the window is too short to tell; the next one starts there.
        let starts =
            (0..=SEARCH_CHUNK).zip(&window).filter(|(_, byte)| *byte == first || **byte == 0);
        for (place, _) in starts {
            let place = usize::try_from(place).map_err(io::Error::other)?;
            let before = place.checked_sub(1).and_then(|before| window.get(before));
            let line_start = before.map_or(start == 0, |byte| *byte == b'\n');
            if line_start && window.get(place..).is_some_and(|rest| matches(rest, needle)) {
                return Ok(Some(start + place as u64));
            }
        }
        // One byte of overlap keeps the newline before a line that starts at the border.
        start += SEARCH_CHUNK - 1;
    }
    Ok(None)
}

impl History {
    /// Where the file that had the name `path` is now; `None` if it is removed in the end.
    pub(super) fn place(
        &self,
        disk: &dyn Disk,
        path: &FilePath,
    ) -> Result<Option<FilePath>, StoreError> {
        for ending in &self.endings {
            match ending {
                Ending::Removed { path: gone, .. } if path.is_within(gone) => return Ok(None),
                Ending::Renamed { from, to } if path.is_within(from) => {
                    // The new name was free when the rename was logged, and only the rename takes it.
                    let there = look(disk, to)?.is_some();
                    let moved = path.moved(from, to).filter(|_| there);
                    return Ok(Some(moved.unwrap_or_else(|| path.clone())));
                }
                _ => {}
            }
        }
        Ok(Some(path.clone()))
    }
}
