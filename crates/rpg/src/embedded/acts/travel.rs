//! Moves between places, and the search for new ones.

use serde_json::{Value, json};

use super::super::genesis::{self, MOST_AREAS};
use super::super::grammar::Slots;
use super::super::intent::{Direction, ParsedInput};
use super::super::resolve::{Match, Scope, Target, find, is_same_word};
use super::super::roads;
use super::super::story::StoryTurn;
use super::{ask_which, examine, fight, listing, look, not_here};
use crate::dialog::DialogType;
use crate::document_view::CampaignView;
use crate::generation::{Generation, RuleSet};
use crate::turn::rehearse;

/// The number of ways beyond which exploring a place finds no new ones.
const MOST_WAYS: usize = 5;

/// Lists the ways.
pub(super) fn ways(turn: &mut StoryTurn<'_>) {
    turn.status("ways", listing::way_list(turn));
    if turn.may("move_options") && turn.view.has_area(&turn.here) {
        let args = json!({"actor_id": turn.actor()});
        turn.call("move_options", &args, "the player asks where to go");
    }
}

/// Goes where the words point.
pub(super) fn go(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = parsed.all_words();
    if let Some(direction) = parsed.direction {
        return towards(turn, direction);
    }
    if said.is_empty() {
        return onward(turn);
    }
    match find(turn, &said, Scope::Anything) {
        Match::One(Target::Exit(area)) => return go_to(turn, &area),
        Match::One(Target::Obstacle) => return super::quest::try_obstacle(turn, None),
        Match::One(Target::Place) if known_place(turn, &said).is_none() => {
            return turn.status("at", here_name(turn));
        }
        Match::Several(targets)
            if targets.iter().all(|target| matches!(target, Target::Exit(_))) =>
        {
            return ask_which(turn, &targets);
        }
        _ => {}
    }
    match known_place(turn, &said) {
        Some(area) if area == turn.here => turn.status("at", here_name(turn)),
        Some(area) => point_to(turn, &area),
        None => match find(turn, &said, Scope::Anything) {
            // Going to a person or a thing means turning to it.
            Match::One(target @ (Target::Person(_) | Target::Member(_))) => {
                examine::examine_target(turn, &target);
            }
            Match::One(target) => examine::examine_target(turn, &target),
            _ => not_here(turn, &said),
        },
    }
}

fn here_name(turn: &StoryTurn<'_>) -> String {
    Slots::new()
        .noun("l", &turn.place_noun(&turn.here))
        .fill("x {l.n}")
        .trim_start_matches("x ")
        .to_owned()
}

/// Returns the place anywhere on the map that words name best.
pub(super) fn known_place(turn: &StoryTurn<'_>, said: &[String]) -> Option<String> {
    let tongue = turn.pack.tongue;
    let score = |area: &String| -> usize {
        if said.contains(&area.to_lowercase()) {
            return usize::MAX;
        }
        let name = super::super::intent::words(turn.place_noun(area).head());
        said.iter()
            .filter(|word| name.iter().any(|known| is_same_word(tongue, word, known)))
            .count()
    };
    let all = turn.view.areas().into_iter().map(|(area, _)| (score(&area), area));
    let best = all
        .filter(|(score, _)| *score > 0)
        .max_by(|(a, one), (b, other)| (a, other).cmp(&(b, one)));
    best.map(|(_, area)| area)
}

/// Goes in a direction.
pub(super) fn towards(turn: &mut StoryTurn<'_>, direction: Direction) {
    let exits: Vec<Target> = turn
        .exits()
        .into_iter()
        .filter(|(way, _)| *way == direction)
        .map(|(_, area)| Target::Exit(area))
        .collect();
    match exits.as_slice() {
        [Target::Exit(area)] => go_to(turn, &area.clone()),
        [] => {
            turn.kind = DialogType::ActionPrompt;
            let slots = Slots::new().text("dir", turn.direction_name(direction));
            turn.tell_optional("nodirection", &slots);
            turn.status("ways", listing::way_list(turn));
        }
        several => ask_which(turn, several),
    }
}

