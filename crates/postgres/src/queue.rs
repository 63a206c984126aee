//! [`CommitQueue`]: group commit. Batches of one process that arrive together share a transaction.
//!
//! One thread at a time leads: it commits everything that waits. The others wait for their outcome, or lead next.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use everturn_store::CommitReceipt;

use crate::commit::{CommitRequest, commit_group};
use crate::connection::Pool;
use crate::error::Failure;

/// The most batches in one transaction.
const MOST_BATCHES: usize = 64;

/// What became of a request: its outcome, and the receipt if only the answer to the `COMMIT` is missing.
pub(crate) type CommitAnswer = (Result<CommitReceipt, Failure>, Option<CommitReceipt>);

#[derive(Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    next: u64,
    waiting: Vec<(u64, Arc<CommitRequest>)>,
    answers: HashMap<u64, CommitAnswer>,
    is_led: bool,
}

impl CommitQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits a batch, with others if there are any.
    pub(crate) fn commit(&self, pool: &Arc<Pool>, request: Arc<CommitRequest>) -> CommitAnswer {
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        state.waiting.push((ticket, request));
        loop {
            if let Some(answer) = state.answers.remove(&ticket) {
                return answer;
            }
            if state.is_led {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let count = state.waiting.len().min(MOST_BATCHES);
            let group: Vec<(u64, Arc<CommitRequest>)> = state.waiting.drain(..count).collect();
            state.is_led = true;
            drop(state);
            let (tickets, requests): (Vec<u64>, Vec<Arc<CommitRequest>>) =
                group.into_iter().unzip();
            let answers = commit_together(pool, &requests);
            state = self.state();
            state.is_led = false;
            state.answers.extend(tickets.into_iter().zip(answers));
            self.changed.notify_all();
        }
    }
}

fn commit_together(pool: &Arc<Pool>, requests: &[Arc<CommitRequest>]) -> Vec<CommitAnswer> {
    let mut outcomes = Vec::new();
    let done = pool.lend().and_then(|mut lent| {
        lent.with(|connection| commit_group(connection, requests, &mut outcomes))
    });
    match done {
        Ok(()) => outcomes.into_iter().map(|done| (done.map_err(Failure::from), None)).collect(),
        Err(Failure::Disconnected(error)) => {
            // Each writer finds out for itself.
            let mut planned = outcomes.into_iter().map(Result::ok);
            let lost =
                || (Err(Failure::Disconnected(Arc::clone(&error))), planned.next().flatten());
            std::iter::repeat_with(lost).take(requests.len()).collect()
        }
        // All of them are there, on one server.
        Err(Failure::Unconfirmed) => {
            requests.iter().map(|_| (Err(Failure::Unconfirmed), None)).collect()
        }
        Err(failure) if requests.len() == 1 => vec![(Err(failure), None)],
        // One of them may be the reason; alone, each gets its own answer.
        Err(_) => requests
            .iter()
            .flat_map(|one| commit_together(pool, std::slice::from_ref(one)))
            .collect(),
    }
}
