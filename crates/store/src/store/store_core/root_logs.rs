//! The logs of a root: those of dead processes, those of live ones, and our own.
//!
//! A log has one owner, which holds `NNNN.lock` exclusively as long as it lives. A process that recovers the log of a
//! dead owner holds `NNNN.recovery` exclusively and `NNNN.lock` in shared mode. Logs are recovered independently: one
//! that cannot be recovered, or whose recovery is stopped, does not block sessions in other logs.

use std::time::{Duration, Instant};

use super::StoreCore;
use super::reserve::{fill_reserve, lock_recovery, recover_with_reserve};
use crate::disk::{Disk, DiskLock, FileAccess, FilePermissions, LockMode, read_all};
use crate::store::StoreError;
use crate::store::disk_ops::{ensure_dir, remove_stale_temp};
use crate::store::disk_view::{all_blocked, blocked_finding};
use crate::store::log::WriteAheadLog;
use crate::store::log_number::LogNumber;
use crate::store::own_paths::known_own_path;
use crate::store::recovery::{Blocked, read_log};
use crate::store::staging::remove_stale_staged;
use everturn_json::names::FilePath;

/// How long to wait for a process that is ending or recovering a log, and the pause between two looks.
const PATIENCE: Duration = Duration::from_secs(1);
const WAIT_PAUSE: Duration = Duration::from_millis(10);

/// Recovers the logs of dead processes; skips those of live processes and those that another process is recovering.
///
/// Returns the blocked names: what the logs say of them stays there.
pub(in crate::store) fn recover_dead_logs(
    core: &mut StoreCore,
) -> Result<Vec<Blocked>, StoreError> {
    let own_number = core.log.as_ref().map(|log| log.number);
    let mut blocked = Vec::new();
    for number in LogNumber::list_logs(&*core.disk)? {
        if Some(number) == own_number || number.is_closed_by_other_user(&*core.disk)? {
            continue;
        }
        // Shared, so that readers still see that the owner is dead.
        let Some(dead) = number.try_take(&*core.disk, LockMode::Shared)? else { continue };
        if !needs_replay(core, number)? {
            continue;
        }
        let Some(lock) = lock_recovery(core, number)? else { continue };
        // Another process may have recovered it just now.
        if needs_replay(core, number)? {
            // The text only informs others of the lock owner.
            drop(lock.describe(&core.options.owner.to_text()));
            match recover_log(core, number, dead) {
                Ok(names) => blocked.extend(names),
                Err(error) => blocked.extend(all_blocked(&*core.disk, number, error)),
            }
        }
        lock.release().map_err(StoreError::io("free", &number.recovery_lock()))?;
    }
    report_blocked(core, &blocked);
    core.blocked.clone_from(&blocked);
    Ok(blocked)
}

fn recover_log(
    core: &mut StoreCore,
    number: LogNumber,
    dead: Box<dyn DiskLock>,
) -> Result<Vec<Blocked>, StoreError> {
    let recovered = recover_with_reserve(core, number)?;
    core.options.findings.add(recovered.findings);
    if recovered.blocked.is_empty() {
        let log = WriteAheadLog::take_over(&*core.disk, number, dead)?;
        // Not before the new header is flushed: until then records count that may need them.
        remove_stale_staged(&*core.disk, number)?;
        log.close()?;
    } else if !recovered.completed.is_empty() {
        WriteAheadLog::append_barrier(&*core.disk, number, dead, recovered.completed)?;
    }
    Ok(recovered.blocked)
}

/// Reports each blocked name once.
fn report_blocked(core: &mut StoreCore, blocked: &[Blocked]) {
    for blocked in blocked {
        if core.reported.insert(blocked.name.clone()) {
            core.options.findings.add([blocked_finding(blocked)]);
        }
    }
}

pub(in crate::store) fn needs_replay(
    core: &StoreCore,
    number: LogNumber,
) -> Result<bool, StoreError> {
    let history = read_log(&*core.disk, number)?;
    let has_commits = history.map_or(true, |history| history.commits > 0);
    Ok(has_commits || number.was_abandoned(&*core.disk)?)
}

