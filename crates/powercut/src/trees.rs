//! Files below a directory, as trees of checksums.

use std::collections::{BTreeSet, HashSet};
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
    let mut missing: HashSet<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let lengths: BTreeSet<usize> = missing.iter().map(|word| word.len()).collect();
    let prefix = common_prefix(words);
    visit(directory, "", &mut |_, content| {
        let mut rest = content.as_slice();
        // The words of a session begin alike, so a file is read once for all of them.
        while !missing.is_empty() && !rest.is_empty() {
            let may_start = prefix.first().is_none_or(|byte| rest.first() == Some(byte));
            if may_start && rest.starts_with(prefix) {
                for word in lengths.iter().filter_map(|length| rest.get(..*length)) {
                    missing.remove(word);
                }
            }
            rest = rest.get(1..).unwrap_or_default();
        }
    })?;
    Ok(missing.is_empty())
}

/// Returns the bytes with which all words begin.
fn common_prefix<'w>(words: &[&'w String]) -> &'w [u8] {
    let Some((first, others)) = words.split_first() else { return &[] };
    let first = first.as_bytes();
    let common =
        |word: &&String| first.iter().zip(word.bytes()).take_while(|(a, b)| **a == *b).count();
    let length = others.iter().map(common).min().unwrap_or(first.len());
    first.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_whatever_file_they_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("a"), "gan1x0 \\ngan2x00").unwrap();
        fs::write(dir.path().join("below/b"), "other gagan10x").unwrap();
        let stand = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            all_stand_somewhere(dir.path(), &words.iter().collect::<Vec<_>>()).unwrap()
        };
        assert!(stand(&[]));
        assert!(stand(&["gan1x0", "gan2x0", "gan10x"]));
        assert!(stand(&["gan1x0", "other"]), "words without a common beginning");
        assert!(stand(&["gan10x"]));
        for missing in ["gan3x0", "gan1x00", "gan10x0"] {
            assert!(!stand(&[missing]) && !stand(&["gan1x0", missing]), "{missing}");
        }
    }
}
