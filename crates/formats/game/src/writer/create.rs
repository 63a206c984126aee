//! New sessions.

use std::sync::Arc;

use jiff::Timestamp;

use super::{GameWriter, Tape, lock};
use crate::error::GameError;
use crate::form::Form;
use crate::indexes::Indexes;
use crate::meta::{Meta, NewSession};
use crate::names::Status;
use crate::session::{Session, find};
use crate::snapshot::Reason;
use everturn_store::Store;
use everturn_value::tree::Tree;

impl GameWriter {
    /// Makes a new session, with a snapshot of turn 0 so that every turn can be reached.
    pub fn create(
        store: Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<GameWriter, GameError> {
        let state = new.state()?.unstamped();
        // The archive of the session must have a name, too.
        crate::names::archive(&new.id)?;
        let writer = lock(&store, &new.id)?;
        if let Some(status) = find(&store, &new.id)? {
            return Err(GameError::Taken { id: new.id.clone(), place: status.session(&new.id) });
        }
        let mut meta = Meta::new(new, now);
        meta.note_characters(&state);
        meta.note_place(&state);
        let dir = Status::Active.session(&new.id);
        let session = Session::new(store, &new.id, Status::Active, dir, Form::Documented);
        let start = Tape { first: 1, bytes: 0 };
        let mut game = GameWriter {
            session,
            writer,
            meta,
            state,
            state_turn: 0,
            turns: start,
            deltas: start,
            last_time: None,
            game_time: Tree::null(),
            indexes: Some(Indexes::new(new.id.as_str())),
            findings: Vec::new(),
        };
        game.take_snapshot(&Reason::Initial, true, now)?;
        Ok(game)
    }
}
