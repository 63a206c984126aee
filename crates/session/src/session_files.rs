//! [`SessionFiles`]: the files of a session, with their copies in the trash and in the quarantine.

use std::sync::Arc;

use crate::model::SessionRef;
use crate::trash::{TrashName, list_dir};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError, quarantine_dir, trash_dir};

/// The files of a session, and the paths that its writer locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFiles {
    /// The possible paths of the session; a writer holds the locks of all of them.
    pub scopes: Vec<FilePath>,
    /// Its files and directories, existing or not.
    pub paths: Vec<FilePath>,
    /// Its names in the trash.
    pub names: Vec<String>,
}

impl SessionFiles {
    /// The files of a session that is one file or directory.
    #[must_use]
    pub fn for_ref(place: &SessionRef) -> SessionFiles {
        let path = place.path.clone();
        SessionFiles {
            scopes: vec![path.clone()],
            paths: vec![path],
            names: vec![place.id.clone()],
        }
    }

    /// All files of the session, including those in the trash and in the quarantine.
    pub fn all_files(&self, store: &Arc<dyn Store>) -> Result<Vec<FilePath>, StoreError> {
        let mut files = Vec::new();
        for path in &self.paths {
            files.extend(files_below(store, path)?);
        }
        for place in self.trash_copies(store)? {
            files.extend(files_below(store, &place)?);
        }
        files.extend(self.quarantined_files(store)?);
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The size of its own files in bytes, without copies.
    pub fn total_bytes(&self, store: &Arc<dyn Store>) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for path in &self.paths {
            bytes += crate::trash::total_bytes(store, path.clone())?;
        }
        Ok(bytes)
    }

    /// The directories in the trash with copies of the session: trashed sessions, and originals of repairs.
    pub fn trash_copies(&self, store: &Arc<dyn Store>) -> Result<Vec<FilePath>, StoreError> {
        let mut places = Vec::new();
        for place in list_dir(store, &trash_dir())? {
            let Some(name) = place.name() else { continue };
            if self.names.iter().any(|id| is_trash_copy(name.as_str(), id)) {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// The bytes that were cut from its files.
    pub fn quarantined_files(&self, store: &Arc<dyn Store>) -> Result<Vec<FilePath>, StoreError> {
        let starts: Vec<String> =
            self.scopes.iter().chain(&self.paths).map(quarantine_prefix).collect();
        let is_ours = |name: &str| {
            starts.iter().any(|start| {
                let rest = name.strip_prefix(start.as_str());
                rest.is_some_and(|rest| rest.starts_with('@') || rest.starts_with("%2F"))
            })
        };
        let mut files = list_dir(store, &quarantine_dir())?;
        files.retain(|file| file.name().is_some_and(|name| is_ours(name.as_str())));
        Ok(files)
    }
}

/// The prefix of the names in the quarantine for a path.
fn quarantine_prefix(path: &FilePath) -> String {
    path.flat_name("").as_str().to_owned()
}

/// Whether a name in the trash is of session `id`: `<stamp>-<id>`, optionally with the name of an operation.
fn is_trash_copy(name: &str, id: &str) -> bool {
    let Some((stamp, rest)) = name.split_once('-') else { return false };
    let is_stamp = TrashName::parse(&format!("{stamp}-x")).is_some();
    let done = ["-repair", "-scrub", "-adopt"];
    let behind = rest.strip_prefix(id);
    is_stamp
        && behind.is_some_and(|rest| {
            rest.is_empty()
                || done.iter().any(|done| {
                    let number = rest.strip_prefix(done);
                    number.is_some_and(|number| number.is_empty() || number.starts_with('-'))
                })
        })
}

/// The files below a path, and everything there that is not a readable file.
#[derive(Debug, Clone, Default)]
pub struct FileTree {
    /// The files, sorted.
    pub files: Vec<FilePath>,
    /// Paths that are not among the files, with the reason. Links into the root are neither.
    pub skipped: Vec<(String, String)>,
}

/// Lists the files at and below a path. Unlike [`files_below`], a directory that cannot be listed does not hide the
/// others, and nothing is passed over without a word.
#[must_use]
pub fn walk_files(store: &Arc<dyn Store>, path: &FilePath) -> FileTree {
    let mut tree = FileTree::default();
    let mut waiting = match store.stat(path) {
        Ok(Some(stat)) if stat.kind == FileKind::File => {
            tree.files.push(path.clone());
            return tree;
        }
        Ok(Some(stat)) if stat.kind == FileKind::Dir => vec![path.clone()],
        Ok(_) | Err(StoreError::Missing { .. }) => return tree,
        Err(error) => {
            tree.skipped.push((path.to_string(), describe(&error)));
            return tree;
        }
    };
    while let Some(dir) = waiting.pop() {
        let listing = match store.list(&dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => continue,
            Err(error) => {
                tree.skipped.push((dir.to_string(), describe(&error)));
                continue;
            }
        };
        let shown = |name: &str| match dir.is_root() {
            true => name.to_owned(),
            false => format!("{dir}/{name}"),
        };
        tree.skipped
            .extend(listing.refused.iter().map(|(name, reason)| (shown(name), reason.to_string())));
        for entry in listing.entries {
            let place = dir.join(&entry.name);
            match entry.kind {
                FileKind::LinkOutside => {
                    tree.skipped.push((place.to_string(), "is a link out of the root".to_owned()));
                }
                FileKind::Other => {
                    let what = if entry.linked { "is a broken link" } else { "is not a file" };
                    tree.skipped.push((place.to_string(), what.to_owned()));
                }
                FileKind::Dir if !entry.linked => waiting.push(place),
                FileKind::File if !entry.linked => tree.files.push(place),
                FileKind::Dir | FileKind::File => {}
            }
        }
    }
    tree.files.sort();
    tree.skipped.sort();
    tree
}

fn describe(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The files at and below a path, sorted; empty if it does not exist. Links are not followed.
pub fn files_below(store: &Arc<dyn Store>, path: &FilePath) -> Result<Vec<FilePath>, StoreError> {
    let stat = match store.stat(path) {
        Err(StoreError::Missing { .. }) => None,
        other => other?,
    };
    let mut files = Vec::new();
    let mut waiting = match stat.map(|stat| stat.kind) {
        Some(FileKind::File) => return Ok(vec![path.clone()]),
        Some(FileKind::Dir) => vec![path.clone()],
        _ => return Ok(files),
    };
    while let Some(dir) = waiting.pop() {
        let listing = match store.list(&dir) {
            Err(StoreError::Missing { .. }) => continue,
            other => other?,
        };
        for entry in listing.entries.into_iter().filter(|entry| !entry.linked) {
            match entry.kind {
                FileKind::Dir => waiting.push(dir.join(&entry.name)),
                FileKind::File => files.push(dir.join(&entry.name)),
                FileKind::LinkOutside | FileKind::Other => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_known_by_their_names() {
        let check = |name, expect| assert_eq!(is_trash_copy(name, "one"), expect, "{name}");
        check("20260101T100000Z-one", true);
        check("20260101T100000Z-one-repair", true);
        check("20260101T100000Z-one-repair-2", true);
        check("20260101T100000Z-one-scrub", true);
        check("20260101T100000Z-one-adopt", true);
        check("20260101T100000Z-one-two", false);
        check("20260101T100000Z-ones", false);
        check("20260101T100000Z-repair-one", false);
        check("messages", false);
        check("x-one", false);
    }
}
