//! What follows from the turns and is written now and then: states, snapshots, indexes.

use jiff::Timestamp;

use super::GameWriter;
use super::turns::replace;
use crate::checksum::checksum;
use crate::delta::{Delta, Path};
use crate::document::Style;
use crate::game::error::GameError;
use crate::game::form::Form;
use crate::game::meta::{Meta, stamp, tree};
use crate::game::names::{Document, SnapshotFile, scene_path};
use crate::game::snapshot::{self, Header, Reason};
use crate::game::state::{STAMP, State};
use crate::game::turn::Event;
use crate::names::{FilePath, SceneId};
use crate::store::Step;
use crate::tree::Tree;

/// How many turns may pass before the states are written.
const STATES_EVERY: u64 = 25;

/// How many turns, and how many changes, may come together before a snapshot is taken.
pub(crate) const SNAPSHOT_TURNS: u64 = 100;
const SNAPSHOT_DELTAS: u64 = 500;

impl GameWriter {
    /// Does what is due after a turn; says which snapshot was taken.
    pub(super) fn keep_up(
        &mut self,
        events: &[Event],
        rotated: bool,
        now: Timestamp,
    ) -> Result<Option<String>, GameError> {
        if self.session.form == Form::Program {
            return Ok(None);
        }
        if let Some(reason) = self.snapshot_due(events) {
            return self.take_snapshot(&reason, now).map(Some);
        }
        if rotated {
            self.write_all(now)?;
        }
        let started = events.iter().any(|event| event.kind == "scene_start");
        if started || self.session.turn >= self.state_turn + STATES_EVERY {
            self.write_states(now)?;
        }
        Ok(None)
    }

    /// Whether a snapshot should be taken now, and why.
    fn snapshot_due(&self, events: &[Event]) -> Option<Reason> {
        let happened = |kind: &str| events.iter().any(|event| event.kind == kind);
        let last = self.meta.number(&["deltaStats", "lastSnapshotTurn"]).unwrap_or(0);
        let deltas = self.meta.number(&["deltaStats", "deltasSinceSnapshot"]).unwrap_or(0);
        if happened("scene_end") {
            Some(Reason::SceneEnd)
        } else if happened("conflict_end") {
            Some(Reason::ConflictEnd)
        } else if events.iter().any(Event::is_turning_point) {
            Some(Reason::SignificantEvent)
        } else if self.session.turn.saturating_sub(last) >= SNAPSHOT_TURNS {
            Some(Reason::CheckpointInterval)
        } else if deltas >= SNAPSHOT_DELTAS {
            Some(Reason::DeltaThreshold)
        } else {
            None
        }
    }

    /// Takes a snapshot of the state after the last turn, and writes the states with it.
    pub(crate) fn take_snapshot(
        &mut self,
        reason: &Reason,
        now: Timestamp,
    ) -> Result<String, GameError> {
        let file = self.committing(|game| game.snapshot_steps(reason, now))?;
        Ok(file.id())
    }

    /// A snapshot of the state after the last turn, the states, and the metadata that say so.
    pub(in crate::game) fn snapshot_steps(
        &mut self,
        reason: &Reason,
        now: Timestamp,
    ) -> Result<(SnapshotFile, Vec<Step>), GameError> {
        let program = self.session.form == Form::Program;
        let file = SnapshotFile { turn: self.session.turn, program };
        let last = self.meta.number(&["deltaStats", "lastSnapshotTurn"]);
        let from = match (reason, last) {
            (Reason::Initial, _) | (_, None) => None,
            (_, Some(turn)) => Some((SnapshotFile { turn, program }.id(), turn)),
        };
        let header = Header {
            file,
            session: self.session.id.as_str(),
            now,
            reason,
            from: from.filter(|(_, turn)| *turn < file.turn),
            deltas: self.meta.number(&["deltaStats", "deltasSinceSnapshot"]).unwrap_or(0),
        };
        let text = snapshot::write(&header, &self.state);
        let path = file.path(&self.session.dir);
        let mut steps = vec![replace(path, text.into_bytes())];
        if !program {
            self.meta.put(&["files", "latestSnapshot"], &format!("snapshots/{}", file.render()));
            self.meta.put(&["deltaStats", "deltasSinceSnapshot"], &0);
            self.meta.put(&["deltaStats", "lastSnapshotTurn"], &file.turn);
            steps.extend(self.state_steps(now)?);
            let again = *reason != Reason::Initial && last == Some(file.turn);
            let indexes = self.indexes()?;
            if again {
                indexes.drop_snapshot(&file.id());
            }
            indexes.add_snapshot(&file.id(), file.turn, &file.render());
            steps.extend(self.index_steps()?);
        }
        Ok((file, steps))
    }

