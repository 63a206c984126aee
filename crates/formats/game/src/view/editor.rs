//! A game session in the hands of its one writer, in the common view.

use jiff::Timestamp;

use super::NAME;
use crate::scenes::{NewScene, SceneEnd};
use crate::turn::TurnInput;
use crate::writer::{Appended, GameWriter};
use everturn_json::finding::Finding;
use everturn_session::layout::{Editor, LayoutError, chain};
use everturn_session::marks::Marks;
use everturn_session::view::{Mark, NewMark, Place, Written};

pub(super) struct GameEditor {
    pub(super) writer: GameWriter,
}

fn written(appended: Appended, id: Option<String>) -> Written {
    Written {
        turn: appended.turn,
        id,
        findings: appended.findings,
        overdue: appended.overdue.as_ref().map(|error| chain(error)),
    }
}

impl Editor for GameEditor {
    fn layout(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        Place { id: self.writer.id().to_string(), path: self.writer.session().dir().clone() }
    }

    fn turn(&self) -> u64 {
        self.writer.turn()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        Ok(written(self.writer.append(&TurnInput::parse(text)?, now)?, None))
    }

    fn snapshot(&mut self, now: Timestamp) -> Result<Written, LayoutError> {
        let id = Some(self.writer.snapshot(now)?);
        Ok(Written { turn: self.writer.turn(), id, findings: Vec::new(), overdue: None })
    }

    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let (id, appended) = self.writer.start_scene(&NewScene::parse(text)?, now)?;
        Ok(written(appended, Some(id.to_string())))
    }

    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<Written, LayoutError> {
        let id = self.writer.scene_id();
        Ok(written(self.writer.end_scene(&SceneEnd::parse(text)?, now)?, id))
    }

    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<Written, LayoutError> {
        Ok(written(self.writer.undo(turns, now)?, None))
    }

    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, LayoutError> {
        let session = self.writer.session();
        let marks = Marks::open(&session.store, &session.dir)?;
        let (mark, step) = marks.add(new, self.writer.turn(), now)?;
        self.writer.commit(vec![step])?;
        Ok(mark)
    }

    fn remove_mark(&mut self, id: &str, _now: Timestamp) -> Result<Mark, LayoutError> {
        let session = self.writer.session();
        let (mark, step) = Marks::open(&session.store, &session.dir)?.remove(id)?;
        self.writer.commit(vec![step])?;
        Ok(mark)
    }

    fn release(self: Box<Self>) -> Result<(), LayoutError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, now: Timestamp) -> Result<(), LayoutError> {
        Ok(self.writer.close(now)?)
    }
}
