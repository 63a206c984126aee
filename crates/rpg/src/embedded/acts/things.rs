//! Items: taking, giving, using, and the like.

use super::super::grammar::Slots;
use super::super::intent::ParsedInput;
use super::super::resolve::{Match, Scope, Target, find, find_among, noun_of, words_beside};
use super::super::story::StoryTurn;
use super::super::world::GONE;
use super::{ask_which, examine, fight, not_here, one, quest, talk};

fn object(turn: &StoryTurn<'_>, target: &Target) -> Slots {
    Slots::new().noun("o", &noun_of(turn, target))
}

/// Takes what was named, or everything.
pub(super) fn take(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = &parsed.object;
    let lying = turn.items_at(&turn.here);
    let wants_all = said.iter().any(|word| turn.pack.words.all.contains(word));
    if wants_all || said.is_empty() && lying.len() == 1 {
        if lying.is_empty() {
            turn.status("here", turn.pack.label("nothing"));
        }
        for id in lying {
            take_item(turn, &id);
        }
        return;
    }
    if said.is_empty() {
        let targets: Vec<Target> = lying.into_iter().map(Target::Item).collect();
        return match targets.is_empty() {
            true => turn.status("here", turn.pack.label("nothing")),
            false => ask_which(turn, &targets),
        };
    }
    let all = parsed.all_words();
    let found = match find(turn, said, Scope::Lying) {
        Match::Nothing => find(turn, said, Scope::Anything),
        found => found,
    };
    match found {
        Match::One(Target::Item(id)) => take_item(turn, &id),
        Match::One(target @ (Target::Person(_) | Target::Member(_))) => {
            let slots = Slots::new().noun("p", &noun_of(turn, &target));
            turn.tell("not_yours", &slots);
        }
        Match::One(Target::Exit(area)) => super::travel::go_to(turn, &area),
        Match::One(Target::Foe(_)) => fight::attack(turn, parsed),
        Match::One(target) => {
            let slots = object(turn, &target);
            turn.tell("fixed", &slots);
        }
        Match::Several(targets) => ask_which(turn, &targets),
        Match::Nothing => not_here(turn, &all),
    }
}

fn take_item(turn: &mut StoryTurn<'_>, id: &str) {
    turn.takes_time = true;
    id.clone_into(&mut turn.world.last_thing);
    let slots = Slots::new().noun("o", &turn.item_noun(id));
    let Some(item) = turn.world.items.get(id) else { return };
    if item.at == turn.actor() {
        return turn.tell("has_already", &slots);
    }
    let quest = &turn.world.quest;
    let is_relic = id == quest.relic;
    // The relic and what helps to reach it are guarded; other things can be snatched.
    if (is_relic || id == quest.means)
        && let Some(foe) = turn.foes_here().first()
    {
        let slots = slots.noun("x", &turn.foe_noun(foe));
        return turn.tell("guarded", &slots);
    }
    let actor = turn.actor();
    turn.put_item(id, actor);
    if is_relic {
        let giver = turn.world.quest.giver.clone();
        let slots = slots.noun("p", &turn.person_noun(&giver));
        turn.tell("relic_taken", &slots);
    } else {
        turn.tell("taken", &slots);
    }
}

/// Finds a carried item, or answers why there is none.
fn carried(turn: &mut StoryTurn<'_>, said: &[String]) -> Option<String> {
    if said.is_empty() {
        let all: Vec<Target> = turn.carried().into_iter().map(Target::Item).collect();
        return match all.as_slice() {
            [Target::Item(id)] => Some(id.clone()),
            [] => {
                turn.status("carry", turn.pack.label("nothing"));
                None
            }
            _ => {
                ask_which(turn, &all);
                None
            }
        };
    }
    match find(turn, said, Scope::Carried) {
        Match::One(Target::Item(id)) => Some(id),
        Match::Several(targets) => {
            ask_which(turn, &targets);
            None
        }
        _ => {
            match find(turn, said, Scope::Anything) {
                Match::One(target @ Target::Item(_)) => {
                    let slots = object(turn, &target);
                    turn.tell("not_carried", &slots);
                }
                _ => not_here(turn, said),
            }
            None
        }
    }
}

