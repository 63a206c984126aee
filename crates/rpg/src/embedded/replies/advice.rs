//! Answers about the game rather than in it.

use super::super::intent::Intent;
use super::super::place::{Dweller, ScenePlace};
use super::super::scene::{Scene, blow};
use super::super::words::phrases::UNCLEAR;
use super::super::words::rules::{OVERVIEW, TOPICS};
use super::{Reply, conversation, listed, look, points, some, things};
use crate::dialog::DialogType;
use crate::generation::RuleSet;

/// Explains the rules, or the requested part of them.
pub(super) fn rules(object: &[String]) -> Reply {
    let asked = |topic: &&super::super::words::rules::RuleTopic| {
        let is_word = |word: &String| {
            let one = word.strip_suffix('s').unwrap_or(word);
            topic.words.contains(&word.as_str()) || topic.words.contains(&one)
        };
        object.iter().any(is_word)
    };
    let topics: Vec<&str> = TOPICS.iter().filter(asked).map(|topic| topic.text).take(2).collect();
    let reply = Reply::new(DialogType::RuleExplanation);
    match topics.as_slice() {
        [] => reply.line(OVERVIEW),
        several => several.iter().fold(reply, |reply, text| reply.line(*text)),
    }
}

pub(super) fn help(scene: &Scene<'_>) -> Reply {
    let mut ideas = vec!["look around".to_owned()];
    match scene.dweller() {
        Dweller::Friend(friend) => ideas.push(format!("talk to the {}", friend.word)),
        Dweller::Foe(foe, _) => ideas.push(format!("attack the {}", foe.word)),
        Dweller::Absent => {}
    }
    if let Some(thing) = things::lying(scene).first() {
        ideas.push(format!("take the {}", thing.trim_start_matches("the ")));
    }
    if let Some(exit) = scene.exits.first() {
        ideas.push(format!("go {}", exit.direction.as_str()));
    }
    ideas.extend(["search", "explore", "rest", "ask about the rules"].map(str::to_owned));
    let (last, first) = (ideas.pop().unwrap_or_default(), ideas.join(", "));
    Reply::new(DialogType::ActionPrompt)
        .line("Say in plain words what you do.")
        .and(format!("Here, for example, you could {first} or {last}."))
        .and("You can also ask where you can go, what you carry, how you are, what the goal is, or what happened so far.")
}

/// Describes the condition of the party.
pub(super) fn status(scene: &Scene<'_>) -> Reply {
    Reply::new(DialogType::ResolutionSummary).line(condition(scene))
}

fn condition(scene: &Scene<'_>) -> String {
    let how = |actor: &str| match scene.view.state(actor).as_str() {
        "alive" => "",
        "dying" => ", and down",
        _ => ", and out of it",
    };
    let mut all = vec![format!("You have {}{}", points(scene.hp()), how(scene.actor()))];
    for other in scene.view.party().iter().filter(|other| *other != scene.actor()).take(8) {
        let hp = scene.view.hp(other).unwrap_or_default();
        let area = scene.view.position(other).unwrap_or_default();
        let place = match area == scene.place.area {
            true => "with you".to_owned(),
            false => format!("in {}", ScenePlace::new(scene.view, scene.seed, &area).name),
        };
        let name = scene.called(other);
        all.push(format!("{name}, {place}, has {}{}", points(hp), how(other)));
    }
    format!("{}.", all.join("; "))
}

pub(super) fn goal(scene: &Scene<'_>) -> Reply {
    let reply = Reply::new(DialogType::ActionPrompt);
    let reply = match scene.goal() {
        Some(goal) => reply.line(format!("What you are after: {goal}.")),
        None if things::has_quest(scene) => reply,
        None => reply.line(format!(
            "Nobody has given you a task, but people talk of {}, and so far nobody has brought it home.",
            scene.quest()
        )),
    };
    reply.and(conversation::hint(scene)).and(scene.prompt())
}

/// Occasionally returns a reminder of the goal.
pub(super) fn nudge(scene: &Scene<'_>) -> Option<String> {
    let is_due = scene.request.turn <= 1 || scene.dice.of("nudge").below(4) == 0;
    if !is_due || things::has_quest(scene) {
        return None;
    }
    Some(match scene.goal() {
        Some(goal) => format!("You remember what you are here for: {goal}."),
        None => format!("People talk of {}. Nobody seems to know more than that.", scene.quest()),
    })
}

/// Summarizes the story so far, as far as it is remembered.
pub(super) fn summary(scene: &Scene<'_>) -> Reply {
    let reply = Reply::new(DialogType::ResolutionSummary);
    if scene.past.is_empty() {
        return reply
            .line(format!("Nothing has happened yet. The story begins in {}.", scene.place.name))
            .and(condition(scene));
    }
    let mut areas: Vec<&str> = Vec::new();
    for past in scene.past.iter().filter(|past| !past.area.is_empty()) {
        if !areas.contains(&past.area.as_str()) {
            areas.push(&past.area);
        }
    }
    let places: Vec<String> = areas
        .iter()
        .take(8)
        .map(|area| ScenePlace::new(scene.view, scene.seed, area).name)
        .collect();
    let turns = scene.request.turn.saturating_sub(1);
    let turns = if turns == 1 {
        "One turn lies behind you.".to_owned()
    } else {
        format!("{turns} turns lie behind you.")
    };
    let mut reply = reply.line(turns).and(format!("Lately you were in {}.", listed(&places)));
    let fights = scene.past.iter().filter(|past| past.intent == Intent::Attack);
    let (landed, missed): (Vec<_>, Vec<_>) =
        fights.partition(|past| blow(scene.seed, past.turn).lands);
    if landed.len() + missed.len() > 0 {
        let times = |count: usize| match count {
            0 => "not once".to_owned(),
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            _ => format!("{count} times"),
        };
        reply = reply
            .and(format!("You raised your hand in anger, and it landed {}.", times(landed.len())));
    }
    let things = things::carried(scene);
    if !things.is_empty() {
        reply = reply.and(format!("You carry {}.", listed(&things)));
    }
    let reply = reply.line(condition(scene));
    let reply = match milestone(scene) {
        Some(milestone) => reply.and(milestone),
        None => reply,
    };
    reply.and(conversation::hint(scene))
}

/// Returns the progress of the campaign, if its rules have milestones.
fn milestone(scene: &Scene<'_>) -> Option<String> {
    if scene.view.generation.rules() == RuleSet::First {
        return None;
    }
    let current = scene.view.tree.string_at(&["milestone", "current"])?;
    let number = current.strip_prefix("milestone_")?.parse::<u32>().ok()?;
    Some(format!("Milestone {number} is behind you."))
}

pub(super) fn unclear(scene: &Scene<'_>) -> Reply {
    let idea = match scene.dweller() {
        Dweller::Friend(friend) => format!("You could talk to the {}.", friend.word),
        Dweller::Foe(foe, _) => format!("The {} has not forgotten you, though.", foe.word),
        Dweller::Absent => match things::lying(scene).first() {
            Some(thing) => format!("There is still {} here.", some(thing)),
            None => look::ways(scene),
        },
    };
    Reply::new(DialogType::ActionPrompt).line(scene.say(UNCLEAR)).and(idea).and(scene.prompt())
}
