//! Reads the parameters of a new campaign from the fields of a JSON object.

use std::collections::BTreeSet;

use super::{NewArea, NewCampaign, NewCharacter};
use crate::error::CampaignError;
use everturn_json::names::SessionId;
use everturn_rpg::document_view::{integer, strings};
use everturn_rpg::generation::Generation;
use everturn_session::model::NewSession;
use everturn_value::tree::{JsonTree, ValueKind};
use serde_json::Value;

impl NewCampaign {
    /// Reads the fields of a new session: `party` or `characters`, `actor`, `world`, `map`, `map_size`, `title`,
    /// `premise`, `goal`, `tone`, `language`, `allowlist`, `lorebooks` and `rules`.
    pub fn from_fields(new: &NewSession) -> Result<NewCampaign, CampaignError> {
        let mut campaign = NewCampaign::default();
        if !new.id.is_empty() {
            campaign.id = Some(SessionId::parse_new(&new.id)?);
        }
        let mut is_party_given = false;
        for (key, value) in new.fields.children() {
            let text = || text(&key, &value);
            match key.as_str() {
                "id" | "sessionId" => {}
                "actor" => campaign.actor = Some(text()?),
                "world" => campaign.world = text()?,
                "title" => campaign.title = Some(text()?),
                "premise" => campaign.premise = Some(text()?),
                "goal" => campaign.goal = Some(text()?),
                "tone" => campaign.tone = Some(text()?),
                "language" => campaign.language = Some(text()?),
                "map" if value.kind() == ValueKind::Object => campaign.areas = areas(&value)?,
                "map" => campaign.map = text()?,
                "map_size" => campaign.map_size = Some(number(&key, &value)?),
                "allowlist" => campaign.allowlist = Some(texts(&key, &value)?),
                "lorebooks" => campaign.lorebooks = objects(&key, &value)?,
                "party" => {
                    is_party_given = true;
                    campaign.party = texts(&key, &value)?;
                }
                "characters" => campaign.characters = characters(&value)?,
                "rules" => {
                    campaign.generation = match number(&key, &value)? {
                        1 => Generation::First,
                        2 => Generation::Second,
                        other => return Err(wrong(format!("rules are 1 or 2, not {other}"))),
                    };
                }
                _ => return Err(wrong(format!("campaigns have no {key:?}"))),
            }
        }
        if new.name.is_some() || new.config.is_some() {
            return Err(wrong("campaigns start without a name and with default settings"));
        }
        if is_party_given && !campaign.characters.is_empty() {
            return Err(wrong("the characters are the party; give one of the two"));
        }
        if campaign.map_size.is_some() && !campaign.areas.is_empty() {
            return Err(wrong("a map has its own size; give one of the two"));
        }
        if !campaign.characters.is_empty() {
            campaign.party = campaign.characters.iter().map(|one| one.id.clone()).collect();
        }
        Ok(campaign)
    }
}

fn wrong(what: impl Into<String>) -> CampaignError {
    CampaignError::input(what)
}

fn text(key: &str, value: &JsonTree) -> Result<String, CampaignError> {
    let found = value.string_at::<&str>(&[]);
    found.ok_or_else(|| wrong(format!("{key} is {}, not a string", value.kind())))
}

fn number(key: &str, value: &JsonTree) -> Result<i64, CampaignError> {
    integer(value).ok_or_else(|| wrong(format!("{key} is {}, not an integer", value.kind())))
}

fn texts(key: &str, value: &JsonTree) -> Result<Vec<String>, CampaignError> {
    let found = strings(value);
    if value.kind() != ValueKind::Array || value.len_at::<&str>(&[]) != Some(found.len()) {
        return Err(wrong(format!("{key} is not an array of strings")));
    }
    Ok(found)
}

fn objects(key: &str, value: &JsonTree) -> Result<Vec<Value>, CampaignError> {
    let all = value.children().into_iter().map(|(_, one)| one.to_value());
    let all: Vec<Value> = all.collect::<Result<_, _>>().unwrap_or_default();
    if value.kind() != ValueKind::Array
        || all.iter().any(|one| !one.is_object())
        || value.len_at::<&str>(&[]) != Some(all.len())
    {
        return Err(wrong(format!("{key} is not an array of objects")));
    }
    Ok(all)
}

/// Reads characters: `{"name": "Ann", "id": "pc_001", "description": "…", "hp": 12}`. The ID defaults to the name.
fn characters(value: &JsonTree) -> Result<Vec<NewCharacter>, CampaignError> {
    if value.kind() != ValueKind::Array {
        return Err(wrong(format!("characters is {}, not an array", value.kind())));
    }
    let mut all = Vec::new();
    for (_, one) in value.children() {
        let mut character = NewCharacter::default();
        for (key, value) in one.children() {
            match key.as_str() {
                "id" => character.id = text("the id of a character", &value)?,
                "name" => character.name = text("the name of a character", &value)?,
                "description" => {
                    character.description = text("the description of a character", &value)?;
                }
                "hp" => character.hp = number("the hp of a character", &value)?,
                _ => return Err(wrong(format!("characters have no {key:?}"))),
            }
        }
        if character.id.is_empty() {
            character.id.clone_from(&character.name);
        }
        if character.id.trim().is_empty() || character.hp < 1 {
            return Err(wrong("a character needs a name, and at least 1 hp"));
        }
        all.push(character);
    }
    Ok(all)
}

/// Reads a map in the form of the document: `areas` by ID, and `connections`.
fn areas(map: &JsonTree) -> Result<Vec<NewArea>, CampaignError> {
    let part = |key: &str| map.value_at(&[key]).map(|part| part.children()).unwrap_or_default();
    let mut areas: Vec<NewArea> = Vec::new();
    for (id, area) in part("areas") {
        let field = |key: &str| match area.value_at(&[key]) {
            Some(value) if !value.is_null() => text(&format!("{key} of area {id}"), &value),
            _ => Ok(String::new()),
        };
        let (name, description, parent) =
            (field("name")?, field("description")?, field("parent_area_id")?);
        let roads = area.value_at(&["reachable_area_ids"]);
        let roads = roads.map(|roads| texts(&format!("reachable_area_ids of area {id}"), &roads));
        let roads = roads.transpose()?.unwrap_or_default();
        areas.push(NewArea { id, name, description, parent, roads });
    }
    if areas.is_empty() {
        return Err(wrong("a map needs areas"));
    }
    for (_, connection) in part("connections") {
        let end = |key: &str| connection.string_at(&[key]);
        let (Some(from), Some(to)) = (end("from_area_id"), end("to_area_id")) else {
            return Err(wrong("a connection needs from_area_id and to_area_id"));
        };
        let Some(area) = areas.iter_mut().find(|area| area.id == from) else {
            return Err(wrong(format!("the map refers to {from:?}, which is not on it")));
        };
        if !area.roads.contains(&to) {
            area.roads.push(to);
        }
    }
    let known: BTreeSet<String> = areas.iter().map(|area| area.id.clone()).collect();
    let ends = areas.iter().flat_map(|area| area.roads.iter().chain([&area.parent]));
    let missing = ends.filter(|end| !end.is_empty()).find(|end| !known.contains(*end)).cloned();
    match missing {
        Some(end) => Err(wrong(format!("the map refers to {end:?}, which is not on it"))),
        None => Ok(areas),
    }
}
