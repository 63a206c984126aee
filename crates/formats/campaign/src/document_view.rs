//! Reads a campaign's document, whatever its generation: `CampaignView`.

use serde_json::{Map, Value};

use super::generation::Generation;
use everturn_value::tree::{JsonTree, ValueKind};

/// The state of a character without a recorded one.
pub(crate) const DEFAULT_STATE: &str = "alive";

/// The health of a new character.
pub(crate) const DEFAULT_HP: i64 = 10;

/// The area in which characters start.
pub(crate) const FIRST_AREA: &str = "area_001";

/// A typed view of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CampaignView<'t> {
    pub(crate) generation: Generation,
    pub(crate) tree: &'t JsonTree,
}

/// Returns the strings of an array; other elements are skipped.
pub(crate) fn strings(tree: &JsonTree) -> Vec<String> {
    let children = tree.children();
    children.iter().filter_map(|(_, child)| child.string_at::<&str>(&[])).collect()
}

/// Returns a value as an integer.
pub(crate) fn integer(tree: &JsonTree) -> Option<i64> {
    match tree.kind() {
        ValueKind::Number => tree.to_line().parse().ok(),
        _ => None,
    }
}

impl<'t> CampaignView<'t> {
    pub(crate) fn new(tree: &'t JsonTree) -> CampaignView<'t> {
        CampaignView { generation: Generation::of(tree), tree }
    }

    /// Returns the IDs of the party.
    pub(crate) fn party(self) -> Vec<String> {
        let party = self.tree.value_at(&["selected", "party_character_ids"]);
        party.map(|party| strings(&party)).unwrap_or_default()
    }

    pub(crate) fn active_actor(self) -> Option<String> {
        self.tree.string_at(&["selected", "active_actor_id"])
    }

    pub(crate) fn allowlist(self) -> Vec<String> {
        self.tree.value_at(&["allowlist"]).map(|list| strings(&list)).unwrap_or_default()
    }

    pub(crate) fn settings_revision(self) -> i64 {
        self.integer(&["settings_revision"]).unwrap_or(0)
    }

    pub(crate) fn integer(self, path: &[&str]) -> Option<i64> {
        integer(&self.tree.value_at(path)?)
    }

    pub(crate) fn flag(self, path: &[&str]) -> Option<bool> {
        match self.tree.text_at(path)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns whether the facts about characters are stored under `actors`.
    pub(crate) fn has_actors(self) -> bool {
        matches!(self.generation, Generation::Second | Generation::Third)
    }

    /// Returns the path of a fact about a character.
    pub(crate) fn fact_path(self, fact: CharacterFact, actor: &str) -> Vec<&str> {
        let [map, field] = fact.names();
        if self.has_actors() { vec!["actors", actor, field] } else { vec![map, actor] }
    }

    pub(crate) fn fact(self, fact: CharacterFact, actor: &str) -> Option<JsonTree> {
        self.tree.value_at(&self.fact_path(fact, actor))
    }

    pub(crate) fn position(self, actor: &str) -> Option<String> {
        self.fact(CharacterFact::Position, actor)?.string_at::<&str>(&[])
    }

    pub(crate) fn hp(self, actor: &str) -> Option<i64> {
        integer(&self.fact(CharacterFact::Hp, actor)?)
    }

    /// Returns the state of a character; the default is alive.
    pub(crate) fn state(self, actor: &str) -> String {
        match self.fact(CharacterFact::State, actor) {
            Some(state) => state.string_at::<&str>(&[]).unwrap_or_else(|| state.to_line()),
            None => DEFAULT_STATE.to_owned(),
        }
    }

    /// Returns a fact about all characters, as a map.
    pub(crate) fn facts(self, fact: CharacterFact) -> Map<String, Value> {
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
    pub(crate) fn has_area(self, area: &str) -> bool {
        self.tree.value_at(&["map", "areas", area]).is_some()
    }

    /// Returns the areas and their fields.
    pub(crate) fn areas(self) -> Vec<(String, JsonTree)> {
        self.tree.value_at(&["map", "areas"]).map(|areas| areas.children()).unwrap_or_default()
    }

    pub(crate) fn area_name(self, area: &str) -> Option<String> {
        self.tree.string_at(&["map", "areas", area, "name"])
    }

    /// Returns the areas that can be reached from an area, sorted by ID.
    pub(crate) fn roads(self, from: &str) -> Vec<String> {
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
    pub(crate) fn connections(self) -> Vec<(String, String)> {
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
pub(crate) enum CharacterFact {
    Position,
    Hp,
    State,
}

impl CharacterFact {
    pub(crate) const ALL: [CharacterFact; 3] =
        [CharacterFact::Position, CharacterFact::Hp, CharacterFact::State];

    /// Returns the name of the map that has it for all characters, and of the field of an actor.
    pub(crate) fn names(self) -> [&'static str; 2] {
        match self {
            CharacterFact::Position => ["positions", "position"],
            CharacterFact::Hp => ["hp", "hp"],
            CharacterFact::State => ["character_states", "character_state"],
        }
    }
}
