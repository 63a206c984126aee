//! The reader of a session, in the common model.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::NAME;
use crate::content::{MessagePart, parts};
use crate::messages::{MessageReader, MessageRow, USER, finding};
use crate::paths::SessionFile;
use crate::session::Session;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::format::{
    CurrentState, MarkedSession, ReaderAbilities, RecordStream, SessionError, SessionReader,
};
use everturn_session::marks;
use everturn_session::model::carried::{carried_entries, restore_entry};
use everturn_session::model::{Entry, EntryExtras, EntryKind, Mark, SessionState};
use everturn_value::tree::JsonTree;

/// The only scope of the state: the metadata of the session.
const SCOPE: &str = "session";

pub(super) struct LinggenReader {
    pub(super) session: Session,
}

impl SessionReader for LinggenReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.session.count()?.0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.session.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let (rows, file) = (self.session.rows()?, self.session.file(SessionFile::Messages));
        Ok(Box::new(LinggenEntries {
            rows,
            file,
            turns,
            ready: VecDeque::new(),
            seq: 0,
            noticed: Vec::new(),
        }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities { state: Some(self), marks: Some(self), ..ReaderAbilities::default() }
    }
}

impl CurrentState for LinggenReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        // The metadata is overwritten, so its former values are unknown.
        let last = self.session.count()?.0;
        let values = self.session.meta().map(|meta| Value::Object(meta.values().clone()));
        let tree = values.and_then(|values| JsonTree::from_value(&values).ok());
        let scopes = vec![(SCOPE.to_owned(), tree.unwrap_or_else(JsonTree::object))];
        Ok(SessionState { turn: last, scopes, findings: Vec::new() })
    }
}

impl MarkedSession for LinggenReader {
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        marks::read_marks(&self.session.store, &self.session.place().dir)
    }
}

struct LinggenEntries {
    rows: MessageReader,
    file: FilePath,
    turns: RangeInclusive<u64>,
    ready: VecDeque<Entry>,
    /// The number of entries returned so far.
    seq: u64,
    noticed: Vec<Finding>,
}

impl RecordStream for LinggenEntries {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            let row = match self.rows.next()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error.into())),
            };
            let entries = entries(&row, self.seq);
            self.seq += entries.len() as u64;
            if row.number.is_some_and(|number| self.turns.contains(&number)) {
                if let Some(reason) = row.lacks() {
                    let message = format!("linggen skips this message: {reason}");
                    self.noticed.push(finding(&self.file, &row, message));
                }
                self.ready.extend(entries);
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        let mut findings = std::mem::take(&mut self.rows.findings);
        findings.append(&mut self.noticed);
        findings
    }
}

/// The entries of a message: one, or one per part of an agent's message.
fn entries(row: &MessageRow, before: u64) -> Vec<Entry> {
    let turn = row.number.unwrap_or_default();
    let raw = row.tree.clone().unwrap_or_else(JsonTree::null);
    let text = |key: &str| raw.string_at(&[key]);
    let speaker = text("from_id").unwrap_or_else(|| "unknown".to_owned());
    let observation = raw.value_at(&["is_observation"]).is_some_and(|is| is.to_line() == "true");
    let said = match (text("content"), row.tree.is_some()) {
        (Some(content), _) => content,
        (None, true) => raw.to_line(),
        (None, false) => format!("a message of {} bytes", row.length),
    };
    let carried = carried_entries(&raw);
    let parts = match speaker.as_str() {
        _ if observation => vec![MessagePart { kind: EntryKind::ToolResult, text: said }],
        USER => vec![MessagePart { kind: EntryKind::User, text: said }],
        "system" => vec![MessagePart { kind: EntryKind::System, text: said }],
        _ if row.lacks().is_some() => vec![MessagePart { kind: EntryKind::Event, text: said }],
        _ if !carried.is_empty() => vec![MessagePart { kind: EntryKind::Assistant, text: said }],
        _ => parts(&said, &EntryKind::Assistant),
    };
    let several = parts.len() > 1;
    let entry = |(at, part): (u64, MessagePart)| {
        let told = Entry {
            seq: before + at,
            turn,
            id: if several { format!("{turn}.{at}") } else { turn.to_string() },
            time: row.time(),
            speaker: speaker.clone(),
            kind: part.kind,
            text: part.text,
            extras: EntryExtras::default(),
            raw: raw.clone(),
        };
        match carried.first() {
            Some(carried) => restore_entry(told, carried),
            None => told,
        }
    };
    (1..).zip(parts).map(entry).collect()
}
