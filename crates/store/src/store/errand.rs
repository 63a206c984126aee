//! Plain appends are carried out by those who have committed them, side by side, after the shared flush.
//!
//! The core gives such a batch out as an errand, and does not touch its files, nor count on what it writes,
//! before the errand is over. One that fails comes back to the core, which takes the batch back.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::StoreError;
use super::apply::{Undo, append_to};
use super::changes::ChangeGuard;
use super::core::{Core, Outcome, Pending, Round};
use super::group::locked;
use super::log::{Log, LogEpoch};
use super::plan::{Aid, Planned};
use super::record::{Op, Record};
use crate::disk::{Disk, DiskFile, FileId};
use everturn_json::names::FilePath;

/// What was given out and is not over.
#[derive(Default)]
pub(super) struct Errands {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    failed: Vec<Failed>,
}

/// An errand that came back undone, or half done.
struct Failed {
    paths: Vec<FilePath>,
    undo: Vec<Undo>,
    error: StoreError,
    /// Whether nobody knows what was done.
    broken: bool,
    index: u64,
    verdict: Arc<Mutex<Option<Outcome>>>,
    /// As long as they are here, the core sees that the files are in use.
    _files: Vec<OpenFile>,
    /// Until it is undone, the files are changing.
    change: Option<ChangeGuard>,
}

type OpenFile = (Arc<dyn DiskFile>, FileId);

/// A batch of appends that is safe in the log, with the open files that it goes to.
pub(super) struct Errand {
    disk: Arc<dyn Disk>,
    errands: Arc<Errands>,
    planned: Planned,
    index: u64,
    log: Option<LogEpoch>,
    change: Option<ChangeGuard>,
    /// For each operation, the file; none once the errand is over.
    files: Vec<OpenFile>,
}

impl Errand {
    /// Carries the appends out; if that fails, the core takes them back.
    pub(super) fn run(mut self, core: &Mutex<Core>) -> Outcome {
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
                let settled = locked(core).await_errands();
                let verdict = locked(&verdict).take();
                verdict.unwrap_or_else(|| Err(settled.err().unwrap_or(StoreError::Overtaken)))
            }
        }
    }

    fn append_all(&self, undo: &mut Vec<Undo>) -> Result<(), StoreError> {
        let aids = self.planned.aids.iter();
        for ((op, aid), (file, id)) in self.planned.ops.iter().zip(aids).zip(&self.files) {
            if let Op::Append { file: path, at, bytes } = op {
                let exact = matches!(aid, Aid::Exact).then_some(*at);
                append_to(&*self.disk, (path, &**file, *id), bytes, exact, undo)?;
            }
        }
        Ok(())
    }

    fn fail(
        &mut self,
        undo: Vec<Undo>,
        error: StoreError,
        broken: bool,
    ) -> Arc<Mutex<Option<Outcome>>> {
        let verdict = Arc::default();
        let failed = Failed {
            paths: self.planned.ops.iter().flat_map(Op::paths).cloned().collect(),
            undo,
            error,
            broken,
            index: self.index,
            verdict: Arc::clone(&verdict),
            _files: std::mem::take(&mut self.files),
            change: self.change.take(),
        };
        locked(&self.errands.state).failed.push(failed);
        verdict
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            // Whoever had it did not come to an end with it; the log has the batch.
            let reason = "the commit was broken off by a fault in the program";
            self.fail(Vec::new(), StoreError::BadStep { path: FilePath::root(), reason }, true);
        }
        let mut state = locked(&self.errands.state);
        state.running -= 1;
        if state.running == 0 {
            self.errands.over.notify_all();
        }
    }
}

impl Core {
    /// Whether a batch consists of appends to files that are open and end well, and somebody waits for it.
    pub(super) fn is_plain(&self, pending: &Pending) -> bool {
        let ops = &pending.planned.ops;
        let known = |op: &Op| match op {
            Op::Append { file, .. } => self.files.get(file).is_some_and(|tracked| tracked.clean),
            _ => false,
        };
        pending.ticket.is_some() && !ops.is_empty() && ops.iter().all(known)
    }

    /// Gives plain batches, of which no two touch the same file, to those who wait for them.
    pub(super) fn give_out(&mut self, plain: Vec<Pending>, round: &mut Round<'_>) {
        for Pending { planned, index, ticket } in plain {
            let files = self.open_files(&planned);
            locked(&self.errands.state).running += 1;
            let (disk, errands) = (Arc::clone(&self.disk), Arc::clone(&self.errands));
            let (log, change) = (self.log.as_ref().map(Log::present), None);
            let errand = Errand { disk, errands, planned, index, log, change, files };
            round.give_out(ticket, errand);
        }
    }

    /// The files of a plain batch, which from here on are as they will be.
    fn open_files(&mut self, planned: &Planned) -> Vec<OpenFile> {
        let mut files = Vec::with_capacity(planned.ops.len());
        for op in &planned.ops {
            if let Op::Append { file, at, bytes } = op
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
    pub(super) fn await_errands(&mut self) -> Result<(), StoreError> {
        let failed = {
            let mut state = locked(&self.errands.state);
            while state.running > 0 {
                state = self.errands.over.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::take(&mut state.failed)
        };
        let mut aborts = Vec::new();
        let mut refused = Vec::new();
        for failed in failed {
            let Failed { paths, undo, error, broken, index, verdict, change, .. } = failed;
            for path in &paths {
                if let Some(tracked) = self.files.get_mut(path) {
                    // It may end anywhere; the next append looks.
                    tracked.clean = false;
                }
            }
            let undone = if broken { Err(error.clone()) } else { self.usable() };
            match undone.and_then(|()| self.undo(undo)) {
                Ok(()) => {
                    aborts.push(Record::Abort(index));
                    refused.push((verdict, error));
                }
                Err(cause) => {
                    *locked(&verdict) = Some(Err(self.poison(cause)));
                    if let Some(change) = change {
                        change.abandon();
                    }
                }
            }
        }
        let noted = self.note_aborts(&aborts);
        for (verdict, error) in refused {
            *locked(&verdict) = Some(Err(noted.clone().err().unwrap_or(error)));
        }
        noted.and_then(|()| self.usable())
    }
}
