//! [`ListFeed`]: changes of the list of sessions.
//!
//! The last changes are kept. A client that is further behind, or that comes from another start of the server, has
//! to load the list again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use everturn_catalog::SummaryDetail;
use serde_json::json;

use super::tail::{LiveEvent, masked};
use crate::library::Library;

/// How many changes are kept.
const KEPT: usize = 1024;

/// The list is read at most so often.
const PERIOD: Duration = Duration::from_millis(50);

#[derive(Default)]
struct FeedState {
    /// What is known of each session.
    known: Option<HashMap<String, String>>,
    recent: VecDeque<(u64, LiveEvent)>,
    last: u64,
    read_at: Option<Instant>,
}

/// The changes of the list since the server started.
pub(crate) struct ListFeed {
    /// Distinguishes the starts of the server.
    start: String,
    state: Mutex<FeedState>,
}

impl ListFeed {
    pub(crate) fn new(start: String) -> ListFeed {
        ListFeed { start, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.start)
    }

    /// The number in an ID of this start.
    pub(crate) fn number_of(&self, id: &str) -> Option<u64> {
        let (start, number) = id.rsplit_once('-')?;
        (start == self.start).then(|| number.parse().ok())?
    }

    /// Reads the list, and returns the events after a number. `None` stands for a client that knows nothing.
    pub(crate) fn events_after(
        &self,
        library: &Library,
        number: Option<u64>,
    ) -> (Vec<LiveEvent>, u64) {
        let mut state = self.state();
        if state.read_at.is_none_or(|read_at| read_at.elapsed() >= PERIOD) {
            self.refresh(&mut state, library);
        }
        let last = state.last;
        let oldest = state.recent.front().map_or(last + 1, |(number, _)| *number);
        match number {
            Some(number) if number <= last && number + 1 >= oldest => {
                let newer = state.recent.iter().filter(|(of, _)| *of > number);
                (newer.map(|(_, event)| event.clone()).collect(), last)
            }
            _ => {
                let data = json!({"reason": "load the list of sessions"}).to_string();
                (vec![LiveEvent { id: Some(self.id(last)), name: "reset", data }], last)
            }
        }
    }

    fn refresh(&self, state: &mut FeedState, library: &Library) {
        let listing = library.list(SummaryDetail::All);
        let now: HashMap<String, String> = listing
            .iter()
            .map(|(key, session)| {
                let summary = &session.summary;
                let data = json!({
                    "key": key, "title": summary.title, "status": summary.status.as_str(), "turns": summary.turns,
                    "updated": summary.updated.map(|time| time.to_string()),
                });
                (key.to_owned(), masked(data.to_string()))
            })
            .collect();
        state.read_at = Some(Instant::now());
        let Some(before) = state.known.replace(now.clone()) else { return };
        let removed = before.keys().filter(|key| !now.contains_key(*key));
        let mut events: Vec<(&'static str, String)> =
            removed.map(|key| ("removed", json!({"key": key}).to_string())).collect();
        for (key, data) in now {
            match before.get(&key) {
                None => events.push(("added", data)),
                Some(old) if *old != data => events.push(("changed", data)),
                Some(_) => {}
            }
        }
        for (name, data) in events {
            state.last += 1;
            let event = LiveEvent { id: Some(self.id(state.last)), name, data };
            let number = state.last;
            state.recent.push_back((number, event));
            if state.recent.len() > KEPT {
                state.recent.pop_front();
            }
        }
    }
}
