//! The way back.

use super::{Delta, DeltaError, Op};
use crate::tree::Tree;

impl Delta {
    /// The delta that takes this one back, which was applied before.
    pub fn inverse(&self) -> Result<Delta, DeltaError> {
        let no_way = || DeltaError::NoWayBack { op: self.op, path: self.path.clone() };
        let path = self.path.clone();
        match self.op {
            Op::Set => Ok(match &self.previous {
                Some(previous) => Delta::set(path, previous.clone()),
                None => {
                    let above = path.segments().len().saturating_sub(self.created);
                    Delta::delete(path.prefix(above))
                }
            }),
            Op::Increment => Ok(Delta::set(path, self.previous.clone().ok_or_else(no_way)?)),
            Op::Push if self.positions.is_empty() => Err(no_way()),
            Op::Push => Ok(self.with_op(Op::Pull)),
            // Nothing was removed, and again nothing is there to be removed.
            Op::Pull if self.positions.is_empty() => Ok(self.with_op(Op::Pull)),
            Op::Pull => Ok(self.with_op(Op::Push)),
            Op::Delete => self.undelete().ok_or_else(no_way),
        }
    }

    fn with_op(&self, op: Op) -> Delta {
        let positions = self.positions.clone();
        Delta { positions, ..Delta::new(op, self.path.clone(), self.value.clone()) }
    }

    fn undelete(&self) -> Option<Delta> {
        let previous = self.previous.clone()?;
        match self.path.split_last() {
            Some((above, _)) if !self.positions.is_empty() => {
                let positions = self.positions.clone();
                Some(Delta { positions, ..Delta::push(self.path.prefix(above.len()), previous) })
            }
            _ => Some(Delta { member: self.member, ..Delta::set(self.path.clone(), previous) }),
        }
    }
}

/// Applies all of `deltas`, or none: then the place of the one that cannot be, and why.
pub fn apply_group(deltas: &mut [Delta], state: &mut Tree) -> Result<(), (usize, DeltaError)> {
    for at in 0..deltas.len() {
        let Some(delta) = deltas.get_mut(at) else { break };
        if let Err(error) = delta.apply_in_place(state) {
            for done in deltas.iter().take(at).rev() {
                // What was just applied can be taken back: the notes are fresh.
                if let Ok(mut back) = done.inverse() {
                    drop(back.apply_in_place(state));
                }
            }
            return Err((at, error));
        }
    }
    Ok(())
}
