//! Roots with sessions, and a catalog over them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use everturn::disk::RealDisk;
use everturn::format::{self, SessionFormat};
use everturn::model::{NewSession, SessionRef};
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn::tree::JsonTree;
use everturn_catalog::{
    Catalog, CatalogListing, Query, SearchResults, SessionSource, SortOrder, SummaryDetail,
    UpdateReport, hit_entry, open_session,
};
use everturn_samples::{formats, sample};
use jiff::Timestamp;
use tempfile::TempDir;

/// A root, and a directory for the catalog.
pub(crate) struct World {
    pub(crate) place: TempDir,
    pub(crate) store: Arc<dyn Store>,
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

/// A time after every file change of a test, so that stamps are stable.
pub(crate) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(60)
}

/// Returns a turn of a format with this text.
pub(crate) fn turn(layout: &str, text: &str) -> String {
    sample(layout).message(text)
}

/// The formats that are searched: all of them.
pub(crate) fn layouts() -> Vec<&'static str> {
    formats().collect()
}

pub(crate) fn named(name: &str) -> &'static dyn SessionFormat {
    format::find(name).unwrap()
}

impl World {
    pub(crate) fn new() -> World {
        let place = tempfile::tempdir().unwrap();
        let store = open_store(&place.path().join("root"));
        World { place, store }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.place.path().join("cache")
    }

    /// Creates a session with these texts.
    pub(crate) fn session(&self, layout: &str, id: &str, texts: &[&str]) -> SessionRef {
        let fields = sample(layout).fields;
        let new =
            NewSession { fields: JsonTree::parse(fields).unwrap(), ..NewSession::with_id(id) };
        let mut editor =
            named(layout).capabilities().editing.unwrap().create(&self.store, &new, at(0)).unwrap();
        for (number, text) in (1..).zip(texts) {
            editor.append(&turn(layout, text), at(number * 60)).unwrap();
        }
        let place = editor.session_ref();
        editor.close(at(3600)).unwrap();
        place
    }

    /// Appends a turn to a session.
    pub(crate) fn say(&self, layout: &str, place: &SessionRef, text: &str) {
        let mut editor =
            named(layout).capabilities().editing.unwrap().edit(&self.store, place).unwrap();
        editor.append(&turn(layout, text), at(7200)).unwrap();
        editor.close(at(7200)).unwrap();
    }

    pub(crate) fn sources(&self) -> Vec<SessionSource> {
        vec![SessionSource::new(&self.root(), Arc::clone(&self.store), format::ALL.to_vec())]
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::new(Some(&self.cache()))
    }

    /// Updates the index, as a new process would.
    pub(crate) fn update(&self) -> UpdateReport {
        let (mut catalog, sources) = (self.catalog(), self.sources());
        let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
        let updated = catalog.update(&sources, &sessions, later(), &mut |_| {});
        assert_eq!(catalog.take_notes(), Vec::<String>::new());
        updated
    }

    /// Returns the hits after an update, as `session turn: text`, and the notes.
    pub(crate) fn find(&self, query: &str) -> (Vec<String>, Vec<String>) {
        let mut catalog = self.catalog();
        let found = self.find_with(&mut catalog, query, SortOrder::Date);
        (found, catalog.take_notes())
    }

    pub(crate) fn find_with(
        &self,
        catalog: &mut Catalog,
        query: &str,
        sort: SortOrder,
    ) -> Vec<String> {
        let sources = self.sources();
        let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
        catalog.update(&sources, &sessions, later(), &mut |_| {});
        let query = Query::parse(query, at(86_400)).unwrap();
        let found = catalog.search(&sources, &sessions, &query, (1000, sort));
        shown(&sources, &sessions, &found)
    }

    /// Asserts the hits, in any order.
    #[track_caller]
    pub(crate) fn check(&self, query: &str, expect: &[&str]) {
        let (mut found, notes) = self.find(query);
        found.sort();
        let mut expect = expect.to_vec();
        expect.sort_unstable();
        assert_eq!(found, expect, "{query}");
        assert_eq!(notes, Vec::<String>::new(), "{query}");
    }
}

fn open_store(root: &Path) -> Arc<dyn Store> {
    let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
    let disk = Arc::new(RealDisk::create(root).unwrap());
    Arc::new(FileStore::open(disk, Options::new(owner)).unwrap())
}

/// Formats hits as `session turn: text`.
pub(crate) fn shown(
    sources: &[SessionSource],
    sessions: &CatalogListing,
    found: &SearchResults,
) -> Vec<String> {
    let show = |hit: &everturn_catalog::SearchHit| {
        let session = &sessions.sessions[hit.session];
        let reader = open_session(sources, session).unwrap().unwrap();
        let entry = hit_entry(&*reader, hit).unwrap().unwrap();
        format!("{} {}: {}", session.summary.session.id, hit.turn, entry.text)
    };
    found.hits.iter().map(show).collect()
}
