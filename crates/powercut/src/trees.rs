//! Files below a directory, as trees of checksums.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::error::{PowercutError, cannot};
use crate::model::Tree;

/// Names below a root that are ignored: Everturn's own bookkeeping. Databases of an agent's home are ignored too,
/// since they contain nothing that the logs do not.
const OUTSIDE: &[&str] = &[
    ".everturn/.gitignore",
    ".everturn/wal",
    ".everturn/locks",
    ".everturn/tmp",
    ".everturn/quarantine",
    ".everturn/staging",
];

/// Returns the checksum of a content.
pub(crate) fn sum(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Visits all files below `directory`, with their relative paths.
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

/// Returns the files below `directory`; empty if there is no such directory.
pub(crate) fn tree(directory: &Path) -> Result<Tree, PowercutError> {
    let mut tree = Tree::new();
    if directory.exists() {
        visit(directory, "", &mut |path, content| {
            let is_outside = OUTSIDE.iter().any(|outside| {
                path.strip_prefix(outside)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            if !is_outside && !path.contains("/state.db") {
                tree.insert(path, sum(&content));
            }
        })?;
    }
    Ok(tree)
}

/// Returns whether each of `words` is in some file below `directory`, whatever program wrote it.
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
