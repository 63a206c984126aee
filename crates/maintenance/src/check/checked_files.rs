//! [`CheckedFiles`]: the files that a check reads.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::{DirListing, Disk, FileKind, FileStat};
use everturn_store::{OWN_DIR, Store, StoreError};

/// What is checked: the disk of plain files, or another store.
pub(super) enum CheckedFiles {
    Disk(Arc<dyn Disk>),
    Store(Arc<dyn Store>),
}

impl CheckedFiles {
    pub(super) fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        match self {
            CheckedFiles::Disk(disk) => disk.stat(path).map_err(StoreError::io("access", path)),
            CheckedFiles::Store(store) => store.stat(path),
        }
    }

    pub(super) fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        match self {
            CheckedFiles::Disk(disk) => disk.list(dir).map_err(StoreError::io("list", dir)),
            CheckedFiles::Store(store) => store.list(dir),
        }
    }

    /// Whether a directory is Everturn's own, beside user data. A root may have the same name.
    pub(super) fn is_own_dir(&self, dir: &FilePath) -> bool {
        let is_named = dir.name().is_some_and(|name| name.as_str() == OWN_DIR);
        let logs = || FilePath::parse(&format!("{}/wal", dir.as_str()));
        let is_dir = |path: FilePath| {
            self.stat(&path).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == FileKind::Dir))
        };
        match self {
            CheckedFiles::Disk(_) => is_named && logs().is_ok_and(is_dir),
            CheckedFiles::Store(_) => dir.as_str() == OWN_DIR,
        }
    }
}

/// Whether a name is that of a file of records or of a document.
pub(super) fn is_data_name(name: &str) -> bool {
    [".json", ".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end))
}
