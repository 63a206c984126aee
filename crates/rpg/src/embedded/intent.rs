//! Derives the player's intent from the input: [`understand`] returns a [`ParsedInput`], independent of the scene.

use super::lexicon::{LanguagePack, WordLists};

macro_rules! intents {
    ($($name:ident = $id:literal,)*) => {
        /// What a player wants to do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Intent {
            $($name,)*
            /// The narrator is asked to speak another language.
            Language,
            /// The input names something, but no action.
            Mention,
        }

        impl Intent {
            pub(super) fn parse(id: &str) -> Option<Intent> {
                match id {
                    $($id => Some(Intent::$name),)*
                    _ => None,
                }
            }

            /// Every intent that has patterns.
            #[cfg(test)]
            pub(super) const ALL: &'static [Intent] = &[$(Intent::$name,)*];
        }
    };
}

intents! {
    Ways = "ways", Inventory = "inventory", Status = "status", Quest = "quest", Recap = "recap", Help = "help",
    Rules = "rules", Roll = "roll", Look = "look", Examine = "examine", Search = "search", Listen = "listen",
    Explore = "explore", Back = "back", Go = "go", Follow = "follow", Stay = "stay", Recruit = "recruit",
    Take = "take", Drop = "drop", Give = "give", Light = "light", Douse = "douse", Read = "read", Open = "open",
    Use = "use", Throw = "throw", Talk = "talk", Greet = "greet", Ask = "ask", Tell = "tell", Thanks = "thanks",
    Attack = "attack", Flee = "flee", Sneak = "sneak", Rest = "rest", Tend = "tend", Eat = "eat", Play = "play",
    Wait = "wait", Yes = "yes", No = "no", Emote = "emote", Impossible = "impossible",
}

/// Words that express an intent.
#[derive(Debug)]
pub(super) struct InputPattern {
    anywhere: bool,
    words: Vec<String>,
    /// Words that follow after a gap.
    tail: Vec<String>,
}

impl InputPattern {
    pub(super) fn parse(text: &str) -> InputPattern {
        let text = text.trim();
        let (anywhere, text) = match text.strip_prefix("* ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (words, tail) = text.split_once('~').unwrap_or((text, ""));
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        InputPattern { anywhere, words: split(words), tail: split(tail) }
    }

    /// Returns the words that are left of an input that starts with the pattern. A preposition after the gap stays: it
    /// separates two objects.
    fn strip<'w>(&self, lists: &WordLists, input: &'w [String]) -> Option<Vec<&'w String>> {
        let rest = input.strip_prefix(self.words.as_slice())?;
        if self.words.is_empty() {
            return None;
        }
        if self.tail.is_empty() {
            return Some(rest.iter().collect());
        }
        let at = find_words(rest, &self.tail).filter(|at| *at > 0)?;
        let (before, after) = rest.split_at(at);
        let links = matches!(self.tail.as_slice(), [word] if is_in(&lists.separators, word));
        let skipped = if links { 0 } else { self.tail.len() };
        Some(before.iter().chain(after.iter().skip(skipped)).collect())
    }

    fn weight(&self) -> usize {
        // A gap says less than the same words side by side.
        2 * (self.words.len() + self.tail.len()) - usize::from(!self.tail.is_empty())
    }
}

/// Returns where a sequence of words begins.
fn find_words(words: &[String], wanted: &[String]) -> Option<usize> {
    words.windows(wanted.len().max(1)).position(|window| window == wanted)
}

/// The eight directions, clockwise from north.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Direction(usize);

impl Direction {
    pub(super) const COUNT: usize = 8;

    pub(super) fn new(number: usize) -> Direction {
        Direction(number % Direction::COUNT)
    }

    pub(super) fn number(self) -> usize {
        self.0
    }

    pub(super) fn opposite(self) -> Direction {
        Direction::new(self.0 + 4)
    }

