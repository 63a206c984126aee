//! [`BackgroundReader`]: searches and reads previews in a thread, so that typing never waits for them.
//!
//! Only the newest search and the newest preview matter: a search that is no longer wanted is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use everturn_catalog::{
    Catalog, CatalogListing, CatalogSearch, Query, SearchResults, SessionSource, SortOrder,
};

use super::reader::{BrowseReader, one_line};
use super::view::{EntryPosition, ListRow, PageLine};
use crate::session_line::ShortIds;
use crate::settings;

/// The maximum number of search hits shown.
const MOST_HITS: usize = 60;

/// What is previewed: a session, or an entry of it.
type PreviewPlace = (usize, Option<EntryPosition>);

/// Work for the thread.
enum BackgroundJob {
    /// A query, with its number: a later one has a higher number.
    Search(u64, String),
    Preview(u64, PreviewPlace),
}

/// The entries that match a query.
pub(super) struct FoundRows {
    pub(super) rows: Vec<ListRow>,
    /// Whether there are more.
    pub(super) more: bool,
    /// Whether they match similar words, because nothing matched exactly.
    pub(super) is_similar: bool,
}

/// A result of the thread.
pub(super) enum BackgroundAnswer {
    Found { query: String, result: Result<FoundRows, String> },
    Preview { of: PreviewPlace, lines: Vec<PageLine> },
}

/// The state that both threads see.
#[derive(Default)]
struct SharedState {
    /// The numbers of the newest search and the newest preview.
    search: AtomicU64,
    preview: AtomicU64,
    /// Whether the index has changed since the last search.
    is_changed: AtomicBool,
    /// Whether the index is being built, so that it is not yet certain that nothing is found.
    is_building: AtomicBool,
}

/// The thread, as the browser sees it.
pub(super) struct BackgroundReader {
    jobs: Sender<BackgroundJob>,
    answers: Receiver<Option<BackgroundAnswer>>,
    shared: Arc<SharedState>,
    /// The number of jobs without an answer.
    waiting: usize,
}

impl BackgroundReader {
    pub(super) fn start(
        catalog: Catalog,
        sources: Vec<SessionSource>,
        sessions: Arc<CatalogListing>,
        ids: Arc<ShortIds>,
    ) -> BackgroundReader {
        let shared = Arc::new(SharedState::default());
        let (jobs, received) = mpsc::channel();
        let (send, answers) = mpsc::channel();
        let seen = Arc::clone(&shared);
        thread::spawn(move || {
            let reader = BrowseReader::new(sources.clone(), Arc::clone(&sessions), ids);
            let mut worker =
                BackgroundWorker { catalog, sources, sessions, reader, search: None, shared: seen };
            while let Ok(job) = received.recv() {
                // The browser is gone when nothing can be sent.
                if send.send(worker.run(job)).is_err() {
                    break;
                }
            }
        });
        BackgroundReader { jobs, answers, shared, waiting: 0 }
    }

    fn ask(&mut self, job: BackgroundJob) {
        if self.jobs.send(job).is_ok() {
            self.waiting += 1;
        }
    }

    /// Runs a query, and gives up an earlier one.
    pub(super) fn search(&mut self, query: String) {
        let number = self.shared.search.fetch_add(1, Ordering::Relaxed) + 1;
        self.ask(BackgroundJob::Search(number, query));
    }

    /// Reads the end of a session, or an entry and those after it.
    pub(super) fn preview(&mut self, session: usize, at: Option<EntryPosition>) {
        let number = self.shared.preview.fetch_add(1, Ordering::Relaxed) + 1;
        self.ask(BackgroundJob::Preview(number, (session, at)));
    }

    /// Notes whether the index has changed, and whether it is still being built.
    pub(super) fn note_update(&self, has_changed: bool, is_building: bool) {
        self.shared.is_changed.fetch_or(has_changed, Ordering::Relaxed);
        self.shared.is_building.store(is_building, Ordering::Relaxed);
    }

