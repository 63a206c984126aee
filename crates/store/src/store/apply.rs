//! Applies logged batches to the plain files, and undoes a batch that cannot be applied.

mod undo;

use std::io;
use std::sync::Arc;

use super::StoreError;
use super::fingerprint::Fingerprint;
use super::log::known_own_path;
use super::plan::{ApplyHint, PlannedBatch, StagedReplacement};
use super::quarantine::{ensure_dir, fingerprint_range};
use super::record::{LogOp, Record};
use super::relocate::{RelocateMethod, relocate};
use super::staging::{StagedName, remove_all};
use super::store_core::{GroupCommit, PendingBatch, StoreCore};
use super::tracked_files::TrackedFile;
use crate::disk::{Disk, DiskFile, FileAccess, FileId, FilePermissions, FileStat, Flush, is_full};
use everturn_json::names::{FilePath, PathSet};

pub(super) use undo::UndoStep;

/// The files to remove after a batch was applied.
#[derive(Default)]
struct ApplyCleanup {
    /// Files without a name among the data. They are also removed if the batch is undone.
    unneeded: Vec<FilePath>,
    /// New contents that had to be copied into place.
    copied: Vec<FilePath>,
    /// Staged files that are linked into place and have kept their old names: not removed yet.
    staged: Vec<FilePath>,
    /// Data that is removed, or was copied to its new name: the batch is not done before it is gone.
    originals: Vec<FilePath>,
}

impl StoreCore {
    /// Applies everything pending. A batch that fails is undone, together with later ones that build on it; the others
    /// are applied.
    pub(super) fn apply_pending(&mut self, round: &mut GroupCommit<'_>) -> Result<(), StoreError> {
        if let Some(log) = &self.log {
            self.courtesy.wait(log);
        }
        let pending = std::mem::take(&mut self.pending);
        let give_out = round.last && !self.pending_state.has_conflicting_appends;
        self.pending_state.clear();
        let (plain, rest): (Vec<PendingBatch>, Vec<PendingBatch>) =
            pending.into_iter().partition(|pending| give_out && self.is_plain_append(pending));
        if let Err(error) = self.apply_all(rest, round) {
            for pending in plain {
                round.complete(pending.ticket, Err(error.clone()));
            }
            return Err(error);
        }
        if !plain.iter().all(|pending| self.is_plain_append(pending)) {
            // Files had to be closed while the others were applied.
            return self.apply_all(plain, round);
        }
        // Last, because undoing another batch waits for all tasks.
        self.hand_off(plain, round);
        Ok(())
    }

    fn apply_all(
        &mut self,
        pending: Vec<PendingBatch>,
        round: &mut GroupCommit<'_>,
    ) -> Result<(), StoreError> {
        let mut failed = PathSet::default();
        let mut aborts: Vec<Record> = Vec::new();
        let mut refused = Vec::new();
        let mut unneeded = Vec::new();
        let mut waiting = pending.into_iter();
        while let Some(pending) = waiting.next() {
            let PendingBatch { mut planned, index, ticket } = pending;
            let applied = if planned.overlaps(&failed) {
                self.discard(std::mem::take(&mut planned.hints));
                Err(StoreError::Overtaken)
            } else {
                self.apply(&mut planned)
            };
            match applied {
                Ok(()) => round.complete(ticket, Ok(std::mem::take(&mut planned.receipt))),
                Err(error) if ticket.is_none() || self.poisoned.is_some() => {
                    // Acknowledged already, or partly undone: reopening the store completes it, together with later
                    // batches and those whose abort was not logged.
                    let error = self.poison(error);
                    let noted = refused.into_iter().map(|(ticket, _)| ticket);
                    let rest = waiting.map(|pending| {
                        self.discard(pending.planned.hints);
                        pending.ticket
                    });
                    for ticket in noted.chain([ticket]).chain(rest) {
                        round.complete(ticket, Err(error.clone()));
                    }
                    return Err(error);
                }
                Err(error) => {
                    failed.extend(planned.ops.iter().flat_map(LogOp::paths).cloned());
                    unneeded.extend(self.staged_for(&planned.ops));
                    aborts.push(Record::Abort(index));
                    refused.push((ticket, error));
                }
            }
        }
        self.undone_paths.merge(failed);
        let noted = self.log_aborts(&aborts);
        if noted.is_ok() {
            remove_all(&*self.disk, unneeded);
        }
        for (ticket, error) in refused {
            round.complete(ticket, Err(noted.clone().err().unwrap_or(error)));
        }
        noted
    }

