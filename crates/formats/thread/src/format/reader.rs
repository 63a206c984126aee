//! The reader of a thread, in the common model.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::NAME;
use crate::record::{RecordType, ThreadRecord};
use crate::thread::Thread;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::format::{
    BranchedSession, CurrentState, MarkedSession, ReaderAbilities, RecordStream, SessionError,
    SessionMetadata, SessionReader, StateHistory,
};
use everturn_session::marks;
use everturn_session::model::{
    Entry, EntryExtras, EntryKind, Mark, SessionBranch, SessionState, StateChange,
};
use everturn_store::Store;
use everturn_value::tree::{JsonTree, ValueKind};

pub(super) struct ThreadReader {
    store: Arc<dyn Store>,
    dir: FilePath,
    thread: Arc<Thread>,
    /// The positions of the turns.
    line: Vec<usize>,
}

impl ThreadReader {
    pub(super) fn open(
        store: &Arc<dyn Store>,
        dir: &FilePath,
    ) -> Result<ThreadReader, SessionError> {
        let thread = Arc::new(Thread::open(store, dir)?);
        let line = thread.main_line();
        Ok(ThreadReader { store: Arc::clone(store), dir: dir.clone(), thread, line })
    }

    fn record(&self, turn: u64) -> Option<(usize, &ThreadRecord)> {
        let index = usize::try_from(turn.checked_sub(1)?).ok()?;
        let position = *self.line.get(index)?;
        Some((position, self.thread.records.get(position)?))
    }

    /// The channels at the last checkpoint up to a turn.
    fn channels(&self, turn: u64) -> Result<Vec<(String, JsonTree)>, SessionError> {
        let turns = usize::try_from(turn).unwrap_or(usize::MAX);
        let is_checkpoint = |position: &&usize| {
            let record = self.thread.records.get(**position);
            record.is_some_and(|record| record.kind == RecordType::Checkpoint)
        };
        match self.line.iter().take(turns).rfind(is_checkpoint) {
            Some(position) => self.thread.channels(*position),
            None => Ok(Vec::new()),
        }
    }

    /// The entries of a turn: an item, or the messages that a checkpoint adds.
    fn turn_entries(&self, turn: u64) -> Result<Vec<Entry>, SessionError> {
        let Some((_, record)) = self.record(turn) else { return Ok(Vec::new()) };
        let messages = match record.kind {
            RecordType::Checkpoint => self.added_messages(turn)?,
            _ => {
                let object = record.tree.value_at(&["item"]);
                let object = object.filter(|item| item.kind() == ValueKind::Object);
                let item = object.as_ref().unwrap_or(&record.tree);
                vec![Message::of(item).unwrap_or_else(|| Message::event(item))]
            }
        };
        let several = messages.len() > 1;
        let entry = |(at, message): (u64, Message)| Entry {
            seq: 0,
            turn,
            id: if several { format!("{turn}.{at}") } else { turn.to_string() },
            time: record.time(),
            speaker: message.speaker,
            kind: message.kind,
            text: message.text,
            extras: EntryExtras::default(),
            raw: record.tree.clone(),
        };
        Ok((1..).zip(messages).map(entry).collect())
    }

    fn added_messages(&self, turn: u64) -> Result<Vec<Message>, SessionError> {
        let before = self.channels(turn.saturating_sub(1))?;
        let (mut messages, mut changed) = (Vec::new(), Vec::new());
        for (channel, value) in self.channels(turn)? {
            let old = before.iter().find(|(name, _)| *name == channel).map(|(_, value)| value);
            if old.is_some_and(|old| old.is_same(&value)) {
                continue;
            }
            if value.kind() == ValueKind::Array {
                let old = old.map(JsonTree::children).unwrap_or_default();
                let new = value.children();
                let same = old.iter().zip(&new).take_while(|(a, b)| a.1.is_same(&b.1)).count();
                messages.extend(new.iter().skip(same).filter_map(|(_, one)| Message::of(one)));
            }
            changed.push(channel);
        }
        if messages.is_empty() {
            let text = match changed.is_empty() {
                true => "checkpoint".to_owned(),
                false => format!("checkpoint: {}", changed.join(", ")),
            };
            let speaker = RecordType::Checkpoint.as_str().to_owned();
            messages.push(Message { speaker, kind: EntryKind::Event, text });
        }
        Ok(messages)
    }
}

/// The readable part of an item or of an element of a channel.
struct Message {
    speaker: String,
    kind: EntryKind,
    text: String,
}

impl Message {
    /// Recognises a message: an object with a role or a type, and a text.
    fn of(tree: &JsonTree) -> Option<Message> {
        let role = tree.string_at(&["role"]);
        let role = role.or_else(|| tree.string_at(&["type"]).filter(|kind| kind != "item"))?;
        let text = |field: &str| tree.value_at(&[field]).as_ref().map(readable);
        let fields = ["content", "text", "output", "arguments"];
        let text = fields.into_iter().find_map(text)?;
        let kind = match role.as_str() {
            "user" | "human" => EntryKind::User,
            "assistant" | "ai" | "message" => EntryKind::Assistant,
            "system" | "developer" => EntryKind::System,
            "tool" | "function_call_output" | "tool_result" => EntryKind::ToolResult,
            "function_call" | "tool_call" => EntryKind::ToolCall,
            _ => EntryKind::Event,
        };
        let speaker = tree.string_at(&["name"]).unwrap_or(role);
        Some(Message { speaker, kind, text })
    }

