//! The state of a game: [`GameState`] has one JSON value for each [`Scope`].

use std::fmt;

use jiff::Timestamp;

use super::changes::DeltaGroup;
use super::dialect::Dialect;
use super::meta::stamp;
use everturn_value::delta::{Delta, DeltaError, apply_group};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// The parts of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The world: locations, characters, quests.
    World,
    /// The player's character.
    Player,
    /// The current scene.
    Scene,
    /// Characters in a file of their own, in sessions of [`Dialect::Upstream`](super::Dialect::Upstream).
    Npcs,
}

impl Scope {
    /// All scopes; only some sessions have [`Scope::Npcs`].
    pub const ALL: [Scope; 4] = [Scope::World, Scope::Player, Scope::Scene, Scope::Npcs];

    /// Returns the name used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::World => "world",
            Scope::Player => "player",
            Scope::Scene => "scene",
            Scope::Npcs => "npcs",
        }
    }

    /// Returns the scope with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of a game at a turn.
#[derive(Debug, Clone)]
pub struct GameState {
    /// The world.
    pub world: JsonTree,
    /// The player's character.
    pub player: JsonTree,
    /// The scene, or `null` outside of scenes.
    pub scene: JsonTree,
    /// Characters in a file of their own, if the session has one.
    pub npcs: Option<JsonTree>,
}

impl GameState {
    /// Creates an empty state.
    #[must_use]
    pub fn empty() -> GameState {
        GameState {
            world: JsonTree::object(),
            player: JsonTree::object(),
            scene: JsonTree::null(),
            npcs: None,
        }
    }

    /// Returns one part of the state.
    #[must_use]
    pub fn get(&self, scope: Scope) -> Option<&JsonTree> {
        match scope {
            Scope::World => Some(&self.world),
            Scope::Player => Some(&self.player),
            Scope::Scene => Some(&self.scene),
            Scope::Npcs => self.npcs.as_ref(),
        }
    }

    /// Returns the current scene, which upstream sessions keep inside the world.
    #[must_use]
    pub fn scene_in(&self, dialect: Dialect) -> JsonTree {
        dialect.rules().scene(self)
    }

    pub(crate) fn get_mut(&mut self, scope: Scope) -> &mut JsonTree {
        match scope {
            Scope::World => &mut self.world,
            Scope::Player => &mut self.player,
            Scope::Scene => &mut self.scene,
            Scope::Npcs => self.npcs.get_or_insert_with(JsonTree::object),
        }
    }

    /// Applies the changes of one group, all or none.
    pub fn apply(&mut self, group: &mut DeltaGroup) -> Result<(), (usize, DeltaError)> {
        apply_group(&mut group.deltas, self.get_mut(group.scope))
    }

    /// Reverts the group of changes that was applied last.
    pub fn revert(&mut self, group: &DeltaGroup) -> Result<(), DeltaError> {
        let mut back: Vec<Delta> =
            group.deltas.iter().rev().map(Delta::inverse).collect::<Result<_, _>>()?;
        apply_group(&mut back, self.get_mut(group.scope)).map_err(|(_, error)| error)
    }

    /// Returns the text of each part, as in its file.
    pub(crate) fn texts(&self) -> StateTexts {
        let text = |tree: &JsonTree| tree.to_text(&JsonStyle::PRETTY_RAW);
        StateTexts {
            world: text(&self.world),
            player: text(&self.player),
            scene: text(&self.scene),
            npcs: self.npcs.as_ref().map(text),
        }
    }

    /// Copies all values into texts of their own, so that those of the logs they came from can be freed.
    pub(crate) fn detach_texts(&mut self) {
        let npcs = self.npcs.iter_mut();
        for tree in [&mut self.world, &mut self.player, &mut self.scene].into_iter().chain(npcs) {
            if let Ok(own) = JsonTree::parse(tree.to_line()) {
                *tree = own;
            }
        }
    }

    /// Returns the state without the times at which the files were written.
    pub(crate) fn unstamped(self) -> GameState {
        GameState { world: unstamped(&self.world), player: unstamped(&self.player), ..self }
    }

    /// Returns whether both are equal, except for the times at which the files were written.
    #[must_use]
    pub fn is_same(&self, other: &GameState) -> bool {
        let npcs = |state: &GameState| state.npcs.clone().unwrap_or_else(JsonTree::object);
        unstamped(&self.world).is_same(&unstamped(&other.world))
            && unstamped(&self.player).is_same(&unstamped(&other.player))
            && self.scene.is_same(&other.scene)
            && npcs(self).is_same(&npcs(other))
    }
}

