//! The only writer of a session: every message is one commit.
//!
//! [`LinggenWriter`] appends a message and returns an [`AppendReceipt`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::error::LinggenError;
use super::messages::{Message, USER, count_records};
use super::paths::{SessionFile, new_session_id};
use super::session::{Session, SessionLocation, SessionMeta, auto_title};
use super::yaml::YamlDocument;
use everturn_json::checksum::checksum;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::SessionError;
use everturn_session::marks::MarkDocument;
use everturn_store::{
    AppendAt, Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError, Writer,
    read_optional,
};

/// The parameters of a new session.
#[derive(Debug, Clone, Default)]
pub struct NewLinggenSession {
    /// Its id; if `None`, it is made from the time.
    pub id: Option<SessionId>,
    /// Its title; if empty, it is made from the first message.
    pub title: String,
}

/// The receipt of an appended message. [`LinggenWriter::number`] returns its number.
#[derive(Debug, Clone)]
pub struct AppendReceipt {
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// The length of its line in bytes.
    pub length: u64,
    /// Problems that were repaired before it could be written.
    pub findings: Vec<Finding>,
}

/// The result of clearing the messages.
#[derive(Debug, Clone)]
pub struct ClearOutcome {
    /// The number of messages.
    pub messages: u64,
    /// Their new path; `None` if there were none.
    pub kept: Option<FilePath>,
}

/// The only writer of a session. Threads may share it: their messages share flushes.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_linggen::{Message, NewLinggenSession, ProjectPath, LinggenWriter, open_project};
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let project = open_project(&store, &ProjectPath::parse("/srv/site")?, now)?;
/// let session = LinggenWriter::create(&store, &project.dir, &NewLinggenSession::default(), now)?;
/// let appended = session.append(&Message::from_user("ling", "Fix the menu"), now)?;
/// assert_eq!(session.number(&appended)?, 1);
/// session.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinggenWriter {
    store: Arc<dyn Store>,
    place: SessionLocation,
    writer: Box<dyn Writer>,
    /// The number of records before an offset, once counted.
    counted: Mutex<Option<RecordCount>>,
    /// The metadata, as long as it has no title.
    untitled: Mutex<Option<SessionMeta>>,
    findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy)]
struct RecordCount {
    end: u64,
    records: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked has left nothing half done in there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An unused id for a session created now. Its part after the seconds is derived from the time and the directory.
pub(crate) fn free_id(
    store: &Arc<dyn Store>,
    sessions: &FilePath,
    now: Timestamp,
) -> Result<SessionId, LinggenError> {
    let nanos = now.as_nanosecond().to_le_bytes();
    for attempt in 0_u32..1000 {
        let sum = checksum(&[&nanos, sessions.as_str().as_bytes(), &attempt.to_le_bytes()]);
        let [a, b, c, d, ..] = sum.to_le_bytes();
        let id = SessionId::parse(&new_session_id(now, [a, b, c, d]))?;
        if store.stat(&sessions.join(id.as_name()))?.is_none() {
            return Ok(id);
        }
    }
    Err(LinggenError::input(format!("no free session id in {sessions}")))
}

impl LinggenWriter {
    /// Creates a session in a project's directory.
    pub fn create(
        store: &Arc<dyn Store>,
        project: &FilePath,
        new: &NewLinggenSession,
        now: Timestamp,
    ) -> Result<LinggenWriter, LinggenError> {
        let id = match &new.id {
            Some(id) => id.clone(),
            None => free_id(store, &super::paths::ProjectPart::Sessions.of(project), now)?,
        };
        let place = SessionLocation::in_project(project, id);
        let taken = || LinggenError::Taken { id: place.id.to_string(), path: place.dir.clone() };
        let writer = store.lock(std::slice::from_ref(&place.dir))?;
        if store.stat(&place.dir)?.is_some() {
            return Err(taken());
        }
        let meta = meta_text(&place.id, &new.title, now)?;
        let steps = vec![
            create(SessionFile::Meta.of(&place.dir), meta.text().as_bytes().to_vec()),
            create(SessionFile::Messages.of(&place.dir), Vec::new()),
        ];
        match writer.commit(steps, Durability::Synced) {
            Err(StoreError::Taken { .. }) => return Err(taken()),
            done => drop(done?),
        }
        LinggenWriter::opened(store, place, writer)
    }

    /// Opens a session for writing. Fails with [`StoreError::Busy`] while it has another writer.
    pub fn open(
        store: &Arc<dyn Store>,
        place: &SessionLocation,
    ) -> Result<LinggenWriter, LinggenError> {
        let writer = store.lock(std::slice::from_ref(&place.dir))?;
        LinggenWriter::opened(store, place.clone(), writer)
    }

    fn opened(
        store: &Arc<dyn Store>,
        place: SessionLocation,
        writer: Box<dyn Writer>,
    ) -> Result<LinggenWriter, LinggenError> {
        let session = Session::open(Arc::clone(store), &place)?;
        let untitled = Mutex::new(session.meta().filter(|meta| meta.title().is_none()).cloned());
        let (counted, findings) = (Mutex::new(None), session.findings().to_vec());
        Ok(LinggenWriter { store: Arc::clone(store), place, writer, counted, untitled, findings })
    }

