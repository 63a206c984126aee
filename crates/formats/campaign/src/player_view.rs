//! What players see of a campaign, whatever its generation: who is where, and where one can go.

use super::document_view::{CampaignView, integer};
use super::error::CampaignError;
use super::progress;
use super::session::Campaign;
use everturn_value::tree::ValueKind;

/// Somebody of the party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Character {
    /// The id.
    pub id: String,
    /// The id of the area where they are.
    pub area: Option<String>,
    /// Their health.
    pub hp: Option<i64>,
    /// `alive`, `dying` and so on.
    pub state: String,
    /// What they carry, and how many of each; only later generations know.
    pub inventory: Vec<(String, i64)>,
}

/// An area of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The id.
    pub id: String,
    /// The name; the id, if it has none.
    pub name: String,
    /// The ids of the areas to which one can go from here, in their order.
    pub roads: Vec<String>,
}

impl Campaign {
    /// The party, in its order.
    pub fn characters(&self) -> Result<Vec<Character>, CampaignError> {
        let view = self.view()?;
        let character = |id: String| Character {
            area: view.position(&id),
            hp: view.hp(&id),
            state: view.state(&id),
            inventory: inventory(view, &id),
            id,
        };
        Ok(view.party().into_iter().map(character).collect())
    }

    /// The areas in the order of the document. A road to an area that does not exist is left out.
    pub fn areas(&self) -> Result<Vec<Area>, CampaignError> {
        let view = self.view()?;
        let area = |id: String| {
            let mut roads = view.roads(&id);
            roads.retain(|to| *to != id && view.has_area(to));
            let name = view.area_name(&id).filter(|name| !name.trim().is_empty());
            Area { name: name.unwrap_or_else(|| id.clone()), roads, id }
        };
        Ok(view.areas().into_iter().map(|(id, _)| area(id)).collect())
    }

    /// Why the campaign is over, if it is.
    pub fn end_reason(&self) -> Result<Option<String>, CampaignError> {
        Ok(progress::end_reason(self.view()?))
    }
}

fn inventory(view: CampaignView<'_>, actor: &str) -> Vec<(String, i64)> {
    let items = view.tree.value_at(&["actors", actor, "inventory"]);
    let items = items.filter(|items| items.kind() == ValueKind::Object);
    let items = items.map(|items| items.children()).unwrap_or_default();
    items.into_iter().map(|(item, count)| (item, integer(&count).unwrap_or(1))).collect()
}
