//! Records of the new session: what their own fields express, and what they carry.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::report::{Disposition, EntryOutcome};
use super::source_entry::{SourceEntry, blank_entry};
use super::source_session::{ChatDocument, SourceSession};
use everturn_session::model::carried::MEMBER;
use everturn_session::model::{Entry, Mark, StateChange};
use everturn_value::tree::JsonTree;

/// What a record carries of an entry before it is known what its own fields express.
pub(super) const NOTHING: &str = "{}";

/// A record with the entries that it carries.
pub(super) fn render_record(own: &Value, carried: &[String]) -> String {
    let own = own.to_string();
    let own = own.strip_suffix('}').unwrap_or(&own);
    let comma = if own.len() > 1 { "," } else { "" };
    format!("{own}{comma}\"{MEMBER}\":{{\"entries\":[{}]}}}}", carried.join(","))
}

/// The source of the records of a new session.
#[derive(Debug, Clone, Copy)]
pub(super) enum RecordSource<'r> {
    /// One new record for each entry, which carries this.
    Carrying(&'r [String]),
    /// The original records from when the session had this format before.
    Original,
}

impl RecordSource<'_> {
    /// The records, one for each entry unless they are the original ones.
    pub(super) fn lines(
        self,
        story: &SourceSession,
        mut own: impl FnMut(&SourceEntry) -> Value,
    ) -> Vec<String> {
        match self {
            RecordSource::Original => story.originals().map(JsonTree::to_line).collect(),
            RecordSource::Carrying(carried) => {
                let entries = story.entries.iter().zip(carried);
                let line = |(source, carried): (&SourceEntry, &String)| {
                    render_record(&own(source), std::slice::from_ref(carried))
                };
                entries.map(line).collect()
            }
        }
    }
}

/// The parts of an entry that the fields of its record do not express.
#[derive(Debug, Default)]
pub(super) struct EntryDifference {
    /// The fields of the entry that must be carried.
    fields: Map<String, Value>,
    /// The reasons, for differences that matter to a reader.
    pub(super) why: Vec<String>,
}

/// Compares an entry with what its record expresses by itself.
pub(super) fn compare_entry(own: &Entry, wanted: &Entry) -> EntryDifference {
    let mut found = EntryDifference::default();
    let mut put = |key: &str, value: Value, why: Option<String>| {
        found.fields.insert(key.to_owned(), value);
        found.why.extend(why);
    };
    if own.id != wanted.id {
        put("id", json!(wanted.id), None);
    }
    if own.kind != wanted.kind {
        let why = format!("the kind {} becomes {}", wanted.kind, own.kind);
        put("kind", json!(wanted.kind.as_str()), Some(why));
    }
    if own.speaker != wanted.speaker {
        let why = format!("the speaker {:?} becomes {:?}", wanted.speaker, own.speaker);
        put("speaker", json!(wanted.speaker), Some(why));
    }
    if own.text != wanted.text {
        let why = "the text is written as the format requires".to_owned();
        put("text", json!(wanted.text), Some(why));
    }
    if own.time != wanted.time {
        let why = match (own.time, wanted.time) {
            (_, None) => Some("there was no time, and the format requires one"),
            (None, Some(_)) => Some("the format does not store times"),
            (Some(own), Some(wanted)) if is_rounded(own, wanted) => None,
            (Some(_), Some(_)) => Some("the format stores one time per turn"),
        };
        let why = why.map(str::to_owned);
        put("time", json!(wanted.time.map(|time| time.to_string())), why);
    }
    found
}

/// Whether two times differ only by rounding.
pub(super) fn is_rounded(own: Timestamp, wanted: Timestamp) -> bool {
    own != wanted && own.duration_until(wanted).abs() < SignedDuration::from_secs(1)
}

