//! [`OpenRoot`]: a root that is open for reading or writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::disk::RealDisk;
use everturn::names::FilePath;
use everturn::store::{FileStore, Options, Store};

use crate::error::Error;
use crate::exit::Exit;
use crate::{progress, recovered, server_roots, settings, store_errors};

pub(crate) use crate::root_access::RootAccess;

/// An open root.
#[derive(Clone)]
pub(crate) struct OpenRoot {
    /// The path as the user would write it, or the address of a root on a server.
    pub(crate) path: PathBuf,
    store: Arc<dyn Store>,
    pub(crate) access: RootAccess,
}

impl OpenRoot {
    pub(crate) fn open(path: &Path, access: RootAccess) -> Result<OpenRoot, Error> {
        let store = match server_roots::is_address(path) {
            true => server_roots::open(path, Some(access))?,
            false => open_dir(path, access)?,
        };
        Ok(OpenRoot { path: path.to_owned(), store, access })
    }

    /// Opens a root for writing; creates it if necessary.
    pub(crate) fn create(path: &Path) -> Result<OpenRoot, Error> {
        let store = store_errors::open_store(path)?;
        Ok(OpenRoot { path: path.to_owned(), store, access: RootAccess::Write })
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Returns a path below the root as the user would write it.
    pub(crate) fn shown(&self, path: &FilePath) -> String {
        self.path.join(path.as_str()).to_string_lossy().into_owned()
    }

    /// Closes a root that was open for writing.
    pub(crate) fn close(self) -> Result<(), Error> {
        Ok(self.store.checkpoint()?)
    }
}

fn open_dir(path: &Path, access: RootAccess) -> Result<Arc<dyn Store>, Error> {
    let failed = |cause| {
        Error::new(Exit::Request, format!("cannot open the root {}", path.display()))
            .caused_by(cause)
            .hint("name the directory that holds the sessions with --root DIR or EVERTURN_ROOT")
    };
    let disk = Arc::new(RealDisk::open(path).map_err(failed)?);
    let recovery = progress::Recovery::new();
    let progress = recovery.progress();
    let opened = match access {
        RootAccess::Read => FileStore::open_read_only_with(disk, progress),
        RootAccess::Write => {
            let findings = recovered::findings();
            let options = Options::new(settings::lock_owner());
            FileStore::open(disk, Options { progress, findings, ..options })
        }
    };
    recovery.finish();
    Ok(Arc::new(opened?))
}
