//! The tool that creates areas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{RefusalReason, ToolArgs, ToolContext, ToolFailure, text, whole};
use crate::document_view::{CampaignView, strings};
use crate::generation::Generation;
use crate::twister::MersenneTwister;
use everturn_value::delta::DeltaError;

/// The maximum number of areas created at once, and the default.
const MOST_AREAS: i64 = 30;
const USUAL_AREAS: i64 = 6;

/// `map_generate` by the first rules: one area next to an existing one. Maps with one-way roads grow as by the second
/// rules.
pub(super) fn first(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let view = stage.draft.view();
    if view.generation.has_one_way_roads() {
        return generate(stage, args);
    }
    let parent = text(args, "parent_area_id").filter(|parent| view.has_area(parent));
    let parent = parent.ok_or(RefusalReason::InvalidArgs)?;
    let mut number = view.areas().len() + 1;
    while view.has_area(&format!("area_{number:03}")) {
        number += 1;
    }
    let id = format!("area_{number:03}");
    let area = json!({"id": id, "name": "Generated Area", "parent_area_id": parent});
    let connection = json!({"from_area_id": parent, "to_area_id": id});
    stage.draft.set(&["map", "areas", &id], &area)?;
    if stage.draft.view().tree.value_at(&["map", "connections"]).is_none() {
        stage.draft.set(&["map", "connections"], &json!([]))?;
    }
    stage.draft.push(&["map", "connections"], &connection)?;
    Ok(json!({"new_area_id": id}))
}

/// The parameters of a call.
struct MapOrder {
    parent: Option<String>,
    theme: String,
    size: u32,
    seed: Option<String>,
    theme_is_blank: bool,
}

impl MapOrder {
    fn parse(args: &ToolArgs, view: CampaignView<'_>) -> Option<MapOrder> {
        let parent = match args.get("parent_area_id") {
            None | Some(Value::Null) => None,
            Some(parent) => Some(parent.as_str().filter(|id| view.has_area(id))?.to_owned()),
        };
        let theme = match args.get("theme") {
            None | Some(Value::Null) => "Generated",
            Some(theme) => theme.as_str()?,
        };
        let limits = match args.get("constraints") {
            None | Some(Value::Null) => args,
            Some(limits) => limits.as_object()?,
        };
        let size = limits.get("size").map_or(Some(USUAL_AREAS), whole)?;
        let size = Some(size).filter(|size| (1..=MOST_AREAS).contains(size))?;
        let seed = match limits.get("seed") {
            None | Some(Value::Null) => None,
            Some(seed) => Some(seed.as_str()?.to_owned()),
        };
        let name = theme.trim();
        let theme_is_blank = name.is_empty();
        let theme = if theme_is_blank { "Generated" } else { name }.to_owned();
        Some(MapOrder { parent, theme, size: u32::try_from(size).ok()?, seed, theme_is_blank })
    }

    fn warnings(&self) -> Vec<&'static str> {
        let theme = self.theme_is_blank.then_some("theme_defaulted");
        theme.into_iter().chain(self.seed.is_none().then_some("seed_defaulted")).collect()
    }

    /// Returns the document of the area with this number among the new ones, counted from 1.
    fn area(&self, id: &str, number: u32, generation: Generation) -> Value {
        let is_entry = self.parent.is_some() && number == 1;
        let theme = &self.theme;
        let name =
            if is_entry { format!("{theme} Entry") } else { format!("{theme} Area {number:02}") };
        let mut area = json!({"id": id, "name": name});
        if let Value::Object(fields) = &mut area {
            if generation != Generation::Between {
                let words = match is_entry {
                    true => format!("The way into {theme}."),
                    false => format!("{theme}, part {number} of {}.", self.size),
                };
                fields.insert("description".to_owned(), words.into());
            }
            fields.insert("parent_area_id".to_owned(), self.parent.clone().into());
        }
        area
    }
}

/// An area of a map that is being changed.
struct MapArea {
    parent: Option<String>,
    roads: BTreeSet<String>,
    /// The roads in the document; `None` if there are none.
    stored: Option<Vec<String>>,
    /// The document of a new area, without its roads.
    new: Option<Value>,
}