impl EntryDifference {
    /// The outcome of the entry.
    pub(super) fn outcome(&self, source: &SourceEntry) -> EntryOutcome {
        let Entry { seq, turn, ref id, .. } = source.entry;
        let fate = if self.why.is_empty() { Disposition::Kept } else { Disposition::Changed };
        EntryOutcome { seq, turn, id: id.clone(), fate, why: self.why.clone() }
    }

    /// What the record carries of the entry.
    pub(super) fn carried(&self, source: &SourceEntry) -> String {
        let mut fields = Map::new();
        fields.insert("turn".to_owned(), source.entry.turn.into());
        fields.extend(self.fields.clone());
        for (key, value) in [("call", &source.call.id), ("tool", &source.call.tool)] {
            fields.extend(value.as_ref().map(|value| (key.to_owned(), json!(value))));
        }
        let mut text = Value::Object(fields).to_string();
        if !source.changes.is_empty() {
            let changes: Vec<String> = source.changes.iter().map(change_json).collect();
            add_member(&mut text, "changes", &format!("[{}]", changes.join(",")));
        }
        for (key, internals) in [("before", &source.before), ("after", &source.after)] {
            if !internals.is_empty() {
                let all: Vec<String> = internals.iter().map(carried_whole).collect();
                add_member(&mut text, key, &format!("[{}]", all.join(",")));
            }
        }
        add_member(&mut text, "from", &json!(source.from).to_string());
        if let Some(raw) = &source.raw {
            add_member(&mut text, "raw", &raw.to_line());
        }
        text
    }
}

/// An entry that has no record of its own.
fn carried_whole(source: &SourceEntry) -> String {
    compare_entry(&blank_entry(source.entry.turn), &source.entry).carried(source)
}

/// Adds what belongs to the whole session to what the first record, or the session itself, carries.
pub(super) fn carry_session(first: &mut String, story: &SourceSession) {
    let mut session = json!({
        "id": story.id, "layout": story.layout, "title": story.title,
        "created": story.created.map(|time| time.to_string()),
    });
    if let Value::Object(fields) = &mut session {
        let facts = story.facts.carried().into_iter();
        fields.extend(facts.map(|(key, value)| (key.to_owned(), value)));
    }
    add_member(first, "session", &session.to_string());
    if !story.marks.is_empty() {
        let marks: Vec<Value> = story.marks.iter().map(mark_json).collect();
        add_member(first, "marks", &Value::Array(marks).to_string());
    }
    if let Some(state) = &story.state {
        add_member(first, "state", &state.to_line());
    }
    if let Some(game) = &story.game {
        add_member(first, "game", &game.to_line());
    }
    if let Some(ChatDocument { about, snapshots }) = &story.chat {
        let snapshots: Vec<String> = snapshots.iter().map(JsonTree::to_line).collect();
        let snapshots = snapshots.join(",");
        let about = about.to_line();
        add_member(first, "chat", &format!("{{\"about\":{about},\"snapshots\":[{snapshots}]}}"));
    }
}

/// A mark as it is carried and as mark documents contain it.
pub(super) fn mark_json(mark: &Mark) -> Value {
    json!({
        "id": mark.id, "kind": mark.kind.as_str(), "name": mark.name,
        "description": mark.description, "turn": mark.turn, "entry": mark.entry,
        "time": mark.time.map(|time| time.to_string()),
    })
}

fn change_json(change: &StateChange) -> String {
    format!("{{\"scope\":{},\"delta\":{}}}", json!(change.scope), change.delta.to_line())
}

fn add_member(object: &mut String, key: &str, json: &str) {
    object.pop();
    let comma = if object.len() > 1 { "," } else { "" };
    object.push_str(&format!("{comma}\"{key}\":{json}}}"));
}

/// Parses a JSON object; `None` if the text is not one.
pub(super) fn parse_object(text: &str) -> Option<Value> {
    let tree = JsonTree::parse(text).ok()?;
    tree.to_value().ok().filter(Value::is_object)
}
