//! Makes the rows, changes and document of a damaged campaign consistent.
//!
//! The changes are replayed from the base document, and the facts about the characters in each row are compared on the
//! way; where row and changes disagree, the following record decides. A turn whose row is lost gets one that says so, a
//! change that is lost or does not apply is replaced by one derived from the rows and the next change. In the end the
//! document wins: a last change leads to it.

use std::collections::{BTreeSet, VecDeque};

use super::records::{NotedChange, RecoveredRow, SurvivingChanges, SurvivingRows};
use crate::check::differences;
use crate::error::CampaignError;
use crate::history::overlay;
use crate::log::{ChangeKind, ChangeRecord, OWN};
use everturn_json::names::FilePath;
use everturn_rpg::dialog::{DialogSource, DialogType};
use everturn_rpg::document_view::{CampaignView, CharacterFact};
use everturn_rpg::draft::tree_of;
use everturn_rpg::row::RowFields;
use everturn_rpg::summary::disagreement;
use everturn_session::repair::numbering::MOST_LOST;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::JsonTree;

/// The repaired logs and document.
pub(super) struct RebuiltLogs {
    pub(super) rows: SurvivingRows,
    /// The lines of the changes, without newlines.
    pub(super) lines: Vec<String>,
    pub(super) document: JsonTree,
    /// The number of lost turns that got filler rows.
    pub(super) lost: usize,
    /// The number of rows that were changed to match the state.
    pub(super) corrected: usize,
}

/// Rebuilds the logs. `kept` is the directory of the originals.
pub(super) fn rebuild_logs(
    rows: SurvivingRows,
    changes: SurvivingChanges,
    document: JsonTree,
    has_changes: bool,
    kept: &FilePath,
) -> Result<RebuiltLogs, CampaignError> {
    let last_row = rows.by_turn.keys().next_back().copied().unwrap_or(0);
    let turns = changes.all.iter().filter(|noted| noted.change.kind.has_row());
    let last = turns.map(|noted| noted.change.turn).chain([last_row]).max().unwrap_or(0);
    let missing = last.saturating_sub(rows.by_turn.len() as u64);
    let last = if missing > MOST_LOST { last_row } else { last };
    let is_hit = changes.aside > 0;
    let spoken = changes.all.iter().map(|noted| noted.change.turn);
    let spoken: BTreeSet<u64> = spoken.chain(rows.by_turn.keys().copied()).collect();
    // A number far beyond all others must not be filled up to.
    let turns: Vec<u64> = match missing > MOST_LOST {
        true => spoken.into_iter().filter(|turn| *turn > 0).collect(),
        false => (1..=last).collect(),
    };
    let (base, queue) = beginning(changes, &document, &turns, &rows)?;
    let mut teller = LogRebuilder {
        state: None,
        queue,
        is_hit,
        last,
        kept,
        fills: missing <= MOST_LOST,
        logs: RebuiltLogs { rows, lines: Vec::new(), document, lost: 0, corrected: 0 },
    };
    if !has_changes {
        for turn in turns {
            teller.lost_row(turn);
        }
        return Ok(teller.logs);
    }
    let first = base.change.turn;
    let (early, late): (Vec<u64>, Vec<u64>) = turns.into_iter().partition(|turn| *turn <= first);
    for turn in early {
        teller.lost_row(turn);
    }
    teller.state = base.change.deltas.first().and_then(|delta| delta.value.clone());
    teller.logs.lines.push(base.text);
    for turn in late {
        teller.turn(turn)?;
    }
    teller.between(u64::MAX);
    teller.end()?;
    Ok(teller.logs)
}

/// Returns the base document of the changes, and the changes after it.
fn beginning(
    changes: SurvivingChanges,
    document: &JsonTree,
    turns: &[u64],
    rows: &SurvivingRows,
) -> Result<(NotedChange, VecDeque<NotedChange>), CampaignError> {
    let mut queue: VecDeque<NotedChange> = changes.all.into();
    if queue.front().is_some_and(|noted| noted.change.kind == ChangeKind::Base)
        && let Some(mut base) = queue.pop_front()
    {
        let ChangeRecord { turn, kind, deltas, .. } = &base.change;
        let new = line(*turn, *kind, deltas, false);
        if !is_same(&base.text, &new) {
            base.text = new;
        }
        return Ok((base, queue));
    }
    // The document is known, so the changes can be reverted from there; where one is lost, the row before it is used.
    let first = queue.iter().find(|noted| noted.change.kind.has_row());
    let first = first.map_or(u64::MAX, |noted| noted.change.turn);
    let (mut state, mut rest) = (document.clone(), VecDeque::new());
    for turn in turns.iter().copied().filter(|turn| *turn >= first).rev() {
        let mut is_taken_back = false;
        while let Some(noted) = queue.pop_back_if(|noted| noted.change.turn >= turn) {
            let mut before = state.clone();
            if noted.change.revert(&mut before).is_ok() {
                state = before;
                is_taken_back |= noted.change.kind.has_row();
            }
            rest.push_front(noted);
        }
        if !is_taken_back && let Some(row) = rows.by_turn.get(&turn.saturating_sub(1)) {
            state = overlay(state, &row.tree)?;
        }
    }
    let turn = match first {
        u64::MAX => turns.last().copied().unwrap_or(0),
        first => first.saturating_sub(1),
    };
    let deltas = vec![Delta::set(DeltaPath::root(), state)];
    let text = line(turn, ChangeKind::Base, &deltas, false);
    let change = ChangeRecord {
        turn,
        named: None,
        kind: ChangeKind::Base,
        deltas,
        is_lost: false,
        span: (0, 0),
    };
    Ok((NotedChange { change, text }, rest))
}

