//! [`DiskView`]: the disk as readers see it, with the commits that only the logs of dead processes hold.
//!
//! [`DiskView::recovered`] runs recovery on an in-memory overlay, so readers see exactly what recovery would produce,
//! and nothing is written. A name whose recovery could not be completed cannot be read.

use std::io;
use std::sync::Arc;

use super::StoreError;
use super::log_number::LogNumber;
use super::log_scan::{read_epoch, scan_log};
use super::recovery::{Blocked, RecoveryProgress, read_log, recover};
use super::relocate::is_unfinished_copy;
use crate::disk::{DirEntry, DirListing, Disk, FileAccess, FileKind, OverlayDisk};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;

/// How often a view is rebuilt because the logs have changed meanwhile.
const MAX_TRIES: usize = 20;

pub(super) struct DiskView {
    pub(super) disk: Arc<dyn Disk>,
    blocked: Vec<Blocked>,
    /// The findings of that recovery.
    pub(super) findings: Vec<Finding>,
    /// The logs that the overlay was built from.
    logs: Vec<LogPosition>,
}

/// The position that a log had reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogPosition {
    number: LogNumber,
    epoch: u64,
    end: u64,
}

impl DiskView {
    /// Returns the plain files, for a store whose logs were recovered when it was opened.
    pub(super) fn plain(disk: Arc<dyn Disk>, blocked: Vec<Blocked>) -> DiskView {
        DiskView { disk, blocked, findings: Vec::new(), logs: Vec::new() }
    }

    /// Returns the plain files as recovery would leave them now.
    pub(super) fn recovered(
        base: &Arc<dyn Disk>,
        progress: &RecoveryProgress,
    ) -> Result<DiskView, StoreError> {
        let mut view = DiskView::plain(Arc::clone(base), Vec::new());
        let mut logs = dead_logs(&**base)?;
        for _ in 0..MAX_TRIES {
            if logs.is_empty() {
                return Ok(DiskView::plain(Arc::clone(base), Vec::new()));
            }
            view = DiskView::overlaid(base, logs.clone(), progress);
            let now = dead_logs(&**base)?;
            if now == logs {
                return Ok(view);
            }
            // Another process has recovered one of them, or has died.
            logs = now;
        }
        Ok(view)
    }

    fn overlaid(
        base: &Arc<dyn Disk>,
        logs: Vec<LogPosition>,
        progress: &RecoveryProgress,
    ) -> DiskView {
        let overlay = Arc::new(OverlayDisk::new(Arc::clone(base)));
        let (mut blocked, mut findings) = (Vec::new(), Vec::new());
        for log in &logs {
            match recover(&*overlay, log.number, progress) {
                Ok(recovered) => {
                    blocked.extend(recovered.blocked);
                    findings.extend(recovered.findings);
                }
                Err(error) => blocked.extend(all_blocked(&**base, log.number, error)),
            }
        }
        findings.extend(blocked.iter().map(blocked_finding));
        DiskView { disk: overlay, blocked, findings, logs }
    }

    /// Returns whether the logs that this view was built from are still unrecovered. Called before every read, so it
    /// only reads their headers.
    pub(super) fn is_current(&self, base: &dyn Disk) -> Result<bool, StoreError> {
        for log in &self.logs {
            let path = log.number.file();
            let file = base.open(&path, FileAccess::Read).map_err(StoreError::io("open", &path))?;
            if read_epoch(&*file).map_err(StoreError::io("read", &path))? != log.epoch {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether this is just the plain files.
    pub(super) fn is_plain(&self) -> bool {
        self.logs.is_empty()
    }

    /// Refuses a path with commits that cannot be shown.
    pub(super) fn check(&self, path: &FilePath) -> Result<(), StoreError> {
        match self.blocked.iter().find(|blocked| path.is_within(&blocked.name)) {
            Some(blocked) => Err(blocked.error()),
            None => Ok(()),
        }
    }

    /// Lists a directory. Includes names that cannot be shown correctly; omits unfinished copies of a move to another
    /// mount.
    pub(super) fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        let mut listing = self.disk.list(dir).map_err(StoreError::io("list", dir))?;
        listing.entries.retain(|entry| !is_unfinished_copy(&entry.name));
        for blocked in &self.blocked {
            if blocked.name.parent().as_ref() == Some(dir)
                && let Some(name) = blocked.name.name()
                && !listing.entries.iter().any(|entry| entry.name == name)
            {
                listing.entries.push(DirEntry { name, kind: FileKind::File, linked: false });
                listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
            }
        }
        Ok(listing)
    }
}

/// Returns the finding for a name whose recovery could not be completed.
pub(super) fn blocked_finding(blocked: &Blocked) -> Finding {
    let (file, code) = (blocked.name.clone(), FindingCode::CannotReplay);
    let (log, cause) = (blocked.log.file(), &blocked.cause);
    let message = format!("pending commits in {log} cannot be completed: {cause}");
    Finding { file, line: None, offset: None, code, message }
}

/// Returns the names of a log that cannot be recovered, or the log itself if its names cannot be read.
pub(super) fn all_blocked(disk: &dyn Disk, number: LogNumber, error: StoreError) -> Vec<Blocked> {
    let cause = Arc::new(error);
    let names = match read_log(disk, number) {
        Ok(Ok(history)) => history.names().cloned().collect(),
        _ => vec![number.file()],
    };
    let blocked = |name| Blocked { name, log: number, cause: Arc::clone(&cause) };
    names.into_iter().map(blocked).collect()
}

/// Returns the logs of dead processes that hold records.
fn dead_logs(disk: &dyn Disk) -> Result<Vec<LogPosition>, StoreError> {
    let mut logs = Vec::new();
    for number in LogNumber::list_logs(disk)? {
        if number.is_closed_by_other_user(disk)? || number.has_owner(disk)? {
            continue;
        }
        let path = number.file();
        let file = match disk.open(&path, FileAccess::Read) {
            Ok(file) => file,
            // Removed since the directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StoreError::log("open", &path)(error)),
        };
        let scan = scan_log(&*file).map_err(StoreError::log("read", &path))?;
        if scan.damaged || !scan.records.is_empty() {
            logs.push(LogPosition { number, epoch: scan.epoch, end: scan.end });
        }
    }
    Ok(logs)
}
