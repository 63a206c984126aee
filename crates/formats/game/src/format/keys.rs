//! Idempotency keys of game turns: a field of the line in the turn log.

use super::GameFormat;
use everturn_session::format::{KeyedTurns, StoredTurn};
use everturn_session::keys::with_text;
use everturn_session::model::{AppendOutcome, StateChange};
use everturn_value::delta::Delta;
use everturn_value::tree::JsonTree;

/// The field of a turn that holds its key.
const KEY: &str = "idempotencyKey";

impl KeyedTurns for GameFormat {
    fn key_of(&self, turn: &JsonTree) -> Option<String> {
        turn.string_at(&[KEY])
    }

    fn with_key(&self, turn: &JsonTree, key: &str) -> JsonTree {
        with_text(turn, KEY, key)
    }

    fn assigned_key(&self, _outcome: &AppendOutcome) -> Option<String> {
        None
    }

    fn number_of(&self, turn: &JsonTree) -> Option<u64> {
        turn.text_at(&["turnId"])?.parse().ok()
    }

    fn is_same_turn(&self, sent: &JsonTree, stored: &StoredTurn) -> bool {
        let actor = sent.string_at(&["actor"]).unwrap_or_default();
        // A repair may have added the text of another record of the turn.
        actor == stored.entry.speaker
            && stored.entry.text.starts_with(&text_of(sent))
            && has_changes(sent, &stored.changes)
    }

    fn event_ids(&self, stored: &StoredTurn) -> Vec<String> {
        let events = list(&stored.entry.raw, "events");
        events.iter().filter_map(|event| event.string_at(&["eventId"])).collect()
    }
}

fn list(tree: &JsonTree, key: &str) -> Vec<JsonTree> {
    let list = tree.value_at(&[key]).map(|list| list.children()).unwrap_or_default();
    list.into_iter().map(|(_, element)| element).collect()
}

/// Returns the text that the entry of a sent turn has.
fn text_of(sent: &JsonTree) -> String {
    if let Some(narration) = sent.string_at(&["narration"]).filter(|text| !text.is_empty()) {
        return narration;
    }
    let events = list(sent, "events");
    let told = events.iter().filter_map(|event| event.string_at(&["description"]));
    told.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns whether the changes of a sent turn are among the stored ones, in order. The start of a scene adds others.
fn has_changes(sent: &JsonTree, stored: &[StateChange]) -> bool {
    let mut stored = stored.iter();
    list(sent, "deltas").iter().flat_map(|group| list(group, "deltas")).all(|sent| {
        let Ok(sent) = Delta::parse(&sent.to_line()) else { return false };
        stored.any(|change| is_same_change(&sent, &change.delta))
    })
}

/// Returns whether a stored change is the one that was sent. One dialect stores another scope, a shorter path, and the
/// sum instead of an increment.
fn is_same_change(sent: &Delta, stored: &Delta) -> bool {
    let is_same_value = match (&sent.value, &stored.value) {
        (Some(sent), Some(stored)) => sent.is_same(stored),
        (sent, stored) => sent.is_none() == stored.is_none(),
    };
    sent.path.segments().last() == stored.path.segments().last()
        && (is_same_value || sent.op != stored.op)
}
