//! The tools for moving between areas.

use serde_json::{Value, json};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, text};
use crate::generation::Generation;

/// `move` by the first rules: the call names the actor, the origin and the destination.
pub(super) fn go_from(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let given = |key: &str| text(args, key).ok_or(RefusalReason::InvalidArgs);
    let (actor, from, to) = (given("actor_id")?, given("from_area_id")?, given("to_area_id")?);
    let view = stage.draft.view();
    let is_there = view.position(actor).as_deref() == Some(from);
    if actor != stage.actor || !is_there || !view.roads(from).iter().any(|road| road == to) {
        return Err(RefusalReason::InvalidArgs.into());
    }
    stage.draft.set_position(actor, to)?;
    Ok(json!({"to_area_id": to}))
}

/// `move` by the second rules: the call names the destination, and must not name the origin.
pub(super) fn go(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let to = text(args, "to_area_id").ok_or(RefusalReason::InvalidArgs)?;
    let view = stage.draft.view();
    let from = view.position(stage.actor).ok_or(RefusalReason::InvalidArgs)?;
    let leads_there = view.has_area(to) && view.roads(&from).iter().any(|road| road == to);
    if args.contains_key("from_area_id") || to == from || !leads_there {
        return Err(RefusalReason::InvalidArgs.into());
    }
    stage.draft.set_position(stage.actor, to)?;
    Ok(json!({"from_area_id": from, "to_area_id": to}))
}

/// `move_options`: lists the possible destinations.
pub(super) fn options(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let view = stage.draft.view();
    let actor = match args.get("actor_id") {
        None | Some(Value::Null) => stage.actor,
        Some(Value::String(actor)) => actor,
        Some(_) => return Err(RefusalReason::InvalidArgs.into()),
    };
    let from = view.position(actor).filter(|from| view.has_area(from));
    let from = from.ok_or(RefusalReason::InvalidArgs)?;
    let option = |to: &String| {
        let name = view.area_name(to).unwrap_or_default();
        json!({"to_area_id": to, "name": name})
    };
    let options: Vec<Value> = view.roads(&from).iter().map(option).collect();
    Ok(match view.generation {
        Generation::First | Generation::Between => {
            json!({"from_area_id": from, "options": options})
        }
        Generation::Second | Generation::Third => json!({"options": options}),
    })
}
