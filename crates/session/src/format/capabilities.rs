//! What a format may offer beyond reading: [`Capabilities`], and a trait for each of them.
//!
//! A format implements the traits that it can, and names them in
//! [`SessionFormat::capabilities`](super::SessionFormat::capabilities). All methods of a trait work; an operation that a
//! format lacks is a trait that it does not have.

use std::sync::Arc;

use jiff::Timestamp;

use super::{CheckedFormat, SessionEditor, SessionError};
use crate::model::{
    AppendOutcome, Entry, ExportRecord, ExportSettings, ForkOptions, ForkOutcome, Mark, NewMark,
    NewSession, SessionRef, SessionSummary, StateChange, TransitionOutcome, TrashedSession,
};
use crate::repair::{RepairReport, RepairedCopy};
use everturn_archive::PackProgress;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_store::Store;
use everturn_store::overlay::FileChanges;
use everturn_value::tree::JsonTree;

/// The optional abilities of a format. The default has none.
#[derive(Clone, Copy, Default)]
pub struct Capabilities<'f> {
    /// Creates and changes sessions.
    pub editing: Option<&'f dyn EditableFormat>,
    /// Moves sessions through their lifecycle and to the trash.
    pub lifecycle: Option<&'f dyn FormatLifecycle>,
    /// Reads the sessions of another program, which are never written.
    pub external: Option<&'f dyn ExternalSessions>,
    /// Lists all sessions faster than one by one.
    pub listing: Option<&'f dyn BulkListing>,
    /// Recognises and checks its files, wherever they are.
    pub checked: Option<&'f dyn CheckedFormat>,
    /// Has data in the files of a session that are computed from others.
    pub derived: Option<&'f dyn DerivedData>,
    /// Has an index that is not part of a commit.
    pub index: Option<&'f dyn SessionIndex>,
    /// Records exports in the exported session.
    pub export_log: Option<&'f dyn ExportLog>,
    /// Recognises a turn that is sent again.
    pub keys: Option<&'f dyn KeyedTurns>,
    /// Stores state files that were edited by hand as a turn.
    pub adoption: Option<&'f dyn StateAdoption>,
    /// What its sessions have beyond the common model.
    pub features: &'f [Feature],
    /// The precision of the stored times.
    pub times: TimePrecision,
}

/// Something in the sessions of a format that commands of their own use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// A window of messages that is sent to a model.
    ContextWindow,
    /// Support tools, such as trackers and summaries.
    SupportTools,
    /// Rules of a tabletop campaign: actors, dice, scripted turns.
    CampaignRules,
    /// Completing a session removes snapshots, and can be previewed.
    CompletionPreview,
    /// A session is a part of a series.
    Series,
    /// A new session gets a title.
    Title,
    /// A session belongs to a project directory.
    Project,
    /// The directory of the agent is stored in a new session.
    WorkingDirectory,
    /// All messages of a session can be cleared.
    ClearMessages,
    /// A session is one document of messages, whose members an export to JSON keeps.
    MessageDocument,
    /// A message can be regenerated, and its changes then replace those of the earlier version.
    Regeneration,
}

impl Feature {
    /// Its name in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Feature::ContextWindow => "context windows",
            Feature::SupportTools => "support tools",
            Feature::CampaignRules => "actors, dice and scripted turns",
            Feature::CompletionPreview => "a dry run of complete",
            Feature::Series => "series",
            Feature::Title => "titles",
            Feature::Project => "project directories",
            Feature::WorkingDirectory => "working directories",
            Feature::ClearMessages => "clearing all messages",
            Feature::MessageDocument => "documents of messages",
            Feature::Regeneration => "regenerated messages",
        }
    }
}

/// The precision of the times that a format stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimePrecision {
    /// Fractions of a second are stored.
    #[default]
    Fractions,
    /// Only whole seconds are stored.
    Seconds,
}

