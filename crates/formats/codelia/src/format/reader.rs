//! The reader of a session, in the common model.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::NAME;
use crate::error::CodeliaError;
use crate::history::{HistoryMessage, SessionHistory};
use crate::home::CodeliaHome;
use crate::legacy::LegacySession;
use crate::log::{MessageCount, MessageReader, StoredMessage};
use crate::message::{MessageRole, calls, role, text};
use crate::sessions::Session;
use everturn_json::finding::Finding;
use everturn_json::names::SessionId;
use everturn_session::format::{
    BranchedSession, CurrentState, ReaderAbilities, RecordStream, SessionError, SessionReader,
    UsageRecords,
};
use everturn_session::model::carried::{carried_entries, restore_entry};
use everturn_session::model::{
    Entry, EntryExtras, EntryKind, SessionBranch, SessionState, SessionUsage,
};
use everturn_value::tree::JsonTree;

/// The only scope of the state: the program's metadata of the session.
const SCOPE: &str = "meta";

pub(super) struct CodeliaReader {
    home: CodeliaHome,
    session: Session,
    /// The message count, computed on first use because it reads the whole log.
    tally: OnceCell<MessageCount>,
    findings: Vec<Finding>,
}

impl CodeliaReader {
    pub(super) fn open(home: CodeliaHome, id: &SessionId) -> Result<CodeliaReader, CodeliaError> {
        let mut findings = Vec::new();
        let session = home.find(id, &mut findings)?;
        Ok(CodeliaReader { home, session, tally: OnceCell::new(), findings })
    }

    /// Whether only the runs have messages.
    pub(super) fn is_unsaved(&self) -> bool {
        self.session.is_unsaved
    }

    /// The whole history, with what the message log lacks.
    pub(super) fn history(&self) -> Result<HistoryReader, CodeliaError> {
        let history = SessionHistory::read(&self.home, &self.session.id)?;
        Ok(HistoryReader { history, state: self.meta() })
    }

    fn meta(&self) -> JsonTree {
        let meta = self.session.row.as_ref().and_then(|row| row.meta_json.clone());
        meta.and_then(|meta| JsonTree::parse(meta).ok()).unwrap_or_else(JsonTree::object)
    }

    fn last(&self) -> Result<u64, CodeliaError> {
        if let Some(tally) = self.tally.get() {
            return Ok(tally.messages);
        }
        let tally = self.home.count(&self.session)?;
        Ok(self.tally.get_or_init(|| tally).messages)
    }
}

impl SessionReader for CodeliaReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.last()?)
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let source = if self.session.has_log || !self.session.has_legacy {
            MessageSource::Log(Box::new(self.home.messages(&self.session.id)?))
        } else {
            let legacy = LegacySession::read(&self.home, &self.session.id)?;
            let stored = (1..).zip(legacy.messages).map(|(number, message)| StoredMessage {
                number,
                message,
                line: None,
                offset: 0,
                length: 0,
            });
            MessageSource::Legacy(stored.collect(), legacy.findings)
        };
        Ok(Box::new(CodeliaEntries { source, turns, ready: VecDeque::new(), seq: 0 }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            state: Some(self),
            branches: Some(self),
            usage: Some(self),
            ..ReaderAbilities::default()
        }
    }
}

impl CurrentState for CodeliaReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        let last = self.last()?;
        let scopes = vec![(SCOPE.to_owned(), self.meta())];
        Ok(SessionState { turn: last, scopes, findings: Vec::new() })
    }
}

impl BranchedSession for CodeliaReader {
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        let history = SessionHistory::read(&self.home, &self.session.id)?;
        if !history.has_more() {
            return Ok(Vec::new());
        }
        let shared = history.messages.iter().take_while(|one| one.is_current).count() as u64;
        Ok(vec![SessionBranch {
            id: FULL_HISTORY.to_owned(),
            from: Some(shared).filter(|shared| *shared > 0),
            turns: history.messages.len() as u64 - shared,
            updated: history.updated,
            title: "the whole history, from the logs of runs".to_owned(),
        }])
    }

    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        match branch {
            FULL_HISTORY => Ok(Box::new(self.history()?)),
            _ => Err(SessionError::no_branch(branch)),
        }
    }
}

impl UsageRecords for CodeliaReader {
    fn usage(&self) -> Option<SessionUsage> {
        SessionHistory::read_runs(&self.home, &self.session.id).ok()?.usage
    }
}

/// The id of the branch with the whole history of a session, where the logs of its runs have more than its message log.
pub const FULL_HISTORY: &str = "full";

