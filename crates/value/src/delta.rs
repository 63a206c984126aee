//! Changes of a state that can be taken back.
//!
//! A [`Delta`] names a place in a [`JsonTree`] and what happens there: `set`, `delete`, `push`, `pull` or
//! `increment`. [`Delta::apply`] carries it out and returns it completed with all that taking it back needs;
//! [`Delta::inverse`] of such a delta is a delta that takes it back. [`diff`] finds the deltas between two
//! states.

mod apply;
mod diff;
mod inverse;
mod json_form;
mod number;
mod path;

use thiserror::Error;

use crate::tree::{JsonTree, ValueKind};

pub use apply::{ArrayPositions, DeltaApplication, InverseData};
pub use diff::diff;
pub use inverse::apply_group;
pub use json_form::{DeltaText, parse_path, present, render_path, shared_tree, write_fields};
pub use path::{DeltaPath, MAX_SEGMENTS, PathNotation};

/// What happens at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeltaOp {
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

impl DeltaOp {
    /// Every operation there is.
    pub const ALL: [DeltaOp; 5] =
        [DeltaOp::Set, DeltaOp::Delete, DeltaOp::Push, DeltaOp::Pull, DeltaOp::Increment];

    /// The name that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DeltaOp::Set => "set",
            DeltaOp::Delete => "delete",
            DeltaOp::Push => "push",
            DeltaOp::Pull => "pull",
            DeltaOp::Increment => "increment",
        }
    }

    /// The operation that files call `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<DeltaOp> {
        DeltaOp::ALL.into_iter().find(|op| op.as_str() == name)
    }
}

/// One change at one place.
///
/// ```
/// use everturn_value::delta::{Delta, DeltaPath};
/// use everturn_value::tree::JsonTree;
///
/// let mut state = JsonTree::parse(r#"{"npcs": {"luna": {"trust": 5}}}"#)?;
/// let wanted = Delta::increment(DeltaPath::dotted("npcs.luna.trust"), JsonTree::parse("10")?);
/// let done = wanted.apply(&mut state)?;
/// assert_eq!(state.to_line(), r#"{"npcs":{"luna":{"trust":15}}}"#);
/// done.inverse()?.apply(&mut state)?;
/// assert_eq!(state.to_line(), r#"{"npcs":{"luna":{"trust":5}}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Delta {
    /// What happens.
    pub op: DeltaOp,
    /// Where.
    pub path: DeltaPath,
    /// The value that is put, added or removed; a `delete` has none.
    pub value: Option<JsonTree>,
    /// What was there before; nothing if there was nothing, or if nobody has noted it. After a `pull`,
    /// all removed elements, if they were not spelled like the value.
    pub previous: Option<JsonTree>,
    /// How many of the containers above the place a `set` had to create.
    pub created: usize,
    /// At which places of an array elements were added or removed, in ascending order.
    pub positions: Vec<usize>,
    /// Which place among the members of an object the removed member had, or the new one gets.
    pub member: Option<usize>,
    /// Other fields, which are kept.
    pub extra: Vec<(String, JsonTree)>,
}

/// Why a delta cannot be applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// There is nothing at the path, and only `set` creates what is missing.
    #[error("{op} at {path}: there is nothing there", op = op.as_str())]
    Missing {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
    },
    /// A value on the way, or at the end of it, is of the wrong kind.
    #[error("{op} at {path}: {at} is {found}, not {wanted}", op = op.as_str())]
    Kind {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// The place of the wrong value.
        at: DeltaPath,
        /// What it is.
        found: ValueKind,
        /// What it should be.
        wanted: &'static str,
    },
    /// An array does not have that many elements.
    #[error("{op} at {path}: the array has {length} elements", op = op.as_str())]
    Index {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// How many elements there are.
        length: usize,
    },
    /// The operation needs a value, or another kind of value.
    #[error("{op} at {path}: {wanted} is needed as value", op = op.as_str())]
    Value {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// What is needed.
        wanted: &'static str,
    },
    /// The sum cannot be written as a number.
    #[error("increment at {path}: {sum} is out of range")]
    Range {
        /// The path.
        path: DeltaPath,
        /// What it would be.
        sum: String,
    },
    /// An element that was to be removed is not the one that is there.
    #[error("{op} at {path}: another value stands at position {position}", op = op.as_str())]
    Other {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// Where.
        position: usize,
    },
    /// The delta does not say what taking it back needs.
    #[error("{op} at {path}: it was stored without what taking it back needs", op = op.as_str())]
    NotInvertible {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
    },
    /// The path has too many segments.
    #[error("the path from {path} on has {count} segments, the most is {most}", most = MAX_SEGMENTS)]
    TooDeep {
        /// How it starts.
        path: DeltaPath,
        /// How many there are.
        count: usize,
    },
}

impl DeltaError {
    /// The same, with its paths written with dots.
    pub fn with_dotted_paths(self) -> DeltaError {
        self.with_notation(PathNotation::Dotted)
    }

    /// The same, with its paths written like this.
    fn with_notation(mut self, spelling: PathNotation) -> DeltaError {
        let respell = |path: &mut DeltaPath| {
            *path = std::mem::replace(path, DeltaPath::root()).with_notation(spelling);
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
            | DeltaError::NotInvertible { path, .. }
            | DeltaError::TooDeep { path, .. } => respell(path),
        }
        self
    }
}

impl Delta {
    fn new(op: DeltaOp, path: DeltaPath, value: Option<JsonTree>) -> Delta {
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
    pub fn set(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Set, path, Some(value))
    }

    /// Removes what is at `path`.
    #[must_use]
    pub fn delete(path: DeltaPath) -> Delta {
        Delta::new(DeltaOp::Delete, path, None)
    }

    /// Adds `value` to the end of the array at `path`.
    #[must_use]
    pub fn push(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Push, path, Some(value))
    }

    /// Removes all elements that are `value` from the array at `path`.
    #[must_use]
    pub fn pull(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Pull, path, Some(value))
    }

    /// Adds the number `value` to the number at `path`.
    #[must_use]
    pub fn increment(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Increment, path, Some(value))
    }
}