/// Drops what was named, or everything.
pub(super) fn drop_item(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    if parsed.object.iter().any(|word| turn.pack.words.all.contains(word)) {
        let all = turn.carried();
        if all.is_empty() {
            turn.status("carry", turn.pack.label("nothing"));
        }
        for id in all {
            put_down(turn, &id);
        }
    } else if let Some(id) = carried(turn, &parsed.object) {
        put_down(turn, &id);
    }
}

fn put_down(turn: &mut StoryTurn<'_>, id: &str) {
    turn.takes_time = true;
    id.clone_into(&mut turn.world.last_thing);
    let here = turn.here.clone();
    turn.put_item(id, &here);
    let slots = Slots::new().noun("o", &turn.item_noun(id));
    turn.tell("dropped", &slots);
}

/// Gives an item to a person, a member of the party or a foe.
pub(super) fn give(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let all = parsed.all_words();
    let to = match find_among(turn, &all, Scope::Beings) {
        Match::One(target) => target,
        Match::Several(targets) => return ask_which(turn, &targets),
        Match::Nothing => match talk::only_listener(turn) {
            Some(target) => target,
            None => return not_here(turn, &all),
        },
    };
    let rest = words_beside(turn, &all, &to);
    let Some(id) = carried(turn, &rest) else { return };
    turn.takes_time = true;
    let slots = Slots::new().noun("o", &turn.item_noun(&id)).noun("p", &noun_of(turn, &to));
    match to {
        Target::Foe(foe) => offer_to_foe(turn, &id, &foe),
        Target::Member(member) => {
            turn.put_item(&id, &member);
            turn.tell("gave", &slots);
            turn.tell_optional("gave_member", &slots);
        }
        Target::Person(person) => give_to_person(turn, &id, &person, &slots),
        _ => {}
    }
}

fn give_to_person(turn: &mut StoryTurn<'_>, id: &str, person: &str, slots: &Slots) {
    person.clone_into(&mut turn.world.last_person);
    if id == turn.world.quest.relic {
        return quest::deliver(turn, person);
    }
    turn.put_item(id, person);
    turn.tell("gave", slots);
    let liked = turn.pack.person(person).map(|entry| entry.tags.clone()).unwrap_or_default();
    let is_liked = liked.iter().any(|tag| turn.has_item_tag(id, tag));
    let name = turn.world.items.get(id).map(|item| item.kind.clone()).unwrap_or_default();
    if let Some(known) = turn.world.people.get_mut(person) {
        known.met = true;
        known.mood += if is_liked { 3 } else { 1 };
        known.remembers.push(format!("gift:{name}"));
    }
    turn.tell_optional(if is_liked { "gave_glad" } else { "gave_polite" }, slots);
    let mood = turn.world.people.get(person).map_or(0, |known| known.mood);
    if person == turn.world.quest.informant && mood >= 2 {
        turn.paragraph();
        quest::reveal(turn);
    }
}

/// Offers an item to a foe, which takes what it likes.
fn offer_to_foe(turn: &mut StoryTurn<'_>, id: &str, foe: &str) {
    let slots = Slots::new().noun("o", &turn.item_noun(id)).noun("x", &turn.foe_noun(foe));
    let likes = turn.pack.foe(foe).map(|entry| entry.tags.clone()).unwrap_or_default();
    if !likes.iter().any(|tag| turn.has_item_tag(id, tag)) {
        if let Some(known) = turn.world.foes.get_mut(foe) {
            known.awake = true;
        }
        return turn.tell("bribe_no", &slots);
    }
    turn.put_item(id, GONE);
    turn.tell("bribed", &slots);
    fight::settle(turn, foe, "bribed");
}