/// Reads the whole history of a session.
pub(super) struct HistoryReader {
    history: SessionHistory,
    state: JsonTree,
}

impl SessionReader for HistoryReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.history.messages.len() as u64)
    }

    fn findings(&self) -> Vec<Finding> {
        self.history.findings.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let (mut ready, mut seq, mut current) = (VecDeque::new(), 0, 0_u64);
        for (number, one) in (1..).zip(&self.history.messages) {
            let HistoryMessage { message, time, is_current } = one;
            let message = message.clone();
            let stored = StoredMessage { number, message, line: None, offset: 0, length: 0 };
            let found = entries(&stored, seq);
            seq += found.len() as u64;
            current += u64::from(*is_current);
            if !turns.contains(&number) {
                continue;
            }
            // A message that the log has is the same entry in both.
            let named = |(entry, part): (Entry, u64)| {
                let id = match is_current {
                    true => format!("{current}-{part}"),
                    false => format!("{FULL_HISTORY}-{number}-{part}"),
                };
                Entry { id, time: *time, ..entry }
            };
            ready.extend(found.into_iter().zip(1..).map(named));
        }
        let source = MessageSource::Legacy(VecDeque::new(), Vec::new());
        Ok(Box::new(CodeliaEntries { source, turns, ready, seq }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities { state: Some(self), usage: Some(self), ..ReaderAbilities::default() }
    }
}

impl CurrentState for HistoryReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        let last = self.history.messages.len() as u64;
        let scopes = vec![(SCOPE.to_owned(), self.state.clone())];
        Ok(SessionState { turn: last, scopes, findings: Vec::new() })
    }
}

impl UsageRecords for HistoryReader {
    fn usage(&self) -> Option<SessionUsage> {
        self.history.usage.clone()
    }
}

enum MessageSource {
    Log(Box<MessageReader>),
    Legacy(VecDeque<StoredMessage>, Vec<Finding>),
}

struct CodeliaEntries {
    source: MessageSource,
    turns: RangeInclusive<u64>,
    ready: VecDeque<Entry>,
    /// The number of entries returned so far.
    seq: u64,
}

impl RecordStream for CodeliaEntries {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            let stored = match &mut self.source {
                MessageSource::Log(messages) => messages.next()?,
                MessageSource::Legacy(messages, _) => Ok(messages.pop_front()?),
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
            MessageSource::Log(messages) => std::mem::take(&mut messages.findings),
            MessageSource::Legacy(_, findings) => std::mem::take(findings),
        }
    }
}

/// The entries of a message: first its text, then its tool calls.
fn entries(stored: &StoredMessage, before: u64) -> Vec<Entry> {
    let message = &stored.message;
    // Several fields are read, and the text may be long: it is parsed once.
    let fields = message.clone().into_expanded();
    let named = |key: &str| fields.string_at(&[key]).filter(|name| !name.is_empty());
    let role = role(&fields);
    let (kind, word) = match &role {
        MessageRole::User => (EntryKind::User, "user"),
        MessageRole::System => (EntryKind::System, "system"),
        MessageRole::Assistant => (EntryKind::Assistant, "assistant"),
        MessageRole::Tool => (EntryKind::ToolResult, "tool"),
        MessageRole::Reasoning => (EntryKind::parse("thinking"), "assistant"),
        MessageRole::Other(other) => (EntryKind::parse(other), other.as_str()),
    };
    let speaker = match role {
        MessageRole::Tool => named("tool_name"),
        _ => named("name"),
    };
    let speaker = speaker.unwrap_or_else(|| word.to_owned());
    let calls = calls(&fields);
    let said = text(&fields);
    let is_silent = said.is_empty() && !calls.is_empty();
    let mut entries = Vec::new();
    let mut add = |kind: EntryKind, text: String, raw: JsonTree| {
        let number = entries.len() as u64 + 1;
        entries.push(Entry {
            seq: before + number,
            turn: stored.number,
            id: format!("{}-{number}", stored.number),
            time: None,
            speaker: speaker.clone(),
            kind,
            text,
            extras: EntryExtras::default(),
            raw,
        });
    };
    if !is_silent {
        add(kind, said, message.clone());
    }
    for (at, call) in calls.into_iter().enumerate() {
        // A message without text is still shown whole, with its first call.
        let raw = if at == 0 && is_silent { message.clone() } else { call.raw };
        add(EntryKind::ToolCall, format!("{} {}", call.name, call.arguments), raw);
    }
    if let Some(carried) = carried_entries(message).first() {
        let whole = entries.into_iter().next();
        return whole.map(|told| restore_entry(told, carried)).into_iter().collect();
    }
    entries
}
