//! The tool that changes health.

use serde_json::{Value, json};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, text, whole};
use crate::generation::RuleSet;

/// `hp_delta`: adds to a character's health. By the second rules it does not fall below 0.
pub(super) fn change(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let target = text(args, "target_character_id").ok_or(RefusalReason::InvalidArgs)?;
    let delta = args.get("delta").and_then(whole).ok_or(RefusalReason::InvalidArgs)?;
    text(args, "cause").ok_or(RefusalReason::InvalidArgs)?;
    let view = stage.draft.view();
    let hp =
        view.hp(target).and_then(|hp| hp.checked_add(delta)).ok_or(RefusalReason::InvalidArgs)?;
    let hp = if view.generation.rules() == RuleSet::Second { hp.max(0) } else { hp };
    let was_dying = view.state(target) == "dying";
    let counts = view.is_on("rules.hp_zero_ends_game");
    stage.draft.set_hp(target, hp)?;
    if counts && hp <= 0 {
        stage.draft.set_state(target, "dying")?;
    } else if counts && was_dying {
        stage.draft.set_state(target, "alive")?;
    }
    Ok(json!({"new_hp": hp}))
}
