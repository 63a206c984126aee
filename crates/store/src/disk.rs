//! The few things Everturn asks of a disk, each with what a crash does to it.
//!
//! [`RealDisk`] is the files of the operating system below one root. [`OverlayDisk`] keeps changes in memory
//! and reads everything else from another disk. With the feature `sim` there is a simulated disk that can
//! crash at any operation, lose what was not flushed, run out of space and fail. All paths are relative to
//! the root, and no path leads out of it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use everturn_json::jsonl::ByteSource;
use everturn_json::names::{FilePath, Name, NameError};

mod mounts;
mod overlay;
mod platform;
mod real;
mod root_dir;
#[cfg(feature = "sim")]
pub mod sim;

pub use mounts::{WeakMount, Weakness};
pub use overlay::OverlayDisk;
pub use real::RealDisk;

/// A place for files.
///
/// Every change is seen at once by every process, and survives the end of the process that made it. What
/// survives a power cut is said at each method.
pub trait Disk: Send + Sync {
    /// Opens a file that exists.
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>>;

    /// Creates an empty file for [`FileAccess::Append`]; fails if the name is taken.
    ///
    /// The name survives a power cut once its directory is flushed with [`Disk::sync_dir`].
    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>>;

    /// What stands at `path`; `None` if nothing does.
    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>>;

    /// What a directory holds, sorted by name.
    fn list(&self, dir: &FilePath) -> io::Result<DirListing>;

    /// Creates a directory in one that exists.
    ///
    /// It survives a power cut once the directory above it is flushed.
    fn create_dir(&self, path: &FilePath) -> io::Result<()>;

    /// Gives a file or directory another name; a file that has the name `to` is replaced.
    ///
    /// Atomic: after a crash either the old name or the new one is there. The new name survives a power
    /// cut once the directory of `to` is flushed; the old one stays away once that of `from` is.
    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()>;

    /// Gives a file a second name, which must be free.
    ///
    /// The name survives a power cut once its directory is flushed.
    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()>;

    /// Removes a file or an empty directory; it stays away once the directory above is flushed.
    fn remove(&self, path: &FilePath) -> io::Result<()>;

    /// Flushes a directory: names created, renamed and removed in it before now survive a power cut.
    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()>;

    /// Takes a lock that ends with the process, whatever ends it. `None` if another holds it.
    ///
    /// The lock is a file, created if need be. It excludes others that ask by the same path, also within
    /// one process, and nobody else.
    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>>;

    /// Whether another holds an exclusive lock. Creates nothing; a lock that has no file is free.
    fn is_locked(&self, path: &FilePath) -> io::Result<bool>;

    /// Asks the process that writes to `file` to make a pause, until the result is dropped. Writes nothing.
    ///
    /// It asks for a short time only: the other process goes on after a while, whatever happens.
    fn request_pause(&self, file: &FilePath) -> io::Result<Option<Box<dyn PauseRequest>>> {
        let _ = file;
        Ok(None)
    }

    /// How many files this process may have open at once.
    fn max_open_files(&self) -> usize {
        usize::MAX
    }

    /// The path by which other libraries of this process can open `path`, on a disk that has such paths: no link is
    /// on the way, and the directory is there.
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

    /// The same for the room that `bytes` has left, which need not be filled with anything before.
    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        read_through(bytes, |buf| self.read_at(offset, buf))
    }

    /// Writes at a place, for [`FileAccess::Write`]; may write less than asked.
    ///
    /// After a power cut any part of what was written since the last flush may be missing, and bytes
    /// that lie beyond the old end of the file may read as NUL.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Writes at the end in one call, for [`FileAccess::Append`]; may write less than asked.
    ///
    /// Never overwrites what another process appended meanwhile. A power cut does the same as to
    /// [`DiskFile::write_at`].
    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult>;

    /// Cuts or extends the file; the extension reads as NUL.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes the file, which ends at `start`, end at `end`, for [`FileAccess::Write`], and makes sure that
    /// writing there will not fail for want of room. If there is none, the file stays as it was.
    fn reserve(&self, start: u64, end: u64) -> io::Result<()>;

    /// Flushes the file: all written to it before now survives a power cut, provided its name does.
    ///
    /// After an error nothing is known of what survives, and a second flush proves nothing.
    fn sync(&self, why: Flush) -> io::Result<()>;

    /// Whether another process asks for a pause in writing: see [`Disk::request_pause`].
    fn is_pause_requested(&self) -> bool {
        false
    }

    /// Forgets cached pages that are already written, so that the next read comes from the device. After a
    /// background write error some file systems keep a cached page that the device does not have, and never
    /// write it again.
    fn drop_cache(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A wish that holds until it is dropped: see [`Disk::request_pause`].
pub trait PauseRequest: Send + Sync {}

/// A lock that is held until it is dropped or released.
pub trait DiskLock: Send + Sync {
    /// Says in the lock file who holds it, for others to read.
    ///
    /// The text informs, and only its length is relied on. So a full disk is no error: where there is no room
    /// for the text, the file gets its length and reads as NUL.
    fn describe(&self, text: &[u8]) -> io::Result<()>;

    /// Overwrites a part of that text. It means nothing once the holder is gone, so it is never flushed, and
    /// does not count as a change of the disk.
    fn update(&self, offset: u64, text: &[u8]) -> io::Result<()>;

    /// Removes the file of an exclusive lock, so that nothing stale is left. The lock itself ends when it is
    /// dropped.
    fn release(&self) -> io::Result<()>;
}

/// What an open file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Reading only.
    Read,
    /// Reading, and appending in one call.
    Append,
    /// Reading, and writing at given places.
    Write,
}

