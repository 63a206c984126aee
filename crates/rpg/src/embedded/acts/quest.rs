//! The quest: what people know of it, the obstacle, the guardian, and the end.

use serde_json::Value;

use super::super::genesis::own_goal;
use super::super::grammar::Slots;
use super::super::resolve::is_same_word;
use super::super::story::{StoryTurn, quotable};
use super::{fight, journal};

/// Returns the slots that texts of the quest use.
fn slots(turn: &StoryTurn<'_>, speaker: &str) -> Slots {
    let goal = journal::goal_text(turn).unwrap_or_else(|| "…".to_owned());
    let mut slots = Slots::new().noun("p", &turn.person_noun(speaker)).text("goal", goal);
    if let Some(entry) = turn.pack.quest(&turn.world.quest.id) {
        slots = slots.noun("o", &entry.name);
    }
    slots
}

/// Adds the person who knows the place, and where they are.
fn with_informant(turn: &StoryTurn<'_>, slots: Slots) -> Slots {
    let informant = &turn.world.quest.informant;
    let at = turn.world.people.get(informant).map(|known| known.at.clone()).unwrap_or_default();
    let role = turn.pack.person(informant).map_or("", |entry| entry.text("role"));
    slots.noun("q", &turn.person_noun(informant)).noun("l", &turn.place_noun(&at)).text("r", role)
}

/// Tells one field of the quest's table.
fn tell_field(turn: &mut StoryTurn<'_>, field: &str, slots: &Slots) -> bool {
    let text = turn.pack.quest(&turn.world.quest.id).map(|quest| quest.text(field).to_owned());
    turn.tell_one_of(&text.into_iter().collect::<Vec<_>>(), slots)
}

/// What a person says about the quest when they are greeted. Returns whether they say anything.
pub(super) fn speak_of_it(turn: &mut StoryTurn<'_>, person: &str) -> bool {
    let quest = turn.world.quest.clone();
    let slots = slots(turn, person);
    let has_relic = turn.carried().contains(&quest.relic);
    match quest.status.as_str() {
        "active" => {}
        "failed" => return turn.tell_optional("lost_already", &slots),
        _ => return turn.tell_optional("won_already", &slots),
    }
    if person == quest.giver {
        if has_relic {
            return turn.tell_optional("giver_waits", &slots);
        }
        return !quest.heard && offer(turn, &slots);
    }
    if person == quest.rival && has_relic {
        return turn.tell_optional("rival_asks", &slots);
    }
    if person == quest.informant && quest.heard && !quest.located {
        return price(turn, &slots);
    }
    false
}

/// The giver explains what is wrong, and who knows more.
fn offer(turn: &mut StoryTurn<'_>, slots: &Slots) -> bool {
    turn.world.quest.heard = true;
    let told = tell_field(turn, "need", slots);
    tell_field(turn, "lost", slots);
    turn.paragraph();
    let is_placed = turn.world.quest.sites.contains_key("haunt");
    let slots = with_informant(turn, slots.clone());
    turn.tell_optional(if is_placed { "offer" } else { "offer_nowhere" }, &slots) || told
}

/// The informant names a price.
fn price(turn: &mut StoryTurn<'_>, slots: &Slots) -> bool {
    let likes =
        turn.pack.person(&turn.world.quest.informant).and_then(|entry| entry.tags.first().cloned());
    let slots = slots.clone().text("w", turn.pack.tag(&likes.unwrap_or_default()));
    turn.tell_optional("price", &slots)
}

/// Tries to talk the informant into it.
pub(super) fn persuade(turn: &mut StoryTurn<'_>) {
    let informant = turn.world.quest.informant.clone();
    let slots = slots(turn, &informant);
    let mood = turn.world.people.get(&informant).map_or(0, |known| known.mood);
    let tries = i64::from(turn.world.quest.attempts.min(5));
    turn.world.quest.attempts += 1;
    if turn.check(mood + tries, 14) {
        turn.tell("persuaded", &slots);
        reveal(turn);
    } else {
        turn.tell("unpersuaded", &slots);
    }
}

