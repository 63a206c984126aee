//! Turns the player's intent into an answer: [`answer`] tells a [`StoryTurn`].

mod advice;
mod examine;
mod fight;
mod journal;
mod listing;
mod look;
mod quest;
mod scene;
mod talk;
mod things;
mod travel;

use super::grammar::{Slots, Tongue};
use super::intent::{Intent, ParsedInput, is_foreign, understand, words};
use super::resolve::{Match, Scope, Target, find, is_same_word, noun_of};
use super::story::{StoryTurn, quotable, short};
use super::{genesis, lexicon::LanguagePack};
use crate::dialog::DialogType;

/// Tells the answer to an input.
pub(super) fn answer(turn: &mut StoryTurn<'_>, input: &str) {
    if input.trim().is_empty() {
        look::opening(turn);
        quest::update(turn);
        return;
    }
    let parsed = understand(turn.pack, input);
    let is_unknown = parsed.intent == Intent::Mention
        && scene::entities_here(turn).is_empty()
        && find(turn, &parsed.all_words(), Scope::Anything) == Match::Nothing
        && parsed.direction.is_none();
    if is_unknown {
        if let Some(tongue) = other_tongue(turn, input) {
            genesis::translate(turn, tongue);
            return answer(turn, input);
        }
        if is_foreign(input) {
            turn.kind = DialogType::ActionPrompt;
            turn.status("not_understood", short(&quotable(input).unwrap_or_default()));
            turn.status("try", turn.pack.label("other_language"));
            return;
        }
    }
    let offer = std::mem::take(&mut turn.world.offer);
    let asked = std::mem::take(&mut turn.world.asked);
    let answers = parsed.intent == Intent::Mention
        && !asked.is_empty()
        && matches!(find(turn, &parsed.all_words(), Scope::Anything), Match::One(_));
    if answers {
        // The input says which one was meant before.
        let whole = format!("{asked} {input}");
        act(turn, &understand(turn.pack, &whole), &whole, &offer);
    } else {
        act(turn, &parsed, input, &offer);
    }
    if turn.takes_time {
        fight::foes_act(turn);
    }
    if let Some(rest) = quotable(&parsed.rest) {
        turn.status("asleep", short(&rest));
    }
    quest::update(turn);
}

/// Returns the language of an input that is understood in another one.
fn other_tongue(turn: &StoryTurn<'_>, input: &str) -> Option<Tongue> {
    let other = match turn.pack.tongue {
        Tongue::English => Tongue::German,
        Tongue::German => Tongue::English,
    };
    let intent = understand(LanguagePack::of(other), input).intent;
    let is_german = genesis::sounds_german(input);
    let fits = intent != Intent::Mention && is_german == (other == Tongue::German);
    fits.then_some(other)
}

/// Returns whether an intent only asks, so that it is answered in any state.
fn only_asks(intent: Intent) -> bool {
    use Intent::{Help, Inventory, Language, Look, Quest, Recap, Roll, Rules, Status, Ways};
    matches!(
        intent,
        Help | Inventory | Language | Look | Quest | Recap | Roll | Rules | Status | Ways
    )
}

fn act(turn: &mut StoryTurn<'_>, parsed: &ParsedInput, input: &str, offer: &str) {
    let state = turn.view.state(turn.actor());
    if state != "alive" && !only_asks(parsed.intent) {
        match state.as_str() {
            "dying" => fight::lie_low(turn, parsed.intent),
            _ => {
                turn.kind = DialogType::ResolutionSummary;
                turn.tell("unable", &Slots::new());
                turn.status("try", turn.pack.label("actor_hint"));
            }
        }
        return;
    }
    turn.kind = dialog_type_of(parsed.intent);
    if !scene::act(turn, parsed) {
        perform(turn, parsed, input, offer);
    }
}