/// Whether a lock excludes all others, or only exclusive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Any number of holders at once.
    Shared,
    /// One holder.
    Exclusive,
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePermissions {
    /// Whoever the system's settings say.
    Default,
    /// The owner alone (0600), for secrets.
    OwnerOnly,
    /// The permission bits of the file that it replaces.
    Exact(u32),
}

/// The permission bits of a private file.
pub(crate) const PRIVATE_BITS: u32 = 0o600;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// File, directory or something else.
    pub kind: FileKind,
    /// The length in bytes.
    pub len: u64,
    /// Tells whether two names mean the same file.
    pub id: FileId,
    /// The permission bits, where the system has them.
    pub mode: u32,
    /// Tells whether the content was written since an earlier look: the time of that, in some unit. Zero if
    /// there is nothing to tell it by.
    pub modified: u64,
}

/// Tells one file from another, whatever their names: its device, its number there, and when it was made,
/// because numbers are used again. All zero if there is nothing to tell them by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileId(pub(crate) u64, pub(crate) u64, pub(crate) u64);

impl FileId {
    /// Whether device and number are the same, which is enough while one of the files is open: its number
    /// is not used again before it is closed.
    pub(crate) fn is_same_inode(self, other: FileId) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

/// File or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link that leads out of the root.
    LinkOutside,
    /// A socket, a pipe, a device, a link to nothing.
    Other,
}

/// What a directory holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirListing {
    /// The entries, sorted by name.
    pub entries: Vec<DirEntry>,
    /// Names that cannot be used here, with the reason.
    pub refused: Vec<(String, NameError)>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: Name,
    /// What it names.
    pub kind: FileKind,
    /// Whether it is a symbolic link to that.
    pub linked: bool,
}

/// Where an append went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendResult {
    /// The offset of the first byte.
    pub at: u64,
    /// How many bytes were written.
    pub written: usize,
}

macro_rules! flushes {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// Why something is flushed. Each flush in the code has its own reason, so that the simulated
        /// disk can leave out one of them and a test can show that it is needed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flush {
            $($(#[$doc])* $variant,)*
        }

        impl Flush {
            /// Every reason there is.
            pub const ALL: &[Flush] = &[$(Flush::$variant,)*];
        }
    };
}

flushes! {
    /// The records of a group of commits: the one flush that a commit waits for.
    Commit,
    /// The record that takes back a commit whose steps could not be applied.
    Abort,
    /// The record which says that a scope is safe, before another process may have it.
    Release,
    /// The header that starts the log anew.
    Recycle,
    /// The directories that hold a new log.
    LogName,
    /// A large new content, in a file beside the log, before a record names it.
    StagedFile,
    /// The directory of such files.
    StagedDir,
    /// A file that commits have changed, before the log starts anew.
    CheckpointFile,
    /// A directory in which commits have changed names, before the log starts anew.
    CheckpointDir,
    /// A file that commits have changed, before it is closed because too many are open.
    CloseFile,
    /// A file whose name is about to begin another life.
    BarrierFile,
    /// The directory of such a name.
    BarrierDir,
    /// A file to which a commit that failed was undone.
    UndoFile,
    /// A directory in which a commit that failed was undone.
    UndoDir,
    /// The log of a process that is gone, before anything in it is acted on.
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
    /// A file of another program that recovery leaves as it is, before the log no longer has the commit that it
    /// takes the place of.
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

/// Whether an error means that there is no room for what was to be written.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether an error says that this process, or all of them together, have too many files open.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// Reads from `offset` until `buf` is full or the file ends; returns how much was read.
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
    // There may have been more room than was asked for.
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads into the room that `bytes` has left by way of a slice.
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

/// Appends all of `bytes` to a file that nobody else writes.
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
