//! Moves chat logs to the trash, restores and purges them.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::ChatError;
use super::format::{ChatFormat, NAME};
use super::paths::{ChatPaths, below, document};
use super::writer::ChatWriter;
use everturn_archive::PackProgress;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::format::{FormatLifecycle, SessionError, Transition};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::trash::{
    self as common, TrashEntry, TrashError, TrashName, allocate, move_to_trash,
};
use everturn_store::{Durability, Step, Store};

impl From<TrashError> for ChatError {
    fn from(error: TrashError) -> ChatError {
        match error {
            TrashError::Store(error) => ChatError::Store(error),
            TrashError::Name(error) => ChatError::Name(error),
            TrashError::Taken { id, place } => ChatError::Taken { id: id.to_string(), path: place },
            TrashError::Damaged { file, reason } => ChatError::Damaged { file, reason },
            other => ChatError::input(other.to_string()),
        }
    }
}

/// The possible paths of the document of a chat log.
fn candidate_paths(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    Ok(vec![document(id)?, below(&FilePath::root(), &format!("{id}.json"))])
}

/// The files that go to the trash with a document if the journal cannot be folded.
fn companions(document: &FilePath) -> Result<Vec<FilePath>, NameError> {
    Ok(vec![ChatPaths::of(document)?.journal])
}

/// Moves a chat log to the trash; returns its name there.
///
/// The journal is folded first. If there is no room for that, or if it would take more than one commit, the journal
/// goes to the trash beside the document. So it does with a document that cannot be read.
fn trash(
    store: &Arc<dyn Store>,
    path: &FilePath,
    id: &str,
    now: Timestamp,
) -> Result<String, ChatError> {
    let files = ChatPaths::of(path)?;
    let id = SessionId::parse(id)?;
    if !candidate_paths(&id)?.contains(path) {
        return Err(ChatError::input(format!(
            "{path} is outside the usual directory; move it manually"
        )));
    }
    let name = allocate(store, &id, now)?;
    let mut scopes = files.scopes();
    scopes.push(name.trash_path()?);
    let writer = match ChatWriter::with(store, &files, store.lock(&scopes)?) {
        Ok(mut writer) => {
            writer.fold_if_room()?;
            writer.writer
        }
        Err(ChatError::Damaged { .. }) => store.lock(&scopes)?,
        Err(error) => return Err(error),
    };
    let (trashed, away) = move_to_trash(&name, path)?;
    let mut steps = vec![away];
    for file in companions(path)? {
        if store.stat(&file)?.is_some() {
            steps.push(move_to_trash(&name, &file)?.1);
        }
    }
    if store.stat(&files.index)?.is_some() {
        steps.push(Step::Remove { path: files.index });
    }
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(trashed.name.to_string())
}

impl FormatLifecycle for ChatFormat {
    fn transitions(&self) -> &'static [Transition] {
        &[Transition::Trash]
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        transition: Transition,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        if transition != Transition::Trash {
            return Err(transition.unsupported(NAME));
        }
        let name = trash(store, &from.path, &from.id, now)?;
        Ok(TransitionOutcome { session: from.clone(), trashed: Some(name), deferred_error: None })
    }

    fn archived(&self, _: &SessionRef) -> Option<SessionRef> {
        None
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        Ok(common::list_sessions(store, candidate_paths).map_err(ChatError::from)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let restored = TrashName::parse_given(name)
            .and_then(|name| common::restore_with(store, &name, candidate_paths, companions));
        Ok(restored.map_err(ChatError::from)?.into_session_ref())
    }

    fn purge(&self, store: &Arc<dyn Store>, listed: &[TrashedSession]) -> Result<(), SessionError> {
        let entries: Result<Vec<_>, TrashError> =
            listed.iter().map(TrashEntry::from_listed).collect();
        let purged = entries.and_then(|entries| common::purge(store, &entries, candidate_paths));
        Ok(purged.map_err(ChatError::from)?)
    }
}
