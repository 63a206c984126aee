//! The SillyTavern target: a header, then one line for each message.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::native::{NativeContext, NativeFile, NativeTarget, format_time, omission_reason};
use super::plan::file_safe_id;
use super::source_session::SourceSession;
use super::tavern_versions::tavern_swipes;
use everturn_session::model::{Attachment, Entry, EntryKind};

pub(super) struct SillyTavernTarget;

impl NativeTarget for SillyTavernTarget {
    fn end(&self) -> &'static str {
        ""
    }

    fn id(&self, asked: Option<&str>, story: &SourceSession) -> Result<String, String> {
        Ok(file_safe_id(asked.unwrap_or(&story.id)))
    }

    fn file(&self, id: &str, _start: Timestamp) -> String {
        format!("{id}.jsonl")
    }

    fn write(&self, story: &SourceSession, setting: &NativeContext) -> NativeFile {
        let mut done = NativeFile::default();
        let speaker = |wanted: fn(&EntryKind) -> bool, usual: &str| {
            let mut entries = story.entries.iter().map(|source| &source.entry);
            let found = entries.find(|entry| wanted(&entry.kind) && !entry.speaker.is_empty());
            found.map_or_else(|| usual.to_owned(), |entry| entry.speaker.clone())
        };
        let user = speaker(|kind| *kind == EntryKind::User, "User");
        let is_other = |kind: &EntryKind| {
            matches!(kind, EntryKind::Assistant | EntryKind::Npc | EntryKind::Narrator)
        };
        done.lines.push(json!({
            "user_name": user, "character_name": speaker(is_other, "Assistant"),
            "create_date": format_time(setting.start), "chat_metadata": {},
        }));
        let mut time = setting.start;
        for source in &story.entries {
            time = source.entry.time.unwrap_or(time);
            match omission_reason(&source.entry) {
                Some(why) => done.fates.push(Err(why)),
                None => {
                    done.lines.push(message(&source.entry, time));
                    done.keep(&source.entry);
                }
            }
        }
        done
    }
}

fn message(entry: &Entry, time: Timestamp) -> Value {
    let mut extra = Map::new();
    if entry.kind == EntryKind::Narrator {
        extra.insert("type".to_owned(), "narrator".into());
    }
    // Other kinds are shown, but not sent to a model.
    let is_said = matches!(
        entry.kind,
        EntryKind::User | EntryKind::Assistant | EntryKind::Npc | EntryKind::Narrator
    );
    let (mut media, mut files) = (Vec::new(), Vec::new());
    for attachment in &entry.extras.attachments {
        let Attachment { kind, url, description } = attachment;
        match attachment.is_image() {
            true => media.push(json!({"type": kind, "url": url, "title": description})),
            false => files.push(json!({"url": url, "name": description})),
        }
    }
    if let Some(first) = entry.extras.attachments.iter().find(|one| one.is_image()) {
        // Older versions know one picture and one file.
        extra.insert("image".to_owned(), json!(first.url));
        extra.insert("title".to_owned(), json!(first.description));
        extra.insert("media".to_owned(), Value::Array(media));
    }
    if let Some(first) = files.first() {
        extra.insert("file".to_owned(), first.clone());
        extra.insert("files".to_owned(), Value::Array(files));
    }
    let mut message = json!({
        "name": entry.speaker,
        "is_user": entry.kind == EntryKind::User,
        "is_system": !is_said,
        "send_date": format_time(time),
        "mes": entry.text,
        "extra": extra,
    });
    if let (Value::Object(message), true) = (&mut message, is_said) {
        if let Some((swipes, chosen)) = tavern_swipes(&entry.raw, &entry.text) {
            message.insert("swipe_id".to_owned(), json!(chosen));
            message.insert("swipes".to_owned(), json!(swipes));
        }
        let avatar = entry.extras.avatar.as_ref();
        message.extend(avatar.map(|avatar| ("force_avatar".to_owned(), json!(avatar))));
    }
    message
}