/// An operation of a capability, for the error if a format lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// [`EditableFormat::create`].
    Create,
    /// [`EditableFormat::edit`], and marks.
    Write,
    /// [`KeyedTurns`].
    Keys,
    /// [`EditableFormat::fork`].
    Fork,
    /// [`EditableFormat::rewind`].
    Rewind,
    /// [`EditableFormat::repair`].
    Repair,
    /// [`FormatLifecycle::transition`].
    Transition(Transition),
    /// [`FormatLifecycle::restore`].
    Restore,
    /// [`FormatLifecycle::purge`].
    Purge,
    /// [`ExternalSessions::repaired_copy`].
    RepairedCopy,
    /// [`StateAdoption::adopt`].
    Adopt,
}

impl Operation {
    /// Its name in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "creating sessions",
            Operation::Write => "writing to sessions",
            Operation::Keys => "idempotency keys",
            Operation::Fork => "forks",
            Operation::Rewind => "rewinding",
            Operation::Repair => "repairs",
            Operation::Transition(transition) => transition.verb(),
            Operation::Restore => "restoring sessions from the trash",
            Operation::Purge => "emptying the trash",
            Operation::RepairedCopy => "repaired copies",
            Operation::Adopt => "adopting edited state files",
        }
    }
}

/// A format whose sessions Everturn creates and changes.
pub trait EditableFormat: Send + Sync {
    /// Whether the format numbers its sessions and assigns an ID to a new session that has none.
    fn assigns_ids(&self) -> bool;

    /// Creates a session and locks it for writing.
    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError>;

    /// Locks a session for writing.
    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError>;

    /// Creates a session from the turns of another, up to and including the turn in the options, or from all of them.
    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError>;

    /// Rewinds to `turn`. Everything so far becomes a branch, which is returned.
    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError>;

    /// Adds a mark to a session, whatever its status.
    fn add_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        new: &NewMark,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        let mut editor = self.edit(store, place)?;
        let mark = editor.add_mark(new, now)?;
        editor.release()?;
        Ok(mark)
    }

    /// Removes a mark by its ID and returns it.
    fn remove_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        id: &str,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        let mut editor = self.edit(store, place)?;
        let mark = editor.remove_mark(id, now)?;
        editor.release()?;
        Ok(mark)
    }

    /// Repairs a session and keeps every original; or returns the plan, or undoes the last repair.
    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError>;
}

/// A format whose sessions are paused, completed, archived and trashed.
pub trait FormatLifecycle: Send + Sync {
    /// The transitions that the format has. No other is passed to [`FormatLifecycle::transition`].
    fn transitions(&self) -> &'static [Transition];

    /// Applies a transition to a session; returns where it is afterwards.
    fn transition(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        transition: Transition,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError>;

    /// The ref that an archived session would have unpacked; `None` if `place` is not an archive.
    fn archived(&self, place: &SessionRef) -> Option<SessionRef>;

    /// Lists the sessions of this format in the trash.
    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError>;

    /// Restores a session from the trash, by its name there.
    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError>;

    /// Permanently removes sessions from the trash, if they are still as they were listed.
    fn purge(&self, store: &Arc<dyn Store>, trashed: &[TrashedSession])
    -> Result<(), SessionError>;
}

/// A format of another program.
pub trait ExternalSessions: Send + Sync {
    /// The sessions of a file that the program wrote, recognised by its name and its first bytes; empty if the file is
    /// not of this format.
    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError>;

    /// A repaired copy of the file of a session, to be written elsewhere.
    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError>;
}

/// A session in a list, and its project directory if it has one.
pub type ListedSummary = (SessionSummary, Option<String>);

/// A format that lists its sessions with less work than a summary of each takes.
pub trait BulkListing: Send + Sync {
    /// Whether the list has only the times of the sessions, so that a long list reads little of each. A summary contains
    /// more in that case.
    fn lists_briefly(&self) -> bool;

