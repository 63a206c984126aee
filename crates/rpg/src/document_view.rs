//! Reads a campaign's document, whatever its generation: [`CampaignView`].

use serde_json::{Map, Value};

use super::generation::Generation;
use everturn_value::tree::{JsonTree, ValueKind};

/// The state of a character without a recorded one.
pub const DEFAULT_STATE: &str = "alive";

/// The health of a new character.
pub const DEFAULT_HP: i64 = 10;

/// The area in which characters start.
pub const FIRST_AREA: &str = "area_001";

/// A typed view of a document.
#[derive(Debug, Clone, Copy)]
pub struct CampaignView<'t> {
    /// The generation of the document.
    pub generation: Generation,
    /// The document.
    pub tree: &'t JsonTree,
}

/// Returns the strings of an array; other elements are skipped.
#[must_use]
pub fn strings(tree: &JsonTree) -> Vec<String> {
    let children = tree.children();
    children.iter().filter_map(|(_, child)| child.string_at::<&str>(&[])).collect()
}

/// Returns a value as an integer.
#[must_use]
pub fn integer(tree: &JsonTree) -> Option<i64> {
    match tree.kind() {
        ValueKind::Number => tree.to_line().parse().ok(),
        _ => None,
    }
}

impl<'t> CampaignView<'t> {
    /// Creates a view of a document.
    #[must_use]
    pub fn new(tree: &'t JsonTree) -> CampaignView<'t> {
        CampaignView { generation: Generation::of(tree), tree }
    }

    /// Returns the IDs of the party.
    #[must_use]
    pub fn party(self) -> Vec<String> {
        let party = self.tree.value_at(&["selected", "party_character_ids"]);
        party.map(|party| strings(&party)).unwrap_or_default()
    }

    /// Returns the most hit points that a character can have by resting: those it started with.
    #[must_use]
    pub fn most_hp(self, character: &str) -> i64 {
        self.integer(&["everturn", "characters", character, "hp"]).unwrap_or(DEFAULT_HP)
    }

    /// Returns the default actor.
    #[must_use]
    pub fn active_actor(self) -> Option<String> {
        self.tree.string_at(&["selected", "active_actor_id"])
    }

    /// Returns the tools that the campaign allows.
    #[must_use]
    pub fn allowlist(self) -> Vec<String> {
        self.tree.value_at(&["allowlist"]).map(|list| strings(&list)).unwrap_or_default()
    }

    /// Returns how often the settings have been changed.
    #[must_use]
    pub fn settings_revision(self) -> i64 {
        self.integer(&["settings_revision"]).unwrap_or(0)
    }

    /// Returns an integer in the document.
    #[must_use]
    pub fn integer(self, path: &[&str]) -> Option<i64> {
        integer(&self.tree.value_at(path)?)
    }

    /// Returns a boolean in the document.
    #[must_use]
    pub fn flag(self, path: &[&str]) -> Option<bool> {
        match self.tree.text_at(path)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns whether the facts about characters are stored under `actors`.
    #[must_use]
    pub fn has_actors(self) -> bool {
        matches!(self.generation, Generation::Second | Generation::Third)
    }

    /// Returns the path of a fact about a character.
    #[must_use]
    pub fn fact_path(self, fact: CharacterFact, actor: &str) -> Vec<&str> {
        let [map, field] = fact.names();
        if self.has_actors() { vec!["actors", actor, field] } else { vec![map, actor] }
    }

    /// Returns a fact about a character.
    #[must_use]
    pub fn fact(self, fact: CharacterFact, actor: &str) -> Option<JsonTree> {
        self.tree.value_at(&self.fact_path(fact, actor))
    }

    /// Returns the ID of the area of a character.
    #[must_use]
    pub fn position(self, actor: &str) -> Option<String> {
        self.fact(CharacterFact::Position, actor)?.string_at::<&str>(&[])
    }

    /// Returns the health of a character.
    #[must_use]
    pub fn hp(self, actor: &str) -> Option<i64> {
        integer(&self.fact(CharacterFact::Hp, actor)?)
    }

    /// Returns the state of a character; the default is alive.
    #[must_use]
    pub fn state(self, actor: &str) -> String {
        match self.fact(CharacterFact::State, actor) {
            Some(state) => state.string_at::<&str>(&[]).unwrap_or_else(|| state.to_line()),
            None => DEFAULT_STATE.to_owned(),
        }
    }

    /// Returns a fact about all characters, as a map.
    #[must_use]
    pub fn facts(self, fact: CharacterFact) -> Map<String, Value> {
        let [map, field] = fact.names();
        let value = |tree: &JsonTree| tree.to_value().unwrap_or(Value::Null);
        if !self.has_actors() {
            let all = self.tree.value_at(&[map]).map(|all| all.children()).unwrap_or_default();
            return all.into_iter().map(|(actor, tree)| (actor, value(&tree))).collect();
        }
        let actors = self.tree.value_at(&["actors"]).map(|all| all.children()).unwrap_or_default();
        let known = actors.iter().filter_map(|(actor, tree)| {
            let fact = tree.value_at(&[field]).filter(|fact| !fact.is_null())?;
            Some((actor.clone(), value(&fact)))
        });
        known.collect()
    }

    /// Returns whether the map has an area.
    #[must_use]
    pub fn has_area(self, area: &str) -> bool {
        self.tree.value_at(&["map", "areas", area]).is_some()
    }

    /// Returns the areas and their fields.
    #[must_use]
    pub fn areas(self) -> Vec<(String, JsonTree)> {
        self.tree.value_at(&["map", "areas"]).map(|areas| areas.children()).unwrap_or_default()
    }

    /// Returns the name of an area.
    #[must_use]
    pub fn area_name(self, area: &str) -> Option<String> {
        self.tree.string_at(&["map", "areas", area, "name"])
    }

    /// Returns the areas that can be reached from an area, sorted by ID.
    #[must_use]
    pub fn roads(self, from: &str) -> Vec<String> {
        let mut roads = if self.generation.has_one_way_roads() {
            let list = self.tree.value_at(&["map", "areas", from, "reachable_area_ids"]);
            list.map(|list| strings(&list)).unwrap_or_default()
        } else {
            let ends = self.connections().into_iter().filter_map(|(one, other)| {
                if one == from { Some(other) } else { (other == from).then_some(one) }
            });
            ends.collect()
        };
        roads.sort();
        roads.dedup();
        roads
    }

    /// Returns the connections in the document.
    #[must_use]
    pub fn connections(self) -> Vec<(String, String)> {
        let list = self.tree.value_at(&["map", "connections"]).map(|list| list.children());
        let ends = |(_, connection): (String, JsonTree)| {
            let end = |key: &str| connection.string_at(&[key]);
            Some((end("from_area_id")?, end("to_area_id")?))
        };
        list.unwrap_or_default().into_iter().filter_map(ends).collect()
    }
}

/// The facts known about each character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharacterFact {
    /// The area.
    Position,
    /// The health.
    Hp,
    /// `alive`, `dying` and so on.
    State,
}

impl CharacterFact {
    /// All facts.
    pub const ALL: [CharacterFact; 3] =
        [CharacterFact::Position, CharacterFact::Hp, CharacterFact::State];

    /// Returns the name of the map that has it for all characters, and of the field of an actor.
    #[must_use]
    pub fn names(self) -> [&'static str; 2] {
        match self {
            CharacterFact::Position => ["positions", "position"],
            CharacterFact::Hp => ["hp", "hp"],
            CharacterFact::State => ["character_states", "character_state"],
        }
    }
}
