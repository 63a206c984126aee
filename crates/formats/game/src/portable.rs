//! Changes in the form that every program which knows only the documented operations applies in the same way.
//!
//! The documented `set` finds the parents of its target, `push` adds at the end, `pull` removes all equal strings and
//! numbers, `delete` removes members of objects, and paths are texts with dots. What goes beyond that is stored as
//! `set` of the whole array or member. Two things have no documented form and stay as they are: keys that contain dots,
//! and a scene that is set as a whole.

use super::changes::DeltaGroup;
use super::state::Scope;
use everturn_value::delta::{Delta, DeltaOp, DeltaPath, PathNotation};
use everturn_value::tree::{JsonTree, ValueKind};

/// The largest integer up to which all are exact in other programs.
const LARGEST_EXACT: i128 = 1 << 53;

/// Returns whether a change as it was asked for may have to be stored as another one.
pub(crate) fn is_special(scope: Scope, delta: &Delta) -> bool {
    let is_root = delta.path.segments().is_empty();
    match delta.op {
        DeltaOp::Set => is_root && scope != Scope::Scene,
        DeltaOp::Push => !delta.positions.is_empty(),
        DeltaOp::Pull => {
            !delta.positions.is_empty() || !delta.value.as_ref().is_some_and(is_comparable)
        }
        DeltaOp::Delete => is_in_array(delta),
        DeltaOp::Increment => false,
    }
}

