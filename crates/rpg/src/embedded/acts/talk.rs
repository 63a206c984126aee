//! Conversations: greetings, topics, memory, and companions.

use serde_json::json;

use super::super::grammar::{Noun, Slots};
use super::super::intent::{Intent, ParsedInput};
use super::super::lexicon::TableEntry;
use super::super::resolve::{
    Match, Scope, Target, find, find_among, is_same_word, noun_of, words_beside,
};
use super::super::story::{StoryTurn, quotable, short};
use super::{ask_which, fight, listing, not_here, quest, simple};

/// Returns the only person or companion who could be meant.
pub(super) fn only_listener(turn: &StoryTurn<'_>) -> Option<Target> {
    let people = turn.people_here();
    let members = turn.members_here();
    let last = &turn.world.last_person;
    match (people.as_slice(), members.as_slice()) {
        _ if people.contains(last) => Some(Target::Person(last.clone())),
        ([person], _) => Some(Target::Person(person.clone())),
        ([], _) if members.contains(last) => Some(Target::Member(last.clone())),
        ([], [member]) => Some(Target::Member(member.clone())),
        _ => None,
    }
}

/// Finds whom the player addresses. Answers if that is unclear.
fn listener(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) -> Option<Target> {
    let named =
        if parsed.addressee.is_empty() { parsed.all_words() } else { parsed.addressee.clone() };
    match find_among(turn, &named, Scope::Beings) {
        Match::One(target) => return Some(target),
        Match::Several(targets) => {
            ask_which(turn, &targets);
            return None;
        }
        Match::Nothing if !parsed.addressee.is_empty() => {
            not_here(turn, &parsed.addressee);
            return None;
        }
        // "ask Ilse about the crown", and Ilse is elsewhere.
        Match::Nothing if !parsed.object.is_empty() && !parsed.second.is_empty() => {
            not_here(turn, &parsed.object);
            return None;
        }
        Match::Nothing => {}
    }
    if let Some(target) = only_listener(turn) {
        return Some(target);
    }
    let all: Vec<Target> = turn.people_here().into_iter().map(Target::Person).collect();
    if !all.is_empty() {
        ask_which(turn, &all);
        return None;
    }
    match turn.foes_here().first() {
        Some(foe) => Some(Target::Foe(foe.clone())),
        None => {
            simple(turn, "nobody");
            None
        }
    }
}

/// Talks to somebody, about something if that is named.
pub(super) fn speak(turn: &mut StoryTurn<'_>, parsed: &ParsedInput, input: &str) {
    if says_password(turn, input) {
        return;
    }
    let Some(target) = listener(turn, parsed) else { return };
    turn.takes_time = true;
    let topic = words_beside(turn, &parsed.all_words(), &target);
    match target {
        Target::Foe(foe) => {
            let slots = Slots::new().noun("x", &turn.foe_noun(&foe));
            turn.tell("talk_foe", &slots);
        }
        Target::Member(member) if topic.is_empty() => talk_to_member(turn, &member),
        Target::Member(member) => {
            let slots = Slots::new().noun("p", &turn.member(&member));
            topic_answer(turn, &member, &topic, &slots);
        }
        Target::Person(person) => {
            turn.world.last_person.clone_from(&person);
            let persuades = input_persuades(turn, parsed, input);
            talk_to_person(turn, &person, parsed.intent, &topic, persuades);
        }
        _ => {}
    }
}

/// Returns whether the player tries to persuade somebody.
fn input_persuades(turn: &StoryTurn<'_>, parsed: &ParsedInput, input: &str) -> bool {
    let words = super::super::intent::words(input);
    let verbs = turn.pack.label("persuade_words");
    parsed.intent == Intent::Talk
        && words.iter().any(|word| verbs.split_whitespace().any(|verb| verb == word))
}

