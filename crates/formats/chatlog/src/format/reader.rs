//! The reader of a chat log, in the common model.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::NAME;
use crate::log::{ChatLog, Message, MessageReader};
use crate::survey::ListKind;
use crate::tools::{ComponentChange, Tool, changes_of, tools_of};
use crate::writer::ChatMark;
use everturn_json::finding::{Finding, FindingCode};
use everturn_session::format::{
    CurrentState, EntryIndex, MarkedSession, ReaderAbilities, RecordStream, SessionError,
    SessionMetadata, SessionReader, SnapshotStream, StateHistory, StoredSnapshots,
};
use everturn_session::model::carried::restore_single_entry;
use everturn_session::model::{Entry, Mark, MarkKind, SessionState, StateChange};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::{JsonTree, ValueKind};

/// The only scope of the state.
const SCOPE: &str = "tools";

pub(super) struct ChatReader {
    pub(super) log: ChatLog,
}

/// A mark in the common model; a mark of a missing message has no turn.
pub(super) fn mark(mark: ChatMark) -> Mark {
    Mark {
        id: mark.id,
        kind: MarkKind::parse(&mark.kind),
        name: mark.name,
        description: mark.description.unwrap_or_default(),
        turn: mark.number.unwrap_or(0),
        entry: mark.message_id,
        time: mark.time,
    }
}

impl SessionReader for ChatReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.log.len())
    }

    fn findings(&self) -> Vec<Finding> {
        self.log.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let messages = self.log.messages(turns)?;
        Ok(Box::new(ChatEntries { log: &self.log, messages, findings: Vec::new() }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            state: Some(self),
            history: Some(self),
            snapshots: Some(self),
            marks: Some(self),
            metadata: Some(self),
            entry_index: Some(self),
            ..ReaderAbilities::default()
        }
    }
}

impl CurrentState for ChatReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        self.state_at(self.log.len())
    }
}

impl StateHistory for ChatReader {
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError> {
        let snapshots = ChatSnapshots { log: &self.log, places: places(&self.log, &turns)? };
        // Findings about definitions belong to `check`; a change is shown without one, too.
        let tools = tools_of(&self.log, &mut Vec::new())?;
        Ok(Box::new(ChatChanges { snapshots, tools, ready: VecDeque::new() }))
    }

    fn state_at(&self, turn: u64) -> Result<SessionState, SessionError> {
        let last = self.log.len();
        if turn > last {
            return Err(SessionError::NoTurn { turn, first: 0, last });
        }
        let (states, findings) = self.log.states(turn)?;
        Ok(SessionState { turn, scopes: vec![(SCOPE.to_owned(), states)], findings })
    }
}

impl StoredSnapshots for ChatReader {
    fn snapshots(&self, turns: RangeInclusive<u64>) -> Result<SnapshotStream<'_>, SessionError> {
        Ok(Box::new(ChatSnapshots { log: &self.log, places: places(&self.log, &turns)? }))
    }
}

impl MarkedSession for ChatReader {
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        Ok(self.log.marks()?.into_iter().map(mark).collect())
    }
}

impl SessionMetadata for ChatReader {
    fn metadata(&self) -> Result<JsonTree, SessionError> {
        Ok(self.log.head())
    }
}

impl EntryIndex for ChatReader {
    fn turn_of(&self, entry: &str) -> Result<Option<u64>, SessionError> {
        Ok(self.log.find(entry)?)
    }
}

struct ChatEntries<'l> {
    log: &'l ChatLog,
    messages: MessageReader<'l>,
    findings: Vec<Finding>,
}

impl ChatEntries<'_> {
    fn entry(&mut self, message: &Message) -> Entry {
        if message.tree.kind() != ValueKind::Object {
            self.findings.push(Finding::new(
                self.log.path(),
                FindingCode::BadRecord,
                format!("message {} is {}, not an object", message.number, message.tree.kind()),
            ));
        }
        restore_single_entry(Entry {
            seq: message.number,
            turn: message.number,
            id: message.id().unwrap_or_default(),
            time: message.time(),
            speaker: message.speaker(),
            kind: message.kind(),
            text: message.readable_text(),
            extras: message.extras(),
            raw: message.tree.clone(),
        })
    }
}

impl RecordStream for ChatEntries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        match self.messages.next()? {
            Ok(message) => Some(Ok(self.entry(&message))),
            Err(error) => Some(Err(error.into())),
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }
}

/// A snapshot: its place, the place of its message, and its offset in the document.
type SnapshotLocation = (u64, u64, Option<u64>);

