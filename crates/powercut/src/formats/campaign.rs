//! Campaigns: a document with hit points, and a log of turns that raise them by one.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{ForeignChange, Format, Invocation, Life, empty_trash, several, wake, words};

pub(super) struct Campaign;

/// The initial hit points of a character.
const FIRST_HP: u64 = 10;

fn turn(text: &str) -> String {
    let arguments = json!({"target_character_id": "pc_001", "delta": 1, "cause": "rest"});
    json!({
        "user_input": text,
        "actor_id": "pc_001",
        "outputs": [{
            "assistant_text": "You rest.",
            "dialog_type": "scene_description",
            "tool_calls": [{"id": "call_1", "tool": "hp_delta", "args": arguments}],
        }],
    })
    .to_string()
}

impl Format for Campaign {
    fn name(&self) -> &'static str {
        "campaign"
    }

    fn create(&self, id: &str, _home: &str) -> Invocation {
        Invocation::staged(&["new", "campaign", "--id", id], "")
    }

    fn append_lines(&self, id: &str) -> Vec<String> {
        words(&["campaign", "replay-outputs", id])
    }

    fn append_one(&self, id: &str) -> Vec<String> {
        self.append_lines(id)
    }

    fn line(&self, words: &[String], _total: usize, filler: &str) -> String {
        turn(&format!("{} {filler}", words.concat()))
    }

    fn is_stored(&self, answer: &Value) -> bool {
        answer.get("ok") == Some(&Value::Bool(true))
    }

    fn is_message(&self, entry: &Value) -> bool {
        entry.get("kind").and_then(Value::as_str) == Some("user")
    }

    fn messages_in_state(&self, state: &Value) -> Option<u64> {
        state.pointer("/campaign/hp/pc_001").and_then(Value::as_u64)?.checked_sub(FIRST_HP)
    }

    fn foreign_document(&self, id: &str) -> Option<(String, ForeignChange)> {
        Some((format!("campaigns/{id}/campaign.json"), &["goal", "text"]))
    }

    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation {
        if let Some(command) = empty_trash(life, rng).or_else(|| wake(life, rng)) {
            return command;
        }
        let id = life.session.id.as_str();
        match rng.u8(..20) {
            0..=7 => {
                let lines = several(rng, &turn(life.filler));
                Invocation::staged(&["campaign", "replay-outputs", id], lines)
            }
            8 => {
                let setting = format!("rollback.max_checkpoints={}", rng.u8(..10));
                Invocation::staged(&["settings", id, &setting], "")
            }
            9 => Invocation::staged(&["undo", id], ""),
            10 => Invocation::staged(&["rewind", id, "1"], ""),
            11 | 12 => Invocation::staged(&["fork", id, "--id", life.fresh], ""),
            13 | 14 => Invocation::staged(&["pause", id], ""),
            15 => Invocation::staged(&["complete", id], ""),
            16 | 17 => Invocation::whole(&["mark", "add", id, life.fresh], ""),
            _ => Invocation::whole(&["trash", id], ""),
        }
    }
}
