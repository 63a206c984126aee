//! Copies a session into the staging directory, up to a turn.

use super::truncation::{KeptPart, Truncation, is_derived};
use crate::error::GameError;
use crate::paths::join_names;
use crate::session::Session;
use everturn_json::names::FilePath;
use everturn_session::staging::SplitMode;
use everturn_store::disk::FileKind;
use everturn_store::{Step, StoreError};

/// A file of a session.
#[derive(Debug, Clone)]
pub(super) struct SessionFile {
    pub(super) path: FilePath,
    pub(super) len: u64,
}

/// Returns all files of a session except the indexes, which are rebuilt when they are needed.
pub(super) fn files_of(session: &Session) -> Result<Vec<SessionFile>, GameError> {
    let indexes = join_names(&session.dir, &["indexes"]);
    let mut waiting = vec![session.dir.clone()];
    let mut files = Vec::new();
    while let Some(dir) = waiting.pop() {
        let listing = session.store.list(&dir)?;
        if let Some((_, reason)) = listing.refused.into_iter().next() {
            return Err(GameError::damaged(&dir, reason));
        }
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                _ if entry.linked => return Err(GameError::damaged(&path, "it is a link")),
                FileKind::Dir if path == indexes => {}
                FileKind::Dir => waiting.push(path),
                FileKind::File => {
                    let stat = session.store.stat(&path)?;
                    let missing = || StoreError::Missing { path: path.clone() };
                    let len = stat.ok_or_else(missing)?.len;
                    files.push(SessionFile { path, len });
                }
                FileKind::LinkOutside | FileKind::Other => {
                    return Err(GameError::damaged(&path, "it is neither a file nor a directory"));
                }
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// A file copy: source, destination and length.
pub(super) struct FileCopy {
    pub(super) from: FilePath,
    pub(super) to: FilePath,
    pub(super) len: u64,
    pub(super) content: SplitMode,
}

/// Plans the copies to `dir` of a session that ends with an earlier turn. Files that `last`, the steps of the last
/// commit, write anyway are left out.
pub(super) fn plan(
    session: &Session,
    cut: &Truncation,
    dir: &FilePath,
    last: &[Step],
) -> Result<Vec<FileCopy>, GameError> {
    let written: Vec<&FilePath> = last.iter().flat_map(Step::paths).collect();
    let mut copies = Vec::new();
    for SessionFile { path, len } in files_of(session)? {
        let (to, len, content) = match cut.logs.iter().find(|end| end.path == path) {
            Some(end) => {
                let to = end.name.path(end.log, &session.dir);
                match end.left {
                    KeptPart::All => (to, len, SplitMode::Log),
                    KeptPart::Start(start) => (to, start, SplitMode::Lines),
                    KeptPart::Nothing => continue,
                }
            }
            None if is_derived(session, &path) || !cut.keeps(session, &path)? => continue,
            None => (path.clone(), len, SplitMode::Whole),
        };
        let Some(to) = to.rebased(&session.dir, dir) else { continue };
        if !written.contains(&&to) {
            copies.push(FileCopy { from: path, to, len, content });
        }
    }
    Ok(copies)
}
