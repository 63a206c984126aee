//! Stages of a batch after validation: a [`PlannedBatch`] is ready for the log, and [`PendingState`] sums up the
//! batches that are in the log and not applied yet.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::changes::{ChangeGuard, ChangeMarks};
use super::log::LogEpoch;
use super::record::LogOp;
use super::staging::StagedFile;
use super::{CommitReceipt, Durability, Step};
use crate::disk::{DiskFile, FileId};
use everturn_json::names::{FilePath, PathSet};

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
    pub(super) ends: BTreeMap<FilePath, u64>,
    /// The names that it creates, ends or gives to another file: all except those of files that only grow.
    pub(super) names: Vec<FilePath>,
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

    /// Marks the staged files as needed: from here on a record may count that refers to them.
    pub(super) fn keep_staged(&mut self) {
        for hint in &mut self.hints {
            if let ApplyHint::Staged(staged) = hint
                && let Some(beside) = &mut staged.staged_file
            {
                beside.needed = true;
            }
        }
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
    pub(super) ends: HashMap<FilePath, u64>,
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
