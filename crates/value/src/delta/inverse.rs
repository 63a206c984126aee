//! Inverts deltas.

use super::{Delta, DeltaError, DeltaOp};
use crate::tree::{JsonTree, ValueKind, parse_index};

impl Delta {
    /// The delta that undoes this one, which must have been applied.
    pub fn inverse(&self) -> Result<Delta, DeltaError> {
        self.build_inverse()
            .ok_or_else(|| DeltaError::NotInvertible { op: self.op, path: self.path.clone() })
    }

    /// The same for a delta that was the last one to be applied and led to `after`. Programs that do not record
    /// positions in arrays leave them to the state: an element was pushed to the end, or deleted at the index of the
    /// path.
    pub fn inverse_after(&self, after: &JsonTree) -> Result<Delta, DeltaError> {
        match (self.op, self.path.split_last(), &self.previous) {
            _ if !self.positions.is_empty() => self.inverse(),
            (DeltaOp::Push, ..) => {
                let length = after.len_at(self.path.segments()).unwrap_or(0);
                Ok(Delta::delete(self.path.join(&length.saturating_sub(1).to_string())))
            }
            (DeltaOp::Delete, Some((above, last)), Some(previous))
                if after.value_at(above).is_some_and(|it| it.kind() == ValueKind::Array) =>
            {
                let path = self.path.prefix(above.len());
                let at = parse_index(last).ok_or_else(|| DeltaError::NotInvertible {
                    op: self.op,
                    path: self.path.clone(),
                })?;
                Ok(Delta { positions: vec![at], ..Delta::push(path, previous.clone()) })
            }
            _ => self.inverse(),
        }
    }

    /// A copy without the fields that describe only this change.
    fn without_extra(&self) -> Delta {
        Delta { extra: Vec::new(), ..self.clone() }
    }

    fn build_inverse(&self) -> Option<Delta> {
        let path = self.path.clone();
        match (self.op, self.previous.clone()) {
            (DeltaOp::Set | DeltaOp::Increment, Some(previous)) => Some(Delta::set(path, previous)),
            (DeltaOp::Increment | DeltaOp::Delete, None) => None,
            (DeltaOp::Set, None) => {
                // Only what was created is removed, never the whole state, which existed before.
                let kept = path.segments().len().checked_sub(self.created).filter(|kept| *kept > 0);
                kept.map(|kept| Delta::delete(path.prefix(kept)))
            }
            (DeltaOp::Delete, Some(previous)) => match path.split_last() {
                Some((above, _)) if !self.positions.is_empty() => {
                    let positions = self.positions.clone();
                    Some(Delta { positions, ..Delta::push(path.prefix(above.len()), previous) })
                }
                _ => Some(Delta { member: self.member, ..Delta::set(path, previous) }),
            },
            (DeltaOp::Push, _) if self.positions.is_empty() => None,
            (DeltaOp::Push, _) => {
                Some(Delta { op: DeltaOp::Pull, previous: None, ..self.without_extra() })
            }
            // Nothing was removed, so the inverse removes nothing either.
            (DeltaOp::Pull, _) if self.positions.is_empty() => Some(self.without_extra()),
            (DeltaOp::Pull, _) => Some(Delta { op: DeltaOp::Push, ..self.without_extra() }),
        }
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