/// Goes on: to the only way, or the only one to an unseen place.
fn onward(turn: &mut StoryTurn<'_>) {
    let exits = turn.exits();
    let is_unseen = |(_, area): &&(Direction, String)| {
        turn.world.places.get(area).is_none_or(|place| !place.seen)
    };
    let unseen: Vec<&(Direction, String)> = exits.iter().filter(is_unseen).collect();
    match (unseen.as_slice(), exits.as_slice()) {
        ([(_, area)], _) | ([], [(_, area)]) => go_to(turn, &area.clone()),
        (_, []) => explore(turn),
        _ => {
            let targets: Vec<Target> =
                exits.into_iter().map(|(_, area)| Target::Exit(area)).collect();
            ask_which(turn, &targets);
        }
    }
}

/// Goes back to where the actor came from.
pub(super) fn back(turn: &mut StoryTurn<'_>) {
    let exits = turn.exits();
    let last = turn.world.came_from.get(turn.actor()).cloned();
    let last = last.filter(|last| exits.iter().any(|(_, area)| area == last));
    match (last, exits.as_slice()) {
        (Some(area), _) => go_to(turn, &area),
        (None, [(_, area)]) => go_to(turn, &area.clone()),
        _ => ways(turn),
    }
}

/// Runs away from a foe.
pub(super) fn flee(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    if parsed.direction.is_some() || !parsed.all_words().is_empty() && turn.foes_here().is_empty() {
        return go(turn, parsed);
    }
    if turn.foes_here().is_empty() {
        if turn.exits().len() == 1 {
            return onward(turn);
        }
        turn.tell_optional("no_flee", &Slots::new());
        return turn.status("ways", listing::way_list(turn));
    }
    let last = turn.world.came_from.get(turn.actor()).cloned();
    let exits = turn.exits();
    let way = exits.iter().find(|(_, area)| Some(area) == last.as_ref()).or_else(|| exits.first());
    match way {
        Some((_, area)) => go_to(turn, &area.clone()),
        None => {
            turn.takes_time = true;
            turn.status("ways", listing::way_list(turn));
        }
    }
}

/// Points to a place: the way there, if it is not adjacent.
pub(super) fn point_to(turn: &mut StoryTurn<'_>, area: &str) {
    let place = turn.place_noun(area);
    match turn.first_step(area) {
        Some((direction, step)) if step != area => {
            let slots = Slots::new()
                .noun("l", &place)
                .noun("x", &turn.place_noun(&step))
                .text("dir", turn.direction_name(direction));
            if !turn.tell_optional("far", &slots) {
                let text = slots.fill(&format!("x {}", turn.pack.label("way")));
                turn.status("known", text.trim_start_matches("x "));
            }
            turn.world.offer = step;
        }
        Some((direction, _)) => {
            let slots = Slots::new().noun("l", &place).text("dir", turn.direction_name(direction));
            let text = slots.fill(&format!("x {}", turn.pack.label("way")));
            turn.status("ways", text.trim_start_matches("x "));
            area.clone_into(&mut turn.world.offer);
        }
        None => not_here(turn, &[place.head().to_owned()]),
    }
}

/// Goes to an adjacent place. A foe that is fighting strikes at the back of the one who leaves.
pub(super) fn go_to(turn: &mut StoryTurn<'_>, area: &str) {
    let Some((direction, _)) = turn.exits().into_iter().find(|(_, to)| to == area) else {
        return point_to(turn, area);
    };
    if !turn.may("move") {
        turn.kind = DialogType::ActionPrompt;
        turn.tell_optional("nobody_goes", &Slots::new());
        return turn.status("at", here_name(turn));
    }
    if !fight::break_away(turn) {
        return;
    }
    let from = std::mem::replace(&mut turn.here, area.to_owned());
    let args = match turn.view.generation.rules() {
        RuleSet::First => {
            json!({"actor_id": turn.actor(), "from_area_id": from, "to_area_id": area})
        }
        RuleSet::Second => json!({"actor_id": turn.actor(), "to_area_id": area}),
    };
    turn.call("move", &args, "the player goes there");
    turn.kind = DialogType::SceneDescription;
    let was_seen = turn.world.places.get(area).is_some_and(|place| place.seen);
    turn.world.came_from.insert(turn.actor().to_owned(), from.clone());
    let (come, stay) = companions_of(turn, &from);
    for person in
        turn.world.people.values_mut().filter(|person| person.follows && person.at == from)
    {
        area.clone_into(&mut person.at);
    }
    turn.arrived.clone_from(&come);
    genesis::materialize(turn);
    let slots =
        Slots::new().noun("l", &turn.place_noun(area)).text("dir", turn.direction_name(direction));
    let phrase = if was_seen { "returning" } else { "going" };
    turn.paragraph();
    turn.tell(phrase, &slots);
    tell_companions(turn, &come, &stay);
    if let Some(place) = turn.world.places.get_mut(area) {
        place.seen = true;
    }
    look::describe(turn);
}

