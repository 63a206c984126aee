//! [`StoreCore`]: the only write path: plan, log, flush, apply.
//!
//! `plan` turns steps into log operations, `apply` carries them out with the changes of `file_changes` and `undo`,
//! `apply_task` hands appends to the waiting threads, `tracked_files` has the open files, `root_logs` the logs of the
//! root, `flush_all` the end of the last writer, `reserve` the space for a full disk.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::batch::{ApplyHint, PendingState, PlannedBatch};
use super::changes::Courtesy;
use super::disk_ops::ensure_dir;
use super::log::WriteAheadLog;
use super::log_scan::RECORDS;
use super::options::Options;
use super::own_paths::known_own_path;
use super::path_tracker::PathTracker;
use super::record::{LogOp, Record};
use super::recovery::Blocked;
use super::staging::{KeptFiles, StagingArea};
use super::sync_existing::KnownContents;
use super::validate::ValidatedBatch;
use super::{CommitReceipt, Durability, Step, StoreError};
use crate::disk::{Disk, Flush};
use everturn_json::names::{FilePath, PathSet};

mod append;
mod apply;
mod apply_task;
mod file_changes;
mod flush_all;
mod plan;
mod reserve;
mod root_logs;
mod tracked_files;
mod undo;
mod wipe;

use apply::apply_pending;
use apply_task::{ApplyTask, ApplyTasks, await_apply_tasks};
use flush_all::{flush_all, leave_stamps, stamp_known};
use plan::plan_batch;
pub(super) use reserve::{may_use_reserve, release_reserve, retry_with_reserve, uses_trash};
use root_logs::ensure_log;
pub(super) use root_logs::{await_predecessors, recover_dead_logs};
use tracked_files::TrackedFile;
pub(super) use wipe::wipe_logs;

/// Up to this many changed files, a checkpoint is cheap, and better than a longer log.
const FEW_FILES: usize = 16;

/// The number of large batches that a log should have space for.
const LARGE_BATCHES: u64 = 4;

/// The maximum number of batches in the log that are not applied yet.
const MAX_PENDING: usize = 256;

/// The maximum size of the records written in one call.
const MAX_GROUP_BYTES: u64 = 4 << 20;

/// The size of a record in the log besides its operations, with space for control records before it.
const RECORD_OVERHEAD: u64 = 256;

/// A batch to commit, with its durability.
pub(super) type CommitRequest = (ValidatedBatch, Durability);

pub(super) type ReceiptResult = Result<CommitReceipt, StoreError>;

/// A batch that is in the log and not yet applied.
pub(super) struct PendingBatch {
    pub(super) planned: PlannedBatch,
    /// Its index among the records of this epoch.
    pub(super) index: u64,
    /// The waiting request; `None` if an earlier call acknowledged the batch as buffered.
    pub(super) ticket: Option<usize>,
}

/// The state of one writing process.
pub(super) struct StoreCore {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) options: Options,
    pub(super) log: Option<WriteAheadLog>,
    pub(super) files: HashMap<FilePath, TrackedFile>,
    /// Directories in which names have changed since the last checkpoint.
    pub(super) dirs: BTreeSet<FilePath>,
    /// Directories whose own names are among `dirs`, or were flushed since this process began.
    ///
    /// The process that created a directory above our scopes may not have flushed its name, and may never do so.
    pub(super) synced_dirs: BTreeSet<FilePath>,
    path_tracker: PathTracker,
    pub(super) known_contents: KnownContents,
    pub(super) pending_state: PendingState,
    pub(super) pending: Vec<PendingBatch>,
    /// The paths of batches that were undone since the last one was planned.
    pub(super) undone_paths: PathSet,
    /// Records that must precede the next batch.
    pending_control_records: Vec<Record>,
    /// The number of new contents that are open before they get their names.
    pub(super) staged: usize,
    pub(super) apply_tasks: Arc<ApplyTasks>,
    pub(super) courtesy: Courtesy,
    temp_count: u64,
    /// The number of contents staged beside the log so far.
    pub(super) staged_count: Arc<AtomicU64>,
    /// Staged files that still exist although they are linked into place.
    pub(super) kept_files: KeptFiles,
    /// The number of writers that hold scopes of this store.
    pub(super) writers: usize,
    pub(super) poisoned: Option<Arc<StoreError>>,
    /// Names whose recovery could not be completed at the last attempt.
    pub(super) blocked: Vec<Blocked>,
    /// Blocked names that were reported already.
    pub(super) reported: BTreeSet<FilePath>,
}

/// The result for the thread that waits for a batch.
pub(super) enum CommitResult {
    Done(ReceiptResult),
    /// The batch is safe in the log; the waiting thread applies it.
    Apply(Box<ApplyTask>),
}

/// Receives the result of each batch, by its index in the group.
pub(super) type Responder<'a> = &'a mut dyn FnMut(usize, CommitResult);

