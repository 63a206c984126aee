//! [`SessionEditor`]: a session locked for writing. Its `as_` methods return what it offers beyond appending.

use jiff::Timestamp;

use super::SessionError;
use super::abilities::SessionAbility;
use crate::model::{AppendOutcome, Mark, NewMark, Revision, SessionRef};
use everturn_json::finding::Finding;

/// A session locked for writing.
///
/// The methods of `dyn SessionEditor` use what the editor offers, and return an error for the rest.
pub trait SessionEditor: Send {
    /// The name of the format.
    fn format_name(&self) -> &'static str;

    /// The ref of the session.
    fn session_ref(&self) -> SessionRef;

    /// The last turn.
    fn last_turn(&self) -> u64;

    /// The findings from opening the session.
    fn findings(&self) -> Vec<Finding>;

    /// Appends a turn or message, given as one JSON object, atomically.
    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError>;

    /// As [`SessionEditor::append`], for the last turn before the session is closed: one commit has the turn and what
    /// closing would write, if the format can do that.
    fn append_last(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        self.append(text, now)
    }

    /// Undoes turns, if the format allows it.
    fn as_undo(&mut self) -> Option<&mut dyn UndoEditor>;

    /// Stores snapshots, if the format allows it.
    fn as_snapshots(&mut self) -> Option<&mut dyn SnapshotEditor>;

    /// Starts and ends scenes, if the format allows it.
    fn as_scenes(&mut self) -> Option<&mut dyn SceneEditor>;

    /// Revises earlier turns, if the format allows it.
    fn as_revisions(&mut self) -> Option<&mut dyn RevisionEditor>;

    /// Adds and removes marks, if the format allows it.
    fn as_marks(&mut self) -> Option<&mut dyn MarkEditor>;

    /// Unlocks the session without writing pending derived data, which the next writer does.
    fn release(self: Box<Self>) -> Result<(), SessionError>;

    /// Writes pending derived data and unlocks the session.
    fn close(self: Box<Self>, now: Timestamp) -> Result<(), SessionError>;
}

/// Undoes turns.
pub trait UndoEditor {
    /// Undoes the last turns, with a new turn.
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError>;
}

/// Stores snapshots of the state.
pub trait SnapshotEditor {
    /// Stores the present state as a snapshot.
    fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError>;
}

/// Divides a session into scenes.
pub trait SceneEditor {
    /// Starts a scene, given as one JSON object.
    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError>;

    /// Ends the open scene; its ending is given as one JSON object.
    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError>;
}

/// Changes earlier turns.
pub trait RevisionEditor {
    /// Revises an earlier turn; the previous version is kept.
    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<AppendOutcome, SessionError>;
}

/// Adds and removes marks.
pub trait MarkEditor {
    /// Adds a mark.
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError>;

    /// Removes a mark by its ID and returns it.
    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError>;
}

impl dyn SessionEditor + '_ {
    /// Undoes the last turns, with a new turn.
    pub fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let missing = SessionAbility::Undo.unsupported(self.format_name());
        self.as_undo().ok_or(missing)?.undo(turns, now)
    }

    /// Stores the present state as a snapshot.
    pub fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let missing = SessionAbility::Snapshots.unsupported(self.format_name());
        self.as_snapshots().ok_or(missing)?.snapshot(now)
    }

    /// Starts a scene, given as one JSON object.
    pub fn start_scene(
        &mut self,
        text: &str,
        now: Timestamp,
    ) -> Result<AppendOutcome, SessionError> {
        let missing = SessionAbility::Scenes.unsupported(self.format_name());
        self.as_scenes().ok_or(missing)?.start_scene(text, now)
    }

    /// Ends the open scene; its ending is given as one JSON object.
    pub fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let missing = SessionAbility::Scenes.unsupported(self.format_name());
        self.as_scenes().ok_or(missing)?.end_scene(text, now)
    }

    /// Revises an earlier turn; the previous version is kept.
    pub fn revise(
        &mut self,
        how: &Revision,
        now: Timestamp,
    ) -> Result<AppendOutcome, SessionError> {
        let missing = SessionAbility::Revisions.unsupported(self.format_name());
        self.as_revisions().ok_or(missing)?.revise(how, now)
    }

    /// Adds a mark.
    pub fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let missing = SessionAbility::Marks.unsupported(self.format_name());
        self.as_marks().ok_or(missing)?.add_mark(new, now)
    }

    /// Removes a mark by its ID and returns it.
    pub fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let missing = SessionAbility::Marks.unsupported(self.format_name());
        self.as_marks().ok_or(missing)?.remove_mark(id, now)
    }
}
