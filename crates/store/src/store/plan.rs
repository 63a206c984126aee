//! Plans a batch: turns the caller's steps into the operations of a log record.
//!
//! Planning reads files and prepares temporary ones, but makes no visible change. Errors should occur here, where
//! failing costs nothing. The result is a [`PlannedBatch`]; [`PendingState`] sums up the batches not applied yet.

mod validate;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::changes::{ChangeGuard, ChangeMarks};
use super::digest::digest_contents;
use super::fingerprint::Fingerprint;
use super::log::LogEpoch;
use super::quarantine::quarantine_range;
use super::record::{LogOp, NewContent, RemovedContent};
use super::staging::StagedFile;
use super::store_core::StoreCore;
use super::tracked_files::FileEnd;
use super::{AppendAt, CommitReceipt, Durability, FileMode, Precondition, Step, StoreError};
use crate::disk::{
    DiskFile, FileAccess, FileId, FileKind, FilePermissions, FileStat, append_full, read_all,
};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::FileTail;
use everturn_json::names::{FilePath, PathSet};

pub(super) use validate::{
    ValidatedBatch, add_joined_appends, check_append_offset, validate_batch,
};

/// A batch that is ready for the log.
pub(super) struct PlannedBatch {
    pub(super) ops: Vec<LogOp>,
    /// For each operation, additional data for applying it.
    pub(super) hints: Vec<ApplyHint>,
    pub(super) durability: Durability,
    pub(super) receipt: CommitReceipt,
    /// Where readers are notified while it is applied.
    pub(super) marks: Option<Arc<ChangeMarks>>,
    /// Where files end once this is applied.
    ends: BTreeMap<FilePath, u64>,
    /// The names that it creates, ends or gives to another file: all except those of files that only grow.
    names: Vec<FilePath>,
}

impl PlannedBatch {
    /// Returns whether it must be applied soon: it was planned on bytes that another program may change.
    pub(super) fn is_urgent(&self) -> bool {
        let cuts = |op: &LogOp| matches!(op, LogOp::Cut { .. });
        self.durability == Durability::Synced || self.ops.iter().any(cuts)
    }

    /// Notifies readers that it is being applied.
    pub(super) fn begin_change(&self, log: LogEpoch) -> Option<ChangeGuard> {
        self.marks.as_ref().map(|marks| marks.begin(log))
    }

    /// Returns whether it touches one of these names, or a path above or below one.
    pub(super) fn overlaps(&self, names: &PathSet) -> bool {
        self.ops.iter().flat_map(LogOp::paths).any(|path| names.overlaps(path))
    }
}

/// Additional data for applying an operation.
pub(super) enum ApplyHint {
    Nothing,
    /// The caller wants the lines at the planned offset and nowhere else.
    Exact,
    /// The new content, ready under another name.
    Staged(StagedReplacement),
    /// A temporary name for something removed, until the batch is done.
    Aside {
        temp: FilePath,
    },
    /// The copy of the bytes that are cut off.
    Kept {
        copy: FilePath,
    },
}

/// A new content, and the content it replaces.
pub(super) struct StagedReplacement {
    /// The name under which it is ready.
    pub(super) temp: FilePath,
    /// The open file, unless too many are open or it is flushed already.
    pub(super) file: Option<Box<dyn DiskFile>>,
    /// The staged file, if the content is beside the log.
    pub(super) staged_file: Option<StagedFile>,
    pub(super) old: Option<Vec<u8>>,
    pub(super) old_mode: u32,
    /// The file that must exist there when it is replaced, if the caller requires one.
    pub(super) expected: Option<Option<FileId>>,
    /// Whether it is the last operation of its batch.
    pub(super) last: bool,
}

/// The combined effect of batches that are in the log but not yet applied.
#[derive(Default)]
pub(super) struct PendingState {
    /// Where appended files will end.
    ends: HashMap<FilePath, u64>,
    /// Names that will be created, ended or given to another file.
    names: PathSet,
    /// Whether two of the batches append to the same file.
    pub(super) has_conflicting_appends: bool,
}

