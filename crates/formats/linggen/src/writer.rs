//! A session in the hands of its one writer: every message is one commit.

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

/// What a new session starts with.
#[derive(Debug, Clone, Default)]
pub struct NewLinggenSession {
    /// Its id; without one, it is made from the time.
    pub id: Option<SessionId>,
    /// What people call it; without one, its first message decides.
    pub title: String,
}

/// What became of a message. [`LinggenWriter::number`] tells its number.
#[derive(Debug, Clone)]
pub struct AppendReceipt {
    /// Its first byte in the file.
    pub offset: u64,
    /// How many bytes its line has.
    pub length: u64,
    /// What had to be put right before it could be written.
    pub findings: Vec<Finding>,
}

/// What became of messages that were cleared away.
#[derive(Debug, Clone)]
pub struct ClearOutcome {
    /// How many there were.
    pub messages: u64,
    /// Where they are now; nowhere, if there were none.
    pub kept: Option<FilePath>,
}

/// A session in the hands of its one writer. Threads may share it: their messages share flushes.
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
    /// How many records end before a byte of the file, once somebody has asked.
    counted: Mutex<Option<RecordCount>>,
    /// The metadata, as long as they have no title.
    untitled: Mutex<Option<SessionMeta>>,
    findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy)]
struct RecordCount {
    end: u64,
    records: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that died has left nothing half done in there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An id that nobody has, for a session that is made now. What makes it different from others of the same second
/// follows from the time and from where it belongs.
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
    Err(LinggenError::input(format!("there is no id left for a session in {sessions}")))
}

impl LinggenWriter {
    /// Makes a session in a project's directory.
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

    /// Opens a session to write to it. Fails with [`StoreError::Busy`] while somebody else does.
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

    /// Where the session is.
    #[must_use]
    pub fn place(&self) -> &SessionLocation {
        &self.place
    }

    /// What was noticed when it was opened.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many messages it has. The file is read for that once; then only what is new.
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

    /// Adds a message. When it returns, the message is safe.
    ///
    /// Other programs may add theirs at the same time: lines are never cut or glued, whoever was first.
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
            // Another program has just given it a title.
            Err(StoreError::Changed { .. }) => {
                self.writer.commit(vec![append], Durability::Synced)?
            }
            done => done?,
        };
        let offset = receipt.appended.first().copied().unwrap_or_default();
        Ok(AppendReceipt { offset, length, findings: receipt.findings })
    }

    /// The number of a message that was appended: its place among the records of the file.
    pub fn number(&self, appended: &AppendReceipt) -> Result<u64, LinggenError> {
        let file = SessionFile::Messages.of(&self.place.dir);
        let mut counted = locked(&self.counted);
        let known = self.count(&mut counted)?;
        let (start, end) = (appended.offset, appended.offset + appended.length);
        if start < known.end {
            // What comes after it was counted already.
            let after = count_records(&self.store, &file, end..known.end)?;
            return Ok(known.records.saturating_sub(after));
        }
        let between = count_records(&self.store, &file, known.end..start)?;
        let records = known.records + between + 1;
        *counted = Some(RecordCount { end, records });
        Ok(records)
    }

    /// Gives the session another title.
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

    /// Makes a change to a file of the session.
    pub(crate) fn commit(&self, step: Step) -> Result<(), StoreError> {
        self.writer.commit(vec![step], Durability::Synced).map(drop)
    }

    /// Gives the session back.
    pub fn release(self) -> Result<(), LinggenError> {
        Ok(self.writer.release()?)
    }
}

/// Takes all messages away from a session: they are kept in the trash, and none of them is lost.
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

/// The metadata of a new session, as programs write them.
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
