//! Sessions to play with.

use std::sync::Arc;

use everturn::game::{GameWriter, NewSession, TurnInput};
use everturn::names::SessionId;
use everturn::store::{MemoryStore, Store};
use everturn::tree::Tree;
use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    at(0)
}

/// So many seconds after the first turn.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + seconds).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

pub(crate) fn new_session(name: &str) -> NewSession {
    let mut new = NewSession::new(id(name));
    new.config = Tree::parse(r#"{"theme": "cyberpunk", "seed": 12345}"#).unwrap();
    let world = r#"{"npcs": {"luna": {"trust": 0, "facts": []}}, "quests": {}, "clock": 0}"#;
    new.world = Some(Tree::parse(world).unwrap());
    let player =
        r#"{"name": "Vex", "location": {"id": "loc-1", "zone": "plaza"}, "inventory": []}"#;
    new.player = Some(Tree::parse(player).unwrap());
    new
}

pub(crate) fn game(store: &Arc<dyn Store>, name: &str) -> GameWriter {
    GameWriter::create(Arc::clone(store), &new_session(name), now()).unwrap()
}

/// A turn that changes the world and the player in ways that depend on its number.
pub(crate) fn turn(number: u64) -> TurnInput {
    let text = format!(
        r#"{{"actor": "player", "gameTime": {{"day": {day}, "timeOfDay": "noon"}},
            "actions": [{{"type": "move", "zone": "zone-{number}"}}],
            "events": [{{"type": "move", "description": "You walk to zone {number}."}}],
            "deltas": [
              {{"scope": "player", "deltas": [
                {{"op": "set", "path": "location.zone", "value": "zone-{number}"}},
                {{"op": "push", "path": "inventory", "value": {{"id": "item-{number}"}}}}]}},
              {{"scope": "world", "deltas": [
                {{"op": "increment", "path": "npcs.luna.trust", "value": {number}}},
                {{"op": "set", "path": "npcs.npc-{npc}.seen.at", "value": {number}}}]}}]}}"#,
        day = number / 10,
        npc = number % 7,
    );
    TurnInput::parse(&text).unwrap()
}
