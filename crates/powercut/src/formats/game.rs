//! Game sessions: turns, changes of two scopes, snapshots, metadata.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Format, Invocation, Life, empty_trash, several, wake};

pub(super) struct Game;

fn turn(text: &str, number: usize) -> String {
    json!({
        "actor": "gm",
        "narration": text,
        "events": [{"type": "talk", "description": "words"}],
        "deltas": [
            {"scope": "world", "deltas": [{"op": "set", "path": "n", "value": number}]},
            {"scope": "player", "deltas": [{"op": "set", "path": "m", "value": number}]},
        ],
    })
    .to_string()
}

impl Format for Game {
    fn name(&self) -> &'static str {
        "game"
    }

    fn create(&self, id: &str, _home: &str) -> Invocation {
        // Several states are replaced with each turn, one of them too large for the log.
        let world = json!({"world": {"blob": "y".repeat(70_000)}});
        Invocation::staged(&["new", "game", "-", "--id", id, "--name", "Vex"], world.to_string())
    }

    fn line(&self, words: &[String], total: usize, filler: &str) -> String {
        turn(&format!("{} {filler}", words.concat()), total)
    }

    fn messages_in_state(&self, state: &Value) -> Option<u64> {
        let count = |pointer| state.pointer(pointer).map_or(Some(0), Value::as_u64);
        let (world, player) = (count("/world/n")?, count("/player/m")?);
        // Different counts mean half a turn, which no valid count can express.
        Some(if world == player { world } else { u64::MAX })
    }

    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation {
        if let Some(command) = empty_trash(life, rng).or_else(|| wake(life, rng)) {
            return command;
        }
        let id = life.session.id.as_str();
        match rng.u8(..20) {
            0..=7 => {
                let lines = several(rng, &turn(life.filler, 1));
                Invocation::staged(&["append", id, "--lines"], lines)
            }
            8 | 9 => Invocation::staged(&["pause", id], ""),
            10 => Invocation::staged(&["complete", id], ""),
            11 => Invocation::staged(&["snapshot", id], ""),
            12 | 13 => Invocation::whole(&["mark", "add", id, life.fresh], ""),
            14 => Invocation::staged(&["undo", id], ""),
            15 | 16 => Invocation::staged(&["fork", id, "--id", life.fresh], ""),
            17 => Invocation::staged(&["rewind", id, "1"], ""),
            _ => Invocation::whole(&["trash", id], ""),
        }
    }
}
