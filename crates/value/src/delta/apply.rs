//! Applies deltas.

use std::cell::OnceCell;
use std::mem;

use smallvec::{SmallVec, smallvec};

use super::{Delta, DeltaError, DeltaOp, DeltaPath, MAX_SEGMENTS, number};
use crate::tree::{
    JsonTree, ObjectKey, ObjectMembers, TextSlice, TreeNode, ValueKind, escape_key, parse_index,
};

/// The number of segments that are shown of a path that is too long.
const SHOWN_SEGMENTS: usize = 8;

/// The data that the inverse of a delta needs.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct InverseData {
    previous: Option<JsonTree>,
    created: usize,
    positions: ArrayPositions,
    member: Option<usize>,
}

/// Array positions: mostly none, or one.
pub type ArrayPositions = SmallVec<[usize; 2]>;

impl Delta {
    /// Applies the change, and returns it with the data that its inverse needs.
    ///
    /// On an error the state is unchanged.
    pub fn apply(&self, state: &mut JsonTree) -> Result<Delta, DeltaError> {
        let notes = self.apply_unrecorded(state)?;
        let mut done = Delta::new(self.op, self.path.clone(), self.value.clone());
        done.record_inverse(notes);
        done.extra.clone_from(&self.extra);
        Ok(done)
    }

    /// Like [`Delta::apply`], but records the inverse data in the delta itself.
    pub fn apply_in_place(&mut self, state: &mut JsonTree) -> Result<(), DeltaError> {
        let notes = self.apply_unrecorded(state)?;
        self.record_inverse(notes);
        Ok(())
    }

    /// Records the inverse data from applying the change.
    pub fn record_inverse(&mut self, notes: InverseData) {
        self.previous = notes.previous;
        self.created = notes.created;
        self.positions = notes.positions.into_vec();
        self.member = notes.member;
    }

    fn apply_unrecorded(&self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let doing = DeltaApplication {
            op: self.op,
            segments: self.path.segments(),
            value: self.value.clone(),
            previous: self.previous.as_ref(),
            positions: &self.positions,
            first_only: self.first_only,
            member: self.member,
        };
        doing.apply_to(state).map_err(|error| error.with_notation(self.path.notation()))
    }
}

/// A delta that is being applied, with borrowed parts.
#[doc(hidden)]
pub struct DeltaApplication<'d, S> {
    /// The operation.
    pub op: DeltaOp,
    /// The path.
    pub segments: &'d [S],
    /// The value.
    pub value: Option<JsonTree>,
    /// The recorded previous value.
    pub previous: Option<&'d JsonTree>,
    /// The recorded array positions.
    pub positions: &'d [usize],
    /// Whether a `pull` removes the first equal element only.
    pub first_only: bool,
    /// The recorded member position.
    pub member: Option<usize>,
}

