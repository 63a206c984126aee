//! The briefing of a narrator: the state, at the [`BriefingDetail`] that the settings allow, and the tools with their
//! arguments as [`ToolNote`] values.

use serde_json::{Map, Value, json};

use super::conflict::CHANGES;
use super::document_view::CampaignView;
use super::generation::{Generation, RuleSet};
use super::narrator::NarratorRequest;
use super::tools::SCENE_ACTION;
use super::turn::checks_words;

/// How much of the state a narrator receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BriefingDetail {
    /// The actor, the area, and the exits.
    Brief,
    /// The data for the next turn: the party, the area, the exits, the goal, and the amount of other data.
    Compressed,
    /// The whole document.
    Full,
}

/// The description of a tool for a narrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolNote {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as a JSON object with descriptions for values.
    pub args: &'static str,
    /// A description of its effect.
    pub does: &'static str,
}

const fn note(name: &'static str, args: &'static str, does: &'static str) -> ToolNote {
    ToolNote { name, args, does }
}

const FIRST: &[ToolNote] = &[
    note(
        "move",
        r#"{"actor_id": "acting character", "from_area_id": "current area", "to_area_id": "connected area"}"#,
        "move the acting character to a connected area",
    ),
    HP_DELTA,
    note(
        "map_generate",
        r#"{"parent_area_id": "existing area"}"#,
        "create one area connected to the given area; the result contains its id",
    ),
];

/// With one-way roads, maps are generated in the later form even by the first rules.
const MAP_GENERATE: ToolNote = note(
    "map_generate",
    r#"{"parent_area_id": "existing area, or null", "theme": "one or two words", "constraints": {"size": "1 to 30", "seed": "any text"}}"#,
    "create areas below the given area",
);

const HP_DELTA: ToolNote = note(
    "hp_delta",
    r#"{"target_character_id": "affected character", "delta": "integer, negative for damage", "cause": "reason"}"#,
    "change hit points; a character with 0 or fewer is dying",
);

const SECOND: &[ToolNote] = &[
    note(
        "move",
        r#"{"actor_id": "acting character", "to_area_id": "reachable area"}"#,
        "move the acting character; do not pass from_area_id",
    ),
    note(
        "move_options",
        r#"{"actor_id": "acting character"}"#,
        "list the areas that the acting character can reach",
    ),
    HP_DELTA,
    note(
        "inventory_add",
        r#"{"actor_id": "acting character", "item_id": "short name", "quantity": "positive integer"}"#,
        "add items to the inventory of the acting character",
    ),
    MAP_GENERATE,
    note(
        "world_generate",
        r#"{"world_id": "short name", "bind_to_campaign": "true or false"}"#,
        "create a world, unless one with this name exists",
    ),
    note(
        "actor_spawn",
        r#"{"character_id": "name", "spawn_position": "existing area", "bind_to_party": "true or false"}"#,
        "create a new character",
    ),
    note(
        SCENE_ACTION,
        r#"{"actor_id": "acting character", "action": "inspect, talk, open, search, take, drop, detach, use or wait", "target_id": "id of an entity, or of the area for search", "params": {"item_id": "for use: a carried entity"}}"#,
        "act on an entity of the area; the result says what happened",
    ),
];

