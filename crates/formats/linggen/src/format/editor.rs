//! The editor of a session, in the common model.

use jiff::Timestamp;

use super::{NAME, session_ref};
use crate::messages::Message;
use crate::writer::LinggenWriter;
use everturn_json::finding::Finding;
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    TitleEditor, UndoEditor,
};
use everturn_session::model::{AppendOutcome, Mark, NewMark, SessionRef};

pub(super) struct LinggenEditor {
    writer: LinggenWriter,
    turn: u64,
}

impl LinggenEditor {
    /// Counts the messages, because every outcome contains the count.
    pub(super) fn new(writer: LinggenWriter) -> Result<LinggenEditor, SessionError> {
        let turn = writer.turn()?;
        Ok(LinggenEditor { writer, turn })
    }
}

impl SessionEditor for LinggenEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        session_ref(self.writer.place())
    }

    fn last_turn(&self) -> u64 {
        self.turn
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let appended = self.writer.append(&Message::parse(text)?, now)?;
        self.turn = self.writer.number(&appended)?;
        let findings = appended.findings;
        Ok(AppendOutcome { turn: self.turn, findings, ..AppendOutcome::default() })
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

    fn as_title(&mut self) -> Option<&mut dyn TitleEditor> {
        Some(self)
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }
}

impl TitleEditor for LinggenEditor {
    fn set_title(&mut self, title: &str, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.set_title(title)?)
    }
}

impl MarkEditor for LinggenEditor {
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let (mark, step) = self.writer.marks()?.add(new, self.turn, now)?;
        self.writer.commit(step)?;
        Ok(mark)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let (mark, step) = self.writer.marks()?.remove(id, now)?;
        self.writer.commit(step)?;
        Ok(mark)
    }
}
