//! The common model: sessions, entries, states and marks of all formats.
//!
//! Each format decodes its files into these few types, so that code that lists, shows, compares or replays sessions is
//! written once. [`format`](mod@crate::format) has the traits that produce them.

pub mod carried;
mod extras;
mod kind;
mod mark;
mod outline;
mod status;
mod usage;

use std::cmp::Ordering;

use jiff::Timestamp;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_value::delta::{Delta, DeltaError, apply_group, diff};
use everturn_value::tree::JsonTree;

pub use extras::{Attachment, EntryAction, EntryExtras};
pub use kind::EntryKind;
pub use mark::{Mark, MarkKind, NewMark};
pub use outline::{SceneOutline, SessionEvent, SessionOutline, SnapshotOutline};
pub use status::SessionStatus;
pub use usage::{RecordCounts, SessionUsage, TokenUsage, UsagePart};

/// A reference to a session: enough to open it, known without reading it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionRef {
    /// The session's ID. Other sessions of the same root may have the same ID.
    pub id: String,
    /// Its directory or file below the root, unique to the session.
    pub path: FilePath,
}

impl SessionRef {
    /// Whether the session is packed into an archive.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        self.path.as_str().ends_with(".tar.gz")
    }
}

/// All sessions of a format, and the paths that could not be read.
#[derive(Debug, Clone, Default)]
pub struct SessionListing {
    /// The sessions, in no particular order.
    pub sessions: Vec<SessionRef>,
    /// Refused names and unreadable directories.
    pub findings: Vec<Finding>,
}

/// A summary of a session.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    /// The ref of the session.
    pub session: SessionRef,
    /// The name of its format.
    pub layout: &'static str,
    /// Its title.
    pub title: String,
    /// When it was created, according to its data.
    pub created: Option<Timestamp>,
    /// When it was last changed, according to its data.
    pub updated: Option<Timestamp>,
    /// Its status in the terms of the format, such as `active`.
    pub status: SessionStatus,
    /// The number of turns, if it could be determined.
    pub turns: Option<u64>,
    /// The session it is a branch of.
    pub parent: Option<String>,
    /// Its problems, as far as a summary detects them.
    pub findings: Vec<Finding>,
}

impl SessionSummary {
    /// The summary of a session of which only the ref is known.
    #[must_use]
    pub fn new(place: &SessionRef, layout: &'static str, status: SessionStatus) -> SessionSummary {
        SessionSummary {
            session: place.clone(),
            layout,
            title: place.id.clone(),
            created: None,
            updated: None,
            status,
            turns: None,
            parent: None,
            findings: Vec::new(),
        }
    }
}

/// The files and directories on which cached data of a session depend.
///
/// If none of them has changed, the session has not changed. Paths that do not exist count as well, because they may be
/// created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The sources of its [`SessionSummary`].
    pub summary: Vec<FilePath>,
    /// The sources of its entries.
    pub entries: Vec<FilePath>,
    /// The file among these that is only appended to, if there is one: while it grows and the others stay the same, the
    /// existing entries stay the same.
    pub log: Option<FilePath>,
}

impl Dependencies {
    /// The same files for the summary and the entries.
    #[must_use]
    pub fn on(files: Vec<FilePath>) -> Dependencies {
        Dependencies { summary: files.clone(), entries: files, log: None }
    }
}

/// One utterance or action.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its position in the session, counted from 1.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// Its ID.
    pub id: String,
    /// Its time.
    pub time: Option<Timestamp>,
    /// The speaker or actor.
    pub speaker: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Its readable text.
    pub text: String,
    /// What it has besides its text.
    pub extras: EntryExtras,
    /// The record that it was decoded from.
    pub raw: JsonTree,
}

/// One change of the state.
#[derive(Debug, Clone)]
pub struct StateChange {
    /// The turn it belongs to.
    pub turn: u64,
    /// The part of the state that it changes.
    pub scope: String,
    /// The change.
    pub delta: Delta,
    /// When it was made, if known.
    pub time: Option<Timestamp>,
}