/// Returns whether a path ends with a number, so that its target may be an element of an array.
fn is_in_array(delta: &Delta) -> bool {
    let last = delta.path.split_last().map(|(_, last)| last);
    last.is_some_and(|last| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether other programs find equal values by comparing.
fn is_comparable(value: &JsonTree) -> bool {
    match value.kind() {
        ValueKind::Object | ValueKind::Array => false,
        ValueKind::Number => is_exact(&value.to_line()),
        _ => true,
    }
}

/// Returns whether a number is the same in programs that have only floating-point numbers.
fn is_exact(number: &str) -> bool {
    match number.parse::<i128>() {
        Ok(number) => number.abs() <= LARGEST_EXACT,
        Err(_) => number.contains(['.', 'e', 'E']),
    }
}

/// Rewrites the changes of a group that was applied last and led to `after`. `special` are those that [`is_special`]
/// has named before.
pub(crate) fn rewrite(group: &mut DeltaGroup, special: &[bool], after: &JsonTree) {
    let scope = group.scope;
    let mut deltas = std::mem::take(&mut group.deltas);
    if special.iter().any(|is| *is) {
        deltas = replace_special(scope, deltas, special, after);
    }
    group.deltas = deltas.into_iter().map(|delta| plain(scope, delta)).collect();
}

/// As [`rewrite`], for the operations of the upstream program: its `remove` takes the first equal text or number, its
/// `delete` removes elements of arrays, and it adds the result of an increment once more.
pub(crate) fn rewrite_upstream(group: &mut DeltaGroup, special: &[bool], after: &JsonTree) {
    let scope = group.scope;
    let is_special = |delta: &Delta, special: bool| match delta.op {
        DeltaOp::Delete => false,
        DeltaOp::Pull => special || delta.positions.len() > 1,
        DeltaOp::Set | DeltaOp::Push | DeltaOp::Increment => special,
    };
    let special: Vec<bool> = group
        .deltas
        .iter()
        .zip(special)
        .map(|(delta, special)| is_special(delta, *special))
        .collect();
    let mut deltas = std::mem::take(&mut group.deltas);
    if special.iter().any(|is| *is) {
        deltas = replace_special(scope, deltas, &special, after);
    }
    for delta in deltas.iter_mut().filter(|delta| delta.op == DeltaOp::Increment) {
        if let Some(total) = delta.total().and_then(|sum| JsonTree::parse(sum).ok()) {
            (delta.op, delta.value) = (DeltaOp::Set, Some(total));
        }
    }
    group.deltas = deltas;
}

/// Returns a change with existing parents, an exact sum, and a path with dots.
fn plain(scope: Scope, mut delta: Delta) -> Delta {
    let is_root = delta.path.segments().is_empty();
    if delta.op == DeltaOp::Set && delta.created > 0 && !is_root {
        let kept = delta.path.segments().len().saturating_sub(delta.created).max(1);
        let below = delta.path.segments().iter().skip(kept).map(ToString::to_string);
        let value = delta.value.take().unwrap_or_else(JsonTree::null);
        let wrap = |value, key| JsonTree::from_members([(key, value)]);
        delta.value = Some(below.rev().fold(value, wrap));
        (delta.path, delta.created) = (delta.path.prefix(kept), 0);
    }
    if delta.op == DeltaOp::Increment {
        let parts =
            [&delta.previous, &delta.value].map(|part| part.as_ref().map(JsonTree::to_line));
        let total = delta.total();
        let exact = parts.iter().chain([&total]).flatten().all(|number| is_exact(number));
        if let Some(total) = total.filter(|_| !exact).and_then(|sum| JsonTree::parse(sum).ok()) {
            (delta.op, delta.value) = (DeltaOp::Set, Some(total));
        }
    }
    if scope != Scope::Npcs {
        delta.path = delta.path.with_notation(PathNotation::Dotted);
    }
    delta
}

/// Replaces special changes by those that set whole arrays, or the members of the state one by one.
fn replace_special(
    scope: Scope,
    deltas: Vec<Delta>,
    special: &[bool],
    after: &JsonTree,
) -> Vec<Delta> {
    let mut state = after.clone();
    let mut parts: Vec<Vec<Delta>> = Vec::new();
    for (at, delta) in deltas.into_iter().enumerate().rev() {
        let back = delta.inverse();
        let is_special = special.get(at).copied().unwrap_or(false);
        let root = delta.path.segments().is_empty();
        let array = match delta.op {
            DeltaOp::Push | DeltaOp::Pull => Some(delta.path.clone()),
            DeltaOp::Delete if !delta.positions.is_empty() => {
                delta.path.split_last().map(|(above, _)| delta.path.prefix(above.len()))
            }
            _ => None,
        };
        let place = array.filter(|_| is_special);
        let whole = (root && is_special && scope != Scope::Scene).then(|| state.clone());
        let new = place.as_ref().and_then(|path| state.value_at(path.segments()));
        let reverted = back.and_then(|back| back.apply(&mut state)).is_ok();
        let old = place.as_ref().and_then(|path| state.value_at(path.segments()));
        parts.push(match (whole, place, old, new) {
            (Some(new), ..) if reverted => members(&state, &new),
            (_, Some(path), Some(old), Some(new)) if reverted && !path.segments().is_empty() => {
                // Nothing was removed: there is nothing to set.
                if old.is_same(&new) {
                    vec![delta]
                } else {
                    vec![set(path, new, Some(old), &delta)]
                }
            }
            _ => vec![delta],
        });
    }
    parts.into_iter().rev().flatten().collect()
}

/// Returns a `set` in place of another change.
fn set(path: DeltaPath, value: JsonTree, previous: Option<JsonTree>, other: &Delta) -> Delta {
    Delta { previous, extra: other.extra.clone(), ..Delta::set(path, value) }
}

/// Returns the changes of single members that lead from one object to another.
fn members(before: &JsonTree, after: &JsonTree) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (member, (key, value)) in before.children().into_iter().enumerate() {
        if after.value_at(&[&key]).is_none() {
            let path = DeltaPath::array([key.as_str()]);
            let member = Some(member.saturating_sub(deltas.len()));
            deltas.push(Delta { previous: Some(value), member, ..Delta::delete(path) });
        }
    }
    for (key, value) in after.children() {
        let previous = before.value_at(&[&key]);
        if previous.as_ref().is_none_or(|previous| !previous.is_same(&value)) {
            let path = DeltaPath::array([key.as_str()]);
            deltas.push(Delta { previous, ..Delta::set(path, value) });
        }
    }
    deltas
}
