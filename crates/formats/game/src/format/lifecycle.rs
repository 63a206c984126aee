//! Forks, rewinds, transitions, marks and the trash of game sessions in the common model.

use std::sync::Arc;

use jiff::Timestamp;

use super::GameFormat;
use crate::archive::{ArchiveOptions, archive, unarchive};
use crate::branch::{BranchOptions, fork, rewind};
use crate::error::GameError;
use crate::lifecycle::{complete, pause, resume};
use crate::paths::GameStatus;
use crate::session::{Session, find};
use crate::trash::{PurgePlan, TrashEntry, TrashName, purge, restore, trash, trashed};
use crate::writer::lock;
use everturn_archive::PackProgress;
use everturn_json::names::SessionId;
use everturn_session::format::{FormatLifecycle, SessionError, Transition, error_chain};
use everturn_session::marks::MarkDocument;
use everturn_session::model::{
    ForkOptions, ForkOutcome, Mark, SessionRef, TransitionOutcome, TrashedSession,
};
use everturn_session::trash::TrashError;
use everturn_store::{Durability, Step, Store};

/// How many IDs are tried for a fork without a given ID.
const TRIES: u64 = 10_000;

fn place(status: GameStatus, id: &SessionId) -> SessionRef {
    SessionRef { id: id.to_string(), path: status.session(id) }
}

pub(super) fn fork_session(
    store: &Arc<dyn Store>,
    from: &SessionRef,
    how: &ForkOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ForkOutcome, SessionError> {
    let id = SessionId::parse(&from.id)?;
    let new = match &how.id {
        Some(new) => SessionId::parse_new(new)?,
        None => free_id(store, &id)?,
    };
    let mut branching = BranchOptions::new(new.clone(), 0);
    branching.turn = how.turn;
    let done = fork(store, &id, &branching, now, progress)?;
    let status = find(store, &new)?.unwrap_or(GameStatus::Active);
    Ok(ForkOutcome { session: place(status, &new), turn: done.turn, findings: done.findings })
}

/// Returns an unused ID for a fork.
fn free_id(store: &Arc<dyn Store>, id: &SessionId) -> Result<SessionId, SessionError> {
    for number in 1..TRIES {
        let new = SessionId::parse(&format!("{id}-fork-{number}"))?;
        if find(store, &new)?.is_none() {
            return Ok(new);
        }
    }
    Err(SessionError::request(format!("too many forks of {id}; choose an id with --id")))
}

pub(super) fn rewind_session(
    store: &Arc<dyn Store>,
    from: &SessionRef,
    turn: u64,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ForkOutcome, SessionError> {
    let id = SessionId::parse(&from.id)?;
    let done = rewind(store, &id, &BranchOptions::rewind_to(turn), now, progress)?;
    let status = find(store, &done.branch)?.unwrap_or(GameStatus::Paused);
    Ok(ForkOutcome {
        session: place(status, &done.branch),
        turn: done.turn,
        findings: done.findings,
    })
}

/// Changes the marks of a session, whatever its status.
pub(super) fn mark(
    store: &Arc<dyn Store>,
    of: &SessionRef,
    change: impl FnOnce(MarkDocument, u64) -> Result<(Mark, Step), SessionError>,
) -> Result<Mark, SessionError> {
    super::status(of)?;
    let id = SessionId::parse(&of.id)?;
    let writer = lock(store, &id)?;
    let session = Session::open(Arc::clone(store), &id)?;
    let (mark, step) = change(MarkDocument::open(store, &session.dir)?, session.turn)?;
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(mark)
}

impl FormatLifecycle for GameFormat {
    fn transitions(&self) -> &'static [Transition] {
        Transition::ALL
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        stage: Transition,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        let id = SessionId::parse(&from.id)?;
        let simple = |status| TransitionOutcome {
            session: place(status, &id),
            trashed: None,
            deferred_error: None,
        };
        let how = ArchiveOptions::default();
        Ok(match stage {
            Transition::Pause => {
                pause(store, &id, now)?;
                simple(GameStatus::Paused)
            }
            Transition::Resume => {
                resume(store, &id, now)?;
                simple(GameStatus::Active)
            }
            Transition::Complete => {
                let done = complete(store, &id, now)?;
                let deferred_error = done.deferred_error.as_ref().map(|error| error_chain(error));
                TransitionOutcome { deferred_error, ..simple(GameStatus::Completed) }
            }
            Transition::Archive => {
                let done = archive(store, &id, &how, now, progress)?;
                let place = SessionRef { id: id.to_string(), path: done.file };
                TransitionOutcome {
                    session: place,
                    trashed: Some(done.trashed.name.to_string()),
                    deferred_error: None,
                }
            }
            Transition::Unarchive => {
                let done = unarchive(store, &id, &how, now, progress)?;
                let trashed = Some(done.trashed.name.to_string());
                TransitionOutcome { trashed, ..simple(GameStatus::Completed) }
            }
            Transition::Trash => {
                let done = trash(store, &id, now)?;
                let trashed = Some(done.name.to_string());
                TransitionOutcome {
                    session: SessionRef { id: id.to_string(), path: done.path },
                    trashed,
                    deferred_error: None,
                }
            }
        })
    }

    fn archived(&self, place: &SessionRef) -> Option<SessionRef> {
        let id = SessionId::parse(&place.id).ok().filter(|_| place.is_archive())?;
        Some(SessionRef { id: place.id.clone(), path: GameStatus::Completed.session(&id) })
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        let names: Vec<TrashName> = trashed(store)?.into_iter().map(|item| item.name).collect();
        let items = PurgePlan::new(store, &names)?.entries.into_iter();
        Ok(items.map(|(item, bytes)| item.into_trashed_session(bytes)).collect())
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let name = TrashName::parse_given(name).map_err(GameError::from)?;
        Ok(restore(store, &name)?.into_session_ref())
    }

    fn purge(&self, store: &Arc<dyn Store>, listed: &[TrashedSession]) -> Result<(), SessionError> {
        let entries: Result<Vec<_>, TrashError> =
            listed.iter().map(TrashEntry::from_listed).collect();
        let entries = entries.map_err(GameError::from)?;
        let names: Vec<TrashName> = entries.iter().map(|(item, _)| item.name.clone()).collect();
        let plan = PurgePlan::new(store, &names)?;
        if plan.entries != entries {
            return Err(GameError::input("the trash has changed since it was listed").into());
        }
        Ok(purge(store, &plan)?)
    }
}
