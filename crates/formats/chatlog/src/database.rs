//! What came out of the database of the program that plays chat logs, put where chat logs look for it.

use std::sync::Arc;

use super::create::import;
use super::error::ChatError;
use super::fold::replace;
use super::names::{below, tool_file};
use crate::chatlog_import::{Import, Imported};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_store::{Durability, Expect, Store};
use everturn_value::document::Style;

/// What became of one document.
#[derive(Debug, Clone)]
pub struct Shelved {
    /// Its id.
    pub id: String,
    /// Where it is; nothing if it could not be put anywhere.
    pub path: Option<FilePath>,
    /// Whether it was not there before.
    pub new: bool,
    /// Why it is not there, or not as it was to be.
    pub note: Option<String>,
}

/// Everything that was put in its place.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// Chat logs.
    pub logs: Vec<Shelved>,
    /// Characters, lorebooks and support tools.
    pub others: Vec<Shelved>,
}

/// Stores what came out of a database: chat logs in `chats/`, and what they name in `characters/`, `lorebooks/` and
/// `tools/`. What is there already stays as it is.
pub fn shelve(store: &Arc<dyn Store>, found: &Import) -> Result<Shelf, ChatError> {
    let mut shelf = Shelf::default();
    let in_dir = |dir: &str, id: &str| -> Result<FilePath, NameError> {
        let name = format!("{}.json", SessionId::parse(id)?);
        Ok(below(&below(&FilePath::root(), dir), &name))
    };
    for card in &found.cards {
        shelf.others.push(put(store, card, in_dir("characters", &card.id))?);
    }
    for book in &found.lorebooks {
        shelf.others.push(put(store, book, in_dir("lorebooks", &book.id))?);
    }
    for tool in &found.tools {
        shelf.others.push(put(store, tool, tool_file(&tool.id))?);
    }
    for log in &found.logs {
        let bytes = bytes(log);
        let id = log.id.clone();
        shelf.logs.push(match import(store, &bytes, Some(&log.id)) {
            Ok(done) => Shelved { id, path: Some(done.path), new: done.new, note: None },
            Err(ChatError::Taken { path, .. }) => taken(id, path),
            Err(error @ (ChatError::Name(_) | ChatError::Input { .. })) => {
                Shelved { id, path: None, new: false, note: Some(error.to_string()) }
            }
            Err(error) => return Err(error),
        });
    }
    Ok(shelf)
}

fn bytes(document: &Imported) -> Vec<u8> {
    document.document.to_text(&Style::PRETTY_RAW_LINE).into_bytes()
}

fn taken(id: String, path: FilePath) -> Shelved {
    let note = format!("{path} is there already, and stays as it is");
    Shelved { id, path: Some(path), new: false, note: Some(note) }
}

fn put(
    store: &Arc<dyn Store>,
    document: &Imported,
    path: Result<FilePath, NameError>,
) -> Result<Shelved, ChatError> {
    let id = document.id.clone();
    let path = match path {
        Ok(path) => path,
        Err(error) => {
            return Ok(Shelved { id, path: None, new: false, note: Some(error.to_string()) });
        }
    };
    let writer = store.lock(std::slice::from_ref(&path))?;
    let bytes = bytes(document);
    let new = store.stat(&path)?.is_none();
    if new {
        writer.commit(vec![replace(&path, Expect::Absent, bytes)], Durability::Synced)?;
    } else if store.read(&path, 0..u64::MAX)? != bytes {
        writer.release()?;
        return Ok(taken(id, path));
    }
    writer.release()?;
    Ok(Shelved { id, path: Some(path), new, note: None })
}
