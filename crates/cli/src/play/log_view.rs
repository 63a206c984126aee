//! Shows rows of the log to the player.

use everturn::campaign::Campaign;
use everturn::tree::JsonTree;

use super::guide::Guide;
use super::page::{BlockStyle, PlayPage};
use crate::error::Error;

/// Shows the result of a turn: its text, unless it was already seen, and the changes.
pub(super) fn show_turn(
    row: &JsonTree,
    seen: bool,
    guide: &Guide,
    campaign: &Campaign,
    page: &mut PlayPage,
) -> Result<(), Error> {
    if !seen {
        page.say(BlockStyle::Plain, row.string_at(&["assistant_text"]).unwrap_or_default());
    }
    let list = |path: &[&str]| row.value_at(path).map(|list| list.children()).unwrap_or_default();
    let mut notes = Vec::new();
    for (_, action) in list(&["applied_actions"]) {
        notes.extend(note(&action, guide, campaign)?);
    }
    for (_, call) in list(&["tool_feedback", "failed_calls"]) {
        let said = |key: &str| call.string_at(&[key]).unwrap_or_default();
        notes.push(format!("not done: {} ({})", said("tool"), said("reason")));
    }
    if let Some(retries) = row.text_at(&["conflict_report", "retries"]) {
        notes.push(format!("the narrator had to be corrected ({retries})"));
    }
    if !notes.is_empty() {
        page.say(BlockStyle::Plain, "");
    }
    for note in notes {
        page.say(BlockStyle::Faint, format!("* {note}"));
    }
    Ok(())
}

/// Returns the change that a successful call made, unless the call changes nothing.
fn note(action: &JsonTree, guide: &Guide, campaign: &Campaign) -> Result<Option<String>, Error> {
    let arg = |key: &str| action.string_at(&["args", key]).unwrap_or_default();
    let result = |key: &str| action.text_at(&["result", key]).unwrap_or_default();
    let tool = action.string_at(&["tool"]).unwrap_or_default();
    Ok(match tool.as_str() {
        "move" => {
            let to = action.string_at(&["result", "to_area_id"]).unwrap_or_default();
            Some(format!(
                "{} is in {} now",
                arg_or(action, "actor_id", campaign)?,
                guide.name(campaign, &to)?
            ))
        }
        "hp_delta" => {
            let delta = action.text_at(&["args", "delta"]).unwrap_or_default();
            let sign = if delta.starts_with('-') { "" } else { "+" };
            let who = arg("target_character_id");
            Some(format!("{who}: {sign}{delta} hp, {} now", result("new_hp")))
        }
        "map_generate" => match action.string_at(&["result", "new_area_id"]) {
            Some(area) => Some(format!("new on the map: {}", guide.name(campaign, &area)?)),
            None => Some("the map has new places".to_owned()),
        },
        "inventory_add" => {
            let count = result("quantity_added");
            Some(format!("{} (+{count}, {} now)", arg("item_id"), result("new_quantity")))
        }
        "move_options" => None,
        _ => Some(tool),
    })
}

/// Returns the character named by a call, or the active one.
fn arg_or(action: &JsonTree, key: &str, campaign: &Campaign) -> Result<String, Error> {
    match action.string_at(&["args", key]) {
        Some(named) => Ok(named),
        None => Ok(campaign.active_actor()?.unwrap_or_default()),
    }
}

/// Shows turns from the log, oldest first.
pub(super) fn show_log(campaign: &Campaign, turns: u64, page: &mut PlayPage) -> Result<(), Error> {
    let most = usize::try_from(turns).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    for row in campaign.rows_back()?.take(most) {
        rows.push(row?);
    }
    if rows.is_empty() {
        page.say(BlockStyle::Faint, "There are no turns yet.");
    }
    for row in rows.iter().rev() {
        let said = |key: &str| row.row.string_at(&[key]).unwrap_or_default();
        page.gap();
        page.say(
            BlockStyle::Strong,
            format!("[{}] > {}", row.turn, shortened(&said("user_input"))),
        );
        page.say(BlockStyle::Plain, said("assistant_text"));
    }
    Ok(())
}

/// How many characters of a line are shown again.
const SHOWN: usize = 400;

/// Returns a line in shortened form.
pub(super) fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => {
            format!("{} … ({} bytes)", line.get(..end).unwrap_or_default(), line.len())
        }
        None => line.to_owned(),
    }
}
