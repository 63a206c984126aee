//! Wipes old log records: a recycled log still holds the bytes of earlier commits.

use super::StoreCore;
use super::apply_task::await_apply_tasks;
use super::root_logs::{needs_replay, recover_dead_logs};
use crate::disk::LockMode;
use crate::store::StoreError;
use crate::store::disk_ops::remove_stale_temp;
use crate::store::flushed_files::FlushedFiles;
use crate::store::log::WriteAheadLog;
use crate::store::log_number::LogNumber;
use crate::store::own_paths::known_own_path;
use crate::store::staging::remove_stale_staged;

/// Erases our own log and those without an owner. Nothing in them counts any more.
pub(in crate::store) fn wipe_logs(core: &mut StoreCore) -> Result<(), StoreError> {
    core.check_usable()?;
    await_apply_tasks(core)?;
    core.checkpoint()?;
    core.known_contents.forget_flushed();
    recover_dead_logs(core)?;
    let own_number = core.log.as_ref().map(|log| log.number);
    if let Some(log) = &mut core.log {
        let path = log.number.file();
        // Files that could not be removed earlier.
        remove_stale_temp(&*core.disk, &log.number.temp_prefix())?;
        remove_stale_staged(&*core.disk, log.number)?;
        log.erase().map_err(StoreError::io("erase", &path))?;
        let erased = FlushedFiles::erase(&*core.disk, log.number);
        erased.map_err(StoreError::io("erase the list of", &path))?;
    }
    for number in LogNumber::list_logs(&*core.disk)? {
        if Some(number) == own_number {
            continue;
        }
        let busy =
            || StoreError::Busy { scope: number.file(), owner: "its log is in use".to_owned() };
        let lock = number.try_take(&*core.disk, LockMode::Exclusive)?.ok_or_else(busy)?;
        if needs_replay(core, number)? {
            let owner = "its commits cannot be completed".to_owned();
            return Err(StoreError::Busy { scope: known_own_path(&["wal"]), owner });
        }
        remove_stale_temp(&*core.disk, &number.temp_prefix())?;
        let mut log = WriteAheadLog::take_over(&*core.disk, number, lock)?;
        remove_stale_staged(&*core.disk, number)?;
        log.erase().map_err(StoreError::io("erase", &number.file()))?;
        let erased = FlushedFiles::erase(&*core.disk, number);
        erased.map_err(StoreError::io("erase the list of", &number.file()))?;
        log.close()?;
    }
    Ok(())
}
