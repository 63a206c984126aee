//! A chat log: its document, with the journal applied.
//!
//! [`ChatLog`] opens a chat log, and [`Message`] is one of its messages. A [`MessageReader`] reads them in order, and
//! `rebase` translates a journal that was started for another document.

mod message_reader;
mod rebase;

pub use message_reader::MessageReader;

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use super::content::{ArrayElements, DocumentBytes};
use super::edit::{apply, edited};
use super::error::ChatError;
use super::index::{DocumentIndex, ListFacts, SnapshotPosition};
use super::journal::{JournalBase, JournalOverlay};
use super::lost::LostDocument;
use super::paths::{ChatPaths, id_of};
use super::survey::{ListKind, survey};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError};
use everturn_value::document::{Document, ParseError};
use everturn_value::tree::JsonTree;
use rebase::rebase_journal;

/// How often opening is retried if the chat log changes meanwhile.
const TRIES: u32 = 5;

/// A chat log that is open for reading.
pub struct ChatLog {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) files: ChatPaths,
    pub(crate) content: DocumentBytes,
    index: DocumentIndex,
    /// The index that was rebuilt, because the one beside the document was wrong.
    rebuilt_index: OnceLock<DocumentIndex>,
    /// Whether the index was found beside the document.
    pub(crate) indexed: bool,
    /// The document without its long lists, with the journal applied.
    pub(crate) head: Document,
    pub(crate) overlay: JournalOverlay,
    /// Whether an unfinished fold has to be finished.
    pub(crate) half_folded: bool,
    /// Whether the journal was started for another document. Its places differ from those of the overlay.
    pub(crate) refitted: bool,
    /// The number of changes in the journal that could not be applied to the document.
    pub(crate) unplaced: u64,
    /// Set if the document is empty or gone and replaced by a stand-in.
    pub(crate) lost: Option<LostDocument>,
    findings: Vec<Finding>,
}

/// One message of a chat log.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its place in the document and the journal.
    pub(crate) place: u64,
    /// The message itself.
    pub tree: JsonTree,
}

impl Message {
    /// Its id, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        self.tree.string_at(&["id"])
    }
}

