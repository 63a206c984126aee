//! Recovers removals and renames.

use super::{Recovery, open_uncached, stat_optional};
use crate::disk::{FileAccess, FileKind, FileStat, read_all};
use crate::store::StoreError;
use crate::store::digest::{digest_contents, is_subset};
use crate::store::disk_ops::{ensure_dir, remove_tree};
use crate::store::own_paths::known_own_path;
use crate::store::record::RemovedContent;
use crate::store::relocate::{is_copy, relocate};
use crate::store::replay::{ContentHistory, PathEnd};
use everturn_json::names::FilePath;

use super::current_state::is_ours;

impl Recovery<'_> {
    /// Returns whether a removal has to wait until its whole commit can be completed.
    pub(super) fn must_wait(&self, ending: &PathEnd) -> bool {
        matches!(ending, PathEnd::Removed { commit, .. } if self.waiting.contains(commit))
    }

    pub(super) fn apply_path_end(&mut self, ending: &PathEnd) -> Result<(), StoreError> {
        match ending {
            PathEnd::Removed { path, held, commit } => self.remove(path, held, *commit),
            PathEnd::Renamed { from, to } => self.rename(from, to),
        }
    }

    fn remove(
        &mut self,
        path: &FilePath,
        held: &RemovedContent,
        commit: usize,
    ) -> Result<(), StoreError> {
        self.dirs.extend(path.parent());
        let Some(stat) = stat_optional(self.disk, path)? else {
            let in_doubt = self.in_doubt.contains(&commit);
            return if in_doubt { self.bring_back(path, held) } else { Ok(()) };
        };
        if !self.is_removed(path, stat, held)? {
            let message = "created again by another program after it was removed, and kept";
            self.report_finding(path, None, message.to_owned());
            return self.secure_kept(path);
        }
        if self.in_doubt.contains(&commit) {
            let message = "not removed: another program has changed a file of the same commit";
            self.report_finding(path, None, message.to_owned());
            return Ok(());
        }
        ensure_dir(self.disk, &known_own_path(&["tmp"]), &mut Vec::new())?;
        drop(remove_tree(self.disk, &self.temp));
        if self.disk.rename(path, &self.temp).is_ok() {
            drop(remove_tree(self.disk, &self.temp));
            return Ok(());
        }
        // On another mount, or in a lower layer of an overlay file system.
        remove_tree(self.disk, path).map_err(StoreError::io("remove", path))
    }

    /// Restores something that was removed, if it still exists under its temporary name.
    fn bring_back(&mut self, path: &FilePath, held: &RemovedContent) -> Result<(), StoreError> {
        let RemovedContent::Files(sums) = held else { return Ok(()) };
        let dir = known_own_path(&["tmp"]);
        if sums.is_empty() || stat_optional(self.disk, &dir)?.is_none() {
            return Ok(());
        }
        let listing = self.disk.list(&dir).map_err(StoreError::io("list", &dir))?;
        let prefix = self.number.temp_prefix();
        for entry in listing.entries.iter().filter(|entry| entry.name.as_str().starts_with(&prefix))
        {
            let temp = dir.join(&entry.name);
            let Some(stat) = stat_optional(self.disk, &temp)? else { continue };
            if digest_contents(self.disk, &temp, stat)? == *sums {
                self.make_parents(path)?;
                relocate(self.disk, &temp, path)?;
                self.note_parent_dirs(path);
                let message = "restored: another program has changed a file of the same commit";
                self.report_finding(path, None, message.to_owned());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns whether the content of `path` is what was removed there, or a part of it.
    pub(super) fn is_removed(
        &self,
        path: &FilePath,
        stat: FileStat,
        held: &RemovedContent,
    ) -> Result<bool, StoreError> {
        match held {
            RemovedContent::Unknown | RemovedContent::Inode { number: 0, born: 0 } => {
                return Ok(true);
            }
            RemovedContent::Inode { number, born }
                if (stat.id.1, stat.id.2) == (*number, *born) =>
            {
                return Ok(true);
            }
            RemovedContent::Files(sums)
                if is_subset(&digest_contents(self.disk, path, stat)?, sums) =>
            {
                return Ok(true);
            }
            RemovedContent::Inode { .. } | RemovedContent::Files(_) => {}
        }
        self.is_outdated(path, stat)
    }

    fn rename(&mut self, from: &FilePath, to: &FilePath) -> Result<(), StoreError> {
        self.note_parent_dirs(from);
        self.note_parent_dirs(to);
        let dirs = std::mem::take(&mut self.dirs).into_iter();
        self.dirs = dirs.map(|dir| dir.rebased(from, to).unwrap_or(dir)).collect();
        match (stat_optional(self.disk, from)?, stat_optional(self.disk, to)?) {
            (Some(_), None) => {
                self.make_parents(to)?;
                if relocate(self.disk, from, to)?.is_copied() {
                    remove_tree(self.disk, from).map_err(StoreError::io("remove", from))?;
                }
                Ok(())
            }
            (Some(old), Some(new)) => self.drop_old_name(from, old, to, new),
            (None, None) => {
                self.report_finding(
                    from,
                    None,
                    format!("missing, so it could not be renamed to {to}"),
                );
                Ok(())
            }
            (None, Some(_)) => Ok(()),
        }
    }

    /// Returns whether a file that was replaced before its name ended has one of its earlier contents.
    fn is_outdated(&self, path: &FilePath, stat: FileStat) -> Result<bool, StoreError> {
        let replaced = self.history.files.get(path).filter(|_| stat.kind == FileKind::File);
        let Some(ContentHistory::Replaced { before, after, .. }) =
            replaced.map(|file| &file.content)
        else {
            return Ok(false);
        };
        let file = open_uncached(self.disk, path, FileAccess::Read)?;
        let found = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(is_ours(&found, before, after))
    }

    /// Removes the old name of something that has its new one: a power cut has restored it, or it was copied and not
    /// removed yet.
    fn drop_old_name(
        &self,
        from: &FilePath,
        old: FileStat,
        to: &FilePath,
        new: FileStat,
    ) -> Result<(), StoreError> {
        let same = match old.kind {
            FileKind::File => old.id == new.id || self.is_outdated(from, old)?,
            FileKind::Dir | FileKind::LinkOutside | FileKind::Other => false,
        };
        if same || is_copy(self.disk, from, to)? {
            return remove_tree(self.disk, from).map_err(StoreError::io("remove", from));
        }
        self.secure_kept(from)
    }
}
