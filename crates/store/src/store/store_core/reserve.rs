//! Reserved space: on a full disk, sessions can still be moved to the trash, restored and purged.
//!
//! Each of these needs a few blocks, for directories and lock files, before it frees any. The log is the reserve: its
//! capacity was written when there was space. If the disk is full, [`release_reserve`] cuts a piece off the
//! log, and the failed operation is retried. The next process that finds enough space extends the log to its old
//! length.
//!
//! While another process owns the log, this one needs its own log first. The file `wal/reserve` has the space for that.
//! Recovery uses it as well, after the part of the log that has no records.

use std::io;

use super::StoreCore;
use super::root_logs::needs_replay;
use crate::disk::{DiskFile, DiskLock, FileAccess, FilePermissions, Flush, LockMode};
use crate::store::log_number::{LogNumber, in_use_len};
use crate::store::log_scan::records_end;
use crate::store::own_paths::known_own_path;
use crate::store::recovery::{RecoveryOutcome, recover};
use crate::store::{Step, StoreError, trash_dir};
use everturn_json::names::FilePath;

/// How much is cut off at a time. Others may use the freed space, so each attempt frees as little as possible.
const PIECE: u64 = 64 << 10;

/// The size of the reserve file.
const RESERVE: u64 = 256 << 10;

/// How much of a dead process's log stays after its records: enough for a barrier record.
const SPARE_ROOM: u64 = 32 << 10;

fn reserve_file() -> FilePath {
    known_own_path(&["wal", "reserve"])
}

/// The minimum size of the log: enough for the record of a purge of a thousand sessions.
const SHORTEST_LOG: u64 = 256 << 10;

/// The maximum size of the contents in a batch that may use the reserve.
const MAX_CONTENT: usize = 64 << 10;

/// Returns whether the writer of these scopes is about to use the trash: one of them is an item of it.
pub(in crate::store) fn uses_trash(scopes: &[FilePath]) -> bool {
    scopes.iter().any(|scope| scope.parent() == Some(trash_dir()))
}

/// Returns whether a batch moves something to or from the trash or deletes it there, and needs little space.
pub(in crate::store) fn may_use_reserve(steps: &[Step]) -> bool {
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

/// Retries until the operation does not fail for lack of space, or the reserve is used up.
pub(in crate::store) fn retry_with_reserve<T>(
    mut attempt: impl FnMut() -> Result<T, StoreError>,
    mut release_reserve: impl FnMut() -> Result<bool, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match attempt() {
            Err(error) if error.is_full() => {
                // If that fails too, the first error is returned.
                if !release_reserve().unwrap_or(false) {
                    return Err(error);
                }
            }
            outcome => return outcome,
        }
    }
}

/// Returns some space of a log to the disk; false if the reserve is used up.
pub(in crate::store) fn release_reserve(core: &mut StoreCore) -> Result<bool, StoreError> {
    core.check_usable()?;
    core.checkpoint()?;
    if let Some(log) = &mut core.log {
        let path = log.number.file();
        let rest = reduced_len(log.capacity());
        if log.truncate(rest).map_err(StoreError::io("truncate", &path))? {
            return Ok(true);
        }
    }
    Ok(cut_closed_log(core)? || cut_reserve_file(core)?)
}

/// As [`release_reserve`], from the reserve file.
fn cut_reserve_file(core: &StoreCore) -> Result<bool, StoreError> {
    let path = reserve_file();
    if core.disk.stat(&path).map_err(StoreError::io("access", &path))?.is_none() {
        return Ok(false);
    }
    let file = core.disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
    cut(&*file, |len| len.saturating_sub(PIECE)).map_err(StoreError::io("truncate", &path))
}

/// Extends the reserve file to its full size, if there is space. Its content is unused, so it is not flushed.
pub(in crate::store) fn fill_reserve(core: &StoreCore) {
    let path = reserve_file();
    let wanted = RESERVE.min(core.options.log_size / 4);
    let Ok(found) = core.disk.stat(&path) else { return };
    let len = found.map_or(0, |stat| stat.len);
    if len >= wanted {
        return;
    }
    if found.is_none() {
        drop(core.disk.create(&path, FilePermissions::OwnerOnly));
    }
    // If the disk is full, the reserve is smaller, and nothing else changes.
    drop(core.disk.open(&path, FileAccess::Write).and_then(|file| file.reserve(len, wanted)));
}

/// Takes the lock for the recovery of a log, whose file may need space.
pub(in crate::store) fn lock_recovery(
    core: &StoreCore,
    number: LogNumber,
) -> Result<Option<Box<dyn DiskLock>>, StoreError> {
    let path = number.recovery_lock();
    let lock = || core.disk.lock(&path, LockMode::Exclusive);
    retry_with_reserve(|| lock().map_err(StoreError::io("lock", &path)), || cut_reserve_file(core))
}

/// Replays a log. If that fails for lack of space, the log itself and the reserve free some.
pub(in crate::store) fn recover_with_reserve(
    core: &StoreCore,
    number: LogNumber,
) -> Result<RecoveryOutcome, StoreError> {
    let mut findings = Vec::new();
    loop {
        let outcome = recover(&*core.disk, number, &core.options.progress);
        let full = match &outcome {
            Ok(recovered) => recovered.blocked.iter().any(|blocked| blocked.cause.is_full()),
            Err(error) => error.is_full(),
        };
        let again = full && release_for_recovery(core, number).unwrap_or(false);
        let mut recovered = match outcome {
            Err(error) if !again => return Err(error),
            outcome => outcome.unwrap_or_default(),
        };
        // The next attempt does not report again what this one has done and reported.
        recovered.findings.retain(|finding| !findings.contains(finding));
        findings.append(&mut recovered.findings);
        if !again {
            return Ok(RecoveryOutcome { findings, ..recovered });
        }
    }
}

fn release_for_recovery(core: &StoreCore, number: LogNumber) -> Result<bool, StoreError> {
    let path = number.file();
    let file = core.disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
    if let Some(end) = records_end(&*file).map_err(StoreError::io("read", &path))? {
        let rest = |len: u64| len.saturating_sub(PIECE).max(in_use_len(end + SPARE_ROOM)).min(len);
        if cut(&*file, rest).map_err(StoreError::io("truncate", &path))? {
            return Ok(true);
        }
    }
    Ok(cut_closed_log(core)? || cut_reserve_file(core)?)
}

/// As [`release_reserve`], from a log without an owner. It is not taken over for that: on a file system
/// that never overwrites in place, even its header would need space. Such file systems may also free nothing before
/// the last piece is gone, so in the end all of it goes: the log holds nothing that counts.
fn cut_closed_log(core: &StoreCore) -> Result<bool, StoreError> {
    let disk = &*core.disk;
    for number in LogNumber::list_logs(disk)? {
        let path = number.file();
        let Some(_lock) = number.try_take(disk, LockMode::Exclusive)? else { continue };
        if needs_replay(core, number)? {
            continue;
        }
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let rest = |len: u64| if len > SHORTEST_LOG { reduced_len(len) } else { 0 };
        if cut(&*file, rest).map_err(StoreError::io("truncate", &path))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Truncates a file to the length that `rest` returns; returns whether that made it shorter. The space is available
/// when this returns.
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
