//! Reversible changes of a state.
//!
//! A [`Delta`] is an operation at a [`DeltaPath`] in a [`JsonTree`]: `set`, `delete`, `push`, `pull` or `increment`.
//! [`Delta::apply`] applies it and returns it with the data that its inverse needs; [`Delta::inverse`] of an applied
//! delta is the delta that undoes it. [`diff`] computes the deltas between two states.

mod apply;
mod diff;
mod inverse;
mod json_form;
mod number;
mod path;

use thiserror::Error;

use crate::tree::{JsonTree, ValueKind};
use inverse::{build_inverse, build_inverse_after};

pub use apply::{ArrayPositions, DeltaApplication, InverseData};
pub use diff::diff;
pub use inverse::apply_group;
pub use json_form::{DeltaText, parse_path, present, render_path, shared_tree, write_fields};
pub use path::{DeltaPath, MAX_SEGMENTS, PathNotation};

/// The operation of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeltaOp {
    /// Sets a value; missing containers on the path are created.
    Set,
    /// Removes the value.
    Delete,
    /// Adds a value to the array, at its end or at the given positions.
    Push,
    /// Removes the values equal to the given one from the array.
    Pull,
    /// Adds to the number.
    Increment,
}

impl DeltaOp {
    /// All operations.
    pub const ALL: [DeltaOp; 5] =
        [DeltaOp::Set, DeltaOp::Delete, DeltaOp::Push, DeltaOp::Pull, DeltaOp::Increment];

    /// The name in files.
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

    /// The operation of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<DeltaOp> {
        DeltaOp::ALL.into_iter().find(|op| op.as_str() == name)
    }
}

/// One change at one path.
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
    /// The operation.
    pub op: DeltaOp,
    /// The path.
    pub path: DeltaPath,
    /// The value that is set, added or removed; a `delete` has none.
    pub value: Option<JsonTree>,
    /// The previous value; `None` if there was none, or if it was not recorded. After a `pull`, all removed elements,
    /// if they were not spelled like the value.
    pub previous: Option<JsonTree>,
    /// The number of parent containers that a `set` had to create.
    pub created: usize,
    /// The array positions at which elements were added or removed, in ascending order.
    pub positions: Vec<usize>,
    /// Whether a `pull` without positions removes the first equal element only.
    pub first_only: bool,
    /// The position of the removed or inserted member among the members of its object.
    pub member: Option<usize>,
    /// Other fields, which are preserved.
    pub extra: Vec<(String, JsonTree)>,
}

/// Why a delta cannot be applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// There is nothing at the path, and only `set` creates missing values.
    #[error("{op} at {path}: no such value", op = op.as_str())]
    Missing {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
    },
    /// A value on the path, or at its end, has the wrong kind.
    #[error("{op} at {path}: {at} is {found}, not {wanted}", op = op.as_str())]
    Kind {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// The path of that value.
        at: DeltaPath,
        /// Its kind.
        found: ValueKind,
        /// The kind that is needed.
        wanted: &'static str,
    },
    /// An index is out of range.
    #[error("{op} at {path}: the array has {length} elements", op = op.as_str())]
    Index {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// The length of the array.
        length: usize,
    },
    /// The operation needs a value, or another kind of value.
    #[error("{op} at {path}: the value must be {wanted}", op = op.as_str())]
    Value {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// The kind that is needed.
        wanted: &'static str,
    },
    /// The sum cannot be written as a number.
    #[error("increment at {path}: {sum} is out of range")]
    Range {
        /// The path.
        path: DeltaPath,
        /// The sum.
        sum: String,
    },
    /// The element at a position is not the one to be removed.
    #[error("{op} at {path}: there is a different value at position {position}", op = op.as_str())]
    Other {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
        /// The position.
        position: usize,
    },
    /// The delta lacks the data that its inverse needs.
    #[error("{op} at {path}: cannot be inverted, because the previous value was not stored", op = op.as_str())]
    NotInvertible {
        /// The operation.
        op: DeltaOp,
        /// The path.
        path: DeltaPath,
    },
    /// The path has too many segments.
    #[error("the path starting with {path} has {count} segments (maximum {most})", most = MAX_SEGMENTS)]
    TooDeep {
        /// Its first segments.
        path: DeltaPath,
        /// The number of segments.
        count: usize,
    },
}

impl DeltaError {
    /// Converts its paths to dotted notation.
    pub fn with_dotted_paths(self) -> DeltaError {
        self.with_notation(PathNotation::Dotted)
    }

    /// Converts its paths to this notation.
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
            first_only: false,
            member: None,
            extra: Vec::new(),
        }
    }

    /// Sets `value` at `path`.
    #[must_use]
    pub fn set(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Set, path, Some(value))
    }

    /// Removes the value at `path`.
    #[must_use]
    pub fn delete(path: DeltaPath) -> Delta {
        Delta::new(DeltaOp::Delete, path, None)
    }

    /// Adds `value` to the end of the array at `path`.
    #[must_use]
    pub fn push(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Push, path, Some(value))
    }

    /// Removes all elements equal to `value` from the array at `path`.
    #[must_use]
    pub fn pull(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Pull, path, Some(value))
    }

    /// Adds the number `value` to the number at `path`.
    #[must_use]
    pub fn increment(path: DeltaPath, value: JsonTree) -> Delta {
        Delta::new(DeltaOp::Increment, path, Some(value))
    }

    /// The delta that undoes this one, which must have been applied.
    pub fn inverse(&self) -> Result<Delta, DeltaError> {
        build_inverse(self).ok_or_else(|| self.not_invertible())
    }

    /// The delta that undoes this one, which was the last to be applied and led to `after`. The state supplies the
    /// positions in arrays that other programs do not record.
    pub fn inverse_after(&self, after: &JsonTree) -> Result<Delta, DeltaError> {
        build_inverse_after(self, after).ok_or_else(|| self.not_invertible())
    }

    fn not_invertible(&self) -> DeltaError {
        DeltaError::NotInvertible { op: self.op, path: self.path.clone() }
    }
}
