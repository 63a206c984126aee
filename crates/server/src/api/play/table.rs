//! What lies on the table of a campaign: party, map, quest, and the versions of the last turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use everturn::campaign::{Campaign, CampaignError, EmbeddedNarrator};
use everturn::names::SessionId;
use everturn::store::Store;
use schemars::JsonSchema;
use serde::Serialize;

/// A number of items of one kind.
#[derive(Debug, Serialize, JsonSchema)]
struct CarriedItem {
    /// Its name.
    name: String,
    /// How many.
    count: i64,
}

/// A member of the party.
#[derive(Debug, Serialize, JsonSchema)]
struct PartyMember {
    /// The ID.
    id: String,
    /// The health.
    hp: Option<i64>,
    /// `alive`, `dying` and so on.
    state: String,
    /// The ID of the area.
    area: Option<String>,
    /// The items.
    items: Vec<CarriedItem>,
    /// Whether this is the active one.
    active: bool,
}

/// An area of the map.
#[derive(Debug, Serialize, JsonSchema)]
struct MapArea {
    /// The ID.
    id: String,
    /// The name.
    name: String,
    /// The IDs of the areas that can be reached from here.
    roads: Vec<String>,
    /// Whether anybody of the party has been here.
    visited: bool,
}

/// A version of the last turn.
#[derive(Debug, Serialize, JsonSchema)]
struct TurnVersion {
    /// What the player did.
    line: String,
    /// What the narrator said.
    text: String,
}

/// The table of a campaign.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TableAnswer {
    /// The last turn.
    turn: u64,
    /// The narrator that answers: `embedded`, or the name of a model.
    narrator: String,
    /// The party.
    party: Vec<PartyMember>,
    /// The map.
    areas: Vec<MapArea>,
    /// The goal, as the campaign has it.
    goal: Option<String>,
    /// How far the campaign has come.
    milestone: Option<String>,
    /// Why it has ended, if it has.
    ended: Option<String>,
    /// The versions of the last turn, oldest first.
    versions: Vec<TurnVersion>,
    /// The number of the current version, counted from 1.
    version: Option<u64>,
}

/// The areas that anybody of the party has visited, according to the log.
fn visited(campaign: &Campaign) -> Result<BTreeSet<String>, CampaignError> {
    let mut seen: BTreeSet<String> =
        campaign.characters()?.into_iter().filter_map(|one| one.area).collect();
    for row in campaign.rows()? {
        let row = row?.row;
        let positions = row.value_at(&["state_summary", "positions"]);
        let positions = positions.map(|all| all.children()).unwrap_or_default();
        seen.extend(positions.iter().filter_map(|(_, area)| area.string_at::<&str>(&[])));
    }
    Ok(seen)
}

fn map_of(campaign: &Campaign, is_embedded: bool) -> Result<Vec<MapArea>, CampaignError> {
    let seen = visited(campaign)?;
    let state = campaign.state()?;
    let namer = EmbeddedNarrator::new(0);
    let atlas = is_embedded.then(|| namer.atlas(state));
    let mut areas = Vec::new();
    for area in campaign.areas()? {
        let name = atlas.as_ref().map_or(area.name, |atlas| atlas.place_name(&area.id));
        let visited = seen.contains(&area.id);
        areas.push(MapArea { id: area.id, name, roads: area.roads, visited });
    }
    Ok(areas)
}

/// Reads the table.
pub(super) fn table_of(
    store: Arc<dyn Store>,
    id: &SessionId,
    narrator: &str,
) -> Result<TableAnswer, CampaignError> {
    let campaign = Campaign::open(store, id)?;
    let active = campaign.active_actor()?;
    let member = |one: everturn::campaign::Character| PartyMember {
        active: Some(&one.id) == active.as_ref(),
        items: one.inventory.into_iter().map(|(name, count)| CarriedItem { name, count }).collect(),
        id: one.id,
        hp: one.hp,
        state: one.state,
        area: one.area,
    };
    let state = campaign.state()?;
    let said = |path: &[&str]| state.string_at(path).filter(|text| !text.trim().is_empty());
    let (rows, current) = campaign.last_versions()?.unwrap_or_default();
    let text = |row: &everturn::campaign::TurnRow, field: &str| {
        row.row.string_at(&[field]).unwrap_or_default()
    };
    let versions: Vec<TurnVersion> = rows
        .iter()
        .map(|row| TurnVersion { line: text(row, "user_input"), text: text(row, "assistant_text") })
        .collect();
    Ok(TableAnswer {
        turn: campaign.turn(),
        narrator: narrator.to_owned(),
        party: campaign.characters()?.into_iter().map(member).collect(),
        areas: map_of(&campaign, narrator == "embedded")?,
        goal: said(&["goal", "text"]).or_else(|| said(&["everturn", "world", "goal", "text"])),
        milestone: said(&["milestone", "summary"]).or_else(|| said(&["milestone", "current"])),
        ended: campaign.end_reason()?,
        version: (!versions.is_empty()).then_some(current as u64 + 1),
        versions,
    })
}
