//! Periodically writes data derived from the turns: states, snapshots, indexes.

use jiff::Timestamp;

use super::GameWriter;
use super::turns::replace;
use crate::error::GameError;
use crate::meta::{GameMeta, stamp};
use crate::paths::{DocumentFile, LogFile, LogKind, SnapshotFile};
use crate::scenes::END;
use crate::snapshot::{self, Snapshot, SnapshotFacts, SnapshotHeader, SnapshotReason};
use crate::state::{GameState, StateTexts};
use crate::state_files::state_files;
use crate::turn::{Event, TurnRecord};
use everturn_json::names::FilePath;
use everturn_store::{Step, StoreError};

/// The maximum number of turns before the states are written.
const STATES_EVERY: u64 = 25;

/// The maximum number of turns and of changes before a snapshot is taken.
pub(crate) const SNAPSHOT_TURNS: u64 = 100;
const SNAPSHOT_DELTAS: u64 = 500;

impl GameWriter {
    /// Writes what is due after a turn. Returns the ID of the snapshot, if one was taken.
    pub(super) fn write_due(
        &mut self,
        events: &[Event],
        scene_ended: bool,
        rotated: bool,
        now: Timestamp,
    ) -> Result<Option<String>, GameError> {
        if !self.session.rules().defers_states() {
            return Ok(None);
        }
        if let Some(reason) = self.snapshot_due(events, scene_ended) {
            let taken = self.take_snapshot(&reason, rotated, now);
            self.overdue = taken.is_err().then_some(reason);
            return taken.map(Some);
        }
        if rotated {
            self.write_all(now)?;
        }
        if self.session.turn >= self.state_turn + STATES_EVERY {
            self.write_states(now)?;
        }
        Ok(None)
    }

    /// Returns the reason for the snapshot after the last turn, if it was due and was not taken.
    pub(super) fn overdue_snapshot(&self, last: Option<&TurnRecord>) -> Option<SnapshotReason> {
        let taken = self.meta.number(&["deltaStats", "lastSnapshotTurn"]);
        if !self.session.rules().defers_states() || taken == Some(self.session.turn) {
            return None;
        }
        self.snapshot_due(&last?.events(), false)
    }

    /// Takes the snapshot after the last turn that an earlier writer, or an earlier attempt, could not take.
    pub(super) fn take_overdue_snapshot(&mut self, now: Timestamp) -> Result<(), GameError> {
        let Some(reason) = self.overdue.clone() else { return Ok(()) };
        self.take_snapshot(&reason, false, now)?;
        self.overdue = None;
        Ok(())
    }

    /// Returns the reason for taking a snapshot now, if there is one.
    fn snapshot_due(&self, events: &[Event], scene_ended: bool) -> Option<SnapshotReason> {
        let happened = |kind: &str| events.iter().any(|event| event.kind == kind);
        let last = self.meta.number(&["deltaStats", "lastSnapshotTurn"]).unwrap_or(0);
        let deltas = self.meta.number(&["deltaStats", "deltasSinceSnapshot"]).unwrap_or(0);
        if scene_ended || happened(END) {
            Some(SnapshotReason::SceneEnd)
        } else if happened("conflict_end") {
            Some(SnapshotReason::ConflictEnd)
        } else if events.iter().any(Event::is_turning_point) {
            Some(SnapshotReason::SignificantEvent)
        } else if self.session.turn.saturating_sub(last) >= SNAPSHOT_TURNS {
            Some(SnapshotReason::CheckpointInterval)
        } else if deltas >= SNAPSHOT_DELTAS {
            Some(SnapshotReason::DeltaThreshold)
        } else {
            None
        }
    }

    /// Takes a snapshot of the state after the last turn, together with the state files, and with the indexes if
    /// requested.
    pub(crate) fn take_snapshot(
        &mut self,
        reason: &SnapshotReason,
        with_indexes: bool,
        now: Timestamp,
    ) -> Result<String, GameError> {
        let file = self.commit_plan(|game| game.snapshot_steps(reason, with_indexes, now))?;
        Ok(file.id())
    }

