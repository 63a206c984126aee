//! [`SourceSlot`]: a source, opened when it is first needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everturn::Root;
use everturn::disk::RealDisk;
use everturn::format::SessionError;
use everturn::store::{FileStore, LockOwner, Options, Store};
use everturn_catalog::SessionSource;
use jiff::Timestamp;

use crate::options::ServedSource;
use crate::problem::Problem;

/// How a source is open.
enum OpenStore {
    Not,
    ForReading(Arc<dyn Store>),
    ForWriting(Arc<dyn Store>),
}

/// A source.
pub(crate) struct SourceSlot {
    source: ServedSource,
    open: Mutex<OpenStore>,
}

impl SourceSlot {
    pub(crate) fn new(source: ServedSource) -> SourceSlot {
        SourceSlot { source, open: Mutex::new(OpenStore::Not) }
    }

    fn state(&self) -> MutexGuard<'_, OpenStore> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cannot_open(&self, cause: impl std::fmt::Display) -> Problem {
        Problem::not_found(format!("source {} cannot be opened: {cause}", self.source.name))
    }

    /// The store, for reading.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Problem> {
        let mut state = self.state();
        if let OpenStore::ForReading(store) | OpenStore::ForWriting(store) = &*state {
            return Ok(Arc::clone(store));
        }
        let store: Arc<dyn Store> = match &self.source.server {
            Some(server) => server.open(false).map_err(|cause| self.cannot_open(cause))?,
            None => {
                let disk = RealDisk::open(&self.source.dir);
                let disk = Arc::new(disk.map_err(|error| self.cannot_open(error))?);
                Arc::new(FileStore::open_read_only(disk).map_err(SessionError::from)?)
            }
        };
        *state = OpenStore::ForReading(Arc::clone(&store));
        Ok(store)
    }

    /// Opens the store for writing.
    fn open_to_write(&self, owner: &LockOwner) -> Result<Arc<dyn Store>, Problem> {
        if let Some(server) = &self.source.server {
            return server.open(true).map_err(|cause| self.cannot_open(cause));
        }
        let disk = match self.source.is_main {
            true => RealDisk::create(&self.source.dir),
            false => RealDisk::open(&self.source.dir),
        };
        let disk = Arc::new(disk.map_err(|error| self.cannot_open(error))?);
        let options = Options::new(owner.clone());
        Ok(Arc::new(FileStore::open(disk, options).map_err(SessionError::from)?))
    }

    /// Whether it is not a directory.
    pub(crate) fn is_on_server(&self) -> bool {
        self.source.server.is_some()
    }

    /// The root, for reading.
    pub(crate) fn root(&self, now: fn() -> Timestamp) -> Result<Root, Problem> {
        Ok(Root::builder().clock(now).with_store(&self.source.dir, self.store()?))
    }

    /// The root, open for writing. What a dead process has left is recovered first.
    pub(crate) fn writable_root(
        &self,
        owner: &LockOwner,
        now: fn() -> Timestamp,
    ) -> Result<Root, Problem> {
        let mut state = self.state();
        let store = match &*state {
            OpenStore::ForWriting(store) => Arc::clone(store),
            OpenStore::Not | OpenStore::ForReading(_) => {
                let store = self.open_to_write(owner)?;
                *state = OpenStore::ForWriting(Arc::clone(&store));
                store
            }
        };
        Ok(Root::builder().clock(now).with_store(&self.source.dir, store))
    }

    /// The source for the catalog.
    pub(crate) fn session_source(&self, store: Arc<dyn Store>) -> SessionSource {
        let mut groups = self.source.formats.iter().cloned();
        let first = groups.next().unwrap_or_default();
        let source = SessionSource::new(&self.source.dir, store, first);
        groups.fold(source, SessionSource::or_else).only(self.source.only.as_deref())
    }

    /// Opens the source again with the next use: after a failed flush, a store refuses to write.
    pub(crate) fn reopen(&self) {
        *self.state() = OpenStore::Not;
    }

    /// Writes what is pending.
    pub(crate) fn close(&self) -> Result<(), Problem> {
        match std::mem::replace(&mut *self.state(), OpenStore::Not) {
            OpenStore::ForWriting(store) => Ok(store.checkpoint().map_err(SessionError::from)?),
            OpenStore::Not | OpenStore::ForReading(_) => Ok(()),
        }
    }
}
