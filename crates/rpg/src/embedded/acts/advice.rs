//! Questions about the game: what one carries, how one is, the rules, dice and help.

use super::super::genesis;
use super::super::grammar::{Slots, Tongue};
use super::super::intent::ParsedInput;
use super::super::resolve::is_same_word;
use super::super::story::StoryTurn;
use super::{listing, look};
use crate::roll::DiceExpression;

/// Returns what the actor carries, as text.
pub(super) fn carried_list(turn: &StoryTurn<'_>) -> String {
    item_list(turn, &turn.carried())
}

fn item_list(turn: &StoryTurn<'_>, items: &[String]) -> String {
    let name = |id: &String| {
        let text = Slots::new().noun("o", &turn.item_noun(id)).fill("x {o.ia}");
        let text = text.trim_start_matches("x ").to_owned();
        let lit = turn.world.items.get(id).is_some_and(|item| item.lit);
        if lit { format!("{text} ({})", turn.pack.label("lit_mark")) } else { text }
    };
    let all: Vec<String> = items.iter().map(name).collect();
    turn.listed(&all)
}

pub(super) fn inventory(turn: &mut StoryTurn<'_>) {
    turn.status("carry", carried_list(turn));
    for member in turn.members_here() {
        let items = turn.items_at(&member);
        if !items.is_empty() {
            let text = format!("{}: {}", turn.member(&member).head(), item_list(turn, &items));
            turn.status("party", text);
        }
    }
}

/// Shows the hit points of the party, and where its members are.
pub(super) fn status(turn: &mut StoryTurn<'_>) {
    let actor = turn.actor();
    let (points, most) = (turn.hp_of(actor), turn.view.most_hp(actor));
    let slots = Slots::new().text("n", points.to_string()).text("m", most.to_string());
    turn.status_phrase("hurt", "you_points", &slots);
    for member in turn.view.party().into_iter().filter(|member| member != actor) {
        let slots = Slots::new()
            .noun("p", &turn.member(&member))
            .text("n", turn.hp_of(&member).to_string());
        let text = slots.fill(turn.pack.label("points"));
        let at = turn.view.position(&member).unwrap_or_default();
        let place = match at == turn.here {
            true => turn.pack.label("with_you").to_owned(),
            false => {
                let slots = Slots::new().noun("l", &turn.place_noun(&at));
                slots
                    .fill(&format!("x {}", turn.pack.label("elsewhere")))
                    .trim_start_matches("x ")
                    .to_owned()
            }
        };
        turn.status("party", format!("{text}, {place}"));
    }
}

/// Suggests inputs that make sense here.
pub(super) fn suggest(turn: &mut StoryTurn<'_>) {
    let mut slots = Slots::new();
    let quest = turn.pack.quest(&turn.world.quest.id).map(|quest| quest.name.clone());
    let mut phrases = vec!["try_look"];
    if let Some((direction, _)) = turn.exits().first() {
        slots = slots.text("dir", turn.direction_name(*direction));
        phrases.push("try_go");
    }
    if let Some(item) = turn.items_at(&turn.here).first() {
        slots = slots.noun("o", &turn.item_noun(item));
        phrases.push("try_take");
    }
    if let (Some(person), Some(quest)) = (turn.people_here().first(), &quest) {
        slots = slots.noun("p", &turn.person_noun(person)).noun("q", quest);
        phrases.push("try_ask");
    }
    if let Some(foe) = turn.foes_here().first() {
        slots = slots.noun("x", &turn.foe_noun(foe));
        phrases.push("try_fight");
    }
    phrases.push("try_more");
    let fill = |phrase: &&str| slots.fill(&format!("x {}", turn.pack.label(phrase)));
    let all: Vec<String> =
        phrases.iter().map(fill).map(|text| text.trim_start_matches("x ").to_owned()).collect();
    turn.status("try", all.join("; "));
}

pub(super) fn help(turn: &mut StoryTurn<'_>) {
    suggest(turn);
    turn.status("rules_label", turn.pack.label("rule_0"));
    listing::list(turn);
}

/// Explains the rules that the words ask for.
pub(super) fn rules(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let said = parsed.all_words();
    let topics = ["fight", "wounds", "travel", "items", "people", "dice"];
    let tongue = turn.pack.tongue;
    let lists = turn.pack.variants("rule_words").iter();
    let asked = lists.zip(topics).find(|(list, _)| {
        let mut known = list.split_whitespace();
        known.any(|known| said.iter().any(|word| is_same_word(tongue, word, known)))
    });
    let rule = asked.map_or_else(|| "rule_0".to_owned(), |(_, topic)| format!("rule_{topic}"));
    turn.status("rules_label", turn.pack.label(&rule));
}

/// Rolls dice that the player names; d20 if none are named.
pub(super) fn roll(turn: &mut StoryTurn<'_>, input: &str) {
    let is_dice = |word: &&str| {
        word.chars().any(|c| c.is_ascii_digit()) || word.starts_with(['+', '-', 'd', 'w'])
    };
    let words: Vec<&str> =
        input.split_whitespace().skip_while(|word| DiceExpression::parse(word).is_err()).collect();
    let text: String = words.iter().copied().take_while(is_dice).collect();
    let parsed = match input.chars().any(|c| c.is_ascii_digit()) {
        true => DiceExpression::parse(&text).or_else(|_| DiceExpression::parse(input)),
        false => DiceExpression::parse("d20"),
    };
    let Ok(dice) = parsed else {
        return turn.status("try", turn.pack.label("dice_help"));
    };
    let rolled = dice.roll(turn.dice.of("player").below(u64::MAX));
    turn.tell_optional("roll", &Slots::new());
    turn.status("dice", rolled.to_string());
}

/// Goes on in another language.
pub(super) fn language(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let tongue = parsed.object.iter().find_map(|word| Tongue::parse(word));
    genesis::translate(turn, tongue.unwrap_or(turn.pack.tongue));
    turn.status("made", turn.pack.label("switched"));
    look::describe(turn);
}
