//! `scene_action`, the tool of the third generation for the [`SceneEntity`] values of a scene: doors, containers, people
//! and things. An action that is not possible succeeds as a call; its result says why nothing happened.

mod entity;

use serde_json::{Value, json};

use self::entity::{SceneEntity, entities, entity};
use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, inventory, text, whole};
use crate::document_view::CampaignView;
use crate::generation::Generation;

/// What can be done with an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SceneAction {
    Inspect,
    Talk,
    Open,
    Search,
    Take,
    Drop,
    Detach,
    Use,
    Wait,
}

impl SceneAction {
    const ALL: [(SceneAction, &'static str); 9] = [
        (SceneAction::Inspect, "inspect"),
        (SceneAction::Talk, "talk"),
        (SceneAction::Open, "open"),
        (SceneAction::Search, "search"),
        (SceneAction::Take, "take"),
        (SceneAction::Drop, "drop"),
        (SceneAction::Detach, "detach"),
        (SceneAction::Use, "use"),
        (SceneAction::Wait, "wait"),
    ];

    fn parse(word: &str) -> Option<SceneAction> {
        let word = word.trim().to_lowercase();
        SceneAction::ALL.iter().find(|(_, name)| *name == word).map(|(action, _)| *action)
    }

    fn as_str(self) -> &'static str {
        SceneAction::ALL.iter().find(|(action, _)| *action == self).map_or("", |(_, name)| name)
    }
}

/// The result of an action.
#[derive(Debug, Default)]
struct SceneResult {
    narrative: String,
    /// The changes of entities.
    patches: Vec<Value>,
    new: Vec<Value>,
    /// The code and the message of an action that was not possible.
    error: Option<(&'static str, String)>,
}

impl SceneResult {
    fn done(narrative: String) -> SceneResult {
        SceneResult { narrative, ..SceneResult::default() }
    }

    fn refused(code: &'static str, narrative: String, message: String) -> SceneResult {
        SceneResult { narrative, error: Some((code, message)), ..SceneResult::default() }
    }

