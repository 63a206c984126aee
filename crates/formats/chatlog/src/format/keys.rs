//! Idempotency keys of messages: their IDs.

use super::ChatFormat;
use crate::message::text_of;
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::JsonTree;

/// The field of a message that holds its key.
const KEY: &str = "id";

impl KeyedTurns for ChatFormat {
    fn key_of(&self, turn: &JsonTree) -> Option<String> {
        turn.string_at(&[KEY])
    }

    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree {
        with_text(turn, KEY, key)
    }

    fn assigned_key(&self, outcome: &AppendOutcome) -> Option<String> {
        outcome.id.clone()
    }

    fn number_of(&self, _turn: &JsonTree) -> Option<u64> {
        None
    }

    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool {
        let record = &stored.entry.raw;
        let text = sent.string_at(&["text"]).unwrap_or_else(|| text_of(sent));
        // Tags that change tools are removed from the text, and an edited message has another one.
        let may_differ = text.contains("<tool:")
            || ["edit_history", "regeneration_history"]
                .iter()
                .any(|history| record.len_at(&["metadata", history]).is_some_and(|len| len > 0));
        sent.string_at(&["type"]) == record.string_at(&["type"])
            && (may_differ || text == text_of(record))
    }

    fn event_ids(&self, stored: &StoredTurn) -> Vec<String> {
        self.key_of(&stored.entry.raw).into_iter().collect()
    }
}
