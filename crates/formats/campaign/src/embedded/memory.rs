//! What happened lately, as the log tells it.

use super::intent::{Intent, understand};
use crate::paths::turn_number;
use everturn_value::tree::JsonTree;

/// One turn of the past.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) turn: u64,
    pub(super) actor: String,
    /// Where the actor was afterwards.
    pub(super) area: String,
    pub(super) intent: Intent,
    pub(super) text: String,
}

/// The turns of some rows, oldest first. Those that were taken back are left out.
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

/// How many turns a row takes back, if it is one that does.
fn undone_turns(input: &str, told: &str) -> Option<u64> {
    let count = input.strip_prefix("undo ")?.parse().ok()?;
    told.starts_with("Took back turn_").then_some(count)
}
