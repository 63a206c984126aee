//! Commits that arrive together share one flush.
//!
//! Whoever comes first leads: it takes all batches that wait, commits them as one group, and hands the
//! lead to the first that came meanwhile.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::core::{Core, Outcome};
use super::{Durability, Step, StoreError};
use crate::names::FilePath;

type Batch = (Vec<Step>, Durability);

/// How many batches one leader takes along.
const MAX_GROUP: usize = 256;

#[derive(Default)]
pub(super) struct Queue {
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Arc<Ticket>>,
    led: bool,
}

struct Ticket {
    batch: Mutex<Option<Batch>>,
    news: Mutex<News>,
    told: Condvar,
}

enum News {
    None,
    Lead,
    Done(Outcome),
}

/// Locks, also after another thread has panicked: the data behind these locks is whole at any time.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ticket {
    fn tell(&self, news: News) {
        *locked(&self.news) = news;
        self.told.notify_one();
    }

    /// Waits until the batch is done, or it is this ticket's turn to lead.
    fn wait(&self) -> Option<Outcome> {
        let mut news = locked(&self.news);
        loop {
            match std::mem::replace(&mut *news, News::None) {
                News::Lead => return None,
                News::Done(outcome) => return Some(outcome),
                News::None => news = self.told.wait(news).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Queue {
    /// Commits one batch, together with those that other threads commit at this time.
    pub(super) fn commit(&self, core: &Mutex<Core>, batch: Batch) -> Outcome {
        let ticket = Arc::new(Ticket {
            batch: Mutex::new(Some(batch)),
            news: Mutex::new(News::None),
            told: Condvar::new(),
        });
        let leads = {
            let mut line = locked(&self.line);
            line.waiting.push_back(Arc::clone(&ticket));
            !std::mem::replace(&mut line.led, true)
        };
        if !leads && let Some(outcome) = ticket.wait() {
            return outcome;
        }
        self.lead(core, &ticket)
    }

    fn lead(&self, core: &Mutex<Core>, mine: &Arc<Ticket>) -> Outcome {
        let mut core = locked(core);
        let tickets: Vec<Arc<Ticket>> = {
            let mut line = locked(&self.line);
            let count = line.waiting.len().min(MAX_GROUP);
            line.waiting.drain(..count).collect()
        };
        let batches = tickets.iter().filter_map(|ticket| locked(&ticket.batch).take()).collect();
        let mut outcome = None;
        let mut told: Vec<bool> = vec![false; tickets.len()];
        let done = catch_unwind(AssertUnwindSafe(|| {
            core.commit_group(batches, &mut |place, result| {
                if let Some(told) = told.get_mut(place) {
                    *told = true;
                }
                match tickets.get(place) {
                    Some(ticket) if !Arc::ptr_eq(ticket, mine) => ticket.tell(News::Done(result)),
                    _ => outcome = Some(result),
                }
            });
        }));
        // Should anything below have panicked, nobody may wait for ever, and nothing more be written.
        let left = tickets.iter().zip(&told).filter(|(_, told)| !**told);
        for (ticket, _) in left {
            let broken = || StoreError::BadStep {
                path: FilePath::root(),
                reason: "the commit was broken off by a fault in the program",
            };
            let doubt = Err(core.poison(broken()));
            if Arc::ptr_eq(ticket, mine) {
                outcome = Some(doubt);
            } else {
                ticket.tell(News::Done(doubt));
            }
        }
        drop(core);
        let mut line = locked(&self.line);
        match line.waiting.front() {
            Some(next) => next.tell(News::Lead),
            None => line.led = false,
        }
        drop(line);
        match (done, outcome) {
            (Err(panic), _) => resume_unwind(panic),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Overtaken),
        }
    }
}