type MapAreas = BTreeMap<String, MapArea>;

/// `map_generate` by the second rules: a chain of areas with some shortcuts, derived from the seed.
pub(super) fn generate(stage: &mut ToolContext<'_>, args: &ToolArgs) -> Result<Value, ToolFailure> {
    let view = stage.draft.view();
    let order = MapOrder::parse(args, view).ok_or(RefusalReason::InvalidArgs)?;
    let mut areas = read(view).ok_or(RefusalReason::InvalidArgs)?;
    let count = |areas: &MapAreas| areas.values().map(|area| area.roads.len()).sum::<usize>();
    let before = count(&areas);
    let layer: Option<String> = {
        let mut same = areas.iter().filter(|(_, area)| area.parent == order.parent);
        same.next().map(|(id, _)| id.clone())
    };
    let ids = free_ids(&areas, order.size);
    for (number, id) in (1..).zip(&ids) {
        let new = Some(order.area(id, number, view.generation));
        let (parent, roads) = (order.parent.clone(), BTreeSet::new());
        areas.insert(id.clone(), MapArea { parent, roads, stored: None, new });
    }
    for (from, to) in roads_between(&ids, order.seed.as_deref().unwrap_or("default")) {
        join(&mut areas, &from, &to);
    }
    if let Some(entry) = ids.first() {
        match (&order.parent, &layer) {
            (None, Some(anchor)) => join(&mut areas, anchor, entry),
            (None, None) => {}
            (Some(parent), anchor) => {
                join(&mut areas, parent, entry);
                if let Some(anchor) = anchor {
                    join(&mut areas, entry, anchor);
                }
            }
        }
    }
    if let (Some(parent), true) = (&order.parent, view.has_actors()) {
        for id in &ids {
            join(&mut areas, parent, id);
            join(&mut areas, id, parent);
        }
    }
    if !is_valid(&areas) {
        return Err(RefusalReason::InvalidArgs.into());
    }
    write(stage, &areas)?;
    Ok(json!({
        "created_area_ids": ids,
        "created_connections": count(&areas) - before,
        "root_parent_area_id": order.parent,
        "warnings": order.warnings(),
    }))
}

/// Returns the current map, or `None` if its roads are invalid.
fn read(view: CampaignView<'_>) -> Option<MapAreas> {
    let mut areas = MapAreas::new();
    for (id, tree) in view.areas() {
        let stored = tree.value_at(&["reachable_area_ids"]);
        let list = stored.as_ref().map(strings);
        let known = list.clone().unwrap_or_default();
        let roads: BTreeSet<String> = known.iter().cloned().collect();
        let all = stored.as_ref().and_then(|stored| stored.len_at::<&str>(&[])).unwrap_or(0);
        if all != roads.len() {
            return None;
        }
        let parent = tree.string_at(&["parent_area_id"]);
        areas.insert(id, MapArea { parent, roads, stored: list, new: None });
    }
    Some(areas)
}

fn join(areas: &mut MapAreas, from: &str, to: &str) {
    if let Some(area) = areas.get_mut(from).filter(|_| from != to) {
        area.roads.insert(to.to_owned());
    }
}

