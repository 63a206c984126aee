//! Records as readers of all formats see them.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::weave::Placing;
use everturn_session::view::Kind;
use everturn_value::tree::Tree;

/// What stands for an id or a text where many are kept: the same for the same text, and small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(u128);

impl Key {
    pub(super) fn of(text: &str) -> Key {
        let digest = Sha256::digest(text.as_bytes());
        let half = digest.first_chunk::<16>().copied().unwrap_or_default();
        Key(u128::from_le_bytes(half))
    }

    pub(super) fn number(self) -> u128 {
        self.0
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    /// Which of the files of the session.
    pub(super) file: u32,
    /// The first byte, or the number of a row.
    pub(super) offset: u64,
    /// How many bytes it has.
    pub(super) length: u64,
}

/// Whom a record follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// Nobody: something begins.
    Nobody,
    /// The record with this id.
    Of(Key),
    /// The record of this number.
    Number(u32),
}

/// What a record is to somebody who reads the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Somebody asks for something: a turn begins.
    Prompt,
    /// Something is said or done.
    Message,
    /// Neither.
    Link,
}

/// What the first pass keeps of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) at: At,
    /// Its line, counted from 1, if its file has lines.
    pub(super) line: Option<u32>,
    /// Its place among all, which is that of the record whose place it took.
    pub(super) order: u32,
    pub(super) parent: Parent,
    pub(super) placing: Placing,
    pub(super) role: Role,
    pub(super) is_side: bool,
    pub(super) time: Option<Timestamp>,
    /// How many entries it makes.
    pub(super) entries: u32,
    /// Whether it is part of a record that is counted already.
    pub(super) is_part: bool,
    /// Whether it had to be put right.
    pub(super) is_repaired: bool,
}

/// One thing that a record tells.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) speaker: String,
    pub(super) text: String,
    /// The tool that is called, or answers.
    pub(super) call: Option<Call>,
    /// The part of the record that tells it, if it is not the whole.
    pub(super) part: Option<Tree>,
}

/// A tool at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Made(String),
    Answered(String),
}

impl Draft {
    pub(super) fn new(kind: Kind, speaker: &str, text: impl Into<String>) -> Draft {
        Draft { kind, speaker: speaker.to_owned(), text: text.into(), call: None, part: None }
    }

    /// Something that the program keeps for itself.
    pub(super) fn bookkeeping(speaker: &str, text: impl Into<String>) -> Draft {
        Draft::new(Kind::bookkeeping(), speaker, text)
    }

    /// A tool that is called.
    pub(super) fn called(speaker: &str, name: &str, arguments: &str, id: Option<String>) -> Draft {
        let text =
            if arguments.is_empty() { name.to_owned() } else { format!("{name} {arguments}") };
        Draft { call: id.map(Call::Made), ..Draft::new(Kind::ToolCall, speaker, text) }
    }

    /// What a tool answered.
    pub(super) fn answered(speaker: &str, text: impl Into<String>, id: Option<String>) -> Draft {
        Draft { call: id.map(Call::Answered), ..Draft::new(Kind::ToolResult, speaker, text) }
    }

    /// The same, told by a part of the record.
    pub(super) fn by(self, part: &Tree) -> Draft {
        Draft { part: Some(part.clone()), ..self }
    }
}

/// What a record turned out to be.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) id: Option<String>,
    pub(super) time: Option<Timestamp>,
    pub(super) role: Role,
    /// Whether a helper of the program says it.
    pub(super) is_side: bool,
    pub(super) drafts: Vec<Draft>,
}

impl Look {
    /// A record that tells these things; the first of them says what role it plays.
    pub(super) fn telling(drafts: Vec<Draft>) -> Look {
        let role = match drafts.first().map(|draft| &draft.kind) {
            Some(Kind::User) => Role::Prompt,
            Some(kind) if !kind.is_bookkeeping() && *kind != Kind::Event => Role::Message,
            _ => Role::Link,
        };
        Look { id: None, time: None, role, is_side: false, drafts }
    }
}
