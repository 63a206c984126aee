//! [`ChangedDirs`]: the directories in which commits have changed names.

use std::collections::BTreeSet;

use everturn_json::names::FilePath;

/// Directories with unflushed changes of names.
#[derive(Default)]
pub(super) struct ChangedDirs {
    all: BTreeSet<FilePath>,
    /// Those in which names were created, renamed or removed, and not only given to another file.
    named: BTreeSet<FilePath>,
}

impl ChangedDirs {
    /// Records that a name, which existed before, has another file.
    pub(super) fn add_replaced(&mut self, path: &FilePath) {
        self.all.extend(path.parent());
    }

    /// Records that a name was created, renamed or removed.
    pub(super) fn add_named(&mut self, path: &FilePath) {
        self.all.extend(path.parent());
        self.named.extend(path.parent());
    }

    /// Drops everything at and below `path`, which is removed.
    pub(super) fn remove(&mut self, path: &FilePath) {
        for dirs in [&mut self.all, &mut self.named] {
            dirs.retain(|dir| !dir.is_within(path));
        }
    }

    pub(super) fn rename(&mut self, from: &FilePath, to: &FilePath) {
        for dirs in [&mut self.all, &mut self.named] {
            let old = std::mem::take(dirs).into_iter();
            *dirs = old.map(|dir| dir.rebased(from, to).unwrap_or(dir)).collect();
        }
    }

    /// Drops all directories.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.named.clear();
    }

    /// Returns the next directory, which the caller flushes.
    pub(super) fn pop(&mut self) -> Option<FilePath> {
        let dir = self.all.pop_first()?;
        self.named.remove(&dir);
        Some(dir)
    }

    /// Returns the next directory in which names were created, renamed or removed, which the caller flushes.
    pub(super) fn pop_named(&mut self) -> Option<FilePath> {
        let dir = self.named.pop_first()?;
        self.all.remove(&dir);
        Some(dir)
    }
}
