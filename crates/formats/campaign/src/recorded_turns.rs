//! Imports campaigns that were played elsewhere: [`RecordedCampaign`]. Rows are stored as given, without a narrator.

use std::sync::Arc;

use jiff::Timestamp;

use super::create::{NewCampaign, claim};
use super::document::CampaignDocument;
use super::error::CampaignError;
use super::log::{ChangeKind, ChangeRecord};
use super::paths::{CampaignFile, campaign_dir};
use everturn_json::names::{FilePath, SessionId};
use everturn_rpg::dialog::{DialogSource, DialogType};
use everturn_rpg::document_view::CampaignView;
use everturn_rpg::draft::CampaignDraft;
use everturn_rpg::row::{RowFields, turn_id};
use everturn_rpg::stamp::stamp;
use everturn_session::model::carried::MEMBER;
use everturn_store::{Durability, FileMode, Precondition, Step, Store};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// A turn that was played elsewhere.
pub struct RecordedTurn {
    /// The time of the turn.
    pub time: Timestamp,
    /// The player's input.
    pub user_input: String,
    /// The narrator's answer.
    pub text: String,
    /// The source of its row.
    pub row: RowSource,
    /// Its changes, if the campaign has a state of its own.
    pub deltas: Vec<Delta>,
}

/// The source of a turn's row.
pub enum RowSource {
    /// Generated from the turn, with these additional contents as JSON.
    Generated(String),
    /// The original row of the turn.
    Verbatim(JsonTree),
}

/// A campaign that was played elsewhere.
pub struct RecordedCampaign {
    /// Its ID.
    pub id: SessionId,
    /// The time of its creation.
    pub created: Timestamp,
    /// Its goal.
    pub goal: Option<String>,
    /// The document before the first turn; defaults to a new one.
    pub document: Option<JsonTree>,
    /// Its turns, in order.
    pub turns: Vec<RecordedTurn>,
}

impl RecordedCampaign {
    /// Creates the campaign, in one commit.
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
                // The inverse data is recorded again.
                (delta.previous, delta.created) = (None, 0);
                delta.apply_in_place(&mut tree).map_err(|error| {
                    CampaignError::input(format!(
                        "the changes of turn {number} cannot be applied: {error}"
                    ))
                })?;
            }
            rows.push_str(&turn.row(number, &tree)?);
            changes.push_str(&ChangeRecord::line(number, ChangeKind::Turn, &turn.deltas));
        }
        let mut writer = store.lock(&[])?;
        claim(store, &mut *writer, Some(&self.id))?;
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
    /// Returns the row as one line.
    fn row(&self, number: u64, after: &JsonTree) -> Result<String, CampaignError> {
        let style = &JsonStyle::SPACED_ASCII;
        let carried = match &self.row {
            RowSource::Generated(carried) => carried,
            RowSource::Verbatim(row) if row.string_at(&["turn_id"]) == Some(turn_id(number)) => {
                return Ok(row.to_text(style) + "\n");
            }
            RowSource::Verbatim(_) => {
                return Err(CampaignError::input(format!("turn {number} had a different number")));
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