    /// Returns whether an answer is to be expected.
    pub(super) fn is_busy(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the next answer that is there.
    pub(super) fn answer(&mut self) -> Option<BackgroundAnswer> {
        while let Ok(answer) = self.answers.try_recv() {
            self.waiting = self.waiting.saturating_sub(1);
            if answer.is_some() {
                return answer;
            }
        }
        None
    }
}

/// The thread itself.
struct BackgroundWorker {
    catalog: Catalog,
    sources: Vec<SessionSource>,
    sessions: Arc<CatalogListing>,
    reader: BrowseReader,
    search: Option<CatalogSearch>,
    shared: Arc<SharedState>,
}

impl BackgroundWorker {
    /// Does a job; `None` if it is no longer wanted.
    fn run(&mut self, job: BackgroundJob) -> Option<BackgroundAnswer> {
        match job {
            BackgroundJob::Search(number, query) => {
                let shared = Arc::clone(&self.shared);
                let is_wanted = move || shared.search.load(Ordering::Relaxed) == number;
                if !is_wanted() {
                    return None;
                }
                let result = self.find(&query, &is_wanted);
                is_wanted().then_some(BackgroundAnswer::Found { query, result })
            }
            BackgroundJob::Preview(number, of) => {
                if self.shared.preview.load(Ordering::Relaxed) != number {
                    return None;
                }
                let lines = self.reader.preview(of.0, of.1);
                let lines = lines.unwrap_or_else(|error| vec![PageLine::Note(error)]);
                Some(BackgroundAnswer::Preview { of, lines })
            }
        }
    }

    /// Returns the entries that match a query.
    fn find(&mut self, text: &str, is_wanted: &dyn Fn() -> bool) -> Result<FoundRows, String> {
        let now = settings::now();
        let whole = |text: &str| Query::parse(text, now);
        let query = match whole(&prefix_query(text)) {
            Ok(query) => query,
            Err(_) => whole(text).map_err(|error| one_line(&error.to_string()))?,
        };
        if self.shared.is_changed.swap(false, Ordering::Relaxed) {
            self.search = None;
        }
        let is_building = self.shared.is_building.load(Ordering::Relaxed);
        if self.search.is_none() {
            self.search = self.catalog.searcher(&self.sources, &self.sessions);
            drop(self.catalog.take_notes());
        }
        let limit = (MOST_HITS, SortOrder::Relevance);
        let found = match &self.search {
            Some(search) => {
                search.find(&self.sessions, &query, limit).map_err(|error| error.to_string())?
            }
            // The query is repeated when the index is ready.
            None if is_building => SearchResults::default(),
            None => self.catalog.search(&self.sources, &self.sessions, &query, limit),
        };
        if is_building {
            // The next search sees what the index has by then.
            self.search = None;
        }
        let answered = found.similar.as_ref().unwrap_or(&query);
        let rows = self.reader.hits(&found.hits, answered, is_wanted);
        Ok(FoundRows { rows, more: found.more, is_similar: found.similar.is_some() })
    }
}

/// Returns the query for a text that is being typed: its last word is a prefix, unless it is a field or has signs of
/// its own.
fn prefix_query(text: &str) -> String {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_quoted = text.matches('"').count() % 2 == 1;
    let is_plain = !last.is_empty() && last.chars().all(char::is_alphanumeric) && last != "OR";
    if is_plain && !is_quoted { format!("{text}*") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_a_prefix() {
        for (text, expect) in [
            ("norw", "norw*"),
            ("old tow", "old tow*"),
            ("old ", "old "),
            ("", ""),
            ("drag*", "drag*"),
            ("dragn~", "dragn~"),
            ("\"old tow", "\"old tow"),
            ("\"old tower\"", "\"old tower\""),
            ("layout:ga", "layout:ga"),
            ("a OR", "a OR"),
        ] {
            assert_eq!(prefix_query(text), expect);
        }
    }
}
