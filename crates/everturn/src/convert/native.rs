//! Files of other programs, in which a conversation can go on there.
//!
//! Such a file has only what its program writes itself: nothing is carried. What that leaves out is reported.

use jiff::Timestamp;
use serde_json::Value;

use super::report::Fate;
use super::story::{Story, Told};
use crate::checksum::checksum;
use crate::view::{Entry, Kind};

/// Makes the file of another program.
pub(super) trait Native {
    /// What the program writes behind the last line.
    fn end(&self) -> &'static str {
        "\n"
    }

    /// The id of the new session: the one that was asked for, if the program can have it.
    fn id(&self, asked: Option<&str>, story: &Story) -> Result<String, String>;

    /// The name of the file.
    fn file(&self, id: &str, start: Timestamp) -> String;

    /// The lines of the file, and what became of each entry.
    fn write(&self, story: &Story, setting: &Setting) -> Written;
}

/// What every line may need.
pub(super) struct Setting {
    pub(super) id: String,
    /// The directory that the program works on.
    pub(super) project: String,
    /// When the session began.
    pub(super) start: Timestamp,
}

/// A file, while it is being made.
#[derive(Default)]
pub(super) struct Written {
    pub(super) lines: Vec<Value>,
    /// What each entry reads as there; or why it is not there.
    pub(super) fates: Vec<Result<String, &'static str>>,
    /// Whether the title is there.
    pub(super) titled: bool,
}

impl Written {
    /// Keeps an entry that reads as its text.
    pub(super) fn keep(&mut self, entry: &Entry) {
        self.fates.push(Ok(entry.text.clone()));
    }
}

/// An id as programs make them by chance; this one follows from what it is for.
pub(super) fn uuid(parts: &[&str]) -> String {
    let name = parts.join("\0");
    let sum = |salt: &[u8]| checksum(&[salt, name.as_bytes()]);
    let (high, low) = (sum(b"high"), sum(b"low"));
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// Whether a text is such an id.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let plain = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(plain)
}

/// The id of a session of a program that wants such ids.
pub(super) fn uuid_of(asked: Option<&str>, story: &Story) -> Result<String, String> {
    match asked {
        Some(id) if is_uuid(id) => Ok(id.to_owned()),
        Some(id) => Err(format!("{id:?} is no UUID, which the ids of this program are")),
        None if is_uuid(&story.id) => Ok(story.id.clone()),
        None => Ok(uuid(&[&story.layout, &story.id])),
    }
}

/// A time as programs write it.
pub(super) fn stamp(time: Timestamp) -> String {
    let format = jiff::fmt::temporal::DateTimePrinter::new().precision(Some(3));
    format.timestamp_to_string(&time)
}

/// Which answer belongs to which call: places of entries, by the places of others.
pub(super) struct Pairs {
    partner: Vec<Option<usize>>,
}

impl Pairs {
    /// Finds them: an answer names its call in its record, or else its tool, or is that of the first call without one.
    pub(super) fn of(entries: &[Told]) -> Pairs {
        let mut partner = vec![None; entries.len()];
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (at, told) in entries.iter().enumerate() {
            match told.entry.kind {
                Kind::ToolCall => open.push((at, super::record::call(&told.entry.text).0)),
                Kind::ToolResult if !open.is_empty() => {
                    let named = named_call(told);
                    let names = |(call, _): &(usize, &str)| {
                        let record = entries.get(*call).and_then(record_of);
                        named.as_ref().zip(record).is_some_and(|(id, text)| text.contains(id))
                    };
                    let same = |(_, tool): &(usize, &str)| *tool == told.entry.speaker;
                    let found = open.iter().position(names).or_else(|| open.iter().position(same));
                    let (call, _) = open.remove(found.unwrap_or(0));
                    for (one, other) in [(call, at), (at, call)] {
                        if let Some(place) = partner.get_mut(one) {
                            *place = Some(other);
                        }
                    }
                }
                Kind::ToolResult => {}
                _ if told.entry.kind.is_bookkeeping() => {}
                // Programs want answers before anybody says anything else.
                _ => open.clear(),
            }
        }
        Pairs { partner }
    }

