//! The goose target: the document that `goose session import` reads.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::native::{
    NativeContext, NativeFile, NativeTarget, SpeakerPrefix, format_time, omission_reason,
};
use super::plan::file_safe_id;
use super::record::parse_object;
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::tool_calls::tool_name;
use everturn_session::model::EntryKind;

pub(super) struct GooseTarget;

impl NativeTarget for GooseTarget {
    fn id(&self, asked: Option<&str>, story: &SourceSession) -> Result<String, String> {
        Ok(file_safe_id(asked.unwrap_or(&story.id)))
    }

    fn file(&self, id: &str, _start: Timestamp) -> String {
        format!("{id}.json")
    }

    fn write(&self, story: &SourceSession, setting: &NativeContext) -> NativeFile {
        let mut writer = DocumentWriter {
            messages: Vec::new(),
            time: setting.start,
            speakers: SpeakerPrefix::of(story),
            done: NativeFile::default(),
        };
        let pairs = story.pairs().uninterrupted(story.entries.iter().map(|source| &source.entry));
        for (at, source) in story.entries.iter().enumerate() {
            writer.add(source, pairs.partner(at).map(|other| at.min(other)));
        }
        let DocumentWriter { messages, time, done, .. } = writer;
        let document = json!({
            "id": setting.id, "working_dir": setting.project,
            "name": story.title.as_ref().unwrap_or(&setting.id), "user_set_name": true,
            "session_type": "user", "created_at": format_time(setting.start),
            "updated_at": format_time(time), "extension_data": {},
            "message_count": messages.len(), "conversation": messages,
        });
        NativeFile { lines: vec![document], titled: true, placed: true, pairs, ..done }
    }
}

struct DocumentWriter {
    messages: Vec<Value>,
    time: Timestamp,
    speakers: SpeakerPrefix,
    done: NativeFile,
}

impl DocumentWriter {
    fn push(&mut self, role: &str, block: &Value, is_visible: bool) {
        let number = self.messages.len() + 1;
        self.messages.push(json!({
            "id": format!("msg_{number}"), "role": role, "created": self.time.as_second(),
            "content": [block],
            "metadata": {"userVisible": is_visible, "agentVisible": true},
        }));
    }

    /// Adds an entry. For a call and its result, `pair` is the index of the call.
    fn add(&mut self, source: &SourceEntry, pair: Option<usize>) {
        let entry = &source.entry;
        self.time = entry.time.unwrap_or(self.time);
        let why = omission_reason(entry)
            .filter(|_| entry.kind != EntryKind::ToolResult || pair.is_none());
        if let Some(why) = why {
            self.done.fates.push(Err(why));
            return;
        }
        let text = entry.text.as_str();
        match (&entry.kind, pair) {
            (EntryKind::ToolCall, Some(pair)) => {
                let (name, arguments) = source.call.split(text);
                let (name, arguments) = (
                    tool_name(name),
                    parse_object(arguments).unwrap_or_else(|| json!({"input": arguments})),
                );
                let call = json!({"name": name, "arguments": arguments});
                let block = json!({
                    "type": "toolRequest", "id": format!("call_{pair}"),
                    "toolCall": {"status": "success", "value": call},
                });
                self.push("assistant", &block, true);
                self.done.fates.push(Ok(format!("{name} {arguments}")));
            }
            (EntryKind::ToolResult, Some(pair)) => {
                let value = json!({"content": [{"type": "text", "text": text}], "isError": false});
                let block = json!({
                    "type": "toolResponse", "id": format!("call_{pair}"),
                    "toolResult": {"status": "success", "value": value},
                });
                self.push("user", &block, true);
                self.done.keep(entry);
            }
            (EntryKind::User, _) => {
                self.push("user", &json!({"type": "text", "text": text}), true);
                self.done.keep(entry);
            }
            (
                EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc | EntryKind::ToolCall,
                _,
            ) => {
                let text = self.speakers.text(entry);
                self.push("assistant", &json!({"type": "text", "text": text}), true);
                self.done.fates.push(Ok(text));
            }
            (kind, _) if *kind == EntryKind::thinking() => {
                self.done.fates.push(Err("thinking without a model signature is rejected"));
            }
            _ => {
                self.done.fates.push(Err("the program has no place for it in a conversation"));
            }
        }
    }
}