/// The informant says where the relic is.
pub(super) fn reveal(turn: &mut StoryTurn<'_>) {
    let informant = turn.world.quest.informant.clone();
    let mut slots = slots(turn, &informant);
    turn.world.quest.heard = true;
    turn.world.quest.located = true;
    if let Some(obstacle) = turn.obstacle() {
        slots = slots.noun("x", &obstacle.name);
    }
    match turn.world.quest.sites.get("vault").cloned() {
        Some(vault) => {
            let slots = slots.noun("l", &turn.place_noun(&vault));
            turn.tell("clue", &slots);
        }
        None => turn.tell("clue_nowhere", &slots),
    }
}

/// Reads the item that says where the relic is.
pub(super) fn read_clue(turn: &mut StoryTurn<'_>, item: &str) {
    let mut slots = Slots::new().noun("o", &turn.item_noun(item));
    let Some(vault) = turn.world.quest.sites.get("vault").cloned() else {
        return turn.tell("read", &slots);
    };
    turn.world.quest.located = true;
    turn.world.quest.heard = true;
    if let Some(obstacle) = turn.obstacle() {
        slots = slots.noun("x", &obstacle.name);
    }
    let slots = slots.noun("l", &turn.place_noun(&vault));
    turn.tell("read_clue", &slots);
}

/// Answers a question that belongs to the quest. Returns whether it does.
pub(super) fn answer_topic(turn: &mut StoryTurn<'_>, person: &str, topic: &[String]) -> bool {
    let quest = turn.world.quest.clone();
    let Some(entry) = turn.pack.quest(&quest.id) else { return false };
    let tongue = turn.pack.tongue;
    let is_about = |list: &[String]| {
        topic.iter().any(|word| list.iter().any(|known| is_same_word(tongue, word, known)))
    };
    let split = |text: &str| -> Vec<String> { super::super::intent::words(text) };
    let general = split(turn.pack.label("quest_words"));
    let relic = [split(&entry.name.bare()), entry.words.clone()].concat();
    let slots = slots(turn, person);
    if is_about(&relic) || is_about(&general) {
        return about_relic(turn, person, &slots);
    }
    let obstacle = turn.obstacle();
    let obstacle_words =
        obstacle.map(|it| [split(&it.name.bare()), it.words.clone()].concat()).unwrap_or_default();
    if quest.located && is_about(&obstacle_words) {
        let hint = obstacle.map(|it| it.text("hint").to_owned());
        let told = turn.tell_one_of(&hint.into_iter().collect::<Vec<_>>(), &slots);
        let means = turn.world.items.get(&quest.means).map(|item| item.at.clone());
        let den = quest.sites.get("den").filter(|den| means.as_ref() == Some(den)).cloned();
        let slots = den.map(|den| slots.clone().noun("l", &turn.place_noun(&den)));
        let told_more = slots.is_some_and(|slots| turn.tell_optional("means", &slots));
        return said_or_told(turn, told || told_more, topic);
    }
    let guardian = turn.pack.foe(&quest.guardian);
    let guardian_words =
        guardian.map(|it| [split(&it.name.bare()), it.words.clone()].concat()).unwrap_or_default();
    let asks_guard = is_about(&split(turn.pack.label("guardian_words")));
    if quest.located
        && (asks_guard || is_about(&guardian_words))
        && [&quest.informant, &quest.giver].contains(&&person.to_owned())
    {
        let likes = guardian.and_then(|it| it.tags.first().cloned()).unwrap_or_default();
        let slots = slots.noun("x", &turn.foe_noun(&quest.guardian));
        let named = slots.clone().text("w", quest.password.clone());
        let gift = slots.text("w", turn.pack.tag(&likes));
        let told =
            turn.tell_optional("guardian", &named) | turn.tell_optional("guardian_gift", &gift);
        return said_or_told(turn, told, topic);
    }
    false
}

fn said_or_told(turn: &mut StoryTurn<'_>, told: bool, topic: &[String]) -> bool {
    if !told {
        let word = quotable(&topic.join(" ")).unwrap_or_else(|| "…".to_owned());
        turn.status("said_before", word);
    }
    true
}

fn about_relic(turn: &mut StoryTurn<'_>, person: &str, slots: &Slots) -> bool {
    let quest = turn.world.quest.clone();
    let topic = [turn.item_noun(&quest.relic).head().to_owned()];
    let told = if person == quest.giver {
        if quest.heard { with_offer(turn, slots) } else { offer(turn, slots) }
    } else if person == quest.informant {
        if quest.located {
            reveal(turn);
            true
        } else {
            turn.world.quest.heard = true;
            let told = tell_field(turn, "lost", slots);
            turn.paragraph();
            price(turn, slots) | told
        }
    } else if person == quest.rival {
        turn.world.quest.heard = true;
        tell_field(turn, "want", slots)
    } else {
        let slots = with_informant(turn, slots.clone());
        let knows = turn.world.people.contains_key(&quest.informant);
        let phrase = if knows { "topic_person" } else { "no_rumour" };
        turn.tell_optional(phrase, &slots)
    };
    said_or_told(turn, told, &topic)
}

