//! [`ThreadBinding`]: a thread of an agent framework, with items, checkpoints and pending writes.

mod items;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use everturn::format::{FormatLifecycle, SessionError, Transition};
use everturn::model::{ForkOptions, NewSession, SessionRef};
use everturn::names::{FilePath, SessionId};
use everturn::store::{StoreError, snapshot};
use everturn::thread::{
    FORMAT, RecordType, SuspendedThread, Thread, ThreadFormat, ThreadRecord, ThreadWriter,
};
use everturn::tree::JsonTree;
use everturn::{Error, Root};
use everturn_requests::{ErrorCode, RequestError};

use crate::files::wait_for_lock;
use crate::idle::{HoldsLock, IDLE};
use crate::process_bound::ProcessBound;
use crate::thread_names::thread_id;

/// How long a thread that is not used stays in memory.
const KEPT: Duration = Duration::from_secs(60);

enum OpenThread {
    Locked(ThreadWriter),
    Suspended(SuspendedThread),
}

struct ThreadAccess {
    root: Root,
    id: SessionId,
    place: SessionRef,
    open: Option<OpenThread>,
    used: Instant,
}

/// A thread. It is locked by the first write, and released when it is idle.
pub struct ThreadBinding {
    access: ProcessBound<ThreadAccess>,
    wait: Duration,
}

fn session_error(error: SessionError) -> RequestError {
    Error::from(error).into()
}

fn is_missing(error: &SessionError) -> bool {
    matches!(
        error,
        SessionError::NoSession { .. } | SessionError::Store(StoreError::Missing { .. })
    )
}

/// The JSON text of a list.
fn list(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().collect();
    format!("[{}]", texts.join(","))
}

impl ThreadBinding {
    pub(crate) fn new(root: &Root, id: SessionId, wait: Duration) -> ThreadBinding {
        let path = FilePath::parse("threads").map(|dir| dir.join(id.as_name()));
        let path = path.unwrap_or_else(|_| FilePath::root());
        let place = SessionRef { id: id.to_string(), path };
        let (root, used) = (root.clone(), Instant::now());
        let access = ThreadAccess { root, id, place, open: None, used };
        ThreadBinding { access: ProcessBound::new(access), wait }
    }

    /// Appends records in one commit. A thread that does not exist is created, with `header` as further fields of its
    /// header. When it returns, the records survive a crash and a power cut.
    pub fn append(&self, header: &str, records: &[&str]) -> Result<(), RequestError> {
        self.access.with(|access| {
            access.lock(self.wait, Some(header))?;
            let now = access.root.now();
            let writer = access.writer()?;
            writer.append_all(records, now).map_err(session_error)?;
            access.used = Instant::now();
            Ok(())
        })
    }

    /// Runs `read` on the thread as it is; `None` if it does not exist.
    fn read<T>(
        &self,
        read: impl FnOnce(&Thread) -> Result<T, SessionError>,
    ) -> Result<Option<T>, RequestError> {
        self.access.with(|access| {
            access.used = Instant::now();
            if let Some(OpenThread::Locked(writer)) = &access.open {
                return read(writer.thread()).map(Some).map_err(session_error);
            }
            if let Some(OpenThread::Suspended(thread)) = &access.open
                && thread.is_readable().map_err(session_error)?
            {
                return read(thread.thread()).map(Some).map_err(session_error);
            }
            let paths = std::slice::from_ref(&access.place.path);
            let store = snapshot(access.root.store(), paths);
            let store = store.map_err(|error| session_error(error.into()))?;
            match Thread::open(&store, &access.place.path) {
                Err(error) if is_missing(&error) => Ok(None),
                opened => opened.and_then(|thread| read(&thread)).map(Some).map_err(session_error),
            }
        })
    }

    /// Whether the thread exists.
    pub fn exists(&self) -> Result<bool, RequestError> {
        Ok(self.read(|_| Ok(()))?.is_some())
    }