    /// The location of the session.
    #[must_use]
    pub fn place(&self) -> &SessionLocation {
        &self.place
    }

    /// The findings of the open.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The number of messages. The whole file is read only the first time; later only the new part.
    pub fn turn(&self) -> Result<u64, LinggenError> {
        let mut counted = locked(&self.counted);
        Ok(self.count(&mut counted)?.records)
    }

    fn count(&self, counted: &mut Option<RecordCount>) -> Result<RecordCount, LinggenError> {
        if let Some(known) = counted {
            return Ok(*known);
        }
        let session = Session::open(Arc::clone(&self.store), &self.place)?;
        let (records, end) = session.count()?;
        Ok(*counted.insert(RecordCount { end, records }))
    }

    /// Appends a message. When it returns, the message is durable.
    ///
    /// Other programs may append at the same time: lines are never cut or joined, whatever the order.
    pub fn append(&self, message: &Message, now: Timestamp) -> Result<AppendReceipt, LinggenError> {
        let lines = message.line(now)?;
        let (file, length) = (SessionFile::Messages.of(&self.place.dir), lines.len() as u64);
        let append = Step::Append { file, at: AppendAt::End, lines };
        let titled = match message.from_id.as_str() {
            USER if !message.content.trim().is_empty() => locked(&self.untitled).take(),
            _ => None,
        };
        let mut steps = vec![append.clone()];
        if let Some(meta) = titled {
            steps.extend(meta.retitled(&self.place.dir, &auto_title(&message.content)).ok());
        }
        let receipt = match self.writer.commit(steps, Durability::Synced) {
            // Another program has just set a title.
            Err(StoreError::Changed { .. }) => {
                self.writer.commit(vec![append], Durability::Synced)?
            }
            done => done?,
        };
        let offset = receipt.appended.first().copied().unwrap_or_default();
        Ok(AppendReceipt { offset, length, findings: receipt.findings })
    }

    /// The number of an appended message: its position among the records of the file.
    pub fn number(&self, appended: &AppendReceipt) -> Result<u64, LinggenError> {
        let file = SessionFile::Messages.of(&self.place.dir);
        let mut counted = locked(&self.counted);
        let known = self.count(&mut counted)?;
        let (start, end) = (appended.offset, appended.offset + appended.length);
        if start < known.end {
            // Records after it are already counted.
            let after = count_records(&self.store, &file, end..known.end)?;
            return Ok(known.records.saturating_sub(after));
        }
        let between = count_records(&self.store, &file, known.end..start)?;
        let records = known.records + between + 1;
        *counted = Some(RecordCount { end, records });
        Ok(records)
    }

    /// Sets the title of the session.
    pub fn set_title(&self, title: &str) -> Result<(), LinggenError> {
        let session = Session::open(Arc::clone(&self.store), &self.place)?;
        let file = SessionFile::Meta.of(&self.place.dir);
        let meta =
            session.meta().ok_or_else(|| LinggenError::damaged(&file, "it cannot be read"))?;
        let step = meta.retitled(&self.place.dir, title)?;
        self.writer.commit(vec![step], Durability::Synced)?;
        *locked(&self.untitled) = None;
        Ok(())
    }

    /// The marks of the session.
    pub(crate) fn marks(&self) -> Result<MarkDocument, SessionError> {
        MarkDocument::open(&self.store, &self.place.dir)
    }

    /// Commits a change to a file of the session.
    pub(crate) fn commit(&self, step: Step) -> Result<(), StoreError> {
        self.writer.commit(vec![step], Durability::Synced).map(drop)
    }

    /// Releases the lock on the session.
    pub fn release(self) -> Result<(), LinggenError> {
        Ok(self.writer.release()?)
    }
}

/// Moves all messages of a session to the trash; none is lost.
pub fn clear_messages(
    store: &Arc<dyn Store>,
    place: &SessionLocation,
    now: Timestamp,
) -> Result<ClearOutcome, LinggenError> {
    let kept = everturn_session::repair::allocate_originals_for(store, &place.id, "cleared", now)?;
    let writer = store.lock(&[place.dir.clone(), kept.clone()])?;
    let session = Session::open(Arc::clone(store), place)?;
    let (messages, _) = session.count()?;
    let file = SessionFile::Messages.of(&place.dir);
    let bytes = read_optional(store, &file)?.unwrap_or_default();
    if bytes.is_empty() {
        writer.release()?;
        return Ok(ClearOutcome { messages: 0, kept: None });
    }
    let expect = Precondition::Content(Fingerprint::of(&bytes));
    let copy = everturn_session::repair::original_path(&kept, &file);
    let steps = vec![
        create(copy.clone(), bytes),
        Step::Replace { file, expect, bytes: Vec::new(), mode: FileMode::Default },
    ];
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(ClearOutcome { messages, kept: Some(copy) })
}

/// The metadata of a new session, as programs write it.
pub(crate) fn meta_text(
    id: &SessionId,
    title: &str,
    now: Timestamp,
) -> Result<YamlDocument, LinggenError> {
    let fields = [
        ("id", id.as_str().into()),
        ("title", title.into()),
        ("created_at", now.as_second().into()),
    ];
    Ok(YamlDocument::new(fields)?)
}

pub(crate) fn create(file: FilePath, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect: Precondition::Absent, bytes, mode: FileMode::Default }
}