    /// Returns the steps for a snapshot after the last turn, the state files and the metadata.
    pub(crate) fn snapshot_steps(
        &mut self,
        reason: &SnapshotReason,
        with_indexes: bool,
        now: Timestamp,
    ) -> Result<(SnapshotFile, Vec<Step>), GameError> {
        let rules = self.session.rules();
        let file = rules.snapshot_file(self.session.turn);
        let path = file.path(&self.session.dir);
        let last = self.meta.number(&["deltaStats", "lastSnapshotTurn"]);
        let known = self.snapshot_of_turn(file, &path)?;
        let base = self.foreign_base.is_some();
        let (told, from, deltas) =
            match known.filter(|(known, _)| !base || known.state.is_same(&self.state)) {
                // A snapshot that is taken again keeps its reason: the end of a scene, the start.
                Some((snapshot, facts)) => {
                    let from = facts.from.and_then(|id| {
                        let turn = SnapshotFile::parse(&format!("{id}.json"))?.turn;
                        Some((id, turn))
                    });
                    (snapshot.reason, from, facts.deltas.unwrap_or(0))
                }
                None => {
                    let last = last.filter(|turn| *turn < file.turn && !base);
                    let from = last.map(|turn| (rules.snapshot_file(turn).id(), turn));
                    let deltas = self.meta.number(&["deltaStats", "deltasSinceSnapshot"]);
                    (reason.clone(), from, deltas.unwrap_or(0))
                }
            };
        let session = self.session.id.as_str();
        let header = SnapshotHeader { file, session, now, reason: &told, from, deltas };
        let (text, texts) = snapshot::write(&header, &self.state);
        let mut steps = vec![replace(path, text.into_bytes())];
        if rules.defers_states() {
            self.meta.put(&["files", "latestSnapshot"], &format!("snapshots/{}", file.render()));
            self.meta.put(&["deltaStats", "deltasSinceSnapshot"], &0);
            self.meta.put(&["deltaStats", "lastSnapshotTurn"], &file.turn);
            if base {
                self.meta.put(&["stateFiles", "adoptedAt"], &file.turn);
            }
            steps.extend(self.state_files(&texts, now)?);
            if with_indexes {
                self.indexes()?;
            }
            // Indexes that are not loaded pick it up from the files later.
            if let Some(indexes) = &mut self.indexes {
                if *reason != SnapshotReason::Initial && last == Some(file.turn) {
                    indexes.drop_snapshot(&file.id());
                }
                indexes.add_snapshot(&file.id(), file.turn, &file.render());
            }
            if with_indexes {
                steps.extend(self.index_steps()?);
            }
        }
        Ok((file, steps))
    }

    /// Returns the snapshot of the last turn, if there is a usable one.
    pub(crate) fn snapshot_of_turn(
        &self,
        file: SnapshotFile,
        path: &FilePath,
    ) -> Result<Option<(Snapshot, SnapshotFacts)>, GameError> {
        match self.session.store.read(path, 0..u64::MAX) {
            Ok(bytes) => Ok(snapshot::read_with_facts(file, bytes).ok()),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the state files, unless they are up to date.
    pub(super) fn write_states(&mut self, now: Timestamp) -> Result<(), GameError> {
        if !self.session.rules().defers_states() || self.state_turn == self.session.turn {
            return Ok(());
        }
        self.commit_plan(|game| Ok(((), game.state_steps(now)?)))
    }

    /// Writes the state files and the indexes.
    pub(super) fn write_all(&mut self, now: Timestamp) -> Result<(), GameError> {
        // A session of another program stays as it is until something is stored in it.
        if !self.session.rules().defers_states() || self.foreign_base.is_some() {
            return Ok(());
        }
        self.commit_plan(|game| {
            let mut steps = game.state_steps(now)?;
            steps.extend(game.index_steps()?);
            Ok(((), steps))
        })
    }

    /// Commits the steps of `plan`; if either fails, restores the metadata.
    fn commit_plan<T>(
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
            self.foreign_base = None;
            self.state_turn = self.session.turn;
            self.session.meta = Some(self.meta.clone());
            self.session.invalidate_files();
        } else {
            self.meta = before;
            // They may name a snapshot that does not exist.
            self.indexes = None;
        }
        done
    }

    /// Returns the steps for the state files of the last turn and the metadata.
    pub(crate) fn state_steps(&mut self, now: Timestamp) -> Result<Vec<Step>, GameError> {
        self.state_files(&self.state.texts(), now)
    }

    fn state_files(&mut self, texts: &StateTexts, now: Timestamp) -> Result<Vec<Step>, GameError> {
        let dir = self.session.dir.clone();
        let (state, turn) = (&self.state, self.session.turn);
        let mut steps = write_states(&dir, state, texts, turn, &mut self.meta, now)?;
        steps.push(replace(DocumentFile::Meta.in_dir(&dir), self.meta.to_bytes()));
        // The metadata name the current logs, and other programs expect them to exist.
        for (log, tape) in [(LogKind::Turns, self.turns), (LogKind::Deltas, self.deltas)] {
            let file = LogFile::current(log, tape.first).path(log, &dir);
            if tape.bytes == 0 && self.session.store.stat(&file)?.is_none() {
                steps.push(replace(file, Vec::new()));
            }
        }
        Ok(steps)
    }
}

/// Returns the steps that write the state files, and records them in the metadata.
pub(crate) fn write_states(
    dir: &FilePath,
    state: &GameState,
    texts: &StateTexts,
    turn: u64,
    meta: &mut GameMeta,
    now: Timestamp,
) -> Result<Vec<Step>, GameError> {
    let files = state_files(state, texts, turn, meta, now)?;
    meta.put(&["lastModified"], &stamp(now));
    let step = |(name, bytes): (String, Vec<u8>)| {
        Ok(replace(FilePath::parse(&format!("{}/{name}", dir.as_str()))?, bytes))
    };
    files.into_iter().map(step).collect()
}
