//! The operations that Everturn needs of a disk, each with what a crash does to it.
//!
//! [`Disk`] is the trait, [`DiskFile`] an open file. [`RealDisk`] is the operating system's files below one root.
//! [`SplitDisk`] keeps the logs of a directory elsewhere. [`OverlayDisk`] keeps changes in memory and reads everything
//! else from another disk. The feature `sim` adds a
//! simulated disk that can crash at any operation, lose unflushed data, run out of space and fail. All paths are
//! relative to the root, and no path leads out of it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use everturn_json::jsonl::ByteSource;
use everturn_json::names::{FilePath, Name, NameError};

mod mounts;
mod overlay;
mod platform;
mod real;
mod root_dir;
#[cfg(feature = "sim")]
pub mod sim;
mod split;
mod whole;

pub use mounts::{WeakMount, Weakness};
pub use overlay::OverlayDisk;
pub use real::RealDisk;
pub(crate) use real::not_a_file;
pub use split::SplitDisk;

/// A root directory with files.
///
/// Every change is visible to every process at once, and survives the end of the process that made it. Each method
/// states what survives a power cut.
pub trait Disk: Send + Sync {
    /// Opens an existing file.
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>>;

    /// Creates an empty file for [`FileAccess::Append`]; fails if the name is taken.
    ///
    /// The name survives a power cut once its directory is flushed with [`Disk::sync_dir`].
    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>>;

    /// Returns the metadata of `path`; `None` if nothing exists there.
    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>>;

    /// As [`Disk::stat`], with the modification time. A file of which the time was asked is slower to flush: since
    /// Linux 6.13 its next write changes the inode.
    fn stat_with_time(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.stat(path)
    }

    /// Lists a directory, sorted by name.
    fn list(&self, dir: &FilePath) -> io::Result<DirListing>;

    /// Creates a directory in an existing one.
    ///
    /// It survives a power cut once its parent directory is flushed.
    fn create_dir(&self, path: &FilePath) -> io::Result<()>;

    /// Renames a file or directory; an existing file at `to` is replaced.
    ///
    /// Atomic: after a crash either the old name or the new one exists. The new name survives a power cut once the
    /// directory of `to` is flushed; the old one stays away once that of `from` is.
    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()>;

    /// Creates a hard link to a file; the new name must be free.
    ///
    /// The name survives a power cut once its directory is flushed.
    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()>;

    /// Removes a file or an empty directory; it stays away once its parent directory is flushed.
    fn remove(&self, path: &FilePath) -> io::Result<()>;

    /// Flushes a directory: earlier creations, renames and removals of names in it survive a power cut.
    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()>;

    /// Takes a lock that ends with the process, however it ends. `None` if another owner holds it.
    ///
    /// The lock is a file, created if necessary. It only excludes lock requests for the same path, including those
    /// within the same process.
    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>>;

    /// Returns whether another owner holds an exclusive lock. Creates nothing; a lock without a file is free.
    fn is_locked(&self, path: &FilePath) -> io::Result<bool>;

    /// Asks the process that writes to `file` to pause until the result is dropped. Writes nothing.
    ///
    /// The request holds for a short time only: the other process continues after a while in any case.
    fn request_pause(&self, file: &FilePath) -> io::Result<Option<Box<dyn PauseRequest>>> {
        let _ = file;
        Ok(None)
    }

    /// Flushes everything on the device of the root in one operation: files and names, whoever has changed them. Returns
    /// false if it has not, because the system cannot, or because other programs have much to be written there.
    ///
    /// An error proves nothing: what must be flushed is then to be flushed file by file, which shows whose error it was.
    fn sync_all(&self, why: Flush) -> io::Result<bool> {
        let _ = why;
        Ok(false)
    }

    /// Returns a stamp of a file or directory that every later change of its bytes, its names or its metadata alters,
    /// whoever makes it. `None` if nothing exists there, or if the system cannot tell every change.
    fn change_stamp(&self, path: &FilePath) -> io::Result<Option<ChangeStamp>> {
        let _ = path;
        Ok(None)
    }

    /// The number of files this process may have open at once.
    fn max_open_files(&self) -> usize {
        usize::MAX
    }

    /// Returns the path by which other libraries of this process can open `path`, on a disk that has such paths: no
    /// component is a link, and the directory exists.
    fn local_path(&self, path: &FilePath) -> io::Result<Option<PathBuf>> {
        let _ = path;
        Ok(None)
    }
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// The length and identity of the file that was opened, whatever its name is now.
    fn stat(&self) -> io::Result<FileStat>;

