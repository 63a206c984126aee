//! Scrubbing: removes secrets from sessions: from logs, snapshots, checkpoints, archives, indexes, the trash and the
//! quarantine, as one operation that keeps every original until it is purged.
//!
//! Placeholders replace the secrets (see [`scan`](everturn_secrets::scan)), and everything else stays the same byte for
//! byte: signatures, signed values, the order and spelling of records. The format recomputes derived data, such as the
//! checksums of snapshots. An audit record describes the operation, without the secrets.

mod contents;
mod leftovers;
mod other_files;
mod protected;
mod purge;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;

use crate::scan_files::archive_top;
use crate::seal;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_secrets::scan::{FamilyCounts, SecretRules};
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::SessionRef;
use everturn_session::repair::{
    OriginalsBackup, RepairAction, RepairError, allocate_originals_for, original_path,
    revert_operation,
};
use everturn_session::session_files::{SessionFiles, files_below};
use everturn_store::{AppendAt, Step, Store, StoreError, audit_dir, trash_dir};

use contents::{ScrubChanges, mask_files};

pub use leftovers::{LeftoverScan, LeftoverSecrets, ScrubScope, scan_leftovers};
pub use other_files::{
    list_other_originals, plan_other_files, revert_other_files, scrub_other_files,
};
pub use purge::{PurgeTarget, purge_originals, remove_originals};

/// The name of the operation in the trash.
const DONE: &str = "scrub";

/// Why secrets could not be removed. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ScrubError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The format failed.
    #[error(transparent)]
    Layout(#[from] SessionError),
    /// The scrub cannot be undone.
    #[error(transparent)]
    Revert(#[from] RepairError),
}

/// A file that contains secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedFile {
    /// The file.
    pub file: FilePath,
    /// The number of secrets by family.
    pub counts: FamilyCounts,
    /// The distinct placeholders.
    pub placeholders: Vec<String>,
}

/// The result of a scrub, or its plan.
#[derive(Debug, Clone, Default)]
pub struct ScrubReport {
    /// The files that contain secrets.
    pub changed: Vec<ScrubbedFile>,
    /// Derived files that are recomputed, or removed until they are rebuilt.
    pub derived: Vec<FilePath>,
    /// Files with secrets that stay, because they are signed or replacing them would break the JSON.
    pub left: Vec<(FilePath, usize)>,
    /// The files that could not be read or changed, with the reason. They do not stop the others.
    pub failed: Vec<(FilePath, String)>,
    /// The directory of the originals, once it is done.
    pub originals: Option<FilePath>,
    /// The heads of the seal before and after, if the session has an intact one.
    pub seals: Option<(String, String)>,
}

/// The audit log of scrubs.
#[must_use]
pub fn audit_file() -> FilePath {
    audit_dir().join_static("scrubs.jsonl")
}

/// Whether a directory in the trash contains originals of a scrub.
fn is_originals(place: &FilePath) -> bool {
    place.name().is_some_and(|name| {
        let name = name.as_str().trim_end_matches(|c: char| c.is_ascii_digit());
        name.trim_end_matches('-').ends_with("-scrub")
    })
}

/// Whether a file is in a directory with originals of a scrub.
fn is_in_originals(file: &FilePath) -> bool {
    file.ancestors().any(|dir| dir.parent().as_ref() == Some(&trash_dir()) && is_originals(&dir))
}

/// A session with all its files.
struct ScrubTarget<'a> {
    store: &'a Arc<dyn Store>,
    layout: &'a dyn SessionFormat,
    place: &'a SessionRef,
    session_files: SessionFiles,
    /// Copies in the trash, without originals of scrubs.
    copies: Vec<FilePath>,
    originals: Vec<FilePath>,
    quarantined: Vec<FilePath>,
}

