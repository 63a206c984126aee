//! Conversations with the characters in a place.

use serde_json::json;

use super::super::intent::Intent;
use super::super::place::{Dweller, LAST, ScenePlace};
use super::super::scene::Scene;
use super::super::words::phrases::{COMPANION, FOE_TALK, NOBODY};
use super::{Reply, things};
use crate::dialog::DialogType;

fn described() -> Reply {
    Reply::new(DialogType::SceneDescription)
}

/// Talks to a character.
pub(super) fn with(scene: &Scene<'_>, object: &[String]) -> Reply {
    if let Some(other) = scene.companion(object) {
        let name = scene.called(&other);
        return described().line(format!("You turn to {name}. {}", scene.say(COMPANION)));
    }
    match scene.dweller() {
        Dweller::Friend(friend) => {
            let talks = scene.past_here().filter(|past| matches!(past.intent, Intent::Talk(_)));
            let number = talks.count();
            let line = friend.lines.get(number % friend.lines.len().max(1)).copied();
            let reply = described().line(format!("You talk to {}.", friend.name));
            let asks = object.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "goal"
                        | "quest"
                        | "objective"
                        | "help"
                        | "rumour"
                        | "rumor"
                        | "rumours"
                        | "rumors"
                        | "news"
                        | "hint"
                        | "way"
                        | "where"
                )
            });
            let reply = if asks { reply } else { reply.and(line.unwrap_or_default()) };
            if asks || number > 0 { reply.line(hint(scene)) } else { reply }
        }
        Dweller::Foe(..) => {
            Reply::new(DialogType::ActionPrompt).line(scene.say(FOE_TALK)).and(scene.prompt())
        }
        Dweller::Absent => match scene.companions().first() {
            Some(other) => {
                let name = scene.called(other);
                described().line(format!("Only {name} is here to listen. {}", scene.say(COMPANION)))
            }
            None => described().line(scene.say(NOBODY)),
        },
    }
}

/// Returns a hint about the goal.
pub(super) fn hint(scene: &Scene<'_>) -> String {
    let sought = match scene.goal() {
        Some(goal) => format!("what you are after ({goal})"),
        None if things::has_quest(scene) => {
            let quest = scene.quest();
            return format!(
                "You carry {quest}. What you came for is done; where the road goes now is up to you."
            );
        }
        None => scene.quest().to_owned(),
    };
    let areas = scene.view.areas();
    let place = match areas.get(LAST).map(|(area, _)| area) {
        Some(area) if *area == scene.place.area => {
            "right here. Somebody should search this place well".to_owned()
        }
        Some(area) => format!("in {}", ScenePlace::new(scene.view, scene.seed, area).name),
        None => "beyond every known place. Somebody would have to explore".to_owned(),
    };
    format!("Word is that {sought} is to be found {place}.")
}

/// Asks the friend in this place to join the party.
pub(super) fn recruit(scene: &Scene<'_>) -> Reply {
    const MOST: usize = 4;
    let Dweller::Friend(friend) = scene.dweller() else {
        return with(scene, &[]);
    };
    let reply = described().line(format!("You ask {} to come along.", friend.name));
    if !scene.may("actor_spawn") || scene.view.party().len() >= MOST {
        return reply.and("They think about it, longer than you had expected, and shake their head. \"Not this road, not this time. But ask me things.\"");
    }
    let args = json!({
        "character_id": friend.name, "spawn_position": scene.place.area, "bind_to_party": true,
    });
    reply
        .and("They look around once, as if to say goodbye to the place, and nod. \"Why not.\" You are one more now.")
        .call("actor_spawn", &args, "somebody joins the party")
}
