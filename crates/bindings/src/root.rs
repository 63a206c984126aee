//! [`RootBinding`]: a directory of sessions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use everturn::format::{Operation, Transition};
use everturn::model::NewSession;
use everturn::tree::JsonTree;
use everturn::{Error, Root, SessionSummary, format};
use everturn_requests::{ErrorCode, RequestError};
use serde_json::{Value, json};

use crate::files::FilesBinding;
use crate::idle::{HoldsLock, IdleLocks};
use crate::process_bound::ProcessBound;
use crate::search;
use crate::session::SessionBinding;
use crate::thread::ThreadBinding;
use crate::thread_names::{thread_id, thread_key};

/// How long a write waits for another process by default.
const WAIT: Duration = Duration::from_secs(5);

/// From this number on, threads without other references are forgotten.
const MOST_THREADS: usize = 1024;

/// How a root is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The directory must exist.
    Open,
    /// The directory is created if it does not exist.
    Create,
    /// Nothing is ever written.
    ReadOnly,
}

/// A directory of sessions.
pub struct RootBinding {
    path: String,
    root: ProcessBound<Root>,
    /// The threads in use, so that one process has one lock for each and reads it once.
    threads: ProcessBound<HashMap<String, Arc<ThreadBinding>>>,
    idle: IdleLocks,
    wait: Duration,
}

impl RootBinding {
    /// Opens a root. Commits of dead processes are recovered first.
    pub fn open(path: &Path, mode: OpenMode) -> Result<RootBinding, RequestError> {
        let root = match mode {
            OpenMode::Open => Root::open(path),
            OpenMode::Create => Root::open_or_create(path),
            OpenMode::ReadOnly => Root::builder().open_read_only(path),
        };
        let root =
            root.map_err(|error| RequestError::from(error).at(path.display().to_string()))?;
        Ok(RootBinding {
            path: path.display().to_string(),
            root: ProcessBound::new(root),
            threads: ProcessBound::new(HashMap::new()),
            idle: IdleLocks::default(),
            wait: WAIT,
        })
    }

    /// Sets how long a write waits for another process.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> RootBinding {
        RootBinding { wait, ..self }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    fn root(&self) -> Result<Root, RequestError> {
        self.root.with(|root| Ok(root.clone()))
    }

    /// The sessions of every format, most recently changed first.
    pub fn sessions(&self) -> Result<String, RequestError> {
        let sessions = self.root()?.sessions()?;
        Ok(Value::Array(sessions.iter().map(summary_value).collect()).to_string())
    }

    /// Searches all sessions. Returns a list of hits, best match first.
    pub fn search(&self, query: &str, limit: usize) -> Result<String, RequestError> {
        search::search(&self.root()?, query, limit)
    }

    /// Opens a session by its ID, its path below the root, or `latest`. Fails if it has another format than the given
    /// one.
    pub fn open_session(
        &self,
        name: &str,
        wanted: Option<&str>,
    ) -> Result<SessionBinding, RequestError> {
        let session = self.root()?.find(name)?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != session.format()) {
            let what = format!(
                "session {} is a {} session, not a {wanted} session",
                session.id(),
                session.format()
            );
            return Err(RequestError::new(ErrorCode::BadRequest, what));
        }
        Ok(SessionBinding::new(session, self.wait))
    }

    /// Creates a session. An empty ID is replaced by a new one; `fields` are further fields that the format understands.
    pub fn create_session(
        &self,
        format: &str,
        id: &str,
        title: Option<&str>,
        fields: &str,
    ) -> Result<SessionBinding, RequestError> {
        let known = format::find(format).ok_or_else(|| {
            let names: Vec<&str> = format::ALL.iter().map(|format| format.name()).collect();
            RequestError::new(ErrorCode::BadRequest, format!("there is no format {format:?}"))
                .hint(format!("formats: {}", names.join(", ")))
        })?;
        let bad = |error: String| RequestError::new(ErrorCode::BadJson, error).at("fields");
        let fields = JsonTree::parse(fields).map_err(|error| bad(error.to_string()))?;
        let name = title.map(str::to_owned);
        let new = NewSession { id: id.to_owned(), name, config: None, fields };
        let session = self.root()?.create_with_format(known, &new)?;
        Ok(SessionBinding::new(session, self.wait))
    }

    /// Moves a session to the trash, and returns its name there.
    pub fn trash(&self, name: &str) -> Result<String, RequestError> {
        let mut session = self.root()?.find(name)?;
        let outcome = session.transition(Transition::Trash)?;
        Ok(outcome.trashed.unwrap_or_default())
    }

    /// Restores a session from the trash, and returns its ID.
    pub fn restore(&self, name: &str) -> Result<String, RequestError> {
        let root = self.root()?;
        let mut failed = None;
        for format in format::ALL {
            let Ok(lifecycle) = format.lifecycle(Operation::Restore) else { continue };
            let trashed = lifecycle.list_trash(root.store()).map_err(Error::from)?;
            if trashed.iter().any(|trashed| trashed.name == name) {
                match lifecycle.restore(root.store(), name) {
                    Ok(place) => return Ok(place.id),
                    Err(error) => failed = Some(Error::from(error).into()),
                }
            }
        }
        let what = format!("there is nothing called {name:?} in the trash");
        Err(failed.unwrap_or_else(|| RequestError::new(ErrorCode::NotFound, what)))
    }

    /// A thread, which need not exist yet. Any text is a valid key.
    pub fn thread(&self, key: &str) -> Result<Arc<ThreadBinding>, RequestError> {
        let (root, id) = (self.root()?, thread_id(key)?);
        self.threads.with(|threads| {
            if let Some(thread) = threads.get(key) {
                return Ok(Arc::clone(thread));
            }
            if threads.len() >= MOST_THREADS {
                threads.retain(|_, thread| Arc::strong_count(thread) > 1);
            }
            let thread = Arc::new(ThreadBinding::new(&root, id, self.wait));
            threads.insert(key.to_owned(), Arc::clone(&thread));
            let holder: Arc<dyn HoldsLock> = thread.clone();
            self.idle.add(Arc::downgrade(&holder));
            Ok(thread)
        })
    }

    /// The keys of all threads.
    pub fn thread_keys(&self) -> Result<Vec<String>, RequestError> {
        let root = self.root()?;
        let found = everturn::thread::FORMAT.locate(root.store()).map_err(Error::from)?;
        Ok(found.sessions.iter().map(|place| thread_key(&place.id)).collect())
    }

    /// Atomic commits of plain files below a directory.
    pub fn files(&self, dir: &str) -> Result<Arc<FilesBinding>, RequestError> {
        let files = Arc::new(FilesBinding::new(&self.root()?, dir, self.wait)?);
        let holder: Arc<dyn HoldsLock> = files.clone();
        self.idle.add(Arc::downgrade(&holder));
        Ok(files)
    }

    /// Closes the root. Does nothing if it is closed.
    pub fn close(&self) -> Result<(), RequestError> {
        if let Some(threads) = self.threads.take()? {
            for thread in threads.values() {
                thread.release()?;
            }
        }
        match self.root.take()? {
            Some(root) => Ok(root.close()?),
            None => Ok(()),
        }
    }
}

fn summary_value(summary: &SessionSummary) -> Value {
    json!({
        "id": summary.session.id,
        "format": summary.layout,
        "title": summary.title,
        "status": summary.status.as_str(),
        "turns": summary.turns,
        "created": summary.created.map(|time| time.to_string()),
        "updated": summary.updated.map(|time| time.to_string()),
        "parent": summary.parent,
        "path": summary.session.path.to_string(),
    })
}
