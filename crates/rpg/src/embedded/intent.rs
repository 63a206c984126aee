//! Derives the player's intent from the input: [`understand`] returns an [`Intent`].

use super::words::acts::{ACTS, FreeAction};

/// The intent of a player.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Intent {
    Look,
    /// A closer look at an object, given by its words.
    Examine(Vec<String>),
    Listen,
    Go(MoveTarget),
    /// A question about the exits.
    Ways,
    /// Explore beyond the known map.
    Explore,
    Attack,
    /// Rest, or tend the character that the words name.
    Rest(Vec<String>),
    Search,
    Take(Vec<String>),
    /// Talk to a character, about the subject that the words name.
    Talk(Vec<String>),
    Recruit,
    Rules(Vec<String>),
    Summary,
    Goal,
    Help,
    Inventory,
    Status,
    Wait,
    /// Refrain from an action.
    Hold,
    /// Accept an offer.
    Yes,
    Act(&'static FreeAction),
    Unclear(Vec<String>),
}

/// The destination of a move.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MoveTarget {
    Back,
    /// Forward.
    Onward,
    /// Away from here.
    Away,
    Direction(Direction),
    /// The place that the words name.
    Named(Vec<String>),
}

/// The eight directions, clockwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    North,
    Northeast,
    East,
    Southeast,
    South,
    Southwest,
    West,
    Northwest,
}

impl Direction {
    pub(super) const ALL: [Direction; 8] = [
        Direction::North,
        Direction::Northeast,
        Direction::East,
        Direction::Southeast,
        Direction::South,
        Direction::Southwest,
        Direction::West,
        Direction::Northwest,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Direction::North => "north",
            Direction::Northeast => "northeast",
            Direction::East => "east",
            Direction::Southeast => "southeast",
            Direction::South => "south",
            Direction::Southwest => "southwest",
            Direction::West => "west",
            Direction::Northwest => "northwest",
        }
    }

    pub(super) fn opposite(self) -> Direction {
        match self {
            Direction::North => Direction::South,
            Direction::Northeast => Direction::Southwest,
            Direction::East => Direction::West,
            Direction::Southeast => Direction::Northwest,
            Direction::South => Direction::North,
            Direction::Southwest => Direction::Northeast,
            Direction::West => Direction::East,
            Direction::Northwest => Direction::Southeast,
        }
    }

    fn parse(word: &str) -> Option<Direction> {
        const SHORT: [&str; 8] = ["n", "ne", "e", "se", "s", "sw", "w", "nw"];
        const WARD: [&str; 8] = [
            "northwards",
            "northeastwards",
            "eastwards",
            "southeastwards",
            "southwards",
            "southwestwards",
            "westwards",
            "northwestwards",
        ];
        let names = Direction::ALL.into_iter().zip(SHORT).zip(WARD);
        let is_it = |((direction, short), ward): &((Direction, &str), &str)| {
            let ward_too = word.len() + 1 >= ward.len() && ward.starts_with(word);
            word == direction.as_str() || word == *short || ward_too
        };
        names.into_iter().find(is_it).map(|((direction, _), _)| direction)
    }
}

/// How much of an input is read. The intent of longer inputs is clear by then.
const CHARACTERS: usize = 600;
const WORDS: usize = 60;

/// Returns the words of a text in lower case, without punctuation.
pub(super) fn words(text: &str) -> Vec<String> {
    let start: String = text.chars().take(CHARACTERS).collect();
    let lower = start.to_lowercase().replace('\u{2019}', "'");
    let parts = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
    let parts = parts.map(|word| word.trim_matches('\'').to_owned());
    parts.filter(|word| !word.is_empty()).take(WORDS).collect()
}

/// Words without meaning for the intent.
const FILLERS: &str = "i i'm i'll i'd we we'll let's lets let us me my our please want wanna to would like can \
    could you try trying then now and so ok okay well carefully quickly slowly quietly just will \
    shall may should decide start begin attempt going gonna the a an also again next finally oh \
    um yes am is are do some of at with into in on for this that there here it its your up \
    through toward towards over out from by about along down around any more";

/// Returns the words without the fillers.
pub(super) fn significant_words(words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !has_word(FILLERS, word)).cloned().collect()
}

