//! The game target: one turn for each entry.

use serde_json::{Map, Value, json};

use super::record::RecordSource;
use super::report::ConversionReport;
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::{OwnTarget, SessionDraft};
use everturn_game::{GameFormat, Scope};
use everturn_session::format::{EditableFormat, SessionError};
use everturn_session::model::{Entry, EntryKind, NewSession, SessionRef};
use everturn_value::tree::JsonTree;

pub(super) struct GameTarget;

impl OwnTarget for GameTarget {
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        _report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError> {
        let created = story.created.unwrap_or(draft.now);
        let new = NewSession { fields: fields(story, &draft.id), ..NewSession::with_id(&draft.id) };
        let mut editor = GameFormat.create(&draft.store, &new, created)?;
        let mut time = created;
        let lines = records.lines(story, |SourceEntry { entry, .. }| {
            time = entry.time.unwrap_or(time);
            turn(entry, time.as_millisecond())
        });
        for (source, line) in story.entries.iter().zip(lines) {
            time = source.entry.time.unwrap_or(time);
            let changes = if draft.states { changes(source) } else { String::new() };
            let line = line.strip_suffix('}').unwrap_or(&line);
            editor.append(&format!("{line}{changes}}}"), time)?;
        }
        let place = editor.session_ref();
        editor.close(story.facts.updated.unwrap_or(time))?;
        draft.put_marks(story, records, &place.path, |at| at as u64 + 1)?;
        Ok(place)
    }

    fn takes_states(&self, story: &SourceSession) -> bool {
        let ours = |scope: &str| {
            matches!(Scope::parse(scope), Some(Scope::World | Scope::Player | Scope::Scene))
        };
        let state = story.state.as_ref();
        let known = state.is_some_and(|state| {
            let plain = |key: &str| {
                state.value_at(&[key]).is_some_and(|tree| tree.len_at::<&str>(&[]).is_some())
            };
            plain("world")
                && plain("player")
                && state
                    .children()
                    .iter()
                    .all(|(scope, tree)| ours(scope) && (scope != "scene" || tree.is_null()))
        });
        let changes = || story.entries.iter().flat_map(|source| &source.changes);
        known && changes().all(|change| ours(&change.scope))
    }
}

/// The fields of a new game.
fn fields(story: &SourceSession, id: &str) -> JsonTree {
    let text = |text: &str| JsonTree::from_value(text).unwrap_or_else(|_| JsonTree::null());
    let title = story.title.as_deref().unwrap_or(id);
    let mut fields = vec![("title".to_owned(), text(title))];
    fields.extend(story.game.as_ref().map(|game| game.children()).unwrap_or_default());
    fields.extend(story.facts.lineage_in("game").map(|lineage| ("lineage".to_owned(), lineage)));
    if let Some(state) = story.state.as_ref().filter(|_| GameTarget.takes_states(story)) {
        let part = |scope: &str, key: &str| Some((key.to_owned(), state.value_at(&[scope])?));
        fields.extend(part("world", "world"));
        fields.extend(part("player", "playerState"));
    }
    JsonTree::from_members(fields)
}

/// The changes of an entry, as part of a turn.
fn changes(source: &SourceEntry) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for change in &source.changes {
        let delta = change.delta.to_line();
        match groups.last_mut() {
            Some((scope, deltas)) if *scope == change.scope => deltas.push(delta),
            _ => groups.push((&change.scope, vec![delta])),
        }
    }
    if groups.is_empty() {
        return String::new();
    }
    let groups: Vec<String> = groups
        .iter()
        .map(|(scope, deltas)| {
            format!("{{\"scope\":\"{scope}\",\"deltas\":[{}]}}", deltas.join(","))
        })
        .collect();
    format!(",\"deltas\":[{}]", groups.join(","))
}

fn turn(entry: &Entry, time: i64) -> Value {
    let actor = match &entry.kind {
        EntryKind::User => "player",
        EntryKind::Narrator | EntryKind::Assistant => "gm",
        EntryKind::Npc => match entry.speaker.as_str() {
            "" | "player" | "gm" | "system" => "npc",
            speaker => speaker,
        },
        _ => "system",
    };
    let mut fields = Map::new();
    fields.insert("actor".to_owned(), actor.into());
    fields.insert("timestamp".to_owned(), time.into());
    match entry.kind {
        EntryKind::Narrator | EntryKind::Assistant => {
            fields.insert("narration".to_owned(), entry.text.as_str().into());
        }
        _ => {
            let event = json!({"type": entry.kind.as_str(), "description": entry.text});
            fields.insert("events".to_owned(), json!([event]));
        }
    }
    Value::Object(fields)
}
