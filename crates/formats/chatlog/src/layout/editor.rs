//! A chat log in the hands of its one writer, in the common view.

use jiff::Timestamp;

use super::NAME;
use super::reader::mark;
use crate::tools::Fired;
use crate::writer::{Changed, ChatWriter, NewMark as NewChatMark};
use everturn_json::finding::{Code, Finding};
use everturn_session::layout::{Editor, LayoutError};
use everturn_session::view::{Mark, NewMark, Place, Revision, Written};
use everturn_value::tree::Tree;

/// How many bytes of a document may be written anew after a single change.
const SOON_WRITTEN: u64 = 1 << 20;

pub(super) struct ChatEditor {
    pub(super) writer: ChatWriter,
}

impl ChatEditor {
    fn written(&self, changed: Changed) -> Written {
        let file = self.writer.log().path();
        // What a change sets off is for whoever plays to act upon.
        let told = |fired: Fired| Finding {
            file: file.clone(),
            line: None,
            offset: None,
            code: Code::Triggered,
            message: format!("{} {}: {}", fired.component, fired.action, fired.message),
        };
        let mut findings = changed.findings;
        findings.extend(changed.fired.into_iter().map(told));
        let id = Some(changed.id).filter(|id| !id.is_empty());
        Written { turn: self.turn(), id, findings, overdue: changed.overdue }
    }
}

impl Editor for ChatEditor {
    fn layout(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        super::place(self.writer.log().path())
    }

    fn turn(&self) -> u64 {
        self.writer.log().len()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.log().findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let tree = Tree::parse(text)
            .map_err(|bad| LayoutError::request(format!("the message is not JSON: {bad}")))?;
        let changed = self.writer.append(&tree, now)?;
        Ok(self.written(changed))
    }

    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<Written, LayoutError> {
        let changed = match how {
            Revision::Edit { turn, text } => self.writer.edit(*turn, text, now)?,
            Revision::Regenerate { turn, text } => self.writer.regenerate(*turn, text, now)?,
            Revision::Choose { turn, which } => self.writer.choose(*turn, *which, now)?,
            Revision::Delete { turn } => {
                let gone = self.writer.delete(*turn, now)?;
                Changed { number: gone.number, id: gone.name, ..Changed::default() }
            }
            Revision::Restore { name } => self.writer.restore(name, now)?,
        };
        Ok(self.written(changed))
    }

    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, LayoutError> {
        let log = self.writer.log();
        let of_entry = new.entry.as_deref().map(|entry| log.find(entry)).transpose()?.flatten();
        let number = of_entry.or(new.turn).unwrap_or_else(|| log.len());
        if new.name.trim().is_empty() {
            return Err(LayoutError::request("a mark needs a name"));
        }
        let description = Some(new.description.as_str()).filter(|text| !text.is_empty());
        let (kind, name) = (new.kind.as_str(), new.name.trim());
        let new = NewChatMark { kind, name, description, number };
        let made = self.writer.add_mark(&new, now)?;
        let marks = self.writer.log().marks()?;
        let made = marks.into_iter().find(|mark| mark.id == made.id);
        let missing = || LayoutError::request("the mark is not there");
        made.map(mark).ok_or_else(missing)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, LayoutError> {
        Ok(mark(self.writer.remove_mark(id, now)?))
    }

    /// A document that is soon written is left complete, for those who know nothing of the journal.
    fn release(self: Box<Self>) -> Result<(), LayoutError> {
        match self.writer.log().content.len() <= SOON_WRITTEN {
            true => Ok(self.writer.close()?),
            false => Ok(self.writer.release()?),
        }
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), LayoutError> {
        Ok(self.writer.close()?)
    }
}
