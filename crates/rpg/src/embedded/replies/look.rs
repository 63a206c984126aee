//! Descriptions of a place and its contents.

use super::super::intent::words;
use super::super::place::Dweller;
use super::super::scene::Scene;
use super::super::words::phrases::{NO_WAYS, NOT_THERE, STANDING};
use super::{Reply, advice, listed, some, things};
use crate::dialog::DialogType;

/// Describes the place.
pub(super) fn around(scene: &Scene<'_>) -> Reply {
    let opening = format!("{} {}.", scene.say(STANDING), scene.place.name);
    let reply = Reply::new(DialogType::SceneDescription).line(opening);
    let reply = surroundings(scene, reply);
    match advice::nudge(scene) {
        Some(nudge) => reply.line(nudge),
        None => reply,
    }
}

/// Adds the description of a place after its name.
pub(super) fn surroundings(scene: &Scene<'_>, reply: Reply) -> Reply {
    let place = &scene.place;
    let reply = match &place.description {
        Some(said) => reply.and(said),
        None => reply,
    };
    let mut reply = reply.and(place.sight(scene.dice)).and(place.sense(scene.dice));
    let mut about = Vec::new();
    match scene.dweller() {
        Dweller::Friend(friend) => about.push(friend.looks.to_owned()),
        Dweller::Foe(foe, _) => about.push(foe.looks.to_owned()),
        Dweller::Absent => {}
    }
    if let [first, ..] = things::lying(scene).as_slice() {
        let thing = some(first);
        about.push(match scene.dice.of("thing").below(5) {
            3 => format!("Somebody has left {thing} here, and not come back for it."),
            4 => format!("Among what lies about there is {thing}."),
            0 => format!("Within reach lies {thing}."),
            1 => format!("Your eye is caught by {thing}, left behind by somebody."),
            _ => format!("Half hidden, but not well enough, there is {thing}."),
        });
    }
    about.extend(company(scene));
    if !about.is_empty() {
        reply = reply.line(about.join(" "));
    }
    reply.line(ways(scene))
}

/// Describes the party members who are here.
fn company(scene: &Scene<'_>) -> Option<String> {
    let companions = scene.companions();
    let (up, down): (Vec<String>, Vec<String>) =
        companions.into_iter().partition(|other| scene.view.state(other) == "alive");
    let named =
        |list: &[String]| -> Vec<String> { list.iter().map(|other| scene.called(other)).collect() };
    let be = |list: &[String]| if list.len() == 1 { "is" } else { "are" };
    let mut said = Vec::new();
    if !up.is_empty() {
        said.push(format!("{} {} with you.", listed(&named(&up)), be(&up)));
    }
    if !down.is_empty() {
        said.push(format!("{} {} down, and in need of help.", listed(&named(&down)), be(&down)));
    }
    let said = said.join(" ");
    (!said.is_empty()).then(|| capital(&said))
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    // An ID such as `pc_002` is not capitalized.
    let word = text.split(' ').next().unwrap_or_default();
    if word.contains('_') {
        return text.to_owned();
    }
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Describes the exits.
pub(super) fn ways(scene: &Scene<'_>) -> String {
    const MOST: usize = 6;
    let shown: Vec<String> = scene.exits.iter().take(MOST).map(|exit| exit.shown()).collect();
    let more = scene.exits.len().saturating_sub(MOST);
    match (shown.len(), more) {
        (0, _) => scene.dice.of("ways").pick(NO_WAYS).to_owned(),
        (1, _) => format!("One way leads {}.", listed(&shown)),
        (_, 0) => format!("Ways lead {}.", listed(&shown)),
        _ => format!("Ways lead {}, and there are {more} more.", listed(&shown)),
    }
}

/// Describes an object.
pub(super) fn closer(scene: &Scene<'_>, object: &[String]) -> Reply {
    let reply = Reply::new(DialogType::SceneDescription);
    let names = |text: &str| words(text).iter().any(|word| object.contains(word));
    match scene.dweller() {
        Dweller::Friend(friend) if names(friend.name) || names(friend.word) => {
            return reply.line(friend.looks).and("They seem willing to talk.");
        }
        Dweller::Foe(foe, blows) if names(foe.name) || names(foe.word) => {
            let left = blows.saturating_sub(scene.blows_landed());
            let judged = if left > 1 {
                "It would take more than one good blow."
            } else {
                "It cannot take much more."
            };
            return reply.line(foe.looks).and(judged);
        }
        _ => {}
    }
    if let Some(other) = scene.companion(object) {
        let hp = scene.view.hp(&other).unwrap_or_default();
        let name = scene.called(&other);
        return reply.line(format!("{name} looks back at you: {}.", super::points(hp)));
    }
    if let Some(thing) = things::lying(scene).into_iter().find(|thing| names(thing)) {
        let thing = some(thing);
        return reply.line(format!(
            "You look at it from all sides: {thing}, no more and no less. You could take it."
        ));
    }
    if let Some(thing) = things::carried(scene).into_iter().find(|thing| names(thing)) {
        return reply
            .line(format!("You turn it over in your hands: {thing}."))
            .and("You will know when you need it; it is not now.");
    }
    if let [exit] = scene.exits_named(object).as_slice() {
        let (way, name) = (exit.direction.as_str(), &exit.name);
        return reply
            .line(format!("The way {way} leads to {name}. From here you see no more of it."));
    }
    let detail = scene.place.detail();
    let is_known = names(detail)
        || object.iter().any(|word| {
            matches!(
                word.as_str(),
                "closer"
                    | "place"
                    | "walls"
                    | "floor"
                    | "ground"
                    | "everything"
                    | "surroundings"
                    | "detail"
                    | "details"
                    | "closely"
            )
        });
    if is_known || scene.dice.of("closer").below(2) == 0 {
        return reply.line("You look more closely.").and(detail);
    }
    reply.line(scene.say(NOT_THERE)).and(detail)
}
