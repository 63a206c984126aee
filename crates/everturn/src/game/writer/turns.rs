//! One turn: from what is given to one commit.

use jiff::Timestamp;

use super::{Appended, BYTES_PER_FILE, GameWriter, TURNS_PER_FILE, Tape};
use crate::delta::{Delta, Op, Path};
use crate::document::Style;
use crate::finding::Finding;
use crate::game::changes::{Change, Group};
use crate::game::error::GameError;
use crate::game::form::Form;
use crate::game::meta::stamp;
use crate::game::names::{Document, Log, LogFile, scene_file, short};
use crate::game::state::{Scope, State};
use crate::game::turn::{Event, TurnInput, TurnLine};
use crate::names::{FilePath, SceneId};
use crate::store::{At, Expect, Secrecy, Step};
use crate::tree::Tree;

/// Gaps between turns that count as time played, in milliseconds.
pub(crate) const LONGEST_PAUSE: i64 = 30 * 60 * 1000;

impl GameWriter {
    /// Stores a turn: all of it or, if anything is wrong with it, nothing.
    pub fn append(&mut self, input: &TurnInput, now: Timestamp) -> Result<Appended, GameError> {
        let turn = self.session.turn + 1;
        if let Some(given) = input.turn.filter(|given| *given != turn) {
            return Err(GameError::input(format!("the next turn is {turn}, not {given}")));
        }
        let events = self.event_ids(input, turn)?;
        let time = input.time.unwrap_or_else(|| now.as_millisecond());
        let mut changes = self.changes(input, turn, time, &events)?;
        self.apply(&mut changes)?;
        let before = (self.meta.clone(), self.turns, self.deltas);
        match self.store_turn(input, turn, time, &events, &changes, now) {
            Ok((offset, findings)) => {
                let rotated = self.turns.first > turn || self.deltas.first > turn;
                self.session.turn = turn;
                self.last_time = Some(time);
                if let Some(time) = &input.game_time {
                    self.game_time = time.clone();
                }
                let mut appended =
                    Appended { turn, events, snapshot: None, findings, overdue: None };
                let named =
                    |(event, id): (&Tree, &String)| Event { id: id.clone(), ..Event::of(event) };
                let happened: Vec<Event> =
                    input.events.iter().zip(&appended.events).map(named).collect();
                let firsts = (before.1.first, before.2.first);
                let scene = input.scene.clone().or_else(|| self.meta.text(&["current", "sceneId"]));
                self.index_turn(turn, offset, firsts, &happened, &changes, scene.as_deref());
                match self.keep_up(&happened, rotated, now) {
                    Ok(snapshot) => appended.snapshot = snapshot,
                    Err(error) => appended.overdue = Some(error),
                }
                Ok(appended)
            }
            Err(error) => {
                (self.meta, self.turns, self.deltas) = before;
                self.take_back(&changes)?;
                Err(error)
            }
        }
    }

    /// The ids of the turn's events; ids that were given must be the same.
    fn event_ids(&self, input: &TurnInput, turn: u64) -> Result<Vec<String>, GameError> {
        let session = self.short_id();
        let mut ids = Vec::new();
        for (number, event) in (1..).zip(&input.events) {
            let id = format!("{session}-{turn}-{number}");
            if let Some(given) = event.string_at(&["eventId"]).filter(|given| *given != id) {
                return Err(GameError::input(format!("event {number} is {id}, not {given:?}")));
            }
            ids.push(id);
        }
        Ok(ids)
    }

    /// How the session's id appears in the ids of its events and changes.
    fn short_id(&self) -> String {
        match self.session.form {
            Form::Documented => short(self.session.id.as_str()).to_owned(),
            Form::Program => self.session.id.as_str().to_owned(),
        }
    }

