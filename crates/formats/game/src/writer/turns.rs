//! Stores a turn: validates the input, applies its changes and commits it.

use jiff::Timestamp;

use super::indexing::ends_scene;
use super::{GameWriter, TurnOutcome};
use crate::changes::{ChangeRecord, touches};
use crate::error::GameError;
use crate::paths::{LogKind, scene_file};
use crate::portable::{is_special, rewrite};
use crate::scenes::scene_id_of;
use crate::state::Scope;
use crate::turn::{Event, TurnInput, TurnLineParts};
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SceneId};
use everturn_store::{AppendAt, FileMode, Fingerprint, Precondition, Step};
use everturn_value::delta::{DeltaError, DeltaOp, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The longest gap between turns that counts as time played, in milliseconds.
pub(crate) const LONGEST_PAUSE: i64 = 30 * 60 * 1000;

/// The origin of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnSource {
    /// Passed by the caller.
    Given,
    /// Made by an undo; it may restore a scene.
    Undo,
}

/// A validated turn whose changes are applied.
pub(crate) struct TurnDraft {
    pub(crate) turn: u64,
    pub(crate) time: i64,
    /// The IDs of its events.
    events: Vec<String>,
    pub(crate) changes: Vec<ChangeRecord>,
    /// The scenes that it leaves, in their final form.
    pub(crate) left: Vec<JsonTree>,
    /// Whether the states are written in the commit of the turn: the scene has changed, or state files were edited.
    pub(crate) writes_states: bool,
    /// State files that this turn takes over.
    edited: Vec<EditedFile>,
}

/// A state file that was edited by hand.
pub(crate) struct EditedFile {
    pub(crate) file: FilePath,
    pub(crate) bytes: Vec<u8>,
    /// Where its content is kept.
    pub(crate) original: FilePath,
}

impl GameWriter {
    /// Stores a turn atomically: an invalid turn changes nothing.
    ///
    /// A turn whose events start or end a scene gets the changes for it, unless it has them itself.
    pub fn append(&mut self, input: &TurnInput, now: Timestamp) -> Result<TurnOutcome, GameError> {
        let input = self.with_scenes(input, now)?;
        self.append_from(TurnSource::Given, &input, now)
    }

    pub(crate) fn append_from(
        &mut self,
        source: TurnSource,
        input: &TurnInput,
        now: Timestamp,
    ) -> Result<TurnOutcome, GameError> {
        let draft = self.draft(source, input, now)?;
        self.append_draft(input, draft, now)
    }

    /// Stores the turn that leads to edited state files, in one commit with the states and the edited files.
    pub(crate) fn append_edits(
        &mut self,
        input: &TurnInput,
        edited: Vec<EditedFile>,
        now: Timestamp,
    ) -> Result<TurnOutcome, GameError> {
        let input = self.with_scenes(input, now)?;
        let mut draft = self.draft(TurnSource::Given, &input, now)?;
        (draft.writes_states, draft.edited) = (true, edited);
        self.append_draft(&input, draft, now)
    }

