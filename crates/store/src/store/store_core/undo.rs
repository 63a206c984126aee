//! Undoes the applied part of a batch that cannot be applied completely.

use std::io;

use super::StoreCore;
use crate::disk::{FileAccess, FilePermissions, Flush, append_full, read_all};
use crate::store::StoreError;
use crate::store::disk_ops::remove_tree;
use crate::store::record::Record;
use everturn_json::names::FilePath;

/// The inverse of one applied change.
pub(super) enum UndoStep {
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

/// Undoes the applied changes of a batch, the last one first.
pub(super) fn undo_steps(core: &mut StoreCore, steps: Vec<UndoStep>) -> Result<(), StoreError> {
    for step in steps.into_iter().rev() {
        match step {
            UndoStep::Cut { file, at, end } => undo_append(core, &file, at, end)?,
            UndoStep::Restore { file, copy } => undo_cut(core, &file, &copy)?,
            UndoStep::Remove { path } => {
                core.files.remove(&path);
                core.dirs.remove(&path);
                core.synced_dirs.remove(&path);
                match core.disk.remove(&path) {
                    // Another program has created something in a directory that we created.
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                    other => other.map_err(StoreError::io("remove", &path))?,
                }
                core.dirs.extend(path.parent());
            }
            UndoStep::Rename { from, to } => core.rename(&from, &to)?,
            UndoStep::RemoveCopy { path } => {
                let removed = remove_tree(&*core.disk, &path);
                removed.map_err(StoreError::io("remove", &path))?;
                core.dirs.extend(path.parent());
            }
            UndoStep::Old { file, kept } => {
                core.disk.rename(&kept, &file).map_err(StoreError::io("restore", &file))?;
                core.dirs.extend(file.parent());
                // Its content may be as new as the last commit, and not flushed yet.
                let old = core.open_to_flush(&file)?;
                let stat = old.stat().map_err(StoreError::io("access", &file))?;
                core.track_changed(&file, old, stat);
            }
            UndoStep::Content { file, bytes, mode } => {
                let temp = core.temp_name()?;
                let made = core.disk.create(&temp, FilePermissions::Exact(mode));
                let staged = made.map_err(StoreError::io("create", &temp))?;
                append_full(&*staged, &bytes).map_err(StoreError::io("write", &temp))?;
                // After a power cut, part of it would look like a content of another program.
                staged.sync(Flush::UndoFile).map_err(StoreError::io("flush", &temp))?;
                core.replace(&file, &temp, Some(staged), &mut Vec::new())?;
            }
        }
    }
    Ok(())
}

fn undo_append(core: &mut StoreCore, path: &FilePath, at: u64, end: u64) -> Result<(), StoreError> {
    let tracked = core.open_for_append(path, &mut Vec::new())?;
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

fn undo_cut(core: &mut StoreCore, path: &FilePath, copy: &FilePath) -> Result<(), StoreError> {
    let kept = core.disk.open(copy, FileAccess::Read).map_err(StoreError::io("open", copy))?;
    let bytes = read_all(&*kept).map_err(StoreError::io("read", copy))?;
    let tracked = core.open_for_append(path, &mut Vec::new())?;
    append_full(&*tracked.file, &bytes).map_err(StoreError::io("append to", path))?;
    tracked.len += bytes.len() as u64;
    (tracked.clean, tracked.dirty) = (false, true);
    Ok(())
}

/// Ensures that undone batches stay undone.
pub(super) fn log_aborts(core: &mut StoreCore, aborts: &[Record]) -> Result<(), StoreError> {
    if aborts.is_empty() {
        return Ok(());
    }
    core.known_contents.clear();
    core.flush_files(|_| true, Flush::UndoFile, Flush::UndoDir)?;
    core.write_log(aborts)?;
    core.sync_log(Flush::Abort)
}