/// Returns IDs after the highest existing number.
fn free_ids(areas: &MapAreas, size: u32) -> Vec<String> {
    let number = |id: &String| -> Option<u64> {
        let digits = id.strip_prefix("area_")?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let highest = areas.keys().filter_map(number).max().unwrap_or(0);
    let after = (1_u64..).map(|step| format!("area_{:03}", highest.saturating_add(step)));
    let free = after.filter(|id| !areas.contains_key(id));
    free.take(usize::try_from(size).unwrap_or_default()).collect()
}

/// Returns a road from each area to the next one, and some shortcuts.
fn roads_between(ids: &[String], seed: &str) -> BTreeSet<(String, String)> {
    let pair = |from: usize, to: usize| Some((ids.get(from)?.clone(), ids.get(to)?.clone()));
    let mut roads: BTreeSet<_> = (1..ids.len()).filter_map(|to| pair(to - 1, to)).collect();
    let size = ids.len();
    let wanted = if size >= 4 { roads.len() + (size / 3).clamp(1, size - 2) } else { roads.len() };
    let mut random = MersenneTwister::new(seed);
    let length = u32::try_from(size).unwrap_or_default();
    for _ in 0..size * 4 {
        if roads.len() >= wanted {
            break;
        }
        let from = random.range(0, length.saturating_sub(2));
        let to = random.range(from + 2, length);
        let place = |number: u32| usize::try_from(number).unwrap_or_default();
        roads.extend(pair(place(from), place(to)));
    }
    roads
}

/// Returns whether every road leads to an area, and areas with the same parent are connected if the direction of roads
/// is ignored.
fn is_valid(areas: &MapAreas) -> bool {
    let leads = |(id, area): (&String, &MapArea)| {
        area.roads.iter().all(|to| to != id && areas.contains_key(to))
    };
    if !areas.iter().all(leads) {
        return false;
    }
    let mut groups: BTreeMap<&Option<String>, Vec<&String>> = BTreeMap::new();
    for (id, area) in areas {
        groups.entry(&area.parent).or_default().push(id);
    }
    groups.values().all(|group| is_connected(areas, group))
}

fn is_connected(areas: &MapAreas, group: &[&String]) -> bool {
    let mut beside: BTreeMap<&String, Vec<&String>> =
        group.iter().map(|id| (*id, Vec::new())).collect();
    for id in group {
        let roads = areas.get(*id).map(|area| &area.roads);
        for to in roads.into_iter().flatten().filter(|to| group.contains(to)) {
            beside.entry(*id).or_default().push(to);
            beside.entry(to).or_default().push(id);
        }
    }
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<&String> = group.first().copied().into_iter().collect();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(beside.get(id).into_iter().flatten());
        }
    }
    seen.len() == group.len()
}

/// Writes the changes to the document: areas, sorted roads, and the connections derived from them.
fn write(stage: &mut ToolContext<'_>, areas: &MapAreas) -> Result<(), DeltaError> {
    for (id, area) in areas {
        let roads: Vec<&String> = area.roads.iter().collect();
        match &area.new {
            Some(document) => {
                let mut document = document.clone();
                if let Value::Object(fields) = &mut document {
                    fields.insert("reachable_area_ids".to_owned(), json!(roads));
                }
                stage.draft.set(&["map", "areas", id], &document)?;
            }
            None if area
                .stored
                .as_ref()
                .is_some_and(|stored| stored.iter().eq(roads.iter().copied())) => {}
            None => stage.draft.set(&["map", "areas", id, "reachable_area_ids"], &roads)?,
        }
    }
    let connection = |from: &String, to: &String| json!({"from_area_id": from, "to_area_id": to});
    let connections: Vec<Value> = areas
        .iter()
        .flat_map(|(from, area)| area.roads.iter().map(move |to| connection(from, to)))
        .collect();
    stage.draft.set(&["map", "connections"], &connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortcuts(size: u32, seed: &str) -> Vec<(u32, u32)> {
        let ids: Vec<String> = (0..size).map(|number| format!("{number:02}")).collect();
        let number = |id: &String| id.parse::<u32>().unwrap();
        let roads = roads_between(&ids, seed);
        let roads = roads.iter().map(|(from, to)| (number(from), number(to)));
        roads.filter(|(from, to)| to - from > 1).collect()
    }

    #[test]
    fn shortcuts_are_those_of_the_program() {
        // Taken from maps made by the upstream program.
        assert_eq!(shortcuts(6, "test-root"), [(1, 5), (2, 5)]);
        assert_eq!(shortcuts(5, "test-child"), [(2, 4)]);
        assert_eq!(shortcuts(3, "x"), []);
        assert_eq!(shortcuts(1, "x"), []);
        assert_eq!(shortcuts(30, "a"), shortcuts(30, "a"));
        assert_ne!(shortcuts(30, "a"), shortcuts(30, "b"));
        assert_eq!(shortcuts(30, "a").len(), 10);
    }
}