/// Says the name of the guardian, if that is what the input contains and it is here.
fn says_password(turn: &mut StoryTurn<'_>, input: &str) -> bool {
    let password = turn.world.quest.password.clone();
    let guardian = turn.world.quest.guardian.clone();
    let is_said = super::super::intent::words(input).contains(&password.to_lowercase());
    if !is_said || !turn.foes_here().contains(&guardian) {
        return false;
    }
    turn.takes_time = true;
    let slots = Slots::new().noun("x", &turn.foe_noun(&guardian)).text("w", password);
    turn.tell("calmed", &slots);
    fight::settle(turn, &guardian, "calmed");
    true
}

/// Answers an input that is only a name which means something here.
pub(super) fn answers_name(turn: &mut StoryTurn<'_>, said: &[String]) -> bool {
    says_password(turn, &said.join(" "))
}

fn talk_to_member(turn: &mut StoryTurn<'_>, member: &str) {
    member.clone_into(&mut turn.world.last_person);
    let slots = Slots::new().noun("p", &turn.member(member));
    let told = turn.tell_optional("member_talk", &slots);
    let advised = quest::member_advice(turn, &slots);
    if !told && !advised {
        turn.status("said_before", turn.member(member).head());
    }
}

fn talk_to_person(
    turn: &mut StoryTurn<'_>,
    person: &str,
    intent: Intent,
    topic: &[String],
    persuades: bool,
) {
    let Some(entry) = turn.pack.person(person) else { return };
    let slots = Slots::new().noun("p", &entry.name);
    let (mood, met) =
        turn.world.people.get(person).map_or((0, false), |known| (known.mood, known.met));
    if let Some(known) = turn.world.people.get_mut(person) {
        known.met = true;
    }
    if mood < 0 {
        if !turn.tell_optional("greet_angry", &slots) {
            turn.tell("angry", &slots);
        }
        turn.tell_optional("angry", &slots);
        return;
    }
    if persuades && person == turn.world.quest.informant && !turn.world.quest.located {
        return quest::persuade(turn);
    }
    match intent {
        Intent::Thanks => return turn.tell("thanks", &slots),
        Intent::Tell if !topic.is_empty() => return turn.tell("told", &slots),
        _ => {}
    }
    if topic.is_empty() {
        let phrase = match (mood, met) {
            (2.., _) => "greet_friend",
            (_, true) => "greet_again",
            _ => "greet",
        };
        if !turn.tell_optional(phrase, &slots) {
            turn.tell_optional("greet_again", &slots);
        }
        turn.paragraph();
        if !quest::speak_of_it(turn, person) {
            about_self(turn, entry);
        }
        return hint_topics(turn, person, &slots);
    }
    topic_answer(turn, person, topic, &slots);
}

/// Tells something about the person, or a rumour.
fn about_self(turn: &mut StoryTurn<'_>, entry: &TableEntry) {
    let slots = Slots::new().noun("p", &entry.name);
    let told = turn.tell_one_of(&[entry.text("about").to_owned()], &slots)
        || turn.tell_one_of(&[entry.text("rumour").to_owned()], &slots)
        || turn.tell_optional("no_rumour", &slots);
    if !told {
        turn.status("said_before", entry.name.head());
    }
}

/// Suggests what the person could be asked.
fn hint_topics(turn: &mut StoryTurn<'_>, person: &str, slots: &Slots) {
    let mut topics = Vec::new();
    let plain = |noun: &Noun| {
        Slots::new().noun("o", noun).fill("x {o.d}").trim_start_matches("x ").to_owned()
    };
    if turn.world.quest.status == "active"
        && let Some(entry) = turn.pack.quest(&turn.world.quest.id)
    {
        topics.push(plain(&entry.name));
    }
    if let Some((_, area)) = turn.exits().first() {
        topics.push(plain(&turn.place_noun(area)));
    }
    if let Some(other) = turn.world.people.keys().find(|id| *id != person) {
        topics.push(turn.person_noun(other).head().to_owned());
    }
    if topics.is_empty() {
        return;
    }
    let at = turn.dice.of("topic").below(topics.len() as u64);
    if let Some(topic) = topics.get(usize::try_from(at).unwrap_or_default()) {
        let slots = slots.clone().text("w", topic.clone());
        turn.paragraph();
        turn.tell_optional("hint_topics", &slots);
    }
}

