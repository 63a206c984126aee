//! Deltas carried out.

use super::{Delta, DeltaError, MAX_SEGMENTS, Op, Path, number};
use crate::tree::{Kind, Members, Node, Tree, escape_key, index};

impl Delta {
    /// Carries the change out, and returns it with all that taking it back needs.
    ///
    /// When it cannot be carried out, nothing is changed.
    pub fn apply(&self, state: &mut Tree) -> Result<Delta, DeltaError> {
        let mut done = self.clone();
        done.apply_in_place(state)?;
        Ok(done)
    }

    /// As [`Delta::apply`], with the notes made in the delta itself.
    pub fn apply_in_place(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let count = self.path.segments().len();
        if count > MAX_SEGMENTS {
            return Err(DeltaError::TooDeep { count });
        }
        self.created = 0;
        self.previous = None;
        match self.op {
            Op::Set => self.set_in(state),
            Op::Delete => self.delete_in(state),
            Op::Push => self.push_in(state),
            Op::Pull => self.pull_in(state),
            Op::Increment => self.increment_in(state),
        }
    }

    /// The value, which this operation cannot do without.
    fn needed(&self, wanted: &'static str) -> Result<Tree, DeltaError> {
        self.value.clone().ok_or_else(|| DeltaError::Value {
            op: self.op,
            path: self.path.clone(),
            wanted,
        })
    }

    fn missing(&self) -> DeltaError {
        DeltaError::Missing { op: self.op, path: self.path.clone() }
    }

    fn mismatch(&self, depth: usize, found: Kind, wanted: &'static str) -> DeltaError {
        let (op, path, at) = (self.op, self.path.clone(), self.path.prefix(depth));
        DeltaError::Kind { op, path, at, found, wanted }
    }

