//! A game: a turn for each entry.

use serde_json::{Map, Value, json};

use super::record::Records;
use super::report::Report;
use super::story::{Story, Told};
use super::{Draft, Own};
use everturn_game::{GameLayout, Scope};
use everturn_session::layout::{Layout, LayoutError};
use everturn_session::view::{Entry, Kind, New, Place};
use everturn_value::tree::Tree;

pub(super) struct Game;

impl Own for Game {
    fn write(
        &self,
        story: &Story,
        records: Records<'_>,
        draft: &Draft,
        _report: &mut Report,
    ) -> Result<Place, LayoutError> {
        let created = story.created.unwrap_or(draft.now);
        let new = New { fields: fields(story, &draft.id), ..New::with_id(&draft.id) };
        let mut editor = GameLayout.create(&draft.store, &new, created)?;
        let mut time = created;
        let lines = records.lines(story, |Told { entry, .. }| {
            time = entry.time.unwrap_or(time);
            turn(entry, time.as_millisecond())
        });
        for (told, line) in story.entries.iter().zip(lines) {
            time = told.entry.time.unwrap_or(time);
            let changes = if draft.states { changes(told) } else { String::new() };
            let line = line.strip_suffix('}').unwrap_or(&line);
            editor.append(&format!("{line}{changes}}}"), time)?;
        }
        let place = editor.place();
        editor.close(story.facts.updated.unwrap_or(time))?;
        draft.put_marks(story, records, &place.path, |at| at as u64 + 1)?;
        Ok(place)
    }

    fn takes_states(&self, story: &Story) -> bool {
        let ours = |scope: &str| {
            matches!(Scope::parse(scope), Some(Scope::World | Scope::Player | Scope::Scene))
        };
        let state = story.state.as_ref();
        let known = state.is_some_and(|state| {
            let plain =
                |key: &str| state.at(&[key]).is_some_and(|tree| tree.len_at::<&str>(&[]).is_some());
            plain("world")
                && plain("player")
                && state
                    .children()
                    .iter()
                    .all(|(scope, tree)| ours(scope) && (scope != "scene" || tree.is_null()))
        });
        let changes = || story.entries.iter().flat_map(|told| &told.changes);
        known && changes().all(|change| ours(&change.scope))
    }
}

/// What a new game starts with.
fn fields(story: &Story, id: &str) -> Tree {
    let text = |text: &str| Tree::from_value(text).unwrap_or_else(|_| Tree::null());
    let title = story.title.as_deref().unwrap_or(id);
    let mut fields = vec![("title".to_owned(), text(title))];
    fields.extend(story.game.as_ref().map(|game| game.children()).unwrap_or_default());
    fields.extend(story.facts.lineage_in("game").map(|lineage| ("lineage".to_owned(), lineage)));
    if let Some(state) = story.state.as_ref().filter(|_| Game.takes_states(story)) {
        let part = |scope: &str, key: &str| Some((key.to_owned(), state.at(&[scope])?));
        fields.extend(part("world", "world"));
        fields.extend(part("player", "playerState"));
    }
    Tree::of_members(fields)
}

/// What an entry changes, as a turn is given it.
fn changes(told: &Told) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for change in &told.changes {
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
        Kind::User => "player",
        Kind::Narrator | Kind::Assistant => "gm",
        Kind::Npc => match entry.speaker.as_str() {
            "" | "player" | "gm" | "system" => "npc",
            speaker => speaker,
        },
        _ => "system",
    };
    let mut fields = Map::new();
    fields.insert("actor".to_owned(), actor.into());
    fields.insert("timestamp".to_owned(), time.into());
    match entry.kind {
        Kind::Narrator | Kind::Assistant => {
            fields.insert("narration".to_owned(), entry.text.as_str().into());
        }
        _ => {
            let event = json!({"type": entry.kind.as_str(), "description": entry.text});
            fields.insert("events".to_owned(), json!([event]));
        }
    }
    Value::Object(fields)
}
