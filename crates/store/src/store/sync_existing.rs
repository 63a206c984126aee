//! Flushes the existing content of a name before a commit replaces or removes it.
//!
//! Another program may have saved it without a flush. Then a power cut could restore the content before that save,
//! which recovery would mistake for a change that came after the commit.
//!
//! Files are flushed one by one while a batch is planned, and their directories once for all of them, after everything
//! was read.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::StoreError;
use super::disk_ops::{fingerprint_range, sync_dir};
use super::fingerprint::Fingerprint;
use super::flushed_files::FlushedFiles;
use super::log_number::LogNumber;
use super::record::LogOp;
use crate::disk::{Disk, FileAccess, FileKind, FileStat, Flush};
use everturn_json::names::FilePath;

/// The maximum number of remembered contents; a forgotten one costs a flush.
const MAX_KNOWN: usize = 4096;

/// Contents of files that need no such flush.
#[derive(Default)]
pub(super) struct KnownContents {
    /// The content we gave to a file: it is flushed, or in the log.
    contents: HashMap<FilePath, Fingerprint>,
    /// Directories that were flushed since the last checkpoint.
    dirs: HashSet<FilePath>,
    /// What earlier processes have flushed.
    flushed: FlushedFiles,
    /// Directories to flush before the batch being planned is logged.
    unflushed_dirs: BTreeSet<FilePath>,
}

impl KnownContents {
    /// Records a batch that is being logged.
    pub(super) fn record_ops(&mut self, ops: &[LogOp]) {
        for op in ops {
            match op {
                LogOp::Replace { file, new, .. } => {
                    if self.contents.len() >= MAX_KNOWN {
                        self.contents.clear();
                    }
                    self.contents.insert(file.clone(), new.fingerprint());
                }
                LogOp::Cut { file, .. } | LogOp::Append { file, .. } => {
                    self.contents.remove(file);
                }
                LogOp::Rename { .. } | LogOp::Remove { .. } => {
                    let gone = |path: &FilePath| op.paths().any(|name| path.is_within(name));
                    self.contents.retain(|path, _| !gone(path));
                    self.dirs.retain(|path| !gone(path));
                }
            }
        }
    }

    /// Recalls what the last process that used this log has flushed.
    pub(super) fn recall(&mut self, disk: &dyn Disk, number: LogNumber) {
        self.flushed = FlushedFiles::read(disk, number);
    }

    /// Returns what earlier processes have flushed.
    pub(super) fn recalled(&self) -> &FlushedFiles {
        &self.flushed
    }

    /// Forgets what earlier processes have flushed.
    pub(super) fn forget_flushed(&mut self) {
        self.flushed = FlushedFiles::default();
    }

    /// Returns the contents that this process has given to files, and the directories that were flushed since the last
    /// checkpoint or need no flush.
    pub(super) fn known(&self) -> (&HashMap<FilePath, Fingerprint>, &HashSet<FilePath>) {
        (&self.contents, &self.dirs)
    }

    /// Drops the known directories, because other programs may change them at any time. For names that do not exist,
    /// one flush per checkpoint is enough.
    pub(super) fn forget_dirs(&mut self) {
        self.dirs.clear();
    }

    pub(super) fn clear(&mut self) {
        self.contents.clear();
        self.dirs.clear();
    }

    /// Records that the name `path` was read, and may have been changed by another program.
    fn read_name(&mut self, path: &FilePath) {
        self.unflushed_dirs.extend(path.parent());
    }

    /// As [`KnownContents::read_name`], for a name without a sign of another program.
    fn read_quiet_name(&mut self, disk: &dyn Disk, path: &FilePath) {
        let Some(dir) = path.parent().filter(|dir| !self.dirs.contains(dir)) else { return };
        if self.flushed.has_unchanged_dir(disk, &dir) {
            self.dirs.insert(dir);
        } else {
            self.read_name(path);
        }
    }

    /// Flushes a file that is about to be replaced, unless its content is known to be safe. Its directory is left to
    /// [`KnownContents::secure_dirs`].
    pub(super) fn sync_before_replace(
        &mut self,
        disk: &dyn Disk,
        path: &FilePath,
        was: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        match was {
            Some(was) if self.contents.get(path) == Some(&was) => {}
            // Its name is flushed, too: a rename would have changed the file.
            Some(was) if self.flushed.has_unchanged(disk, path, was) => {}
            Some(_) => {
                sync_existing_file(disk, path)?;
                self.read_name(path);
            }
            // Another program has removed it.
            None if self.contents.contains_key(path) => {
                self.read_name(path);
            }
            None => self.read_quiet_name(disk, path),
        }
        Ok(())
    }

    /// Flushes the directories of names that were read to plan a batch, before it is logged.
    pub(super) fn secure_dirs(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        while let Some(dir) = self.unflushed_dirs.pop_first() {
            sync_dir(disk, &dir, Flush::ExistingDir)?;
            self.dirs.insert(dir);
        }
        Ok(())
    }

    /// Flushes a file whose content commits are about to rely on.
    pub(super) fn sync_existing(
        &mut self,
        disk: &dyn Disk,
        path: &FilePath,
    ) -> Result<(), StoreError> {
        if self.flushed.has_unchanged_file(disk, path) {
            return Ok(());
        }
        sync_existing_file(disk, path)?;
        self.read_name(path);
        self.secure_dirs(disk)
    }

    /// Flushes a file or directory tree that is about to be removed. Our own changes there must be flushed already.
    pub(super) fn sync_before_remove(
        &mut self,
        disk: &dyn Disk,
        path: &FilePath,
        stat: FileStat,
    ) -> Result<(), StoreError> {
        if stat.kind == FileKind::File && self.has_known_content(disk, path, stat)? {
            self.read_quiet_name(disk, path);
            return Ok(());
        }
        let mut open = vec![(path.clone(), stat.kind)];
        while let Some((path, kind)) = open.pop() {
            match kind {
                FileKind::File => sync_existing_file(disk, &path)?,
                FileKind::Dir => {
                    let listing = disk.list(&path).map_err(StoreError::io("list", &path))?;
                    let children = listing.entries.iter().filter(|entry| !entry.linked);
                    open.extend(children.map(|entry| (path.join(&entry.name), entry.kind)));
                    sync_dir(disk, &path, Flush::ExistingDir)?;
                }
                FileKind::LinkOutside | FileKind::Other => {}
            }
        }
        self.read_name(path);
        Ok(())
    }

    /// Returns whether a file has the content that this process has given it.
    fn has_known_content(
        &self,
        disk: &dyn Disk,
        path: &FilePath,
        stat: FileStat,
    ) -> Result<bool, StoreError> {
        let Some(known) = self.contents.get(path) else { return Ok(false) };
        let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
        let found = fingerprint_range(&*file, 0, stat.len);
        Ok(found.map_err(StoreError::io("read", path))? == *known)
    }
}

fn sync_existing_file(disk: &dyn Disk, path: &FilePath) -> Result<(), StoreError> {
    let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
    file.sync(Flush::ExistingFile).map_err(StoreError::io("flush", path))
}
