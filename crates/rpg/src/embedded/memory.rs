//! The recent turns, read from the log.

use super::intent::{Intent, understand};
use crate::row::turn_number;
use everturn_value::tree::JsonTree;

/// A past turn.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) turn: u64,
    pub(super) actor: String,
    /// The area of the actor afterwards.
    pub(super) area: String,
    pub(super) intent: Intent,
    pub(super) text: String,
}

/// Returns the turns of these rows, oldest first. Undone turns are left out.
pub(super) fn remember(rows: &[JsonTree]) -> Vec<PastTurn> {
    let mut past: Vec<PastTurn> = Vec::new();
    for row in rows {
        let text = |path: &[&str]| row.string_at(path).unwrap_or_default();
        let turn = turn_number(&text(&["turn_id"])).unwrap_or_default();
        let (input, told) = (text(&["user_input"]), text(&["assistant_text"]));
        if let Some(count) = undone_turns(&input, &told) {
            past.retain(|known| known.turn.saturating_add(count) < turn);
            continue;
        }
        let actor = text(&["state_summary", "active_actor_id"]);
        let area = text(&["state_summary", "positions", &actor]);
        past.push(PastTurn { turn, actor, area, intent: understand(&input), text: told });
    }
    past
}

/// Returns how many turns a row undoes, if it is an undo.
fn undone_turns(input: &str, told: &str) -> Option<u64> {
    let count = input.strip_prefix("undo ")?.parse().ok()?;
    told.starts_with("Took back turn_").then_some(count)
}
