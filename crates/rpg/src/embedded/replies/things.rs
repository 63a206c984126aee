//! Items: searching, taking and carrying them.

use serde_json::json;

use super::super::intent::{Intent, words};
use super::super::memory::PastTurn;
use super::super::place::{Dweller, ScenePlace, SearchResult, quotable};
use super::super::scene::Scene;
use super::super::words::phrases::{
    NO_SEARCH, NOT_THERE, QUEST_FOUND, SEARCHED, SEARCHED_BEFORE, TAKEN, TAKEN_BEFORE,
};
use super::{Reply, fight, listed, points, some};
use crate::dialog::DialogType;
use crate::document_view::{DEFAULT_HP, integer};
use everturn_value::tree::JsonTree;

/// Returns the ID under which an item is carried.
fn item_id(thing: &str) -> String {
    words(thing).join("_").replace('\'', "")
}

/// Returns the item that a search of a place finds, if any.
fn found_in(place: &ScenePlace) -> Option<&'static str> {
    match place.find {
        SearchResult::Thing(thing) | SearchResult::Quest(thing) => Some(thing),
        SearchResult::Nothing | SearchResult::Herbs(_) | SearchResult::Trap(_) => None,
    }
}

fn was_searched(scene: &Scene<'_>) -> bool {
    let was_kept_from_it = |text: &str| NO_SEARCH.iter().any(|end| text.ends_with(end));
    scene.past_here().any(|past| past.intent == Intent::Search && !was_kept_from_it(&past.text))
}

/// Returns the text for taking an item.
fn taking(opening: &str, thing: &str) -> String {
    format!("{opening} the {}.", thing.strip_prefix("the ").unwrap_or(thing))
}

fn mentions_taking(past: &PastTurn, thing: &str) -> bool {
    let is_so = |opening: &&str| past.text.starts_with(&taking(opening, thing));
    matches!(past.intent, Intent::Take(_)) && TAKEN.iter().any(is_so)
}

/// Returns whether an item of this place was taken.
fn is_taken(scene: &Scene<'_>, thing: &str) -> bool {
    let party = scene.view.party();
    let item = item_id(thing);
    let is_carried = |actor: &String| {
        scene.view.tree.value_at(&["actors", actor.as_str(), "inventory", &item]).is_some()
    };
    let was_told = scene.past_here().any(|past| mentions_taking(past, thing));
    was_told || party.iter().any(is_carried)
}

/// Returns whether the actor has the object of the quest.
pub(super) fn has_quest(scene: &Scene<'_>) -> bool {
    carried(scene).iter().any(|thing| item_id(thing) == item_id(&some(scene.quest())))
}

