//! A document that is being changed: every change is recorded as a delta, and can be reverted.

use serde::Serialize;

use super::document_view::{CampaignView, CharacterFact, DEFAULT_HP, DEFAULT_STATE, FIRST_AREA};
use super::generation::Generation;
use super::starter::{new_actor, starter_map};
use everturn_json::names::SessionId;
use everturn_value::delta::{Delta, DeltaError, DeltaPath, PathNotation};
use everturn_value::tree::{JsonTree, ValueKind};

/// A document with the changes made so far.
#[derive(Debug, Clone)]
pub struct CampaignDraft {
    generation: Generation,
    tree: JsonTree,
    deltas: Vec<Delta>,
    /// Worlds created by the turn, which are files of their own.
    worlds: Vec<(SessionId, JsonTree)>,
}

/// A position in a draft to which it can be reverted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftSavepoint {
    deltas: usize,
    worlds: usize,
}

/// Converts a value to a tree. The values are strings, numbers and maps of them, which can always be serialized.
#[must_use]
pub fn tree_of<T: Serialize + ?Sized>(value: &T) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

fn path<S: AsRef<str>>(segments: &[S]) -> DeltaPath {
    DeltaPath::array(segments.iter().map(AsRef::as_ref)).with_notation(PathNotation::Dotted)
}

impl CampaignDraft {
    /// Creates a draft without changes.
    #[must_use]
    pub fn new(tree: JsonTree) -> CampaignDraft {
        let generation = Generation::of(&tree);
        CampaignDraft { generation, tree, deltas: Vec::new(), worlds: Vec::new() }
    }

    /// Returns a view of the document with the changes.
    #[must_use]
    pub fn view(&self) -> CampaignView<'_> {
        CampaignView { generation: self.generation, tree: &self.tree }
    }

    /// Returns whether there are changes.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.deltas.is_empty()
    }

    /// Returns the document, the changes that led to it, and the new worlds.
    #[must_use]
    pub fn into_parts(self) -> (JsonTree, Vec<Delta>, Vec<(SessionId, JsonTree)>) {
        (self.tree, self.deltas, self.worlds)
    }

    pub(crate) fn savepoint(&self) -> DraftSavepoint {
        DraftSavepoint { deltas: self.deltas.len(), worlds: self.worlds.len() }
    }

    /// Reverts the changes after `mark`.
    pub(crate) fn revert_to(&mut self, mark: DraftSavepoint) -> Result<(), DeltaError> {
        self.worlds.truncate(mark.worlds);
        while self.deltas.len() > mark.deltas {
            let Some(delta) = self.deltas.pop() else { return Ok(()) };
            delta.inverse()?.apply(&mut self.tree)?;
        }
        Ok(())
    }

    /// Applies a change.
    pub fn apply(&mut self, mut delta: Delta) -> Result<(), DeltaError> {
        delta.apply_in_place(&mut self.tree)?;
        self.deltas.push(delta);
        Ok(())
    }

    /// Sets a value, unless it is already set.
    pub fn set<S: AsRef<str>, T: Serialize + ?Sized>(
        &mut self,
        segments: &[S],
        value: &T,
    ) -> Result<(), DeltaError> {
        let value = tree_of(value);
        if self.tree.value_at(segments).is_some_and(|known| known.is_same(&value)) {
            return Ok(());
        }
        self.apply(Delta::set(path(segments), value))
    }

    /// Appends a value to an array.
    pub fn push<S: AsRef<str>, T: Serialize + ?Sized>(
        &mut self,
        segments: &[S],
        value: &T,
    ) -> Result<(), DeltaError> {
        self.apply(Delta::push(path(segments), tree_of(value)))
    }

    /// Returns a world created by the turn, if there is one with this ID.
    pub(crate) fn made_world(&self, id: &SessionId) -> Option<&JsonTree> {
        self.worlds.iter().find(|(made, _)| made == id).map(|(_, world)| world)
    }

    pub(crate) fn make_world(&mut self, id: SessionId, world: JsonTree) {
        self.worlds.push((id, world));
    }

    fn set_fact<T: Serialize + ?Sized>(
        &mut self,
        fact: CharacterFact,
        actor: &str,
        value: &T,
    ) -> Result<(), DeltaError> {
        self.set(&self.view().fact_path(fact, actor), value)
    }

    /// Moves a character to an area.
    pub fn set_position(&mut self, actor: &str, area: &str) -> Result<(), DeltaError> {
        self.set_fact(CharacterFact::Position, actor, area)?;
        let has_state =
            self.tree.value_at(&["state"]).is_some_and(|state| state.kind() == ValueKind::Object);
        if self.generation == Generation::Between && has_state {
            self.set(&["state", "positions", actor], area)?;
            self.set(&["state", "positions_parent", actor], area)?;
            self.set(&["state", "positions_child", actor], &None::<&str>)?;
        }
        Ok(())
    }

    /// Sets the health of a character.
    pub fn set_hp(&mut self, actor: &str, hp: i64) -> Result<(), DeltaError> {
        self.set_fact(CharacterFact::Hp, actor, &hp)
    }

    /// Sets the state of a character.
    pub fn set_state(&mut self, actor: &str, state: &str) -> Result<(), DeltaError> {
        self.set_fact(CharacterFact::State, actor, state)
    }

    /// Ensures the minimum for a turn: a map, and a position, health and state for each party member.
    pub(crate) fn ensure_minimum(&mut self) -> Result<(), DeltaError> {
        if self.view().areas().is_empty() {
            // Other fields of the map stay; a map that is not an object is an error.
            let map = starter_map(self.generation);
            for part in ["areas", "connections"] {
                self.set(&["map", part], &map.get(part))?;
            }
        }
        let start = match self.view().has_area(FIRST_AREA) {
            true => FIRST_AREA.to_owned(),
            false => self.view().areas().first().map_or_else(String::new, |(id, _)| id.clone()),
        };
        for actor in self.view().party() {
            let view = self.view();
            if view.has_actors() && view.tree.value_at(&["actors", &actor]).is_none() {
                self.set(&["actors", &actor], &new_actor(&start))?;
                continue;
            }
            if view.position(&actor).is_none() {
                self.set_position(&actor, &start)?;
            }
            if self.view().fact(CharacterFact::Hp, &actor).is_none() {
                self.set_hp(&actor, DEFAULT_HP)?;
            }
            if self.view().fact(CharacterFact::State, &actor).is_none() {
                self.set_state(&actor, DEFAULT_STATE)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_leaves_the_text_as_it_was() {
        let text = r#"{"b":{"x":1},"a":[1,2],"positions":{"pc":"area_001"}}"#;
        let mut draft = CampaignDraft::new(JsonTree::parse(text).unwrap());
        let mark = draft.savepoint();
        draft.set_position("pc", "area_002").unwrap();
        draft.set(&["new", "deep"], &1).unwrap();
        draft.push(&["a"], &3).unwrap();
        assert!(draft.has_changed());
        draft.revert_to(mark).unwrap();
        assert!(!draft.has_changed());
        assert_eq!(draft.view().tree.to_line(), text);
    }

    #[test]
    fn setting_what_is_there_changes_nothing() {
        let mut draft = CampaignDraft::new(JsonTree::parse(r#"{"hp":{"pc":10}}"#).unwrap());
        draft.set_hp("pc", 10).unwrap();
        assert!(!draft.has_changed());
    }
}
