//! Increments of the upstream program: [`IncrementTotals`] has the results of those that are stored as amounts.
//!
//! The program stores the result of an increment as its `newValue`, but its replay adds that value, and programs that
//! were written for the replay store amounts. A line alone does not show which of the two it is; the `previousValue` of
//! the next change at the same path does, or the state after the last one. Without either, the value is the result.

use std::collections::HashMap;

use crate::changes::{ChangeRecord, ChangeText};
use crate::error::GameError;
use crate::log::{LogItem, RecordLog};
use crate::session::Session;
use crate::state::Scope;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::JsonTree;

/// The results of all increments that are stored as amounts, by the ID and the time of their change.
#[derive(Debug, Default)]
pub(crate) struct IncrementTotals(HashMap<(String, Option<i64>), JsonTree>);

/// The increments of one path.
struct IncrementChain {
    scope: Scope,
    path: DeltaPath,
    increments: Vec<StoredIncrement>,
    /// Whether the last one is the last change of its path so far.
    is_open: bool,
    amounts: usize,
    totals: usize,
}

struct StoredIncrement {
    key: (String, Option<i64>),
    new: JsonTree,
    /// The result if `new` is an amount.
    sum: JsonTree,
}

impl IncrementTotals {
    /// Reads the change log of a session.
    pub(crate) fn of(session: &Session) -> Result<IncrementTotals, GameError> {
        let mut chains: Vec<IncrementChain> = Vec::new();
        for (_, path) in &session.files()?.deltas {
            let lines =
                RecordLog::open(&session.store, path, 0..u64::MAX, |slice| Ok(slice.clone()))?;
            for piece in lines {
                let LogItem::Row(slice, _) = piece? else { continue };
                let Ok(change) = ChangeRecord::parse(&slice) else { continue };
                let operation = ChangeText::parse(slice.as_str()).ok().and_then(|it| it.operation);
                let sign = match operation.as_deref() {
                    Some("increment") => Some(1),
                    Some("decrement") => Some(-1),
                    _ => None,
                };
                for delta in &change.group.deltas {
                    observe(&mut chains, &change, delta, sign);
                }
            }
        }
        if chains.iter().any(|chain| chain.is_open)
            && let Ok(stored) = session.stored_state()
        {
            for chain in chains.iter_mut().filter(|chain| chain.is_open) {
                let tree = stored.state.get(chain.scope);
                let value = tree.and_then(|tree| tree.value_at(chain.path.segments()));
                chain.count(value.as_ref());
            }
        }
        let amounts = chains.into_iter().filter(|chain| chain.amounts > chain.totals);
        let results = amounts.flat_map(|chain| chain.increments).map(|it| (it.key, it.sum));
        Ok(IncrementTotals(results.collect()))
    }

    /// Replaces the value of a change by its result.
    pub(crate) fn resolve(&self, change: &mut ChangeRecord) {
        if self.0.is_empty() {
            return;
        }
        let total = self.0.get(&(change.id.clone(), change.time));
        if let (Some(total), [delta]) = (total, change.group.deltas.as_mut_slice()) {
            delta.value = Some(total.clone());
        }
    }
}

impl IncrementChain {
    /// Counts what the value after the last increment shows.
    fn count(&mut self, after: Option<&JsonTree>) {
        let Some((last, after)) = self.increments.last().zip(after) else { return };
        match (last.new.is_same(after), last.sum.is_same(after)) {
            (true, false) => self.totals += 1,
            (false, true) => self.amounts += 1,
            _ => {}
        }
    }
}

/// Adds a change to the chains that it continues. `sign` is that of an increment or a decrement.
fn observe(
    chains: &mut Vec<IncrementChain>,
    change: &ChangeRecord,
    delta: &Delta,
    sign: Option<i8>,
) {
    let scope = change.group.scope;
    for chain in chains.iter_mut().filter(|chain| chain.is_open && chain.scope == scope) {
        if chain.path == delta.path {
            chain.count(delta.previous.as_ref());
        }
        chain.is_open &= !chain.path.overlaps(&delta.path);
    }
    let increment = sign.zip(delta.value.as_ref()).and_then(|(sign, new)| {
        let sum = sum(delta.previous.as_ref()?, new, sign)?;
        let key = (change.id.clone(), change.time);
        Some(StoredIncrement { key, new: new.clone(), sum })
    });
    let Some(increment) = increment else { return };
    let found = chains.iter_mut().find(|chain| chain.scope == scope && chain.path == delta.path);
    match found {
        Some(chain) => {
            chain.increments.push(increment);
            chain.is_open = true;
        }
        None => chains.push(IncrementChain {
            scope,
            path: delta.path.clone(),
            increments: vec![increment],
            is_open: true,
            amounts: 0,
            totals: 0,
        }),
    }
}

/// Returns the sum or the difference of two numbers.
fn sum(previous: &JsonTree, amount: &JsonTree, sign: i8) -> Option<JsonTree> {
    let amount = amount.to_line();
    let amount = match (sign, amount.strip_prefix('-')) {
        (1, _) => amount,
        (_, Some(positive)) => positive.to_owned(),
        (_, None) => format!("-{amount}"),
    };
    let amount = JsonTree::parse(amount).ok()?;
    let previous = Some(previous.clone());
    let total = Delta { previous, ..Delta::increment(DeltaPath::root(), amount) }.total()?;
    JsonTree::parse(total).ok()
}
