//! The logs of a root: those of processes that are gone, those of living ones, and our own.

use std::sync::Arc;
use std::time::Duration;

use super::StoreError;
use super::apply::sweep;
use super::core::Core;
use super::log::{Log, LogNumber, own};
use super::quarantine::ensure_dir;
use super::recover::{read_log, recover, waiting};
use super::staged::sweep_staged;
use crate::disk::{Disk, DiskLock, Sharing};
use crate::finding::{Code, Finding};
use crate::names::FilePath;

/// How often, and how long in between, a dying process is waited for.
const DYING_TRIES: usize = 100;
const DYING_PAUSE: Duration = Duration::from_millis(10);

/// A name that cannot be brought to where a log says it is, and why.
type Blocked = (FilePath, Arc<StoreError>);

/// How many commits all logs hold that the plain files do not show.
pub(super) fn waiting_commits(disk: &dyn Disk) -> Result<usize, StoreError> {
    let mut commits = 0;
    for number in LogNumber::all(disk)? {
        if let Ok(history) = read_log(disk, number)? {
            commits += waiting(disk, &history)?;
        }
    }
    Ok(commits)
}

/// What is to be said about the logs: commits that wait, and logs that cannot be read.
pub(crate) fn log_findings(disk: &dyn Disk) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for number in LogNumber::all(disk)? {
        match read_log(disk, number)? {
            Err(finding) => findings.push(finding),
            Ok(history) => {
                let commits = waiting(disk, &history)?;
                if commits > 0 {
                    let (file, code) = (number.file(), Code::CommitsWaiting);
                    let message = format!(
                        "the files do not show all of the {commits} commits in this log; opening the root for writing replays them, unless their process still runs"
                    );
                    findings.push(Finding { file, line: None, offset: None, code, message });
                }
            }
        }
    }
    Ok(findings)
}

/// Keeps replaying apart from everything else: one process replays, or any number look around.
///
/// Without it, whoever takes a scope over could take a log that is just being replayed for one whose
/// owner lives, and write into files that the replay is about to write.
fn replay_lock(disk: &dyn Disk, sharing: Sharing) -> Result<Box<dyn DiskLock>, StoreError> {
    let path = own(&["wal", "replay.lock"]);
    let lock = disk.wait_for_lock(&path, sharing).map_err(StoreError::io("lock", &path))?;
    let holder = "which replays the commits of one that is gone".to_owned();
    lock.ok_or(StoreError::Busy { scope: FilePath::root(), holder })
}

impl Core {
    /// Replays the logs of processes that are gone; leaves those of living ones alone.
    ///
    /// Returns the names that something is in the way of: what the logs say of them stays there.
    pub(super) fn recover_dead_logs(&mut self) -> Result<Vec<Blocked>, StoreError> {
        let own_number = self.log.as_ref().map(|log| log.number);
        let mut numbers = LogNumber::all(&*self.disk)?;
        numbers.retain(|number| Some(*number) != own_number);
        let mut blocked = Vec::new();
        if numbers.is_empty() {
            return Ok(blocked);
        }
        let looking = replay_lock(&*self.disk, Sharing::Shared)?;
        let mut dead = Vec::new();
        for number in numbers {
            if let Some(_free) = number.take(&*self.disk, Sharing::Shared)?
                && self.needs_replay(number)?
            {
                dead.push(number);
            }
        }
        drop(looking);
        if dead.is_empty() {
            return Ok(blocked);
        }
        let _replaying = replay_lock(&*self.disk, Sharing::Exclusive)?;
        for number in dead {
            if let Some(lock) = number.take(&*self.disk, Sharing::Exclusive)?
                && self.needs_replay(number)?
            {
                let recovered = recover(&*self.disk, number)?;
                self.findings.extend(recovered.findings);
                if recovered.blocked.is_empty() {
                    let log = Log::take_over(&*self.disk, number, lock)?;
                    // Not before the new header is safe: until then records count that may need them.
                    sweep_staged(&*self.disk, number)?;
                    log.close()?;
                    continue;
                }
                if !recovered.settled.is_empty() {
                    Log::settle(&*self.disk, number, lock, recovered.settled)?;
                }
                blocked.extend(recovered.blocked);
            }
        }
        self.report_blocked(&blocked);
        Ok(blocked)
    }

