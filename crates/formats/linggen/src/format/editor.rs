//! The editor of a session, in the common model.

use jiff::Timestamp;

use super::{NAME, session_ref};
use crate::messages::Message;
use crate::writer::LinggenWriter;
use everturn_json::finding::Finding;
use everturn_session::format::{SessionEditor, SessionError};
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

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }
}
