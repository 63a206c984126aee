//! Finds the commits that cannot be completed as they were written, before anything is changed.

use super::current_state::is_ours;
use super::{Recovery, open_uncached, stat_optional};
use crate::disk::{FileAccess, read_all};
use crate::store::StoreError;
use crate::store::fingerprint::Fingerprint;
use crate::store::record::NewContent;
use crate::store::replay::{ContentHistory, FileHistory, PathEnd};
use crate::store::staging::{intact_source, staged_path};
use everturn_json::names::FilePath;

/// Records which files other programs have changed, and which commits are in doubt.
pub(super) fn assess(recovery: &mut Recovery<'_>) {
    for (name, file) in &recovery.history.files {
        match assess_file(recovery, name, file) {
            Ok(true) => {}
            Ok(false) => {
                recovery.changed.insert(name.clone());
                recovery.in_doubt.extend(&file.commits);
            }
            Err(error) => recovery.note_blocked(Err(error), [name].into_iter(), &file.commits),
        }
    }
    for ending in &recovery.history.endings {
        let PathEnd::Removed { path, held, commit } = ending else { continue };
        let done = stat_optional(recovery.disk, path).and_then(|found| match found {
            Some(stat) => recovery.is_removed(path, stat, held),
            None => Ok(true),
        });
        match done {
            Ok(true) => {}
            Ok(false) => drop(recovery.in_doubt.insert(*commit)),
            Err(error) => recovery.note_blocked(Err(error), [path].into_iter(), &[*commit]),
        }
    }
}

/// Returns whether a file can get the content that the log has for it. A file that another program has changed
/// cannot.
fn assess_file(
    recovery: &Recovery<'_>,
    name: &FilePath,
    file: &FileHistory,
) -> Result<bool, StoreError> {
    let ContentHistory::Replaced { before, after, .. } = &file.content else { return Ok(true) };
    let Some(place) = recovery.history.locate(recovery.disk, name)? else { return Ok(true) };
    let found = match stat_optional(recovery.disk, &place)? {
        Some(_) => {
            let file = open_uncached(recovery.disk, &place, FileAccess::Read)?;
            Some(read_all(&*file).map_err(StoreError::io("read", &place))?)
        }
        None => None,
    };
    if found.as_ref().is_some_and(|found| !is_ours(found, before, after)) {
        return Ok(false);
    }
    if let Some(NewContent::Staged(staged)) = after.last() {
        let print = found.as_deref().map(Fingerprint::of);
        if print != Some(staged.fingerprint)
            && intact_source(recovery.disk, recovery.number, *staged)?.is_none()
        {
            let staged = staged_path(recovery.number, staged.number);
            return Err(StoreError::Lost { path: place, staged });
        }
    }
    Ok(true)
}