    /// The value at the first `depth` segments of the path.
    fn reach<'t>(&self, state: &'t mut Tree, depth: usize) -> Result<&'t mut Node, DeltaError> {
        let mut node = &mut state.0;
        for (level, segment) in self.path.segments().iter().take(depth).enumerate() {
            node.expand();
            let kind = node.kind();
            node = match node {
                Node::Object(members) => members.get_mut(&*escape_key(segment)),
                Node::Array(elements) => index(segment).and_then(|at| elements.get_mut(at)),
                Node::Text(_) => return Err(self.mismatch(level, kind, "an object or an array")),
            }
            .ok_or_else(|| self.missing())?;
        }
        Ok(node)
    }

    fn set_in(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let value = self.needed("any value")?.0;
        let segments = self.path.segments().to_vec();
        let Some((last, above)) = segments.split_last() else {
            self.previous = Some(Tree(std::mem::replace(&mut state.0, value)));
            return Ok(());
        };
        let mut node = &mut state.0;
        for (level, segment) in above.iter().enumerate() {
            node.expand();
            let kind = node.kind();
            let key = escape_key(segment);
            node = match node {
                Node::Object(members) if !members.contains_key(&*key) => {
                    self.created = above.len() - level;
                    let value = wrap(segments.get(level + 1..).unwrap_or_default(), value);
                    self.insert_member(members, &key, value);
                    return Ok(());
                }
                Node::Object(members) => members.get_mut(&*key).ok_or_else(|| self.missing())?,
                Node::Array(elements) => {
                    let length = elements.len();
                    let found = index(segment).and_then(|at| elements.get_mut(at));
                    found.ok_or_else(|| self.no_element(length))?
                }
                Node::Text(_) => return Err(self.mismatch(level, kind, "an object or an array")),
            };
        }
        node.expand();
        let kind = node.kind();
        match node {
            Node::Object(members) => {
                let key = escape_key(last);
                match members.get_mut(&*key) {
                    Some(member) => self.previous = Some(Tree(std::mem::replace(member, value))),
                    None => self.insert_member(members, &key, value),
                }
                Ok(())
            }
            Node::Array(elements) => {
                let length = elements.len();
                match index(last) {
                    Some(at) if at == length => elements.push(value),
                    Some(at) => {
                        let element =
                            elements.get_mut(at).ok_or_else(|| self.no_element(length))?;
                        self.previous = Some(Tree(std::mem::replace(element, value)));
                    }
                    None => return Err(self.no_element(length)),
                }
                Ok(())
            }
            Node::Text(_) => Err(self.mismatch(above.len(), kind, "an object or an array")),
        }
    }

    /// Adds a member at the end, or where it was before.
    fn insert_member(&self, members: &mut Members, key: &str, value: Node) {
        let at = self.member.unwrap_or(members.len()).min(members.len());
        members.shift_insert(at, key.into(), value);
    }

    fn no_element(&self, length: usize) -> DeltaError {
        DeltaError::Index { op: self.op, path: self.path.clone(), length }
    }

    fn delete_in(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let Some((above, last)) = self.path.split_last() else {
            self.previous = Some(Tree(std::mem::replace(&mut state.0, Node::null())));
            return Ok(());
        };
        let (depth, last) = (above.len(), last.to_owned());
        let node = self.reach(state, depth)?;
        node.expand();
        let kind = node.kind();
        let removed = match node {
            Node::Object(members) => {
                let found = members.shift_remove_full(&*escape_key(&last));
                let (member, _, removed) = found.ok_or_else(|| self.missing())?;
                (self.member, self.positions) = (Some(member), Vec::new());
                removed
            }
            Node::Array(elements) => {
                let found = index(&last).filter(|at| *at < elements.len());
                let at = found.ok_or_else(|| self.missing())?;
                (self.member, self.positions) = (None, vec![at]);
                elements.remove(at)
            }
            Node::Text(_) => return Err(self.mismatch(depth, kind, "an object or an array")),
        };
        self.previous = Some(Tree(removed));
        Ok(())
    }

    /// The array at the path.
    fn array<'t>(&self, state: &'t mut Tree) -> Result<&'t mut Vec<Node>, DeltaError> {
        let depth = self.path.segments().len();
        let node = self.reach(state, depth)?;
        node.expand();
        let kind = node.kind();
        match node {
            Node::Array(elements) => Ok(elements),
            Node::Object(_) | Node::Text(_) => Err(self.mismatch(depth, kind, "an array")),
        }
    }

    fn push_in(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let value = self.needed("any value")?.0;
        let elements = self.array(state)?;
        let mut positions = self.positions.clone();
        if positions.is_empty() {
            positions.push(elements.len());
        }
        let most = elements.len();
        let fits = |(added, &at): (usize, &usize)| at <= most + added;
        if !positions.iter().enumerate().all(fits) || !ascending(&positions) {
            return Err(self.no_element(most));
        }
        for at in &positions {
            elements.insert(*at, value.clone());
        }
        self.positions = positions;
        Ok(())
    }

    fn pull_in(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let value = self.needed("any value")?;
        let elements = self.array(state)?;
        let is_it = |node: &Node| Tree(node.clone()).is_same(&value);
        let positions: Vec<usize> = if self.positions.is_empty() {
            (0..).zip(elements.iter()).filter(|(_, node)| is_it(node)).map(|(at, _)| at).collect()
        } else {
            self.positions.clone()
        };
        if !ascending(&positions) {
            return Err(self.no_element(elements.len()));
        }
        let other = positions.iter().find(|at| !elements.get(**at).is_some_and(&is_it));
        if let Some(&position) = other {
            return Err(DeltaError::Other { op: self.op, path: self.path.clone(), position });
        }
        let mut at = 0;
        elements.retain(|_| {
            at += 1;
            positions.binary_search(&(at - 1)).is_err()
        });
        self.positions = positions;
        Ok(())
    }

    fn increment_in(&mut self, state: &mut Tree) -> Result<(), DeltaError> {
        let wanted = "a number";
        let value = self.needed(wanted)?;
        if value.kind() != Kind::Number {
            return Err(DeltaError::Value { op: self.op, path: self.path.clone(), wanted });
        }
        let depth = self.path.segments().len();
        let node = self.reach(state, depth)?;
        let kind = node.kind();
        if kind != Kind::Number {
            return Err(self.mismatch(depth, kind, wanted));
        }
        let was = Tree(node.clone());
        let sum = number::add(&was.to_line(), &value.to_line());
        let sum = sum.map_err(|sum| DeltaError::Range { path: self.path.clone(), sum })?;
        *node = Node::Text(crate::tree::Slice::whole(&sum));
        self.previous = Some(was);
        Ok(())
    }
}

fn ascending(positions: &[usize]) -> bool {
    positions.is_sorted_by(|a, b| a < b)
}

/// `value` inside objects with these keys, the first outermost.
fn wrap(keys: &[Box<str>], value: Node) -> Node {
    keys.iter()
        .rev()
        .fold(value, |inner, key| Node::Object(Members::from([(escape_key(key).into(), inner)])))
}

impl Path {
    /// Whether a change here can change what is at `other`.
    #[must_use]
    pub fn meets(&self, other: &Path) -> bool {
        self.segments().iter().zip(other.segments()).all(|(a, b)| a == b)
    }
}