    fn event(tree: &JsonTree) -> Message {
        let speaker = tree.string_at(&["name"]).unwrap_or_else(|| "item".to_owned());
        let text =
            tree.value_at(&["content"]).map_or_else(|| tree.to_line(), |text| readable(&text));
        Message { speaker, kind: EntryKind::Event, text }
    }
}

/// A text, the texts of a list of parts, or JSON.
fn readable(value: &JsonTree) -> String {
    if let Some(text) = value.string_at::<&str>(&[]) {
        return text;
    }
    let texts: Vec<String> = value
        .children()
        .iter()
        .filter_map(|(_, part)| part.string_at(&["text"]).or_else(|| part.string_at::<&str>(&[])))
        .collect();
    match value.kind() == ValueKind::Array && !texts.is_empty() {
        true => texts.join("\n"),
        false => value.to_line(),
    }
}

impl SessionReader for ThreadReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.line.len() as u64)
    }

    fn findings(&self) -> Vec<Finding> {
        self.thread.findings.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let (last, wanted) = (self.line.len() as u64, turns);
        let seq = 0;
        Ok(Box::new(ThreadEntries {
            reader: self,
            next: 1,
            last,
            wanted,
            seq,
            ready: VecDeque::new(),
        }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            state: Some(self),
            history: Some(self),
            marks: Some(self),
            branches: Some(self),
            metadata: Some(self),
            ..ReaderAbilities::default()
        }
    }
}

impl CurrentState for ThreadReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        self.state_at(self.line.len() as u64)
    }
}

impl StateHistory for ThreadReader {
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError> {
        let next = (*turns.start()).max(1);
        let last = (*turns.end()).min(self.line.len() as u64);
        Ok(Box::new(ThreadChanges { reader: self, next, last, ready: VecDeque::new() }))
    }

    fn state_at(&self, turn: u64) -> Result<SessionState, SessionError> {
        let last = self.line.len() as u64;
        if turn > last {
            return Err(SessionError::NoTurn { turn, first: 0, last });
        }
        Ok(SessionState { turn, scopes: self.channels(turn)?, findings: Vec::new() })
    }
}

impl MarkedSession for ThreadReader {
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        marks::read_marks(&self.store, &self.dir)
    }
}

impl BranchedSession for ThreadReader {
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        let branch = |position: usize| {
            let record = self.thread.records.get(position)?;
            let line = self.thread.line_to(Some(&record.id()));
            let shared = line.iter().zip(&self.line).take_while(|(a, b)| a == b).count();
            let from = Some(shared as u64).filter(|from| *from > 0);
            let turns = line.len().saturating_sub(shared) as u64;
            let id = record.id();
            Some(SessionBranch { title: id.clone(), id, from, turns, updated: record.time() })
        };
        Ok(self.thread.branch_ends().into_iter().filter_map(branch).collect())
    }

    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        if self.thread.checkpoint("", branch).is_none() {
            return Err(SessionError::no_branch(branch));
        }
        let line = self.thread.line_to(Some(branch));
        let (store, thread) = (Arc::clone(&self.store), Arc::clone(&self.thread));
        Ok(Box::new(ThreadReader { store, dir: self.dir.clone(), thread, line }))
    }
}

impl SessionMetadata for ThreadReader {
    fn metadata(&self) -> Result<JsonTree, SessionError> {
        Ok(self.thread.header().map_or_else(JsonTree::object, |header| header.tree.clone()))
    }
}

struct ThreadEntries<'r> {
    reader: &'r ThreadReader,
    next: u64,
    last: u64,
    wanted: RangeInclusive<u64>,
    /// The number of entries so far.
    seq: u64,
    ready: VecDeque<Entry>,
}

impl RecordStream for ThreadEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            if self.next > self.last.min(*self.wanted.end()) {
                return None;
            }
            let turn = self.next;
            self.next += 1;
            let mut entries = match self.reader.turn_entries(turn) {
                Ok(entries) => entries,
                Err(error) => return Some(Err(error)),
            };
            for entry in &mut entries {
                self.seq += 1;
                entry.seq = self.seq;
            }
            if self.wanted.contains(&turn) {
                self.ready.extend(entries);
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

struct ThreadChanges<'r> {
    reader: &'r ThreadReader,
    next: u64,
    last: u64,
    ready: VecDeque<StateChange>,
}

impl ThreadChanges<'_> {
    fn read(&mut self, turn: u64) -> Result<(), SessionError> {
        let before = self.reader.state_at(turn.saturating_sub(1))?;
        let changes = before.changes_to(&self.reader.state_at(turn)?);
        let changes = changes.map_err(|error| SessionError::damaged(error.to_string()))?;
        let time = self.reader.record(turn).and_then(|(_, record)| record.time());
        self.ready.extend(changes.into_iter().map(|change| StateChange { time, ..change }));
        Ok(())
    }
}

impl RecordStream for ThreadChanges<'_> {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        while self.ready.is_empty() {
            if self.next > self.last {
                return None;
            }
            let turn = self.next;
            self.next += 1;
            if let Err(error) = self.read(turn) {
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
