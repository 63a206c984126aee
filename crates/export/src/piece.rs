//! The parts of a session that a format writes: [`ExportPiece`], [`Message`], [`TurnChanges`] and [`ChangeLine`].

use everturn::delta::{Delta, DeltaOp};
use everturn::document::JsonStyle;
use everturn::model::{EntryExtras, EntryKind, Mark, StateChange};
use everturn::tree::JsonTree;
use jiff::Timestamp;

/// How many characters of a changed value are shown.
const SHOWN: usize = 160;

/// The role of a speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeakerRole {
    /// The player or user.
    Player,
    /// The narrator.
    Narrator,
    /// Another speaker: a character or a model.
    Voice,
    /// The program.
    System,
    /// An out-of-character speaker.
    Aside,
    /// A model that thinks.
    Thought,
    /// A tool call.
    Call,
    /// A tool result.
    Answer,
    /// An event without a speaker.
    Event,
}

impl SpeakerRole {
    /// Returns the role for a kind of entry.
    #[must_use]
    pub fn of(kind: &EntryKind) -> SpeakerRole {
        match kind {
            EntryKind::User => SpeakerRole::Player,
            EntryKind::Narrator => SpeakerRole::Narrator,
            EntryKind::System => SpeakerRole::System,
            EntryKind::Ooc => SpeakerRole::Aside,
            EntryKind::ToolCall => SpeakerRole::Call,
            EntryKind::ToolResult => SpeakerRole::Answer,
            EntryKind::Event => SpeakerRole::Event,
            EntryKind::Other(word) if matches!(word.as_str(), "thinking" | "reasoning") => {
                SpeakerRole::Thought
            }
            _ => SpeakerRole::Voice,
        }
    }

    /// The name of the role in the output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SpeakerRole::Player => "player",
            SpeakerRole::Narrator => "narrator",
            SpeakerRole::Voice => "voice",
            SpeakerRole::System => "system",
            SpeakerRole::Aside => "aside",
            SpeakerRole::Thought => "thought",
            SpeakerRole::Call => "call",
            SpeakerRole::Answer => "answer",
            SpeakerRole::Event => "event",
        }
    }

    /// Returns the note after the speaker's name, for roles that the name does not imply.
    #[must_use]
    pub fn note(self) -> Option<&'static str> {
        match self {
            SpeakerRole::Player
            | SpeakerRole::Narrator
            | SpeakerRole::Voice
            | SpeakerRole::System => None,
            SpeakerRole::Aside => Some("out of character"),
            SpeakerRole::Thought => Some("thinks"),
            SpeakerRole::Call => Some("calls"),
            SpeakerRole::Answer => Some("answers"),
            SpeakerRole::Event => Some("event"),
        }
    }
}

/// A message or an action.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its position in the session, counted from 1.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// The ID of the entry.
    pub id: String,
    /// The time.
    pub time: Option<Timestamp>,
    /// The speaker or actor.
    pub speaker: String,
    /// The kind of entry.
    pub kind: EntryKind,
    /// The readable text, with actions and attachments in words.
    pub text: String,
    /// The readable text with actions, without attachments.
    pub spoken: String,
    /// What it has besides its text.
    pub extras: EntryExtras,
    /// The complete record that it was made from.
    pub raw: JsonTree,
}

impl Message {
    /// Returns the role of the speaker.
    #[must_use]
    pub fn role(&self) -> SpeakerRole {
        SpeakerRole::of(&self.kind)
    }

    /// Returns the name of a tool, and its input or result in readable form. Not every text about a tool begins with
    /// its name.
    #[must_use]
    pub fn tool(&self) -> (Option<String>, String) {
        let text = self.text.trim();
        let (name, rest) = match text.split_once([' ', '\n']) {
            Some((name, rest)) => (name, rest.trim()),
            None => (text, ""),
        };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
        let named = self.role() == SpeakerRole::Call || name == self.speaker;
        if named && !name.is_empty() && name.len() <= 80 && name.chars().all(plain) {
            return (Some(name.to_owned()), pretty_json(rest));
        }
        (None, pretty_json(text))
    }
}

/// Formats JSON with one line per value; returns other text unchanged.
fn pretty_json(text: &str) -> String {
    let is_json = text.starts_with(['{', '[']) && text.len() <= 1 << 20;
    match JsonTree::parse(text) {
        Ok(tree) if is_json => tree.to_text(&JsonStyle::PRETTY_RAW),
        _ => text.to_owned(),
    }
}

/// The changes of a turn.
#[derive(Debug, Clone)]
pub struct TurnChanges {
    /// The turn.
    pub turn: u64,
    /// The changes in readable form.
    pub lines: Vec<ChangeLine>,
    /// The complete changes.
    pub raw: Vec<StateChange>,
}

