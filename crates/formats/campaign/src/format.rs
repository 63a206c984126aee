//! Campaigns in the common model: the entries of a row are the input, the tool calls, their results and the answer.

mod editor;
mod keys;
mod lifecycle;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::branch;
use super::create::{NewCampaign, create};
use super::error::CampaignError;
use super::lifecycle::{CampaignStatus, archived};
use super::log::OWN;
use super::paths::{CampaignFile, archive_file, archives_dir, campaign_dir, campaigns_dir};
use super::repair::{FileRepair, plan_repair, repair, undo_repair};
use super::session::{Campaign, list};
use super::writer::CampaignWriter;
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{
    Capabilities, EditableFormat, Feature, RepairMode, SessionEditor, SessionError, SessionFormat,
    SessionReader, error_chain, list_settled,
};
use everturn_session::marks;
use everturn_session::model::{
    Dependencies, ForkOptions, ForkOutcome, NewSession, SessionListing, SessionRef, SessionSummary,
};
use everturn_session::repair::{RepairAction, RepairReport};
use everturn_session::session_files::SessionFiles;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

pub use editor::ScriptedTurn;

/// The format of campaigns.
#[derive(Debug, Clone, Copy)]
pub struct CampaignFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &CampaignFormat;

/// The name of the format on the command line.
const NAME: &str = "campaign";

/// The default goal of a campaign.
const NO_GOAL: &str = "Define the main objective";

fn place(id: &SessionId) -> SessionRef {
    SessionRef { id: id.to_string(), path: campaign_dir(id) }
}

impl SessionFormat for CampaignFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            editing: Some(self),
            lifecycle: Some(self),
            keys: Some(self),
            features: &[Feature::CampaignRules, Feature::Title],
            ..Capabilities::default()
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        list_settled(store, &[campaigns_dir(), archives_dir()], || places_once(store))
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let id = SessionId::parse(&place.id)?;
        if place.is_archive() {
            return Ok(SessionSummary::new(place, NAME, "archived"));
        }
        let campaign = Campaign::open_in(Arc::clone(store), &id, place.path.clone())?;
        let last = campaign.last_row()?;
        let time = |tree: &JsonTree, key: &str| tree.string_at(&[key])?.parse::<Timestamp>().ok();
        let mut summary = SessionSummary {
            updated: last.as_ref().and_then(|row| time(&row.row, "timestamp")),
            turns: Some(campaign.turn()),
            findings: campaign.findings().to_vec(),
            ..SessionSummary::new(place, NAME, "unknown")
        };
        if let Ok(view) = campaign.view() {
            let goal = view.tree.string_at(&["goal", "text"]).unwrap_or_default();
            let title = view.tree.string_at(&[OWN, "title"]).unwrap_or_default();
            if !title.trim().is_empty() {
                summary.title = title.trim().to_owned();
            } else if !goal.trim().is_empty() && goal != NO_GOAL {
                summary.title = goal.trim().to_owned();
            }
            summary.created = time(view.tree, "created_at");
            let over = view.end_reason().is_some();
            summary.status = if over { "ended" } else { "active" }.to_owned();
        }
        let about = campaign
            .lineage()
            .and_then(|lineage| Ok((lineage, campaign.status()?, campaign.changed()?)));
        match about {
            Ok((lineage, status, changed)) => {
                summary.updated = summary.updated.max(changed);
                summary.parent = lineage.map(|lineage| lineage.parent);
                if status != CampaignStatus::Active {
                    summary.status = status.as_str().to_owned();
                }
            }
            Err(CampaignError::Damaged { file, reason }) => {
                summary.findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
            }
            Err(error) => return Err(error.into()),
        }
        summary.updated = summary.updated.or(summary.created);
        Ok(summary)
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        require_unarchived(place)?;
        let id = SessionId::parse(&place.id)?;
        let campaign = Campaign::open_in(Arc::clone(store), &id, place.path.clone())?;
        Ok(Box::new(reader::CampaignReader { campaign }))
    }

    fn project(&self, _: &Arc<dyn Store>, _: &SessionRef) -> Result<Option<String>, SessionError> {
        Ok(None)
    }

    fn dependencies(
        &self,
        _store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        if place.is_archive() {
            return Ok(Dependencies::on(vec![place.path.clone()]));
        }
        let files = |files: &[CampaignFile]| -> Vec<FilePath> {
            files.iter().map(|file| file.in_dir(&place.path)).collect()
        };
        let (state, log) = (CampaignFile::Campaign, CampaignFile::Log);
        Ok(Dependencies {
            summary: [
                files(&[state, log, CampaignFile::Lineage]),
                vec![marks::marks_file(&place.path)],
            ]
            .concat(),
            entries: files(&[state, log]),
            log: None,
        })
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        let id = SessionId::parse(&place.id)?;
        let scopes = vec![campaign_dir(&id), archive_file(&id)?];
        Ok(SessionFiles { scopes, ..SessionFiles::for_ref(place) })
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.id.clone()
    }
}

