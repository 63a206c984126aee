//! [`FileData`]: the bytes of a file of the simulated disk, as they are visible and as they would survive.

use std::collections::BTreeSet;

use super::faults::DataSurvival;

pub(super) type InodeNumber = u64;

/// An unflushed change to the bytes of a file.
#[derive(Debug, Clone)]
enum PendingWrite {
    At { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl PendingWrite {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            PendingWrite::SetLen(len) => content.resize(*len, 0),
            PendingWrite::At { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                if let Some(place) = content.get_mut(*offset..end) {
                    place.copy_from_slice(bytes);
                }
            }
        }
    }

    /// Returns the part of a write that a crash in its middle leaves.
    fn first_half(&self) -> PendingWrite {
        match self {
            PendingWrite::SetLen(len) => PendingWrite::SetLen(*len),
            PendingWrite::At { offset, bytes } => {
                let half = bytes.iter().take(bytes.len() / 2).copied().collect();
                PendingWrite::At { offset: *offset, bytes: half }
            }
        }
    }
}

/// The page size of the cache.
const PAGE: usize = 4096;

#[derive(Debug, Clone, Default)]
pub(super) struct FileData {
    pub(super) seen: Vec<u8>,
    pub(super) mode: u32,
    /// The number of writes.
    pub(super) writes: u64,
    /// When its bytes or its names were last changed, on the clock of the disk.
    pub(super) changed: u64,
    durable: Vec<u8>,
    unflushed: Vec<PendingWrite>,
    /// Cached pages whose background write has failed: writes to them do not reach the disk.
    stuck: BTreeSet<usize>,
    /// Whether the next flush has to report a failed background write.
    error: bool,
}

impl FileData {
    /// A file with this content, which is on the disk already.
    pub(super) fn flushed(content: &[u8], mode: u32, writes: u64) -> FileData {
        let (seen, durable) = (content.to_vec(), content.to_vec());
        FileData { seen, durable, mode, writes, ..FileData::default() }
    }

    pub(super) fn flip_bit(&mut self, byte: usize, bit: u8) {
        for content in [&mut self.seen, &mut self.durable] {
            if let Some(byte) = content.get_mut(byte) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    pub(super) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        self.record(PendingWrite::At { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.record(PendingWrite::SetLen(len));
    }

    fn record(&mut self, write: PendingWrite) {
        self.writes += 1;
        write.apply(&mut self.seen);
        self.unflushed.push(write);
    }

    /// Returns whether a background write has failed that no flush has reported.
    pub(super) fn has_error(&self) -> bool {
        self.error
    }

    /// Writes everything to the disk; returns whether an earlier background write had failed.
    pub(super) fn flush(&mut self) -> bool {
        for write in std::mem::take(&mut self.unflushed) {
            let before = self.durable.clone();
            write.apply(&mut self.durable);
            self.restore_stuck(&write, &before);
        }
        std::mem::take(&mut self.error)
    }

    /// Reverts the effects of a write on pages that never reach the disk.
    fn restore_stuck(&mut self, write: &PendingWrite, before: &[u8]) {
        let PendingWrite::At { offset, bytes } = write else { return };
        for place in *offset..offset + bytes.len() {
            if self.stuck.contains(&(place / PAGE))
                && let Some(byte) = self.durable.get_mut(place)
            {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }

    /// Fails a background write: the pages count as clean, and the disk does not have them.
    pub(super) fn fail_writeback(&mut self) {
        for write in std::mem::take(&mut self.unflushed) {
            if let PendingWrite::At { offset, bytes } = &write {
                self.stuck.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
            self.error = true;
        }
        self.durable.resize(self.seen.len(), 0);
    }

    /// Drops clean pages; the next read comes from the disk.
    pub(super) fn drop_cache(&mut self) {
        self.seen.clone_from(&self.durable);
        let mut dirty = BTreeSet::new();
        for write in &self.unflushed {
            write.apply(&mut self.seen);
            if let PendingWrite::At { offset, bytes } = write {
                dirty.extend(offset / PAGE..(offset + bytes.len()).div_ceil(PAGE));
            }
        }
        self.stuck.retain(|page| dirty.contains(page));
    }

    /// As [`FileData::lose_unflushed`], for a flush of everything: the next flush of the file reports the error.
    pub(super) fn lose_silently(&mut self) {
        self.error |= !self.unflushed.is_empty();
        self.lose_unflushed();
    }

    /// Applies a failed flush: the pages are dropped, and the old content is visible again.
    pub(super) fn lose_unflushed(&mut self) {
        self.unflushed.clear();
        self.seen.clone_from(&self.durable);
    }

    pub(super) fn apply_power_cut(&mut self, data: DataSurvival, inode: InodeNumber) {
        let before = self.durable.clone();
        self.keep_partially(data, inode);
        for page in std::mem::take(&mut self.stuck) {
            for place in page * PAGE..(page + 1) * PAGE {
                if let Some(byte) = self.durable.get_mut(place) {
                    *byte = before.get(place).copied().unwrap_or(0);
                }
            }
        }
        self.error = false;
        self.seen.clone_from(&self.durable);
    }

    fn keep_partially(&mut self, data: DataSurvival, inode: InodeNumber) {
        let writes = std::mem::take(&mut self.unflushed);
        let count = writes.len();
        match data {
            DataSurvival::Lost => {}
            DataSurvival::Kept => writes.iter().for_each(|write| write.apply(&mut self.durable)),
            DataSurvival::Prefix => {
                writes.iter().take(count / 2).for_each(|write| write.apply(&mut self.durable));
                if let Some(next) = writes.get(count / 2) {
                    next.first_half().apply(&mut self.durable);
                }
            }
            DataSurvival::Last => {
                let length = self.seen.len();
                if let Some(last) = writes.last() {
                    last.apply(&mut self.durable);
                }
                self.durable.truncate(length);
            }
            DataSurvival::Hole => {
                let last =
                    writes.iter().rposition(|write| matches!(write, PendingWrite::At { .. }));
                for (index, write) in writes.iter().enumerate() {
                    let before = self.durable.clone();
                    write.apply(&mut self.durable);
                    if Some(index) == last {
                        self.tear(write, &before);
                    }
                }
            }
            DataSurvival::Mixed(seed) => {
                self.unflushed = writes;
                let choice = match mix(seed ^ mix(inode)) % 5 {
                    0 => DataSurvival::Lost,
                    1 => DataSurvival::Kept,
                    2 => DataSurvival::Prefix,
                    3 => DataSurvival::Last,
                    _ => DataSurvival::Hole,
                };
                self.keep_partially(choice, inode);
            }
        }
    }

    /// Resets the middle third of `write` to the earlier bytes, or to NUL.
    fn tear(&mut self, write: &PendingWrite, before: &[u8]) {
        let PendingWrite::At { offset, bytes } = write else { return };
        let third = bytes.len() / 3;
        for place in offset + third..offset + bytes.len() - third {
            if let Some(byte) = self.durable.get_mut(place) {
                *byte = before.get(place).copied().unwrap_or(0);
            }
        }
    }
}

/// Mixes the bits of a number, so that adjacent seeds give different choices.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
