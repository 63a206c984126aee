//! Staged files: a large new content is written and flushed once, not into the log but into a file beside it, which is
//! then linked into place.
//!
//! A staged file is complete and flushed, with its name, before a record refers to it. Its target becomes a second link
//! to it, so the content keeps its name beside the log while the record counts: another program may save a file of its
//! own over the target before the log is recovered. [`KeptFiles`] tracks these names. Where the file system has no hard
//! links, the staged file itself is renamed.
//!
//! Another program may also write into the target itself, which changes both names of the file. Against that a copy is
//! written beside the log before the content is placed. The copy is not flushed: it is needed after the death of a
//! process, which leaves the page cache as it is. It is removed with the staged file, mostly before it reaches the disk.
//!
//! A staged file is removed if it was never recorded, once an abort of its record is safe, once a later record for the
//! same name is, or when the log is recycled.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk_ops::{copy_range, fingerprint_range};
use super::fingerprint::Fingerprint;
use super::log_number::LogNumber;
use super::own_paths::known_own_path;
use super::quarantine::quarantine_range;
use super::record::{LogOp, NewContent, StagedContent};
use super::relocate::{RelocateMethod, relocate};
use super::{FileMode, Step, StoreError};
use crate::disk::{Disk, DiskFile, FileAccess, FileKind, FilePermissions, Flush, append_full};
use everturn_json::names::FilePath;

const SUFFIX: &str = ".staged";
const COPY_SUFFIX: &str = ".copy";

/// The maximum number of files that are written before they are flushed together.
const MAX_OPEN: usize = 16;

/// Returns the path of a content staged for a log.
pub(super) fn staged_path(log: LogNumber, number: u64) -> FilePath {
    known_own_path(&["wal", &format!("{}{number}{SUFFIX}", log.temp_prefix())])
}

/// Returns the path of the copy of a content staged for a log.
fn copy_path(log: LogNumber, number: u64) -> FilePath {
    known_own_path(&["wal", &format!("{}{number}{COPY_SUFFIX}", log.temp_prefix())])
}

/// Returns the path of the copy that belongs to a staged file.
fn copy_of(staged: &FilePath) -> Option<FilePath> {
    let name = staged.name()?;
    let stem = name.as_str().strip_suffix(SUFFIX)?;
    Some(known_own_path(&["wal", &format!("{stem}{COPY_SUFFIX}")]))
}

/// Returns whether the new content of a step is to be staged.
pub(super) fn is_large(step: &Step, stage_from: usize) -> bool {
    matches!(step, Step::Replace { bytes, .. } if bytes.len() >= stage_from)
}

/// A staged content. The file is removed when this is dropped, unless a record may need it.
pub(super) struct StagedFile {
    disk: Arc<dyn Disk>,
    pub(super) path: FilePath,
    pub(super) content: StagedContent,
    /// The permissions it was created with.
    pub(super) mode: FilePermissions,
    /// Whether a record may refer to it.
    pub(super) needed: bool,
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.needed {
            // A leftover is removed when the log changes owners; this is only early cleanup.
            drop(self.disk.remove(&self.path));
        }
    }
}

/// Stages the contents for one log. Threads that commit at the same time do this in parallel.
pub(super) struct StagingArea {
    disk: Arc<dyn Disk>,
    log: LogNumber,
    count: Arc<AtomicU64>,
    stage_from: usize,
    /// The number of files that are written before they are flushed together.
    max_open: usize,
}