    /// The turn's changes, with their ids; ids that were given must be the same.
    fn changes(
        &self,
        input: &TurnInput,
        turn: u64,
        time: i64,
        events: &[String],
    ) -> Result<Vec<Change>, GameError> {
        let session = self.short_id();
        let mut changes = Vec::new();
        let mut sequence = 1;
        for given in input.groups.iter().filter(|given| !given.group.deltas.is_empty()) {
            let id = match self.session.form {
                Form::Documented => format!("delta-{session}-{turn}-{sequence}"),
                Form::Program => format!("{session}-{turn}-{sequence}"),
            };
            sequence += match self.session.form {
                Form::Documented => 1,
                Form::Program => given.group.deltas.len(),
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
            let group = self.placed(&given.group);
            changes.push(Change { id, turn, event, time: Some(time), group });
        }
        Ok(changes)
    }

    /// Where a group belongs in this form: the program keeps its scene inside the world.
    fn placed(&self, group: &Group) -> Group {
        if self.session.form == Form::Documented || group.scope != Scope::Scene {
            return group.clone();
        }
        let inside = |delta: &Delta| {
            let segments = delta.path.segments().iter().cloned();
            let path = Path::array(std::iter::once(Box::from("currentScene")).chain(segments));
            Delta { path, ..delta.clone() }
        };
        Group { scope: Scope::World, deltas: group.deltas.iter().map(inside).collect() }
    }

    /// Applies all changes to the state, or none.
    fn apply(&mut self, changes: &mut [Change]) -> Result<(), GameError> {
        let mut number = 1;
        for at in 0..changes.len() {
            let (done, rest) = changes.split_at_mut(at);
            let Some(change) = rest.first_mut() else { break };
            if let Err((place, source)) = self.state.apply(&mut change.group) {
                let scope = change.group.scope.to_string();
                self.take_back(done)?;
                return Err(GameError::Change { number: number + place, scope, source });
            }
            number += change.group.deltas.len();
        }
        if touches(changes, Scope::Scene, "sceneId", 1)
            && let Err(error) = self.check_scene()
        {
            self.take_back(changes)?;
            return Err(error);
        }
        Ok(())
    }

    /// A scene is kept in a file of its own, which its id must name.
    fn check_scene(&self) -> Result<(), GameError> {
        let scene = &self.state.scene;
        if scene.is_null() {
            return Ok(());
        }
        let id = scene.string_at(&["sceneId"]);
        let id =
            id.ok_or_else(|| GameError::input("a scene needs a sceneId, which is a string"))?;
        scene_file(&SceneId::parse(&id)?)?;
        Ok(())
    }

    fn take_back(&mut self, changes: &[Change]) -> Result<(), GameError> {
        for change in changes.iter().rev() {
            let back = self.state.take_back(&change.group);
            back.map_err(|source| GameError::Change {
                number: 1,
                scope: change.group.scope.to_string(),
                source,
            })?;
        }
        Ok(())
    }

    /// Commits the lines of the turn, and what must go with them.
    fn store_turn(
        &mut self,
        input: &TurnInput,
        turn: u64,
        time: i64,
        events: &[String],
        changes: &[Change],
        now: Timestamp,
    ) -> Result<(u64, Vec<Finding>), GameError> {
        let scene = input.scene.clone().or_else(|| self.scene_after(changes));
        let game_time = input.game_time.as_ref().unwrap_or(&self.game_time);
        let line = TurnLine {
            turn,
            scene: scene.as_deref(),
            time,
            game_time: (!game_time.is_null()).then_some(game_time),
            events,
        };
        let turn_line = line.write(input, self.session.form);
        let mut delta_lines = String::new();
        let cause = input.events.first().map(Event::of).map(|event| event.kind).unwrap_or_default();
        for change in changes {
            change.write(self.session.form, &cause, &mut delta_lines);
        }
        let mut steps = Vec::new();
        let first_lines = self.turns.bytes == 0 || self.deltas.bytes == 0;
        self.turns.bytes += turn_line.len() as u64;
        self.deltas.bytes += delta_lines.len() as u64;
        let logs = [
            (Log::Turns, self.turns.first, turn_line),
            (Log::Deltas, self.deltas.first, delta_lines),
        ];
        for (log, first, lines) in logs.into_iter().filter(|(_, _, lines)| !lines.is_empty()) {
            let file = self.log_path(log, turn, first);
            steps.push(Step::Append { file, at: At::End, lines: lines.into_bytes() });
        }
        match self.session.form {
            Form::Documented => {
                self.rotate(turn, &mut steps);
                self.note_turn(input, turn, time, scene.as_deref(), changes, now);
                steps.push(replace(Document::Meta.in_dir(&self.session.dir), self.meta.to_bytes()));
            }
            Form::Program => {
                // Their metadata are never written; the next turn goes by this.
                self.meta.put(&["current", "sceneId"], &scene);
                steps.extend(program_files(&self.session.dir, &self.state));
            }
        }
        let rotated = steps.iter().any(|step| matches!(step, Step::Rename { .. }));
        let receipt = self.commit(steps)?;
        if rotated || first_lines || self.turns.first == turn || self.deltas.first == turn {
            self.session.look_again();
        }
        Ok((receipt.appended.first().copied().unwrap_or(0), receipt.findings))
    }

    /// The file that takes the lines of a turn.
    fn log_path(&self, log: Log, turn: u64, first: u64) -> FilePath {
        let file = match self.session.form {
            Form::Documented => LogFile::current(log, first),
            Form::Program => {
                let start = (turn - 1) / TURNS_PER_FILE * TURNS_PER_FILE;
                LogFile::closed(start + 1, start + TURNS_PER_FILE)
            }
        };
        file.path(log, &self.session.dir)
    }

    /// Gives files that are full, with this turn, the names that tell all their turns.
    fn rotate(&mut self, turn: u64, steps: &mut Vec<Step>) {
        let dir = &self.session.dir;
        let next = |tape: &mut Tape, log: Log, has_lines: bool, steps: &mut Vec<Step>| {
            let full = turn + 1 - tape.first >= TURNS_PER_FILE || tape.bytes >= BYTES_PER_FILE;
            if !full {
                return;
            }
            if has_lines {
                let from = LogFile::current(log, tape.first).path(log, dir);
                let to = LogFile::closed(tape.first, turn).path(log, dir);
                steps.push(Step::Rename { from, to });
            }
            *tape = Tape { first: turn + 1, bytes: 0 };
        };
        next(&mut self.turns, Log::Turns, true, steps);
        let has_deltas = self.deltas.bytes > 0;
        next(&mut self.deltas, Log::Deltas, has_deltas, steps);
    }

    /// Brings the metadata up to the turn.
    fn note_turn(
        &mut self,
        input: &TurnInput,
        turn: u64,
        time: i64,
        scene: Option<&str>,
        changes: &[Change],
        now: Timestamp,
    ) {
        let meta = &mut self.meta;
        meta.put(&["lastModified"], &stamp(now));
        meta.put(&["current", "turnId"], &turn);
        meta.put(&["current", "sceneId"], &scene);
        if let Some(game_time) = &input.game_time {
            let part = |key: &str| game_time.at(&[key]).unwrap_or_else(Tree::null);
            meta.put_tree(&["current", "gameDay"], part("day"));
            meta.put_tree(&["current", "gameTimeOfDay"], part("timeOfDay"));
        }
        let file = |log: Log, tape: &Tape| {
            format!("{}/{}", log.as_str(), LogFile::current(log, tape.first).render(log))
        };
        meta.put(&["files", "currentTurns"], &file(Log::Turns, &self.turns));
        meta.put(&["files", "currentDeltas"], &file(Log::Deltas, &self.deltas));
        let deltas: usize = changes.iter().map(|change| change.group.deltas.len()).sum();
        meta.add(&["deltaStats", "totalDeltas"], deltas as u64);
        meta.add(&["deltaStats", "deltasSinceSnapshot"], deltas as u64);
        meta.add(&["stats", "totalTurns"], 1);
        meta.add(&["stats", "totalEvents"], input.events.len() as u64);
        let count = |kind: &str| {
            input
                .events
                .iter()
                .filter(|event| event.string_at(&["type"]).as_deref() == Some(kind))
                .count() as u64
        };
        let (scenes, conflicts) = (count("scene_start"), count("conflict_end"));
        meta.add(&["stats", "totalScenes"], scenes);
        meta.add(&["stats", "conflictsResolved"], conflicts);
        let gap = self.last_time.map_or(0, |last| time.saturating_sub(last));
        if (1..=LONGEST_PAUSE).contains(&gap) {
            meta.add(&["stats", "playTimeMs"], u64::try_from(gap).unwrap_or(0));
        }
        let played = meta.number(&["stats", "playTimeMs"]).unwrap_or(0) / 60_000;
        meta.put(&["stats", "playTimeMinutes"], &played);
        meta.put(&["stats", "lastTurnTime"], &time);
        if touches(changes, Scope::World, "npcs", 2) {
            let count = self.state.world.len_at(&["npcs"]).unwrap_or(0);
            self.meta.put(&["stats", "npcsEncountered"], &count);
        }
        if touches(changes, Scope::Player, "location", 2) {
            let place = self.state.player.at(&["location", "id"]).unwrap_or_else(Tree::null);
            self.meta.put_tree(&["current", "locationId"], place);
        }
    }

    /// The scene after the turn: that which is going on, unless the turn changes all of it.
    fn scene_after(&self, changes: &[Change]) -> Option<String> {
        let whole = |change: &Change| {
            let mut paths = change.group.deltas.iter().map(|delta| delta.path.segments());
            change.group.scope == Scope::Scene && paths.any(<[_]>::is_empty)
        };
        let is_set = match self.session.form {
            Form::Documented => changes.iter().any(whole),
            Form::Program => touches(changes, Scope::World, "currentScene", 1),
        };
        match is_set {
            true => self.scene_id(),
            false => self.meta.text(&["current", "sceneId"]),
        }
    }
}

/// The states, which the program writes with every turn.
pub(in crate::game) fn program_files(dir: &FilePath, state: &State) -> Vec<Step> {
    let parts = [
        (Document::World, Some(&state.world)),
        (Document::Player, Some(&state.player)),
        (Document::Npcs, state.npcs.as_ref()),
    ];
    let text = |tree: &Tree| tree.to_text(&Style::PRETTY_RAW_LINE).into_bytes();
    let step = |(document, tree): (Document, Option<&Tree>)| {
        Some(replace(document.in_dir(dir), text(tree?)))
    };
    parts.into_iter().filter_map(step).collect()
}

/// Whether changes of a scope reach the number of members, or the first levels, of a key.
pub(in crate::game) fn touches(changes: &[Change], scope: Scope, key: &str, depth: usize) -> bool {
    let reaches = |delta: &Delta| {
        let segments = delta.path.segments();
        segments.first().is_none_or(|first| &**first == key)
            && (segments.len() <= depth || (delta.op == Op::Set && delta.created > 0))
    };
    changes
        .iter()
        .filter(|change| change.group.scope == scope)
        .any(|change| change.group.deltas.iter().any(reaches))
}

/// A document that is written whole.
pub(in crate::game) fn replace(file: FilePath, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect: Expect::Anything, bytes, secrecy: Secrecy::Usual }
}
