//! The character of a place, derived from the seed and the place, so that it is the same on every visit.

use super::dice::Dice;
use super::words::dwellers::{FOES, FRIENDS, Foe, Friend, QUESTS};
use super::words::places::{HALL, KINDS, NAMES, PlaceKind};
use crate::conflict::is_harmless;
use crate::document_view::CampaignView;

/// A place with its character.
#[derive(Debug, Clone)]
pub(super) struct ScenePlace {
    pub(super) area: String,
    /// Its name, as part of a sentence.
    pub(super) name: String,
    /// The description in the campaign, if there is one.
    pub(super) description: Option<String>,
    kind: &'static PlaceKind,
    pub(super) item: &'static str,
    pub(super) find: SearchResult,
    pub(super) dweller: Dweller,
    dice: Dice,
}

/// The inhabitant of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dweller {
    Absent,
    Friend(&'static Friend),
    /// A foe, and how many blows it takes.
    Foe(&'static Foe, usize),
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchResult {
    Nothing,
    Thing(&'static str),
    /// Something that heals, by this many hit points.
    Herbs(i64),
    Trap(i64),
    /// The object of the party's quest.
    Quest(&'static str),
}

/// Returns whether a name is generic. Campaigns made by the upstream program have such names.
fn is_generic(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let number = name.strip_prefix("generated area");
    let is_number = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == ' ');
    matches!(name.as_str(), "" | "starting area" | "side room" | "generated entry")
        || number.is_some_and(is_number)
}

/// The maximum length of a quoted name.
const NAME_LENGTH: usize = 60;

/// Returns a text of the campaign for use in an answer, or `None` if it could be taken for a claim.
pub(super) fn quotable(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty() && is_harmless(&text)).then_some(text)
}

fn short(text: &str) -> String {
    if text.chars().count() <= NAME_LENGTH {
        return text.to_owned();
    }
    let start: String = text.chars().take(NAME_LENGTH).collect();
    format!("{}…", start.trim_end())
}

/// Returns the dice of a world, which are the same in all branches of a campaign.
pub(super) fn world(view: CampaignView<'_>, seed: u64) -> Dice {
    let said = |key: &str| view.tree.string_at(&["selected", key]).unwrap_or_default();
    Dice::new(seed).of(&said("world_id")).of(&said("map_id"))
}

/// Returns the kind of a place, from its name if possible.
fn kind_of(stored: &str, dice: Dice) -> &'static PlaceKind {
    let words = super::intent::words(stored);
    let is_known =
        |kind: &&PlaceKind| words.iter().any(|word| kind.known_by.contains(&word.as_str()));
    let given = KINDS.iter().find(is_known).filter(|_| !is_generic(stored));
    given.or_else(|| dice.of("kind").among(KINDS)).unwrap_or(&HALL)
}

/// Returns the name for a place that the campaign calls `stored`.
pub(super) fn name_of(world: Dice, area: &str, stored: &str) -> String {
    let dice = world.of(area).of(stored);
    name(stored, kind_of(stored, dice), dice)
}

/// Returns how many places were created before this one.
fn number_of(view: CampaignView<'_>, area: &str) -> usize {
    let areas = view.areas();
    areas.iter().position(|(id, _)| id == area).unwrap_or(areas.len())
}

/// The number of the place at which the party's quest ends.
pub(super) const LAST: usize = 4;

impl ScenePlace {
    pub(super) fn new(view: CampaignView<'_>, seed: u64, area: &str) -> ScenePlace {
        let stored = view.area_name(area).unwrap_or_default();
        let world = world(view, seed);
        let dice = world.of(area).of(&stored);
        let number = number_of(view, area);
        let kind = kind_of(&stored, dice);
        let description = view.tree.string_at(&["map", "areas", area, "description"]);
        ScenePlace {
            area: area.to_owned(),
            name: name(&stored, kind, dice),
            description: description.as_deref().and_then(quotable),
            kind,
            item: dice.of("item").pick(kind.items),
            find: find(dice, kind, number, world),
            dweller: dweller(dice, number),
            dice,
        }
    }

    /// Returns a sight of the place, a different one each time.
    pub(super) fn sight(&self, time: Dice) -> &'static str {
        time.of(&self.area).of("sight").pick(self.kind.sights)
    }

    /// Returns a sound or smell of the place.
    pub(super) fn sense(&self, time: Dice) -> &'static str {
        time.of(&self.area).of("sense").pick(self.kind.senses)
    }

    /// Returns the detail that a closer look shows, always the same.
    pub(super) fn detail(&self) -> &'static str {
        self.dice.of("detail").pick(self.kind.details)
    }
}

fn name(stored: &str, kind: &PlaceKind, dice: Dice) -> String {
    if is_generic(stored) {
        let (first, noun) = (dice.of("name").pick(NAMES), dice.of("noun").pick(kind.nouns));
        return format!("the {first} {noun}");
    }
    let Some(stored) = quotable(stored) else {
        return "a place whose name is worn away".to_owned();
    };
    let stored = short(&stored);
    let words = super::intent::words(&stored);
    let is_word = |word: &String| {
        KINDS.iter().any(|kind| kind.known_by.contains(&word.as_str()))
            || matches!(word.as_str(), "entry" | "area")
    };
    let has_article = words.first().is_some_and(|word| matches!(word.as_str(), "the" | "a" | "an"));
    if !has_article && words.last().is_some_and(is_word) { format!("the {stored}") } else { stored }
}

fn dweller(dice: Dice, number: usize) -> Dweller {
    let friend = || dice.of("friend").among(FRIENDS).map_or(Dweller::Absent, Dweller::Friend);
    let blows = if dice.of("blows").below(3) == 0 { 3 } else { 2 };
    let foe = || dice.of("foe").among(FOES).map_or(Dweller::Absent, |foe| Dweller::Foe(foe, blows));
    // A story starts with a friend to talk to and, next door, a foe to fight.
    match (number, dice.of("dweller").below(10)) {
        (0, _) => friend(),
        (1, _) | (_, 5..=8) => foe(),
        (_, 0..=4) => friend(),
        _ => Dweller::Absent,
    }
}

fn find(dice: Dice, kind: &PlaceKind, number: usize, world: Dice) -> SearchResult {
    if number == LAST {
        return SearchResult::Quest(world.of("quest").pick(QUESTS));
    }
    let dice = dice.of("find");
    match dice.below(8) {
        0 if number > 0 => SearchResult::Nothing,
        1 if number > 0 => SearchResult::Trap(dice.of("trap").roll(2)),
        2 | 3 => SearchResult::Herbs(dice.of("herbs").roll(3)),
        _ => SearchResult::Thing(dice.of("thing").pick(kind.hidden)),
    }
}

/// Returns the object of the quest if the campaign has no goal of its own.
pub(super) fn quest(view: CampaignView<'_>, seed: u64) -> &'static str {
    world(view, seed).of("quest").pick(QUESTS)
}