/// The texts of a state.
pub(crate) struct StateTexts {
    pub(crate) world: String,
    pub(crate) player: String,
    pub(crate) scene: String,
    pub(crate) npcs: Option<String>,
}

impl StateTexts {
    /// Returns all texts, in the order of snapshots.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        let first = [&self.world, &self.player].into_iter();
        first.chain(&self.npcs).chain([&self.scene]).map(String::as_str)
    }

    /// Returns the total size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.parts().map(str::len).sum()
    }
}

/// Adds the time at which a state file is written to its text, after the IDs.
pub(crate) fn stamped(text: &str, now: Timestamp) -> String {
    if !text.starts_with('{') {
        // Only an object has fields; anything else stays as it is.
        return text.to_owned();
    }
    // No string contains a literal newline, and only the top-level fields of the state are indented by two spaces.
    const FIELD: &str = "\n  \"";
    let time = format!("\n  \"{STAMP}\": \"{}\"", stamp(now));
    let name = format!("{FIELD}{STAMP}\": ");
    let (at, end) = match text.find(&name) {
        Some(at) => {
            let next = text.get(at + 1..).and_then(|rest| rest.find(FIELD));
            (at, next.map(|next| at + 1 + next))
        }
        None => {
            let third = text.match_indices(FIELD).nth(2).map(|(at, _)| at);
            let end = text.strip_suffix('}').map(str::trim_end).map_or(text.len(), str::len);
            (third.unwrap_or(end), third)
        }
    };
    let before = text.get(..at).unwrap_or_default();
    let comma = if before.len() > 1 && !before.ends_with(',') { "," } else { "" };
    match end.and_then(|end| text.get(end..)) {
        Some(after) => [before, comma, &time, ",", after].concat(),
        None => [before, comma, &time, "\n}"].concat(),
    }
}

/// The field of a state file with the time at which it was written; it is not part of the state.
pub(crate) const STAMP: &str = "lastUpdated";

/// Returns a state without the time at which its file was written.
pub(crate) fn unstamped(tree: &JsonTree) -> JsonTree {
    let mut tree = tree.clone();
    if tree.value_at(&[STAMP]).is_some() {
        // The field exists, so this cannot fail.
        drop(
            Delta::delete(everturn_value::delta::DeltaPath::array([STAMP]))
                .apply_in_place(&mut tree),
        );
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time is the third field, or replaces the existing one.
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let style = &JsonStyle::PRETTY_RAW;
        let written =
            stamped(&JsonTree::parse(text).unwrap().to_text(style), Timestamp::UNIX_EPOCH);
        assert_eq!(written, JsonTree::parse(&*written).unwrap().to_text(style), "{text}");
        assert_eq!(JsonTree::parse(&*written).unwrap().to_line(), expect, "{text}");
    }

    #[test]
    fn a_state_is_written_with_its_time_and_nothing_else_changes() {
        let time = r#""lastUpdated":"1970-01-01T00:00:00Z""#;
        let cases = [
            ("{}", "{T}"),
            (r#"{"a": {}}"#, r#"{"a":{},T}"#),
            (r#"{"a": [1, {"b": {}}], "c": {"d": 1}}"#, r#"{"a":[1,{"b":{}}],"c":{"d":1},T}"#),
            (
                r#"{"a": {"x": 1, "y": 2}, "b": 2, "c": []}"#,
                r#"{"a":{"x":1,"y":2},"b":2,T,"c":[]}"#,
            ),
            (
                r#"{"a": 1, "b": 2, "c": {"d": 4}, "e": {}}"#,
                r#"{"a":1,"b":2,T,"c":{"d":4},"e":{}}"#,
            ),
            (r#"{"lastUpdated": "x", "a": 1}"#, r#"{T,"a":1}"#),
            (r#"{"a": 1, "lastUpdated": {"b": [1]}, "c": 1}"#, r#"{"a":1,T,"c":1}"#),
            (r#"{"a": 1, "lastUpdated": null}"#, r#"{"a":1,T}"#),
            (r#"{"lastUpdated": [1, 2]}"#, "{T}"),
            (r#"{"a": {"lastUpdated": 1}, "b": {}}"#, r#"{"a":{"lastUpdated":1},"b":{},T}"#),
            (
                r#"{"a": "\n  \"lastUpdated\": 1", "b": "}\n}"}"#,
                r#"{"a":"\n  \"lastUpdated\": 1","b":"}\n}",T}"#,
            ),
        ];
        for (text, expect) in cases {
            check(text, &expect.replacen('T', time, 1));
        }
        for text in ["null", "5", "[]", "[\n  \"a\"\n]", "\"a\""] {
            check(text, text.replace([' ', '\n'], "").as_str());
        }
    }
}
