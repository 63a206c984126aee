//! [`LogNumber`]: the number of a log, the names of its files, and who owns it.

use std::io;
use std::sync::Arc;

use super::StoreError;
use super::lock_owner::LockOwner;
use super::own_paths::known_own_path;
use crate::disk::{Disk, DiskLock, FileAccess, FileKind, LockMode};
use everturn_json::names::FilePath;

/// The number of a log, from which the names of its files derive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogNumber(pub(super) u32);

/// Returns the length of a log with this capacity that is in use: one byte more than its capacity, which is even. Other
/// users, who cannot read the log, see by its length that it may hold commits.
pub(super) fn in_use_len(capacity: u64) -> u64 {
    capacity | 1
}

/// Returns the capacity of a log with this length.
pub(super) fn capacity_of(len: u64) -> u64 {
    len & !1
}

/// Returns whether a log with this length is in use, or was when its process ended.
fn is_in_use(len: u64) -> bool {
    len != capacity_of(len)
}

impl LogNumber {
    fn parse(name: &str) -> Option<LogNumber> {
        let number = name.strip_suffix(".log")?;
        let parsed = LogNumber(number.parse().ok()?);
        (parsed.render() == name).then_some(parsed)
    }

    fn render(self) -> String {
        format!("{:04}.log", self.0)
    }

    pub(super) fn file(self) -> FilePath {
        known_own_path(&["wal", &self.render()])
    }

    pub(super) fn lock(self) -> FilePath {
        known_own_path(&["wal", &format!("{:04}.lock", self.0)])
    }

    /// The lock of a process that recovers the log.
    pub(super) fn recovery_lock(self) -> FilePath {
        known_own_path(&["wal", &format!("{:04}.recovery", self.0)])
    }

    /// Returns whether a live process owns the log. Writes nothing.
    pub(super) fn has_owner(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        disk.is_locked(&self.lock()).map_err(self.lock_error("access"))
    }

    /// Returns whether the log belongs to another user whose process has closed it.
    ///
    /// The log itself cannot be read, so this is decided by two marks, and both must be absent: the text in its lock
    /// file, which a kill leaves behind, and the length of the log, which a power cut leaves behind as well, because it
    /// is flushed with the header of each epoch.
    pub(super) fn is_closed_by_other_user(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        let path = self.file();
        let opened = disk.open(&path, FileAccess::Read);
        let is_denied = opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        if !is_denied || self.was_abandoned(disk)? {
            return Ok(false);
        }
        let found = disk.stat(&path).map_err(StoreError::io("access", &path))?;
        Ok(found.is_none_or(|stat| !is_in_use(stat.len)))
    }

    /// Wraps an error of the lock file. If another user denies access to it, its log is out of reach, too.
    fn lock_error(self, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                StoreError::UnreadableLog { log: self.file(), source: Arc::new(source) }
            }
            _ => StoreError::io(doing, &self.lock())(source),
        }
    }

    /// Describes the process that recovers or owns the log, according to the lock files.
    pub(super) fn describe_owner(self, disk: &dyn Disk) -> String {
        let known = [self.recovery_lock(), self.lock()].map(|file| LockOwner::read(disk, &file));
        let known = known.into_iter().flatten().next();
        known.map_or_else(|| "shutting down".to_owned(), |owner| owner.to_string())
    }

    /// The prefix of temporary files of this log's owner.
    pub(super) fn temp_prefix(self) -> String {
        format!("{:04}-", self.0)
    }

    /// Lists the existing logs, in order.
    pub(super) fn list_logs(disk: &dyn Disk) -> Result<Vec<LogNumber>, StoreError> {
        let dir = known_own_path(&["wal"]);
        let listing = match disk.list(&dir) {
            Ok(listing) => listing,
            // If it is not a directory, nothing was ever logged.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(StoreError::io("list", &dir)(error)),
        };
        let files = listing.entries.iter().filter(|entry| entry.kind == FileKind::File);
        Ok(files.filter_map(|entry| LogNumber::parse(entry.name.as_str())).collect())
    }

    /// Locks the log if its owner is dead; `None` if the owner lives, or another process has locked it.
    ///
    /// Readers share the lock, so that they do not mistake each other for its owner.
    pub(super) fn try_take(
        self,
        disk: &dyn Disk,
        sharing: LockMode,
    ) -> Result<Option<Box<dyn DiskLock>>, StoreError> {
        disk.lock(&self.lock(), sharing).map_err(self.lock_error("lock"))
    }

    /// Returns whether the last owner of the log ended without closing it, according to its lock file.
    ///
    /// Then the disk may hold records that no reader sees: they were voided after a failure, and a power cut would
    /// restore them.
    pub(super) fn was_abandoned(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        let path = self.lock();
        let found = disk.stat(&path).map_err(StoreError::io("access", &path))?;
        Ok(found.is_some_and(|stat| stat.len > 0))
    }
}
