//! Compares the plain files with the contents of a log.

use super::stat_optional;
use crate::disk::Disk;
use crate::store::StoreError;
use crate::store::fingerprint::Fingerprint;
use crate::store::record::NewContent;
use crate::store::replay::{LogHistory, PathEnd, is_remnant};
use everturn_json::names::FilePath;

/// Returns whether a content is one that our replacements have written or found, or the remnant of one.
///
/// A staged content leaves no remnants: it was flushed before it got its name.
pub(super) fn is_ours(found: &[u8], before: &[Fingerprint], after: &[NewContent]) -> bool {
    let print = Fingerprint::of(found);
    let made = |new: &NewContent| match new {
        NewContent::Bytes(bytes) => is_remnant(found, bytes),
        NewContent::Staged(staged) => staged.fingerprint == print,
    };
    before.contains(&print) || after.iter().any(made)
}

impl LogHistory {
    /// Returns where the file that had the name `path` is now; `None` if it is removed in the end.
    pub(super) fn locate(
        &self,
        disk: &dyn Disk,
        path: &FilePath,
    ) -> Result<Option<FilePath>, StoreError> {
        for ending in &self.endings {
            match ending {
                PathEnd::Removed { path: gone, .. } if path.is_within(gone) => return Ok(None),
                PathEnd::Renamed { from, to } if path.is_within(from) => {
                    // The new name was free when the rename was logged, and only the rename takes it.
                    let there = stat_optional(disk, to)?.is_some();
                    let moved = path.rebased(from, to).filter(|_| there);
                    return Ok(Some(moved.unwrap_or_else(|| path.clone())));
                }
                _ => {}
            }
        }
        Ok(Some(path.clone()))
    }
}
