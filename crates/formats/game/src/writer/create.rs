//! Creates sessions.

use std::cell::Cell;
use std::sync::Arc;

use jiff::Timestamp;

use super::{GameWriter, LogSegment, lock};
use crate::dialect::Dialect;
use crate::error::GameError;
use crate::indexes::Indexes;
use crate::meta::{GameMeta, NewGame};
use crate::paths::GameStatus;
use crate::session::{Session, find};
use crate::snapshot::SnapshotReason;
use everturn_store::Store;
use everturn_value::tree::JsonTree;

impl GameWriter {
    /// Creates a session with a snapshot of turn 0, so that the state at every turn can be computed.
    pub fn create(
        store: Arc<dyn Store>,
        new: &NewGame,
        now: Timestamp,
    ) -> Result<GameWriter, GameError> {
        let state = new.state()?.unstamped();
        // The ID must also be valid as the name of an archive.
        crate::paths::archive(&new.id)?;
        let writer = lock(&store, &new.id)?;
        if let Some(status) = find(&store, &new.id)? {
            return Err(GameError::Taken { id: new.id.clone(), place: status.session(&new.id) });
        }
        let mut meta = GameMeta::new(new, now);
        meta.note_characters(&state);
        meta.note_place(&state);
        let dir = GameStatus::Active.session(&new.id);
        let session = Session::new(store, &new.id, GameStatus::Active, dir, Dialect::Spec);
        let start = LogSegment { first: 1, bytes: 0 };
        let mut game = GameWriter {
            session,
            writer,
            meta,
            state,
            state_turn: 0,
            foreign_base: None,
            turns: start,
            deltas: start,
            last_time: None,
            game_time: JsonTree::null(),
            indexes: Some(Indexes::new(new.id.as_str())),
            findings: Vec::new(),
            has_stored: Cell::new(false),
            held: None,
            is_complete: Cell::new(false),
            is_lost: false,
        };
        game.take_snapshot(&SnapshotReason::Initial, true, now)?;
        Ok(game)
    }
}
