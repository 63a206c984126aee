//! Converts legacy checkpoints with a state of their own to snapshots.

use std::collections::BTreeMap;

use super::fields::{LegacyFields, PLAYER, SCENE, WORLD};
use super::frames::{LegacyFrames, NUMBER, list};
use super::{MigrationNote, state};
use crate::error::GameError;
use crate::state::GameState;
use everturn_json::names::SessionId;
use everturn_value::tree::{JsonTree, ValueKind};

/// All checkpoints.
#[derive(Debug, Default)]
pub(super) struct LegacyCheckpoints {
    /// The number of checkpoints.
    pub(super) count: u64,
    /// The states by turn.
    pub(super) by_turn: BTreeMap<u64, GameState>,
    pub(super) reasons: BTreeMap<u64, String>,
    /// Data without a place in snapshots, and entries that are not checkpoints.
    kept: Vec<JsonTree>,
    pub(super) notes: Vec<MigrationNote>,
}

const KEPT: &str = "kept in migratedFrom.checkpoints of the metadata";

impl LegacyCheckpoints {
    pub(super) fn read_all(
        id: &SessionId,
        all: Option<&JsonTree>,
        frames: &mut LegacyFrames,
    ) -> Result<LegacyCheckpoints, GameError> {
        let mut read = LegacyCheckpoints::default();
        for (place, checkpoint) in all.map(JsonTree::children).unwrap_or_default() {
            read.count += 1;
            let path = format!("checkpoints.{place}");
            if checkpoint.kind() != ValueKind::Object {
                read.keep(path, checkpoint, "it is not an object, and is");
                continue;
            }
            read.read_one(id, &path, &checkpoint, frames)?;
        }
        Ok(read)
    }

    fn keep(&mut self, path: String, what: JsonTree, why: &str) {
        self.notes.push(MigrationNote { path, why: format!("{why} {KEPT}") });
        self.kept.push(what);
    }

    fn read_one(
        &mut self,
        id: &SessionId,
        path: &str,
        checkpoint: &JsonTree,
        frames: &LegacyFrames,
    ) -> Result<(), GameError> {
        let mut fields = LegacyFields::of(checkpoint, path);
        let keys = ["atTurn", "atFrame"];
        let number = fields.take_number(&keys).or_else(|| fields.take_number(NUMBER));
        let Some(turn) = number.and_then(|(_, number)| frames.turn(number)) else {
            self.keep(path.to_owned(), checkpoint.clone(), "it belongs to no frame, and is");
            return Ok(());
        };
        let whole = fields.take_kind(&["state", "fullState"], ValueKind::Object);
        let same = whole.is_none();
        let mut inner = match whole {
            Some((key, state)) => LegacyFields::of(&state, &format!("{path}.{key}")),
            None => fields.clone(),
        };
        let nested = fields.has(WORLD) || fields.has(PLAYER);
        let from = if nested { &mut fields } else { &mut inner };
        let world = from.take_kind(WORLD, ValueKind::Object);
        let player = from.take_kind(PLAYER, ValueKind::Object);
        let scene = from.take_kind(SCENE, ValueKind::Object).map(|(_, scene)| scene);
        let (Some((_, world)), Some((_, player))) = (world, player) else {
            self.keep(
                path.to_owned(),
                checkpoint.clone(),
                "it lacks the world state or the player state, and is",
            );
            return Ok(());
        };
        if self.by_turn.contains_key(&turn) {
            self.keep(
                path.to_owned(),
                checkpoint.clone(),
                "there is another checkpoint of the same turn; it is",
            );
            return Ok(());
        }
        let reason = fields.take_string(&["reason", "type"]).map(|(_, reason)| reason);
        self.reasons.extend(reason.map(|reason| (turn, reason)));
        self.by_turn.insert(turn, state(id, Some(world), Some(player), scene)?);
        for rest in [Some(&mut fields), (!same).then_some(&mut inner)].into_iter().flatten() {
            self.kept.extend(rest.rest(KEPT));
            self.notes.append(&mut rest.notes);
        }
        Ok(())
    }

    pub(super) fn last_state(&self) -> Option<GameState> {
        self.by_turn.last_key_value().map(|(_, state)| state.clone())
    }

    /// Returns how many checkpoints became snapshots.
    pub(super) fn used(&self) -> u64 {
        self.by_turn.len() as u64
    }

    /// Drops a checkpoint of the last turn that differs from the state files, which take precedence.
    pub(super) fn drop_last_state(&mut self, last: u64, end: &GameState) {
        let differs = self.by_turn.get(&last).is_some_and(|state| !state.is_same(end));
        if differs && let Some(state) = self.by_turn.remove(&last) {
            let text = format!(
                "{{\"turn\":{last},\"worldState\":{},\"playerState\":{}}}",
                state.world.to_line(),
                state.player.to_line()
            );
            let why =
                "the checkpoint of the last turn differs from the states of the document, and is";
            if let Ok(kept) = JsonTree::parse(text) {
                self.keep(format!("checkpoints of turn {last}"), kept, why);
            }
        }
    }

    pub(super) fn kept(&self) -> Option<JsonTree> {
        (!self.kept.is_empty()).then(|| list(&self.kept))
    }
}