    fn parse(pack: &LanguagePack, word: &str) -> Option<Direction> {
        let known = |words: &Vec<String>| words.iter().any(|known| known == word);
        pack.words.directions.iter().position(known).map(Direction::new)
    }
}

/// An input as understood without knowing the scene.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedInput {
    pub(super) intent: Intent,
    /// The words of the object, without articles.
    pub(super) object: Vec<String>,
    /// The words after a preposition, such as "to Ilse" or "about the crown".
    pub(super) second: Vec<String>,
    /// The words before a comma: "Joss, follow me".
    pub(super) addressee: Vec<String>,
    pub(super) direction: Option<Direction>,
    /// A second action in the same input, which is left for later.
    pub(super) rest: String,
}

impl ParsedInput {
    /// Returns all words of object and second object.
    pub(super) fn all_words(&self) -> Vec<String> {
        [self.object.as_slice(), self.second.as_slice()].concat()
    }
}

/// How much of an input is read. The intent of longer inputs is clear by then.
const CHARACTERS: usize = 600;
const WORDS: usize = 60;

/// Question words that are written together with "is".
const CONTRACTIONS: &[(&str, &str)] =
    &[("what's", "what is"), ("who's", "who is"), ("where's", "where is"), ("how's", "how is")];

/// Returns a text in which "what's" is "what is", so that each question needs one pattern.
fn expand_contractions(text: &str) -> String {
    let expand = |text: String, (short, long): &(&str, &str)| text.replace(short, long);
    CONTRACTIONS.iter().fold(text.to_owned(), expand)
}

/// Returns the words of a text in lower case, without punctuation.
pub(super) fn words(text: &str) -> Vec<String> {
    let start: String = text.chars().take(CHARACTERS).collect();
    let lower = start.to_lowercase().replace('\u{2019}', "'");
    let lower = expand_contractions(&lower);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '-' | '?');
    let parts = lower.split(|c: char| !is_part(c));
    let parts = parts.map(|word| {
        let word = word.trim_matches(['\'', '-']);
        if word.trim_matches('?').is_empty() { word } else { word.trim_matches('?') }.to_owned()
    });
    parts.filter(|word| !word.is_empty()).take(WORDS).collect()
}

fn is_in(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

/// Returns the best match of a pattern at the start of the input: the intent and the words that are left.
fn verb_at_start<'w>(
    pack: &LanguagePack,
    input: &'w [String],
) -> Option<(Intent, Vec<&'w String>)> {
    let mut best: Option<(usize, Intent, Vec<&'w String>)> = None;
    for (intent, pattern) in pack.patterns.iter().filter(|(_, pattern)| !pattern.anywhere) {
        let Some(rest) = pattern.strip(&pack.words, input) else { continue };
        // "help" asks, "help Joss" acts.
        let is_better = |(weight, found, _): &(usize, Intent, Vec<&'w String>)| {
            let acts_on_it = only_asks(*found) && !only_asks(*intent) && !rest.is_empty();
            pattern.weight() > *weight || pattern.weight() == *weight && acts_on_it
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((pattern.weight(), *intent, rest));
        }
    }
    best.map(|(_, intent, rest)| (intent, rest))
}

/// Splits an input into the words before a comma, if they name somebody, and the rest.
fn split_addressee(pack: &LanguagePack, input: &str) -> (Vec<String>, String) {
    let Some((first, rest)) = input.split_once(',') else {
        return (Vec::new(), input.to_owned());
    };
    let name = words(first);
    let is_short = (1..=3).contains(&name.len()) && !words(rest).is_empty();
    if is_short && verb_of(pack, &name).is_none() && find_anywhere(pack, &name).is_none() {
        let name = name.into_iter().filter(|word| !is_in(&pack.words.articles, word));
        (name.collect(), rest.to_owned())
    } else {
        (Vec::new(), input.replacen(',', " ", 1))
    }
}

/// Returns the intent of an input that starts with a verb, possibly after fillers.
fn verb_of<'w>(pack: &LanguagePack, input: &'w [String]) -> Option<(Intent, Vec<&'w String>)> {
    for start in 0..input.len() {
        let (before, here) = input.split_at(start);
        if !before.iter().all(|word| is_in(&pack.words.fillers, word)) {
            return None;
        }
        let lone_letter = here.len() > 1 && here.first().is_some_and(|word| word == "i");
        if let Some(found) = verb_at_start(pack, here).filter(|_| !lone_letter) {
            return Some(found);
        }
    }
    None
}

