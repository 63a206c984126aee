//! The lifecycle of campaigns: pause, complete, archive, trash.
//!
//! The status is stored in `everturn.json`, because the upstream program has none; its own end of a campaign
//! (`lifecycle`) is part of the state. A paused or completed campaign accepts no turns.

use std::sync::Arc;

use jiff::Timestamp;

use super::document::CampaignDocument;
use super::error::CampaignError;
use super::paths::{CampaignFile, archive_file, archives_dir, campaign_dir};
use super::session::{Campaign, read_optional};
use everturn_archive::PackProgress;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::archiver::{ArchiveOptions, ArchiveOutcome, Archiver};
use everturn_session::marks::marks_changed;
use everturn_session::staging::staging_path;
use everturn_session::trash::{
    self as common, TrashEntry, TrashError, TrashName, allocate, move_to_trash,
};
use everturn_store::{Durability, Fingerprint, Precondition, Step, Store, StoreError};
use everturn_value::document::{Document, JsonStyle, PathSegment};

/// The status of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CampaignStatus {
    /// The campaign is being played.
    Active,
    /// The campaign is paused and can be resumed.
    Paused,
    /// The campaign was marked as completed.
    Completed,
    /// Another status found in the file.
    Other(String),
}

impl CampaignStatus {
    /// Returns its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            CampaignStatus::Active => "active",
            CampaignStatus::Paused => "paused",
            CampaignStatus::Completed => "completed",
            CampaignStatus::Other(other) => other,
        }
    }

    fn parse(word: &str) -> CampaignStatus {
        let known = [CampaignStatus::Active, CampaignStatus::Paused, CampaignStatus::Completed];
        let known = known.into_iter().find(|status| status.as_str() == word);
        known.unwrap_or_else(|| CampaignStatus::Other(word.to_owned()))
    }
}

/// Returns the paths at which a campaign may be.
fn candidate_paths(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    Ok(vec![campaign_dir(id), archive_file(id)?])
}

impl From<TrashError> for CampaignError {
    fn from(error: TrashError) -> CampaignError {
        match error {
            TrashError::Store(error) => CampaignError::Store(error),
            TrashError::Name(error) => CampaignError::Name(error),
            TrashError::Taken { id, .. } => CampaignError::Taken { id },
            TrashError::Damaged { file, reason } => CampaignError::Damaged { file, reason },
            other => CampaignError::input(other.to_string()),
        }
    }
}

impl Campaign {
    /// Returns the stored status, or active if there is none.
    pub fn status(&self) -> Result<CampaignStatus, CampaignError> {
        let file = self.file(CampaignFile::Lineage);
        let Some(bytes) = read_optional(&self.store, &file)? else {
            return Ok(CampaignStatus::Active);
        };
        let status = CampaignDocument::parse(&file, &bytes)?.tree.string_at(&["status"]);
        Ok(status.map_or(CampaignStatus::Active, |word| CampaignStatus::parse(&word)))
    }

    /// Returns the time of the last change that no turn shows: of the status, of the marks, or by a fork or rewind.
    pub(crate) fn changed(&self) -> Result<Option<Timestamp>, CampaignError> {
        let file = self.file(CampaignFile::Lineage);
        let own = match read_optional(&self.store, &file)? {
            Some(bytes) => CampaignDocument::parse(&file, &bytes)?.tree.string_at(&["changed"]),
            None => None,
        };
        let own = own.and_then(|time| time.parse().ok());
        Ok(own.max(marks_changed(&self.store, &self.dir)?))
    }

    /// Fails if the campaign is not active.
    pub(crate) fn must_be_active(&self) -> Result<(), CampaignError> {
        match self.status()? {
            CampaignStatus::Active => Ok(()),
            status => {
                let (id, status) = (self.id.clone(), status.as_str().to_owned());
                Err(CampaignError::NotActive { id, status })
            }
        }
    }
}

/// `everturn.json` of a campaign, with what the upstream program has no place for: the origin, the status, and the time of
/// the last change that no turn shows.
pub(crate) struct OwnDocument {
    file: FilePath,
    document: Document,
    expect: Precondition,
}

impl OwnDocument {
    /// Opens the document, which may not exist yet.
    pub(crate) fn open(campaign: &Campaign) -> Result<OwnDocument, CampaignError> {
        let file = campaign.file(CampaignFile::Lineage);
        let damaged = |reason: String| CampaignError::damaged(&file, reason);
        let (document, expect) = match read_optional(&campaign.store, &file)? {
            Some(bytes) => {
                let document = Document::parse_like(&bytes, &JsonStyle::PRETTY_ASCII);
                let document = document.map_err(|error| damaged(error.to_string()))?;
                (document, Precondition::Content(Fingerprint::of(&bytes)))
            }
            None => {
                let empty = Document::new(&serde_json::json!({}), JsonStyle::PRETTY_ASCII);
                (empty.map_err(|error| damaged(error.to_string()))?, Precondition::Absent)
            }
        };
        Ok(OwnDocument { file, document, expect })
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), CampaignError> {
        let set = self.document.set(&[PathSegment::Key(key)], value);
        set.map_err(|error| CampaignError::damaged(&self.file, error.to_string()))
    }

    /// Returns the step that writes the document, unless another program has changed it meanwhile.
    pub(crate) fn into_step(self) -> Step {
        Step::replace_expecting(self.file, self.expect, self.document.into_bytes())
    }
}

/// Pauses, resumes or completes a campaign.
pub fn set_status(
    store: &Arc<dyn Store>,
    id: &SessionId,
    status: &CampaignStatus,
) -> Result<(), CampaignError> {
    change_status(store, id, status, None)
}

