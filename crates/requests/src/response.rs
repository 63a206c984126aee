//! [`Response`]: the answers to requests.

use serde::Serialize;
use serde_json::value::RawValue;

/// The answer to a request that succeeded.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Response {
    /// To `append`.
    Append(AppendAnswer),
    /// To `undo`.
    Undo(UndoAnswer),
    /// To `rewind`.
    Rewind(RewindAnswer),
    /// To `fork`.
    Fork(ForkAnswer),
    /// To `scene_start` and `scene_end`.
    Scene(SceneAnswer),
    /// To `snapshot`.
    Snapshot(SnapshotAnswer),
    /// To `mark_add` and `mark_remove`.
    Mark(MarkAnswer),
    /// To `mark_list`.
    Marks(MarksAnswer),
    /// To `pause`, `resume` and `complete`.
    Status(StatusAnswer),
    /// To `state`.
    State(StateAnswer),
    /// To `diff`.
    Diff(DiffAnswer),
    /// To `entries`.
    Entries(EntriesAnswer),
    /// To `branches`.
    Branches(BranchesAnswer),
    /// To `sync` and `close`.
    Sync(SyncAnswer),
    /// To `info`.
    Info(InfoAnswer),
}

/// When a turn was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AppendTiming {
    /// By this request.
    Now,
    /// By an earlier one, with the same key, number or ID. Nothing was changed.
    Before,
}

/// Something that a person should know, although the request succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// The code of a finding, or `deferred`.
    pub code: &'static str,
    /// The description.
    pub message: String,
    /// The file below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// A turn is stored.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppendAnswer {
    /// Its number.
    pub turn: u64,
    /// When it was stored.
    pub stored: AppendTiming,
    /// The IDs of its events or of its message.
    pub events: Vec<String>,
    /// The snapshot that was due and taken.
    pub snapshot: Option<String>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// Turns are undone.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoAnswer {
    /// The new turn.
    pub turn: u64,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// The session is rewound.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RewindAnswer {
    /// The last turn now.
    pub turn: u64,
    /// The session that has everything so far.
    pub branch: String,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A session is forked.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForkAnswer {
    /// The new session.
    pub session: String,
    /// Its last turn.
    pub turn: u64,
    /// The session that it comes from.
    pub parent: String,
    /// Its path below the root.
    pub path: String,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A scene is started or ended.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SceneAnswer {
    /// The turn that does so.
    pub turn: u64,
    /// The scene.
    pub scene: Option<String>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A snapshot is taken.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotAnswer {
    /// Its turn.
    pub turn: u64,
    /// Its ID.
    pub snapshot: Option<String>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A mark is added or removed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkAnswer {
    /// The mark.
    pub mark: MarkView,
}

/// All marks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarksAnswer {
    /// The marks, by turn.
    pub marks: Vec<MarkView>,
}

/// A mark.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkView {
    /// Its ID.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub description: String,
    /// The marked turn.
    pub turn: u64,
    /// The marked entry.
    pub entry: Option<String>,
    /// When it was added.
    pub time: Option<String>,
}

/// The session has another status.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusAnswer {
    /// Its status.
    pub status: String,
    /// Its path below the root.
    pub path: String,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// The state at a turn, or a value in it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateAnswer {
    /// The turn.
    pub turn: u64,
    /// The state by scope, or the value at the path.
    pub state: Box<RawValue>,
    /// Warnings: with one about damage, the state may be wrong.
    pub warnings: Vec<Warning>,
}

/// The changes between two turns.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffAnswer {
    /// The first turn.
    pub from: u64,
    /// The second turn.
    pub to: u64,
    /// The changes: `scope`, `op`, `path`, `value` and `previousValue`.
    pub changes: Vec<Box<RawValue>>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A page of entries.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntriesAnswer {
    /// The entries, in order.
    pub entries: Vec<EntryView>,
    /// The cursor of the next page; `None` after the last one.
    pub next: Option<String>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// An entry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntryView {
    /// Its position in the session, counted from 1.
    pub seq: u64,
    /// Its turn.
    pub turn: u64,
    /// Its ID.
    pub id: String,
    /// Its time.
    pub time: Option<String>,
    /// The speaker.
    pub speaker: String,
    /// Its kind, such as `user`.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// The stored record, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// The branches.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchesAnswer {
    /// The branches in the session, if its records form a tree.
    pub branches: Vec<BranchView>,
    /// The sessions that were forked from it, or set aside when it was rewound.
    pub forks: Vec<String>,
    /// Warnings, such as sessions that cannot be read.
    pub warnings: Vec<Warning>,
}

/// A branch in a session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchView {
    /// Its ID.
    pub id: String,
    /// The last turn that it shares with the main line.
    pub from: Option<u64>,
    /// The number of its own turns.
    pub turns: u64,
    /// When its last record was written.
    pub updated: Option<String>,
    /// Its title.
    pub title: String,
}

/// Everything is written.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncAnswer {
    /// The last turn.
    pub turn: Option<u64>,
}

/// What is known about the session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InfoAnswer {
    /// The version of the protocol.
    pub protocol: u64,
    /// The session.
    pub session: String,
    /// Its format.
    pub format: &'static str,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: String,
    /// Its path below the root.
    pub path: String,
    /// When it was created.
    pub created: Option<String>,
    /// When it was last changed.
    pub updated: Option<String>,
    /// Its last turn.
    pub turns: Option<u64>,
    /// The session that it is a branch of.
    pub parent: Option<String>,
    /// Whether requests may change it. Its status may still forbid that.
    pub writable: bool,
    /// Whether this process has locked it.
    pub locked: bool,
    /// Whether `append` accepts a key.
    pub keys: bool,
    /// Warnings.
    pub warnings: Vec<Warning>,
}
