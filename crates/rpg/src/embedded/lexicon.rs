//! The words of a language: a [`LanguagePack`] is read from the text files of its directory, once.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::grammar::{Gender, Noun, Tongue};
use super::intent::{InputPattern, Intent};

/// A kind of place.
#[derive(Debug)]
pub(super) struct PlaceKind {
    pub(super) id: String,
    /// Words in the name of a place that indicate this kind.
    pub(super) known: Vec<String>,
    pub(super) nouns: Vec<(String, Gender)>,
    pub(super) sights: Vec<String>,
    pub(super) senses: Vec<String>,
    pub(super) scenery: Vec<SceneryThing>,
}

/// A thing that belongs to a place: the words for it, and what a closer look shows.
#[derive(Debug)]
pub(super) struct SceneryThing {
    pub(super) nouns: Vec<Noun>,
    pub(super) detail: String,
}

/// An entry of a table: fields by key, in order.
#[derive(Debug)]
pub(super) struct TableEntry {
    pub(super) id: String,
    pub(super) name: Noun,
    /// Other words for it.
    pub(super) words: Vec<String>,
    pub(super) tags: Vec<String>,
    fields: Vec<(String, String)>,
}

impl TableEntry {
    /// Returns a field, or an empty text.
    pub(super) fn text(&self, key: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == key);
        found.map_or("", |(_, value)| value.as_str())
    }

    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }
}

/// Lists of plain words.
#[derive(Debug, Default)]
pub(super) struct WordLists {
    pub(super) articles: Vec<String>,
    pub(super) fillers: Vec<String>,
    pub(super) separators: Vec<String>,
    pub(super) pronouns: Vec<String>,
    /// Pronouns that never mean a thing.
    pub(super) personal: Vec<String>,
    pub(super) all: Vec<String>,
    pub(super) own: Vec<String>,
    /// The words for each of the eight directions.
    pub(super) directions: Vec<Vec<String>>,
}

/// Everything that the narrator needs of a language.
#[derive(Debug)]
pub(super) struct LanguagePack {
    pub(super) tongue: Tongue,
    pub(super) prefixes: Vec<String>,
    pub(super) places: Vec<PlaceKind>,
    pub(super) people: Vec<TableEntry>,
    pub(super) items: Vec<TableEntry>,
    pub(super) foes: Vec<TableEntry>,
    pub(super) quests: Vec<TableEntry>,
    pub(super) obstacles: Vec<TableEntry>,
    pub(super) patterns: Vec<(Intent, InputPattern)>,
    pub(super) words: WordLists,
    phrases: BTreeMap<String, Vec<String>>,
}

/// The files of a language.
struct SourceFiles {
    places: &'static str,
    people: &'static str,
    items: &'static str,
    foes: &'static str,
    quests: &'static str,
    obstacles: &'static str,
    verbs: &'static str,
    phrases: [&'static str; 3],
}

macro_rules! source_files {
    ($dir:literal) => {
        SourceFiles {
            places: include_str!(concat!("words/", $dir, "/places.txt")),
            people: include_str!(concat!("words/", $dir, "/people.txt")),
            items: include_str!(concat!("words/", $dir, "/items.txt")),
            foes: include_str!(concat!("words/", $dir, "/foes.txt")),
            quests: include_str!(concat!("words/", $dir, "/quests.txt")),
            obstacles: include_str!(concat!("words/", $dir, "/obstacles.txt")),
            verbs: include_str!(concat!("words/", $dir, "/verbs.txt")),
            phrases: [
                include_str!(concat!("words/", $dir, "/phrases.txt")),
                include_str!(concat!("words/", $dir, "/talk.txt")),
                include_str!(concat!("words/", $dir, "/labels.txt")),
            ],
        }
    };
}

/// A block of a file: its ID, and its lines as key and value; the key of a plain line is empty.
struct TableBlock {
    id: String,
    lines: Vec<(String, String)>,
}

fn blocks(text: &str) -> Vec<TableBlock> {
    let mut blocks: Vec<TableBlock> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            continue;
        }
        if let Some(id) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            blocks.push(TableBlock { id: id.to_owned(), lines: Vec::new() });
        } else if let Some(block) = blocks.last_mut() {
            let plain = line.strip_prefix("- ").map(|value| ("", value));
            let (key, value) = plain.or_else(|| line.split_once(':')).unwrap_or(("", line));
            block.lines.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    blocks
}