/// The snapshots of a range of messages.
fn places(
    log: &ChatLog,
    turns: &RangeInclusive<u64>,
) -> Result<VecDeque<SnapshotLocation>, SessionError> {
    let (first, last) = (*turns.start(), (*turns.end()).min(log.len()));
    let mut places = Vec::new();
    if first <= last {
        let from = if first == 0 { 0 } else { log.place_of(first)? };
        let to = if last == log.len() { log.last_place() } else { log.place_of(last)? };
        let stored = log.by_index(|index| index.snapshots_between(0..=u64::MAX))?;
        let message =
            |place: u64, message: u64| log.overlay.moved.get(&place).copied().unwrap_or(message);
        for known in stored {
            let at = message(known.place, known.message);
            if (from..=to).contains(&at) {
                places.push((known.place, at, Some(known.offset)));
            }
        }
        for (place, added) in &log.overlay.snapshots {
            let at = message(*place, added.message);
            if (from..=to).contains(&at) {
                places.push((*place, at, None));
            }
        }
    }
    Ok(places.into())
}

struct ChatSnapshots<'l> {
    log: &'l ChatLog,
    places: VecDeque<SnapshotLocation>,
}

impl ChatSnapshots<'_> {
    fn read(
        &self,
        (place, message, offset): SnapshotLocation,
    ) -> Result<Option<JsonTree>, SessionError> {
        let log = self.log;
        Ok(match (offset, log.overlay.snapshots.get(&place)) {
            (Some(offset), _) => {
                let known = crate::index::SnapshotPosition { message, place, offset };
                Some(log.snapshot_at(&known)?)
            }
            (None, Some(added)) => {
                let value = log.journal_value(&added.line)?;
                Some(log.with_edits(ListKind::Snapshots, place, value.to_line())?)
            }
            (None, None) => None,
        })
    }
}

impl RecordStream for ChatSnapshots<'_> {
    type Item = (u64, JsonTree);

    fn next(&mut self) -> Option<Result<(u64, JsonTree), SessionError>> {
        loop {
            let next = self.places.pop_front()?;
            match self.read(next) {
                Ok(Some(tree)) => return Some(Ok((self.log.number_of(next.1), tree))),
                Ok(None) => {}
                Err(error) => {
                    self.places.clear();
                    return Some(Err(error));
                }
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

struct ChatChanges<'l> {
    snapshots: ChatSnapshots<'l>,
    tools: Vec<Tool>,
    ready: VecDeque<StateChange>,
}

impl ChatChanges<'_> {
    fn read(&mut self, turn: u64, tree: &JsonTree) {
        let tool = tree.string_at(&["tool_id"]).unwrap_or_default();
        for changed in changes_of(tree) {
            let shown = describe_change(&self.tools, &tool, &changed);
            let path = DeltaPath::array([tool.clone(), changed.component]);
            let mut delta = Delta::set(path, changed.after);
            delta.extra.extend(shown.map(|shown| ("shown".to_owned(), shown)));
            delta.previous = Some(changed.before).filter(|before| !before.is_null());
            self.ready.push_back(StateChange { turn, scope: SCOPE.to_owned(), delta, time: None });
        }
    }
}

/// What a reader sees of a change: the names of tool and component, the values in their display format, and the cause.
fn describe_change(tools: &[Tool], id: &str, changed: &ComponentChange) -> Option<JsonTree> {
    let tool = tools.iter().find(|tool| tool.id == id);
    let component = tool.and_then(|tool| tool.component(&changed.component));
    let tool = tool.map_or(id, |tool| tool.name.as_str());
    let name = component.map_or(changed.component.as_str(), |component| component.name.as_str());
    let mut shown = serde_json::Map::new();
    shown.insert("place".to_owned(), format!("{tool}: {name}").into());
    for (key, value) in [("before", &changed.before), ("after", &changed.after)] {
        let value = component.filter(|_| !value.is_null()).map(|known| known.shown(value));
        shown.extend(value.map(|value| (key.to_owned(), value.into())));
    }
    let cause = changed.cause.as_deref().filter(|cause| !cause.trim().is_empty());
    shown.extend(cause.map(|cause| ("cause".to_owned(), cause.into())));
    JsonTree::from_value(&serde_json::Value::Object(shown)).ok()
}

impl RecordStream for ChatChanges<'_> {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Some(Ok(change));
            }
            match self.snapshots.next()? {
                Ok((turn, tree)) => self.read(turn, &tree),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
