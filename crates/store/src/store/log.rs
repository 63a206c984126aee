//! [`WriteAheadLog`]: a preallocated file that is overwritten and recycled.
//!
//! Two header slots alternate, one for each epoch of the log, so that a header torn by a crash leaves the other intact.
//! The first record of an epoch is linked to its header, each further one to the record before it; leftovers of earlier
//! epochs do not link up and do not count.

use std::io;
use std::sync::Arc;

use super::record::{HEAD, Record, decode_record};
use super::{LockOwner, OWN_DIR, StoreError};
use crate::disk::{
    Disk, DiskFile, DiskLock, FileAccess, FileKind, FilePermissions, Flush, LockMode, is_full,
    read_full, read_range, write_full,
};
use everturn_json::checksum::checksum;
use everturn_json::names::{FilePath, Name, NameError};

const MAGIC: &[u8; 8] = b"EVERTURN";
/// The version that is written. Since 2 a record may refer to a staged file, since 3 it identifies removed paths by
/// their contents. Older versions are read.
const VERSION: u32 = 3;
const SLOT: u64 = 4096;
const SLOT_USED: usize = 32;
/// The offset of the first record.
pub(super) const RECORDS: u64 = 2 * SLOT;
/// The size of a new log on a disk that has no space for a longer one.
const LEAST_CAPACITY: u64 = 32 << 10;
/// The number of bytes zero-filled in one call.
const FILL: usize = 1 << 20;

/// The buffer size for records that is kept from one write to the next.
const MAX_BUFFER: usize = 1 << 20;

/// Returns a path in Everturn's own directory.
pub(super) fn own_path(parts: &[&str]) -> Result<FilePath, NameError> {
    let mut path = FilePath::root().join(&Name::parse(OWN_DIR)?);
    for part in parts {
        path = path.join(&Name::parse(part)?);
    }
    Ok(path)
}

/// Returns a path whose parts are known to be valid names.
pub(super) fn known_own_path(parts: &[&str]) -> FilePath {
    own_path(parts).unwrap_or_default()
}

/// The number of a log, from which the names of its files derive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogNumber(pub(super) u32);

impl LogNumber {
    fn parse(name: &str) -> Option<LogNumber> {
        let number = name.strip_suffix(".log")?;
        let parsed = LogNumber(number.parse().ok()?);
        (parsed.render() == name).then_some(parsed)
    }

    fn render(self) -> String {
        format!("{:04}.log", self.0)
    }

    pub(super) fn file(self) -> FilePath {
        known_own_path(&["wal", &self.render()])
    }

    fn lock(self) -> FilePath {
        known_own_path(&["wal", &format!("{:04}.lock", self.0)])
    }

    /// The lock of a process that recovers the log.
    pub(super) fn recovery_lock(self) -> FilePath {
        known_own_path(&["wal", &format!("{:04}.recovery", self.0)])
    }

    /// Returns whether a live process owns the log. Writes nothing.
    pub(super) fn has_owner(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        disk.is_locked(&self.lock()).map_err(self.lock_error("access"))
    }

    /// Returns whether the log belongs to another user whose process has closed it.
    ///
    /// The log itself cannot be read, so only the length of its lock file shows this. That length is not flushed: after
    /// a power cut, commits may wait in such a log until its owner opens the root again.
    pub(super) fn is_closed_by_other_user(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        let opened = disk.open(&self.file(), FileAccess::Read);
        let is_denied = opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        Ok(is_denied && !self.was_abandoned(disk)?)
    }

    /// Wraps an error of the lock file. If another user denies access to it, its log is out of reach, too.
    fn lock_error(self, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                StoreError::UnreadableLog { log: self.file(), source: Arc::new(source) }
            }
            _ => StoreError::io(doing, &self.lock())(source),
        }
    }

    /// Describes the process that recovers or owns the log, according to the lock files.
    pub(super) fn describe_owner(self, disk: &dyn Disk) -> String {
        let known = [self.recovery_lock(), self.lock()].map(|file| LockOwner::read(disk, &file));
        let known = known.into_iter().flatten().next();
        known.map_or_else(|| "shutting down".to_owned(), |owner| owner.to_string())
    }

    /// The prefix of temporary files of this log's owner.
    pub(super) fn temp_prefix(self) -> String {
        format!("{:04}-", self.0)
    }

    /// Lists the existing logs, in order.
    pub(super) fn list_logs(disk: &dyn Disk) -> Result<Vec<LogNumber>, StoreError> {
        let dir = known_own_path(&["wal"]);
        let listing = match disk.list(&dir) {
            Ok(listing) => listing,
            // If it is not a directory, nothing was ever logged.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(StoreError::io("list", &dir)(error)),
        };
        let files = listing.entries.iter().filter(|entry| entry.kind == FileKind::File);
        Ok(files.filter_map(|entry| LogNumber::parse(entry.name.as_str())).collect())
    }

    /// Locks the log if its owner is dead; `None` if the owner lives, or another process has locked it.
    ///
    /// Readers share the lock, so that they do not mistake each other for its owner.
    pub(super) fn try_take(
        self,
        disk: &dyn Disk,
        sharing: LockMode,
    ) -> Result<Option<Box<dyn DiskLock>>, StoreError> {
        disk.lock(&self.lock(), sharing).map_err(self.lock_error("lock"))
    }

    /// Returns whether the last owner of the log ended without closing it, according to its lock file.
    ///
    /// Then the disk may hold records that no reader sees: they were voided after a failure, and a power cut would
    /// restore them.
    pub(super) fn was_abandoned(self, disk: &dyn Disk) -> Result<bool, StoreError> {
        let path = self.lock();
        let found = disk.stat(&path).map_err(StoreError::io("access", &path))?;
        Ok(found.is_some_and(|stat| stat.len > 0))
    }
}