/// A state change in readable form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// The scope and the path within it.
    pub place: String,
    /// The old value, if known.
    pub before: Option<String>,
    /// The new value, or the value that was added or removed.
    pub after: Option<String>,
    /// The operation.
    pub op: DeltaOp,
    /// Why the value changed, if known.
    pub cause: Option<String>,
}

impl ChangeLine {
    /// Returns a change with its values shortened.
    #[must_use]
    pub fn of(change: &StateChange) -> ChangeLine {
        let Delta { op, path, value, previous, .. } = &change.delta;
        let place = match path.segments() {
            [] => change.scope.clone(),
            segments => format!("{} {}", change.scope, segments.join(".")),
        };
        // A format that knows names and display formats adds them.
        let shown = change.delta.extra.iter().find(|(key, _)| key == "shown").map(|(_, tree)| tree);
        let shown =
            |key: &str| shown.and_then(|tree| tree.value_at(&[key])).map(|it| shorten_value(&it));
        ChangeLine {
            place: shown("place").unwrap_or(place),
            before: shown("before").or_else(|| previous.as_ref().map(shorten_value)),
            after: shown("after").or_else(|| value.as_ref().map(shorten_value)),
            op: *op,
            cause: shown("cause"),
        }
    }

    /// Describes the change in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let after = self.after.as_deref().unwrap_or_default();
        let cause = self.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        let words = match (self.op, self.before.as_deref()) {
            (DeltaOp::Set, Some(before)) => format!("{before} → {after}"),
            (DeltaOp::Set, None) => after.to_owned(),
            (DeltaOp::Delete, Some(before)) => format!("{before} removed"),
            (DeltaOp::Delete, None) => "removed".to_owned(),
            (DeltaOp::Push, _) => format!("{after} added"),
            (DeltaOp::Pull, _) => format!("{after} removed"),
            (DeltaOp::Increment, Some(before)) => format!("{before} + {after}"),
            (DeltaOp::Increment, None) => format!("+ {after}"),
        };
        format!("{words}{cause}")
    }
}

/// Returns a value, truncated if it is long; strings are unquoted.
fn shorten_value(tree: &JsonTree) -> String {
    let text = tree.string_at::<&str>(&[]).unwrap_or_else(|| tree.to_line());
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// A part of a session, in reading order.
#[derive(Debug, Clone)]
pub enum ExportPiece {
    /// A mark: the start of a chapter or scene, an event, a decision, or a bookmark.
    Heading(Mark),
    /// The start of a turn.
    Turn {
        /// The turn number.
        number: u64,
        /// The time.
        time: Option<Timestamp>,
    },
    /// A message or an action.
    Message(Box<Message>),
    /// State changes.
    Changes(TurnChanges),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: &str, speaker: &str, text: &str) -> Message {
        Message {
            seq: 1,
            turn: 1,
            id: "1".to_owned(),
            time: None,
            speaker: speaker.to_owned(),
            kind: EntryKind::parse(kind),
            text: text.to_owned(),
            spoken: text.to_owned(),
            extras: EntryExtras::default(),
            raw: JsonTree::null(),
        }
    }

    #[test]
    fn a_tool_is_told_from_what_it_was_given() {
        let check = |said: Message, name: Option<&str>, rest: &str| {
            assert_eq!(said.tool(), (name.map(str::to_owned), rest.to_owned()));
        };
        check(said("tool_call", "gm", "roll {\"d\":6}"), Some("roll"), "{\n  \"d\": 6\n}");
        check(said("tool_call", "gm", "patch\n+ a\n- b"), Some("patch"), "+ a\n- b");
        check(said("tool_call", "gm", "ls"), Some("ls"), "");
        check(said("tool_result", "roll", "roll 4"), Some("roll"), "4");
        check(said("tool_result", "read", "It is dark."), None, "It is dark.");
        check(said("tool_call", "gm", "<b> {\"d\":6}"), None, "<b> {\"d\":6}");
    }

    #[test]
    fn a_change_says_where_and_what() {
        let check = |delta: &str, place: &str, words: &str| {
            let delta = Delta::parse(delta).unwrap();
            let line = ChangeLine::of(&StateChange {
                turn: 1,
                scope: "world".to_owned(),
                delta,
                time: None,
            });
            assert_eq!((line.place.as_str(), line.describe().as_str()), (place, words));
        };
        check(r#"{"op":"set","path":"a.b","value":5,"previousValue":4}"#, "world a.b", "4 → 5");
        check(r#"{"op":"set","path":[],"value":"x"}"#, "world", "x");
        check(r#"{"op":"delete","path":["a"],"previousValue":4}"#, "world a", "4 removed");
        check(r#"{"op":"push","path":"bag","value":"lamp"}"#, "world bag", "lamp added");
        check(r#"{"op":"pull","path":"bag","value":"lamp"}"#, "world bag", "lamp removed");
        check(r#"{"op":"increment","path":"n","value":-2,"previousValue":5}"#, "world n", "5 + -2");
    }
}
