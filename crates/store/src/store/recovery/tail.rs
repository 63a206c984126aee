//! Recovers ends of files that were cut off and rewritten.

use std::io;

use super::stat_optional;
use crate::disk::{Disk, DiskFile, FileAccess, read_all, read_range, write_full};
use crate::store::StoreError;
use crate::store::disk_ops::fingerprint_range;
use crate::store::fingerprint::Fingerprint;
use crate::store::quarantine::quarantine_path;
use crate::store::replay::TailEdit;
use everturn_json::names::FilePath;

/// Returns the bytes that the edits append from `at` on without a gap.
pub(super) fn lines_from(at: u64, edits: &[TailEdit]) -> Vec<u8> {
    let mut lines = Vec::new();
    for edit in edits {
        match edit {
            TailEdit::Append { at: next, bytes } if *next == at + lines.len() as u64 => {
                lines.extend_from_slice(bytes);
            }
            _ => break,
        }
    }
    lines
}

/// Returns the bytes that were cut off, from quarantine; empty if they are no longer there.
pub(super) fn kept_tail(
    disk: &dyn Disk,
    path: &FilePath,
    at: u64,
    was: Fingerprint,
) -> Result<Vec<u8>, StoreError> {
    let copy = quarantine_path(path, at, was);
    if stat_optional(disk, &copy)?.is_none_or(|stat| stat.len != was.len) {
        return Ok(Vec::new());
    }
    let file = disk.open(&copy, FileAccess::Read).map_err(StoreError::io("open", &copy))?;
    read_all(&*file).map_err(StoreError::io("read", &copy))
}

/// Cuts off a tail again, or what a power cut made of it and of the lines that replaced it.
pub(super) fn cut_tail(
    file: &dyn DiskFile,
    at: u64,
    was: Fingerprint,
    tail: &[u8],
    ours: &[u8],
) -> io::Result<()> {
    let len = file.stat()?.len;
    if len == at + was.len && fingerprint_range(file, at, len)? == was {
        return file.set_len(at);
    }
    let most = tail.len().max(ours.len()) as u64;
    let found = read_range(file, at, at + most)?;
    let known = |(place, byte): (usize, &u8)| {
        *byte == 0 || tail.get(place) == Some(byte) || ours.get(place) == Some(byte)
    };
    if !found.iter().enumerate().all(known) {
        return Ok(());
    }
    if len <= at + most {
        return file.set_len(at.min(len));
    }
    // Another program has appended after our lines: they are repaired in place.
    write_full(file, at, ours)
}
