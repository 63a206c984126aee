//! The only writer of a chat log, [`ChatWriter`].

mod export;
mod marks;
mod revise;
mod tooling;
mod trash;

use std::sync::Arc;

use jiff::Timestamp;

use super::check::newer;
use super::content::Version;
use super::edit::apply;
use super::error::ChatError;
use super::fold::{self, BATCH_BYTES, build, put_in_place, replace, wants_index};
use super::journal::JournalOp;
use super::log::ChatLog;
use super::lost::LostDocument;
use super::message::MessageInput;
use super::paths::ChatPaths;
use super::rewrite::RewritePlan;
use super::survey::ListKind;
use super::tools::FiredTrigger;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::format::error_chain;
use everturn_store::{AppendAt, Durability, Precondition, Step, Store, Writer};
use everturn_value::document::PathSegment;
use everturn_value::tree::JsonTree;

pub(crate) use export::export_settings;
pub(crate) use marks::all_marks;
pub use marks::{ChatMark, NewChatMark};
pub use trash::DiscardedMessage;
pub(crate) use trash::discarded_messages;

/// The smallest journal that is folded while the chat log is being written.
const LEAST_JOURNAL: u64 = 1 << 20;

/// The largest document that may be rewritten after a single change.
const SOON_WRITTEN: u64 = 1 << 20;

/// The minimum ratio of the document's length to the journal's.
const JOURNAL_SHARE: u64 = 8;

/// The only writer of a chat log.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_chatlog::{ChatLog, ChatWriter, NewChat};
/// use everturn_store::{MemoryStore, Store};
/// use everturn_value::tree::JsonTree;
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let mut log = ChatWriter::create(&store, &NewChat::new("tale"), now)?;
/// let message = JsonTree::parse(r#"{"type": "narrator", "text": "It is *cold*."}"#)?;
/// assert_eq!(log.append(&message, now)?.number, 1);
/// let path = log.log().path().clone();
/// log.close()?;
/// assert_eq!(ChatLog::open(&store, &path)?.message(1)?.text(), "It is *cold*.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChatWriter {
    pub(crate) log: ChatLog,
    pub(crate) writer: Box<dyn Writer>,
    /// The maximum size of a commit in bytes.
    pub(super) batch: u64,
    /// The maximum length of the journal in bytes.
    most_journal: Option<u64>,
    /// Whether a fold has failed half way, so that the chat log must be opened again before the next change.
    stuck: bool,
    /// The version of the document that was last flushed.
    secured: Option<Version>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Default)]
pub struct ChangeOutcome {
    /// The number of the message concerned.
    pub number: u64,
    /// The id of the new or changed element.
    pub id: String,
    /// The triggers that changes of tools have fired.
    pub fired: Vec<FiredTrigger>,
    /// The snapshots of tools that it took.
    pub snapshots: Vec<JsonTree>,
    /// The findings of the change.
    pub findings: Vec<Finding>,
    /// Why a fold that was due failed. The change is safe, and the fold is tried again with the next one.
    pub deferred_error: Option<String>,
}

/// The snapshots among changes.
fn snapshot_values(ops: &[JournalOp]) -> Vec<JsonTree> {
    let value = |op: &JournalOp| match op {
        JournalOp::Snapshot { value, .. } => Some(value.clone()),
        _ => None,
    };
    ops.iter().filter_map(value).collect()
}

impl ChatWriter {
    /// Opens the chat log whose document is at `path` for writing.
    pub fn open(store: &Arc<dyn Store>, path: &FilePath) -> Result<ChatWriter, ChatError> {
        let files = ChatPaths::of(path)?;
        let writer = store.lock(&files.scopes())?;
        ChatWriter::with(store, &files, writer)
    }

    pub(super) fn with(
        store: &Arc<dyn Store>,
        files: &ChatPaths,
        writer: Box<dyn Writer>,
    ) -> Result<ChatWriter, ChatError> {
        let mut log = ChatLog::open(store, &files.document)?;
        if log.half_folded {
            fold::finish(&**store, files, None, &*writer)?;
            log = ChatLog::open(store, &files.document)?;
        }
        for list in ListKind::ALL {
            if log.is_wrong(list) {
                let reason = format!("{} is not an array", list.key());
                return Err(ChatError::damaged(&files.document, reason));
            }
        }
        if let Some(version) = newer(&log.head()) {
            let what = format!("version {version} is supported for reading only");
            return Err(ChatError::input(what));
        }
        let mut chat = ChatWriter {
            log,
            writer,
            batch: BATCH_BYTES,
            most_journal: None,
            stuck: false,
            secured: None,
        };
        // Lines appended to a journal count from the document that it was started for.
        if chat.log.refitted && chat.log.lost.is_none() {
            chat.fold()?;
        }
        Ok(chat)
    }

    /// Sets the maximum size of a commit, and of the journal before it is folded.
    #[must_use]
    pub fn with_limits(self, batch: u64, journal: u64) -> ChatWriter {
        ChatWriter { batch, most_journal: Some(journal), ..self }
    }

