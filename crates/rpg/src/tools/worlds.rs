//! The tool that creates worlds: small files that campaigns share.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, flag, text};
use crate::draft::tree_of;
use crate::error::RulesError;
use everturn_json::names::SessionId;
use everturn_value::tree::JsonTree;

/// `world_generate`: creates a world if none has this ID, and binds the campaign to it if requested.
pub(super) fn generate(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let given = match args.get("world_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
        Some(_) => return Err(RefusalReason::InvalidArgs.into()),
    };
    let bind = flag(args, "bind_to_campaign", false)?;
    let also_map = flag(args, "also_generate_map", false)?;
    let seed = match args.get("seed") {
        None | Some(Value::Null) => None,
        Some(seed @ Value::String(_)) => Some(seed.clone()),
        Some(seed) if seed.is_i64() || seed.is_u64() => Some(seed.clone()),
        Some(_) => return Err(RefusalReason::InvalidArgs.into()),
    };
    let generator = match args.get("generator_id") {
        None | Some(Value::Null) => "stub",
        Some(_) => {
            let id = text(args, "generator_id").map(str::trim).filter(|id| !id.is_empty());
            id.ok_or(RefusalReason::InvalidArgs)?
        }
    };
    let selected = || stage.draft.view().tree.string_at(&["selected", "world_id"]);
    let selected = || selected().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let id = given.or_else(selected).ok_or(RefusalReason::WorldIdMissing)?;
    let id = SessionId::parse(&id).map_err(|_| RefusalReason::InvalidArgs)?;
    let known = match stage.draft.made_world(&id) {
        Some(made) => Some(made.clone()),
        None => (stage.worlds)(&id)
            .map_err(|source| ToolFailure::Broken(RulesError::World { id: id.clone(), source }))?,
    };
    let created = known.is_none();
    let world = match known {
        Some(known) => known,
        None => {
            let world = new_world(&id, seed.as_ref(), generator, stage.now);
            stage.draft.make_world(id.clone(), world.clone());
            world
        }
    };
    if bind {
        stage.draft.set(&["selected", "world_id"], id.as_str())?;
    }
    let part = |path: &[&str]| world.value_at(path).and_then(|part| part.to_value().ok());
    Ok(json!({
        "world_id": id.as_str(),
        "created": created,
        "normalized": created && seed.is_some(),
        "bound_to_campaign": bind,
        "seed": part(&["seed"]),
        "generator_id": part(&["generator", "id"]),
        "also_generate_map": also_map,
    }))
}

/// Returns the document of a new world.
fn new_world(id: &SessionId, seed: Option<&Value>, generator: &str, now: &str) -> JsonTree {
    let source = if seed.is_some() { "args.seed" } else { "world_id_hash" };
    let seed = seed.cloned().unwrap_or_else(|| stable_seed(id.as_str()).into());
    tree_of(&json!({
        "world_id": id.as_str(),
        "name": id.as_str(),
        "seed": seed,
        "generator": {"id": generator, "version": "1", "params": {"seed_source": source}},
        "schema_version": "1",
        "created_at": now,
        "updated_at": now,
    }))
}

/// Returns the default seed of a world: the first 8 bytes of a checksum of its ID, modulo 2³¹.
fn stable_seed(id: &str) -> u64 {
    let sum = Sha256::digest(id.as_bytes());
    let first = sum.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    first % (1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_follow_from_the_id() {
        // int(hashlib.sha256(id.encode()).hexdigest()[:16], 16) % 2**31, by Python.
        assert_eq!(stable_seed("world_001"), 1_298_416_504);
    }
}
