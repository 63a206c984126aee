//! [`Guide`]: shows a campaign at any time: the scene, the party, the map, and the status line.

use std::collections::{BTreeMap, BTreeSet};

use everturn::campaign::{Area, Campaign, CampaignWriter, Character, EmbeddedNarrator};

use super::map::{AreaMap, MapPlace};
use super::page::{BlockStyle, PlayPage};
use crate::error::Error;

/// Names and shows places.
pub(super) struct Guide {
    /// The embedded narrator, which names unnamed places; other narrators use the names in the campaign.
    embedded: Option<EmbeddedNarrator>,
}

impl Guide {
    pub(super) fn new(embedded: Option<EmbeddedNarrator>) -> Guide {
        Guide { embedded }
    }

    /// Returns whether the embedded narrator tells the campaign.
    pub(super) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Returns the name of an area within a sentence.
    pub(super) fn name(&self, campaign: &Campaign, area: &str) -> Result<String, Error> {
        if let Some(embedded) = &self.embedded {
            return Ok(embedded.place_name(campaign.state()?, area));
        }
        let areas = campaign.areas()?;
        let found = areas.into_iter().find(|known| known.id == area).map(|area| area.name);
        Ok(found.unwrap_or_else(|| area.to_owned()))
    }

    /// Returns the name of an area on its own.
    pub(super) fn label(&self, campaign: &Campaign, area: &str) -> Result<String, Error> {
        let name = self.name(campaign, area)?;
        Ok(name.strip_prefix("the ").unwrap_or(&name).to_owned())
    }

    /// Shows the scene: the narrator's description, or its last text and the exits.
    pub(super) fn scene(
        &self,
        writer: &mut CampaignWriter,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        if let Some(mut embedded) = self.embedded {
            page.say(BlockStyle::Plain, writer.preview("look", &mut embedded)?.text);
            return Ok(());
        }
        let campaign = writer.campaign();
        let actor = campaign.active_actor()?.unwrap_or_default();
        if let Some(row) = campaign.rows_back()?.next().transpose()? {
            let told = row.row.string_at(&["assistant_text"]).unwrap_or_default();
            page.say(BlockStyle::Plain, told);
            page.gap();
        }
        let characters = campaign.characters()?;
        let here = characters.iter().find(|one| one.id == actor).and_then(|one| one.area.clone());
        let Some(here) = here else { return Ok(()) };
        let areas = campaign.areas()?;
        let name = |id: &String| areas.iter().find(|area| area.id == *id).map(|area| &area.name);
        let mut text = format!("{actor} is in {}.", name(&here).unwrap_or(&here));
        let roads = areas.iter().find(|area| area.id == here).map(|area| area.roads.as_slice());
        let ways: Vec<&str> =
            roads.unwrap_or_default().iter().filter_map(name).map(String::as_str).collect();
        if !ways.is_empty() {
            text.push_str(&format!(" Ways lead to {}.", ways.join(", ")));
        }
        page.say(BlockStyle::Plain, text);
        Ok(())
    }

    /// Returns the status line: where the party is, and its condition.
    pub(super) fn status(&self, campaign: &Campaign) -> Result<String, Error> {
        let actor = campaign.active_actor()?;
        let mut characters = campaign.characters()?;
        characters.sort_by_key(|one| Some(&one.id) != actor.as_ref());
        let here = characters.first().and_then(|first| first.area.clone());
        let mut parts = Vec::new();
        if let Some(here) = &here {
            parts.push(self.label(campaign, here)?);
        }
        for one in &characters {
            let mut part = format!("{} {}", one.id, fitness(one));
            if let Some(area) = one.area.as_ref().filter(|area| Some(*area) != here.as_ref()) {
                part.push_str(&format!(" ({})", self.label(campaign, area)?));
            }
            parts.push(part);
        }
        Ok(parts.join(" | "))
    }

    /// Shows the place, health and items of every character.
    pub(super) fn party(&self, campaign: &Campaign, page: &mut PlayPage) -> Result<(), Error> {
        let actor = campaign.active_actor()?;
        for one in campaign.characters()? {
            let acts = Some(&one.id) == actor.as_ref();
            let mut line =
                format!("{} {}  {}", if acts { "*" } else { " " }, one.id, fitness(&one));
            if let Some(area) = &one.area {
                line.push_str(&format!("  in {}", self.name(campaign, area)?));
            }
            let item = |(item, count): &(String, i64)| format!("{item} ({count})");
            let items: Vec<String> = one.inventory.iter().map(item).collect();
            if !items.is_empty() {
                line.push_str(&format!("  with {}", items.join(", ")));
            }
            page.say(if acts { BlockStyle::Strong } else { BlockStyle::Plain }, line);
        }
        page.say(BlockStyle::Faint, "A star marks the active actor; /actor ID chooses another.");
        Ok(())
    }

    /// Returns a character: the named one, or the active one.
    fn character(campaign: &Campaign, who: Option<&str>) -> Result<Option<Character>, Error> {
        let wanted = match who {
            Some(who) => Some(who.to_owned()),
            None => campaign.active_actor()?,
        };
        let is_meant = |one: &Character| {
            wanted.as_ref().is_some_and(|wanted| one.id.eq_ignore_ascii_case(wanted))
        };
        Ok(campaign.characters()?.into_iter().find(is_meant))
    }

