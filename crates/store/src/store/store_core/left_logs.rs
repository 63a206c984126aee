//! Logs that are left with records: a process that releases its last scope flushes no plain file if the next one can
//! continue its log. See [`HandOver`].

use std::collections::BTreeSet;

use super::StoreCore;
use super::reserve::{fill_reserve, recover_with_reserve};
use crate::disk::{Flush, LockMode};
use crate::store::StoreError;
use crate::store::disk_ops::{remove_stale_temp, sync_dir};
use crate::store::hand_over::HandOver;
use crate::store::log::WriteAheadLog;
use crate::store::log_number::LogNumber;
use crate::store::log_scan::{LogPosition, RECORDS};
use crate::store::record::Record;
use crate::store::recovery::{RecoveryPremise, read_log};
use crate::store::replay::LogHistory;
use crate::store::staging::remove_stale_staged;
use everturn_json::names::FilePath;

/// The records of earlier processes in a log that this one continues.
pub(in crate::store) struct ContinuedLog {
    /// The files that they have changed. Their names are durable.
    pub(in crate::store) files: BTreeSet<FilePath>,
    /// Where they end.
    position: LogPosition,
}

/// Leaves our log with its records to the next process; returns false if it must be checkpointed.
///
/// Everything in it is flushed and applied.
pub(super) fn leave_log(core: &mut StoreCore) -> Result<bool, StoreError> {
    let Some(log) = &core.log else { return Ok(false) };
    if log.count == 0 || log.capacity() > core.options.log_size {
        return Ok(false);
    }
    let position = log.position();
    if core.continued.as_ref().is_none_or(|known| known.position != position) {
        let number = log.number;
        let id = log.file_id().map_err(StoreError::io("access", &number.file()))?;
        let Ok(history) = read_log(&*core.disk, number)? else { return Ok(false) };
        let Some(mark) = HandOver::prepare(&*core.disk, id, position, &history)? else {
            return Ok(false);
        };
        while let Some(dir) = core.dirs.pop_named() {
            let flushed = sync_dir(&*core.disk, &dir, Flush::HandOverDir);
            flushed.map_err(|error| core.poison(error))?;
        }
        if mark.write(&*core.disk, number).is_err() {
            // Without a mark the log would be recovered by the next process.
            return Ok(false);
        }
    }
    match core.log.take() {
        Some(log) => log.leave().map(|()| true),
        None => Ok(false),
    }
}

/// Continues a log that was left with records, if it concerns nothing but `scopes`, which we have locked, and no other
/// program has changed its files since.
pub(super) fn continue_log(core: &mut StoreCore, scopes: &[FilePath]) -> Result<(), StoreError> {
    if core.log.is_some() {
        return Ok(());
    }
    for number in LogNumber::list_logs(&*core.disk)? {
        if number.is_closed_by_other_user(&*core.disk)? || find_own(core, number, scopes)?.is_none()
        {
            continue;
        }
        let Some(lock) = number.try_take(&*core.disk, LockMode::Exclusive)? else { continue };
        // Another process may have settled it just now.
        if find_own(core, number, scopes)?.is_none() {
            continue;
        }
        remove_stale_temp(&*core.disk, &number.temp_prefix())?;
        remove_stale_staged(&*core.disk, number)?;
        let (log, records) = WriteAheadLog::resume(&*core.disk, number, lock)?;
        if log.free_bytes() < log.capacity().saturating_sub(RECORDS) / 4 {
            // The next commits would fill it. It is recovered instead.
            return log.leave();
        }
        log.mark_in_use(&core.options.owner)?;
        inherit(core, &records, log.position());
        core.log = Some(log);
        fill_reserve(core);
        return Ok(());
    }
    Ok(())
}

/// Returns the mark of a log that this process may continue.
fn find_own(
    core: &StoreCore,
    number: LogNumber,
    scopes: &[FilePath],
) -> Result<Option<HandOver>, StoreError> {
    let Some(mark) = HandOver::of_session(&*core.disk, number)? else { return Ok(None) };
    let is_ours = mark.is_within(scopes) && mark.has_same_files(&*core.disk)?;
    Ok(is_ours.then_some(mark))
}

/// Takes over what the records of earlier processes say.
fn inherit(core: &mut StoreCore, records: &[Record], position: LogPosition) {
    core.known_contents.clear();
    for record in records {
        match record {
            Record::Batch(ops) => {
                core.path_tracker.record_ops(ops);
                core.known_contents.record_ops(ops);
            }
            Record::Barrier(names) => core.path_tracker.apply_barrier(names),
            Record::Abort(_) => core.known_contents.clear(),
        }
    }
    let history = LogHistory::fold(records.to_vec());
    let files: BTreeSet<FilePath> = history.files.into_keys().collect();
    core.synced_dirs.extend(files.iter().flat_map(FilePath::ancestors));
    core.continued = Some(ContinuedLog { files, position });
}

/// Makes the plain files safe without our log, which has records of earlier processes.
///
/// Their files are not merely flushed: a background write may have failed since, and no one was told. Recovery compares
/// them with the disk.
pub(super) fn settle_own_log(core: &mut StoreCore) -> Result<(), StoreError> {
    let Some(number) = core.log.as_ref().map(|log| log.number) else { return Ok(()) };
    let recovered = recover_with_reserve(core, number, RecoveryPremise::Shown)
        .map_err(|error| core.poison(error))?;
    core.options.findings.add(recovered.findings);
    match recovered.blocked.first() {
        Some(blocked) => Err(core.poison(blocked.error())),
        None => Ok(()),
    }
}