impl StagingArea {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        log: LogNumber,
        count: Arc<AtomicU64>,
        stage_from: usize,
        open_files: usize,
    ) -> StagingArea {
        let max_open = MAX_OPEN.min(open_files / 4);
        StagingArea { disk, log, count, stage_from, max_open }
    }

    /// Writes and flushes the large contents among `steps`, each into its own file.
    pub(super) fn write(&self, steps: &[Step]) -> Result<Vec<Option<StagedFile>>, StoreError> {
        let (mut files, mut open) = (Vec::new(), Vec::new());
        for step in steps {
            files.push(match step {
                Step::Replace { file, bytes, mode, .. } if is_large(step, self.stage_from) => {
                    self.write_one(file, bytes, *mode, &mut open)?
                }
                _ => None,
            });
            if open.len() >= self.max_open {
                flush_open_files(&mut open)?;
            }
        }
        flush_open_files(&mut open)?;
        Ok(files)
    }

    /// Flushes the names of all staged files.
    pub(super) fn sync_names(&self) -> Result<(), StoreError> {
        let dir = known_own_path(&["wal"]);
        // The name of the directory itself was flushed when the log was created in it.
        self.disk.sync_dir(&dir, Flush::StagedDir).map_err(StoreError::io("flush", &dir))
    }

    /// Writes one content. `None` if it cannot become that file, which planning will detect.
    fn write_one(
        &self,
        file: &FilePath,
        bytes: &[u8],
        mode: FileMode,
        open: &mut Vec<(FilePath, Box<dyn DiskFile>)>,
    ) -> Result<Option<StagedFile>, StoreError> {
        let old = self.disk.stat(file).map_err(StoreError::io("access", file))?;
        if old.is_some_and(|stat| stat.kind != FileKind::File) {
            return Ok(None);
        }
        let mode = replacement_permissions(mode == FileMode::OwnerOnly, old.map(|stat| stat.mode));
        let (number, path, made) = self.create(mode)?;
        let content = StagedContent { number, fingerprint: Fingerprint::of(bytes) };
        let disk = Arc::clone(&self.disk);
        let staged = StagedFile { disk, path: path.clone(), content, mode, needed: false };
        append_full(&*made, bytes).map_err(StoreError::io("write", &path))?;
        open.push((path, made));
        Ok(Some(staged))
    }

    /// Creates a file under an unused name.
    fn create(
        &self,
        mode: FilePermissions,
    ) -> Result<(u64, FilePath, Box<dyn DiskFile>), StoreError> {
        loop {
            let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            let path = staged_path(self.log, number);
            match self.disk.create(&path, mode) {
                Ok(file) => return Ok((number, path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io("create", &path)(error)),
            }
        }
    }
}

fn flush_open_files(open: &mut Vec<(FilePath, Box<dyn DiskFile>)>) -> Result<(), StoreError> {
    for (path, file) in open.drain(..) {
        file.sync(Flush::StagedFile).map_err(StoreError::io("flush", &path))?;
    }
    Ok(())
}

/// The staged files that still exist beside the log although their contents are in place.
///
/// There is at most one for each name: the one that the last record for that name needs. It is the same file as the one
/// in place, so it takes no space of its own unless another program has replaced that one.
#[derive(Default)]
pub(super) struct KeptFiles {
    /// By the name of the file in the log.
    by_name: HashMap<FilePath, FilePath>,
    /// Files of names with a barrier that is not in the log yet.
    settled: Vec<FilePath>,
}

impl KeptFiles {
    fn take_within(&mut self, path: &FilePath) -> Vec<FilePath> {
        let taken = self.by_name.extract_if(|name, _| name.is_within(path));
        taken.map(|(_, staged)| staged).collect()
    }

    /// Records names that are safe in the plain files.
    pub(super) fn settle(&mut self, names: &[FilePath]) {
        for name in names {
            let taken = self.take_within(name);
            self.settled.extend(taken);
        }
    }

    /// Records, after a batch was applied, which staged files are needed and which no longer are.
    pub(super) fn record_batch(
        &mut self,
        disk: &dyn Disk,
        log: LogNumber,
        ops: &[LogOp],
        kept: &[FilePath],
    ) {
        let mut unneeded = Vec::new();
        for op in ops {
            match op {
                LogOp::Replace { file, .. } => {
                    unneeded.extend(self.by_name.remove(file));
                    let staged = staged_paths(log, std::slice::from_ref(op)).pop();
                    if let Some(staged) = staged.filter(|staged| kept.contains(staged)) {
                        self.by_name.insert(file.clone(), staged);
                    }
                }
                LogOp::Remove { path, .. } => unneeded.extend(self.take_within(path)),
                LogOp::Cut { .. } | LogOp::Append { .. } | LogOp::Rename { .. } => {}
            }
        }
        remove_all(disk, unneeded);
    }

    /// Removes the staged files of names with a barrier, once the barrier is in the log.
    pub(super) fn remove_settled(&mut self, disk: &dyn Disk) {
        remove_all(disk, std::mem::take(&mut self.settled));
    }

    /// Removes all staged files that were kept: the log was recycled.
    pub(super) fn remove_kept(&mut self, disk: &dyn Disk) {
        self.remove_settled(disk);
        let kept = std::mem::take(&mut self.by_name);
        remove_all(disk, kept.into_values().collect());
    }
}

/// Returns the files that were staged for these operations of a log.
pub(super) fn staged_paths(log: LogNumber, ops: &[LogOp]) -> Vec<FilePath> {
    let path = |op: &LogOp| match op {
        LogOp::Replace { new: NewContent::Staged(staged), .. } => {
            Some(staged_path(log, staged.number))
        }
        _ => None,
    };
    ops.iter().filter_map(path).collect()
}

