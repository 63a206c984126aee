//! A session in the hands of its one writer: every message is one commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::error::LinggenError;
use super::messages::{Message, USER, count_records};
use super::names::{SessionFile, new_session_id};
use super::session::{Meta, Session, SessionPlace, auto_title};
use super::yaml::Yaml;
use crate::checksum::checksum;
use crate::finding::Finding;
use crate::names::{FilePath, SessionId};
use crate::store::{
    At, Durability, Expect, Fingerprint, Secrecy, Step, Store, StoreError, Writer, read_if_there,
};

/// What a new session starts with.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its id; without one, it is made from the time.
    pub id: Option<SessionId>,
    /// What people call it; without one, its first message decides.
    pub title: String,
}

/// What became of a message.
#[derive(Debug, Clone)]
pub struct Appended {
    /// Its number.
    pub turn: u64,
    /// What had to be put right before it could be written.
    pub findings: Vec<Finding>,
}

/// What became of messages that were cleared away.
#[derive(Debug, Clone)]
pub struct Cleared {
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
/// use everturn::linggen::{Message, NewSession, ProjectPath, SessionWriter, open_project};
/// use everturn::store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let project = open_project(&store, &ProjectPath::parse("/work/site")?, now)?;
/// let session = SessionWriter::create(&store, &project.dir, &NewSession::default(), now)?;
/// assert_eq!(session.append(&Message::from_user("ling", "Fix the menu"), now)?.turn, 1);
/// session.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SessionWriter {
    store: Arc<dyn Store>,
    place: SessionPlace,
    writer: Box<dyn Writer>,
    counted: Mutex<Counted>,
    findings: Vec<Finding>,
}

/// What is known of the file of messages.
struct Counted {
    /// How many records end before this byte.
    end: u64,
    records: u64,
    /// The metadata, as long as they have no title.
    untitled: Option<Meta>,
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

impl SessionWriter {
    /// Makes a session in a project's directory.
    pub fn create(
        store: &Arc<dyn Store>,
        project: &FilePath,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<SessionWriter, LinggenError> {
        let id = match &new.id {
            Some(id) => id.clone(),
            None => free_id(store, &super::names::ProjectPart::Sessions.of(project), now)?,
        };
        let place = SessionPlace::in_project(project, id);
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
        SessionWriter::opened(store, place, writer)
    }

    /// Opens a session to write to it. Fails with [`StoreError::Busy`] while somebody else does.
    pub fn open(
        store: &Arc<dyn Store>,
        place: &SessionPlace,
    ) -> Result<SessionWriter, LinggenError> {
        let writer = store.lock(std::slice::from_ref(&place.dir))?;
        SessionWriter::opened(store, place.clone(), writer)
    }

    fn opened(
        store: &Arc<dyn Store>,
        place: SessionPlace,
        writer: Box<dyn Writer>,
    ) -> Result<SessionWriter, LinggenError> {
        let session = Session::open(Arc::clone(store), &place)?;
        let (records, end) = session.count()?;
        let untitled = session.meta().filter(|meta| meta.title().is_none()).cloned();
        let counted = Mutex::new(Counted { end, records, untitled });
        let findings = session.findings().to_vec();
        Ok(SessionWriter { store: Arc::clone(store), place, writer, counted, findings })
    }

    /// Where the session is.
    #[must_use]
    pub fn place(&self) -> &SessionPlace {
        &self.place
    }

    /// What was noticed when it was opened.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many messages it has, as far as this writer knows.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.counted().records
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Numbers that were being counted when a thread died are counted again.
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message. When it returns, the message is safe.
    ///
    /// Other programs may add theirs at the same time: lines are never cut or glued, whoever was first.
    pub fn append(&self, message: &Message, now: Timestamp) -> Result<Appended, LinggenError> {
        let lines = message.line(now)?;
        let (file, length) = (SessionFile::Messages.of(&self.place.dir), lines.len() as u64);
        let append = Step::Append { file: file.clone(), at: At::End, lines };
        let titled = match message.from_id.as_str() {
            USER if !message.content.trim().is_empty() => self.counted().untitled.take(),
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
        let start = receipt.appended.first().copied().unwrap_or_default();
        let turn = self.number(&file, start, length)?;
        Ok(Appended { turn, findings: receipt.findings })
    }

    /// The number of the record that begins at `start`.
    fn number(&self, file: &FilePath, start: u64, length: u64) -> Result<u64, LinggenError> {
        let mut counted = self.counted();
        let known = counted.end;
        if start >= known {
            let between = count_records(&self.store, file, known..start)?;
            counted.records += between + 1;
            counted.end = start + length;
            return Ok(counted.records);
        }
        // Another thread has counted past this record.
        let after = count_records(&self.store, file, start + length..known)?;
        Ok(counted.records.saturating_sub(after))
    }

    /// Gives the session another title.
    pub fn set_title(&self, title: &str) -> Result<(), LinggenError> {
        let session = Session::open(Arc::clone(&self.store), &self.place)?;
        let file = SessionFile::Meta.of(&self.place.dir);
        let meta =
            session.meta().ok_or_else(|| LinggenError::damaged(&file, "it cannot be read"))?;
        let step = meta.retitled(&self.place.dir, title)?;
        self.writer.commit(vec![step], Durability::Synced)?;
        self.counted().untitled = None;
        Ok(())
    }

    /// Gives the session back.
    pub fn release(self) -> Result<(), LinggenError> {
        Ok(self.writer.release()?)
    }
}

/// Takes all messages away from a session: they are kept in the trash, and none of them is lost.
pub fn clear(
    store: &Arc<dyn Store>,
    place: &SessionPlace,
    now: Timestamp,
) -> Result<Cleared, LinggenError> {
    let kept = crate::repairs::free_place(store, &place.id, "cleared", now)?;
    let writer = store.lock(&[place.dir.clone(), kept.clone()])?;
    let session = Session::open(Arc::clone(store), place)?;
    let (messages, _) = session.count()?;
    let file = SessionFile::Messages.of(&place.dir);
    let bytes = read_if_there(store, &file)?.unwrap_or_default();
    if bytes.is_empty() {
        writer.release()?;
        return Ok(Cleared { messages: 0, kept: None });
    }
    let expect = Expect::Content(Fingerprint::of(&bytes));
    let copy = crate::repairs::kept(&kept, &file);
    let steps = vec![
        create(copy.clone(), bytes),
        Step::Replace { file, expect, bytes: Vec::new(), secrecy: Secrecy::Usual },
    ];
    writer.commit(steps, Durability::Synced)?;
    writer.release()?;
    Ok(Cleared { messages, kept: Some(copy) })
}

/// The metadata of a new session, as programs write them.
pub(crate) fn meta_text(id: &SessionId, title: &str, now: Timestamp) -> Result<Yaml, LinggenError> {
    let fields = [
        ("id", id.as_str().into()),
        ("title", title.into()),
        ("created_at", now.as_second().into()),
    ];
    Ok(Yaml::new(fields)?)
}

pub(crate) fn create(file: FilePath, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect: Expect::Absent, bytes, secrecy: Secrecy::Usual }
}
