//! Deferred apply: each thread applies its own plain appends, in parallel, after the shared flush.
//!
//! The core hands such a batch off as an [`ApplyTask`]. Until the task ends, the core neither touches its files nor
//! relies on what it writes. A failed task returns to the core, which undoes the batch.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::append::append_to;
use super::undo::{UndoStep, log_aborts, undo_steps};
use super::{GroupCommit, PendingBatch, ReceiptResult, StoreCore};
use crate::disk::{Disk, DiskFile, FileId};
use crate::store::StoreError;
use crate::store::batch::{ApplyHint, PlannedBatch};
use crate::store::changes::ChangeGuard;
use crate::store::log::{LogEpoch, WriteAheadLog};
use crate::store::mutex::lock_unpoisoned;
use crate::store::record::{LogOp, Record};
use everturn_json::names::FilePath;

/// The tasks that were handed off and still run, and those that failed.
#[derive(Default)]
pub(in crate::store) struct ApplyTasks {
    state: Mutex<ApplyTaskState>,
    idle: Condvar,
}

#[derive(Default)]
struct ApplyTaskState {
    running: usize,
    failed: Vec<FailedApply>,
}

/// A task that failed, with part of its work or none of it done.
struct FailedApply {
    paths: Vec<FilePath>,
    undo: Vec<UndoStep>,
    error: StoreError,
    /// Whether it is unknown what was done.
    broken: bool,
    index: u64,
    outcome: Arc<Mutex<Option<ReceiptResult>>>,
    /// While these are held, the core sees that the files are in use.
    _files: Vec<TaskFile>,
    /// Until the batch is undone, the files count as changing.
    change: Option<ChangeGuard>,
}

type TaskFile = (Arc<dyn DiskFile>, FileId);

/// A batch of appends that is safe in the log, with the open files it appends to.
pub(in crate::store) struct ApplyTask {
    disk: Arc<dyn Disk>,
    tasks: Arc<ApplyTasks>,
    planned: PlannedBatch,
    index: u64,
    log: Option<LogEpoch>,
    change: Option<ChangeGuard>,
    /// The file of each operation; empty once the task is over.
    files: Vec<TaskFile>,
}

impl ApplyTask {
    /// Applies the appends; if that fails, the core undoes them.
    pub(in crate::store) fn run(mut self, core: &Mutex<StoreCore>) -> ReceiptResult {
        let mut undo = Vec::new();
        self.change = self.log.and_then(|log| self.planned.begin_change(log));
        match self.append_all(&mut undo) {
            Ok(()) => {
                self.change = None;
                // The files must be free before the task ends, because threads that wait for it check that.
                self.files.clear();
                Ok(std::mem::take(&mut self.planned.receipt))
            }
            Err(error) => {
                let verdict = self.fail(undo, error, false);
                drop(self);
                let settled = await_apply_tasks(&mut lock_unpoisoned(core));
                let verdict = lock_unpoisoned(&verdict).take();
                verdict.unwrap_or_else(|| Err(settled.err().unwrap_or(StoreError::Overtaken)))
            }
        }
    }

    fn append_all(&self, undo: &mut Vec<UndoStep>) -> Result<(), StoreError> {
        let hints = self.planned.hints.iter();
        for ((op, hint), (file, id)) in self.planned.ops.iter().zip(hints).zip(&self.files) {
            if let LogOp::Append { file: path, at, bytes } = op {
                let exact = matches!(hint, ApplyHint::Exact).then_some(*at);
                append_to(&*self.disk, (path, &**file, *id), bytes, exact, undo)?;
            }
        }
        Ok(())
    }

    fn fail(
        &mut self,
        undo: Vec<UndoStep>,
        error: StoreError,
        broken: bool,
    ) -> Arc<Mutex<Option<ReceiptResult>>> {
        let verdict = Arc::default();
        let failed = FailedApply {
            paths: self.planned.ops.iter().flat_map(LogOp::paths).cloned().collect(),
            undo,
            error,
            broken,
            index: self.index,
            outcome: Arc::clone(&verdict),
            _files: std::mem::take(&mut self.files),
            change: self.change.take(),
        };
        lock_unpoisoned(&self.tasks.state).failed.push(failed);
        verdict
    }
}

