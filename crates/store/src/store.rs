//! The narrow waist: everything above plans [`Step`]s, everything below makes a batch of them happen
//! whole or not at all.
//!
//! [`FileStore`] keeps plain files on a [`Disk`](crate::disk::Disk). [`MemoryStore`] keeps nothing: it is
//! the simplest thing that behaves like a store, and the measure for the other.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::{DirListing, FileStat};
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;

mod apply;
mod apply_task;
mod changes;
mod digest;
mod disk_view;
mod error;
mod file_store;
mod findings;
mod fingerprint;
mod group_commit;
mod locks;
mod log;
mod memory_store;
mod owner_text;
mod path_tracker;
mod plan;
mod quarantine;
mod record;
mod recovery;
mod relocate;
mod replay;
mod reserve;
mod root_logs;
mod snapshot;
mod staging;
mod store_core;
mod store_source;
mod sync_existing;
mod tracked_files;
mod wipe;

pub use error::{StoreError, ran_out_of_files};
pub use file_store::{FileStore, FileWriter, Options};
pub use findings::RecoveryFindings;
pub use fingerprint::Fingerprint;
pub use locks::LockOwner;
pub use memory_store::MemoryStore;
pub use recovery::RecoveryProgress;
pub use relocate::is_unfinished_copy;
pub use store_source::StoreSource;

/// Everturn's own directory below the root: logs, locks, quarantine. Not part of anybody's data.
pub const OWN_DIR: &str = ".everturn";

/// Where what was thrown away waits until somebody wants it back, or gone.
///
/// A writer one of whose scopes is this place, or lies below it, may write in that scope; it is the same
/// with [`staging_dir`]. Nobody else may write anywhere in [`OWN_DIR`], not even the writer of the root.
#[must_use]
pub fn trash_dir() -> FilePath {
    log::known_own_path(&["trash"])
}

/// Where a directory is built unseen, over several commits, before it is renamed into its place.
#[must_use]
pub fn staging_dir() -> FilePath {
    log::known_own_path(&["staging"])
}

/// Where bytes are that had to leave a file. See [`trash_dir`] for who may write there.
#[must_use]
pub fn quarantine_dir() -> FilePath {
    log::known_own_path(&["quarantine"])
}

/// Where the seals of sessions are. See [`trash_dir`] for who may write there.
#[must_use]
pub fn seals_dir() -> FilePath {
    log::known_own_path(&["seals"])
}

/// Where it is noted which sessions are to stay. See [`trash_dir`] for who may write there.
#[must_use]
pub fn pins_dir() -> FilePath {
    log::known_own_path(&["pins"])
}

/// Where it is noted what was scrubbed. See [`trash_dir`] for who may write there.
#[must_use]
pub fn audit_dir() -> FilePath {
    log::known_own_path(&["audit"])
}

/// The directories in [`OWN_DIR`] that belong to whoever uses the store.
pub(crate) fn user_dirs() -> [FilePath; 6] {
    [trash_dir(), staging_dir(), quarantine_dir(), seals_dir(), pins_dir(), audit_dir()]
}

/// A place for sessions: files that are read freely and changed only by [`Writer::commit`].
pub trait Store: Send + Sync {
    /// The bytes of a file from `range.start` up to `range.end` or the end of the file.
    ///
    /// A file that is missing is an error; so is one that cannot be read. Neither is ever "empty".
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// What stands at `path`; `None` if nothing does.
    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError>;

    /// What a directory holds.
    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError>;

    /// Becomes the one writer of everything at and below these paths, across all processes.
    ///
    /// Fails with [`StoreError::Busy`] if another writer has one of them, something above or something
    /// below.
    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError>;

    /// These paths, with everything below them, as they are between two commits. It is read only, and what is
    /// committed later does not show. `None` if the store has no other processes to guard against.
    ///
    /// Fails with [`StoreError::Busy`] if a writer does not come to the end of a commit for seconds.
    fn snapshot(&self, paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let _ = paths;
        Ok(None)
    }

    /// Whether no process is known to write at, above or below these paths.
    fn is_quiet(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        let _ = paths;
        Ok(true)
    }

    /// Whether a process that is alive has written at, above or below these paths and still holds its lock.
    fn has_writer(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        let _ = paths;
        Ok(false)
    }

