//! The changes of single files: append, cut, replace, rename and remove, with what is needed to undo them.

use std::io;
use std::sync::Arc;

use super::StoreCore;
use super::append::{append_to, check_same_file};
use super::tracked_files::TrackedFile;
use super::undo::UndoStep;
use crate::disk::{DiskFile, FileAccess, FilePermissions, FileStat, is_full};
use crate::store::StoreError;
use crate::store::batch::StagedReplacement;
use crate::store::disk_ops::{ensure_dir, fingerprint_range};
use crate::store::fingerprint::Fingerprint;
use crate::store::relocate::{RelocateMethod, relocate};
use crate::store::staging::{StagedName, place_staged};
use everturn_json::names::FilePath;

/// The files to remove after a batch was applied.
#[derive(Default)]
pub(super) struct ApplyCleanup {
    /// Files without a name among the data. They are also removed if the batch is undone.
    pub(super) unneeded: Vec<FilePath>,
    /// New contents that had to be copied into place.
    pub(super) copied: Vec<FilePath>,
    /// Staged files that are linked into place and have kept their old names: not removed yet.
    pub(super) staged: Vec<FilePath>,
    /// Data that is removed, or was copied to its new name: the batch is not done before it is gone.
    pub(super) originals: Vec<FilePath>,
}

impl StoreCore {
    /// Moves a removed path aside, so that it can be restored; where that is impossible, it is removed last.
    pub(super) fn remove(
        &mut self,
        path: &FilePath,
        temp: FilePath,
        undo: &mut Vec<UndoStep>,
        cleanup: &mut ApplyCleanup,
    ) -> Result<(), StoreError> {
        match self.disk.rename(path, &temp) {
            Ok(()) => {
                self.track_rename(path, &temp);
                undo.push(UndoStep::Rename { from: temp.clone(), to: path.clone() });
                cleanup.unneeded.push(temp);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.untrack(path);
                cleanup.originals.push(path.clone());
                Ok(())
            }
            Err(error) => Err(StoreError::io("remove", path)(error)),
        }
    }

    pub(super) fn make_parents(
        &mut self,
        path: &FilePath,
        undo: &mut Vec<UndoStep>,
    ) -> Result<(), StoreError> {
        let Some(dir) = path.parent() else { return Ok(()) };
        let mut made = Vec::new();
        let done = ensure_dir(&*self.disk, &dir, &mut made);
        for dir in made {
            self.dirs.extend(dir.parent());
            undo.push(UndoStep::Remove { path: dir });
        }
        for above in path.ancestors() {
            let owner = above.parent();
            if owner.is_some() && self.synced_dirs.insert(above) {
                self.dirs.extend(owner);
            }
        }
        done
    }

    /// Returns the open file to append to; creates it if necessary.
    pub(super) fn open_for_append(
        &mut self,
        path: &FilePath,
        undo: &mut Vec<UndoStep>,
    ) -> Result<&mut TrackedFile, StoreError> {
        if !self.files.contains_key(path) {
            self.make_parents(path, undo)?;
            let file = match self.disk.create(path, FilePermissions::Default) {
                Ok(file) => {
                    self.dirs.extend(path.parent());
                    undo.push(UndoStep::Remove { path: path.clone() });
                    file
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let opened = self.disk.open(path, FileAccess::Append);
                    opened.map_err(StoreError::io("open", path))?
                }
                Err(error) => return Err(StoreError::io("create", path)(error)),
            };
            self.track(path, file, true)?;
        }
        let missing = || StoreError::Missing { path: path.clone() };
        self.files.get_mut(path).ok_or_else(missing)
    }

