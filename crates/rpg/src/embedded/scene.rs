//! The scene of a turn: the data that an answer is made from.

use std::collections::{BTreeMap, VecDeque};

use super::dice::Dice;
use super::intent::{Direction, significant_words, words};
use super::memory::{PastTurn, remember};
use super::place::{Dweller, ScenePlace, name_of, quest, quotable, world};
use crate::document_view::{CampaignView, DEFAULT_HP, strings};
use crate::narrator::NarratorRequest;

/// The scene of a turn.
pub(super) struct Scene<'a> {
    pub(super) request: &'a NarratorRequest<'a>,
    pub(super) view: CampaignView<'a>,
    pub(super) seed: u64,
    /// The dice of this turn.
    pub(super) dice: Dice,
    pub(super) place: ScenePlace,
    pub(super) exits: Vec<Exit>,
    pub(super) past: Vec<PastTurn>,
}

/// An exit of the place.
#[derive(Debug, Clone)]
pub(super) struct Exit {
    pub(super) area: String,
    pub(super) name: String,
    /// The name in the campaign.
    stored: String,
    pub(super) direction: Direction,
}

/// The outcome of a blow, derived from the turn.
pub(super) struct AttackRoll {
    pub(super) lands: bool,
    /// The damage if it does not land.
    pub(super) hurt: i64,
}

pub(super) fn blow(seed: u64, turn: u64) -> AttackRoll {
    let dice = Dice::new(seed).of("blow").number(turn);
    AttackRoll { lands: dice.of("lands").below(20) >= 8, hurt: dice.of("hurt").roll(3) }
}

fn exits(view: CampaignView<'_>, seed: u64, here: &str) -> Vec<Exit> {
    let roads = view.roads(here).into_iter().filter(|to| to != here && view.has_area(to));
    roads.map(|to| Exit::new(view, seed, here, &to)).collect()
}

impl<'a> Scene<'a> {
    pub(super) fn new(request: &'a NarratorRequest<'a>, seed: u64) -> Scene<'a> {
        let view = CampaignView { generation: request.generation, tree: request.campaign };
        let here = view.position(request.actor).unwrap_or_default();
        let place = ScenePlace::new(view, seed, &here);
        let exits = exits(view, seed, &here);
        Scene {
            request,
            view,
            seed,
            dice: Dice::new(seed).of("turn").number(request.turn),
            place,
            exits,
            past: remember(request.recent),
        }
    }

    /// Returns the same scene in another area.
    pub(super) fn at(&self, area: &str) -> Scene<'a> {
        Scene {
            place: ScenePlace::new(self.view, self.seed, area),
            exits: exits(self.view, self.seed, area),
            past: self.past.clone(),
            ..*self
        }
    }

    pub(super) fn actor(&self) -> &'a str {
        self.request.actor
    }

    pub(super) fn hp(&self) -> i64 {
        self.view.hp(self.actor()).unwrap_or(DEFAULT_HP)
    }

    /// Returns a sentence of a list, chosen by the turn.
    pub(super) fn say(&self, texts: &[&'static str]) -> &'static str {
        self.dice.of("say").pick(texts)
    }

    /// Returns the recent turns in this place.
    pub(super) fn past_here(&self) -> impl Iterator<Item = &PastTurn> {
        self.past.iter().filter(|past| past.area == self.place.area)
    }

    /// Returns the exit to the previous place of the actor, if that is adjacent.
    pub(super) fn before(&self) -> Option<&Exit> {
        let mut elsewhere = self.past.iter().rev().filter(|past| {
            past.actor == self.actor() && past.area != self.place.area && !past.area.is_empty()
        });
        let last = elsewhere.next()?;
        self.exits.iter().find(|exit| exit.area == last.area)
    }

    /// Returns whether a place was visited recently.
    pub(super) fn has_seen(&self, area: &str) -> bool {
        self.past.iter().any(|past| past.area == area)
    }

    /// Returns the inhabitant of this place, unless it was driven off or has joined the party.
    pub(super) fn dweller(&self) -> Dweller {
        match self.place.dweller {
            Dweller::Foe(_, blows) if self.blows_landed() >= blows => Dweller::Absent,
            Dweller::Friend(friend) if self.has_joined(friend.name) => Dweller::Absent,
            dweller => dweller,
        }
    }

    /// Returns how many blows have landed in this place.
    pub(super) fn blows_landed(&self) -> usize {
        let fights = self.past_here().filter(|past| {
            past.intent == super::intent::Intent::Attack && blow(self.seed, past.turn).lands
        });
        fights.count()
    }

    /// Returns whether a character has joined the party.
    fn has_joined(&self, name: &str) -> bool {
        let actors =
            self.view.tree.value_at(&["actors"]).map(|all| all.children()).unwrap_or_default();
        actors
            .iter()
            .any(|(_, actor)| actor.string_at(&["meta", "character_id"]).as_deref() == Some(name))
    }

    /// Returns the other party members who are here.
    pub(super) fn companions(&self) -> Vec<String> {
        let is_here = |other: &String| {
            other != self.actor() && self.view.position(other).as_deref() == Some(&self.place.area)
        };
        self.view.party().into_iter().filter(is_here).collect()
    }

    /// Returns the name of a party member.
    pub(super) fn called(&self, actor: &str) -> String {
        let met = self.view.tree.string_at(&["actors", actor, "meta", "character_id"]);
        let met = met.as_deref().and_then(|name| name.split(',').next());
        let name = met.filter(|name| !name.trim().is_empty()).unwrap_or(actor);
        let name = quotable(name).filter(|name| name.chars().count() <= 40);
        name.unwrap_or_else(|| "your companion".to_owned())
    }

    /// Returns the companion that the words name.
    pub(super) fn companion(&self, said: &[String]) -> Option<String> {
        let is_meant = |other: &String| {
            let names = words(&format!("{other} {}", self.called(other)));
            said.iter().any(|word| names.contains(word))
                || said.iter().any(|word| matches!(word.as_str(), "companion" | "friend" | "ally"))
        };
        self.companions().into_iter().find(is_meant)
    }

    /// Returns the text of the goal, if the campaign has one.
    pub(super) fn goal(&self) -> Option<String> {
        let goal = self.view.tree.string_at(&["goal", "text"])?;
        let goal = quotable(&goal).filter(|goal| goal != "Define the main objective")?;
        Some(goal.trim_end_matches('.').to_owned())
    }

    pub(super) fn quest(&self) -> &'static str {
        quest(self.view, self.seed)
    }

    /// Returns the exits whose name, ID or direction matches the words best.
    pub(super) fn exits_named(&self, said: &[String]) -> Vec<&Exit> {
        best(self.exits.iter().map(|exit| (exit, exit.match_of(said))))
    }

    /// Returns the places anywhere on the map that match the words best.
    pub(super) fn areas_named(&self, said: &[String]) -> Vec<String> {
        let world = world(self.view, self.seed);
        let areas = self.view.areas().into_iter().map(|(area, tree)| {
            let stored = tree.string_at(&["name"]).unwrap_or_default();
            let score = match_of(said, &area, &name_of(world, &area, &stored), &stored);
            (area, score)
        });
        best(areas)
    }

    /// Returns the first step of the shortest path to a place.
    pub(super) fn first_step(&self, to: &str) -> Option<&Exit> {
        let mut from: BTreeMap<String, usize> = BTreeMap::new();
        let mut waiting = VecDeque::new();
        for (number, exit) in self.exits.iter().enumerate() {
            from.insert(exit.area.clone(), number);
            waiting.push_back(exit.area.clone());
        }
        let ways = all_ways(self.view);
        while let Some(area) = waiting.pop_front() {
            let number = from.get(&area).copied()?;
            if area == to {
                return self.exits.get(number);
            }
            for next in ways.get(&area).into_iter().flatten() {
                if *next != self.place.area && !from.contains_key(next) {
                    from.insert(next.clone(), number);
                    waiting.push_back(next.clone());
                }
            }
        }
        None
    }
}

