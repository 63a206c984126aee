//! The chat log target: one message for each entry.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::record::RecordSource;
use super::report::{ConversionReport, Disposition};
use super::source_entry::SourceEntry;
use super::source_session::{ChatDocument, SourceSession};
use super::tavern_versions::tavern_metadata;
use super::{OwnTarget, SessionDraft};
use everturn_chatlog::import;
use everturn_session::format::SessionError;
use everturn_session::model::carried::MEMBER;
use everturn_session::model::{
    Attachment, Entry, EntryAction, EntryKind, Mark, MarkKind, SessionRef,
};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

pub(super) struct ChatLogTarget;

impl OwnTarget for ChatLogTarget {
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError> {
        let created = story.created.unwrap_or(draft.now);
        let mut ids = HashSet::new();
        let mut time = created;
        let names: Vec<String> =
            story.entries.iter().map(|source| free_id(&mut ids, &source.entry)).collect();
        let mut free = names.iter();
        let messages = records.lines(story, |source| {
            time = source.entry.time.unwrap_or(time);
            message(source, free.next().map_or("", String::as_str), time)
        });
        if let (RecordSource::Original, Some(chat)) = (records, &story.chat) {
            return restore_original(story, chat, &messages, draft);
        }
        let player =
            story.entries.iter().find(|source| message_type(&source.entry.kind) == "protagonist");
        let player = player.map(|source| source.entry.speaker.clone()).unwrap_or_default();
        let head = json!({
            "id": draft.id, "created": created.to_string(), "modified": time.to_string(),
            "series": "", "title": story.title.as_ref().unwrap_or(&draft.id),
        });
        let session = json!({
            "start_time": created.to_string(), "end_time": time.to_string(),
            "duration_seconds": (time.as_second() - created.as_second()).max(0),
            "message_count": messages.len(), "protagonist": {"name": player},
            "support_tools": [], "settings": {},
        });
        let (bookmarks, markers) = marks(story, &names, report);
        let carried = draft.carried.as_ref().map(|carried| format!(",\"{MEMBER}\":{carried}"));
        put(
            draft,
            &format!(
                "{{\"version\":\"1.0\",\"type\":\"chat-log\",\"metadata\":{head},\"session\":{session},\
             \"messages\":[{}],\"tool_snapshots\":[],\"bookmarks\":{bookmarks},\"narrative_markers\":{markers}\
             {}}}",
                messages.join(","),
                carried.unwrap_or_default()
            ),
        )
    }

    /// A message may be deleted with everything it carries; the document stays.
    fn carries_session(&self) -> bool {
        true
    }
}

fn put(draft: &SessionDraft, text: &str) -> Result<SessionRef, SessionError> {
    let tree = JsonTree::parse(text).map_err(|bad| SessionError::request(bad.to_string()))?;
    let text = tree.to_text(&JsonStyle::PRETTY_RAW_LINE);
    let made = import(&draft.store, text.as_bytes(), Some(&draft.id))?;
    Ok(SessionRef { id: made.id, path: made.path })
}

/// Restores a session that was a chat log before: its metadata, messages and states are where they were.
fn restore_original(
    story: &SourceSession,
    chat: &ChatDocument,
    messages: &[String],
    draft: &SessionDraft,
) -> Result<SessionRef, SessionError> {
    let snapshots: Vec<String> = chat.snapshots.iter().map(JsonTree::to_line).collect();
    let lists = [("messages", messages.join(",")), ("tool_snapshots", snapshots.join(","))];
    let mut members = Vec::new();
    for (key, value) in chat.about.children() {
        let list = lists.iter().find(|(list, _)| *list == key);
        let value = match (list, key.as_str()) {
            (Some(_), _) => continue,
            (None, "bookmarks" | "narrative_markers") => {
                // Marks that were removed meanwhile stay removed.
                let kept = value.children().into_iter().map(|(_, mark)| mark).filter(|stored| {
                    let id = stored.string_at(&["id"]);
                    story.marks.iter().any(|mark| Some(&mark.id) == id.as_ref())
                });
                let kept: Vec<String> = kept.map(|mark| mark.to_line()).collect();
                format!("[{}]", kept.join(","))
            }
            (None, _) => value.to_line(),
        };
        members.push(format!("{}:{value}", json!(key)));
    }
    let lists = lists.map(|(key, list)| format!("\"{key}\":[{list}]"));
    // The lists follow the metadata, as usual.
    members.splice(members.len().min(4)..members.len().min(4), lists);
    put(draft, &format!("{{{}}}", members.join(",")))
}

/// The ID of a message: that of the entry, if it is unique.
fn free_id(taken: &mut HashSet<String>, entry: &Entry) -> String {
    let mut id = entry.id.clone();
    let mut number = entry.seq;
    while id.is_empty() || !taken.insert(id.clone()) {
        id = format!("entry-{number}");
        number += 1;
    }
    id
}

