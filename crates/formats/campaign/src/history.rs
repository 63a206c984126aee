//! The state at any turn, differences between turns, and the story.

use std::collections::BTreeSet;

use super::error::CampaignError;
use super::log::{ChangeKind, ChangeRecord, TurnRow};
use super::paths::CampaignFile;
use super::session::Campaign;
use super::story::{self, StoryRows};
use everturn_json::finding::{Finding, FindingCode};
use everturn_rpg::document_view::{CampaignView, CharacterFact, integer};
use everturn_rpg::draft::CampaignDraft;
use everturn_rpg::row::turn_id;
use everturn_rpg::summary::{characters, disagreement};
use everturn_value::delta::{self, Delta, DeltaError};
use everturn_value::tree::JsonTree;

/// The state at a turn, and the findings from computing it.
#[derive(Debug, Clone)]
pub struct StateAt {
    /// The turn.
    pub turn: u64,
    /// The document at the start of the next turn.
    pub state: JsonTree,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// The result of reverting the changes back to a turn.
struct RevertedState {
    /// The state as far back as the changes go.
    state: JsonTree,
    /// The first turn after the requested one without recorded changes.
    gap: Option<u64>,
    /// The row of the requested turn.
    row: Option<TurnRow>,
    findings: Vec<Finding>,
}

impl Campaign {
    /// Returns the turns of the story, newest first: without turns that were undone or replaced, and without the rows
    /// that undo and redo.
    pub fn story_back(
        &self,
    ) -> Result<impl Iterator<Item = Result<TurnRow, CampaignError>> + use<>, CampaignError> {
        StoryRows::new(self)
    }

    /// Returns the numbers of the rows that are not in the story.
    pub fn rows_outside_story(&self) -> Result<BTreeSet<u64>, CampaignError> {
        story::rows_outside(self)
    }

    /// Returns the versions of the last turn of the story, oldest first, and the index of the current one.
    pub fn last_versions(&self) -> Result<Option<(Vec<TurnRow>, usize)>, CampaignError> {
        story::last_versions(self)
    }

    /// Returns the document after a turn, including changes made before the next one began.
    ///
    /// It is computed backwards from the last turn, by reverting recorded changes. Turns of other programs have no
    /// recorded changes. Before the last of those, the state is approximated: from the oldest known state, and from the
    /// facts about the characters in the row of the turn. A finding says so.
    pub fn state_at(&self, turn: u64) -> Result<StateAt, CampaignError> {
        if turn > self.turn {
            return Err(CampaignError::NoTurn { turn, last: self.turn });
        }
        let RevertedState { mut state, gap, row, mut findings } = self.revert_to(turn)?;
        if let Some(gap) = gap {
            let reason = format!("{} has no recorded changes", turn_id(gap));
            let Some(row) = row else { return Err(CampaignError::NoState { turn, reason }) };
            state = overlay(state, &row.row)?;
            let message = format!(
                "{reason}: the state at turn {turn} is composed from its summary and a later state"
            );
            findings.push(self.finding(&row, FindingCode::StateDiffers, message));
        } else if let Some(row) = row
            && let Some(name) = disagreement(CampaignView::new(&state), &row.row)
        {
            let message = format!("the changes do not produce the value of {name} in the row");
            findings.push(self.finding(&row, FindingCode::StateDiffers, message));
        }
        Ok(StateAt { turn, state, findings })
    }

    fn finding(&self, row: &TurnRow, code: FindingCode, message: String) -> Finding {
        Finding::new(&self.file(CampaignFile::Log), code, message)
            .at_line(row.line)
            .at_offset(row.offset)
    }

    fn revert_to(&self, turn: u64) -> Result<RevertedState, CampaignError> {
        let mut state = self.state()?.clone();
        let mut wanted = Vec::new();
        let mut found = None;
        let mut rows = self.rows_back()?;
        for row in &mut rows {
            let row = row?;
            if row.turn <= turn {
                found = Some(row).filter(|row| row.turn == turn);
                break;
            }
            wanted.push(row.turn);
        }
        let mut left = wanted.iter().copied().peekable();
        let mut findings = rows.findings;
        let mut changes = self.changes_back()?;
        while left.peek().is_some() {
            let Some(change) = changes.next().transpose()? else { break };
            let matches = !change.kind.has_row() || left.peek() == Some(&change.turn);
            if change.kind == ChangeKind::Base || change.turn <= turn || !matches {
                break;
            }
            let mut before = state.clone();
            if let Err(error) = change.revert(&mut before) {
                findings.push(self.bad_change(&change, &error));
                break;
            }
            state = before;
            if change.kind.has_row() {
                left.next();
            }
        }
        findings.append(&mut changes.findings);
        Ok(RevertedState { state, gap: left.peek().copied(), row: found, findings })
    }

    /// Returns whether the changes of a turn after `turn` are not recorded.
    pub(crate) fn has_gap_after(&self, turn: u64) -> Result<bool, CampaignError> {
        Ok(self.revert_to(turn)?.gap.is_some())
    }

    pub(crate) fn bad_change(&self, change: &ChangeRecord, error: &DeltaError) -> Finding {
        let message = format!("a change cannot be reverted: {error}");
        Finding::new(&self.file(CampaignFile::Deltas), FindingCode::BadChange, message)
            .at_offset(change.span.0)
    }

    /// Returns the differences between two turns, by path.
    pub fn diff(&self, from: u64, to: u64) -> Result<Vec<Delta>, CampaignError> {
        Ok(delta::diff(&self.state_at(from)?.state, &self.state_at(to)?.state))
    }
}

/// Returns a state with the facts about the characters from a row.
pub(crate) fn overlay(state: JsonTree, row: &JsonTree) -> Result<JsonTree, CampaignError> {
    let mut draft = CampaignDraft::new(state);
    for actor in characters(row) {
        let said =
            |fact: CharacterFact| row.value_at(&["state_summary", fact.names()[0], actor.as_str()]);
        let text = |fact: CharacterFact| said(fact).and_then(|value| value.string_at::<&str>(&[]));
        if let Some(area) = text(CharacterFact::Position) {
            draft.set_position(&actor, &area)?;
        }
        if let Some(hp) = said(CharacterFact::Hp).and_then(|hp| integer(&hp)) {
            draft.set_hp(&actor, hp)?;
        }
        if let Some(state) = text(CharacterFact::State) {
            draft.set_state(&actor, &state)?;
        }
    }
    let active = row.string_at(&["state_summary", "active_actor_id"]);
    if let Some(active) = active.filter(|active| draft.view().party().contains(active)) {
        draft.set(&["selected", "active_actor_id"], &active)?;
    }
    Ok(draft.into_parts().0)
}
