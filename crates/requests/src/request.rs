//! [`Request`]: what can be asked of a session.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{ErrorCode, RequestError};

macro_rules! requests {
    ($($(#[$doc:meta])* $name:literal $effect:ident $variant:ident($fields:ident),)*) => {
        /// A request. [`Request::parse`] checks its fields.
        #[derive(Debug, Clone)]
        pub enum Request {
            $($(#[$doc])* $variant($fields),)*
        }

        impl Request {
            /// The names of all requests.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// Parses the fields of a request, given as a JSON object.
            pub fn parse(name: &str, fields: &str) -> Result<Request, RequestError> {
                match name {
                    $($name => Ok(Request::$variant(read_fields(fields)?)),)*
                    _ => Err(unknown_request(name)),
                }
            }

            /// Its name.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Request::$variant(_) => $name,)*
                }
            }

            /// Whether it changes the session or creates another.
            #[must_use]
            pub fn is_write(&self) -> bool {
                match self {
                    $(Request::$variant(_) => requests!(@ $effect),)*
                }
            }
        }
    };
    (@ read) => { false };
    (@ write) => { true };
}

requests! {
    /// Appends a turn or message.
    "append" write Append(AppendRequest),
    /// Undoes the last turns with a new turn.
    "undo" write Undo(UndoRequest),
    /// Rewinds to a turn; everything so far becomes a branch.
    "rewind" write Rewind(RewindRequest),
    /// Creates a session from the turns of this one.
    "fork" write Fork(ForkRequest),
    /// Starts a scene.
    "scene_start" write SceneStart(SceneRequest),
    /// Ends the open scene.
    "scene_end" write SceneEnd(SceneRequest),
    /// Stores the present state as a snapshot.
    "snapshot" write Snapshot(EmptyRequest),
    /// Adds a mark.
    "mark_add" write MarkAdd(MarkAddRequest),
    /// Removes a mark.
    "mark_remove" write MarkRemove(MarkRemoveRequest),
    /// Lists the marks.
    "mark_list" read MarkList(EmptyRequest),
    /// Pauses the session.
    "pause" write Pause(EmptyRequest),
    /// Resumes a paused session.
    "resume" write Resume(EmptyRequest),
    /// Completes the session.
    "complete" write Complete(EmptyRequest),
    /// The state, or a value in it, at a turn.
    "state" read State(StateRequest),
    /// The changes of the state between two turns.
    "diff" read Diff(DiffRequest),
    /// The entries of a range of turns, a page at a time.
    "entries" read Entries(EntriesRequest),
    /// The branches in the session, and the sessions that were forked from it.
    "branches" read Branches(EmptyRequest),
    /// Writes pending derived data and releases the lock.
    "sync" read Sync(EmptyRequest),
    /// What is known about the session.
    "info" read Info(EmptyRequest),
    /// Ends the conversation.
    "close" read Close(EmptyRequest),
}

fn read_fields<'f, T: Deserialize<'f>>(fields: &'f str) -> Result<T, RequestError> {
    serde_json::from_str(fields).map_err(|error| {
        // The position is one in the fields, not in the line.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let field = message.split('`').nth(1).map(str::to_owned);
        let failed = RequestError::new(ErrorCode::BadRequest, message);
        match field {
            Some(field) => failed.at(field),
            None => failed,
        }
    })
}

fn unknown_request(name: &str) -> RequestError {
    RequestError::new(ErrorCode::UnknownRequest, format!("unknown request {name:?}"))
        .at("request")
        .hint(format!("known requests: {}", Request::NAMES.join(", ")))
}

/// A request without fields.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EmptyRequest {}

/// Appends a turn or message.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AppendRequest {
    /// The turn or message, an object in the terms of the format.
    pub data: Box<RawValue>,
    /// An idempotency key, which is stored with it.
    #[serde(default)]
    pub key: Option<String>,
    /// The turn that must be the last one before it.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Undoes the last turns.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// The number of turns; 1 by default.
    #[serde(default)]
    pub turns: Option<u64>,
    /// The turn that must be the last one.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Rewinds to a turn.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RewindRequest {
    /// The turn, which becomes the last one.
    pub turn: u64,
    /// The turn that must be the last one before.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Creates a session from the turns of this one.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForkRequest {
    /// The last turn of the new session; all turns by default.
    #[serde(default)]
    pub turn: Option<u64>,
    /// The ID of the new session; by default the format assigns one.
    #[serde(default)]
    pub session: Option<String>,
}

/// Starts or ends a scene.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SceneRequest {
    /// The fields of the scene, or of its end.
    #[serde(default)]
    pub data: Option<Box<RawValue>>,
    /// The turn that must be the last one.
    #[serde(default)]
    pub after: Option<u64>,
}

/// Adds a mark.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkAddRequest {
    /// Its name.
    pub name: String,
    /// Its kind; `bookmark` by default.
    #[serde(default)]
    pub kind: Option<String>,
    /// A description.
    #[serde(default)]
    pub description: Option<String>,
    /// The marked turn; by default that of the entry, or the last.
    #[serde(default)]
    pub turn: Option<u64>,
    /// The ID of the marked entry.
    #[serde(default)]
    pub entry: Option<String>,
}

/// Removes a mark.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkRemoveRequest {
    /// The ID of the mark.
    pub mark: String,
}

/// The state at a turn.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StateRequest {
    /// The path of a value, starting with the scope, such as `world.npcs.luna`.
    #[serde(default)]
    pub path: Option<StatePath>,
    /// The turn; the last one by default.
    #[serde(default)]
    pub turn: Option<u64>,
}

/// A path in the state: keys with dots between them, or a list of keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a path is a string or a list of strings")]
pub enum StatePath {
    /// Keys with dots between them.
    Dotted(String),
    /// The keys, which may contain dots.
    Keys(Vec<String>),
}

/// The changes between two turns.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DiffRequest {
    /// The turn to start from.
    pub from: u64,
    /// The turn to compare with; the last one by default.
    #[serde(default)]
    pub to: Option<u64>,
    /// Only this scope.
    #[serde(default)]
    pub scope: Option<String>,
}

/// The entries of a range of turns.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EntriesRequest {
    /// The first turn; the first of the session by default.
    #[serde(default)]
    pub from: Option<u64>,
    /// The last turn; the last of the session by default.
    #[serde(default)]
    pub to: Option<u64>,
    /// The number of entries after which a page ends; a turn is not split.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Where to continue: `next` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether to include the stored records.
    #[serde(default)]
    pub raw: bool,
}
