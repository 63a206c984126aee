//! Where sessions come from, and what is known of each of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::finding::Finding;
use everturn::format::{SessionError, SessionFormat};
use everturn::model::{SessionRef, SessionSummary};
use everturn::names::FilePath;
use everturn::store::Store;

use crate::catalog_dir::canonical;
use crate::query::{Query, SessionField, SessionFilter};
use crate::words::folded;

/// A root, and the layouts that are looked for in it.
#[derive(Clone)]
pub struct SessionSource {
    /// The directory, without links in it: the catalog knows the source by it.
    pub(crate) root: PathBuf,
    /// What is read.
    pub(crate) store: Arc<dyn Store>,
    /// What is looked for, in groups: the next one counts if those before have nothing.
    pub(crate) layouts: Vec<Vec<&'static dyn SessionFormat>>,
    /// The one file or directory below the root that belongs to the source, if not all of them do.
    pub(crate) only: Option<String>,
}

impl SessionSource {
    /// The sessions of these layouts below a directory, which `store` reads.
    #[must_use]
    pub fn new(
        root: &Path,
        store: Arc<dyn Store>,
        layouts: Vec<&'static dyn SessionFormat>,
    ) -> SessionSource {
        SessionSource { root: canonical(root), store, layouts: vec![layouts], only: None }
    }

    /// Looks for other layouts if there is nothing of those before.
    #[must_use]
    pub fn or_else(mut self, layouts: Vec<&'static dyn SessionFormat>) -> SessionSource {
        self.layouts.push(layouts);
        self
    }

    /// Takes only what is in one file or directory below the root.
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

    /// The directory, without links in it.
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
    /// Which of the sources it belongs to.
    pub source: usize,
    /// What can be said of it at a glance.
    pub summary: SessionSummary,
    /// The directory on which its agent works.
    pub project: Option<String>,
    /// Where its entries come from.
    pub(crate) entries: Vec<FilePath>,
    /// The one of these to which entries are only ever added.
    pub(crate) log: Option<FilePath>,
}

/// The sessions of all sources, the last one to be changed first.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// The sessions.
    pub sessions: Vec<CatalogSession>,
    /// What could not be looked at.
    pub findings: Vec<Finding>,
    /// The sources that could not be read, by their numbers. They hide no other.
    pub failed: Vec<(usize, SessionError)>,
}

impl CatalogSession {
    /// Whether it is what the filters of a query ask for.
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
            SessionField::Status => status == value,
            SessionField::Title => folded(title).contains(value.as_str()),
            SessionField::Project => self
                .project
                .as_ref()
                .is_some_and(|project| folded(project).contains(value.as_str())),
        }
    }
}

/// Whether a path leads to what is at a place below a root. Only the way to the root can be asked about: a session may
/// be less than a file.
fn is_at(path: &Path, root: &Path, place: &Path) -> bool {
    let above = path.ancestors().nth(place.components().count());
    path.ends_with(place) && above.is_some_and(|above| canonical(above) == root)
}

/// The last one to be changed comes first.
pub(crate) fn newest_first(sessions: &mut [CatalogSession]) {
    sessions.sort_by(|a, b| {
        let key = |session: &CatalogSession| session.summary.updated;
        key(b).cmp(&key(a)).then_with(|| a.summary.session.cmp(&b.summary.session))
    });
}
