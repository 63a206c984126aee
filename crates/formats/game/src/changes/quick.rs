//! Lines of changes that are applied as they stand.
//!
//! Going from turn to turn takes most of its time for lines that Everturn has written itself, one like the
//! other. These are read in one pass that keeps nothing but the places of their parts; any other line is
//! read by [`Change::parse`].

mod walk;

use std::ops::Range;

use super::Change;
use crate::session::OfTurn;
use crate::state::{Scope, State};
use everturn_value::delta::{DeltaError, Doing, Notes, Op, Positions};
use everturn_value::tree::{Node, Slice, Tree};
use walk::Walk;

/// A line of changes that can be applied.
#[derive(Debug, Clone)]
pub(crate) struct ChangeLine {
    turn: u64,
    time: Option<i64>,
    slice: Slice,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// The parts of a line that is written as ours are.
    Quick(Scope, Vec<Part>),
    Full(Box<Change>),
}

/// One delta of a line: where in the line its parts stand.
#[derive(Debug, Clone)]
struct Part {
    op: Op,
    /// Written with dots, without its quotes.
    path: Range<usize>,
    value: Option<Range<usize>>,
    previous: Option<Range<usize>>,
    positions: Positions,
    member: Option<usize>,
}

impl ChangeLine {
    /// Reads a line in either form.
    pub(crate) fn parse(slice: &Slice) -> Result<ChangeLine, String> {
        let (turn, time, content) = match quick(slice.as_str()) {
            Some((turn, time, scope, parts)) => (turn, Some(time), Content::Quick(scope, parts)),
            None => {
                let change = Change::parse(slice)?;
                (change.turn, change.time, Content::Full(Box::new(change)))
            }
        };
        Ok(ChangeLine { turn, time, slice: slice.clone(), content })
    }

    /// When it was made, in milliseconds.
    pub(crate) fn time(&self) -> Option<i64> {
        self.time
    }

    /// How many deltas it has.
    pub(crate) fn deltas(&self) -> usize {
        match &self.content {
            Content::Quick(_, parts) => parts.len(),
            Content::Full(change) => change.group.deltas.len(),
        }
    }

    /// What it says.
    pub(crate) fn change(&self) -> Result<Change, String> {
        match &self.content {
            Content::Quick(..) => Change::parse(&self.slice),
            Content::Full(change) => Ok((**change).clone()),
        }
    }

    /// Applies all of its deltas, or none.
    pub(crate) fn apply(&self, state: &mut State) -> Result<(), DeltaError> {
        let (scope, parts) = match &self.content {
            Content::Quick(scope, parts) => (*scope, parts),
            Content::Full(change) => {
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
                    self.take_back(tree, done);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes back the first deltas, of which these are the notes.
    fn take_back(&self, tree: &mut Tree, done: Vec<Notes>) {
        // What was read once can be read again.
        let Ok(mut change) = Change::parse(&self.slice) else { return };
        let done: Vec<_> = change.group.deltas.iter_mut().zip(done).collect();
        for (delta, notes) in done.into_iter().rev() {
            delta.note(notes);
            // What was just applied can be taken back: the notes are fresh.
            drop(delta.inverse().and_then(|back| back.apply(tree)));
        }
    }
}

impl Part {
    fn apply<'l>(
        &self,
        slice: &'l Slice,
        segments: &mut Vec<&'l str>,
        tree: &mut Tree,
    ) -> Result<Notes, DeltaError> {
        let line = slice.as_str();
        segments.clear();
        segments.extend(line.get(self.path.clone()).unwrap_or_default().split('.'));
        let part = |span: &Range<usize>| {
            Tree(Node::Text(slice.part(line.get(span.clone()).unwrap_or_default())))
        };
        // Only where several elements come back, they may have been spelled each in its own way.
        let previous = self.previous.as_ref().filter(|_| self.op == Op::Push).map(part);
        let doing = Doing {
            op: self.op,
            segments: segments.as_slice(),
            value: self.value.as_ref().map(part),
            previous: previous.as_ref(),
            positions: &self.positions,
            member: self.member,
        };
        doing.carry_out(tree).map_err(DeltaError::dotted)
    }
}

impl OfTurn for ChangeLine {
    fn of_turn(&self) -> u64 {
        self.turn
    }
}

/// The turn, the time, the scope and the deltas of a line, if it is written as ours are.
fn quick(line: &str) -> Option<(u64, i64, Scope, Vec<Part>)> {
    let mut walk = Walk::new(line);
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
    parts.push(part(&mut walk)?);
    while walk.pass(",").is_some() {
        parts.push(part(&mut walk)?);
    }
    walk.pass("]}")?;
    walk.is_at_end().then_some((turn, time, scope, parts))
}

fn part(walk: &mut Walk<'_>) -> Option<Part> {
    walk.pass("{\"op\":")?;
    let op = walk.plain()?;
    let op = Op::parse(walk.text(op))?;
    walk.pass(",\"path\":")?;
    let path = walk.plain()?;
    let value = walk.field(",\"value\":", Walk::value)?;
    let previous = walk.field(",\"previousValue\":", Walk::value)?;
    let created = walk.field(",\"createdParents\":", Walk::number::<usize>)?;
    let segments = || walk.text(path.clone()).split('.').count();
    if created.is_some_and(|created| created > 0 && created >= segments()) {
        return None;
    }
    let member = walk.field(",\"position\":", Walk::number)?;
    let positions = walk.field(",\"positions\":", Walk::numbers)?.unwrap_or_default();
    walk.pass("}")?;
    Some(Part { op, path, value, previous, positions, member })
}

#[cfg(test)]
mod tests;
