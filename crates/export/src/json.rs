//! Writes a session of any format as a chat-log document, which can be imported again.
//!
//! A chat log keeps its own metadata, messages and snapshots as stored. In other formats each entry becomes a message;
//! if chat logs have no such kind, it is kept in `metadata.entry`.

mod snapshots;

use std::ops::ControlFlow;

use everturn::document::JsonStyle as Spelling;
use everturn::finding::Finding;
use everturn::format::Feature;
use everturn::model::{EntryKind, Mark, MarkKind};
use everturn::tree::{JsonTree, ValueKind as TreeKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controls::is_bidi_control;
use crate::error::ExportError;
use crate::mask::TextMasker;
use crate::options::{ExportFormat, ExportOptions};
use crate::output::{CountingWriter, ExportProgress, report_progress};
use crate::piece::{ExportPiece, Message, SpeakerRole};
use crate::source::{ExportSource, SessionCover, SessionOutline, TextMode};

/// Writes the document; returns the findings.
pub(crate) fn write(
    source: &ExportSource<'_>,
    cover: &SessionCover,
    outline: &SessionOutline,
    out: &mut CountingWriter<'_>,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<Vec<Finding>, ExportError> {
    let about = source.reader.metadata()?;
    let mut document = ChatLogWriter { source, cover, outline, out, about };
    document.head()?;
    let findings = document.messages(progress)?;
    document.snapshots()?;
    document.tail()?;
    Ok(findings)
}

/// Escapes bidirectional control characters in JSON.
fn escape_bidi(json: &str) -> String {
    let odd = |c: char| is_bidi_control(c) || ('\u{7f}'..='\u{9f}').contains(&c);
    if !json.contains(odd) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match odd(character) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => out.push(character),
        }
    }
    out
}

struct ChatLogWriter<'d, 's, 'w> {
    source: &'d ExportSource<'s>,
    cover: &'d SessionCover,
    outline: &'d SessionOutline,
    out: &'d mut CountingWriter<'w>,
    /// The header of a chat log.
    about: JsonTree,
}