impl EditableFormat for CampaignFormat {
    fn assigns_ids(&self) -> bool {
        true
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let id = create(store, &NewCampaign::from_fields(new)?, now)?;
        self.edit(store, &place(&id))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        require_unarchived(place)?;
        let writer = CampaignWriter::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::CampaignEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        require_unarchived(from)?;
        let id = SessionId::parse(&from.id)?;
        let new = how.id.as_deref().map(SessionId::parse_new).transpose()?;
        let turn = match how.turn {
            Some(turn) => turn,
            None => Campaign::open(Arc::clone(store), &id)?.turn(),
        };
        let made = branch::fork_session(store, &id, turn, new.as_ref(), Some(now))?;
        Ok(ForkOutcome { session: place(&made.id), turn, findings: made.findings })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        require_unarchived(from)?;
        let mut writer = CampaignWriter::open(Arc::clone(store), &SessionId::parse(&from.id)?)?;
        let made = writer.rewind_session(turn, Some(now))?;
        writer.release()?;
        Ok(ForkOutcome { session: place(&made.id), turn, findings: made.findings })
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        let id = SessionId::parse(&place.id)?;
        let done = match repairing {
            RepairMode::Plan => plan_repair(store, &id)?,
            RepairMode::Apply => repair(store, &id, now)?,
            RepairMode::Undo => undo_repair(store, &id, now)?,
        };
        let findings = Campaign::open(Arc::clone(store), &id)?.check()?;
        let action = |FileRepair { file, what, .. }| RepairAction { file, what };
        let actions = done.actions.into_iter().map(action).collect();
        Ok(RepairReport { actions, findings, originals: done.kept })
    }
}

/// Returns the archived campaigns.
fn archives(store: &Arc<dyn Store>) -> Result<Vec<SessionRef>, SessionError> {
    let place = |id: SessionId| -> Result<SessionRef, SessionError> {
        Ok(SessionRef { path: archive_file(&id)?, id: id.to_string() })
    };
    archived(store)?.into_iter().map(place).collect()
}

/// Fails if the campaign is archived.
fn require_unarchived(place: &SessionRef) -> Result<(), SessionError> {
    if place.is_archive() {
        let id = &place.id;
        let what = format!("campaign {id} is archived; restore it with: everturn unarchive {id}");
        return Err(SessionError::request(what));
    }
    Ok(())
}

impl From<CampaignError> for SessionError {
    fn from(error: CampaignError) -> SessionError {
        match error {
            CampaignError::Store(error) => SessionError::Store(error),
            CampaignError::Name(error) => SessionError::Name(error),
            CampaignError::NoCampaign { id } => SessionError::NoSession { id: id.to_string() },
            CampaignError::Taken { id } => {
                SessionError::Taken { id: id.to_string(), path: campaign_dir(&id) }
            }
            CampaignError::NoTurn { turn, last } => SessionError::NoTurn { turn, first: 0, last },
            CampaignError::Damaged { .. }
            | CampaignError::NoState { .. }
            | CampaignError::Shape(_) => SessionError::Damaged { what: error_chain(&error) },
            other => SessionError::request(error_chain(&other)),
        }
    }
}

/// Lists the campaigns, reading the directories one after the other.
fn places_once(store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
    let dir = campaigns_dir();
    let mut findings = Vec::new();
    let mut note = |code: FindingCode, message: String| {
        findings.push(Finding::new(&dir, code, message));
    };
    match store.list(&dir) {
        Ok(listing) => {
            for (name, reason) in listing.refused {
                note(
                    FindingCode::BadName,
                    format!("contains {name:?}, which is ignored: {reason}"),
                );
            }
        }
        Err(StoreError::Missing { .. }) => {
            return Ok(SessionListing { sessions: archives(store)?, findings });
        }
        Err(error) => {
            note(FindingCode::Unreadable, format!("cannot be read: {}", error_chain(&error)));
            return Ok(SessionListing { sessions: Vec::new(), findings });
        }
    }
    let mut places: Vec<SessionRef> = list(store)?.iter().map(place).collect();
    places.extend(archives(store)?);
    Ok(SessionListing { sessions: places, findings })
}
