//! A session in the hands of its one writer, in the common view.

use jiff::Timestamp;

use super::{NAME, given};
use crate::writer::SessionWriter;
use everturn_json::finding::Finding;
use everturn_session::layout::{Editor, LayoutError};
use everturn_session::view::{Place, Written};

pub(super) struct SessionEditor {
    pub(super) writer: SessionWriter,
}

impl Editor for SessionEditor {
    fn layout(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        Place { id: self.writer.id().to_string(), path: self.writer.log().clone() }
    }

    fn turn(&self) -> u64 {
        self.writer.messages()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let saved = self.writer.append(&given(text)?, now)?;
        Ok(Written {
            turn: saved.messages,
            id: None,
            findings: saved.findings,
            overdue: saved.overdue,
        })
    }

    fn release(self: Box<Self>) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }
}
