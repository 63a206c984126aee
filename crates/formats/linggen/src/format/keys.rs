//! Idempotency keys of messages: a field of the record.

use super::LinggenFormat;
use crate::messages::Message;
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::JsonTree;

/// The field of a message that holds its key.
const KEY: &str = "idempotency_key";

impl KeyedTurns for LinggenFormat {
    fn key_of(&self, turn: &JsonTree) -> Option<String> {
        turn.string_at(&[KEY])
    }

    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree {
        with_text(turn, KEY, key)
    }

    fn assigned_key(&self, _outcome: &AppendOutcome) -> Option<String> {
        None
    }

    fn number_of(&self, _turn: &JsonTree) -> Option<u64> {
        None
    }

    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool {
        let text = |key: &str| stored.entry.raw.string_at(&[key]);
        Message::parse(&sent.to_line()).is_ok_and(|sent| {
            text("content") == Some(sent.content) && text("from_id") == Some(sent.from_id)
        })
    }

    fn event_ids(&self, _stored: &StoredTurn) -> Vec<String> {
        Vec::new()
    }
}