    /// The entry that belongs to one.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partner.get(at).copied().flatten()
    }
}

/// The record of an entry, as text.
fn record_of(told: &Told) -> Option<String> {
    let raw = told.raw.as_ref().unwrap_or(&told.entry.raw);
    (!raw.is_null()).then(|| raw.to_line())
}

/// The id of the call that a record answers, in quotes.
fn named_call(told: &Told) -> Option<String> {
    let record = record_of(told)?;
    let keys = ["\"tool_use_id\"", "\"call_id\"", "\"tool_call_id\"", "\"toolCallId\""];
    let (_, rest) = keys.iter().find_map(|key| record.split_once(key))?;
    let value = rest.trim_start_matches([':', ' ']);
    let end = value.strip_prefix('"')?.find('"')? + 2;
    value.get(..end).map(str::to_owned)
}

/// Why an entry is left out whatever the program, if it is.
pub(super) fn left_out(entry: &Entry) -> Option<&'static str> {
    match &entry.kind {
        kind if kind.is_bookkeeping() => Some("a program has kept it for itself"),
        _ if entry.text.trim().is_empty() => {
            Some("it says nothing, and empty messages are refused")
        }
        _ => None,
    }
}

/// What files of other programs have no place for.
pub(super) fn note_lost(story: &Story, written: &Written, report: &mut super::Report) {
    let why = "the files of this program have no place for it";
    if story.title.is_some() && !written.titled {
        report.note("the title", Fate::Dropped, why);
    }
    if !story.marks.is_empty() {
        report.note(format!("marks: {}", story.marks.len()), Fate::Dropped, why);
    }
    if story.has_states() {
        report.note("the states", Fate::Dropped, why);
    }
    report.note("what records say besides", Fate::Dropped, why);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: Kind, raw: &str) -> Told {
        let (id, speaker, text) = (String::new(), "tool".to_owned(), "ls {}".to_owned());
        let raw = crate::tree::Tree::parse(raw).unwrap();
        let entry = Entry { seq: 1, turn: 1, id, time: None, speaker, kind, text, raw };
        let (from, changes) = (String::new(), Vec::new());
        Told { entry, at: 1, is_carried: false, from, raw: None, changes }
    }

    #[test]
    fn an_answer_belongs_to_the_call_that_its_record_names() {
        let entries = [
            told(Kind::ToolCall, r#"{"type": "tool_use", "id": "one"}"#),
            told(Kind::ToolCall, r#"{"type": "tool_use", "id": "two"}"#),
            told(Kind::ToolResult, r#"{"tool_use_id": "two"}"#),
            told(Kind::ToolResult, r#"{"tool_use_id":"one"}"#),
            told(Kind::ToolCall, r#"{"id": "three"}"#),
            told(Kind::User, "{}"),
            told(Kind::ToolResult, r#"{"call_id": "three"}"#),
        ];
        let pairs = Pairs::of(&entries);
        let found: Vec<Option<usize>> = (0..7).map(|at| pairs.partner(at)).collect();
        assert_eq!(found, [Some(3), Some(2), Some(1), Some(0), None, None, None]);
    }

    #[test]
    fn ids_follow_from_what_they_are_for_and_look_as_they_should() {
        let one = uuid(&["game", "one"]);
        assert!(is_uuid(&one), "{one}");
        assert_eq!(one.get(14..15), Some("4"));
        assert!(matches!(one.get(19..20), Some("8" | "9" | "a" | "b")), "{one}");
        assert_eq!(one, uuid(&["game", "one"]));
        assert_ne!(one, uuid(&["game", "two"]));
        assert!(!is_uuid("one") && !is_uuid("0000000g-0000-4000-8000-000000000000"));
    }
}
