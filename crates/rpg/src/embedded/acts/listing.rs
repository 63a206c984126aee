//! Status lines about a scene: who and what is here, and the ways.

use super::super::grammar::{Noun, Slots};
use super::super::intent::Direction;
use super::super::story::{StoryTurn, quotable, short};
use super::scene;

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
    let labels = scene::labels_in(turn);
    here.extend(labels.iter().filter_map(|label| quotable(label)).map(|label| short(&label)));
    if !here.is_empty() {
        turn.status("here", turn.listed(&here));
    }
    turn.status("ways", way_list(turn));
}

/// Returns the ways from here as text.
pub(super) fn way_list(turn: &StoryTurn<'_>) -> String {
    let way = |(direction, area): &(Direction, String)| {
        let slots = Slots::new()
            .noun("l", &turn.place_noun(area))
            .text("dir", turn.direction_name(*direction));
        slots.fill(&format!("x {}", turn.pack.label("way"))).trim_start_matches("x ").to_owned()
    };
    let ways: Vec<String> = turn.exits().iter().map(way).collect();
    if ways.is_empty() { turn.pack.label("noways").to_owned() } else { turn.listed(&ways) }
}