    /// The checkpoints without their values, in the order of the log; those of one namespace, or all.
    pub fn checkpoints(&self, namespace: Option<&str>) -> Result<String, RequestError> {
        let found = self.read(|thread| {
            let mut texts = Vec::new();
            for (position, record) in thread.records().iter().enumerate() {
                let is_wanted = record.kind == RecordType::Checkpoint
                    && namespace.is_none_or(|wanted| wanted == record.namespace())
                    && thread.checkpoint(&record.namespace(), &record.id()) == Some(position);
                if is_wanted {
                    texts.push(without_values(record).to_line());
                }
            }
            Ok(list(texts))
        })?;
        Ok(found.unwrap_or_else(|| "[]".to_owned()))
    }

    /// A checkpoint as `{"record", "values", "writes"}`: the one with this ID, or the one with the greatest ID. `None`
    /// if there is none.
    pub fn checkpoint(
        &self,
        namespace: &str,
        id: Option<&str>,
    ) -> Result<Option<String>, RequestError> {
        let found = self.read(|thread| {
            let position = match id {
                Some(id) => thread.checkpoint(namespace, id),
                None => greatest(thread, namespace),
            };
            let Some(position) = position else { return Ok(None) };
            let Some(record) = thread.records().get(position) else { return Ok(None) };
            let values = JsonTree::from_members(thread.channels(position)?).to_line();
            let id = record.id();
            let writes = thread.records().iter().filter(|writes| {
                writes.kind == RecordType::Writes
                    && writes.namespace() == namespace
                    && writes.text("checkpoint").as_deref() == Some(id.as_str())
            });
            let writes = list(writes.map(|writes| writes.tree.to_line()));
            let record = without_values(record).to_line();
            Ok(Some(format!(r#"{{"record":{record},"values":{values},"writes":{writes}}}"#)))
        })?;
        Ok(found.flatten())
    }

    /// The channels of `versions`, an object from channels to versions, whose version is not stored.
    pub fn missing_versions(
        &self,
        namespace: &str,
        versions: &str,
    ) -> Result<Vec<String>, RequestError> {
        let bad = |error: String| RequestError::new(ErrorCode::BadJson, error).at("versions");
        let versions = JsonTree::parse(versions).map_err(|error| bad(error.to_string()))?;
        let missing = self.read(|thread| {
            let is_missing = |(channel, version): &(String, JsonTree)| {
                !thread.has_version(namespace, channel, &version.to_line())
            };
            let missing = versions.children().into_iter().filter(is_missing);
            Ok(missing.map(|(channel, _)| channel).collect())
        })?;
        Ok(missing.unwrap_or_else(|| {
            versions.children().into_iter().map(|(channel, _)| channel).collect()
        }))
    }

    /// Removes checkpoints, given by namespace and ID, with their writes. Returns how many records were removed.
    pub fn remove_checkpoints(&self, remove: &[(String, String)]) -> Result<usize, RequestError> {
        let remove: HashSet<&(String, String)> = remove.iter().collect();
        self.retain(&[], |record| match record.kind {
            RecordType::Checkpoint => !remove.contains(&(record.namespace(), record.id())),
            RecordType::Writes => {
                let checkpoint = record.text("checkpoint").unwrap_or_default();
                !remove.contains(&(record.namespace(), checkpoint))
            }
            RecordType::Header | RecordType::Item | RecordType::Operation => true,
        })
    }

    fn retain(
        &self,
        add: &[&str],
        keep: impl FnMut(&ThreadRecord) -> bool,
    ) -> Result<usize, RequestError> {
        self.access.with(|access| {
            let header = if add.is_empty() { None } else { Some("{}") };
            if !access.lock(self.wait, header)? {
                return Ok(0);
            }
            let now = access.root.now();
            let removed = access.writer()?.retain(keep, add, now).map_err(session_error)?;
            access.used = Instant::now();
            Ok(removed)
        })
    }

    /// Copies the whole thread to another one, which must not exist. Returns whether there was anything to copy.
    pub fn copy_to(&self, key: &str) -> Result<bool, RequestError> {
        let id = Some(thread_id(key)?.to_string());
        if !self.exists()? {
            return Ok(false);
        }
        self.access.with(|access| {
            access.release()?;
            let how = ForkOptions { id: id.clone(), turn: None };
            wait_for_lock(self.wait, || {
                let editing =
                    FORMAT.editing(everturn::format::Operation::Fork).map_err(session_error)?;
                let (store, now) = (access.root.store(), access.root.now());
                editing.fork(store, &access.place, &how, now, &mut |_| {}).map_err(session_error)
            })?;
            Ok(true)
        })
    }

    /// Moves the thread to the trash. Returns its name there; `None` if it does not exist.
    pub fn trash(&self) -> Result<Option<String>, RequestError> {
        if !self.exists()? {
            return Ok(None);
        }
        self.access.with(|access| {
            access.release()?;
            access.open = None;
            let done = wait_for_lock(self.wait, || {
                let (store, now) = (access.root.store(), access.root.now());
                ThreadFormat
                    .transition(store, &access.place, Transition::Trash, now, &mut |_| {})
                    .map_err(session_error)
            })?;
            Ok(done.trashed)
        })
    }

    /// Releases the lock.
    pub fn release(&self) -> Result<(), RequestError> {
        self.access.with(ThreadAccess::release)
    }
}

fn without_values(record: &ThreadRecord) -> JsonTree {
    let members = record.tree.children().into_iter().filter(|(name, _)| name != "values");
    JsonTree::from_members(members)
}

/// The position of the checkpoint of a namespace with the greatest ID.
fn greatest(thread: &Thread, namespace: &str) -> Option<usize> {
    let of_namespace = |record: &&ThreadRecord| {
        record.kind == RecordType::Checkpoint && record.namespace() == namespace
    };
    let id = thread.records().iter().filter(of_namespace).map(ThreadRecord::id).max()?;
    thread.checkpoint(namespace, &id)
}

impl ThreadAccess {
    fn writer(&mut self) -> Result<&mut ThreadWriter, RequestError> {
        match &mut self.open {
            Some(OpenThread::Locked(writer)) => Ok(writer),
            _ => Err(RequestError::new(ErrorCode::Busy, "the thread is not locked")),
        }
    }

    /// Locks the thread. Without a header, a thread that does not exist is not created, and false is returned.
    fn lock(&mut self, wait: Duration, header: Option<&str>) -> Result<bool, RequestError> {
        self.used = Instant::now();
        wait_for_lock(wait, || self.try_lock(header))
    }

    fn try_lock(&mut self, header: Option<&str>) -> Result<bool, RequestError> {
        let writer = match self.open.take() {
            Some(OpenThread::Locked(writer)) => Ok(writer),
            Some(OpenThread::Suspended(thread)) => ThreadWriter::resume(thread).map_err(|failed| {
                let (thread, error) = *failed;
                if !is_missing(&error) {
                    self.open = Some(OpenThread::Suspended(thread));
                }
                error
            }),
            None => ThreadWriter::open(self.root.store(), &self.id),
        };
        let writer = match (writer, header) {
            (Err(error), Some(header)) if is_missing(&error) => {
                let bad = |error: String| RequestError::new(ErrorCode::BadJson, error).at("header");
                let fields = JsonTree::parse(header).map_err(|error| bad(error.to_string()))?;
                let new = NewSession { fields, ..NewSession::with_id(self.id.as_str()) };
                ThreadWriter::create(self.root.store(), &new, self.root.now())
            }
            (Err(error), None) if is_missing(&error) => return Ok(false),
            (writer, _) => writer,
        };
        let writer = writer.map_err(|error| match error {
            // Another process has created it meanwhile.
            SessionError::Taken { .. } => {
                RequestError::new(ErrorCode::Busy, "another process is creating the thread")
            }
            error => session_error(error),
        })?;
        self.open = Some(OpenThread::Locked(writer));
        Ok(true)
    }

    fn release(&mut self) -> Result<(), RequestError> {
        match self.open.take() {
            Some(OpenThread::Locked(writer)) => {
                self.open = Some(OpenThread::Suspended(writer.suspend().map_err(session_error)?));
            }
            open => self.open = open,
        }
        Ok(())
    }
}

impl HoldsLock for ThreadBinding {
    fn release_if_idle(&self) {
        self.access.try_with(|access| {
            let idle = access.used.elapsed();
            if idle >= IDLE {
                // What was appended is durable; the next write reports what is wrong with the store.
                drop(access.release());
            }
            if idle >= KEPT {
                access.open = None;
            }
        });
    }
}
