//! Old records of the logs, overwritten: a log that is recycled still holds the bytes of what was committed before.

use super::StoreError;
use super::apply::sweep;
use super::core::Core;
use super::log::{Log, LogNumber, own};
use super::staged::sweep_staged;
use crate::disk::Sharing;

impl Core {
    /// Erases our own log and those that nobody has. Nothing in them counts any more.
    pub(super) fn scour(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        self.await_errands()?;
        self.checkpoint()?;
        self.recover_dead_logs()?;
        let own_number = self.log.as_ref().map(|log| log.number);
        if let Some(log) = &mut self.log {
            let path = log.number.file();
            // What could not be removed when its time had come.
            sweep(&*self.disk, &log.number.temp_prefix())?;
            sweep_staged(&*self.disk, log.number)?;
            log.erase().map_err(StoreError::io("erase", &path))?;
        }
        for number in LogNumber::all(&*self.disk)? {
            if Some(number) == own_number {
                continue;
            }
            let busy = || StoreError::Busy {
                scope: number.file(),
                holder: "which has a log of its own".to_owned(),
            };
            let lock = number.take(&*self.disk, Sharing::Exclusive)?.ok_or_else(busy)?;
            if self.needs_replay(number)? {
                let holder = "which has left commits that cannot be completed".to_owned();
                return Err(StoreError::Busy { scope: own(&["wal"]), holder });
            }
            sweep(&*self.disk, &number.temp_prefix())?;
            let mut log = Log::take_over(&*self.disk, number, lock)?;
            sweep_staged(&*self.disk, number)?;
            log.erase().map_err(StoreError::io("erase", &number.file()))?;
            log.close()?;
        }
        Ok(())
    }
}
