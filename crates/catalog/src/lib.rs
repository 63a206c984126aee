//! The catalog: a list of sessions from many sources, and a full-text index of their contents.
//!
//! `sources -> sessions (summaries, cached by file stamps) -> update -> index -> search -> hits -> entries`
//!
//! A [`Catalog`] lists the sessions of some [`SessionSource`]s as a [`CatalogListing`], keeps the index of their
//! entries up to date, and searches it: a [`Query`] gives [`SearchResults`].
//!
//! The catalog can be deleted at any time: it is rebuilt from the sessions, which it only reads. A cached value is
//! used as long as the files that it was read from have the same stamps.
//!
//! The modules, in reading order:
//!
//! - `source`: the sources of sessions, and what is known of each session.
//! - `catalog_dir`: the only module that touches files: the directory of the catalog, and file stamps.
//! - `codec`, `checksummed`: the encoding of the catalog's own files.
//! - `summaries`: cached session summaries, so that a list opens no session files.
//! - `words`, `word_parts`: splits text into words.
//! - `dates`, `query`: parses queries.
//! - `text_match`, `snippet`: locates matches in a text.
//! - `ledger`, `index`: the index, and which sessions it contains.
//! - `update`: brings the index up to date.
//! - `search`: answers queries.
//! - `usage`: the cached token usage of sessions.
//! - `error`: the errors of the catalog.

mod catalog_dir;
mod checksummed;
mod codec;
mod dates;
mod error;
mod index;
mod ledger;
mod query;
mod search;
mod snippet;
mod source;
mod summaries;
mod text_match;
mod update;
mod usage;
mod word_parts;
mod words;

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use everturn::format::{ListedSession, SessionError, SessionReader};
use everturn::model::Entry;

pub use dates::{DatePeriod, parse_period};
pub use error::CatalogError;
pub use query::{Query, QueryError};
pub use search::{SearchHit, SearchResults, SortOrder};
pub use snippet::Snippet;
pub use source::{CatalogListing, CatalogSession, SessionSource};
pub use summaries::SummaryDetail;
pub use update::{LeftOut, ReadProblem, UpdateProgress, UpdateReport, lost_file};
pub use usage::UsageAnswer;

use catalog_dir::{CatalogDir, CatalogLock};
use checksummed::IndexAccess;
use index::OpenIndex;
use search::SearchEngine;
use usage::UsageCache;

/// The catalog of some sources.
///
/// Problems of the catalog itself are not errors for the caller: sessions are listed and searched all the same, only
/// slower, and [`Catalog::take_notes`] returns the reasons.
pub struct Catalog {
    dir: Option<CatalogDir>,
    notes: Vec<String>,
    /// The index after an update, with the lock that keeps other processes from changing it.
    current: Option<(OpenIndex, CatalogLock)>,
    /// Whether the last update failed, so that the index may lack sessions.
    is_outdated: bool,
}

impl Catalog {
    /// Creates a catalog in a directory, which is created when the catalog first writes to it. Without a directory,
    /// nothing is cached.
    #[must_use]
    pub fn new(dir: Option<&Path>) -> Catalog {
        Catalog {
            dir: dir.map(CatalogDir::at),
            notes: Vec::new(),
            current: None,
            is_outdated: false,
        }
    }

    /// Returns the sessions of all sources, most recently changed first. `now` is the system time, which file stamps
    /// are compared with.
    pub fn sessions(
        &mut self,
        sources: &[SessionSource],
        detail: SummaryDetail,
        now: SystemTime,
    ) -> CatalogListing {
        let mut found = CatalogListing::default();
        for (number, source) in sources.iter().enumerate() {
            if let Err(error) = self.sessions_of(number, source, (detail, now), &mut found) {
                found.sessions.retain(|session| session.source != number);
                found.failed.push((number, error));
            }
        }
        source::newest_first(sources, &mut found.sessions);
        found
    }

