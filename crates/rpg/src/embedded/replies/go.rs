//! Moves, and the exits of a place.

use serde_json::{Value, json};

use super::super::intent::MoveTarget;
use super::super::place::ScenePlace;
use super::super::scene::{Exit, Scene};
use super::super::words::phrases::{
    ARRIVING, NEW_WAY, NO_NEW_WAY, NO_SUCH_DIRECTION, NOT_FROM_HERE, NOWHERE, RETURNING,
};
use super::super::words::places::NAMES;
use super::{Reply, listed, look};
use crate::dialog::DialogType;
use crate::document_view::CampaignView;
use crate::generation::{Generation, RuleSet};
use crate::turn::rehearse;

fn prompt() -> Reply {
    Reply::new(DialogType::ActionPrompt)
}

/// Goes to a target, if there is a way.
pub(super) fn towards(scene: &Scene<'_>, target: &MoveTarget) -> Reply {
    match target {
        MoveTarget::Back => match scene.before().or(only(scene)) {
            Some(exit) => walk(scene, exit, RETURNING),
            None => prompt()
                .line("You look back, and are not sure any more where you came from.")
                .and(look::ways(scene)),
        },
        MoveTarget::Onward | MoveTarget::Away => match onward(scene) {
            Some(exit) => walk(scene, exit, ARRIVING),
            None if scene.exits.is_empty() => explore(scene),
            None => prompt()
                .line("The way is open in more than one direction.")
                .and(look::ways(scene))
                .and(scene.prompt()),
        },
        MoveTarget::Direction(direction) => {
            let ways: Vec<&Exit> =
                scene.exits.iter().filter(|exit| exit.direction == *direction).collect();
            chosen(scene, &ways).unwrap_or_else(|| {
                prompt().line(scene.say(NO_SUCH_DIRECTION)).and(look::ways(scene))
            })
        }
        MoveTarget::Named(words) => {
            // A place that matches the words better takes precedence over an adjacent one, wherever it is.
            let areas = scene.areas_named(words);
            let is_named = |exit: &&Exit| areas.contains(&exit.area);
            let ways: Vec<&Exit> = scene.exits.iter().filter(is_named).collect();
            chosen(scene, &ways).unwrap_or_else(|| far(scene, &areas))
        }
    }
}

fn only<'s>(scene: &'s Scene<'_>) -> Option<&'s Exit> {
    match scene.exits.as_slice() {
        [exit] => Some(exit),
        _ => None,
    }
}

/// Returns the only exit, or the only one to an unseen place.
fn onward<'s>(scene: &'s Scene<'_>) -> Option<&'s Exit> {
    let unseen: Vec<&Exit> =
        scene.exits.iter().filter(|exit| !scene.has_seen(&exit.area)).collect();
    match unseen.as_slice() {
        [exit] => Some(exit),
        _ => only(scene),
    }
}

/// Goes if there is one match; asks if there are several.
fn chosen(scene: &Scene<'_>, ways: &[&Exit]) -> Option<Reply> {
    match ways {
        [] => None,
        [exit] => Some(walk(scene, exit, ARRIVING)),
        several => {
            let names: Vec<String> =
                several.iter().map(|exit| format!("{} ({})", exit.shown(), exit.area)).collect();
            Some(
                prompt()
                    .line(format!("That could be more than one way: {}.", listed(&names)))
                    .and(scene.prompt()),
            )
        }
    }
}

/// Returns the answer for a place that is not adjacent.
fn far(scene: &Scene<'_>, areas: &[String]) -> Reply {
    if areas.contains(&scene.place.area) {
        return prompt()
            .line(format!("You are there already: this is {}.", scene.place.name))
            .and(scene.prompt());
    }
    let step = areas.iter().find_map(|area| Some((area, scene.first_step(area)?)));
    match step {
        Some((area, exit)) => {
            let name = ScenePlace::new(scene.view, scene.seed, area).name;
            let (way, over) = (exit.direction.as_str(), &exit.name);
            let advice = format!("To {name} you would first go {way}, by way of {over}.");
            prompt().line(scene.say(NOT_FROM_HERE)).and(advice)
        }
        None => prompt().line(scene.say(NOWHERE)).and(look::ways(scene)),
    }
}