impl ChatLogWriter<'_, '_, '_> {
    fn is_chat_log(&self) -> bool {
        self.source.has(Feature::MessageDocument)
    }

    /// Formats a value at an indentation depth, and masks its secrets unless `masked` says that was done.
    fn spelled(&self, tree: &JsonTree, depth: usize, masked: bool) -> String {
        let text = tree.to_text(&Spelling::PRETTY_RAW);
        let text = if masked { text } else { self.source.masker.mask_json(text) };
        escape_bidi(&text).replace('\n', &format!("\n{}", "  ".repeat(depth)))
    }

    fn member(&mut self, key: &str, tree: &JsonTree, masked: bool) -> Result<(), ExportError> {
        let value = self.spelled(tree, 1, masked);
        let key = serde_json::to_string(key).unwrap_or_default();
        Ok(self.out.put(&format!(",\n  {}: {value}", escape_bidi(&key)))?)
    }

    fn head(&mut self) -> Result<(), ExportError> {
        let version = self.about.string_at(&["version"]).unwrap_or_else(|| "1.0".to_owned());
        let version = serde_json::to_string(&version).unwrap_or_default();
        self.out.put(&format!("{{\n  \"version\": {version},\n  \"type\": \"chat-log\""))?;
        let metadata = match self.about.value_at(&["metadata"]) {
            Some(metadata) => (metadata, false),
            None => (self.metadata(), true),
        };
        self.member("metadata", &metadata.0, metadata.1)?;
        let session = self.session();
        self.member("session", &session, false)
    }

    fn metadata(&self) -> JsonTree {
        let cover = self.cover;
        let time = |time: Option<Timestamp>| time.unwrap_or(Timestamp::UNIX_EPOCH).to_string();
        let mut value = json!({
            "id": cover.id, "created": time(cover.created.or(self.first())),
            "modified": time(cover.updated.or(cover.created).or(self.first())),
            "series": "", "title": cover.title,
        });
        let more = [
            ("layout", Some(cover.layout.to_owned())),
            ("status", Some(cover.status.clone())),
            ("parent", cover.parent.clone()),
        ];
        if let (Value::Object(members), true) = (&mut value, self.source.choices.metadata) {
            for (key, text) in more {
                members.extend(text.map(|text| (key.to_owned(), Value::from(text))));
            }
        }
        tree(&value)
    }

    fn first(&self) -> Option<Timestamp> {
        self.outline.times.map(|(first, _)| first)
    }

    fn session(&self) -> JsonTree {
        let (outline, choices) = (self.outline, self.source.choices);
        let (first, last) =
            outline.times.or(self.cover.created.map(|time| (time, time))).unwrap_or_default();
        let counted = json!(outline.entries);
        let mut known = match self
            .about
            .value_at(&["session"])
            .and_then(|session| session.to_value().ok())
        {
            Some(Value::Object(known)) => known,
            _ => {
                let player =
                    outline.speakers.iter().find(|speaker| speaker.role == SpeakerRole::Player);
                let name = player.map(|speaker| speaker.name.clone()).unwrap_or_default();
                let tools =
                    if choices.snapshots { snapshots::list_tools(self.source) } else { Vec::new() };
                let value = json!({
                    "start_time": first.to_string(), "end_time": last.to_string(),
                    "duration_seconds": last.as_second() - first.as_second(),
                    "message_count": outline.entries,
                    "protagonist": {"name": name},
                    "support_tools": tools, "settings": {},
                });
                match value {
                    Value::Object(members) => members,
                    _ => serde_json::Map::new(),
                }
            }
        };
        known.insert("message_count".to_owned(), counted);
        if !choices.metadata {
            known.shift_remove("settings");
        }
        tree(&Value::Object(known))
    }

    fn messages(
        &mut self,
        progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
    ) -> Result<Vec<Finding>, ExportError> {
        self.out.put(",\n  \"messages\": [")?;
        let choices = ExportOptions { snapshots: false, ..self.source.choices.clone() };
        // The stored messages of a chat log are masked as a whole.
        let unmasked = TextMasker::new(None);
        let masker = if self.is_chat_log() { &unmasked } else { self.source.masker };
        let source = ExportSource { choices: &choices, masker, ..exact_source(self.source) };
        let mut pieces = source.pieces(&SessionOutline::default())?;
        let mut done = 0;
        let mut time = self.cover.created.or(self.first()).unwrap_or_default();
        while let Some(piece) = pieces.next() {
            let ExportPiece::Message(said) = piece? else { continue };
            time = said.time.unwrap_or(time);
            let message = match said.raw.kind() {
                TreeKind::Object if self.is_chat_log() => {
                    self.spelled(&without_metadata(&said.raw, choices.metadata), 2, false)
                }
                _ => self.spelled(&message(&said, time), 2, !self.is_chat_log()),
            };
            self.out.put(if done == 0 { "\n    " } else { ",\n    " })?;
            self.out.put(&message)?;
            done += 1;
            report_progress(
                progress,
                ExportProgress::Writing { done, total: self.outline.entries },
            )?;
        }
        self.out.put(if done == 0 { "]" } else { "\n  ]" })?;
        Ok(std::mem::take(&mut pieces.findings))
    }

    fn snapshots(&mut self) -> Result<(), ExportError> {
        self.out.put(",\n  \"tool_snapshots\": [")?;
        let mut any = false;
        let choices = self.source.choices;
        if choices.snapshots && choices.speaker.is_none() {
            let stored = self.source.reader.snapshots(self.source.turns.clone())?;
            if let Some(mut stored) = stored {
                while let Some(snapshot) = stored.next() {
                    let (_, tree) = snapshot?;
                    self.element(&tree, &mut any)?;
                }
            } else {
                // The entries are already masked and counted.
                let unmasked = TextMasker::new(None);
                let source = ExportSource { masker: &unmasked, ..exact_source(self.source) };
                let mut states = snapshots::StateSnapshots::new(&source, self.cover.created)?;
                while let Some(snapshots) = states.next() {
                    for snapshot in snapshots? {
                        self.element(&tree(&snapshot), &mut any)?;
                    }
                }
            }
        }
        Ok(self.out.put(if any { "\n  ]" } else { "]" })?)
    }

    fn element(&mut self, tree: &JsonTree, any: &mut bool) -> Result<(), ExportError> {
        let text = self.spelled(tree, 2, false);
        self.out.put(if std::mem::replace(any, true) { ",\n    " } else { "\n    " })?;
        Ok(self.out.put(&text)?)
    }

    fn tail(&mut self) -> Result<(), ExportError> {
        let (bookmarks, markers): (Vec<&Mark>, Vec<&Mark>) =
            self.outline.headings.iter().partition(|mark| mark.kind == MarkKind::Bookmark);
        for (key, marks) in [("bookmarks", bookmarks), ("narrative_markers", markers)] {
            let marks = marks.into_iter().map(|mark| self.mark(key, mark));
            let marks = marks.collect::<Result<Vec<Value>, ExportError>>()?;
            self.member(key, &tree(&Value::Array(marks)), false)?;
        }
        let choices = self.source.choices;
        let written = [
            "version",
            "type",
            "metadata",
            "session",
            "messages",
            "tool_snapshots",
            "bookmarks",
            "narrative_markers",
            "export",
        ];
        for (key, value) in self.about.children() {
            if !written.contains(&key.as_str()) && (choices.metadata || key != "context_window") {
                self.member(&key, &value, false)?;
            }
        }
        let formats: Vec<&str> = ExportFormat::ALL.iter().map(|format| format.as_str()).collect();
        let export = json!({
            "formats": formats, "last_exported": self.cover.now.to_string(),
            "export_settings": {
                "include_metadata": choices.metadata, "include_tool_snapshots": choices.snapshots,
                "include_ooc_messages": choices.ooc, "formatting_style": choices.style.as_str(),
            },
        });
        self.member("export", &tree(&export), true)?;
        Ok(self.out.put("\n}\n")?)
    }

    /// Returns a mark as stored, or as a chat log would store it.
    fn mark(&self, list: &str, mark: &Mark) -> Result<Value, ExportError> {
        let stored = self.about.value_at(&[list]).map(|list| list.children()).unwrap_or_default();
        let same = stored
            .into_iter()
            .find(|(_, known)| known.string_at(&["id"]).as_ref() == Some(&mark.id));
        if let Some(Ok(known)) = same.map(|(_, known)| known.to_value()) {
            return Ok(known);
        }
        let entry = match &mark.entry {
            Some(entry) => entry.clone(),
            None => {
                let first = self.source.reader.entries(mark.turn..=mark.turn)?.next();
                first.transpose()?.map(|entry| entry.id).unwrap_or_default()
            }
        };
        let kind = match &mark.kind {
            MarkKind::Other(_) => MarkKind::Event,
            kind => kind.clone(),
        };
        let time = mark.time.or(self.cover.created).unwrap_or_default().to_string();
        Ok(match mark.kind {
            MarkKind::Bookmark => {
                json!({"id": mark.id, "name": mark.name, "description": mark.description,
                "message_id": entry, "timestamp": time, "tool_snapshot_ids": []})
            }
            _ => {
                json!({"id": mark.id, "type": kind.as_str(), "name": mark.name, "description": mark.description,
                "message_id": entry, "timestamp": time})
            }
        })
    }
}

