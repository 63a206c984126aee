//! Stores a database import in the directories of chat logs.

use std::sync::Arc;

use super::create::import;
use super::error::ChatError;
use super::fold::replace;
use super::paths::{below, tool_file};
use crate::chatlog_import::{DatabaseImport, ImportedDocument};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_store::{Durability, Precondition, Store};
use everturn_value::document::JsonStyle;

/// The outcome for one document.
#[derive(Debug, Clone)]
pub struct StoredDocument {
    /// Its id.
    pub id: String,
    /// Its path; `None` if it could not be stored.
    pub path: Option<FilePath>,
    /// Whether it did not exist before.
    pub new: bool,
    /// Why it was not stored, or not as intended.
    pub note: Option<String>,
}

/// The outcome of a whole import.
#[derive(Debug, Clone, Default)]
pub struct StoredImport {
    /// Chat logs.
    pub logs: Vec<StoredDocument>,
    /// Characters, lorebooks and support tools.
    pub others: Vec<StoredDocument>,
}

/// Stores an import: chat logs in `chats/`, and the documents they name in `characters/`, `lorebooks/` and `tools/`.
/// Existing files stay as they are.
pub fn store_import(
    store: &Arc<dyn Store>,
    found: &DatabaseImport,
) -> Result<StoredImport, ChatError> {
    let mut archiver = StoredImport::default();
    let in_dir = |dir: &str, id: &str| -> Result<FilePath, NameError> {
        let name = format!("{}.json", SessionId::parse(id)?);
        Ok(below(&below(&FilePath::root(), dir), &name))
    };
    for card in &found.cards {
        archiver.others.push(put(store, card, in_dir("characters", &card.id))?);
    }
    for book in &found.lorebooks {
        archiver.others.push(put(store, book, in_dir("lorebooks", &book.id))?);
    }
    for tool in &found.tools {
        archiver.others.push(put(store, tool, tool_file(&tool.id))?);
    }
    for log in &found.logs {
        let bytes = bytes(log);
        let id = log.id.clone();
        archiver.logs.push(match import(store, &bytes, Some(&log.id)) {
            Ok(done) => StoredDocument { id, path: Some(done.path), new: done.new, note: None },
            Err(ChatError::Taken { path, .. }) => already_stored(id, path),
            Err(error @ (ChatError::Name(_) | ChatError::Input { .. })) => {
                StoredDocument { id, path: None, new: false, note: Some(error.to_string()) }
            }
            Err(error) => return Err(error),
        });
    }
    Ok(archiver)
}

fn bytes(document: &ImportedDocument) -> Vec<u8> {
    document.document.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes()
}

fn already_stored(id: String, path: FilePath) -> StoredDocument {
    let note = format!("{path} already exists and is not changed");
    StoredDocument { id, path: Some(path), new: false, note: Some(note) }
}

fn put(
    store: &Arc<dyn Store>,
    document: &ImportedDocument,
    path: Result<FilePath, NameError>,
) -> Result<StoredDocument, ChatError> {
    let id = document.id.clone();
    let path = match path {
        Ok(path) => path,
        Err(error) => {
            return Ok(StoredDocument {
                id,
                path: None,
                new: false,
                note: Some(error.to_string()),
            });
        }
    };
    let writer = store.lock(std::slice::from_ref(&path))?;
    let bytes = bytes(document);
    let new = store.stat(&path)?.is_none();
    if new {
        writer.commit(vec![replace(&path, Precondition::Absent, bytes)], Durability::Synced)?;
    } else if store.read(&path, 0..u64::MAX)? != bytes {
        writer.release()?;
        return Ok(already_stored(id, path));
    }
    writer.release()?;
    Ok(StoredDocument { id, path: Some(path), new, note: None })
}