impl ChatLog {
    /// Opens the chat log whose document is at `path`.
    pub fn open(store: &Arc<dyn Store>, path: &FilePath) -> Result<ChatLog, ChatError> {
        let mut tries = 1;
        loop {
            match ChatLog::load(store, path) {
                // Its writer has folded it in the meantime.
                Err(ChatError::Store(StoreError::Changed { .. })) if tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn load(store: &Arc<dyn Store>, path: &FilePath) -> Result<ChatLog, ChatError> {
        let files = ChatPaths::of(path)?;
        let mut tries = 1;
        loop {
            let half_folded = store.stat(&files.folded)?.is_some();
            let file = if half_folded { &files.folded } else { &files.document };
            let content = DocumentBytes::open(store, file)?;
            if content.is_none() && tries < TRIES && store.stat(&files.folded)?.is_some() {
                tries += 1;
                continue;
            }
            let overlay = match half_folded {
                true => JournalOverlay::default(),
                false => JournalOverlay::read(store, &files.journal)?,
            };
            let lost = LostDocument::examine(content.as_ref(), &overlay)?;
            let content = match (content, &lost) {
                (_, Some(_)) => LostDocument::stand_in(&files),
                (Some(content), None) => content,
                (None, None) => {
                    return Err(ChatError::NoLog { id: id_of(path).unwrap_or_default() });
                }
            };
            let mark = content.digest()?;
            let fits = overlay.base.is_none_or(|base| base.mark == mark);
            if !fits && tries < TRIES {
                tries += 1;
                continue;
            }
            let found = match half_folded {
                true => None,
                false => DocumentIndex::open(store, &files.index, mark)?,
            };
            // An index that is wrong although its digest matches is ignored.
            let found = found.and_then(|index| Some((head(&content, &index).ok()?, index)));
            let indexed = found.is_some();
            let (head, index) = match found {
                Some(found) => found,
                None => {
                    let index = survey(&content)?;
                    (head(&content, &index)?, index)
                }
            };
            let (store, rescue) = (Arc::clone(store), OnceLock::new());
            let findings = lost.iter().map(|lost| lost.finding(&files)).collect();
            let mut log = ChatLog {
                store,
                files,
                content,
                index,
                rebuilt_index: rescue,
                indexed,
                head,
                overlay,
                half_folded,
                refitted: false,
                unplaced: 0,
                lost,
                findings,
            };
            log.apply_journal()?;
            return Ok(log);
        }
    }

    /// Applies the journal.
    fn apply_journal(&mut self) -> Result<(), ChatError> {
        let now = self.base()?;
        if self.overlay.bytes > 0 && self.overlay.base != Some(now) {
            let bytes = self.overlay.bytes;
            let refitted = rebase_journal(self, now)?;
            if refitted.overlay.bytes != bytes {
                return Err(StoreError::Changed { file: self.files.journal.clone() }.into());
            }
            (self.refitted, self.unplaced) = (true, refitted.unplaced);
            self.overlay = refitted.overlay;
        }
        let ChatLog { files, overlay, findings, head, unplaced, .. } = self;
        findings.append(&mut overlay.findings);
        overlay.close_gaps(now.messages);
        for edit in &overlay.head {
            if let Err(error) = apply(head, edit) {
                *unplaced += 1;
                findings.push(Finding::new(
                    &files.journal,
                    FindingCode::BadChange,
                    format!("a change cannot be applied to the document: {error}"),
                ));
            }
        }
        Ok(())
    }

    /// The findings of the open.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The path of the document.
    #[must_use]
    pub fn path(&self) -> &FilePath {
        &self.files.document
    }

    /// The id of the chat log: the name of its file.
    #[must_use]
    pub fn id(&self) -> String {
        id_of(&self.files.document).unwrap_or_default()
    }

    /// Everything but the messages and the tool snapshots, as one object; these two are empty in it.
    #[must_use]
    pub fn head(&self) -> JsonTree {
        let text = self.head.get(&[]).unwrap_or_default().to_owned();
        let end = text.len();
        JsonTree::from_trusted(text.into(), 0..end)
    }

    /// The time of the last change, as recorded in the chat log.
    #[must_use]
    pub fn modified(&self) -> Option<Timestamp> {
        let said = self.head().string_at(&["metadata", "modified"]);
        self.overlay.time.clone().or(said)?.parse().ok()
    }

    /// Runs `work` with the index; if the one beside the document is wrong, with a rebuilt one.
    pub(crate) fn by_index<T>(
        &self,
        work: impl Fn(&DocumentIndex) -> Result<T, ChatError>,
    ) -> Result<T, ChatError> {
        if let Some(index) = self.rebuilt_index.get() {
            return work(index);
        }
        match work(&self.index) {
            Err(ChatError::Damaged { .. }) if self.indexed => {
                let index = survey(&self.content)?;
                work(self.rebuilt_index.get_or_init(|| index))
            }
            other => other,
        }
    }

    /// The position of a list in the document.
    pub(crate) fn facts(&self, list: ListKind) -> Option<ListFacts> {
        self.rebuilt_index.get().unwrap_or(&self.index).list(list).copied()
    }

    pub(crate) fn is_wrong(&self, list: ListKind) -> bool {
        self.index.is_wrong(list)
    }

    pub(crate) fn stored_count(&self, list: ListKind) -> u64 {
        self.index.count(list)
    }

    /// The index in its file format.
    pub(crate) fn index_bytes(&self) -> Result<Vec<u8>, ChatError> {
        self.rebuilt_index.get().unwrap_or(&self.index).to_bytes()
    }

    /// The base that the journal's first line records for this document.
    pub(crate) fn base(&self) -> Result<JournalBase, ChatError> {
        base_of(&self.content, &self.index)
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.last_place().saturating_sub(self.overlay.removed.len() as u64)
    }

    /// Whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last place of a message, including removed ones.
    pub(crate) fn last_place(&self) -> u64 {
        let added = self.overlay.messages.keys().next_back().copied();
        added.unwrap_or(0).max(self.stored_count(ListKind::Messages))
    }

    pub(crate) fn last_snapshot_place(&self) -> u64 {
        let added = self.overlay.snapshots.keys().next_back().copied();
        added.unwrap_or(0).max(self.stored_count(ListKind::Snapshots))
    }

    /// The place of a message by its number; number 0 is before all of them.
    pub(crate) fn place_of(&self, number: u64) -> Result<u64, ChatError> {
        if number > self.len() {
            return Err(ChatError::NoNumber { number, last: self.len() });
        }
        let gone = &self.overlay.removed;
        Ok(gone.iter().fold(number, |place, gone| if *gone <= place { place + 1 } else { place }))
    }

    /// The number of the message at a place, or of the last one before it.
    pub(crate) fn number_of(&self, place: u64) -> u64 {
        place.saturating_sub(self.overlay.removed.range(..=place).count() as u64)
    }

    pub(crate) fn is_kept(&self, place: u64) -> bool {
        !self.overlay.removed.contains(&place)
    }

    /// The message with this number.
    pub fn message(&self, number: u64) -> Result<Message, ChatError> {
        let missing = ChatError::NoNumber { number, last: self.len() };
        if number == 0 {
            return Err(missing);
        }
        self.messages(number..=number)?.next().ok_or(missing)?
    }

    /// Reads the messages of a range of numbers, in order.
    pub fn messages(&self, numbers: RangeInclusive<u64>) -> Result<MessageReader<'_>, ChatError> {
        let first = (*numbers.start()).max(1);
        let last = (*numbers.end()).min(self.len());
        let (place, last) = match first > last {
            true => (1, 0),
            false => (self.place_of(first)?, self.place_of(last)?),
        };
        Ok(MessageReader::new(self, place, last))
    }

    /// The number of the message with this id; of several, the first.
    pub fn find(&self, id: &str) -> Result<Option<u64>, ChatError> {
        for place in self.places_of(ListKind::Messages, id)? {
            if self.is_kept(place) {
                let number = self.number_of(place);
                if self.message(number)?.id().as_deref() == Some(id) {
                    return Ok(Some(number));
                }
            }
        }
        Ok(None)
    }

    /// Resolves a number, or the id of a message, to a number.
    pub fn resolve(&self, name: &str) -> Result<u64, ChatError> {
        if let Some(number) = self.find(name)? {
            return Ok(number);
        }
        match name.parse::<u64>() {
            Ok(number) if number <= self.len() => Ok(number),
            Ok(number) => Err(ChatError::NoNumber { number, last: self.len() }),
            Err(_) => Err(ChatError::input(format!("there is no message {name:?}"))),
        }
    }

    /// The candidate places of elements with this id.
    pub(crate) fn places_of(&self, list: ListKind, id: &str) -> Result<Vec<u64>, ChatError> {
        let mut places = self.by_index(|index| index.find(list, id))?;
        places.extend(self.overlay.find(list, id));
        Ok(places)
    }

    /// The value in a line of the journal.
    pub(crate) fn journal_value(&self, line: &std::ops::Range<u64>) -> Result<JsonTree, ChatError> {
        let file = &self.files.journal;
        let bytes = self.store.read(file, line.clone())?;
        let text = String::from_utf8(bytes).map_err(|error| ChatError::damaged(file, error))?;
        let tree = JsonTree::parse(text).map_err(|bad| ChatError::damaged(file, bad))?;
        let missing = || ChatError::damaged(file, "a line changed while it was being read");
        tree.value_at(&["value"]).ok_or_else(missing)
    }

    /// An element with the edits of the journal applied.
    pub(crate) fn with_edits(
        &self,
        list: ListKind,
        place: u64,
        text: String,
    ) -> Result<JsonTree, ChatError> {
        let edits = match list {
            ListKind::Messages => self.overlay.message_edits.get(&place),
            ListKind::Snapshots => self.overlay.snapshot_edits.get(&place),
        };
        let text = match edits {
            Some(edits) => edited(&text, "", edits)
                .map_err(|error| ChatError::damaged(&self.files.journal, error))?,
            None => text,
        };
        let end = text.len();
        Ok(JsonTree::from_trusted(text.into(), 0..end))
    }

    /// The snapshot at a known offset in the document.
    pub(crate) fn snapshot_at(&self, known: &SnapshotPosition) -> Result<JsonTree, ChatError> {
        let Some(facts) = self.facts(ListKind::Snapshots) else {
            return Err(ChatError::damaged(&self.files.document, "it has no tool snapshots"));
        };
        let mut elements = ArrayElements::new(&self.content, known.offset, facts.close);
        let missing = || ChatError::damaged(&self.files.document, "a snapshot has moved");
        let element = elements.next()?.ok_or_else(missing)?;
        let text = element.into_text(&self.files.document)?;
        self.with_edits(ListKind::Snapshots, known.place, text)
    }
}

fn base_of(content: &DocumentBytes, index: &DocumentIndex) -> Result<JournalBase, ChatError> {
    let mark = match index.mark() {
        Some(mark) => mark,
        None => content.digest()?,
    };
    let (messages, snapshots) = (index.count(ListKind::Messages), index.count(ListKind::Snapshots));
    Ok(JournalBase { mark, messages, snapshots })
}

/// The document without the contents of its long lists.
fn head(content: &DocumentBytes, index: &DocumentIndex) -> Result<Document, ChatError> {
    let mut lists: Vec<&ListFacts> =
        ListKind::ALL.iter().filter_map(|list| index.list(*list)).collect();
    lists.sort_by_key(|facts| facts.open);
    let (mut text, mut at) = (Vec::new(), 0);
    for facts in lists {
        text.extend(content.read(at..facts.open + 1)?);
        at = facts.close;
    }
    text.extend(content.read(at..content.len())?);
    Document::parse(&text).map_err(|error: ParseError| ChatError::damaged(content.file(), error))
}