fn with_offer(turn: &mut StoryTurn<'_>, slots: &Slots) -> bool {
    let placed = turn.world.quest.sites.contains_key("haunt");
    let told = tell_field(turn, "need", slots) | tell_field(turn, "lost", slots);
    let slots = with_informant(turn, slots.clone());
    turn.tell_optional(if placed { "offer" } else { "offer_nowhere" }, &slots) | told
}

/// What a companion thinks should be done next. Returns whether anything is said.
pub(super) fn member_advice(turn: &mut StoryTurn<'_>, slots: &Slots) -> bool {
    let quest = turn.world.quest.clone();
    if quest.status != "active" {
        return false;
    }
    let slots = slots.clone();
    if turn.carried().contains(&quest.relic) {
        let slots = slots.noun("q", &turn.person_noun(&quest.giver));
        return turn.tell_optional("member_return", &slots);
    }
    match (quest.located, quest.sites.get("vault"), turn.obstacle()) {
        (true, Some(vault), Some(obstacle)) => {
            let slots = slots.noun("l", &turn.place_noun(vault)).noun("x", &obstacle.name);
            turn.tell_optional("member_clue", &slots)
        }
        _ => {
            let who = if quest.heard { &quest.informant } else { &quest.giver };
            let slots = slots.noun("q", &turn.person_noun(who));
            turn.tell_optional("member_goal", &slots)
        }
    }
}

/// Tells what is special about the last place: the obstacle, or the relic.
pub(super) fn tell_vault(turn: &mut StoryTurn<'_>) {
    if !turn.is_vault() {
        return;
    }
    if turn.world.quest.located {
        turn.world.quest.spotted = true;
    }
    let quest = &turn.world.quest;
    if quest.spotted
        && !quest.passed
        && let Some(obstacle) = turn.obstacle()
    {
        turn.tell_one_of(&[obstacle.text("look").to_owned()], &Slots::new());
    }
    tell_relic(turn);
}

/// Tells that the relic is in sight, if it is.
pub(super) fn tell_relic(turn: &mut StoryTurn<'_>) {
    let relic = turn.world.quest.relic.clone();
    let is_here = turn.items_at(&turn.here).contains(&relic);
    if turn.world.quest.passed && is_here && turn.foes_here().is_empty() {
        let slots = Slots::new().noun("o", &turn.item_noun(&relic));
        turn.tell_optional("relic_seen", &slots);
    }
}

/// Returns whether an item gets one past the obstacle that is here.
pub(super) fn fits_obstacle(turn: &StoryTurn<'_>, item: &str) -> bool {
    let quest = &turn.world.quest;
    let is_open = turn.is_vault() && quest.spotted && !quest.passed;
    let tags = turn.obstacle().map(|obstacle| obstacle.tags.clone()).unwrap_or_default();
    is_open && tags.iter().any(|tag| turn.has_item_tag(item, tag))
}

/// Returns a carried item that gets one past the obstacle.
pub(super) fn fitting_item(turn: &StoryTurn<'_>) -> Option<String> {
    turn.carried().into_iter().find(|id| fits_obstacle(turn, id))
}

/// Tries to get past the obstacle, with an item or by hand.
pub(super) fn try_obstacle(turn: &mut StoryTurn<'_>, item: Option<&str>) {
    turn.takes_time = true;
    let Some(obstacle) = turn.obstacle() else { return };
    let slots = Slots::new().noun("x", &obstacle.name);
    if turn.world.quest.passed {
        let slots = slots.noun("o", &obstacle.name);
        turn.tell_optional("nothing_more", &slots);
        return tell_relic(turn);
    }
    if let Some(item) = item {
        let slots = slots.noun("o", &turn.item_noun(item));
        if !fits_obstacle(turn, item) {
            return turn.tell("no_use", &slots);
        }
        if turn.has_item_tag(item, "light")
            && obstacle.has_tag("light")
            && let Some(known) = turn.world.items.get_mut(item)
        {
            known.lit = true;
        }
        turn.tell_one_of(&[obstacle.text("open").to_owned()], &slots);
        return pass(turn);
    }
    let tries = i64::from(turn.world.quest.attempts.min(6));
    turn.world.quest.attempts += 1;
    let allies = turn.allies();
    let succeeds = turn.check(allies + tries, 15);
    let field = if succeeds { "force" } else { "fail" };
    if !turn.tell_one_of(&[obstacle.text(field).to_owned()], &slots) {
        turn.tell_optional(if succeeds { "check_ok" } else { "check_fail" }, &slots);
    }
    if succeeds {
        return pass(turn);
    }
    let (actor, damage) = (turn.actor(), turn.roll(2));
    turn.change_hp(actor, -damage, "hurt in the attempt");
    fight::fall_if_spent(turn);
}

