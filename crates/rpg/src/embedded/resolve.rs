//! Finds what the player's words refer to: [`find`] returns a [`Match`] of [`Target`]s.

use super::grammar::{Noun, Tongue};
use super::intent::words;
use super::story::StoryTurn;

/// Something that words can refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Item(String),
    Person(String),
    /// A member of the party.
    Member(String),
    Foe(String),
    /// A thing that belongs to the place, by its number, and the noun that was used.
    Scenery(usize, usize),
    Obstacle,
    /// An adjacent place.
    Exit(String),
    Place,
    Myself,
}

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match {
    Nothing,
    One(Target),
    Several(Vec<Target>),
}

/// What may be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Anything,
    /// Items here and carried ones.
    Items,
    Carried,
    /// Items that lie here.
    Lying,
    /// People and members of the party.
    People,
    Foes,
    /// People, members and foes.
    Beings,
    /// Scenery, the obstacle, beings and items that lie here: what a thing can be used on.
    Surroundings,
}

impl Scope {
    fn has(self, target: &Target, is_carried: bool) -> bool {
        match (self, target) {
            (Scope::Anything, _) => true,
            (Scope::Items, Target::Item(_)) => true,
            (Scope::Carried, Target::Item(_)) => is_carried,
            (Scope::Lying, Target::Item(_)) => !is_carried,
            (Scope::People | Scope::Beings, Target::Person(_) | Target::Member(_)) => true,
            (Scope::Foes | Scope::Beings, Target::Foe(_)) => true,
            (Scope::Surroundings, Target::Item(_)) => !is_carried,
            (Scope::Surroundings, target) => !matches!(target, Target::Exit(_) | Target::Place),
            _ => false,
        }
    }
}

/// A target with the words for it. The first list must be hit, the second one only helps.
struct Candidate {
    target: Target,
    heads: Vec<String>,
    others: Vec<String>,
    is_carried: bool,
}

/// Returns whether two words are forms of the same one.
pub(super) fn is_same_word(tongue: Tongue, said: &str, known: &str) -> bool {
    if said == known {
        return true;
    }
    let stem = |word: &str| -> String {
        let mut word = word.trim_end_matches("'s").to_owned();
        let endings: &[char] = match tongue {
            Tongue::English => &['s'],
            Tongue::German => &['e', 'n', 's', 'm', 'r'],
        };
        let least = if tongue == Tongue::English { 3 } else { 4 };
        for _ in 0..2 {
            if word.chars().count() > least && word.ends_with(endings) {
                word.pop();
            }
        }
        word
    };
    said.chars().count() >= 3 && stem(said) == stem(known)
}

fn noun_words(noun: &Noun, more: &[String]) -> (Vec<String>, Vec<String>) {
    let mut heads = words(noun.head());
    let others = words(&noun.bare());
    heads.extend(more.iter().map(|word| word.to_lowercase()));
    heads.retain(|word| word != "of");
    (heads, others)
}

