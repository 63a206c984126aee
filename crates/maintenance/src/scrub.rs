//! Scrubbing: removes secrets from sessions: from logs, snapshots, checkpoints, archives, indexes, the trash and the
//! quarantine, as one operation that keeps every original until it is purged.
//!
//! Placeholders replace the secrets (see [`scan`](everturn_secrets::scan)), and everything else stays the same byte for
//! byte: signatures, signed values, the order and spelling of records. The format recomputes derived data, such as the
//! checksums of snapshots. An audit record describes the operation, without the secrets.

mod contents;
mod protected;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;

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
use everturn_store::{AppendAt, Durability, Step, Store, StoreError, audit_dir};

use contents::{ScrubChanges, mask_files};

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

    /// The directories that have the structure of the session: its own, and its copies in the trash.
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
        let mut work = mask_files(self.store, self.layout, &files, rules)?;
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
    let ScrubChanges { changed, left, .. } = work;
    Ok(ScrubReport { changed, derived: followed, left, originals: None, seals: None })
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
    let ScrubChanges { changes, changed, left } = work;
    let mut done = ScrubReport { changed, derived: followed, left, originals: None, seals: None };
    if changes.is_empty() {
        writer.release()?;
        // A crash may have occurred between writing the files and the index.
        refresh_index(store, layout, place)?;
        return Ok(done);
    }
    let renewal = seal::renew_seal(store, layout, place, &changes, now)?;
    done.seals = renewal.as_ref().map(|it| (it.before.clone(), it.after.clone()));
    done.originals = Some(trash.clone());
    let action = |changed: &ScrubbedFile| {
        let count: usize = changed.counts.values().sum();
        RepairAction { file: changed.file.clone(), what: format!("secrets replaced: {count}") }
    };
    let actions: Vec<RepairAction> = done.changed.iter().map(action).collect();
    let mut keeper = OriginalsBackup::new(store, &*writer, &trash, &id, &actions, now);
    let lines = audit_line(layout, place, &done, now);
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
    match layout.capabilities().index {
        Some(index) => index.refresh_index(store, place),
        None => Ok(()),
    }
}

/// The audit record, without the secrets.
fn audit_line(
    layout: &dyn SessionFormat,
    place: &SessionRef,
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
        "time": now.to_string(), "layout": layout.name(), "session": place.id,
        "path": place.path.as_str(), "kept": done.originals.as_ref().map(FilePath::as_str),
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

/// Originals of a session's scrubs to be purged, with their sizes, as [`list_originals`] returned them.
pub struct PurgeTarget<'a> {
    /// The format of the session.
    pub layout: &'a dyn SessionFormat,
    /// The session.
    pub place: &'a SessionRef,
    /// The originals.
    pub originals: Vec<(FilePath, u64)>,
}

/// Permanently removes originals, and their traces in the store and the indexes.
pub fn purge_originals(
    store: &Arc<dyn Store>,
    condemned: &[PurgeTarget<'_>],
) -> Result<(), ScrubError> {
    for PurgeTarget { layout, place, originals } in condemned {
        layout.require_writable(place)?;
        let places: Vec<FilePath> = originals.iter().map(|(place, _)| place.clone()).collect();
        if !places.is_empty() {
            let writer = store.lock(&places)?;
            let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
            writer.commit(steps, Durability::Synced)?;
            writer.release()?;
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for PurgeTarget { layout, place, .. } in condemned {
        refresh_index(store, *layout, place)?;
    }
    for PurgeTarget { layout, .. } in condemned {
        let index = layout.capabilities().index;
        if let Some(index) = index.filter(|_| !told.contains(&layout.name())) {
            told.push(layout.name());
            index.vacuum_index(store)?;
        }
    }
    Ok(store.wipe_logs()?)
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
