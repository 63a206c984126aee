//! Looking, examining, searching, and the opening scene.

use super::super::grammar::{Noun, Slots};
use super::super::intent::ParsedInput;
use super::super::resolve::{Match, Scope, Target, find, noun_of};
use super::super::story::{StoryTurn, quotable};
use super::{ask_which, not_here, quest};
use crate::dialog::DialogType;

/// Tells the opening scene.
pub(super) fn opening(turn: &mut StoryTurn<'_>) {
    turn.kind = DialogType::SceneDescription;
    let premise = turn.view.tree.string_at(&["everturn", "premise"]);
    if let Some(premise) = premise.as_deref().and_then(quotable) {
        turn.tell_one_of(&[premise], &Slots::new());
        turn.paragraph();
    }
    describe(turn);
    let giver = turn.world.quest.giver.clone();
    let is_here = turn.people_here().contains(&giver);
    if is_here && turn.world.quest.status == "active" && !turn.world.quest.heard {
        turn.paragraph();
        if let Some(goal) = quest::goal_text(turn) {
            let slots = Slots::new().noun("p", &turn.person_noun(&giver)).text("g", goal);
            turn.tell_optional("opening_quest", &slots);
        }
    }
    if let Some(member) = turn.companions().first().cloned() {
        let slots = Slots::new().noun("p", &turn.member(&member));
        turn.status_phrase("try", "follow_hint", &slots);
    }
}

/// Looks around.
pub(super) fn around(turn: &mut StoryTurn<'_>) {
    turn.takes_time = true;
    describe(turn);
}

/// Tells the place: a sight, a sound, who and what is here, and the ways.
pub(super) fn describe(turn: &mut StoryTurn<'_>) {
    let here = turn.here.clone();
    let slots = Slots::new().noun("l", &turn.place_noun(&here));
    if !turn.arrived_now() {
        turn.tell_optional("standing", &slots);
    }
    if let Some(place) = turn.world.places.get_mut(&here) {
        place.seen = true;
    }
    tell_place(turn);
    tell_people(turn);
    list(turn);
}

/// Tells a sight and a sound of the place.
pub(super) fn tell_place(turn: &mut StoryTurn<'_>) {
    let here = turn.here.clone();
    let kind = turn.world.places.get(&here).and_then(|place| turn.pack.place(&place.kind));
    // A description that the campaign gave comes first. One of ours is the sight that was chosen first.
    let given = turn.view.tree.string_at(&["map", "areas", here.as_str(), "description"]);
    let given = given.as_deref().and_then(quotable);
    let told = given.is_some_and(|text| turn.tell_one_of(&[text], &Slots::new()));
    if let Some(kind) = kind {
        let is_ours = turn.world.places.get(&here).is_some_and(|place| place.title.is_some());
        let sight =
            !told && (is_ours || turn.view.area_name(&here).is_some_and(|name| name.is_empty()));
        if sight || !told && kind_fits(turn) {
            turn.tell_one_of(&kind.sights, &Slots::new());
        }
        turn.tell_one_of(&kind.senses, &Slots::new());
    }
}

/// Returns whether the sights of the place's kind suit its name.
fn kind_fits(turn: &StoryTurn<'_>) -> bool {
    let name =
        turn.world.places.get(&turn.here).map(|place| place.name.clone()).unwrap_or_default();
    let kind = turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
    let words = super::super::intent::words(&name);
    kind.is_some_and(|kind| words.iter().any(|word| kind.known.contains(word)))
        || turn.world.places.get(&turn.here).is_some_and(|place| place.title.is_some())
}

/// Tells who is here, as far as that was not told lately, and what is special about the place.
fn tell_people(turn: &mut StoryTurn<'_>) {
    turn.paragraph();
    for id in turn.people_here() {
        if turn.world.people.get(&id).is_some_and(|person| !person.follows)
            && let Some(person) = turn.pack.person(&id)
        {
            turn.tell_one_of(&[person.text("looks").to_owned()], &Slots::new());
        }
    }
    turn.paragraph();
    quest::tell_vault(turn);
    turn.paragraph();
    for id in turn.foes_here() {
        if let Some(foe) = turn.pack.foe(&id) {
            turn.tell_one_of(&[foe.text("looks").to_owned()], &Slots::new());
        }
    }
}

/// Lists what is here, and the ways, as status lines.
pub(super) fn list(turn: &mut StoryTurn<'_>) {
    let mut here: Vec<String> = Vec::new();
    for id in turn.people_here() {
        let role = turn.pack.person(&id).map_or("", |person| person.text("role"));
        here.push(format!("{} ({role})", turn.person_noun(&id).head()));
    }
    for member in turn.members_here() {
        here.push(turn.member(&member).head().to_owned());
    }
    let indefinite = |noun: &Noun| {
        Slots::new().noun("o", noun).fill("x {o.i}").trim_start_matches("x ").to_owned()
    };
    for id in turn.foes_here() {
        here.push(indefinite(&turn.foe_noun(&id)));
    }
    if turn.is_vault()
        && turn.world.quest.spotted
        && !turn.world.quest.passed
        && let Some(obstacle) = turn.obstacle()
    {
        here.push(indefinite(&obstacle.name));
    }
    for id in turn.items_at(&turn.here) {
        let lit = turn.world.items.get(&id).is_some_and(|item| item.lit);
        let name = indefinite(&turn.item_noun(&id));
        here.push(if lit { format!("{name} ({})", turn.pack.label("lit_mark")) } else { name });
    }
    if !here.is_empty() {
        turn.status("here", turn.listed(&here));
    }
    turn.status("ways", way_list(turn));
}

/// Returns the ways from here as text.
pub(super) fn way_list(turn: &StoryTurn<'_>) -> String {
    let way = |(direction, area): &(super::super::intent::Direction, String)| {
        let slots = Slots::new()
            .noun("l", &turn.place_noun(area))
            .text("dir", turn.direction_name(*direction));
        slots.fill(&format!("x {}", turn.pack.label("way"))).trim_start_matches("x ").to_owned()
    };
    let ways: Vec<String> = turn.exits().iter().map(way).collect();
    if ways.is_empty() { turn.pack.label("noways").to_owned() } else { turn.listed(&ways) }
}

pub(super) fn listen(turn: &mut StoryTurn<'_>) {
    turn.takes_time = true;
    turn.tell_optional("listened", &Slots::new());
    let kind = turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
    let told = kind.is_some_and(|kind| turn.tell_one_of(&kind.senses, &Slots::new()));
    if !told {
        turn.tell_optional("time", &Slots::new());
    }
}

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
        Target::Exit(area) => return super::travel::point_to(turn, area),
        Target::Place => {
            describe(turn);
            return;
        }
        Target::Myself => {
            turn.tell_optional("yourself", &slots);
            super::advice::status(turn);
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
