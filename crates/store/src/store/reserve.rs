//! Room for making room: on a full disk, sessions can still be moved to the trash, restored and purged.
//!
//! Each of these needs a few blocks, for directories and lock files, before it frees any. The log is the
//! reserve: its capacity was written when there was room. If the disk has none, [`Core::release_reserve`] cuts a
//! piece off the log, and what was refused is tried again. The next process that finds enough room makes the
//! log as long as before.

use super::core::Core;
use super::log::LogNumber;
use super::{Step, StoreError, trash_dir};
use crate::disk::{Access, Flush, Sharing};
use everturn_json::names::FilePath;

/// How much is cut off at a time. Others may take the room, so each attempt takes as little as will do.
const PIECE: u64 = 64 << 10;

/// How long the log stays: enough for the record of a purge of a thousand sessions.
const SHORTEST_LOG: u64 = 256 << 10;

/// How many bytes of content a batch may bring along.
const MAX_CONTENT: usize = 64 << 10;

/// Whether the writer of these scopes is about to use the trash: one of them is a place there.
pub(super) fn uses_trash(scopes: &[FilePath]) -> bool {
    scopes.iter().any(|scope| scope.parent() == Some(trash_dir()))
}

/// Whether a batch moves something to the trash, or out of it, or deletes it there, and needs little room.
pub(super) fn may_use_reserve(steps: &[Step]) -> bool {
    let trash = trash_dir();
    let uses_trash = steps.iter().any(|step| match step {
        Step::Rename { from, to } => from.is_within(&trash) || to.is_within(&trash),
        Step::Remove { path } => path.is_within(&trash),
        Step::Append { .. } | Step::Replace { .. } => false,
    });
    let content = |step: &Step| match step {
        Step::Append { lines: bytes, .. } | Step::Replace { bytes, .. } => bytes.len(),
        Step::Rename { .. } | Step::Remove { .. } => 0,
    };
    uses_trash && steps.iter().map(content).sum::<usize>() <= MAX_CONTENT
}

/// Tries until it does not fail for want of room, or nothing is left of the reserve.
pub(super) fn with_reserve<T>(
    mut attempt: impl FnMut() -> Result<T, StoreError>,
    mut release_reserve: impl FnMut() -> Result<bool, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match attempt() {
            Err(error) if error.is_full() => {
                // If that fails too, the first failure is the one to tell.
                if !release_reserve().unwrap_or(false) {
                    return Err(error);
                }
            }
            outcome => return outcome,
        }
    }
}

impl Core {
    /// Gives some of the room that a log takes back to the disk; false if nothing is left of the reserve.
    pub(super) fn release_reserve(&mut self) -> Result<bool, StoreError> {
        self.usable()?;
        if self.log.is_none() {
            return self.cut_closed_log();
        }
        self.checkpoint()?;
        let Some(log) = &mut self.log else { return Ok(false) };
        let path = log.number.file();
        log.cut(shortened(log.capacity())).map_err(StoreError::io("shorten", &path))
    }

    /// The same with a log that no process has. It is not taken over for that: on a file system that never
    /// overwrites in place, even its header would need room. Such file systems may also give nothing back
    /// before the last piece is gone, so in the end all of it goes: the log holds nothing that counts.
    fn cut_closed_log(&self) -> Result<bool, StoreError> {
        let disk = &*self.disk;
        for number in LogNumber::all(disk)? {
            let path = number.file();
            let Some(_lock) = number.take(disk, Sharing::Exclusive)? else { continue };
            if self.needs_replay(number)? {
                continue;
            }
            let file = disk.open(&path, Access::Write).map_err(StoreError::io("open", &path))?;
            let len = file.stat().map_err(StoreError::io("look at", &path))?.len;
            if len > 0 {
                let rest = if len > SHORTEST_LOG { shortened(len) } else { 0 };
                let cut = file.set_len(rest);
                cut.and_then(|()| file.sync(Flush::Recycle))
                    .map_err(StoreError::io("shorten", &path))?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn shortened(len: u64) -> u64 {
    len.saturating_sub(PIECE).max(SHORTEST_LOG)
}