/// The type of an attachment; a chat log knows three.
fn attachment_type(attachment: &Attachment) -> &str {
    match attachment.kind.as_str() {
        kind @ ("image" | "audio") => kind,
        _ => "file",
    }
}

/// The type of an action; a chat log knows three.
fn action_type(action: &EntryAction) -> &str {
    match action.kind.as_str() {
        kind @ ("emote" | "thought") => kind,
        _ => "action",
    }
}

fn message(source: &SourceEntry, id: &str, time: Timestamp) -> Value {
    let entry = &source.entry;
    let is_tavern = source.from == "sillytavern";
    let kind = match message_type(&entry.kind) {
        "narrator" if is_tavern && is_character(entry) => "npc",
        kind => kind,
    };
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = entry.speaker.chars().map(plain).collect();
    let slug = slug.trim_matches('-');
    let mut sender =
        json!({"id": if slug.is_empty() { kind } else { slug }, "name": entry.speaker});
    let mut content = json!({"text": entry.text});
    let extras = &entry.extras;
    let attachments = extras.attachments.iter().map(|attachment| {
        json!({
            "type": attachment_type(attachment), "url": attachment.url,
            "description": attachment.description,
        })
    });
    let actions = extras.actions.iter();
    let actions = actions.map(|action| json!({"type": action_type(action), "text": action.text}));
    if let (Value::Object(content), Value::Object(sender)) = (&mut content, &mut sender) {
        if !extras.attachments.is_empty() {
            content.insert("attachments".to_owned(), attachments.collect());
        }
        if !extras.actions.is_empty() {
            content.insert("actions".to_owned(), actions.collect());
        }
        let formatted = extras.formatted_text.clone();
        content.extend(formatted.map(|text| ("formatted_text".to_owned(), json!(text))));
        let avatar = extras.avatar.clone();
        sender.extend(avatar.map(|avatar| ("avatar".to_owned(), json!(avatar))));
    }
    let mut message = json!({
        "id": id, "timestamp": time.to_string(), "type": kind, "sender": sender, "content": content,
    });
    let metadata = if is_tavern { tavern_metadata(&entry.raw) } else { Map::new() };
    if let Value::Object(message) = &mut message
        && !metadata.is_empty()
    {
        message.insert("metadata".to_owned(), Value::Object(metadata));
    }
    message
}

/// Whether the answer of a model is that of a character with a name, and not of a narrator.
fn is_character(entry: &Entry) -> bool {
    let name = entry.speaker.to_lowercase();
    entry.kind == EntryKind::Assistant && !["narrator", "assistant", ""].contains(&name.as_str())
}

/// Bookmarks and narrative markers. Each refers to a message.
fn marks(story: &SourceSession, ids: &[String], report: &mut ConversionReport) -> (Value, Value) {
    let (mut bookmarks, mut markers) = (Vec::new(), Vec::new());
    for mark in &story.marks {
        let by_entry =
            |entry: &String| story.entries.iter().position(|source| source.entry.id == *entry);
        let at = mark.entry.as_ref().and_then(by_entry).or_else(|| story.position(mark.turn));
        let Some(message) = at.or((!ids.is_empty()).then_some(0)).and_then(|at| ids.get(at)) else {
            let why = "there is no message to attach it to";
            report.note(format!("mark {:?}", mark.name), Disposition::Dropped, why);
            continue;
        };
        let kind = kind(mark);
        if mark.entry.as_ref() != Some(message) {
            let why = "a chat log attaches marks to messages; it is attached to the first message of its turn";
            report.note(format!("mark {:?}", mark.name), Disposition::Changed, why);
        }
        let mut value = json!({
            "id": mark.id, "type": kind, "name": mark.name, "description": mark.description,
            "message_id": message,
        });
        if let (Value::Object(fields), Some(time)) = (&mut value, mark.time) {
            fields.insert("timestamp".to_owned(), json!(time.to_string()));
        }
        if kind != mark.kind.as_str() {
            let why = format!("the kind {} becomes {kind}", mark.kind);
            report.note(format!("mark {:?}", mark.name), Disposition::Changed, why);
        }
        match (mark.kind == MarkKind::Bookmark, &mut value) {
            (true, Value::Object(fields)) => {
                fields.shift_remove("type");
                bookmarks.push(value);
            }
            _ => markers.push(value),
        }
    }
    (Value::Array(bookmarks), Value::Array(markers))
}

/// The kind of a mark, or the closest one.
fn kind(mark: &Mark) -> &str {
    match &mark.kind {
        MarkKind::Other(_) => MarkKind::Event.as_str(),
        known => known.as_str(),
    }
}

/// The message type that is closest to a kind of entry.
fn message_type(kind: &EntryKind) -> &'static str {
    match kind {
        EntryKind::User => "protagonist",
        EntryKind::Narrator | EntryKind::Assistant => "narrator",
        EntryKind::Npc => "npc",
        EntryKind::Ooc => "ooc",
        _ => "system",
    }
}
