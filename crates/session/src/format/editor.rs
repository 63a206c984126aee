//! [`SessionEditor`]: a session locked for writing.

use jiff::Timestamp;

use super::SessionError;
use crate::model::{AppendOutcome, Mark, NewMark, Revision, SessionRef};
use everturn_json::finding::Finding;

/// Why marks are not supported.
const NO_MARKS: &str = "marks: the format has no place to store them";

/// A session locked for writing.
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

    /// Stores the present state as a snapshot.
    fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = now;
        let what = "snapshots: their files already hold the whole current state";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Undoes the last turns, with a new turn.
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (turns, now);
        let what = "undo: they store messages, not reversible changes; use everturn rewind to go back to a message";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Starts a scene, given as one JSON object.
    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not divided into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Ends the open scene; its ending is given as one JSON object.
    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not divided into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Revises an earlier turn; the previous version is kept.
    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (how, now);
        let what = "changing earlier messages: their records are append-only";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Adds a mark.
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (new, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Removes a mark by its ID and returns it.
    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (id, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Unlocks the session without writing pending derived data, which the next writer does.
    fn release(self: Box<Self>) -> Result<(), SessionError>;

    /// Writes pending derived data and unlocks the session.
    fn close(self: Box<Self>, now: Timestamp) -> Result<(), SessionError>;
}
