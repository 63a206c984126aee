//! [`TrackedFile`]: the open files, what is known of their ends, and when they are flushed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::StoreCore;
use super::apply_task::await_apply_tasks;
use crate::disk::{Disk, DiskFile, FileAccess, FileId, FileKind, FileStat, Flush};
use crate::store::StoreError;
use crate::store::disk_ops::sync_dir;
use everturn_json::names::FilePath;

/// A file that is open because it was changed since the last checkpoint, or is about to be.
pub(in crate::store) struct TrackedFile {
    /// Shared with an apply task while that runs.
    pub(in crate::store) file: Arc<dyn DiskFile>,
    pub(in crate::store) id: FileId,
    /// The known end of the file.
    pub(in crate::store) len: u64,
    /// Whether it is known to end with a newline.
    pub(in crate::store) clean: bool,
    /// Whether it has unflushed changes.
    pub(in crate::store) dirty: bool,
}

impl TrackedFile {
    /// Returns whether an apply task holds it, and may be writing to it.
    fn is_in_use(&mut self) -> bool {
        Arc::get_mut(&mut self.file).is_none()
    }

    /// Returns whether it is as we left it, with a clean end.
    fn is_unchanged(&self, found: FileStat) -> bool {
        self.clean && self.id == found.id && self.len == found.len
    }
}

/// What is known of the end of a file.
pub(in crate::store) enum FileEnd {
    Absent,
    /// We wrote it, and it is clean.
    Known(u64),
    /// It must be examined.
    Open(Box<dyn DiskFile>, u64),
}

impl StoreCore {
    /// Flushes the changed files selected by `chosen`, and all directories in which names have changed.
    pub(in crate::store) fn flush_files(
        &mut self,
        chosen: impl Fn(&FilePath) -> bool,
        file_why: Flush,
        dir_why: Flush,
    ) -> Result<(), StoreError> {
        await_apply_tasks(self)?;
        let flushed =
            flush_files(&*self.disk, &mut self.files, &mut self.dirs, chosen, file_why, dir_why);
        flushed.map_err(|error| self.poison(error))
    }

    /// Returns what is known of the end of a file; opens the file if the end must be examined.
    ///
    /// Recent metadata in `look` that matches the tracked state is sufficient: another program can always write between
    /// the last check and the append.
    pub(in crate::store) fn file_end(
        &mut self,
        path: &FilePath,
        look: Option<FileStat>,
    ) -> Result<FileEnd, StoreError> {
        if let Some(known) = self.files.get_mut(path) {
            if known.is_in_use() {
                await_apply_tasks(self)?;
            } else if let Some(stat) = look
                && known.is_unchanged(stat)
            {
                return Ok(FileEnd::Known(stat.len));
            }
        }
        let Some(stat) = self.disk.stat(path).map_err(StoreError::io("access", path))? else {
            self.stop_tracking(path)?;
            return Ok(FileEnd::Absent);
        };
        if stat.kind != FileKind::File {
            let reason = "only a file can be appended to";
            return Err(StoreError::BadStep { path: path.clone(), reason });
        }
        match self.files.get(path) {
            Some(known) if known.is_unchanged(stat) => Ok(FileEnd::Known(stat.len)),
            _ => {
                let opened = self.disk.open(path, FileAccess::Append);
                let file = opened.map_err(StoreError::io("open", path))?;
                Ok(FileEnd::Open(file, stat.len))
            }
        }
    }

    /// Flushes and closes the open files, if they are too many for one more.
    pub(in crate::store) fn close_excess_files(&mut self) -> Result<(), StoreError> {
        if self.files.len() < 2 * self.options.open_files {
            return Ok(());
        }
        await_apply_tasks(self)?;
        let flushed = flush_changed(&mut self.files, |_| true, Flush::CloseFile);
        flushed.map_err(|error| self.poison(error))?;
        self.files.clear();
        Ok(())
    }

    /// Returns whether one more new content may stay open until it gets its name.
    pub(in crate::store) fn may_stay_open(&mut self) -> bool {
        self.staged += 1;
        self.staged <= self.options.open_files / 4
    }

    /// Stops tracking a file that has been renamed or removed; our writes to it are flushed first.
    fn stop_tracking(&mut self, path: &FilePath) -> Result<(), StoreError> {
        if let Some(old) = self.files.remove(path).filter(|old| old.dirty) {
            let synced = old.file.sync(Flush::CheckpointFile);
            synced.map_err(|error| self.poison(StoreError::io("flush", path)(error)))?;
        }
        Ok(())
    }

    /// Tracks an open file under its name; if an older handle of the same file was dirty, so is this one.
    pub(in crate::store) fn track(
        &mut self,
        path: &FilePath,
        file: Box<dyn DiskFile>,
        clean: bool,
    ) -> Result<&mut TrackedFile, StoreError> {
        self.close_excess_files()?;
        let stat = file.stat().map_err(StoreError::io("access", path))?;
        let dirty = self.files.get(path).is_some_and(|old| old.dirty && old.id == stat.id);
        if !dirty {
            self.stop_tracking(path)?;
            // The program that created the file may not have flushed its name.
            self.dirs.extend(path.parent());
        }
        let (file, id, len) = (Arc::from(file), stat.id, stat.len);
        let tracked = TrackedFile { file, id, len, clean, dirty };
        Ok(self.files.entry(path.clone()).insert_entry(tracked).into_mut())
    }
}

/// Flushes the changed files selected by `chosen`, and all the directories.
fn flush_files(
    disk: &dyn Disk,
    files: &mut HashMap<FilePath, TrackedFile>,
    dirs: &mut BTreeSet<FilePath>,
    chosen: impl Fn(&FilePath) -> bool,
    file_why: Flush,
    dir_why: Flush,
) -> Result<(), StoreError> {
    flush_changed(files, chosen, file_why)?;
    while let Some(dir) = dirs.pop_first() {
        sync_dir(disk, &dir, dir_why)?;
    }
    Ok(())
}

fn flush_changed(
    files: &mut HashMap<FilePath, TrackedFile>,
    chosen: impl Fn(&FilePath) -> bool,
    why: Flush,
) -> Result<(), StoreError> {
    let changed = files.iter_mut().filter(|(path, tracked)| tracked.dirty && chosen(path));
    let mut changed: Vec<_> = changed.collect();
    // In a deterministic order.
    changed.sort_unstable_by_key(|(path, _)| path.as_str());
    for (path, tracked) in changed {
        tracked.file.sync(why).map_err(StoreError::io("flush", path))?;
        tracked.dirty = false;
    }
    Ok(())
}
