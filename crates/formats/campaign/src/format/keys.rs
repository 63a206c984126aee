//! Idempotency keys of turns: a field of the row in the turn log.

use super::CampaignFormat;
use crate::log::KEY;
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::JsonTree;

impl KeyedTurns for CampaignFormat {
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
        sent.string_at(&["user_input"]) == stored.entry.raw.string_at(&["user_input"])
    }

    fn event_ids(&self, stored: &StoredTurn) -> Vec<String> {
        stored.entry.raw.string_at(&["turn_id"]).into_iter().collect()
    }
}
