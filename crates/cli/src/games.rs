//! Opens the store for commands that write game sessions.

use std::path::Path;
use std::sync::Arc;

use everturn::game::GameError;
use everturn::store::{FileStore, Store};

use crate::context::next_command;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::{agent_homes, store_errors};

impl From<GameError> for Error {
    fn from(error: GameError) -> Error {
        match error {
            GameError::Store(error) => error.into(),
            GameError::Name(error) => error.into(),
            GameError::Damaged { .. } => Error::new(Exit::Damaged, error.to_string())
                .hint(format!("find the damage with: {}", next_command("check"))),
            other => Error::new(Exit::Request, other.to_string()),
        }
    }
}

/// Opens the store for writing, and reports the findings of recovery.
pub(crate) fn open_game_store(root: Option<&Path>) -> Result<(FileStore, Arc<dyn Store>), Error> {
    let store = store_errors::open_store(&agent_homes::root(root, None)?)?;
    for finding in store.take_findings() {
        Output::status(&finding.to_string());
    }
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    Ok((store, shared))
}
