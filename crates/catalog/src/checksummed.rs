//! The index directory as Tantivy sees it. [`ChecksummedDir`] adds a checksum to files that are replaced as a whole,
//! and lets readers work without locks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

use crate::codec::sum;

/// The access that the process needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexAccess {
    /// Nothing is written, not even a lock.
    Read,
    Write,
}

#[derive(Debug, Clone)]
pub(crate) struct ChecksummedDir {
    files: MmapDirectory,
    access: IndexAccess,
}

impl ChecksummedDir {
    pub(crate) fn open(
        path: &Path,
        access: IndexAccess,
    ) -> Result<ChecksummedDir, OpenDirectoryError> {
        Ok(ChecksummedDir { files: MmapDirectory::open(path)?, access })
    }
}

/// Returns the name of a file with a checksum: it is no longer JSON, so it gets another extension.
fn checksummed_path(path: &Path) -> PathBuf {
    match path.extension() {
        Some(end) if end == "json" => path.with_extension("sealed"),
        _ => path.to_owned(),
    }
}

impl Directory for ChecksummedDir {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(&checksummed_path(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.files.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = self.files.atomic_read(&checksummed_path(path))?;
        let damaged = || {
            let error = io::Error::new(io::ErrorKind::InvalidData, "checksum mismatch");
            OpenReadError::wrap_io_error(error, path.to_owned())
        };
        let (body, seal) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if sum(body) != u64::from_le_bytes(*seal) {
            return Err(damaged());
        }
        bytes.truncate(bytes.len() - 8);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if self.access == IndexAccess::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.files.atomic_write(&checksummed_path(path), &[data, &sum(data).to_le_bytes()].concat())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        match self.access {
            IndexAccess::Read => Ok(DirectoryLock::from(Box::new(()))),
            IndexAccess::Write => self.files.acquire_lock(lock),
        }
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(watch_callback)
    }
}