fn find_anywhere(pack: &LanguagePack, input: &[String]) -> Option<Intent> {
    let found = |(_, pattern): &&(Intent, InputPattern)| {
        pattern.anywhere && find_words(input, &pattern.words).is_some()
    };
    let all = pack.patterns.iter().filter(found);
    all.max_by_key(|(_, pattern)| pattern.words.len()).map(|(intent, _)| *intent)
}

/// Splits an input into its first action and the rest.
fn split_actions(pack: &LanguagePack, input: &str) -> (String, String) {
    let cut = |at: usize, skip: usize| {
        let (first, rest) = input.split_at(at);
        (first.to_owned(), rest.get(skip..).unwrap_or_default().trim().to_owned())
    };
    let sentence = input.find(['.', ';', '!']).map(|at| (at, 1));
    let sentence =
        sentence.filter(|(at, _)| !words(input.get(at + 1..).unwrap_or_default()).is_empty());
    let mut cuts: Vec<(usize, usize)> = sentence.into_iter().collect();
    let lower = input.to_lowercase();
    if lower.len() == input.len() {
        for link in [" and then ", " then ", " and ", " und dann ", " dann ", " und "] {
            for (at, _) in lower.match_indices(link) {
                let after = words(input.get(at + link.len()..).unwrap_or_default());
                // "flint and steel" is one thing: only a verb starts another action.
                if verb_of(pack, &after).is_some() {
                    cuts.push((at, link.len()));
                }
            }
        }
    }
    let first =
        cuts.into_iter().filter(|(at, _)| !words(input.get(..*at).unwrap_or_default()).is_empty());
    match first.min() {
        Some((at, skip)) => cut(at, skip),
        None => (input.to_owned(), String::new()),
    }
}

const NEGATIONS: &[&str] = &["don't", "dont", "not", "nicht", "never", "niemals"];

/// Returns the intent of an input, and the words of its objects.
pub(super) fn understand(pack: &LanguagePack, input: &str) -> ParsedInput {
    let start: String = input.chars().take(CHARACTERS).collect();
    let (addressee, line) = split_addressee(pack, &start);
    let (line, rest) = split_actions(pack, &line);
    let all = words(&line);
    let lists = &pack.words;
    let parsed = |intent: Intent, object: Vec<String>, second: Vec<String>| {
        let both = object.iter().chain(&second);
        let direction = both.clone().find_map(|word| Direction::parse(pack, word));
        ParsedInput {
            intent,
            object,
            second,
            addressee: addressee.clone(),
            direction,
            rest: rest.clone(),
        }
    };
    if let Some(intent) = asked_language(&all) {
        return parsed(intent, all, Vec::new());
    }
    let is_negated = all.iter().take(4).any(|word| NEGATIONS.contains(&word.as_str()));
    let anywhere = find_anywhere(pack, &all);
    let verb = verb_of(pack, &all);
    let (intent, left) = match (anywhere, verb) {
        (Some(intent), _) if only_asks(intent) => (intent, Vec::new()),
        // "what are the rules of fights?"
        (Some(Intent::Rules), _) => (Intent::Rules, all.clone()),
        (Some(intent), verb) => {
            let left = verb.map(|(_, rest)| rest).unwrap_or_default();
            (intent, left.into_iter().cloned().collect())
        }
        (None, Some(_)) if is_negated => (Intent::No, Vec::new()),
        (None, Some((intent, rest))) => (intent, rest.into_iter().cloned().collect()),
        (None, None) => (Intent::Mention, all.clone()),
    };
    let mut left: Vec<String> = left;
    while left.first().is_some_and(|word| is_in(&lists.separators, word)) {
        left.remove(0);
    }
    let at = left.iter().position(|word| is_in(&lists.separators, word));
    let (object, second) = left.split_at(at.unwrap_or(left.len()));
    if only_asks(intent) {
        return parsed(intent, Vec::new(), Vec::new());
    }
    parsed(intent, bare_words(lists, object), bare_words(lists, second))
}

