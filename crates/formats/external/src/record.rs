//! Records as all formats produce them: [`RecordNode`], [`RecordInfo`] and [`EntryDraft`].

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::thread_tree::Placement;
use everturn_session::model::{EntryExtras, EntryKind};
use everturn_value::tree::JsonTree;

/// A small hash that represents an id or a text where many are kept: equal texts have equal hashes.
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

/// The position of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordSpan {
    /// The index of the file among those of the session.
    pub(super) file: u32,
    /// The first byte, or the row number.
    pub(super) offset: u64,
    /// The length in bytes.
    pub(super) length: u64,
}

/// The parent of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// None: the record starts a thread.
    Root,
    /// The record with this id.
    Of(TextHash),
    /// The record with this number.
    Number(u32),
}

/// The role of a record in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordRole {
    /// A request: a turn starts.
    Prompt,
    /// Something is said or done.
    Message,
    /// Neither.
    Link,
}

/// The data that the first pass keeps of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordNode {
    pub(super) at: RecordSpan,
    /// Its line, counted from 1, if its file is JSONL.
    pub(super) line: Option<u32>,
    /// Its position among all records, inherited from the record that it replaced.
    pub(super) order: u32,
    pub(super) parent: Parent,
    pub(super) placement: Placement,
    pub(super) role: RecordRole,
    pub(super) is_side: bool,
    pub(super) time: Option<Timestamp>,
    /// The number of entries it makes.
    pub(super) entries: u32,
    /// Whether it is part of a record that is already counted.
    pub(super) is_part: bool,
    /// Whether it had to be repaired.
    pub(super) is_repaired: bool,
}

/// One entry that a record makes.
#[derive(Debug, Clone)]
pub(super) struct EntryDraft {
    pub(super) kind: EntryKind,
    pub(super) speaker: String,
    pub(super) text: String,
    /// What it has besides its text.
    pub(super) extras: EntryExtras,
    /// The tool call that it makes or answers.
    pub(super) call: Option<ToolCall>,
    /// The part of the record that it comes from, if not the whole.
    pub(super) part: Option<JsonTree>,
}

/// The call id of a tool call or its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolCall {
    Made(String),
    Answered(String),
}

impl EntryDraft {
    pub(super) fn new(kind: EntryKind, speaker: &str, text: impl Into<String>) -> EntryDraft {
        EntryDraft {
            kind,
            speaker: speaker.to_owned(),
            text: text.into(),
            extras: EntryExtras::default(),
            call: None,
            part: None,
        }
    }

    /// An internal record of the program.
    pub(super) fn bookkeeping(speaker: &str, text: impl Into<String>) -> EntryDraft {
        EntryDraft::new(EntryKind::bookkeeping(), speaker, text)
    }

    /// A tool call.
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

    /// The result of a tool.
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

    /// The same, made from a part of the record.
    pub(super) fn by(self, part: &JsonTree) -> EntryDraft {
        EntryDraft { part: Some(part.clone()), ..self }
    }
}

/// The meaning of a record.
#[derive(Debug, Clone)]
pub(super) struct RecordInfo {
    pub(super) id: Option<String>,
    pub(super) time: Option<Timestamp>,
    pub(super) role: RecordRole,
    /// Whether it belongs to a helper of the program.
    pub(super) is_side: bool,
    pub(super) drafts: Vec<EntryDraft>,
}

impl RecordInfo {
    /// A record with these entries; the first of them determines its role.
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