/// Throws an item, at something if that is named.
pub(super) fn throw(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(id) = carried(turn, &parsed.object) else { return };
    turn.takes_time = true;
    turn.world.last_thing.clone_from(&id);
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    let target = match parsed.second.is_empty() {
        true => turn.foes_here().into_iter().next().map(Target::Foe),
        false => one(turn, &parsed.second, Scope::Anything),
    };
    if target.is_none() && !parsed.second.is_empty() {
        return;
    }
    let here = turn.here.clone();
    match target {
        Some(Target::Foe(foe)) => {
            let likes = turn.pack.foe(&foe).map(|entry| entry.tags.clone()).unwrap_or_default();
            if likes.iter().any(|tag| turn.has_item_tag(&id, tag)) {
                return offer_to_foe(turn, &id, &foe);
            }
            turn.put_item(&id, &here);
            fight::strike_with_thrown(turn, &id, &foe);
        }
        Some(Target::Obstacle) => quest::try_obstacle(turn, Some(&id)),
        Some(Target::Person(person)) => {
            turn.put_item(&id, &here);
            let slots =
                slots.noun("x", &turn.person_noun(&person)).noun("p", &turn.person_noun(&person));
            turn.tell("thrown_at", &slots);
            if let Some(known) = turn.world.people.get_mut(&person) {
                known.mood -= 2;
                known.remembers.push("thrown".to_owned());
            }
            turn.tell_optional("greet_angry", &slots);
        }
        _ => {
            turn.put_item(&id, &here);
            turn.tell("thrown", &slots);
        }
    }
}

pub(super) fn light(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let id = match parsed.object.is_empty() {
        true => {
            let all = turn.carried();
            all.into_iter().find(|id| turn.has_item_tag(id, "light"))
        }
        false => match one(turn, &parsed.object, Scope::Anything) {
            Some(Target::Item(id)) => Some(id),
            Some(Target::Obstacle) => return quest::try_obstacle(turn, fire(turn).as_deref()),
            Some(target) => {
                let slots = object(turn, &target);
                return turn.tell("no_light", &slots);
            }
            None => return,
        },
    };
    let Some(id) = id else { return turn.status("carry", advice_list(turn)) };
    turn.takes_time = true;
    turn.world.last_thing.clone_from(&id);
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    let can_burn = turn.has_item_tag(&id, "light");
    let is_carried = turn.carried().contains(&id);
    let Some(item) = turn.world.items.get_mut(&id) else { return };
    match (can_burn, is_carried, item.lit) {
        (false, ..) => turn.tell("no_light", &slots),
        (true, false, _) => turn.tell("not_carried", &slots),
        (true, true, true) => turn.tell("lit_already", &slots),
        (true, true, false) => {
            item.lit = true;
            turn.tell("lit", &slots);
        }
    }
}

/// Returns something carried that makes fire.
fn fire(turn: &StoryTurn<'_>) -> Option<String> {
    turn.carried().into_iter().find(|id| turn.has_item_tag(id, "fire"))
}

fn advice_list(turn: &StoryTurn<'_>) -> String {
    super::advice::carried_list(turn)
}

pub(super) fn douse(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(id) = carried(turn, &parsed.object) else { return };
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    match turn.world.items.get_mut(&id).filter(|item| item.lit) {
        Some(item) => {
            item.lit = false;
            turn.takes_time = true;
            turn.tell("unlit", &slots);
        }
        None => turn.tell("no_use", &slots),
    }
}

pub(super) fn read(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let target = match parsed.object.is_empty() {
        true => {
            let all = [turn.carried(), turn.items_at(&turn.here)].concat();
            all.into_iter().find(|id| turn.has_item_tag(id, "read")).map(Target::Item)
        }
        false => one(turn, &parsed.object, Scope::Anything),
    };
    let Some(target) = target else {
        if parsed.object.is_empty() {
            turn.status("carry", advice_list(turn));
        }
        return;
    };
    turn.takes_time = true;
    let slots = object(turn, &target);
    match target {
        Target::Item(id) if turn.has_item_tag(&id, "read") => {
            turn.world.last_thing.clone_from(&id);
            let is_clue = turn.world.items.get(&id).is_some_and(|item| item.clue);
            match is_clue {
                true => quest::read_clue(turn, &id),
                false => turn.tell("read", &slots),
            }
        }
        Target::Scenery(..) | Target::Obstacle => examine::examine_target(turn, &target),
        _ => turn.tell("no_read", &slots),
    }
}

