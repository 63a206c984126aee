//! Chat logs: one document with a journal beside it, and tool tags in the messages.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{ForeignChange, Format, Invocation, Life, empty_trash, several};

pub(super) struct ChatLog;

fn message(text: &str) -> String {
    json!({"type": "narrator", "name": "N", "text": text}).to_string()
}

impl Format for ChatLog {
    fn name(&self) -> &'static str {
        "chatlog"
    }

    fn create(&self, id: &str, _home: &str) -> Invocation {
        let hp = json!({"id": "hp", "type": "numeric", "label": "HP", "value": 0});
        let tool = json!({"id": "stats", "name": "Stats", "components": [hp]});
        let document = json!({"session": {"support_tools": [tool]}});
        let arguments = ["new", "chatlog", "-", "--id", id, "--name", "S"];
        Invocation::staged(&arguments, document.to_string())
    }

    fn line(&self, words: &[String], total: usize, filler: &str) -> String {
        let tag = format!(r#"<tool:update id="hp" value="{total}" reason="r">"#);
        message(&format!("{} {filler} {tag}", words.concat()))
    }

    fn messages_in_state(&self, state: &Value) -> Option<u64> {
        state.pointer("/tools/stats/hp").map_or(Some(0), Value::as_u64)
    }

    fn foreign_document(&self, id: &str) -> Option<(String, ForeignChange)> {
        Some((format!("chats/{id}.json"), &["metadata", "series"]))
    }

    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation {
        if let Some(command) = empty_trash(life, rng) {
            return command;
        }
        let id = life.session.id.as_str();
        let text = life.filler;
        match rng.u8(..20) {
            0..=7 => {
                let lines = several(rng, &message(text));
                Invocation::staged(&["append", id, "--lines"], lines)
            }
            8 | 9 => Invocation::staged(&["append", id, "--type", "narrator"], text),
            10 | 11 => Invocation::staged(&["edit", id, "1"], text),
            12 => Invocation::staged(&["regenerate", id, "1"], text),
            13 | 14 => Invocation::staged(&["mark", "add", id, life.fresh], ""),
            15 | 16 => Invocation::staged(&["fork", id, "--id", life.fresh], ""),
            17 => Invocation::staged(&["rewind", id, "1"], ""),
            _ => Invocation::staged(&["trash", id], ""),
        }
    }
}
