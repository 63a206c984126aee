//! Idempotency keys: the member `key` of an item, the ID of a checkpoint.

use super::ThreadFormat;
use crate::record::{RecordType, ThreadRecord};
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::JsonTree;

/// The members of a stored record that the one that was sent need not have.
const ADDED: [&str; 2] = ["type", "time"];

impl KeyedTurns for ThreadFormat {
    fn key_of(&self, turn: &JsonTree) -> Option<String> {
        ThreadRecord::parse(turn.clone()).ok()?.key()
    }

    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree {
        match ThreadRecord::parse(turn.clone()).map(|record| record.kind) {
            Ok(RecordType::Item) => with_text(turn, "key", key),
            _ => turn.clone(),
        }
    }

    fn assigned_key(&self, _outcome: &AppendOutcome) -> Option<String> {
        None
    }

    fn number_of(&self, _turn: &JsonTree) -> Option<u64> {
        None
    }

    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool {
        let stored = &stored.entry.raw;
        // The values of a checkpoint are stored as changes; its ID and the versions identify them.
        let is_compared = |(name, _): &(String, JsonTree)| {
            !ADDED.contains(&name.as_str()) && name.as_str() != "values"
        };
        let mut members = sent.children().into_iter().filter(is_compared);
        let count = stored.children().into_iter().filter(is_compared).count();
        members.clone().count() == count
            && members.all(|(name, value)| {
                stored.value_at(&[name.as_str()]).is_some_and(|kept| kept.is_same(&value))
            })
    }

    fn event_ids(&self, _stored: &StoredTurn) -> Vec<String> {
        Vec::new()
    }
}
