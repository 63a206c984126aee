//! The reader of a campaign in the common model.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::NAME;
use crate::log::{self, ChangeKind, RecordLog, TurnRow};
use crate::session::Campaign;
use everturn_json::finding::Finding;
use everturn_session::format::{
    CurrentState, MarkedSession, ReaderAbilities, RecordStream, SessionError, SessionReader,
    StateHistory,
};
use everturn_session::model::carried::{carried_entries, carrier_record, restore_entry};
use everturn_session::model::{Entry, EntryExtras, EntryKind, Mark, SessionState, StateChange};
use everturn_value::tree::JsonTree;

/// The only scope of a campaign's state.
const SCOPE: &str = "campaign";

/// The speaker of the narrator's entries.
const NARRATOR: &str = "narrator";

pub(super) struct CampaignReader {
    pub(super) campaign: Campaign,
}

impl SessionReader for CampaignReader {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        // The state before the first row is not always known; reading it may return an error.
        Ok(0..=self.campaign.turn())
    }

    fn findings(&self) -> Vec<Finding> {
        self.campaign.findings().to_vec()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let rows = self.campaign.rows()?;
        let outside = self.campaign.rows_outside_story()?;
        Ok(Box::new(CampaignEntries { rows, turns, outside, ready: VecDeque::new(), seq: 0 }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            state: Some(self),
            history: Some(self),
            marks: Some(self),
            ..ReaderAbilities::default()
        }
    }
}

impl CurrentState for CampaignReader {
    fn state(&self) -> Result<SessionState, SessionError> {
        self.state_at(self.campaign.turn())
    }
}

impl StateHistory for CampaignReader {
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError> {
        let log = self.campaign.changes()?;
        Ok(Box::new(CampaignChanges { log, turns, ready: VecDeque::new() }))
    }

    fn state_at(&self, turn: u64) -> Result<SessionState, SessionError> {
        let moment = self.campaign.state_at(turn)?;
        let scopes = vec![(SCOPE.to_owned(), moment.state)];
        Ok(SessionState { turn: moment.turn, scopes, findings: moment.findings })
    }
}

impl MarkedSession for CampaignReader {
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        self.campaign.marks()
    }
}

struct CampaignEntries {
    rows: RecordLog<TurnRow>,
    turns: RangeInclusive<u64>,
    /// The turns that are not in the story.
    outside: BTreeSet<u64>,
    ready: VecDeque<Entry>,
    /// The number of entries so far.
    seq: u64,
}

impl RecordStream for CampaignEntries {
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
            let mut entries = entries(&row, self.seq);
            if self.outside.contains(&row.turn) {
                entries.iter_mut().for_each(|entry| entry.kind = EntryKind::bookkeeping());
            }
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

/// Returns the entries of a row: the player's input, tool calls, their results, the narrator's answer.
fn entries(row: &TurnRow, before: u64) -> Vec<Entry> {
    let tree = &row.row;
    let id = tree.string_at(&["turn_id"]).unwrap_or_default();
    let time = tree.string_at(&["timestamp"]).and_then(|time| time.parse::<Timestamp>().ok());
    let actor = tree.string_at(&["state_summary", "active_actor_id"]).unwrap_or_default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |speaker: &str, kind: EntryKind, text: String, raw: JsonTree| {
        let number = entries.len() as u64 + 1;
        entries.push(Entry {
            seq: before + number,
            turn: row.turn,
            id: format!("{id}-{number}"),
            time,
            speaker: speaker.to_owned(),
            kind,
            text,
            extras: EntryExtras::default(),
            raw,
        });
    };
    let list = |path: &[&str]| tree.value_at(path).map(|list| list.children()).unwrap_or_default();
    let said = |part: &JsonTree, key: &str| part.string_at(&[key]).unwrap_or_default();
    let carried = carried_entries(tree);
    if !carried.is_empty() {
        for (at, one) in carried.iter().enumerate() {
            // The first entry has the whole row.
            let raw = if at == 0 { tree.clone() } else { carrier_record(one) };
            match said(tree, "user_input") {
                input if at == 0 && !input.is_empty() => add(&actor, EntryKind::User, input, raw),
                _ => add(NARRATOR, EntryKind::Narrator, said(tree, "assistant_text"), raw),
            }
        }
        return entries
            .into_iter()
            .zip(&carried)
            .map(|(told, one)| restore_entry(told, one))
            .collect();
    }
    add(&actor, EntryKind::User, said(tree, "user_input"), tree.clone());
    for (_, call) in list(&["assistant_structured", "tool_calls"]) {
        let args = call.text_at(&["args"]).unwrap_or_default();
        add(NARRATOR, EntryKind::ToolCall, format!("{} {args}", said(&call, "tool")), call);
    }
    for (_, action) in list(&["applied_actions"]) {
        let result = action.text_at(&["result"]).unwrap_or_default();
        let tool = said(&action, "tool");
        add(&tool, EntryKind::ToolResult, format!("{tool} {result}"), action);
    }
    for (_, call) in list(&["tool_feedback", "failed_calls"]) {
        let tool = said(&call, "tool");
        let text = format!("{tool} {}: {}", said(&call, "status"), said(&call, "reason"));
        add(&tool, EntryKind::ToolResult, text, call);
    }
    add(NARRATOR, EntryKind::Narrator, said(tree, "assistant_text"), tree.clone());
    for (_, twin) in list(&[log::OWN, "also"]) {
        add(&actor, EntryKind::User, said(&twin, "user_input"), twin.clone());
        add(NARRATOR, EntryKind::Narrator, said(&twin, "assistant_text"), twin);
    }
    entries
}

struct CampaignChanges {
    log: RecordLog<log::ChangeRecord>,
    turns: RangeInclusive<u64>,
    ready: VecDeque<StateChange>,
}

impl RecordStream for CampaignChanges {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
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
                let change = |delta| StateChange { turn, scope: scope.clone(), delta, time: None };
                self.ready.extend(line.deltas.into_iter().map(change));
            }
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.log.findings)
    }
}
