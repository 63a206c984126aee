//! The tool that creates characters.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, flag, text};
use crate::document_view::{DEFAULT_HP, FIRST_AREA};
use crate::starter::new_actor;

/// `actor_spawn`: creates a character, in the party unless the call says otherwise.
pub(super) fn spawn(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let character = text(args, "character_id").map(str::trim).filter(|id| !id.is_empty());
    let character = character.ok_or(RefusalReason::InvalidArgs)?;
    let in_party = flag(args, "bind_to_party", true)?;
    let view = stage.draft.view();
    let position = match args.get("spawn_position") {
        Some(Value::String(area)) => Some(area.trim().to_owned()),
        Some(_) => None,
        None => {
            let here = view.position(stage.actor).filter(|here| view.has_area(here));
            here.or_else(|| Some(FIRST_AREA.to_owned()))
        }
    };
    let position = position.filter(|area| view.has_area(area)).ok_or(RefusalReason::InvalidArgs)?;
    let id = free_id(stage);
    let mut actor = new_actor(&position);
    if let Some(meta) = actor.get_mut("meta") {
        *meta = json!({"character_id": character});
    }
    stage.draft.set(&["actors", &id], &actor)?;
    if in_party {
        stage.draft.push(&["selected", "party_character_ids"], &id)?;
    }
    let active = stage.draft.view().active_actor();
    if active.is_none_or(|active| active.trim().is_empty()) {
        stage.draft.set(&["selected", "active_actor_id"], &id)?;
    }
    Ok(json!({"actor_id": id, "position": position, "hp": DEFAULT_HP, "created": true}))
}

/// Returns an unused ID derived from the seed.
fn free_id(stage: &ToolContext<'_>) -> String {
    let mut count = 0_u64;
    loop {
        let sum =
            Sha256::new().chain_update(stage.seed.to_le_bytes()).chain_update(count.to_le_bytes());
        let digits: String =
            sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let id = format!("actor_{digits}");
        if stage.draft.view().tree.value_at(&["actors", &id]).is_none() {
            return id;
        }
        count += 1;
    }
}
