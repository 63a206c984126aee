//! [`DiskView`]: the disk as readers see it, with the commits that only the logs of dead processes hold.
//!
//! [`DiskView::recovered`] runs recovery on an in-memory overlay, so readers see exactly what recovery would produce,
//! and nothing is written. A name whose recovery could not be completed cannot be read.

use std::io;
use std::sync::Arc;

use super::StoreError;
use super::log_number::LogNumber;
use super::log_scan::{LogPosition, scan_log};
use super::recovery::{Blocked, RecoveryProgress, read_log, recover};
use super::relocate::is_unfinished_copy;
use crate::disk::{
    DirEntry, DirListing, Disk, DiskFile, FileAccess, FileKind, FileStat, OverlayDisk,
};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;

/// How often a view is rebuilt because the logs have changed meanwhile.
const MAX_TRIES: usize = 20;

pub(super) struct DiskView {
    pub(super) disk: Arc<dyn Disk>,
    blocked: Vec<Blocked>,
    /// The findings of that recovery.
    pub(super) findings: Vec<Finding>,
    /// The logs when the view was built; `None` if they were not read for it.
    logs: Option<Vec<LogState>>,
}

/// A log when a view was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogState {
    number: LogNumber,
    /// The position that the log of a dead process had reached; `None` if its owner lives or it cannot be read.
    position: Option<LogPosition>,
    /// Whether the log holds records that are part of the view.
    is_shown: bool,
}

impl LogState {
    /// Returns whether a log that was dead is still as it was. Reads only its headers and the end.
    fn is_unchanged(&self, disk: &dyn Disk) -> Result<bool, StoreError> {
        let Some(position) = &self.position else { return Ok(true) };
        let path = self.number.file();
        let file = match disk.open(&path, FileAccess::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io("open", &path)(error)),
        };
        position.is_end(&*file).map_err(StoreError::io("read", &path))
    }
}

impl DiskView {
    /// Returns the plain files, for a store whose logs were recovered when it was opened.
    pub(super) fn plain(disk: Arc<dyn Disk>, blocked: Vec<Blocked>) -> DiskView {
        DiskView { disk, blocked, findings: Vec::new(), logs: None }
    }

    /// Returns the plain files as recovery would leave them now.
    pub(super) fn recovered(
        base: &Arc<dyn Disk>,
        progress: &RecoveryProgress,
    ) -> Result<DiskView, StoreError> {
        let mut logs = read_states(&**base)?;
        for _ in 1..MAX_TRIES {
            let view = DiskView::overlaid(base, logs, progress);
            if view.has_same_logs(&**base)? {
                return Ok(view);
            }
            // Another process has recovered one of them, or has died.
            logs = read_states(&**base)?;
        }
        Ok(DiskView::overlaid(base, logs, progress))
    }

    fn overlaid(
        base: &Arc<dyn Disk>,
        logs: Vec<LogState>,
        progress: &RecoveryProgress,
    ) -> DiskView {
        let (mut blocked, mut findings) = (Vec::new(), Vec::new());
        let mut disk = Arc::clone(base);
        if logs.iter().any(|log| log.is_shown) {
            let overlay = Arc::new(OverlayDisk::new(Arc::clone(base)));
            for log in logs.iter().filter(|log| log.is_shown) {
                match recover(&*overlay, log.number, progress) {
                    Ok(recovered) => {
                        blocked.extend(recovered.blocked);
                        findings.extend(recovered.findings);
                    }
                    Err(error) => blocked.extend(all_blocked(&**base, log.number, error)),
                }
            }
            findings.extend(blocked.iter().map(blocked_finding));
            disk = overlay;
        }
        DiskView { disk, blocked, findings, logs: Some(logs) }
    }

    fn shown_logs(&self) -> impl Iterator<Item = &LogState> {
        self.logs.iter().flatten().filter(|log| log.is_shown)
    }