/// Returns a line of the change log.
fn line(turn: u64, kind: ChangeKind, deltas: &[Delta], is_lost: bool) -> String {
    let line = ChangeRecord::line(turn, kind, deltas);
    let line = line.trim_end();
    match line.strip_suffix('}').filter(|_| is_lost) {
        Some(open) => format!("{open}, \"{OWN}\": {{\"lost\": true}}}}"),
        None => line.to_owned(),
    }
}

/// Returns whether two lines have the same value.
fn is_same(one: &str, other: &str) -> bool {
    let trees = JsonTree::parse(one).ok().zip(JsonTree::parse(other).ok());
    trees.is_some_and(|(one, other)| one.is_same(&other))
}

/// Applies deltas, all or none, and returns them with their inverse data.
fn apply(state: &mut JsonTree, deltas: &[Delta]) -> Option<Vec<Delta>> {
    let mut after = state.clone();
    let mut done = Vec::new();
    for delta in deltas {
        done.push(delta.apply(&mut after).ok()?);
    }
    *state = after;
    Some(done)
}

struct LogRebuilder<'a> {
    /// The state so far; `None` before the first change.
    state: Option<JsonTree>,
    queue: VecDeque<NotedChange>,
    /// Whether something was removed from the change log.
    is_hit: bool,
    last: u64,
    kept: &'a FilePath,
    /// Whether turns without a row get one.
    fills: bool,
    logs: RebuiltLogs,
}

