//! One small session of each format, for the suites that test every format.
//!
//! [`SAMPLES`] is the only list of formats in tests: a suite takes its formats from it, and a test of the crate `everturn`
//! demands that it has the formats of the registry and no others. A [`FormatSample`] knows nothing but JSON, so that tests
//! of any layer can use it.

use serde_json::Value;

/// A session of a format.
#[derive(Debug)]
pub struct FormatSample {
    /// The name of the format.
    pub format: &'static str,
    /// The ID of the session.
    pub id: &'static str,
    /// The fields that a new session needs, as a JSON object.
    pub fields: &'static str,
    /// A turn with a text, as a JSON object in which `WORDS` stands for the text.
    message: &'static str,
    /// As `message`, with a change of the state that contains the text, if the format has states.
    turn: &'static str,
    /// The log of the session, to which other programs may append.
    pub log: &'static str,
}

/// One session of each format.
pub const SAMPLES: &[FormatSample] = &[
    FormatSample {
        format: "game",
        id: "session-one",
        fields: "{}",
        message: r#"{"actor":"gm","narration":"WORDS"}"#,
        turn: r#"{"actor":"player","events":[{"type":"discovery","description":"WORDS"}],"deltas":[{"scope":"world","deltas":[{"op":"set","path":"found","value":"WORDS"}]}]}"#,
        log: "sessions/active/session-one/turns/turns-0001-current.jsonl",
    },
    FormatSample {
        format: "campaign",
        id: "camp_0001",
        fields: "{}",
        message: r#"{"user_input":"WORDS","assistant_text":"So be it."}"#,
        turn: r#"{"user_input":"WORDS"}"#,
        log: "campaigns/camp_0001/turn_log.jsonl",
    },
    FormatSample {
        format: "codelia",
        id: "one",
        fields: "{}",
        message: r#"{"role":"user","content":"WORDS"}"#,
        turn: r#"{"role":"user","content":"WORDS"}"#,
        log: "sessions/messages/one.jsonl",
    },
    FormatSample {
        format: "linggen",
        id: "sess-1",
        fields: r#"{"project":"/srv/site"}"#,
        message: r#"{"content":"WORDS"}"#,
        turn: r#"{"content":"WORDS"}"#,
        log: "projects/-srv-site/sessions/sess-1/messages.jsonl",
    },
    FormatSample {
        format: "thread",
        id: "support-7",
        fields: "{}",
        message: r#"{"role":"user","content":"WORDS"}"#,
        turn: r#"{"role":"user","content":"WORDS"}"#,
        log: "threads/support-7/thread.jsonl",
    },
    FormatSample {
        format: "chatlog",
        id: "tale",
        fields: "{}",
        message: r#"{"type":"narrator","text":"WORDS"}"#,
        turn: r#"{"type":"narrator","text":"WORDS"}"#,
        log: "chats/tale.journal.jsonl",
    },
];

/// The sample of a format.
///
/// # Panics
///
/// If there is none: every format needs one.
#[must_use]
#[expect(clippy::panic, reason = "only tests use this, and one without a sample cannot go on")]
pub fn sample(format: &str) -> &'static FormatSample {
    let found = SAMPLES.iter().find(|sample| sample.format == format);
    found.unwrap_or_else(|| panic!("{format} has no sample in crates/samples"))
}

/// The names of all formats, in the order of the samples.
pub fn formats() -> impl Iterator<Item = &'static str> {
    SAMPLES.iter().map(|sample| sample.format)
}

impl FormatSample {
    /// A turn with this text.
    #[must_use]
    pub fn message(&self, text: &str) -> String {
        fill(self.message, text)
    }

    /// A turn with this text, which also changes the state if the format has states.
    #[must_use]
    pub fn turn(&self, text: &str) -> String {
        fill(self.turn, text)
    }
}

fn fill(template: &str, text: &str) -> String {
    template.replace("\"WORDS\"", &Value::from(text).to_string())
}
