//! A session that is read, in the common view.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::NAME;
use crate::error::CodeliaError;
use crate::home::{Home, Session};
use crate::legacy::Legacy;
use crate::log::{Messages, Stored, Tally};
use crate::message::{Role, calls, role, text};
use everturn_json::finding::Finding;
use everturn_json::names::SessionId;
use everturn_session::layout::{LayoutError, NoChanges, Reader, Stream};
use everturn_session::view::carried::{carried, restored};
use everturn_session::view::{Change, Entry, Kind, State};
use everturn_value::tree::Tree;

/// The one part of the state that a session has: what the program keeps about it.
const SCOPE: &str = "meta";

pub(super) struct SessionReader {
    home: Home,
    session: Session,
    /// How many messages there are, once somebody has asked: the whole log is read for it.
    tally: OnceCell<Tally>,
    findings: Vec<Finding>,
}

impl SessionReader {
    pub(super) fn open(home: Home, id: &SessionId) -> Result<SessionReader, CodeliaError> {
        let mut findings = Vec::new();
        let session = home.find(id, &mut findings)?;
        Ok(SessionReader { home, session, tally: OnceCell::new(), findings })
    }

    fn last(&self) -> Result<u64, CodeliaError> {
        if let Some(tally) = self.tally.get() {
            return Ok(tally.messages);
        }
        let tally = self.home.count(&self.session)?;
        Ok(self.tally.get_or_init(|| tally).messages)
    }
}

impl Reader for SessionReader {
    fn turns(&self) -> Result<RangeInclusive<u64>, LayoutError> {
        Ok(0..=self.last()?)
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Entry> + '_>, LayoutError> {
        let source = if self.session.has_log || !self.session.has_legacy {
            Source::Log(Box::new(self.home.messages(&self.session.id)?))
        } else {
            let legacy = Legacy::read(&self.home, &self.session.id)?;
            let stored = (1..).zip(legacy.messages).map(|(number, message)| Stored {
                number,
                message,
                line: None,
                offset: 0,
                length: 0,
            });
            Source::Legacy(stored.collect(), legacy.findings)
        };
        Ok(Box::new(Entries { source, turns, ready: VecDeque::new(), seq: 0 }))
    }

    fn changes(
        &self,
        _turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Change> + '_>, LayoutError> {
        Ok(Box::new(NoChanges))
    }

    fn state(&self, turn: Option<u64>) -> Result<State, LayoutError> {
        let last = self.last()?;
        LayoutError::unless_present(NAME, turn, last)?;
        let meta = self.session.row.as_ref().and_then(|row| row.meta_json.clone());
        let meta = meta.and_then(|meta| Tree::parse(meta).ok()).unwrap_or_else(Tree::object);
        let scopes = vec![(SCOPE.to_owned(), meta)];
        Ok(State { turn: last, scopes, findings: Vec::new() })
    }
}

enum Source {
    Log(Box<Messages>),
    Legacy(VecDeque<Stored>, Vec<Finding>),
}

struct Entries {
    source: Source,
    turns: RangeInclusive<u64>,
    ready: VecDeque<Entry>,
    /// How many entries there were so far.
    seq: u64,
}

impl Stream for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, LayoutError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            let stored = match &mut self.source {
                Source::Log(messages) => messages.next()?,
                Source::Legacy(messages, _) => Ok(messages.pop_front()?),
            };
            let stored = match stored {
                Ok(stored) if stored.number > *self.turns.end() => return None,
                Ok(stored) => stored,
                Err(error) => return Some(Err(error.into())),
            };
            let entries = entries(&stored, self.seq);
            self.seq += entries.len() as u64;
            if self.turns.contains(&stored.number) {
                self.ready.extend(entries);
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        match &mut self.source {
            Source::Log(messages) => std::mem::take(&mut messages.findings),
            Source::Legacy(_, findings) => std::mem::take(findings),
        }
    }
}

/// What a message tells: what was said, then what was called.
fn entries(stored: &Stored, before: u64) -> Vec<Entry> {
    let message = &stored.message;
    // Several fields are asked for, and the text may be long: it is gone through once.
    let fields = message.clone().opened();
    let named = |key: &str| fields.string_at(&[key]).filter(|name| !name.is_empty());
    let role = role(&fields);
    let (kind, word) = match &role {
        Role::User => (Kind::User, "user"),
        Role::System => (Kind::System, "system"),
        Role::Assistant => (Kind::Assistant, "assistant"),
        Role::Tool => (Kind::ToolResult, "tool"),
        Role::Reasoning => (Kind::parse("thinking"), "assistant"),
        Role::Other(other) => (Kind::parse(other), other.as_str()),
    };
    let speaker = match role {
        Role::Tool => named("tool_name"),
        _ => named("name"),
    };
    let speaker = speaker.unwrap_or_else(|| word.to_owned());
    let calls = calls(&fields);
    let said = text(&fields);
    let is_silent = said.is_empty() && !calls.is_empty();
    let mut entries = Vec::new();
    let mut add = |kind: Kind, text: String, raw: Tree| {
        let number = entries.len() as u64 + 1;
        entries.push(Entry {
            seq: before + number,
            turn: stored.number,
            id: format!("{}-{number}", stored.number),
            time: None,
            speaker: speaker.clone(),
            kind,
            text,
            raw,
        });
    };
    if !is_silent {
        add(kind, said, message.clone());
    }
    for (at, call) in calls.into_iter().enumerate() {
        // A message that says nothing is still shown whole, with its first call.
        let raw = if at == 0 && is_silent { message.clone() } else { call.raw };
        add(Kind::ToolCall, format!("{} {}", call.name, call.arguments), raw);
    }
    if let Some(carried) = carried(message).first() {
        let whole = entries.into_iter().next();
        return whole.map(|told| restored(told, carried)).into_iter().collect();
    }
    entries
}
