//! Deltas carried out.

use std::cell::OnceCell;
use std::mem;

use smallvec::{SmallVec, smallvec};

use super::{Delta, DeltaError, MAX_SEGMENTS, Op, Path, number};
use crate::tree::{Key, Kind, Members, Node, Slice, Tree, escape_key, index};

/// How many segments of a path that is too long are shown.
const SHOWN_SEGMENTS: usize = 8;

/// What taking a delta back needs.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Notes {
    previous: Option<Tree>,
    created: usize,
    positions: Positions,
    member: Option<usize>,
}

/// Places in an array: mostly none, or one.
pub type Positions = SmallVec<[usize; 2]>;

impl Delta {
    /// Carries the change out, and returns it with all that taking it back needs.
    ///
    /// When it cannot be carried out, nothing is changed.
    pub fn apply(&self, state: &mut Tree) -> Result<Delta, DeltaError> {
        let notes = self.carry_out(state)?;
        let mut done = Delta::new(self.op, self.path.clone(), self.value.clone());
        done.note(notes);
        done.extra.clone_from(&self.extra);
        Ok(done)
    }

    /// As [`Delta::apply`], with the notes made in the delta itself.
    pub fn apply_in_place(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let notes = self.carry_out(state)?;
        self.note(notes);
        Ok(())
    }

    /// Notes what carrying the change out has found.
    pub fn note(&mut self, notes: Notes) {
        self.previous = notes.previous;
        self.created = notes.created;
        self.positions = notes.positions.into_vec();
        self.member = notes.member;
    }

    fn carry_out(&self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let doing = Doing {
            op: self.op,
            segments: self.path.segments(),
            value: self.value.clone(),
            previous: self.previous.as_ref(),
            positions: &self.positions,
            member: self.member,
        };
        doing.carry_out(state).map_err(|error| error.spelled(self.path.spelling()))
    }
}

/// A delta that is being carried out, wherever its parts are kept.
#[doc(hidden)]
pub struct Doing<'d, S> {
    /// What happens at the place.
    pub op: Op,
    /// The place.
    pub segments: &'d [S],
    /// What is put there.
    pub value: Option<Tree>,
    /// What was there before, as noted.
    pub previous: Option<&'d Tree>,
    /// Where in arrays, as noted.
    pub positions: &'d [usize],
    /// Which member of an object, as noted.
    pub member: Option<usize>,
}