fn topic_answer(turn: &mut StoryTurn<'_>, person: &str, topic: &[String], slots: &Slots) {
    if quest::answer_topic(turn, person, topic) {
        return;
    }
    let tongue = turn.pack.tongue;
    let names = |noun: &Noun, more: &[String]| {
        let known = super::super::intent::words(&noun.bare());
        topic
            .iter()
            .any(|word| known.iter().chain(more).any(|name| is_same_word(tongue, word, name)))
    };
    let of_people = turn.world.people.keys().find(|id| {
        let role =
            turn.pack.person(id).map(|entry| super::super::intent::words(entry.text("role")));
        names(&turn.person_noun(id), &role.unwrap_or_default())
    });
    if let Some(other) = of_people.cloned() {
        return about_person(turn, person, &other, slots);
    }
    let of_foes = turn.world.foes.keys().find(|id| {
        let more = turn.pack.foe(id).map(|entry| entry.words.clone()).unwrap_or_default();
        names(&turn.foe_noun(id), &more)
    });
    if let Some(foe) = of_foes.cloned() {
        let want =
            turn.pack.foe(&foe).and_then(|entry| entry.tags.first().cloned()).unwrap_or_default();
        let slots = slots.clone().noun("x", &turn.foe_noun(&foe)).text("w", turn.pack.tag(&want));
        return answered(turn, "topic_foe", &slots, topic);
    }
    if let Some(area) = super::travel::known_place(turn, topic) {
        let slots = slots.clone().noun("l", &turn.place_noun(&area));
        return match turn.first_step(&area) {
            Some((direction, _)) => {
                let slots = slots.text("dir", turn.direction_name(direction));
                answered(turn, "topic_place", &slots, topic);
            }
            None => answered(turn, "topic_here", &slots, topic),
        };
    }
    if let Match::One(target @ Target::Item(_)) = find(turn, topic, Scope::Items) {
        let slots = slots.clone().noun("o", &noun_of(turn, &target));
        return answered(turn, "topic_item", &slots, topic);
    }
    let asks_rumour = topic
        .iter()
        .any(|word| turn.pack.label("rumour_words").split(' ').any(|known| known == word));
    if asks_rumour && let Some(entry) = turn.pack.person(person) {
        return about_self(turn, entry);
    }
    let word = match (quotable(&topic.join(" ")), turn.pack.person(person)) {
        (Some(word), _) => short(&word),
        // Nothing is left of the words that can be repeated.
        (None, Some(entry)) => return about_self(turn, entry),
        (None, None) => "…".to_owned(),
    };
    let slots = slots.clone().text("w", tongue.as_noun(&word));
    answered(turn, "topic_unknown", &slots, topic);
}

/// Tells an answer; one that was given lately is only mentioned.
fn answered(turn: &mut StoryTurn<'_>, phrase: &str, slots: &Slots, topic: &[String]) {
    if !turn.tell_optional(phrase, slots) {
        let word = quotable(&topic.join(" ")).map_or_else(|| "…".to_owned(), |word| short(&word));
        turn.status("said_before", word);
    }
}

fn about_person(turn: &mut StoryTurn<'_>, speaker: &str, other: &str, slots: &Slots) {
    let topic = [turn.person_noun(other).head().to_owned()];
    if speaker == other {
        if let Some(entry) = turn.pack.person(other) {
            turn.tell_optional("topic_self_person", slots);
            about_self(turn, entry);
        }
        return;
    }
    let at = turn.world.people.get(other).map(|known| known.at.clone()).unwrap_or_default();
    let role = turn.pack.person(other).map_or("", |entry| entry.text("role"));
    let slots = slots
        .clone()
        .noun("q", &turn.person_noun(other))
        .noun("l", &turn.place_noun(&at))
        .text("r", role);
    answered(turn, "topic_person", &slots, &topic);
}

