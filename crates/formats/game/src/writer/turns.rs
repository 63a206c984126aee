//! Stores a turn: validates the input, applies its changes and commits it.

use jiff::Timestamp;

use super::indexing::ends_scene;
use super::maintenance::write_states;
use super::scenes::id_of;
use super::{BYTES_PER_FILE, GameWriter, LogSegment, TURNS_PER_FILE, TurnOutcome};
use crate::changes::{ChangeRecord, DeltaGroup};
use crate::dialect::Dialect;
use crate::error::GameError;
use crate::meta::stamp;
use crate::paths::{DocumentFile, LogFile, LogKind, scene_file, scene_path, short};
use crate::scenes::{is_start, started_scene};
use crate::state::{GameState, STAMP, Scope, unstamped};
use crate::turn::{Event, TurnInput, TurnLineWriter};
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SceneId};
use everturn_store::{AppendAt, FileMode, Precondition, Step};
use everturn_value::delta::{Delta, DeltaError, DeltaOp, DeltaPath};
use everturn_value::document::JsonStyle;
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
struct TurnDraft {
    turn: u64,
    time: i64,
    /// The IDs of its events.
    events: Vec<String>,
    changes: Vec<ChangeRecord>,
    /// The scenes that it leaves, in their final form.
    left: Vec<JsonTree>,
    /// Whether the scene has changed.
    moved: bool,
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
        let before = (self.meta.clone(), self.turns, self.deltas);
        match self.store_turn(input, &draft, now) {
            Ok((offset, findings)) => {
                let TurnDraft { turn, time, events, changes, .. } = draft;
                let rotated = self.turns.first > turn || self.deltas.first > turn;
                self.session.turn = turn;
                if draft.moved {
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
        let turn = self.session.turn + 1;
        let mut given = input.groups.iter().filter_map(|group| group.turn).chain(input.turn);
        if let Some(given) = given.find(|given| *given != turn) {
            return Err(GameError::input(format!("the next turn is {turn}, not {given}")));
        }
        let events = self.event_ids(input, turn)?;
        let time = input.time.unwrap_or_else(|| now.as_millisecond());
        let mut changes = self.changes(input, turn, time, &events)?;
        let before = id_of(&self.state.scene);
        let left = self.apply(&mut changes)?;
        let after = id_of(&self.state.scene);
        let moved = before != after;
        if let Err(error) = self.check_scenes(source, input, before.as_deref(), &changes) {
            self.revert_changes(&changes)?;
            return Err(error);
        }
        Ok(TurnDraft { turn, time, events, changes, left, moved })
    }

    /// Returns the IDs of the turn's events; IDs in the input must match.
    fn event_ids(&self, input: &TurnInput, turn: u64) -> Result<Vec<String>, GameError> {
        let session = self.short_id();
        let mut ids = Vec::new();
        for (number, event) in (1..).zip(&input.events) {
            let id = format!("{session}-{turn}-{number}");
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

    /// Returns the form of the session's ID that is used in the IDs of its events and changes.
    fn short_id(&self) -> String {
        match self.session.dialect {
            Dialect::Spec => short(self.session.id.as_str()).to_owned(),
            Dialect::Upstream => self.session.id.as_str().to_owned(),
        }
    }

    /// Returns the turn's changes with their IDs; IDs in the input must match.
    fn changes(
        &self,
        input: &TurnInput,
        turn: u64,
        time: i64,
        events: &[String],
    ) -> Result<Vec<ChangeRecord>, GameError> {
        let session = self.short_id();
        let mut changes = Vec::new();
        let mut sequence = 1;
        for given in input.groups.iter().filter(|given| !given.group.deltas.is_empty()) {
            let id = match self.session.dialect {
                Dialect::Spec => format!("delta-{session}-{turn}-{sequence}"),
                Dialect::Upstream => format!("{session}-{turn}-{sequence}"),
            };
            sequence += match self.session.dialect {
                Dialect::Spec => 1,
                Dialect::Upstream => given.group.deltas.len(),
            };
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
            let (group, extra) = (self.placed(&given.group), given.extra.clone());
            let time = Some(given.time.unwrap_or(time));
            changes.push(ChangeRecord { id, turn, event, time, group, extra });
        }
        self.check_changes(&changes)?;
        Ok(changes)
    }

    /// Rejects changes that are invalid in any state.
    fn check_changes(&self, changes: &[ChangeRecord]) -> Result<(), GameError> {
        let groups = changes.iter().map(|change| &change.group);
        let deltas = groups.flat_map(|group| group.deltas.iter().map(|delta| (group.scope, delta)));
        for (number, (scope, delta)) in (1..).zip(deltas) {
            if self.session.dialect == Dialect::Spec {
                if scope == Scope::Npcs {
                    let scopes = "known scopes: world, player, scene";
                    return Err(GameError::input(format!(
                        "{scope} is not a scope of this session; {scopes}"
                    )));
                }
                let first = delta.path.segments().first();
                if scope != Scope::Scene && first.is_some_and(|first| &**first == STAMP) {
                    return Err(GameError::input(format!(
                        "change {number} of scope {scope}: {STAMP} is the write time of the file, and is not part of \
                         the state"
                    )));
                }
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

    /// Adapts a group to the dialect: upstream sessions keep the scene inside the world, and in the documented dialect
    /// the time at which a file was written is not part of the state.
    fn placed(&self, group: &DeltaGroup) -> DeltaGroup {
        let place = |delta: &Delta| match (self.session.dialect, group.scope) {
            (Dialect::Upstream, Scope::Scene) => {
                let segments = delta.path.segments().iter().cloned();
                let path =
                    DeltaPath::array(std::iter::once(Box::from("currentScene")).chain(segments));
                Delta { path, ..delta.clone() }
            }
            (Dialect::Spec, Scope::World | Scope::Player) if delta.path.segments().is_empty() => {
                Delta { value: delta.value.as_ref().map(unstamped), ..delta.clone() }
            }
            _ => delta.clone(),
        };
        let scope = match (self.session.dialect, group.scope) {
            (Dialect::Upstream, Scope::Scene) => Scope::World,
            (_, scope) => scope,
        };
        DeltaGroup { scope, deltas: group.deltas.iter().map(place).collect() }
    }

    /// Applies all changes to the state, or none. Returns the scenes that were left, in their final form.
    fn apply(&mut self, changes: &mut [ChangeRecord]) -> Result<Vec<JsonTree>, GameError> {
        let mut number = 1;
        let mut left = Vec::new();
        for at in 0..changes.len() {
            let (done, rest) = changes.split_at_mut(at);
            let Some(change) = rest.first_mut() else { break };
            let scene = self.state.scene.clone();
            if let Err((place, source)) = self.state.apply(&mut change.group) {
                let scope = change.group.scope.to_string();
                self.revert_changes(done)?;
                return Err(GameError::Change { number: number + place, scope, source });
            }
            if !scene.is_null() && id_of(&scene) != id_of(&self.state.scene) {
                left.push(scene);
            }
            number += change.group.deltas.len();
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
        let now = id_of(&self.state.scene).filter(|now| Some(now.as_str()) != before);
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
        let scene = input.scene.clone().or_else(|| self.scene_after(changes));
        let game_time = input.game_time.as_ref().unwrap_or(&self.game_time);
        let line = TurnLineWriter {
            turn,
            scene: scene.as_deref(),
            time,
            game_time: (!game_time.is_null()).then_some(game_time),
            events,
        };
        let turn_line = line.write(input, self.session.dialect);
        let mut delta_lines = String::new();
        let cause = input.events.first().map(Event::of).map(|event| event.kind).unwrap_or_default();
        for change in changes {
            change.write(self.session.dialect, &cause, &mut delta_lines);
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
            let file = self.log_path(log, turn, first);
            steps.push(Step::Append { file, at: AppendAt::End, lines: lines.into_bytes() });
        }
        match self.session.dialect {
            Dialect::Spec => {
                self.rotate(turn, &mut steps);
                self.note_turn(input, draft, scene.as_deref(), now);
                if draft.moved {
                    steps.extend(self.scene_steps(draft, now)?);
                }
                steps.push(replace(
                    DocumentFile::Meta.in_dir(&self.session.dir),
                    self.meta.to_bytes(),
                ));
            }
            Dialect::Upstream => {
                // Upstream metadata are never written; the next turn uses this value.
                self.meta.put(&["current", "sceneId"], &scene);
                steps.extend(upstream_files(&self.session.dir, &self.state));
            }
        }
        let rotated = steps.iter().any(|step| matches!(step, Step::Rename { .. }));
        let receipt = self.commit(steps)?;
        if rotated || first_lines || self.turns.first == turn || self.deltas.first == turn {
            self.session.invalidate_files();
        }
        Ok((receipt.appended.first().copied().unwrap_or(0), receipt.findings))
    }

    /// Returns the steps for the scenes that a turn leaves, and for the states. They belong to the commit of the turn:
    /// later it would not be visible that the file of an ended scene is outdated.
    fn scene_steps(&mut self, draft: &TurnDraft, now: Timestamp) -> Result<Vec<Step>, GameError> {
        let dir = self.session.dir.clone();
        let texts = self.state.texts();
        let mut files = Vec::new();
        for scene in draft.left.iter().rev() {
            let Some(id) = id_of(scene).filter(|id| Some(id) != id_of(&self.state.scene).as_ref())
            else {
                continue;
            };
            let path = scene_path(&dir, &SceneId::parse(&id)?)?;
            if !files.iter().any(|(file, _)| *file == path) {
                files.push((path, scene.to_text(&JsonStyle::PRETTY_RAW).into_bytes()));
            }
        }
        let left = files.into_iter().map(|(file, bytes)| replace(file, bytes));
        let mut steps: Vec<Step> = left.collect();
        steps.extend(write_states(&dir, &self.state, &texts, draft.turn, &mut self.meta, now)?);
        Ok(steps)
    }

    /// Returns the file for the lines of a turn.
    fn log_path(&self, log: LogKind, turn: u64, first: u64) -> FilePath {
        let file = match self.session.dialect {
            Dialect::Spec => LogFile::current(log, first),
            Dialect::Upstream => {
                let start = (turn - 1) / TURNS_PER_FILE * TURNS_PER_FILE;
                LogFile::closed(start + 1, start + TURNS_PER_FILE)
            }
        };
        file.path(log, &self.session.dir)
    }

    /// Renames files that this turn fills, so that their names contain all their turns.
    fn rotate(&mut self, turn: u64, steps: &mut Vec<Step>) {
        let dir = &self.session.dir;
        let next = |tape: &mut LogSegment, log: LogKind, has_lines: bool, steps: &mut Vec<Step>| {
            let full = turn + 1 - tape.first >= TURNS_PER_FILE || tape.bytes >= BYTES_PER_FILE;
            if !full {
                return;
            }
            if has_lines {
                let from = LogFile::current(log, tape.first).path(log, dir);
                let to = LogFile::closed(tape.first, turn).path(log, dir);
                steps.push(Step::Rename { from, to });
            }
            *tape = LogSegment { first: turn + 1, bytes: 0 };
        };
        next(&mut self.turns, LogKind::Turns, true, steps);
        let has_deltas = self.deltas.bytes > 0;
        next(&mut self.deltas, LogKind::Deltas, has_deltas, steps);
    }

    /// Updates the metadata for the turn.
    fn note_turn(
        &mut self,
        input: &TurnInput,
        draft: &TurnDraft,
        scene: Option<&str>,
        now: Timestamp,
    ) {
        let TurnDraft { turn, time, changes, .. } = draft;
        let meta = &mut self.meta;
        meta.put(&["lastModified"], &stamp(now));
        meta.put(&["current", "turnId"], turn);
        meta.put(&["current", "sceneId"], &scene);
        if let Some(game_time) = &input.game_time {
            let part = |key: &str| game_time.value_at(&[key]).unwrap_or_else(JsonTree::null);
            meta.put_tree(&["current", "gameDay"], part("day"));
            meta.put_tree(&["current", "gameTimeOfDay"], part("timeOfDay"));
        }
        let file = |log: LogKind, tape: &LogSegment| {
            format!("{}/{}", log.as_str(), LogFile::current(log, tape.first).render(log))
        };
        meta.put(&["files", "currentTurns"], &file(LogKind::Turns, &self.turns));
        meta.put(&["files", "currentDeltas"], &file(LogKind::Deltas, &self.deltas));
        let deltas: usize = changes.iter().map(|change| change.group.deltas.len()).sum();
        meta.add(&["deltaStats", "totalDeltas"], deltas as u64);
        meta.add(&["deltaStats", "deltasSinceSnapshot"], deltas as u64);
        meta.add(&["stats", "totalTurns"], 1);
        meta.add(&["stats", "totalEvents"], input.events.len() as u64);
        let events: Vec<Event> = input.events.iter().map(Event::of).collect();
        let begins =
            events.iter().any(is_start) || changes.iter().any(|it| started_scene(it).is_some());
        let conflicts = events.iter().filter(|event| event.kind == "conflict_end").count();
        meta.add(&["stats", "totalScenes"], u64::from(begins));
        meta.add(&["stats", "conflictsResolved"], conflicts as u64);
        let gap = self.last_time.map_or(0, |last| time.saturating_sub(last));
        if (1..=LONGEST_PAUSE).contains(&gap) {
            meta.add(&["stats", "playTimeMs"], u64::try_from(gap).unwrap_or(0));
        }
        let played = meta.number(&["stats", "playTimeMs"]).unwrap_or(0) / 60_000;
        meta.put(&["stats", "playTimeMinutes"], &played);
        meta.put(&["stats", "lastTurnTime"], time);
        if touches(changes, Scope::World, "npcs", 2) {
            self.meta.note_characters(&self.state);
        }
        if touches(changes, Scope::Player, "location", 2) {
            self.meta.note_place(&self.state);
        }
    }

    /// Returns the scene after the turn: that of the state. If the state has none, the last scene that a turn named,
    /// unless this turn has removed the scene.
    fn scene_after(&self, changes: &[ChangeRecord]) -> Option<String> {
        let whole = |change: &ChangeRecord| {
            let mut paths = change.group.deltas.iter().map(|delta| delta.path.segments());
            change.group.scope == Scope::Scene && paths.any(<[_]>::is_empty)
        };
        let noted = || self.meta.text(&["current", "sceneId"]);
        match self.session.dialect {
            Dialect::Spec if changes.iter().any(whole) => id_of(&self.state.scene),
            Dialect::Spec => id_of(&self.state.scene).or_else(noted),
            Dialect::Upstream if touches(changes, Scope::World, "currentScene", 1) => {
                self.scene_id()
            }
            Dialect::Upstream => noted(),
        }
    }
}

/// Returns the steps for the state files of an upstream session, which are written with every turn.
pub(crate) fn upstream_files(dir: &FilePath, state: &GameState) -> Vec<Step> {
    let parts = [
        (DocumentFile::World, Some(&state.world)),
        (DocumentFile::Player, Some(&state.player)),
        (DocumentFile::Npcs, state.npcs.as_ref()),
    ];
    let text = |tree: &JsonTree| tree.to_text(&JsonStyle::PRETTY_RAW_LINE).into_bytes();
    let step = |(document, tree): (DocumentFile, Option<&JsonTree>)| {
        Some(replace(document.in_dir(dir), text(tree?)))
    };
    parts.into_iter().filter_map(step).collect()
}

/// Returns whether changes of a scope affect the number of members, or the first levels, of a key.
pub(crate) fn touches(changes: &[ChangeRecord], scope: Scope, key: &str, depth: usize) -> bool {
    let reaches = |delta: &Delta| {
        let segments = delta.path.segments();
        segments.first().is_none_or(|first| &**first == key)
            && (segments.len() <= depth || (delta.op == DeltaOp::Set && delta.created > 0))
    };
    changes
        .iter()
        .filter(|change| change.group.scope == scope)
        .any(|change| change.group.deltas.iter().any(reaches))
}

/// Returns the step that writes a whole document.
pub(crate) fn replace(file: FilePath, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect: Precondition::Anything, bytes, mode: FileMode::Default }
}