    /// The chat log as it is now.
    #[must_use]
    pub fn log(&self) -> &ChatLog {
        &self.log
    }

    /// Appends a message given as an object: all of its fields, or `type`, `name` and `text`.
    ///
    /// A narrator's tags that change tools are applied and removed from the text; invalid ones stay, and are reported.
    pub fn append(&mut self, given: &JsonTree, now: Timestamp) -> Result<ChangeOutcome, ChatError> {
        self.append_by(given, now, |chat, ops, at| chat.write(ops, Vec::new(), at))
    }

    /// As [`ChatWriter::append`], for the last change before the chat log is closed: a small document gets the message
    /// directly, without a journal.
    pub fn append_last(
        &mut self,
        given: &JsonTree,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        self.append_by(given, now, |chat, ops, at| match ops.as_slice() {
            [JournalOp::Message { place, value }] if chat.is_small_and_folded()? => {
                let plan = RewritePlan::append(&chat.log, *place, value, at)?;
                let built = build(&chat.log, &plan, &chat.log.files, &*chat.writer, chat.batch)?;
                match put_in_place(&chat.log, built, Vec::new(), &*chat.writer) {
                    // The message is stored, whether or not the chat log can be read again.
                    Ok(()) => chat.stuck |= chat.reopen().is_err(),
                    // Nothing has changed. The journal needs less space.
                    Err(_) => chat.write(ops, Vec::new(), at)?,
                }
                Ok(())
            }
            _ => chat.write(ops, Vec::new(), at),
        })
    }

    /// Whether the document is small and the journal has nothing.
    fn is_small_and_folded(&self) -> Result<bool, ChatError> {
        let log = &self.log;
        let is_folded = log.overlay.is_empty() && log.overlay.bytes == 0 && log.lost.is_none();
        Ok(is_folded
            && !self.stuck
            && log.content.len() <= SOON_WRITTEN.min(self.batch)
            && log.store.stat(&log.files.journal)?.is_none())
    }

    fn append_by(
        &mut self,
        given: &JsonTree,
        now: Timestamp,
        store: impl FnOnce(&mut ChatWriter, Vec<JournalOp>, &str) -> Result<(), ChatError>,
    ) -> Result<ChangeOutcome, ChatError> {
        let at = now.to_string();
        let id = match given.string_at(&["id"]) {
            Some(id) if self.log.find(&id)?.is_some() => {
                return Err(ChatError::input(format!("message {id:?} already exists")));
            }
            Some(id) => id,
            None => {
                let lost = self.log.lost.as_ref().map_or(0, LostDocument::messages);
                self.free_id(ListKind::Messages, "msg", 3, self.log.len() + lost)?
            }
        };
        let name = ["session", "protagonist", "name"].map(PathSegment::Key);
        let protagonist: Option<String> = self.log.head.read(&name).ok().flatten();
        let protagonist = protagonist.as_deref().filter(|name| !name.is_empty());
        let message = MessageInput { tree: given, id: &id, now: &at, protagonist }.message()?;
        let place = self.log.last_place() + 1;
        let told = self.apply_tags(message, place, None, &at)?;
        let mut ops = vec![JournalOp::Message { place, value: told.message }];
        let snapshots = snapshot_values(&told.snapshots);
        ops.extend(told.snapshots);
        store(self, ops, &at)?;
        let number = self.log.number_of(place);
        let deferred_error = self.fold_if_due();
        let (fired, findings) = (told.fired, told.findings);
        Ok(ChangeOutcome { number, id, fired, snapshots, findings, deferred_error })
    }

    /// An id that is unused in a list.
    pub(super) fn free_id(
        &self,
        list: ListKind,
        name: &str,
        digits: usize,
        count: u64,
    ) -> Result<String, ChatError> {
        let mut number = count;
        loop {
            number += 1;
            let id = format!("{name}-{number:0digits$}");
            if self.log.places_of(list, &id)?.is_empty() {
                return Ok(id);
            }
        }
    }

    /// Commits changes: one commit appends their lines to the journal and makes the additional steps.
    pub(super) fn write(
        &mut self,
        ops: Vec<JournalOp>,
        more: Vec<Step>,
        at: &str,
    ) -> Result<(), ChatError> {
        if self.stuck {
            let what = "a fold failed midway; the chat log must be reopened";
            return Err(ChatError::input(what));
        }
        self.secure_document()?;
        let log = &mut self.log;
        let begins = log.overlay.bytes == 0;
        let mut text = if begins { log.base()?.line() } else { String::new() };
        let mut spans = Vec::new();
        for op in &ops {
            let line = match &log.lost {
                None => op.line(at),
                Some(lost) => {
                    let counted = lost.counted(op.clone());
                    counted.ok_or_else(|| lost.refusal(&log.files))?.line(at)
                }
            };
            // The span of the line excludes its newline.
            let start = text.len() as u64;
            spans.push(start..start + line.len() as u64 - 1);
            text.push_str(&line);
        }
        // The head is copied only if it is edited: it may be long.
        let mut head = None;
        for op in &ops {
            if let JournalOp::Head { edits } = op {
                let head = head.get_or_insert_with(|| log.head.clone());
                for edit in edits {
                    apply(head, edit).map_err(|error| ChatError::input(error.to_string()))?;
                }
            }
        }
        let length = text.len() as u64;
        let (file, place) = (log.files.journal.clone(), AppendAt::Offset(log.overlay.bytes));
        let mut steps = vec![Step::Append { file, at: place, lines: text.into_bytes() }];
        steps.extend(more);
        if begins && !log.indexed && wants_index(log.content.len()) {
            steps.push(replace(&log.files.index, Precondition::Anything, log.index_bytes()?));
        }
        let receipt = self.writer.commit(steps, Durability::Synced)?;
        let start = receipt.appended.first().copied().unwrap_or(log.overlay.bytes);
        if let Some(head) = head {
            log.head = head;
        }
        log.overlay.bytes = start + length;
        for (op, span) in ops.into_iter().zip(spans) {
            log.overlay.note(op, start + span.start..start + span.end, Some(at.to_owned()));
        }
        Ok(())
    }

