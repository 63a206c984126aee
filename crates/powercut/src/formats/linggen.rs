//! The sessions of another coding agent: a log of messages below a project.

use fastrand::Rng;
use serde_json::json;

use super::{Format, Invocation, Life, empty_trash, several};

pub(super) struct Linggen;

fn message(text: &str) -> String {
    json!({"content": text}).to_string()
}

impl Format for Linggen {
    fn name(&self) -> &'static str {
        "linggen"
    }

    fn create(&self, id: &str, home: &str) -> Invocation {
        Invocation::staged(&["new", "linggen", "--id", id, "--project", home], "")
    }

    fn line(&self, words: &[String], _total: usize, filler: &str) -> String {
        message(&format!("{} {filler}", words.concat()))
    }

    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation {
        if let Some(command) = empty_trash(life, rng) {
            return command;
        }
        let id = life.session.id.as_str();
        match rng.u8(..20) {
            0..=9 => {
                let lines = several(rng, &message(life.filler));
                Invocation::staged(&["append", id, "--lines"], lines)
            }
            10 | 11 => Invocation::whole(&["append", id], message(life.filler)),
            12 => Invocation::staged(&["plan", "new", life.fresh, "one", "two"], ""),
            13 | 14 => Invocation::staged(&["rewind", id, "1"], ""),
            15..=17 => Invocation::staged(&["fork", id, "--id", life.fresh], ""),
            _ => Invocation::staged(&["trash", id], ""),
        }
    }
}
