//! The statistics in the metadata of a session, recounted from its logs.

use std::collections::HashSet;

use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::meta::GameMeta;
use crate::scenes::{is_start, started_scene};
use crate::session::Session;
use crate::state::GameState;
use crate::survey::TurnCounts;
use crate::turn::TurnRecord;
use crate::writer::turns::LONGEST_PAUSE;
use everturn_value::tree::JsonTree;

/// The totals over the turns of a session, up to a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnTotals {
    turns: u64,
    events: u64,
    /// The turns in which scenes begin.
    scenes: TurnCounts,
    /// The scenes that turns have named, and whether one has started that none has named yet.
    named: HashSet<String>,
    pending: bool,
    conflicts: u64,
    play_time: u64,
    last_time: Option<i64>,
    scene: Option<String>,
    game_time: Option<JsonTree>,
    deltas: u64,
    deltas_since: u64,
}

impl TurnTotals {
    /// Counts the turns up to `last`; `snapshot` is the turn of the last snapshot. Memory does not grow with their
    /// number.
    pub(crate) fn count(
        session: &Session,
        last: u64,
        snapshot: u64,
    ) -> Result<TurnTotals, GameError> {
        let mut tally = TurnTotals::default();
        for turn in session.turns(0, last)? {
            tally.add_turn(session, &turn?)?;
        }
        for change in session.changes(0, last)? {
            tally.add_change(&change?, snapshot);
        }
        Ok(tally)
    }

    fn add_turn(&mut self, session: &Session, turn: &TurnRecord) -> Result<(), GameError> {
        self.turns += 1;
        for event in turn.events().iter() {
            self.events += 1;
            self.conflicts += u64::from(event.kind == "conflict_end");
        }
        let begins = turn.events().iter().any(is_start);
        if begins {
            self.scenes.insert(turn.turn, 1);
        }
        // As in a survey: another program may start a scene without an event, or in the turn before.
        let is_new = |scene: &&String| self.named.insert((*scene).clone());
        if let Some(scene) = turn.scene.as_ref().filter(is_new) {
            if !std::mem::take(&mut self.pending) && session.has_scene_file(scene)? {
                self.scenes.insert(turn.turn, 1);
            }
        } else if begins {
            self.pending = true;
        }
        let gap = match (self.last_time, turn.time) {
            (Some(last), Some(time)) => time.saturating_sub(last),
            _ => 0,
        };
        if (1..=LONGEST_PAUSE).contains(&gap) {
            self.play_time += u64::try_from(gap).unwrap_or(0);
        }
        self.last_time = turn.time.or(self.last_time);
        self.scene.clone_from(&turn.scene);
        self.game_time = turn.raw.value_at(&["gameTime"]).filter(|time| !time.is_null());
        Ok(())
    }

    fn add_change(&mut self, change: &ChangeRecord, snapshot: u64) {
        let count = change.group.deltas.len() as u64;
        self.deltas += count;
        if change.turn > snapshot {
            self.deltas_since += count;
        }
        if started_scene(change).is_some() {
            self.scenes.insert(change.turn, 1);
        }
    }

    /// Writes the statistics, including those of a line that is being added.
    pub(crate) fn note_events(&self, meta: &mut GameMeta, line: &JsonTree) {
        let more = line.len_at(&["events"]).unwrap_or(0) as u64;
        meta.put(&["stats", "totalTurns"], &(self.turns + 1));
        meta.put(&["stats", "totalScenes"], &self.scenes.sum(0, u64::MAX));
        meta.put(&["stats", "totalEvents"], &(self.events + more));
        meta.put(&["stats", "conflictsResolved"], &self.conflicts);
    }

    /// Writes the totals into the metadata of a session that is at `turn`, with this state.
    pub(crate) fn note(&self, meta: &mut GameMeta, turn: u64, state: &GameState) {
        meta.put(&["current", "turnId"], &turn);
        meta.put(&["current", "sceneId"], &self.scene);
        let null = JsonTree::null;
        meta.note_place(state);
        meta.note_characters(state);
        for (field, key) in [("gameDay", "day"), ("gameTimeOfDay", "timeOfDay")] {
            let part = self.game_time.as_ref().and_then(|time| time.value_at(&[key]));
            meta.put_tree(&["current", field], part.unwrap_or_else(null));
        }
        meta.put(&["deltaStats", "totalDeltas"], &self.deltas);
        meta.put(&["deltaStats", "deltasSinceSnapshot"], &self.deltas_since);
        meta.put(&["stats", "totalTurns"], &self.turns);
        meta.put(&["stats", "totalScenes"], &self.scenes.sum(0, u64::MAX));
        meta.put(&["stats", "totalEvents"], &self.events);
        meta.put(&["stats", "playTimeMs"], &self.play_time);
        meta.put(&["stats", "playTimeMinutes"], &(self.play_time / 60_000));
        meta.put(&["stats", "conflictsResolved"], &self.conflicts);
        meta.put(&["stats", "lastTurnTime"], &self.last_time);
    }
}
