//! What a change reads and writes does not grow with the chat log; a look back does not read all of it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use everturn::chatlog::{ChatLog, ChatWriter};
use everturn::disk::{DirListing, FileStat};
use everturn::names::FilePath;
use everturn::store::{CommitReceipt, Durability, MemoryStore, Step, Store, StoreError, Writer};
use serde_json::json;

use crate::chatlog::support::{TALE, path, put, read, tell};

/// A store that counts the bytes that are read and written.
#[derive(Default, Clone)]
struct Counting {
    inner: MemoryStore,
    read: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
}

impl Counting {
    fn take(&self) -> (u64, u64) {
        (self.read.swap(0, Ordering::Relaxed), self.written.swap(0, Ordering::Relaxed))
    }
}

impl Store for Counting {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let bytes = self.inner.read(file, range)?;
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.inner.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.inner.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        let inner = self.inner.lock(scopes)?;
        Ok(Box::new(CountingWriter { inner, written: Arc::clone(&self.written) }))
    }
}

struct CountingWriter {
    inner: Box<dyn Writer>,
    written: Arc<AtomicU64>,
}

impl Writer for CountingWriter {
    fn commit(
        &self,
        steps: Vec<Step>,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let size = |step: &Step| match step {
            Step::Append { lines, .. } => lines.len(),
            Step::Replace { bytes, .. } => bytes.len(),
            Step::Rename { .. } | Step::Remove { .. } => 0,
        };
        let size: usize = steps.iter().map(size).sum();
        self.written.fetch_add(size as u64, Ordering::Relaxed);
        self.inner.commit(steps, durability)
    }

    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        self.inner.add_scopes(scopes)
    }

    fn release_added_scopes(&mut self) -> Result<(), StoreError> {
        self.inner.release_added_scopes()
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.release()
    }
}

/// A store with a chat log of so many messages, a tool changing every ten, and its index.
fn long(count: u64) -> (Counting, Arc<dyn Store>) {
    let counting = Counting::default();
    let store: Arc<dyn Store> = Arc::new(counting.clone());
    let time = "2026-01-01T10:00:00Z";
    let message = |number: u64| {
        json!({"id": format!("msg-{number:03}"), "timestamp": time, "type": "narrator",
            "content": {"text": format!("Message {number}. {}", "Words. ".repeat(60))}})
    };
    let snapshot = |number: u64| {
        json!({"id": format!("snapshot-{number:04}"), "timestamp": time, "message_id": format!("msg-{number:03}"),
            "tool_id": "bell", "state": {"tolls": number}, "changes": {}})
    };
    let messages: Vec<_> = (1..=count).map(message).collect();
    let snapshots: Vec<_> = (1..=count).step_by(10).map(snapshot).collect();
    let document = json!({"version": "1.0", "type": "chat-log", "metadata": {"id": "tale"},
        "session": {"support_tools": [{"id": "bell"}]}, "messages": messages, "tool_snapshots": snapshots});
    put(&store, TALE, &serde_json::to_string_pretty(&document).unwrap());
    let mut log = ChatWriter::open(&store, &path(TALE)).unwrap();
    tell(&mut log, "One more.", 1);
    log.close().unwrap();
    (counting, store)
}

#[test]
fn a_message_costs_the_same_in_a_long_chat_log_as_in_a_short_one() {
    let mut costs = Vec::new();
    for count in [2000, 20_000] {
        let (counting, store) = long(count);
        let mut log = ChatWriter::open(&store, &path(TALE)).unwrap();
        counting.take();
        for number in 0..50 {
            tell(&mut log, "The same words.", number);
        }
        costs.push(counting.take());
    }
    let (short, long) = (costs[0], costs[1]);
    assert!(long.0 <= short.0 + short.0 / 10, "read: {short:?} and {long:?}");
    assert!(long.1 <= short.1 + short.1 / 10, "written: {short:?} and {long:?}");
    assert!(long.1 < 50 * 500, "{long:?}");
}

#[test]
fn opening_and_looking_back_reads_a_small_part_of_a_long_chat_log() {
    let (counting, store) = long(20_000);
    let size = read(&store, TALE).len() as u64;
    counting.take();
    let log = ChatLog::open(&store, &path(TALE)).unwrap();
    let states = log.states(12_345).unwrap().0.to_value().unwrap();
    assert_eq!(states["bell"]["tolls"], 12_341);
    assert_eq!(log.find("msg-15000").unwrap(), Some(15_000));
    let texts = log.messages(9_000..=9_003).unwrap().map(|message| message.unwrap().text().len());
    assert_eq!(texts.count(), 4);
    let (read, _) = counting.take();
    assert!(read < size / 5, "{read} of {size} bytes were read");
    assert!(read < 3 << 20, "{read} of {size} bytes were read");
}

#[test]
fn a_log_without_an_index_gives_the_same_answers() {
    let (_, store) = long(3000);
    let answers = || {
        let log = ChatLog::open(&store, &path(TALE)).unwrap();
        let states: Vec<String> =
            (0..=3001).step_by(7).map(|number| log.states(number).unwrap().0.to_line()).collect();
        let found: Vec<Option<u64>> = (0..3010)
            .step_by(11)
            .map(|number| log.find(&format!("msg-{number:03}")).unwrap())
            .collect();
        (states, found)
    };
    let before = answers();
    crate::chatlog::support::remove(&store, "chats/tale.index");
    assert_eq!(answers(), before);
}
