//! Fights, wounds, flight, rest, and what foes do.

use super::super::grammar::Slots;
use super::super::intent::{Intent, ParsedInput};
use super::super::resolve::{Match, Scope, Target, find, find_among, noun_of};
use super::super::story::StoryTurn;
use super::super::world::GONE;
use super::{ask_which, listing, not_here, quest, simple};
use crate::dialog::DialogType;

/// What a blow must reach.
const HIT: i64 = 11;
/// What the blow of a foe must reach.
const FOE_HIT: i64 = 12;
/// How often a dying character can fail to hold on.
const MOST_SLIPS: u32 = 3;

/// Attacks what was named.
pub(super) fn attack(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let foes = turn.foes_here();
    let is_pronoun = |word: &String| turn.pack.words.pronouns.contains(word);
    let names_nothing = parsed.object.iter().all(is_pronoun);
    if parsed.object.is_empty() || names_nothing && foes.is_empty() {
        return match foes.as_slice() {
            [] => no_foe(turn),
            [foe] => strike(turn, &foe.clone()),
            several => {
                ask_which(turn, &several.iter().cloned().map(Target::Foe).collect::<Vec<_>>());
            }
        };
    }
    let found = match find(turn, &parsed.object, Scope::Foes) {
        Match::Nothing => find(turn, &parsed.object, Scope::Anything),
        found => found,
    };
    match found {
        Match::One(Target::Foe(foe)) => strike(turn, &foe),
        Match::One(Target::Person(person)) => attack_person(turn, &person),
        Match::One(target @ Target::Member(_)) => {
            let slots = Slots::new().noun("p", &noun_of(turn, &target));
            turn.tell("attack_member", &slots);
        }
        Match::One(Target::Obstacle) => {
            turn.takes_time = true;
            quest::try_obstacle(turn, None);
        }
        Match::One(target @ (Target::Item(_) | Target::Scenery(..))) => {
            turn.takes_time = true;
            let slots = Slots::new().noun("o", &noun_of(turn, &target));
            turn.tell("attack_thing", &slots);
        }
        Match::One(_) => no_foe(turn),
        Match::Several(targets) => ask_which(turn, &targets),
        Match::Nothing => not_here(turn, &parsed.object),
    }
}

/// Says that there is nothing to fight.
fn no_foe(turn: &mut StoryTurn<'_>) {
    if !turn.tell_optional("no_foe", &Slots::new()) {
        listing::list(turn);
    }
}

/// A person who is attacked runs, and remembers it.
fn attack_person(turn: &mut StoryTurn<'_>, person: &str) {
    turn.takes_time = true;
    let slots = Slots::new().noun("p", &turn.person_noun(person));
    turn.tell("attack_person", &slots);
    let quest = &turn.world.quest;
    let is_needed = [&quest.giver, &quest.informant].contains(&&person.to_owned());
    let refuge = turn.exits().first().map_or_else(|| GONE.to_owned(), |(_, area)| area.clone());
    let Some(known) = turn.world.people.get_mut(person) else { return };
    known.mood -= 5;
    known.follows = false;
    known.remembers.push("struck".to_owned());
    if !is_needed {
        known.at = refuge;
    }
}

fn weapon_bonus(turn: &StoryTurn<'_>) -> i64 {
    let is_armed = turn.carried().iter().any(|id| turn.has_item_tag(id, "weapon"));
    if is_armed { 2 } else { 0 }
}

/// Strikes at a foe.
pub(super) fn strike(turn: &mut StoryTurn<'_>, foe: &str) {
    turn.takes_time = true;
    let slots = Slots::new().noun("x", &turn.foe_noun(foe));
    let bonus = weapon_bonus(turn);
    let allies = turn.allies();
    let lands = turn.check(bonus + allies, HIT);
    if lands {
        turn.tell("hit", &slots);
        let damage = turn.roll(6) + bonus / 2;
        wound_foe(turn, foe, damage);
    } else {
        turn.tell("miss", &slots);
    }
    if allies > 0
        && turn.foes_here().contains(&foe.to_owned())
        && let Some(friend) = turn.companions().first().cloned()
    {
        let slots = slots.noun("p", &turn.member(&friend));
        turn.tell_optional("member_helps", &slots);
    }
}

/// Hits a foe with something that was thrown.
pub(super) fn strike_with_thrown(turn: &mut StoryTurn<'_>, item: &str, foe: &str) {
    let slots = Slots::new().noun("o", &turn.item_noun(item)).noun("x", &turn.foe_noun(foe));
    turn.tell("thrown_at", &slots);
    let bonus =
        if turn.has_item_tag(item, "throw") || turn.has_item_tag(item, "heavy") { 3 } else { 0 };
    if turn.check(bonus, HIT) {
        let damage = turn.roll(4) + bonus / 2;
        wound_foe(turn, foe, damage);
    } else if let Some(known) = turn.world.foes.get_mut(foe) {
        known.awake = true;
    }
}

