//! [`BackgroundUpdate`]: updates the index in the background, so that the user does not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use everturn_catalog::{Catalog, CatalogListing, SessionSource};

/// An index update in its own thread. If the browser quits before it is done, the next update continues from the last
/// commit, as after a kill.
pub(super) struct BackgroundUpdate {
    how_far: Arc<UpdateCounter>,
    thread: JoinHandle<Vec<String>>,
}

/// The number of bytes done, and the total.
#[derive(Default)]
struct UpdateCounter {
    done: AtomicU64,
    total: AtomicU64,
}

impl BackgroundUpdate {
    pub(super) fn start(
        mut catalog: Catalog,
        sources: Vec<SessionSource>,
        sessions: Arc<CatalogListing>,
        now: SystemTime,
    ) -> BackgroundUpdate {
        let how_far = Arc::new(UpdateCounter::default());
        let told = Arc::clone(&how_far);
        let thread = thread::spawn(move || {
            let updated = catalog.update(&sources, &sessions, now, &mut |at| {
                told.done.store(at.bytes.0, Ordering::Relaxed);
                told.total.store(at.bytes.1, Ordering::Relaxed);
            });
            let mut notes = catalog.take_notes();
            if updated.is_busy {
                notes.push("another process is updating the index".to_owned());
            }
            notes
        });
        BackgroundUpdate { how_far, thread }
    }

    pub(super) fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// Returns the progress as text; empty while it is not known whether there is work.
    pub(super) fn progress_text(&self) -> String {
        let [done, total] =
            [&self.how_far.done, &self.how_far.total].map(|bytes| bytes.load(Ordering::Relaxed));
        match done.saturating_mul(100).checked_div(total) {
            Some(share) => format!("reading sessions, {share} %"),
            None => String::new(),
        }
    }

    /// Returns the messages of the finished update.
    pub(super) fn finish(self) -> Vec<String> {
        let failed = |_| vec!["the index could not be updated".to_owned()];
        self.thread.join().unwrap_or_else(failed)
    }
}