/// Batches that are logged together.
pub(super) struct GroupCommit<'a> {
    planned: Vec<(usize, PlannedBatch)>,
    bytes: u64,
    /// Whether batches may be handed off as tasks: nothing after this waits for them.
    pub(super) last: bool,
    respond: Responder<'a>,
}

impl<'a> GroupCommit<'a> {
    fn new(tell: Responder<'a>) -> GroupCommit<'a> {
        GroupCommit { planned: Vec::new(), bytes: 0, last: false, respond: tell }
    }

    pub(super) fn complete(&mut self, ticket: Option<usize>, outcome: ReceiptResult) {
        if let Some(ticket) = ticket {
            (self.respond)(ticket, CommitResult::Done(outcome));
        }
    }

    pub(super) fn hand_off(&mut self, ticket: Option<usize>, task: ApplyTask) {
        if let Some(ticket) = ticket {
            (self.respond)(ticket, CommitResult::Apply(Box::new(task)));
        }
    }
}

fn record_size(planned: &PlannedBatch) -> u64 {
    RECORD_OVERHEAD + planned.ops.iter().map(LogOp::max_size).sum::<u64>()
}

impl StoreCore {
    pub(super) fn new(disk: Arc<dyn Disk>, mut options: Options) -> StoreCore {
        // A large batch opens twice as many, and the process needs some for itself.
        options.open_files = options.open_files.min(disk.max_open_files() / 4).max(1);
        StoreCore {
            disk,
            options,
            log: None,
            files: HashMap::new(),
            dirs: BTreeSet::new(),
            synced_dirs: BTreeSet::new(),
            path_tracker: PathTracker::default(),
            known_contents: KnownContents::default(),
            pending_state: PendingState::default(),
            pending: Vec::new(),
            undone_paths: PathSet::default(),
            pending_control_records: Vec::new(),
            staged: 0,
            apply_tasks: Arc::default(),
            courtesy: Courtesy::default(),
            temp_count: 0,
            staged_count: Arc::default(),
            kept_files: KeptFiles::default(),
            writers: 0,
            poisoned: None,
            blocked: Vec::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Commits several independent batches with one flush; each gets exactly one result.
    ///
    /// If the group is `shared` by several threads, the result may be an apply task, to be passed to its thread.
    pub(super) fn commit_group(
        &mut self,
        batches: Vec<CommitRequest>,
        shared: bool,
        tell: Responder<'_>,
    ) {
        let mut round = GroupCommit::new(tell);
        for (ticket, batch) in batches.into_iter().enumerate() {
            if let Err(error) = self.plan_request(ticket, batch, &mut round) {
                round.complete(Some(ticket), Err(error));
            }
        }
        round.last = shared && self.files.len() <= self.options.open_files;
        if let Err(error) = self.write_group(&mut round) {
            self.fail_group(&mut round, &error);
        }
        self.staged = 0;
        if self.files.len() > self.options.open_files && !round.last {
            // The commits are safe in any case; if this fails, the next commit returns the error.
            drop(self.checkpoint());
        }
    }

    fn plan_request(
        &mut self,
        ticket: usize,
        (validated, durability): CommitRequest,
        round: &mut GroupCommit<'_>,
    ) -> Result<(), StoreError> {
        self.check_usable()?;
        ensure_log(self)?;
        if validated.steps.iter().any(|step| !matches!(step, Step::Append { .. })) {
            await_apply_tasks(self)?;
        }
        if self.pending_state.conflicts_with(&validated.steps)
            || !self.path_tracker.find_conflicts(&validated.steps).is_empty()
        {
            self.complete_group(round)?;
            let clashes = self.path_tracker.find_conflicts(&validated.steps);
            if !clashes.is_empty() {
                self.barrier(clashes)?;
            }
        }
        self.undone_paths.clear();
        let planned = plan_batch(self, validated, durability)?;
        let size = record_size(&planned);
        let room = self.ensure_log_space(size, round).and_then(|()| {
            // To make space, batches were applied that this one may have been planned on.
            let overtaken = planned.overlaps(&self.undone_paths);
            if overtaken { Err(StoreError::Overtaken) } else { Ok(()) }
        });
        if let Err(error) = room {
            self.discard(planned.hints);
            return Err(error);
        }
        self.pending_state.record_batch(&planned);
        self.path_tracker.record_ops(&planned.ops);
        self.known_contents.record_ops(&planned.ops);
        round.bytes += size;
        round.planned.push((ticket, planned));
        Ok(())
    }

    pub(super) fn check_usable(&self) -> Result<(), StoreError> {
        match &self.poisoned {
            Some(cause) => Err(StoreError::Poisoned { cause: Arc::clone(cause) }),
            None => Ok(()),
        }
    }

    pub(super) fn poison(&mut self, cause: StoreError) -> StoreError {
        let cause = match cause {
            StoreError::Poisoned { cause } => cause,
            other => Arc::new(other),
        };
        let cause = self.poisoned.get_or_insert(cause);
        StoreError::Poisoned { cause: Arc::clone(cause) }
    }

    /// Ensures that a record of `size` bytes fits into the log.
    fn ensure_log_space(
        &mut self,
        size: u64,
        round: &mut GroupCommit<'_>,
    ) -> Result<(), StoreError> {
        if round.bytes > 0 && round.bytes + size > MAX_GROUP_BYTES {
            self.complete_group(round)?;
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        let header: u64 = self.pending_control_records.iter().map(Record::size_at_most).sum();
        let needed = round.bytes + header + size;
        // A few files are flushed quickly, unless each batch would fill the log again.
        let large = needed > log.capacity() / 4;
        if log.free_bytes() < needed && (large || self.files.len() > FEW_FILES) {
            let wanted = (log.capacity() * 2).max(needed * LARGE_BATCHES);
            // If the disk has no space for that, the log is recycled at its present size.
            drop(log.extend(wanted.min(self.options.max_log_size)));
        }
        if log.free_bytes() >= needed {
            return Ok(());
        }
        self.complete_group(round)?;
        self.checkpoint()?;
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        log.extend(RECORDS + size).map_err(StoreError::io("extend", &path))
    }

    /// Writes the planned batches of the group, and flushes and applies them if one of them requires it.
    fn write_group(&mut self, round: &mut GroupCommit<'_>) -> Result<(), StoreError> {
        if round.planned.is_empty() {
            return Ok(());
        }
        let flush = round.planned.iter().any(|(_, planned)| planned.is_urgent());
        self.log_group(round)?;
        if flush || self.pending.len() > MAX_PENDING {
            return self.complete_pending(round);
        }
        if let Some(log) = &mut self.log {
            log.mark_acknowledged();
        }
        for pending in &mut self.pending {
            let receipt = std::mem::take(&mut pending.planned.receipt);
            round.complete(pending.ticket.take(), Ok(receipt));
        }
        Ok(())
    }

    /// Writes, flushes and applies everything planned so far.
    fn complete_group(&mut self, round: &mut GroupCommit<'_>) -> Result<(), StoreError> {
        let done = self.log_group(round).and_then(|()| self.complete_pending(round));
        done.inspect_err(|error| self.fail_group(round, error))
    }

    fn fail_group(&mut self, round: &mut GroupCommit<'_>, error: &StoreError) {
        for (ticket, planned) in std::mem::take(&mut round.planned) {
            self.discard(planned.hints);
            round.complete(Some(ticket), Err(error.clone()));
        }
        for pending in std::mem::take(&mut self.pending) {
            round.complete(pending.ticket, Err(error.clone()));
        }
        self.pending_state.clear();
        self.known_contents.clear();
        round.bytes = 0;
    }

    /// Writes the records of the group to the log.
    fn log_group(&mut self, round: &mut GroupCommit<'_>) -> Result<(), StoreError> {
        if round.planned.is_empty() {
            return Ok(());
        }
        let mut records = std::mem::take(&mut self.pending_control_records);
        let first = records.len() as u64 + self.log.as_ref().map_or(0, |log| log.count);
        for (_, planned) in &mut round.planned {
            planned.keep_staged();
            records.push(Record::Batch(std::mem::take(&mut planned.ops)));
        }
        self.write_log(&records)?;
        let batches = records.into_iter().filter_map(|record| match record {
            Record::Batch(ops) => Some(ops),
            Record::Abort(_) | Record::Barrier(_) => None,
        });
        let planned = std::mem::take(&mut round.planned);
        for (index, ((ticket, mut planned), ops)) in (first..).zip(planned.into_iter().zip(batches))
        {
            planned.ops = ops;
            self.pending.push(PendingBatch { planned, index, ticket: Some(ticket) });
        }
        round.bytes = 0;
        Ok(())
    }

    pub(super) fn write_log(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Err(StoreError::ReadOnly) };
        let path = log.number.file();
        log.write(records).map_err(|error| self.poison(StoreError::io("write", &path)(error)))
    }

    pub(super) fn sync_log(&mut self, why: Flush) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        log.sync(why).map_err(|error| self.poison(StoreError::io("flush", &path)(error)))?;
        if self.pending_control_records.is_empty() {
            self.kept_files.remove_settled(&*self.disk);
        }
        Ok(())
    }

    /// Flushes the log and applies everything pending.
    fn complete_pending(&mut self, round: &mut GroupCommit<'_>) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.sync_log(Flush::Commit)?;
        apply_pending(self, round)
    }

    /// Applies buffered commits, so that they can be read.
    pub(super) fn apply_buffered(&mut self) -> Result<(), StoreError> {
        self.check_usable()?;
        self.complete_pending(&mut GroupCommit::new(&mut |_, _| {}))
    }

    /// Flushes everything the log says about these names, so that they can be used in another way.
    fn barrier(&mut self, names: Vec<FilePath>) -> Result<(), StoreError> {
        let within = |path: &FilePath| names.iter().any(|name| path.is_within(name));
        self.flush_files(within, Flush::BarrierFile, Flush::BarrierDir)?;
        self.path_tracker.apply_barrier(&names);
        self.kept_files.settle(&names);
        self.pending_control_records.push(Record::Barrier(names));
        Ok(())
    }

    /// Flushes all committed changes to the plain files, and recycles the log.
    pub(super) fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.apply_buffered()?;
        let Some(log) = &self.log else { return Ok(()) };
        if log.count == 0 {
            return Ok(());
        }
        self.flush_files(|_| true, Flush::CheckpointFile, Flush::CheckpointDir)?;
        self.recycle_log()
    }

