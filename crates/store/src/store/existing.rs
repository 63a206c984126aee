//! What stands under a name before a commit replaces or removes it is flushed first.
//!
//! Another program may have saved it without a flush. Then a power cut could bring back what was there before
//! that save, which recovery would take for a change that came after the commit.
//!
//! Files are flushed one by one while a batch is planned, and their directories once for all of them, when
//! everything was read.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::StoreError;
use super::core::Core;
use super::fingerprint::Fingerprint;
use super::quarantine::fingerprint_range;
use super::record::Op;
use super::tracked::sync_dir;
use crate::disk::{Access, Flush, Kind, Stat};
use everturn_json::names::FilePath;

/// How many contents are remembered; a content that is forgotten costs a flush.
const MAX_KNOWN: usize = 4096;

/// Contents of files that need no such flush.
#[derive(Default)]
pub(super) struct KnownContents {
    /// What we gave to a file: it is flushed, or the log has it.
    contents: HashMap<FilePath, Fingerprint>,
    /// Directories that were flushed since the last checkpoint.
    dirs: HashSet<FilePath>,
    /// Directories that are to be flushed before the batch that is being planned comes to the log.
    unflushed_dirs: BTreeSet<FilePath>,
}

impl KnownContents {
    /// Takes note of a batch that is being logged.
    pub(super) fn note(&mut self, ops: &[Op]) {
        for op in ops {
            match op {
                Op::Replace { file, new, .. } => {
                    if self.contents.len() >= MAX_KNOWN {
                        self.contents.clear();
                    }
                    self.contents.insert(file.clone(), new.print());
                }
                Op::Cut { file, .. } | Op::Append { file, .. } => {
                    self.contents.remove(file);
                }
                Op::Rename { .. } | Op::Remove { .. } => {
                    let gone = |path: &FilePath| op.paths().any(|name| path.is_within(name));
                    self.contents.retain(|path, _| !gone(path));
                    self.dirs.retain(|path| !gone(path));
                }
            }
        }
    }

    /// Other programs may change directories at any time. For names that nothing has, once for each checkpoint
    /// will do.
    pub(super) fn forget_dirs(&mut self) {
        self.dirs.clear();
    }

    pub(super) fn clear(&mut self) {
        self.contents.clear();
        self.dirs.clear();
    }

    /// Takes note that the name `path` was read, and may have been changed by another program.
    fn read_name(&mut self, path: &FilePath) {
        self.unflushed_dirs.extend(path.parent());
    }

    /// The same for a name of which nothing tells that another program was there.
    fn read_quiet_name(&mut self, path: &FilePath) {
        let flushed = path.parent().is_none_or(|dir| self.dirs.contains(&dir));
        if !flushed {
            self.read_name(path);
        }
    }
}

impl Core {
    /// Flushes a file that is about to be replaced, unless its content is known to be safe. Its directory waits
    /// for [`Core::secure_dirs`].
    pub(super) fn secure_replaced(
        &mut self,
        path: &FilePath,
        was: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        match was {
            Some(was) if self.known.contents.get(path) == Some(&was) => {}
            Some(_) => {
                self.secure_file(path)?;
                self.known.read_name(path);
            }
            // Another program has removed it.
            None if self.known.contents.contains_key(path) => self.known.read_name(path),
            None => self.known.read_quiet_name(path),
        }
        Ok(())
    }

    /// Flushes the directories of names that were read to plan a batch, before it comes to the log.
    pub(super) fn secure_dirs(&mut self) -> Result<(), StoreError> {
        while let Some(dir) = self.known.unflushed_dirs.pop_first() {
            sync_dir(&*self.disk, &dir, Flush::ExistingDir)?;
            self.known.dirs.insert(dir);
        }
        Ok(())
    }

    /// Flushes a file on whose content commits are about to count.
    pub(super) fn secure(&mut self, path: &FilePath) -> Result<(), StoreError> {
        self.usable()?;
        self.secure_file(path)?;
        self.known.read_name(path);
        self.secure_dirs()
    }

    /// Flushes a file or directory tree that is about to be removed.
    pub(super) fn secure_removed(&mut self, path: &FilePath, stat: Stat) -> Result<(), StoreError> {
        self.flush_files(|file| file.is_within(path), Flush::ExistingFile, Flush::ExistingDir)?;
        if stat.kind == Kind::File && self.has_known_content(path, stat)? {
            self.known.read_quiet_name(path);
            return Ok(());
        }
        let mut open = vec![(path.clone(), stat.kind)];
        while let Some((path, kind)) = open.pop() {
            match kind {
                Kind::File => self.secure_file(&path)?,
                Kind::Dir => {
                    let listing = self.disk.list(&path).map_err(StoreError::io("list", &path))?;
                    let children = listing.entries.iter().filter(|entry| !entry.linked);
                    open.extend(children.map(|entry| (path.join(&entry.name), entry.kind)));
                    sync_dir(&*self.disk, &path, Flush::ExistingDir)?;
                }
                Kind::LinkOutside | Kind::Other => {}
            }
        }
        self.known.read_name(path);
        Ok(())
    }

    /// Whether a file has the content that this process has given it.
    fn has_known_content(&self, path: &FilePath, stat: Stat) -> Result<bool, StoreError> {
        let Some(known) = self.known.contents.get(path) else { return Ok(false) };
        let file = self.disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
        let found = fingerprint_range(&*file, 0, stat.len);
        Ok(found.map_err(StoreError::io("read", path))? == *known)
    }

    fn secure_file(&self, path: &FilePath) -> Result<(), StoreError> {
        let file = self.disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
        file.sync(Flush::ExistingFile).map_err(StoreError::io("flush", path))
    }
}