    /// Says once of each name that something is in its way.
    fn report_blocked(&mut self, blocked: &[Blocked]) {
        for (file, cause) in blocked {
            if self.blocked.insert(file.clone()) {
                let (file, code) = (file.clone(), Code::CannotReplay);
                let message =
                    format!("commits of a process that is gone cannot be completed: {cause}");
                self.findings.push(Finding { file, line: None, offset: None, code, message });
            }
        }
    }

    pub(super) fn needs_replay(&self, number: LogNumber) -> Result<bool, StoreError> {
        let history = read_log(&*self.disk, number)?;
        let has_commits = history.map_or(true, |history| history.commits > 0);
        Ok(has_commits || number.was_abandoned(&*self.disk)?)
    }

    /// Makes sure that no other log says anything about `scopes`, which we have just locked.
    ///
    /// Whoever gives a scope back has settled it. A log that speaks of it all the same belongs to a
    /// process that is just dying, whose lock on the scope was freed before that on the log.
    pub(super) fn await_heritage(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        for _ in 0..DYING_TRIES {
            let blocked = self.recover_dead_logs()?;
            let near =
                |scope: &FilePath, path: &FilePath| path.is_within(scope) || scope.is_within(path);
            let concerns = |(path, _): &Blocked| scopes.iter().any(|scope| near(scope, path));
            if let Some((path, cause)) = blocked.into_iter().find(concerns) {
                return Err(StoreError::Blocked { path, cause });
            }
            let own_number = self.log.as_ref().map(|log| log.number);
            let mut speaks = false;
            for number in LogNumber::all(&*self.disk)? {
                if Some(number) != own_number {
                    let history = read_log(&*self.disk, number)?;
                    speaks |= history.is_ok_and(|history| history.touches(scopes));
                }
            }
            if !speaks {
                return Ok(());
            }
            std::thread::sleep(DYING_PAUSE);
        }
        let scope = scopes.first().cloned().unwrap_or_default();
        Err(StoreError::Busy { scope, holder: "which is ending".to_owned() })
    }

    /// Makes sure that this process has a log: one that is left over and closed, or a new one.
    pub(super) fn ensure_log(&mut self) -> Result<(), StoreError> {
        if self.log.is_some() {
            return Ok(());
        }
        ensure_dir(&*self.disk, &own(&["wal"]), &mut Vec::new())?;
        let numbers = LogNumber::all(&*self.disk)?;
        for number in &numbers {
            if let Some(lock) = number.take(&*self.disk, Sharing::Exclusive)?
                && !self.needs_replay(*number)?
            {
                sweep(&*self.disk, &number.temp_prefix())?;
                let mut log = Log::take_over(&*self.disk, *number, lock)?;
                sweep_staged(&*self.disk, *number)?;
                // Should the disk be full, a log as short as it is will do, as long as there is room in it.
                drop(log.extend(self.options.log_size));
                log.mark_in_use()?;
                self.log = Some(log);
                return Ok(());
            }
        }
        let next = numbers.last().map_or(1, |last| last.0 + 1);
        for number in (next..).map(LogNumber) {
            if let Some(lock) = number.take(&*self.disk, Sharing::Exclusive)? {
                if self
                    .disk
                    .stat(&number.file())
                    .map_err(StoreError::io("look at", &number.file()))?
                    .is_some()
                {
                    // Another process has made it, used it and closed it meanwhile.
                    continue;
                }
                let log = Log::create(&*self.disk, number, lock, self.options.log_size)?;
                log.mark_in_use()?;
                self.log = Some(log);
                break;
            }
        }
        Ok(())
    }
}
