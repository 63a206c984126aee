//! The editor of a session, in the common model.

use jiff::Timestamp;

use super::{NAME, parse_messages};
use crate::writer::CodeliaWriter;
use everturn_json::finding::Finding;
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    UndoEditor,
};
use everturn_session::model::{AppendOutcome, SessionRef};

pub(super) struct CodeliaEditor {
    pub(super) writer: CodeliaWriter,
}

impl SessionEditor for CodeliaEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        SessionRef { id: self.writer.id().to_string(), path: self.writer.log().clone() }
    }

    fn last_turn(&self) -> u64 {
        self.writer.messages()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let saved = self.writer.append(&parse_messages(text)?, now)?;
        Ok(AppendOutcome {
            turn: saved.messages,
            findings: saved.findings,
            deferred_error: saved.deferred_error,
            ..AppendOutcome::default()
        })
    }

    fn as_undo(&mut self) -> Option<&mut dyn UndoEditor> {
        None
    }

    fn as_snapshots(&mut self) -> Option<&mut dyn SnapshotEditor> {
        None
    }

    fn as_scenes(&mut self) -> Option<&mut dyn SceneEditor> {
        None
    }

    fn as_revisions(&mut self) -> Option<&mut dyn RevisionEditor> {
        None
    }

    fn as_marks(&mut self) -> Option<&mut dyn MarkEditor> {
        None
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }
}
