//! Transitions and the trash of campaigns in the common model.

use std::sync::Arc;

use jiff::Timestamp;

use super::CampaignFormat;
use crate::error::CampaignError;
use crate::lifecycle::{
    CampaignStatus, archive, change_status, purge, restore, trash, trashed, unarchive,
};
use crate::paths::campaign_dir;
use everturn_archive::PackProgress;
use everturn_json::names::SessionId;
use everturn_session::archiver::ArchiveOptions;
use everturn_session::format::{FormatLifecycle, SessionError, Transition};
use everturn_session::model::{SessionRef, TransitionOutcome, TrashedSession};
use everturn_session::trash::{TrashEntry as InTrash, TrashError, TrashName};
use everturn_store::Store;

impl FormatLifecycle for CampaignFormat {
    fn transitions(&self) -> &'static [Transition] {
        Transition::ALL
    }

    fn transition(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        transition: Transition,
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
        let status = match transition {
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
        change_status(store, &id, &status, Some(now))?;
        Ok(staged(here, None))
    }

    fn archived(&self, place: &SessionRef) -> Option<SessionRef> {
        let id = SessionId::parse(&place.id).ok().filter(|_| place.is_archive())?;
        Some(SessionRef { id: place.id.clone(), path: campaign_dir(&id) })
    }

    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        let items = trashed(store)?.into_iter();
        Ok(items.map(|(item, bytes)| item.into_trashed_session(bytes)).collect())
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let name = TrashName::parse_given(name).map_err(CampaignError::from)?;
        Ok(restore(store, &name)?.into_session_ref())
    }

    fn purge(&self, store: &Arc<dyn Store>, listed: &[TrashedSession]) -> Result<(), SessionError> {
        let entries: Result<Vec<_>, TrashError> = listed.iter().map(InTrash::from_listed).collect();
        Ok(purge(store, &entries.map_err(CampaignError::from)?)?)
    }
}
