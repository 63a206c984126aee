//! Repairs taken back.

use std::sync::Arc;

use jiff::Timestamp;

use super::keep::{Entry, How, RECORD, Record, content, kept, mark, write};
use super::{Action, Repair, lock};
use crate::document::Style;
use crate::game::error::GameError;
use crate::game::files::names;
use crate::game::meta::{stamp, tree};
use crate::game::names::below;
use crate::names::{FilePath, SessionId};
use crate::store::{Durability, Expect, Fingerprint, Step, Store, Writer, trash_dir};

/// Takes back the newest repair of a session that was not taken back yet: every file is again, byte for byte,
/// what it was.
///
/// If the session was changed since then, nothing is done: what was played after the repair would be lost.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<Repair, GameError> {
    undo_with(store, id, &|trash| lock(store, id, trash), now)
}

/// As [`undo_repair`], for a session of any kind that a `Keeper` has repaired; `lock` makes its one writer, who may
/// also write in a place in the trash.
pub(crate) fn undo_with(
    store: &Arc<dyn Store>,
    id: &SessionId,
    lock: &dyn Fn(&FilePath) -> Result<Box<dyn Writer>, GameError>,
    now: Timestamp,
) -> Result<Repair, GameError> {
    let (trash, _) = newest(store, id)?;
    let writer = lock(&trash)?;
    // It may have been taken back before the lock was there.
    let done = match newest(store, id) {
        Ok((again, record)) if again == trash => put_back(store, &trash, record, &*writer, now),
        Ok(_) => Err(nothing(id)),
        Err(error) => Err(error),
    };
    let released = writer.release();
    let done = done?;
    released?;
    Ok(done)
}

fn nothing(id: &SessionId) -> GameError {
    GameError::input(format!("there is no repair of session {id} that could be taken back"))
}

/// The newest repair that was not taken back.
fn newest(store: &Arc<dyn Store>, id: &SessionId) -> Result<(FilePath, Record), GameError> {
    let mut found: Option<(String, FilePath, Record)> = None;
    for place in names(store, &trash_dir())? {
        let Some(bytes) = content(store, &below(&place, &[RECORD])).or_else(missing)? else {
            continue;
        };
        let file = below(&place, &[RECORD]);
        let name = place.name().map(|name| name.to_string()).unwrap_or_default();
        if !name.contains(&format!("-{id}-repair")) {
            continue;
        }
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| GameError::damaged(&file, error))?;
        if record.session != id.as_str() || record.undone.is_some() {
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

/// Other things in the trash are not repairs.
fn missing(error: crate::store::StoreError) -> Result<Option<Vec<u8>>, crate::store::StoreError> {
    match error {
        crate::store::StoreError::Missing { .. } => Ok(None),
        other => Err(other),
    }
}

fn put_back(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    mut record: Record,
    writer: &dyn Writer,
    now: Timestamp,
) -> Result<Repair, GameError> {
    let mut steps = Vec::new();
    let mut actions = Vec::new();
    for (file, entry) in &record.files {
        let path = FilePath::parse(file)?;
        if let Some((step, what)) = step_back(store, trash, &path, entry)? {
            steps.push(step);
            actions.push(Action { file: path, what: what.to_owned() });
        }
    }
    record.undone = Some(stamp(now));
    let bytes = tree(&record).to_text(&Style::PRETTY_RAW_LINE).into_bytes();
    steps.push(write(below(trash, &[RECORD]), Expect::Anything, bytes));
    writer.commit(steps, Durability::Synced)?;
    Ok(Repair { actions, findings: Vec::new(), kept: Some(trash.clone()) })
}

/// What puts one file back; nothing if it is as it was.
fn step_back(
    store: &Arc<dyn Store>,
    trash: &FilePath,
    path: &FilePath,
    entry: &Entry,
) -> Result<Option<(Step, &'static str)>, GameError> {
    let now = content(store, path)?;
    let found = now.as_deref().map(mark);
    if found == entry.before && entry.how != How::Moved {
        return Ok(None);
    }
    if found != entry.after {
        let what =
            format!("{path} was changed after the repair, which can therefore not be taken back");
        return Err(GameError::input(what));
    }
    if entry.how == How::Created {
        return Ok(Some((Step::Remove { path: path.clone() }, "removed")));
    }
    let copy = kept(trash, path);
    let original = content(store, &copy)?;
    if original.as_deref().map(mark) != entry.before {
        return Err(GameError::damaged(&copy, "it is not the original that was put there"));
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
