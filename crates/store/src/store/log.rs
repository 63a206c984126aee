//! [`WriteAheadLog`]: a preallocated file that is overwritten and recycled.
//!
//! Two header slots alternate, one for each epoch of the log, so that a header torn by a crash leaves the other intact.
//! The first record of an epoch is linked to its header, each further one to the record before it; leftovers of earlier
//! epochs do not link up and do not count.

use std::io;

use super::StoreError;
use super::lock_owner::LockOwner;
use super::log_number::{LogNumber, capacity_of, in_use_len};
use super::log_scan::{HeaderSlot, LogScan, RECORDS, SLOT, VERSION, read_epoch, scan_log};
use super::record::{HEAD, Record};
use crate::disk::{
    Disk, DiskFile, DiskLock, FileAccess, FilePermissions, Flush, is_full, write_full,
};
use everturn_json::names::FilePath;

/// The size of a new log on a disk that has no space for a longer one.
const LEAST_CAPACITY: u64 = 32 << 10;
/// The number of bytes zero-filled in one call.
const FILL: usize = 1 << 20;

/// The buffer size for records that is kept from one write to the next.
const MAX_BUFFER: usize = 1 << 20;

/// A log in one of its epochs. A process that takes over the log of another one starts a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogEpoch {
    pub(super) number: LogNumber,
    pub(super) epoch: u64,
}

