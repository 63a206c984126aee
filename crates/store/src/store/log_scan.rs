//! Reads the headers and records of a log: [`scan_log`] returns a [`LogScan`].

use std::io;

use super::StoreError;
use super::log_number::LogNumber;
use super::own_paths::known_own_path;
use super::record::{HEAD, Record, decode_record};
use crate::disk::{Disk, DiskFile, FileAccess, Flush, read_full, read_range, write_full};
use everturn_json::checksum::checksum;

const MAGIC: &[u8; 8] = b"EVERTURN";
/// The version that is written. Since 2 a record may refer to a staged file, since 3 it identifies removed paths by
/// their contents. Older versions are read.
pub(super) const VERSION: u32 = 3;
pub(super) const SLOT: u64 = 4096;
const SLOT_USED: usize = 32;
/// The offset of the first record.
pub(super) const RECORDS: u64 = 2 * SLOT;
/// The contents of a log.
#[derive(Debug, Default)]
pub(super) struct LogScan {
    /// The records of the current epoch.
    pub(super) records: Vec<Record>,
    /// The current epoch; 0 if the log was never used.
    pub(super) epoch: u64,
    /// The checksum of the last record, and the offset of the next one.
    pub(super) link: u64,
    pub(super) end: u64,
    /// Whether the log may not have been read completely.
    pub(super) damaged: bool,
    /// Whether the log is empty, with whole headers, of which the last has the present version.
    pub(super) is_blank: bool,
}

impl LogScan {
    pub(super) fn position(&self) -> LogPosition {
        LogPosition { epoch: self.epoch, link: self.link, end: self.end }
    }
}

/// The position that a log has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPosition {
    epoch: u64,
    link: u64,
    end: u64,
}

impl LogPosition {
    /// Returns whether the log still ends here.
    pub(super) fn is_end(&self, file: &dyn DiskFile) -> io::Result<bool> {
        if read_epoch(file)? != self.epoch {
            return Ok(false);
        }
        let mut head = [0; HEAD];
        if read_full(file, self.end, &mut head)? < HEAD
            || head.get(8..16) != Some(&self.link.to_le_bytes())
        {
            return Ok(true);
        }
        let next = read_record_bytes(file, self.end)?;
        Ok(next.is_none_or(|bytes| decode_record(&bytes, self.link).is_none()))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum HeaderSlot {
    Blank,
    Good {
        version: u32,
        epoch: u64,
        sum: u64,
    },
    /// Written by a later version of the format, whose records have an unknown meaning.
    Newer,
    Bad,
}

impl HeaderSlot {
    pub(super) fn encode(version: u32, epoch: u64) -> ([u8; SLOT_USED], u64) {
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
            1..=VERSION => HeaderSlot::Good { version, epoch, sum },
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
        HeaderSlot::Good { version, epoch, sum } => Some((*epoch, *sum, *version)),
        _ => None,
    });
    if slots.iter().any(|slot| matches!(slot, HeaderSlot::Newer)) {
        let message = "was written by a newer version of everturn and is not changed";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let torn = slots.iter().any(|slot| matches!(slot, HeaderSlot::Bad));
    let Some((epoch, header_sum, version)) = newest.max() else {
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
    let is_blank = records.is_empty() && !torn && version == VERSION;
    Ok(LogScan { records, epoch, link, end: at, damaged, is_blank })
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

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::sim::SimDisk;
    use everturn_json::names::FilePath;

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