fn tree(value: &Value) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

/// Returns a stored message, with or without its metadata.
fn without_metadata(message: &JsonTree, metadata: bool) -> JsonTree {
    if metadata || message.value_at(&["metadata"]).is_none() {
        return message.clone();
    }
    let members = message.children().into_iter().filter(|(key, _)| key != "metadata");
    let members = members.map(|(key, value)| {
        format!("{}:{}", serde_json::to_string(&key).unwrap_or_default(), value.to_line())
    });
    let text = format!("{{{}}}", members.collect::<Vec<String>>().join(","));
    JsonTree::parse(text).unwrap_or_else(|_| message.clone())
}

/// Returns the closest message type.
fn kind_of_message(kind: &EntryKind) -> &'static str {
    match (SpeakerRole::of(kind), kind) {
        (SpeakerRole::Player, _) => "protagonist",
        (SpeakerRole::Narrator, _) | (SpeakerRole::Voice, EntryKind::Assistant) => "narrator",
        (SpeakerRole::Voice, _) => "npc",
        (SpeakerRole::Aside, _) => "ooc",
        (
            SpeakerRole::System
            | SpeakerRole::Thought
            | SpeakerRole::Call
            | SpeakerRole::Answer
            | SpeakerRole::Event,
            _,
        ) => "system",
    }
}

/// Returns an entry as a message.
fn message(said: &Message, time: Timestamp) -> JsonTree {
    let kind = kind_of_message(&said.kind);
    let slug: String = said
        .speaker
        .chars()
        .map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let slug = slug.trim_matches('-');
    let mut entry = json!({"kind": said.kind.as_str(), "turn": said.turn});
    if let (None, Value::Object(entry)) = (said.time, &mut entry) {
        entry.insert("timed".to_owned(), Value::Bool(false));
    }
    tree(&json!({
        "id": said.id,
        "timestamp": time.to_string(),
        "type": kind,
        "sender": {"id": if slug.is_empty() { kind } else { slug }, "name": said.speaker},
        "content": {"text": said.text},
        "metadata": {"entry": entry},
    }))
}

/// Returns the same source with [`TextMode::Exact`].
fn exact_source<'s>(source: &ExportSource<'s>) -> ExportSource<'s> {
    ExportSource {
        summary: source.summary,
        reader: source.reader,
        choices: source.choices,
        masker: source.masker,
        turns: source.turns.clone(),
        texts: TextMode::Exact,
    }
}
