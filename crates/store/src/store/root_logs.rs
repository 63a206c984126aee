//! The logs of a root: those of dead processes, those of live ones, and our own.
//!
//! A log has one owner, which holds `NNNN.lock` exclusively as long as it lives. A process that recovers the log of a
//! dead owner holds `NNNN.recovery` exclusively and `NNNN.lock` in shared mode. Logs are recovered independently: one
//! that cannot be recovered, or whose recovery is stopped, does not block sessions in other logs.

use std::time::Duration;

use super::StoreError;
use super::apply::remove_stale_temp;
use super::disk_view::{all_blocked, blocked_finding};
use super::log::{LogNumber, WriteAheadLog, known_own_path};
use super::quarantine::ensure_dir;
use super::recovery::{Blocked, read_log};
use super::staging::remove_stale_staged;
use super::store_core::StoreCore;
use crate::disk::{DiskLock, LockMode};
use everturn_json::names::FilePath;

/// How often and how long to wait for a process that is ending or recovering a log.
const WAIT_TRIES: usize = 100;
const WAIT_PAUSE: Duration = Duration::from_millis(10);

impl StoreCore {
    /// Recovers the logs of dead processes; skips those of live processes and those that another process is recovering.
    ///
    /// Returns the blocked names: what the logs say of them stays there.
    pub(super) fn recover_dead_logs(&mut self) -> Result<Vec<Blocked>, StoreError> {
        let own_number = self.log.as_ref().map(|log| log.number);
        let mut blocked = Vec::new();
        for number in LogNumber::list_logs(&*self.disk)? {
            if Some(number) == own_number || number.is_closed_by_other_user(&*self.disk)? {
                continue;
            }
            // Shared, so that readers still see that the owner is dead.
            let Some(dead) = number.try_take(&*self.disk, LockMode::Shared)? else { continue };
            if !self.needs_replay(number)? {
                continue;
            }
            let Some(lock) = self.lock_recovery(number)? else { continue };
            // Another process may have recovered it just now.
            if self.needs_replay(number)? {
                // The text only informs others of the lock owner.
                drop(lock.describe(&self.options.owner.to_text()));
                match self.recover_log(number, dead) {
                    Ok(names) => blocked.extend(names),
                    Err(error) => blocked.extend(all_blocked(&*self.disk, number, error)),
                }
            }
            lock.release().map_err(StoreError::io("free", &number.recovery_lock()))?;
        }
        self.report_blocked(&blocked);
        self.blocked.clone_from(&blocked);
        Ok(blocked)
    }

    fn recover_log(
        &mut self,
        number: LogNumber,
        dead: Box<dyn DiskLock>,
    ) -> Result<Vec<Blocked>, StoreError> {
        let recovered = self.recover_with_reserve(number)?;
        self.options.findings.add(recovered.findings);
        if recovered.blocked.is_empty() {
            let log = WriteAheadLog::take_over(&*self.disk, number, dead)?;
            // Not before the new header is flushed: until then records count that may need them.
            remove_stale_staged(&*self.disk, number)?;
            log.close()?;
        } else if !recovered.completed.is_empty() {
            WriteAheadLog::append_barrier(&*self.disk, number, dead, recovered.completed)?;
        }
        Ok(recovered.blocked)
    }

    /// Reports each blocked name once.
    fn report_blocked(&mut self, blocked: &[Blocked]) {
        for blocked in blocked {
            if self.reported.insert(blocked.name.clone()) {
                self.options.findings.add([blocked_finding(blocked)]);
            }
        }
    }

    pub(super) fn needs_replay(&self, number: LogNumber) -> Result<bool, StoreError> {
        let history = read_log(&*self.disk, number)?;
        let has_commits = history.map_or(true, |history| history.commits > 0);
        Ok(has_commits || number.was_abandoned(&*self.disk)?)
    }

    /// Ensures that no other log holds changes in `scopes`, which we have just locked.
    ///
    /// A writer that releases a scope has flushed it and removed its lock file. A lock file left behind belongs to a
    /// process that died, or is just dying: its lock on the scope may be released before that on its log. Such a log is
    /// waited for.
    pub(super) fn await_predecessors(
        &mut self,
        scopes: &[FilePath],
        left_behind: bool,
    ) -> Result<(), StoreError> {
        let mut speaking = None;
        for _ in 0..WAIT_TRIES {
            let blocked = self.recover_dead_logs()?;
            let near =
                |scope: &FilePath, path: &FilePath| path.is_within(scope) || scope.is_within(path);
            let concerns =
                |blocked: &&Blocked| scopes.iter().any(|scope| near(scope, &blocked.name));
            if let Some(blocked) = blocked.iter().find(concerns) {
                return Err(blocked.error());
            }
            if !left_behind {
                return Ok(());
            }
            speaking = self.predecessor(scopes)?;
            if speaking.is_none() {
                return Ok(());
            }
            std::thread::sleep(WAIT_PAUSE);
        }
        let scope = scopes.first().cloned().unwrap_or_default();
        let owner = speaking.map(|number| number.describe_owner(&*self.disk)).unwrap_or_default();
        Err(StoreError::Busy { scope, owner })
    }

    /// Returns another log that holds changes in these scopes.
    fn predecessor(&self, scopes: &[FilePath]) -> Result<Option<LogNumber>, StoreError> {
        let own_number = self.log.as_ref().map(|log| log.number);
        for number in LogNumber::list_logs(&*self.disk)? {
            if Some(number) != own_number
                && !number.is_closed_by_other_user(&*self.disk)?
                && read_log(&*self.disk, number)?.is_ok_and(|history| history.touches(scopes))
            {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Ensures that this process has a log: an existing closed one, or a new one.
    pub(super) fn ensure_log(&mut self) -> Result<(), StoreError> {
        if self.log.is_some() {
            return Ok(());
        }
        ensure_dir(&*self.disk, &known_own_path(&["wal"]), &mut Vec::new())?;
        let numbers = LogNumber::list_logs(&*self.disk)?;
        for number in &numbers {
            if number.is_closed_by_other_user(&*self.disk)? {
                continue;
            }
            if let Some(lock) = number.try_take(&*self.disk, LockMode::Exclusive)?
                && !self.needs_replay(*number)?
            {
                remove_stale_temp(&*self.disk, &number.temp_prefix())?;
                let mut log = WriteAheadLog::take_over(&*self.disk, *number, lock)?;
                remove_stale_staged(&*self.disk, *number)?;
                // On a full disk, the log at its present length will do, as long as it has space.
                let extended = log.extend(self.options.log_size);
                log.mark_in_use(&self.options.owner)?;
                self.log = Some(log);
                if extended.is_ok() {
                    self.fill_reserve();
                }
                return Ok(());
            }
        }
        let next = numbers.last().map_or(1, |last| last.0 + 1);
        for number in (next..).map(LogNumber) {
            if let Some(lock) = number.try_take(&*self.disk, LockMode::Exclusive)? {
                if self
                    .disk
                    .stat(&number.file())
                    .map_err(StoreError::io("access", &number.file()))?
                    .is_some()
                {
                    // Another process has created, used and closed it meanwhile.
                    continue;
                }
                let log = WriteAheadLog::create(&*self.disk, number, lock, self.options.log_size)?;
                log.mark_in_use(&self.options.owner)?;
                if log.capacity() >= self.options.log_size {
                    self.fill_reserve();
                }
                self.log = Some(log);
                break;
            }
        }
        Ok(())
    }
}