    /// Reads at most `buf.len()` bytes; 0 only at the end of the file.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// As [`DiskFile::read_at`], into the spare capacity of `bytes`, which need not be initialised first.
    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        read_through(bytes, |buf| self.read_at(offset, buf))
    }

    /// Writes at an offset, for [`FileAccess::Write`]; may write less than asked.
    ///
    /// After a power cut any part of what was written since the last flush may be missing, and bytes beyond the old end
    /// of the file may read as NUL.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Appends in one call, for [`FileAccess::Append`]; may write less than asked.
    ///
    /// Never overwrites what another process appended meanwhile. A power cut has the same effects as for
    /// [`DiskFile::write_at`].
    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult>;

    /// Truncates or extends the file; the extension reads as NUL.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Extends the file from its end `start` to `end`, for [`FileAccess::Write`], and ensures that writing there will
    /// not fail for lack of space. If there is no space, the file stays unchanged.
    fn reserve(&self, start: u64, end: u64) -> io::Result<()>;

    /// Flushes the file: everything written to it so far survives a power cut, provided its name does.
    ///
    /// After an error it is unknown what survives, and a second flush proves nothing.
    fn sync(&self, why: Flush) -> io::Result<()>;

    /// Returns whether another process asks the writer to pause: see [`Disk::request_pause`].
    fn is_pause_requested(&self) -> bool {
        false
    }

    /// Drops cached pages that are already written, so that the next read comes from the device. After a background
    /// write error some file systems keep a cached page that the device does not have, and never write it again.
    fn drop_cache(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A request that holds until it is dropped: see [`Disk::request_pause`].
pub trait PauseRequest: Send + Sync {}

/// A lock that is held until it is dropped or released.
pub trait DiskLock: Send + Sync {
    /// Writes the lock owner into the lock file, for others to read.
    ///
    /// The text is informative; only its length is relied on. So a full disk is no error: if there is no space for the
    /// text, the file gets its length and reads as NUL.
    fn describe(&self, text: &[u8]) -> io::Result<()>;

    /// Overwrites a part of that text. It is meaningless once the lock owner is gone, so it is never flushed, and does
    /// not count as a change of the disk.
    fn update(&self, offset: u64, text: &[u8]) -> io::Result<()>;

    /// Removes the file of an exclusive lock, so that no stale file is left. The lock itself ends when it is dropped.
    fn release(&self) -> io::Result<()>;
}

/// The access mode of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Reading only.
    Read,
    /// Reading, and appending in one call.
    Append,
    /// Reading, and writing at given offsets.
    Write,
}

/// Whether a lock excludes all others, or only exclusive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Any number of owners at once.
    Shared,
    /// One owner.
    Exclusive,
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePermissions {
    /// The system's default.
    Default,
    /// Only the owner (0600), for secrets.
    OwnerOnly,
    /// The permission bits of the file that it replaces.
    Exact(u32),
}

/// The permission bits of a private file.
pub(crate) const PRIVATE_BITS: u32 = 0o600;

/// The metadata of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// File, directory or something else.
    pub kind: FileKind,
    /// The length in bytes.
    pub len: u64,
    /// Identifies the file, whatever its name.
    pub id: FileId,
    /// The permission bits, where the system has them.
    pub mode: u32,
    /// The modification time, in some unit, for comparison with an earlier one. Zero if it is unknown or was not asked
    /// for, as it is with [`Disk::stat_with_time`].
    pub modified: u64,
}

impl FileStat {
    /// Returns the modification time since 1970, if it is known.
    #[must_use]
    pub fn modified_since_epoch(&self) -> Option<Duration> {
        let (seconds, nanos) = (self.modified >> 32, self.modified & u64::from(u32::MAX));
        let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
        (seconds > 0).then(|| Duration::new(seconds, nanos))
    }
}

/// Identifies a file, whatever its name: device, inode number and creation time, because inode numbers are reused. All
/// zero if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileId(pub(crate) u64, pub(crate) u64, pub(crate) u64);

impl FileId {
    /// Returns the ID of a content in a store that numbers its contents. The numbers of a root are never used again.
    #[must_use]
    pub fn numbered(root: u64, content: u64) -> FileId {
        FileId(root, content, 0)
    }

    /// Returns the root and the content of a numbered ID: see [`FileId::numbered`].
    #[must_use]
    pub fn numbers(self) -> (u64, u64) {
        (self.0, self.1)
    }

    /// Returns the number of the device.
    pub(crate) fn device(self) -> u64 {
        self.0
    }