    fn append_draft(
        &mut self,
        input: &TurnInput,
        draft: TurnDraft,
        now: Timestamp,
    ) -> Result<TurnOutcome, GameError> {
        let before = (self.meta.clone(), self.turns, self.deltas);
        match self.store_turn(input, &draft, now) {
            Ok((offset, findings)) => {
                let TurnDraft { turn, time, events, changes, .. } = draft;
                let rotated = self.turns.first > turn || self.deltas.first > turn;
                self.session.turn = turn;
                if draft.writes_states || self.foreign_base.is_some() {
                    self.foreign_base = None;
                    self.state_turn = turn;
                    self.session.meta = Some(self.meta.clone());
                }
                self.last_time = Some(time);
                if let Some(time) = &input.game_time {
                    self.game_time = time.clone();
                }
                let mut appended =
                    TurnOutcome { turn, events, snapshot: None, findings, deferred_error: None };
                let named = |(event, id): (&JsonTree, &String)| Event {
                    id: id.clone(),
                    ..Event::of(event)
                };
                let happened: Vec<Event> =
                    input.events.iter().zip(&appended.events).map(named).collect();
                let firsts = (before.1.first, before.2.first);
                let scene = self.meta.text(&["current", "sceneId"]);
                self.index_turn(turn, offset, firsts, &happened, &changes, scene.as_deref());
                if rotated || self.indexes.is_none() {
                    // What follows reads the files of the turn.
                    appended.findings.extend(self.commit_held()?.findings);
                }
                let scene_ended = changes.iter().any(ends_scene);
                match self.write_due(&happened, scene_ended, rotated, now) {
                    Ok(snapshot) => appended.snapshot = snapshot,
                    Err(error) => appended.deferred_error = Some(error),
                }
                Ok(appended)
            }
            Err(error) => {
                (self.meta, self.turns, self.deltas) = before;
                self.revert_changes(&draft.changes)?;
                Err(error)
            }
        }
    }

    /// Validates a turn and applies its changes. An invalid turn changes nothing.
    fn draft(
        &mut self,
        source: TurnSource,
        input: &TurnInput,
        now: Timestamp,
    ) -> Result<TurnDraft, GameError> {
        if self.is_lost {
            let what = "the last turn was not stored; the session must be opened again";
            return Err(GameError::input(what));
        }
        let turn = self.session.turn + 1;
        let mut given = input.groups.iter().filter_map(|group| group.turn).chain(input.turn);
        if let Some(given) = given.find(|given| *given != turn) {
            return Err(GameError::input(format!("the next turn is {turn}, not {given}")));
        }
        let events = self.event_ids(input, turn)?;
        let time = input.time.unwrap_or_else(|| now.as_millisecond());
        let mut changes = self.changes(source, input, turn, time, &events)?;
        let before = scene_id_of(&self.state.scene);
        let left = self.apply(&mut changes)?;
        let after = scene_id_of(&self.state.scene);
        if let Err(error) = self.check_scenes(source, input, before.as_deref(), &changes) {
            self.revert_changes(&changes)?;
            return Err(error);
        }
        let (writes_states, edited) = (before != after, Vec::new());
        Ok(TurnDraft { turn, time, events, changes, left, writes_states, edited })
    }

    /// Returns the IDs of the turn's events; IDs in the input must match.
    fn event_ids(&self, input: &TurnInput, turn: u64) -> Result<Vec<String>, GameError> {
        let rules = self.session.rules();
        let mut ids = Vec::new();
        for (number, event) in (1..).zip(&input.events) {
            let id = rules.event_id(&self.session.id, turn, number);
            let given = event.value_at(&["eventId"]).filter(|given| !given.is_null());
            let wrong = |given: &JsonTree| given.string_at::<&str>(&[]).as_ref() != Some(&id);
            if let Some(given) = given.filter(wrong) {
                let given = given.to_line();
                return Err(GameError::input(format!("event {number} is {id}, not {given}")));
            }
            ids.push(id);
        }
        Ok(ids)
    }

