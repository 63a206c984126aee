//! Undoes the applied part of a batch that cannot be applied completely.

use std::io;

use crate::disk::{FileAccess, FilePermissions, Flush, append_full, read_all};
use crate::store::StoreError;
use crate::store::apply::remove_tree;
use crate::store::store_core::StoreCore;
use everturn_json::names::FilePath;

/// The inverse of one applied change.
pub(in crate::store) enum UndoStep {
    /// Cut off appended bytes, if nothing was appended after them.
    Cut { file: FilePath, at: u64, end: u64 },
    /// Restore bytes that were cut off.
    Restore { file: FilePath, copy: FilePath },
    /// Remove a file or directory that was created.
    Remove { path: FilePath },
    /// Rename a file or directory back.
    Rename { from: FilePath, to: FilePath },
    /// Remove the copy under a new name; the original still exists.
    RemoveCopy { path: FilePath },
    /// Rename the old file, kept under another name, back into place.
    Old { file: FilePath, kept: FilePath },
    /// Restore the old content, on a disk where the old file itself could not be kept.
    Content { file: FilePath, bytes: Vec<u8>, mode: u32 },
}

impl StoreCore {
    pub(in crate::store) fn undo(&mut self, undo: Vec<UndoStep>) -> Result<(), StoreError> {
        for step in undo.into_iter().rev() {
            match step {
                UndoStep::Cut { file, at, end } => self.undo_append(&file, at, end)?,
                UndoStep::Restore { file, copy } => self.undo_cut(&file, &copy)?,
                UndoStep::Remove { path } => {
                    self.files.remove(&path);
                    self.dirs.remove(&path);
                    self.synced_dirs.remove(&path);
                    match self.disk.remove(&path) {
                        // Another program has created something in a directory that we created.
                        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                        other => other.map_err(StoreError::io("remove", &path))?,
                    }
                    self.dirs.extend(path.parent());
                }
                UndoStep::Rename { from, to } => self.rename(&from, &to)?,
                UndoStep::RemoveCopy { path } => {
                    let removed = remove_tree(&*self.disk, &path);
                    removed.map_err(StoreError::io("remove", &path))?;
                    self.dirs.extend(path.parent());
                }
                UndoStep::Old { file, kept } => {
                    self.disk.rename(&kept, &file).map_err(StoreError::io("restore", &file))?;
                    self.dirs.extend(file.parent());
                    // Its content may be as new as the last commit, and not flushed yet.
                    let old = self.open_to_flush(&file)?;
                    let stat = old.stat().map_err(StoreError::io("access", &file))?;
                    self.track_changed(&file, old, stat);
                }
                UndoStep::Content { file, bytes, mode } => {
                    let temp = self.temp_name()?;
                    let made = self.disk.create(&temp, FilePermissions::Exact(mode));
                    let staged = made.map_err(StoreError::io("create", &temp))?;
                    append_full(&*staged, &bytes).map_err(StoreError::io("write", &temp))?;
                    // After a power cut, part of it would look like a content of another program.
                    staged.sync(Flush::UndoFile).map_err(StoreError::io("flush", &temp))?;
                    self.replace(&file, &temp, Some(staged), &mut Vec::new())?;
                }
            }
        }
        Ok(())
    }

    fn undo_append(&mut self, path: &FilePath, at: u64, end: u64) -> Result<(), StoreError> {
        let tracked = self.open_for_append(path, &mut Vec::new())?;
        let len = tracked.file.stat().map_err(StoreError::io("access", path))?.len;
        if len != end {
            // Another program has appended after it: the batch can only be completed.
            return Err(StoreError::Changed { file: path.clone() });
        }
        tracked.file.set_len(at).map_err(StoreError::io("truncate", path))?;
        // The preceding byte may be anything; the next append checks.
        (tracked.len, tracked.clean, tracked.dirty) = (at, false, true);
        Ok(())
    }

    fn undo_cut(&mut self, path: &FilePath, copy: &FilePath) -> Result<(), StoreError> {
        let kept = self.disk.open(copy, FileAccess::Read).map_err(StoreError::io("open", copy))?;
        let bytes = read_all(&*kept).map_err(StoreError::io("read", copy))?;
        let tracked = self.open_for_append(path, &mut Vec::new())?;
        append_full(&*tracked.file, &bytes).map_err(StoreError::io("append to", path))?;
        tracked.len += bytes.len() as u64;
        (tracked.clean, tracked.dirty) = (false, true);
        Ok(())
    }
}