fn wound_foe(turn: &mut StoryTurn<'_>, foe: &str, damage: i64) {
    let slots = Slots::new().noun("x", &turn.foe_noun(foe));
    let Some(known) = turn.world.foes.get_mut(foe) else { return };
    known.awake = true;
    known.strength -= damage;
    let strength = known.strength;
    if strength > 0 {
        let slots = slots.text("n", strength.to_string());
        turn.status_phrase("foe", "foe_strength", &slots);
        if strength <= 2 {
            turn.tell_optional("weak", &slots);
        }
        return;
    }
    let beaten = turn.pack.foe(foe).map(|entry| entry.text("beaten").to_owned());
    turn.tell_one_of(&beaten.into_iter().collect::<Vec<_>>(), &slots);
    settle(turn, foe, "beaten");
}

/// Ends the quarrel with a foe.
pub(super) fn settle(turn: &mut StoryTurn<'_>, foe: &str, outcome: &str) {
    if let Some(known) = turn.world.foes.get_mut(foe) {
        outcome.clone_into(&mut known.outcome);
        GONE.clone_into(&mut known.at);
        known.awake = false;
    }
    for id in turn.people_here() {
        // People remember who drove a foe away from them.
        if let Some(person) = turn.world.people.get_mut(&id) {
            person.mood += 1;
            person.remembers.push(format!("saved:{foe}"));
        }
    }
    quest::tell_relic(turn);
}

/// Slips past a foe, or past the foe that was named.
pub(super) fn sneak(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let foes = turn.foes_here();
    let foe = match find(turn, &parsed.all_words(), Scope::Foes) {
        Match::One(Target::Foe(foe)) => Some(foe),
        _ => foes.first().cloned(),
    };
    turn.takes_time = true;
    let Some(foe) = foe else { return simple(turn, "emote") };
    let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
    let is_awake = turn.world.foes.get(&foe).is_some_and(|known| known.awake);
    if turn.check(if is_awake { 0 } else { 2 }, 13) {
        turn.tell("cloak", &slots);
        settle(turn, &foe, "evaded");
    } else {
        turn.tell_optional("check_fail", &slots);
        if let Some(known) = turn.world.foes.get_mut(&foe) {
            known.awake = true;
        }
    }
}

/// What foes do after the player's action: one that is new takes notice, one that fights strikes.
pub(super) fn foes_act(turn: &mut StoryTurn<'_>) {
    if turn.arrived_now() || turn.falls(turn.actor()) {
        return;
    }
    let mut has_struck = false;
    for foe in turn.foes_here() {
        let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
        let is_awake = turn.world.foes.get(&foe).is_some_and(|known| known.awake);
        turn.paragraph();
        if is_awake && !has_struck && turn.may("hp_delta") {
            has_struck = true;
            strike_back(turn, &foe);
        } else {
            let act = turn.pack.foe(&foe).map(|entry| entry.text("act").to_owned());
            if !turn.tell_one_of(&act.into_iter().collect::<Vec<_>>(), &slots) {
                turn.status_phrase("foe", "foe_here", &slots);
            }
        }
        if let Some(known) = turn.world.foes.get_mut(&foe) {
            known.awake = true;
        }
    }
}

fn strike_back(turn: &mut StoryTurn<'_>, foe: &str) {
    let noun = turn.foe_noun(foe);
    let slots = Slots::new().noun("x", &noun);
    let die = turn.roll(20);
    let lands = die >= FOE_HIT;
    let outcome = turn.pack.label(if lands { "hits" } else { "misses" });
    let against = turn.pack.label("against");
    let name = slots.fill("x {x.n}");
    let name = name.trim_start_matches("x ");
    turn.status("dice", format!("{name}, d20 = {die} {against} {FOE_HIT}, {outcome}"));
    if !lands {
        return turn.tell("foe_miss", &slots);
    }
    let companions = turn.companions();
    let damage = turn.roll(3);
    let cause = format!("hit by the {foe}");
    let victim = match turn.roll(4) {
        1 => companions.first().cloned(),
        _ => None,
    };
    match victim {
        Some(member) => {
            let slots = slots.noun("p", &turn.member(&member));
            turn.tell("foe_member", &slots);
            turn.change_hp(&member, -damage, &cause);
        }
        None => {
            turn.tell("foe_hit", &slots);
            let actor = turn.actor();
            turn.change_hp(actor, -damage, &cause);
            fall_if_spent(turn);
        }
    }
}

/// Tells that the actor has fallen, if the last hit point is gone.
pub(super) fn fall_if_spent(turn: &mut StoryTurn<'_>) {
    if !turn.falls(turn.actor()) {
        return;
    }
    turn.paragraph();
    turn.tell_optional("fall", &Slots::new());
    turn.status("hurt", turn.pack.label("dying_hint"));
    for foe in turn.foes_here() {
        // A foe loses interest in somebody who is down.
        if let Some(known) = turn.world.foes.get_mut(&foe) {
            known.awake = false;
        }
    }
}