    /// Returns the turn's changes with their IDs; IDs in the input must match.
    fn changes(
        &self,
        source: TurnSource,
        input: &TurnInput,
        turn: u64,
        time: i64,
        events: &[String],
    ) -> Result<Vec<ChangeRecord>, GameError> {
        let rules = self.session.rules();
        let mut changes = Vec::new();
        let mut sequence = 1;
        for given in input.groups.iter().filter(|given| !given.group.deltas.is_empty()) {
            let id = rules.change_id(&self.session.id, turn, sequence);
            sequence += rules.line_count(&given.group);
            if let Some(wrong) = given.id.as_ref().filter(|given| **given != id) {
                return Err(GameError::input(format!("the change is {id}, not {wrong:?}")));
            }
            let event = match (&given.event_id, given.event) {
                (Some(event), _) if events.contains(event) => Some(event.clone()),
                (Some(event), _) => {
                    return Err(GameError::input(format!("{id}: the turn has no event {event:?}")));
                }
                (None, Some(number)) => {
                    let event = number.checked_sub(1).and_then(|at| events.get(at)).cloned();
                    let missing =
                        || GameError::input(format!("{id}: the turn has no event {number}"));
                    Some(event.ok_or_else(missing)?)
                }
                (None, None) => events.first().cloned(),
            };
            let group = match source {
                TurnSource::Given => rules.stored_group(&given.group, &self.state),
                // It comes from stored changes.
                TurnSource::Undo => given.group.clone(),
            };
            let extra = given.extra.clone();
            let time = Some(given.time.unwrap_or(time));
            changes.push(ChangeRecord { id, turn, event, time, group, extra });
        }
        self.check_changes(source, &changes)?;
        Ok(changes)
    }

    /// Rejects changes that are invalid in any state.
    fn check_changes(&self, source: TurnSource, changes: &[ChangeRecord]) -> Result<(), GameError> {
        let groups = changes.iter().map(|change| &change.group);
        let deltas = groups.flat_map(|group| group.deltas.iter().map(|delta| (group.scope, delta)));
        for (number, (scope, delta)) in (1..).zip(deltas) {
            if source == TurnSource::Given {
                self.session.rules().check_delta(number, scope, delta, &self.state)?;
            }
            let left = match delta.op {
                DeltaOp::Set => delta.value.as_ref().map(JsonTree::kind),
                _ => Some(ValueKind::Null),
            };
            let left = left.filter(|left| *left != ValueKind::Object);
            if let Some(found) = left.filter(|_| scope != Scope::Scene)
                && matches!(delta.op, DeltaOp::Set | DeltaOp::Delete)
                && delta.path.segments().is_empty()
            {
                let (path, at, wanted) = (DeltaPath::root(), DeltaPath::root(), "an object");
                let source = DeltaError::Kind { op: delta.op, path, at, found, wanted };
                return Err(GameError::Change { number, scope: scope.to_string(), source });
            }
        }
        Ok(())
    }

    /// Applies all changes to the state, or none. Returns the scenes that were left, in their final form.
    fn apply(&mut self, changes: &mut [ChangeRecord]) -> Result<Vec<JsonTree>, GameError> {
        let portable = self.session.rules().keeps_metadata();
        let mut number = 1;
        let mut left = Vec::new();
        for at in 0..changes.len() {
            let (done, rest) = changes.split_at_mut(at);
            let Some(change) = rest.first_mut() else { break };
            let scene = self.state.scene.clone();
            let scope = change.group.scope;
            let special: Vec<bool> =
                change.group.deltas.iter().map(|delta| is_special(scope, delta)).collect();
            if let Err((place, source)) = self.state.apply(&mut change.group) {
                let scope = change.group.scope.to_string();
                self.revert_changes(done)?;
                return Err(GameError::Change { number: number + place, scope, source });
            }
            if !scene.is_null() && scene_id_of(&scene) != scene_id_of(&self.state.scene) {
                left.push(scene);
            }
            number += change.group.deltas.len();
            if let Some(after) = self.state.get(scope).filter(|_| portable) {
                rewrite(&mut change.group, &special, after);
            }
        }
        Ok(left)
    }

    /// Checks that the scene can be stored, and that the scene of the turn exists.
    fn check_scenes(
        &self,
        source: TurnSource,
        input: &TurnInput,
        before: Option<&str>,
        changes: &[ChangeRecord],
    ) -> Result<(), GameError> {
        if touches(changes, Scope::Scene, "sceneId", 1) {
            self.check_scene()?;
        }
        let now = scene_id_of(&self.state.scene).filter(|now| Some(now.as_str()) != before);
        if let Some(now) = now.filter(|_| source == TurnSource::Given)
            && self.has_scene(&SceneId::parse(&now)?)?
        {
            return Err(GameError::input(format!("scene {now} already exists")));
        }
        self.check_scene_of(input, before)
    }

