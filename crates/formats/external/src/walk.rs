//! Finds the files of other programs below a root.

use std::sync::Arc;

use super::Match;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_store::disk::FileKind;
use everturn_store::{OWN_DIR, Store, StoreError};

/// The maximum number of directories visited: a whole disk as a root is reported.
const MOST_DIRS: usize = 20_000;

/// Files that may be sessions, and findings for what could not be read.
#[derive(Default)]
pub(super) struct WalkResult {
    pub(super) files: Vec<(FilePath, Match)>,
    pub(super) findings: Vec<Finding>,
}

/// Directories that hold no sessions but much else.
fn is_passed_over(name: &str) -> bool {
    matches!(name, OWN_DIR | ".git" | "node_modules" | "target" | "backups" | "thumbnails")
}

/// Whether a path is one of these directories, or is inside one.
fn is_in(path: &FilePath, dirs: &[&str]) -> bool {
    path.as_str().split('/').any(|name| dirs.contains(&name))
}

/// Finds files in a root, up to a depth. Links in `homes` that lead out of the root are reported.
pub(super) fn find_files(
    store: &Arc<dyn Store>,
    depth: usize,
    homes: &[&str],
    enters: impl Fn(&FilePath) -> bool,
    fits: impl Fn(&FilePath) -> Match,
) -> Result<WalkResult, SessionError> {
    let mut walked = WalkResult::default();
    let mut waiting = vec![(FilePath::root(), 0)];
    let mut seen = 0;
    while let Some((dir, level)) = waiting.pop() {
        seen += 1;
        if seen > MOST_DIRS {
            let message = "too many directories; name the directory that contains the sessions";
            walked.findings.push(Finding::new(&dir, FindingCode::Unreadable, message.to_owned()));
            break;
        }
        let listing = match store.list(&dir) {
            Ok(listing) => listing,
            // Another process may have removed it in the meantime.
            Err(StoreError::Missing { .. }) if !dir.is_root() => continue,
            Err(error) if dir.is_root() => return Err(error.into()),
            Err(error) => {
                let message =
                    format!("cannot be read: {}", everturn_session::format::error_chain(&error));
                walked.findings.push(Finding::new(&dir, FindingCode::Unreadable, message));
                continue;
            }
        };
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                FileKind::Dir
                    if level < depth
                        && !entry.linked
                        && !is_passed_over(entry.name.as_str())
                        && enters(&path) =>
                {
                    waiting.push((path, level + 1));
                }
                FileKind::File => match fits(&path) {
                    Match::No => {}
                    fit => walked.files.push((path, fit)),
                },
                FileKind::LinkOutside if is_in(&path, homes) => {
                    let message = "is a link that points outside the root, and is ignored; add its target with: \
                                   everturn sources add PATH";
                    walked.findings.push(Finding::new(
                        &path,
                        FindingCode::LinkOutside,
                        message.to_owned(),
                    ));
                }
                _ => {}
            }
        }
    }
    walked.files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(walked)
}

/// A file, or a directory with its contents. For a session that is a row of a database: the database file, which is an
/// ancestor of the path, and the write-ahead log of SQLite beside it.
pub(super) fn everything_at(
    store: &Arc<dyn Store>,
    path: &FilePath,
) -> Result<Vec<FilePath>, SessionError> {
    for above in path.ancestors().filter(|above| !above.is_root()) {
        let is_file = store.stat(&above)?.is_some_and(|stat| stat.kind == FileKind::File);
        if let (true, Some(dir), Some(name)) = (is_file, above.parent(), above.name()) {
            let journal = Name::parse(&format!("{name}-wal"))?;
            return Ok(vec![above, dir.join(&journal)]);
        }
    }
    let mut found = vec![path.clone()];
    let is_dir = store.stat(path)?.is_some_and(|stat| stat.kind == FileKind::Dir);
    let mut waiting = if is_dir { vec![path.clone()] } else { Vec::new() };
    while let Some(dir) = waiting.pop() {
        for entry in store.list(&dir)?.entries {
            let path = dir.join(&entry.name);
            if entry.kind == FileKind::Dir && !entry.linked {
                waiting.push(path.clone());
            }
            found.push(path);
        }
    }
    Ok(found)
}
