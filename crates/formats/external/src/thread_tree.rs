//! Linearizes records that name their parents into a main line and branches.
//!
//! The main line leads to the newest message, and each record is in exactly one line. At a fork, every repeated prompt
//! starts a branch. Descendants without a prompt (the results of tools that ran in parallel, a reply beside which a
//! hook continued) are no alternative path, so they stay in the line, in file order, if the program that wrote them
//! produces such forks.
//!
//! Nothing here recurses, and apart from sorting everything takes time proportional to the number of records.
//!
//! [`linearize`] turns `ThreadNode` values into a `ThreadTree` of `ThreadLine` values; a `ForkPolicy` decides which
//! forks are branches.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

/// No record.
const NONE: u32 = u32::MAX;

/// A record, as far as lines are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadNode {
    /// The record it follows.
    pub(super) parent: Option<u32>,
    /// Its position in the order of the file.
    pub(super) order: u32,
    pub(super) placement: Placement,
    /// Whether it is a prompt of a person, which starts a turn.
    pub(super) is_prompt: bool,
    /// Whether it is a message.
    pub(super) is_message: bool,
    /// Whether it belongs to a helper of the program, beside the main line.
    pub(super) is_side: bool,
}

/// Where a record belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// After its parent; without one, at the start of a line.
    Chained,
    /// At its position in the file.
    Aside,
    /// With others of that name, outside of all lines that are read.
    Apart(&'static str),
}

/// Which forks become branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForkPolicy {
    /// Every fork.
    EveryFork,
    /// Only forks with a prompt.
    PromptsOnly,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Main,
    Branch,
    Side,
    Apart(&'static str),
}

/// A sequence of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadLine {
    pub(super) kind: LineKind,
    /// The line that it branches off, and the index of the last shared record there.
    pub(super) from: Option<(usize, usize)>,
    /// Its own records with their turns, which continue the count of the shared ones.
    pub(super) own: Vec<(u32, u64)>,
}

/// All lines, the main line first, each after the one that it branches off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ThreadTree {
    pub(super) lines: Vec<ThreadLine>,
    /// Records whose parents form a cycle; they are read as if they had none.
    pub(super) cycles: Vec<u32>,
}

impl ThreadTree {
    /// The turn of the last record that a line shares with the one it branches off.
    pub(super) fn turn_before(&self, line: &ThreadLine) -> u64 {
        let shared = line.from.and_then(|(from, at)| self.lines.get(from)?.own.get(at));
        shared.map_or(0, |(_, turn)| *turn)
    }

    /// The last turn that a line has in common with the main line.
    pub(super) fn turn_in_main(&self, line: &ThreadLine) -> Option<u64> {
        let mut line = line;
        loop {
            let (from, _) = line.from?;
            if from == 0 {
                return Some(self.turn_before(line));
            }
            line = self.lines.get(from)?;
        }
    }