fn candidates(turn: &StoryTurn<'_>) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add =
        |target: Target, (heads, others): (Vec<String>, Vec<String>), is_carried: bool| {
            all.push(Candidate { target, heads, others, is_carried });
        };
    let carried = turn.carried();
    // What companions carry can be asked of them, and taken back.
    let with_members = turn.members_here().into_iter().flat_map(|member| turn.items_at(&member));
    let lying: Vec<String> = turn.items_at(&turn.here).into_iter().chain(with_members).collect();
    for id in carried.iter().chain(&lying) {
        let more = turn.item_entry(id).map(|entry| entry.words.clone()).unwrap_or_default();
        let noun = turn.item_noun(id);
        add(Target::Item(id.clone()), noun_words(&noun, &more), carried.contains(id));
    }
    for id in turn.people_here() {
        let mut role =
            turn.pack.person(&id).map(|person| words(person.text("role"))).unwrap_or_default();
        role.extend(words(turn.pack.label("somebody")));
        add(Target::Person(id.clone()), noun_words(&turn.person_noun(&id), &role), false);
    }
    for member in turn.members_here() {
        let more = words(&format!("{member} {}", turn.pack.label("stranger")));
        add(Target::Member(member.clone()), noun_words(&turn.member(&member), &more), false);
    }
    for id in turn.foes_here() {
        let more = turn.pack.foe(&id).map(|foe| foe.words.clone()).unwrap_or_default();
        add(Target::Foe(id.clone()), noun_words(&turn.foe_noun(&id), &more), false);
    }
    if turn.is_vault()
        && turn.world.quest.spotted
        && let Some(obstacle) = turn.obstacle()
    {
        add(Target::Obstacle, noun_words(&obstacle.name, &obstacle.words), false);
    }
    let kind = turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
    for (number, thing) in kind.iter().flat_map(|kind| kind.scenery.iter().enumerate()) {
        for (which, noun) in thing.nouns.iter().enumerate() {
            add(Target::Scenery(number, which), noun_words(noun, &[]), false);
        }
    }
    for (_, area) in turn.exits() {
        let (heads, _) = noun_words(&turn.place_noun(&area), &[area.to_lowercase()]);
        add(Target::Exit(area), (heads, Vec::new()), false);
    }
    let (heads, _) = noun_words(&turn.place_noun(&turn.here), &[turn.here.to_lowercase()]);
    add(Target::Place, (heads, Vec::new()), false);
    let own = turn.pack.words.own.clone();
    add(Target::Myself, (own, words(turn.actor())), false);
    all
}

/// The order in which kinds of targets are preferred if the words fit equally well.
fn rank(candidate: &Candidate) -> usize {
    match candidate.target {
        Target::Foe(_) | Target::Person(_) | Target::Member(_) | Target::Item(_) => 0,
        Target::Obstacle => 1,
        Target::Scenery(..) => 2,
        Target::Exit(_) => 3,
        Target::Place | Target::Myself => 4,
    }
}

/// Finds what words refer to.
pub(super) fn find(turn: &StoryTurn<'_>, said: &[String], scope: Scope) -> Match {
    let is_pronoun = |word: &String| turn.pack.words.pronouns.contains(word);
    if !said.is_empty() && said.iter().all(is_pronoun) {
        let is_personal = said.iter().all(|word| turn.pack.words.personal.contains(word));
        return find_pronoun(turn, scope, is_personal);
    }
    let tongue = turn.pack.tongue;
    let mut best: Vec<(usize, Candidate)> = Vec::new();
    for candidate in candidates(turn) {
        let hits = |list: &[String]| {
            let is_hit =
                |word: &&String| list.iter().any(|known| is_same_word(tongue, word, known));
            said.iter().filter(is_hit).count()
        };
        let all: Vec<String> = [candidate.heads.as_slice(), &candidate.others].concat();
        let (heads, score) = (hits(&candidate.heads), hits(&all));
        let strange = said.len().saturating_sub(score);
        if heads == 0 && score == 0 || strange > score + 1 {
            continue;
        }
        if !scope.has(&candidate.target, candidate.is_carried) {
            continue;
        }
        // The noun itself counts more than its adjectives.
        let score = 2 * score + usize::from(heads > 0);
        best.push((score, candidate));
    }
    let most = best.iter().map(|(score, _)| *score).max().unwrap_or(0);
    best.retain(|(score, _)| *score == most);
    let first = best.iter().map(|(_, candidate)| rank(candidate)).min().unwrap_or(0);
    best.retain(|(_, candidate)| rank(candidate) == first);
    let mut targets: Vec<Target> = Vec::new();
    for (_, candidate) in best {
        let known = |known: &Target| match (known, &candidate.target) {
            (Target::Scenery(one, _), Target::Scenery(other, _)) => one == other,
            (one, other) => one == other,
        };
        if !targets.iter().any(known) {
            targets.push(candidate.target);
        }
    }
    match targets.as_slice() {
        [] => Match::Nothing,
        [one] => Match::One(one.clone()),
        _ => Match::Several(targets),
    }
}

