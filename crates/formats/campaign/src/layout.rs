//! Campaigns in the common view: the entries of a row are what was said, what was called, and what came of it.

mod editor;
mod life;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::branch;
use super::create::{NewCampaign, create};
use super::error::CampaignError;
use super::life::{Status, archived};
use super::names::{CampaignFile, archive_file, archives_dir, campaign_dir, campaigns_dir};
use super::progress;
use super::repair::{Mending, plan_repair, repair, undo_repair};
use super::session::{Campaign, list};
use super::view::strings;
use super::writer::CampaignWriter;
use everturn_archive::Progress;
use everturn_json::finding::{Code, Finding};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::belongings::Belongings;
use everturn_session::layout::{
    Editor, Layout, LayoutError, Reader, Repairing, Stage, chain, list_settled,
};
use everturn_session::repairs::{Action, Repair};
use everturn_session::view::{
    Branch, Evidence, Forking, New, Place, Places, Staged, Summary, Trashed,
};
use everturn_store::{Store, StoreError};
use everturn_value::tree::{Kind, Tree};

pub use editor::Turn;

/// The layout of campaigns.
#[derive(Debug, Clone, Copy)]
pub struct CampaignLayout;

/// The name that users write.
const NAME: &str = "campaign";

/// The goal of a campaign that nobody has given one.
const NO_GOAL: &str = "Define the main objective";

fn place(id: &SessionId) -> Place {
    Place { id: id.to_string(), path: campaign_dir(id) }
}