    fn to_value(&self) -> Value {
        let mut result = json!({
            "ok": self.error.is_none(),
            "narrative": self.narrative,
            "patches": {
                "entity_patches": self.patches, "new_entities": self.new, "removed_entities": [],
            },
        });
        if let (Some((code, message)), Some(fields)) = (&self.error, result.as_object_mut()) {
            fields.insert("error".to_owned(), json!({"code": code, "message": message}));
        }
        result
    }
}

/// `scene_action`: acts on an entity.
pub(super) fn act(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let view = stage.draft.view();
    let is_known = view.tree.value_at(&["actors", stage.actor]).is_some();
    if view.generation != Generation::Third || !is_known {
        return Err(RefusalReason::InvalidArgs.into());
    }
    let action = text(args, "action").and_then(SceneAction::parse);
    let action = action.ok_or(RefusalReason::InvalidArgs)?;
    if !args.get("params").is_none_or(Value::is_object) {
        return Err(RefusalReason::InvalidArgs.into());
    }
    if action == SceneAction::Wait {
        let told = "You wait and observe the surroundings.".to_owned();
        return Ok(SceneResult::done(told).to_value());
    }
    let target = text(args, "target_id").map(str::trim).filter(|id| !id.is_empty());
    let target = target.ok_or(RefusalReason::InvalidArgs)?;
    let here = view.position(stage.actor);
    let result = match entity(view, target) {
        Some(found) => match refusal(view, stage.actor, here.as_deref(), action, &found) {
            Some(refused) => refused,
            None => act_on(stage, action, found, args)?,
        },
        None if action == SceneAction::Search && here.as_deref() == Some(target) => {
            search_area(stage, target)?
        }
        None => SceneResult::refused(
            "target_not_found",
            "You cannot find that target here.".to_owned(),
            format!("target not found: {target}"),
        ),
    };
    Ok(result.to_value())
}

/// Returns why an entity cannot be acted on, if that is so.
fn refusal(
    view: CampaignView<'_>,
    actor: &str,
    here: Option<&str>,
    action: SceneAction,
    target: &SceneEntity,
) -> Option<SceneResult> {
    let (id, label) = (target.id(), target.label());
    if !is_reachable(view, actor, here, target) {
        let (told, why) =
            (format!("{label} is not reachable right now."), format!("target not reachable: {id}"));
        return Some(SceneResult::refused("not_reachable", told, why));
    }
    if !is_possible(action, target) {
        let word = action.as_str();
        let told = format!("You cannot {word} {label}.");
        return Some(SceneResult::refused(
            "not_allowed",
            told,
            format!("action not allowed: {word}"),
        ));
    }
    None
}

/// How deep entities may lie in each other.
const MOST_DEPTH: usize = 3;

/// Returns whether an entity is in the area or with the actor, directly or inside of other entities.
fn is_reachable(
    view: CampaignView<'_>,
    actor: &str,
    here: Option<&str>,
    target: &SceneEntity,
) -> bool {
    let mut location = target.location();
    for _ in 0..=MOST_DEPTH {
        match location {
            Some((kind, id)) if kind == "area" => return Some(id.as_str()) == here,
            Some((kind, id)) if kind == "actor" => return id == actor,
            Some((kind, id)) if kind == "entity" => {
                location = entity(view, &id).and_then(|parent| parent.location());
            }
            _ => return false,
        }
    }
    false
}

fn is_possible(action: SceneAction, target: &SceneEntity) -> bool {
    let can = |word: &str| target.verbs().iter().any(|verb| verb == word);
    match action {
        SceneAction::Inspect => {
            let is_blocked = target.blocked_verbs().iter().any(|verb| verb == "inspect");
            !is_blocked && !target.is_on("inspect_blocked")
        }
        SceneAction::Talk => target.kind() == "npc" || can("talk"),
        other => can(other.as_str()),
    }
}

fn act_on(
    stage: &mut ToolContext<'_>,
    action: SceneAction,
    target: SceneEntity,
    args: &ToolArgs,
) -> Result<SceneResult, ToolFailure> {
    let label = target.label();
    let hint = target.hint();
    match action {
        SceneAction::Inspect => Ok(SceneResult::done(format!("You inspect {label}.{hint}"))),
        SceneAction::Talk => Ok(SceneResult::done(format!("You talk to {label}.{hint}"))),
        SceneAction::Open => open(stage, target),
        SceneAction::Search => search(stage, &target),
        SceneAction::Take => take(stage, target),
        SceneAction::Drop => put_down(stage, target),
        SceneAction::Detach => detach(stage, target),
        SceneAction::Use => use_item(stage, target, args),
        SceneAction::Wait => Ok(SceneResult::default()),
    }
}

/// Stores a changed entity, and returns the result with what has changed.
fn store(
    stage: &mut ToolContext<'_>,
    entity: &SceneEntity,
    narrative: String,
) -> Result<SceneResult, ToolFailure> {
    let changes = entity.changes();
    for (key, value) in &changes {
        stage.draft.set(&["entities", entity.id(), key], value)?;
    }
    let mut result = SceneResult::done(narrative);
    if !changes.is_empty() {
        result.patches.push(json!({"id": entity.id(), "changes": changes}));
    }
    Ok(result)
}

fn open(stage: &mut ToolContext<'_>, mut target: SceneEntity) -> Result<SceneResult, ToolFailure> {
    let (id, label) = (target.id().to_owned(), target.label());
    if target.is_on("locked") {
        let (told, why) = (format!("{label} is locked."), format!("target locked: {id}"));
        return Ok(SceneResult::refused("locked", told, why));
    }
    target.set_state("opened", true);
    store(stage, &target, format!("You open {label}."))
}

/// Gives the actor what is hidden in an entity, unless they have it already. Returns the item.
fn find_in(
    stage: &mut ToolContext<'_>,
    source: &mut SceneEntity,
) -> Result<Option<String>, ToolFailure> {
    let Some((item, quantity)) = source.contents() else { return Ok(None) };
    if source.is_on("inventory_granted") {
        return Ok(None);
    }
    let granted = inventory::grant(stage.draft, stage.actor, &item, quantity)?;
    granted.ok_or(RefusalReason::InvalidArgs)?;
    source.set_state("inventory_granted", true);
    Ok(Some(item))
}

fn search(stage: &mut ToolContext<'_>, target: &SceneEntity) -> Result<SceneResult, ToolFailure> {
    let label = target.label();
    let nothing = format!("You search {label} but find nothing useful.");
    let mut changed = target.clone();
    if let Some(item) = find_in(stage, &mut changed)? {
        return store(stage, &changed, format!("You search {label} and find {item}."));
    }
    let is_container = target.kind() == "container" && target.is_on("opened");
    let is_inside = |other: &SceneEntity| {
        other.location() == Some(("entity".to_owned(), target.id().to_owned()))
    };
    let all = entities(stage.draft.view());
    if target.contents().is_some() || !is_container || all.iter().any(is_inside) {
        return Ok(SceneResult::done(nothing));
    }
    let is_free = |id: &String| all.iter().all(|other| other.id() != id);
    let id = (1..).map(|number| format!("{}_loot_{number:02}", target.id())).find(is_free);
    let (id, name) = (id.unwrap_or_default(), format!("{label} Trinket"));
    let made = json!({
        "id": id, "kind": "item", "label": name, "tags": ["loot"],
        "loc": {"type": "entity", "id": target.id()}, "verbs": ["inspect", "take"],
        "state": {}, "props": {"mass": 1},
    });
    stage.draft.set(&["entities", &id], &made)?;
    let mut result = SceneResult::done(format!("You search {label} and find {name}."));
    result.new.push(made);
    Ok(result)
}

/// Searches an area: the first entity with something in it, by ID.
fn search_area(stage: &mut ToolContext<'_>, area: &str) -> Result<SceneResult, ToolFailure> {
    let here = Some(("area".to_owned(), area.to_owned()));
    let mut all = entities(stage.draft.view());
    all.sort_by(|one, other| one.id().cmp(other.id()));
    let source = all.into_iter().find(|entity| {
        entity.location() == here
            && entity.contents().is_some()
            && !entity.is_on("inventory_granted")
            && is_possible(SceneAction::Search, entity)
    });
    if let Some(mut source) = source
        && let Some(item) = find_in(stage, &mut source)?
    {
        let told = format!("You search the area and find {item} in {}.", source.label());
        return store(stage, &source, told);
    }
    Ok(SceneResult::done("You search the area but find nothing new.".to_owned()))
}

/// What an actor can carry, unless their `meta` says otherwise.
const CARRY_LIMIT: f64 = 60.0;

/// Returns whether an entity would be too heavy for what the actor carries already.
fn is_too_heavy(stage: &ToolContext<'_>, target: &SceneEntity) -> bool {
    let view = stage.draft.view();
    let with = Some(("actor".to_owned(), stage.actor.to_owned()));
    let all = entities(view);
    let carried = all.iter().filter(|it| it.location() == with && it.is_portable());
    let carried: f64 = carried.map(SceneEntity::mass).sum();
    let limit = view.tree.value_at(&["actors", stage.actor, "meta", "carry_mass_limit"]);
    let limit = limit.and_then(|limit| limit.to_value().ok()).and_then(|limit| limit.as_f64());
    carried + target.mass() > limit.filter(|limit| *limit > 0.0).unwrap_or(CARRY_LIMIT)
}

fn take(stage: &mut ToolContext<'_>, mut target: SceneEntity) -> Result<SceneResult, ToolFailure> {
    let (id, label) = (target.id().to_owned(), target.label());
    if target.kind() == "npc" {
        let why = format!("target is not portable: {id}");
        return Ok(SceneResult::refused("not_allowed", format!("You cannot take {label}."), why));
    }
    if target.is_with(stage.actor) {
        let told = format!("{label} is already in your inventory.");
        let why = "target already in actor inventory".to_owned();
        return Ok(SceneResult::refused("not_allowed", told, why));
    }
    if is_too_heavy(stage, &target) {
        let told = format!("{label} is too heavy to carry.");
        let why = format!("carry limit exceeded by target: {id}");
        return Ok(SceneResult::refused("carry_limit", told, why));
    }
    if target.kind() == "object" {
        target.set("kind", "item");
    }
    target.pick_up(stage.actor);
    store(stage, &target, format!("You take {label}."))
}

fn put_down(
    stage: &mut ToolContext<'_>,
    mut target: SceneEntity,
) -> Result<SceneResult, ToolFailure> {
    let label = target.label();
    let here = stage.draft.view().position(stage.actor).filter(|area| !area.trim().is_empty());
    let Some(here) = here else {
        let told = "You cannot drop items without a valid area.".to_owned();
        let why = "actor has no active area".to_owned();
        return Ok(SceneResult::refused("not_reachable", told, why));
    };
    if !target.is_with(stage.actor) {
        let told = format!("{label} is not in your inventory.");
        let why = format!("target not in actor inventory: {}", target.id());
        return Ok(SceneResult::refused("not_allowed", told, why));
    }
    target.put_down(&here);
    store(stage, &target, format!("You drop {label}."))
}

fn detach(
    stage: &mut ToolContext<'_>,
    mut target: SceneEntity,
) -> Result<SceneResult, ToolFailure> {
    let label = target.label();
    if is_too_heavy(stage, &target) {
        let told = format!("{label} is too heavy to detach and carry.");
        let why = format!("carry limit exceeded by target: {}", target.id());
        return Ok(SceneResult::refused("carry_limit", told, why));
    }
    target.set("kind", "item");
    target.set_state("detached", true);
    target.pick_up(stage.actor);
    store(stage, &target, format!("You detach {label}."))
}

fn use_item(
    stage: &mut ToolContext<'_>,
    mut target: SceneEntity,
    args: &ToolArgs,
) -> Result<SceneResult, ToolFailure> {
    let label = target.label();
    let wrong = |told: &str, why: &str| {
        Ok(SceneResult::refused("invalid_args", told.to_owned(), why.to_owned()))
    };
    let given = args.get("params").and_then(|params| params.get("item_id"));
    let told = match given.filter(|given| !given.is_null()) {
        None => format!("You use {label}."),
        Some(given) => {
            let Some(item) = given.as_str().map(str::trim) else {
                let why = "params.item_id must be string";
                return wrong("You fumble for the wrong item.", why);
            };
            if item.is_empty() {
                let why = "params.item_id must be non-empty";
                return wrong("You need a specific item to use here.", why);
            }
            let carried = entity(stage.draft.view(), item).filter(|it| it.is_with(stage.actor));
            let Some(carried) = carried else {
                return Ok(SceneResult::refused(
                    "missing_item",
                    "That item is not in your inventory.".to_owned(),
                    format!("item not in actor inventory: {item}"),
                ));
            };
            format!("You use {} on {label}.", carried.label())
        }
    };
    let was_used = target.is_truthy("used");
    target.set_state("used", !was_used);
    store(stage, &target, told)
}

/// Returns the quantity in a state, as the upstream program reads it.
fn quantity(value: Option<&Value>) -> Option<i64> {
    value.map_or(Some(1), whole).filter(|quantity| *quantity > 0)
}

#[cfg(test)]
mod tests;