    /// The pieces that make up a line from its first record: lines, and how many of their own records count.
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

/// Linearizes records. The main line ends at `tip`, if that is known.
pub(super) fn linearize(nodes: &[ThreadNode], forks: ForkPolicy, tip: Option<u32>) -> ThreadTree {
    ThreadTreeBuilder::new(nodes, forks).build(tip)
}

/// The newest descendant of a record: messages take precedence.
type NewestDescendant = (u32, u32);

struct ThreadTreeBuilder<'a> {
    nodes: &'a [ThreadNode],
    forks: ForkPolicy,
    parents: Vec<u32>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    roots: Vec<u32>,
    /// Whether a record is a helper's. A record from which the main conversation continues is not.
    side: Vec<bool>,
    newest: Vec<NewestDescendant>,
    /// Whether a prompt follows, other than those of helpers.
    asks: Vec<bool>,
    cycles: Vec<u32>,
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

impl<'a> ThreadTreeBuilder<'a> {
    fn new(nodes: &'a [ThreadNode], forks: ForkPolicy) -> ThreadTreeBuilder<'a> {
        let count = nodes.len();
        let chained = |node: &ThreadNode| node.placement == Placement::Chained;
        let parents = nodes.iter().map(|node| {
            let parent = node
                .parent
                .filter(|parent| chained(node) && nodes.get(*parent as usize).is_some_and(chained));
            parent.unwrap_or(NONE)
        });
        let mut builder = ThreadTreeBuilder {
            nodes,
            forks,
            parents: parents.collect(),
            first_child: vec![NONE; count],
            next_sibling: vec![NONE; count],
            roots: Vec::new(),
            side: vec![false; count],
            newest: vec![(0, 0); count],
            asks: vec![false; count],
            cycles: Vec::new(),
        };
        // In reverse, so that children are visited in order.
        for at in numbers(count).rev() {
            let parent = get(&builder.parents, at, NONE);
            if parent != NONE {
                let first = get(&builder.first_child, parent, NONE);
                set(&mut builder.next_sibling, at, first);
                set(&mut builder.first_child, parent, at);
            }
        }
        let order = builder.reach_all();
        builder.find_newest(&order);
        builder
    }

    fn node(&self, at: u32) -> Option<&ThreadNode> {
        self.nodes.get(at as usize)
    }

    fn is_side(&self, at: u32) -> bool {
        get(&self.side, at, false)
    }

    fn order(&self, at: u32) -> u32 {
        self.node(at).map_or(NONE, |node| node.order)
    }

    fn children(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let first = Some(get(&self.first_child, at, NONE)).filter(|child| *child != NONE);
        std::iter::successors(first, |child| {
            Some(get(&self.next_sibling, *child, NONE)).filter(|next| *next != NONE)
        })
    }

    /// Every chained record after its parent. Unreachable records are in a cycle, or hang on one; it is cut.
    fn reach_all(&mut self) -> Vec<u32> {
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        let is_chained = |node: Option<&ThreadNode>| {
            node.is_some_and(|node| node.placement == Placement::Chained)
        };
        for at in numbers(self.nodes.len()) {
            if is_chained(self.node(at)) && get(&self.parents, at, NONE) == NONE {
                self.roots.push(at);
                self.reach(at, &mut seen, &mut order);
            }
        }
        for at in numbers(self.nodes.len()) {
            if is_chained(self.node(at)) && !get(&seen, at, true) {
                self.detach(at);
                self.roots.push(at);
                self.cycles.push(at);
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

    /// Removes a record from its parent.
    fn detach(&mut self, at: u32) {
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

    fn find_newest(&mut self, order: &[u32]) {
        for &at in order.iter().rev() {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            let side = node.is_side && self.children(at).all(|child| self.is_side(child));
            set(&mut self.side, at, side);
            let is_message = node.is_message && node.is_side == side;
            let own = (if is_message { node.order + 1 } else { 0 }, node.order);
            let (mut newest, mut asks) = (own, node.is_prompt);
            for child in self.children(at).filter(|child| self.is_side(*child) == side) {
                newest = newest.max(get(&self.newest, child, (0, 0)));
                asks |= get(&self.asks, child, false);
            }
            set(&mut self.newest, at, newest);
            set(&mut self.asks, at, asks);
        }
    }

    /// Whether the subtree that starts here is part of the line that it hangs on.
    fn belongs(&self, at: u32, side: bool) -> bool {
        self.forks == ForkPolicy::PromptsOnly
            && self.is_side(at) == side
            && !get(&self.asks, at, true)
    }

    /// The path from a record to its newest descendant.
    fn trace(&self, start: u32) -> Vec<u32> {
        let side = self.is_side(start);
        let newest = |at: u32| {
            let below = self.children(at).filter(|child| self.is_side(*child) == side);
            below.max_by_key(|child| get(&self.newest, *child, (0, 0)))
        };
        std::iter::successors(Some(start), |at| newest(*at)).collect()
    }

    /// The path from the root to a record.
    fn trace_to(&self, tip: u32) -> Vec<u32> {
        let parent =
            |at: &u32| Some(get(&self.parents, *at, NONE)).filter(|parent| *parent != NONE);
        let mut path: Vec<u32> = std::iter::successors(Some(tip), parent).collect();
        path.reverse();
        path
    }

    /// The records beside a path that stay in its line, in file order, and those that leave it, each with the record
    /// that it leaves.
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

    /// The records of a path, merged with others in file order.
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

    /// Numbers the turns of a line after `before` turns. Records before the first prompt belong to the first turn.
    fn count(&self, records: &[u32], before: u64, what: LineKind) -> Vec<(u32, u64)> {
        let is_apart = matches!(what, LineKind::Apart(_));
        let mut begun = 0;
        let turn = |&at: &u32| {
            let begins = is_apart || self.node(at).is_some_and(|node| node.is_prompt);
            begun += u64::from(begins);
            (at, before + begun.max(1))
        };
        records.iter().map(turn).collect()
    }

    fn build(mut self, tip: Option<u32>) -> ThreadTree {
        let all_side = self.roots.iter().all(|root| self.is_side(*root));
        let main_root = self
            .roots
            .iter()
            .copied()
            .filter(|root| all_side || !self.is_side(*root))
            .max_by_key(|root| get(&self.newest, *root, (0, 0)));
        let path = match tip
            .filter(|tip| self.node(*tip).is_some_and(|node| node.placement == Placement::Chained))
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
        let mut linearized = ThreadTree::default();
        // The index of each record in its line.
        let mut places = vec![0; self.nodes.len()];
        // Lines still to be built, with the line and the record that they branch off.
        let mut waiting: VecDeque<(u32, Option<(usize, u32)>)> =
            starting.into_iter().map(|root| (root, None)).collect();
        let (mut others, leaving) = self.beside(&path, joining);
        others.extend(self.placed(|placing| placing == Placement::Aside));
        others.sort_by_key(|at| self.order(*at));
        let own = self.count(&self.merge(&path, &others), 0, LineKind::Main);
        note_places(&mut places, &own);
        linearized.lines.push(ThreadLine { kind: LineKind::Main, from: None, own });
        waiting.extend(leaving.into_iter().map(|(start, left)| (start, Some((0, left)))));
        while let Some((start, left)) = waiting.pop_front() {
            let path = self.trace(start);
            let (merged, leaving) = self.beside(&path, Vec::new());
            let from = left.map(|(line, record)| (line, get(&places, record, 0)));
            let what = if self.is_side(start) && !side { LineKind::Side } else { LineKind::Branch };
            let mut line = ThreadLine { kind: what, from, own: Vec::new() };
            let before = linearized.turn_before(&line);
            line.own = self.count(&self.merge(&path, &merged), before, what);
            let number = linearized.lines.len();
            note_places(&mut places, &line.own);
            linearized.lines.push(line);
            waiting.extend(leaving.into_iter().map(|(start, left)| (start, Some((number, left)))));
        }
        self.add_detached_lines(&mut linearized);
        linearized.cycles = self.cycles;
        linearized
    }

    fn placed(&self, wanted: impl Fn(Placement) -> bool) -> Vec<u32> {
        let mut found: Vec<u32> = numbers(self.nodes.len())
            .filter(|at| self.node(*at).is_some_and(|node| wanted(node.placement)))
            .collect();
        found.sort_by_key(|at| self.order(*at));
        found
    }

    fn add_detached_lines(&self, linearized: &mut ThreadTree) {
        let mut names: Vec<&'static str> = Vec::new();
        for node in self.nodes {
            if let Placement::Apart(name) = node.placement
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        for name in names {
            let records = self.placed(|placing| placing == Placement::Apart(name));
            let what = LineKind::Apart(name);
            linearized.lines.push(ThreadLine {
                kind: what,
                from: None,
                own: self.count(&records, 0, what),
            });
        }
    }
}
