//! What can go wrong in a store.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use crate::disk::{is_full, is_out_of_files};
use everturn_json::names::FilePath;

/// Whether this process was refused a file because too many are open.
static OUT_OF_FILES: AtomicBool = AtomicBool::new(false);

/// Whether this process could not open a file because too many are open. From then on, a file that seems to be
/// damaged or missing may be neither: the limit is one of the process, and says nothing about the files.
#[must_use]
pub fn ran_out_of_files() -> bool {
    OUT_OF_FILES.load(Ordering::Relaxed)
}

/// Why the store could not do what was asked.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk said no.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file or directory.
        path: FilePath,
        /// What the disk said.
        #[source]
        source: Arc<io::Error>,
    },
    /// Another writer is at work there.
    #[error("{scope} is being written by another process ({owner})")]
    Busy {
        /// What was to be locked.
        scope: FilePath,
        /// Who holds it.
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
        "{file} has changed: an append was meant for byte {expected}, but the file ends at {found}"
    )]
    Moved {
        /// The file.
        file: FilePath,
        /// Where the caller believed the end to be.
        expected: u64,
        /// Where it is.
        found: u64,
    },
    /// A file to be replaced is not what the caller has read.
    #[error("{file} has changed since it was read")]
    Changed {
        /// The file.
        file: FilePath,
    },
    /// Something that must exist does not.
    #[error("{path} does not exist")]
    Missing {
        /// What is missing.
        path: FilePath,
    },
    /// A name that must be free is not.
    #[error("{path} exists already")]
    Taken {
        /// The name.
        path: FilePath,
    },
    /// A batch that makes no sense.
    #[error("{path}: {reason}")]
    BadStep {
        /// The file.
        path: FilePath,
        /// What is wrong with the step.
        reason: &'static str,
    },
    /// A process that is gone has left commits there that cannot be completed.
    #[error("commits of a process that is gone cannot be completed at {path}, and wait in {log}")]
    Blocked {
        /// Where.
        path: FilePath,
        /// The log that has them.
        log: FilePath,
        /// What is in the way.
        #[source]
        cause: Arc<StoreError>,
    },
    /// A log that may hold commits cannot be read.
    #[error("the log {log} cannot be read, and may hold commits that the files do not show")]
    UnreadableLog {
        /// The log.
        log: FilePath,
        /// What the disk said.
        #[source]
        source: Arc<io::Error>,
    },
    /// A new content that stood beside the log of a process that is gone is not there as it was written.
    #[error("what {path} was to become is damaged or gone: {staged}")]
    Lost {
        /// The file that was to get it.
        path: FilePath,
        /// Where the content stood.
        staged: FilePath,
    },
    /// The store was opened for reading only.
    #[error("the store is open for reading only")]
    ReadOnly,
    /// A commit that shared a flush and a file with this one could not be applied.
    #[error("an earlier commit to the same file failed; try again")]
    Overtaken,
    /// An earlier failure left the store in doubt; it must be opened again.
    ///
    /// If this answers a commit, the commit may turn out to be there, whole, after that.
    #[error("the store must be opened again after a failure")]
    Poisoned {
        /// The failure.
        #[source]
        cause: Arc<StoreError>,
    },
}

impl StoreError {
    /// Whether there was no room for what was to be written, and nothing is in doubt.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if is_full(source))
    }

    /// The same for a log that cannot be read. One that is gone, or of a newer version, is told as any other file.
    pub(crate) fn log(
        doing: &'static str,
        log: &FilePath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let log = log.clone();
        move |source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::Unsupported => {
                StoreError::io(doing, &log)(source)
            }
            _ => StoreError::UnreadableLog { log, source: Arc::new(source) },
        }
    }

    /// Makes an error of what the disk said, for `map_err`.
    pub fn io(
        doing: &'static str,
        path: &FilePath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let path = path.clone();
        move |source| match source.kind() {
            _ if is_out_of_files(&source) => {
                OUT_OF_FILES.store(true, Ordering::Relaxed);
                StoreError::Io { doing, path, source: Arc::new(source) }
            }
            io::ErrorKind::NotFound => StoreError::Missing { path },
            _ => StoreError::Io { doing, path, source: Arc::new(source) },
        }
    }
}