/// Returns everybody who is meant by "follow me" or "wait here".
fn meant(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) -> Option<Vec<Target>> {
    let named =
        if parsed.addressee.is_empty() { parsed.all_words() } else { parsed.addressee.clone() };
    match find_among(turn, &named, Scope::People) {
        Match::One(target) => Some(vec![target]),
        Match::Several(targets) => Some(targets),
        Match::Nothing if !parsed.addressee.is_empty() => {
            not_here(turn, &parsed.addressee);
            None
        }
        Match::Nothing => {
            let members = turn.members_here().into_iter().map(Target::Member);
            let people = turn.people_here().into_iter();
            let friends =
                people.filter(|id| turn.world.people.get(id).is_some_and(|known| known.follows));
            let all: Vec<Target> = members.chain(friends.map(Target::Person)).collect();
            if all.is_empty() {
                return only_listener(turn).map(|target| vec![target]).or_else(|| {
                    simple(turn, "nobody");
                    None
                });
            }
            Some(all)
        }
    }
}

/// Asks companions to follow; a person is asked to join.
pub(super) fn follow(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(targets) = meant(turn, parsed) else { return };
    turn.takes_time = true;
    for target in targets {
        match target {
            Target::Member(member) => {
                let slots = Slots::new().noun("p", &turn.member(&member));
                let is_news = turn.world.followers.insert(member);
                turn.tell(if is_news { "follow" } else { "follow_already" }, &slots);
            }
            Target::Person(person) => ask_to_join(turn, &person),
            _ => {}
        }
    }
    if parsed.direction.is_some() {
        super::travel::go(turn, parsed);
    }
}

/// Asks companions to wait here.
pub(super) fn stay(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let Some(targets) = meant(turn, parsed) else { return };
    turn.takes_time = true;
    for target in targets {
        let slots = Slots::new().noun("p", &noun_of(turn, &target));
        match &target {
            Target::Member(member) => {
                let id =
                    turn.view.tree.string_at(&["actors", member.as_str(), "meta", "character_id"]);
                turn.world.followers.remove(member);
                turn.world.followers.remove(&id.unwrap_or_default());
            }
            Target::Person(person) => {
                if let Some(known) = turn.world.people.get_mut(person) {
                    known.follows = false;
                }
            }
            _ => {}
        }
        turn.tell("stay", &slots);
    }
}

pub(super) fn recruit(turn: &mut StoryTurn<'_>, parsed: &ParsedInput) {
    let named =
        if parsed.addressee.is_empty() { parsed.all_words() } else { parsed.addressee.clone() };
    match find_among(turn, &named, Scope::People) {
        Match::One(Target::Person(person)) => ask_to_join(turn, &person),
        Match::One(_) | Match::Several(_) => follow(turn, parsed),
        Match::Nothing => match turn.people_here().as_slice() {
            [] => simple(turn, "nobody"),
            [person] => ask_to_join(turn, &person.clone()),
            several => {
                let targets: Vec<Target> = several.iter().cloned().map(Target::Person).collect();
                ask_which(turn, &targets);
            }
        },
    }
}

/// Asks a person to come along. Friends do; under the second rules they become members of the party.
fn ask_to_join(turn: &mut StoryTurn<'_>, person: &str) {
    turn.takes_time = true;
    person.clone_into(&mut turn.world.last_person);
    let name = turn.person_noun(person);
    let slots = Slots::new().noun("p", &name);
    let quest = &turn.world.quest;
    if [&quest.giver, &quest.informant, &quest.rival].contains(&&person.to_owned()) {
        return turn.tell("recruit_needed", &slots);
    }
    let Some(known) = turn.world.people.get(person) else { return };
    if known.follows {
        return turn.tell("follow_already", &slots);
    }
    let is_friend = known.mood > 0 || turn.check(known.mood, 10);
    if !is_friend {
        return turn.tell("recruit_no", &slots);
    }
    turn.tell("recruit_yes", &slots);
    if turn.may("actor_spawn") {
        let args = json!({"character_id": name.head(), "spawn_position": turn.here, "bind_to_party": true});
        turn.call("actor_spawn", &args, "the player asks them to join");
        turn.world.followers.insert(name.head().to_owned());
        if let Some(known) = turn.world.people.get_mut(person) {
            super::super::world::GONE.clone_into(&mut known.at);
        }
    } else if let Some(known) = turn.world.people.get_mut(person) {
        known.follows = true;
    }
    listing::list(turn);
}
