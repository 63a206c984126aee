//! Repairs taken back.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Action, Entry, How, RECORD, Record, Repair, RepairError, below, kept, mark, write};
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{
    Durability, Expect, Fingerprint, Step, Store, StoreError, Writer, read_if_there, trash_dir,
};

/// Takes back the newest repair of a session that was not taken back yet: every file is again, byte for byte,
/// what it was.
///
/// The session lies in `scopes`. If it was changed since then, nothing is done: what was written after the repair
/// would be lost.
pub fn take_back(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    now: Timestamp,
) -> Result<Repair, RepairError> {
    take_back_done(store, id, scopes, "repair", now)
}

/// Takes back the newest thing that was `done` to a session, as [`take_back`] does.
pub fn take_back_done(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    done: &str,
    now: Timestamp,
) -> Result<Repair, RepairError> {
    let (trash, _) = newest(store, id, scopes, done)?;
    let writer = store.lock(&[scopes, std::slice::from_ref(&trash)].concat())?;
    // It may have been taken back before the lock was there.
    let done = match newest(store, id, scopes, done) {
        Ok((again, record)) if again == trash => put_back(store, &trash, record, &*writer, now),
        Ok(_) => Err(nothing(id)),
        Err(error) => Err(error),
    };
    let released = writer.release();
    let done = done?;
    released?;
    Ok(done)
}

fn nothing(id: &SessionId) -> RepairError {
    RepairError::Nothing { id: id.clone() }
}

fn damaged(file: &FilePath, reason: impl std::fmt::Display) -> RepairError {
    RepairError::Damaged { file: file.clone(), reason: reason.to_string() }
}

/// The newest repair that was not taken back.
fn newest(
    store: &Arc<dyn Store>,
    id: &SessionId,
    scopes: &[FilePath],
    done: &str,
) -> Result<(FilePath, Record), RepairError> {
    let mut found: Option<(String, FilePath, Record)> = None;
    let listing = match store.list(&trash_dir()) {
        Err(StoreError::Missing { .. }) => return Err(nothing(id)),
        listing => listing?,
    };
    for entry in listing.entries {
        let (place, name) = (trash_dir().join(&entry.name), entry.name.to_string());
        if !name.contains(&format!("-{id}-{done}")) {
            continue;
        }
        let file = below(&place, RECORD);
        let Some(bytes) = read_if_there(store, &file)? else { continue };
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&file, error))?;
        // Sessions of another layout may have the same id.
        let is_inside = |file: &String| {
            FilePath::parse(file).is_ok_and(|file| scopes.iter().any(|dir| file.is_within(dir)))
        };
        let is_ours = record.session == id.as_str() && record.files.keys().all(is_inside);
        if !is_ours || record.undone.is_some() {
            continue;
        }
        // The names of one second differ by a number, of which longer ones are later.
        let key = format!("{}-{:08}-{name}", record.time, name.len());
        if found.as_ref().is_none_or(|(newest, _, _)| *newest < key) {
            found = Some((key, place, record));
        }
    }
    found.map(|(_, place, record)| (place, record)).ok_or_else(|| nothing(id))
}

fn put_back(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    mut record: Record,
    writer: &dyn Writer,
    now: Timestamp,
) -> Result<Repair, RepairError> {
    let mut steps = Vec::new();
    let mut actions = Vec::new();
    for (file, entry) in &record.files {
        let path = FilePath::parse(file)?;
        if let Some((step, what)) = step_back(store, trash, &path, entry)? {
            steps.push(step);
            actions.push(Action { file: path, what: what.to_owned() });
        }
    }
    record.undone = Some(now.to_string());
    steps.push(record.step(trash));
    writer.commit(steps, Durability::Synced)?;
    Ok(Repair { actions, findings: Vec::new(), kept: Some(trash.clone()) })
}

/// What puts one file back; nothing if it is as it was.
fn step_back(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    path: &FilePath,
    entry: &Entry,
) -> Result<Option<(Step, &'static str)>, RepairError> {
    let now = read_if_there(store, path)?;
    let found = now.as_deref().map(mark);
    if found == entry.before && entry.how != How::Moved {
        return Ok(None);
    }
    if found != entry.after {
        return Err(RepairError::Changed { file: path.clone() });
    }
    if entry.how == How::Created {
        return Ok(Some((Step::Remove { path: path.clone() }, "removed")));
    }
    let copy = kept(trash, path);
    let original = read_if_there(store, &copy)?;
    if original.as_deref().map(mark) != entry.before {
        return Err(damaged(&copy, "it is not the original that was put there"));
    }
    Ok(match (entry.how, original, now) {
        (How::Moved, Some(_), _) => {
            Some((Step::Rename { from: copy, to: path.clone() }, "moved back"))
        }
        (_, Some(original), Some(now)) => {
            let expect = Expect::Content(Fingerprint::of(&now));
            Some((write(path.clone(), expect, original), "as it was before"))
        }
        _ => None,
    })
}
