//! A session in the hands of its one writer, in the common view.

use jiff::Timestamp;

use super::{NAME, shown};
use crate::messages::Message;
use crate::writer::SessionWriter;
use everturn_json::finding::Finding;
use everturn_session::layout::{Editor, LayoutError};
use everturn_session::view::{Mark, NewMark, Place, Written};

pub(super) struct SessionEditor {
    writer: SessionWriter,
    turn: u64,
}

impl SessionEditor {
    /// Counts the messages, which every answer tells.
    pub(super) fn new(writer: SessionWriter) -> Result<SessionEditor, LayoutError> {
        let turn = writer.turn()?;
        Ok(SessionEditor { writer, turn })
    }
}

impl Editor for SessionEditor {
    fn layout(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        shown(self.writer.place())
    }

    fn turn(&self) -> u64 {
        self.turn
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let appended = self.writer.append(&Message::parse(text)?, now)?;
        self.turn = self.writer.number(&appended)?;
        Ok(Written { turn: self.turn, id: None, findings: appended.findings, overdue: None })
    }

    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, LayoutError> {
        let (mark, step) = self.writer.marks()?.add(new, self.turn, now)?;
        self.writer.commit(step)?;
        Ok(mark)
    }

    fn remove_mark(&mut self, id: &str, _now: Timestamp) -> Result<Mark, LayoutError> {
        let (mark, step) = self.writer.marks()?.remove(id)?;
        self.writer.commit(step)?;
        Ok(mark)
    }

    fn release(self: Box<Self>) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }
}