/// Removes staged files that no record needs any more, with their copies.
pub(super) fn remove_all(disk: &dyn Disk, unneeded: Vec<FilePath>) {
    for path in unneeded {
        // A leftover is removed when the log changes owners.
        drop(disk.remove(&path));
        if let Some(copy) = copy_of(&path) {
            drop(disk.remove(&copy));
        }
    }
}

/// Writes the copy of a staged file. Without it the content is as safe as its two links make it.
fn write_copy(disk: &dyn Disk, staged: &FilePath) {
    let Some(copy) = copy_of(staged) else { return };
    // An earlier recovery may have left half of one.
    drop(disk.remove(&copy));
    let write = || -> io::Result<()> {
        let file = disk.open(staged, FileAccess::Read)?;
        let stat = file.stat()?;
        let made = disk.create(&copy, FilePermissions::Exact(stat.mode))?;
        copy_range(&*file, 0, stat.len, &*made)
    };
    if write().is_err() {
        drop(disk.remove(&copy));
    }
}

/// Whether a content that is in place has kept its staged name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StagedName {
    Kept,
    Gone,
}

/// Gives a staged content the name `path`: by a second link, created as `temp`, if the disk has hard links.
pub(super) fn place_staged(
    disk: &dyn Disk,
    staged: &FilePath,
    temp: Option<&FilePath>,
    path: &FilePath,
) -> Result<StagedName, StoreError> {
    write_copy(disk, staged);
    if let Some(temp) = temp
        && disk.link(staged, temp).is_ok()
    {
        let relocated = relocate(disk, temp, path);
        if !matches!(relocated, Ok(RelocateMethod::Renamed)) {
            drop(disk.remove(temp));
        }
        return relocated.map(|_| StagedName::Kept);
    }
    let relocated = relocate(disk, staged, path)?;
    Ok(if relocated.is_copied() { StagedName::Kept } else { StagedName::Gone })
}

/// Returns the file beside the log that has a staged content: the staged file, or its copy.
pub(super) fn intact_source(
    disk: &dyn Disk,
    log: LogNumber,
    staged: StagedContent,
) -> Result<Option<FilePath>, StoreError> {
    for path in [staged_path(log, staged.number), copy_path(log, staged.number)] {
        if is_intact(disk, &path, staged.fingerprint)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns whether a staged file exists and has the expected content.
fn is_intact(disk: &dyn Disk, path: &FilePath, print: Fingerprint) -> Result<bool, StoreError> {
    let found = disk.stat(path).map_err(StoreError::io("access", path))?;
    if found.is_none_or(|stat| stat.kind != FileKind::File || stat.len != print.len) {
        return Ok(false);
    }
    let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
    let found = fingerprint_range(&*file, 0, print.len).map_err(StoreError::io("read", path))?;
    Ok(found == print)
}

/// Returns the existing files that were staged for a log.
fn all_staged(disk: &dyn Disk, log: LogNumber) -> Result<Vec<FilePath>, StoreError> {
    let (dir, prefix) = (known_own_path(&["wal"]), log.temp_prefix());
    let listing = disk.list(&dir).map_err(StoreError::io("list", &dir))?;
    let is_staged = |name: &str| name.ends_with(SUFFIX) || name.ends_with(COPY_SUFFIX);
    let is_ours = |name: &str| name.starts_with(&prefix) && is_staged(name);
    let ours = listing.entries.iter().filter(|entry| is_ours(entry.name.as_str()));
    Ok(ours.map(|entry| dir.join(&entry.name)).collect())
}

/// Removes the staged files of a log in which no record counts any more.
///
/// The caller owns the log, so no other process is staging files for it.
pub(super) fn remove_stale_staged(disk: &dyn Disk, log: LogNumber) -> Result<(), StoreError> {
    for path in all_staged(disk, log)? {
        // Leftovers do no harm: a name that is taken is not used.
        drop(disk.remove(&path));
    }
    Ok(())
}

/// Copies the staged files of an unreadable log to quarantine, where the log goes too.
pub(super) fn quarantine_staged(disk: &dyn Disk, log: LogNumber) -> Result<(), StoreError> {
    for path in all_staged(disk, log)? {
        let file = disk.open(&path, FileAccess::Read).map_err(StoreError::io("open", &path))?;
        let len = file.stat().map_err(StoreError::io("access", &path))?.len;
        quarantine_range(disk, &path, &*file, 0, len)?;
    }
    Ok(())
}

/// Returns the permissions of a new content: those of the old one, unless it is private.
pub(super) fn replacement_permissions(private: bool, old: Option<u32>) -> FilePermissions {
    match old {
        _ if private => FilePermissions::OwnerOnly,
        Some(bits) => FilePermissions::Exact(bits),
        None => FilePermissions::Default,
    }
}
