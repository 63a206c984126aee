//! The editor of a thread, in the common model.

use jiff::Timestamp;

use super::NAME;
use crate::writer::ThreadWriter;
use everturn_json::finding::Finding;
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    UndoEditor,
};
use everturn_session::model::{AppendOutcome, Mark, NewMark, SessionRef};

pub(super) struct ThreadEditor {
    pub(super) writer: ThreadWriter,
}

impl SessionEditor for ThreadEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        SessionRef { id: self.writer.id().to_string(), path: self.writer.dir().clone() }
    }

    fn last_turn(&self) -> u64 {
        self.writer.thread().main_line().len() as u64
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.thread().findings.clone()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let findings = self.writer.append(text, now)?;
        let id = self.writer.thread().records().last().map(|record| record.id());
        let id = id.filter(|id| !id.is_empty());
        Ok(AppendOutcome { turn: self.last_turn(), id, findings, ..AppendOutcome::default() })
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
        Some(self)
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        self.writer.release()
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        self.writer.release()
    }
}

impl MarkEditor for ThreadEditor {
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let (mark, step) = self.writer.marks()?.add(new, self.last_turn(), now)?;
        self.writer.commit_all(vec![step])?;
        Ok(mark)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let (mark, step) = self.writer.marks()?.remove(id, now)?;
        self.writer.commit_all(vec![step])?;
        Ok(mark)
    }
}