impl Entry {
    /// Whether it precedes a change, or belongs to the same turn. `last` is the turn before both.
    #[must_use]
    pub fn comes_before(&self, change: &StateChange, last: u64) -> bool {
        turn_precedes((self.turn, self.time), (change.turn, change.time), last)
    }
}

/// Whether a turn precedes a change, or contains it. In some sessions turn numbers start again; then the times decide.
/// `last` is the turn before both.
pub fn turn_precedes<T: PartialOrd>(
    (turn, time): (u64, Option<T>),
    (of, made): (u64, Option<T>),
    last: u64,
) -> bool {
    let (Some(time), Some(made)) = (time, made) else { return of >= turn };
    match of.cmp(&turn) {
        Ordering::Equal => true,
        Ordering::Less => made > time,
        Ordering::Greater => turn > last || made >= time,
    }
}

impl StateChange {
    /// Whether both changes are equal, regardless of how their values are spelled.
    pub fn is_same(&self, other: &StateChange) -> bool {
        let delta = |change: &StateChange| JsonTree::parse(change.delta.to_line()).ok();
        let same = delta(self).zip(delta(other)).is_some_and(|(one, two)| one.is_same(&two));
        self.scope == other.scope && same
    }
}

/// The state after a turn: one JSON value for each scope.
#[derive(Debug, Clone)]
pub struct SessionState {
    /// The turn.
    pub turn: u64,
    /// The values with the names of their scopes, in the order of the format.
    pub scopes: Vec<(String, JsonTree)>,
    /// The findings from computing it.
    pub findings: Vec<Finding>,
}

impl SessionState {
    /// The value of a scope.
    #[must_use]
    pub fn get(&self, scope: &str) -> Option<&JsonTree> {
        self.scopes.iter().find(|(name, _)| name == scope).map(|(_, tree)| tree)
    }

    /// The changes from this state to `later`, scope by scope, with the previous values.
    ///
    /// ```
    /// use everturn_value::tree::JsonTree;
    /// use everturn_session::model::SessionState;
    ///
    /// let state = |turn, text: &str| -> Result<SessionState, everturn_json::json::JsonError> {
    ///     let scopes = vec![("world".to_owned(), JsonTree::parse(text)?)];
    ///     Ok(SessionState { turn, scopes, findings: Vec::new() })
    /// };
    /// let changes = state(1, r#"{"day": 1}"#)?.changes_to(&state(4, r#"{"day": 2}"#)?)?;
    /// assert_eq!(changes[0].delta.to_line(), r#"{"op":"set","path":"day","value":2,"previousValue":1}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn changes_to(&self, later: &SessionState) -> Result<Vec<StateChange>, DeltaError> {
        let mut names: Vec<&str> = self.scopes.iter().map(|(name, _)| name.as_str()).collect();
        for (name, _) in &later.scopes {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut changes = Vec::new();
        for scope in names {
            let value =
                |state: &SessionState| state.get(scope).cloned().unwrap_or_else(JsonTree::null);
            let (mut before, after) = (value(self), value(later));
            let mut deltas = diff(&before, &after);
            // Applying the deltas records the previous values in them.
            apply_group(&mut deltas, &mut before).map_err(|(_, error)| error)?;
            let change = |delta| StateChange {
                turn: later.turn,
                scope: scope.to_owned(),
                delta,
                time: None,
            };
            changes.extend(deltas.into_iter().map(change));
        }
        Ok(changes)
    }
}

/// The parameters of a new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its ID.
    pub id: String,
    /// The title of the session, or the name of its player.
    pub name: Option<String>,
    /// Its settings.
    pub config: Option<JsonTree>,
    /// Further fields that the format understands, as one object; unknown fields are preserved.
    pub fields: JsonTree,
}

impl NewSession {
    /// A session with an ID and nothing else.
    #[must_use]
    pub fn with_id(id: &str) -> NewSession {
        NewSession { id: id.to_owned(), name: None, config: None, fields: JsonTree::object() }
    }
}

