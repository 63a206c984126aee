//! What stands under a name before a commit replaces or removes it is flushed first.
//!
//! Another program may have saved it without a flush. Then a power cut could bring back what was there before
//! that save, which recovery would take for a change that came after the commit.

use std::collections::{HashMap, HashSet};

use super::StoreError;
use super::core::Core;
use super::fingerprint::Fingerprint;
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

    /// Other programs may change directories at any time; once for each checkpoint will do.
    pub(super) fn forget_dirs(&mut self) {
        self.dirs.clear();
    }

    pub(super) fn clear(&mut self) {
        self.contents.clear();
        self.dirs.clear();
    }
}

impl Core {
    /// Flushes a file that is about to be replaced, unless its content is known to be safe.
    pub(super) fn secure_replaced(
        &mut self,
        path: &FilePath,
        was: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        match was {
            Some(was) if self.known.contents.get(path) == Some(&was) => return Ok(()),
            Some(_) => self.secure_file(path)?,
            None => {}
        }
        // Also if there is no file: it may have been removed a moment ago.
        self.secure_dir_of(path)
    }

    /// Flushes a file on whose content commits are about to count.
    pub(super) fn secure(&mut self, path: &FilePath) -> Result<(), StoreError> {
        self.usable()?;
        self.secure_file(path)?;
        self.secure_dir_of(path)
    }

    /// Flushes a file or directory tree that is about to be removed.
    pub(super) fn secure_removed(&mut self, path: &FilePath, stat: Stat) -> Result<(), StoreError> {
        self.flush_files(|file| file.is_within(path), Flush::ExistingFile, Flush::ExistingDir)?;
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
        self.secure_dir_of(path)
    }

    fn secure_file(&self, path: &FilePath) -> Result<(), StoreError> {
        let file = self.disk.open(path, Access::Read).map_err(StoreError::io("open", path))?;
        file.sync(Flush::ExistingFile).map_err(StoreError::io("flush", path))
    }

    fn secure_dir_of(&mut self, path: &FilePath) -> Result<(), StoreError> {
        let Some(dir) = path.parent() else { return Ok(()) };
        if self.known.dirs.insert(dir.clone()) {
            sync_dir(&*self.disk, &dir, Flush::ExistingDir)?;
        }
        Ok(())
    }
}
