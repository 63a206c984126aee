//! [`Library`]: the sources that are served, and their sessions, found by key.
//!
//! Sources are read without being opened for writing until the first change. A session that is written to stays open, so
//! that turns follow each other quickly, and is released soon after the last one.

mod open_sessions;
mod sources;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use axum::http::StatusCode;
use everturn::campaign::Narrator;
use everturn::format::{self, SessionFormat, SessionReader};
use everturn::model::SessionRef;
use everturn::store::Store;
use everturn::{AnySession, Root};
use everturn_catalog::{Catalog, CatalogListing, CatalogSession, SessionSource, SummaryDetail};
use everturn_requests::{Access, ErrorCode, Request, RequestError, Response, SessionHandler};
use jiff::Timestamp;

use crate::hub::LiveHub;
use crate::narration::NarrationSink;
use crate::options::ServeOptions;
use crate::problem::Problem;
use crate::session_key::KeyAssigner;

use open_sessions::OpenSessions;
use sources::SourceSlot;

/// A session that was found.
#[derive(Debug, Clone)]
pub(crate) struct LocatedSession {
    pub(crate) key: String,
    pub(crate) source: usize,
    pub(crate) format: &'static dyn SessionFormat,
    pub(crate) place: SessionRef,
}

/// The sessions of all sources with their keys.
pub(crate) struct KeyedListing {
    pub(crate) listing: CatalogListing,
    /// The keys, in the order of the sessions.
    pub(crate) keys: Vec<String>,
    pub(crate) sources: Vec<SessionSource>,
}

impl KeyedListing {
    /// The sessions with their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &CatalogSession)> {
        self.keys.iter().map(String::as_str).zip(&self.listing.sessions)
    }
}

/// The sources and their sessions.
pub(crate) struct Library {
    slots: Vec<SourceSlot>,
    options: ServeOptions,
    /// Where sessions were when they were last listed.
    known: Mutex<HashMap<String, LocatedSession>>,
    open: OpenSessions,
    /// Held while the search index is brought up to date.
    updating: Mutex<()>,
    /// Is informed of every change by this process.
    hub: Arc<LiveHub>,
}

impl Library {
    pub(crate) fn new(options: &ServeOptions, hub: Arc<LiveHub>) -> Library {
        Library {
            slots: options.sources.iter().cloned().map(SourceSlot::new).collect(),
            options: options.clone(),
            known: Mutex::default(),
            open: OpenSessions::default(),
            updating: Mutex::default(),
            hub,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.options.now)()
    }

    pub(crate) fn system_time(&self) -> SystemTime {
        (self.options.system_time)()
    }

    pub(crate) fn access(&self) -> Access {
        self.options.access
    }

    /// The directory of a source.
    pub(crate) fn source_dir(&self, source: usize) -> Result<&Path, Problem> {
        let source = self.options.sources.get(source);
        source
            .map(|source| source.dir.as_path())
            .ok_or_else(|| Problem::internal("a source is missing"))
    }

    pub(crate) fn source_name(&self, source: usize) -> &str {
        self.options.sources.get(source).map(|source| source.name.as_str()).unwrap_or_default()
    }

    /// The index of the source in which new sessions are created.
    pub(crate) fn main_source(&self) -> Result<usize, Problem> {
        let main = self.options.sources.iter().position(|source| source.is_main);
        main.ok_or_else(|| Problem::not_found("there is no source for new sessions"))
    }

    fn slot(&self, source: usize) -> Result<&SourceSlot, Problem> {
        self.slots.get(source).ok_or_else(|| Problem::internal("a source is missing"))
    }