/// Returns the words of an object without articles and fillers. A pronoun stays if it stands alone or before another
/// object, as in "gib ihr das Buch"; so do fillers that are the whole object, as in "look into the well".
fn bare_words(lists: &WordLists, words: &[String]) -> Vec<String> {
    let start = words.iter().position(|word| !is_in(&lists.separators, word));
    let words = words.get(start.unwrap_or(words.len())..).unwrap_or_default();
    let is_pronoun = |word: &String| is_in(&lists.pronouns, word) || is_in(&lists.own, word);
    let before_article = words.get(1).is_none_or(|next| is_in(&lists.articles, next));
    let is_link = |word: &String| is_in(&lists.articles, word) || is_in(&lists.separators, word);
    let mut kept: Vec<String> = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let stays = number == 0 && before_article && is_pronoun(word);
        if stays || !is_link(word) {
            kept.push(word.clone());
        }
    }
    let plain: Vec<String> = kept
        .iter()
        .filter(|word| is_pronoun(word) || !is_in(&lists.fillers, word))
        .cloned()
        .collect();
    if plain.is_empty() { kept } else { plain }
}

/// Returns whether an intent is a question that has no object.
fn only_asks(intent: Intent) -> bool {
    use Intent::{Help, Inventory, Look, Quest, Recap, Status, Ways};
    matches!(intent, Help | Inventory | Look | Quest | Recap | Status | Ways)
}

/// Returns whether the input asks for another language.
fn asked_language(words: &[String]) -> Option<Intent> {
    let names = ["deutsch", "german", "englisch", "english"];
    let is_short = words.len() <= 4;
    let asks = is_short && words.iter().any(|word| names.contains(&word.as_str()));
    asks.then_some(Intent::Language)
}

/// Returns whether an input is written in a language that the narrator does not know.
pub(super) fn is_foreign(input: &str) -> bool {
    let letters: Vec<char> = input.chars().filter(|c| c.is_alphabetic()).collect();
    let strange = letters.iter().filter(|c| **c > '\u{24f}').count();
    if strange * 2 > letters.len() {
        return true;
    }
    const FOREIGN: &[&str] = &[
        "je",
        "le",
        "les",
        "une",
        "est",
        "dans",
        "vous",
        "regarde",
        "prends",
        "aller",
        "où",
        "avec",
        "qui",
        "el",
        "los",
        "las",
        "una",
        "hola",
        "donde",
        "dónde",
        "mirar",
        "miro",
        "tomar",
        "voy",
        "quiero",
        "está",
        "io",
        "il",
        "gli",
        "della",
        "sono",
        "guardo",
        "prendo",
        "vado",
        "dove",
        "che",
        "olhar",
        "pegar",
        "vou",
        "onde",
        "não",
        "het",
        "ik",
        "een",
        "kijk",
        "neem",
        "naar",
        "waar",
        "jag",
        "och",
        "att",
        "det",
        "var",
        "ja",
        "idę",
        "gdzie",
        "weź",
        "rozejrzyj",
        "się",
    ];
    let words = words(input);
    let known = words.iter().filter(|word| FOREIGN.contains(&word.as_str())).count();
    known > 0 && known * 3 >= words.len()
}

#[cfg(test)]
mod tests;