    /// Returns whether the logs that this view shows are still unrecovered. Called before every read, so it reads only
    /// their headers and ends.
    pub(super) fn is_current(&self, base: &dyn Disk) -> Result<bool, StoreError> {
        for log in self.shown_logs() {
            if !log.is_unchanged(base)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As [`DiskView::is_current`], and whether no other process has died since. Then the view built again would be the
    /// same.
    pub(super) fn has_same_logs(&self, base: &dyn Disk) -> Result<bool, StoreError> {
        let Some(logs) = &self.logs else { return Ok(false) };
        let numbers = LogNumber::list_logs(base)?;
        if !numbers.iter().eq(logs.iter().map(|log| &log.number)) {
            return Ok(false);
        }
        for log in logs {
            if is_dead(base, log.number)? != log.position.is_some() || !log.is_unchanged(base)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether this is just the plain files.
    pub(super) fn is_plain(&self) -> bool {
        self.shown_logs().next().is_none()
    }

    /// Refuses a path with commits that cannot be shown.
    pub(super) fn check(&self, path: &FilePath) -> Result<(), StoreError> {
        match self.blocked.iter().find(|blocked| path.is_within(&blocked.name)) {
            Some(blocked) => Err(blocked.error()),
            None => Ok(()),
        }
    }

    /// Returns a name below `dir` that cannot be shown.
    pub(super) fn blocked_below(&self, dir: &FilePath) -> Option<&Blocked> {
        self.blocked.iter().find(|blocked| blocked.name != *dir && blocked.name.is_within(dir))
    }

    /// Returns the metadata of a path. Something that is in the way of files that cannot be shown is an error, and so is
    /// a missing directory of such files.
    pub(super) fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.check(path)?;
        let found = self.disk.stat_with_time(path).map_err(StoreError::io("access", path));
        let is_dir =
            found.as_ref().is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == FileKind::Dir));
        match self.blocked_below(path) {
            Some(blocked) if !is_dir => Err(blocked.error()),
            _ => found,
        }
    }

    /// Opens a file for reading. A link that leads out of the root is not a file whose owner refuses access.
    pub(super) fn open(&self, file: &FilePath) -> Result<Box<dyn DiskFile>, StoreError> {
        self.check(file)?;
        self.disk.open(file, FileAccess::Read).map_err(|error| {
            let is_link = || {
                let found = self.disk.stat(file);
                found.is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == FileKind::LinkOutside))
            };
            match error.kind() {
                io::ErrorKind::PermissionDenied if is_link() => {
                    StoreError::io("open", file)(io::Error::new(io::ErrorKind::IsADirectory, error))
                }
                _ => StoreError::io("open", file)(error),
            }
        })
    }

    /// Lists a directory. Names that cannot be shown correctly are included as the files that they should be, whatever
    /// is there instead; unfinished copies of a move to another mount are omitted.
    pub(super) fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        let mut listing = self.disk.list(dir).map_err(|error| match self.blocked_below(dir) {
            Some(blocked) => blocked.error(),
            None => StoreError::io("list", dir)(error),
        })?;
        listing.entries.retain(|entry| !is_unfinished_copy(&entry.name));
        for blocked in &self.blocked {
            let paths = std::iter::once(blocked.name.clone()).chain(blocked.name.ancestors());
            let child = paths.into_iter().find(|path| path.parent().as_ref() == Some(dir));
            let Some(name) = child.as_ref().and_then(FilePath::name) else { continue };
            let is_child = child.as_ref() == Some(&blocked.name);
            let kind = if is_child { FileKind::File } else { FileKind::Dir };
            let is_file = is_child && blocked.is_file;
            match listing.entries.binary_search_by(|entry| entry.name.cmp(&name)) {
                Ok(at) => {
                    let entry = listing.entries.get_mut(at);
                    let is_other = |entry: &&mut DirEntry| is_file || entry.kind != FileKind::Dir;
                    if let Some(entry) = entry.filter(is_other) {
                        (entry.kind, entry.linked) = (kind, false);
                    }
                }
                Err(at) => listing.entries.insert(at, DirEntry { name, kind, linked: false }),
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
    let blocked =
        |name: FilePath, is_file| Blocked { name, is_file, log: number, cause: Arc::clone(&cause) };
    match read_log(disk, number) {
        Ok(Ok(history)) => {
            let named = |name: &FilePath| blocked(name.clone(), history.files.contains_key(name));
            history.names().map(named).collect()
        }
        _ => vec![blocked(number.file(), true)],
    }
}

/// Returns whether a log has no owner, and may be read.
fn is_dead(disk: &dyn Disk, number: LogNumber) -> Result<bool, StoreError> {
    Ok(!number.is_closed_by_other_user(disk)? && !number.has_owner(disk)?)
}

/// Returns the logs as they are now.
fn read_states(disk: &dyn Disk) -> Result<Vec<LogState>, StoreError> {
    let mut logs = Vec::new();
    for number in LogNumber::list_logs(disk)? {
        let mut log = LogState { number, position: None, is_shown: false };
        if is_dead(disk, number)? {
            let path = number.file();
            let file = match disk.open(&path, FileAccess::Read) {
                Ok(file) => file,
                // Removed since the directory was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::log("open", &path)(error)),
            };
            let scan = scan_log(&*file).map_err(StoreError::log("read", &path))?;
            log.position = Some(scan.position());
            log.is_shown = scan.damaged || !scan.records.is_empty();
        }
        logs.push(log);
    }
    Ok(logs)
}
