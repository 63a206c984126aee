//! Campaigns whose turns were told elsewhere: their rows are stored as they are given, and no narrator is asked.

use std::sync::Arc;

use jiff::Timestamp;

use super::create::{NewCampaign, claim};
use super::dialog::{DialogSource, DialogType};
use super::document::CampaignDocument;
use super::document_view::CampaignView;
use super::draft::CampaignDraft;
use super::error::CampaignError;
use super::log::{ChangeKind, ChangeRecord};
use super::paths::{CampaignFile, campaign_dir, turn_id};
use super::stamp::stamp;
use super::turn::RowFields;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::model::carried::MEMBER;
use everturn_store::{Durability, FileMode, Precondition, Step, Store};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// A turn that was told elsewhere.
pub struct RecordedTurn {
    /// When it was.
    pub time: Timestamp,
    /// What the player said.
    pub user_input: String,
    /// What was told.
    pub text: String,
    /// What its row is made of.
    pub row: RowSource,
    /// What changes, if the campaign has a state of its own.
    pub deltas: Vec<Delta>,
}

/// What the row of a turn is made of.
pub enum RowSource {
    /// What the turn says, and what the row carries besides, as JSON.
    Generated(String),
    /// The row that the turn has had before.
    Verbatim(JsonTree),
}

/// A campaign that was told elsewhere.
pub struct RecordedCampaign {
    /// Its id.
    pub id: SessionId,
    /// When it began.
    pub created: Timestamp,
    /// What it is about.
    pub goal: Option<String>,
    /// The document before the first turn; a new one, if nothing.
    pub document: Option<JsonTree>,
    /// Its turns, in their order.
    pub turns: Vec<RecordedTurn>,
}

impl RecordedCampaign {
    /// Makes the campaign, in one commit.
    pub fn create(self, store: &Arc<dyn Store>) -> Result<FilePath, CampaignError> {
        let unwritable = || CampaignError::input("the campaign cannot be written");
        let new = NewCampaign { id: Some(self.id.clone()), ..NewCampaign::default() };
        let skeleton = new.skeleton(&self.id, &stamp(self.created));
        let empty = CampaignDocument::new(&skeleton).ok_or_else(unwritable)?;
        let mut draft = CampaignDraft::new(self.document.unwrap_or_else(|| empty.tree.clone()));
        draft.set(&["id"], self.id.as_str())?;
        if let Some(goal) = &self.goal {
            draft.set(&["goal", "text"], goal.as_str())?;
        }
        let (mut tree, ..) = draft.into_parts();
        let base = Delta::set(DeltaPath::root(), tree.clone());
        let mut changes = ChangeRecord::line(0, ChangeKind::Base, &[base]);
        let mut rows = String::new();
        for (number, mut turn) in (1..).zip(self.turns) {
            for delta in &mut turn.deltas {
                // What was there before is noted anew.
                (delta.previous, delta.created) = (None, 0);
                delta.apply_in_place(&mut tree).map_err(|error| {
                    CampaignError::input(format!(
                        "turn {number} changes what is not there: {error}"
                    ))
                })?;
            }
            rows.push_str(&turn.row(number, &tree)?);
            changes.push_str(&ChangeRecord::line(number, ChangeKind::Turn, &turn.deltas));
        }
        let (_, writer) = claim(store, Some(&self.id))?;
        let dir = campaign_dir(&self.id);
        let file = |file: CampaignFile, bytes: Vec<u8>| {
            let (expect, mode) = (Precondition::Absent, FileMode::Default);
            Step::Replace { file: file.in_dir(&dir), expect, bytes, mode }
        };
        let steps = vec![
            file(CampaignFile::Campaign, empty.with(tree).bytes()),
            file(CampaignFile::Log, rows.into_bytes()),
            file(CampaignFile::Deltas, changes.into_bytes()),
        ];
        writer.commit(steps, Durability::Synced)?;
        writer.release()?;
        Ok(dir)
    }
}

impl RecordedTurn {
    /// The row, as one line.
    fn row(&self, number: u64, after: &JsonTree) -> Result<String, CampaignError> {
        let style = &JsonStyle::SPACED_ASCII;
        let carried = match &self.row {
            RowSource::Generated(carried) => carried,
            RowSource::Verbatim(row) if row.string_at(&["turn_id"]) == Some(turn_id(number)) => {
                return Ok(row.to_text(style) + "\n");
            }
            RowSource::Verbatim(_) => {
                return Err(CampaignError::input(format!("turn {number} had another number")));
            }
        };
        let view = CampaignView::new(after);
        let row = RowFields {
            turn: number,
            time: &stamp(self.time),
            user_input: &self.user_input,
            kind: (DialogType::SceneDescription, DialogSource::Fallback),
            text: &self.text,
            calls: &[],
            applied: &[],
            failed: &[],
            report: None,
            actor: &view.active_actor().unwrap_or_default(),
        };
        let own = row.to_value(view).to_string();
        let own = own.strip_suffix('}').unwrap_or(&own);
        let text = format!("{own},\"{MEMBER}\":{carried}}}");
        let tree = JsonTree::parse(text).map_err(|bad| {
            CampaignError::input(format!("turn {number} cannot be written: {bad}"))
        })?;
        Ok(tree.to_text(style) + "\n")
    }
}
