//! Transitions and the trash of campaigns in the common model.

use std::sync::Arc;

use jiff::Timestamp;

use crate::error::CampaignError;
use crate::lifecycle::{
    CampaignStatus, archive, purge, restore, set_status, trash, trashed, unarchive,
};
use everturn_archive::PackProgress;
use everturn_json::names::SessionId;
use everturn_session::archiver::ArchiveOptions;
use everturn_session::format::{SessionError, Transition};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::trash::{TrashEntry as InTrash, TrashName};
use everturn_store::Store;

pub(super) fn transition_campaign(
    store: &Arc<dyn Store>,
    from: &SessionRef,
    stage: Transition,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<TransitionOutcome, SessionError> {
    let id = SessionId::parse(&from.id)?;
    let here = super::place(&id);
    let staged = |place: SessionRef, gone: Option<InTrash>| TransitionOutcome {
        session: place,
        trashed: gone.map(|gone| gone.name.to_string()),
        deferred_error: None,
    };
    let how = ArchiveOptions::default();
    let status = match stage {
        Transition::Pause => CampaignStatus::Paused,
        Transition::Resume => CampaignStatus::Active,
        Transition::Complete => CampaignStatus::Completed,
        Transition::Archive => {
            let done = archive(store, &id, &how, now, progress)?;
            return Ok(staged(SessionRef { path: done.file, ..here }, Some(done.trashed)));
        }
        Transition::Unarchive => {
            let done = unarchive(store, &id, &how, now, progress)?;
            return Ok(staged(here, Some(done.trashed)));
        }
        Transition::Trash => {
            let gone = trash(store, &id, now)?;
            return Ok(staged(SessionRef { path: gone.path.clone(), ..here }, Some(gone)));
        }
    };
    set_status(store, &id, &status)?;
    Ok(staged(here, None))
}

pub(super) fn list_trash(store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
    Ok(trashed(store)?.into_iter().map(|(item, bytes)| item.into_trashed_session(bytes)).collect())
}

fn trash_name(name: &str) -> Result<TrashName, SessionError> {
    let unknown = || SessionError::request(format!("there is no {name:?} in the trash"));
    TrashName::parse(name).ok_or_else(unknown)
}

pub(super) fn restore_from_trash(
    store: &Arc<dyn Store>,
    name: &str,
) -> Result<SessionRef, SessionError> {
    let done = restore(store, &trash_name(name)?)?;
    Ok(SessionRef { id: done.name.id.to_string(), path: done.path })
}

pub(super) fn purge_trash(
    store: &Arc<dyn Store>,
    looked_at: &[TrashedSession],
) -> Result<(), SessionError> {
    let entry = |item: &TrashedSession| -> Result<(InTrash, u64), SessionError> {
        let trashed = InTrash { name: trash_name(&item.name)?, path: item.path.clone() };
        Ok((trashed, item.bytes))
    };
    let entries: Vec<(InTrash, u64)> = looked_at.iter().map(entry).collect::<Result<_, _>>()?;
    purge(store, &entries).map_err(|error: CampaignError| error.into())
}