/// As [`set_status`]; the campaign notes the time, if it is known.
pub(crate) fn change_status(
    store: &Arc<dyn Store>,
    id: &SessionId,
    status: &CampaignStatus,
    now: Option<Timestamp>,
) -> Result<(), CampaignError> {
    let writer = store.lock(&[campaign_dir(id)])?;
    let campaign = Campaign::open(Arc::clone(store), id)?;
    let known = campaign.status()?;
    if known == *status {
        let what = format!("campaign {id} is already {}", status.as_str());
        return Err(CampaignError::input(what));
    }
    let mut own = OwnDocument::open(&campaign)?;
    own.set("status", status.as_str())?;
    if let Some(now) = now {
        own.set("changed", &now.to_string())?;
    }
    writer.commit(vec![own.into_step()], Durability::Synced)?;
    Ok(writer.release()?)
}

/// Packs a campaign into `archives/campaigns/<id>.tar.gz`, whatever its status.
///
/// The archive is read back and compared before one commit stores it and moves the directory to the trash.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_campaign::{NewCampaign, archive, create, list, unarchive};
/// use everturn_session::archiver::ArchiveOptions;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = create(&store, &NewCampaign::default(), now)?;
/// let how = ArchiveOptions::default();
/// let done = archive(&store, &id, &how, now, &mut |_| {})?;
/// assert_eq!(done.file.as_str(), "archives/campaigns/camp_0001.tar.gz");
/// assert!(list(&store)?.is_empty());
/// unarchive(&store, &id, &how, now, &mut |_| {})?;
/// assert_eq!(list(&store)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn archive(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &ArchiveOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ArchiveOutcome, CampaignError> {
    let (dir, file) = (&campaign_dir(id), &archive_file(id)?);
    let trash = &allocate(store, id, now)?;
    let writer = store.lock(&[dir.clone(), file.clone(), trash.trash_path()?])?;
    Campaign::open(Arc::clone(store), id)?;
    if store.stat(file)?.is_some() {
        return Err(CampaignError::Taken { id: id.clone() });
    }
    let archiver = Archiver { store, writer: &*writer, id, dir, file, trash, options: how };
    let archived = archiver.pack::<CampaignError>(progress)?;
    writer.release()?;
    Ok(archived)
}

/// Unpacks the archive of a campaign, which must not exist meanwhile, and moves the archive to the trash.
pub fn unarchive(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &ArchiveOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ArchiveOutcome, CampaignError> {
    let (dir, file) = (&campaign_dir(id), &archive_file(id)?);
    let trash = &allocate(store, id, now)?;
    let scopes = [dir.clone(), file.clone(), trash.trash_path()?, staging_path(id)];
    let writer = store.lock(&scopes)?;
    if store.stat(dir)?.is_some() {
        return Err(CampaignError::Taken { id: id.clone() });
    }
    if store.stat(file)?.is_none() {
        return Err(CampaignError::NoCampaign { id: id.clone() });
    }
    let archiver = Archiver { store, writer: &*writer, id, dir, file, trash, options: how };
    let archived = archiver.unpack::<CampaignError>(|_| Ok(Vec::new()), progress)?;
    let archived = archived.ok_or_else(|| CampaignError::damaged(file, "it contains no files"))?;
    writer.release()?;
    Ok(archived)
}

/// Returns the IDs of the archived campaigns.
pub(crate) fn archived(store: &Arc<dyn Store>) -> Result<Vec<SessionId>, StoreError> {
    let listing = match store.list(&archives_dir()) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let names = listing.entries.iter();
    let id = |name: &str| SessionId::parse(name.strip_suffix(".tar.gz")?).ok();
    Ok(names.filter_map(|entry| id(entry.name.as_str())).collect())
}

/// Moves a campaign, or its archive, to the trash. Nothing is removed.
pub fn trash(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TrashEntry, CampaignError> {
    let place = allocate(store, id, now)?;
    let scopes: Vec<FilePath> =
        candidate_paths(id)?.into_iter().chain([place.trash_path()?]).collect();
    let writer = store.lock(&scopes)?;
    for home in candidate_paths(id)? {
        if store.stat(&home)?.is_some() {
            let (trashed, step) = move_to_trash(&place, &home)?;
            writer.commit(vec![step], Durability::Synced)?;
            writer.release()?;
            return Ok(trashed);
        }
    }
    Err(CampaignError::NoCampaign { id: id.clone() })
}

/// Returns the campaigns in the trash, oldest first, with their sizes in bytes.
pub fn trashed(store: &Arc<dyn Store>) -> Result<Vec<(TrashEntry, u64)>, CampaignError> {
    let all = common::list_entries(store, candidate_paths)?;
    let names: Vec<TrashName> = all.into_iter().map(|trashed| trashed.name).collect();
    Ok(common::entry_sizes(store, &names, candidate_paths)?)
}

/// Restores an entry to its original path. Its campaign must not exist anywhere else meanwhile.
pub fn restore(store: &Arc<dyn Store>, name: &TrashName) -> Result<TrashEntry, CampaignError> {
    Ok(common::restore(store, name, candidate_paths)?)
}

/// Permanently removes entries returned by [`trashed`], in one commit; if any has changed since, removes nothing.
pub fn purge(store: &Arc<dyn Store>, entries: &[(TrashEntry, u64)]) -> Result<(), CampaignError> {
    Ok(common::purge(store, entries, candidate_paths)?)
}