impl NarratorRequest<'_> {
    fn view(&self) -> CampaignView<'_> {
        CampaignView { generation: self.generation, tree: self.campaign }
    }

    /// Returns how much of the state the settings allow a narrator to see.
    #[must_use]
    pub fn detail(&self) -> BriefingDetail {
        let view = self.view();
        if view.is_on("context.compress_enabled") {
            BriefingDetail::Compressed
        } else if view.is_on("context.full_context_enabled") {
            BriefingDetail::Full
        } else {
            BriefingDetail::Brief
        }
    }

    /// Returns the state at this level of detail.
    #[must_use]
    pub fn state(&self, detail: BriefingDetail) -> Value {
        match detail {
            // A document that is nested too deeply for a value is compressed.
            BriefingDetail::Full => self.campaign.to_value().unwrap_or_else(|_| self.compressed()),
            BriefingDetail::Compressed => self.compressed(),
            BriefingDetail::Brief => self.brief().into(),
        }
    }

    /// Returns the tools that the campaign allows, with the arguments that its rules require.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolNote> {
        let view = self.view();
        let allowed = view.allowlist();
        let notes = match view.generation.rules() {
            RuleSet::First => FIRST,
            RuleSet::Second => SECOND,
        };
        let mut notes = notes.to_vec();
        notes.retain(|note| allowed.iter().any(|name| name == note.name));
        if view.generation != Generation::Third {
            notes.retain(|note| note.name != SCENE_ACTION);
        }
        if view.generation == Generation::Between {
            for note in notes.iter_mut().filter(|note| note.name == MAP_GENERATE.name) {
                *note = MAP_GENERATE;
            }
        }
        notes
    }

    /// Returns the words that an answer must not contain, not even inside other words, unless a matching call succeeds.
    /// Empty if the text is not checked.
    #[must_use]
    pub fn checked_words(&self) -> &'static [&'static str] {
        if checks_words(self.view()) { CHANGES } else { &[] }
    }

    /// Returns what the campaign says about its story: title, premise, tone, language and characters. `None` if it says
    /// nothing.
    #[must_use]
    pub fn premise(&self) -> Option<String> {
        let text = |path: &[&str]| {
            let text = self.campaign.string_at(path).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let mut lines = Vec::new();
        for (label, key) in [
            ("Title", "title"),
            ("Premise", "premise"),
            ("Tone", "tone"),
            ("Language of the story", "language"),
        ] {
            lines.extend(text(&["everturn", key]).map(|text| format!("{label}: {text}")));
        }
        for member in self.view().party() {
            let about = |key: &str| text(&["everturn", "characters", &member, key]);
            let name = about("name").filter(|name| *name != member);
            let facts: Vec<String> = name.into_iter().chain(about("description")).collect();
            if !facts.is_empty() {
                lines.push(format!("{member}: {}", facts.join(", ")));
            }
        }
        (!lines.is_empty()).then(|| format!("About the story:\n{}", lines.join("\n")))
    }

    fn brief(&self) -> Map<String, Value> {
        let view = self.view();
        let here = view.position(self.actor);
        let named = |area: &String| json!({"id": area, "name": view.area_name(area)});
        let ways = here.as_deref().map(|here| view.roads(here)).unwrap_or_default();
        let mut out = Map::new();
        out.insert("actor".to_owned(), self.character(self.actor));
        out.insert("area".to_owned(), here.as_ref().map(named).into());
        out.insert("reachable".to_owned(), ways.iter().map(named).collect());
        if view.generation == Generation::Third {
            out.insert("entities".to_owned(), self.entities(here.as_deref()).into());
        }
        out
    }

    /// Returns the entities of an area, and those that the actor carries, sorted by ID.
    fn entities(&self, area: Option<&str>) -> Vec<Value> {
        let all = self.campaign.value_at(&["entities"]).map(|all| all.children());
        let mut found: Vec<(String, Value)> = Vec::new();
        for (id, entity) in all.unwrap_or_default() {
            let at = (entity.string_at(&["loc", "type"]), entity.string_at(&["loc", "id"]));
            let is_near = match at {
                (Some(kind), Some(at)) if kind == "area" => Some(at.as_str()) == area,
                (Some(kind), Some(at)) => kind == "actor" && at == self.actor,
                _ => false,
            };
            let Some(Ok(Value::Object(fields))) = is_near.then(|| entity.to_value()) else {
                continue;
            };
            let shown = ["id", "kind", "label", "loc", "tags", "verbs", "state"];
            let fields = fields.into_iter().filter(|(key, _)| shown.contains(&key.as_str()));
            found.push((id, fields.collect::<Map<String, Value>>().into()));
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.into_iter().map(|(_, entity)| entity).collect()
    }

    fn compressed(&self) -> Value {
        let view = self.view();
        let mut out = self.brief();
        let party: Vec<Value> = view.party().iter().map(|member| self.character(member)).collect();
        let part = |path: &[&str]| view.tree.value_at(path).and_then(|part| part.to_value().ok());
        out.insert("party".to_owned(), party.into());
        out.insert("goal".to_owned(), part(&["goal"]).into());
        out.insert("milestone".to_owned(), part(&["milestone", "current"]).into());
        let description = view.position(self.actor);
        let description =
            description.and_then(|area| part(&["map", "areas", &area, "description"]));
        out.insert("area_description".to_owned(), description.into());
        let counts = json!({"areas": view.areas().len(), "connections": view.connections().len()});
        out.insert("counts".to_owned(), counts);
        out.into()
    }

    fn character(&self, id: &str) -> Value {
        let view = self.view();
        let inventory = view.tree.value_at(&["actors", id, "inventory"]);
        let inventory = inventory.and_then(|inventory| inventory.to_value().ok());
        let mut out = json!({
            "id": id,
            "position": view.position(id),
            "hp": view.hp(id),
            "state": view.state(id),
        });
        if let (Value::Object(fields), Some(inventory)) = (&mut out, inventory) {
            fields.insert("inventory".to_owned(), inventory);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{default_allowlist, known_tools};
    use everturn_value::tree::JsonTree;

    fn request(campaign: &JsonTree) -> NarratorRequest<'_> {
        NarratorRequest {
            user_input: "",
            actor: "pc_001",
            campaign,
            generation: Generation::of(campaign),
            turn: 1,
            recent: &[],
            recalled: &[],
            retry: 0,
            conflicts: &[],
        }
    }

    fn first(context: &str) -> JsonTree {
        let text = format!(
            r#"{{"allowlist": ["move", "map_generate", "unknown"],
            "selected": {{"party_character_ids": ["pc_001", "pc_002"]}},
            "settings_snapshot": {{"context": {context}}},
            "map": {{"areas": {{"a": {{"name": "A"}}, "b": {{"name": "B"}}}},
                "connections": [{{"from_area_id": "a", "to_area_id": "b"}}]}},
            "positions": {{"pc_001": "a", "pc_002": "b"}}, "hp": {{"pc_001": 3}},
            "goal": {{"text": "g"}}}}"#
        );
        JsonTree::parse(text).unwrap()
    }

    #[test]
    fn the_settings_say_how_much_is_told() {
        for (context, expect) in [
            ("{}", BriefingDetail::Full),
            (r#"{"full_context_enabled": true}"#, BriefingDetail::Full),
            (
                r#"{"full_context_enabled": false, "compress_enabled": true}"#,
                BriefingDetail::Compressed,
            ),
            (
                r#"{"full_context_enabled": false, "compress_enabled": false}"#,
                BriefingDetail::Brief,
            ),
        ] {
            assert_eq!(request(&first(context)).detail(), expect, "{context}");
        }
    }

    #[test]
    fn words_are_told_where_they_are_looked_at() {
        assert!(request(&first("{}")).checked_words().contains(&"heal"));
        let second = JsonTree::parse(r#"{"actors": {}}"#).unwrap();
        assert!(request(&second).checked_words().is_empty());
    }

    #[test]
    fn shorter_tellings_have_what_the_next_turn_needs() {
        let campaign = first("{}");
        let request = request(&campaign);
        let (actor, area) = (
            json!({"id": "pc_001", "position": "a", "hp": 3, "state": "alive"}),
            json!({"id": "a", "name": "A"}),
        );
        let brief = request.state(BriefingDetail::Brief);
        assert_eq!(
            brief,
            json!({"actor": actor, "area": area, "reachable": [{"id": "b", "name": "B"}]})
        );
        let compressed = request.state(BriefingDetail::Compressed);
        assert_eq!(compressed["party"].as_array().map(Vec::len), Some(2));
        assert_eq!(compressed["counts"], json!({"areas": 2, "connections": 1}));
        assert_eq!(compressed["goal"], json!({"text": "g"}));
        assert_eq!(request.state(BriefingDetail::Full), campaign.to_value().unwrap());
    }

    #[test]
    fn every_tool_is_described_by_the_rules_that_have_it() {
        for (rules, notes) in [(RuleSet::First, FIRST), (RuleSet::Second, SECOND)] {
            let names: Vec<&str> = notes.iter().map(|note| note.name).collect();
            for tool in default_allowlist(rules) {
                assert!(names.contains(&tool), "{rules:?} {tool}");
            }
            let is_known = |name: &&str| known_tools(rules).contains(name) || *name == SCENE_ACTION;
            assert!(names.iter().all(is_known), "{names:?}");
            assert!(notes.iter().all(|note| JsonTree::parse(note.args).is_ok()));
        }
        let campaign = first("{}");
        let names: Vec<&str> = request(&campaign).tools().iter().map(|note| note.name).collect();
        assert_eq!(names, ["move", "map_generate"]);
    }
}
