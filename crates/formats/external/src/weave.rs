//! From records that name their parents to lines that can be read: one main line, and every other way as a strand.
//!
//! The main line leads to the newest message, and each record is in exactly one line. At a fork, whatever was asked
//! again is a strand of its own. What nobody asked for (the answers of tools that ran side by side, a reply beside which a
//! hook went on) is no other way through the session, so it stays in the line, where it stands in the file, if the
//! program that wrote it lets such forks happen.
//!
//! Nothing here recurses, and everything takes time in proportion to the number of records, apart from sorting.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

/// Nobody.
const NONE: u32 = u32::MAX;

/// A record, as far as lines are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Knot {
    /// Whom it follows.
    pub(super) parent: Option<u32>,
    /// Its place among the others when they are read in the order of the file.
    pub(super) order: u32,
    pub(super) placing: Placing,
    /// Whether a person asked for something, so that a turn begins.
    pub(super) is_prompt: bool,
    /// Whether something was said.
    pub(super) is_message: bool,
    /// Whether it belongs to a helper of the program, who talks beside the main line.
    pub(super) is_side: bool,
}

/// Where a record belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placing {
    /// After its parent; without one, at the start of something.
    Chained,
    /// Wherever it stands in the file.
    Aside,
    /// With others of that name, aside from everything that is read.
    Apart(&'static str),
}

/// How forks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forks {
    /// Each is another way.
    Ways,
    /// Only those in which somebody asked for something.
    Questions,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Main,
    Branch,
    Side,
    Apart(&'static str),
}

/// Records one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) what: What,
    /// The line that it leaves, and the place of the last record there that it shares.
    pub(super) from: Option<(usize, usize)>,
    /// Its own records with their turns, which go on counting from those it shares.
    pub(super) own: Vec<(u32, u64)>,
}

/// All lines, the main one first, each after the one that it leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Woven {
    pub(super) lines: Vec<Line>,
    /// Records whose parents go round in a circle; they are read as if they had none.
    pub(super) circles: Vec<u32>,
}

impl Woven {
    /// The turn of the last record that a line shares with the one that it leaves.
    pub(super) fn turn_before(&self, line: &Line) -> u64 {
        let shared = line.from.and_then(|(from, at)| self.lines.get(from)?.own.get(at));
        shared.map_or(0, |(_, turn)| *turn)
    }

    /// The last turn that a line has in common with the main line.
    pub(super) fn turn_in_main(&self, line: &Line) -> Option<u64> {
        let mut line = line;
        loop {
            let (from, _) = line.from?;
            if from == 0 {
                return Some(self.turn_before(line));
            }
            line = self.lines.get(from)?;
        }
    }

    /// The pieces that make up a line from its first record on: lines, and how many of their own records count.
    pub(super) fn pieces(&self, line: usize) -> Vec<(usize, usize)> {
        let mut pieces = Vec::new();
        let mut next = self.lines.get(line).map(|found| (line, found.own.len()));
        while let Some((line, count)) = next {
            pieces.push((line, count));
            next = self.lines.get(line).and_then(|line| line.from).map(|(from, at)| (from, at + 1));
        }
        pieces.reverse();
        pieces
    }
}

/// Puts records into lines. The main line ends at `tip`, if that is known.
pub(super) fn weave(knots: &[Knot], forks: Forks, tip: Option<u32>) -> Woven {
    Loom::new(knots, forks).weave(tip)
}

/// The newest thing below a record: messages count before anything else.
type Newest = (u32, u32);

struct Loom<'a> {
    knots: &'a [Knot],
    forks: Forks,
    parents: Vec<u32>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    roots: Vec<u32>,
    /// Whether a record is a helper's. One from which the main talk goes on is none.
    side: Vec<bool>,
    newest: Vec<Newest>,
    /// Whether somebody asks for something in what follows, helpers aside.
    asks: Vec<bool>,
    circles: Vec<u32>,
}

fn get<T: Copy>(list: &[T], at: u32, otherwise: T) -> T {
    list.get(at as usize).copied().unwrap_or(otherwise)
}

fn set<T>(list: &mut [T], at: u32, value: T) {
    if let Some(place) = list.get_mut(at as usize) {
        *place = value;
    }
}

fn note_places(places: &mut [usize], own: &[(u32, u64)]) {
    own.iter().enumerate().for_each(|(place, (at, _))| set(places, *at, place));
}

fn numbers(count: usize) -> impl DoubleEndedIterator<Item = u32> {
    0..u32::try_from(count).unwrap_or(NONE)
}

