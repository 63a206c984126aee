//! The indexes of a session that is made or truncated. They belong to the commit that makes it visible.

use std::sync::Arc;

use crate::error::GameError;
use crate::indexes::IndexKind;
use crate::paths::GameStatus;
use crate::session::Session;
use crate::writer::indexing::{index_path, rebuild};
use crate::writer::turns::replace;
use everturn_json::names::{FilePath, SessionId};
use everturn_store::overlay::{FileChanges, OverlayStore};
use everturn_store::{Step, Store};

/// Returns the steps that write the indexes of the session in `dir`, as it is after `steps`.
pub(crate) fn index_steps(
    store: &Arc<dyn Store>,
    id: &SessionId,
    status: GameStatus,
    dir: &FilePath,
    steps: &[Step],
) -> Result<Vec<Step>, GameError> {
    let mut changes = FileChanges::new();
    for step in steps {
        match step {
            Step::Replace { file, bytes, .. } => {
                changes.insert(file.clone(), Some(bytes.clone()));
            }
            Step::Remove { path } => {
                changes.insert(path.clone(), None);
            }
            _ => {}
        }
    }
    let store: Arc<dyn Store> = Arc::new(OverlayStore::new(store, changes));
    let session = Session::open_in(store, id, status, dir.clone())?;
    if !session.rules().defers_states() {
        return Ok(Vec::new());
    }
    let step =
        |(kind, text): (IndexKind, String)| replace(index_path(dir, kind), text.into_bytes());
    Ok(rebuild(&session)?.texts().into_iter().map(step).collect())
}
