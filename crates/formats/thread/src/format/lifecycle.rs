//! Moves threads to the trash, restores and purges them.

use std::sync::Arc;

use jiff::Timestamp;

use super::{NAME, ThreadFormat};
use crate::paths::candidate_paths;
use crate::thread::Thread;
use everturn_archive::PackProgress;
use everturn_json::names::SessionId;
use everturn_session::format::{FormatLifecycle, SessionError, Transition, error_chain};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::trash::{self, TrashEntry, TrashError, TrashName, allocate, move_to_trash};
use everturn_store::{Durability, Store};

fn trash_error(error: TrashError) -> SessionError {
    match error {
        TrashError::Store(error) => SessionError::Store(error),
        TrashError::Name(error) => SessionError::Name(error),
        TrashError::Taken { id, place } => SessionError::Taken { id: id.to_string(), path: place },
        TrashError::Damaged { .. } => SessionError::damaged(error_chain(&error)),
        other => SessionError::request(error_chain(&other)),
    }
}

impl FormatLifecycle for ThreadFormat {
    fn transitions(&self) -> &'static [Transition] {
        &[Transition::Trash]
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        transition: Transition,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        if transition != Transition::Trash {
            return Err(transition.unsupported(NAME));
        }
        let name = allocate(store, &SessionId::parse(&place.id)?, now).map_err(trash_error)?;
        let writer = store.lock(&[place.path.clone(), name.trash_path()?])?;
        Thread::open(store, &place.path)?;
        let (trashed, step) = move_to_trash(&name, &place.path)?;
        writer.commit(vec![step], Durability::Synced)?;
        writer.release()?;
        let trashed = Some(trashed.name.to_string());
        Ok(TransitionOutcome { session: place.clone(), trashed, deferred_error: None })
    }

    fn archived(&self, _: &SessionRef) -> Option<SessionRef> {
        None
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        trash::list_sessions(store, candidate_paths).map_err(trash_error)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let restored = TrashName::parse_given(name).and_then(|name| {
            trash::restore_with(store, &name, candidate_paths, |_| Ok(Vec::new()))
        });
        Ok(restored.map_err(trash_error)?.into_session_ref())
    }

    fn purge(&self, store: &Arc<dyn Store>, listed: &[TrashedSession]) -> Result<(), SessionError> {
        let entries: Result<Vec<_>, TrashError> =
            listed.iter().map(TrashEntry::from_listed).collect();
        let purged = entries.and_then(|entries| trash::purge(store, &entries, candidate_paths));
        purged.map_err(trash_error)
    }
}
