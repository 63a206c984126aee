//! Wipes old log records: a recycled log still holds the bytes of earlier commits.

use super::StoreError;
use super::apply::remove_stale_temp;
use super::log::{LogNumber, WriteAheadLog, known_own_path};
use super::staging::remove_stale_staged;
use super::store_core::StoreCore;
use crate::disk::LockMode;

impl StoreCore {
    /// Erases our own log and those without an owner. Nothing in them counts any more.
    pub(super) fn wipe_logs(&mut self) -> Result<(), StoreError> {
        self.check_usable()?;
        self.await_apply_tasks()?;
        self.checkpoint()?;
        self.recover_dead_logs()?;
        let own_number = self.log.as_ref().map(|log| log.number);
        if let Some(log) = &mut self.log {
            let path = log.number.file();
            // Files that could not be removed earlier.
            remove_stale_temp(&*self.disk, &log.number.temp_prefix())?;
            remove_stale_staged(&*self.disk, log.number)?;
            log.erase().map_err(StoreError::io("erase", &path))?;
        }
        for number in LogNumber::list_logs(&*self.disk)? {
            if Some(number) == own_number {
                continue;
            }
            let busy =
                || StoreError::Busy { scope: number.file(), owner: "its log is in use".to_owned() };
            let lock = number.try_take(&*self.disk, LockMode::Exclusive)?.ok_or_else(busy)?;
            if self.needs_replay(number)? {
                let owner = "its commits cannot be completed".to_owned();
                return Err(StoreError::Busy { scope: known_own_path(&["wal"]), owner });
            }
            remove_stale_temp(&*self.disk, &number.temp_prefix())?;
            let mut log = WriteAheadLog::take_over(&*self.disk, number, lock)?;
            remove_stale_staged(&*self.disk, number)?;
            log.erase().map_err(StoreError::io("erase", &number.file()))?;
            log.close()?;
        }
        Ok(())
    }
}