    /// Checks that the scene's ID is usable as a file name: a scene is stored in a file of its own.
    fn check_scene(&self) -> Result<(), GameError> {
        let scene = &self.state.scene;
        if scene.is_null() {
            return Ok(());
        }
        let id = scene.string_at(&["sceneId"]);
        let id =
            id.ok_or_else(|| GameError::input("a scene needs a sceneId, which must be a string"))?;
        scene_file(&SceneId::parse(&id)?)?;
        Ok(())
    }

    fn revert_changes(&mut self, changes: &[ChangeRecord]) -> Result<(), GameError> {
        for change in changes.iter().rev() {
            let back = self.state.revert(&change.group);
            back.map_err(|source| GameError::Change {
                number: 1,
                scope: change.group.scope.to_string(),
                source,
            })?;
        }
        Ok(())
    }

    /// Commits the lines of the turn, and everything that belongs to the same commit.
    fn store_turn(
        &mut self,
        input: &TurnInput,
        draft: &TurnDraft,
        now: Timestamp,
    ) -> Result<(u64, Vec<Finding>), GameError> {
        let TurnDraft { turn, time, events, changes, .. } = draft;
        let (turn, time) = (*turn, *time);
        let rules = self.session.rules();
        let scene = input.scene.clone().or_else(|| rules.scene_after(self, changes));
        let game_time = input.game_time.as_ref().unwrap_or(&self.game_time);
        let parts = TurnLineParts {
            turn,
            scene: scene.as_deref(),
            time,
            game_time: (!game_time.is_null()).then_some(game_time),
            events,
        };
        let turn_line = rules.turn_line(&parts, input);
        let mut delta_lines = String::new();
        let cause = input.events.first().map(Event::of).map(|event| event.kind).unwrap_or_default();
        for change in changes {
            rules.write_change(change, &cause, &mut delta_lines);
        }
        let mut steps = Vec::new();
        let first_lines = self.turns.bytes == 0 || self.deltas.bytes == 0;
        self.turns.bytes += turn_line.len() as u64;
        self.deltas.bytes += delta_lines.len() as u64;
        let logs = [
            (LogKind::Turns, self.turns.first, turn_line),
            (LogKind::Deltas, self.deltas.first, delta_lines),
        ];
        for (log, first, lines) in logs.into_iter().filter(|(_, _, lines)| !lines.is_empty()) {
            let file = rules.log_file(log, first, turn).path(log, &self.session.dir);
            steps.push(Step::Append { file, at: AppendAt::End, lines: lines.into_bytes() });
        }
        steps.extend(rules.turn_files(self, input, draft, scene.as_deref(), now)?);
        keep_edited_files(&draft.edited, &mut steps);
        let rotated = steps.iter().any(|step| matches!(step, Step::Rename { .. }));
        let receipt = self.commit(steps)?;
        if rotated || first_lines || self.turns.first == turn || self.deltas.first == turn {
            self.session.invalidate_files();
        }
        Ok((receipt.appended.first().copied().unwrap_or(0), receipt.findings))
    }
}

/// Adds the steps that keep edited files. They must not change again before they are replaced.
fn keep_edited_files(edited: &[EditedFile], steps: &mut Vec<Step>) {
    for EditedFile { file: edited, bytes, original } in edited {
        for step in steps.iter_mut() {
            if let Step::Replace { file, expect, .. } = step
                && file == edited
            {
                *expect = Precondition::Content(Fingerprint::of(bytes));
            }
        }
        let (file, expect) = (original.clone(), Precondition::Absent);
        let (bytes, mode) = (bytes.clone(), FileMode::OwnerOnly);
        steps.push(Step::Replace { file, expect, bytes, mode });
    }
}

/// Returns the step that writes a whole document.
pub(crate) fn replace(file: FilePath, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect: Precondition::Anything, bytes, mode: FileMode::Default }
}
