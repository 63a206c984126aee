//! A chat log that is read, in the common view.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::log::{ChatLog, Message, Messages};
use crate::survey::List;
use crate::tools::changes_of;
use crate::writer::ChatMark;
use everturn_json::finding::{Code, Finding};
use everturn_session::layout::{self, LayoutError, Reader, Stream};
use everturn_session::view::carried::restored_one;
use everturn_session::view::{Change, Entry, Mark, MarkKind, State};
use everturn_value::delta::{Delta, Path};
use everturn_value::tree::{Kind, Tree};

/// The one part of the state that chat logs have.
const SCOPE: &str = "tools";

pub(super) struct ChatReader {
    pub(super) log: ChatLog,
}

/// A mark in the common view; one of a message that is not there has no turn.
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

impl Reader for ChatReader {
    fn turns(&self) -> Result<RangeInclusive<u64>, LayoutError> {
        Ok(0..=self.log.len())
    }

    fn findings(&self) -> Vec<Finding> {
        self.log.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Entry> + '_>, LayoutError> {
        let messages = self.log.messages(turns)?;
        Ok(Box::new(Entries { log: &self.log, messages, findings: Vec::new() }))
    }

    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Change> + '_>, LayoutError> {
        let snapshots = Snapshots { log: &self.log, places: places(&self.log, &turns)? };
        Ok(Box::new(Changes { snapshots, ready: VecDeque::new() }))
    }

    fn about(&self) -> Result<Tree, LayoutError> {
        Ok(self.log.head())
    }

    fn snapshots(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Option<layout::Snapshots<'_>>, LayoutError> {
        Ok(Some(Box::new(Snapshots { log: &self.log, places: places(&self.log, &turns)? })))
    }

    fn state(&self, turn: Option<u64>) -> Result<State, LayoutError> {
        let last = self.log.len();
        let turn = turn.unwrap_or(last);
        if turn > last {
            return Err(LayoutError::NoTurn { turn, first: 0, last });
        }
        let (states, findings) = self.log.states(turn)?;
        Ok(State { turn, scopes: vec![(SCOPE.to_owned(), states)], findings })
    }

    fn turn_of(&self, entry: &str) -> Result<Option<u64>, LayoutError> {
        Ok(self.log.find(entry)?)
    }

    fn marks(&self) -> Result<Vec<Mark>, LayoutError> {
        Ok(self.log.marks()?.into_iter().map(mark).collect())
    }
}

struct Entries<'l> {
    log: &'l ChatLog,
    messages: Messages<'l>,
    findings: Vec<Finding>,
}

impl Entries<'_> {
    fn entry(&mut self, message: &Message) -> Entry {
        if message.tree.kind() != Kind::Object {
            self.findings.push(Finding {
                file: self.log.path().clone(),
                line: None,
                offset: None,
                code: Code::BadRecord,
                message: format!(
                    "message {} is {}, not an object",
                    message.number,
                    message.tree.kind()
                ),
            });
        }
        restored_one(Entry {
            seq: message.number,
            turn: message.number,
            id: message.id().unwrap_or_default(),
            time: message.time(),
            speaker: message.speaker(),
            kind: message.kind(),
            text: message.text(),
            raw: message.tree.clone(),
        })
    }
}

impl Stream for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, LayoutError>> {
        match self.messages.next()? {
            Ok(message) => Some(Ok(self.entry(&message))),
            Err(error) => Some(Err(error.into())),
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }
}

/// Where a snapshot is: its place, that of its message, and where it is in the document.
type SnapshotAt = (u64, u64, Option<u64>);

/// Where the snapshots of a range of messages are.
fn places(log: &ChatLog, turns: &RangeInclusive<u64>) -> Result<VecDeque<SnapshotAt>, LayoutError> {
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

struct Snapshots<'l> {
    log: &'l ChatLog,
    places: VecDeque<SnapshotAt>,
}

impl Snapshots<'_> {
    fn read(&self, (place, message, offset): SnapshotAt) -> Result<Option<Tree>, LayoutError> {
        let log = self.log;
        Ok(match (offset, log.overlay.snapshots.get(&place)) {
            (Some(offset), _) => {
                let known = crate::index::SnapshotPlace { message, place, offset };
                Some(log.snapshot_at(&known)?)
            }
            (None, Some(added)) => {
                let value = log.journal_value(&added.line)?;
                Some(log.with_edits(List::Snapshots, place, value.to_line())?)
            }
            (None, None) => None,
        })
    }
}

impl Stream for Snapshots<'_> {
    type Item = (u64, Tree);

    fn next(&mut self) -> Option<Result<(u64, Tree), LayoutError>> {
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

struct Changes<'l> {
    snapshots: Snapshots<'l>,
    ready: VecDeque<Change>,
}

impl Changes<'_> {
    fn read(&mut self, turn: u64, tree: &Tree) {
        let tool = tree.string_at(&["tool_id"]).unwrap_or_default();
        for changed in changes_of(tree) {
            let path = Path::array([tool.clone(), changed.component]);
            let mut delta = Delta::set(path, changed.after);
            delta.previous = Some(changed.before).filter(|before| !before.is_null());
            self.ready.push_back(Change { turn, scope: SCOPE.to_owned(), delta, time: None });
        }
    }
}

impl Stream for Changes<'_> {
    type Item = Change;

    fn next(&mut self) -> Option<Result<Change, LayoutError>> {
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