impl<'a> ScrubTarget<'a> {
    fn find(
        store: &'a Arc<dyn Store>,
        layout: &'a dyn SessionFormat,
        place: &'a SessionRef,
    ) -> Result<ScrubTarget<'a>, ScrubError> {
        let session_files = layout.session_files(store, place)?;
        let (originals, copies) =
            session_files.trash_copies(store)?.into_iter().partition(is_originals);
        let quarantined = session_files.quarantined_files(store)?;
        Ok(ScrubTarget { store, layout, place, session_files, copies, originals, quarantined })
    }

    /// The name of the session in the trash.
    fn id(&self) -> Result<SessionId, NameError> {
        SessionId::parse(self.session_files.names.last().unwrap_or(&self.place.id))
    }

    /// All paths that are locked for the change.
    fn scopes(&self) -> Result<Vec<FilePath>, SessionError> {
        let mut scopes = self.session_files.scopes.clone();
        scopes.extend(self.session_files.paths.iter().cloned());
        scopes.extend(self.copies.iter().chain(&self.quarantined).cloned());
        scopes.push(audit_file());
        scopes.push(seal::seal_file(self.layout, self.place)?);
        scopes.sort();
        scopes.dedup();
        // A path within another is locked with it.
        let all = scopes.clone();
        scopes.retain(|it| !all.iter().any(|other| other != it && it.is_within(other)));
        Ok(scopes)
    }

    /// The directories that have the structure of the session: its own, and its copies in the trash. What an archive
    /// contains is updated when it is packed again.
    fn roots(&self) -> Result<Vec<FilePath>, StoreError> {
        let mut roots = vec![self.place.path.clone()];
        for copy in &self.copies {
            for scope in &self.session_files.scopes {
                let root = original_path(copy, scope);
                if self.store.stat(&root).is_ok_and(|stat| stat.is_some()) {
                    roots.push(root);
                }
            }
        }
        roots.retain(|root| archive_top(root).is_none());
        Ok(roots)
    }

    fn mask_files(&self, rules: &SecretRules) -> Result<(ScrubChanges, Vec<FilePath>), ScrubError> {
        let mut files = Vec::new();
        for path in self.session_files.paths.iter().chain(&self.copies) {
            files.extend(files_below(self.store, path)?);
        }
        files.extend(self.quarantined.iter().cloned());
        files.sort();
        files.dedup();
        let mut work = mask_files(self.store, Some(self.layout), &files, rules);
        let found: Vec<FilePath> = work.changes.keys().cloned().collect();
        if let Some(derived) = self.layout.capabilities().derived {
            for root in self.roots()? {
                derived.update_derived(self.store, &root, &mut work.changes)?;
            }
        }
        let followed = work.changes.keys().filter(|file| !found.contains(file)).cloned().collect();
        Ok((work, followed))
    }
}

/// Plans a scrub of a session without changing anything.
pub fn plan_scrub(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    rules: &SecretRules,
) -> Result<ScrubReport, ScrubError> {
    let (work, followed) = ScrubTarget::find(store, layout, place)?.mask_files(rules)?;
    let ScrubChanges { changed, left, failed, .. } = work;
    Ok(ScrubReport { changed, derived: followed, left, failed, ..ScrubReport::default() })
}

/// Removes the secrets from a session. The originals are kept; [`revert`] restores them.
pub fn scrub_session(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    rules: &SecretRules,
    now: Timestamp,
) -> Result<ScrubReport, ScrubError> {
    layout.require_writable(place)?;
    let target = ScrubTarget::find(store, layout, place)?;
    let id = target.id()?;
    let trash = allocate_originals_for(store, &id, DONE, now)?;
    let writer = store.lock(&[target.scopes()?, vec![trash.clone()]].concat())?;
    let (work, followed) = target.mask_files(rules)?;
    let ScrubChanges { changes, changed, left, failed } = work;
    let mut done =
        ScrubReport { changed, derived: followed, left, failed, ..ScrubReport::default() };
    if changes.is_empty() {
        writer.release()?;
        // A crash may have occurred between writing the files and the index.
        refresh_index(store, layout, place)?;
        return Ok(done);
    }
    let renewal = match seal::renew_seal(store, layout, place, &changes, now) {
        // The records of a session in the trash cannot be compared with its seal.
        Err(_) if is_trashed(store, place) => None,
        renewal => renewal?,
    };
    done.seals = renewal.as_ref().map(|it| (it.before.clone(), it.after.clone()));
    done.originals = Some(trash.clone());
    let action = |changed: &ScrubbedFile| {
        let count: usize = changed.counts.values().sum();
        RepairAction { file: changed.file.clone(), what: format!("secrets replaced: {count}") }
    };
    let actions: Vec<RepairAction> = done.changed.iter().map(action).collect();
    let mut keeper = OriginalsBackup::new(store, &*writer, &trash, &id, &actions, now);
    let lines = audit_line(Some((layout, place)), &done, now);
    keeper.add_step(Step::Append { file: audit_file(), at: AppendAt::End, lines });
    if let Some(renewal) = renewal {
        keeper.write(&renewal.file, renewal.bytes)?;
    }
    for (file, bytes) in changes {
        match bytes {
            Some(bytes) => keeper.write(&file, bytes)?,
            None => keeper.move_away(&file),
        }
    }
    keeper.flush()?;
    writer.release()?;
    refresh_index(store, layout, place)?;
    Ok(done)
}

