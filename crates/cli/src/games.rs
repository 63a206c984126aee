//! Game sessions, as the commands for them find and report them.

use std::path::Path;
use std::sync::Arc;

use everturn::disk::{Disk, RealDisk};
use everturn::game::GameError;
use everturn::store::{FileStore, Store};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::{faults, homes};

impl From<GameError> for Error {
    fn from(error: GameError) -> Error {
        match error {
            GameError::Store(error) => error.into(),
            GameError::Name(error) => error.into(),
            GameError::Damaged { .. } => Error::new(Exit::Damaged, error.to_string())
                .hint("everturn check, then everturn repair"),
            other => Error::new(Exit::Request, other.to_string()),
        }
    }
}

/// Opens the store to write in it, and tells what had to be mended after a crash.
pub(crate) fn open(root: Option<&Path>) -> Result<(FileStore, Arc<dyn Store>), Error> {
    let store = faults::open_store(&homes::root(root, None)?)?;
    for finding in store.take_findings() {
        Output::status(&finding.to_string());
    }
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    Ok((store, shared))
}

/// Opens the store to look at it.
pub(crate) fn look(root: Option<&Path>) -> Result<Arc<dyn Store>, Error> {
    let root = homes::root(root, None)?;
    let failed = |cause| {
        Error::new(Exit::Request, format!("cannot open the root {}", root.display()))
            .caused_by(cause)
    };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&root).map_err(failed)?);
    Ok(Arc::new(FileStore::open_read_only(disk)?))
}
