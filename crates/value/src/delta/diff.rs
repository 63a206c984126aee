//! Computes the deltas between two states.

use super::{Delta, DeltaPath, MAX_SEGMENTS, PathNotation};
use crate::tree::{JsonTree, ObjectMembers, TreeNode};

/// Deltas that turn `from` into `to`, in the order of `from`.
///
/// ```
/// use everturn_value::delta::{apply_group, diff};
/// use everturn_value::tree::JsonTree;
///
/// let mut state = JsonTree::parse(r#"{"hp": 10, "bag": ["rope"], "lost": true}"#)?;
/// let after = JsonTree::parse(r#"{"hp": 7, "bag": ["rope", "lamp"]}"#)?;
/// let mut deltas = diff(&state, &after);
/// assert_eq!(deltas.len(), 3);
/// apply_group(&mut deltas, &mut state).unwrap();
/// assert!(state.is_same(&after));
/// # Ok::<(), everturn_json::json::JsonError>(())
/// ```
#[must_use]
pub fn diff(from: &JsonTree, to: &JsonTree) -> Vec<Delta> {
    let mut deltas = Vec::new();
    compare(&DeltaPath::root().with_notation(PathNotation::Dotted), &from.0, &to.0, &mut deltas);
    deltas
}

/// Compares values, no deeper than paths can reach.
fn compare(path: &DeltaPath, from: &TreeNode, to: &TreeNode, deltas: &mut Vec<Delta>) {
    let deep = path.segments().len() >= MAX_SEGMENTS;
    if !deep {
        match (&*from.expanded(), &*to.expanded()) {
            (TreeNode::Object(from), TreeNode::Object(after)) => {
                let known = deltas.len();
                if compare_members(path, from, after, deltas).is_none() {
                    deltas.truncate(known);
                    deltas.push(Delta::set(path.clone(), JsonTree(to.clone())));
                }
                return;
            }
            (TreeNode::Array(from), TreeNode::Array(to)) => {
                return compare_elements(path, from, to, deltas);
            }
            _ => {}
        }
    }
    if !from.is_same(to) {
        deltas.push(Delta::set(path.clone(), JsonTree(to.clone())));
    }
}

/// Returns `None` if a member differs that no path can name, because its key contains a lone surrogate.
fn compare_members(
    path: &DeltaPath,
    from: &ObjectMembers,
    to: &ObjectMembers,
    deltas: &mut Vec<Delta>,
) -> Option<()> {
    for (key, before) in from {
        match (to.get(key), key.characters()) {
            (Some(after), _) if before.has_text_of(after) => {}
            (Some(after), Some(key)) => compare(&path.join(&key), before, after, deltas),
            (Some(after), None) if before.is_same(after) => {}
            (None, Some(key)) => deltas.push(Delta::delete(path.join(&key))),
            (_, None) => return None,
        }
    }
    for (key, after) in to.iter().filter(|(key, _)| !from.contains_key(*key)) {
        deltas.push(Delta::set(path.join(&key.characters()?), JsonTree(after.clone())));
    }
    Some(())
}

fn compare_elements(path: &DeltaPath, from: &[TreeNode], to: &[TreeNode], deltas: &mut Vec<Delta>) {
    for (at, (before, after)) in from.iter().zip(to).enumerate() {
        if !before.has_text_of(after) {
            compare(&path.join(&at.to_string()), before, after, deltas);
        }
    }
    for at in (to.len()..from.len()).rev() {
        deltas.push(Delta::delete(path.join(&at.to_string())));
    }
    for after in to.iter().skip(from.len()) {
        deltas.push(Delta::push(path.clone(), JsonTree(after.clone())));
    }
}
