//! What players see of a campaign, whatever its generation: each [`Character`], and each [`Area`] with its roads.

use std::collections::{BTreeMap, BTreeSet};

use super::document_view::{CampaignView, integer, strings};
use super::progress;
use everturn_value::tree::{JsonTree, ValueKind};

/// A member of the party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Character {
    /// The ID.
    pub id: String,
    /// The ID of their area.
    pub area: Option<String>,
    /// Their health.
    pub hp: Option<i64>,
    /// `alive`, `dying` and so on.
    pub state: String,
    /// The items they carry, with quantities.
    pub inventory: Vec<(String, i64)>,
}

/// An area of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The ID.
    pub id: String,
    /// The name; defaults to the ID.
    pub name: String,
    /// The IDs of the areas that can be reached from here, sorted.
    pub roads: Vec<String>,
}

impl CampaignView<'_> {
    /// Returns the party, in its order.
    #[must_use]
    pub fn characters(self) -> Vec<Character> {
        let character = |id: String| Character {
            area: self.position(&id),
            hp: self.hp(&id),
            state: self.state(&id),
            inventory: inventory(self, &id),
            id,
        };
        self.party().into_iter().map(character).collect()
    }

    /// Returns the areas in the order of the document. Roads to missing areas are left out.
    #[must_use]
    pub fn map_areas(self) -> Vec<Area> {
        let areas = self.areas();
        let mut roads: BTreeMap<&str, BTreeSet<String>> =
            areas.iter().map(|(id, _)| (id.as_str(), BTreeSet::new())).collect();
        let mut join = |from: &str, to: &str| {
            if from != to
                && roads.contains_key(to)
                && let Some(roads) = roads.get_mut(from)
            {
                roads.insert(to.to_owned());
            }
        };
        if self.generation.has_one_way_roads() {
            for (id, area) in &areas {
                let list = area.value_at(&["reachable_area_ids"]);
                let list = list.map(|list| strings(&list)).unwrap_or_default();
                list.iter().for_each(|to| join(id, to));
            }
        } else {
            for (one, other) in self.connections() {
                join(&one, &other);
                join(&other, &one);
            }
        }
        let mut area = |(id, tree): &(String, JsonTree)| {
            let name = tree.string_at(&["name"]).filter(|name| !name.trim().is_empty());
            let roads = roads.remove(id.as_str()).unwrap_or_default().into_iter().collect();
            Area { name: name.unwrap_or_else(|| id.clone()), roads, id: id.clone() }
        };
        areas.iter().map(&mut area).collect()
    }

    /// Returns why the campaign has ended, if it has.
    #[must_use]
    pub fn end_reason(self) -> Option<String> {
        progress::end_reason(self)
    }
}

/// Returns the items of a character: those of the actor, or in the first generations those of the stored world.
fn inventory(view: CampaignView<'_>, actor: &str) -> Vec<(String, i64)> {
    if !view.has_actors() {
        let items = view.tree.value_at(&["everturn", "world", "items"]);
        let items = items.map(|items| items.children()).unwrap_or_default();
        let is_theirs = |item: &JsonTree| item.string_at(&["at"]).as_deref() == Some(actor);
        let theirs = items.iter().filter(|(_, item)| is_theirs(item));
        return theirs.filter_map(|(_, item)| Some((item.string_at(&["name"])?, 1))).collect();
    }
    let items = view.tree.value_at(&["actors", actor, "inventory"]);
    let items = items.filter(|items| items.kind() == ValueKind::Object);
    let items = items.map(|items| items.children()).unwrap_or_default();
    items.into_iter().map(|(item, count)| (item, integer(&count).unwrap_or(1))).collect()
}
