//! The narrow waist: everything above plans [`Step`]s, everything below applies a batch of them as a whole or not at
//! all.
//!
//! [`FileStore`] keeps plain files on a [`Disk`](crate::disk::Disk). [`MemoryStore`] persists nothing: it is the
//! simplest implementation of a [`Store`], and the reference that the other is tested against.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::{DirListing, FileStat};
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;

mod batch;
mod changes;
mod digest;
mod disk_ops;
mod disk_view;
mod error;
mod file_store;
mod findings;
mod fingerprint;
mod flushed_files;
mod group_commit;
mod lock_owner;
mod locks;
mod log;
mod log_number;
mod log_scan;
mod memory_store;
mod mutex;
mod options;
mod own_paths;
mod path_tracker;
mod quarantine;
mod record;
mod recovery;
mod relocate;
mod replay;
mod snapshot;
mod staging;
mod store_core;
mod store_source;
mod sync_existing;
mod validate;

pub use error::{StoreError, failed_opens};
pub use file_store::{FileStore, FileWriter};
pub use findings::RecoveryFindings;
pub use fingerprint::Fingerprint;
pub use lock_owner::LockOwner;
pub use memory_store::MemoryStore;
pub use options::Options;
pub use recovery::{RecoveryProgress, RecoveryStage};
pub use relocate::is_unfinished_copy;
pub use store_source::StoreSource;
pub use validate::{CheckedBatch, check_append_offset};

/// Everturn's own directory below the root: logs, locks, quarantine. Not part of the user's data.
pub const OWN_DIR: &str = ".everturn";

/// The trash: removed data, kept until it is restored or purged.
///
/// A writer may write here only in a scope that is this directory or lies below it; the same holds for [`staging_dir`].
/// No other writer may write anywhere in [`OWN_DIR`], not even the writer of the root.
#[must_use]
pub fn trash_dir() -> FilePath {
    own_paths::known_own_path(&["trash"])
}

/// The directory in which directories are built out of sight, over several commits, before they are renamed into place.
#[must_use]
pub fn staging_dir() -> FilePath {
    own_paths::known_own_path(&["staging"])
}

/// The directory for bytes that had to leave a file. See [`trash_dir`] for which writers may write there.
#[must_use]
pub fn quarantine_dir() -> FilePath {
    own_paths::known_own_path(&["quarantine"])
}

/// The directory for the seals of sessions. See [`trash_dir`] for which writers may write there.
#[must_use]
pub fn seals_dir() -> FilePath {
    own_paths::known_own_path(&["seals"])
}

/// The directory that records which sessions are pinned. See [`trash_dir`] for which writers may write there.
#[must_use]
pub fn pins_dir() -> FilePath {
    own_paths::known_own_path(&["pins"])
}

/// The directory that records what was scrubbed. See [`trash_dir`] for which writers may write there.
#[must_use]
pub fn audit_dir() -> FilePath {
    own_paths::known_own_path(&["audit"])
}

/// The directories in [`OWN_DIR`] that belong to the users of the store.
pub(crate) fn user_dirs() -> [FilePath; 6] {
    [trash_dir(), staging_dir(), quarantine_dir(), seals_dir(), pins_dir(), audit_dir()]
}

/// Storage for sessions: files that are read freely and changed only by [`Writer::commit`].
pub trait Store: Send + Sync {
    /// Returns the bytes of a file from `range.start` up to `range.end` or the end of the file.
    ///
    /// A missing file is an error, and so is an unreadable one. Neither ever counts as empty.
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// Returns the metadata of `path`; `None` if nothing exists there.
    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError>;

    /// Lists a directory.
    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError>;

    /// Returns the only writer of everything at and below these paths, across all processes.
    ///
    /// Fails with [`StoreError::Busy`] if another writer has locked one of them, or a path above or below one.
    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError>;

    /// Returns a read-only snapshot of these paths and everything below them, as of a point between two commits. Later
    /// commits do not show in it. `None` if the store has no other processes to guard against.
    ///
    /// Fails with [`StoreError::Busy`] if a writer does not finish a commit for seconds.
    fn snapshot(&self, paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let _ = paths;
        Ok(None)
    }

    /// Returns whether no process is known to write at, above or below these paths.
    fn is_quiet(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        let _ = paths;
        Ok(true)
    }

    /// Returns whether a live process has written at, above or below these paths and still holds its lock.
    fn has_writer(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        let _ = paths;
        Ok(false)
    }

    /// Returns whether everything is read from the plain files as they are. If not, some commits are shown that only
    /// the log of a dead process holds, and lengths and times of files mean nothing.
    fn is_plain(&self) -> bool {
        true
    }

    /// Returns whether [`FileStat::id`] is a new number with every content, so that a file with the same number and length
    /// is unchanged.
    fn numbers_contents(&self) -> bool {
        false
    }

