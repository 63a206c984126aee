//! The common view: sessions, entries, states and marks as every layout shows them.
//!
//! Each layout decodes what it has on the disk into these few types, so that whatever lists, shows, compares or
//! replays sessions is written once. [`format`](mod@crate::format) has the traits that produce them.

pub mod carried;
mod kind;
mod mark;
mod usage;

use std::cmp::Ordering;

use jiff::Timestamp;

use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_value::delta::{Delta, DeltaError, apply_group, diff};
use everturn_value::tree::JsonTree;

pub use kind::EntryKind;
pub use mark::{Mark, MarkKind, NewMark};
pub use usage::{RecordCounts, SessionUsage, TokenUsage};

/// Where a session is: enough to open it, known without reading it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionRef {
    /// The session's id. Other sessions of the same root may have it too.
    pub id: String,
    /// Its directory or file below the root, which no other session has.
    pub path: FilePath,
}

/// All places of a layout, and what could not be looked at.
#[derive(Debug, Clone, Default)]
pub struct SessionListing {
    /// The places, in no particular order.
    pub sessions: Vec<SessionRef>,
    /// Names that were refused, directories that could not be read.
    pub findings: Vec<Finding>,
}

/// What can be said of a session at a glance.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    /// Where it is.
    pub session: SessionRef,
    /// The name of its layout.
    pub layout: &'static str,
    /// What people call it.
    pub title: String,
    /// When it was made, as its data say.
    pub created: Option<Timestamp>,
    /// When it was last changed, as its data say.
    pub updated: Option<Timestamp>,
    /// Whether it goes on, in the words of the layout, such as `active`.
    pub status: String,
    /// How many turns it has, unless that could not be found out.
    pub turns: Option<u64>,
    /// The session it is a branch of.
    pub parent: Option<String>,
    /// What is wrong with it, as far as a glance can tell.
    pub findings: Vec<Finding>,
}

/// The files and directories by which one can tell that a session has changed, for whoever keeps what was read.
///
/// If none of them has changed, the session says what it said; names of files that are not there count as well,
/// because they may come to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Where its [`SessionSummary`] comes from.
    pub summary: Vec<FilePath>,
    /// Where its entries come from.
    pub entries: Vec<FilePath>,
    /// The one of these to which new entries are only ever added, if there is such a one: while it becomes longer and
    /// the others stay, the entries that were there stay what they are.
    pub log: Option<FilePath>,
}

/// One thing that was said or done.
#[derive(Debug, Clone)]
pub struct Entry {
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
    /// The record it was made from.
    pub raw: JsonTree,
}

/// One change of the state.
#[derive(Debug, Clone)]
pub struct StateChange {
    /// The turn it belongs to.
    pub turn: u64,
    /// The part of the state that it changes.
    pub scope: String,
    /// What changes there.
    pub delta: Delta,
    /// When it was made, if that is known.
    pub time: Option<Timestamp>,
}

impl Entry {
    /// Whether it comes before a change, or belongs to the same turn; `last` is the turn that came before both.
    #[must_use]
    pub fn comes_before(&self, change: &StateChange, last: u64) -> bool {
        turn_precedes((self.turn, self.time), (change.turn, change.time), last)
    }
}

/// Whether a turn comes before a change, or is its own. Numbers of turns start again in some sessions; then
/// the times tell what came first. `last` is the turn that came before both.
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
    /// Whether both are the same, however their values are spelled.
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
    /// The values by the names of their scopes, in the order of the layout.
    pub scopes: Vec<(String, JsonTree)>,
    /// What was noticed while it was worked out.
    pub findings: Vec<Finding>,
}

impl SessionState {
    /// The value of a scope.
    #[must_use]
    pub fn get(&self, scope: &str) -> Option<&JsonTree> {
        self.scopes.iter().find(|(name, _)| name == scope).map(|(_, tree)| tree)
    }