    /// Flushes the document if it has changed since the last flush: the journal is useless without it, and another
    /// program may have saved it without a flush.
    fn secure_document(&mut self) -> Result<(), ChatError> {
        let document = &self.log.files.document;
        let Some(now) = self.log.store.stat(document)?.map(Version::of) else { return Ok(()) };
        if self.secured != Some(now) {
            self.writer.sync_file(document)?;
            self.secured = Some(now);
        }
        Ok(())
    }

    /// Whether the document has been replaced since it was read.
    fn has_new_document(&self) -> Result<bool, ChatError> {
        let Some(known) = self.log.content.version() else { return Ok(false) };
        let now = self.log.store.stat(&self.log.files.document)?;
        Ok(now.map(Version::of) != Some(known))
    }

    /// Folds the journal if it is long; the changes are safe even if that fails.
    fn fold_if_due(&mut self) -> Option<String> {
        let most = (self.log.content.len() / JOURNAL_SHARE).max(LEAST_JOURNAL);
        if self.log.overlay.bytes <= self.most_journal.unwrap_or(most) || self.log.lost.is_some() {
            return None;
        }
        self.fold().err().map(|error| error_chain(&error))
    }

    /// Folds the journal into the document.
    ///
    /// This does not change what is read. If the journal has no changes for the document, it is not rewritten.
    pub fn fold(&mut self) -> Result<(), ChatError> {
        if self.has_new_document()? {
            self.reopen()?;
        }
        if let Some(lost) = &self.log.lost {
            return Err(lost.refusal(&self.log.files));
        }
        let folded = self.fold_overlay();
        // Lines appended to a journal count from the document that it was started for.
        self.stuck |= folded.is_err() && self.log.refitted;
        folded
    }

    /// Folds if one commit suffices and there is room for it; otherwise the journal stays as it is.
    pub(super) fn fold_if_room(&mut self) -> Result<(), ChatError> {
        let size = self.log.content.len().saturating_add(self.log.overlay.bytes);
        if size > self.batch && self.log.lost.is_none() {
            return Ok(());
        }
        match self.fold() {
            Err(ChatError::Store(error)) if error.is_full() => Ok(()),
            folded => folded,
        }
    }

    fn fold_overlay(&mut self) -> Result<(), ChatError> {
        if self.log.overlay.is_empty() {
            if self.log.store.stat(&self.log.files.journal)?.is_some() {
                fold::drop_journal(&self.log, &*self.writer)?;
                self.reopen()?;
            }
            return Ok(());
        }
        let plan = RewritePlan::fold(&self.log)?;
        self.rewrite(&plan, Vec::new())
    }

    /// Rewrites the document.
    pub(super) fn rewrite(&mut self, plan: &RewritePlan, more: Vec<Step>) -> Result<(), ChatError> {
        let built = build(&self.log, plan, &self.log.files, &*self.writer, self.batch)?;
        if let Err(error) = put_in_place(&self.log, built, more, &*self.writer) {
            // Once the new document is beside the old one, the journal is no longer read.
            self.stuck =
                self.log.store.stat(&self.log.files.folded).map_or(true, |at| at.is_some());
            return Err(error);
        }
        self.reopen()
    }

    pub(super) fn reopen(&mut self) -> Result<(), ChatError> {
        self.log = ChatLog::open(&self.log.store, &self.log.files.document)?;
        Ok(())
    }

    /// Releases the lock and leaves the journal; a later writer folds it.
    pub fn release(self) -> Result<(), ChatError> {
        Ok(self.writer.release()?)
    }

    /// Ends a single change: the journal of a small document is folded, for programs that do not know it, and the lock
    /// is released.
    pub fn finish(self) -> Result<(), ChatError> {
        match self.log.content.len() <= SOON_WRITTEN {
            true => self.close(),
            false => self.release(),
        }
    }

    /// Folds the journal and releases the lock. The journal of a document that is empty or gone stays.
    pub fn close(mut self) -> Result<(), ChatError> {
        match self.fold() {
            Err(_) if self.log.lost.is_some() => {}
            folded => folded?,
        }
        self.release()
    }
}
