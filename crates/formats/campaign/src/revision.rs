//! Undo, redo, and other versions of the last turn.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::CampaignError;
use super::log::{ChangeKind, OWN};
use super::story::{LastTurn, RowMarks, StoryRows, first_version};
use super::writer::{CampaignWriter, PendingChange, PlayOutcome, Submission};
use everturn_json::finding::Finding;
use everturn_rpg::dialog::{DialogSource, DialogType};
use everturn_rpg::draft::CampaignDraft;
use everturn_rpg::narrator::Narrator;
use everturn_rpg::row::{RowFields, turn_id};
use everturn_rpg::stamp::stamp;
use everturn_value::delta::{self, Delta};

impl CampaignWriter {
    /// Takes back the last turns of the story. Nothing is removed from the log, and turns that were undone before are
    /// not counted. Changes of settings and of the active actor stay.
    pub fn undo(&mut self, turns: u64, now: Timestamp) -> Result<PlayOutcome, CampaignError> {
        self.refresh()?;
        if turns == 0 {
            return Err(CampaignError::input("the number of turns to undo must be at least 1"));
        }
        let (mut undone, mut known) = (Vec::new(), Vec::new());
        let mut rows = StoryRows::new(self.campaign())?;
        while let Some(row) = rows.next_row() {
            let (row, marks, is_live) = row?;
            let turn = row.turn;
            if is_live && (undone.len() as u64) < turns {
                undone.push(turn);
            }
            known.push((row, marks));
            let oldest = undone.last().filter(|_| undone.len() as u64 == turns);
            if oldest.is_some_and(|oldest| turn <= first_version(&known, *oldest)) {
                break;
            }
        }
        let Some(oldest) = undone.last().filter(|_| undone.len() as u64 == turns) else {
            return Err(CampaignError::input(format!(
                "cannot undo {turns} turns: the story has {}",
                undone.len()
            )));
        };
        let target = first_version(&known, *oldest).saturating_sub(1);
        let text = match undone.as_slice() {
            [one] => format!("Took back {}.", turn_id(*one)),
            [newest, ..] => format!("Took back {} to {}.", turn_id(*oldest), turn_id(*newest)),
            [] => String::new(),
        };
        let (draft, findings) = self.draft_before(target)?;
        let marks = json!({"undo": undone});
        self.store_control(ChangeKind::Undo, draft, &format!("undo {turns}"), &text, marks, now)
            .map(|done| done.with(findings))
    }

    /// Brings back the turns that were undone last, unless the story has gone on since.
    pub fn redo(&mut self, turns: u64, now: Timestamp) -> Result<PlayOutcome, CampaignError> {
        self.refresh()?;
        let mut rows = StoryRows::new(self.campaign())?;
        let mut undone: Vec<u64> = Vec::new();
        while let Some(row) = rows.next_row() {
            let (_, marks, _) = row?;
            if marks.is_story() {
                break;
            }
            // The rows come newest first; the turn that was undone last is brought back first.
            let open =
                marks.undo.iter().rev().filter(|turn| rows.decided.get(turn) == Some(&false));
            undone.extend(open.filter(|turn| !undone.contains(turn)).copied().collect::<Vec<_>>());
        }
        let count = usize::try_from(turns).unwrap_or(usize::MAX);
        let Some(back) = undone.get(..count).filter(|back| !back.is_empty()) else {
            return Err(CampaignError::input(format!(
                "cannot redo {turns} turns: {} can be brought back",
                undone.len()
            )));
        };
        let mut draft = CampaignDraft::new(self.state()?.clone());
        for turn in back {
            self.apply_turn(&mut draft, *turn)?;
        }
        let names: Vec<String> = back.iter().map(|turn| turn_id(*turn)).collect();
        let text = format!("Brought back {}.", names.join(", "));
        let marks = json!({"redo": back});
        self.store_control(ChangeKind::Redo, draft, &format!("redo {turns}"), &text, marks, now)
    }

    /// Has the last turn of the story narrated again, with the same input or another one. The earlier versions stay in the
    /// log, see [`CampaignWriter::choose_version`]. On error nothing is stored.
    pub fn retell(
        &mut self,
        input: Option<&str>,
        seed: u64,
        narrator: &mut dyn Narrator,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        self.refresh()?;
        let last = LastTurn::read(self.campaign())?;
        let last = last.ok_or_else(|| CampaignError::input("there is no turn to narrate again"))?;
        let row = last.versions.iter().find(|row| row.turn == last.current);
        let said = row.and_then(|row| row.row.string_at(&["user_input"])).unwrap_or_default();
        let actor = row.and_then(|row| row.row.string_at(&["state_summary", "active_actor_id"]));
        let (draft, findings) = self.draft_before(last.first().saturating_sub(1))?;
        let party = draft.view().party();
        let submission = Submission {
            user_input: input.unwrap_or(&said),
            actor: actor.as_deref().filter(|actor| party.iter().any(|member| member == actor)),
            seed,
        };
        let played = self.play_on(draft, &submission, None, narrator, Some(last.current), now)?;
        Ok(played.with(findings))
    }