impl LogRebuilder<'_> {
    /// Applies the changes between turns, before `turn`.
    fn between(&mut self, turn: u64) {
        while self.queue.front().is_some_and(|noted| noted.change.turn < turn) {
            let Some(noted) = self.queue.pop_front() else { return };
            match noted.change.kind {
                ChangeKind::Base => {
                    self.state = noted.change.deltas.first().and_then(|delta| delta.value.clone());
                    self.logs.lines.push(noted.text);
                }
                // A turn left at the end stays as it is; one whose turn has already passed is dropped.
                kind if kind.has_row() && turn == u64::MAX => self.logs.lines.push(noted.text),
                kind if kind.has_row() => {}
                _ => {
                    self.carry_out(&noted);
                }
            }
        }
    }

    /// Applies a change, and writes its line. Returns whether it applies.
    fn carry_out(&mut self, noted: &NotedChange) -> bool {
        let Some(state) = &mut self.state else { return false };
        let ChangeRecord { turn, kind, is_lost, .. } = noted.change;
        let Some(done) = apply(state, &noted.change.deltas) else { return false };
        let new = line(turn, kind, &done, is_lost);
        let is_same = is_same(&noted.text, &new);
        self.logs.lines.push(if is_same { noted.text.clone() } else { new });
        true
    }

    fn turn(&mut self, turn: u64) -> Result<(), CampaignError> {
        self.between(turn);
        let is_own =
            |noted: &mut NotedChange| noted.change.turn == turn && noted.change.kind.has_row();
        let (before, written) = (self.state.clone(), self.logs.lines.len());
        let fits = match self.queue.pop_front_if(is_own) {
            Some(noted) => self.carry_out(&noted),
            None => !self.is_hit,
        };
        if !fits {
            self.lost_change(turn)?;
        } else if !self.is_right(turn)? {
            // Its effect is in no row: the change is damaged.
            self.state = before;
            self.logs.lines.truncate(written);
            self.lost_change(turn)?;
        }
        self.correct_row(turn);
        self.lost_row(turn);
        Ok(())
    }

    fn row(&self, turn: u64) -> Option<&RecoveredRow> {
        self.logs.rows.by_turn.get(&turn).filter(|row| !row.is_lost())
    }

    /// Writes what is known of a lost change: from the row of its turn, and from the previous values in the next
    /// change.
    fn lost_change(&mut self, turn: u64) -> Result<(), CampaignError> {
        let Some(state) = self.state.clone() else { return Ok(()) };
        let mut after = match self.row(turn) {
            Some(row) => overlay(state, &row.tree)?,
            None => state,
        };
        let follows = |noted: &&NotedChange| {
            noted.change.turn == turn + u64::from(noted.change.kind.has_row())
        };
        if let Some(next) = self.queue.front().filter(follows) {
            let mut later = after.clone();
            let fits = apply(&mut later, &next.change.deltas).is_some()
                && next.change.revert(&mut later).is_ok();
            let says_else =
                |row: &RecoveredRow| disagreement(CampaignView::new(&later), &row.tree).is_some();
            if fits && !self.row(turn).is_some_and(says_else) {
                after = later;
            }
        }
        self.lead_to(&after, turn, ChangeKind::Turn);
        Ok(())
    }

    /// Writes a change that leads to another state.
    fn lead_to(&mut self, after: &JsonTree, turn: u64, kind: ChangeKind) {
        let Some(state) = &mut self.state else { return };
        let deltas = differences(state, after);
        if deltas.is_empty() && !kind.has_row() {
            return;
        }
        if let Some(done) = apply(state, &deltas) {
            self.logs.lines.push(line(turn, kind, &done, kind.has_row()));
        }
    }

    /// Compares the state with a row; the following records decide which of the two is right. If it is the row, a
    /// change leads there; returns whether that is possible.
    fn is_right(&mut self, turn: u64) -> Result<bool, CampaignError> {
        let Some(state) = self.state.clone() else { return Ok(true) };
        let Some(row) = self.row(turn) else { return Ok(true) };
        if disagreement(CampaignView::new(&state), &row.tree).is_none()
            || !self.is_contradicted(&state, turn)
        {
            return Ok(true);
        }
        let after = overlay(state, &row.tree)?;
        if disagreement(CampaignView::new(&after), &row.tree).is_some() {
            return Ok(false);
        }
        self.lead_to(&after, turn, ChangeKind::Repaired);
        Ok(true)
    }

    /// Changes a row to match the state.
    fn correct_row(&mut self, turn: u64) {
        let Some(state) = &self.state else { return };
        let Some(row) = self.logs.rows.by_turn.get_mut(&turn) else { return };
        if row.is_lost() || disagreement(CampaignView::new(state), &row.tree).is_none() {
            return;
        }
        for fact in CharacterFact::ALL {
            let [name, _] = fact.names();
            if row.tree.value_at(&["state_summary", name]).is_some() {
                row.set(&["state_summary", name], tree_of(&CampaignView::new(state).facts(fact)));
            }
        }
        row.mark();
        self.logs.corrected += 1;
    }

    /// Returns whether the records after a turn contradict the state, too.
    fn is_contradicted(&self, state: &JsonTree, turn: u64) -> bool {
        if turn == self.last {
            let row = self.row(turn);
            return row.is_some_and(|row| {
                disagreement(CampaignView::new(&self.logs.document), &row.tree).is_none()
            });
        }
        let mut later = state.clone();
        for noted in &self.queue {
            if apply(&mut later, &noted.change.deltas).is_none() {
                return true;
            }
            if noted.change.kind.has_row() {
                break;
            }
        }
        let next = self.row(turn + 1);
        next.is_some_and(|next| disagreement(CampaignView::new(&later), &next.tree).is_some())
    }

    /// Adds a row for a turn that has none.
    fn lost_row(&mut self, turn: u64) {
        if self.logs.rows.by_turn.contains_key(&turn) || !self.fills {
            return;
        }
        let state = self.state.as_ref().unwrap_or(&self.logs.document);
        let view = CampaignView::new(state);
        let near = self.logs.rows.by_turn.range(..turn).next_back();
        let near = near.or_else(|| self.logs.rows.by_turn.range(turn..).next());
        let time = near.and_then(|(_, row)| row.tree.string_at(&["timestamp"]));
        let text = format!(
            "Turn {turn} was damaged and could not be recovered. What was left of it is kept in {}.",
            self.kept
        );
        let row = RowFields {
            turn,
            time: &time.unwrap_or_default(),
            user_input: "",
            kind: (DialogType::ResolutionSummary, DialogSource::Fallback),
            text: &text,
            calls: &[],
            applied: &[],
            failed: &[],
            report: None,
            actor: &view.active_actor().unwrap_or_default(),
        };
        let mut row = RecoveredRow::new(tree_of(&row.to_value(view)));
        if self.state.is_none() {
            // The state is that of a later turn.
            row.set(&["state_summary"], JsonTree::object());
        }
        row.set(&[OWN, "lost"], tree_of(&true));
        self.logs.rows.by_turn.insert(turn, row);
        self.logs.lost += 1;
    }

    /// Finishes with the document, unless the changes and the last row both contradict it.
    fn end(&mut self) -> Result<(), CampaignError> {
        let Some(state) = self.state.clone() else { return Ok(()) };
        if let Some(row) = self.row(self.last)
            && disagreement(CampaignView::new(&self.logs.document), &row.tree).is_some()
            && disagreement(CampaignView::new(&state), &row.tree).is_none()
        {
            let document = overlay(self.logs.document.clone(), &row.tree)?;
            // A character that only the document has cannot be corrected.
            let is_right = disagreement(CampaignView::new(&document), &row.tree).is_none();
            self.logs.document = if is_right { document } else { state.clone() };
        }
        let document = self.logs.document.clone();
        if !differences(&state, &document).is_empty() {
            self.lead_to(&document, self.last, ChangeKind::Repaired);
        }
        Ok(())
    }
}
