//! The catalog over all sources of the user ([`SourceCollection`]), and how sessions are named ([`SessionNames`]).

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use everturn::format::{self, SessionFormat};
use everturn::store::{StoreError, quarantine_dir};
use everturn_catalog::{
    Catalog, CatalogError, CatalogListing, CatalogSession, ClearedCatalog, SessionSource,
    SummaryDetail,
};
use jiff::Timestamp;

use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::findings::quarantine_line;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::titles::GivenTitles;
use crate::{agent_homes, server_roots, settings, sources};

/// The catalog directory below the cache directory.
const DIRECTORY: &str = "catalog";

/// All sources, and the catalog over them.
pub(crate) struct SourceCollection {
    pub(crate) catalog: Catalog,
    pub(crate) sources: Vec<SessionSource>,
    /// The names and roots of the sources, as the user writes them.
    roots: Vec<(String, OpenRoot)>,
    /// Whether a source could not be read.
    pub(crate) is_incomplete: bool,
    /// The number of sources that could not be opened.
    pub(crate) unopened: usize,
    /// The titles that the user has given to sessions.
    titles: GivenTitles,
}

/// Returns the catalog directory, if the user has a home.
pub(crate) fn directory() -> Option<PathBuf> {
    agent_homes::own_home().map(|home| home.dirs.cache_dir.join(DIRECTORY))
}

/// Returns the catalog of the user.
pub(crate) fn own_catalog() -> Catalog {
    Catalog::new(directory().as_deref())
}

/// How long a command waits for another process that updates the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clears the catalog, and keeps other processes from filling it until [`forgotten`]. `None` if there is no catalog.
pub(crate) fn forget() -> Result<Option<ClearedCatalog>, Error> {
    let Some(dir) = directory().filter(|dir| dir.is_dir()) else { return Ok(None) };
    let failed = |error: CatalogError| {
        let what = format!("the search index in {} cannot be removed", dir.display());
        Error::new(Exit::Request, what).caused_by(error)
    };
    let start = Instant::now();
    loop {
        match ClearedCatalog::clear(&dir).map_err(failed)? {
            Some(forgotten) => return Ok(Some(forgotten)),
            None if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            None => {
                let what = "another process is updating the search index";
                return Err(Error::new(Exit::Busy, what).hint("try again when it is done"));
            }
        }
    }
}

/// Clears the catalog once more, to remove what other processes cached meanwhile.
pub(crate) fn forgotten(forgotten: Option<ClearedCatalog>) -> Result<(), Error> {
    let done = forgotten.map_or(Ok(()), ClearedCatalog::finish);
    done.map_err(|error| {
        Error::new(Exit::Request, "the search index cannot be removed").caused_by(error)
    })
}

/// Opens all sources for reading.
pub(crate) fn collection(context: &Context) -> Result<SourceCollection, Error> {
    let opened = sources::open_existing_sources(context, RootAccess::Read)?;
    let existing = sources::selected_sources(context)?;
    let existing = existing.iter().filter(|source| server_roots::may_exist(&source.path)).count();
    let unopened = existing.saturating_sub(opened.len());
    let source = |(source, root): &(sources::SourceLocation, OpenRoot)| {
        let mut groups = source.layouts(context).into_iter();
        let first = SessionSource::new(&root.path, root.store(), groups.next().unwrap_or_default());
        groups.fold(first, SessionSource::or_else).only(source.file_name())
    };
    Ok(SourceCollection {
        catalog: own_catalog(),
        sources: opened.iter().map(source).collect(),
        roots: opened.into_iter().map(|(source, root)| (source.name, root)).collect(),
        is_incomplete: false,
        unopened,
        titles: GivenTitles::load()?,
    })
}

/// Returns the sessions of one format in a root, most recently changed first.
pub(crate) fn sessions_in(
    root: &OpenRoot,
    format: &'static dyn SessionFormat,
) -> Result<Vec<CatalogSession>, Error> {
    let source = SessionSource::new(&root.path, root.store(), vec![format]);
    let mut catalog = Catalog::new(directory().as_deref());
    let mut listed = catalog.sessions(&[source], SummaryDetail::All, settings::clock());
    match listed.failed.pop() {
        Some((_, error)) => Err(error.into()),
        None => Ok(listed.sessions),
    }
}

impl SourceCollection {
    /// Returns the sessions, most recently changed first. Warns about a source that cannot be read; if it is the only
    /// one, that is an error.
    pub(crate) fn sessions(&mut self, detail: SummaryDetail) -> Result<CatalogListing, Error> {
        let mut sessions = self.catalog.sessions(&self.sources, detail, settings::clock());
        for (number, error) in sessions.failed.drain(..) {
            let error = Error::from(error);
            if self.sources.len() == 1 {
                return Err(error);
            }
            let name = self.roots.get(number).map(|(name, _)| name.as_str()).unwrap_or_default();
            Output::status(&error.saying(format!("source {name}")).to_string());
            self.is_incomplete = true;
        }
        self.titles.apply(&mut sessions.sessions);
        Ok(sessions)
    }

    /// Completes summaries that were derived from file names alone.
    pub(crate) fn complete(&self, sessions: &mut [CatalogSession]) {
        self.catalog.complete_summaries(&self.sources, sessions);
        self.titles.apply(sessions);
    }