/// Finds what "it" or "her" refers to: what was mentioned last, or the only thing of its kind. A personal pronoun never
/// means an item.
fn find_pronoun(turn: &StoryTurn<'_>, scope: Scope, is_personal: bool) -> Match {
    let mut known = Vec::new();
    for candidate in candidates(turn) {
        let is_last = match &candidate.target {
            Target::Item(id) | Target::Foe(id) => *id == turn.world.last_thing,
            Target::Person(id) | Target::Member(id) => *id == turn.world.last_person,
            _ => false,
        };
        let is_being = !matches!(
            candidate.target,
            Target::Scenery(..) | Target::Exit(_) | Target::Place | Target::Myself
        );
        let is_item = matches!(candidate.target, Target::Item(_));
        if scope.has(&candidate.target, candidate.is_carried)
            && is_being
            && !(is_personal && is_item)
        {
            known.push((is_last, candidate.target));
        }
    }
    if let Some((_, target)) = known.iter().find(|(is_last, _)| *is_last) {
        return Match::One(target.clone());
    }
    let targets: Vec<Target> = known.into_iter().map(|(_, target)| target).collect();
    match targets.as_slice() {
        [] => Match::Nothing,
        [one] => Match::One(one.clone()),
        _ => Match::Several(targets),
    }
}

/// Returns the noun of a target.
pub(super) fn noun_of(turn: &StoryTurn<'_>, target: &Target) -> Noun {
    match target {
        Target::Item(id) => turn.item_noun(id),
        Target::Person(id) => turn.person_noun(id),
        Target::Member(id) => turn.member(id),
        Target::Foe(id) => turn.foe_noun(id),
        Target::Obstacle => match turn.obstacle() {
            Some(obstacle) => obstacle.name.clone(),
            None => turn.proper("?"),
        },
        Target::Scenery(number, which) => {
            let kind =
                turn.world.places.get(&turn.here).and_then(|place| turn.pack.place(&place.kind));
            let thing = kind.and_then(|kind| kind.scenery.get(*number));
            let noun = thing.and_then(|thing| thing.nouns.get(*which));
            noun.map_or_else(|| turn.proper("?"), |noun| noun.clone().always_definite())
        }
        Target::Exit(area) => turn.place_noun(area),
        Target::Place => turn.place_noun(&turn.here),
        Target::Myself => turn.member(turn.actor()),
    }
}

/// Returns the words that do not belong to a target.
pub(super) fn words_beside(turn: &StoryTurn<'_>, said: &[String], target: &Target) -> Vec<String> {
    let tongue = turn.pack.tongue;
    let own: Vec<String> = candidates(turn)
        .into_iter()
        .filter(|candidate| candidate.target == *target)
        .flat_map(|candidate| [candidate.heads, candidate.others].concat())
        .collect();
    let is_own = |word: &&String| own.iter().any(|known| is_same_word(tongue, word, known));
    let pronouns = &turn.pack.words.pronouns;
    said.iter().filter(|word| !is_own(word) && !pronouns.contains(word)).cloned().collect()
}

/// Finds a target among words that also name something else: each word alone may name it.
pub(super) fn find_among(turn: &StoryTurn<'_>, said: &[String], scope: Scope) -> Match {
    let mut found: Vec<Target> = Vec::new();
    for word in said {
        let matched = match find(turn, std::slice::from_ref(word), scope) {
            Match::One(target) => vec![target],
            Match::Several(targets) => targets,
            Match::Nothing => continue,
        };
        match found.is_empty() {
            true => found = matched,
            false => {
                let both: Vec<Target> =
                    found.iter().filter(|target| matched.contains(target)).cloned().collect();
                if !both.is_empty() {
                    found = both;
                }
            }
        }
    }
    match found.as_slice() {
        [] => Match::Nothing,
        [one] => Match::One(one.clone()),
        _ => Match::Several(found),
    }
}
