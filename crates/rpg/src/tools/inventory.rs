//! The tool that changes inventories, and item stacks, from which the third generation derives them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, text, whole};
use crate::document_view::integer;
use crate::draft::CampaignDraft;
use everturn_value::delta::DeltaError;
use everturn_value::tree::{JsonTree, ValueKind};

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
    if stage.draft.view().tree.value_at(&["actors", actor]).is_none() {
        return Err(RefusalReason::InvalidArgs.into());
    }
    let total = grant(stage.draft, actor, item, quantity)?;
    let total = total.ok_or(RefusalReason::InvalidArgs)?;
    Ok(json!({
        "actor_id": actor,
        "item_id": item,
        "quantity_added": quantity,
        "new_quantity": total,
    }))
}

/// Gives an actor a quantity of an item, and returns how many they have now. Returns `None` if that is too many.
///
/// If the document has item stacks, the upstream program computes inventories from them and forgets everything else.
pub(super) fn grant(
    draft: &mut CampaignDraft,
    actor: &str,
    item: &str,
    quantity: i64,
) -> Result<Option<i64>, DeltaError> {
    let tree = draft.view().tree;
    let known = tree.value_at(&["actors", actor, "inventory", item]);
    let known = known.as_ref().and_then(integer).filter(|known| *known >= 0).unwrap_or(0);
    let Some(total) = known.checked_add(quantity) else { return Ok(None) };
    let stacks = tree.value_at(&["items"]).filter(|items| items.kind() == ValueKind::Object);
    if let Some(stacks) = stacks.filter(|_| is_stack_name(item) && is_stack_name(actor)) {
        let merged = stacks.children().into_iter().find(|(_, stack)| is_plain(stack, actor, item));
        match merged {
            Some((id, stack)) => {
                let held = stack.value_at(&["quantity"]).as_ref().and_then(integer).unwrap_or(1);
                let Some(held) = held.checked_add(quantity) else { return Ok(None) };
                draft.set(&["items", &id, "quantity"], &held)?;
            }
            None => {
                let id = new_stack_id(&stacks, actor, item);
                draft.set(&["items", &id], &new_stack(&id, actor, item, quantity))?;
            }
        }
    }
    draft.set(&["actors", actor, "inventory", item], &total)?;
    Ok(Some(total))
}

/// Returns whether the upstream program accepts a name in a stack.
fn is_stack_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns whether a stack is one of an actor's that has nothing but a quantity.
fn is_plain(stack: &JsonTree, actor: &str, item: &str) -> bool {
    let is = |key: &str, expect: &str| stack.string_at(&[key]).as_deref() == Some(expect);
    let is_empty = |key: &str| stack.value_at(&[key]).is_none_or(|part| part.children().is_empty());
    let is_on = |key: &str, default: bool| {
        stack.text_at(&[key]).map_or(default, |value| value.as_str() == "true")
    };
    is("definition_id", item)
        && is("parent_type", "actor")
        && is("parent_id", actor)
        && ["metadata", "tags", "verbs", "state", "props"].into_iter().all(is_empty)
        && stack.string_at(&["label"]).is_none_or(|label| label.is_empty() || label == item)
        && is_on("stackable", true)
        && !is_on("is_container", false)
}

fn new_stack_id(stacks: &JsonTree, actor: &str, item: &str) -> String {
    let named = |number: usize| {
        let digest = Sha256::digest(format!("{item}:actor:{actor}:{number}"));
        let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("stk_{item}_{digits}")
    };
    let is_free = |id: &String| stacks.value_at(&[id]).is_none();
    (0..).map(named).find(is_free).unwrap_or_default()
}

fn new_stack(id: &str, actor: &str, item: &str, quantity: i64) -> Value {
    json!({
        "stack_id": id,
        "definition_id": item,
        "quantity": quantity,
        "parent_type": "actor",
        "parent_id": actor,
        "label": item,
        "description": null,
        "tags": [],
        "verbs": [],
        "state": {},
        "props": {},
        "stackable": true,
        "is_container": false,
    })
}