/// Returns the items that can be taken here, as far as they have been discovered.
pub(super) fn lying(scene: &Scene<'_>) -> Vec<&'static str> {
    let hidden = found_in(&scene.place).filter(|_| was_searched(scene));
    let all = [hidden, Some(scene.place.item)];
    all.into_iter().flatten().filter(|thing| !is_taken(scene, thing)).collect()
}

pub(super) fn search(scene: &Scene<'_>) -> Reply {
    let reply = Reply::new(DialogType::ResolutionSummary);
    if let Dweller::Foe(foe, _) = scene.dweller() {
        let told = format!("The {} does not let you out of its sight.", foe.word);
        return Reply::new(DialogType::ActionPrompt).line(told).and(scene.say(NO_SEARCH));
    }
    if was_searched(scene) {
        let reply = reply.line(scene.say(SEARCHED_BEFORE));
        return match lying(scene).first() {
            Some(thing) => reply.and(format!("What is left is {}.", some(thing))),
            None => reply.and(scene.place.detail()),
        };
    }
    let reply = reply.line(scene.say(SEARCHED)).and(scene.place.detail());
    let missing = DEFAULT_HP.saturating_sub(scene.hp());
    match scene.place.find {
        SearchResult::Nothing => reply.and("Beyond that there is nothing to be found."),
        SearchResult::Thing(thing) => reply.line(format!("And then you find {}. It could be taken.", some(thing))),
        SearchResult::Quest(thing) => quest(scene, reply, thing),
        SearchResult::Herbs(gain) if missing > 0 && scene.may("hp_delta") => {
            let gain = gain.min(missing);
            let told = format!("Between the stones grows a herb you know. You chew a leaf, and feel better: {} back.", points(gain));
            let args = fight::change(scene.actor(), gain, "a herb");
            reply.line(told).call("hp_delta", &args, "the player finds a herb")
        }
        SearchResult::Herbs(_) => reply.line("Between the stones grows a herb that is good for wounds. You have none that would need it."),
        SearchResult::Trap(cost) => {
            let cost = cost.min(scene.hp().saturating_sub(1));
            let reply = reply.line("Something snaps shut where your hand was, or almost was.");
            match cost > 0 {
                true => fight::hurt(scene, reply, cost, "trap"),
                false => reply.and("Almost, this time."),
            }
        }
    }
}

/// Adds the end of the quest.
fn quest(scene: &Scene<'_>, reply: Reply, thing: &str) -> Reply {
    match scene.goal() {
        Some(goal) => reply
            .line(format!("Below it lies something that bears on what you are after: {goal}."))
            .and(format!("It is {}. Take it: it will be needed.", some(thing))),
        None => reply.line(scene.dice.of("quest").pick(QUEST_FOUND)).and(format!(
            "This is {thing}. It is what you came for. Take it, and the story is yours to end, or to go on with."
        )),
    }
}

pub(super) fn take(scene: &Scene<'_>, object: &[String]) -> Reply {
    let here = lying(scene);
    let reply = Reply::new(DialogType::ResolutionSummary);
    let is_meant = |thing: &&&str| words(thing).iter().any(|word| object.contains(word));
    let anything = object.is_empty()
        || object.iter().any(|word| {
            matches!(
                word.as_str(),
                "everything" | "all" | "thing" | "things" | "item" | "items" | "whatever" | "them"
            )
        });
    let meant = here.iter().find(is_meant).or(here.first().filter(|_| anything));
    let Some(thing) = meant else {
        return match here.first() {
            Some(first) => reply
                .line(scene.say(NOT_THERE))
                .and(format!("What you could take is {}.", some(first))),
            None if anything || is_taken(scene, scene.place.item) => {
                reply.line(scene.say(TAKEN_BEFORE))
            }
            None => reply.line(scene.say(NOT_THERE)),
        };
    };
    let told = taking(scene.say(TAKEN), thing);
    let reply = reply.line(told).and(match scene.dice.of("taken").below(3) {
        0 => "It is heavier than it looks.",
        1 => "You have a feeling that it will come in useful.",
        _ => "Nobody objects.",
    });
    let reply = match scene.place.find {
        SearchResult::Quest(quest) if quest == *thing => reply.line(
            "You hold what you came for, and for a moment everything is quite still. Whatever you do next, you do by choice.",
        ),
        _ => reply,
    };
    if !scene.may("inventory_add") {
        return reply;
    }
    let args = json!({"actor_id": scene.actor(), "item_id": item_id(thing), "quantity": 1});
    reply.call("inventory_add", &args, "the player takes it")
}

/// Returns the items that the actor carries, as far as they are known.
pub(super) fn carried(scene: &Scene<'_>) -> Vec<String> {
    let path = ["actors", scene.actor(), "inventory"];
    if let Some(inventory) = scene.view.tree.value_at(&path).filter(|_| scene.view.has_actors()) {
        let shown = |(item, count): (String, JsonTree)| {
            let name = quotable(&item.replace('_', " "))?;
            let count = integer(&count).unwrap_or(1);
            Some(if count == 1 { some(&name) } else { format!("{count} {name}") })
        };
        return inventory.children().into_iter().filter_map(shown).take(20).collect();
    }
    let mut things = Vec::new();
    for past in scene.past.iter().filter(|past| past.actor == scene.actor()) {
        let place = ScenePlace::new(scene.view, scene.seed, &past.area);
        for thing in [Some(place.item), found_in(&place)].into_iter().flatten() {
            let shown = some(thing);
            if mentions_taking(past, thing) && !things.contains(&shown) {
                things.push(shown);
            }
        }
    }
    things
}

pub(super) fn inventory(scene: &Scene<'_>) -> Reply {
    let things = carried(scene);
    let told = match things.is_empty() {
        true => "You go through your pockets: lint, a crumb, and the best intentions.".to_owned(),
        false => format!("You carry {}.", listed(&things)),
    };
    Reply::new(DialogType::ResolutionSummary)
        .line(told)
        .and(format!("You have {}.", points(scene.hp())))
}