    /// Ensures that undone batches stay undone.
    pub(super) fn log_aborts(&mut self, aborts: &[Record]) -> Result<(), StoreError> {
        if aborts.is_empty() {
            return Ok(());
        }
        self.known_contents.clear();
        self.flush_files(|_| true, Flush::UndoFile, Flush::UndoDir)?;
        self.write_log(aborts)?;
        self.sync_log(Flush::Abort)
    }

    /// Applies one batch completely, or undoes it. Poisons the store if the undo fails.
    fn apply(&mut self, planned: &mut PlannedBatch) -> Result<(), StoreError> {
        let change = self.log.as_ref().and_then(|log| planned.begin_change(log.present()));
        let applied = self.apply_ops(planned);
        if let (Some(change), true) = (change, self.poisoned.is_some()) {
            change.abandon();
        }
        applied
    }

    fn apply_ops(&mut self, planned: &mut PlannedBatch) -> Result<(), StoreError> {
        let mut undo = Vec::new();
        let mut cleanup = ApplyCleanup::default();
        let mut hints = std::mem::take(&mut planned.hints).into_iter();
        for (index, op) in planned.ops.iter().enumerate() {
            let mut hint = hints.next().unwrap_or(ApplyHint::Nothing);
            if let ApplyHint::Staged(staged) = &mut hint {
                staged.last = index + 1 == planned.ops.len();
            }
            if let Err(error) = self.apply_op(op, hint, &mut undo, &mut cleanup) {
                self.discard(hints.collect());
                if let Err(cause) = self.undo(undo) {
                    return Err(self.poison(cause));
                }
                self.remove_unneeded(cleanup.unneeded);
                return Err(error);
            }
        }
        for original in &cleanup.originals {
            let removed = remove_tree(&*self.disk, original);
            // Reopening the store completes the removal.
            removed.map_err(|error| self.poison(StoreError::io("remove", original)(error)))?;
        }
        self.remove_unneeded(cleanup.unneeded);
        self.remove_unneeded(cleanup.copied);
        self.note_staged(&planned.ops, &cleanup.staged);
        Ok(())
    }

    /// Removes files that no longer have a name among the data. What cannot be removed now is removed later.
    fn remove_unneeded(&self, gone: Vec<FilePath>) {
        for temp in gone {
            drop(remove_tree(&*self.disk, &temp));
        }
    }

    fn apply_op(
        &mut self,
        op: &LogOp,
        hint: ApplyHint,
        undo: &mut Vec<UndoStep>,
        cleanup: &mut ApplyCleanup,
    ) -> Result<(), StoreError> {
        match (op, hint) {
            (LogOp::Cut { file, at, was }, ApplyHint::Kept { copy }) => {
                self.cut(file, *at, *was, copy, undo)
            }
            (LogOp::Append { file, at, bytes }, hint) => {
                let exact = matches!(hint, ApplyHint::Exact).then_some(*at);
                self.append(file, bytes, exact, undo)
            }
            (LogOp::Replace { file, .. }, ApplyHint::Staged(staged)) => {
                self.replace_kept(file, staged, undo, cleanup)
            }
            (LogOp::Rename { from, to }, _) => {
                self.check_free(to)?;
                self.make_parents(to, undo)?;
                if self.relocate(from, to)?.is_copied() {
                    cleanup.originals.push(from.clone());
                    undo.push(UndoStep::RemoveCopy { path: to.clone() });
                } else {
                    undo.push(UndoStep::Rename { from: to.clone(), to: from.clone() });
                }
                Ok(())
            }
            (LogOp::Remove { path, .. }, ApplyHint::Aside { temp }) => {
                self.remove(path, temp, undo, cleanup)
            }
            (
                LogOp::Cut { file: path, .. }
                | LogOp::Replace { file: path, .. }
                | LogOp::Remove { path, .. },
                _,
            ) => Err(StoreError::BadStep {
                path: path.clone(),
                reason: "planned without an apply hint",
            }),
        }
    }

