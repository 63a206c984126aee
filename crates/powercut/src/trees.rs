//! Files below a directory, as trees of checksums.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::error::{PowercutError, cannot};
use crate::model::Tree;

/// What is of no account below a root: Everturn's own bookkeeping, and the databases of an agent's home,
/// which say nothing that the logs do not.
const OUTSIDE: &[&str] = &[
    ".everturn/wal",
    ".everturn/locks",
    ".everturn/tmp",
    ".everturn/quarantine",
    ".everturn/staging",
];

/// A checksum of a content.
pub(crate) fn sum(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Visits all files below `directory` with their paths from there.
fn visit(
    directory: &Path,
    prefix: &str,
    found: &mut dyn FnMut(String, Vec<u8>),
) -> Result<(), PowercutError> {
    let cannot_list = || cannot(format!("list {}", directory.display()));
    for entry in fs::read_dir(directory).map_err(cannot_list())? {
        let entry = entry.map_err(cannot_list())?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(cannot_list())?;
        if kind.is_dir() {
            visit(&entry.path(), &format!("{path}/"), found)?;
        } else {
            let content = fs::read(entry.path())
                .map_err(cannot(format!("read {}", entry.path().display())))?;
            found(path, content);
        }
    }
    Ok(())
}

/// The files below `directory`; none if there is no such directory.
pub(crate) fn tree(directory: &Path) -> Result<Tree, PowercutError> {
    let mut tree = Tree::new();
    if directory.exists() {
        visit(directory, "", &mut |path, content| {
            let is_outside = OUTSIDE.iter().any(|outside| {
                path.strip_prefix(outside).is_some_and(|rest| rest.starts_with('/'))
            });
            if !is_outside && !path.contains("/state.db") {
                tree.insert(path, sum(&content));
            }
        })?;
    }
    Ok(tree)
}

/// Whether each of `words` stands in some file below `directory`, whatever program put it there.
pub(crate) fn all_stand_somewhere(
    directory: &Path,
    words: &[&String],
) -> Result<bool, PowercutError> {
    let mut missing: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    visit(directory, "", &mut |_, content| {
        missing.retain(|word| !content.windows(word.len()).any(|window| window == *word));
    })?;
    Ok(missing.is_empty())
}
