//! The formats of sessions, as far as the test must know them: how to begin one, what to append, and how
//! to see in the answers of `show` and `state` which items are there.
//!
//! Each item has a word of its own, which stands first in its text. The state counts the items as well,
//! so that a state without its turn, or a turn without its state, shows.

mod campaign;
mod chatlog;
mod codelia;
mod game;
mod linggen;

use fastrand::Rng;
use serde_json::Value;

/// A command with its input.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// The arguments, without the root.
    pub(crate) arguments: Vec<String>,
    /// What it reads.
    pub(crate) input: String,
    /// Whether it makes several commits, so that a cut may leave it between two of them.
    pub(crate) is_staged: bool,
}

impl Invocation {
    /// A command that is one commit.
    pub(crate) fn whole(arguments: &[&str], input: impl Into<String>) -> Invocation {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Invocation { arguments, input: input.into(), is_staged: false }
    }

    /// A command that makes several commits.
    pub(crate) fn staged(arguments: &[&str], input: impl Into<String>) -> Invocation {
        Invocation { is_staged: true, ..Invocation::whole(arguments, input) }
    }
}

/// A session as `ls` lists it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Its id.
    pub(crate) id: String,
    /// Whether it is active, paused, completed or archived.
    pub(crate) status: String,
}

/// One format.
pub(crate) trait Format: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The command that makes a session.
    fn create(&self, id: &str, home: &str) -> Invocation;

    /// The command that takes one item per line.
    fn append_lines(&self, id: &str) -> Vec<String> {
        words(&["append", id, "--lines", "--json"])
    }

    /// The command that takes one item.
    fn append_one(&self, id: &str) -> Vec<String> {
        words(&["append", id, "--json"])
    }

    /// How many messages are stored as one item.
    fn messages_per_item(&self) -> usize {
        1
    }

    /// The line for the item with these words, after which there are `total` messages.
    fn line(&self, words: &[String], total: usize, filler: &str) -> String;

    /// Whether an answer says that the item is stored.
    fn is_stored(&self, answer: &Value) -> bool {
        answer.get("turn").is_some()
    }

    /// Whether an entry of `show` is one of the messages that were appended.
    fn is_message(&self, _entry: &Value) -> bool {
        true
    }

    /// How many messages a state has seen; nothing if the format keeps no count there.
    fn messages_in_state(&self, _state: &Value) -> Option<u64> {
        None
    }

    /// A document that other programs save, below the root; with the change that they make.
    fn foreign_document(&self, _id: &str) -> Option<(String, ForeignChange)> {
        None
    }

    /// Some command of a session's life.
    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation;
}

/// What another program changes in a document: a string at a path of keys.
pub(crate) type ForeignChange = &'static [&'static str];

/// What there is when a lifecycle command is chosen.
#[derive(Debug)]
pub(crate) struct Life<'a> {
    /// A session to do something with.
    pub(crate) session: &'a Listed,
    /// A name that is free.
    pub(crate) fresh: &'a str,
    /// What is in the trash.
    pub(crate) trash: &'a [String],
    /// A text of some length.
    pub(crate) filler: &'a str,
}

/// All formats.
pub(crate) const FORMATS: &[&dyn Format] =
    &[&game::Game, &campaign::Campaign, &chatlog::ChatLog, &codelia::Codelia, &linggen::Linggen];

/// The format of this name.
pub(crate) fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// A few lines of the same item.
fn several(rng: &mut Rng, line: &str) -> String {
    format!("{line}\n").repeat(rng.usize(1..8))
}

/// What every format can do with a session that is not active.
fn wake(life: &Life<'_>, rng: &mut Rng) -> Option<Invocation> {
    let id = life.session.id.as_str();
    let choice = rng.u8(..10);
    let command = match (life.session.status.as_str(), choice) {
        ("paused" | "completed" | "archived", 8..) => Invocation::whole(&["trash", id], ""),
        ("paused", 6..) => Invocation::staged(&["complete", id], ""),
        ("paused", _) => Invocation::staged(&["resume", id], ""),
        ("completed", _) => Invocation::staged(&["archive", id], ""),
        ("archived", _) => Invocation::staged(&["unarchive", id], ""),
        _ => return None,
    };
    Some(command)
}

/// What is done with the trash once in a while.
fn empty_trash(life: &Life<'_>, rng: &mut Rng) -> Option<Invocation> {
    let first = life.trash.first()?;
    match rng.u8(..20) {
        0 => Some(Invocation::staged(&["purge", first, "--yes"], "")),
        1 | 2 => Some(Invocation::staged(&["restore", first], "")),
        _ if life.trash.len() > 5 => Some(Invocation::staged(&["purge", first, "--yes"], "")),
        _ => None,
    }
}