/// Returns all roads of a map, by their starting place.
fn all_ways(view: CampaignView<'_>) -> BTreeMap<String, Vec<String>> {
    let mut ways: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if view.generation.has_one_way_roads() {
        for (area, tree) in view.areas() {
            let roads = tree.value_at(&["reachable_area_ids"]).map(|list| strings(&list));
            ways.insert(area, roads.unwrap_or_default());
        }
        return ways;
    }
    for (from, to) in view.connections() {
        ways.entry(from.clone()).or_default().push(to.clone());
        ways.entry(to).or_default().push(from);
    }
    ways
}

/// Returns the elements with the highest score above 0.
fn best<T>(scored: impl Iterator<Item = (T, usize)>) -> Vec<T> {
    let scored: Vec<(T, usize)> = scored.filter(|(_, score)| *score > 0).collect();
    let most = scored.iter().map(|(_, score)| *score).max().unwrap_or(0);
    scored.into_iter().filter(|(_, score)| *score == most).map(|(it, _)| it).collect()
}

/// Returns how well words match a place: its ID counts most.
fn match_of(said: &[String], area: &str, name: &str, stored: &str) -> usize {
    if said.contains(&area.to_lowercase()) {
        return usize::MAX;
    }
    let names = significant_words(&words(&format!("{name} {stored}")));
    said.iter().filter(|word| names.contains(word)).count()
}

impl Exit {
    pub(super) fn new(view: CampaignView<'_>, seed: u64, from: &str, to: &str) -> Exit {
        // The direction between two places is the same line in both ways.
        let (low, high) = if from <= to { (from, to) } else { (to, from) };
        let dice = Dice::new(seed).of("direction").of(low).of(high);
        let direction = dice.among(&Direction::ALL).copied().unwrap_or(Direction::North);
        let stored = view.area_name(to).unwrap_or_default();
        Exit {
            area: to.to_owned(),
            name: name_of(world(view, seed), to, &stored),
            stored,
            direction: if from <= to { direction } else { direction.opposite() },
        }
    }

    fn match_of(&self, said: &[String]) -> usize {
        match_of(said, &self.area, &self.name, &self.stored)
    }

    /// Describes the exit: its direction and destination.
    pub(super) fn shown(&self) -> String {
        format!("{} to {}", self.direction.as_str(), self.name)
    }
}
