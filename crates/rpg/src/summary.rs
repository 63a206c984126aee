//! The state summary in each row of the log.

use serde_json::{Map, Value, json};

use super::document_view::{CampaignView, CharacterFact};
use super::generation::Generation;
use everturn_value::tree::JsonTree;

/// Returns the state summary of a row.
pub(crate) fn summary(view: CampaignView<'_>, actor: &str) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("active_actor_id", actor.into());
    let positions = view.facts(CharacterFact::Position);
    put("positions", positions.clone().into());
    if view.generation != Generation::First {
        let nowhere = positions.keys().map(|actor| (actor.clone(), Value::Null));
        let nowhere: Map<String, Value> = nowhere.collect();
        put("positions_parent", positions.into());
        put("positions_child", nowhere.into());
    }
    put("hp", view.facts(CharacterFact::Hp).into());
    put("character_states", view.facts(CharacterFact::State).into());
    if !view.has_actors() {
        return out;
    }
    let inventory = |actor: &str| {
        let tree = view.tree.value_at(&["actors", actor, "inventory"]);
        let value = tree.and_then(|tree| tree.to_value().ok()).filter(Value::is_object);
        value.unwrap_or_else(|| json!({}))
    };
    let actors =
        view.tree.value_at(&["actors"]).map(|actors| actors.children()).unwrap_or_default();
    let all: Map<String, Value> =
        actors.iter().map(|(actor, _)| (actor.clone(), inventory(actor))).collect();
    put("inventories", all.into());
    if view.generation == Generation::Third {
        put("inventory_stack_ids", stacks(view).into());
    }
    let goal = view.tree.string_at(&["goal", "text"]).unwrap_or_default();
    put("objective", goal.trim().into());
    let area = view.position(actor).filter(|area| view.has_area(area));
    let said = |key: &str| {
        let area = area.as_deref()?;
        view.tree.string_at(&["map", "areas", area, key])
    };
    put("active_area_id", area.clone().into());
    put("active_area_name", said("name").unwrap_or_default().into());
    put("active_area_description", said("description").unwrap_or_default().into());
    put("active_actor_inventory", inventory(actor));
    out
}

/// Returns the item stacks of each actor, by kind of item.
fn stacks(view: CampaignView<'_>) -> Map<String, Value> {
    let actors =
        view.tree.value_at(&["actors"]).map(|actors| actors.children()).unwrap_or_default();
    let mut all: Map<String, Value> =
        actors.into_iter().map(|(actor, _)| (actor, json!({}))).collect();
    let items = view.tree.value_at(&["items"]).map(|items| items.children()).unwrap_or_default();
    for (stack, item) in items {
        let text = |key: &str| item.string_at(&[key]);
        if text("parent_type").as_deref() != Some("actor") {
            continue;
        }
        let (Some(actor), Some(kind)) = (text("parent_id"), text("definition_id")) else {
            continue;
        };
        if let Some(Value::Object(kinds)) = all.get_mut(&actor)
            && let Value::Array(list) = kinds.entry(kind).or_insert_with(|| json!([]))
        {
            list.push(stack.into());
        }
    }
    all
}

/// Returns the first fact about the characters on which a row's summary and a document disagree, if any.
#[must_use]
pub fn disagreement(view: CampaignView<'_>, row: &JsonTree) -> Option<&'static str> {
    let names = CharacterFact::ALL.into_iter().filter(|fact| {
        let [name, _] = fact.names();
        let said = row.value_at(&["state_summary", name]);
        let said = said.and_then(|said| said.to_value().ok());
        said.is_some_and(|said| said != Value::Object(view.facts(*fact)))
    });
    names.map(|fact| fact.names()[0]).next()
}

/// Returns the IDs of all characters in a row's summary.
#[must_use]
pub fn characters(row: &JsonTree) -> Vec<String> {
    let mut ids = Vec::new();
    for fact in CharacterFact::ALL {
        let [name, _] = fact.names();
        let map =
            row.value_at(&["state_summary", name]).map(|map| map.children()).unwrap_or_default();
        for (id, _) in map {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}