impl Layout for CampaignLayout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn numbers_sessions(&self) -> bool {
        true
    }

    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        list_settled(store, &[campaigns_dir(), archives_dir()], || places_once(store))
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let id = SessionId::parse(&place.id)?;
        if is_archive(place) {
            return Ok(in_archive(place));
        }
        let campaign = Campaign::open_in(Arc::clone(store), &id, place.path.clone())?;
        let last = campaign.last_row()?;
        let time = |tree: &Tree, key: &str| tree.string_at(&[key])?.parse::<Timestamp>().ok();
        let mut summary = Summary {
            place: place.clone(),
            layout: NAME,
            title: place.id.clone(),
            created: None,
            updated: last.as_ref().and_then(|row| time(&row.row, "timestamp")),
            status: "unknown".to_owned(),
            turns: Some(campaign.turn()),
            parent: None,
            findings: campaign.findings().to_vec(),
        };
        if let Ok(view) = campaign.view() {
            let goal = view.tree.string_at(&["goal", "text"]).unwrap_or_default();
            if !goal.trim().is_empty() && goal != NO_GOAL {
                summary.title = goal.trim().to_owned();
            }
            summary.created = time(view.tree, "created_at");
            let over = progress::end_reason(view).is_some();
            summary.status = if over { "ended" } else { "active" }.to_owned();
        }
        let about = campaign.lineage().and_then(|lineage| Ok((lineage, campaign.status()?)));
        match about {
            Ok((lineage, status)) => {
                summary.parent = lineage.map(|lineage| lineage.parent);
                if status != Status::Active {
                    summary.status = status.as_str().to_owned();
                }
            }
            Err(CampaignError::Damaged { file, reason }) => summary.findings.push(Finding {
                file,
                line: None,
                offset: None,
                code: Code::BadMetadata,
                message: reason,
            }),
            Err(error) => return Err(error.into()),
        }
        summary.updated = summary.updated.or(summary.created);
        Ok(summary)
    }

    fn evidence(&self, _store: &Arc<dyn Store>, place: &Place) -> Result<Evidence, LayoutError> {
        if is_archive(place) {
            let files = vec![place.path.clone()];
            return Ok(Evidence { summary: files.clone(), entries: files, log: None });
        }
        let files = |files: &[CampaignFile]| -> Vec<FilePath> {
            files.iter().map(|file| file.in_dir(&place.path)).collect()
        };
        let (state, log) = (CampaignFile::Campaign, CampaignFile::Log);
        Ok(Evidence {
            summary: files(&[state, log, CampaignFile::Lineage]),
            entries: files(&[state, log]),
            log: None,
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        out_of_archive(place)?;
        let id = SessionId::parse(&place.id)?;
        let campaign = Campaign::open_in(Arc::clone(store), &id, place.path.clone())?;
        Ok(Box::new(reader::CampaignReader { campaign }))
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &New,
        now: Timestamp,
    ) -> Result<Box<dyn Editor>, LayoutError> {
        let id = create(store, &new_campaign(new)?, now)?;
        self.edit(store, &place(&id))
    }

    fn edit(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Box<dyn Editor>, LayoutError> {
        out_of_archive(place)?;
        let writer = CampaignWriter::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::CampaignEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        from: &Place,
        how: &Forking,
        _now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        out_of_archive(from)?;
        let id = SessionId::parse(&from.id)?;
        let new = how.id.as_deref().map(SessionId::parse).transpose()?;
        let turn = match how.turn {
            Some(turn) => turn,
            None => Campaign::open(Arc::clone(store), &id)?.turn(),
        };
        let made = branch::fork(store, &id, turn, new.as_ref())?;
        Ok(Branch { place: place(&made.id), turn, findings: made.findings })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        from: &Place,
        turn: u64,
        _now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        out_of_archive(from)?;
        let mut writer = CampaignWriter::open(Arc::clone(store), &SessionId::parse(&from.id)?)?;
        let made = writer.rewind(turn)?;
        writer.release()?;
        Ok(Branch { place: place(&made.id), turn, findings: made.findings })
    }

    fn stage(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        stage: Stage,
        now: Timestamp,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Staged, LayoutError> {
        life::move_on(store, place, stage, now, progress)
    }

    fn belongings(&self, _: &Arc<dyn Store>, place: &Place) -> Result<Belongings, LayoutError> {
        let id = SessionId::parse(&place.id)?;
        let scopes = vec![campaign_dir(&id), archive_file(&id)?];
        Ok(Belongings { scopes, ..Belongings::of(place) })
    }

    fn shelved(&self, place: &Place) -> Option<Place> {
        let id = SessionId::parse(&place.id).ok().filter(|_| is_archive(place))?;
        Some(Place { id: place.id.clone(), path: campaign_dir(&id) })
    }

    fn lasting_name(&self, place: &Place) -> String {
        place.id.clone()
    }

    fn trashed(&self, store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
        life::in_trash(store)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
        life::take_out(store, name)
    }

    fn purge(&self, store: &Arc<dyn Store>, trashed: &[Trashed]) -> Result<(), LayoutError> {
        life::remove(store, trashed)
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        repairing: Repairing,
        now: Timestamp,
    ) -> Result<Repair, LayoutError> {
        let id = SessionId::parse(&place.id)?;
        let done = match repairing {
            Repairing::Plan => plan_repair(store, &id)?,
            Repairing::Mend => repair(store, &id, now)?,
            Repairing::TakeBack => undo_repair(store, &id, now)?,
        };
        let findings = Campaign::open(Arc::clone(store), &id)?.check()?;
        let action = |Mending { file, what, .. }| Action { file, what };
        let actions = done.mendings.into_iter().map(action).collect();
        Ok(Repair { actions, findings, kept: done.kept })
    }
}

/// The campaigns that are in archives.
fn archives(store: &Arc<dyn Store>) -> Result<Vec<Place>, LayoutError> {
    let place = |id: SessionId| -> Result<Place, LayoutError> {
        Ok(Place { path: archive_file(&id)?, id: id.to_string() })
    };
    archived(store)?.into_iter().map(place).collect()
}

fn is_archive(place: &Place) -> bool {
    place.path.as_str().ends_with(".tar.gz")
}

/// What can be said of a campaign without unpacking it.
fn in_archive(place: &Place) -> Summary {
    Summary {
        place: place.clone(),
        layout: NAME,
        title: place.id.clone(),
        created: None,
        updated: None,
        status: "archived".to_owned(),
        turns: None,
        parent: None,
        findings: Vec::new(),
    }
}

/// An error, if the campaign is in an archive.
fn out_of_archive(place: &Place) -> Result<(), LayoutError> {
    if is_archive(place) {
        let id = &place.id;
        let what = format!("campaign {id} is in an archive; everturn unarchive {id} takes it out");
        return Err(LayoutError::request(what));
    }
    Ok(())
}

/// What is given for a new campaign: `party`, `actor`, `world` and `map`.
fn new_campaign(new: &New) -> Result<NewCampaign, LayoutError> {
    let mut campaign = NewCampaign::default();
    if !new.id.is_empty() {
        campaign.id = Some(SessionId::parse(&new.id)?);
    }
    for (key, value) in new.fields.children() {
        let text = || {
            let wrong = || LayoutError::request(format!("{key} is {}, not a text", value.kind()));
            value.string_at::<&str>(&[]).ok_or_else(wrong)
        };
        match key.as_str() {
            "id" | "sessionId" => {}
            "actor" => campaign.actor = Some(text()?),
            "world" => campaign.world = text()?,
            "map" => campaign.map = text()?,
            "party" => {
                let party = strings(&value);
                let all = value.len_at::<&str>(&[]);
                if value.kind() != Kind::Array || all != Some(party.len()) {
                    return Err(LayoutError::request("party is not an array of texts"));
                }
                campaign.party = party;
            }
            _ => return Err(LayoutError::request(format!("campaigns have no {key:?}"))),
        }
    }
    if new.name.is_some() || new.config.is_some() {
        return Err(LayoutError::request(
            "campaigns begin without a name and with default settings",
        ));
    }
    Ok(campaign)
}

impl From<CampaignError> for LayoutError {
    fn from(error: CampaignError) -> LayoutError {
        match error {
            CampaignError::Store(error) => LayoutError::Store(error),
            CampaignError::Name(error) => LayoutError::Name(error),
            CampaignError::NoCampaign { id } => LayoutError::NoSession { id: id.to_string() },
            CampaignError::Taken { id } => {
                LayoutError::Taken { id: id.to_string(), path: campaign_dir(&id) }
            }
            CampaignError::NoTurn { turn, last } => LayoutError::NoTurn { turn, first: 0, last },
            CampaignError::Damaged { .. }
            | CampaignError::NoState { .. }
            | CampaignError::Shape(_) => LayoutError::Damaged { what: chain(&error) },
            other => LayoutError::request(chain(&other)),
        }
    }
}

/// Where campaigns are, as the directories tell one after the other.
fn places_once(store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
    let dir = campaigns_dir();
    let mut findings = Vec::new();
    let mut note = |code: Code, message: String| {
        findings.push(Finding { file: dir.clone(), line: None, offset: None, code, message });
    };
    match store.list(&dir) {
        Ok(listing) => {
            for (name, reason) in listing.refused {
                note(Code::BadName, format!("holds {name:?}, which is left alone: {reason}"));
            }
        }
        Err(StoreError::Missing { .. }) => {
            return Ok(Places { places: archives(store)?, findings });
        }
        Err(error) => {
            note(Code::Unreadable, format!("cannot be read: {}", chain(&error)));
            return Ok(Places { places: Vec::new(), findings });
        }
    }
    let mut places: Vec<Place> = list(store)?.iter().map(place).collect();
    places.extend(archives(store)?);
    Ok(Places { places, findings })
}