impl<'a> Loom<'a> {
    fn new(knots: &'a [Knot], forks: Forks) -> Loom<'a> {
        let count = knots.len();
        let chained = |knot: &Knot| knot.placing == Placing::Chained;
        let parents = knots.iter().map(|knot| {
            let parent = knot
                .parent
                .filter(|parent| chained(knot) && knots.get(*parent as usize).is_some_and(chained));
            parent.unwrap_or(NONE)
        });
        let mut loom = Loom {
            knots,
            forks,
            parents: parents.collect(),
            first_child: vec![NONE; count],
            next_sibling: vec![NONE; count],
            roots: Vec::new(),
            side: vec![false; count],
            newest: vec![(0, 0); count],
            asks: vec![false; count],
            circles: Vec::new(),
        };
        // Backwards, so that children are met in their order.
        for at in numbers(count).rev() {
            let parent = get(&loom.parents, at, NONE);
            if parent != NONE {
                let first = get(&loom.first_child, parent, NONE);
                set(&mut loom.next_sibling, at, first);
                set(&mut loom.first_child, parent, at);
            }
        }
        let order = loom.reach_all();
        loom.sum_up(&order);
        loom
    }

    fn knot(&self, at: u32) -> Option<&Knot> {
        self.knots.get(at as usize)
    }

    fn is_side(&self, at: u32) -> bool {
        get(&self.side, at, false)
    }

    fn order(&self, at: u32) -> u32 {
        self.knot(at).map_or(NONE, |knot| knot.order)
    }

    fn children(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let first = Some(get(&self.first_child, at, NONE)).filter(|child| *child != NONE);
        std::iter::successors(first, |child| {
            Some(get(&self.next_sibling, *child, NONE)).filter(|next| *next != NONE)
        })
    }

    /// Every chained record after its parent. Whoever cannot be reached is in a circle, or hangs on one, which is cut.
    fn reach_all(&mut self) -> Vec<u32> {
        let mut seen = vec![false; self.knots.len()];
        let mut order = Vec::new();
        let is_chained =
            |knot: Option<&Knot>| knot.is_some_and(|knot| knot.placing == Placing::Chained);
        for at in numbers(self.knots.len()) {
            if is_chained(self.knot(at)) && get(&self.parents, at, NONE) == NONE {
                self.roots.push(at);
                self.reach(at, &mut seen, &mut order);
            }
        }
        for at in numbers(self.knots.len()) {
            if is_chained(self.knot(at)) && !get(&seen, at, true) {
                self.cut(at);
                self.roots.push(at);
                self.circles.push(at);
                self.reach(at, &mut seen, &mut order);
            }
        }
        order
    }

    fn reach(&self, root: u32, seen: &mut [bool], order: &mut Vec<u32>) {
        let mut waiting = vec![root];
        while let Some(at) = waiting.pop() {
            if !get(seen, at, true) {
                set(seen, at, true);
                order.push(at);
                waiting.extend(self.children(at));
            }
        }
    }

    /// Takes a record away from its parent.
    fn cut(&mut self, at: u32) {
        let parent = get(&self.parents, at, NONE);
        let next = get(&self.next_sibling, at, NONE);
        let before =
            self.children(parent).find(|child| get(&self.next_sibling, *child, NONE) == at);
        match before {
            Some(before) => set(&mut self.next_sibling, before, next),
            None => set(&mut self.first_child, parent, next),
        }
        set(&mut self.next_sibling, at, NONE);
        set(&mut self.parents, at, NONE);
    }

    fn sum_up(&mut self, order: &[u32]) {
        for &at in order.iter().rev() {
            let Some(knot) = self.knots.get(at as usize) else { continue };
            let side = knot.is_side && self.children(at).all(|child| self.is_side(child));
            set(&mut self.side, at, side);
            let is_message = knot.is_message && knot.is_side == side;
            let own = (if is_message { knot.order + 1 } else { 0 }, knot.order);
            let (mut newest, mut asks) = (own, knot.is_prompt);
            for child in self.children(at).filter(|child| self.is_side(*child) == side) {
                newest = newest.max(get(&self.newest, child, (0, 0)));
                asks |= get(&self.asks, child, false);
            }
            set(&mut self.newest, at, newest);
            set(&mut self.asks, at, asks);
        }
    }

    /// Whether what begins here is part of the line that it hangs on.
    fn belongs(&self, at: u32, side: bool) -> bool {
        self.forks == Forks::Questions && self.is_side(at) == side && !get(&self.asks, at, true)
    }

    /// The way from a record to the newest one below it.
    fn trace(&self, start: u32) -> Vec<u32> {
        let side = self.is_side(start);
        let newest = |at: u32| {
            let below = self.children(at).filter(|child| self.is_side(*child) == side);
            below.max_by_key(|child| get(&self.newest, *child, (0, 0)))
        };
        std::iter::successors(Some(start), |at| newest(*at)).collect()
    }

    /// The way from the beginning to a record.
    fn trace_to(&self, tip: u32) -> Vec<u32> {
        let parent =
            |at: &u32| Some(get(&self.parents, *at, NONE)).filter(|parent| *parent != NONE);
        let mut path: Vec<u32> = std::iter::successors(Some(tip), parent).collect();
        path.reverse();
        path
    }

    /// The records beside a path that stay in its line, in the order of the file, and those that leave it, each with
    /// the record that it leaves.
    fn beside(&self, path: &[u32], also: Vec<u32>) -> (Vec<u32>, Vec<(u32, u32)>) {
        let side = path.first().is_some_and(|first| self.is_side(*first));
        let (mut merged, mut leaving) = (Vec::new(), Vec::new());
        for (place, &at) in path.iter().enumerate() {
            let next = path.get(place + 1);
            for child in self.children(at).filter(|child| Some(child) != next) {
                if self.belongs(child, side) {
                    merged.push(child);
                } else {
                    leaving.push((child, at));
                }
            }
        }
        merged.extend(also);
        let mut done = 0;
        while let Some(&at) = merged.get(done) {
            done += 1;
            for child in self.children(at) {
                if self.belongs(child, side) {
                    merged.push(child);
                } else {
                    leaving.push((child, at));
                }
            }
        }
        merged.sort_by_key(|at| self.order(*at));
        (merged, leaving)
    }

    /// The records of a path, with others where they stand in the file.
    fn merge(&self, path: &[u32], others: &[u32]) -> Vec<u32> {
        let mut line = Vec::with_capacity(path.len() + others.len());
        let mut others = others.iter().copied().peekable();
        for &at in path {
            while let Some(other) = others.next_if(|other| self.order(*other) < self.order(at)) {
                line.push(other);
            }
            line.push(at);
        }
        line.extend(others);
        line
    }

    /// Numbers the turns of a line that follows so many. What precedes its first prompt belongs to its first turn.
    fn count(&self, records: &[u32], before: u64, what: What) -> Vec<(u32, u64)> {
        let is_apart = matches!(what, What::Apart(_));
        let mut begun = 0;
        let turn = |&at: &u32| {
            let begins = is_apart || self.knot(at).is_some_and(|knot| knot.is_prompt);
            begun += u64::from(begins);
            (at, before + begun.max(1))
        };
        records.iter().map(turn).collect()
    }

    fn weave(mut self, tip: Option<u32>) -> Woven {
        let all_side = self.roots.iter().all(|root| self.is_side(*root));
        let main_root = self
            .roots
            .iter()
            .copied()
            .filter(|root| all_side || !self.is_side(*root))
            .max_by_key(|root| get(&self.newest, *root, (0, 0)));
        let path = match tip
            .filter(|tip| self.knot(*tip).is_some_and(|knot| knot.placing == Placing::Chained))
        {
            Some(tip) => self.trace_to(tip),
            None => main_root.map(|root| self.trace(root)).unwrap_or_default(),
        };
        let first = path.first().copied();
        let side = first.is_some_and(|first| self.is_side(first));
        let roots = std::mem::take(&mut self.roots);
        let (joining, starting): (Vec<u32>, Vec<u32>) = roots
            .into_iter()
            .filter(|root| Some(*root) != first)
            .partition(|root| self.belongs(*root, side));
        let mut woven = Woven::default();
        // Where each record stands in its line.
        let mut places = vec![0; self.knots.len()];
        // Lines that wait to be made, with the line and the record that they leave.
        let mut waiting: VecDeque<(u32, Option<(usize, u32)>)> =
            starting.into_iter().map(|root| (root, None)).collect();
        let (mut others, leaving) = self.beside(&path, joining);
        others.extend(self.placed(|placing| placing == Placing::Aside));
        others.sort_by_key(|at| self.order(*at));
        let own = self.count(&self.merge(&path, &others), 0, What::Main);
        note_places(&mut places, &own);
        woven.lines.push(Line { what: What::Main, from: None, own });
        waiting.extend(leaving.into_iter().map(|(start, left)| (start, Some((0, left)))));
        while let Some((start, left)) = waiting.pop_front() {
            let path = self.trace(start);
            let (merged, leaving) = self.beside(&path, Vec::new());
            let from = left.map(|(line, record)| (line, get(&places, record, 0)));
            let what = if self.is_side(start) && !side { What::Side } else { What::Branch };
            let mut line = Line { what, from, own: Vec::new() };
            let before = woven.turn_before(&line);
            line.own = self.count(&self.merge(&path, &merged), before, what);
            let number = woven.lines.len();
            note_places(&mut places, &line.own);
            woven.lines.push(line);
            waiting.extend(leaving.into_iter().map(|(start, left)| (start, Some((number, left)))));
        }
        self.add_those_apart(&mut woven);
        woven.circles = self.circles;
        woven
    }

    fn placed(&self, wanted: impl Fn(Placing) -> bool) -> Vec<u32> {
        let mut found: Vec<u32> = numbers(self.knots.len())
            .filter(|at| self.knot(*at).is_some_and(|knot| wanted(knot.placing)))
            .collect();
        found.sort_by_key(|at| self.order(*at));
        found
    }

    fn add_those_apart(&self, woven: &mut Woven) {
        let mut names: Vec<&'static str> = Vec::new();
        for knot in self.knots {
            if let Placing::Apart(name) = knot.placing
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        for name in names {
            let records = self.placed(|placing| placing == Placing::Apart(name));
            let what = What::Apart(name);
            woven.lines.push(Line { what, from: None, own: self.count(&records, 0, what) });
        }
    }
}