    /// Returns whether device and inode number are the same, which is enough while one of the files is open: its number
    /// is not reused before it is closed.
    pub(crate) fn is_same_inode(self, other: FileId) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

/// A stamp of a file or directory at one moment: see [`Disk::change_stamp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeStamp {
    /// What it identifies.
    pub id: FileId,
    /// The length; of a directory whatever the system gives.
    pub len: u64,
    /// The time of the last change, in some unit.
    pub changed: u64,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link that leads out of the root.
    LinkOutside,
    /// A socket, a pipe, a device or a dangling link.
    Other,
}

/// The contents of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirListing {
    /// The entries, sorted by name.
    pub entries: Vec<DirEntry>,
    /// Names that are not supported, with the reason.
    pub refused: Vec<(String, NameError)>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: Name,
    /// The kind of the file, or of the link's target.
    pub kind: FileKind,
    /// Whether it is a symbolic link.
    pub linked: bool,
}

/// The position and length of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendResult {
    /// The offset of the first byte.
    pub at: u64,
    /// The number of bytes written.
    pub written: usize,
}

macro_rules! flushes {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// The reason for a flush. Each flush in the code has its own reason, so that the simulated disk can leave one
        /// out and a test can show that it is needed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flush {
            $($(#[$doc])* $variant,)*
        }

        impl Flush {
            /// All reasons.
            pub const ALL: &[Flush] = &[$(Flush::$variant,)*];
        }
    };
}

flushes! {
    /// The records of a group of commits: the only flush that a commit waits for.
    Commit,
    /// The record that aborts a commit whose steps could not be applied.
    Abort,
    /// The record that marks a scope as safe, before another process may lock it.
    Release,
    /// The header that starts a new epoch of the log.
    Recycle,
    /// The directories that hold a new log.
    LogName,
    /// A large new content, staged beside the log, before a record refers to it.
    StagedFile,
    /// The directory of staged files.
    StagedDir,
    /// A file that commits have changed, before the log is recycled.
    CheckpointFile,
    /// A directory in which commits have changed names, before the log is recycled.
    CheckpointDir,
    /// All files and directories that commits have changed, before the log is left empty: see [`Disk::sync_all`].
    CheckpointAll,
    /// A file that commits have changed, before it is closed because too many are open.
    CloseFile,
    /// A file whose name is about to be used in another way.
    BarrierFile,
    /// The directory of such a name.
    BarrierDir,
    /// A file in which a failed commit was undone.
    UndoFile,
    /// A directory in which a failed commit was undone.
    UndoDir,
    /// The log of a dead process, before anything in it is acted on.
    RecoverLog,
    /// A file that is about to be replaced or removed, and that another program may have written.
    ExistingFile,
    /// The directory of such a file.
    ExistingDir,
    /// A file or directory that was copied because it could not be renamed.
    CopiedTree,
    /// A file that recovery has written.
    RecoverFile,
    /// A directory in which recovery has changed names.
    RecoverDir,
    /// A file of another program that recovery leaves as it is, before the log drops the commit that the file
    /// supersedes.
    KeptFile,
    /// A directory of such files.
    KeptDir,
    /// Bytes that are about to be cut from a file.
    QuarantineFile,
    /// The directories of the quarantine.
    QuarantineDir,
}

impl fmt::Display for Flush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl ByteSource for dyn DiskFile + '_ {
    fn len(&self) -> io::Result<u64> {
        Ok(self.stat()?.len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        DiskFile::read_at(self, offset, buf)
    }
}

/// Returns whether an error means that there is no space for the data to be written.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns whether an error means that this process, or the system, has too many files open.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// Reads from `offset` until `buf` is full or the file ends; returns the number of bytes read.
pub fn read_full(file: &dyn DiskFile, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + done as u64, rest) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Reads a whole file.
pub fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    read_range(file, 0, file.stat()?.len)
}

/// Reads the bytes from `start` up to `end`, or up to the end of the file.
pub(crate) fn read_range(file: &dyn DiskFile, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let end = end.min(file.stat()?.len);
    let len = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        match file.read_more(start + bytes.len() as u64, &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The capacity may exceed what was asked for.
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads into the spare capacity of `bytes` through a slice.
fn read_through(
    bytes: &mut Vec<u8>,
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let before = bytes.len();
    bytes.resize(bytes.capacity(), 0);
    let done = bytes.get_mut(before..).map_or(Ok(0), read);
    bytes.truncate(before + *done.as_ref().unwrap_or(&0));
    done
}

/// Writes all of `bytes` at `offset`, in as many calls as it takes.
pub(crate) fn write_full(file: &dyn DiskFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write_at(offset + done as u64, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Appends all of `bytes` to a file that has no other writer.
pub(crate) fn append_full(file: &dyn DiskFile, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.append(rest) {
            Ok(appended) if appended.written == 0 => return Err(io::ErrorKind::WriteZero.into()),
            Ok(appended) => done += appended.written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