    /// Returns the size of a session's files in bytes, if it is known.
    pub(crate) fn stored_bytes(&self, session: &CatalogSession) -> Option<u64> {
        let layout = format::find(session.summary.layout)?;
        if layout.is_external() {
            return session.stored_bytes(&self.sources);
        }
        let store = self.sources.get(session.source)?.store();
        let files = layout.session_files(store, &session.summary.session).ok()?;
        files.total_bytes(store).ok()
    }

    /// Returns the same catalog for another thread.
    pub(crate) fn another_catalog(&self) -> Catalog {
        own_catalog()
    }

    /// Returns the path of a session as the user would write it.
    pub(crate) fn shown(&self, session: &CatalogSession) -> String {
        let root = self.roots.get(session.source);
        root.map(|(_, root)| root.shown(&session.summary.session.path)).unwrap_or_default()
    }

    /// Returns the sources that have a quarantine, so that it is not looked for once per session.
    pub(crate) fn sources_with_quarantine(&self) -> BTreeSet<usize> {
        let has_quarantine = |root: &OpenRoot| {
            let found = root.store().stat(&quarantine_dir());
            !matches!(found, Ok(None) | Err(StoreError::Missing { .. }))
        };
        let roots = self.roots.iter().enumerate();
        roots.filter(|(_, (_, root))| has_quarantine(root)).map(|(source, _)| source).collect()
    }

    /// Returns a line about the quarantine of a session, unless it is empty.
    pub(crate) fn quarantine_line(&self, session: &CatalogSession) -> Option<String> {
        let (_, root) = self.roots.get(session.source)?;
        let layout = format::find(session.summary.layout)?;
        quarantine_line(&root.store(), layout, &session.summary.session)
    }

    /// Returns the name and the path of a source.
    pub(crate) fn named(&self, source: usize) -> (&str, String) {
        self.roots
            .get(source)
            .map_or(("", String::new()), |(name, root)| (name, root.path.display().to_string()))
    }

    /// Returns the paths of all sources, for messages.
    pub(crate) fn place(&self) -> String {
        let paths: Vec<String> =
            self.roots.iter().map(|(_, root)| root.path.display().to_string()).collect();
        paths.join(", ")
    }

    /// Returns the paths of all sources for the end of a message; empty if there are none.
    pub(crate) fn in_places(&self) -> String {
        let place = self.place();
        if place.is_empty() { place } else { format!(" in {place}") }
    }

    /// Prints the problems of the catalog.
    pub(crate) fn mention_notes(&mut self) {
        for note in self.catalog.take_notes() {
            Output::status(&note);
        }
    }
}

/// Names sessions as commands accept them: by ID if it is unique, else by path.
pub(crate) struct SessionNames(HashSet<String>);

impl SessionNames {
    /// Collects the IDs that several sessions share.
    pub(crate) fn new(sessions: &CatalogListing) -> SessionNames {
        let mut seen = HashSet::new();
        let ids = sessions.sessions.iter().map(|session| &session.summary.session.id);
        SessionNames(ids.filter(|id| !seen.insert(*id)).cloned().collect())
    }

    /// Returns whether several sessions share an ID.
    pub(crate) fn is_shared(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    pub(crate) fn of(&self, session: &CatalogSession, collection: &SourceCollection) -> String {
        let id = &session.summary.session.id;
        if !self.is_shared(id) && !id.contains(['/', '#']) {
            return id.clone();
        }
        collection.shown(session)
    }
}

/// Parses a time given as an option.
pub(crate) fn date(
    text: &str,
    flag: &str,
    now: Timestamp,
) -> Result<everturn_catalog::DatePeriod, Error> {
    everturn_catalog::parse_period(text, now).ok_or_else(|| {
        Error::new(Exit::Request, format!("{flag}: {text:?} is not a date"))
            .hint("write 2026-01-03, 2026-01, yesterday, 3d or 2w")
    })
}

/// Formats how long ago a time was, in few characters.
pub(crate) fn age(time: Option<Timestamp>, now: Timestamp) -> String {
    let Some(time) = time else { return "?".to_owned() };
    let seconds = now.as_second().saturating_sub(time.as_second());
    match seconds {
        ..0 => "soon".to_owned(),
        0..60 => "now".to_owned(),
        60..3600 => format!("{}min", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..1_209_600 => format!("{}d", seconds / 86_400),
        1_209_600..31_536_000 => format!("{}w", seconds / 604_800),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let now: Timestamp = "2026-03-10T12:00:00Z".parse().unwrap();
        for (time, expect) in [
            ("2026-03-10T12:00:01Z", "soon"),
            ("2026-03-10T11:59:30Z", "now"),
            ("2026-03-10T11:01:00Z", "59min"),
            ("2026-03-09T12:00:01Z", "23h"),
            ("2026-03-09T12:00:00Z", "1d"),
            ("2026-02-10T12:00:00Z", "4w"),
            ("2024-02-10T12:00:00Z", "2y"),
        ] {
            assert_eq!(age(time.parse().ok(), now), expect, "{time}");
        }
        assert_eq!(age(None, now), "?");
    }
}
