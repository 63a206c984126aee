//! [`Format`]: the session formats, as far as the test must know them: how to create a session, what to append, and how
//! to find the items in the output of `show` and `state`.
//!
//! Each item has its own word, the first of its text. The state counts the items as well, so that a state without its
//! turn, or a turn without its state, is detected.

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
    /// The standard input.
    pub(crate) input: String,
    /// Whether it makes several commits, so that a cut may leave it between two of them.
    pub(crate) is_staged: bool,
}

impl Invocation {
    /// Returns a command that is one commit.
    pub(crate) fn whole(arguments: &[&str], input: impl Into<String>) -> Invocation {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Invocation { arguments, input: input.into(), is_staged: false }
    }

    /// Returns a command that makes several commits.
    pub(crate) fn staged(arguments: &[&str], input: impl Into<String>) -> Invocation {
        Invocation { is_staged: true, ..Invocation::whole(arguments, input) }
    }
}

/// A session as `ls` lists it.
#[derive(Clone, Debug)]
pub(crate) struct SessionStatusLine {
    /// The session ID.
    pub(crate) id: String,
    /// Whether it is active, paused, completed or archived.
    pub(crate) status: String,
}

/// One format.
pub(crate) trait Format: Sync {
    /// The name of the format.
    fn name(&self) -> &'static str;

    /// Returns the command that creates a session.
    fn create(&self, id: &str, home: &str) -> Invocation;

    /// Returns the command that takes one item per line.
    fn append_lines(&self, id: &str) -> Vec<String> {
        words(&["append", id, "--lines", "--json"])
    }

    /// Returns the command that takes one item.
    fn append_one(&self, id: &str) -> Vec<String> {
        words(&["append", id, "--json"])
    }

    /// The number of messages that are stored as one item.
    fn messages_per_item(&self) -> usize {
        1
    }

    /// Returns the line for the item with these words, after which there are `total` messages.
    fn line(&self, words: &[String], total: usize, filler: &str) -> String;

    /// Returns whether an answer confirms that the item is stored.
    fn is_stored(&self, answer: &Value) -> bool {
        answer.get("turn").is_some()
    }

    /// Returns whether an entry of `show` is one of the appended messages.
    fn is_message(&self, _entry: &Value) -> bool {
        true
    }

    /// Returns the number of messages counted in a state; `None` if the format keeps no count there.
    fn messages_in_state(&self, _state: &Value) -> Option<u64> {
        None
    }

    /// Returns a document below the root that other programs save, with the change that they make.
    fn foreign_document(&self, _id: &str) -> Option<(String, ForeignChange)> {
        None
    }

    /// Chooses a lifecycle command.
    fn lifecycle(&self, life: &Life<'_>, rng: &mut Rng) -> Invocation;
}

/// A change that another program makes to a document: a string at a path of keys.
pub(crate) type ForeignChange = &'static [&'static str];

/// The situation in which a lifecycle command is chosen.
#[derive(Debug)]
pub(crate) struct Life<'a> {
    /// The session for the command.
    pub(crate) session: &'a SessionStatusLine,
    /// An unused name.
    pub(crate) fresh: &'a str,
    /// The contents of the trash.
    pub(crate) trash: &'a [String],
    /// A text of some length.
    pub(crate) filler: &'a str,
}

/// All formats.
pub(crate) const FORMATS: &[&dyn Format] =
    &[&game::Game, &campaign::Campaign, &chatlog::ChatLog, &codelia::Codelia, &linggen::Linggen];

/// Returns the format of this name.
pub(crate) fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// Returns a few lines of the same item.
fn several(rng: &mut Rng, line: &str) -> String {
    format!("{line}\n").repeat(rng.usize(1..8))
}

/// Chooses a command for a session that is not active; every format supports these.
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

/// Chooses, once in a while, a command for the trash.
fn empty_trash(life: &Life<'_>, rng: &mut Rng) -> Option<Invocation> {
    let first = life.trash.first()?;
    match rng.u8(..20) {
        0 => Some(Invocation::staged(&["purge", first, "--yes"], "")),
        1 | 2 => Some(Invocation::staged(&["restore", first], "")),
        _ if life.trash.len() > 5 => Some(Invocation::staged(&["purge", first, "--yes"], "")),
        _ => None,
    }
}
