//! Trash and restore of sessions. They may belong to any project, so the trash itself records where.

use std::sync::Arc;

use jiff::Timestamp;

use super::{LinggenFormat, NAME, session_place};
use crate::error::LinggenError;
use crate::paths::{ProjectPart, flat_sessions_dir, projects_dir};
use crate::session::Session;
use everturn_archive::PackProgress;
use everturn_json::names::FilePath;
use everturn_session::format::{FormatLifecycle, SessionError, Transition};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::trash::{
    TrashError, TrashName, allocate, list_dir, list_trash_names, move_to_trash, total_bytes,
};
use everturn_store::{Durability, Step, Store};

impl From<TrashError> for LinggenError {
    fn from(error: TrashError) -> LinggenError {
        match error {
            TrashError::Store(error) => LinggenError::Store(error),
            TrashError::Name(error) => LinggenError::Name(error),
            TrashError::Damaged { file, reason } => LinggenError::Damaged { file, reason },
            other => LinggenError::input(other.to_string()),
        }
    }
}

/// Moves a session to the trash.
fn trash(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    now: Timestamp,
) -> Result<TransitionOutcome, LinggenError> {
    let session = session_place(place).map_err(|error| LinggenError::input(error.to_string()))?;
    let name = allocate(store, &session.id, now)?;
    let writer = store.lock(&[session.dir.clone(), name.trash_path()?])?;
    Session::open(Arc::clone(store), &session)?;
    let (gone, step) = move_to_trash(&name, &session.dir)?;
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(TransitionOutcome {
        session: place.clone(),
        trashed: Some(gone.name.to_string()),
        deferred_error: None,
    })
}

/// The original path of a session in the trash, and its current path; `None` if it belongs to another format.
fn read_entry(
    store: &Arc<dyn Store>,
    name: &TrashName,
) -> Result<Option<(FilePath, FilePath)>, LinggenError> {
    let place = name.trash_path()?;
    let mut homes = vec![flat_sessions_dir()];
    for project in list_dir(store, &trash_path(&place, &projects_dir()))? {
        let dir = project.name().map(|name| projects_dir().join(&name));
        homes.extend(dir.map(|dir| ProjectPart::Sessions.of(&dir)));
    }
    for home in homes {
        let path = home.join(name.id.as_name());
        let now_at = trash_path(&place, &path);
        if store.stat(&now_at)?.is_some() {
            return Ok(Some((path, now_at)));
        }
    }
    Ok(None)
}

/// The path in the trash that keeps a path.
fn trash_path(place: &FilePath, path: &FilePath) -> FilePath {
    everturn_session::repair::original_path(place, path)
}

/// The sessions in the trash, oldest first.
fn trashed(store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, LinggenError> {
    let mut found = Vec::new();
    for name in list_trash_names(store)? {
        if let Some((path, now_at)) = read_entry(store, &name)? {
            let bytes = total_bytes(store, now_at)?;
            let (id, time) = (name.id.to_string(), name.time);
            found.push(TrashedSession { name: name.to_string(), id, path, time, bytes });
        }
    }
    found.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
    Ok(found)
}

impl FormatLifecycle for LinggenFormat {
    fn transitions(&self) -> &'static [Transition] {
        &[Transition::Trash]
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        transition: Transition,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        match transition {
            Transition::Trash => Ok(trash(store, place, now)?),
            other => Err(other.unsupported(NAME)),
        }
    }

    fn archived(&self, _: &SessionRef) -> Option<SessionRef> {
        None
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        Ok(trashed(store)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let parsed = TrashName::parse_given(name).map_err(LinggenError::from)?;
        let missing = || SessionError::request(format!("there is no session {name} in the trash"));
        let (path, _) = read_entry(store, &parsed)?.ok_or_else(missing)?;
        let place = parsed.trash_path()?;
        let writer = store.lock(&[path, place.clone()])?;
        let (path, now_at) = read_entry(store, &parsed)?.ok_or_else(missing)?;
        if store.stat(&path)?.is_some() {
            return Err(SessionError::Taken { id: parsed.id.to_string(), path });
        }
        let back = Step::Rename { from: now_at, to: path.clone() };
        writer.commit(vec![back], Durability::Synced)?;
        // Only empty directories are left of it, which are ignored.
        writer.commit(vec![Step::Remove { path: place }], Durability::Buffered)?;
        writer.release()?;
        Ok(SessionRef { id: parsed.id.to_string(), path })
    }

    fn purge(
        &self,
        store: &Arc<dyn Store>,
        looked_at: &[TrashedSession],
    ) -> Result<(), SessionError> {
        let places: Vec<FilePath> = looked_at
            .iter()
            .map(|item| Ok(TrashName::parse_given(&item.name)?.trash_path()?))
            .collect::<Result<_, LinggenError>>()?;
        if places.is_empty() {
            return Ok(());
        }
        let writer = store.lock(&places)?;
        let there = trashed(store)?;
        if !looked_at.iter().all(|item| there.contains(item)) {
            return Err(SessionError::request("the trash has changed since it was listed"));
        }
        let steps = places.into_iter().map(|path| Step::Remove { path }).collect();
        writer.commit(steps, Durability::Synced)?;
        Ok(writer.release()?)
    }
}