/// Phrases that determine the intent on their own. They are searched in this order.
const PHRASES: &[(Intent, &str)] = &[
    (
        Intent::Ways,
        "where can i go, where can we go, where could, where to, which way, ways out, way out, \
         move options, exits, exit, ways, paths, where do the, where does",
    ),
    (
        Intent::Look,
        "where am i, where are we, what do i see, what do we see, what is here, what's here, \
         who is here, who's here, what is there, what's around, what is around, look around, \
         take a look, have a look",
    ),
    (
        Intent::Summary,
        "what happened, story so far, so far, summarise, summarize, summary, recap, sum up, \
         remind me",
    ),
    (
        Intent::Help,
        "what can i do, what can we do, what could i do, help me understand, how do i play, \
         how to play, commands",
    ),
    (
        Intent::Inventory,
        "inventory, what do i have, what do we have, what am i carrying, what do i carry, \
         my things, my bag, my pack, my backpack",
    ),
    (
        Intent::Status,
        "how am i, how are we, how hurt, how many hit points, how much hp, how much health, \
         my hp, my health, hit points, status, party, how is",
    ),
    (
        Intent::Goal,
        "what should i do, what should we do, what now, what next, goal, objective, quest, \
         mission, hint, why am i here, why are we here",
    ),
    (Intent::Recruit, "join me, join us, come with me, come with us, come along, recruit, hire"),
    (
        Intent::Explore,
        "new path, new way, new place, a way, a path, hidden path, secret door, secret passage, \
         beyond, off the map, unknown",
    ),
];

