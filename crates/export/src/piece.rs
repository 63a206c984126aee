//! What a session consists of, for whoever writes it down.

use everturn::delta::{Delta, DeltaOp};
use everturn::document::JsonStyle;
use everturn::model::{EntryKind, Mark, StateChange};
use everturn::tree::JsonTree;
use jiff::Timestamp;

/// How much of a value is shown where it changes.
const SHOWN: usize = 160;

/// What somebody does who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeakerRole {
    /// Whoever plays or asks.
    Player,
    /// Whoever tells the story.
    Narrator,
    /// Anybody else who speaks: a character, a model.
    Voice,
    /// The program.
    System,
    /// Somebody who speaks out of character.
    Aside,
    /// A model that thinks.
    Thought,
    /// Somebody who calls a tool.
    Call,
    /// A tool that answers.
    Answer,
    /// Nobody: something happens.
    Event,
}

impl SpeakerRole {
    /// The role of an entry of this kind.
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

    /// Its name, for those who tell roles apart.
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

    /// What is said of it after the name of the speaker, where the name does not tell.
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

/// One thing that was said or done.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its place in the session, counted from 1.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// Its id.
    pub id: String,
    /// When it was.
    pub time: Option<Timestamp>,
    /// Who spoke or acted.
    pub speaker: String,
    /// What kind of entry it is.
    pub kind: EntryKind,
    /// What there is to read.
    pub text: String,
    /// The record it was made from, with everything that is in it.
    pub raw: JsonTree,
}

impl Message {
    /// What its speaker does.
    #[must_use]
    pub fn role(&self) -> SpeakerRole {
        SpeakerRole::of(&self.kind)
    }

    /// The name of a tool, and what it was given or answered, laid out so that it can be read. Not every text about a
    /// tool begins with its name.
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

/// JSON with a line for each of its values; any other text as it is.
fn pretty_json(text: &str) -> String {
    let is_json = text.starts_with(['{', '[']) && text.len() <= 1 << 20;
    match JsonTree::parse(text) {
        Ok(tree) if is_json => tree.to_text(&JsonStyle::PRETTY_RAW),
        _ => text.to_owned(),
    }
}

/// What changed with a turn.
#[derive(Debug, Clone)]
pub struct TurnChanges {
    /// The turn.
    pub turn: u64,
    /// The changes, for people.
    pub lines: Vec<ChangeLine>,
    /// The changes themselves, with everything that is in them.
    pub raw: Vec<StateChange>,
}

/// A change of the state, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// Where: the part of the state, and the way from there.
    pub place: String,
    /// What was there, if it is known.
    pub before: Option<String>,
    /// What is there now, or what was added or removed.
    pub after: Option<String>,
    /// What happened.
    pub op: DeltaOp,
}

impl ChangeLine {
    /// A change with values of a length that can be read.
    #[must_use]
    pub fn of(change: &StateChange) -> ChangeLine {
        let Delta { op, path, value, previous, .. } = &change.delta;
        let place = match path.segments() {
            [] => change.scope.clone(),
            segments => format!("{} {}", change.scope, segments.join(".")),
        };
        let (before, after) =
            (previous.as_ref().map(shorten_value), value.as_ref().map(shorten_value));
        ChangeLine { place, before, after, op: *op }
    }

    /// What became of the place, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let after = self.after.as_deref().unwrap_or_default();
        match (self.op, self.before.as_deref()) {
            (DeltaOp::Set, Some(before)) => format!("{before} → {after}"),
            (DeltaOp::Set, None) => after.to_owned(),
            (DeltaOp::Delete, Some(before)) => format!("{before} removed"),
            (DeltaOp::Delete, None) => "removed".to_owned(),
            (DeltaOp::Push, _) => format!("{after} added"),
            (DeltaOp::Pull, _) => format!("{after} removed"),
            (DeltaOp::Increment, Some(before)) => format!("{before} + {after}"),
            (DeltaOp::Increment, None) => format!("+ {after}"),
        }
    }
}

/// A value, cut short if it is long; a text without its quotes.
fn shorten_value(tree: &JsonTree) -> String {
    let text = tree.string_at::<&str>(&[]).unwrap_or_else(|| tree.to_line());
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// A part of a session, in the order in which they are read.
#[derive(Debug, Clone)]
pub enum ExportPiece {
    /// A mark: a chapter or a scene begins, something happened or was decided here, or somebody put a bookmark.
    Heading(Mark),
    /// A turn begins.
    Turn {
        /// Its number.
        number: u64,
        /// When it was.
        time: Option<Timestamp>,
    },
    /// Something was said or done.
    Message(Box<Message>),
    /// The state changed.
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
