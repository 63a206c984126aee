//! A session of Codelia: a message for each entry.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::calls::{Pairs, tool_name};
use super::record::Records;
use super::report::{Fate, Report};
use super::story::{Story, Told};
use super::{Draft, Own};
use everturn_codelia::Home;
use everturn_json::names::SessionId;
use everturn_session::layout::{Layout, LayoutError};
use everturn_session::view::{Kind, New, Place};
use everturn_store::Store;

pub(super) struct Codelia;

impl Own for Codelia {
    fn write(
        &self,
        story: &Story,
        records: Records<'_>,
        draft: &Draft,
        report: &mut Report,
    ) -> Result<Place, LayoutError> {
        let ids = Ids::of(story);
        let mut places = 0..;
        let messages =
            records.lines(story, |told| ids.message(told, places.next().unwrap_or_default()));
        if story.title.is_some() {
            let why = "sessions of Codelia are called by what the user said last";
            report.note("the title", Fate::Changed, why);
        }
        if !story.marks.is_empty() {
            let why = "Codelia has no marks; Everturn has them again when this is converted";
            report.note(format!("marks: {}", story.marks.len()), Fate::Changed, why);
        }
        let layout = everturn_codelia::CodeliaLayout;
        let created = story.created.unwrap_or(draft.now);
        let mut editor = layout.create(&draft.store, &New::with_id(&draft.id), created)?;
        if !messages.is_empty() {
            let all = format!("{{\"messages\":[{}]}}", messages.join(","));
            editor.append(&all, draft.now)?;
        }
        let place = editor.place();
        editor.close(draft.now)?;
        Ok(place)
    }

    /// Whoever opens a log to write brings the index up to date.
    fn settle(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        story: &Story,
    ) -> Result<(), LayoutError> {
        everturn_codelia::CodeliaLayout.edit(store, place)?.release()?;
        let (home, id) = (Home::new(Arc::clone(store)), SessionId::parse(&place.id)?);
        home.date(&id, story.created, story.facts.updated);
        Ok(())
    }
}

/// The ids by which calls are answered, by the places of their entries.
struct Ids {
    of_calls: Vec<String>,
    pairs: Pairs,
}

impl Ids {
    /// Each call keeps the id that it had, if no other has it.
    fn of(story: &Story) -> Ids {
        let mut taken = HashSet::new();
        let own = |told: &Told| told.call.id.clone().filter(|_| told.entry.kind == Kind::ToolCall);
        let mut named = story.entries.iter().map(own).collect::<Vec<_>>();
        for id in &mut named {
            *id = id.take().filter(|id| !id.is_empty() && taken.insert(id.clone()));
        }
        let mut number = 0;
        let free = |id: Option<String>| {
            id.unwrap_or_else(|| {
                number += 1;
                while taken.contains(&format!("call-{number}")) {
                    number += 1;
                }
                format!("call-{number}")
            })
        };
        Ids { of_calls: named.into_iter().map(free).collect(), pairs: story.pairs() }
    }

    fn message(&self, told: &Told, at: usize) -> Value {
        let (text, speaker) = (told.entry.text.as_str(), told.entry.speaker.as_str());
        let id = |at: usize| self.of_calls.get(at);
        match &told.entry.kind {
            Kind::ToolCall => {
                let (name, arguments) = told.call.split(text);
                let function = json!({"name": tool_name(name), "arguments": arguments});
                let call = json!({"id": id(at), "type": "function", "function": function});
                named("assistant", speaker, json!({"content": null, "tool_calls": [call]}))
            }
            Kind::ToolResult => match self.pairs.partner(at).and_then(id) {
                Some(id) => json!({
                    "role": "tool", "tool_call_id": id, "tool_name": speaker, "content": text,
                }),
                // An answer to nothing is refused by those who read it, and has nobody's authority.
                None => named("assistant", speaker, json!({"content": text})),
            },
            kind if *kind == Kind::thinking() => {
                named("reasoning", speaker, json!({"content": text}))
            }
            Kind::User => named("user", speaker, json!({"content": text})),
            Kind::Assistant | Kind::Narrator | Kind::Npc => {
                named("assistant", speaker, json!({"content": text}))
            }
            _ => named("system", speaker, json!({"content": text})),
        }
    }
}

/// A message of somebody who has a name, unless the role says it.
fn named(role: &str, speaker: &str, rest: Value) -> Value {
    let word = if role == "reasoning" { "assistant" } else { role };
    let mut fields = serde_json::Map::new();
    fields.insert("role".to_owned(), role.into());
    if speaker != word && !speaker.is_empty() {
        fields.insert("name".to_owned(), speaker.into());
    }
    if let Value::Object(rest) = rest {
        fields.extend(rest);
    }
    Value::Object(fields)
}