    /// Makes another version of the last turn of the story the current one. Versions are counted from 1.
    pub fn choose_version(
        &mut self,
        version: usize,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        self.refresh()?;
        let last = LastTurn::read(self.campaign())?;
        let last = last.ok_or_else(|| CampaignError::input("there is no turn yet"))?;
        let chosen = version.checked_sub(1).and_then(|at| last.versions.get(at));
        let Some(chosen) = chosen.filter(|chosen| chosen.turn != last.current) else {
            return Err(CampaignError::input(format!(
                "version {version} cannot be chosen: the last turn has {}, and another must be chosen than the current one",
                last.versions.len()
            )));
        };
        let (mut draft, findings) = self.draft_before(last.first().saturating_sub(1))?;
        self.apply_turn(&mut draft, chosen.turn)?;
        let text = format!("Chose version {version} of {}.", last.versions.len());
        let marks = json!({"undo": [last.current], "redo": [chosen.turn]});
        let input = format!("version {version}");
        self.store_control(ChangeKind::Redo, draft, &input, &text, marks, now)
            .map(|done| done.with(findings))
    }

    /// Returns a draft in which the turns after `target` are taken back, and nothing else.
    fn draft_before(&self, target: u64) -> Result<(CampaignDraft, Vec<Finding>), CampaignError> {
        let (deltas, findings) = self.inverses(target)?;
        let mut draft = CampaignDraft::new(self.state()?.clone());
        for delta in deltas {
            draft.apply(delta)?;
        }
        Ok((draft, findings))
    }

    /// Applies what a turn has changed.
    fn apply_turn(&self, draft: &mut CampaignDraft, turn: u64) -> Result<(), CampaignError> {
        let campaign = self.campaign();
        let mut known = Vec::new();
        for row in campaign.rows_back()? {
            let row = row?;
            let (number, marks) = (row.turn, RowMarks::of(&row.row));
            known.push((row, marks));
            if number <= first_version(&known, turn) {
                break;
            }
        }
        let first = first_version(&known, turn);
        let before = campaign.state_at(first.saturating_sub(1))?.state;
        for delta in delta::diff(&before, &campaign.state_at(turn)?.state) {
            draft.apply(delta)?;
        }
        Ok(())
    }

    /// Stores a row that is no turn of the story.
    fn store_control(
        &mut self,
        kind: ChangeKind,
        draft: CampaignDraft,
        input: &str,
        text: &str,
        marks: Value,
        now: Timestamp,
    ) -> Result<PlayOutcome, CampaignError> {
        let actor = draft.view().active_actor().unwrap_or_default();
        let row = RowFields {
            turn: self.turn().saturating_add(1),
            time: &stamp(now),
            user_input: input,
            kind: (DialogType::ResolutionSummary, DialogSource::Fallback),
            text,
            calls: &[],
            applied: &[],
            failed: &[],
            report: None,
            actor: &actor,
        };
        let mut row = row.to_value(draft.view());
        if let Value::Object(fields) = &mut row {
            fields.insert(OWN.to_owned(), marks);
        }
        let (tree, deltas, _) = draft.into_parts();
        let (row, findings) = self.store(PendingChange { kind, tree, deltas, row: Some(row) })?;
        self.load_recent()?;
        Ok(PlayOutcome { turn: self.turn(), row, findings })
    }

    /// Returns the deltas that revert the turns after `target`, and nothing else.
    fn inverses(&self, target: u64) -> Result<(Vec<Delta>, Vec<Finding>), CampaignError> {
        let campaign = self.campaign();
        if campaign.has_gap_after(target)? {
            let moment = campaign.state_at(target)?;
            return Ok((delta::diff(campaign.state()?, &moment.state), moment.findings));
        }
        let mut deltas = Vec::new();
        let mut changes = campaign.changes_back()?;
        while let Some(change) = changes.next().transpose()? {
            if change.turn <= target {
                break;
            }
            if change.kind.has_row() {
                for delta in change.deltas.iter().rev() {
                    deltas.push(delta.inverse()?);
                }
            }
        }
        Ok((deltas, changes.findings))
    }
}
