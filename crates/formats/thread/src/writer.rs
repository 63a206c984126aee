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
use everturn_store::disk::FileStat;
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
        let id = SessionId::parse_new(&new.id)?;
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
        self.append_all(&[text], now)
    }

    /// Appends several records in one commit. At most one of them may be a checkpoint.
    pub fn append_all(
        &mut self,
        texts: &[&str],
        now: Timestamp,
    ) -> Result<Vec<Finding>, SessionError> {
        let (mut records, mut lines, mut checkpoints) = (Vec::new(), Vec::new(), 0);
        for text in texts {
            let record = ThreadRecord::parse_input(text)?;
            if let Some(key) = record.text("key") {
                check_key(&key)?;
            }
            checkpoints += usize::from(record.kind == RecordType::Checkpoint);
            let record = encode_record(&self.thread, record, now)?;
            let start = lines.len() as u64;
            lines.extend_from_slice(record.tree.to_line().as_bytes());
            let length = lines.len() as u64 - start;
            lines.push(b'\n');
            records.push(ThreadRecord { offset: start, length, ..record });
        }
        if checkpoints > 1 {
            return Err(SessionError::request(
                "records that are appended together may have one checkpoint",
            ));
        }
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let step = Step::Append { file: log_file(&self.dir), at: AppendAt::End, lines };
        let receipt = self.writer.commit(vec![step], Durability::Synced)?;
        let offset = receipt.appended.first().copied().unwrap_or_default();
        for record in records {
            self.thread.push(ThreadRecord { offset: offset + record.offset, ..record });
        }
        Ok(receipt.findings)
    }

    /// The marks of the thread.
    pub(crate) fn marks(&self) -> Result<MarkDocument, SessionError> {
        MarkDocument::open(&self.store, &self.dir)
    }

    /// Commits changes to files of the thread.
    pub(crate) fn commit_all(&self, steps: Vec<Step>) -> Result<(), StoreError> {
        self.writer.commit(steps, Durability::Synced).map(drop)
    }

    /// Replaces the thread in memory, after its log was written again.
    pub(crate) fn replace_thread(&mut self, thread: Thread) {
        self.thread = thread;
    }

    /// The store of the thread.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Releases the lock on the thread.
    pub fn release(self) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    /// Releases the lock, and keeps the thread in memory for [`ThreadWriter::resume`].
    pub fn suspend(self) -> Result<SuspendedThread, SessionError> {
        self.writer.release()?;
        let stat = self.store.stat(&log_file(&self.dir))?;
        Ok(SuspendedThread {
            store: self.store,
            id: self.id,
            dir: self.dir,
            thread: self.thread,
            stat,
        })
    }

    /// Locks a suspended thread again. It is read again only if its file has changed.
    pub fn resume(
        suspended: SuspendedThread,
    ) -> Result<ThreadWriter, Box<(SuspendedThread, SessionError)>> {
        let writer = match suspended.store.lock(std::slice::from_ref(&suspended.dir)) {
            Ok(writer) => writer,
            Err(error) => return Err(Box::new((suspended, error.into()))),
        };
        let is_same = suspended.is_current();
        let SuspendedThread { store, id, dir, thread, stat } = suspended;
        let read = || Thread::open(&store, &dir);
        let read = is_same.and_then(|is_same| if is_same { Ok(None) } else { read().map(Some) });
        match read {
            Ok(read) => Ok(ThreadWriter { thread: read.unwrap_or(thread), store, id, dir, writer }),
            Err(error) => Err(Box::new((SuspendedThread { store, id, dir, thread, stat }, error))),
        }
    }
}

/// A thread in memory whose lock was released.
pub struct SuspendedThread {
    store: Arc<dyn Store>,
    id: SessionId,
    dir: FilePath,
    thread: Thread,
    /// The log as it was left.
    stat: Option<FileStat>,
}

impl SuspendedThread {
    /// The thread as it was left.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Whether the log is still as it was left, and no other process is writing to it.
    pub fn is_current(&self) -> Result<bool, SessionError> {
        let stat = self.store.stat(&log_file(&self.dir))?;
        Ok(self.store.is_plain() && stat.is_some() && stat == self.stat)
    }

    /// Whether [`SuspendedThread::thread`] can be used for reading without the lock.
    pub fn is_readable(&self) -> Result<bool, SessionError> {
        Ok(self.store.is_quiet(std::slice::from_ref(&self.dir))? && self.is_current()?)
    }
}

/// The record as it is stored: with its type, its time, and only the values that are new to the thread.
pub(crate) fn encode_record(
    thread: &Thread,
    record: ThreadRecord,
    now: Timestamp,
) -> Result<ThreadRecord, SessionError> {
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
                *value = encode_values(thread, &ns, &tree, value)?;
            }
        }
    }
    ThreadRecord::parse(JsonTree::from_members(members)).map_err(SessionError::request)
}

fn encode_values(
    thread: &Thread,
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
        let new = thread.values.encode(ns, &channel, &version, &value)?;
        stored.extend(new.map(|new| (channel, new)));
    }
    Ok(JsonTree::from_members(stored))
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
