//! [`RootDir`]: changes names below a root without following links, even links that are swapped in meanwhile.
//!
//! [`RootDir`] holds a handle of the root directory. It opens files below it, or a [`NameInDir`]: a name, and a handle
//! of the directory that holds it. Every operation is relative to such a handle, so a path is resolved once, and a
//! directory that becomes a link after that does not matter.
//!
//! On Linux the kernel refuses links itself (`openat2`). Elsewhere, and where that call is missing, each directory of
//! the path is opened from the one above it.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode as Bits, OFlags, linkat, mkdirat, open, openat, renameat, unlinkat,
};
use rustix::io::retry_on_intr;

use super::{FileKind, FilePermissions, FileStat, platform};
use everturn_json::names::FilePath;

/// The flags for opening a directory to look up names. On Linux that needs no permission to list it.
#[cfg(target_os = "linux")]
const DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The permissions before the umask applies.
const USUAL_FILE: Bits = Bits::from_raw_mode(0o666);
const USUAL_DIR: Bits = Bits::from_raw_mode(0o777);
const PRIVATE_FILE: Bits = Bits::from_raw_mode(0o600);

/// A root directory, through which names below it are reached without following links.
#[derive(Debug)]
pub(super) struct RootDir {
    root: File,
}

impl RootDir {
    pub(super) fn new(root: File) -> RootDir {
        RootDir { root }
    }

    /// Opens an existing file for reading and writing; `append` makes each write go to its end.
    pub(super) fn open(&self, path: &FilePath, append: bool) -> io::Result<File> {
        let flags = if append { OFlags::RDWR | OFlags::APPEND } else { OFlags::RDWR };
        self.open_with(path, flags, Bits::empty())
    }

    /// Creates a file for appending, under a name that must be free.
    pub(super) fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        match mode {
            FilePermissions::Default => self.open_with(path, flags, USUAL_FILE),
            FilePermissions::OwnerOnly => self.open_with(path, flags, PRIVATE_FILE),
            FilePermissions::Exact(bits) => {
                let file = self.open_with(path, flags, PRIVATE_FILE)?;
                file.set_permissions(Permissions::from_mode(bits))?;
                Ok(file)
            }
        }
    }

    /// Opens a directory itself, to flush it.
    pub(super) fn open_dir(&self, path: &FilePath) -> io::Result<File> {
        self.open_with(path, OFlags::RDONLY | OFlags::DIRECTORY, Bits::empty())
    }

    /// Returns the name `path` and a handle of the directory that holds it.
    pub(super) fn entry<'a>(&'a self, path: &'a FilePath) -> io::Result<NameInDir<'a>> {
        let (dir, name) = split(path);
        let dir = if dir.is_empty() {
            ParentDir::Root(self.root.as_fd())
        } else {
            ParentDir::Opened(open_beneath(self.root.as_fd(), dir, DIR, Bits::empty())?)
        };
        Ok(NameInDir { dir, name })
    }

    fn open_with(&self, path: &FilePath, flags: OFlags, mode: Bits) -> io::Result<File> {
        let path = if path.is_root() { "." } else { path.as_str() };
        let opened = open_beneath(self.root.as_fd(), path, flags | OFlags::CLOEXEC, mode)?;
        Ok(File::from(opened))
    }
}

/// Opens a resolved path for reading; does not wait for the writer of a pipe.
pub(super) fn open_to_read(place: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(retry_on_intr(|| open(place, flags, Bits::empty()))?))
}

/// Splits a path into directory and name; the root is the name `.` in itself.
fn split(path: &FilePath) -> (&str, &str) {
    match path.as_str().rsplit_once('/') {
        Some(parts) => parts,
        None if path.is_root() => ("", "."),
        None => ("", path.as_str()),
    }
}

/// Opens `path` below `dir`; fails if one of its components is a link.
fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Bits) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        use rustix::io::Errno;

        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match retry_on_intr(|| openat2(dir, path, flags, mode, resolve)) {
            // The kernel is older than the call, or a sandbox does not know it and forbids it.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return Ok(opened?),
        }
    }
    walk(dir, path, flags, mode)
}

/// As [`open_beneath`], one component at a time.
fn walk(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Bits) -> io::Result<OwnedFd> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut owner: Option<OwnedFd> = None;
    for name in above.split('/').filter(|name| !name.is_empty()) {
        let from = owner.as_ref().map_or(dir, |owner| owner.as_fd());
        owner = Some(open_at(from, name, DIR, Bits::empty())?);
    }
    Ok(open_at(owner.as_ref().map_or(dir, |owner| owner.as_fd()), name, flags, mode)?)
}

fn open_at(
    dir: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Bits,
) -> rustix::io::Result<OwnedFd> {
    retry_on_intr(|| openat(dir, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode))
}

/// A name in an open directory.
pub(super) struct NameInDir<'a> {
    dir: ParentDir<'a>,
    name: &'a str,
}

enum ParentDir<'a> {
    Root(BorrowedFd<'a>),
    Opened(OwnedFd),
}

impl NameInDir<'_> {
    fn dir(&self) -> BorrowedFd<'_> {
        match &self.dir {
            ParentDir::Root(root) => *root,
            ParentDir::Opened(dir) => dir.as_fd(),
        }
    }

    /// Returns the metadata of the name; a link is not followed.
    pub(super) fn stat(&self) -> io::Result<FileStat> {
        platform::of_name(self.dir(), self.name)
    }

    /// Opens the file of that name for reading and writing, or creates it.
    pub(super) fn open_or_create(&self) -> io::Result<File> {
        let opened = open_at(self.dir(), self.name, OFlags::RDWR | OFlags::CREATE, USUAL_FILE)?;
        Ok(File::from(opened))
    }

    /// Opens the file of that name for reading.
    pub(super) fn open_to_read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        Ok(File::from(open_at(self.dir(), self.name, flags, Bits::empty())?))
    }

    pub(super) fn create_dir(&self) -> io::Result<()> {
        Ok(mkdirat(self.dir(), self.name, USUAL_DIR)?)
    }

    pub(super) fn rename_to(&self, to: &NameInDir<'_>) -> io::Result<()> {
        Ok(renameat(self.dir(), self.name, to.dir(), to.name)?)
    }

    pub(super) fn link_to(&self, to: &NameInDir<'_>) -> io::Result<()> {
        Ok(linkat(self.dir(), self.name, to.dir(), to.name, AtFlags::empty())?)
    }

    /// Removes a file, a link or an empty directory.
    pub(super) fn remove(&self) -> io::Result<()> {
        let is_dir = self.stat()?.kind == FileKind::Dir;
        let flags = if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(unlinkat(self.dir(), self.name, flags)?)
    }
}
