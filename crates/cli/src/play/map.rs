//! [`AreaMap`]: the map as text: a tree of places, with the remaining roads listed beside them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::page::BlockStyle;

/// The maximum number of places drawn; of larger maps, those around the player.
const MOST: usize = 40;

/// A place on the map.
#[derive(Debug, Clone, Default)]
pub(super) struct MapPlace {
    /// The places reachable from here, by index.
    pub(super) roads: Vec<usize>,
    pub(super) here: bool,
    pub(super) seen: bool,
    /// The other characters there.
    pub(super) people: Vec<String>,
}

/// A map: places by index, and the direction from one to another.
pub(super) struct AreaMap<'m> {
    pub(super) places: &'m [MapPlace],
    /// Returns the name of a place. It is asked only for places that are drawn.
    pub(super) name: &'m dyn Fn(usize) -> String,
    pub(super) way: &'m dyn Fn(usize, usize) -> Option<String>,
}

/// A node of the tree.
struct MapBranch {
    place: usize,
    above: Option<usize>,
    /// The text drawn before it.
    lead: String,
}

impl AreaMap<'_> {
    fn leads(&self, from: usize, to: usize) -> bool {
        self.places.get(from).is_some_and(|place| place.roads.contains(&to))
    }

    /// Returns the neighbours of each place, ignoring the direction of roads.
    fn neighbours(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut all: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (from, place) in self.places.iter().enumerate() {
            for to in place.roads.iter().copied().filter(|to| *to < self.places.len()) {
                all.entry(from).or_default().insert(to);
                all.entry(to).or_default().insert(from);
            }
        }
        all
    }

    /// Returns the places to draw: all, or those nearest to the player.
    fn shown(&self, beside: &BTreeMap<usize, BTreeSet<usize>>) -> BTreeSet<usize> {
        if self.places.len() <= MOST {
            return (0..self.places.len()).collect();
        }
        let start = self.places.iter().position(|place| place.here).unwrap_or(0);
        let (mut shown, mut waiting) = (BTreeSet::from([start]), VecDeque::from([start]));
        while let Some(place) = waiting.pop_front() {
            for next in beside.get(&place).into_iter().flatten() {
                if shown.len() < MOST && shown.insert(*next) {
                    waiting.push_back(*next);
                }
            }
        }
        shown
    }

    /// Returns the lines of the map.
    pub(super) fn draw(&self) -> Vec<(BlockStyle, String)> {
        let beside = self.neighbours();
        let shown = self.shown(&beside);
        let mut above: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut roots = Vec::new();
        for start in &shown {
            if above.contains_key(start) {
                continue;
            }
            roots.push(*start);
            above.insert(*start, None);
            let mut waiting = VecDeque::from([*start]);
            while let Some(place) = waiting.pop_front() {
                for next in beside.get(&place).into_iter().flatten() {
                    if shown.contains(next) && !above.contains_key(next) {
                        above.insert(*next, Some(place));
                        below.entry(place).or_default().push(*next);
                        waiting.push_back(*next);
                    }
                }
            }
        }
        let root = |place: usize| MapBranch { place, above: None, lead: String::new() };
        let mut waiting: Vec<MapBranch> = roots.into_iter().rev().map(root).collect();
        let (mut lines, mut drawn) = (Vec::new(), BTreeSet::new());
        while let Some(MapBranch { place, above: from, lead }) = waiting.pop() {
            let is_last = waiting.last().is_none_or(|next| next.above != from);
            let others = beside.get(&place).into_iter().flatten().copied();
            let others = others.filter(|other| drawn.contains(other) && Some(*other) != from);
            lines.push(self.line(place, from, &lead, is_last, &others.collect::<Vec<_>>()));
            drawn.insert(place);
            let lead = match (from, is_last) {
                (None, _) => String::new(),
                (Some(_), true) => format!("{lead}    "),
                (Some(_), false) => format!("{lead}│   "),
            };
            for child in below.get(&place).into_iter().flatten().rev() {
                let (place, above, lead) = (*child, Some(place), lead.clone());
                waiting.push(MapBranch { place, above, lead });
            }
        }
        self.draw_notes(shown.len(), &mut lines);
        lines
    }

    /// Returns the line of a place: its position in the tree, its name, and remarks.
    fn line(
        &self,
        at: usize,
        from: Option<usize>,
        lead: &str,
        is_last: bool,
        others: &[usize],
    ) -> (BlockStyle, String) {
        let Some(place) = self.places.get(at) else { return (BlockStyle::Plain, String::new()) };
        let mut line = lead.to_owned();
        if let Some(from) = from {
            line.push(if is_last { '└' } else { '├' });
            line.push_str(match (self.leads(from, at), self.leads(at, from)) {
                (true, false) => "─> ",
                (false, true) => "<─ ",
                _ => "── ",
            });
            if let Some(way) = (self.way)(from, at) {
                line.push_str(&format!("{way}: "));
            }
        }
        let name = (self.name)(at);
        line.push_str(&if place.here { format!("[{name}]") } else { name });
        let mut warnings = Vec::new();
        if place.here {
            warnings.push("you are here".to_owned());
        }
        if !place.people.is_empty() {
            warnings.push(format!(
                "{} {}",
                if place.here { "with" } else { "here:" },
                place.people.join(", ")
            ));
        }
        if !place.seen {
            warnings.push("unexplored".to_owned());
        }
        let others: Vec<String> = others.iter().map(|other| (self.name)(*other)).collect();
        if !others.is_empty() {
            warnings.push(format!("also beside {}", others.join(", ")));
        }
        if !warnings.is_empty() {
            line.push_str(&format!("  ({})", warnings.join("; ")));
        }
        let look = match (place.here, place.seen) {
            (true, _) => BlockStyle::Strong,
            (false, true) => BlockStyle::Plain,
            (false, false) => BlockStyle::Faint,
        };
        (look, line)
    }

    fn draw_notes(&self, shown: usize, lines: &mut Vec<(BlockStyle, String)>) {
        let all = self.places.len();
        let seen = self.places.iter().filter(|place| place.seen).count();
        let places = if all == 1 { "place" } else { "places" };
        let mut warning = format!("{seen} of {all} {places} seen");
        if shown < all {
            warning.push_str(&format!("; the {shown} nearest are drawn"));
        }
        lines.push((BlockStyle::Faint, warning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(roads: &[usize]) -> MapPlace {
        MapPlace { roads: roads.to_vec(), seen: true, ..MapPlace::default() }
    }

    fn lines(places: &[MapPlace], name: &dyn Fn(usize) -> String) -> Vec<String> {
        let way = |from: usize, to: usize| (from + to == 1).then(|| "north".to_owned());
        let drawn = AreaMap { places, name, way: &way }.draw();
        drawn.into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn a_map_is_a_tree_with_the_other_roads_told() {
        let mut places = [
            place(&[1, 2, 4]),
            place(&[0, 3]),
            place(&[0, 3]),
            place(&[1, 2]),
            place(&[]),
            place(&[]),
        ];
        places[1].here = true;
        places[1].people = vec!["Bran".to_owned()];
        places[3].seen = false;
        places[2].people = vec!["Tom".to_owned()];
        let names = ["Hall", "Stairs", "Yard", "Attic", "Pit", "Moon"];
        assert_eq!(
            lines(&places, &|at| names[at].to_owned()),
            [
                "Hall",
                "├── north: [Stairs]  (you are here; with Bran)",
                "│   └── Attic  (unexplored)",
                "├── Yard  (here: Tom; also beside Attic)",
                "└─> Pit",
                "Moon",
                "5 of 6 places seen",
            ]
        );
    }

    #[test]
    fn roads_that_lead_nowhere_and_large_maps_are_drawn_all_the_same() {
        let hall = |_| "Hall".to_owned();
        assert_eq!(lines(&[place(&[7])], &hall), ["Hall", "1 of 1 place seen"]);
        let ring: Vec<MapPlace> = (0..10_000)
            .map(|at| MapPlace { here: at == 5_000, ..place(&[(at + 1) % 10_000]) })
            .collect();
        let asked = std::cell::Cell::new(0);
        let drawn = lines(&ring, &|at| {
            asked.set(asked.get() + 1);
            format!("p{at}")
        });
        assert_eq!(drawn.len(), MOST + 1);
        assert!(asked.get() <= 3 * MOST, "{} names were asked for", asked.get());
        assert!(drawn.iter().any(|line| line.contains("[p5000]")), "{drawn:?}");
        assert_eq!(drawn[MOST], "10000 of 10000 places seen; the 40 nearest are drawn");
    }
}
