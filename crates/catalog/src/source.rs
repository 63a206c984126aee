//! Where sessions come from ([`SessionSource`]), and what is known of each ([`CatalogSession`], [`CatalogListing`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::finding::Finding;
use everturn::format::{SessionError, SessionFormat, sort_newest_first};
use everturn::model::{SessionRef, SessionSummary};
use everturn::names::FilePath;
use everturn::store::Store;

use crate::catalog_dir::canonical;
use crate::query::{Query, SessionField, SessionFilter};
use crate::words::folded;

/// A root, and the formats to look for in it.
#[derive(Clone)]
pub struct SessionSource {
    /// The directory, without links in its path, which identifies the source.
    pub(crate) root: PathBuf,
    /// The store that is read.
    pub(crate) store: Arc<dyn Store>,
    /// The formats to look for, in groups: a group is used only if the groups before it found nothing.
    pub(crate) layouts: Vec<Vec<&'static dyn SessionFormat>>,
    /// The only file or directory below the root that belongs to the source; `None` if all do.
    pub(crate) only: Option<String>,
}

impl SessionSource {
    /// Creates a source for the sessions of these formats below a directory, which `store` reads.
    #[must_use]
    pub fn new(
        root: &Path,
        store: Arc<dyn Store>,
        layouts: Vec<&'static dyn SessionFormat>,
    ) -> SessionSource {
        SessionSource { root: canonical(root), store, layouts: vec![layouts], only: None }
    }

    /// Adds formats to look for if the earlier ones find nothing.
    #[must_use]
    pub fn or_else(mut self, layouts: Vec<&'static dyn SessionFormat>) -> SessionSource {
        self.layouts.push(layouts);
        self
    }

    /// Restricts the source to one file or directory below the root.
    #[must_use]
    pub fn only(mut self, name: Option<&str>) -> SessionSource {
        self.only = name.map(str::to_owned);
        self
    }

    pub(crate) fn covers(&self, place: &SessionRef) -> bool {
        let first = place.path.as_str().split('/').next();
        self.only.as_ref().is_none_or(|only| first == Some(only.as_str()))
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The directory, without links in its path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn layout(&self, name: &str) -> Option<&'static dyn SessionFormat> {
        self.layouts.iter().flatten().copied().find(|layout| layout.name() == name)
    }
}

/// A session of a source.
#[derive(Debug, Clone)]
pub struct CatalogSession {
    /// The index of its source.
    pub source: usize,
    /// The summary of the session.
    pub summary: SessionSummary,
    /// The project directory of its agent.
    pub project: Option<String>,
    /// The files that its entries come from.
    pub(crate) entries: Vec<FilePath>,
    /// The append-only file among them.
    pub(crate) log: Option<FilePath>,
}

/// The sessions of all sources, most recently changed first.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// The sessions.
    pub sessions: Vec<CatalogSession>,
    /// Files and directories that could not be read.
    pub findings: Vec<Finding>,
    /// The sources that could not be read, by index. They do not hide the others.
    pub failed: Vec<(usize, SessionError)>,
}

impl CatalogSession {
    /// Returns whether the session passes the filters of a query.
    pub(crate) fn matches_query(&self, query: &Query, root: &Path) -> bool {
        query.sessions.iter().all(|filter| self.passes_filter(filter, root) != filter.absent)
    }

    fn passes_filter(
        &self,
        SessionFilter { field, value, .. }: &SessionFilter,
        root: &Path,
    ) -> bool {
        let SessionSummary { session: place, layout, title, status, .. } = &self.summary;
        match field {
            SessionField::Layout => layout == value,
            SessionField::Session => {
                place.id.starts_with(value.as_str())
                    || place.path.as_str() == value
                    || is_at(Path::new(value), root, Path::new(place.path.as_str()))
            }
            SessionField::Status => status.as_str() == value,
            SessionField::Title => folded(title).contains(value.as_str()),
            SessionField::Project => self
                .project
                .as_ref()
                .is_some_and(|project| folded(project).contains(value.as_str())),
        }
    }
}

/// Returns whether a path refers to a session at `place` below a root. Only the path of the root is resolved on disk:
/// a session may be less than a file.
fn is_at(path: &Path, root: &Path, place: &Path) -> bool {
    let above = path.ancestors().nth(place.components().count());
    path.ends_with(place) && above.is_some_and(|above| canonical(above) == root)
}

/// Sorts sessions, most recently changed first.
pub(crate) fn newest_first(sources: &[SessionSource], sessions: &mut [CatalogSession]) {
    sort_newest_first(
        sessions,
        |session| &session.summary,
        |session| {
            let source = sources.get(session.source)?;
            Some((source.layout(session.summary.layout)?, Arc::clone(&source.store)))
        },
    );
}
