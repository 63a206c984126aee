//! Undoes repairs.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    FileAction, RECORD, RepairAction, RepairError, RepairRecord, RepairReport, RepairedFile,
    child_path, content_mark, original_path,
};
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{
    Durability, Fingerprint, Precondition, Step, Store, StoreError, Writer, read_optional,
    trash_dir,
};

/// Undoes the newest repair of a session that was not undone yet: every file is restored byte for byte.
///
/// The files of the session are in `scopes`. If one was changed since the repair, nothing is done, because those
/// changes would be lost.
pub fn revert(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    now: Timestamp,
) -> Result<RepairReport, RepairError> {
    revert_operation(store, id, scopes, "repair", now)
}

/// Undoes the newest operation `done` of a session, like [`revert`].
pub fn revert_operation(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    done: &str,
    now: Timestamp,
) -> Result<RepairReport, RepairError> {
    let (trash, _) = newest_record(store, id, scopes, done)?;
    let writer = store.lock(&[scopes, std::slice::from_ref(&trash)].concat())?;
    // Another process may have undone it before the lock was acquired.
    let done = match newest_record(store, id, scopes, done) {
        Ok((again, record)) if again == trash => {
            restore_originals(store, &trash, record, &*writer, now)
        }
        Ok(_) => Err(no_repair(id)),
        Err(error) => Err(error),
    };
    let released = writer.release();
    let done = done?;
    released?;
    Ok(done)
}

fn no_repair(id: &SessionId) -> RepairError {
    RepairError::NoRepair { id: id.clone() }
}

fn damaged(file: &FilePath, reason: impl std::fmt::Display) -> RepairError {
    RepairError::Damaged { file: file.clone(), reason: reason.to_string() }
}

/// The newest repair that was not undone.
fn newest_record(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    done: &str,
) -> Result<(FilePath, RepairRecord), RepairError> {
    let mut found: Option<(String, FilePath, RepairRecord)> = None;
    let listing = match store.list(&trash_dir()) {
        Err(StoreError::Missing { .. }) => return Err(no_repair(id)),
        listing => listing?,
    };
    for entry in listing.entries {
        let (place, name) = (trash_dir().join(&entry.name), entry.name.to_string());
        if !name.contains(&format!("-{id}-{done}")) {
            continue;
        }
        let file = child_path(&place, RECORD);
        let Some(bytes) = read_optional(store, &file)? else { continue };
        let record: RepairRecord =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&file, error))?;
        // Sessions of another format may have the same ID.
        let is_inside = |file: &String| {
            FilePath::parse(file).is_ok_and(|file| scopes.iter().any(|dir| file.is_within(dir)))
        };
        let is_ours = record.session == id.as_str() && record.files.keys().all(is_inside);
        if !is_ours || record.undone.is_some() {
            continue;
        }
        // Names with the same second differ by a number, and longer ones are later.
        let key = format!("{}-{:08}-{name}", record.time, name.len());
        if found.as_ref().is_none_or(|(newest, _, _)| *newest < key) {
            found = Some((key, place, record));
        }
    }
    found.map(|(_, place, record)| (place, record)).ok_or_else(|| no_repair(id))
}

fn restore_originals(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    mut record: RepairRecord,
    writer: &dyn Writer,
    now: Timestamp,
) -> Result<RepairReport, RepairError> {
    let mut steps = Vec::new();
    let mut actions = Vec::new();
    for (file, entry) in &record.files {
        let path = FilePath::parse(file)?;
        if let Some((step, what)) = restore_step(store, trash, &path, entry)? {
            steps.push(step);
            actions.push(RepairAction { file: path, what: what.to_owned() });
        }
    }
    record.undone = Some(now.to_string());
    steps.push(record.step(trash));
    writer.commit(steps, Durability::Synced)?;
    Ok(RepairReport { actions, findings: Vec::new(), originals: Some(trash.clone()) })
}

/// The step that restores one file; `None` if it is unchanged.
fn restore_step(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    path: &FilePath,
    entry: &RepairedFile,
) -> Result<Option<(Step, &'static str)>, RepairError> {
    let now = read_optional(store, path)?;
    let found = now.as_deref().map(content_mark);
    if found == entry.before && entry.how != FileAction::Moved {
        return Ok(None);
    }
    if found != entry.after {
        return Err(RepairError::Changed { file: path.clone() });
    }
    if entry.how == FileAction::Created {
        return Ok(Some((Step::Remove { path: path.clone() }, "removed")));
    }
    let copy = original_path(trash, path);
    let original = read_optional(store, &copy)?;
    if original.as_deref().map(content_mark) != entry.before {
        return Err(damaged(&copy, "it differs from the original that was stored"));
    }
    Ok(match (entry.how, original, now) {
        (FileAction::Moved, Some(_), _) => {
            Some((Step::Rename { from: copy, to: path.clone() }, "moved back"))
        }
        (_, Some(original), Some(now)) => {
            let expect = Precondition::Content(Fingerprint::of(&now));
            Some((Step::replace_expecting(path.clone(), expect, original), "restored"))
        }
        _ => None,
    })
}
