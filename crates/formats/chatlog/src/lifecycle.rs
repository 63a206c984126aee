//! Moves chat logs to the trash, restores and purges them.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::ChatError;
use super::paths::{ChatPaths, below, document};
use super::writer::ChatWriter;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::model::{SessionRef, TrashedSession};
use everturn_session::trash::{self as common, TrashError, TrashName, allocate, move_to_trash};
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
pub(super) fn trash(
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

/// The chat logs in the trash, oldest first.
pub(super) fn trashed(store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, ChatError> {
    Ok(common::list_sessions(store, candidate_paths)?)
}

fn name_of(name: &str) -> Result<TrashName, ChatError> {
    let missing = || ChatError::input(format!("there is no {name:?} in the trash"));
    TrashName::parse(name).ok_or_else(missing)
}

/// Restores a chat log from the trash.
pub(super) fn restore(store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, ChatError> {
    let back = common::restore_with(store, &name_of(name)?, candidate_paths, companions)?;
    Ok(SessionRef { id: back.name.id.to_string(), path: back.path })
}

/// Removes chat logs from the trash for good, if they are unchanged since they were listed.
pub(super) fn purge(store: &Arc<dyn Store>, wanted: &[TrashedSession]) -> Result<(), ChatError> {
    let mut entries = Vec::new();
    for trashed in wanted {
        let (name, path) = (name_of(&trashed.name)?, trashed.path.clone());
        entries.push((common::TrashEntry { name, path }, trashed.bytes));
    }
    Ok(common::purge(store, &entries, candidate_paths)?)
}
