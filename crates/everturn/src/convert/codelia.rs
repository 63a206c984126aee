//! A session of Codelia: a message for each entry.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use super::record::{Records, call};
use super::report::{Fate, Report};
use super::story::Story;
use super::{Draft, Own};
use crate::layout::{Layout, LayoutError};
use crate::store::Store;
use crate::view::{Entry, Kind, New, Place};

pub(super) struct Codelia;

impl Own for Codelia {
    fn write(
        &self,
        story: &Story,
        records: Records<'_>,
        draft: &Draft,
        report: &mut Report,
    ) -> Result<Place, LayoutError> {
        let mut calls = Calls::default();
        let messages = records.lines(story, |entry| calls.message(entry));
        if story.title.is_some() {
            let why = "sessions of Codelia are called by what the user said last";
            report.note("the title", Fate::Changed, why);
        }
        if !story.marks.is_empty() {
            let why = "Codelia has no marks; Everturn has them again when this is converted";
            report.note(format!("marks: {}", story.marks.len()), Fate::Changed, why);
        }
        let layout = crate::codelia::CodeliaLayout;
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
    fn settle(&self, store: &Arc<dyn Store>, place: &Place) -> Result<(), LayoutError> {
        crate::codelia::CodeliaLayout.edit(store, place)?.release()
    }
}

/// Calls that were not answered yet: their tools and ids.
#[derive(Default)]
struct Calls(VecDeque<(String, String)>);

impl Calls {
    /// The id of the call that a result answers.
    fn answered(&mut self, tool: &str) -> Option<String> {
        let same = self.0.iter().position(|(name, _)| name == tool);
        self.0.remove(same.unwrap_or(0)).map(|(_, id)| id)
    }

    fn message(&mut self, entry: &Entry) -> Value {
        let (text, speaker) = (entry.text.as_str(), entry.speaker.as_str());
        match &entry.kind {
            Kind::ToolCall => {
                let ((name, arguments), id) = (call(text), format!("call-{}", entry.seq));
                self.0.push_back((name.to_owned(), id.clone()));
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"id": id, "type": "function", "function": function});
                named("assistant", speaker, json!({"content": null, "tool_calls": [call]}))
            }
            Kind::ToolResult => match self.answered(speaker) {
                Some(id) => json!({
                    "role": "tool", "tool_call_id": id, "tool_name": speaker, "content": text,
                }),
                // An answer to nothing is refused by those who read it.
                None => named("system", speaker, json!({"content": text})),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn an_answer_belongs_to_the_first_call_of_its_tool() {
        let mut calls = Calls::default();
        let mut say = |seq, kind: Kind, speaker: &str, text: &str| {
            let (id, time, raw) = (String::new(), None, Tree::null());
            let (speaker, text) = (speaker.to_owned(), text.to_owned());
            calls.message(&Entry { seq, turn: 1, id, time, speaker, kind, text, raw })
        };
        say(1, Kind::ToolCall, "assistant", "ls {}");
        say(2, Kind::ToolCall, "assistant", "cat {\"path\":\"a\"}");
        let cat = say(3, Kind::ToolResult, "cat", "text");
        assert_eq!(cat["tool_call_id"], "call-2");
        let ls = say(4, Kind::ToolResult, "other", "a");
        assert_eq!((&ls["tool_call_id"], &ls["tool_name"]), (&json!("call-1"), &json!("other")));
        let none = say(5, Kind::ToolResult, "ls", "b");
        assert_eq!(none["role"], "system");
    }
}
