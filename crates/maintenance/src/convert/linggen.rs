//! The Linggen target: one message for each entry, in a project.

use serde_json::{Value, json};

use super::record::{RecordSource, parse_object};
use super::report::ConversionReport;
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::{OwnTarget, SessionDraft};
use everturn_linggen::{LinggenFormat, parts};
use everturn_session::format::{EditableFormat, SessionError, SessionFormat};
use everturn_session::model::{Entry, EntryKind, NewSession, SessionRef};
use everturn_store::{AppendAt, Durability, Step};
use everturn_value::tree::JsonTree;

pub(super) struct LinggenTarget;

/// The default agent.
const AGENT: &str = "ling";

/// The project of sessions that have none.
const PROJECT: &str = "/converted";

impl OwnTarget for LinggenTarget {
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        _report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError> {
        let created = story.created.unwrap_or(draft.now);
        let project = draft.project.as_deref().unwrap_or(PROJECT);
        let title = story.title.as_ref().unwrap_or(&draft.id);
        let fields = JsonTree::from_value(&json!({"project": project, "title": title}))
            .map_err(|error| SessionError::request(error.to_string()))?;
        let new = NewSession { fields, ..NewSession::with_id(&draft.id) };
        let editor = LinggenFormat.create(&draft.store, &new, created)?;
        let place = editor.session_ref();
        editor.close(created)?;
        let mut time = created;
        let mut lines = records.lines(story, |source| {
            time = source.entry.time.unwrap_or(time);
            message(source, time.as_second())
        });
        if !lines.is_empty() {
            lines.push(String::new());
            let writer = draft.store.lock(std::slice::from_ref(&place.path))?;
            let log = LinggenFormat.dependencies(&draft.store, &place)?.log;
            let lines = lines.join("\n").into_bytes();
            let step = log.map(|file| Step::Append { file, at: AppendAt::End, lines });
            writer.commit(step.into_iter().collect(), Durability::Synced)?;
            writer.release()?;
        }
        draft.put_marks(story, records, &place.path, |at| at as u64 + 1)?;
        Ok(place)
    }

    fn misread_as(&self, entry: &Entry) -> Option<&'static str> {
        let others = [
            EntryKind::User,
            EntryKind::System,
            EntryKind::Ooc,
            EntryKind::Event,
            EntryKind::ToolCall,
        ];
        if others.contains(&entry.kind) || entry.kind == EntryKind::ToolResult {
            return None;
        }
        let is_said = parts(&entry.text, &EntryKind::Assistant)
            .iter()
            .all(|part| part.kind == EntryKind::Assistant);
        (!is_said).then_some("JSON in the text would be read as a tool call, a plan or a result")
    }
}

fn message(source: &SourceEntry, time: i64) -> Value {
    let entry = &source.entry;
    let is_observation = entry.kind == EntryKind::ToolResult;
    let from = match &entry.kind {
        EntryKind::User => "user",
        EntryKind::System | EntryKind::Ooc | EntryKind::Event => "system",
        _ if is_observation => entry.speaker.as_str(),
        _ => match entry.speaker.as_str() {
            "" | "user" | "system" | "assistant" => AGENT,
            speaker => speaker,
        },
    };
    let content = match &entry.kind {
        EntryKind::ToolCall => {
            let (tool, args) = source.call.split(&entry.text);
            let args = parse_object(args);
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
