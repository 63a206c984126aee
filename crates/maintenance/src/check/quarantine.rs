//! Findings about the quarantine: everything in it is a finding until it is removed.

use std::collections::HashSet;
use std::sync::Arc;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::quarantine::{QuarantinedPiece, quarantined};
use everturn_store::{Store, StoreError};

use super::checked_files::CheckedFiles;
use crate::registry;

/// The findings about bytes removed from files at and below `start`, and those of `recovery` that are still relevant.
///
/// `store` shows the root as recovery will leave it, `plain` as it is: a piece that only the quarantine of the former
/// has is yet to be created.
pub(super) fn findings(
    store: &Arc<dyn Store>,
    plain: &CheckedFiles,
    start: &FilePath,
    recovery: Vec<Finding>,
) -> Result<Vec<Finding>, StoreError> {
    let mut pieces = quarantined(store)?;
    if pieces.is_empty() {
        return Ok(recovery);
    }
    let is_there =
        |piece: &QuarantinedPiece| Ok::<bool, StoreError>(plain.stat(&piece.kept)?.is_some());
    let mut coming = Vec::new();
    let mut told = Vec::new();
    let of_session = of_session(store, start);
    pieces.retain(|piece| piece.file.is_within(start) || of_session.contains(&piece.kept));
    for piece in pieces {
        if is_there(&piece)? {
            told.push(piece.finding());
        } else if piece.has_records {
            told.push(piece.coming());
            coming.push(piece.file);
        }
    }
    // The finding of recovery itself names a file that does not exist yet.
    let is_told = |finding: &Finding| {
        finding.code == FindingCode::ChangedByOthers && coming.contains(&finding.file)
    };
    let mut findings: Vec<Finding> = recovery.into_iter().filter(|one| !is_told(one)).collect();
    findings.append(&mut told);
    Ok(findings)
}

/// The quarantined files of the session at `start`, wherever it was then; empty if it is not a session.
fn of_session(store: &Arc<dyn Store>, start: &FilePath) -> HashSet<FilePath> {
    let mut found = HashSet::new();
    for layout in registry::ALL {
        let looked = || -> Result<Vec<FilePath>, SessionError> {
            let places = layout.locate(store)?.sessions;
            match places.iter().find(|place| place.path == *start) {
                Some(place) => Ok(layout.session_files(store, place)?.quarantined_files(store)?),
                None => Ok(Vec::new()),
            }
        };
        // Unreadable files are reported when the session itself is checked.
        found.extend(looked().unwrap_or_default());
    }
    found
}