    fn sessions_of(
        &mut self,
        number: usize,
        source: &SessionSource,
        (detail, now): (SummaryDetail, SystemTime),
        found: &mut CatalogListing,
    ) -> Result<(), SessionError> {
        let before = found.sessions.len();
        for layouts in &source.layouts {
            for layout in layouts {
                let what = (number, source, *layout);
                let unkept = summaries::list_sessions(self.dir.as_ref(), what, detail, now, found)?;
                if let Some(error) = unkept {
                    self.note("the list of sessions cannot be saved", &error);
                }
            }
            if found.sessions.len() > before {
                break;
            }
        }
        Ok(())
    }

    /// Completes summaries that were derived from file names alone.
    pub fn complete_summaries(&self, sources: &[SessionSource], sessions: &mut [CatalogSession]) {
        summaries::complete_summaries(sources, sessions);
        source::newest_first(sources, sessions);
    }

    /// Adds the number of turns of sessions that are too long to be counted for a list, if the index has read them as
    /// they are now.
    pub fn add_indexed_turns(&self, sources: &[SessionSource], sessions: &mut [CatalogSession]) {
        let is_unknown = |session: &CatalogSession| session.summary.turns.is_none();
        if !sessions.iter().any(is_unknown) {
            return;
        }
        let dir = self.dir.as_ref().filter(|dir| dir.path(index::INDEX).is_dir());
        // Without a usable index the numbers stay unknown; a search reports its damage.
        let Some(Ok(opened)) = dir.map(|dir| OpenIndex::open(dir, IndexAccess::Read)) else {
            return;
        };
        for session in sessions.iter_mut().filter(|session| is_unknown(session)) {
            session.summary.turns = update::indexed_turns(&opened.ledger, sources, session);
        }
    }

    /// Returns the token usage of sessions, one after the other; only those that have changed are read.
    pub fn usages(
        &mut self,
        sources: &[SessionSource],
        sessions: &[CatalogSession],
        now: SystemTime,
        each: &mut dyn FnMut(&CatalogSession, UsageAnswer),
    ) {
        let mut cache = UsageCache::load(self.dir.as_ref());
        for session in sessions {
            each(session, cache.usage(sources, session, now));
        }
        if let Err(error) = cache.save(self.dir.as_ref()) {
            self.note("the usage of sessions cannot be saved", &error);
        }
    }

