//! The editor of a game session in the common model.

use jiff::Timestamp;

use super::NAME;
use crate::scenes::{NewScene, SceneEnd};
use crate::turn::TurnInput;
use crate::writer::{GameWriter, TurnOutcome};
use everturn_json::finding::Finding;
use everturn_session::format::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SessionError, SnapshotEditor,
    UndoEditor, error_chain,
};
use everturn_session::marks::MarkDocument;
use everturn_session::model::{AppendOutcome, Mark, NewMark, SessionRef};

pub(super) struct GameEditor {
    pub(super) writer: GameWriter,
}

pub(super) fn written(appended: TurnOutcome, id: Option<String>) -> AppendOutcome {
    AppendOutcome {
        turn: appended.turn,
        id,
        events: appended.events,
        snapshot: appended.snapshot,
        findings: appended.findings,
        deferred_error: appended.deferred_error.as_ref().map(|error| error_chain(error)),
    }
}

impl SessionEditor for GameEditor {
    fn format_name(&self) -> &'static str {
        NAME
    }

    fn session_ref(&self) -> SessionRef {
        SessionRef { id: self.writer.id().to_string(), path: self.writer.session().dir().clone() }
    }

    fn last_turn(&self) -> u64 {
        self.writer.turn()
    }

    fn findings(&self) -> Vec<Finding> {
        self.writer.findings().to_vec()
    }

    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        Ok(written(self.writer.append(&TurnInput::parse(text)?, now)?, None))
    }

    fn append_last(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        Ok(written(self.writer.append_last(&TurnInput::parse(text)?, now)?, None))
    }

    fn as_undo(&mut self) -> Option<&mut dyn UndoEditor> {
        Some(self)
    }

    fn as_snapshots(&mut self) -> Option<&mut dyn SnapshotEditor> {
        Some(self)
    }

    fn as_scenes(&mut self) -> Option<&mut dyn SceneEditor> {
        Some(self)
    }

    fn as_revisions(&mut self) -> Option<&mut dyn RevisionEditor> {
        None
    }

    fn as_marks(&mut self) -> Option<&mut dyn MarkEditor> {
        Some(self)
    }

    fn release(self: Box<Self>) -> Result<(), SessionError> {
        Ok(self.writer.release()?)
    }

    fn close(self: Box<Self>, now: Timestamp) -> Result<(), SessionError> {
        Ok(self.writer.close(now)?)
    }
}

impl UndoEditor for GameEditor {
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        Ok(written(self.writer.undo(turns, now)?, None))
    }
}

impl SnapshotEditor for GameEditor {
    fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let id = Some(self.writer.snapshot(now)?);
        Ok(AppendOutcome { turn: self.writer.turn(), id, ..AppendOutcome::default() })
    }
}

impl SceneEditor for GameEditor {
    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let (id, appended) = self.writer.start_scene(&NewScene::parse(text)?, now)?;
        Ok(written(appended, Some(id.to_string())))
    }

    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let id = self.writer.scene_id();
        Ok(written(self.writer.end_scene(&SceneEnd::parse(text)?, now)?, id))
    }
}

impl MarkEditor for GameEditor {
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let session = self.writer.session();
        let marks = MarkDocument::open(&session.store, &session.dir)?;
        let (mark, step) = marks.add(new, self.writer.turn(), now)?;
        self.writer.commit(vec![step])?;
        Ok(mark)
    }

    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let session = self.writer.session();
        let (mark, step) = MarkDocument::open(&session.store, &session.dir)?.remove(id, now)?;
        self.writer.commit(vec![step])?;
        Ok(mark)
    }
}
