//! A fast path for applying change lines without parsing them completely: [`ChangeLine`].
//!
//! Replay spends most of its time on lines that Everturn has written itself, which all have the same form. These are
//! read in one pass that keeps only the positions of their parts; any other line is read by [`ChangeRecord::parse`].

mod scanner;

use std::ops::Range;

use super::ChangeRecord;
use crate::dialect::IncrementTotals;
use crate::session::HasTurn;
use crate::state::{GameState, Scope};
use everturn_value::delta::{ArrayPositions, DeltaApplication, DeltaError, DeltaOp, InverseData};
use everturn_value::tree::{JsonTree, TextSlice, TreeNode};
use scanner::LineScanner;

/// A change line that can be applied.
#[derive(Debug, Clone)]
pub(crate) struct ChangeLine {
    turn: u64,
    time: Option<i64>,
    slice: TextSlice,
    content: LineContent,
}

#[derive(Debug, Clone)]
enum LineContent {
    /// The parts of a line in the form that Everturn writes.
    Quick(Scope, Vec<DeltaSpan>),
    Full(Box<ChangeRecord>),
}

/// One delta of a line: the positions of its parts in the line.
#[derive(Debug, Clone)]
struct DeltaSpan {
    op: DeltaOp,
    /// Dotted path, without its quotes.
    path: Range<usize>,
    value: Option<Range<usize>>,
    previous: Option<Range<usize>>,
    positions: ArrayPositions,
    member: Option<usize>,
}

impl ChangeLine {
    /// Parses a line in either dialect.
    pub(crate) fn parse(slice: &TextSlice) -> Result<ChangeLine, String> {
        let (turn, time, content) = match parse_fast(slice.as_str()) {
            Some((turn, time, scope, parts)) => {
                (turn, Some(time), LineContent::Quick(scope, parts))
            }
            None => {
                let change = ChangeRecord::parse(slice)?;
                (change.turn, change.time, LineContent::Full(Box::new(change)))
            }
        };
        Ok(ChangeLine { turn, time, slice: slice.clone(), content })
    }

    /// Returns the time of the change in milliseconds.
    pub(crate) fn time(&self) -> Option<i64> {
        self.time
    }

    /// Returns the number of deltas.
    pub(crate) fn deltas(&self) -> usize {
        match &self.content {
            LineContent::Quick(_, parts) => parts.len(),
            LineContent::Full(change) => change.group.deltas.len(),
        }
    }

    /// Returns the parsed record.
    pub(crate) fn change(&self) -> Result<ChangeRecord, String> {
        match &self.content {
            LineContent::Quick(..) => ChangeRecord::parse(&self.slice),
            LineContent::Full(change) => Ok((**change).clone()),
        }
    }

    /// Applies all of its deltas, or none.
    pub(crate) fn apply(&self, state: &mut GameState) -> Result<(), DeltaError> {
        let (scope, parts) = match &self.content {
            LineContent::Quick(scope, parts) => (*scope, parts),
            LineContent::Full(change) => {
                return state.apply(&mut change.group.clone()).map_err(|(_, error)| error);
            }
        };
        let tree = state.get_mut(scope);
        let mut done = Vec::with_capacity(parts.len());
        let mut segments = Vec::new();
        for part in parts {
            match part.apply(&self.slice, &mut segments, tree) {
                Ok(notes) => done.push(notes),
                Err(error) => {
                    self.revert(tree, done);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Reverts the first deltas, using the inverse data recorded when they were applied.
    fn revert(&self, tree: &mut JsonTree, done: Vec<InverseData>) {
        // The line has been parsed before, so this cannot fail.
        let Ok(mut change) = ChangeRecord::parse(&self.slice) else { return };
        let done: Vec<_> = change.group.deltas.iter_mut().zip(done).collect();
        for (delta, notes) in done.into_iter().rev() {
            delta.record_inverse(notes);
            // A delta that was just applied can be reverted: its inverse data is current.
            drop(delta.inverse().and_then(|back| back.apply(tree)));
        }
    }
}

impl DeltaSpan {
    fn apply<'l>(
        &self,
        slice: &'l TextSlice,
        segments: &mut Vec<&'l str>,
        tree: &mut JsonTree,
    ) -> Result<InverseData, DeltaError> {
        let line = slice.as_str();
        segments.clear();
        segments.extend(line.get(self.path.clone()).unwrap_or_default().split('.'));
        let part = |span: &Range<usize>| {
            JsonTree(TreeNode::Text(slice.subslice(line.get(span.clone()).unwrap_or_default())))
        };
        // Only needed where several elements are restored, which may each have their own spelling.
        let previous = self.previous.as_ref().filter(|_| self.op == DeltaOp::Push).map(part);
        let doing = DeltaApplication {
            op: self.op,
            segments: segments.as_slice(),
            value: self.value.as_ref().map(part),
            previous: previous.as_ref(),
            positions: &self.positions,
            first_only: false,
            member: self.member,
        };
        doing.apply_to(tree).map_err(DeltaError::with_dotted_paths)
    }
}

impl HasTurn for ChangeLine {
    fn turn_number(&self) -> u64 {
        self.turn
    }

    fn resolve(&mut self, totals: &IncrementTotals) {
        if let LineContent::Full(change) = &mut self.content {
            totals.resolve(change);
        }
    }
}

/// Returns the turn, time, scope and deltas of a line in the form that Everturn writes.
fn parse_fast(line: &str) -> Option<(u64, i64, Scope, Vec<DeltaSpan>)> {
    let mut walk = LineScanner::new(line);
    walk.pass("{\"deltaId\":")?;
    walk.plain()?;
    walk.pass(",\"turnId\":")?;
    let turn = walk.number()?;
    walk.pass(",\"eventId\":")?;
    if walk.pass("null").is_none() {
        walk.plain()?;
    }
    walk.pass(",\"timestamp\":")?;
    let time = walk.number()?;
    walk.pass(",\"scope\":")?;
    let scope = Scope::parse(line.get(walk.plain()?)?)?;
    walk.pass(",\"deltas\":[")?;
    let mut parts = Vec::with_capacity(4);
    parts.push(parse_delta(&mut walk)?);
    while walk.pass(",").is_some() {
        parts.push(parse_delta(&mut walk)?);
    }
    walk.pass("]}")?;
    walk.is_at_end().then_some((turn, time, scope, parts))
}

fn parse_delta(walk: &mut LineScanner<'_>) -> Option<DeltaSpan> {
    walk.pass("{\"op\":")?;
    let op = walk.plain()?;
    let op = DeltaOp::parse(walk.text(op))?;
    walk.pass(",\"path\":")?;
    let path = walk.plain()?;
    let value = walk.field(",\"value\":", LineScanner::value)?;
    let previous = walk.field(",\"previousValue\":", LineScanner::value)?;
    let created = walk.field(",\"createdParents\":", LineScanner::number::<usize>)?;
    let segments = || walk.text(path.clone()).split('.').count();
    if created.is_some_and(|created| created > 0 && created >= segments()) {
        return None;
    }
    let member = walk.field(",\"position\":", LineScanner::number)?;
    let positions = walk.field(",\"positions\":", LineScanner::numbers)?.unwrap_or_default();
    walk.pass("}")?;
    Some(DeltaSpan { op, path, value, previous, positions, member })
}

#[cfg(test)]
mod tests;
