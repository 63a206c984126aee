//! A campaign that is read, in the common view.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use jiff::Timestamp;

use crate::log::{self, ChangeKind, Log, TurnRow};
use crate::session::Campaign;
use everturn_json::finding::Finding;
use everturn_session::layout::{LayoutError, Reader, Stream};
use everturn_session::view::carried::{carried, carrier, restored};
use everturn_session::view::{Change, Entry, Kind, Mark, State};
use everturn_value::tree::Tree;

/// The one part of the state that campaigns have.
const SCOPE: &str = "campaign";

/// Who tells the story.
const NARRATOR: &str = "narrator";

pub(super) struct CampaignReader {
    pub(super) campaign: Campaign,
}

impl Reader for CampaignReader {
    fn turns(&self) -> Result<RangeInclusive<u64>, LayoutError> {
        // The state before the first row is not always known; whoever asks is told.
        Ok(0..=self.campaign.turn())
    }

    fn findings(&self) -> Vec<Finding> {
        self.campaign.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Entry> + '_>, LayoutError> {
        let rows = self.campaign.rows()?;
        Ok(Box::new(Entries { rows, turns, ready: VecDeque::new(), seq: 0 }))
    }

    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Change> + '_>, LayoutError> {
        let log = self.campaign.changes()?;
        Ok(Box::new(Changes { log, turns, ready: VecDeque::new() }))
    }

    fn state(&self, turn: Option<u64>) -> Result<State, LayoutError> {
        let moment = self.campaign.state_at(turn.unwrap_or(self.campaign.turn()))?;
        let scopes = vec![(SCOPE.to_owned(), moment.state)];
        Ok(State { turn: moment.turn, scopes, findings: moment.findings })
    }

    fn marks(&self) -> Result<Vec<Mark>, LayoutError> {
        self.campaign.marks()
    }
}

struct Entries {
    rows: Log<TurnRow>,
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
            let row = match self.rows.next()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error.into())),
            };
            let entries = entries(&row, self.seq);
            self.seq += entries.len() as u64;
            if self.turns.contains(&row.turn) {
                self.ready.extend(entries);
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.rows.findings)
    }
}

/// What a row tells: what the player said, what the narrator called, what came of it, what it said.
fn entries(row: &TurnRow, before: u64) -> Vec<Entry> {
    let tree = &row.row;
    let id = tree.string_at(&["turn_id"]).unwrap_or_default();
    let time = tree.string_at(&["timestamp"]).and_then(|time| time.parse::<Timestamp>().ok());
    let actor = tree.string_at(&["state_summary", "active_actor_id"]).unwrap_or_default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |speaker: &str, kind: Kind, text: String, raw: Tree| {
        let number = entries.len() as u64 + 1;
        entries.push(Entry {
            seq: before + number,
            turn: row.turn,
            id: format!("{id}-{number}"),
            time,
            speaker: speaker.to_owned(),
            kind,
            text,
            raw,
        });
    };
    let list = |path: &[&str]| tree.at(path).map(|list| list.children()).unwrap_or_default();
    let said = |part: &Tree, key: &str| part.string_at(&[key]).unwrap_or_default();
    let carried = carried(tree);
    if !carried.is_empty() {
        for (at, one) in carried.iter().enumerate() {
            // The first one has the whole row.
            let raw = if at == 0 { tree.clone() } else { carrier(one) };
            match said(tree, "user_input") {
                input if at == 0 && !input.is_empty() => add(&actor, Kind::User, input, raw),
                _ => add(NARRATOR, Kind::Narrator, said(tree, "assistant_text"), raw),
            }
        }
        return entries.into_iter().zip(&carried).map(|(told, one)| restored(told, one)).collect();
    }
    add(&actor, Kind::User, said(tree, "user_input"), tree.clone());
    for (_, call) in list(&["assistant_structured", "tool_calls"]) {
        let args = call.text_at(&["args"]).unwrap_or_default();
        add(NARRATOR, Kind::ToolCall, format!("{} {args}", said(&call, "tool")), call);
    }
    for (_, action) in list(&["applied_actions"]) {
        let result = action.text_at(&["result"]).unwrap_or_default();
        let tool = said(&action, "tool");
        add(&tool, Kind::ToolResult, format!("{tool} {result}"), action);
    }
    for (_, call) in list(&["tool_feedback", "failed_calls"]) {
        let tool = said(&call, "tool");
        let text = format!("{tool} {}: {}", said(&call, "status"), said(&call, "reason"));
        add(&tool, Kind::ToolResult, text, call);
    }
    add(NARRATOR, Kind::Narrator, said(tree, "assistant_text"), tree.clone());
    for (_, twin) in list(&[log::OWN, "also"]) {
        add(&actor, Kind::User, said(&twin, "user_input"), twin.clone());
        add(NARRATOR, Kind::Narrator, said(&twin, "assistant_text"), twin);
    }
    entries
}

struct Changes {
    log: Log<log::Change>,
    turns: RangeInclusive<u64>,
    ready: VecDeque<Change>,
}

impl Stream for Changes {
    type Item = Change;

    fn next(&mut self) -> Option<Result<Change, LayoutError>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Some(Ok(change));
            }
            let line = match self.log.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error.into())),
            };
            if line.kind != ChangeKind::Base && self.turns.contains(&line.turn) {
                let (turn, scope) = (line.turn, SCOPE.to_owned());
                let change = |delta| Change { turn, scope: scope.clone(), delta, time: None };
                self.ready.extend(line.deltas.into_iter().map(change));
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.log.findings)
    }
}
