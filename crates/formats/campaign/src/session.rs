//! Campaigns opened for reading: [`Campaign`].

use std::sync::Arc;

use super::check::CampaignInspection;
use super::document::CampaignDocument;
use super::error::CampaignError;
use super::log::{ChangeRecord, RecordLog, TurnRow};
use super::paths::{CampaignFile, CheckpointName, campaign_dir, campaign_number, campaigns_dir};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_rpg::document_view::CampaignView;
use everturn_rpg::generation::Generation;
use everturn_rpg::player_view::{Area, Character};
use everturn_rpg::settings::{Setting, settings};
use everturn_session::format::SessionError;
use everturn_session::marks;
use everturn_session::model::Mark;
use everturn_session::record_file::ReadFrom;
use everturn_store::disk::FileKind;
pub(crate) use everturn_store::read_optional;
use everturn_store::{Store, StoreError};
use everturn_value::document::ParseError;
use everturn_value::tree::JsonTree;

/// A campaign opened for reading. It never writes, and never waits for a writer.
pub struct Campaign {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) id: SessionId,
    pub(crate) dir: FilePath,
    /// `None` if it cannot be used.
    pub(crate) stored: Option<CampaignDocument>,
    pub(crate) turn: u64,
    findings: Vec<Finding>,
}

/// The origin of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The parent campaign.
    pub parent: String,
    /// The last turn that both share.
    pub turn: u64,
    /// `fork`, or `rewind` for a branch that keeps the turns before a rewind.
    pub kind: String,
}

/// Returns the IDs of all campaigns of a store, in the order of their numbers, including damaged ones.
pub fn list(store: &Arc<dyn Store>) -> Result<Vec<SessionId>, CampaignError> {
    let mut ids = all_ids(store)?;
    ids.retain(|id| has_files(store, &campaign_dir(id)));
    ids.sort_by_cached_key(|id| (campaign_number(id.as_str()).unwrap_or(u64::MAX), id.to_string()));
    Ok(ids)
}

/// Returns whether a directory has the files of a campaign. If that cannot be known, it does: opening it returns the
/// reason, and other campaigns can be read.
fn has_files(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    let has = |file: CampaignFile| !matches!(store.stat(&file.in_dir(dir)), Ok(None));
    has(CampaignFile::Campaign) || has(CampaignFile::Log)
}

/// Returns every directory that is, or could be, a campaign's.
pub(crate) fn all_ids(store: &Arc<dyn Store>) -> Result<Vec<SessionId>, CampaignError> {
    let listing = match store.list(&campaigns_dir()) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let dirs = listing.entries.iter().filter(|entry| entry.kind == FileKind::Dir);
    Ok(dirs.filter_map(|entry| SessionId::parse(entry.name.as_str()).ok()).collect())
}

/// Returns the ID of the campaign in a directory, if there is one: its parent directory is called `campaigns`.
pub fn is_campaign_dir(store: &Arc<dyn Store>, dir: &FilePath) -> Option<SessionId> {
    let above = dir.parent().and_then(|above| above.name());
    if above != campaigns_dir().name() || !has_files(store, dir) {
        return None;
    }
    dir.name().and_then(|name| SessionId::parse(name.as_str()).ok())
}

impl Campaign {
    /// Opens a campaign. A campaign with a damaged document opens, too: its rows can be read, and
    /// [`Campaign::findings`] has the problems.
    pub fn open(store: Arc<dyn Store>, id: &SessionId) -> Result<Campaign, CampaignError> {
        Campaign::open_in(store, id, campaign_dir(id))
    }

