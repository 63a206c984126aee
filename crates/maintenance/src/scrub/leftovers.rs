//! The proof at the end of a scrub: a scan of the raw bytes, which names what is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::is_in_originals;
use crate::scan_files::{ScanStats, SecretFinding, SecretSink, scan_files};
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_secrets::scan::{FamilyCounts, SecretRules};
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::SessionRef;
use everturn_session::session_files::{FileTree, walk_files};
use everturn_store::{
    OWN_DIR, Store, audit_dir, pins_dir, quarantine_dir, seals_dir, staging_dir, trash_dir,
};

/// What was scrubbed.
#[derive(Debug, Clone, Copy)]
pub struct ScrubScope<'a> {
    /// The sessions.
    pub sessions: &'a [(&'static dyn SessionFormat, SessionRef)],
    /// Whether everything else below the root was scrubbed, too.
    pub is_root: bool,
    /// Whether the originals were removed, and the store's own logs overwritten.
    pub is_purged: bool,
}

/// Secrets that a scrub left in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverSecrets {
    /// The file.
    pub file: FilePath,
    /// The file in the archive, if the file is an archive.
    pub inside: Option<FilePath>,
    /// Whether they are in the path of the file.
    pub in_name: bool,
    /// The number of secrets by family.
    pub counts: FamilyCounts,
}

/// The result of the scan after a scrub.
#[derive(Debug, Clone, Default)]
pub struct LeftoverScan {
    /// What is left.
    pub left: Vec<LeftoverSecrets>,
    /// The paths that could not be scanned, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// The statistics.
    pub stats: ScanStats,
}

#[derive(Default)]
struct LeftoverSink {
    left: BTreeMap<(FilePath, Option<FilePath>, bool), FamilyCounts>,
    unreadable: Vec<(String, String)>,
}

impl SecretSink for LeftoverSink {
    fn secret(&mut self, found: SecretFinding) {
        let counts = self.left.entry((found.file, found.inside, found.in_name)).or_default();
        *counts.entry(found.family).or_default() += 1;
    }

    fn unreadable(&mut self, finding: Finding) {
        self.unreadable.push((finding.file.to_string(), finding.message));
    }

    fn file(&mut self, _: &FilePath) {}
}

/// Whether the store's users, and not the store itself, keep a file, and it is no original of a scrub.
fn is_kept(file: &FilePath) -> bool {
    let shared =
        [trash_dir(), quarantine_dir(), seals_dir(), pins_dir(), audit_dir(), staging_dir()];
    let is_own = file.as_str().split('/').next() == Some(OWN_DIR);
    (!is_own || shared.iter().any(|dir| file.is_within(dir))) && !is_in_originals(file)
}

/// Scans the raw bytes of everything that was scrubbed. Until they are purged, the originals and the store's own logs
/// hold the secrets; they are not scanned before.
pub fn scan_leftovers(
    store: &Arc<dyn Store>,
    scope: ScrubScope<'_>,
    rules: &SecretRules,
) -> Result<LeftoverScan, SessionError> {
    let mut tree = FileTree::default();
    if scope.is_root {
        tree = walk_files(store, &FilePath::root());
    } else {
        for (layout, place) in scope.sessions {
            tree.files.extend(layout.session_files(store, place)?.all_files(store)?);
        }
        if scope.is_purged {
            let own = walk_files(store, &FilePath::root().join_static(OWN_DIR));
            tree.files.extend(own.files.into_iter().filter(|file| {
                // Of the other sessions, nothing was scrubbed.
                ![trash_dir(), quarantine_dir(), staging_dir()].iter().any(|it| file.is_within(it))
            }));
        }
    }
    tree.files.sort();
    tree.files.dedup();
    if !scope.is_purged {
        tree.files.retain(is_kept);
    }
    let mut sink = LeftoverSink { unreadable: tree.skipped, ..LeftoverSink::default() };
    let stats = scan_files(store, &tree.files, rules, &mut sink);
    let left = sink.left.into_iter().map(|((file, inside, in_name), counts)| LeftoverSecrets {
        file,
        inside,
        in_name,
        counts,
    });
    Ok(LeftoverScan { left: left.collect(), unreadable: sink.unreadable, stats })
}
