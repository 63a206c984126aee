//! Group commit: commits that arrive together share one flush.
//!
//! The first thread to arrive opens a group and becomes its leader. As soon as the core is free, it commits all batches
//! queued meanwhile as one group, and wakes the followers with their results.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use super::StoreError;
use super::mutex::lock_unpoisoned;
use super::store_core::{CommitRequest, CommitResult, ReceiptResult, StoreCore};
use everturn_json::names::FilePath;

/// The maximum number of batches in one group.
const MAX_GROUP: usize = 256;

#[derive(Default)]
pub(super) struct CommitQueue {
    /// The group that batches can still join.
    open: Mutex<Option<Arc<CommitGroup>>>,
}

#[derive(Default)]
struct CommitGroup {
    batches: Mutex<Vec<CommitRequest>>,
    /// The result of each batch, until its thread takes it.
    results: OnceLock<Vec<Mutex<Option<CommitResult>>>>,
}

fn leader_failed() -> StoreError {
    let reason = "the commit was interrupted by a panic";
    StoreError::BadStep { path: FilePath::root(), reason }
}

impl CommitQueue {
    /// Commits one batch, together with those that other threads commit at the same time.
    pub(super) fn commit(&self, core: &Mutex<StoreCore>, batch: CommitRequest) -> ReceiptResult {
        let (group, place) = self.join(batch);
        if place == 0 {
            self.lead(core, &group);
        }
        let answers = group.results.wait();
        match answers.get(place).and_then(|answer| lock_unpoisoned(answer).take()) {
            Some(CommitResult::Done(outcome)) => outcome,
            Some(CommitResult::Apply(task)) => task.run(core),
            None => Err(StoreError::Overtaken),
        }
    }

    /// Adds a batch to the open group, or opens one; returns the group and the index of the batch.
    fn join(&self, batch: CommitRequest) -> (Arc<CommitGroup>, usize) {
        let mut open = lock_unpoisoned(&self.open);
        if let Some(group) = &*open {
            let mut batches = lock_unpoisoned(&group.batches);
            if batches.len() < MAX_GROUP {
                batches.push(batch);
                return (Arc::clone(group), batches.len() - 1);
            }
        }
        let group =
            Arc::new(CommitGroup { batches: Mutex::new(vec![batch]), ..CommitGroup::default() });
        *open = Some(Arc::clone(&group));
        (group, 0)
    }

