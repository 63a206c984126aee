//! The campaign target: one row for each input of the player and the response.

use serde_json::Value;

use super::record::RecordSource;
use super::report::ConversionReport;
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::{OwnTarget, SessionDraft};
use everturn_campaign::{RecordedCampaign, RecordedTurn, RowSource};
use everturn_json::names::SessionId;
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef};
use everturn_value::tree::JsonTree;

pub(super) struct CampaignTarget;

/// The only scope of a campaign's state.
const SCOPE: &str = "campaign";

impl OwnTarget for CampaignTarget {
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        _report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError> {
        let created = story.created.unwrap_or(draft.now);
        let mut time = created;
        let mut turns: Vec<RecordedTurn> = Vec::new();
        let mut turn_of = Vec::new();
        let (mut rest, rows): (&[String], Vec<&[SourceEntry]>) = match records {
            RecordSource::Carrying(carried) => (carried, rows(&story.entries).collect()),
            RecordSource::Original => (&[], story.records().collect()),
        };
        for row in rows {
            let (mine, others) = rest.split_at_checked(row.len()).unwrap_or((rest, &[]));
            rest = others;
            time = row.iter().find_map(|source| source.entry.time).unwrap_or(time);
            turn_of.extend(row.iter().map(|_| turns.len() as u64 + 1));
            let as_it_was = || row.first().and_then(|source| source.raw.clone());
            let row_told = match records {
                RecordSource::Carrying(_) => {
                    RowSource::Generated(format!("{{\"entries\":[{}]}}", mine.join(",")))
                }
                RecordSource::Original => {
                    RowSource::Verbatim(as_it_was().unwrap_or_else(JsonTree::null))
                }
            };
            let said = |wanted: fn(&EntryKind) -> bool| {
                let texts =
                    row.iter().map(|source| &source.entry).filter(|entry| wanted(&entry.kind));
                texts.map(|entry| entry.text.as_str()).collect::<Vec<&str>>().join("\n\n")
            };
            let changes = row.iter().flat_map(|source| &source.changes).filter(|_| draft.states);
            turns.push(RecordedTurn {
                time,
                user_input: said(|kind| *kind == EntryKind::User),
                text: said(is_answer),
                row: row_told,
                deltas: changes.map(|change| change.delta.clone()).collect(),
            });
        }
        let id = SessionId::parse(&draft.id)?;
        let document = story.state.as_ref().filter(|_| draft.states);
        let document = document.and_then(|state| state.value_at(&[SCOPE]));
        let goal = story.title.clone().filter(|_| document.is_none());
        let path = RecordedCampaign { id, created, goal, document, turns }.create(&draft.store)?;
        draft.put_marks(story, records, &path, |at| turn_of.get(at).copied().unwrap_or(0))?;
        Ok(SessionRef { id: draft.id.clone(), path })
    }

    fn takes_states(&self, story: &SourceSession) -> bool {
        let document =
            story.state.as_ref().and_then(|state| state.value_at(&[SCOPE])?.to_value().ok());
        let has = |key: &str| document.as_ref().is_some_and(|document| document.get(key).is_some());
        let mut changes = story.entries.iter().flat_map(|source| &source.changes);
        document.as_ref().is_some_and(Value::is_object)
            && has("selected")
            && has("settings_snapshot")
            && changes.all(|change| change.scope == SCOPE)
    }
}

fn is_answer(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Narrator | EntryKind::Assistant | EntryKind::Npc)
}

/// The entries of each row: an input of the player starts a row, and so does a new turn after a response.
fn rows(entries: &[SourceEntry]) -> impl Iterator<Item = &[SourceEntry]> {
    let mut spoken = false;
    entries.chunk_by(move |before, next| {
        spoken |= is_answer(&before.entry.kind);
        let begins =
            next.entry.kind == EntryKind::User || spoken && next.entry.turn != before.entry.turn;
        spoken &= !begins;
        !begins
    })
}
