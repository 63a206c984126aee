//! The Codex target: a rollout of items for the model, and events for display.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::native::{
    NativeContext, NativeFile, NativeTarget, SpeakerPrefix, format_time, omission_reason, uuid_of,
};
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::tool_calls::tool_name;
use everturn_external::is_asked;
use everturn_session::model::EntryKind;

pub(super) struct CodexTarget;

/// The version of the program whose rollouts are imitated.
const VERSION: &str = "0.104.0";

/// The provider that every installation has. Without one the program does not resume the session.
const PROVIDER: &str = "openai";

impl NativeTarget for CodexTarget {
    fn id(&self, asked: Option<&str>, story: &SourceSession) -> Result<String, String> {
        uuid_of(asked, story)
    }

    fn file(&self, id: &str, start: Timestamp) -> String {
        let start = format_time(start);
        let start = start.get(..19).unwrap_or_default().replace(':', "-");
        format!("rollout-{start}-{id}.jsonl")
    }

    fn write(&self, story: &SourceSession, setting: &NativeContext) -> NativeFile {
        let (time, done) = (setting.start, NativeFile::default());
        let mut rollout = RolloutWriter { time, done, speakers: SpeakerPrefix::of(story) };
        rollout.push(
            "session_meta",
            &json!({
                "id": setting.id, "timestamp": format_time(setting.start), "cwd": setting.project,
                "originator": "everturn", "cli_version": VERSION, "source": "cli",
                "model_provider": setting.provider.as_deref().unwrap_or(PROVIDER),
            }),
        );
        let pairs = story.pairs();
        for (at, told) in story.entries.iter().enumerate() {
            rollout.add(told, at, pairs.partner(at));
        }
        (rollout.done.pairs, rollout.done.placed) = (pairs, true);
        rollout.done
    }
}

struct RolloutWriter {
    time: Timestamp,
    done: NativeFile,
    speakers: SpeakerPrefix,
}

impl RolloutWriter {
    fn push(&mut self, kind: &str, payload: &Value) {
        let time = format_time(self.time);
        self.done.lines.push(json!({"timestamp": time, "type": kind, "payload": payload}));
    }

    /// Adds a message for the model.
    fn message(&mut self, role: &str, block: &str, text: &str) {
        let content = json!([{"type": block, "text": text}]);
        self.push("response_item", &json!({"type": "message", "role": role, "content": content}));
    }

    fn add(&mut self, told: &SourceEntry, at: usize, partner: Option<usize>) {
        let entry = &told.entry;
        self.time = entry.time.unwrap_or(self.time);
        if let Some(why) = omission_reason(entry)
            .filter(|_| entry.kind != EntryKind::ToolResult || partner.is_none())
        {
            self.done.fates.push(Err(why));
            return;
        }
        let text = entry.text.as_str();
        match &entry.kind {
            EntryKind::ToolCall => {
                let (name, arguments) = told.call.split(text);
                let name = tool_name(name);
                let item = json!({
                    "type": "function_call", "name": name, "arguments": arguments,
                    "call_id": format!("call_{at}"),
                });
                self.push("response_item", &item);
                let reads = if arguments.is_empty() { name } else { format!("{name} {arguments}") };
                self.done.fates.push(Ok(reads));
                return;
            }
            EntryKind::ToolResult if partner.is_some() => {
                let id = format!("call_{}", partner.unwrap_or_default());
                let item = json!({"type": "function_call_output", "call_id": id, "output": text});
                self.push("response_item", &item);
            }
            EntryKind::User => {
                self.message("user", "input_text", text);
                // A text that starts like the program's own messages is not shown as the user's.
                if is_asked(text) {
                    let event = json!({"type": "user_message", "message": text, "images": []});
                    self.push("event_msg", &event);
                }
            }
            EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc => {
                let text = self.speakers.text(entry);
                self.message("assistant", "output_text", &text);
                self.push("event_msg", &json!({"type": "agent_message", "message": text}));
                self.done.fates.push(Ok(text));
                return;
            }
            kind if *kind == EntryKind::thinking() || *kind == EntryKind::ToolResult => {
                // It is shown, but not sent to a model, which would require its own signature, or the call that a
                // result answers. Without the call the result would have no authority.
                self.push("event_msg", &json!({"type": "agent_reasoning", "text": text}));
            }
            _ => self.message("developer", "input_text", text),
        }
        self.done.keep(entry);
    }
}