    fn lead(&self, core: &Mutex<StoreCore>, group: &Arc<CommitGroup>) {
        let mut core = lock_unpoisoned(core);
        let batches = {
            let mut open = lock_unpoisoned(&self.open);
            open.take_if(|open| Arc::ptr_eq(open, group));
            std::mem::take(&mut *lock_unpoisoned(&group.batches))
        };
        let mut answers: Vec<Option<CommitResult>> = batches.iter().map(|_| None).collect();
        let done = catch_unwind(AssertUnwindSafe(|| {
            let shared = batches.len() > 1;
            core.commit_group(batches, shared, &mut |place, answer| {
                if let Some(slot) = answers.get_mut(place) {
                    *slot = Some(answer);
                }
            });
        }));
        // After a panic above, no follower may wait forever, and nothing more may be written.
        let results = answers.into_iter().map(|answer| {
            Mutex::new(
                answer.or_else(|| Some(CommitResult::Done(Err(core.poison(leader_failed()))))),
            )
        });
        let results = results.collect();
        drop(core);
        // Only the leader sets the results of its group.
        drop(group.results.set(results));
        if let Err(panic) = done {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests {
    use std::thread;

    use super::*;
    use crate::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
    use crate::store::validate::validate_batch;
    use crate::store::{AppendAt, Durability, FileStore, LockOwner, Options, Step};

    const SESSIONS: usize = 4;
    const LOST: Survival = Survival { data: DataSurvival::Lost, names: NameSurvival::Lost };

    fn options() -> Options {
        Options::new(LockOwner { pid: 1, started: String::new() })
    }

    fn file(session: usize, name: &str) -> FilePath {
        FilePath::parse(&format!("s{session}/{name}")).unwrap()
    }

    /// Returns one turn of a session, in two files.
    fn turn(session: usize, turn: u32) -> CommitRequest {
        let append = |name: &str| Step::Append {
            file: file(session, name),
            at: AppendAt::End,
            lines: format!("{{\"turn\":{turn}}}\n").into_bytes(),
        };
        (validate_batch(vec![append("turns"), append("deltas")]).unwrap(), Durability::Synced)
    }

    /// Returns a core that has committed a first turn of each session, so that their files are open.
    fn begun(disk: &SimDisk) -> Mutex<StoreCore> {
        let mut core = StoreCore::new(Arc::new(disk.process()), options());
        let batches = (0..SESSIONS).map(|session| turn(session, 1)).collect();
        core.commit_group(batches, false, &mut |_, answer| {
            assert!(matches!(answer, CommitResult::Done(Ok(_))));
        });
        Mutex::new(core)
    }

    /// Commits the second turns of all sessions, one thread each, as one group.
    fn together(core: &Mutex<StoreCore>, fault: impl FnOnce()) -> Vec<ReceiptResult> {
        let queue = CommitQueue::default();
        thread::scope(|scope| {
            let held = lock_unpoisoned(core);
            let commit = |session| queue.commit(core, turn(session, 2));
            let threads: Vec<_> =
                (0..SESSIONS).map(|session| scope.spawn(move || commit(session))).collect();
            let gathered = || {
                let open = lock_unpoisoned(&queue.open);
                open.as_ref().map_or(0, |group| lock_unpoisoned(&group.batches).len())
            };
            while gathered() < SESSIONS {
                thread::yield_now();
            }
            fault();
            drop(held);
            // The threads start in any order, but each has its own session.
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Returns the number of turns in both files of a session, which must be equal.
    fn turns(disk: &SimDisk, session: usize) -> usize {
        let contents = disk.contents();
        let text = |name| String::from_utf8(contents[&file(session, name)].clone()).unwrap();
        assert_eq!(text("turns"), text("deltas"));
        assert!(["{\"turn\":1}\n", "{\"turn\":1}\n{\"turn\":2}\n"].contains(&&*text("turns")));
        text("turns").lines().count()
    }

    fn outcome_is_true(disk: &SimDisk, session: usize, outcome: &ReceiptResult) {
        match outcome {
            Ok(receipt) => {
                assert_eq!(turns(disk, session), 2);
                assert_eq!(receipt.appended, [11, 11]);
            }
            Err(StoreError::Poisoned { .. }) => {}
            Err(_) => assert_eq!(turns(disk, session), 1),
        }
    }

    #[test]
    fn appends_of_a_shared_group_are_apply_tasks_of_the_waiting_threads() {
        let disk = SimDisk::new();
        let core = begun(&disk);
        let mut tasks = Vec::new();
        let batches = (0..SESSIONS).map(|session| turn(session, 2)).collect();
        lock_unpoisoned(&core).commit_group(batches, true, &mut |_, answer| match answer {
            CommitResult::Apply(task) => tasks.push(task),
            CommitResult::Done(outcome) => panic!("{outcome:?}"),
        });
        assert!((0..SESSIONS).all(|session| turns(&disk, session) == 1));
        thread::scope(|scope| {
            // A checkpoint cannot end before all tasks have, because it recycles their log records.
            let checkpoint = scope.spawn(|| lock_unpoisoned(&core).checkpoint().unwrap());
            for task in tasks {
                assert!(!checkpoint.is_finished());
                task.run(&core).unwrap();
            }
        });
        disk.power_cut(LOST);
        assert!((0..SESSIONS).all(|session| turns(&disk, session) == 2));
    }

    #[test]
    fn an_apply_task_that_never_runs_leaves_the_batch_in_the_log() {
        let disk = SimDisk::new();
        let core = begun(&disk);
        let batches = (0..SESSIONS).map(|session| turn(session, 2)).collect();
        lock_unpoisoned(&core).commit_group(batches, true, &mut |_, answer| drop(answer));
        let refused = lock_unpoisoned(&core).checkpoint();
        assert!(matches!(refused, Err(StoreError::Poisoned { .. })), "{refused:?}");
        drop(core);
        disk.power_cut(LOST);
        FileStore::open(Arc::new(disk.process()), options()).unwrap();
        assert!((0..SESSIONS).all(|session| turns(&disk, session) == 2));
    }

    /// Injects a fault at each change of a group of apply tasks in turn.
    fn every_failure_is_answered(trouble: FaultKind, lasting: bool) {
        for ahead in 0.. {
            let disk = SimDisk::new();
            let core = begun(&disk);
            let at = disk.changes() + ahead;
            let outcomes = together(&core, || disk.inject(Fault { at, kind: trouble, lasting }));
            let reached = disk.changes() > at || disk.crashed();
            disk.clear_faults();
            let sessions = || (0..SESSIONS).zip(&outcomes);
            let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
            // A short write to the log is simply continued.
            let certain = trouble != FaultKind::Short;
            assert!(
                if reached { failed > 0 || !certain } else { failed == 0 },
                "{trouble:?} {ahead} ahead: {outcomes:?}"
            );
            let in_doubt = lock_unpoisoned(&core).check_usable().is_err();
            if !disk.crashed() && !in_doubt {
                sessions().for_each(|(session, outcome)| outcome_is_true(&disk, session, outcome));
            }
            for survival in [LOST, Survival { data: DataSurvival::Kept, names: NameSurvival::Kept }]
            {
                let disk = disk.fork();
                disk.power_cut(survival);
                FileStore::open(Arc::new(disk.process()), options()).unwrap();
                for (session, outcome) in sessions() {
                    match outcome {
                        Err(_) if disk.crashed() || in_doubt => drop(turns(&disk, session)),
                        outcome => outcome_is_true(&disk, session, outcome),
                    }
                }
            }
            if !reached {
                assert!(ahead > 8, "only {ahead} failure points");
                return;
            }
        }
    }

    #[test]
    fn a_failed_apply_task_leaves_nothing_and_the_others_continue() {
        for lasting in [false, true] {
            every_failure_is_answered(FaultKind::Error(28), lasting);
            every_failure_is_answered(FaultKind::Short, lasting);
            every_failure_is_answered(FaultKind::FlushLost, lasting);
        }
    }

    #[test]
    fn a_crash_among_apply_tasks_leaves_every_batch_whole() {
        every_failure_is_answered(FaultKind::Crash, false);
    }
}