    /// Shows everything about a character.
    pub(super) fn sheet(
        &self,
        campaign: &Campaign,
        who: Option<&str>,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        let Some(one) = Guide::character(campaign, who)? else {
            page.say(BlockStyle::Alarm, "There is no such character; /party lists them.");
            return Ok(());
        };
        page.say(BlockStyle::Strong, one.id.clone());
        let mut fact = |name: &str, text: String| {
            page.item(BlockStyle::Plain, format!("{name:10} "), text);
        };
        let about =
            campaign.state()?.string_at(&["everturn", "characters", &one.id, "description"]);
        if let Some(about) = about {
            fact("about", about);
        }
        if let Some(area) = &one.area {
            fact("place", self.name(campaign, area)?);
        }
        fact("health", fitness(&one));
        fact("state", one.state.clone());
        fact("items", items(&one).unwrap_or_else(|| "none".to_owned()));
        Ok(())
    }

    /// Lists the items of a character.
    pub(super) fn inventory(
        &self,
        campaign: &Campaign,
        who: Option<&str>,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        let text = match Guide::character(campaign, who)? {
            None => "There is no such character; /party lists them.".to_owned(),
            Some(one) => match items(&one) {
                Some(items) => format!("{} carries {items}.", one.id),
                None => format!("{} carries nothing.", one.id),
            },
        };
        page.say(BlockStyle::Plain, text);
        Ok(())
    }

    /// Shows the goal of the campaign, and how far it has come.
    pub(super) fn quest(
        &self,
        writer: &mut CampaignWriter,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        let language = writer.state()?.string_at(&["everturn", "world", "language"]);
        if let (Some(mut embedded), Some(language)) = (self.embedded, language) {
            let asked = if language == "de" { "ziel" } else { "goal" };
            page.say(BlockStyle::Plain, writer.preview(asked, &mut embedded)?.text);
            return Ok(());
        }
        let state = writer.state()?;
        let said = |path: &[&str]| state.string_at(path).filter(|text| !text.trim().is_empty());
        let goal = said(&["goal", "text"]).unwrap_or_else(|| "There is no goal.".to_owned());
        page.say(BlockStyle::Strong, goal);
        if let Some(status) = said(&["goal", "status"]) {
            page.say(BlockStyle::Plain, format!("Status: {status}"));
        }
        if let Some(current) = said(&["milestone", "current"]) {
            page.say(BlockStyle::Plain, format!("Milestone: {current}"));
        }
        if let Some(summary) = said(&["milestone", "summary"]) {
            page.say(BlockStyle::Plain, summary);
        }
        Ok(())
    }

    /// Shows the map.
    pub(super) fn map(&self, campaign: &Campaign, page: &mut PlayPage) -> Result<(), Error> {
        let areas = campaign.areas()?;
        let numbers: BTreeMap<&str, usize> =
            areas.iter().enumerate().map(|(at, area)| (area.id.as_str(), at)).collect();
        let (seen, actor) = (seen(campaign)?, campaign.active_actor()?);
        let place = |area: &Area| MapPlace {
            roads: area.roads.iter().filter_map(|to| numbers.get(to.as_str()).copied()).collect(),
            seen: seen.contains(&area.id),
            ..MapPlace::default()
        };
        let mut places: Vec<MapPlace> = areas.iter().map(place).collect();
        for one in campaign.characters()? {
            let at = one.area.as_deref().and_then(|area| numbers.get(area));
            let Some(place) = at.and_then(|at| places.get_mut(*at)) else { continue };
            match Some(&one.id) == actor.as_ref() {
                true => place.here = true,
                false => place.people.push(one.id),
            }
        }
        let state = campaign.state()?;
        let atlas = self.embedded.as_ref().map(|embedded| embedded.atlas(state));
        let id = |at: usize| areas.get(at).map(|area: &Area| area.id.as_str());
        let way = |from: usize, to: usize| -> Option<String> {
            Some(atlas.as_ref()?.direction(id(from)?, id(to)?).to_owned())
        };
        // Only the names of places that are drawn are needed.
        let name = |at: usize| {
            let Some(area) = areas.get(at) else { return String::new() };
            let name = atlas.as_ref().map(|atlas| atlas.place_name(&area.id));
            let name = name.unwrap_or_else(|| area.name.clone());
            name.strip_prefix("the ").unwrap_or(&name).to_owned()
        };
        for (look, line) in (AreaMap { places: &places, name: &name, way: &way }).draw() {
            page.draw(look, line);
        }
        Ok(())
    }
}

/// Returns the items of a character, with their numbers.
fn items(one: &Character) -> Option<String> {
    let item = |(item, count): &(String, i64)| match count {
        1 => item.clone(),
        count => format!("{item} ({count})"),
    };
    let items: Vec<String> = one.inventory.iter().map(item).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

fn fitness(one: &Character) -> String {
    let hp = one.hp.map_or_else(|| "? hp".to_owned(), |hp| format!("{hp} hp"));
    if one.state == "alive" { hp } else { format!("{hp}, {}", one.state) }
}

/// Returns the areas that any character has visited, according to the log.
fn seen(campaign: &Campaign) -> Result<BTreeSet<String>, Error> {
    let mut seen: BTreeSet<String> =
        campaign.characters()?.into_iter().filter_map(|one| one.area).collect();
    for row in campaign.rows()? {
        let row = row?.row;
        let positions = row.value_at(&["state_summary", "positions"]);
        let positions = positions.map(|all| all.children()).unwrap_or_default();
        seen.extend(positions.iter().filter_map(|(_, area)| area.string_at::<&str>(&[])));
        let applied =
            row.value_at(&["applied_actions"]).map(|all| all.children()).unwrap_or_default();
        for (_, action) in &applied {
            seen.extend(action.string_at(&["args", "from_area_id"]));
            seen.extend(action.string_at(&["result", "from_area_id"]));
        }
    }
    Ok(seen)
}