/// Returns the arguments of a move, by the rules of the campaign.
fn move_args(scene: &Scene<'_>, to: &str) -> Value {
    match scene.view.generation.rules() {
        RuleSet::First => json!({
            "actor_id": scene.actor(), "from_area_id": scene.place.area, "to_area_id": to,
        }),
        RuleSet::Second => json!({"actor_id": scene.actor(), "to_area_id": to}),
    }
}

fn walk(scene: &Scene<'_>, exit: &Exit, openings: &[&'static str]) -> Reply {
    if !scene.may("move") {
        return prompt().line("Your feet know the way, but something keeps you here. It is not for you to leave this place now.");
    }
    let there = scene.at(&exit.area);
    let opening = format!("{} {}.", scene.say(openings), there.place.name);
    let reply = Reply::new(DialogType::SceneDescription).line(opening).call(
        "move",
        &move_args(scene, &exit.area),
        "the player goes there",
    );
    let left: Vec<String> = scene.companions().iter().map(|other| scene.called(other)).collect();
    let stay = if left.len() == 1 { "stays" } else { "stay" };
    let reply = look::surroundings(&there, reply);
    match left.is_empty() {
        true => reply,
        false => reply.line(format!("{} {stay} behind for now.", listed(&left))),
    }
}

/// Lists the exits.
pub(super) fn ways(scene: &Scene<'_>) -> Reply {
    let list: Vec<String> =
        scene.exits.iter().map(|exit| format!("{} ({})", exit.shown(), exit.area)).collect();
    let reply = match list.is_empty() {
        true => prompt().line(look::ways(scene)),
        false => prompt()
            .line(format!("From {} you could go {}.", scene.place.name, listed(&list)))
            .and("Or you explore, and see what nobody has found yet."),
    };
    if !scene.may("move_options") || !scene.view.has_area(&scene.place.area) {
        return reply;
    }
    let args = json!({"actor_id": scene.actor()});
    reply.call("move_options", &args, "the player asks where to go")
}

/// The number of exits and areas beyond which exploring finds no new ones.
const MOST_WAYS: usize = 5;
const MOST_AREAS: usize = 60;

/// Explores beyond the known map.
pub(super) fn explore(scene: &Scene<'_>) -> Reply {
    let nothing = || {
        Reply::new(DialogType::ResolutionSummary)
            .line(scene.say(NO_NEW_WAY))
            .and(scene.place.detail())
            .line(look::ways(scene))
    };
    let is_full = scene.exits.len() >= MOST_WAYS || scene.view.areas().len() >= MOST_AREAS;
    if is_full || !scene.may("map_generate") {
        return nothing();
    }
    let here = &scene.place.area;
    let args = match scene.view.generation {
        Generation::First => json!({"parent_area_id": here}),
        _ => json!({
            "parent_area_id": here,
            "theme": scene.dice.of("theme").pick(NAMES),
            "constraints": {"size": 2, "seed": format!("{}-{}", scene.seed, scene.request.turn)},
        }),
    };
    let reply = Reply::new(DialogType::SceneDescription).line(scene.say(NEW_WAY)).call(
        "map_generate",
        &args,
        "the player explores beyond the known map",
    );
    let Some(trial) = rehearse(scene.request, &reply.clone().output()) else { return nothing() };
    let result = trial.applied.first().map(|action| &action.result);
    let list = |key: &str| result.and_then(|result| result.get(key)).cloned();
    let made = list("new_area_id").or_else(|| list("created_area_ids")?.get(0).cloned());
    let Some(made) = made.as_ref().and_then(Value::as_str).filter(|_| trial.is_clean) else {
        return nothing();
    };
    let after = CampaignView { generation: scene.view.generation, tree: &trial.after };
    let exit = Exit::new(after, scene.seed, here, made);
    reply.and(format!("It leads {} ({made}).", exit.shown())).line("Do you follow it?")
}