impl LogEpoch {
    /// Returns whether the process that wrote in this epoch still owns the log.
    pub(super) fn has_owner(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        if !self.number.has_owner(disk)? {
            return Ok(false);
        }
        let path = self.number.file();
        match disk.open(&path, FileAccess::Read).and_then(|file| read_epoch(&*file)) {
            Ok(found) => Ok(found == self.epoch),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // The log of another user, which is not readable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }
}

/// The log that this process writes.
pub(super) struct WriteAheadLog {
    pub(super) number: LogNumber,
    file: Box<dyn DiskFile>,
    /// Held as long as the log is in use; dropped last.
    lock: Box<dyn DiskLock>,
    epoch: u64,
    link: u64,
    end: u64,
    /// The end of the acknowledged records; later ones may be voided.
    acknowledged: u64,
    /// The length of the log.
    capacity: u64,
    /// Where records are encoded; reused, because new memory has to be cleared first.
    buffer: Vec<u8>,
    /// Records written in this epoch.
    pub(super) count: u64,
}

impl WriteAheadLog {
    /// Returns the log in its current epoch.
    pub(super) fn present(&self) -> LogEpoch {
        LogEpoch { number: self.number, epoch: self.epoch }
    }

    /// Returns whether a reader asks for a pause before more commits are applied.
    pub(super) fn is_pause_requested(&self) -> bool {
        self.file.is_pause_requested()
    }

    /// Takes over a log that was closed. If its epoch has no records, it is continued: its header was flushed before the
    /// log was closed.
    pub(super) fn reopen(
        disk: &dyn Disk,
        number: LogNumber,
        lock: Box<dyn DiskLock>,
    ) -> Result<WriteAheadLog, StoreError> {
        let path = number.file();
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let scan = scan_log(&*file).map_err(StoreError::io("read", &path))?;
        if !scan.is_blank || scan.epoch <= 1 {
            return WriteAheadLog::take_over(disk, number, lock);
        }
        let log = WriteAheadLog::resume(number, file, lock, scan)?;
        log.mark_length().map_err(StoreError::io("extend", &path))?;
        Ok(log)
    }

    /// Continues a log after its last record.
    fn resume(
        number: LogNumber,
        file: Box<dyn DiskFile>,
        lock: Box<dyn DiskLock>,
        scan: LogScan,
    ) -> Result<WriteAheadLog, StoreError> {
        let LogScan { records, epoch, link, end, .. } = scan;
        let len = file.stat().map_err(StoreError::io("read", &number.file()))?.len;
        Ok(WriteAheadLog {
            number,
            file,
            lock,
            epoch,
            link,
            end,
            acknowledged: end,
            capacity: capacity_of(len),
            buffer: Vec::new(),
            count: records.len() as u64,
        })
    }

    /// Takes over a log that needs no more replay, and starts a new epoch.
    pub(super) fn take_over(
        disk: &dyn Disk,
        number: LogNumber,
        lock: Box<dyn DiskLock>,
    ) -> Result<WriteAheadLog, StoreError> {
        let path = number.file();
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let scan = scan_log(&*file).map_err(StoreError::io("read", &path))?;
        let capacity = capacity_of(file.stat().map_err(StoreError::io("read", &path))?.len);
        let epoch = scan.epoch;
        let mut log = WriteAheadLog {
            number,
            file,
            lock,
            epoch,
            link: 0,
            end: RECORDS,
            acknowledged: RECORDS,
            capacity,
            buffer: Vec::new(),
            count: 0,
        };
        if epoch <= 1 {
            // Its creator may have died before the name was flushed.
            log.sync_name(disk)?;
        }
        if scan.damaged {
            // The next header may be the damaged one, and its records would count again.
            let erased = log.zero_fill(RECORDS).and_then(|()| log.file.sync(Flush::Recycle));
            erased.map_err(StoreError::io("recycle", &path))?;
        }
        log.mark_length().map_err(StoreError::io("extend", &path))?;
        log.recycle().map_err(StoreError::io("recycle", &path))?;
        Ok(log)
    }

    /// Takes over a log of which some records must stay, and adds a barrier for these names.
    pub(super) fn append_barrier(
        disk: &dyn Disk,
        number: LogNumber,
        lock: Box<dyn DiskLock>,
        names: Vec<FilePath>,
    ) -> Result<(), StoreError> {
        let path = number.file();
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let scan = scan_log(&*file).map_err(StoreError::io("read", &path))?;
        let mut log = WriteAheadLog::resume(number, file, lock, scan)?;
        let settled = Record::Barrier(names);
        let end = log.end + settled.size_at_most();
        log.extend(end).map_err(StoreError::io("extend", &path))?;
        log.write(&[settled]).map_err(StoreError::io("write", &path))?;
        log.sync(Flush::Release).map_err(StoreError::io("flush", &path))
    }

    /// Leaves a mark that remains if this process ends without [`WriteAheadLog::close`].
    pub(super) fn mark_in_use(&self, owner: &LockOwner) -> Result<(), StoreError> {
        let marked = self.lock.describe(&owner.to_text());
        marked.map_err(StoreError::io("write", &self.number.lock()))
    }

    /// Releases a log that holds nothing left to do.
    ///
    /// The lock file stays, empty: on a full disk a new one could not be created.
    pub(super) fn close(self) -> Result<(), StoreError> {
        let shortened = self.file.set_len(self.capacity);
        shortened.map_err(StoreError::io("truncate", &self.number.file()))?;
        self.lock.describe(b"").map_err(StoreError::io("free", &self.number.lock()))
    }

    fn sync_name(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        for dir in self.number.file().ancestors() {
            disk.sync_dir(&dir, Flush::LogName).map_err(StoreError::io("flush", &dir))?;
        }
        Ok(())
    }

    /// Creates a log, with its whole capacity written once.
    pub(super) fn create(
        disk: &dyn Disk,
        number: LogNumber,
        lock: Box<dyn DiskLock>,
        capacity: u64,
    ) -> Result<WriteAheadLog, StoreError> {
        let path = number.file();
        disk.create(&path, FilePermissions::OwnerOnly).map_err(StoreError::io("create", &path))?;
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let mut log = WriteAheadLog {
            number,
            file,
            lock,
            epoch: 0,
            link: 0,
            end: RECORDS,
            acknowledged: RECORDS,
            capacity,
            buffer: Vec::new(),
            count: 0,
        };
        if let Err(error) = log.zero_fill(0) {
            // A smaller log will do if there is space for it; otherwise nothing of it may remain.
            let refill = |log: &mut WriteAheadLog| {
                log.capacity = capacity.min(LEAST_CAPACITY);
                log.file.set_len(log.capacity)?;
                log.zero_fill(0)
            };
            if !is_full(&error) || refill(&mut log).is_err() {
                drop(disk.remove(&path));
                return Err(StoreError::io("fill", &path)(error));
            }
        }
        log.mark_length().map_err(StoreError::io("extend", &path))?;
        log.sync_name(disk)?;
        log.recycle().map_err(StoreError::io("write", &path))?;
        Ok(log)
    }

    /// Gives the log the length of one in use, which the flush of the next header makes durable. It needs no block; if
    /// the disk has no space even for that, the lock file alone shows that the log is in use.
    fn mark_length(&self) -> io::Result<()> {
        match self.file.set_len(in_use_len(self.capacity)) {
            Err(error) if !is_full(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the number of bytes that fit before the log should be recycled.
    pub(super) fn free_bytes(&self) -> u64 {
        self.capacity.saturating_sub(self.end)
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Extends the log before records need it: a full disk must not truncate a record.
    pub(super) fn extend(&mut self, capacity: u64) -> io::Result<()> {
        if capacity > self.capacity {
            // A truncated log may have grown when its header was written.
            let len = self.file.stat()?.len;
            if capacity > len {
                self.file.reserve(len, in_use_len(capacity))?;
            }
            self.capacity = capacity;
        }
        Ok(())
    }

    /// Writes zeros over the capacity, so that flushing records does not have to allocate blocks.
    fn zero_fill(&self, from: u64) -> io::Result<()> {
        let zeros = vec![0; FILL];
        let mut at = from;
        while at < self.capacity {
            let chunk = usize::try_from(self.capacity - at).unwrap_or(FILL).min(FILL);
            write_full(&*self.file, at, zeros.get(..chunk).unwrap_or(&zeros))?;
            at += chunk as u64;
        }
        Ok(())
    }

    /// Writes records at the end; they count once they are flushed.
    pub(super) fn write(&mut self, records: &[Record]) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.shrink_to(MAX_BUFFER);
        let mut link = self.link;
        for record in records {
            link = record.encode(link, &mut self.buffer);
        }
        if let Err(error) = write_full(&*self.file, self.end, &self.buffer) {
            self.void_unacknowledged();
            return Err(error);
        }
        self.link = link;
        self.end += self.buffer.len() as u64;
        self.count += records.len() as u64;
        Ok(())
    }

    /// After a failure, tries to prevent records that are reported as failed from counting later.
    fn void_unacknowledged(&self) {
        // If this fails too, or is lost, they may still count: the caller reports the outcome as unknown.
        drop(write_full(&*self.file, self.acknowledged, &[0; HEAD]));
    }

    /// Marks all records so far as acknowledged.
    pub(super) fn mark_acknowledged(&mut self) {
        self.acknowledged = self.end;
    }

    /// Flushes the written records.
    pub(super) fn sync(&mut self, why: Flush) -> io::Result<()> {
        let synced = self.file.sync(why);
        if synced.is_ok() {
            self.mark_acknowledged();
        } else if self.acknowledged < self.end {
            self.void_unacknowledged();
        }
        synced
    }

    /// Writes zeros over records that no longer count, including those beyond the capacity.
    pub(super) fn erase(&mut self) -> io::Result<()> {
        self.capacity = self.capacity.max(capacity_of(self.file.stat()?.len));
        self.zero_fill(RECORDS)?;
        self.file.sync(Flush::Recycle)
    }

    /// Starts a new epoch: all records so far no longer count.
    ///
    /// The header is flushed before any record follows it. Otherwise a power cut could keep a record and lose the
    /// header, and the next header of the same epoch would make that record count again.
    pub(super) fn recycle(&mut self) -> io::Result<()> {
        self.start_epoch()?;
        self.file.sync(Flush::Recycle)
    }

    /// Truncates an empty log that one large batch has extended too far: every process that opens the root reads all of
    /// it.
    pub(super) fn shrink(&mut self, most: u64) {
        if self.capacity > most && self.count == 0 && self.file.set_len(most).is_ok() {
            self.capacity = most;
        }
    }

    /// Truncates an empty log, on a full disk; returns whether that made it shorter. The space is available when this
    /// returns.
    pub(super) fn truncate(&mut self, capacity: u64) -> io::Result<bool> {
        if self.capacity <= capacity || self.count > 0 {
            return Ok(false);
        }
        self.file.set_len(in_use_len(capacity))?;
        self.capacity = capacity;
        // Some file systems reuse freed blocks only after they have logged that they are free.
        self.file.sync(Flush::Recycle)?;
        Ok(true)
    }

    fn start_epoch(&mut self) -> io::Result<()> {
        let epoch = self.epoch + 1;
        let (bytes, sum) = HeaderSlot::encode(VERSION, epoch);
        write_full(&*self.file, (epoch % 2) * SLOT, &bytes)?;
        (self.epoch, self.link, self.end, self.count) = (epoch, sum, RECORDS, 0);
        self.mark_acknowledged();
        Ok(())
    }
}
