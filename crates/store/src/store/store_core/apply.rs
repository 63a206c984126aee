//! Applies logged batches to the plain files. A batch that cannot be applied is undone.

use super::apply_task::{hand_off, is_plain_append};
use super::file_changes::ApplyCleanup;
use super::undo::{UndoStep, log_aborts, undo_steps};
use super::{GroupCommit, PendingBatch, StoreCore};
use crate::store::StoreError;
use crate::store::batch::{ApplyHint, PlannedBatch};
use crate::store::disk_ops::remove_tree;
use crate::store::record::{LogOp, Record};
use crate::store::staging::{remove_all, staged_paths};
use everturn_json::names::{FilePath, PathSet};

/// Applies everything pending. A batch that fails is undone, together with later ones that build on it; the others
/// are applied.
pub(super) fn apply_pending(
    core: &mut StoreCore,
    round: &mut GroupCommit<'_>,
) -> Result<(), StoreError> {
    if let Some(log) = &core.log {
        core.courtesy.wait(log);
    }
    let pending = std::mem::take(&mut core.pending);
    let may_hand_off = round.last && !core.pending_state.has_conflicting_appends;
    core.pending_state.clear();
    let (plain, rest): (Vec<PendingBatch>, Vec<PendingBatch>) =
        pending.into_iter().partition(|pending| may_hand_off && is_plain_append(core, pending));
    if let Err(error) = apply_all(core, rest, round) {
        for pending in plain {
            round.complete(pending.ticket, Err(error.clone()));
        }
        return Err(error);
    }
    if !plain.iter().all(|pending| is_plain_append(core, pending)) {
        // Files had to be closed while the others were applied.
        return apply_all(core, plain, round);
    }
    // Last, because undoing another batch waits for all tasks.
    hand_off(core, plain, round);
    Ok(())
}

fn apply_all(
    core: &mut StoreCore,
    pending: Vec<PendingBatch>,
    round: &mut GroupCommit<'_>,
) -> Result<(), StoreError> {
    let mut failed = PathSet::default();
    let mut aborts: Vec<Record> = Vec::new();
    let mut refused = Vec::new();
    let mut unneeded = Vec::new();
    let mut waiting = pending.into_iter();
    while let Some(pending) = waiting.next() {
        let PendingBatch { mut planned, index, ticket } = pending;
        let applied = if planned.overlaps(&failed) {
            core.discard(std::mem::take(&mut planned.hints));
            Err(StoreError::Overtaken)
        } else {
            apply_batch(core, &mut planned)
        };
        match applied {
            Ok(()) => round.complete(ticket, Ok(std::mem::take(&mut planned.receipt))),
            Err(error) if ticket.is_none() || core.poisoned.is_some() => {
                // Acknowledged already, or partly undone: reopening the store completes it, together with later
                // batches and those whose abort was not logged.
                let error = core.poison(error);
                let noted = refused.into_iter().map(|(ticket, _)| ticket);
                let rest = waiting.map(|pending| {
                    core.discard(pending.planned.hints);
                    pending.ticket
                });
                for ticket in noted.chain([ticket]).chain(rest) {
                    round.complete(ticket, Err(error.clone()));
                }
                return Err(error);
            }
            Err(error) => {
                failed.extend(planned.ops.iter().flat_map(LogOp::paths).cloned());
                if let Some(log) = &core.log {
                    unneeded.extend(staged_paths(log.number, &planned.ops));
                }
                aborts.push(Record::Abort(index));
                refused.push((ticket, error));
            }
        }
    }
    core.undone_paths.merge(failed);
    let noted = log_aborts(core, &aborts);
    if noted.is_ok() {
        remove_all(&*core.disk, unneeded);
    }
    for (ticket, error) in refused {
        round.complete(ticket, Err(noted.clone().err().unwrap_or(error)));
    }
    noted
}

/// Applies one batch completely, or undoes it. Poisons the store if the undo fails.
fn apply_batch(core: &mut StoreCore, planned: &mut PlannedBatch) -> Result<(), StoreError> {
    let change = core.log.as_ref().and_then(|log| planned.begin_change(log.present()));
    let applied = apply_ops(core, planned);
    if let (Some(change), true) = (change, core.poisoned.is_some()) {
        change.abandon();
    }
    applied
}

fn apply_ops(core: &mut StoreCore, planned: &mut PlannedBatch) -> Result<(), StoreError> {
    let mut undo = Vec::new();
    let mut cleanup = ApplyCleanup::default();
    let mut hints = std::mem::take(&mut planned.hints).into_iter();
    for (index, op) in planned.ops.iter().enumerate() {
        let mut hint = hints.next().unwrap_or(ApplyHint::Nothing);
        if let ApplyHint::Staged(staged) = &mut hint {
            staged.last = index + 1 == planned.ops.len();
        }
        if let Err(error) = apply_op(core, op, hint, &mut undo, &mut cleanup) {
            core.discard(hints.collect());
            if let Err(cause) = undo_steps(core, undo) {
                return Err(core.poison(cause));
            }
            remove_unneeded(core, cleanup.unneeded);
            return Err(error);
        }
    }
    for original in &cleanup.originals {
        let removed = remove_tree(&*core.disk, original);
        // Reopening the store completes the removal.
        removed.map_err(|error| core.poison(StoreError::io("remove", original)(error)))?;
    }
    remove_unneeded(core, cleanup.unneeded);
    remove_unneeded(core, cleanup.copied);
    if let Some(log) = &core.log {
        let staged = &cleanup.staged;
        core.kept_files.record_batch(&*core.disk, log.number, &planned.ops, staged);
    }
    Ok(())
}

/// Removes files that no longer have a name among the data. What cannot be removed now is removed later.
fn remove_unneeded(core: &StoreCore, gone: Vec<FilePath>) {
    for temp in gone {
        drop(remove_tree(&*core.disk, &temp));
    }
}

fn apply_op(
    core: &mut StoreCore,
    op: &LogOp,
    hint: ApplyHint,
    undo: &mut Vec<UndoStep>,
    cleanup: &mut ApplyCleanup,
) -> Result<(), StoreError> {
    match (op, hint) {
        (LogOp::Cut { file, at, was }, ApplyHint::Kept { copy }) => {
            core.cut(file, *at, *was, copy, undo)
        }
        (LogOp::Append { file, at, bytes }, hint) => {
            let exact = matches!(hint, ApplyHint::Exact).then_some(*at);
            core.append(file, bytes, exact, undo)
        }
        (LogOp::Replace { file, .. }, ApplyHint::Staged(staged)) => {
            core.replace_kept(file, staged, undo, cleanup)
        }
        (LogOp::Rename { from, to }, _) => {
            core.check_free(to)?;
            core.make_parents(to, undo)?;
            if core.relocate(from, to)?.is_copied() {
                cleanup.originals.push(from.clone());
                undo.push(UndoStep::RemoveCopy { path: to.clone() });
            } else {
                undo.push(UndoStep::Rename { from: to.clone(), to: from.clone() });
            }
            Ok(())
        }
        (LogOp::Remove { path, .. }, ApplyHint::Aside { temp }) => {
            core.remove(path, temp, undo, cleanup)
        }
        (
            LogOp::Cut { file: path, .. }
            | LogOp::Replace { file: path, .. }
            | LogOp::Remove { path, .. },
            _,
        ) => {
            Err(StoreError::BadStep { path: path.clone(), reason: "planned without an apply hint" })
        }
    }
}
