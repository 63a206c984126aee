//! The ways between places: directions, and shortest ways.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::dice::Dice;
use super::intent::Direction;
use super::world::WorldRecord;
use crate::document_view::{CampaignView, strings};

/// Returns the direction of a way that is not stored yet.
pub(super) fn raw_direction(seed: u64, from: &str, to: &str) -> usize {
    let (low, high) = if from <= to { (from, to) } else { (to, from) };
    let number = Dice::new(seed).of("direction").of(low).of(high).below(Direction::COUNT as u64);
    let direction = Direction::new(usize::try_from(number).unwrap_or_default());
    if from <= to { direction } else { direction.opposite() }.number()
}

/// Returns the next area on a shortest way.
pub(super) fn first_step(view: CampaignView<'_>, from: &str, to: &str) -> Option<String> {
    let roads = roads_of(view);
    let mut reached: BTreeMap<&str, Option<&str>> = BTreeMap::from([(from, None)]);
    let mut waiting = VecDeque::from([from]);
    while let Some(area) = waiting.pop_front() {
        if area == to {
            break;
        }
        for next in roads.get(area).into_iter().flatten() {
            if !reached.contains_key(next.as_str()) {
                reached.insert(next, Some(area));
                waiting.push_back(next);
            }
        }
    }
    let mut step = to;
    loop {
        match reached.get(step)? {
            Some(before) if *before == from => return Some(step.to_owned()),
            Some(before) => step = before,
            None => return None,
        }
    }
}

/// Returns the areas that can be reached from an area, nearest first.
pub(super) fn reachable(view: CampaignView<'_>, from: &str) -> Vec<String> {
    let roads = roads_of(view);
    let mut order = vec![from.to_owned()];
    let mut seen: BTreeSet<&str> = BTreeSet::from([from]);
    let mut waiting = VecDeque::from([from]);
    while let Some(area) = waiting.pop_front() {
        for next in roads.get(area).into_iter().flatten() {
            if seen.insert(next) {
                order.push(next.clone());
                waiting.push_back(next);
            }
        }
    }
    order
}

/// Returns the roads of all areas, read once.
fn roads_of(view: CampaignView<'_>) -> BTreeMap<String, Vec<String>> {
    let areas = view.areas();
    let known: BTreeSet<&String> = areas.iter().map(|(id, _)| id).collect();
    let mut roads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if view.generation.has_one_way_roads() {
        for (id, area) in &areas {
            let list = area.value_at(&["reachable_area_ids"]);
            let list = list.map(|list| strings(&list)).unwrap_or_default();
            roads.insert(id.clone(), list);
        }
    } else {
        for (one, other) in view.connections() {
            roads.entry(one.clone()).or_default().push(other.clone());
            roads.entry(other).or_default().push(one);
        }
    }
    for (from, list) in &mut roads {
        list.retain(|to| to != from && known.contains(to));
        list.sort();
        list.dedup();
    }
    roads
}

/// Stores a direction for each way of an area; two ways never share one as long as there are enough.
pub(super) fn assign_ways(world: &mut WorldRecord, view: CampaignView<'_>, area: &str) {
    let seed = world.seed;
    for to in view.roads(area).into_iter().filter(|to| to != area && view.has_area(to)) {
        let Some(place) = world.places.get(area) else { return };
        if place.ways.contains_key(&to) {
            continue;
        }
        let taken: BTreeSet<usize> = place.ways.values().copied().collect();
        let back = world.places.get(&to).and_then(|place| place.ways.get(area));
        let wanted = back.map_or_else(
            || raw_direction(seed, area, &to),
            |back| Direction::new(*back).opposite().number(),
        );
        let free = (0..Direction::COUNT).map(|step| (wanted + step * 3) % Direction::COUNT);
        let chosen = free.clone().find(|number| !taken.contains(number)).unwrap_or(wanted);
        if let Some(place) = world.places.get_mut(area) {
            place.ways.insert(to.clone(), chosen);
        }
        if let Some(other) = world.places.get_mut(&to)
            && !other.ways.contains_key(area)
        {
            let back = Direction::new(chosen).opposite().number();
            if !other.ways.values().any(|known| *known == back)
                && view.roads(&to).iter().any(|road| road == area)
            {
                other.ways.insert(area.to_owned(), back);
            }
        }
    }
}
