//! The Claude Code target: records that name their parents.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::native::{
    NativeContext, NativeFile, NativeTarget, OPENING, SpeakerPrefix, format_time, omission_reason,
    starts_with_answer, uuid, uuid_of,
};
use super::record::parse_object;
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::tool_calls::tool_name;
use everturn_session::model::EntryKind;

pub(super) struct ClaudeCodeTarget;

/// The version of the program whose records are imitated.
const VERSION: &str = "2.0.0";

impl NativeTarget for ClaudeCodeTarget {
    fn id(&self, asked: Option<&str>, story: &SourceSession) -> Result<String, String> {
        uuid_of(asked, story)
    }

    fn file(&self, id: &str, _start: Timestamp) -> String {
        format!("{id}.jsonl")
    }

    fn write(&self, story: &SourceSession, setting: &NativeContext) -> NativeFile {
        let (time, done) = (setting.start, NativeFile::default());
        let (last, message, speakers) = (None, String::new(), SpeakerPrefix::of(story));
        let mut chain = MessageChain { setting, last, time, open: 0, message, done, speakers };
        if starts_with_answer(story) {
            chain.push("user", message_fields("user", &OPENING.into()));
            chain.done.opening = Some(OPENING);
        }
        let pairs = story.pairs().uninterrupted(story.entries.iter().map(|source| &source.entry));
        for (at, source) in story.entries.iter().enumerate() {
            chain.add(source, pairs.partner(at).map(|other| at.min(other)));
        }
        let mut done = NativeFile { pairs, placed: true, ..chain.done };
        if let Some(title) = &story.title {
            done.lines.push(json!({
                "type": "custom-title", "customTitle": title, "sessionId": setting.id,
            }));
            done.titled = true;
        }
        done
    }
}

struct MessageChain<'s> {
    setting: &'s NativeContext,
    /// The previous record.
    last: Option<String>,
    time: Timestamp,
    /// The number of unanswered calls.
    open: usize,
    /// The ID of the last message of the model.
    message: String,
    done: NativeFile,
    speakers: SpeakerPrefix,
}

impl MessageChain<'_> {
    /// Adds an entry. For a call and its result, `pair` is the index of the call.
    fn add(&mut self, source: &SourceEntry, pair: Option<usize>) {
        let entry = &source.entry;
        self.time = entry.time.unwrap_or(self.time);
        if let Some(why) =
            omission_reason(entry).filter(|_| entry.kind != EntryKind::ToolResult || pair.is_none())
        {
            self.done.fates.push(Err(why));
            return;
        }
        let text = entry.text.as_str();
        let tool = pair.map(|pair| format!("toolu_{pair:024}"));
        match (&entry.kind, tool) {
            (EntryKind::ToolCall, Some(id)) => {
                let (name, input) = tool_call(source);
                let reads = format!("{name} {input}");
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
                self.assistant(&block, "tool_use");
                self.open += 1;
                self.done.fates.push(Ok(reads));
            }
            (EntryKind::ToolResult, Some(id)) => {
                let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
                let mut fields = message_fields("user", &json!([block]));
                fields.insert("toolUseResult".to_owned(), text.into());
                self.push("user", fields);
                self.open = self.open.saturating_sub(1);
                self.done.keep(entry);
            }
            (EntryKind::User, _) => {
                self.push("user", message_fields("user", &text.into()));
                self.done.keep(entry);
            }
            (
                EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc | EntryKind::ToolCall,
                _,
            ) => {
                let text = self.speakers.text(entry);
                self.assistant(&json!({"type": "text", "text": text}), "end_turn");
                self.done.fates.push(Ok(text));
            }
            (kind, _) if *kind == EntryKind::thinking() => {
                let why = "thinking without a model signature is rejected";
                self.done.fates.push(Err(why));
            }
            _ => {
                let mut fields = Map::new();
                fields.insert("subtype".to_owned(), "informational".into());
                fields.insert("content".to_owned(), text.into());
                fields.insert("isMeta".to_owned(), false.into());
                fields.insert("level".to_owned(), "info".into());
                self.push("system", fields);
                self.done.keep(entry);
            }
        }
    }

    fn assistant(&mut self, block: &Value, reason: &str) {
        // Pending calls belong to one message: the program expects all their results after it.
        if self.open == 0 {
            let number = self.done.lines.len().to_string();
            self.message = uuid(&[&self.setting.id, "message", &number]).replace('-', "");
        }
        let id = &self.message;
        let usage = json!({"input_tokens": 0, "output_tokens": 0});
        let message = json!({
            "id": format!("msg_{id}"), "type": "message", "role": "assistant",
            "model": "<synthetic>", "content": [block], "stop_reason": reason,
            "stop_sequence": null, "usage": usage,
        });
        self.push("assistant", Map::from_iter([("message".to_owned(), message)]));
    }

    /// Adds a record to the chain.
    fn push(&mut self, kind: &str, rest: Map<String, Value>) {
        let id = uuid(&[&self.setting.id, "record", &self.done.lines.len().to_string()]);
        let mut line = json!({
            "parentUuid": self.last, "isSidechain": false, "userType": "external",
            "cwd": self.setting.project, "sessionId": self.setting.id, "version": VERSION,
            "gitBranch": "", "type": kind,
        });
        if let Value::Object(fields) = &mut line {
            fields.extend(rest);
            fields.insert("uuid".to_owned(), id.as_str().into());
            fields.insert("timestamp".to_owned(), format_time(self.time).into());
        }
        self.done.lines.push(line);
        self.last = Some(id);
    }
}

fn message_fields(role: &str, content: &Value) -> Map<String, Value> {
    Map::from_iter([("message".to_owned(), json!({"role": role, "content": content}))])
}

/// The tool name as models may write it, and the arguments as an object.
fn tool_call(source: &SourceEntry) -> (String, Value) {
    let (name, arguments) = source.call.split(&source.entry.text);
    (tool_name(name), parse_object(arguments).unwrap_or_else(|| json!({"input": arguments})))
}
