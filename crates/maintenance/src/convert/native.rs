//! Native files that other programs can use to resume a conversation.
//!
//! A native file contains only what its program writes itself, so nothing is carried. Omissions are reported.

use jiff::Timestamp;
use serde_json::Value;

use super::facts::SessionFacts;
use super::report::Disposition;
use super::source_session::SourceSession;
use super::tool_calls::CallPairs;
use everturn_json::checksum::checksum;
use everturn_session::model::{Entry, EntryKind};

/// Creates the file of another program.
pub(super) trait NativeTarget {
    /// What the program writes after the last line.
    fn end(&self) -> &'static str {
        "\n"
    }

    /// The ID of the new session: the requested one, if it is valid for the program.
    fn id(&self, asked: Option<&str>, story: &SourceSession) -> Result<String, String>;

    /// The name of the file.
    fn file(&self, id: &str, start: Timestamp) -> String;

    /// The lines of the file, and the outcome of each entry.
    fn write(&self, story: &SourceSession, setting: &NativeContext) -> NativeFile;
}

/// Options for the files of other programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeOptions<'o> {
    /// The name of the model provider that a Codex session uses. It must be one that the program has configured.
    pub provider: Option<&'o str>,
}

/// Values that any line may need.
pub(super) struct NativeContext {
    pub(super) id: String,
    /// The working directory.
    pub(super) project: String,
    /// When the session started.
    pub(super) start: Timestamp,
    /// The model provider, if one was chosen.
    pub(super) provider: Option<String>,
}

/// A file that is being built.
#[derive(Default)]
pub(super) struct NativeFile {
    pub(super) lines: Vec<Value>,
    /// The text that each entry reads back as, or why it was omitted.
    pub(super) fates: Vec<Result<String, &'static str>>,
    /// Whether the file contains the title.
    pub(super) titled: bool,
    /// Whether the file contains the working directory.
    pub(super) placed: bool,
    /// Which results belong to which calls, by the indexes of the entries.
    pub(super) pairs: CallPairs,
    /// The message that was put before the first entry, because the program's model requires one of the user there.
    pub(super) opening: Option<&'static str>,
}

/// The opening of a conversation that starts with an answer.
pub(super) const OPENING: &str = "(The conversation starts here.)";

/// Whether the first thing that a model would receive is an answer of its own.
pub(super) fn starts_with_answer(story: &SourceSession) -> bool {
    let kinds = story.entries.iter().filter(|source| omission_reason(&source.entry).is_none());
    let first = kinds.map(|source| &source.entry.kind).find(|kind| {
        let is_call = matches!(kind, EntryKind::ToolCall | EntryKind::ToolResult);
        **kind == EntryKind::User || is_answer(kind) || is_call
    });
    first.is_some_and(|kind| *kind != EntryKind::User)
}

/// Whether an entry is from anyone but the user.
fn is_answer(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc)
}

/// Puts the name of the speaker before the text of an answer, if several speakers answer. Programs with one model have
/// no other place for it.
pub(super) struct SpeakerPrefix {
    is_needed: bool,
}

impl SpeakerPrefix {
    pub(super) fn of(story: &SourceSession) -> SpeakerPrefix {
        let answers = story.entries.iter().filter(|source| is_answer(&source.entry.kind));
        let mut speakers: Vec<&str> = answers.map(|source| source.entry.speaker.as_str()).collect();
        speakers.sort_unstable();
        speakers.dedup();
        SpeakerPrefix { is_needed: speakers.len() > 1 }
    }

    /// The text of an entry.
    pub(super) fn text(&self, entry: &Entry) -> String {
        match self.is_needed && is_answer(&entry.kind) && !entry.speaker.is_empty() {
            true => format!("{}: {}", entry.speaker, entry.text),
            false => entry.text.clone(),
        }
    }
}

impl NativeFile {
    /// Keeps an entry that reads back as its text.
    pub(super) fn keep(&mut self, entry: &Entry) {
        self.fates.push(Ok(entry.text.clone()));
    }
}

/// A UUID that is derived from `parts` instead of random bits.
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

/// Whether a text is a UUID.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let plain = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(plain)
}

/// The session ID for a program whose IDs are UUIDs.
pub(super) fn uuid_of(asked: Option<&str>, story: &SourceSession) -> Result<String, String> {
    match asked {
        Some(id) if is_uuid(id) => Ok(id.to_owned()),
        Some(id) => Err(format!("{id:?} is not a UUID, which this program requires as session id")),
        None if is_uuid(&story.id) => Ok(story.id.clone()),
        None => Ok(uuid(&[&story.layout, &story.id])),
    }
}

/// A time in the usual format of these programs.
pub(super) fn format_time(time: Timestamp) -> String {
    let format = jiff::fmt::temporal::DateTimePrinter::new().precision(Some(3));
    format.timestamp_to_string(&time)
}

/// Why an entry is omitted in all native files, if it is.
pub(super) fn omission_reason(entry: &Entry) -> Option<&'static str> {
    match &entry.kind {
        kind if kind.is_bookkeeping() => Some("it is internal data of the program"),
        _ if entry.text.trim().is_empty() => {
            Some("it has no text, and empty messages are rejected")
        }
        _ => None,
    }
}

/// Reports what files of other programs cannot contain.
pub(super) fn note_lost(
    story: &SourceSession,
    written: &NativeFile,
    report: &mut super::ConversionReport,
) {
    let why = "the format of this program cannot store it";
    if story.title.is_some() && !written.titled {
        report.note("the title", Disposition::Dropped, why);
    }
    if !story.marks.is_empty() {
        report.note(format!("marks: {}", story.marks.len()), Disposition::Dropped, why);
    }
    if story.has_states() {
        report.note("the states", Disposition::Dropped, why);
    }
    let project = story.facts.project.clone().filter(|_| written.placed);
    let kept = SessionFacts { status: "active".to_owned(), project, ..SessionFacts::default() };
    story.facts.note_differences(&kept, "", (Disposition::Dropped, why), report);
    report.note("other fields of records", Disposition::Dropped, why);
    if written.opening.is_some() {
        let why = "the model expects a message of the user first; one was added";
        report.note("the opening", Disposition::Changed, why);
    }
    if written.fates.iter().zip(&story.entries).any(|(fate, source)| {
        let prefixed = format!("{}: {}", source.entry.speaker, source.entry.text);
        fate.as_ref().is_ok_and(|text| *text == prefixed)
    }) {
        let why = "the program has one speaker only; their names are put before the texts";
        report.note("the speakers", Disposition::Changed, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