impl TableBlock {
    fn values<'b>(&'b self, key: &'b str) -> impl Iterator<Item = &'b str> {
        self.lines.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn words(&self, key: &str) -> Vec<String> {
        self.values(key).flat_map(str::split_whitespace).map(str::to_owned).collect()
    }
}

fn entries(text: &str, tongue: Tongue, name_key: &str) -> Vec<TableEntry> {
    let entry = |block: TableBlock| {
        let gender = block.values("gender").next().map(Gender::parse);
        let name = block.values(name_key).next().unwrap_or_default();
        let name = match gender {
            Some(gender) => Noun::proper(tongue, name, gender),
            None if name_key == "relic" => Noun::parse(tongue, name).always_definite(),
            None => Noun::parse(tongue, name),
        };
        let name = match block.values("oblique").next() {
            Some(oblique) => name.with_oblique(oblique),
            None => name,
        };
        TableEntry {
            name,
            words: block.words("words"),
            tags: [block.words("tags"), block.words("likes")].concat(),
            id: block.id,
            fields: block.lines,
        }
    };
    blocks(text).into_iter().map(entry).collect()
}

fn place_kind(block: &TableBlock, tongue: Tongue) -> PlaceKind {
    let owned = |key: &str| block.values(key).map(str::to_owned).collect();
    let noun = |text: &str| {
        let noun = Noun::parse(tongue, text);
        (noun.head().to_owned(), noun.gender())
    };
    let thing = |text: &str| {
        let (nouns, detail) = text.split_once('|').unwrap_or((text, ""));
        SceneryThing {
            nouns: nouns.split(',').map(|noun| Noun::parse(tongue, noun.trim())).collect(),
            detail: detail.trim().to_owned(),
        }
    };
    PlaceKind {
        id: block.id.clone(),
        known: block.words("known"),
        nouns: block.values("noun").map(noun).collect(),
        sights: owned("sight"),
        senses: owned("sense"),
        scenery: block.values("thing").map(thing).collect(),
    }
}

impl LanguagePack {
    /// Returns the pack of a language.
    pub(super) fn of(tongue: Tongue) -> &'static LanguagePack {
        static ENGLISH: OnceLock<LanguagePack> = OnceLock::new();
        static GERMAN: OnceLock<LanguagePack> = OnceLock::new();
        match tongue {
            Tongue::English => {
                ENGLISH.get_or_init(|| LanguagePack::read(tongue, &source_files!("en")))
            }
            Tongue::German => {
                GERMAN.get_or_init(|| LanguagePack::read(tongue, &source_files!("de")))
            }
        }
    }

    fn read(tongue: Tongue, files: &SourceFiles) -> LanguagePack {
        let mut places = blocks(files.places);
        let names = places.iter().position(|block| block.id == "names");
        let names = names.map(|at| places.remove(at));
        let names =
            names.iter().flat_map(|block| block.values("")).flat_map(|line| line.split(','));
        let mut patterns = Vec::new();
        let mut words = WordLists::default();
        for block in blocks(files.verbs) {
            let plain = || block.words("");
            match block.id.as_str() {
                "articles" => words.articles = plain(),
                "fillers" => words.fillers = plain(),
                "separators" => words.separators = plain(),
                "pronouns" => words.pronouns = plain(),
                "personal" => words.personal = plain(),
                "all" => words.all = plain(),
                "self" => words.own = plain(),
                "directions" => {
                    let lines = block.values("").map(str::split_whitespace);
                    words.directions =
                        lines.map(|line| line.map(str::to_owned).collect()).collect();
                }
                id => {
                    if let Some(intent) = Intent::parse(id) {
                        let all = block.values("").flat_map(|line| line.split(','));
                        patterns.extend(all.map(|text| (intent, InputPattern::parse(text))));
                    }
                }
            }
        }
        let mut phrases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for block in files.phrases.iter().flat_map(|file| blocks(file)) {
            phrases.insert(block.id.clone(), block.values("").map(str::to_owned).collect());
        }
        LanguagePack {
            tongue,
            prefixes: names.map(|name| name.trim().to_owned()).collect(),
            places: places.iter().map(|block| place_kind(block, tongue)).collect(),
            people: entries(files.people, tongue, "name"),
            items: entries(files.items, tongue, "name"),
            foes: entries(files.foes, tongue, "name"),
            quests: entries(files.quests, tongue, "relic"),
            obstacles: entries(files.obstacles, tongue, "name"),
            patterns,
            words,
            phrases,
        }
    }

    /// Returns the variants of a phrase.
    pub(super) fn variants(&self, id: &str) -> &[String] {
        self.phrases.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the first variant of a phrase.
    pub(super) fn label(&self, id: &str) -> &str {
        self.variants(id).first().map_or("", String::as_str)
    }

    pub(super) fn place(&self, id: &str) -> Option<&PlaceKind> {
        self.places.iter().find(|kind| kind.id == id).or_else(|| self.places.first())
    }

    pub(super) fn item(&self, id: &str) -> Option<&TableEntry> {
        self.items.iter().find(|entry| entry.id == id)
    }

    pub(super) fn person(&self, id: &str) -> Option<&TableEntry> {
        self.people.iter().find(|entry| entry.id == id)
    }

    pub(super) fn foe(&self, id: &str) -> Option<&TableEntry> {
        self.foes.iter().find(|entry| entry.id == id)
    }

    pub(super) fn quest(&self, id: &str) -> Option<&TableEntry> {
        self.quests.iter().find(|entry| entry.id == id)
    }

    pub(super) fn obstacle(&self, id: &str) -> Option<&TableEntry> {
        self.obstacles.iter().find(|entry| entry.id == id)
    }

    /// Returns the words for what has a tag, such as "a light".
    pub(super) fn tag(&self, tag: &str) -> &str {
        self.label(&format!("tag_{tag}"))
    }
}

#[cfg(test)]
mod tests;