    /// Moves a removed path aside, so that it can be restored; where that is impossible, it is removed last.
    fn remove(
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
    fn open_for_append(
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

    fn append(
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
    fn check_free(&self, path: &FilePath) -> Result<(), StoreError> {
        match self.disk.stat(path).map_err(StoreError::io("access", path))? {
            Some(_) => Err(StoreError::Taken { path: path.clone() }),
            None => Ok(()),
        }
    }

    fn cut(
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
    fn replace_kept(
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

    fn replace_by(
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
    fn link_old_file(
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

    fn replace(
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
    fn track_changed(&mut self, path: &FilePath, file: Box<dyn DiskFile>, stat: FileStat) {
        let (file, id, len) = (Arc::from(file), stat.id, stat.len);
        let tracked = TrackedFile { file, id, len, clean: false, dirty: true };
        self.files.insert(path.clone(), tracked);
    }

    /// Opens a file to flush it, even if it is read-only.
    fn open_to_flush(&self, path: &FilePath) -> Result<Box<dyn DiskFile>, StoreError> {
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
    fn relocate(&mut self, from: &FilePath, to: &FilePath) -> Result<RelocateMethod, StoreError> {
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
    fn untrack(&mut self, path: &FilePath) {
        self.files.retain(|file, _| !file.is_within(path));
        self.synced_dirs.retain(|dir| !dir.is_within(path));
        self.dirs.retain(|dir| !dir.is_within(path));
        self.dirs.extend(path.parent());
    }

    fn track_rename(&mut self, from: &FilePath, to: &FilePath) {
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
}

/// Appends to an open file, at `exact` if that is given, and returns the new end.
///
/// Fails if another file has taken its name since the batch was planned.
pub(super) fn append_to(
    disk: &dyn Disk,
    (path, file, id): (&FilePath, &dyn DiskFile, FileId),
    bytes: &[u8],
    exact: Option<u64>,
    undo: &mut Vec<UndoStep>,
) -> Result<u64, StoreError> {
    let done = file.append(bytes).map_err(StoreError::io("append to", path))?;
    let end = done.at + done.written as u64;
    undo.push(UndoStep::Cut { file: path.clone(), at: done.at, end });
    if done.written < bytes.len() {
        // The first sign of a full disk; a second write would be refused, or separated from its beginning.
        return Err(StoreError::io("append to", path)(io::ErrorKind::StorageFull.into()));
    }
    check_same_file(disk, path, Some(id))?;
    match exact {
        Some(expected) if expected != done.at => {
            Err(StoreError::Moved { file: path.clone(), expected, found: done.at })
        }
        _ => Ok(end),
    }
}

/// Fails if `path` is not the file that was planned for.
fn check_same_file(
    disk: &dyn Disk,
    path: &FilePath,
    planned: Option<FileId>,
) -> Result<(), StoreError> {
    let found = disk.stat(path).map_err(StoreError::io("access", path))?;
    if found.map(|stat| stat.id) == planned {
        return Ok(());
    }
    Err(StoreError::Changed { file: path.clone() })
}

/// Removes a file, or a directory with everything in it. A link is removed, never followed.
pub(super) fn remove_tree(disk: &dyn Disk, path: &FilePath) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            for entry in disk.list(path)?.entries {
                remove_tree(disk, &path.join(&entry.name))?;
            }
            disk.remove(path)
        }
        other => other,
    }
}

/// Removes the temporary files whose names start with `prefix`, as far as possible.
pub(super) fn remove_stale_temp(disk: &dyn Disk, prefix: &str) -> Result<(), StoreError> {
    let dir = known_own_path(&["tmp"]);
    let listing = match disk.list(&dir) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io("list", &dir)(error)),
    };
    for entry in listing.entries.iter().filter(|entry| entry.name.as_str().starts_with(prefix)) {
        // Leftovers do no harm: temporary names are never reused.
        drop(remove_tree(disk, &dir.join(&entry.name)));
    }
    Ok(())
}