/// The meanings of the first verb.
const VERBS: &[(Verb, &str)] = &[
    (
        Verb::Go,
        "go walk run move head travel enter climb follow proceed step sneak crawl descend ascend \
         cross ride march stroll hurry visit goto",
    ),
    (Verb::Back, "back return retreat backtrack withdraw"),
    (Verb::Away, "leave flee escape"),
    (Verb::Onward, "onward onwards forward forwards ahead continue advance press"),
    (
        Verb::Attack,
        "attack hit fight strike stab kill shoot punch kick slash charge ambush swing slay smash \
         battle defeat hurt",
    ),
    (
        Verb::Rest,
        "rest sleep camp nap bandage heal recover sit tend breathe eat drink meditate breather \
         cure revive treat",
    ),
    (Verb::Search, "search investigate rummage scour dig probe find loot seek"),
    (Verb::Examine, "examine inspect study check read touch open push pull use"),
    (Verb::Take, "take grab pick get collect steal pocket keep gather lift"),
    (
        Verb::Talk,
        "talk speak ask say tell greet hello hi hey whisper persuade convince chat question \
         answer thank thanks who beg",
    ),
    (Verb::Recruit, "invite"),
    (Verb::Look, "look see watch observe gaze describe l glance peer survey what"),
    (Verb::Listen, "listen hear smell sniff"),
    (Verb::Explore, "explore scout wander venture discover roam"),
    (Verb::Wait, "wait stay pass idle linger stand z nothing pause"),
    (Verb::Inventory, "inv"),
    (Verb::Help, "help"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Go,
    Back,
    Away,
    Onward,
    Attack,
    Rest,
    Search,
    Examine,
    Take,
    Talk,
    Recruit,
    Look,
    Listen,
    Explore,
    Wait,
    Inventory,
    Help,
}

/// Returns whether a word is in a space-separated list.
fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn verb(word: &str) -> Option<Verb> {
    VERBS.iter().find(|(_, words)| has_word(words, word)).map(|(verb, _)| *verb)
}

const NEGATIONS: &[&str] = &["don't", "dont", "not", "never", "won't", "stop", "refuse", "no"];

const YES: &[&str] = &["yes", "ok", "okay", "please", "do it", "i do", "we do"];

const RULE_WORDS: &[&str] = &["rule", "rules", "explain", "dice", "mechanics"];

/// Returns the intent of an input, independent of the scene.
pub(super) fn understand(input: &str) -> Intent {
    let all = words(input);
    let line = format!(" {} ", all.join(" "));
    let has = |phrase: &str| line.contains(&format!(" {phrase} "));
    let rest = significant_words(&all);
    if RULE_WORDS.iter().any(|word| has(word)) || line.starts_with(" how does ") {
        return Intent::Rules(rest);
    }
    let first = rest.first().map(String::as_str).unwrap_or_default();
    if all.iter().take(4).any(|word| NEGATIONS.contains(&word.as_str())) {
        return Intent::Hold;
    }
    // An input that starts with a verb of talking may mention anything.
    let talks = verb(first) == Some(Verb::Talk) && first != "who";
    let phrase = PHRASES.iter().find(|(_, phrases)| phrases.split(", ").any(has));
    match phrase {
        Some((intent, _)) if !talks || *intent == Intent::Recruit => return intent.clone(),
        _ => {}
    }
    if let Some(intent) = special(&rest, &has) {
        return intent;
    }
    let place = rest.iter().take(5).position(|word| verb(word).is_some());
    let act = ACTS.iter().find(|act| act.words.contains(&first));
    if let Some(act) = act.filter(|_| place != Some(0)) {
        return Intent::Act(act);
    }
    let Some(place) = place else {
        let agrees = rest.is_empty() && YES.iter().any(|word| has(word));
        return if agrees { Intent::Yes } else { without_verb(rest) };
    };
    let object: Vec<String> = rest.iter().skip(place + 1).cloned().collect();
    let said = rest.get(place).and_then(|word| verb(word));
    said.map_or(Intent::Unclear(Vec::new()), |verb| meaning(verb, object, &has))
}

/// Returns the intent of verbs that mean something else together with certain words.
fn special(rest: &[String], has: &dyn Fn(&str) -> bool) -> Option<Intent> {
    let first = rest.first().map(String::as_str).unwrap_or_default();
    let any = |words: &[&str]| rest.iter().any(|word| words.contains(&word.as_str()));
    let takes = matches!(first, "take" | "get" | "go" | "have");
    if takes && any(&["rest", "sleep", "nap", "breather", "bed", "break", "breath"]) {
        return Some(Intent::Rest(Vec::new()));
    }
    if takes && any(&["cover", "hiding"]) {
        return ACTS.iter().find(|act| act.words.contains(&"hide")).map(Intent::Act);
    }
    if first == "look" && (has("look for") || has("looking for")) {
        return Some(Intent::Search);
    }
    if has("pick a fight") {
        return Some(Intent::Attack);
    }
    None
}

/// Returns the intent of an input without a verb: a direction, or unclear.
fn without_verb(rest: Vec<String>) -> Intent {
    match rest.as_slice() {
        [only] => match Direction::parse(only) {
            Some(direction) => Intent::Go(MoveTarget::Direction(direction)),
            None => Intent::Unclear(rest),
        },
        _ => Intent::Unclear(rest),
    }
}

fn meaning(verb: Verb, object: Vec<String>, has: &dyn Fn(&str) -> bool) -> Intent {
    match verb {
        Verb::Go => Intent::Go(target(object, has)),
        Verb::Back => Intent::Go(match object.is_empty() {
            true => MoveTarget::Back,
            false => MoveTarget::Named(object),
        }),
        Verb::Away => {
            Intent::Go(if object.is_empty() { MoveTarget::Away } else { MoveTarget::Named(object) })
        }
        Verb::Onward => Intent::Go(MoveTarget::Onward),
        Verb::Attack => Intent::Attack,
        Verb::Rest => Intent::Rest(object),
        Verb::Search => Intent::Search,
        Verb::Look | Verb::Examine if !object.is_empty() => Intent::Examine(object),
        Verb::Look => Intent::Look,
        Verb::Examine => Intent::Search,
        Verb::Take => Intent::Take(object),
        Verb::Talk => Intent::Talk(object),
        Verb::Recruit => Intent::Recruit,
        Verb::Listen => Intent::Listen,
        Verb::Explore => Intent::Explore,
        Verb::Wait => Intent::Wait,
        Verb::Inventory => Intent::Inventory,
        Verb::Help => match object.is_empty() {
            true => Intent::Help,
            false => Intent::Rest(object),
        },
    }
}

fn target(object: Vec<String>, has: &dyn Fn(&str) -> bool) -> MoveTarget {
    let direction = object.iter().find_map(|word| Direction::parse(word));
    let is = |words: &[&str]| object.iter().any(|word| words.contains(&word.as_str()));
    if let Some(direction) = direction {
        MoveTarget::Direction(direction)
    } else if object.iter().all(|word| word == "back") && !object.is_empty() {
        MoveTarget::Back
    } else if is(&["away"]) {
        MoveTarget::Away
    } else if object.is_empty()
        || is(&["onward", "forward", "ahead", "further", "farther", "deeper"])
    {
        if has("out") { MoveTarget::Away } else { MoveTarget::Onward }
    } else {
        MoveTarget::Named(object)
    }
}

#[cfg(test)]
mod tests;