/// The result of a write.
#[derive(Debug, Clone, Default)]
pub struct AppendOutcome {
    /// The session's last turn afterwards.
    pub turn: u64,
    /// The ID of the created item, such as a scene or a snapshot, if it has one.
    pub id: Option<String>,
    /// The IDs of the events or messages that were stored, if they have IDs.
    pub events: Vec<String>,
    /// The ID of a snapshot that was due and taken.
    pub snapshot: Option<String>,
    /// The findings from writing it.
    pub findings: Vec<Finding>,
    /// Why derived data that were due could not be written. The turn is durable, and the rest is retried with the next
    /// one.
    pub deferred_error: Option<String>,
}

/// A change of an earlier turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// Replaces the text of a turn; the previous text is kept with it.
    Edit {
        /// The turn.
        turn: u64,
        /// Its new text.
        text: String,
    },
    /// Regenerates a turn; the previous versions are kept with it, to choose from.
    Regenerate {
        /// The turn.
        turn: u64,
        /// Its new text.
        text: String,
    },
    /// Switches a turn to an earlier version.
    Choose {
        /// The turn.
        turn: u64,
        /// The number of the version, counted from 1, oldest first.
        which: u64,
    },
    /// Moves a turn to the trash.
    Delete {
        /// The turn.
        turn: u64,
    },
    /// Restores a turn from the trash.
    Restore {
        /// Its name in the trash.
        name: String,
    },
}

/// Why a branch was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchKind {
    /// It continues from a turn.
    Fork,
    /// It keeps the session as it was.
    Rewind,
}

impl BranchKind {
    /// The word in the files of a session.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BranchKind::Fork => "fork",
            BranchKind::Rewind => "rewind",
        }
    }
}

/// The options of a fork.
#[derive(Debug, Clone, Default)]
pub struct ForkOptions {
    /// The ID of the new session; by default the format assigns a free one.
    pub id: Option<String>,
    /// The last turn that it contains; by default all of them.
    pub turn: Option<u64>,
}

/// The result of a fork or a rewind.
#[derive(Debug, Clone)]
pub struct ForkOutcome {
    /// The ref of the branch.
    pub session: SessionRef,
    /// The last turn: of a fork, its own; after a rewind, that of the session that was rewound.
    pub turn: u64,
    /// The findings from making it.
    pub findings: Vec<Finding>,
}

/// A branch of a session whose records form a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBranch {
    /// Its ID, unique in the session.
    pub id: String,
    /// The last turn that it shares with the main line; `None` if it shares none.
    pub from: Option<u64>,
    /// The number of its own turns.
    pub turns: u64,
    /// When its last record was written.
    pub updated: Option<Timestamp>,
    /// Its title: the beginning of its first text, or its name in the records.
    pub title: String,
}

/// The settings for exports that a session has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportSettings {
    /// The style: `minimal`, `rich` or `custom`.
    pub style: Option<String>,
    /// Whether to include metadata.
    pub metadata: Option<bool>,
    /// Whether to include states and their changes.
    pub snapshots: Option<bool>,
    /// Whether to include out-of-character messages.
    pub ooc: Option<bool>,
}

/// The options of an export that a session records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRecord {
    /// The format, such as `html`.
    pub format: String,
    /// The style: `minimal`, `rich` or `custom`.
    pub style: String,
    /// Whether it includes metadata.
    pub metadata: bool,
    /// Whether it includes states and their changes.
    pub snapshots: bool,
    /// Whether it includes out-of-character messages.
    pub ooc: bool,
}

/// The result of a transition.
#[derive(Debug, Clone)]
pub struct TransitionOutcome {
    /// The ref of the session afterwards.
    pub session: SessionRef,
    /// The name of the item that was moved to the trash, if any.
    pub trashed: Option<String>,
    /// Why a dependent operation failed; it can be done later.
    pub deferred_error: Option<String>,
}

/// A session in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedSession {
    /// Its name there.
    pub name: String,
    /// The session.
    pub id: String,
    /// The path that it is restored to.
    pub path: FilePath,
    /// When it was moved to the trash.
    pub time: Timestamp,
    /// Its size in bytes.
    pub bytes: u64,
}
