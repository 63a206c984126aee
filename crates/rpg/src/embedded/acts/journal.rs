//! The journal of the quest: the goal, what is done, and the next step.

use super::super::genesis::own_goal;
use super::super::grammar::{Noun, Slots};
use super::super::story::{StoryTurn, quotable};
use super::super::world::GONE;

/// Returns the goal as it can be quoted.
pub(super) fn goal_text(turn: &StoryTurn<'_>) -> Option<String> {
    let own = own_goal(turn.view).filter(|_| turn.world.quest.id == "own");
    let text = match own {
        Some(goal) => quotable(&goal)?,
        None => turn.pack.quest(&turn.world.quest.id).map(|quest| quest.text("goal").to_owned())?,
    };
    let text = text.trim_end_matches(['.', '!']).to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns which of the steps are done.
pub(super) fn done(turn: &StoryTurn<'_>) -> [bool; 7] {
    let quest = &turn.world.quest;
    let relic = turn.world.items.get(&quest.relic).map_or("", |item| item.at.as_str());
    let has_relic = turn.view.party().iter().any(|member| member == relic);
    let ended = quest.status == "achieved" || quest.status == "completed";
    let tags = turn.obstacle().map(|obstacle| obstacle.tags.clone()).unwrap_or_default();
    let has_means =
        turn.carried().iter().any(|id| tags.iter().any(|tag| turn.has_item_tag(id, tag)));
    let guardian = turn.world.foes.get(&quest.guardian);
    let is_free = guardian.is_some_and(|foe| foe.at == GONE);
    [
        quest.heard,
        quest.located,
        has_means || quest.passed,
        quest.passed,
        quest.passed && is_free,
        has_relic || ended,
        ended,
    ]
}

/// Shows the goal and the next step.
pub(super) fn show(turn: &mut StoryTurn<'_>) {
    if let Some(goal) = goal_text(turn) {
        turn.status("goal", goal);
    }
    match turn.world.quest.status.as_str() {
        "active" => {}
        "failed" => return turn.status("the_end", turn.pack.label("end_failed")),
        "completed" => return turn.status("the_end", turn.pack.label("end_other")),
        _ => return turn.status("the_end", turn.pack.label("end_won")),
    }
    recap(turn);
    next_step(turn);
}

fn next_step(turn: &mut StoryTurn<'_>) {
    let quest = turn.world.quest.clone();
    let steps = done(turn);
    let site = |name: &str| quest.sites.get(name).cloned();
    let at =
        |turn: &StoryTurn<'_>, slots: Slots, area: &str| slots.noun("l", &turn.place_noun(area));
    let [heard, located, has_means, passed, is_free, has_relic, _] = steps;
    let obstacle = turn.obstacle().map(|it| it.name.clone());
    let with_obstacle = |slots: Slots| match &obstacle {
        Some(noun) => slots.noun("x", noun),
        None => slots,
    };
    let relic = Slots::new().noun("o", &turn.item_noun(&quest.relic));
    let (phrase, slots) = match (site("home"), site("haunt"), site("den"), site("vault")) {
        (home, ..) if has_relic => {
            let slots = relic.noun("p", &turn.person_noun(&quest.giver));
            ("step_7", at(turn, slots, &home.unwrap_or_default()))
        }
        (home, ..) if !heard => {
            let slots = Slots::new().noun("p", &turn.person_noun(&quest.giver));
            ("step_1", at(turn, slots, &home.unwrap_or_default()))
        }
        (_, haunt, ..) if !located => {
            let role = turn.pack.person(&quest.informant).map_or("", |entry| entry.text("role"));
            let slots = Slots::new().noun("q", &turn.person_noun(&quest.informant)).text("r", role);
            match haunt {
                Some(haunt) => ("step_2", at(turn, slots, &haunt)),
                None => ("step_2x", slots),
            }
        }
        (.., None) => ("step_3x", with_obstacle(Slots::new())),
        (_, _, Some(den), _) if !has_means => {
            ("step_3", at(turn, with_obstacle(Slots::new()), &den))
        }
        (.., Some(vault)) if !passed => ("step_4", at(turn, with_obstacle(Slots::new()), &vault)),
        (.., Some(vault)) if !is_free => {
            let slots = Slots::new().noun("x", &turn.foe_noun(&quest.guardian));
            ("step_5", at(turn, slots, &vault))
        }
        (.., Some(vault)) => ("step_6", at(turn, relic, &vault)),
    };
    turn.status_phrase("step", phrase, &slots);
}

/// Shows what has been done.
pub(super) fn recap(turn: &mut StoryTurn<'_>) {
    let steps = done(turn);
    let texts: Vec<String> = (1..=6)
        .zip(steps)
        .filter(|(_, done)| *done)
        .map(|(number, _)| turn.pack.label(&format!("done_{number}")).to_owned())
        .collect();
    turn.status("done", turn.listed(&texts));
}

/// Shows the story so far: where the party was, whom it met, what became of its foes, and what has been done.
pub(super) fn tell(turn: &mut StoryTurn<'_>) {
    let name = |noun: Noun| {
        Slots::new().noun("o", &noun).fill("x {o.n}").trim_start_matches("x ").to_owned()
    };
    let world = &turn.world;
    let seen = world.places.iter().filter(|(_, place)| place.seen);
    let seen: Vec<String> = seen.map(|(area, _)| name(turn.place_noun(area))).collect();
    let met = world.people.iter().filter(|(_, person)| person.met);
    let met: Vec<String> = met.map(|(id, _)| name(turn.person_noun(id))).collect();
    let settled = world.foes.iter().filter(|(_, foe)| !foe.outcome.is_empty());
    let settled: Vec<String> = settled.map(|(id, _)| name(turn.foe_noun(id))).collect();
    for (label, names) in [("seen", seen), ("met", met), ("settled", settled)] {
        if !names.is_empty() {
            turn.status(label, turn.listed(&names));
        }
    }
    recap(turn);
}
