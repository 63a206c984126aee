//! The files that are open: what is known of their ends, and when they are flushed.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use super::StoreError;
use super::store_core::StoreCore;
use crate::disk::{Disk, DiskFile, FileAccess, FileId, FileKind, FileStat, Flush};
use everturn_json::names::FilePath;

/// A file that is open because it was changed since the last checkpoint, or is about to be.
pub(super) struct TrackedFile {
    /// Shared with an errand as long as that runs.
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) id: FileId,
    /// Where it ends, as far as we know.
    pub(super) len: u64,
    /// Whether it is known to end with a newline.
    pub(super) clean: bool,
    /// Whether it has changes that were not flushed.
    pub(super) dirty: bool,
}

impl TrackedFile {
    /// Whether an errand has it, and may be writing to it.
    fn is_in_use(&mut self) -> bool {
        Arc::get_mut(&mut self.file).is_none()
    }

    /// Whether it is as we left it, with a good end.
    fn is_unchanged(&self, found: FileStat) -> bool {
        self.clean && self.id == found.id && self.len == found.len
    }
}

/// What is known of the end of a file.
pub(super) enum FileEnd {
    Absent,
    /// It is ours, and good.
    Known(u64),
    /// It must be examined.
    Open(Box<dyn DiskFile>, u64),
}

impl StoreCore {
    /// Flushes changed files that `chosen` picks, and all directories in which names have changed.
    pub(super) fn flush_files(
        &mut self,
        chosen: impl Fn(&FilePath) -> bool,
        file_why: Flush,
        dir_why: Flush,
    ) -> Result<(), StoreError> {
        self.await_apply_tasks()?;
        let flushed =
            flush_files(&*self.disk, &mut self.files, &mut self.dirs, chosen, file_why, dir_why);
        flushed.map_err(|error| self.poison(error))
    }

    /// What is known of the end of a file; opens it if that must be looked at.
    ///
    /// If somebody has looked at it a moment ago and found it as we know it, that will do: between the
    /// last look and the append another program can always come.
    pub(super) fn file_end(
        &mut self,
        path: &FilePath,
        look: Option<FileStat>,
    ) -> Result<FileEnd, StoreError> {
        if let Some(known) = self.files.get_mut(path) {
            if known.is_in_use() {
                self.await_apply_tasks()?;
            } else if let Some(stat) = look
                && known.is_unchanged(stat)
            {
                return Ok(FileEnd::Known(stat.len));
            }
        }
        let Some(stat) = self.disk.stat(path).map_err(StoreError::io("look at", path))? else {
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

    /// Flushes and closes the files that are open, if they are too many for one more.
    pub(super) fn close_excess_files(&mut self) -> Result<(), StoreError> {
        if self.files.len() < 2 * self.options.open_files {
            return Ok(());
        }
        self.await_apply_tasks()?;
        let flushed = flush_changed(&mut self.files, |_| true, Flush::CloseFile);
        flushed.map_err(|error| self.poison(error))?;
        self.files.clear();
        Ok(())
    }

    /// Whether one more new content may be kept open until it gets its name.
    pub(super) fn may_stay_open(&mut self) -> bool {
        self.staged += 1;
        self.staged <= self.options.open_files / 4
    }

    /// Stops keeping a file that has another name now, or none; what we wrote to it is made safe first.
    fn stop_tracking(&mut self, path: &FilePath) -> Result<(), StoreError> {
        if let Some(old) = self.files.remove(path).filter(|old| old.dirty) {
            let synced = old.file.sync(Flush::CheckpointFile);
            synced.map_err(|error| self.poison(StoreError::io("flush", path)(error)))?;
        }
        Ok(())
    }

    /// Keeps a file open under its name; an older handle of the same file is only as dirty as before.
    pub(super) fn track(
        &mut self,
        path: &FilePath,
        file: Box<dyn DiskFile>,
        clean: bool,
    ) -> Result<&mut TrackedFile, StoreError> {
        self.close_excess_files()?;
        let stat = file.stat().map_err(StoreError::io("look at", path))?;
        let dirty = self.files.get(path).is_some_and(|old| old.dirty && old.id == stat.id);
        if !dirty {
            self.stop_tracking(path)?;
            // Whoever made the file may not have flushed its name.
            self.dirs.extend(path.parent());
        }
        let (file, id, len) = (Arc::from(file), stat.id, stat.len);
        let tracked = TrackedFile { file, id, len, clean, dirty };
        Ok(self.files.entry(path.clone()).insert_entry(tracked).into_mut())
    }
}

/// Flushes changed files that `chosen` picks, and all the directories.
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
    // In an order that is the same every time.
    changed.sort_unstable_by_key(|(path, _)| path.as_str());
    for (path, tracked) in changed {
        tracked.file.sync(why).map_err(StoreError::io("flush", path))?;
        tracked.dirty = false;
    }
    Ok(())
}

/// Flushes a directory; one that is gone has nothing to lose.
pub(super) fn sync_dir(disk: &dyn Disk, dir: &FilePath, why: Flush) -> Result<(), StoreError> {
    match disk.sync_dir(dir, why) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(StoreError::io("flush", dir)),
    }
}