/// Returns the dialog type of the answer to an intent.
fn dialog_type_of(intent: Intent) -> DialogType {
    match intent {
        Intent::Look
        | Intent::Examine
        | Intent::Go
        | Intent::Back
        | Intent::Explore
        | Intent::Listen => DialogType::SceneDescription,
        Intent::Ways
        | Intent::Help
        | Intent::Quest
        | Intent::Yes
        | Intent::No
        | Intent::Language => DialogType::ActionPrompt,
        Intent::Rules => DialogType::RuleExplanation,
        _ => DialogType::ResolutionSummary,
    }
}

/// Does what the player wants.
fn perform(turn: &mut StoryTurn<'_>, parsed: &ParsedInput, input: &str, offer: &str) {
    match parsed.intent {
        Intent::Look => look::around(turn),
        Intent::Examine => examine::examine(turn, parsed),
        Intent::Search => examine::search(turn, parsed),
        Intent::Listen => look::listen(turn),
        Intent::Ways => travel::ways(turn),
        Intent::Go if !offer.is_empty() && says_only_it(turn, parsed) => travel::go_to(turn, offer),
        Intent::Go => travel::go(turn, parsed),
        Intent::Back => travel::back(turn),
        Intent::Explore => travel::explore(turn),
        Intent::Flee => travel::flee(turn, parsed),
        Intent::Take => things::take(turn, parsed),
        Intent::Drop => things::drop_item(turn, parsed),
        Intent::Give => things::give(turn, parsed),
        Intent::Light => things::light(turn, parsed),
        Intent::Douse => things::douse(turn, parsed),
        Intent::Read => things::read(turn, parsed),
        Intent::Open => things::open(turn, parsed),
        Intent::Use => things::use_item(turn, parsed),
        Intent::Throw => things::throw(turn, parsed),
        Intent::Eat => things::eat(turn, parsed),
        Intent::Play => things::play(turn, parsed),
        Intent::Talk | Intent::Greet | Intent::Ask | Intent::Tell | Intent::Thanks => {
            talk::speak(turn, parsed, input);
        }
        Intent::Follow => talk::follow(turn, parsed),
        Intent::Stay => talk::stay(turn, parsed),
        Intent::Recruit => talk::recruit(turn, parsed),
        Intent::Attack => fight::attack(turn, parsed),
        Intent::Sneak => fight::sneak(turn, parsed),
        Intent::Rest => fight::rest(turn),
        Intent::Tend => fight::tend(turn, parsed),
        Intent::Inventory => advice::inventory(turn),
        Intent::Status => advice::status(turn),
        Intent::Quest => journal::show(turn),
        Intent::Recap => journal::tell(turn),
        Intent::Help => advice::help(turn),
        Intent::Rules => advice::rules(turn, parsed),
        Intent::Roll => advice::roll(turn, input),
        Intent::Language => advice::language(turn, parsed),
        Intent::Wait => {
            turn.takes_time = true;
            turn.tell_optional("waited", &Slots::new());
            turn.tell_optional("time", &Slots::new());
            listing::list(turn);
        }
        Intent::Yes if !offer.is_empty() => travel::go_to(turn, offer),
        Intent::Yes => simple(turn, "yes_what"),
        Intent::No => simple(turn, "held"),
        Intent::Emote => {
            turn.takes_time = true;
            simple(turn, "emote");
        }
        Intent::Impossible => {
            simple(turn, "impossible");
            advice::suggest(turn);
        }
        Intent::Mention => mention(turn, parsed, input),
    }
}

/// Returns whether the object is only a pronoun: "follow it".
fn says_only_it(turn: &StoryTurn<'_>, parsed: &ParsedInput) -> bool {
    let said = parsed.all_words();
    !said.is_empty() && said.iter().all(|word| turn.pack.words.pronouns.contains(word))
}

/// Tells a sentence, or the place if there is none left.
fn simple(turn: &mut StoryTurn<'_>, phrase: &str) {
    if !turn.tell_optional(phrase, &Slots::new()) && !turn.tell_optional("time", &Slots::new()) {
        listing::list(turn);
    }
}

