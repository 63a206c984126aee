//! A session of Linggen: a message for each entry, in a project.

use serde_json::{Value, json};

use super::record::{Records, object};
use super::report::Report;
use super::story::{Story, Told};
use super::{Draft, Own};
use everturn_linggen::{LinggenLayout, parts};
use everturn_session::layout::{Layout, LayoutError};
use everturn_session::view::{Entry, Kind, New, Place};
use everturn_store::{At, Durability, Step};
use everturn_value::tree::Tree;

pub(super) struct Linggen;

/// The agent that spoke, if the session names none.
const AGENT: &str = "ling";

/// The project of sessions that belong to none.
const PROJECT: &str = "/converted";

impl Own for Linggen {
    fn write(
        &self,
        story: &Story,
        records: Records<'_>,
        draft: &Draft,
        _report: &mut Report,
    ) -> Result<Place, LayoutError> {
        let created = story.created.unwrap_or(draft.now);
        let project = draft.project.as_deref().unwrap_or(PROJECT);
        let title = story.title.as_ref().unwrap_or(&draft.id);
        let fields = Tree::from_value(&json!({"project": project, "title": title}))
            .map_err(|error| LayoutError::request(error.to_string()))?;
        let new = New { fields, ..New::with_id(&draft.id) };
        let editor = LinggenLayout.create(&draft.store, &new, created)?;
        let place = editor.place();
        editor.close(created)?;
        let mut time = created;
        let mut lines = records.lines(story, |told| {
            time = told.entry.time.unwrap_or(time);
            message(told, time.as_second())
        });
        if !lines.is_empty() {
            lines.push(String::new());
            let writer = draft.store.lock(std::slice::from_ref(&place.path))?;
            let log = LinggenLayout.evidence(&draft.store, &place)?.log;
            let lines = lines.join("\n").into_bytes();
            let step = log.map(|file| Step::Append { file, at: At::End, lines });
            writer.commit(step.into_iter().collect(), Durability::Synced)?;
            writer.release()?;
        }
        draft.put_marks(story, records, &place.path, |at| at as u64 + 1)?;
        Ok(place)
    }

    fn taken_for(&self, entry: &Entry) -> Option<&'static str> {
        let others = [Kind::User, Kind::System, Kind::Ooc, Kind::Event, Kind::ToolCall];
        if others.contains(&entry.kind) || entry.kind == Kind::ToolResult {
            return None;
        }
        let is_said =
            parts(&entry.text, &Kind::Assistant).iter().all(|part| part.kind == Kind::Assistant);
        (!is_said).then_some("JSON in the text is taken for a call of a tool, a plan or a result")
    }
}

fn message(told: &Told, time: i64) -> Value {
    let entry = &told.entry;
    let is_observation = entry.kind == Kind::ToolResult;
    let from = match &entry.kind {
        Kind::User => "user",
        Kind::System | Kind::Ooc | Kind::Event => "system",
        _ if is_observation => entry.speaker.as_str(),
        _ => match entry.speaker.as_str() {
            "" | "user" | "system" => AGENT,
            speaker => speaker,
        },
    };
    let content = match &entry.kind {
        Kind::ToolCall => {
            let (tool, args) = told.call.split(&entry.text);
            let args = object(args);
            args.map(|args| json!({"type": "tool", "tool": tool, "args": args}).to_string())
        }
        _ => None,
    };
    let agent = if matches!(from, "user" | "system") || is_observation { AGENT } else { from };
    json!({
        "agent_id": agent,
        "from_id": from,
        "to_id": if agent == from { "user" } else { agent },
        "content": content.unwrap_or_else(|| entry.text.clone()),
        "timestamp": time,
        "is_observation": is_observation,
    })
}