    /// Flushes the commits of the present writers to the place where they stay, so that nothing is left to recover.
    fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Overwrites old contents that the store still holds, such as log records of applied commits. Fails if another
    /// process is writing, because its log cannot be touched.
    fn wipe_logs(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Frees some of the space that the store reserves for a full disk, so that sessions can be moved to the trash and
    /// deleted even then. Returns false if no reserve is left.
    fn release_reserve(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Returns the path by which a library that keeps its own files, such as SQLite, can open `path`, if the store has
    /// such paths. Writes of that library are not part of any commit.
    fn local_path(&self, path: &FilePath) -> Result<Option<PathBuf>, StoreError> {
        let _ = path;
        Ok(None)
    }
}

/// Returns these paths as they are between two commits: see [`Store::snapshot`].
pub fn snapshot(store: &Arc<dyn Store>, paths: &[FilePath]) -> Result<Arc<dyn Store>, StoreError> {
    Ok(store.snapshot(paths)?.unwrap_or_else(|| Arc::clone(store)))
}

/// Reads once, as of a point between two commits. Takes a snapshot only if a writer is active.
pub fn read_consistently<T, E: From<StoreError>>(
    store: &Arc<dyn Store>,
    paths: &[FilePath],
    mut read: impl FnMut(&Arc<dyn Store>) -> Result<T, E>,
) -> Result<T, E> {
    if store.is_quiet(paths)? {
        let done = read(store);
        if store.is_quiet(paths)? {
            return done;
        }
    }
    read(&snapshot(store, paths)?)
}

/// Returns the content of a file, or `None` if it is missing.
pub fn read_optional(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<Vec<u8>>, StoreError> {
    match store.read(file, 0..u64::MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The only writer of its scopes, until it is released or dropped.
pub trait Writer: Send + Sync {
    /// Applies all of `steps`, or none of them.
    ///
    /// After `Ok` with [`Durability::Synced`], the whole batch survives a crash of the program and a power cut. After
    /// an error nothing has changed, with one exception: after [`StoreError::Poisoned`] the whole batch may turn out to
    /// be committed once the store is reopened.
    fn commit(&self, steps: Vec<Step>, durability: Durability)
    -> Result<CommitReceipt, StoreError>;

    /// Flushes a file as it is now, for commits that rely on its content without changing it: another program may have
    /// saved it without a flush.
    fn sync_file(&self, file: &FilePath) -> Result<(), StoreError> {
        let _ = file;
        Ok(())
    }

    /// Locks more scopes, so that one commit can change them together with the ones that the writer has.
    ///
    /// Never waits. Fails with [`StoreError::Busy`] as [`Store::lock`] does, also if a new scope is, contains or lies
    /// below one that this writer has already. After an error the writer has the scopes it had before.
    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError>;

    /// Releases all scopes that were added, once everything committed there is flushed to the plain files. The writer
    /// keeps the scopes that it was created with.
    fn release_added_scopes(&mut self) -> Result<(), StoreError>;

    /// Releases all scopes, once everything committed is flushed to the plain files.
    fn release(self: Box<Self>) -> Result<(), StoreError>;
}

/// One change of one file. Within a batch, a name that was renamed or removed is not used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Appends whole lines of JSON to a file, which is created if necessary.
    ///
    /// The end of the file is repaired first: a complete last line without a newline gets one, and an incomplete last
    /// line is moved to quarantine.
    Append {
        /// The file.
        file: FilePath,
        /// Where the caller expects the end to be.
        at: AppendAt,
        /// The lines; the last byte is a newline.
        lines: Vec<u8>,
    },
    /// Replaces the content of a file, which is created if necessary.
    Replace {
        /// The file.
        file: FilePath,
        /// What the caller expects the content to be.
        expect: Precondition,
        /// The new content.
        bytes: Vec<u8>,
        /// Who may read it.
        mode: FileMode,
    },
    /// Renames a file or directory to a name that is free.
    Rename {
        /// The present name.
        from: FilePath,
        /// The new name.
        to: FilePath,
    },
    /// Removes a file, or a directory with everything in it.
    Remove {
        /// The file or directory.
        path: FilePath,
    },
}

impl Step {
    /// Writes a file, whatever it was before.
    #[must_use]
    pub fn replace(file: FilePath, bytes: Vec<u8>) -> Step {
        Step::replace_expecting(file, Precondition::Anything, bytes)
    }

    /// Writes a file if it is still as the caller expects it.
    #[must_use]
    pub fn replace_expecting(file: FilePath, expect: Precondition, bytes: Vec<u8>) -> Step {
        Step::Replace { file, expect, bytes, mode: FileMode::Default }
    }

    /// Writes a file that must not exist yet.
    #[must_use]
    pub fn create(file: FilePath, bytes: Vec<u8>) -> Step {
        Step::replace_expecting(file, Precondition::Absent, bytes)
    }

    /// Returns the names this step touches.
    pub fn paths(&self) -> impl Iterator<Item = &FilePath> {
        let (first, second) = match self {
            Step::Append { file, .. } | Step::Replace { file, .. } => (file, None),
            Step::Remove { path } => (path, None),
            Step::Rename { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

/// The position of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendAt {
    /// The end, wherever it is: other programs may have appended meanwhile.
    End,
    /// The end, which must be at this offset; otherwise the commit fails and nothing changes.
    Offset(u64),
}

/// What a replaced file must have been; otherwise the commit fails and nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Any content, or none.
    Anything,
    /// The file does not exist.
    Absent,
    /// The file has the content that the caller has read.
    Content(Fingerprint),
}

/// Who may read a file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// As before; for a new file, the system's default.
    Default,
    /// Only the owner (0600), even if the old file had other permissions.
    OwnerOnly,
}

/// What a returned commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the program and a power cut.
    Synced,
    /// A crash of the program. After a power cut it is there as a whole or not at all; it is safe as soon as a later
    /// commit is [`Durability::Synced`].
    Buffered,
}

/// The result of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The offset at which each [`Step::Append`] of the batch starts, in order.
    pub appended: Vec<u64>,
    /// The repairs made before the appends.
    pub findings: Vec<Finding>,
}