    /// Opens the campaign in a directory.
    pub(crate) fn open_in(
        store: Arc<dyn Store>,
        id: &SessionId,
        dir: FilePath,
    ) -> Result<Campaign, CampaignError> {
        let file = CampaignFile::Campaign.in_dir(&dir);
        let mut findings = Vec::new();
        let mut note = |code: FindingCode, message: String| {
            findings.push(Finding::new(&file, code, message));
        };
        let stored = match read_optional(&store, &file)? {
            Some(bytes) => match CampaignDocument::parse(&file, &bytes) {
                Ok(stored) => Some(stored),
                Err(CampaignError::Damaged { reason, .. }) => {
                    note(code_of(&bytes), reason);
                    None
                }
                Err(error) => return Err(error),
            },
            None if store.stat(&CampaignFile::Log.in_dir(&dir))?.is_some() => {
                note(FindingCode::BadDocument, "it is missing".to_owned());
                None
            }
            None => return Err(CampaignError::NoCampaign { id: id.clone() }),
        };
        let mut campaign = Campaign { store, id: id.clone(), dir, stored, turn: 0, findings };
        let row = campaign.last_row()?.map_or(0, |row| row.turn);
        campaign.turn = row.max(campaign.last_changed_turn()?);
        if row < campaign.turn {
            let message = missing_rows_message(row + 1, campaign.turn);
            campaign.findings.push(Finding::new(
                &campaign.file(CampaignFile::Log),
                FindingCode::MissingTurns,
                message,
            ));
        }
        Ok(campaign)
    }

    /// Returns the last turn in the log of changes, or 0.
    fn last_changed_turn(&self) -> Result<u64, CampaignError> {
        for change in self.changes_back()? {
            let change = change?;
            if change.kind.has_row() {
                return Ok(change.turn);
            }
        }
        Ok(0)
    }

