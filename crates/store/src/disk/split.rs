//! [`SplitDisk`]: a directory whose logs and locks are kept elsewhere.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{
    DirListing, Disk, DiskFile, DiskLock, FileAccess, FilePermissions, FileStat, Flush, LockMode,
    PauseRequest,
};
use everturn_json::names::FilePath;

/// A disk whose own directory, with logs, locks and temporary files, is on another disk: a store on it leaves nothing
/// but the files of the user in their directory. Renames between the two are refused as between two file systems.
pub struct SplitDisk {
    files: Arc<dyn Disk>,
    own: Arc<dyn Disk>,
    /// The name of the own directory.
    own_name: &'static str,
}

impl SplitDisk {
    /// Joins the disk of the files and the disk of the own directory, which has this name.
    #[must_use]
    pub fn new(files: Arc<dyn Disk>, own: Arc<dyn Disk>, own_name: &'static str) -> SplitDisk {
        SplitDisk { files, own, own_name }
    }

    fn is_own(&self, path: &FilePath) -> bool {
        path.as_str().split('/').next() == Some(self.own_name)
    }

    fn side(&self, path: &FilePath) -> &dyn Disk {
        if self.is_own(path) { &*self.own } else { &*self.files }
    }

    /// The disk of two paths, which must be the same.
    fn common_side(&self, one: &FilePath, other: &FilePath) -> io::Result<&dyn Disk> {
        if self.is_own(one) == self.is_own(other) {
            Ok(self.side(one))
        } else {
            Err(io::ErrorKind::CrossesDevices.into())
        }
    }
}

impl Disk for SplitDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        self.side(path).open(path, access)
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        self.side(path).create(path, mode)
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.side(path).stat(path)
    }

    fn stat_with_time(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.side(path).stat_with_time(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        let mut listing = self.side(dir).list(dir)?;
        if dir.is_root() {
            // A directory of that name beside the files belongs to another store.
            listing.entries.retain(|entry| entry.name.as_str() != self.own_name);
        }
        Ok(listing)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.side(path).create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.common_side(from, to)?.rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.common_side(file, to)?.link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.side(path).remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        if dir.is_root() {
            self.own.sync_dir(dir, why)?;
        }
        self.side(dir).sync_dir(dir, why)
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.side(path).lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.side(path).is_locked(path)
    }

    fn request_pause(&self, file: &FilePath) -> io::Result<Option<Box<dyn PauseRequest>>> {
        self.side(file).request_pause(file)
    }

    fn max_open_files(&self) -> usize {
        self.files.max_open_files()
    }

    fn local_path(&self, path: &FilePath) -> io::Result<Option<PathBuf>> {
        self.side(path).local_path(path)
    }
}
