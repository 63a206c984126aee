//! [`ThreadWriter`]: the only writer of a thread. Every record is one commit.

use std::sync::Arc;

use jiff::Timestamp;

use crate::paths::{log_file, thread_dir};
use crate::record::{RecordType, ThreadRecord};
use crate::thread::Thread;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::SessionError;
use everturn_session::keys::{check_key, with_text};
use everturn_session::marks::MarkDocument;
use everturn_session::model::NewSession;
use everturn_store::{AppendAt, Durability, Step, Store, StoreError, Writer};
use everturn_value::tree::{JsonTree, ValueKind};

/// The only writer of a thread.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_session::model::NewSession;
/// use everturn_store::{MemoryStore, Store};
/// use everturn_thread::ThreadWriter;
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let mut thread = ThreadWriter::create(&store, &NewSession::with_id("support-7"), now)?;
/// thread.append(r#"{"role": "user", "content": "Hello", "key": "m1"}"#, now)?;
/// thread.append(r#"{"type": "checkpoint", "id": "c1", "versions": {"n": 1}, "values": {"n": 7}}"#, now)?;
/// assert_eq!(thread.thread().main_line().len(), 2);
/// thread.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ThreadWriter {
    store: Arc<dyn Store>,
    id: SessionId,
    dir: FilePath,
    writer: Box<dyn Writer>,
    thread: Thread,
}

impl ThreadWriter {
    /// Creates a thread.
    pub fn create(
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<ThreadWriter, SessionError> {
        if new.config.is_some() {
            return Err(SessionError::request("threads have no settings"));
        }
        let id = SessionId::parse(&new.id)?;
        let dir = thread_dir(&id);
        let taken = || SessionError::Taken { id: id.to_string(), path: dir.clone() };
        let writer = store.lock(std::slice::from_ref(&dir))?;
        if store.stat(&dir)?.is_some() {
            return Err(taken());
        }
        let own = ["type", "id", "sessionId", "created"];
        let fields = new.fields.children().into_iter();
        let fields = fields.filter(|(key, _)| !own.contains(&key.as_str()));
        let mut header = JsonTree::from_members(header_members(&id, now).chain(fields));
        if let Some(title) = &new.name {
            header = with_text(&header, "title", title);
        }
        let lines = format!("{}\n", header.to_line()).into_bytes();
        match writer.commit(vec![Step::create(log_file(&dir), lines)], Durability::Synced) {
            Err(StoreError::Taken { .. }) => return Err(taken()),
            done => drop(done?),
        }
        let thread = Thread::open(store, &dir)?;
        Ok(ThreadWriter { store: Arc::clone(store), id, dir, writer, thread })
    }

    /// Opens a thread for writing. Fails with [`StoreError::Busy`] while it has another writer.
    pub fn open(store: &Arc<dyn Store>, id: &SessionId) -> Result<ThreadWriter, SessionError> {
        let dir = thread_dir(id);
        let writer = store.lock(std::slice::from_ref(&dir))?;
        let thread = Thread::open(store, &dir)?;
        Ok(ThreadWriter { store: Arc::clone(store), id: id.clone(), dir, writer, thread })
    }

    /// The ID of the thread.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The directory of the thread.
    #[must_use]
    pub fn dir(&self) -> &FilePath {
        &self.dir
    }

    /// The thread as it is stored.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Appends a record. When it returns, the record is durable. Returns what was repaired before it could be written.
    ///
    /// In a checkpoint, `versions` has the version of every channel, and `values` the values. A version that is stored
    /// already with the same value is not stored again.
    pub fn append(&mut self, text: &str, now: Timestamp) -> Result<Vec<Finding>, SessionError> {
        let record = ThreadRecord::parse_input(text)?;
        if let Some(key) = record.text("key") {
            check_key(&key)?;
        }
        let record = self.encode(record, now)?;
        let mut lines = record.tree.to_line().into_bytes();
        let length = lines.len() as u64;
        lines.push(b'\n');
        let step = Step::Append { file: log_file(&self.dir), at: AppendAt::End, lines };
        let receipt = self.writer.commit(vec![step], Durability::Synced)?;
        let offset = receipt.appended.first().copied().unwrap_or_default();
        self.thread.push(ThreadRecord { offset, length, ..record });
        Ok(receipt.findings)
    }

    /// The record as it is stored: with its type, its time, and only the values that are new.
    fn encode(&self, record: ThreadRecord, now: Timestamp) -> Result<ThreadRecord, SessionError> {
        let ThreadRecord { kind, mut tree, .. } = record;
        if tree.string_at(&["time"]).is_none() {
            tree = with_text(&tree, "time", &now.to_string());
        }
        let mut members = tree.children();
        if tree.value_at(&["type"]).is_none() {
            let name = JsonTree::from_trusted_str(&format!("\"{}\"", kind.as_str()));
            members.insert(0, ("type".to_owned(), name));
        }
        if kind == RecordType::Checkpoint {
            let ns = tree.string_at(&["ns"]).unwrap_or_default();
            for (name, value) in &mut members {
                if name == "values" {
                    *value = self.encode_values(&ns, &tree, value)?;
                }
            }
        }
        ThreadRecord::parse(JsonTree::from_members(members)).map_err(SessionError::request)
    }

    fn encode_values(
        &self,
        ns: &str,
        checkpoint: &JsonTree,
        values: &JsonTree,
    ) -> Result<JsonTree, SessionError> {
        let mut stored = Vec::new();
        for (channel, value) in values.children() {
            let version = checkpoint.value_at(&["versions", channel.as_str()]);
            let version = version
                .filter(|version| matches!(version.kind(), ValueKind::String | ValueKind::Number));
            let missing =
                || SessionError::request(format!("channel {channel:?} has a value but no version"));
            let version = version.ok_or_else(missing)?;
            let new = self.thread.values.encode(ns, &channel, &version, &value)?;
            stored.extend(new.map(|new| (channel, new)));
        }
        Ok(JsonTree::from_members(stored))
    }

    /// The marks of the thread.
    pub(crate) fn marks(&self) -> Result<MarkDocument, SessionError> {
        MarkDocument::open(&self.store, &self.dir)
    }

    /// Commits a change to a file of the thread.
    pub(crate) fn commit(&self, step: Step) -> Result<(), StoreError> {
        self.writer.commit(vec![step], Durability::Synced).map(drop)
    }

    /// Releases the lock on the thread.
    pub fn release(self) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }
}

/// The members that every header has.
pub(crate) fn header_members(
    id: &SessionId,
    now: Timestamp,
) -> impl Iterator<Item = (String, JsonTree)> + use<> {
    let text = |text: &str| JsonTree::from_value(text).unwrap_or_else(|_| JsonTree::null());
    let members = [
        ("type", text(RecordType::Header.as_str())),
        ("id", text(id.as_str())),
        ("created", text(&now.to_string())),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value))
}