/// The contents of a log.
#[derive(Debug, Default)]
pub(super) struct LogScan {
    /// The records of the current epoch.
    pub(super) records: Vec<Record>,
    /// The current epoch; 0 if the log was never used.
    pub(super) epoch: u64,
    /// The checksum of the last record, and the offset of the next one.
    link: u64,
    pub(super) end: u64,
    /// Whether the log may not have been read completely.
    pub(super) damaged: bool,
}

#[derive(Debug, Clone, Copy)]
enum HeaderSlot {
    Blank,
    Good {
        epoch: u64,
        sum: u64,
    },
    /// Written by a later version of the format, whose records have an unknown meaning.
    Newer,
    Bad,
}

impl HeaderSlot {
    fn encode(version: u32, epoch: u64) -> ([u8; SLOT_USED], u64) {
        let mut bytes = [0; SLOT_USED];
        let (fields, sum_field) = bytes.split_at_mut(SLOT_USED - 8);
        let (start, epoch_field) = fields.split_at_mut(16);
        start.copy_from_slice(&[&MAGIC[..], &version.to_le_bytes(), &[0; 4]].concat());
        epoch_field.copy_from_slice(&epoch.to_le_bytes());
        let sum = checksum(&[fields]);
        sum_field.copy_from_slice(&sum.to_le_bytes());
        (bytes, sum)
    }

    fn read(file: &dyn DiskFile, slot: u64) -> io::Result<HeaderSlot> {
        let mut bytes = [0; SLOT_USED];
        let read = read_full(file, slot * SLOT, &mut bytes)?;
        if bytes == [0; SLOT_USED] {
            return Ok(HeaderSlot::Blank);
        }
        let epoch = bytes.get(16..24).and_then(|field| field.try_into().ok()).unwrap_or_default();
        let epoch = u64::from_le_bytes(epoch);
        let version = bytes.get(8..12).and_then(|field| field.try_into().ok()).unwrap_or_default();
        let version = u32::from_le_bytes(version);
        let (expected, sum) = HeaderSlot::encode(version, epoch);
        Ok(match version {
            _ if read < SLOT_USED || bytes != expected => HeaderSlot::Bad,
            1..=VERSION => HeaderSlot::Good { epoch, sum },
            _ => HeaderSlot::Newer,
        })
    }
}

/// Reads the current epoch of a log without its records; 0 if it has none.
pub(super) fn read_epoch(file: &dyn DiskFile) -> io::Result<u64> {
    let epoch = |slot: HeaderSlot| match slot {
        HeaderSlot::Good { epoch, .. } => epoch,
        HeaderSlot::Blank | HeaderSlot::Newer | HeaderSlot::Bad => 0,
    };
    Ok(epoch(HeaderSlot::read(file, 0)?).max(epoch(HeaderSlot::read(file, 1)?)))
}

