//! The tool that changes inventories.

use serde_json::{Value, json};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, text, whole};
use crate::document_view::integer;

/// `inventory_add`: gives the actor a quantity of an item.
pub(super) fn add(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let item = text(args, "item_id").map(str::trim).filter(|item| !item.is_empty());
    let item = item.ok_or(RefusalReason::InvalidArgs)?;
    let quantity = match args.get("quantity") {
        None => Some(1),
        Some(value) => whole(value).filter(|quantity| *quantity > 0),
    };
    let quantity = quantity.ok_or(RefusalReason::InvalidArgs)?;
    let actor = stage.actor;
    let tree = stage.draft.view().tree;
    if tree.value_at(&["actors", actor]).is_none() {
        return Err(RefusalReason::InvalidArgs.into());
    }
    let known = tree.value_at(&["actors", actor, "inventory", item]);
    let known = known.as_ref().and_then(integer).unwrap_or(0);
    let total = known.checked_add(quantity).ok_or(RefusalReason::InvalidArgs)?;
    stage.draft.set(&["actors", actor, "inventory", item], &total)?;
    Ok(json!({
        "actor_id": actor,
        "item_id": item,
        "quantity_added": quantity,
        "new_quantity": total,
    }))
}