    /// What changes from this state to `later`, scope by scope, with what was there before.
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
            // Making the changes notes what was there before.
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

/// What a new session starts with.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id.
    pub id: String,
    /// What people call it, or whoever plays it.
    pub name: Option<String>,
    /// Its settings.
    pub config: Option<JsonTree>,
    /// Whatever else the layout understands, as one object; fields that it does not know are kept.
    pub fields: JsonTree,
}

impl NewSession {
    /// A session about which nothing else is known.
    #[must_use]
    pub fn with_id(id: &str) -> NewSession {
        NewSession { id: id.to_owned(), name: None, config: None, fields: JsonTree::object() }
    }
}

/// What became of something that was written.
#[derive(Debug, Clone)]
pub struct AppendOutcome {
    /// The session's last turn afterwards.
    pub turn: u64,
    /// The id of what was made, such as a scene or a snapshot, where it has one.
    pub id: Option<String>,
    /// What was noticed on the way.
    pub findings: Vec<Finding>,
    /// Why something that follows from the turn could not be written although it was due. The turn is safe,
    /// and the rest is tried again with the next one.
    pub deferred_error: Option<String>,
}

/// Something that is done to what was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// The turn gets another text; the one it had is kept with it.
    Edit {
        /// The turn.
        turn: u64,
        /// Its new text.
        text: String,
    },
    /// The turn is told anew; what it told is kept with it, to choose from.
    Regenerate {
        /// The turn.
        turn: u64,
        /// What it tells now.
        text: String,
    },
    /// An earlier telling of the turn is taken back.
    Choose {
        /// The turn.
        turn: u64,
        /// Which of the earlier tellings, counted from 1, oldest first.
        which: u64,
    },
    /// The turn is thrown away, and can be had back.
    Delete {
        /// The turn.
        turn: u64,
    },
    /// A turn that was thrown away is taken back.
    Restore {
        /// The name that it has in the trash.
        name: String,
    },
}

/// What a new session takes over from another.
#[derive(Debug, Clone, Default)]
pub struct ForkOptions {
    /// Its id; without one, the layout finds one that is free.
    pub id: Option<String>,
    /// The last turn it takes over; without one, all of them.
    pub turn: Option<u64>,
}

/// A session that branched off another.
#[derive(Debug, Clone)]
pub struct ForkOutcome {
    /// Where the branch is.
    pub session: SessionRef,
    /// The last turn: of a fork, its own; after a rewind, that of the session that went back.
    pub turn: u64,
    /// What was noticed on the way.
    pub findings: Vec<Finding>,
}

/// One way through a session whose records form a tree, other than its main line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBranch {
    /// Its id, which no other strand of the session has.
    pub id: String,
    /// The last turn that it has in common with the main line; none if it starts by itself.
    pub from: Option<u64>,
    /// How many turns it has of its own.
    pub turns: u64,
    /// When its last record was written.
    pub updated: Option<Timestamp>,
    /// What it is: the beginning of its first text, or what the records call it.
    pub title: String,
}

/// How a session was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRecord {
    /// The format, such as `html`.
    pub format: String,
    /// The style: `minimal`, `rich` or `custom`.
    pub style: String,
    /// Whether what is known of the session is part of it.
    pub metadata: bool,
    /// Whether states and their changes are part of it.
    pub snapshots: bool,
    /// Whether what was said out of character is part of it.
    pub ooc: bool,
}

/// A session that was taken to another stage of its life.
#[derive(Debug, Clone)]
pub struct TransitionOutcome {
    /// Where it is now.
    pub session: SessionRef,
    /// The name under which something is in the trash now, if anything is.
    pub trashed: Option<String>,
    /// Why something that goes with it could not be done; it can be done later.
    pub deferred_error: Option<String>,
}

/// Something in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedSession {
    /// The name that it has there.
    pub name: String,
    /// The session.
    pub id: String,
    /// Where it belongs.
    pub path: FilePath,
    /// When it was thrown away.
    pub time: Timestamp,
    /// How many bytes it has.
    pub bytes: u64,
}
