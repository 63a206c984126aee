//! Repairs taken back.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Entry, How, Record, content, kept, mark, write};
use crate::names::{FilePath, SessionId};
use crate::store::{Durability, Expect, Fingerprint, Step, Store, Writer, trash_dir};
use crate::trash::{TrashError, names};

/// What was put back, and how.
pub(crate) type PutBack = Vec<(FilePath, &'static str)>;

/// Takes back the newest repair of a session that was not taken back yet: every file is again, byte for byte,
/// what it was. Tells what was put back, and where the originals are.
///
/// If the session was changed since then, nothing is done: what was played after the repair would be lost.
pub(crate) fn undo(
    store: &Arc<dyn Store>,
    id: &SessionId,
    homes: &[FilePath],
    now: Timestamp,
) -> Result<(PutBack, FilePath), TrashError> {
    let (trash, _) = newest(store, id, homes)?;
    let scopes: Vec<FilePath> = homes.iter().cloned().chain([trash.clone()]).collect();
    let writer = store.lock(&scopes)?;
    // It may have been taken back before the lock was there.
    let done = match newest(store, id, homes) {
        Ok((again, record)) if again == trash => put_back(store, &trash, record, &*writer, now),
        Ok(_) => Err(nothing(id)),
        Err(error) => Err(error),
    };
    let released = writer.release();
    let done = done?;
    released?;
    Ok((done, trash))
}

fn nothing(id: &SessionId) -> TrashError {
    TrashError::Refused {
        what: format!("there is no repair of session {id} that could be taken back"),
    }
}

/// The newest repair that was not taken back.
fn newest(
    store: &Arc<dyn Store>,
    id: &SessionId,
    homes: &[FilePath],
) -> Result<(FilePath, Record), TrashError> {
    let mut found: Option<(String, FilePath, Record)> = None;
    for place in names(store, &trash_dir())? {
        let file = Record::place(&place);
        let Some(bytes) = content(store, &file)? else { continue };
        let name = place.name().map(|name| name.to_string()).unwrap_or_default();
        if !name.contains(&format!("-{id}-repair")) {
            continue;
        }
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
            TrashError::Damaged { file: file.clone(), reason: error.to_string() }
        })?;
        // Sessions of another layout may have the same id.
        let is_inside = |file: &String| {
            FilePath::parse(file).is_ok_and(|file| homes.iter().any(|home| file.is_within(home)))
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
) -> Result<PutBack, TrashError> {
    let mut steps = Vec::new();
    let mut actions = Vec::new();
    for (file, entry) in &record.files {
        let path = FilePath::parse(file)?;
        if let Some((step, what)) = step_back(store, trash, &path, entry)? {
            steps.push(step);
            actions.push((path, what));
        }
    }
    record.undone = Some(now.to_string());
    steps.push(record.step(trash));
    writer.commit(steps, Durability::Synced)?;
    Ok(actions)
}

/// What puts one file back; nothing if it is as it was.
fn step_back(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    path: &FilePath,
    entry: &Entry,
) -> Result<Option<(Step, &'static str)>, TrashError> {
    let now = content(store, path)?;
    let found = now.as_deref().map(mark);
    if found == entry.before && entry.how != How::Moved {
        return Ok(None);
    }
    if found != entry.after {
        let what =
            format!("{path} was changed after the repair, which can therefore not be taken back");
        return Err(TrashError::Refused { what });
    }
    if entry.how == How::Created {
        return Ok(Some((Step::Remove { path: path.clone() }, "removed")));
    }
    let copy = kept(trash, path);
    let original = content(store, &copy)?;
    if original.as_deref().map(mark) != entry.before {
        let reason = "it is not the original that was put there".to_owned();
        return Err(TrashError::Damaged { file: copy, reason });
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