    /// As [`StoreCore::checkpoint`], when the last writer is released: with few flushes, and with a list of what was
    /// flushed for the next process.
    fn last_checkpoint(&mut self) -> Result<(), StoreError> {
        self.apply_buffered()?;
        if self.log.as_ref().is_none_or(|log| log.count == 0) {
            return Ok(());
        }
        await_apply_tasks(self)?;
        let stamps = stamp_known(self);
        flush_all(self);
        self.checkpoint()?;
        leave_stamps(self, stamps);
        Ok(())
    }

    /// Starts a new epoch of the log. Everything that its records describe is flushed.
    fn recycle_log(&mut self) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        if let Err(error) = log.recycle() {
            return Err(self.poison(StoreError::io("recycle", &path)(error)));
        }
        log.shrink(self.options.max_log_size);
        self.path_tracker = PathTracker::default();
        self.known_contents.forget_dirs();
        self.pending_control_records.clear();
        self.files.clear();
        self.kept_files.remove_kept(&*self.disk);
        Ok(())
    }

    /// Makes everything in `scopes` safe without the log, so that another process may change it.
    pub(super) fn release(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        self.writers -= 1;
        if self.writers == 0 { self.last_checkpoint() } else { self.secure_scopes(scopes) }
    }

    /// Makes all commits in these scopes independent of the log, for the next writer of the scopes.
    pub(super) fn secure_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        self.apply_buffered()?;
        // Barriers of a batch that then failed are not in the log yet.
        if self.path_tracker.has_uses_within(scopes) || !self.pending_control_records.is_empty() {
            self.barrier(self.path_tracker.with_renames(scopes))?;
            let size: u64 = self.pending_control_records.iter().map(Record::size_at_most).sum();
            if self.log.as_ref().is_some_and(|log| log.free_bytes() < size) {
                return self.checkpoint();
            }
            let records = std::mem::take(&mut self.pending_control_records);
            self.write_log(&records)?;
            self.sync_log(Flush::Release)?;
        }
        Ok(())
    }

    /// Returns an unused name for a temporary file.
    pub(super) fn temp_name(&mut self) -> Result<FilePath, StoreError> {
        let dir = known_own_path(&["tmp"]);
        ensure_dir(&*self.disk, &dir, &mut Vec::new())?;
        let prefix = self.log.as_ref().map_or_else(String::new, |log| log.number.temp_prefix());
        loop {
            self.temp_count += 1;
            let path = known_own_path(&["tmp", &format!("{prefix}{}", self.temp_count)]);
            if self.disk.stat(&path).map_err(StoreError::io("access", &path))?.is_none() {
                return Ok(path);
            }
        }
    }

    /// Removes what was prepared for a batch that is not committed.
    pub(super) fn discard(&self, hints: Vec<ApplyHint>) {
        for hint in hints {
            if let ApplyHint::Staged(staged) = hint
                && staged.staged_file.is_none()
            {
                // It would also be removed when the log changes owners; this is only early cleanup.
                drop(self.disk.remove(&staged.temp));
            }
        }
    }

    /// Returns the staging area for the log of this process.
    pub(super) fn staging_area(&mut self) -> Result<StagingArea, StoreError> {
        self.check_usable()?;
        ensure_log(self)?;
        let log = self.log.as_ref().map(|log| log.number).ok_or(StoreError::ReadOnly)?;
        let (disk, count) = (Arc::clone(&self.disk), Arc::clone(&self.staged_count));
        let Options { stage_from, open_files, .. } = self.options;
        Ok(StagingArea::new(disk, log, count, stage_from, open_files))
    }

    /// Flushes a file whose content commits are about to rely on.
    pub(super) fn sync_existing(&mut self, path: &FilePath) -> Result<(), StoreError> {
        self.check_usable()?;
        self.known_contents.sync_existing(&*self.disk, path)
    }
}
