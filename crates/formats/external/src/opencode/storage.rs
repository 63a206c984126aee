//! The directory in which OpenCode keeps a file for each session, message and part.

use std::collections::HashSet;
use std::sync::Arc;

use crate::stem;
use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// Whether the last component of a path is this name.
fn is_called(path: &FilePath, name: &str) -> bool {
    path.name().is_some_and(|own| own.as_str() == name)
}

/// The directory that holds `session`, `message` and `part`, if the file is a session in one.
pub(super) fn storage_of(path: &FilePath) -> Option<FilePath> {
    let sessions = path.parent()?.parent()?;
    sessions.parent().filter(|_| is_called(&sessions, "session"))
}

/// The same for the remains of a session whose file is lost: the directory of its messages, or that of a message's
/// parts.
pub(super) fn storage_of_lost(path: &FilePath, kind: &str) -> Option<FilePath> {
    let above = path.parent()?;
    above.parent().filter(|_| is_called(&above, kind) && !path.as_str().ends_with(".json"))
}

/// The same for either.
pub(super) fn any_storage_of(path: &FilePath) -> Option<FilePath> {
    let lost = || ["message", "part"].iter().find_map(|kind| storage_of_lost(path, kind));
    storage_of(path).or_else(lost)
}

/// The JSON files of a directory, by name. A missing directory has none.
pub(super) fn files(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<FilePath>, SessionError> {
    let listing = match store.list(dir) {
        Ok(listing) => listing,
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let is_json = |name: &Name| name.as_str().ends_with(".json");
    let entries = listing.entries.into_iter();
    let files = entries.filter(|entry| entry.kind == FileKind::File && is_json(&entry.name));
    Ok(files.map(|entry| dir.join(&entry.name)).collect())
}

/// The subdirectories of a directory.
fn dirs(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<FilePath>, SessionError> {
    match store.list(dir) {
        Ok(listing) => {
            let entries = listing.entries.into_iter();
            let dirs = entries.filter(|entry| entry.kind == FileKind::Dir);
            Ok(dirs.map(|entry| dir.join(&entry.name)).collect())
        }
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn below(dir: &FilePath, names: &[&str]) -> Result<FilePath, SessionError> {
    let names = names.iter().map(|name| Name::parse(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(names.iter().fold(dir.clone(), |dir, name| dir.join(name)))
}

/// A document of the directory, or why it cannot be used.
pub(super) fn document(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Result<JsonTree, (FindingCode, String)>, SessionError> {
    let bytes = store.read(file, 0..u64::MAX)?;
    Ok(match String::from_utf8(bytes) {
        Err(error) => Err((FindingCode::NotUtf8, error.to_string())),
        Ok(text) if text.trim_matches(['\0', ' ', '\n', '\r', '\t']).is_empty() => {
            Err((FindingCode::EmptyDocument, "the file is empty".to_owned()))
        }
        Ok(text) => {
            let tree = JsonTree::parse(text.trim_start_matches('\u{feff}').trim());
            tree.map_err(|bad| (FindingCode::BadDocument, format!("not JSON: {bad}")))
        }
    })
}

/// The last component of a path.
fn name_of(path: &FilePath) -> String {
    path.name().map(|name| name.as_str().to_owned()).unwrap_or_default()
}

/// The remains of sessions without a file: directories of their messages, and directories of parts whose message no
/// session has. Every directory is listed once, regardless of the number of sessions.
pub(super) fn orphaned_sessions(
    store: &Arc<dyn Store>,
    there: &[SessionRef],
) -> Result<Vec<SessionRef>, SessionError> {
    let mut storages = vec![FilePath::root(), FilePath::parse("storage")?];
    storages.extend(there.iter().filter_map(|place| storage_of(&place.path)));
    storages.sort();
    storages.dedup();
    let sessions: HashSet<(Option<FilePath>, &str)> =
        there.iter().map(|place| (storage_of(&place.path), place.id.as_str())).collect();
    let mut lost = Vec::new();
    for storage in storages {
        let mut messages: HashSet<String> = HashSet::new();
        for path in dirs(store, &below(&storage, &["message"])?)? {
            let (id, found) = (name_of(&path), files(store, &path)?);
            messages.extend(found.iter().map(stem));
            let is_there = sessions.contains(&(Some(storage.clone()), id.as_str()));
            if id.starts_with("ses_") && !is_there && !found.is_empty() {
                lost.push(SessionRef { id, path });
            }
        }
        for path in dirs(store, &below(&storage, &["part"])?)? {
            let id = name_of(&path);
            let is_stray = id.starts_with("msg_") && !messages.contains(&id);
            if is_stray && !files(store, &path)?.is_empty() {
                lost.push(SessionRef { id, path });
            }
        }
    }
    Ok(lost)
}
