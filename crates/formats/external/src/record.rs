//! Records as readers of all formats see them.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::thread_tree::Placement;
use everturn_session::model::EntryKind;
use everturn_value::tree::JsonTree;

/// What stands for an id or a text where many are kept: the same for the same text, and small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TextHash(u128);

impl TextHash {
    pub(super) fn of(text: &str) -> TextHash {
        let digest = Sha256::digest(text.as_bytes());
        let half = digest.first_chunk::<16>().copied().unwrap_or_default();
        TextHash(u128::from_le_bytes(half))
    }

    pub(super) fn number(self) -> u128 {
        self.0
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordSpan {
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
    Root,
    /// The record with this id.
    Of(TextHash),
    /// The record of this number.
    Number(u32),
}

/// What a record is to somebody who reads the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordRole {
    /// Somebody asks for something: a turn begins.
    Prompt,
    /// Something is said or done.
    Message,
    /// Neither.
    Link,
}

/// What the first pass keeps of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordNode {
    pub(super) at: RecordSpan,
    /// Its line, counted from 1, if its file has lines.
    pub(super) line: Option<u32>,
    /// Its place among all, which is that of the record whose place it took.
    pub(super) order: u32,
    pub(super) parent: Parent,
    pub(super) placement: Placement,
    pub(super) role: RecordRole,
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
pub(super) struct EntryDraft {
    pub(super) kind: EntryKind,
    pub(super) speaker: String,
    pub(super) text: String,
    /// The tool that is called, or answers.
    pub(super) call: Option<ToolCall>,
    /// The part of the record that tells it, if it is not the whole.
    pub(super) part: Option<JsonTree>,
}

/// A tool at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolCall {
    Made(String),
    Answered(String),
}

impl EntryDraft {
    pub(super) fn new(kind: EntryKind, speaker: &str, text: impl Into<String>) -> EntryDraft {
        EntryDraft { kind, speaker: speaker.to_owned(), text: text.into(), call: None, part: None }
    }

    /// Something that the program keeps for itself.
    pub(super) fn bookkeeping(speaker: &str, text: impl Into<String>) -> EntryDraft {
        EntryDraft::new(EntryKind::bookkeeping(), speaker, text)
    }

    /// A tool that is called.
    pub(super) fn called(
        speaker: &str,
        name: &str,
        arguments: &str,
        id: Option<String>,
    ) -> EntryDraft {
        let text =
            if arguments.is_empty() { name.to_owned() } else { format!("{name} {arguments}") };
        EntryDraft {
            call: id.map(ToolCall::Made),
            ..EntryDraft::new(EntryKind::ToolCall, speaker, text)
        }
    }

    /// What a tool answered.
    pub(super) fn answered(
        speaker: &str,
        text: impl Into<String>,
        id: Option<String>,
    ) -> EntryDraft {
        EntryDraft {
            call: id.map(ToolCall::Answered),
            ..EntryDraft::new(EntryKind::ToolResult, speaker, text)
        }
    }

    /// The same, told by a part of the record.
    pub(super) fn by(self, part: &JsonTree) -> EntryDraft {
        EntryDraft { part: Some(part.clone()), ..self }
    }
}

/// What a record turned out to be.
#[derive(Debug, Clone)]
pub(super) struct RecordInfo {
    pub(super) id: Option<String>,
    pub(super) time: Option<Timestamp>,
    pub(super) role: RecordRole,
    /// Whether a helper of the program says it.
    pub(super) is_side: bool,
    pub(super) drafts: Vec<EntryDraft>,
}

impl RecordInfo {
    /// A record that tells these things; the first of them says what role it plays.
    pub(super) fn from_drafts(drafts: Vec<EntryDraft>) -> RecordInfo {
        let role = match drafts.first().map(|draft| &draft.kind) {
            Some(EntryKind::User) => RecordRole::Prompt,
            Some(kind) if !kind.is_bookkeeping() && *kind != EntryKind::Event => {
                RecordRole::Message
            }
            _ => RecordRole::Link,
        };
        RecordInfo { id: None, time: None, role, is_side: false, drafts }
    }
}