    /// Lists all sessions with their summaries and, unless the list is brief, their projects. An unreadable session is
    /// listed with a finding.
    fn list(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(Vec<ListedSummary>, Vec<Finding>), SessionError>;
}

/// A format with checksums or indexes in the files of a session.
pub trait DerivedData: Send + Sync {
    /// Recomputes the derived data of the session at `root` for files that are about to change.
    fn update_derived(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut FileChanges,
    ) -> Result<(), SessionError>;
}

/// A format with an index that is not part of a commit.
pub trait SessionIndex: Send + Sync {
    /// Updates the index from the files of a session.
    fn refresh_index(&self, store: &Arc<dyn Store>, place: &SessionRef)
    -> Result<(), SessionError>;

    /// Overwrites deleted data in the index.
    fn vacuum_index(&self, store: &Arc<dyn Store>) -> Result<(), SessionError>;
}

/// A format whose sessions have settings for exports.
pub trait ExportLog: Send + Sync {
    /// The settings in the metadata of a session; `None` for each one that it does not have.
    fn export_settings(&self, metadata: &JsonTree) -> ExportSettings;

    /// Saves the settings of an export in a session, and records the export. The time of the last change stays.
    fn record_export(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        export: &ExportRecord,
        now: Timestamp,
    ) -> Result<(), SessionError>;
}

/// A format whose records hold an idempotency key, so that a turn that is sent again is stored once.
///
/// The key is part of the record, in the same commit. It is there as long as the turn is, also in forks and archives.
pub trait KeyedTurns: Send + Sync {
    /// The key in a turn, as it is sent and as it is stored.
    fn key_of(&self, turn: &JsonTree) -> Option<String>;

    /// Adds a key to a turn that is sent.
    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree;

    /// The key that the format itself gave to a turn that was stored without one.
    fn assigned_key(&self, outcome: &AppendOutcome) -> Option<String>;

    /// The number that a turn must get, if it contains one.
    fn number_of(&self, turn: &JsonTree) -> Option<u64>;

    /// Whether a turn that is sent is the stored one. What may have changed since, such as an edited text, is ignored.
    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool;

    /// The IDs of the events or messages of a stored turn.
    fn event_ids(&self, stored: &StoredTurn) -> Vec<String>;
}

/// A format whose states are files of their own, which users may edit.
pub trait StateAdoption: Send + Sync {
    /// Stores what the state files have and the log has not as a turn.
    fn adopt(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        now: Timestamp,
    ) -> Result<AppendOutcome, SessionError>;
}

/// A turn as it is stored.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// Its first entry, whose raw record is the whole turn.
    pub entry: Entry,
    /// Its changes of the state.
    pub changes: Vec<StateChange>,
}

/// What to do about a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairMode {
    /// Only return the plan.
    Plan,
    /// Apply the repair.
    Apply,
    /// Undo the newest repair that was not undone yet.
    Undo,
}

/// A transition in the lifecycle of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// Pause the session.
    Pause,
    /// Resume it.
    Resume,
    /// Complete it.
    Complete,
    /// Pack it into one file.
    Archive,
    /// Unpack its archive.
    Unarchive,
    /// Move it to the trash.
    Trash,
}

impl Transition {
    /// All transitions.
    pub const ALL: &[Transition] = &[
        Transition::Pause,
        Transition::Resume,
        Transition::Complete,
        Transition::Archive,
        Transition::Unarchive,
        Transition::Trash,
    ];

    /// The error for a format that lacks the transition.
    #[must_use]
    pub fn unsupported(self, layout: &'static str) -> SessionError {
        SessionError::Unsupported { layout, what: self.verb() }
    }

    /// The name of the transition in messages.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Transition::Pause => "pausing",
            Transition::Resume => "resuming",
            Transition::Complete => "completing",
            Transition::Archive => "archiving",
            Transition::Unarchive => "unpacking archives",
            Transition::Trash => "moving sessions to the trash",
        }
    }
}
