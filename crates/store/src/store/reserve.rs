//! Room for making room: on a full disk, sessions can still be moved to the trash, restored and purged.
//!
//! Each of these needs a few blocks, for directories and lock files, before it frees any. The log is the
//! reserve: its capacity was written when there was room. If the disk has none, [`StoreCore::release_reserve`] cuts a
//! piece off the log, and what was refused is tried again. The next process that finds enough room makes the
//! log as long as before.
//!
//! While another process has the log, this one needs a log of its own first. The file `wal/reserve` has the room
//! for that. Recovery uses it as well, after the part of the log that has no records.

use std::io;

use super::log::{LogNumber, known_own_path, records_end};
use super::recovery::{RecoveryOutcome, recover};
use super::store_core::StoreCore;
use super::{Step, StoreError, trash_dir};
use crate::disk::{DiskFile, DiskLock, FileAccess, FilePermissions, Flush, LockMode};
use everturn_json::names::FilePath;

/// How much is cut off at a time. Others may take the room, so each attempt takes as little as will do.
const PIECE: u64 = 64 << 10;

/// How long the file is that is nothing but a reserve.
const RESERVE: u64 = 256 << 10;

/// How much of a log stays behind its records when its owner is gone: enough for a record of settled names.
const SPARE_ROOM: u64 = 32 << 10;

fn reserve_file() -> FilePath {
    known_own_path(&["wal", "reserve"])
}

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
pub(super) fn retry_with_reserve<T>(
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

impl StoreCore {
    /// Gives some of the room that a log takes back to the disk; false if nothing is left of the reserve.
    pub(super) fn release_reserve(&mut self) -> Result<bool, StoreError> {
        self.check_usable()?;
        self.checkpoint()?;
        if let Some(log) = &mut self.log {
            let path = log.number.file();
            let rest = reduced_len(log.capacity());
            if log.truncate(rest).map_err(StoreError::io("shorten", &path))? {
                return Ok(true);
            }
        }
        Ok(self.cut_closed_log()? || self.cut_reserve_file()?)
    }

    /// The same from the file that is nothing but a reserve.
    fn cut_reserve_file(&self) -> Result<bool, StoreError> {
        let path = reserve_file();
        if self.disk.stat(&path).map_err(StoreError::io("look at", &path))?.is_none() {
            return Ok(false);
        }
        let file =
            self.disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        cut(&*file, |len| len.saturating_sub(PIECE)).map_err(StoreError::io("shorten", &path))
    }

    /// Makes that file as long as it should be, if there is room for it. Nothing in it counts, so it is not flushed.
    pub(super) fn fill_reserve(&self) {
        let path = reserve_file();
        let wanted = RESERVE.min(self.options.log_size / 4);
        let Ok(found) = self.disk.stat(&path) else { return };
        let len = found.map_or(0, |stat| stat.len);
        if len >= wanted {
            return;
        }
        if found.is_none() {
            drop(self.disk.create(&path, FilePermissions::OwnerOnly));
        }
        // Without room there is less of a reserve, and nothing else changes.
        drop(self.disk.open(&path, FileAccess::Write).and_then(|file| file.reserve(len, wanted)));
    }

    /// Takes the lock for the recovery of a log, which may need room for its file.
    pub(super) fn lock_recovery(
        &self,
        number: LogNumber,
    ) -> Result<Option<Box<dyn DiskLock>>, StoreError> {
        let path = number.recovery_lock();
        let lock = || self.disk.lock(&path, LockMode::Exclusive);
        retry_with_reserve(
            || lock().map_err(StoreError::io("lock", &path)),
            || self.cut_reserve_file(),
        )
    }

    /// Replays a log. If that fails for want of room, the log itself and the reserve give some.
    pub(super) fn recover_with_reserve(
        &self,
        number: LogNumber,
    ) -> Result<RecoveryOutcome, StoreError> {
        let mut findings = Vec::new();
        loop {
            let outcome = recover(&*self.disk, number, &self.options.progress);
            let full = match &outcome {
                Ok(recovered) => recovered.blocked.iter().any(|blocked| blocked.cause.is_full()),
                Err(error) => error.is_full(),
            };
            let again = full && self.release_for_recovery(number).unwrap_or(false);
            let mut recovered = match outcome {
                Err(error) if !again => return Err(error),
                outcome => outcome.unwrap_or_default(),
            };
            // What an attempt has done, and told of, the next one finds done.
            recovered.findings.retain(|finding| !findings.contains(finding));
            findings.append(&mut recovered.findings);
            if !again {
                return Ok(RecoveryOutcome { findings, ..recovered });
            }
        }
    }

    fn release_for_recovery(&self, number: LogNumber) -> Result<bool, StoreError> {
        let path = number.file();
        let file =
            self.disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        if let Some(end) = records_end(&*file).map_err(StoreError::io("read", &path))? {
            let rest = |len: u64| len.saturating_sub(PIECE).max(end + SPARE_ROOM).min(len);
            if cut(&*file, rest).map_err(StoreError::io("shorten", &path))? {
                return Ok(true);
            }
        }
        Ok(self.cut_closed_log()? || self.cut_reserve_file()?)
    }

    /// The same with a log that no process has. It is not taken over for that: on a file system that never
    /// overwrites in place, even its header would need room. Such file systems may also give nothing back
    /// before the last piece is gone, so in the end all of it goes: the log holds nothing that counts.
    fn cut_closed_log(&self) -> Result<bool, StoreError> {
        let disk = &*self.disk;
        for number in LogNumber::list_logs(disk)? {
            let path = number.file();
            let Some(_lock) = number.try_take(disk, LockMode::Exclusive)? else { continue };
            if self.needs_replay(number)? {
                continue;
            }
            let file =
                disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
            let rest = |len: u64| if len > SHORTEST_LOG { reduced_len(len) } else { 0 };
            if cut(&*file, rest).map_err(StoreError::io("shorten", &path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Cuts a file to what `rest` makes of its length; says whether that made it shorter. The room can be used when
/// this returns.
fn cut(file: &dyn DiskFile, rest: impl FnOnce(u64) -> u64) -> io::Result<bool> {
    let len = file.stat()?.len;
    let rest = rest(len);
    if rest >= len {
        return Ok(false);
    }
    file.set_len(rest)?;
    file.sync(Flush::Recycle)?;
    Ok(true)
}

fn reduced_len(len: u64) -> u64 {
    len.saturating_sub(PIECE).max(SHORTEST_LOG)
}
