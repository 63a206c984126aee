//! A session that is read, in the common view.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::NAME;
use crate::content::{Part, parts};
use crate::messages::{Row, Rows, USER, finding};
use crate::names::SessionFile;
use crate::session::Session;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_session::layout::{LayoutError, NoChanges, Reader, Stream};
use everturn_session::marks;
use everturn_session::view::carried::{carried, restored};
use everturn_session::view::{Change, Entry, Kind, Mark, State};
use everturn_value::tree::Tree;

/// The one part of the state that sessions have: what they say about themselves.
const SCOPE: &str = "session";

pub(super) struct SessionReader {
    pub(super) session: Session,
}

impl Reader for SessionReader {
    fn turns(&self) -> Result<RangeInclusive<u64>, LayoutError> {
        Ok(0..=self.session.count()?.0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.session.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Entry> + '_>, LayoutError> {
        let (rows, file) = (self.session.rows()?, self.session.file(SessionFile::Messages));
        Ok(Box::new(Entries {
            rows,
            file,
            turns,
            ready: VecDeque::new(),
            seq: 0,
            noticed: Vec::new(),
        }))
    }

    fn changes(
        &self,
        _turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Change> + '_>, LayoutError> {
        Ok(Box::new(NoChanges))
    }

    fn marks(&self) -> Result<Vec<Mark>, LayoutError> {
        marks::read(&self.session.store, &self.session.place().dir)
    }

    fn state(&self, turn: Option<u64>) -> Result<State, LayoutError> {
        let last = self.session.count()?.0;
        // What a session says about itself is written over, so nobody knows what it said before.
        LayoutError::unless_present(NAME, turn, last)?;
        let values = self.session.meta().map(|meta| Value::Object(meta.values().clone()));
        let tree = values.and_then(|values| Tree::from_value(&values).ok());
        let scopes = vec![(SCOPE.to_owned(), tree.unwrap_or_else(Tree::object))];
        Ok(State { turn: last, scopes, findings: Vec::new() })
    }
}

struct Entries {
    rows: Rows,
    file: FilePath,
    turns: RangeInclusive<u64>,
    ready: VecDeque<Entry>,
    /// How many entries there were so far.
    seq: u64,
    noticed: Vec<Finding>,
}

impl Stream for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, LayoutError>> {
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
                    let message = format!("programs pass over this message: {reason}");
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

/// What a message tells: one entry, or one for each thing that an agent says and does in it.
fn entries(row: &Row, before: u64) -> Vec<Entry> {
    let turn = row.number.unwrap_or_default();
    let raw = row.tree.clone().unwrap_or_else(Tree::null);
    let text = |key: &str| raw.string_at(&[key]);
    let speaker = text("from_id").unwrap_or_else(|| "unknown".to_owned());
    let observation = raw.at(&["is_observation"]).is_some_and(|is| is.to_line() == "true");
    let said = match (text("content"), row.tree.is_some()) {
        (Some(content), _) => content,
        (None, true) => raw.to_line(),
        (None, false) => format!("a message of {} bytes", row.length),
    };
    let carried = carried(&raw);
    let parts = match speaker.as_str() {
        _ if observation => vec![Part { kind: Kind::ToolResult, text: said }],
        USER => vec![Part { kind: Kind::User, text: said }],
        "system" => vec![Part { kind: Kind::System, text: said }],
        _ if row.lacks().is_some() => vec![Part { kind: Kind::Event, text: said }],
        _ if !carried.is_empty() => vec![Part { kind: Kind::Assistant, text: said }],
        _ => parts(&said, &Kind::Assistant),
    };
    let several = parts.len() > 1;
    let entry = |(at, part): (u64, Part)| {
        let told = Entry {
            seq: before + at,
            turn,
            id: if several { format!("{turn}.{at}") } else { turn.to_string() },
            time: row.time(),
            speaker: speaker.clone(),
            kind: part.kind,
            text: part.text,
            raw: raw.clone(),
        };
        match carried.first() {
            Some(carried) => restored(told, carried),
            None => told,
        }
    };
    (1..).zip(parts).map(entry).collect()
}