    /// Writes the states, unless the files show the last turn already.
    pub(super) fn write_states(&mut self, now: Timestamp) -> Result<(), GameError> {
        if self.session.form == Form::Program || self.state_turn == self.session.turn {
            return Ok(());
        }
        self.committing(|game| Ok(((), game.state_steps(now)?)))
    }

    /// Writes the states and the indexes.
    pub(super) fn write_all(&mut self, now: Timestamp) -> Result<(), GameError> {
        if self.session.form == Form::Program {
            return Ok(());
        }
        self.committing(|game| {
            let mut steps = game.state_steps(now)?;
            steps.extend(game.index_steps()?);
            Ok(((), steps))
        })
    }

    /// Commits what `plan` makes; if either fails, the metadata are what they were.
    fn committing<T>(
        &mut self,
        plan: impl FnOnce(&mut GameWriter) -> Result<(T, Vec<Step>), GameError>,
    ) -> Result<T, GameError> {
        let before = self.meta.clone();
        let planned = plan(self);
        let done = planned.and_then(|(done, steps)| {
            self.commit(steps)?;
            Ok(done)
        });
        if done.is_ok() {
            self.state_turn = self.session.turn;
            self.session.meta = Some(self.meta.clone());
            self.session.look_again();
        } else {
            self.meta = before;
            // They may hold a snapshot that is not there.
            self.indexes = None;
        }
        done
    }

    /// The state files of the last turn, and the metadata that say so.
    pub(in crate::game) fn state_steps(&mut self, now: Timestamp) -> Result<Vec<Step>, GameError> {
        let dir = self.session.dir.clone();
        let mut steps = state_files(&dir, &self.state, self.session.turn, &mut self.meta, now)?;
        steps.push(replace(Document::Meta.in_dir(&dir), self.meta.to_bytes()));
        Ok(steps)
    }
}

/// The files of a state, and what the metadata say about them.
pub(in crate::game) fn state_files(
    dir: &FilePath,
    state: &State,
    turn: u64,
    meta: &mut Meta,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let mut steps = Vec::new();
    let mut write = |path: FilePath, tree: &Tree| {
        let bytes = tree.to_text(&Style::PRETTY_RAW).into_bytes();
        let sum = format!("crc64:{:016x}", checksum(&[&bytes]));
        steps.push(replace(path, bytes));
        sum
    };
    let mut sums = serde_json::Map::new();
    let world = write(Document::World.in_dir(dir), &stamped(&state.world, now));
    sums.insert("worldState".to_owned(), world.into());
    let player = write(Document::Player.in_dir(dir), &stamped(&state.player, now));
    sums.insert("playerState".to_owned(), player.into());
    match state.scene.string_at(&["sceneId"]) {
        Some(id) => {
            let path = scene_path(dir, &SceneId::parse(&id)?)?;
            let name = path.as_str().strip_prefix(dir.as_str()).unwrap_or_default();
            meta.put(&["files", "currentScene"], name.trim_start_matches('/'));
            let scene = write(path, &state.scene);
            sums.insert("currentScene".to_owned(), scene.into());
        }
        // Otherwise the scene that was taken back would be there again when the session is opened.
        None => meta.put_tree(&["files", "currentScene"], Tree::null()),
    }
    meta.put(&["stateFiles", "turnId"], &turn);
    meta.put_tree(&["stateFiles", "checksums"], tree(&sums));
    meta.put(&["lastModified"], &stamp(now));
    Ok(steps)
}

/// A state with the time at which its file is written.
pub(crate) fn stamped(state: &Tree, now: Timestamp) -> Tree {
    let mut state = state.clone();
    let mut set = Delta::set(Path::array([STAMP]), tree(&stamp(now)));
    // After the ids, where the documents have it.
    set.member = Some(2);
    // The state is an object, so the field can be set.
    drop(set.apply_in_place(&mut state));
    state
}
