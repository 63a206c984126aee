//! Chat logs thrown away, taken back, and gone for good.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::ChatError;
use super::names::{Files, below, chats_dir};
use super::writer::ChatWriter;
use crate::disk::Kind;
use crate::game::{GameError, TrashName, free_place, names};
use crate::layout::LayoutError;
use crate::names::{FilePath, SessionId};
use crate::store::{Durability, Step, Store, trash_dir};
use crate::view::{Place, Trashed};

impl From<GameError> for ChatError {
    fn from(error: GameError) -> ChatError {
        match error {
            GameError::Store(error) => ChatError::Store(error),
            GameError::Name(error) => ChatError::Name(error),
            other => ChatError::input(other.to_string()),
        }
    }
}

/// Moves a chat log to the trash, with the journal put into it; returns the name that it has there.
pub(super) fn trash(
    store: &Arc<dyn Store>,
    path: &FilePath,
    id: &str,
    now: Timestamp,
) -> Result<String, ChatError> {
    let files = Files::of(path)?;
    let name = free_place(store, &SessionId::parse(id)?, now)?;
    let place = name.place()?;
    let mut scopes = files.scopes();
    scopes.push(place.clone());
    let mut writer = ChatWriter::with(store, &files, store.lock(&scopes)?)?;
    writer.fold()?;
    let to = inside(&place, path)?;
    let mut steps = vec![Step::Rename { from: path.clone(), to }];
    if store.stat(&files.index)?.is_some() {
        steps.push(Step::Remove { path: files.index.clone() });
    }
    writer.writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(name.to_string())
}

/// Where a place in the trash keeps a file.
fn inside(place: &FilePath, path: &FilePath) -> Result<FilePath, ChatError> {
    Ok(FilePath::parse(&format!("{}/{}", place.as_str(), path.as_str()))?)
}

/// What a place in the trash holds, if it is a chat log.
fn look_into(store: &Arc<dyn Store>, name: &TrashName) -> Result<Option<(FilePath, u64)>, ChatError> {
    let file = format!("{}.json", name.id);
    for path in [below(&chats_dir(), &file), below(&FilePath::root(), &file)] {
        let stat = store.stat(&inside(&name.place()?, &path)?)?;
        if let Some(stat) = stat.filter(|stat| stat.kind == Kind::File) {
            return Ok(Some((path, stat.len)));
        }
    }
    Ok(None)
}

/// The chat logs in the trash, oldest first.
pub(super) fn trashed(store: &Arc<dyn Store>) -> Result<Vec<Trashed>, ChatError> {
    let mut found = Vec::new();
    for place in names(store, &trash_dir())? {
        let name = place.name().and_then(|name| TrashName::parse(name.as_str()));
        let Some(name) = name else { continue };
        if let Some((path, bytes)) = look_into(store, &name)? {
            let (id, time) = (name.id.to_string(), name.time);
            found.push(Trashed { name: name.to_string(), id, path, time, bytes });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Puts a chat log back where it belongs.
pub(super) fn restore(store: &Arc<dyn Store>, name: &str) -> Result<Place, ChatError> {
    let missing = || ChatError::input(format!("there is no {name:?} in the trash"));
    let name = TrashName::parse(name).ok_or_else(missing)?;
    let (path, _) = look_into(store, &name)?.ok_or_else(missing)?;
    let (files, place) = (Files::of(&path)?, name.place()?);
    let mut scopes = files.scopes();
    scopes.push(place.clone());
    let writer = store.lock(&scopes)?;
    for file in [&files.document, &files.folded, &files.journal] {
        if store.stat(file)?.is_some() {
            let (id, path) = (name.id.to_string(), file.clone());
            return Err(ChatError::Taken { id, path });
        }
    }
    let from = inside(&place, &path)?;
    writer.commit(vec![Step::Rename { from, to: path.clone() }], Durability::Synced)?;
    // Only empty directories are left of it, which nobody takes for anything.
    writer.commit(vec![Step::Remove { path: place }], Durability::Written)?;
    writer.release()?;
    Ok(Place { id: name.id.to_string(), path })
}

/// Removes chat logs from the trash for good, as they were when somebody looked at them.
pub(super) fn purge(store: &Arc<dyn Store>, wanted: &[Trashed]) -> Result<(), LayoutError> {
    let places = wanted.iter().map(|trashed| {
        let name = TrashName::parse(&trashed.name);
        let missing = || LayoutError::request(format!("there is no {:?} in the trash", trashed.name));
        Ok(name.ok_or_else(missing)?.place()?)
    });
    let places: Vec<FilePath> = places.collect::<Result<_, LayoutError>>()?;
    if places.is_empty() {
        return Ok(());
    }
    let writer = store.lock(&places)?;
    let now = trashed(store)?;
    if !wanted.iter().all(|trashed| now.contains(trashed)) {
        return Err(LayoutError::request("the trash has changed since it was looked at"));
    }
    let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}
