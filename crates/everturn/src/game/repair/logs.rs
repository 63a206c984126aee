//! Logs in which every line is one record again.

use super::plan::{Plan, current_turns};
use crate::game::error::GameError;
use crate::game::session::Session;
use crate::game::survey::Facts;
use crate::repairs::{Keeper, own_lines};

pub(super) fn mend(
    session: &Session,
    facts: &Facts,
    plan: &Plan,
    keeper: &mut Keeper<'_>,
) -> Result<(), GameError> {
    for path in &plan.logs {
        let Some(bytes) = keeper.content(path)? else { continue };
        keeper.write(path, own_lines(path, &bytes)?)?;
    }
    for path in &plan.trash {
        keeper.discard(path);
    }
    if let Some((first, last)) = plan.lost {
        let path = current_turns(session, facts.recount.last().unwrap_or(0) + 1)?;
        let mut bytes = keeper.content(&path)?.unwrap_or_default();
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lost_turns(session, facts, first, last)?.as_bytes());
        keeper.write(&path, bytes)?;
    }
    Ok(())
}

/// Lines for turns of which only the changes are left, with the events that the changes name.
fn lost_turns(
    session: &Session,
    facts: &Facts,
    first: u64,
    last: u64,
) -> Result<String, GameError> {
    let mut events: std::collections::BTreeMap<u64, (Vec<String>, Option<i64>)> =
        Default::default();
    for change in session.changes(first, last)? {
        let change = change?;
        let (ids, time) = events.entry(change.turn).or_default();
        *time = time.or(change.time);
        if let Some(event) = change.event.filter(|event| !ids.contains(event)) {
            ids.push(event);
        }
    }
    let mut out = String::new();
    for turn in first..=last {
        let (ids, time) = events.remove(&turn).unwrap_or_default();
        let event = |id: &String| {
            serde_json::json!({
                "eventId": id, "type": "lost",
                "description": "What happened here was lost; what it changed is still there.",
            })
        };
        let line = serde_json::json!({
            "turnId": turn, "sceneId": facts.recount.scene, "actor": "system", "timestamp": time,
            "gameTime": facts.recount.game_time.as_ref().and_then(|time| time.to_value().ok()),
            "actions": [], "events": ids.iter().map(event).collect::<Vec<_>>(),
            "stateChanges": [{"type": "lost"}],
        });
        out.push_str(&line.to_string());
        out.push('\n');
    }
    Ok(out)
}