/// Answers an input that names something, but no action.
fn mention(turn: &mut StoryTurn<'_>, parsed: &ParsedInput, input: &str) {
    if !parsed.addressee.is_empty() {
        return talk::speak(turn, parsed, input);
    }
    let said = parsed.all_words();
    if let Some(direction) = parsed.direction {
        return travel::towards(turn, direction);
    }
    match find(turn, &said, Scope::Anything) {
        Match::One(Target::Exit(area)) => travel::go_to(turn, &area),
        Match::One(Target::Person(_) | Target::Member(_)) => talk::speak(turn, parsed, input),
        Match::One(target) => examine::examine_target(turn, &target),
        Match::Several(targets) => ask_which(turn, &targets),
        Match::Nothing if travel::known_place(turn, &said).is_some() => travel::go(turn, parsed),
        Match::Nothing if talk::answers_name(turn, &said) => {}
        Match::Nothing => not_understood(turn, input),
    }
}

/// Says that an input is not understood, and what would be.
fn not_understood(turn: &mut StoryTurn<'_>, input: &str) {
    turn.kind = DialogType::ActionPrompt;
    turn.status("not_understood", short(&quotable(input).unwrap_or_else(|| "…".to_owned())));
    advice::suggest(turn);
}

/// Asks which of several things is meant.
fn ask_which(turn: &mut StoryTurn<'_>, targets: &[Target]) {
    turn.kind = DialogType::ActionPrompt;
    turn.request.user_input.clone_into(&mut turn.world.asked);
    let slots = |target: &Target| Slots::new().noun("o", &noun_of(turn, target));
    let names: Vec<String> = targets.iter().map(|target| slots(target).fill("x {o.n}")).collect();
    let names: Vec<String> =
        names.iter().map(|name| name.trim_start_matches("x ").to_owned()).collect();
    let (last, rest) = match names.split_last() {
        Some((last, rest)) => (last.clone(), rest.join(", ")),
        None => return,
    };
    let text =
        if rest.is_empty() { last } else { format!("{rest} {} {last}", turn.pack.label("or")) };
    turn.status("which", format!("{text}?"));
}

/// Says that what was named is not here, and what is; or that it belongs to the place, and is of no use.
fn not_here(turn: &mut StoryTurn<'_>, said: &[String]) {
    turn.kind = DialogType::ActionPrompt;
    if let Some(word) = said.last().filter(|word| is_mentioned(turn, word)) {
        let slots = Slots::new().text("w", turn.pack.tongue.as_noun(word));
        if !turn.tell_optional("mentioned", &slots) {
            turn.status("found_label", turn.pack.label("nothing"));
        }
        return;
    }
    let name = quotable(&said.join(" ")).map_or_else(|| "…".to_owned(), |name| short(&name));
    turn.status("missing", turn.pack.tongue.as_noun(&name));
    listing::list(turn);
}

/// Returns whether the descriptions of the place mention a word.
fn is_mentioned(turn: &StoryTurn<'_>, word: &str) -> bool {
    let kind = turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
    let Some(kind) = kind.filter(|_| word.chars().count() > 3) else { return false };
    let details = kind.scenery.iter().map(|thing| &thing.detail);
    let mut texts = kind.sights.iter().chain(&kind.senses).chain(details);
    let tongue = turn.pack.tongue;
    texts.any(|text| words(text).iter().any(|known| is_same_word(tongue, word, known)))
}

/// Finds one target, or answers that there is none or more than one.
fn one(turn: &mut StoryTurn<'_>, said: &[String], scope: Scope) -> Option<Target> {
    match find(turn, said, scope) {
        Match::One(target) => Some(target),
        Match::Several(targets) => {
            ask_which(turn, &targets);
            None
        }
        Match::Nothing => {
            not_here(turn, said);
            None
        }
    }
}
