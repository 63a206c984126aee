//! Scrubs the files of a root that belong to no session: runs, missions, plans, memory, logs, and copies in the trash and
//! in the quarantine whose session is gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::contents::{ScrubChanges, mask_files};
use super::{DONE, ScrubError, ScrubReport, audit_file, audit_line, is_in_originals, is_originals};
use everturn_json::names::{FilePath, SessionId};
use everturn_secrets::scan::SecretRules;
use everturn_session::format::SessionFormat;
use everturn_session::model::SessionRef;
use everturn_session::repair::{
    OriginalsBackup, RepairAction, allocate_originals_for, revert_operation,
};
use everturn_session::session_files::walk_files;
use everturn_session::trash::{list_dir, total_bytes};
use everturn_store::{AppendAt, OWN_DIR, Step, Store, quarantine_dir, trash_dir};

/// The name of these files in the trash.
const NAME: &str = "other-files";

/// The beginning of a SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The ends of the names of the files beside a SQLite file.
const SIDE_FILES: &[&str] = &["-wal", "-shm", "-journal"];

/// Whether a file has settings, which programs need as they are.
fn is_settings(file: &FilePath) -> bool {
    let Some(name) = file.name() else { return false };
    matches!(name.as_str(), "config.json" | "settings.json" | ".env")
        || name.as_str().ends_with(".toml")
}

/// Whether a file is a SQLite database, which its format rewrites, or belongs to one.
fn is_database(store: &Arc<dyn Store>, file: &FilePath) -> bool {
    let has_magic = |file: &FilePath| {
        store.read(file, 0..SQLITE.len() as u64).is_ok_and(|start| start == SQLITE)
    };
    let database = SIDE_FILES.iter().find_map(|end| file.as_str().strip_suffix(end));
    match database.and_then(|path| FilePath::parse(path).ok()) {
        Some(database) if has_magic(&database) => true,
        _ => has_magic(file),
    }
}

/// The files that belong to none of these sessions and may be changed.
fn other_files(
    store: &Arc<dyn Store>,
    sessions: &[(&'static dyn SessionFormat, SessionRef)],
) -> Vec<FilePath> {
    let mut taken: BTreeSet<FilePath> = BTreeSet::new();
    for (layout, place) in sessions {
        // The session itself reports that its files are unknown.
        if let Ok(files) = layout.session_files(store, place) {
            taken.extend(files.all_files(store).unwrap_or_default());
        }
    }
    let mut files = walk_files(store, &FilePath::root()).files;
    files.retain(|file| {
        let is_own = file.as_str().split('/').next() == Some(OWN_DIR);
        let is_shared = file.is_within(&trash_dir()) || file.is_within(&quarantine_dir());
        (!is_own || is_shared)
            && !is_in_originals(file)
            && !taken.contains(file)
            && !is_settings(file)
    });
    files.retain(|file| !is_database(store, file));
    files
}

/// Plans the scrub of the files that belong to none of these sessions, which are all sessions of the root.
#[must_use]
pub fn plan_other_files(
    store: &Arc<dyn Store>,
    sessions: &[(&'static dyn SessionFormat, SessionRef)],
    rules: &SecretRules,
) -> ScrubReport {
    let work = mask_files(store, None, &other_files(store, sessions), rules);
    let ScrubChanges { changed, left, failed, .. } = work;
    ScrubReport { changed, left, failed, ..ScrubReport::default() }
}

/// Removes the secrets from the files that belong to none of these sessions. The originals are kept.
pub fn scrub_other_files(
    store: &Arc<dyn Store>,
    sessions: &[(&'static dyn SessionFormat, SessionRef)],
    rules: &SecretRules,
    now: Timestamp,
) -> Result<ScrubReport, ScrubError> {
    let found = plan_other_files(store, sessions, rules);
    let files: Vec<FilePath> = found.changed.iter().map(|changed| changed.file.clone()).collect();
    if files.is_empty() {
        return Ok(found);
    }
    let id = SessionId::parse(NAME)?;
    let trash = allocate_originals_for(store, &id, DONE, now)?;
    let scopes = [files.clone(), vec![audit_file(), trash.clone()]].concat();
    let writer = store.lock(&scopes)?;
    let ScrubChanges { changes, changed, left, failed } = mask_files(store, None, &files, rules);
    let mut done = ScrubReport { changed, left, failed, ..ScrubReport::default() };
    // What is not changed was reported by the plan.
    done.left.extend(found.left.into_iter().filter(|(file, _)| !files.contains(file)));
    done.failed.extend(found.failed);
    done.originals = Some(trash.clone());
    let actions = done.changed.iter().map(|changed| {
        let count: usize = changed.counts.values().sum();
        RepairAction { file: changed.file.clone(), what: format!("secrets replaced: {count}") }
    });
    let actions: Vec<RepairAction> = actions.collect();
    let mut keeper = OriginalsBackup::new(store, &*writer, &trash, &id, &actions, now);
    let lines = audit_line(None, &done, now);
    keeper.add_step(Step::Append { file: audit_file(), at: AppendAt::End, lines });
    for (file, bytes) in changes {
        keeper.write(&file, bytes.unwrap_or_default())?;
    }
    keeper.flush()?;
    writer.release()?;
    Ok(done)
}

/// Undoes the newest scrub of these files.
pub fn revert_other_files(
    store: &Arc<dyn Store>,
    now: Timestamp,
) -> Result<Vec<RepairAction>, ScrubError> {
    let id = SessionId::parse(NAME)?;
    let scopes = [FilePath::root(), trash_dir(), quarantine_dir()];
    Ok(revert_operation(store, &id, &scopes, DONE, now)?.actions)
}

/// The originals of these files, with their sizes in bytes.
pub fn list_other_originals(store: &Arc<dyn Store>) -> Result<Vec<(FilePath, u64)>, ScrubError> {
    let mut found = Vec::new();
    for place in list_dir(store, &trash_dir())? {
        let name = place.name().map(|name| name.to_string()).unwrap_or_default();
        let rest = name.split_once('-').map_or("", |(_, rest)| rest);
        if rest.starts_with(NAME) && is_originals(&place) {
            let bytes = total_bytes(store, place.clone())?;
            found.push((place, bytes));
        }
    }
    Ok(found)
}
