//! Inverts deltas.

use super::{Delta, DeltaError, DeltaOp};
use crate::tree::{JsonTree, ValueKind, parse_index};

/// A copy without the fields that describe only this change.
fn without_extra(delta: &Delta) -> Delta {
    Delta { extra: Vec::new(), ..delta.clone() }
}

/// Returns the delta that undoes one that was the last to be applied and led to `after`. Programs that do not record
/// positions in arrays leave them to the state: an element was pushed to the end, or deleted at the index of the path.
pub(super) fn build_inverse_after(delta: &Delta, after: &JsonTree) -> Option<Delta> {
    match (delta.op, delta.path.split_last(), &delta.previous) {
        _ if !delta.positions.is_empty() => build_inverse(delta),
        (DeltaOp::Push, ..) => {
            let length = after.len_at(delta.path.segments()).unwrap_or(0);
            Some(Delta::delete(delta.path.join(&length.saturating_sub(1).to_string())))
        }
        (DeltaOp::Delete, Some((above, last)), Some(previous))
            if after.value_at(above).is_some_and(|it| it.kind() == ValueKind::Array) =>
        {
            let path = delta.path.prefix(above.len());
            let at = parse_index(last)?;
            Some(Delta { positions: vec![at], ..Delta::push(path, previous.clone()) })
        }
        _ => build_inverse(delta),
    }
}

/// Returns the delta that undoes an applied one.
pub(super) fn build_inverse(delta: &Delta) -> Option<Delta> {
    let path = delta.path.clone();
    match (delta.op, delta.previous.clone()) {
        (DeltaOp::Set | DeltaOp::Increment, Some(previous)) => Some(Delta::set(path, previous)),
        (DeltaOp::Increment | DeltaOp::Delete, None) => None,
        (DeltaOp::Set, None) => {
            // Only what was created is removed, never the whole state, which existed before.
            let kept = path.segments().len().checked_sub(delta.created).filter(|kept| *kept > 0);
            kept.map(|kept| Delta::delete(path.prefix(kept)))
        }
        (DeltaOp::Delete, Some(previous)) => match path.split_last() {
            Some((above, _)) if !delta.positions.is_empty() => {
                let positions = delta.positions.clone();
                Some(Delta { positions, ..Delta::push(path.prefix(above.len()), previous) })
            }
            _ => Some(Delta { member: delta.member, ..Delta::set(path, previous) }),
        },
        (DeltaOp::Push, _) if delta.positions.is_empty() => None,
        (DeltaOp::Push, _) => {
            Some(Delta { op: DeltaOp::Pull, previous: None, ..without_extra(delta) })
        }
        // Nothing was removed, so the inverse removes nothing either.
        (DeltaOp::Pull, _) if delta.positions.is_empty() => Some(without_extra(delta)),
        (DeltaOp::Pull, _) => Some(Delta { op: DeltaOp::Push, ..without_extra(delta) }),
    }
}

/// Applies all of `deltas`, or none. An error has the index of the failed delta and the reason.
///
/// On success, all deltas have the data that their inverses need.
pub fn apply_group(deltas: &mut [Delta], state: &mut JsonTree) -> Result<(), (usize, DeltaError)> {
    let mut done: Vec<Delta> = Vec::with_capacity(deltas.len());
    for (at, delta) in deltas.iter().enumerate() {
        match delta.apply(state) {
            Ok(delta) => done.push(delta),
            Err(error) => {
                for delta in done.iter().rev() {
                    // A delta that was just applied can be undone: its inverse data are fresh.
                    drop(delta.inverse().and_then(|back| back.apply(state)));
                }
                return Err((at, error));
            }
        }
    }
    deltas.iter_mut().zip(done).for_each(|(delta, done)| *delta = done);
    Ok(())
}
