//! [`ValidatedBatch`]: the checks of a batch that need no file access.

use std::sync::Arc;

use super::changes::ChangeMarks;
use super::locks::may_write;
use super::staging::StagedFile;
use super::{AppendAt, CommitReceipt, Step, StoreError};
use crate::disk::{Disk, FileStat};
use everturn_json::names::{FilePath, PathSet};

/// The maximum size of one batch in bytes.
const MAX_BATCH_BYTES: usize = 1 << 30;

/// Returns the error for a step that cannot be planned.
pub(super) fn bad_step(path: &FilePath, reason: &'static str) -> StoreError {
    StoreError::BadStep { path: path.clone(), reason }
}

/// A batch in which each file is either appended to or replaced.
#[derive(Default)]
pub(super) struct ValidatedBatch {
    /// Where readers are notified while the batch is applied.
    pub(super) marks: Option<Arc<ChangeMarks>>,
    pub(super) steps: Vec<Step>,
    /// For each step, the recent metadata of its file, if it was read.
    pub(super) stats: Vec<Option<FileStat>>,
    /// For each step, its new content if that is staged.
    pub(super) staged: Vec<Option<StagedFile>>,
    /// The number of appends in the batch.
    appends: usize,
    /// Appends that were joined with a replacement: their index among the appends, and their offset.
    pub(super) joined: Vec<(usize, u64)>,
}

/// Adds the offsets of appends that were joined with a replacement to the offsets of the others.
pub(super) fn add_joined_appends(receipt: &mut CommitReceipt, joined: &[(usize, u64)]) {
    for (index, at) in joined {
        receipt.appended.insert((*index).min(receipt.appended.len()), *at);
    }
}

impl ValidatedBatch {
    /// Reads the metadata of the files that are appended to. Threads can do this before they queue for planning.
    pub(super) fn stat_appended_files(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        let look = |step: &Step| match step {
            Step::Append { file, .. } => disk.stat(file).map_err(StoreError::io("access", file)),
            _ => Ok(None),
        };
        self.stats = self.steps.iter().map(look).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn add(&mut self, step: Step) -> Result<(), StoreError> {
        match &step {
            Step::Append { file, at, lines } => {
                let index = self.appends;
                self.appends += 1;
                let replaced = self.steps.iter_mut().find_map(|earlier| match earlier {
                    Step::Replace { file: same, bytes, .. } if same == file => Some(bytes),
                    _ => None,
                });
                if let Some(bytes) = replaced {
                    let end = bytes.len() as u64;
                    check_append_offset(file, *at, end, end)?;
                    if bytes.last().is_some_and(|last| *last != b'\n') {
                        let reason =
                            "lines cannot be appended to a replacement without a final newline";
                        return Err(bad_step(file, reason));
                    }
                    bytes.extend_from_slice(lines);
                    self.joined.push((index, end));
                    return Ok(());
                }
            }
            Step::Replace { file, .. } => {
                let same = |other: &Step| other.paths().any(|path| path == file);
                if self.steps.iter().any(same) {
                    let reason = "a file cannot be replaced after another change in one batch";
                    return Err(bad_step(file, reason));
                }
            }
            Step::Rename { .. } | Step::Remove { .. } => {}
        }
        self.steps.push(step);
        Ok(())
    }
}

/// A batch that has passed every check that needs no file access. Every implementation of a
/// [`Writer`](super::Writer) starts with it.
///
/// Each file of the batch is either appended to or replaced: appends to a replaced file are part of its replacement.
pub struct CheckedBatch(ValidatedBatch);

impl CheckedBatch {
    /// Checks the steps of a writer with these scopes.
    pub fn new(scopes: &[FilePath], steps: Vec<Step>) -> Result<CheckedBatch, StoreError> {
        let outside = |path: &&FilePath| !may_write(scopes, path);
        if let Some(path) = steps.iter().flat_map(Step::paths).find(outside) {
            return Err(StoreError::OutsideScope { path: path.clone() });
        }
        Ok(CheckedBatch(validate_batch(steps)?))
    }

    /// The steps to apply, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0.steps
    }

    /// Adds the offsets of appends that became part of a replacement to the offsets of the others.
    pub fn complete(&self, receipt: &mut CommitReceipt) {
        add_joined_appends(receipt, &self.0.joined);
    }
}

/// Checks what can be checked without disk access, and joins appends to a file with a preceding replacement of the same
/// file.
pub(super) fn validate_batch(steps: Vec<Step>) -> Result<ValidatedBatch, StoreError> {
    let mut validated = ValidatedBatch::default();
    let mut ended = PathSet::default();
    let mut size = 0;
    for step in steps {
        for path in step.paths() {
            if path.is_root() {
                return Err(bad_step(path, "the root itself cannot be changed"));
            }
            if ended.overlaps(path) {
                return Err(bad_step(
                    path,
                    "a name that was renamed or removed cannot be used again in one batch",
                ));
            }
        }
        match &step {
            Step::Append { file, lines, .. } => {
                size += lines.len();
                if lines.last() != Some(&b'\n') {
                    return Err(bad_step(file, "an append must end with a newline"));
                }
            }
            Step::Replace { bytes, .. } => size += bytes.len(),
            Step::Rename { from, to } if from.is_within(to) || to.is_within(from) => {
                return Err(bad_step(to, "a directory cannot be moved into itself"));
            }
            Step::Rename { from, to } => ended.extend([from.clone(), to.clone()]),
            Step::Remove { path } => ended.extend([path.clone()]),
        }
        if size > MAX_BATCH_BYTES {
            return Err(bad_step(&FilePath::root(), "a batch of more than 1 GiB is too large"));
        }
        validated.add(step)?;
    }
    Ok(validated)
}

/// Checks where an append was meant to go: at the end of the complete lines, or at the end of the file.
pub fn check_append_offset(
    file: &FilePath,
    at: AppendAt,
    end: u64,
    len: u64,
) -> Result<(), StoreError> {
    match at {
        AppendAt::Offset(expected) if expected != end && expected != len => {
            Err(StoreError::Moved { file: file.clone(), expected, found: len })
        }
        _ => Ok(()),
    }
}
