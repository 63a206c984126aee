//! Acts on the entities of a campaign of the third generation, through `scene_action`.

use serde_json::{Value, json};

use super::super::grammar::{Slots, Tongue};
use super::super::intent::{Intent, ParsedInput, words};
use super::super::resolve::is_same_word;
use super::super::story::{StoryTurn, quotable, short};
use crate::generation::Generation;
use crate::tools::SCENE_ACTION;
use crate::turn::rehearse;

/// Returns the action of an intent.
fn action_of(intent: Intent) -> Option<&'static str> {
    match intent {
        Intent::Examine | Intent::Read | Intent::Mention => Some("inspect"),
        Intent::Search => Some("search"),
        Intent::Open => Some("open"),
        Intent::Take => Some("take"),
        Intent::Drop => Some("drop"),
        Intent::Use => Some("use"),
        Intent::Talk | Intent::Greet | Intent::Ask => Some("talk"),
        _ => None,
    }
}

/// Returns the IDs and labels of the entities here and with the actor.
pub(super) fn entities_here(turn: &StoryTurn<'_>) -> Vec<(String, String)> {
    if turn.view.generation != Generation::Third {
        return Vec::new();
    }
    let all = turn.view.tree.value_at(&["entities"]).map(|all| all.children()).unwrap_or_default();
    let is_here = |kind: &str, id: &str| match kind {
        "area" => id == turn.here,
        "actor" => id == turn.actor(),
        // What lies inside of something can be named when it has been found.
        _ => kind == "entity",
    };
    let found = all.into_iter().filter_map(|(id, entity)| {
        let (kind, at) = (entity.string_at(&["loc", "type"])?, entity.string_at(&["loc", "id"])?);
        is_here(&kind, &at).then(|| Some((id, entity.string_at(&["label"])?)))?
    });
    found.collect()
}

/// Returns the labels of the entities that lie or stand here.
pub(super) fn labels_in(turn: &StoryTurn<'_>) -> Vec<String> {
    let is_here = |id: &str| {
        turn.view.tree.string_at(&["entities", id, "loc", "type"]).as_deref() == Some("area")
    };
    let found = entities_here(turn).into_iter().filter(|(id, _)| is_here(id));
    found.map(|(_, label)| label).collect()
}

/// Returns the entity that words refer to: its last word must be among them.
fn named(turn: &StoryTurn<'_>, said: &[String]) -> Option<(String, String)> {
    let tongue = turn.pack.tongue;
    let is_said = |word: &String| said.iter().any(|other| is_same_word(tongue, other, word));
    let hits = |label: &str| {
        let parts = words(label);
        let is_named = parts.last().is_some_and(is_said);
        if is_named { parts.iter().filter(|part| is_said(part)).count() } else { 0 }
    };
    let all = entities_here(turn).into_iter().map(|it| (hits(&it.1), it));
    let best = all.filter(|(hits, _)| *hits > 0).max_by_key(|(hits, _)| *hits);
    best.map(|(_, found)| found)
}

/// Acts on an entity, if the input names one. Returns whether it does.
pub(super) fn act(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) -> bool {
    let Some(action) = action_of(parsed.intent) else { return false };
    let said = if parsed.object.is_empty() { parsed.addressee.as_slice() } else { &parsed.object };
    let target = if parsed.second.is_empty() { None } else { named(turn, &parsed.second) };
    let tool = named(turn, said);
    // "use the key on the door": the door is used, with the key.
    let (target, with) = match (target, tool) {
        (Some(target), Some(tool)) if action == "use" => (target, Some(tool)),
        (_, Some(only)) => (only, None),
        _ => return false,
    };
    if !turn.may(SCENE_ACTION) {
        return false;
    }
    let mut args = json!({"actor_id": turn.actor(), "action": action, "target_id": target.0});
    if let (Some((item, _)), Some(fields)) = (&with, args.as_object_mut()) {
        fields.insert("params".to_owned(), json!({"item_id": item}));
    }
    turn.call(SCENE_ACTION, &args, "the player says so");
    let tried = rehearse(turn.request, &turn.output());
    let Some(result) = tried.and_then(|tried| tried.applied.last().map(|it| it.result.clone()))
    else {
        turn.withdraw_call();
        return false;
    };
    turn.takes_time = true;
    tell(turn, action, &target.1, &result);
    true
}

/// Tells the result of an action.
fn tell(turn: &mut StoryTurn<'_>, action: &str, label: &str, result: &Value) {
    let narrative = result.get("narrative").and_then(Value::as_str).and_then(quotable);
    if turn.pack.tongue == Tongue::English
        && let Some(narrative) = narrative
    {
        return turn.status("scene", narrative);
    }
    let failure = result.pointer("/error/code").and_then(Value::as_str);
    let phrase = match failure {
        Some("locked") => "scene_locked".to_owned(),
        Some("carry_limit") => "scene_heavy".to_owned(),
        Some(_) => "scene_refused".to_owned(),
        None => format!("scene_{action}"),
    };
    let label = quotable(label).map_or_else(|| "…".to_owned(), |label| short(&label));
    turn.status_phrase("scene", &phrase, &Slots::new().text("w", label));
}
