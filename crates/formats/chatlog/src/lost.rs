//! A document that is empty or gone while its journal exists.
//!
//! A program that truncates a document and writes it again leaves nothing of it if the power fails before its bytes are
//! on the disk. The changes acknowledged since the document was last written are in the journal. They are read over a
//! stand-in without messages, and further changes go to the journal: the document may be recovered, so nothing is
//! folded until a repair is requested.

use super::content::DocumentBytes;
use super::error::ChatError;
use super::journal::{JournalBase, JournalOp, JournalOverlay};
use super::paths::ChatPaths;
use super::rebuild::rebuild_document;
use super::survey::ListKind;
use everturn_json::finding::{Finding, FindingCode};

/// The number of bytes read first; they show whether a document has content.
const PEEK: u64 = 64;

/// The number of bytes read at a time afterwards.
const CHUNK: u64 = 256 << 10;

/// What is known of a document that is empty or gone.
#[derive(Debug, Clone)]
pub(crate) struct LostDocument {
    /// Its length; `None` if there is no file.
    len: Option<u64>,
    /// The document that the journal was started for.
    base: Option<JournalBase>,
    /// Whether the places in the journal have no gaps, so that more can be appended to it.
    is_dense: bool,
}

impl LostDocument {
    /// Returns the lost document if the document is lost and the journal has changes.
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

    /// A document without messages, to which the journal is applied.
    pub(super) fn stand_in(files: &ChatPaths) -> DocumentBytes {
        DocumentBytes::held(&files.document, rebuild_document(b"").bytes)
    }

    /// The finding for the lost document.
    pub(super) fn finding(&self, files: &ChatPaths) -> Finding {
        let (code, what) = match self.len {
            None => (FindingCode::MissingFile, "the document is missing".to_owned()),
            Some(len) => (
                FindingCode::EmptyDocument,
                format!("the document is empty ({len} bytes without content)"),
            ),
        };
        let had = match self.base.map(|base| base.messages) {
            Some(0) => "it had no messages when the journal was started".to_owned(),
            Some(1) => "its message is missing".to_owned(),
            Some(count) => format!("its {count} messages are missing"),
            None => "its messages are missing".to_owned(),
        };
        let message = format!("{what}; {had}; the messages in the journal are available");
        Finding::new(&files.document, code, message)
    }

    /// The error for changes that need the document.
    pub(super) fn refusal(&self, files: &ChatPaths) -> ChatError {
        ChatError::damaged(&files.document, self.finding(files).message)
    }

    /// Translates the places of a change to those of the journal, which count from the lost document.
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

    /// The number of messages that the document had.
    pub(super) fn messages(&self) -> u64 {
        self.base.map_or(0, |base| base.messages)
    }
}

/// Whether a content is only what a power cut leaves of a file: NUL bytes, or nothing at all.
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
