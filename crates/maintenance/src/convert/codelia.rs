//! The Codelia target: one message for each entry.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::record::RecordSource;
use super::report::{ConversionReport, Disposition};
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::tool_calls::{CallPairs, tool_name};
use super::{OwnTarget, SessionDraft};
use everturn_codelia::CodeliaHome;
use everturn_json::names::SessionId;
use everturn_session::format::{EditableFormat, SessionError};
use everturn_session::model::{EntryKind, NewSession, SessionRef};
use everturn_store::Store;

pub(super) struct CodeliaTarget;

impl OwnTarget for CodeliaTarget {
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError> {
        let ids = CallIds::of(story);
        let mut places = 0..;
        let messages =
            records.lines(story, |source| ids.message(source, places.next().unwrap_or_default()));
        if story.title.is_some() {
            let why = "Codelia names sessions after the last user message";
            report.note("the title", Disposition::Changed, why);
        }
        if !story.marks.is_empty() {
            let why = "Codelia has no marks; they are restored when the session is converted back";
            report.note(format!("marks: {}", story.marks.len()), Disposition::Changed, why);
        }
        let layout = everturn_codelia::CodeliaFormat;
        let created = story.created.unwrap_or(draft.now);
        let mut editor = layout.create(&draft.store, &NewSession::with_id(&draft.id), created)?;
        if !messages.is_empty() {
            let all = format!("{{\"messages\":[{}]}}", messages.join(","));
            editor.append(&all, draft.now)?;
        }
        let place = editor.session_ref();
        editor.close(draft.now)?;
        Ok(place)
    }

    /// Opening a log for writing brings the index up to date.
    fn register(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        story: &SourceSession,
    ) -> Result<(), SessionError> {
        everturn_codelia::CodeliaFormat.edit(store, place)?.release()?;
        let (home, id) = (CodeliaHome::new(Arc::clone(store)), SessionId::parse(&place.id)?);
        home.set_times(&id, story.created, story.facts.updated);
        Ok(())
    }
}

/// The call IDs, by the index of the entry.
struct CallIds {
    of_calls: Vec<String>,
    pairs: CallPairs,
}

impl CallIds {
    /// Each call keeps its ID, if it is unique.
    fn of(story: &SourceSession) -> CallIds {
        let mut taken = HashSet::new();
        let own = |source: &SourceEntry| {
            source.call.id.clone().filter(|_| source.entry.kind == EntryKind::ToolCall)
        };
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
        CallIds { of_calls: named.into_iter().map(free).collect(), pairs: story.pairs() }
    }

    fn message(&self, source: &SourceEntry, at: usize) -> Value {
        let (text, speaker) = (source.entry.text.as_str(), source.entry.speaker.as_str());
        let id = |at: usize| self.of_calls.get(at);
        match &source.entry.kind {
            EntryKind::ToolCall => {
                let (name, arguments) = source.call.split(text);
                let function = json!({"name": tool_name(name), "arguments": arguments});
                let call = json!({"id": id(at), "type": "function", "function": function});
                named("assistant", speaker, json!({"content": null, "tool_calls": [call]}))
            }
            EntryKind::ToolResult => match self.pairs.partner(at).and_then(id) {
                Some(id) => json!({
                    "role": "tool", "tool_call_id": id, "tool_name": speaker, "content": text,
                }),
                // Readers refuse a result without a call, and it must not get the authority of another role.
                None => named("assistant", speaker, json!({"content": text})),
            },
            kind if *kind == EntryKind::thinking() => {
                named("reasoning", speaker, json!({"content": text}))
            }
            EntryKind::User => named("user", speaker, json!({"content": text})),
            EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc => {
                named("assistant", speaker, json!({"content": text}))
            }
            _ => named("system", speaker, json!({"content": text})),
        }
    }
}

/// A message with the speaker's name, unless it equals the role.
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
