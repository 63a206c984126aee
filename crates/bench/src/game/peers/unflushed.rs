//! [`UnflushedDisk`]: a disk that does not flush, to build long sessions in reasonable time. They are flushed as a
//! whole before the measurement.

use std::io;
use std::sync::Arc;

use everturn::disk::{
    AppendResult, DirListing, Disk, DiskFile, DiskLock, FileAccess, FilePermissions, FileStat,
    Flush, LockMode,
};
use everturn::names::FilePath;

/// Another disk, without its flushes.
pub(super) struct UnflushedDisk(pub(super) Arc<dyn Disk>);

struct UnflushedFile(Box<dyn DiskFile>);

impl Disk for UnflushedDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(UnflushedFile(self.0.open(path, access)?)))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(UnflushedFile(self.0.create(path, mode)?)))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.0.stat(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        self.0.list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.0.create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.0.link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_dir(&self, _: &FilePath, _: Flush) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.0.lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.0.is_locked(path)
    }
}

impl DiskFile for UnflushedFile {
    fn stat(&self) -> io::Result<FileStat> {
        self.0.stat()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.0.read_more(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_at(offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        self.0.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.0.reserve(start, end)
    }

    fn sync(&self, _: Flush) -> io::Result<()> {
        Ok(())
    }
}