/// Reads all records of the current epoch.
pub(super) fn scan_log(file: &dyn DiskFile) -> io::Result<LogScan> {
    let slots = [HeaderSlot::read(file, 0)?, HeaderSlot::read(file, 1)?];
    let newest = slots.iter().filter_map(|slot| match slot {
        HeaderSlot::Good { epoch, sum } => Some((*epoch, *sum)),
        _ => None,
    });
    if slots.iter().any(|slot| matches!(slot, HeaderSlot::Newer)) {
        let message = "was written by a newer version of everturn and is not changed";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let torn = slots.iter().any(|slot| matches!(slot, HeaderSlot::Bad));
    let Some((epoch, header_sum)) = newest.max() else {
        // Before its first commit a log may have a torn first header, but never a record.
        let damaged =
            torn && read_record_bytes(file, RECORDS)?.is_some_and(|bytes| bytes.len() > HEAD);
        return Ok(LogScan { damaged, ..LogScan::default() });
    };
    let (mut records, mut link, mut at) = (Vec::new(), header_sum, RECORDS);
    while let Some(bytes) = read_record_bytes(file, at)? {
        let Some((record, sum, len)) = decode_record(&bytes, link) else { break };
        records.push(record);
        link = sum;
        at += len as u64;
    }
    // A bad header whose other epoch has lost its records was not torn by recycling.
    let damaged = torn && records.is_empty() && has_stray_record(file)?;
    Ok(LogScan { records, epoch, link, end: at, damaged })
}

/// Ensures that the disk holds what the page cache shows of a log, before it is acted on.
///
/// All of it is written again: after a failed background write the cache shows bytes as clean that the disk does not
/// have, and a flush alone would not write them.
pub(super) fn rewrite_and_sync(disk: &dyn Disk, number: LogNumber) -> Result<(), StoreError> {
    let path = number.file();
    let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
    let used = scan_log(&*file).map_err(StoreError::io("read", &path))?.end;
    let bytes = read_range(&*file, 0, used).map_err(StoreError::io("read", &path))?;
    write_full(&*file, 0, &bytes).map_err(StoreError::io("write", &path))?;
    file.sync(Flush::RecoverLog).map_err(StoreError::io("flush", &path))?;
    let dir = known_own_path(&["wal"]);
    disk.sync_dir(&dir, Flush::RecoverLog).map_err(StoreError::io("flush", &dir))?;
    file.drop_cache().map_err(StoreError::io("read", &path))
}

/// Returns the end of the records of a log; `None` if the log is damaged.
pub(super) fn records_end(file: &dyn DiskFile) -> io::Result<Option<u64>> {
    let scan = scan_log(file)?;
    Ok((!scan.damaged).then_some(scan.end.max(RECORDS)))
}

/// Returns the head and body of a possible record; `None` at the end of the log.
fn read_record_bytes(file: &dyn DiskFile, at: u64) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; HEAD];
    let room = file.stat()?.len.saturating_sub(at);
    if room < HEAD as u64 || read_full(file, at, &mut head)? < HEAD {
        return Ok(None);
    }
    let [a, b, c, d, ..] = head;
    let len = HEAD as u64 + u64::from(u32::from_le_bytes([a, b, c, d]));
    if len > room || len == HEAD as u64 {
        return Ok(None);
    }
    let len = usize::try_from(len).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let read = read_full(file, at, &mut bytes)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Returns whether an intact record is at the start, whatever it is linked to.
fn has_stray_record(file: &dyn DiskFile) -> io::Result<bool> {
    let Some(bytes) = read_record_bytes(file, RECORDS)? else { return Ok(false) };
    let link = bytes.get(8..16).and_then(|field| field.try_into().ok()).unwrap_or_default();
    Ok(decode_record(&bytes, u64::from_le_bytes(link)).is_some())
}

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

    /// Takes over a log that needs no more replay, and starts a new epoch.
    pub(super) fn take_over(
        disk: &dyn Disk,
        number: LogNumber,
        lock: Box<dyn DiskLock>,
    ) -> Result<WriteAheadLog, StoreError> {
        let path = number.file();
        let file = disk.open(&path, FileAccess::Write).map_err(StoreError::io("open", &path))?;
        let scan = scan_log(&*file).map_err(StoreError::io("read", &path))?;
        let capacity = file.stat().map_err(StoreError::io("read", &path))?.len;
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
        let LogScan { records, epoch, link, end, .. } =
            scan_log(&*file).map_err(StoreError::io("read", &path))?;
        let capacity = file.stat().map_err(StoreError::io("read", &path))?.len;
        let (promised, buffer, count) = (end, Vec::new(), records.len() as u64);
        let mut log = WriteAheadLog {
            number,
            file,
            lock,
            epoch,
            link,
            end,
            acknowledged: promised,
            capacity,
            buffer,
            count,
        };
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
        log.sync_name(disk)?;
        log.recycle().map_err(StoreError::io("write", &path))?;
        Ok(log)
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
                self.file.reserve(len, capacity)?;
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
        self.capacity = self.capacity.max(self.file.stat()?.len);
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
        self.file.set_len(capacity)?;
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

#[cfg(all(test, feature = "sim"))]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    #[test]
    fn a_log_of_a_newer_version_is_neither_read_nor_rewritten() {
        let disk = SimDisk::new();
        let mut content = vec![0; 9000];
        content[..SLOT_USED].copy_from_slice(&HeaderSlot::encode(VERSION + 1, 2).0);
        disk.put_file(&LogNumber(1).file(), &content);
        let file = disk.open(&LogNumber(1).file(), FileAccess::Read).unwrap();
        let error = scan_log(&*file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn a_log_of_the_first_version_is_replayed() {
        use crate::store::record::{LogOp, NewContent};
        use crate::store::{FileStore, LockOwner, Options};
        let disk = SimDisk::new();
        let (header, link) = HeaderSlot::encode(1, 2);
        let file = FilePath::parse("s/state").unwrap();
        let new = NewContent::Bytes(b"{}".to_vec());
        let batch = vec![LogOp::Replace { file: file.clone(), was: None, private: false, new }];
        let mut record = Vec::new();
        Record::Batch(batch).encode(link, &mut record);
        let mut content = vec![0; 9000];
        content[..SLOT_USED].copy_from_slice(&header);
        let start = usize::try_from(RECORDS).unwrap();
        content[start..start + record.len()].copy_from_slice(&record);
        disk.put_file(&LogNumber(1).file(), &content);
        let options = Options::new(LockOwner { pid: 1, started: String::new() });
        FileStore::open(Arc::new(disk.process()), options).unwrap();
        assert_eq!(disk.contents()[&file], b"{}");
    }
}
