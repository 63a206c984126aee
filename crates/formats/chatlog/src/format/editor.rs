//! The editor of a chat log, in the common model.

use jiff::Timestamp;

use super::NAME;
use super::reader::mark;
use crate::tools::FiredTrigger;
use crate::writer::{ChangeOutcome, ChatWriter, NewChatMark};
use everturn_json::finding::{Finding, FindingCode};
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    UndoEditor,
};
use everturn_session::model::{AppendOutcome, Mark, NewMark, Revision, SessionRef};
use everturn_value::tree::JsonTree;

pub(super) struct ChatEditor {
    pub(super) writer: ChatWriter,
}

impl ChatEditor {
    fn written(&self, changed: ChangeOutcome) -> AppendOutcome {
        // The caller decides what to do about fired triggers.
        let file = self.writer.log().path();
        let told = |fired: FiredTrigger| {
            let message = format!("{} {}: {}", fired.component, fired.action, fired.message);
            Finding::new(file, FindingCode::Triggered, message)
        };
        let mut findings = changed.findings;
        findings.extend(changed.fired.into_iter().map(told));
        let id = Some(changed.id).filter(|id| !id.is_empty());
        AppendOutcome {
            turn: self.last_turn(),
            events: id.iter().cloned().collect(),
            id,
            findings,
            deferred_error: changed.deferred_error,
            ..AppendOutcome::default()
        }
    }
}

fn message(text: &str) -> Result<JsonTree, SessionError> {
    JsonTree::parse(text)
        .map_err(|bad| SessionError::request(format!("the message is not JSON: {bad}")))
}

impl SessionEditor for ChatEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        super::place(self.writer.log().path())
    }

    fn last_turn(&self) -> u64 {
        self.writer.log().len()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.log().findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let changed = self.writer.append(&message(text)?, now)?;
        Ok(self.written(changed))
    }

    fn append_last(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let changed = self.writer.append_last(&message(text)?, now)?;
        Ok(self.written(changed))
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
        Some(self)
    }

    fn as_marks(&mut self) -> Option<&mut dyn MarkEditor> {
        Some(self)
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.finish()?)
    }

    fn close(self: Box<Self>, _now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.close()?)
    }
}

impl RevisionEditor for ChatEditor {
    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let changed = match how {
            Revision::Edit { turn, text } => self.writer.edit(*turn, text, now)?,
            Revision::Regenerate { turn, text } => self.writer.regenerate(*turn, text, now)?,
            Revision::Choose { turn, which } => self.writer.choose(*turn, *which, now)?,
            Revision::Delete { turn } => {
                let gone = self.writer.delete(*turn, now)?;
                ChangeOutcome { number: gone.number, id: gone.name, ..ChangeOutcome::default() }
            }
            Revision::Restore { name } => self.writer.restore(name, now)?,
        };
        Ok(self.written(changed))
    }
}

impl MarkEditor for ChatEditor {
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let log = self.writer.log();
        let of_entry = new.entry.as_deref().map(|entry| log.find(entry)).transpose()?.flatten();
        let number = of_entry.or(new.turn).unwrap_or_else(|| log.len());
        if new.name.trim().is_empty() {
            return Err(SessionError::request("a mark needs a name"));
        }
        let description = Some(new.description.as_str()).filter(|text| !text.is_empty());
        let (kind, name) = (new.kind.as_str(), new.name.trim());
        let new = NewChatMark { kind, name, description, number };
        let made = self.writer.add_mark(&new, now)?;
        let marks = self.writer.log().marks()?;
        let made = marks.into_iter().find(|mark| mark.id == made.id);
        let missing = || SessionError::request("the mark does not exist");
        made.map(mark).ok_or_else(missing)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        Ok(mark(self.writer.remove_mark(id, now)?))
    }
}