pub(super) fn open(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(target) = one(turn, &parsed.object, Scope::Anything) else { return };
    turn.takes_time = true;
    let slots = object(turn, &target);
    match target {
        Target::Obstacle => {
            let with = match parsed.second.is_empty() {
                true => quest::fitting_item(turn),
                false => match carried(turn, &parsed.second) {
                    Some(id) => Some(id),
                    None => return,
                },
            };
            quest::try_obstacle(turn, with.as_deref());
        }
        Target::Scenery(..) => {
            turn.tell("opened", &slots);
        }
        Target::Foe(_) => fight::attack(turn, parsed),
        Target::Exit(area) => super::travel::go_to(turn, &area),
        _ => turn.tell("no_open", &slots),
    }
}

/// Uses an item for what it is good for, or on what was named.
pub(super) fn use_item(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let all = parsed.all_words();
    let is_obstacle =
        matches!(find(turn, &parsed.object, Scope::Surroundings), Match::One(Target::Obstacle));
    if is_obstacle {
        // "cut the hedge with the knife": the thing comes second.
        let with = match parsed.second.is_empty() {
            true => quest::fitting_item(turn),
            false => match carried(turn, &parsed.second) {
                Some(id) => Some(id),
                None => return,
            },
        };
        turn.takes_time = true;
        return quest::try_obstacle(turn, with.as_deref());
    }
    let id = match find(turn, &parsed.object, Scope::Carried) {
        Match::One(Target::Item(id)) => id,
        _ => match carried(turn, if parsed.object.is_empty() { &all } else { &parsed.object }) {
            Some(id) => id,
            None => return,
        },
    };
    turn.takes_time = true;
    turn.world.last_thing.clone_from(&id);
    let on = match parsed.second.is_empty() {
        true => None,
        false => match one(turn, &parsed.second, Scope::Surroundings) {
            Some(target) => Some(target),
            None => return,
        },
    };
    let tag = |tag: &str| turn.has_item_tag(&id, tag);
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    match on {
        Some(Target::Obstacle) => quest::try_obstacle(turn, Some(&id)),
        Some(Target::Foe(foe)) => match tag("weapon") {
            true => fight::strike(turn, &foe),
            false => offer_to_foe(turn, &id, &foe),
        },
        Some(Target::Person(_) | Target::Member(_)) if tag("cure") => fight::tend(turn, parsed),
        Some(_) => turn.tell("no_use", &slots),
        None if quest::fits_obstacle(turn, &id) => quest::try_obstacle(turn, Some(&id)),
        None if tag("light") => light(turn, parsed),
        None if tag("food") || tag("cure") => eat(turn, parsed),
        None if tag("music") => play(turn, parsed),
        None if tag("read") => read(turn, parsed),
        None => turn.tell("no_use", &slots),
    }
}

pub(super) fn eat(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(id) = carried(turn, &parsed.object) else { return };
    turn.takes_time = true;
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    let (food, cure) = (turn.has_item_tag(&id, "food"), turn.has_item_tag(&id, "cure"));
    if !food && !cure {
        return turn.tell("no_eat", &slots);
    }
    turn.put_item(&id, GONE);
    turn.tell(if cure { "cured" } else { "eaten" }, &slots);
    let actor = turn.actor();
    fight::recover(turn, actor, if cure { 4 } else { 2 });
}

pub(super) fn play(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let instrument = turn.carried().into_iter().find(|id| turn.has_item_tag(id, "music"));
    let id = match (parsed.object.is_empty(), instrument) {
        (true, Some(id)) => id,
        _ => match carried(turn, &parsed.object) {
            Some(id) => id,
            None => return,
        },
    };
    turn.takes_time = true;
    let slots = Slots::new().noun("o", &turn.item_noun(&id));
    if !turn.has_item_tag(&id, "music") {
        return turn.tell("no_use", &slots);
    }
    let lulled = turn
        .foes_here()
        .into_iter()
        .find(|foe| turn.pack.foe(foe).is_some_and(|entry| entry.has_tag("music")));
    turn.tell("played", &slots);
    match lulled {
        Some(foe) => {
            let slots = slots.noun("x", &turn.foe_noun(&foe));
            turn.tell_optional("cloak", &slots);
            fight::settle(turn, &foe, "calmed");
        }
        None if quest::fits_obstacle(turn, &id) => quest::try_obstacle(turn, Some(&id)),
        None => {}
    }
}
