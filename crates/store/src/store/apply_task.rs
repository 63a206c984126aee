//! Plain appends are carried out by those who have committed them, side by side, after the shared flush.
//!
//! The core gives such a batch out as an errand, and does not touch its files, nor count on what it writes,
//! before the errand is over. One that fails comes back to the core, which takes the batch back.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::StoreError;
use super::apply::{UndoStep, append_to};
use super::changes::ChangeGuard;
use super::group_commit::lock_unpoisoned;
use super::log::{LogEpoch, WriteAheadLog};
use super::plan::{ApplyHint, PlannedBatch};
use super::record::{LogOp, Record};
use super::store_core::{GroupCommit, PendingBatch, ReceiptResult, StoreCore};
use crate::disk::{Disk, DiskFile, FileId};
use everturn_json::names::FilePath;

/// What was given out and is not over.
#[derive(Default)]
pub(super) struct ApplyTasks {
    state: Mutex<ApplyTaskState>,
    idle: Condvar,
}

#[derive(Default)]
struct ApplyTaskState {
    running: usize,
    failed: Vec<FailedApply>,
}

/// An errand that came back undone, or half done.
struct FailedApply {
    paths: Vec<FilePath>,
    undo: Vec<UndoStep>,
    error: StoreError,
    /// Whether nobody knows what was done.
    broken: bool,
    index: u64,
    outcome: Arc<Mutex<Option<ReceiptResult>>>,
    /// As long as they are here, the core sees that the files are in use.
    _files: Vec<TaskFile>,
    /// Until it is undone, the files are changing.
    change: Option<ChangeGuard>,
}

type TaskFile = (Arc<dyn DiskFile>, FileId);

/// A batch of appends that is safe in the log, with the open files that it goes to.
pub(super) struct ApplyTask {
    disk: Arc<dyn Disk>,
    tasks: Arc<ApplyTasks>,
    planned: PlannedBatch,
    index: u64,
    log: Option<LogEpoch>,
    change: Option<ChangeGuard>,
    /// For each operation, the file; none once the errand is over.
    files: Vec<TaskFile>,
}

impl ApplyTask {
    /// Carries the appends out; if that fails, the core takes them back.
    pub(super) fn run(mut self, core: &Mutex<StoreCore>) -> ReceiptResult {
        let mut undo = Vec::new();
        self.change = self.log.and_then(|log| self.planned.begin_change(log));
        match self.append_all(&mut undo) {
            Ok(()) => {
                self.change = None;
                // The files are free before the errand is over, and whoever waits for it looks at them.
                self.files.clear();
                Ok(std::mem::take(&mut self.planned.receipt))
            }
            Err(error) => {
                let verdict = self.fail(undo, error, false);
                drop(self);
                let settled = lock_unpoisoned(core).await_apply_tasks();
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
            // Whoever had it did not come to an end with it; the log has the batch.
            let reason = "the commit was broken off by a fault in the program";
            self.fail(Vec::new(), StoreError::BadStep { path: FilePath::root(), reason }, true);
        }
        let mut state = lock_unpoisoned(&self.tasks.state);
        state.running -= 1;
        if state.running == 0 {
            self.tasks.idle.notify_all();
        }
    }
}

impl StoreCore {
    /// Whether a batch consists of appends to files that are open and end well, and somebody waits for it.
    pub(super) fn is_plain_append(&self, pending: &PendingBatch) -> bool {
        let ops = &pending.planned.ops;
        let known = |op: &LogOp| match op {
            LogOp::Append { file, .. } => self.files.get(file).is_some_and(|tracked| tracked.clean),
            _ => false,
        };
        pending.ticket.is_some() && !ops.is_empty() && ops.iter().all(known)
    }

    /// Gives plain batches, of which no two touch the same file, to those who wait for them.
    pub(super) fn hand_off(&mut self, plain: Vec<PendingBatch>, round: &mut GroupCommit<'_>) {
        for PendingBatch { planned, index, ticket } in plain {
            let files = self.open_task_files(&planned);
            lock_unpoisoned(&self.apply_tasks.state).running += 1;
            let (disk, tasks) = (Arc::clone(&self.disk), Arc::clone(&self.apply_tasks));
            let (log, change) = (self.log.as_ref().map(WriteAheadLog::present), None);
            let task = ApplyTask { disk, tasks, planned, index, log, change, files };
            round.hand_off(ticket, task);
        }
    }

    /// The files of a plain batch, which from here on are as they will be.
    fn open_task_files(&mut self, planned: &PlannedBatch) -> Vec<TaskFile> {
        let mut files = Vec::with_capacity(planned.ops.len());
        for op in &planned.ops {
            if let LogOp::Append { file, at, bytes } = op
                && let Some(tracked) = self.files.get_mut(file)
            {
                (tracked.len, tracked.dirty) = (at + bytes.len() as u64, true);
                files.push((Arc::clone(&tracked.file), tracked.id));
            }
        }
        files
    }

    /// Waits until all errands are over, and takes back those that have failed.
    ///
    /// They must have been handed to their threads: what this thread still has would be waited for in vain.
    pub(super) fn await_apply_tasks(&mut self) -> Result<(), StoreError> {
        let failed = {
            let mut state = lock_unpoisoned(&self.apply_tasks.state);
            while state.running > 0 {
                state = self.apply_tasks.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::take(&mut state.failed)
        };
        let mut aborts = Vec::new();
        let mut refused = Vec::new();
        for failed in failed {
            let FailedApply { paths, undo, error, broken, index, outcome: verdict, change, .. } =
                failed;
            for path in &paths {
                if let Some(tracked) = self.files.get_mut(path) {
                    // It may end anywhere; the next append looks.
                    tracked.clean = false;
                }
            }
            let undone = if broken { Err(error.clone()) } else { self.check_usable() };
            match undone.and_then(|()| self.undo(undo)) {
                Ok(()) => {
                    aborts.push(Record::Abort(index));
                    refused.push((verdict, error));
                }
                Err(cause) => {
                    *lock_unpoisoned(&verdict) = Some(Err(self.poison(cause)));
                    if let Some(change) = change {
                        change.abandon();
                    }
                }
            }
        }
        let noted = self.log_aborts(&aborts);
        for (verdict, error) in refused {
            *lock_unpoisoned(&verdict) = Some(Err(noted.clone().err().unwrap_or(error)));
        }
        noted.and_then(|()| self.check_usable())
    }
}
