//! [`Options`]: how a store is opened for writing.

use super::findings::RecoveryFindings;
use super::lock_owner::LockOwner;
use super::recovery::RecoveryProgress;

/// The options for opening a store for writing.
#[derive(Debug, Clone)]
pub struct Options {
    /// The process that opens the store.
    pub owner: LockOwner,
    /// The size of a new log; it is recycled when it is full.
    pub log_size: u64,
    /// How large a log may become while many files change, so that they are flushed less often. One large batch may
    /// still exceed it.
    pub max_log_size: u64,
    /// How many changed files stay open from one commit to the next, to be flushed together later. Twice as many are
    /// open while one large batch is applied.
    pub open_files: usize,
    /// The size in bytes from which a new content is staged and flushed beside the log instead of written into it.
    /// Applies to [`Durability::Synced`](super::Durability::Synced); other commits wait for no flush.
    pub stage_from: usize,
    /// Receives the progress of log recovery.
    pub progress: RecoveryProgress,
    /// Receives the findings of recovery.
    pub findings: RecoveryFindings,
}

impl Options {
    /// The default sizes: a log of 1 MiB at first and 64 MiB at most, 256 open files, contents of 64 KiB and more
    /// staged beside the log.
    #[must_use]
    pub fn new(owner: LockOwner) -> Options {
        Options {
            owner,
            log_size: 1 << 20,
            max_log_size: 64 << 20,
            open_files: 256,
            stage_from: 64 << 10,
            progress: RecoveryProgress::default(),
            findings: RecoveryFindings::default(),
        }
    }
}
