//! [`Root`] is a directory of sessions. It finds, creates and opens them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_maintenance::registry;
use everturn_session::format::SessionFormat;
use everturn_session::model::{SessionRef, SessionSummary};
use everturn_store::disk::{Disk, RealDisk};
use everturn_store::{FileStore, LockOwner, Options, Store};
use jiff::Timestamp;

use crate::error::Error;
use crate::session::AnySession;

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A directory of sessions, open for reading and writing. Cloning it is cheap.
///
/// Any number of processes may have the same directory open. Each session has one writer at a time.
#[derive(Clone)]
pub struct Root {
    path: PathBuf,
    store: Arc<dyn Store>,
    files: FileStore,
    clock: Clock,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Opens a [`Root`] with a custom clock and a custom process description.
pub struct RootBuilder {
    clock: Clock,
    owner: Option<(u32, String)>,
}

impl RootBuilder {
    /// Uses `clock` instead of the system time.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> RootBuilder {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the process description in lock files: the process ID and the start time.
    #[must_use]
    pub fn owner(mut self, pid: u32, started: impl Into<String>) -> RootBuilder {
        self.owner = Some((pid, started.into()));
        self
    }

    /// Opens an existing directory.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Root, Error> {
        let path = path.as_ref();
        self.open_on(path, RealDisk::open(path))
    }

    /// Opens a directory, and creates it if it does not exist.
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<Root, Error> {
        let path = path.as_ref();
        self.open_on(path, RealDisk::create(path))
    }

    /// A root over a store that is open already, with its own options; it may be read-only.
    #[must_use]
    pub fn with_store(self, path: impl AsRef<Path>, files: FileStore) -> Root {
        let store: Arc<dyn Store> = Arc::new(files.clone());
        Root { path: path.as_ref().to_owned(), store, files, clock: self.clock }
    }

    /// Opens an existing directory for reading: nothing is ever written.
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Root, Error> {
        let path = path.as_ref();
        let failed = |source| Error::Root { path: path.to_owned(), source };
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(path).map_err(failed)?);
        let files = FileStore::open_read_only(disk)?;
        Ok(self.with_store(path, files))
    }

    fn open_on(self, path: &Path, disk: std::io::Result<RealDisk>) -> Result<Root, Error> {
        let failed = |source| Error::Root { path: path.to_owned(), source };
        let disk: Arc<dyn Disk> = Arc::new(disk.map_err(failed)?);
        let (pid, started) =
            self.owner.unwrap_or_else(|| (std::process::id(), (self.clock)().to_string()));
        let files = FileStore::open(disk, Options::new(LockOwner { pid, started }))?;
        Ok(RootBuilder { owner: None, ..self }.with_store(path, files))
    }
}

impl Root {
    /// Opens an existing directory. Commits of dead processes are recovered first.
    pub fn open(path: impl AsRef<Path>) -> Result<Root, Error> {
        Root::builder().open(path)
    }

    /// Opens a directory, and creates it if it does not exist.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Root, Error> {
        Root::builder().open_or_create(path)
    }

    /// A builder for a root with another clock, for tests.
    #[must_use]
    pub fn builder() -> RootBuilder {
        RootBuilder { clock: Arc::new(Timestamp::now), owner: None }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The underlying store, for operations that this type lacks.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The present time, by the clock of this root.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The sessions of every format, most recently changed first. [`Root::list`] also returns what could not be read.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.list()?.0)
    }

    /// The sessions of every format, most recently changed first, and the files that could not be read as sessions.
    pub fn list(&self) -> Result<(Vec<SessionSummary>, Vec<Finding>), Error> {
        let (mut sessions, mut findings) = (Vec::new(), Vec::new());
        for format in registry::ALL {
            let (found, noticed) = format.list(&self.store)?;
            sessions.extend(found);
            findings.extend(noticed);
        }
        sessions.sort_by_key(|found| std::cmp::Reverse(found.updated));
        Ok((sessions, findings))
    }

    /// A session whose format and place are known already, such as one of another program.
    #[must_use]
    pub fn session_at(&self, format: &'static dyn SessionFormat, place: SessionRef) -> AnySession {
        AnySession::at(self, format, place)
    }

    /// Opens a session of any format by its ID, its path below the root, or `latest`.
    pub fn find(&self, name: &str) -> Result<AnySession, Error> {
        AnySession::open(self, name)
    }

    pub(crate) fn resolve(
        &self,
        name: &str,
        wanted: Option<&'static str>,
    ) -> Result<(&'static dyn SessionFormat, SessionRef), Error> {
        let found = if name == "latest" { self.latest(wanted)? } else { self.named(name)? };
        let mut of_format: Vec<_> =
            found.iter().filter(|(format, _)| wanted.is_none_or(|w| w == format.name())).collect();
        match (of_format.pop(), of_format.is_empty(), found.first()) {
            (Some((format, place)), true, _) => Ok((*format, place.clone())),
            (Some(_), false, _) => {
                let paths = found.iter().map(|(_, place)| place.path.to_string()).collect();
                Err(Error::Ambiguous { name: name.to_owned(), paths })
            }
            (None, _, Some((format, place))) => Err(Error::Format {
                id: place.id.clone(),
                found: format.name(),
                wanted: wanted.unwrap_or_default(),
            }),
            (None, _, None) => {
                let known = self.sessions()?.into_iter().map(|found| found.session.id).collect();
                Err(Error::NoSession { name: name.to_owned(), known })
            }
        }
    }

    fn latest(
        &self,
        wanted: Option<&'static str>,
    ) -> Result<Vec<(&'static dyn SessionFormat, SessionRef)>, Error> {
        let is_wanted = |found: &SessionSummary| wanted.is_none_or(|wanted| wanted == found.layout);
        let latest = self.sessions()?.into_iter().find(is_wanted);
        let latest = latest.and_then(|found| Some((registry::find(found.layout)?, found.session)));
        Ok(latest.into_iter().collect())
    }

    /// The sessions with this ID, or at this path.
    fn named(&self, name: &str) -> Result<Vec<(&'static dyn SessionFormat, SessionRef)>, Error> {
        let path = FilePath::parse(name).ok();
        let mut found = Vec::new();
        for format in registry::ALL {
            for place in format.locate(&self.store)?.sessions {
                if place.id == name || Some(&place.path) == path.as_ref() {
                    found.push((*format, place));
                }
            }
        }
        Ok(found)
    }

    /// Closes the root. Dropping it does the same, but ignores errors.
    pub fn close(self) -> Result<(), Error> {
        self.checkpoint()
    }

    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.files.checkpoint()?)
    }
}
