//! The sessions of a coding agent: a log of messages; two of them are appended as one item.

use fastrand::Rng;
use serde_json::json;

use super::{Format, Invocation, Life, empty_trash, several};

pub(super) struct Codelia;

fn message(text: &str) -> serde_json::Value {
    json!({"role": "user", "content": text})
}

impl Format for Codelia {
    fn name(&self) -> &'static str {
        "codelia"
    }

    fn create(&self, id: &str, _home: &str) -> Invocation {
        Invocation::staged(&["new", "codelia", "--id", id], "")
    }

    fn messages_per_item(&self) -> usize {
        2
    }

    fn line(&self, words: &[String], _total: usize, filler: &str) -> String {
        let messages: Vec<_> =
            words.iter().map(|word| message(&format!("{word} {filler}"))).collect();
        json!({ "messages": messages }).to_string()
    }

    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation {
        if let Some(command) = empty_trash(life, rng) {
            return command;
        }
        let id = life.session.id.as_str();
        match rng.u8(..20) {
            0..=10 => {
                let lines = several(rng, &message(life.filler).to_string());
                Invocation::staged(&["append", id, "--lines"], lines)
            }
            11 | 12 => Invocation::whole(&["append", id], message(life.filler).to_string()),
            13 | 14 => Invocation::staged(&["rewind", id, "1"], ""),
            15..=17 => Invocation::staged(&["fork", id, "--id", life.fresh], ""),
            _ => Invocation::staged(&["trash", id], ""),
        }
    }
}
