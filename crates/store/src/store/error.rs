//! [`StoreError`]: the errors of a store.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::disk::{FileKind, FileStat, is_full, is_out_of_files, not_a_file};
use everturn_json::names::FilePath;

/// The number of opens that failed because too many files were open.
static FAILED_OPENS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of opens that have failed since the process started because too many files were open.
///
/// If the number grows during an operation, a file that seemed damaged or missing may be neither: the limit is one of
/// the process, and says nothing about the files.
#[must_use]
pub fn failed_opens() -> u64 {
    FAILED_OPENS.load(Ordering::Relaxed)
}

/// Counts an error of the disk if it means that too many files are open.
fn count_failed_open(error: &io::Error) {
    if is_out_of_files(error) {
        FAILED_OPENS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Why a store operation failed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk reported an error.
    #[error("cannot {doing} {path}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or directory.
        path: FilePath,
        /// The disk's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// Another writer is active there.
    #[error("{scope} is being written by another process ({owner})")]
    Busy {
        /// The scope to be locked.
        scope: FilePath,
        /// The lock owner.
        owner: String,
    },
    /// A step touches a file that its writer has not locked.
    #[error("{path} is outside the scope of this writer")]
    OutsideScope {
        /// The file.
        path: FilePath,
    },
    /// An append was planned for another end of the file.
    #[error(
        "{file} has changed: expected to append at byte {expected}, but the file ends at {found}"
    )]
    Moved {
        /// The file.
        file: FilePath,
        /// Where the caller expected the end.
        expected: u64,
        /// Where the end is.
        found: u64,
    },
    /// A file to be replaced has another content than the caller has read.
    #[error("{file} has changed since it was read")]
    Changed {
        /// The file.
        file: FilePath,
    },
    /// A required file or directory does not exist.
    #[error("{path} does not exist")]
    Missing {
        /// The missing path.
        path: FilePath,
    },
    /// A name that must be free is not.
    #[error("{path} already exists")]
    Taken {
        /// The name.
        path: FilePath,
    },
    /// A batch is invalid.
    #[error("{path}: {reason}")]
    BadStep {
        /// The file.
        path: FilePath,
        /// What is wrong with the step.
        reason: &'static str,
    },
    /// A dead process has left commits there that cannot be completed.
    #[error("commits of a dead process cannot be completed at {path}; they remain in {log}")]
    Blocked {
        /// The path at which they are blocked.
        path: FilePath,
        /// The log that holds them.
        log: FilePath,
        /// The reason.
        #[source]
        cause: Arc<StoreError>,
    },
    /// A log that may hold commits cannot be read.
    #[error("the log {log} cannot be read and may hold commits that are not in the files yet")]
    UnreadableLog {
        /// The log.
        log: FilePath,
        /// The disk's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// A staged content of a dead process is missing or not as it was written.
    #[error("the staged content of {path} is damaged or missing: {staged}")]
    Lost {
        /// The file that was to get the content.
        path: FilePath,
        /// The staged file.
        staged: FilePath,
    },
    /// The lease of this writer ended, and another writer may have written since. Nothing was written.
    #[error("another writer has taken over {scope}; open it again")]
    LeaseLost {
        /// The scope that was lost.
        scope: FilePath,
    },
    /// The store was opened for reading only.
    #[error("the store is read-only")]
    ReadOnly,
    /// A commit that shared a flush and a file with this one could not be applied.
    #[error("an earlier commit to the same file failed; try again")]
    Overtaken,
    /// An earlier failure left the store in doubt; it must be reopened.
    ///
    /// If a commit returns this, the whole commit may turn out to be there after reopening.
    #[error("the store must be reopened after a failure")]
    Poisoned {
        /// The failure.
        #[source]
        cause: Arc<StoreError>,
    },
}

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another process writes to the session: try again later.
    Busy,
    /// There is no such root, session, turn or value: request another.
    NotFound,
    /// The request itself is wrong: change it.
    Request,
    /// The session, its format or the root does not offer the operation: it is read-only, or lacks it.
    Unsupported,
    /// The request contradicts what is stored, or the files have changed: read again and decide.
    Conflict,
    /// Stored data are damaged: repair them.
    Damaged,
    /// The store is in doubt after a failed flush: drop the root and open it again.
    Reopen,
    /// The disk failed, or is full.
    Io,
}

impl StoreError {
    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            StoreError::Busy { .. } => ErrorKind::Busy,
            StoreError::Poisoned { .. } => ErrorKind::Reopen,
            StoreError::Io { .. } => ErrorKind::Io,
            StoreError::Blocked { .. }
            | StoreError::UnreadableLog { .. }
            | StoreError::Lost { .. } => ErrorKind::Damaged,
            StoreError::Moved { .. }
            | StoreError::Changed { .. }
            | StoreError::Overtaken
            | StoreError::LeaseLost { .. } => ErrorKind::Conflict,
            StoreError::Missing { .. } => ErrorKind::NotFound,
            StoreError::ReadOnly => ErrorKind::Unsupported,
            StoreError::OutsideScope { .. }
            | StoreError::Taken { .. }
            | StoreError::BadStep { .. } => ErrorKind::Request,
        }
    }

    /// Returns whether there was no space for the data to be written, and nothing is in doubt.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if is_full(source))
    }

    /// As [`StoreError::io`], for a log. A missing log, or one of a newer version, is an ordinary I/O error.
    pub(crate) fn log(
        doing: &'static str,
        log: &FilePath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let log = log.clone();
        move |source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::Unsupported => {
                StoreError::io(doing, &log)(source)
            }
            _ => {
                count_failed_open(&source);
                StoreError::UnreadableLog { log, source: Arc::new(source) }
            }
        }
    }

    /// Refuses anything but a regular file: the length of a directory or a pipe says nothing about a content.
    pub fn check_kind(path: &FilePath, stat: &FileStat) -> Result<(), StoreError> {
        match stat.kind {
            FileKind::File => Ok(()),
            _ => Err(StoreError::io("read", path)(not_a_file())),
        }
    }

    /// Wraps an error of the disk, for `map_err`.
    pub fn io(
        doing: &'static str,
        path: &FilePath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let path = path.clone();
        move |source| {
            count_failed_open(&source);
            match source.kind() {
                io::ErrorKind::NotFound => StoreError::Missing { path },
                _ => StoreError::Io { doing, path, source: Arc::new(source) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_that_fail_because_of_the_limit_are_counted() {
        let path = FilePath::root();
        for (code, counts) in [(rustix::io::Errno::MFILE, true), (rustix::io::Errno::NOENT, false)]
        {
            let error = || io::Error::from_raw_os_error(code.raw_os_error());
            let before = failed_opens();
            let io = StoreError::io("open", &path)(error());
            assert_eq!(matches!(io, StoreError::Missing { .. }), !counts);
            drop(StoreError::log("open", &path)(error()));
            assert_eq!(failed_opens() - before, if counts { 2 } else { 0 }, "{code}");
        }
    }
}