impl Drop for ApplyTask {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            // The thread that ran the task panicked or dropped it; the log holds the batch.
            let reason = "the commit was interrupted by a panic";
            self.fail(Vec::new(), StoreError::BadStep { path: FilePath::root(), reason }, true);
        }
        let mut state = lock_unpoisoned(&self.tasks.state);
        state.running -= 1;
        if state.running == 0 {
            self.tasks.idle.notify_all();
        }
    }
}

/// Returns whether a batch has only appends to open files with clean ends, and a thread waits for it.
pub(in crate::store) fn is_plain_append(core: &StoreCore, pending: &PendingBatch) -> bool {
    let ops = &pending.planned.ops;
    let known = |op: &LogOp| match op {
        LogOp::Append { file, .. } => core.files.get(file).is_some_and(|tracked| tracked.clean),
        _ => false,
    };
    pending.ticket.is_some() && !ops.is_empty() && ops.iter().all(known)
}

/// Hands plain batches, of which no two touch the same file, to the threads that wait for them.
pub(in crate::store) fn hand_off(
    core: &mut StoreCore,
    plain: Vec<PendingBatch>,
    round: &mut GroupCommit<'_>,
) {
    for PendingBatch { planned, index, ticket } in plain {
        let files = open_task_files(core, &planned);
        lock_unpoisoned(&core.apply_tasks.state).running += 1;
        let (disk, tasks) = (Arc::clone(&core.disk), Arc::clone(&core.apply_tasks));
        let (log, change) = (core.log.as_ref().map(WriteAheadLog::present), None);
        let task = ApplyTask { disk, tasks, planned, index, log, change, files };
        round.hand_off(ticket, task);
    }
}

/// Returns the files of a plain batch; from here on they are tracked as if the batch were applied.
fn open_task_files(core: &mut StoreCore, planned: &PlannedBatch) -> Vec<TaskFile> {
    let mut files = Vec::with_capacity(planned.ops.len());
    for op in &planned.ops {
        if let LogOp::Append { file, at, bytes } = op
            && let Some(tracked) = core.files.get_mut(file)
        {
            (tracked.len, tracked.dirty) = (at + bytes.len() as u64, true);
            files.push((Arc::clone(&tracked.file), tracked.id));
        }
    }
    files
}

/// Waits until all tasks are over, and undoes those that failed.
///
/// They must have been handed to their threads: a task still held by this thread would make it wait forever.
pub(in crate::store) fn await_apply_tasks(core: &mut StoreCore) -> Result<(), StoreError> {
    let failed = {
        let mut state = lock_unpoisoned(&core.apply_tasks.state);
        while state.running > 0 {
            state = core.apply_tasks.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.failed)
    };
    let mut aborts = Vec::new();
    let mut refused = Vec::new();
    for failed in failed {
        let FailedApply { paths, undo, error, broken, index, outcome: verdict, change, .. } =
            failed;
        for path in &paths {
            if let Some(tracked) = core.files.get_mut(path) {
                // It may end anywhere; the next append checks.
                tracked.clean = false;
            }
        }
        let undone = if broken { Err(error.clone()) } else { core.check_usable() };
        match undone.and_then(|()| undo_steps(core, undo)) {
            Ok(()) => {
                aborts.push(Record::Abort(index));
                refused.push((verdict, error));
            }
            Err(cause) => {
                *lock_unpoisoned(&verdict) = Some(Err(core.poison(cause)));
                if let Some(change) = change {
                    change.abandon();
                }
            }
        }
    }
    let noted = log_aborts(core, &aborts);
    for (verdict, error) in refused {
        *lock_unpoisoned(&verdict) = Some(Err(noted.clone().err().unwrap_or(error)));
    }
    noted.and_then(|()| core.check_usable())
}