/// Brings the index of a format up to date, if it has one.
fn refresh_index(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<(), SessionError> {
    match layout.capabilities().index.map(|index| index.refresh_index(store, place)) {
        // A session in the trash has no row.
        Some(Err(_)) if is_trashed(store, place) => Ok(()),
        Some(refreshed) => refreshed,
        None => Ok(()),
    }
}

/// Whether a session is only in the trash.
fn is_trashed(store: &Arc<dyn Store>, place: &SessionRef) -> bool {
    store.stat(&place.path).is_ok_and(|stat| stat.is_none())
}

/// The audit record, without the secrets; of a session, or of the files that belong to none.
fn audit_line(
    session: Option<(&dyn SessionFormat, &SessionRef)>,
    done: &ScrubReport,
    now: Timestamp,
) -> Vec<u8> {
    let files: Vec<_> = done
        .changed
        .iter()
        .map(|it| {
            let secrets: serde_json::Map<String, serde_json::Value> = it
                .counts
                .iter()
                .map(|(family, count)| ((*family).to_owned(), (*count).into()))
                .collect();
            json!({"file": it.file.as_str(), "secrets": secrets, "placeholders": it.placeholders})
        })
        .collect();
    let left: usize = done.left.iter().map(|(_, count)| count).sum();
    let seal = done.seals.as_ref().map(|(before, after)| json!({"before": before, "after": after}));
    let line = json!({
        "time": now.to_string(), "layout": session.map(|(layout, _)| layout.name()),
        "session": session.map(|(_, place)| &place.id),
        "path": session.map_or("", |(_, place)| place.path.as_str()), "kept": done.originals.as_ref().map(FilePath::as_str),
        "files": files, "left": left, "seal": seal,
    });
    format!("{line}\n").into_bytes()
}

/// Undoes the newest scrub of a session: every file is restored byte for byte.
pub fn revert(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    now: Timestamp,
) -> Result<Vec<RepairAction>, ScrubError> {
    layout.require_writable(place)?;
    let target = ScrubTarget::find(store, layout, place)?;
    let done = revert_operation(store, &target.id()?, &target.scopes()?, DONE, now)?;
    refresh_index(store, layout, place)?;
    Ok(done.actions)
}

/// The originals of a session's scrubs, with their sizes in bytes.
pub fn list_originals(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Vec<(FilePath, u64)>, ScrubError> {
    let target = ScrubTarget::find(store, layout, place)?;
    let size =
        |place: FilePath| Ok((place.clone(), everturn_session::trash::total_bytes(store, place)?));
    target.originals.into_iter().map(size).collect()
}

/// The sessions of a format in the trash, unless a session with the same ID exists. They are scrubbed like the others.
pub fn trashed_sessions(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    present: &[SessionRef],
) -> Result<Vec<SessionRef>, SessionError> {
    let Some(lifecycle) = layout.capabilities().lifecycle else { return Ok(Vec::new()) };
    let mut found: Vec<SessionRef> = Vec::new();
    for trashed in lifecycle.list_trash(store)? {
        let is_known = |place: &SessionRef| place.id == trashed.id;
        if !present.iter().chain(&found).any(is_known) {
            found.push(SessionRef { id: trashed.id, path: trashed.path });
        }
    }
    Ok(found)
}

/// A session and its branches, directly or indirectly forked from it.
pub fn with_branches(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Vec<SessionRef>, SessionError> {
    let mut rest = Vec::new();
    for other in layout.locate(store)?.sessions {
        if other != *place {
            // An unreadable session has no known parent.
            let parent = layout.summary(store, &other).ok().and_then(|summary| summary.parent);
            rest.push((other, parent));
        }
    }
    let mut family = vec![place.clone()];
    let mut at = 0;
    while let Some(id) = family.get(at).map(|place| place.id.clone()) {
        let (mut found, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, parent)| parent.as_deref() == Some(id.as_str()));
        family.extend(found.drain(..).map(|(place, _)| place));
        rest = others;
        at += 1;
    }
    Ok(family)
}
