//! Fights and rest.

use serde_json::{Value, json};

use super::super::intent::Intent;
use super::super::place::Dweller;
use super::super::scene::{Scene, blow};
use super::super::words::dwellers::Foe;
use super::super::words::phrases::{
    FALLEN, FOE_STAYS, FRESH, GOT_UP, HIT, MISS, NO_FOE, NOT_A_FRIEND, RESTED, TENDED,
};
use super::{Reply, points};
use crate::dialog::DialogType;
use crate::document_view::DEFAULT_HP;

pub(super) fn change(target: &str, delta: i64, cause: &str) -> Value {
    json!({"target_character_id": target, "delta": delta, "cause": cause})
}

fn resolved() -> Reply {
    Reply::new(DialogType::ResolutionSummary)
}

/// Exchanges blows with the foe in this place.
pub(super) fn attack(scene: &Scene<'_>) -> Reply {
    let (foe, blows) = match scene.dweller() {
        Dweller::Foe(foe, blows) => (foe, blows),
        Dweller::Friend(_) => return resolved().line(scene.say(NOT_A_FRIEND)),
        Dweller::Absent => return resolved().line(scene.say(NO_FOE)),
    };
    let blow = blow(scene.seed, scene.request.turn);
    if !blow.lands {
        return hurt(scene, resolved().line(opening(scene, foe, MISS)), blow.hurt, foe.word);
    }
    let reply = resolved().line(opening(scene, foe, HIT));
    if scene.blows_landed() + 1 < blows {
        return reply.and(scene.dice.of("stays").pick(FOE_STAYS));
    }
    let reply = reply.line(foe.leaves).and("The place is yours.");
    if scene.hp() >= DEFAULT_HP || !scene.may("hp_delta") {
        return reply;
    }
    let after = scene.hp().saturating_add(1);
    reply
        .and(format!("You catch your breath and feel stronger for it: {} now.", points(after)))
        .call("hp_delta", &change(scene.actor(), 1, "a fight that was won"), "the fight is over")
}

/// Returns the start of a blow; the first one introduces the foe.
fn opening(scene: &Scene<'_>, foe: &Foe, texts: &[&'static str]) -> String {
    let fought = scene.past_here().any(|past| past.intent == Intent::Attack);
    let said = scene.say(texts);
    match (fought, scene.dice.of("go for").below(3)) {
        (false, _) => format!("You go for {}. {said}", foe.name),
        (true, 0) => format!("You and the {} circle each other. {said}", foe.word),
        (true, 1) => format!("Once more you go for the {}. {said}", foe.word),
        (true, _) => said.to_owned(),
    }
}

/// Adds the damage of a hit.
pub(super) fn hurt(scene: &Scene<'_>, reply: Reply, cost: i64, cause: &str) -> Reply {
    if !scene.may("hp_delta") {
        return reply.and("It hurts, but you have had worse.");
    }
    let after = scene.hp().saturating_sub(cost);
    let cause = format!("hit by the {cause}");
    let reply =
        reply.and(format!("It costs you {}; {} left.", points(cost), points(after.max(0)))).call(
            "hp_delta",
            &change(scene.actor(), cost.saturating_neg(), &cause),
            "the blow went wrong",
        );
    let falls = after <= 0 && scene.view.is_on("rules.hp_zero_ends_game");
    if falls { reply.line(scene.say(FALLEN)) } else { reply }
}

/// Rests, or tends a companion.
pub(super) fn rest(scene: &Scene<'_>, object: &[String]) -> Reply {
    if let Some(other) = scene.companion(object) {
        return tend(scene, &other);
    }
    if let Dweller::Foe(foe, _) = scene.dweller() {
        let reply = Reply::new(DialogType::ActionPrompt);
        return reply
            .line(format!("With {} so close you do not get a moment's peace.", foe.name))
            .and(scene.prompt());
    }
    let missing = DEFAULT_HP.saturating_sub(scene.hp());
    if missing <= 0 || !scene.may("hp_delta") {
        return resolved().line(scene.say(FRESH)).and(scene.place.sense(scene.dice));
    }
    let gain = (scene.dice.of("rest").roll(3) + 1).min(missing);
    let after = scene.hp().saturating_add(gain);
    resolved()
        .line(scene.say(RESTED))
        .and(format!("You get {} back and have {} now.", points(gain), after))
        .call("hp_delta", &change(scene.actor(), gain, "rest"), "the player rests")
}

fn tend(scene: &Scene<'_>, other: &str) -> Reply {
    let name = scene.called(other);
    let hp = scene.view.hp(other).unwrap_or(DEFAULT_HP);
    let state = scene.view.state(other);
    let can_be_helped = matches!(state.as_str(), "alive" | "dying");
    if hp >= DEFAULT_HP || !can_be_helped || !scene.may("hp_delta") {
        return resolved()
            .line(format!("You look {name} over. There is nothing that you could do for them."));
    }
    // A dying character always gets back on their feet.
    let least = if hp < 1 { 1_i64.saturating_sub(hp) } else { 1 };
    let gain = scene.dice.of("tend").roll(3).max(least).min(DEFAULT_HP.saturating_sub(hp));
    let after = hp.saturating_add(gain);
    let reply = resolved()
        .line(scene.say(TENDED))
        .and(format!("{name} gets {} back and has {after} now.", points(gain)))
        .call("hp_delta", &change(other, gain, "tended by a companion"), "the player helps");
    if state == "dying" { reply.and(format!("{name} is on their feet again.")) } else { reply }
}

/// Returns the answer for a dying actor who rests.
pub(super) fn hold_on(scene: &Scene<'_>) -> Option<Reply> {
    let is_listed = scene.view.allowlist().iter().any(|tool| tool == "hp_delta");
    if !is_listed {
        return None;
    }
    let least = if scene.hp() < 1 { 1_i64.saturating_sub(scene.hp()) } else { 1 };
    let gain = scene.dice.of("rest").roll(3).max(least);
    let after = scene.hp().saturating_add(gain);
    let reply = resolved()
        .line(scene.say(GOT_UP))
        .and(format!("You are on your feet again, with {}.", points(after)));
    let args = change(scene.actor(), gain, "holding on");
    Some(reply.call("hp_delta", &args, "the player rests"))
}