    /// A new catalog over the sources.
    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::new(self.options.catalog.as_deref())
    }

    /// Waits until no other request updates the search index.
    pub(crate) fn update_index(&self) -> MutexGuard<'_, ()> {
        self.updating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store of a source, for reading.
    pub(crate) fn store(&self, source: usize) -> Result<Arc<dyn Store>, Problem> {
        self.slot(source)?.store()
    }

    /// Whether a source is not a directory.
    pub(crate) fn is_on_server(&self, source: usize) -> bool {
        self.slot(source).is_ok_and(SourceSlot::is_on_server)
    }

    /// The root of a source, open for writing.
    pub(crate) fn writable_root(&self, source: usize) -> Result<Root, Problem> {
        if self.access() == Access::Read {
            return Err(RequestError::new(ErrorCode::ReadOnly, "the server is read-only").into());
        }
        self.slot(source)?.writable_root(&self.options.owner, self.options.now)
    }

    /// The formats of a source.
    pub(crate) fn formats(
        &self,
        source: usize,
    ) -> impl Iterator<Item = &'static dyn SessionFormat> {
        self.options
            .sources
            .get(source)
            .into_iter()
            .flat_map(|source| source.formats.iter().flatten().copied())
    }

    pub(crate) fn source_count(&self) -> usize {
        self.slots.len()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, LocatedSession>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the sessions of all sources, most recently changed first.
    pub(crate) fn list(&self, detail: SummaryDetail) -> KeyedListing {
        let mut opened = Vec::new();
        for (number, slot) in self.slots.iter().enumerate() {
            // A source that cannot be opened must not hide the others.
            if let Ok(store) = slot.store() {
                opened.push((number, slot.session_source(store)));
            }
        }
        let sources: Vec<SessionSource> = opened.iter().map(|(_, source)| source.clone()).collect();
        let mut listing = self.catalog().sessions(&sources, detail, self.system_time());
        let number_of = |position: usize| opened.get(position).map_or(0, |(number, _)| *number);
        let keys = KeyAssigner::new(listing.sessions.iter().map(|session| {
            let summary = &session.summary;
            (self.source_name(number_of(session.source)), summary.layout, &summary.session)
        }));
        let mut located = HashMap::new();
        let mut assigned = Vec::with_capacity(listing.sessions.len());
        for session in &mut listing.sessions {
            let place = &session.summary.session;
            let source = number_of(session.source);
            let Some(format) = format::find(session.summary.layout) else {
                assigned.push(String::new());
                continue;
            };
            let name = self.source_name(source);
            let key = keys.key(name, format.name(), &place.id, &format.stable_key(place));
            let found = LocatedSession { key: key.clone(), source, format, place: place.clone() };
            located.insert(key.clone(), found);
            assigned.push(key);
        }
        *self.known() = located;
        KeyedListing { listing, keys: assigned, sources }
    }

    /// Finds a session by its key, or by its ID if that is unique.
    pub(crate) fn find(&self, name: &str) -> Result<LocatedSession, Problem> {
        if let Some(found) = self.known_as(name)? {
            let store = self.store(found.source)?;
            if !found.format.any_moved(&store, &mut std::iter::once(&found.place))? {
                return Ok(found);
            }
        }
        self.list(SummaryDetail::Names);
        self.known_as(name)?.ok_or_else(|| {
            Problem::not_found(format!("there is no session {name:?}"))
                .at("session")
                .hint("GET /api/v1/sessions lists the sessions")
        })
    }

    fn known_as(&self, name: &str) -> Result<Option<LocatedSession>, Problem> {
        let known = self.known();
        if let Some(found) = known.get(name) {
            return Ok(Some(found.clone()));
        }
        let mut of_id: Vec<&LocatedSession> =
            known.values().filter(|found| found.place.id == name).collect();
        match of_id.pop() {
            Some(one) if of_id.is_empty() => Ok(Some(one.clone())),
            Some(one) => {
                of_id.push(one);
                let mut keys: Vec<&str> = of_id.iter().map(|found| found.key.as_str()).collect();
                keys.sort_unstable();
                let what = format!("several sessions have the ID {name:?}");
                Err(Problem::new(StatusCode::CONFLICT, "ambiguous", what)
                    .at("session")
                    .hint(format!("use one of these keys: {}", keys.join(", "))))
            }
            None => Ok(None),
        }
    }

    /// Forgets where a session was, because it was moved or created.
    pub(crate) fn forget(&self, key: &str) {
        self.known().remove(key);
    }

    /// The sessions of the last list.
    pub(crate) fn located(&self) -> Vec<LocatedSession> {
        self.known().values().cloned().collect()
    }

    /// Reports a change of a session that was made without [`Library::handle`].
    pub(crate) fn changed(&self, found: &LocatedSession) {
        self.hub.changed(found.source, &found.place.path);
    }

    /// The name of the narrator of campaigns.
    pub(crate) fn narrator_name(&self) -> &str {
        self.options.narrator.name()
    }

    /// Makes a narrator; `sink` receives its text as it arrives.
    pub(crate) fn narrator(
        &self,
        seed: u64,
        sink: NarrationSink,
    ) -> Result<Box<dyn Narrator>, Problem> {
        let made = self.options.narrator.make(seed, sink);
        made.map_err(|cause| {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unsupported", cause)
                .hint("start the server with another --narrator")
        })
    }

    /// Opens a session for reading.
    pub(crate) fn read(&self, found: &LocatedSession) -> Result<AnySession, Problem> {
        let root = self.slot(found.source)?.root(self.options.now)?;
        Ok(root.session_at(found.format, found.place.clone()))
    }

    /// Opens the reader of a session, along one of its branches if one is named.
    pub(crate) fn reader(
        &self,
        found: &LocatedSession,
        branch: Option<&str>,
    ) -> Result<Box<dyn SessionReader>, Problem> {
        let reader = found.format.open(&self.store(found.source)?, &found.place)?;
        match branch {
            Some(branch) => Ok(reader.open_branch(branch)?),
            None => Ok(reader),
        }
    }

    /// Serves a request of the line protocol.
    pub(crate) fn handle(
        &self,
        found: &LocatedSession,
        request: &Request,
    ) -> Result<Response, Problem> {
        if !request.is_write() {
            let mut handler = SessionHandler::read_only(self.read(found)?);
            return Ok(handler.handle(request)?);
        }
        let root = self.writable_root(found.source)?;
        let answer = self.open.handle(&root, found, request);
        if answer.as_ref().is_err_and(|problem| problem.code == ErrorCode::Reopen.as_str()) {
            self.slot(found.source)?.reopen();
        }
        let answer = answer?;
        self.hub.changed(found.source, &found.place.path);
        if matches!(request, Request::Pause(_) | Request::Resume(_) | Request::Complete(_)) {
            self.forget(&found.key);
        }
        Ok(answer)
    }

    /// Releases a session before it is changed as a whole.
    pub(crate) fn release(&self, found: &LocatedSession) -> Result<(), Problem> {
        self.open.release(&found.key)
    }

    /// Releases all sessions, before several are changed as a whole.
    pub(crate) fn release_all(&self) -> Result<(), Problem> {
        self.open.release_all()
    }

    /// Releases the sessions that were not written to for a while.
    pub(crate) fn release_idle(&self) {
        self.open.release_idle();
    }

    /// Releases all sessions, and closes the roots.
    pub(crate) fn close(&self) -> Result<(), Problem> {
        let released = self.open.release_all();
        for slot in &self.slots {
            slot.close()?;
        }
        released
    }
}