impl PendingState {
    /// Returns whether `steps` can only be planned after the pending batches are applied.
    pub(super) fn conflicts_with(&self, steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            // An existing file that grows has nothing below it, and its directories exist.
            Step::Append { file, .. } => !self.ends.contains_key(file) && self.names.overlaps(file),
            step => step.paths().any(|path| self.overlaps(path)),
        })
    }

    fn overlaps(&self, path: &FilePath) -> bool {
        let near = |file: &FilePath| file.is_within(path) || path.is_within(file);
        self.names.overlaps(path) || self.ends.keys().any(near)
    }

    pub(super) fn record_batch(&mut self, planned: &PlannedBatch) {
        for (file, end) in &planned.ends {
            self.has_conflicting_appends |= self.ends.insert(file.clone(), *end).is_some();
        }
        self.names.extend(planned.names.iter().cloned());
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.names.clear();
        self.has_conflicting_appends = false;
    }
}

fn bad_step(path: &FilePath, reason: &'static str) -> StoreError {
    StoreError::BadStep { path: path.clone(), reason }
}

/// Plans one batch; if that fails, removes what was prepared for it.
pub(super) fn plan_batch(
    core: &mut StoreCore,
    validated: ValidatedBatch,
    durability: Durability,
) -> Result<PlannedBatch, StoreError> {
    let mut planner = Planner {
        core,
        durability,
        ops: Vec::new(),
        hints: Vec::new(),
        ends: BTreeMap::new(),
        names: Vec::new(),
        receipt: CommitReceipt::default(),
    };
    let ValidatedBatch { steps, stats: looks, staged, joined, marks, .. } = validated;
    let looks = looks.into_iter().chain(std::iter::repeat(None));
    let staged = staged.into_iter().chain(std::iter::repeat_with(|| None));
    for ((step, look), staged) in steps.into_iter().zip(looks).zip(staged) {
        if let Err(error) = planner.plan_step(step, look, staged) {
            planner.core.discard(planner.hints);
            return Err(error);
        }
    }
    if let Err(error) = planner.core.secure_dirs() {
        planner.core.discard(planner.hints);
        return Err(error);
    }
    let Planner { ops, hints, ends, names, mut receipt, .. } = planner;
    add_joined_appends(&mut receipt, &joined);
    Ok(PlannedBatch { ops, hints, durability, receipt, marks, ends, names })
}

struct Planner<'a> {
    core: &'a mut StoreCore,
    durability: Durability,
    ops: Vec<LogOp>,
    hints: Vec<ApplyHint>,
    ends: BTreeMap<FilePath, u64>,
    names: Vec<FilePath>,
    receipt: CommitReceipt,
}