/// Returns the members of the party who follow from an area, and those who stay.
fn companions_of(turn: &StoryTurn<'_>, from: &str) -> (Vec<String>, Vec<String>) {
    let is_there = |other: &String| {
        other != turn.actor() && turn.view.position(other).as_deref() == Some(from)
    };
    let all = turn.view.party().into_iter().filter(is_there);
    all.partition(|member| crate::turn::is_follower(turn.view, &turn.world.followers, member))
}

fn tell_companions(turn: &mut StoryTurn<'_>, come: &[String], stay: &[String]) {
    let with: Vec<String> = turn
        .people_here()
        .into_iter()
        .filter(|id| turn.world.people.get(id).is_some_and(|person| person.follows))
        .collect();
    for member in come {
        let slots = Slots::new().noun("p", &turn.member(member));
        turn.tell_optional("comes", &slots);
    }
    for id in with {
        let slots = Slots::new().noun("p", &turn.person_noun(&id));
        turn.tell_optional("comes", &slots);
    }
    if let Some(member) = stay.first() {
        let slots = Slots::new().noun("p", &turn.member(member));
        if turn.tell_optional("stays", &slots) {
            turn.status_phrase("try", "follow_hint", &slots);
        }
    }
}

/// Explores beyond the known map.
pub(super) fn explore(turn: &mut StoryTurn<'_>) {
    turn.takes_time = true;
    turn.kind = DialogType::SceneDescription;
    let is_full = turn.exits().len() >= MOST_WAYS || turn.view.areas().len() >= MOST_AREAS;
    let made = if is_full || !turn.may("map_generate") { None } else { new_area(turn) };
    let Some(area) = made else {
        turn.kind = DialogType::ResolutionSummary;
        turn.tell_optional("nonew", &Slots::new());
        return turn.status("ways", listing::way_list(turn));
    };
    let direction =
        turn.world.places.get(&turn.here).and_then(|place| place.ways.get(&area).copied());
    let slots = Slots::new()
        .noun("l", &turn.place_noun(&area))
        .text("dir", turn.direction_name(Direction::new(direction.unwrap_or_default())));
    turn.tell("newway", &slots);
    turn.world.offer = area;
}

/// Requests a new area, and adds it to the world. Returns its ID.
fn new_area(turn: &mut StoryTurn<'_>) -> Option<String> {
    let here = turn.here.clone();
    let args = match turn.view.generation {
        Generation::First => json!({"parent_area_id": here}),
        _ => json!({
            "parent_area_id": here,
            "constraints": {"size": 2, "seed": format!("{}-{}", turn.world.seed, turn.request.turn)},
        }),
    };
    turn.call("map_generate", &args, "the player explores beyond the known map");
    let trial = rehearse(turn.request, &turn.output()).filter(|trial| trial.is_clean);
    let Some(trial) = trial else {
        turn.withdraw_call();
        return None;
    };
    let result = trial.applied.last().map(|action| &action.result);
    let list = |key: &str| result.and_then(|result| result.get(key)).cloned();
    let made: Vec<String> = match (list("new_area_id"), list("created_area_ids")) {
        (Some(Value::String(area)), _) => vec![area],
        (_, Some(Value::Array(areas))) => {
            areas.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let after = CampaignView { generation: turn.view.generation, tree: &trial.after };
    for area in &made {
        genesis::add_place(turn, after, area);
    }
    roads::assign_ways(&mut turn.world, after, &here);
    genesis::place_sites(turn, after);
    made.first().cloned()
}