    pub(super) fn append(
        &mut self,
        path: &FilePath,
        bytes: &[u8],
        exact: Option<u64>,
        undo: &mut Vec<UndoStep>,
    ) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.disk);
        let tracked = self.open_for_append(path, undo)?;
        (tracked.clean, tracked.dirty) = (false, true);
        tracked.len = append_to(&*disk, (path, &*tracked.file, tracked.id), bytes, exact, undo)?;
        tracked.clean = true;
        Ok(())
    }

    /// Fails if the name was taken since the batch was planned.
    pub(super) fn check_free(&self, path: &FilePath) -> Result<(), StoreError> {
        match self.disk.stat(path).map_err(StoreError::io("access", path))? {
            Some(_) => Err(StoreError::Taken { path: path.clone() }),
            None => Ok(()),
        }
    }

    pub(super) fn cut(
        &mut self,
        path: &FilePath,
        at: u64,
        was: Fingerprint,
        copy: FilePath,
        undo: &mut Vec<UndoStep>,
    ) -> Result<(), StoreError> {
        let tracked = self.open_for_append(path, undo)?;
        let file = &*tracked.file;
        let len = file.stat().map_err(StoreError::io("access", path))?.len;
        let found = fingerprint_range(file, at, len).map_err(StoreError::io("read", path))?;
        if found != was {
            // Another program has written since; the present bytes were not copied.
            return Err(StoreError::Changed { file: path.clone() });
        }
        file.set_len(at).map_err(StoreError::io("truncate", path))?;
        undo.push(UndoStep::Restore { file: path.clone(), copy });
        (tracked.len, tracked.dirty) = (at, true);
        Ok(())
    }

    /// Replaces a file and keeps the old one, so that the undo needs no space.
    pub(super) fn replace_kept(
        &mut self,
        path: &FilePath,
        staged: StagedReplacement,
        undo: &mut Vec<UndoStep>,
        cleanup: &mut ApplyCleanup,
    ) -> Result<(), StoreError> {
        let (temp, beside) = (staged.temp.clone(), staged.staged_file.is_some());
        let replaced = self.replace_by(path, staged, undo, cleanup);
        if replaced.is_err() && !beside {
            drop(self.disk.remove(&temp));
        }
        replaced
    }

    pub(super) fn replace_by(
        &mut self,
        path: &FilePath,
        staged: StagedReplacement,
        undo: &mut Vec<UndoStep>,
        cleanup: &mut ApplyCleanup,
    ) -> Result<(), StoreError> {
        let StagedReplacement { temp, file, staged_file: beside, old, old_mode, expected, last } =
            staged;
        if let Some(expected) = expected {
            check_same_file(&*self.disk, path, expected)?;
        }
        let replaced = old.is_some();
        let kept = match old {
            // No later operation can fail.
            _ if last => None,
            None => Some(UndoStep::Remove { path: path.clone() }),
            Some(bytes) => Some(self.link_old_file(path, bytes, old_mode, cleanup)?),
        };
        if beside.is_none() {
            let relocated = self.replace(path, &temp, file, undo)?;
            undo.extend(kept);
            if relocated.is_copied() {
                cleanup.copied.push(temp);
            }
            return Ok(());
        }
        match self.put_staged(path, &temp, undo)? {
            StagedName::Kept => {
                undo.extend(kept);
                cleanup.staged.push(temp);
            }
            StagedName::Gone if last => {}
            StagedName::Gone => {
                undo.extend(kept.filter(|_| replaced));
                // Until an abort is safe, the record needs the content. A rename loses neither name: what is flushed
                // later cannot exist without it.
                undo.push(UndoStep::Rename { from: path.clone(), to: temp });
            }
        }
        Ok(())
    }

    /// Links a file that is about to be replaced to a second name.
    pub(super) fn link_old_file(
        &mut self,
        path: &FilePath,
        bytes: Vec<u8>,
        mode: u32,
        cleanup: &mut ApplyCleanup,
    ) -> Result<UndoStep, StoreError> {
        let (file, kept) = (path.clone(), self.temp_name()?);
        match self.disk.link(path, &kept) {
            Ok(()) => {
                cleanup.unneeded.push(kept.clone());
                Ok(UndoStep::Old { file, kept })
            }
            Err(error) if is_full(&error) => Err(StoreError::io("keep", path)(error)),
            // Some file systems have no hard links, and some systems allow them to the owner only.
            Err(_) => Ok(UndoStep::Content { file, bytes, mode }),
        }
    }

    pub(super) fn replace(
        &mut self,
        path: &FilePath,
        temp: &FilePath,
        staged: Option<Box<dyn DiskFile>>,
        undo: &mut Vec<UndoStep>,
    ) -> Result<RelocateMethod, StoreError> {
        self.make_parents(path, undo)?;
        self.close_excess_files()?;
        let staged = staged.map_or_else(|| self.open_to_flush(temp), Ok)?;
        let stat = staged.stat().map_err(StoreError::io("access", temp))?;
        // Nothing after this may fail: the caller only undoes what happened before.
        let relocated = relocate(&*self.disk, temp, path)?;
        self.dirs.extend(path.parent());
        if relocated.is_copied() {
            // The copy is flushed already.
            self.files.remove(path);
        } else {
            self.track_changed(path, staged, stat);
        }
        Ok(relocated)
    }

    /// Keeps a file that got its name open, to flush it later.
    pub(super) fn track_changed(
        &mut self,
        path: &FilePath,
        file: Box<dyn DiskFile>,
        stat: FileStat,
    ) {
        let (file, id, len) = (Arc::from(file), stat.id, stat.len);
        let tracked = TrackedFile { file, id, len, clean: false, dirty: true };
        self.files.insert(path.clone(), tracked);
    }

    /// Opens a file to flush it, even if it is read-only.
    pub(super) fn open_to_flush(&self, path: &FilePath) -> Result<Box<dyn DiskFile>, StoreError> {
        let opened = match self.disk.open(path, FileAccess::Append) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.disk.open(path, FileAccess::Read)
            }
            other => other,
        };
        opened.map_err(StoreError::io("open", path))
    }

    /// Renames on the disk and in the tracked state.
    pub(super) fn rename(&mut self, from: &FilePath, to: &FilePath) -> Result<(), StoreError> {
        self.disk.rename(from, to).map_err(StoreError::io("rename", from))?;
        self.track_rename(from, to);
        Ok(())
    }

    /// Renames, or copies where the disk cannot rename. The original of a copy stays for now.
    pub(super) fn relocate(
        &mut self,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<RelocateMethod, StoreError> {
        let relocated = relocate(&*self.disk, from, to)?;
        if relocated.is_copied() {
            self.untrack(from);
            self.dirs.extend(to.parent());
        } else {
            self.track_rename(from, to);
        }
        Ok(relocated)
    }

    /// Drops the tracked state of something that is about to be removed.
    pub(super) fn untrack(&mut self, path: &FilePath) {
        self.files.retain(|file, _| !file.is_within(path));
        self.synced_dirs.retain(|dir| !dir.is_within(path));
        self.dirs.retain(|dir| !dir.is_within(path));
        self.dirs.extend(path.parent());
    }

    pub(super) fn track_rename(&mut self, from: &FilePath, to: &FilePath) {
        self.dirs.extend([from.parent(), to.parent()].into_iter().flatten());
        let inside = |path: &&FilePath| path.is_within(from);
        let moved: Vec<FilePath> = self.files.keys().filter(inside).cloned().collect();
        for path in moved {
            if let (Some(tracked), Some(place)) = (self.files.remove(&path), path.rebased(from, to))
            {
                self.files.insert(place, tracked);
            }
        }
        self.synced_dirs.retain(|dir| !dir.is_within(from));
        let dirs = std::mem::take(&mut self.dirs);
        self.dirs = dirs.into_iter().map(|dir| dir.rebased(from, to).unwrap_or(dir)).collect();
    }

    /// Links a staged content into place; returns whether it has kept its staged name.
    ///
    /// Its bytes need no further flush, and it is not kept open: only the new name has to be flushed.
    pub(super) fn put_staged(
        &mut self,
        path: &FilePath,
        staged: &FilePath,
        undo: &mut Vec<UndoStep>,
    ) -> Result<StagedName, StoreError> {
        self.make_parents(path, undo)?;
        // Without a temporary name there is no link, and the staged file itself is renamed.
        let temp = self.temp_name().ok();
        let name = place_staged(&*self.disk, staged, temp.as_ref(), path)?;
        self.dirs.extend(path.parent());
        self.files.remove(path);
        Ok(name)
    }
}