/// Ensures that no other log holds changes in `scopes`, which we have just locked.
///
/// A writer that releases a scope has flushed it and removed its lock file. A lock file left behind belongs to a
/// process that died, or is just dying: its lock on the scope may be released before that on its log. Such a log is
/// waited for.
pub(in crate::store) fn await_predecessors(
    core: &mut StoreCore,
    scopes: &[FilePath],
    left_behind: bool,
) -> Result<(), StoreError> {
    let start = Instant::now();
    let number = loop {
        let blocked = recover_dead_logs(core)?;
        let near =
            |scope: &FilePath, path: &FilePath| path.is_within(scope) || scope.is_within(path);
        let concerns = |blocked: &&Blocked| scopes.iter().any(|scope| near(scope, &blocked.name));
        if let Some(blocked) = blocked.iter().find(concerns) {
            return Err(blocked.error());
        }
        if !left_behind {
            return Ok(());
        }
        let Some(number) = predecessor(core, scopes)? else { return Ok(()) };
        // Counted in time, because each look reads the log.
        if start.elapsed() >= PATIENCE {
            break number;
        }
        std::thread::sleep(WAIT_PAUSE);
    };
    let scope = scopes.first().cloned().unwrap_or_default();
    Err(StoreError::Busy { scope, owner: number.describe_owner(&*core.disk) })
}

/// Returns another log that holds changes in these scopes.
fn predecessor(core: &StoreCore, scopes: &[FilePath]) -> Result<Option<LogNumber>, StoreError> {
    let own_number = core.log.as_ref().map(|log| log.number);
    for number in LogNumber::list_logs(&*core.disk)? {
        if Some(number) != own_number
            && !number.is_closed_by_other_user(&*core.disk)?
            && read_log(&*core.disk, number)?.is_ok_and(|history| history.touches(scopes))
        {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Ensures that this process has a log: an existing closed one, or a new one.
pub(in crate::store) fn ensure_log(core: &mut StoreCore) -> Result<(), StoreError> {
    if core.log.is_some() {
        return Ok(());
    }
    ensure_dir(&*core.disk, &known_own_path(&["wal"]), &mut Vec::new())?;
    hide_from_git(&*core.disk);
    let numbers = LogNumber::list_logs(&*core.disk)?;
    for number in &numbers {
        if number.is_closed_by_other_user(&*core.disk)? {
            continue;
        }
        if let Some(lock) = number.try_take(&*core.disk, LockMode::Exclusive)?
            && !needs_replay(core, *number)?
        {
            remove_stale_temp(&*core.disk, &number.temp_prefix())?;
            let mut log = WriteAheadLog::reopen(&*core.disk, *number, lock)?;
            remove_stale_staged(&*core.disk, *number)?;
            core.known_contents.recall(&*core.disk, *number);
            // On a full disk, the log at its present length will do, as long as it has space.
            let extended = log.extend(core.options.log_size);
            log.mark_in_use(&core.options.owner)?;
            core.log = Some(log);
            if extended.is_ok() {
                fill_reserve(core);
            }
            return Ok(());
        }
    }
    let next = numbers.last().map_or(1, |last| last.0 + 1);
    for number in (next..).map(LogNumber) {
        if let Some(lock) = number.try_take(&*core.disk, LockMode::Exclusive)? {
            if core
                .disk
                .stat(&number.file())
                .map_err(StoreError::io("access", &number.file()))?
                .is_some()
            {
                // Another process has created, used and closed it meanwhile.
                continue;
            }
            let log = WriteAheadLog::create(&*core.disk, number, lock, core.options.log_size)?;
            log.mark_in_use(&core.options.owner)?;
            if log.capacity() >= core.options.log_size {
                fill_reserve(core);
            }
            core.log = Some(log);
            break;
        }
    }
    Ok(())
}

/// What keeps everything in the own directory out of a repository around it.
const IGNORED: &[u8] = b"*\n";

/// Tells git to ignore the own directory, whose logs hold what users have removed from their files. A root works without
/// it, so nothing waits for a flush, a failure is ignored, and the next new log restores a file that a power cut has
/// damaged.
fn hide_from_git(disk: &dyn Disk) {
    let file = known_own_path(&[".gitignore"]);
    let text = disk.open(&file, FileAccess::Read).and_then(|file| read_all(&*file));
    if text.is_ok_and(|text| text == IGNORED) {
        return;
    }
    drop(disk.create(&file, FilePermissions::Default));
    if let Ok(opened) = disk.open(&file, FileAccess::Write) {
        drop(opened.write_at(0, IGNORED));
    }
}
