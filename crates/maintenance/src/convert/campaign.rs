//! A campaign: a row for each thing that a player said and what came of it.

use serde_json::Value;

use super::record::Records;
use super::report::Report;
use super::story::{Story, Told};
use super::{Draft, Own};
use everturn_campaign::{RowTold, ToldCampaign, ToldTurn};
use everturn_json::names::SessionId;
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place};
use everturn_value::tree::Tree;

pub(super) struct Campaign;

/// The one part of the state that campaigns have.
const SCOPE: &str = "campaign";

impl Own for Campaign {
    fn write(
        &self,
        story: &Story,
        records: Records<'_>,
        draft: &Draft,
        _report: &mut Report,
    ) -> Result<Place, LayoutError> {
        let created = story.created.unwrap_or(draft.now);
        let mut time = created;
        let mut turns: Vec<ToldTurn> = Vec::new();
        let mut turn_of = Vec::new();
        let (mut rest, rows): (&[String], Vec<&[Told]>) = match records {
            Records::Carrying(carried) => (carried, rows(&story.entries).collect()),
            Records::Original => (&[], story.records().collect()),
        };
        for row in rows {
            let (mine, others) = rest.split_at_checked(row.len()).unwrap_or((rest, &[]));
            rest = others;
            time = row.iter().find_map(|told| told.entry.time).unwrap_or(time);
            turn_of.extend(row.iter().map(|_| turns.len() as u64 + 1));
            let as_it_was = || row.first().and_then(|told| told.raw.clone());
            let row_told = match records {
                Records::Carrying(_) => {
                    RowTold::Anew(format!("{{\"entries\":[{}]}}", mine.join(",")))
                }
                Records::Original => RowTold::AsItWas(as_it_was().unwrap_or_else(Tree::null)),
            };
            let said = |wanted: fn(&Kind) -> bool| {
                let texts = row.iter().map(|told| &told.entry).filter(|entry| wanted(&entry.kind));
                texts.map(|entry| entry.text.as_str()).collect::<Vec<&str>>().join("\n\n")
            };
            let changes = row.iter().flat_map(|told| &told.changes).filter(|_| draft.states);
            turns.push(ToldTurn {
                time,
                user_input: said(|kind| *kind == Kind::User),
                text: said(is_answer),
                row: row_told,
                deltas: changes.map(|change| change.delta.clone()).collect(),
            });
        }
        let id = SessionId::parse(&draft.id)?;
        let document = story.state.as_ref().filter(|_| draft.states);
        let document = document.and_then(|state| state.at(&[SCOPE]));
        let goal = story.title.clone().filter(|_| document.is_none());
        let path = ToldCampaign { id, created, goal, document, turns }.create(&draft.store)?;
        draft.put_marks(story, records, &path, |at| turn_of.get(at).copied().unwrap_or(0))?;
        Ok(Place { id: draft.id.clone(), path })
    }

    fn takes_states(&self, story: &Story) -> bool {
        let document = story.state.as_ref().and_then(|state| state.at(&[SCOPE])?.to_value().ok());
        let has = |key: &str| document.as_ref().is_some_and(|document| document.get(key).is_some());
        let mut changes = story.entries.iter().flat_map(|told| &told.changes);
        document.as_ref().is_some_and(Value::is_object)
            && has("selected")
            && has("settings_snapshot")
            && changes.all(|change| change.scope == SCOPE)
    }
}

fn is_answer(kind: &Kind) -> bool {
    matches!(kind, Kind::Narrator | Kind::Assistant | Kind::Npc)
}

/// The entries of each row: what the player says begins one, and so does another turn of somebody who has spoken.
fn rows(entries: &[Told]) -> impl Iterator<Item = &[Told]> {
    let mut spoken = false;
    entries.chunk_by(move |before, next| {
        spoken |= is_answer(&before.entry.kind);
        let begins =
            next.entry.kind == Kind::User || spoken && next.entry.turn != before.entry.turn;
        spoken &= !begins;
        !begins
    })
}