impl<S: AsRef<str>> Doing<'_, S> {
    /// Carries the change out. When that fails, nothing is changed.
    pub fn carry_out(mut self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let count = self.segments.len();
        if count > MAX_SEGMENTS {
            return Err(DeltaError::TooDeep { path: self.prefix(SHOWN_SEGMENTS), count });
        }
        match self.op {
            Op::Set => self.set_in(state),
            Op::Delete => self.delete_in(state),
            Op::Push => self.push_in(state),
            Op::Pull => self.pull_in(state),
            Op::Increment => self.increment_in(state),
        }
    }

    fn prefix(&self, count: usize) -> Path {
        Path::array(self.segments.iter().take(count).map(AsRef::as_ref))
    }

    fn path(&self) -> Path {
        self.prefix(usize::MAX)
    }

    /// The value, which this operation cannot do without.
    fn needed(&mut self, wanted: &'static str) -> Result<Tree, DeltaError> {
        self.value.take().ok_or_else(|| self.unsuitable(wanted))
    }

    fn unsuitable(&self, wanted: &'static str) -> DeltaError {
        DeltaError::Value { op: self.op, path: self.path(), wanted }
    }

    fn missing(&self) -> DeltaError {
        DeltaError::Missing { op: self.op, path: self.path() }
    }

    fn no_element(&self, length: usize) -> DeltaError {
        DeltaError::Index { op: self.op, path: self.path(), length }
    }

    fn mismatch(&self, depth: usize, found: Kind, wanted: &'static str) -> DeltaError {
        let (op, path, at) = (self.op, self.path(), self.prefix(depth));
        DeltaError::Kind { op, path, at, found, wanted }
    }

    fn no_container(&self, depth: usize, found: Kind) -> DeltaError {
        self.mismatch(depth, found, "an object or an array")
    }

    /// The value at the first `depth` segments of the path.
    fn reach<'t>(&self, state: &'t mut Tree, depth: usize) -> Result<&'t mut Node, DeltaError> {
        let mut node = &mut state.0;
        for (level, segment) in self.segments.iter().take(depth).enumerate() {
            let segment = segment.as_ref();
            node.expand();
            let kind = node.kind();
            node = match node {
                Node::Object(members) => members.get_mut(&*escape_key(segment)),
                Node::Array(elements) => index(segment).and_then(|at| elements.get_mut(at)),
                Node::Text(_) => return Err(self.no_container(level, kind)),
            }
            .ok_or_else(|| self.missing())?;
        }
        Ok(node)
    }

    fn set_in(&mut self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let segments = self.segments;
        let value = self.needed("any value")?.0.placed(segments.len());
        let mut node = &mut state.0;
        let mut left = segments;
        while let Some((segment, below)) = left.split_first() {
            let level = segments.len() - left.len();
            left = below;
            let segment = segment.as_ref();
            node.expand();
            let kind = node.kind();
            node = match node {
                Node::Object(members) => {
                    let key = escape_key(segment);
                    let Some(at) = members.get_index_of(&*key) else {
                        let place = self.member.unwrap_or(usize::MAX).min(members.len());
                        members.shift_insert(place, Key::new(segment), wrap(below, value));
                        let (created, member) = (below.len(), self.member);
                        return Ok(Notes { created, member, ..Notes::default() });
                    };
                    members.get_index_mut(at).map(|(_, member)| member)
                }
                Node::Array(elements) => {
                    let length = elements.len();
                    let at = index(segment).ok_or_else(|| self.no_element(length))?;
                    if at == length && below.is_empty() {
                        elements.push(value);
                        return Ok(Notes::default());
                    }
                    Some(elements.get_mut(at).ok_or_else(|| self.no_element(length))?)
                }
                Node::Text(_) => return Err(self.no_container(level, kind)),
            }
            .ok_or_else(|| self.missing())?;
        }
        let previous = Some(Tree(mem::replace(node, value)));
        Ok(Notes { previous, ..Notes::default() })
    }

    fn delete_in(&self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let Some((last, above)) = self.segments.split_last() else {
            let previous = Some(Tree(mem::replace(&mut state.0, Node::null())));
            return Ok(Notes { previous, ..Notes::default() });
        };
        let (last, node) = (last.as_ref(), self.reach(state, above.len())?);
        node.expand();
        let kind = node.kind();
        match node {
            Node::Object(members) => {
                let found = members.shift_remove_full(&*escape_key(last));
                let (member, _, removed) = found.ok_or_else(|| self.missing())?;
                let previous = Some(Tree(removed));
                Ok(Notes { previous, member: Some(member), ..Notes::default() })
            }
            Node::Array(elements) => {
                let found = index(last).filter(|at| *at < elements.len());
                let at = found.ok_or_else(|| self.missing())?;
                let previous = Some(Tree(elements.remove(at)));
                Ok(Notes { previous, positions: smallvec![at], ..Notes::default() })
            }
            Node::Text(_) => Err(self.no_container(above.len(), kind)),
        }
    }

    /// The array at the path.
    fn array<'t>(&self, state: &'t mut Tree) -> Result<&'t mut Vec<Node>, DeltaError> {
        let depth = self.segments.len();
        let node = self.reach(state, depth)?;
        node.expand();
        let kind = node.kind();
        match node {
            Node::Array(elements) => Ok(elements),
            Node::Object(_) | Node::Text(_) => Err(self.mismatch(depth, kind, "an array")),
        }
    }

    fn push_in(&mut self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let value = self.needed("any value")?.0.placed(self.segments.len() + 1);
        let elements = self.array(state)?;
        let length = elements.len();
        let at_the_end = self.positions == [length] && self.previous.is_none();
        if self.positions.is_empty() || at_the_end {
            elements.push(value);
            return Ok(Notes { positions: smallvec![length], ..Notes::default() });
        }
        let fits = |(added, &at): (usize, &usize)| at <= length + added;
        if !ascending(self.positions) || !self.positions.iter().enumerate().all(fits) {
            return Err(self.no_element(length));
        }
        let spelled = self.spelled();
        let values = spelled.iter().cloned().chain(std::iter::repeat(value));
        let new: Vec<(usize, Node)> = self.positions.iter().copied().zip(values).collect();
        insert_all(elements, new);
        let previous = self.previous.cloned().filter(|_| !spelled.is_empty());
        Ok(Notes { previous, positions: self.positions.into(), ..Notes::default() })
    }

    /// The elements as they were spelled when they were removed, if one differed from the value in that.
    fn spelled(&self) -> Vec<Node> {
        let previous = self.previous.map(|previous| previous.0.expanded());
        match previous.as_deref() {
            Some(Node::Array(spelled)) if spelled.len() == self.positions.len() => spelled.clone(),
            _ => Vec::new(),
        }
    }

    fn pull_in(&mut self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let value = self.needed("any value")?;
        let elements = self.array(state)?;
        let wanted = OnceCell::new();
        let is_it = |node: &Node| {
            node.has_text_of(&value.0)
                || node.kind() == value.kind()
                    && node.canonical() == *wanted.get_or_init(|| value.0.canonical())
        };
        let positions: Positions = if self.positions.is_empty() {
            (0..).zip(elements.iter()).filter(|(_, node)| is_it(node)).map(|(at, _)| at).collect()
        } else {
            self.positions.into()
        };
        if !ascending(&positions) {
            return Err(self.no_element(elements.len()));
        }
        let other = positions.iter().find(|at| !elements.get(**at).is_some_and(is_it));
        if let Some(&position) = other {
            return Err(DeltaError::Other { op: self.op, path: self.path(), position });
        }
        let mut place = 0..;
        let removed: Vec<Node> = elements
            .extract_if(.., |_| place.next().is_some_and(|at| positions.binary_search(&at).is_ok()))
            .collect();
        let is_spelled_so = |node: &Node| {
            node.has_text_of(&value.0) || Tree(node.clone()).to_line() == value.to_line()
        };
        let differ = !removed.iter().all(is_spelled_so);
        let previous = differ.then(|| Tree(Node::Array(removed)));
        Ok(Notes { previous, positions, ..Notes::default() })
    }

    fn increment_in(&mut self, state: &mut Tree) -> Result<Notes, DeltaError> {
        let wanted = "a number";
        let value = self.needed(wanted)?;
        if value.kind() != Kind::Number {
            return Err(self.unsuitable(wanted));
        }
        let depth = self.segments.len();
        let node = self.reach(state, depth)?;
        let kind = node.kind();
        let Node::Text(was) = node else { return Err(self.mismatch(depth, kind, wanted)) };
        if kind != Kind::Number {
            return Err(self.mismatch(depth, kind, wanted));
        }
        let sum = match &value.0 {
            Node::Text(value) => number::add(was.as_str(), value.as_str()),
            Node::Object(_) | Node::Array(_) => number::add(was.as_str(), &value.to_line()),
        };
        let sum = sum.map_err(|sum| DeltaError::Range { path: self.path(), sum })?;
        let previous = mem::replace(node, Node::Text(Slice::whole(sum)));
        Ok(Notes { previous: Some(Tree(previous)), ..Notes::default() })
    }
}

fn ascending(positions: &[usize]) -> bool {
    positions.is_sorted_by(|a, b| a < b)
}

/// Inserts elements, each at the place that it has afterwards, in ascending order.
fn insert_all(elements: &mut Vec<Node>, new: Vec<(usize, Node)>) {
    let first = new.first().map_or(elements.len(), |(at, _)| *at);
    let mut rest = elements.split_off(first.min(elements.len())).into_iter();
    for (at, node) in new {
        let before = at.saturating_sub(elements.len());
        elements.extend(rest.by_ref().take(before));
        elements.push(node);
    }
    elements.extend(rest);
}

/// `value` inside objects with these keys, the first outermost.
fn wrap<S: AsRef<str>>(keys: &[S], mut value: Node) -> Node {
    for key in keys.iter().rev() {
        value = Node::Object(Members::from_iter([(Key::new(key.as_ref()), value)]));
    }
    value
}
