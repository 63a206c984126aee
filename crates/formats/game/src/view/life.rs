//! What may become of a game session as a whole, in the common view.

use std::sync::Arc;

use jiff::Timestamp;

use crate::archive::{Archiving, archive, unarchive};
use crate::branch::{Branching, fork, rewind};
use crate::error::GameError;
use crate::lifecycle::{complete, pause, resume};
use crate::names::Status;
use crate::session::{Session, find};
use crate::trash::{
    PurgePlan, TrashName, Trashed as InTrash, purge as purge_plan, restore, trash,
    trashed as list_trashed,
};
use crate::writer::lock;
use everturn_archive::Progress;
use everturn_json::names::SessionId;
use everturn_session::layout::{LayoutError, Stage, chain};
use everturn_session::marks::Marks;
use everturn_session::view::{Branch, Forking, Mark, Place, Staged, Trashed};
use everturn_store::{Durability, Step, Store};

/// How many ids are tried for a fork that got none.
const TRIES: u64 = 10_000;

fn place(status: Status, id: &SessionId) -> Place {
    Place { id: id.to_string(), path: status.session(id) }
}

pub(super) fn branch_off(
    store: &Arc<dyn Store>,
    from: &Place,
    how: &Forking,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Branch, LayoutError> {
    let id = SessionId::parse(&from.id)?;
    let new = match &how.id {
        Some(new) => SessionId::parse(new)?,
        None => free_id(store, &id)?,
    };
    let mut branching = Branching::new(new.clone(), 0);
    branching.turn = how.turn;
    let done = fork(store, &id, &branching, now, progress)?;
    let status = find(store, &new)?.unwrap_or(Status::Active);
    Ok(Branch { place: place(status, &new), turn: done.turn, findings: done.findings })
}

/// An id for a fork that no session has.
fn free_id(store: &Arc<dyn Store>, id: &SessionId) -> Result<SessionId, LayoutError> {
    for number in 1..TRIES {
        let new = SessionId::parse(&format!("{id}-fork-{number}"))?;
        if find(store, &new)?.is_none() {
            return Ok(new);
        }
    }
    Err(LayoutError::request(format!(
        "there are too many forks of {id}; name the new one with --id"
    )))
}

pub(super) fn go_back(
    store: &Arc<dyn Store>,
    from: &Place,
    turn: u64,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Branch, LayoutError> {
    let id = SessionId::parse(&from.id)?;
    let done = rewind(store, &id, &Branching::back_to(turn), now, progress)?;
    let status = find(store, &done.branch)?.unwrap_or(Status::Paused);
    Ok(Branch { place: place(status, &done.branch), turn: done.turn, findings: done.findings })
}

pub(super) fn move_on(
    store: &Arc<dyn Store>,
    from: &Place,
    stage: Stage,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Staged, LayoutError> {
    let id = SessionId::parse(&from.id)?;
    let simple = |status| Staged { place: place(status, &id), trashed: None, overdue: None };
    let how = Archiving::default();
    Ok(match stage {
        Stage::Pause => {
            pause(store, &id, now)?;
            simple(Status::Paused)
        }
        Stage::Resume => {
            resume(store, &id, now)?;
            simple(Status::Active)
        }
        Stage::Complete => {
            let done = complete(store, &id, now)?;
            let overdue = done.overdue.as_ref().map(|error| chain(error));
            Staged { overdue, ..simple(Status::Completed) }
        }
        Stage::Archive => {
            let done = archive(store, &id, &how, now, progress)?;
            let place = Place { id: id.to_string(), path: done.file };
            Staged { place, trashed: Some(done.trashed.name.to_string()), overdue: None }
        }
        Stage::Unarchive => {
            let done = unarchive(store, &id, &how, now, progress)?;
            let trashed = Some(done.trashed.name.to_string());
            Staged { trashed, ..simple(Status::Completed) }
        }
        Stage::Trash => {
            let done = trash(store, &id, now)?;
            let trashed = Some(done.name.to_string());
            Staged { place: Place { id: id.to_string(), path: done.path }, trashed, overdue: None }
        }
    })
}

/// Changes the marks of a session, whatever its status.
pub(super) fn mark(
    store: &Arc<dyn Store>,
    of: &Place,
    change: impl FnOnce(Marks, u64) -> Result<(Mark, Step), LayoutError>,
) -> Result<Mark, LayoutError> {
    super::status(of)?;
    let id = SessionId::parse(&of.id)?;
    let writer = lock(store, &id)?;
    let session = Session::open(Arc::clone(store), &id)?;
    let (mark, step) = change(Marks::open(store, &session.dir)?, session.turn)?;
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(mark)
}

fn trash_name(name: &str) -> Result<TrashName, LayoutError> {
    let unknown = || LayoutError::request(format!("there is nothing called {name:?} in the trash"));
    TrashName::parse(name).ok_or_else(unknown)
}

pub(super) fn trashed(store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
    let names: Vec<TrashName> = list_trashed(store)?.into_iter().map(|item| item.name).collect();
    let plan = PurgePlan::new(store, &names)?;
    Ok(plan.entries.into_iter().map(|(item, bytes)| item.shown(bytes)).collect())
}

pub(super) fn take_out(store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
    let done = restore(store, &trash_name(name)?)?;
    Ok(Place { id: done.name.id.to_string(), path: done.path })
}

pub(super) fn purge(store: &Arc<dyn Store>, looked_at: &[Trashed]) -> Result<(), LayoutError> {
    let names = looked_at.iter().map(|item| trash_name(&item.name));
    let plan = PurgePlan::new(store, &names.collect::<Result<Vec<_>, _>>()?)?;
    let same = |((now, bytes), before): (&(InTrash, u64), &Trashed)| {
        now.path == before.path && *bytes == before.bytes
    };
    if !plan.entries.iter().zip(looked_at).all(same) {
        return Err(GameError::input("the trash has changed since it was looked at").into());
    }
    Ok(purge_plan(store, &plan)?)
}