/// Gets away from foes that are fighting. Returns whether the actor can go.
pub(super) fn break_away(turn: &mut StoryTurn<'_>) -> bool {
    let is_awake = |id: &String| turn.world.foes.get(id).is_some_and(|foe| foe.awake);
    let Some(foe) = turn.foes_here().into_iter().find(is_awake) else { return true };
    let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
    let allies = turn.allies();
    if turn.check(allies, 8) {
        turn.tell_optional("fled", &slots);
        return true;
    }
    turn.tell("fled_hurt", &slots);
    let (actor, damage) = (turn.actor(), turn.roll(2));
    turn.change_hp(actor, -damage, &format!("hit by the {foe} in flight"));
    fall_if_spent(turn);
    !turn.falls(actor)
}

/// Gives back hit points, up to the most that one can have.
pub(super) fn recover(turn: &mut StoryTurn<'_>, character: &str, most: i64) {
    let missing = turn.view.most_hp(character).saturating_sub(turn.hp_of(character));
    if missing > 0 {
        turn.change_hp(character, most.min(missing), "rest and care");
    }
}

/// Rests where no foe is.
pub(super) fn rest(turn: &mut StoryTurn<'_>) {
    turn.takes_time = true;
    if let Some(foe) = turn.foes_here().first().cloned() {
        let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
        return turn.tell("rest_foe", &slots);
    }
    let is_hurt = turn.hp_of(turn.actor()) < turn.view.most_hp(turn.actor());
    simple(turn, if is_hurt && turn.may("hp_delta") { "rested" } else { "fresh" });
    let gain = turn.roll(3) + 1;
    let actor = turn.actor();
    recover(turn, actor, gain);
    turn.tell_optional("time", &Slots::new());
}

/// Binds the wounds of a companion.
pub(super) fn tend(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = parsed.all_words();
    let member = match find_among(turn, &said, Scope::Anything) {
        Match::One(Target::Member(member)) => member,
        Match::One(Target::Person(person)) => {
            let slots = Slots::new().noun("p", &turn.person_noun(&person));
            return turn.tell("no_tend", &slots);
        }
        Match::Several(targets) => return ask_which(turn, &targets),
        Match::Nothing if said.is_empty() => {
            let hurt = |id: &String| turn.hp_of(id) < turn.view.most_hp(id);
            match turn.members_here().into_iter().find(hurt) {
                Some(member) => member,
                None => return rest(turn),
            }
        }
        Match::One(Target::Myself) => return rest(turn),
        _ => return not_here(turn, &said),
    };
    turn.takes_time = true;
    let slots = Slots::new().noun("p", &turn.member(&member));
    let (hp, state) = (turn.hp_of(&member), turn.view.state(&member));
    let most = turn.view.most_hp(&member);
    let can_be_helped = matches!(state.as_str(), "alive" | "dying");
    if hp >= most || !can_be_helped || !turn.may("hp_delta") {
        return turn.tell("no_tend", &slots);
    }
    turn.tell("tended", &slots);
    // A dying character always gets back on their feet.
    let least = if hp < 1 { 1_i64.saturating_sub(hp) } else { 1 };
    let gain = turn.roll(3).max(least).min(most.saturating_sub(hp));
    turn.change_hp(&member, gain, "tended by a companion");
    turn.world.slips.remove(&member);
}

/// Answers for an actor who is dying: they can hold on, and nothing else.
pub(super) fn lie_low(turn: &mut StoryTurn<'_>, intent: Intent) {
    turn.kind = DialogType::ResolutionSummary;
    let actor = turn.actor();
    let slips = turn.world.slips.get(actor).copied().unwrap_or(0);
    if slips >= MOST_SLIPS {
        turn.tell_optional("lost", &Slots::new());
        let label = if turn.world.quest.status == "failed" { "end_failed" } else { "actor_hint" };
        return turn.status("the_end", turn.pack.label(label));
    }
    if !matches!(intent, Intent::Rest | Intent::Wait | Intent::Tend | Intent::Yes) {
        turn.tell_optional("struggle", &Slots::new());
        return turn.status("hurt", turn.pack.label("dying_hint"));
    }
    let least = 1_i64.saturating_sub(turn.hp_of(actor)).max(1);
    if let Some(friend) = turn.companions().first().cloned() {
        let slots = Slots::new().noun("p", &turn.member(&friend));
        let gain = turn.roll(3) - 1 + least;
        if turn.change_hp(actor, gain, "helped up by a companion") {
            turn.tell("helped_up", &slots);
            turn.world.slips.remove(actor);
        }
        return;
    }
    if turn.check(0, 10) {
        if turn.change_hp(actor, least, "holding on") {
            turn.tell_optional("get_up", &Slots::new());
            turn.world.slips.remove(actor);
        }
        return listing::list(turn);
    }
    turn.world.slips.insert(actor.to_owned(), slips + 1);
    let slots = Slots::new().text("n", (slips + 1).to_string());
    if slips + 1 < MOST_SLIPS {
        turn.tell_optional("hold_fail", &Slots::new());
        return turn.status_phrase("hurt", "slips", &slots);
    }
    turn.tell_optional("lost", &Slots::new());
    quest::fail_if_nobody_is_left(turn);
}
