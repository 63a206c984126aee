//! A document that is empty or gone while its journal is there.
//!
//! A program that truncates a document and writes it again leaves nothing of it if the power goes before its bytes
//! are on the disk. What was acknowledged since the document was last written is in the journal. It is read over a
//! stand-in without messages, and changes go on in the journal: the document may come back, so nothing is folded
//! until a repair is asked for.

use super::content::DocumentBytes;
use super::error::ChatError;
use super::journal::{JournalBase, JournalOp, JournalOverlay};
use super::paths::ChatPaths;
use super::rebuild::rebuild_document;
use super::survey::ListKind;
use everturn_json::finding::{Finding, FindingCode};

/// How many bytes are looked at first; a document that has a content shows it there.
const PEEK: u64 = 64;

/// How many bytes are looked at afterwards at a time.
const CHUNK: u64 = 256 << 10;

/// What is known of a document that is empty or gone.
#[derive(Debug, Clone)]
pub(crate) struct LostDocument {
    /// Its length; none if there is no file.
    len: Option<u64>,
    /// The document that the journal was begun for.
    base: Option<JournalBase>,
    /// Whether the journal counts its own elements without gaps, so that more can be added to it.
    is_dense: bool,
}

impl LostDocument {
    /// Whether the document is lost and the journal says something all the same.
    pub(super) fn examine(
        content: Option<&DocumentBytes>,
        journal: &JournalOverlay,
    ) -> Result<Option<LostDocument>, ChatError> {
        if journal.is_empty() || !content.map_or(Ok(true), is_blank)? {
            return Ok(None);
        }
        let (messages, snapshots) =
            journal.base.map_or((0, 0), |base| (base.messages, base.snapshots));
        let last_message = journal.messages.keys().next_back().copied();
        let last_snapshot = journal.snapshots.keys().next_back().copied();
        let is_dense = last_message.unwrap_or(messages) == messages + journal.messages.len() as u64
            && last_snapshot.unwrap_or(snapshots) == snapshots + journal.snapshots.len() as u64;
        let len = content.map(DocumentBytes::len);
        Ok(Some(LostDocument { len, base: journal.base, is_dense }))
    }

    /// A document without messages, over which the journal is read.
    pub(super) fn stand_in(files: &ChatPaths) -> DocumentBytes {
        DocumentBytes::held(&files.document, rebuild_document(b"").bytes)
    }

    /// What is said about it.
    pub(super) fn finding(&self, files: &ChatPaths) -> Finding {
        let (code, what) = match self.len {
            None => (FindingCode::MissingFile, "the document is not there".to_owned()),
            Some(len) => (
                FindingCode::EmptyDocument,
                format!("the document is empty ({len} bytes without content)"),
            ),
        };
        let had = match self.base.map(|base| base.messages) {
            Some(0) => "it had no messages when the journal was begun".to_owned(),
            Some(1) => "the message that it had is missing".to_owned(),
            Some(count) => format!("the {count} messages that it had are missing"),
            None => "the messages that it had are missing".to_owned(),
        };
        let message = format!("{what}; {had}; what the journal has is there");
        Finding { file: files.document.clone(), line: None, offset: None, code, message }
    }

    /// Why the chat log cannot be changed in the way that is asked for.
    pub(super) fn refusal(&self, files: &ChatPaths) -> ChatError {
        ChatError::damaged(&files.document, self.finding(files).message)
    }

    /// A change as the journal tells it, which counts from the document that is lost.
    pub(super) fn counted(&self, op: JournalOp) -> Option<JournalOp> {
        let JournalBase { messages, snapshots, .. } = self.base.filter(|_| self.is_dense)?;
        let message_place = |place: u64| if place == 0 { 0 } else { place + messages };
        Some(match op {
            JournalOp::Message { place, value } => {
                JournalOp::Message { place: place + messages, value }
            }
            JournalOp::Snapshot { place, message, value } => {
                let message = message_place(message);
                JournalOp::Snapshot { place: place + snapshots, message, value }
            }
            JournalOp::Edit { list, place, id, message, edits } => {
                let place = match list {
                    ListKind::Messages => place + messages,
                    ListKind::Snapshots => place + snapshots,
                };
                JournalOp::Edit { list, place, id, message: message.map(message_place), edits }
            }
            JournalOp::Remove { place, id } => JournalOp::Remove { place: place + messages, id },
            JournalOp::Head { edits } => JournalOp::Head { edits },
            JournalOp::Folded { .. } => return None,
        })
    }

    /// How many messages the document had.
    pub(super) fn messages(&self) -> u64 {
        self.base.map_or(0, |base| base.messages)
    }
}

/// Whether a content is nothing but what a power cut leaves of a file: NUL, or no bytes at all.
fn is_blank(content: &DocumentBytes) -> Result<bool, ChatError> {
    let (mut at, mut size) = (0, PEEK);
    while at < content.len() {
        let bytes = content.chunk(at, size)?;
        if bytes.iter().any(|byte| *byte != 0 && !byte.is_ascii_whitespace()) {
            return Ok(false);
        }
        at += bytes.len() as u64;
        size = CHUNK;
    }
    Ok(true)
}