/// The obstacle is behind the party; the guardian is not.
fn pass(turn: &mut StoryTurn<'_>) {
    turn.world.quest.passed = true;
    turn.world.quest.located = true;
    let relic = turn.world.quest.relic.clone();
    if let Some(relic) = turn.world.items.get_mut(&relic) {
        relic.hidden = false;
    }
    turn.tell_optional("pass_obstacle", &Slots::new());
    turn.paragraph();
    let guardian = turn.world.quest.guardian.clone();
    if turn.foes_here().contains(&guardian)
        && let Some(foe) = turn.pack.foe(&guardian)
    {
        turn.tell_one_of(&[foe.text("looks").to_owned()], &Slots::new());
    }
    tell_relic(turn);
    // The guardian takes notice first, and strikes later.
    turn.takes_time = false;
}

/// Gives the relic to somebody. The giver and the rival end the story; others refuse it.
pub(super) fn deliver(turn: &mut StoryTurn<'_>, person: &str) {
    let quest = turn.world.quest.clone();
    let slots = slots(turn, person);
    let (field, status, label) = if person == quest.giver {
        ("won", "achieved", "end_won")
    } else if person == quest.rival {
        ("other", "completed", "end_other")
    } else {
        turn.tell_optional("recruit_needed", &slots);
        let giver = Slots::new()
            .noun("o", &turn.item_noun(&quest.relic))
            .noun("p", &turn.person_noun(&quest.giver));
        let home = quest.sites.get("home").cloned().unwrap_or_default();
        let giver = giver.noun("l", &turn.place_noun(&home));
        return turn.status_phrase("step", "step_7", &giver);
    };
    turn.put_item(&quest.relic, person);
    turn.tell("gave", &slots);
    turn.paragraph();
    tell_field(turn, field, &slots);
    if let Some(known) = turn.world.people.get_mut(person) {
        known.mood += 5;
        known.remembers.push("relic".to_owned());
    }
    let other = if person == quest.giver { &quest.rival } else { &quest.giver };
    if let Some(known) = turn.world.people.get_mut(other) {
        known.mood -= 3;
        known.remembers.push("passed over".to_owned());
    }
    finish(turn, status, label);
}

fn finish(turn: &mut StoryTurn<'_>, status: &str, label: &str) {
    status.clone_into(&mut turn.world.quest.status);
    turn.change(&["goal", "status"], Value::from(status));
    turn.status("the_end", turn.pack.label(label));
}

/// Ends the story if the last member of the party is lost.
pub(super) fn fail_if_nobody_is_left(turn: &mut StoryTurn<'_>) {
    let is_left = |member: &String| {
        turn.view.state(member) == "alive" || turn.world.slips.get(member).copied().unwrap_or(0) < 3
    };
    if turn.view.party().iter().any(|member| member != turn.actor() && is_left(member)) {
        turn.status("the_end", turn.pack.label("actor_hint"));
    } else if turn.world.quest.status == "active" {
        finish(turn, "failed", "end_failed");
    }
}

/// Counts the steps, and stores the goal of a campaign that has none.
pub(super) fn update(turn: &mut StoryTurn<'_>) {
    let steps = journal::done(turn);
    turn.world.quest.step = u32::try_from(steps.iter().filter(|done| **done).count()).unwrap_or(0);
    if own_goal(turn.view).is_none()
        && let Some(goal) =
            turn.pack.quest(&turn.world.quest.id).map(|quest| quest.text("goal").to_owned())
        && !goal.is_empty()
    {
        turn.change(&["goal", "text"], Value::from(goal));
    }
}