    /// Fails if the log lacks its last turns: the next turn would get a wrong number. A torn row whose
    /// effects are not in the state does not count as a turn; the next commit moves it to quarantine.
    pub(crate) fn must_have_last_rows(&self) -> Result<(), CampaignError> {
        let log = self.file(CampaignFile::Log);
        let mut rows = self.rows_back()?;
        let last = rows.next().transpose()?.map_or(0, |row| row.turn);
        if last < self.turn {
            return Err(CampaignError::damaged(&log, missing_rows_message(last + 1, self.turn)));
        }
        let is_torn = |finding: &&Finding| {
            matches!(finding.code, FindingCode::TornTail | FindingCode::NulTail)
        };
        match rows.findings.iter().find(is_torn) {
            Some(torn) if !self.has_state_of_last_row(torn.code)? => {
                Err(CampaignError::damaged(&log, &torn.message))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the state is that of the last whole row, although something else follows it in the log.
    fn has_state_of_last_row(&self, tail: FindingCode) -> Result<bool, CampaignError> {
        let changes = self.file(CampaignFile::Deltas);
        let is_recorded =
            self.store.stat(&changes)?.is_some() && self.last_changed_turn()? == self.turn;
        // Other programs write the document before the row, so the torn turn is part of the state.
        let may_be_turn = tail == FindingCode::TornTail && !is_recorded;
        Ok(!may_be_turn && CampaignInspection::new(self).agrees_with_logs()?)
    }

    /// Returns the campaign's ID, which is the name of its directory.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns its directory, relative to the root.
    #[must_use]
    pub fn dir(&self) -> &FilePath {
        &self.dir
    }

    /// Returns the last turn, or 0 before the first one.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the findings from opening it.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns all findings of the campaign.
    pub fn check(&self) -> Result<Vec<Finding>, CampaignError> {
        CampaignInspection::new(self).run()
    }

    /// Returns the document, which is the state after the last turn.
    pub fn state(&self) -> Result<&JsonTree, CampaignError> {
        match (&self.stored, self.findings.first()) {
            (Some(stored), _) => Ok(&stored.tree),
            (None, Some(finding)) => Err(CampaignError::damaged(&finding.file, &finding.message)),
            (None, None) => Err(CampaignError::NoCampaign { id: self.id.clone() }),
        }
    }

    pub(crate) fn view(&self) -> Result<CampaignView<'_>, CampaignError> {
        Ok(CampaignView::new(self.state()?))
    }

    /// Returns its generation.
    pub fn generation(&self) -> Result<Generation, CampaignError> {
        Ok(Generation::of(self.state()?))
    }

    /// Returns the IDs of the party.
    pub fn party(&self) -> Result<Vec<String>, CampaignError> {
        Ok(self.view()?.party())
    }

    /// Returns the default actor.
    pub fn active_actor(&self) -> Result<Option<String>, CampaignError> {
        Ok(self.view()?.active_actor())
    }

    /// Returns the party, in its order.
    pub fn characters(&self) -> Result<Vec<Character>, CampaignError> {
        Ok(self.view()?.characters())
    }

    /// Returns the areas in the order of the document. Roads to missing areas are left out.
    pub fn areas(&self) -> Result<Vec<Area>, CampaignError> {
        Ok(self.view()?.map_areas())
    }

    /// Returns why the campaign has ended, if it has.
    pub fn end_reason(&self) -> Result<Option<String>, CampaignError> {
        Ok(self.view()?.end_reason())
    }

    /// Returns the settings with their values, in the order of the registry.
    pub fn settings(&self) -> Result<Vec<(&'static Setting, serde_json::Value)>, CampaignError> {
        let view = self.view()?;
        let all = settings(view.generation.rules());
        Ok(all.map(|setting| (setting, view.setting(setting))).collect())
    }

    /// Returns the rows of the log, oldest first. [`RecordLog::findings`] collects the findings from reading them.
    pub fn rows(&self) -> Result<RecordLog<TurnRow>, CampaignError> {
        RecordLog::open(&self.store, &self.file(CampaignFile::Log), ReadFrom::Start)
    }

    /// Returns the rows of the log, newest first. Reading the last ones does not read the rest of the log.
    pub fn rows_back(&self) -> Result<RecordLog<TurnRow>, CampaignError> {
        RecordLog::open(&self.store, &self.file(CampaignFile::Log), ReadFrom::End)
    }

    pub(crate) fn changes(&self) -> Result<RecordLog<ChangeRecord>, CampaignError> {
        RecordLog::open(&self.store, &self.file(CampaignFile::Deltas), ReadFrom::Start)
    }

    pub(crate) fn changes_back(&self) -> Result<RecordLog<ChangeRecord>, CampaignError> {
        RecordLog::open(&self.store, &self.file(CampaignFile::Deltas), ReadFrom::End)
    }

    /// Returns the last row that has a number.
    pub(crate) fn last_row(&self) -> Result<Option<TurnRow>, CampaignError> {
        self.rows_back()?.next().transpose()
    }

    /// Returns the marks, in the order of their turns.
    pub fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        marks::read_marks(&self.store, &self.dir)
    }

    /// Returns the origin of the campaign, if it is a branch.
    pub fn lineage(&self) -> Result<Option<Lineage>, CampaignError> {
        let file = self.file(CampaignFile::Lineage);
        let Some(bytes) = read_optional(&self.store, &file)? else { return Ok(None) };
        let tree = CampaignDocument::parse(&file, &bytes)?.tree;
        let text = |key: &str| tree.string_at(&["lineage", key]);
        let turn = tree.text_at(&["lineage", "turn"]).and_then(|turn| turn.parse().ok());
        Ok(match (text("parent"), turn, text("kind")) {
            (Some(parent), Some(turn), Some(kind)) => Some(Lineage { parent, turn, kind }),
            _ => None,
        })
    }

    /// Returns the checkpoints, oldest first.
    pub(crate) fn checkpoints(&self) -> Result<Vec<CheckpointName>, CampaignError> {
        let listing = match self.store.list(&CheckpointName::dir(&self.dir)) {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            listing => listing?,
        };
        let names = listing.entries.iter();
        let mut found: Vec<CheckpointName> =
            names.filter_map(|entry| CheckpointName::parse(entry.name.as_str())).collect();
        found.sort();
        Ok(found)
    }

    pub(crate) fn file(&self, file: CampaignFile) -> FilePath {
        file.in_dir(&self.dir)
    }
}

fn missing_rows_message(first: u64, last: u64) -> String {
    match first == last {
        true => format!("the row of turn {first} is missing"),
        false => format!("the rows of turns {first} to {last} are missing"),
    }
}

/// Returns the finding code for an unusable document.
fn code_of(bytes: &[u8]) -> FindingCode {
    match everturn_value::document::Document::parse(bytes) {
        Err(ParseError::Empty { .. }) => FindingCode::EmptyDocument,
        Err(ParseError::NotUtf8 { .. }) => FindingCode::NotUtf8,
        _ => FindingCode::BadDocument,
    }
}
