//! What a check says of the quarantine: everything that left a file stays a finding until it is looked at and removed.

use std::collections::HashSet;
use std::sync::Arc;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::quarantine::{QuarantinedPiece, quarantined};
use everturn_store::disk::Disk;
use everturn_store::{Store, StoreError};

use crate::registry;

/// Findings about what left the files at and below `start`, and those of `recovery` that still say something.
///
/// `store` shows the root as recovery will leave it, `plain` as it is: what is in the quarantine of the first alone is
/// yet to be put there.
pub(super) fn findings(
    store: &Arc<dyn Store>,
    plain: &dyn Disk,
    start: &FilePath,
    recovery: Vec<Finding>,
) -> Result<Vec<Finding>, StoreError> {
    let mut pieces = quarantined(store)?;
    if pieces.is_empty() {
        return Ok(recovery);
    }
    let is_there = |piece: &QuarantinedPiece| {
        let stat = plain.stat(&piece.kept).map_err(StoreError::io("look at", &piece.kept))?;
        Ok::<bool, StoreError>(stat.is_some())
    };
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
    // What recovery itself says names a file that is not there yet.
    let is_told = |finding: &Finding| {
        finding.code == FindingCode::ChangedByOthers && coming.contains(&finding.file)
    };
    let mut findings: Vec<Finding> = recovery.into_iter().filter(|one| !is_told(one)).collect();
    findings.append(&mut told);
    Ok(findings)
}

/// What left the files of the session at `start`, wherever it was then; nothing if that is no session.
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
        // What cannot be read is told where the session itself is looked at.
        found.extend(looked().unwrap_or_default());
    }
    found
}
