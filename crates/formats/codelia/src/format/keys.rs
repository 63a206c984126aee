//! Idempotency keys of messages: a field of the message, and of the last one if several are stored together.

use super::{CodeliaFormat, parse_messages};
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::JsonTree;

/// The field of a message that holds its key.
const KEY: &str = "idempotency_key";

/// The field of several messages that are stored together.
const MESSAGES: &str = "messages";

/// Returns the message that holds the key of a turn.
fn last_message(turn: &JsonTree) -> Option<JsonTree> {
    parse_messages(&turn.to_line()).ok()?.pop()
}

impl KeyedTurns for CodeliaFormat {
    fn key_of(&self, turn: &JsonTree) -> Option<String> {
        last_message(turn)?.string_at(&[KEY])
    }

    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree {
        let Ok(mut messages) = parse_messages(&turn.to_line()) else { return turn.clone() };
        let Some(last) = messages.last_mut() else { return turn.clone() };
        *last = with_text(last, KEY, key);
        match &*messages {
            [message] => message.clone(),
            _ => {
                let lines: Vec<String> = messages.iter().map(JsonTree::to_line).collect();
                let list = format!("{{\"{MESSAGES}\":[{}]}}", lines.join(","));
                JsonTree::from_trusted_str(&list)
            }
        }
    }

    fn assigned_key(&self, _outcome: &AppendOutcome) -> Option<String> {
        None
    }

    fn number_of(&self, _turn: &JsonTree) -> Option<u64> {
        None
    }

    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool {
        last_message(sent).is_some_and(|sent| sent.is_same(&stored.entry.raw))
    }

    fn event_ids(&self, _stored: &StoredTurn) -> Vec<String> {
        Vec::new()
    }
}