    /// Whether everything that is read stands in files as it is read. If not, commits are shown that only the
    /// log of a dead process has, and the lengths and times of files tell nothing.
    fn is_plain(&self) -> bool {
        true
    }

    /// Overwrites what the store remembers of contents that files no longer have, such as the records of commits that
    /// are done. Fails if another process is writing, whose memory cannot be touched.
    fn wipe_logs(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives some room back that the store keeps for the time when the disk is full, so that sessions can be moved
    /// to the trash and deleted even then. False if nothing is left of it.
    fn release_reserve(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// The path by which a library that keeps its own files, such as SQLite, can open `path`, if the store has such
    /// paths. What it writes there is not part of any commit.
    fn local_path(&self, path: &FilePath) -> Result<Option<PathBuf>, StoreError> {
        let _ = path;
        Ok(None)
    }
}

/// These paths as they are between two commits: see [`Store::snapshot`].
pub fn snapshot(store: &Arc<dyn Store>, paths: &[FilePath]) -> Result<Arc<dyn Store>, StoreError> {
    Ok(store.snapshot(paths)?.unwrap_or_else(|| Arc::clone(store)))
}

/// Reads something once, as it is between two commits. Takes a snapshot only if a writer is at work.
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

/// The content of a file that may be missing.
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

/// The one writer of its scopes, until it is released or dropped.
pub trait Writer: Send + Sync {
    /// Makes all of `steps` happen, or none of them.
    ///
    /// When it returns `Ok` with [`Durability::Synced`], the batch survives a crash of the program and a
    /// power cut, whole. When it returns an error, nothing has changed, except that after
    /// [`StoreError::Poisoned`] the batch may turn out to be there, whole, once the store is reopened.
    fn commit(&self, steps: Vec<Step>, durability: Durability)
    -> Result<CommitReceipt, StoreError>;

    /// Makes a file safe from a power cut as it is now, for commits that count on its content without changing
    /// it: another program may have saved it without a flush.
    fn sync_file(&self, file: &FilePath) -> Result<(), StoreError> {
        let _ = file;
        Ok(())
    }

    /// Gives the scopes back, with all that was committed safe on the disk.
    fn release(self: Box<Self>) -> Result<(), StoreError>;
}

/// One change of one file. In a batch, a name that was renamed or removed is not used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Adds whole lines of JSON to the end of a file, which is created if need be.
    ///
    /// The end is made good first: a complete last line without a newline gets one, and an incomplete one
    /// is moved to the quarantine.
    Append {
        /// The file.
        file: FilePath,
        /// Where the caller believes the end to be.
        at: AppendAt,
        /// The lines; the last byte is a newline.
        lines: Vec<u8>,
    },
    /// Gives a file, which is created if need be, a new content.
    Replace {
        /// The file.
        file: FilePath,
        /// What the caller believes the content to be.
        expect: Precondition,
        /// The new content.
        bytes: Vec<u8>,
        /// Who may read it.
        mode: FileMode,
    },
    /// Gives a file or directory a name that is not taken.
    Rename {
        /// The name it has.
        from: FilePath,
        /// The name it gets.
        to: FilePath,
    },
    /// Removes a file, or a directory with all that is in it.
    Remove {
        /// What is removed.
        path: FilePath,
    },
}

impl Step {
    /// The names this step touches.
    pub fn paths(&self) -> impl Iterator<Item = &FilePath> {
        let (first, second) = match self {
            Step::Append { file, .. } | Step::Replace { file, .. } => (file, None),
            Step::Remove { path } => (path, None),
            Step::Rename { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

/// Where an append is to go.
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
    /// Whatever it was.
    Anything,
    /// Not there.
    Absent,
    /// The content that was read.
    Content(Fingerprint),
}

/// Who may read a file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// As before; for a new file, as is usual on the system.
    Default,
    /// The owner alone (0600), also if it was otherwise before.
    OwnerOnly,
}

/// What a commit that has returned survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the program and a power cut.
    Synced,
    /// A crash of the program. After a power cut it is there whole or not at all; it is safe as soon as a
    /// later commit is [`Durability::Synced`].
    Buffered,
}

/// What a commit did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The offset at which each [`Step::Append`] of the batch starts, in their order.
    pub appended: Vec<u64>,
    /// What had to be repaired before the appends.
    pub findings: Vec<Finding>,
}