impl<S: AsRef<str>> DeltaApplication<'_, S> {
    /// Applies the change. On an error the state is unchanged.
    pub fn apply_to(mut self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let count = self.segments.len();
        if count > MAX_SEGMENTS {
            return Err(DeltaError::TooDeep { path: self.prefix(SHOWN_SEGMENTS), count });
        }
        match self.op {
            DeltaOp::Set => self.set_in(state),
            DeltaOp::Delete => self.delete_in(state),
            DeltaOp::Push => self.push_in(state),
            DeltaOp::Pull => self.pull_in(state),
            DeltaOp::Increment => self.increment_in(state),
        }
    }

    fn prefix(&self, count: usize) -> DeltaPath {
        DeltaPath::array(self.segments.iter().take(count).map(AsRef::as_ref))
    }

    fn path(&self) -> DeltaPath {
        self.prefix(usize::MAX)
    }

    /// Takes the value, which this operation requires.
    fn take_value(&mut self, wanted: &'static str) -> Result<JsonTree, DeltaError> {
        self.value.take().ok_or_else(|| self.wrong_value(wanted))
    }

    fn wrong_value(&self, wanted: &'static str) -> DeltaError {
        DeltaError::Value { op: self.op, path: self.path(), wanted }
    }

    fn missing(&self) -> DeltaError {
        DeltaError::Missing { op: self.op, path: self.path() }
    }

    fn no_element(&self, length: usize) -> DeltaError {
        DeltaError::Index { op: self.op, path: self.path(), length }
    }

    fn mismatch(&self, depth: usize, found: ValueKind, wanted: &'static str) -> DeltaError {
        let (op, path, at) = (self.op, self.path(), self.prefix(depth));
        DeltaError::Kind { op, path, at, found, wanted }
    }

    fn no_container(&self, depth: usize, found: ValueKind) -> DeltaError {
        self.mismatch(depth, found, "an object or an array")
    }

    /// The value at the first `depth` segments of the path.
    fn value_at_depth<'t>(
        &self,
        state: &'t mut JsonTree,
        depth: usize,
    ) -> Result<&'t mut TreeNode, DeltaError> {
        let mut node = &mut state.0;
        for (level, segment) in self.segments.iter().take(depth).enumerate() {
            let segment = segment.as_ref();
            node.expand();
            let kind = node.kind();
            node = match node {
                TreeNode::Object(members) => members.get_mut(&*escape_key(segment)),
                TreeNode::Array(elements) => {
                    parse_index(segment).and_then(|at| elements.get_mut(at))
                }
                TreeNode::Text(_) => return Err(self.no_container(level, kind)),
            }
            .ok_or_else(|| self.missing())?;
        }
        Ok(node)
    }

    fn set_in(&mut self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let segments = self.segments;
        let value = self.take_value("present")?.0.limit_depth(segments.len());
        let mut node = &mut state.0;
        let mut left = segments;
        while let Some((segment, below)) = left.split_first() {
            let level = segments.len() - left.len();
            left = below;
            let segment = segment.as_ref();
            node.expand();
            let kind = node.kind();
            node = match node {
                TreeNode::Object(members) => {
                    let key = escape_key(segment);
                    let Some(at) = members.get_index_of(&*key) else {
                        let place = self.member.unwrap_or(usize::MAX).min(members.len());
                        members.shift_insert(place, ObjectKey::new(segment), wrap(below, value));
                        let (created, member) = (below.len(), self.member);
                        return Ok(InverseData { created, member, ..InverseData::default() });
                    };
                    members.get_index_mut(at).map(|(_, member)| member)
                }
                TreeNode::Array(elements) => {
                    let length = elements.len();
                    let at = parse_index(segment).ok_or_else(|| self.no_element(length))?;
                    if at == length && below.is_empty() {
                        elements.push(value);
                        return Ok(InverseData::default());
                    }
                    Some(elements.get_mut(at).ok_or_else(|| self.no_element(length))?)
                }
                TreeNode::Text(_) => return Err(self.no_container(level, kind)),
            }
            .ok_or_else(|| self.missing())?;
        }
        let previous = Some(JsonTree(mem::replace(node, value)));
        Ok(InverseData { previous, ..InverseData::default() })
    }

    fn delete_in(&self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let Some((last, above)) = self.segments.split_last() else {
            let previous = Some(JsonTree(mem::replace(&mut state.0, TreeNode::null())));
            return Ok(InverseData { previous, ..InverseData::default() });
        };
        let (last, node) = (last.as_ref(), self.value_at_depth(state, above.len())?);
        node.expand();
        let kind = node.kind();
        match node {
            TreeNode::Object(members) => {
                let found = members.shift_remove_full(&*escape_key(last));
                let (member, _, removed) = found.ok_or_else(|| self.missing())?;
                let previous = Some(JsonTree(removed));
                Ok(InverseData { previous, member: Some(member), ..InverseData::default() })
            }
            TreeNode::Array(elements) => {
                let found = parse_index(last).filter(|at| *at < elements.len());
                let at = found.ok_or_else(|| self.missing())?;
                let previous = Some(JsonTree(elements.remove(at)));
                Ok(InverseData { previous, positions: smallvec![at], ..InverseData::default() })
            }
            TreeNode::Text(_) => Err(self.no_container(above.len(), kind)),
        }
    }

    /// The array at the path.
    fn array<'t>(&self, state: &'t mut JsonTree) -> Result<&'t mut Vec<TreeNode>, DeltaError> {
        let depth = self.segments.len();
        let node = self.value_at_depth(state, depth)?;
        node.expand();
        let kind = node.kind();
        match node {
            TreeNode::Array(elements) => Ok(elements),
            TreeNode::Object(_) | TreeNode::Text(_) => Err(self.mismatch(depth, kind, "an array")),
        }
    }

    fn push_in(&mut self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let value = self.take_value("present")?.0.limit_depth(self.segments.len() + 1);
        let elements = self.array(state)?;
        let length = elements.len();
        let at_the_end = self.positions == [length] && self.previous.is_none();
        if self.positions.is_empty() || at_the_end {
            elements.push(value);
            return Ok(InverseData { positions: smallvec![length], ..InverseData::default() });
        }
        let fits = |(added, &at): (usize, &usize)| at <= length + added;
        if !ascending(self.positions) || !self.positions.iter().enumerate().all(fits) {
            return Err(self.no_element(length));
        }
        let spelled = self.removed_spellings();
        let values = spelled.iter().cloned().chain(std::iter::repeat(value));
        let new: Vec<(usize, TreeNode)> = self.positions.iter().copied().zip(values).collect();
        insert_all(elements, new);
        let previous = self.previous.cloned().filter(|_| !spelled.is_empty());
        Ok(InverseData { previous, positions: self.positions.into(), ..InverseData::default() })
    }

    /// The removed elements in their original spelling, if one differed from that of the value.
    fn removed_spellings(&self) -> Vec<TreeNode> {
        let previous = self.previous.map(|previous| previous.0.expanded());
        match previous.as_deref() {
            Some(TreeNode::Array(spelled)) if spelled.len() == self.positions.len() => {
                spelled.clone()
            }
            _ => Vec::new(),
        }
    }

    fn pull_in(&mut self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let value = self.take_value("present")?;
        let elements = self.array(state)?;
        let wanted = OnceCell::new();
        let is_it = |node: &TreeNode| {
            node.has_text_of(&value.0)
                || node.kind() == value.kind()
                    && node.canonical() == *wanted.get_or_init(|| value.0.canonical())
        };
        let positions: ArrayPositions = if self.positions.is_empty() {
            let most = if self.first_only { 1 } else { usize::MAX };
            let equal = (0..).zip(elements.iter()).filter(|(_, node)| is_it(node));
            equal.map(|(at, _)| at).take(most).collect()
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
        let removed: Vec<TreeNode> = elements
            .extract_if(.., |_| place.next().is_some_and(|at| positions.binary_search(&at).is_ok()))
            .collect();
        let is_spelled_so = |node: &TreeNode| {
            node.has_text_of(&value.0) || JsonTree(node.clone()).to_line() == value.to_line()
        };
        let differ = !removed.iter().all(is_spelled_so);
        let previous = differ.then(|| JsonTree(TreeNode::Array(removed)));
        Ok(InverseData { previous, positions, ..InverseData::default() })
    }

    fn increment_in(&mut self, state: &mut JsonTree) -> Result<InverseData, DeltaError> {
        let wanted = "a number";
        let value = self.take_value(wanted)?;
        if value.kind() != ValueKind::Number {
            return Err(self.wrong_value(wanted));
        }
        let depth = self.segments.len();
        let node = self.value_at_depth(state, depth)?;
        let kind = node.kind();
        let TreeNode::Text(was) = node else { return Err(self.mismatch(depth, kind, wanted)) };
        if kind != ValueKind::Number {
            return Err(self.mismatch(depth, kind, wanted));
        }
        let sum = match &value.0 {
            TreeNode::Text(value) => number::add_numbers(was.as_str(), value.as_str()),
            TreeNode::Object(_) | TreeNode::Array(_) => {
                number::add_numbers(was.as_str(), &value.to_line())
            }
        };
        let sum = sum.map_err(|sum| DeltaError::Range { path: self.path(), sum })?;
        let previous = mem::replace(node, TreeNode::Text(TextSlice::from_text(sum)));
        Ok(InverseData { previous: Some(JsonTree(previous)), ..InverseData::default() })
    }
}

fn ascending(positions: &[usize]) -> bool {
    positions.is_sorted_by(|a, b| a < b)
}

/// Inserts elements at their final positions, in ascending order.
fn insert_all(elements: &mut Vec<TreeNode>, new: Vec<(usize, TreeNode)>) {
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
fn wrap<S: AsRef<str>>(keys: &[S], mut value: TreeNode) -> TreeNode {
    for key in keys.iter().rev() {
        value = TreeNode::Object(ObjectMembers::from_iter([(ObjectKey::new(key.as_ref()), value)]));
    }
    value
}
