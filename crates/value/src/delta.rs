//! Changes of a state that can be taken back.
//!
//! A [`Delta`] names a place in a [`Tree`] and what happens there: `set`, `delete`, `push`, `pull` or
//! `increment`. [`Delta::apply`] carries it out and returns it completed with all that taking it back needs;
//! [`Delta::inverse`] of such a delta is a delta that takes it back. [`diff`] finds the deltas between two
//! states.

mod apply;
mod diff;
mod inverse;
mod number;
mod path;
mod wire;

use thiserror::Error;

use crate::tree::{Kind, Tree};

pub use apply::{Doing, Notes, Positions};
pub use diff::diff;
pub use inverse::apply_group;
pub use path::{MAX_SEGMENTS, Path, Spelling};
pub use wire::{DeltaText, parse_path, path_text, present, shared, write_fields};

/// What happens at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// A value is put there; what is missing on the way is created.
    Set,
    /// The value is removed.
    Delete,
    /// A value is added to the array there, at its end or at the given positions.
    Push,
    /// Values equal to the given one are removed from the array there.
    Pull,
    /// A number is added to the number there.
    Increment,
}

impl Op {
    /// Every operation there is.
    pub const ALL: [Op; 5] = [Op::Set, Op::Delete, Op::Push, Op::Pull, Op::Increment];

    /// The name that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Op::Set => "set",
            Op::Delete => "delete",
            Op::Push => "push",
            Op::Pull => "pull",
            Op::Increment => "increment",
        }
    }

    /// The operation that files call `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.as_str() == name)
    }
}

/// One change at one place.
///
/// ```
/// use everturn_value::delta::{Delta, Path};
/// use everturn_value::tree::Tree;
///
/// let mut state = Tree::parse(r#"{"npcs": {"luna": {"trust": 5}}}"#)?;
/// let wanted = Delta::increment(Path::dotted("npcs.luna.trust"), Tree::parse("10")?);
/// let done = wanted.apply(&mut state)?;
/// assert_eq!(state.to_line(), r#"{"npcs":{"luna":{"trust":15}}}"#);
/// done.inverse()?.apply(&mut state)?;
/// assert_eq!(state.to_line(), r#"{"npcs":{"luna":{"trust":5}}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Delta {
    /// What happens.
    pub op: Op,
    /// Where.
    pub path: Path,
    /// The value that is put, added or removed; a `delete` has none.
    pub value: Option<Tree>,
    /// What was there before; nothing if there was nothing, or if nobody has noted it. After a `pull`,
    /// all removed elements, if they were not spelled like the value.
    pub previous: Option<Tree>,
    /// How many of the containers above the place a `set` had to create.
    pub created: usize,
    /// At which places of an array elements were added or removed, in ascending order.
    pub positions: Vec<usize>,
    /// Which place among the members of an object the removed member had, or the new one gets.
    pub member: Option<usize>,
    /// Other fields, which are kept.
    pub extra: Vec<(String, Tree)>,
}

/// Why a delta cannot be applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// There is nothing at the path, and only `set` creates what is missing.
    #[error("{op} at {path}: there is nothing there", op = op.as_str())]
    Missing {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
    },
    /// A value on the way, or at the end of it, is of the wrong kind.
    #[error("{op} at {path}: {at} is {found}, not {wanted}", op = op.as_str())]
    Kind {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
        /// The place of the wrong value.
        at: Path,
        /// What it is.
        found: Kind,
        /// What it should be.
        wanted: &'static str,
    },
    /// An array does not have that many elements.
    #[error("{op} at {path}: the array has {length} elements", op = op.as_str())]
    Index {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
        /// How many elements there are.
        length: usize,
    },
    /// The operation needs a value, or another kind of value.
    #[error("{op} at {path}: {wanted} is needed as value", op = op.as_str())]
    Value {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
        /// What is needed.
        wanted: &'static str,
    },
    /// The sum cannot be written as a number.
    #[error("increment at {path}: {sum} is out of range")]
    Range {
        /// The path.
        path: Path,
        /// What it would be.
        sum: String,
    },
    /// An element that was to be removed is not the one that is there.
    #[error("{op} at {path}: another value stands at position {position}", op = op.as_str())]
    Other {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
        /// Where.
        position: usize,
    },
    /// The delta does not say what taking it back needs.
    #[error("{op} at {path}: it was stored without what taking it back needs", op = op.as_str())]
    NoWayBack {
        /// The operation.
        op: Op,
        /// The path.
        path: Path,
    },
    /// The path has too many segments.
    #[error("the path from {path} on has {count} segments, the most is {most}", most = MAX_SEGMENTS)]
    TooDeep {
        /// How it starts.
        path: Path,
        /// How many there are.
        count: usize,
    },
}

impl DeltaError {
    /// The same, with its paths written with dots.
    pub fn dotted(self) -> DeltaError {
        self.spelled(Spelling::Dotted)
    }

    /// The same, with its paths written like this.
    fn spelled(mut self, spelling: Spelling) -> DeltaError {
        let respell = |path: &mut Path| {
            *path = std::mem::replace(path, Path::root()).spelled(spelling);
        };
        match &mut self {
            DeltaError::Kind { path, at, .. } => {
                respell(path);
                respell(at);
            }
            DeltaError::Missing { path, .. }
            | DeltaError::Index { path, .. }
            | DeltaError::Value { path, .. }
            | DeltaError::Range { path, .. }
            | DeltaError::Other { path, .. }
            | DeltaError::NoWayBack { path, .. }
            | DeltaError::TooDeep { path, .. } => respell(path),
        }
        self
    }
}

impl Delta {
    fn new(op: Op, path: Path, value: Option<Tree>) -> Delta {
        Delta {
            op,
            path,
            value,
            previous: None,
            created: 0,
            positions: Vec::new(),
            member: None,
            extra: Vec::new(),
        }
    }

    /// Puts `value` at `path`.
    #[must_use]
    pub fn set(path: Path, value: Tree) -> Delta {
        Delta::new(Op::Set, path, Some(value))
    }

    /// Removes what is at `path`.
    #[must_use]
    pub fn delete(path: Path) -> Delta {
        Delta::new(Op::Delete, path, None)
    }

    /// Adds `value` to the end of the array at `path`.
    #[must_use]
    pub fn push(path: Path, value: Tree) -> Delta {
        Delta::new(Op::Push, path, Some(value))
    }

    /// Removes all elements that are `value` from the array at `path`.
    #[must_use]
    pub fn pull(path: Path, value: Tree) -> Delta {
        Delta::new(Op::Pull, path, Some(value))
    }

    /// Adds the number `value` to the number at `path`.
    #[must_use]
    pub fn increment(path: Path, value: Tree) -> Delta {
        Delta::new(Op::Increment, path, Some(value))
    }
}
