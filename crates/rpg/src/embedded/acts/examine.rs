//! Examining and searching what was named.

use super::super::grammar::Slots;
use super::super::intent::ParsedInput;
use super::super::resolve::{Match, Scope, Target, find, noun_of};
use super::super::story::StoryTurn;
use super::look::{around, describe};
use super::{advice, ask_which, not_here, quest, travel};

/// Looks at what was named.
pub(super) fn examine(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = parsed.all_words();
    if said.is_empty() {
        return around(turn);
    }
    match find(turn, &said, Scope::Anything) {
        Match::One(target) => examine_target(turn, &target),
        Match::Several(targets) => ask_which(turn, &targets),
        Match::Nothing => not_here(turn, &said),
    }
}

pub(super) fn examine_target(turn: &mut StoryTurn<'_>, target: &Target) {
    turn.takes_time = true;
    let slots = Slots::new().noun("o", &noun_of(turn, target));
    let told = match target {
        Target::Item(id) => {
            turn.world.last_thing.clone_from(id);
            let text = turn.item_entry(id).map(|entry| entry.text("text").to_owned());
            text.is_some_and(|text| !text.is_empty() && turn.tell_one_of(&[text], &slots))
        }
        Target::Person(id) => {
            turn.world.last_person.clone_from(id);
            let text = turn.pack.person(id).map(|person| person.text("looks").to_owned());
            text.is_some_and(|text| turn.tell_one_of(&[text], &slots))
        }
        Target::Member(id) => {
            turn.world.last_person.clone_from(id);
            let name = turn.member(id);
            let member = Slots::new().noun("p", &name).text("n", turn.hp_of(id).to_string());
            turn.status_phrase("hurt", "points", &member);
            turn.tell_optional("member_looks", &member);
            true
        }
        Target::Foe(id) => {
            turn.world.last_thing.clone_from(id);
            let strength = turn.world.foes.get(id).map_or(0, |foe| foe.strength);
            let slots = Slots::new().noun("x", &turn.foe_noun(id)).text("n", strength.to_string());
            turn.status_phrase("foe", "foe_strength", &slots);
            let text = turn.pack.foe(id).map(|foe| foe.text("looks").to_owned());
            turn.tell_one_of(&text.into_iter().collect::<Vec<_>>(), &slots);
            true
        }
        Target::Scenery(number, _) => {
            let kind =
                turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
            let thing = kind.and_then(|kind| kind.scenery.get(*number));
            thing.is_some_and(|thing| turn.tell_one_of(std::slice::from_ref(&thing.detail), &slots))
        }
        Target::Obstacle => {
            let text = turn.obstacle().map(|obstacle| obstacle.text("look").to_owned());
            text.is_some_and(|text| turn.tell_one_of(&[text], &slots))
        }
        Target::Exit(area) => return travel::point_to(turn, area),
        Target::Place => {
            describe(turn);
            return;
        }
        Target::Myself => {
            turn.tell_optional("yourself", &slots);
            advice::status(turn);
            return;
        }
    };
    if !told {
        turn.tell("nothing_more", &slots);
    }
}

/// Searches the place.
pub(super) fn search(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = parsed.all_words();
    if !said.is_empty()
        && let Match::One(target) = find(turn, &said, Scope::Anything)
    {
        let is_place = matches!(target, Target::Scenery(..) | Target::Place);
        if !is_place {
            return examine_target(turn, &target);
        }
        if let Target::Scenery(number, _) = target {
            let kind =
                turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
            let detail =
                kind.and_then(|kind| kind.scenery.get(number)).map(|thing| thing.detail.clone());
            turn.tell_one_of(&detail.into_iter().collect::<Vec<_>>(), &Slots::new());
        }
    }
    turn.takes_time = true;
    let awake = turn
        .foes_here()
        .into_iter()
        .find(|id| turn.world.foes.get(id).is_some_and(|foe| foe.awake));
    if let Some(foe) = awake {
        let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
        return turn.tell("search_foe", &slots);
    }
    turn.tell_optional("searched", &Slots::new());
    if let Some(place) = turn.world.places.get_mut(&turn.here) {
        place.searched = true;
    }
    let relic = turn.world.quest.relic.clone();
    let is_hidden = |(id, item): &(&String, &super::super::world::ItemRecord)| {
        item.at == turn.here && item.hidden && **id != relic
    };
    let found = turn.world.items.iter().find(is_hidden).map(|(id, _)| id.clone());
    if let Some(id) = found {
        if let Some(item) = turn.world.items.get_mut(&id) {
            item.hidden = false;
        }
        turn.world.last_thing.clone_from(&id);
        let slots = Slots::new().noun("o", &turn.item_noun(&id));
        turn.tell("found", &slots);
        return;
    }
    if turn.is_vault() && !turn.world.quest.spotted && turn.check(turn.allies(), 12) {
        turn.world.quest.spotted = true;
        turn.tell_optional("found_way", &Slots::new());
        quest::tell_vault(turn);
        return;
    }
    if !turn.tell_optional("found_nothing", &Slots::new()) {
        turn.status("found_label", turn.pack.label("nothing"));
    }
}
