//! [`Root`] is a directory of sessions; it finds, creates and opens them.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_maintenance::registry;
use everturn_session::format::{LATEST, SessionFormat, sort_newest_first};
use everturn_session::model::{SessionRef, SessionSummary};
use everturn_store::disk::{Disk, RealDisk};
use everturn_store::{FileStore, LockOwner, Options, Store};
use jiff::Timestamp;

use crate::check_report::CheckReport;
use crate::error::Error;
use crate::session::{AnySession, FormatTag, Session};

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A directory of sessions, open for reading and writing. Cloning it is cheap.
///
/// `Root::open` opens a directory, and `root.open` a session in it: the methods for sessions are those of
/// [`RootSessions`], to which a root dereferences. Any number of processes may have the same directory open. Each session
/// has one writer at a time.
#[derive(Debug, Clone)]
pub struct Root {
    sessions: RootSessions,
}

impl Deref for Root {
    type Target = RootSessions;

    fn deref(&self) -> &RootSessions {
        &self.sessions
    }
}

/// The sessions of a [`Root`].
#[derive(Clone)]
pub struct RootSessions {
    path: PathBuf,
    store: Arc<dyn Store>,
    clock: Clock,
}

impl fmt::Debug for RootSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootSessions").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The sessions of a [`Root`], and what could not be read.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    /// The sessions, most recently changed first. One that cannot be read is listed with the status `unknown`.
    pub sessions: Vec<SessionSummary>,
    /// The files and names that could not be read as sessions.
    pub findings: Vec<Finding>,
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
    pub fn with_store(self, path: impl AsRef<Path>, store: Arc<dyn Store>) -> Root {
        let path = path.as_ref().to_owned();
        Root { sessions: RootSessions { path, store, clock: self.clock } }
    }

    /// Opens an existing directory for reading: nothing is ever written.
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Root, Error> {
        let path = path.as_ref();
        let disk = disk_of_root(path, RealDisk::open(path))?;
        let files = FileStore::open_read_only(disk)?;
        Ok(self.with_store(path, Arc::new(files)))
    }

    fn open_on(self, path: &Path, disk: std::io::Result<RealDisk>) -> Result<Root, Error> {
        let disk = disk_of_root(path, disk)?;
        let (pid, started) =
            self.owner.unwrap_or_else(|| (std::process::id(), (self.clock)().to_string()));
        let files = FileStore::open(disk, Options::new(LockOwner { pid, started }))?;
        Ok(RootBuilder { owner: None, ..self }.with_store(path, Arc::new(files)))
    }
}

fn disk_of_root(path: &Path, disk: std::io::Result<RealDisk>) -> Result<Arc<dyn Disk>, Error> {
    match disk {
        Ok(disk) => Ok(Arc::new(disk)),
        Err(source) => Err(Error::Root { path: path.to_owned(), source }),
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

    /// Opens an existing directory for reading: nothing is ever written.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Root, Error> {
        Root::builder().open_read_only(path)
    }

    /// A builder for a root with another clock, for tests.
    #[must_use]
    pub fn builder() -> RootBuilder {
        RootBuilder { clock: Arc::new(Timestamp::now), owner: None }
    }

    /// Closes the root. Dropping it does the same, but ignores errors.
    pub fn close(self) -> Result<(), Error> {
        self.checkpoint()
    }
}

impl RootSessions {
    /// Creates a session. Fails if the ID is taken.
    pub fn create<F: FormatTag>(&self, id: &str) -> Result<Session<F>, Error> {
        Session::create(&self.root(), id)
    }

    /// Opens a session by its ID, its path below the root, or `latest`.
    pub fn open<F: FormatTag>(&self, name: &str) -> Result<Session<F>, Error> {
        Session::open(&self.root(), name)
    }

    /// Opens a session, and creates it if it does not exist.
    pub fn open_or_create<F: FormatTag>(&self, id: &str) -> Result<Session<F>, Error> {
        Session::open_or_create(&self.root(), id)
    }

    fn root(&self) -> Root {
        Root { sessions: self.clone() }
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

    /// The sessions of all of Everturn's own formats, most recently changed first. [`RootSessions::list`] also returns what could
    /// not be read, and [`RootSessions::external_sessions`] lists the sessions of other programs.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.list()?.sessions)
    }

    /// The sessions of all of Everturn's own formats, and what could not be read.
    pub fn list(&self) -> Result<SessionList, Error> {
        self.list_formats(registry::ALL)
    }

    /// The sessions of other programs below this directory, such as `~/.claude` or `~/.codex`. [`RootSessions::find`] finds only
    /// sessions of Everturn's own formats; [`RootSessions::session_at`] opens one of these.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use everturn::{Root, format};
    ///
    /// let root = Root::open_read_only(dir.path())?;
    /// for found in root.external_sessions()?.sessions {
    ///     let program = format::find(found.layout).ok_or("unknown format")?;
    ///     for entry in root.session_at(program, found.session).entries(..)? {
    ///         println!("{}", entry?.text);
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn external_sessions(&self) -> Result<SessionList, Error> {
        self.list_formats(registry::EXTERNAL)
    }

    fn list_formats(&self, formats: &[&dyn SessionFormat]) -> Result<SessionList, Error> {
        let mut list = SessionList::default();
        for format in formats {
            let (sessions, findings) = format.list(&self.store)?;
            list.sessions.extend(sessions);
            list.findings.extend(findings);
        }
        sort_newest_first(
            &mut list.sessions,
            |summary| summary,
            |summary| Some((registry::find(summary.layout)?, Arc::clone(&self.store))),
        );
        Ok(list)
    }

    /// Checks every file in the directory, whatever program it belongs to. Nothing is written.
    pub fn check(&self) -> Result<CheckReport, Error> {
        CheckReport::of(&self.store, &FilePath::root())
    }

    /// A session whose format and place are known already, such as one of another program.
    #[must_use]
    pub fn session_at(&self, format: &'static dyn SessionFormat, place: SessionRef) -> AnySession {
        AnySession::at(&self.root(), format, place)
    }

    /// Opens a session of any format by its ID, its path below the root, or `latest`.
    pub fn find(&self, name: &str) -> Result<AnySession, Error> {
        AnySession::open(&self.root(), name)
    }

    pub(crate) fn resolve(
        &self,
        name: &str,
        wanted: Option<&'static str>,
    ) -> Result<(&'static dyn SessionFormat, SessionRef), Error> {
        let found = if name == LATEST { self.latest(wanted)? } else { self.named(name)? };
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

    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.store.checkpoint()?)
    }
}