impl Planner<'_> {
    fn plan_step(
        &mut self,
        step: Step,
        look: Option<FileStat>,
        staged: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        match step {
            Step::Append { file, at, lines } => self.append(file, at, lines, look),
            Step::Replace { file, expect, bytes, mode } => {
                self.replace(file, expect, bytes, mode, staged)
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Remove { path } => self.remove(path),
        }
    }

    fn push(&mut self, op: LogOp, hint: ApplyHint) {
        self.ops.push(op);
        self.hints.push(hint);
    }

    fn append(
        &mut self,
        file: FilePath,
        at: AppendAt,
        lines: Vec<u8>,
        look: Option<FileStat>,
    ) -> Result<(), StoreError> {
        let planned =
            self.ends.get(&file).or_else(|| self.core.pending_state.ends.get(&file)).copied();
        let tail = match planned {
            Some(end) => AppendPoint { len: end, end, newline: false },
            None => self.repair_tail(&file, look)?,
        };
        check_append_offset(&file, at, tail.end, tail.len)?;
        let mut bytes = lines;
        if tail.newline {
            bytes.insert(0, b'\n');
        }
        self.receipt.appended.push(tail.end + u64::from(tail.newline));
        self.ends.insert(file.clone(), tail.end + bytes.len() as u64);
        // A buffered commit is acknowledged with its offsets before it is applied, when only the log has them.
        let exact = at != AppendAt::End && self.durability == Durability::Synced;
        let hint = if exact { ApplyHint::Exact } else { ApplyHint::Nothing };
        self.push(LogOp::Append { file, at: tail.end, bytes }, hint);
        Ok(())
    }

    /// Finds the end of a file, and plans to cut off an incomplete last record.
    fn repair_tail(
        &mut self,
        path: &FilePath,
        look: Option<FileStat>,
    ) -> Result<AppendPoint, StoreError> {
        let (file, len) = match self.core.file_end(path, look)? {
            FileEnd::Absent => {
                self.check_new(path)?;
                self.names.push(path.clone());
                return Ok(AppendPoint { len: 0, end: 0, newline: false });
            }
            FileEnd::Known(len) => return Ok(AppendPoint { len, end: len, newline: false }),
            FileEnd::Open(file, len) => (file, len),
        };
        let tail = FileTail::examine(&*file).map_err(StoreError::io("read", path))?;
        if tail.good_end < len {
            let aside = quarantine_range(&*self.core.disk, path, &*file, tail.good_end, len)?;
            let count = len - tail.good_end;
            self.receipt.findings.push(Finding {
                file: path.clone(),
                line: None,
                offset: Some(tail.good_end),
                code: FindingCode::SetAside,
                message: format!("{count} bytes of an incomplete record moved to {}", aside.place),
            });
            let cut = LogOp::Cut { file: path.clone(), at: tail.good_end, was: aside.was };
            self.push(cut, ApplyHint::Kept { copy: aside.place });
        }
        let clean = tail.good_end == len && !tail.newline_missing;
        self.core.track(path, file, clean)?;
        Ok(AppendPoint { len, end: tail.good_end, newline: tail.newline_missing })
    }

    fn replace(
        &mut self,
        file: FilePath,
        expect: Precondition,
        bytes: Vec<u8>,
        mode: FileMode,
        beside: Option<StagedFile>,
    ) -> Result<(), StoreError> {
        let CurrentFile { content: old, mode: old_mode, id } = self.read_current(&file)?;
        if old.is_none() {
            self.check_new(&file)?;
        }
        let was = old.as_deref().map(Fingerprint::of);
        self.core.sync_before_replace(&file, was)?;
        match expect {
            Precondition::Absent if was.is_some() => {
                return Err(StoreError::Taken { path: file });
            }
            Precondition::Content(known) if was != Some(known) => {
                return Err(StoreError::Changed { file });
            }
            _ => {}
        }
        let private = mode == FileMode::OwnerOnly;
        let mode = replacement_permissions(private, was.map(|_| old_mode));
        let expected = (expect != Precondition::Anything).then_some(id);
        // If the permissions have changed since it was staged, the content goes through the log instead.
        let beside = beside.filter(|staged| staged.mode == mode);
        let (temp, file_open, new, written) = match &beside {
            Some(staged) => (staged.path.clone(), None, NewContent::Staged(staged.content), Ok(())),
            None => {
                let temp = self.core.temp_name()?;
                let disk = &self.core.disk;
                let made = disk.create(&temp, mode).map_err(StoreError::io("create", &temp))?;
                let written = append_full(&*made, &bytes);
                let open = self.core.may_stay_open().then_some(made);
                (temp, open, NewContent::Bytes(bytes), written)
            }
        };
        let failed = StoreError::io("write", &temp);
        let staged = StagedReplacement {
            temp,
            file: file_open,
            staged_file: beside,
            old,
            old_mode,
            expected,
            last: false,
        };
        self.names.push(file.clone());
        self.push(LogOp::Replace { file, was, private, new }, ApplyHint::Staged(staged));
        written.map_err(failed)
    }

    /// Reads a file that is to be replaced. An unreadable file is never replaced.
    fn read_current(&self, path: &FilePath) -> Result<CurrentFile, StoreError> {
        let disk = &self.core.disk;
        let Some(stat) = disk.stat(path).map_err(StoreError::io("access", path))? else {
            return Ok(CurrentFile { content: None, mode: 0, id: None });
        };
        if stat.kind != FileKind::File {
            return Err(bad_step(path, "only a file can be replaced"));
        }
        let file = disk.open(path, FileAccess::Read).map_err(StoreError::io("open", path))?;
        let bytes = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(CurrentFile { content: Some(bytes), mode: stat.mode, id: Some(stat.id) })
    }

    fn rename(&mut self, from: FilePath, to: FilePath) -> Result<(), StoreError> {
        if !self.exists(&from)? {
            return Err(StoreError::Missing { path: from });
        }
        if self.exists(&to)? {
            return Err(StoreError::Taken { path: to });
        }
        self.check_new(&to)?;
        self.names.extend([from.clone(), to.clone()]);
        self.push(LogOp::Rename { from, to }, ApplyHint::Nothing);
        Ok(())
    }

    fn remove(&mut self, path: FilePath) -> Result<(), StoreError> {
        if !self.exists(&path)? {
            return Err(StoreError::Missing { path });
        }
        let stat = self.core.disk.stat(&path).map_err(StoreError::io("access", &path))?;
        let changed = self.ops.iter().flat_map(LogOp::paths).any(|name| name.is_within(&path));
        let held = match stat {
            Some(stat) if !changed => {
                self.core.sync_before_remove(&path, stat)?;
                RemovedContent::Files(digest_contents(&*self.core.disk, &path, stat)?)
            }
            _ => RemovedContent::Unknown,
        };
        let temp = self.core.temp_name()?;
        self.names.push(path.clone());
        self.push(LogOp::Remove { path, held }, ApplyHint::Aside { temp });
        Ok(())
    }

    /// Refuses a new name that has, or will have, a file above it or anything below it. The log must never hold what
    /// cannot be done: every replay would fail.
    fn check_new(&self, path: &FilePath) -> Result<(), StoreError> {
        let clash = || bad_step(path, "a directory and a file cannot have the same name");
        for op in &self.ops {
            let (LogOp::Append { file, .. } | LogOp::Replace { file, .. }) = op else { continue };
            if file != path && (file.is_within(path) || path.is_within(file)) {
                return Err(clash());
            }
        }
        for above in path.ancestors() {
            match self.core.disk.stat(&above).map_err(StoreError::io("access", &above))? {
                None => {}
                Some(stat) if stat.kind == FileKind::Dir => break,
                Some(_) => return Err(clash()),
            }
        }
        Ok(())
    }

    /// Returns whether a name exists, or will exist after the steps planned so far.
    fn exists(&self, path: &FilePath) -> Result<bool, StoreError> {
        let made = |op: &LogOp| match op {
            LogOp::Append { file, .. } | LogOp::Replace { file, .. } => file.is_within(path),
            LogOp::Rename { to, .. } => to.is_within(path),
            LogOp::Cut { .. } | LogOp::Remove { .. } => false,
        };
        let found = self.core.disk.stat(path).map_err(StoreError::io("access", path))?;
        Ok(found.is_some() || self.ops.iter().any(made))
    }
}

/// A file before it is replaced.
struct CurrentFile {
    content: Option<Vec<u8>>,
    mode: u32,
    id: Option<FileId>,
}

/// The end of a file before an append.
struct AppendPoint {
    len: u64,
    /// Where the valid content ends.
    end: u64,
    /// Whether the valid content lacks its last newline.
    newline: bool,
}

/// Returns the permissions of a new content: those of the old one, unless it is private.
pub(super) fn replacement_permissions(private: bool, old: Option<u32>) -> FilePermissions {
    match old {
        _ if private => FilePermissions::OwnerOnly,
        Some(bits) => FilePermissions::Exact(bits),
        None => FilePermissions::Default,
    }
}
