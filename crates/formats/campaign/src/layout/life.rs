//! What may become of a campaign as a whole, in the common view.

use std::sync::Arc;

use jiff::Timestamp;

use crate::error::CampaignError;
use crate::life::{Status, archive, purge, restore, set_status, trash, trashed, unarchive};
use everturn_archive::Progress;
use everturn_json::names::SessionId;
use everturn_session::layout::{LayoutError, Stage};
use everturn_session::shelf::Archiving;
use everturn_session::trash::{TrashName, Trashed as InTrash};
use everturn_session::view::{Place, Staged, Trashed};
use everturn_store::Store;

pub(super) fn move_on(
    store: &Arc<dyn Store>,
    from: &Place,
    stage: Stage,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Staged, LayoutError> {
    let id = SessionId::parse(&from.id)?;
    let here = super::place(&id);
    let staged = |place: Place, gone: Option<InTrash>| Staged {
        place,
        trashed: gone.map(|gone| gone.name.to_string()),
        overdue: None,
    };
    let how = Archiving::default();
    let status = match stage {
        Stage::Pause => Status::Paused,
        Stage::Resume => Status::Active,
        Stage::Complete => Status::Completed,
        Stage::Archive => {
            let done = archive(store, &id, &how, now, progress)?;
            return Ok(staged(Place { path: done.file, ..here }, Some(done.trashed)));
        }
        Stage::Unarchive => {
            let done = unarchive(store, &id, &how, now, progress)?;
            return Ok(staged(here, Some(done.trashed)));
        }
        Stage::Trash => {
            let gone = trash(store, &id, now)?;
            return Ok(staged(Place { path: gone.path.clone(), ..here }, Some(gone)));
        }
    };
    set_status(store, &id, &status)?;
    Ok(staged(here, None))
}

pub(super) fn in_trash(store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
    Ok(trashed(store)?.into_iter().map(|(item, bytes)| item.shown(bytes)).collect())
}

fn trash_name(name: &str) -> Result<TrashName, LayoutError> {
    let unknown = || LayoutError::request(format!("there is nothing called {name:?} in the trash"));
    TrashName::parse(name).ok_or_else(unknown)
}

pub(super) fn take_out(store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
    let done = restore(store, &trash_name(name)?)?;
    Ok(Place { id: done.name.id.to_string(), path: done.path })
}

pub(super) fn remove(store: &Arc<dyn Store>, looked_at: &[Trashed]) -> Result<(), LayoutError> {
    let entry = |item: &Trashed| -> Result<(InTrash, u64), LayoutError> {
        let trashed = InTrash { name: trash_name(&item.name)?, path: item.path.clone() };
        Ok((trashed, item.bytes))
    };
    let entries: Vec<(InTrash, u64)> = looked_at.iter().map(entry).collect::<Result<_, _>>()?;
    purge(store, &entries).map_err(|error: CampaignError| error.into())
}
