//! Looking around, listening, and the opening scene.

use super::super::grammar::Slots;
use super::super::story::{StoryTurn, quotable};
use super::listing::list;
use super::{journal, quest};
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
        if let Some(goal) = journal::goal_text(turn) {
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

pub(super) fn listen(turn: &mut StoryTurn<'_>) {
    turn.takes_time = true;
    turn.tell_optional("listened", &Slots::new());
    let kind = turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
    let told = kind.is_some_and(|kind| turn.tell_one_of(&kind.senses, &Slots::new()));
    if !told {
        turn.tell_optional("time", &Slots::new());
    }
}