    /// Brings the index up to date with these sessions. Does nothing if another process is updating it, and reports
    /// that in [`UpdateReport::is_busy`]. If the update fails, the index is not used until an update succeeds.
    pub fn update(
        &mut self,
        sources: &[SessionSource],
        sessions: &CatalogListing,
        now: SystemTime,
        progress: &mut dyn FnMut(UpdateProgress<'_>),
    ) -> UpdateReport {
        let updated = self.try_update(sources, sessions, now, progress);
        self.is_outdated = updated.is_err();
        match updated {
            Ok(updated) => updated,
            Err(error) => {
                self.note("the index cannot be updated", &error);
                UpdateReport::default()
            }
        }
    }

    fn try_update(
        &mut self,
        sources: &[SessionSource],
        sessions: &CatalogListing,
        now: SystemTime,
        progress: &mut dyn FnMut(UpdateProgress<'_>),
    ) -> Result<UpdateReport, CatalogError> {
        let Some(dir) = self.dir.clone() else { return Ok(UpdateReport::default()) };
        let lock = match self.current.take() {
            Some((_, lock)) => lock,
            None => match dir.lock()? {
                Some(lock) => lock,
                None => return Ok(UpdateReport { is_busy: true, ..UpdateReport::default() }),
            },
        };
        let (mut opened, rebuilt) = OpenIndex::open_or_create(&dir)?;
        if let Some(reason) = &rebuilt {
            self.notes.push(format!("the index was damaged and is being rebuilt: {reason}"));
        }
        let what = (sources, sessions.sessions.as_slice());
        let updated = update::update_index(&dir, &mut opened, what, now, progress)?;
        self.current = Some((opened, lock));
        Ok(UpdateReport { rebuilt, ..updated })
    }

    /// Searches these sessions. Without a usable index, the sessions themselves are read.
    pub fn search(
        &mut self,
        sources: &[SessionSource],
        sessions: &CatalogListing,
        query: &Query,
        (limit, sort): (usize, SortOrder),
    ) -> SearchResults {
        let asked = self.engine(sources, sessions).and_then(|engine| match engine {
            Some(engine) => engine.search(query, &sessions.sessions, (limit, sort)).map(Some),
            None => Ok(None),
        });
        match asked {
            Ok(Some(found)) => return found,
            Ok(None) => {}
            Err(error) => {
                self.note(
                    "the index cannot be used, so the sessions are searched directly",
                    &error,
                );
            }
        }
        search::scan_sessions(sources, sessions, query, limit)
    }

    /// Returns a reusable search engine, if there is an index that an update has not failed on.
    fn engine(
        &self,
        sources: &[SessionSource],
        sessions: &CatalogListing,
    ) -> Result<Option<SearchEngine>, CatalogError> {
        if self.is_outdated {
            return Ok(None);
        }
        if let Some((opened, _)) = &self.current {
            return SearchEngine::new(opened, sources, &sessions.sessions).map(Some);
        }
        let Some(dir) = self.dir.as_ref().filter(|dir| dir.is_there()) else { return Ok(None) };
        if !dir.path(index::INDEX).is_dir() {
            return Ok(None);
        }
        let opened = OpenIndex::open(dir, IndexAccess::Read)?;
        SearchEngine::new(&opened, sources, &sessions.sessions).map(Some)
    }

    /// Returns a search for repeated queries, as in search-as-you-type; `None` without a usable index.
    pub fn searcher(
        &mut self,
        sources: &[SessionSource],
        sessions: &CatalogListing,
    ) -> Option<CatalogSearch> {
        match self.engine(sources, sessions) {
            Ok(engine) => engine.map(|engine| CatalogSearch { engine }),
            Err(error) => {
                self.note("the index cannot be used", &error);
                None
            }
        }
    }

    /// Returns the problems of the catalog since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, what: &str, error: &dyn Error) {
        let note = format!("{what}: {}", error::error_chain(error));
        // Many files may fail for the same reason.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A catalog that was cleared; the index cannot be changed while this is held.
pub struct ClearedCatalog {
    dir: CatalogDir,
    _lock: CatalogLock,
}

impl ClearedCatalog {
    /// Removes everything in a catalog directory, so that it keeps no text that was removed from sessions. Does
    /// nothing and returns `None` while another process changes the index.
    pub fn clear(dir: &Path) -> Result<Option<ClearedCatalog>, CatalogError> {
        let dir = CatalogDir::at(dir);
        let Some(lock) = dir.lock()? else { return Ok(None) };
        dir.clear()?;
        Ok(Some(ClearedCatalog { dir, _lock: lock }))
    }

    /// Removes summaries that were cached since.
    pub fn finish(self) -> Result<(), CatalogError> {
        Ok(self.dir.clear()?)
    }
}

/// An open index for repeated queries.
pub struct CatalogSearch {
    engine: SearchEngine,
}

impl CatalogSearch {
    /// Runs a query on the sessions that the search was created for.
    pub fn find(
        &self,
        sessions: &CatalogListing,
        query: &Query,
        (limit, sort): (usize, SortOrder),
    ) -> Result<SearchResults, CatalogError> {
        self.engine.search(query, &sessions.sessions, (limit, sort))
    }
}

/// Opens a listed session for reading, also if it was moved since. Returns `None` if it no longer exists, or if its
/// source is not among these.
pub fn open_session(
    sources: &[SessionSource],
    session: &CatalogSession,
) -> Result<Option<Box<dyn SessionReader>>, SessionError> {
    Ok(match search::open_session(sources, session)? {
        ListedSession::Open(_, reader) => Some(reader),
        ListedSession::Gone => None,
    })
}

/// Returns the ID of the branch of a hit; `None` if it is in the session's main line.
pub fn hit_branch(
    reader: &dyn SessionReader,
    hit: &SearchHit,
) -> Result<Option<String>, SessionError> {
    search::hit_branch(reader, hit)
}

/// Returns the entry of a hit; `None` if it no longer exists.
pub fn hit_entry(
    reader: &dyn SessionReader,
    hit: &SearchHit,
) -> Result<Option<Entry>, SessionError> {
    search::hit_entry(reader, hit)
}
