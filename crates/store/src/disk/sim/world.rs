//! [`SimWorld`]: the state of the simulated disk, its processes and locks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::super::{
    ChangeStamp, FileId, FileKind, FilePermissions, FileStat, Flush, LockMode, PRIVATE_BITS,
};
use super::faults::{Fault, FaultKind, Survival};
use super::file_data::{FileData, InodeNumber};
use super::names::{SimNode, SimTree};
use everturn_json::names::FilePath;

pub(super) type Pid = u32;
pub(super) type LockId = u64;

#[derive(Debug, Clone)]
struct HeldLock {
    id: LockId,
    pid: Pid,
    path: FilePath,
    sharing: LockMode,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SimWorld {
    pub(super) tree: SimTree,
    pub(super) faults: Vec<Fault>,
    pub(super) ignored: Option<Flush>,
    pub(super) changes: u64,
    pub(super) reads: u64,
    pub(super) written: u64,
    pub(super) crashed: bool,
    pub(super) flushes: BTreeMap<Flush, u64>,
    locks: Vec<HeldLock>,
    next_lock: LockId,
    living: BTreeSet<Pid>,
    next_pid: Pid,
    /// Directories that are mount points: nothing is renamed across their boundaries.
    pub(super) mount_points: Vec<FilePath>,
    /// Whether all of it can be flushed at once, and changes be told by their times.
    pub(super) is_capable: bool,
    /// Whether hard links fail.
    pub(super) refuses_links: bool,
    /// How often the disk was mounted: device and inode numbers differ from mount to mount.
    mounts: u64,
}

fn os_error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

pub(super) const EIO: i32 = 5;
pub(super) const ENOSPC: i32 = 28;
const EXDEV: i32 = 18;

impl SimWorld {
    pub(super) fn spawn(&mut self) -> Pid {
        self.next_pid += 1;
        self.living.insert(self.next_pid);
        self.next_pid
    }

    pub(super) fn check_alive(&self, pid: Pid) -> io::Result<()> {
        if self.living.contains(&pid) && !self.crashed {
            Ok(())
        } else {
            Err(io::Error::other("the simulated process has ended"))
        }
    }

    fn fault(&self, count: u64, reading: bool) -> Option<FaultKind> {
        let applies = |fault: &&Fault| {
            let due = fault.at == count || (fault.lasting && fault.at < count);
            due && reading == matches!(fault.kind, FaultKind::ReadError(_))
        };
        self.faults.iter().find(applies).map(|fault| fault.kind)
    }

    /// Counts a read; fails if a fault is due.
    pub(super) fn count_read(&mut self, pid: Pid) -> io::Result<()> {
        self.check_alive(pid)?;
        let fault = self.fault(self.reads, true);
        self.reads += 1;
        match fault {
            Some(FaultKind::ReadError(code)) => Err(os_error(code)),
            _ => Ok(()),
        }
    }

    /// Counts a change other than a write; fails if a fault is due.
    pub(super) fn count_change(&mut self, pid: Pid) -> io::Result<()> {
        match self.count_data_change(pid)? {
            None | Some(FaultKind::Full) => Ok(()),
            Some(FaultKind::Short) => Err(os_error(ENOSPC)),
            Some(_) => Err(os_error(EIO)),
        }
    }

    /// As [`SimWorld::count_change`], for a change that needs space on the disk.
    pub(super) fn count_allocating_change(&mut self, pid: Pid) -> io::Result<()> {
        match self.count_data_change(pid)? {
            None => Ok(()),
            Some(FaultKind::Short | FaultKind::Full) => Err(os_error(ENOSPC)),
            Some(_) => Err(os_error(EIO)),
        }
    }

    /// Counts a write or flush of a file; returns the fault to apply to its bytes.
    pub(super) fn count_data_change(&mut self, pid: Pid) -> io::Result<Option<FaultKind>> {
        self.check_alive(pid)?;
        let fault = self.fault(self.changes, false);
        self.changes += 1;
        match fault {
            Some(FaultKind::Crash) => {
                self.crashed = true;
                self.check_alive(pid)?;
                Ok(None)
            }
            Some(FaultKind::Error(code)) => Err(os_error(code)),
            other => Ok(other),
        }
    }

    /// Counts a flush; returns whether it is to be done.
    pub(super) fn count_flush(&mut self, why: Flush) -> bool {
        *self.flushes.entry(why).or_default() += 1;
        self.ignored != Some(why)
    }

    pub(super) fn kill(&mut self, pid: Pid) {
        self.living.remove(&pid);
        self.locks.retain(|lock| lock.pid != pid);
    }

    /// Kills all processes as SIGKILL does. What they wrote stays in the page cache, flushed or not.
    pub(super) fn end_processes(&mut self) {
        self.living.clear();
        self.locks.clear();
        self.faults.clear();
        self.crashed = false;
    }

    pub(super) fn power_cut(&mut self, survival: Survival) {
        self.end_processes();
        self.mounts += 1;
        self.tree.power_cut(survival);
    }

    pub(super) fn file(&self, path: &FilePath) -> io::Result<InodeNumber> {
        match self.tree.node(path) {
            Some(SimNode::File(inode)) => Ok(inode),
            Some(SimNode::Dir) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn stat(&self, path: &FilePath) -> Option<FileStat> {
        match self.tree.node(path)? {
            SimNode::Dir => {
                let id = FileId(self.device(path), 0, 0);
                Some(FileStat { kind: FileKind::Dir, len: 0, id, mode: 0o755, modified: 0 })
            }
            SimNode::File(inode) => Some(self.stat_inode(inode)),
        }
    }

    /// Returns the number of the device that holds a path.
    fn device(&self, path: &FilePath) -> u64 {
        let mount = self.mount_points.iter().rposition(|point| path.is_within(point));
        1 + self.mounts + mount.map_or(0, |mount| (mount as u64 + 1) << 32)
    }

    /// Flushes everything on the device of the root.
    pub(super) fn sync_all(&mut self, pid: Pid, why: Flush) -> io::Result<bool> {
        if !self.is_capable {
            return Ok(false);
        }
        match self.count_data_change(pid)? {
            None | Some(FaultKind::Full) => {}
            Some(FaultKind::FlushLost) => {
                self.tree.lose_all();
                return Err(os_error(EIO));
            }
            Some(_) => return Err(os_error(ENOSPC)),
        }
        if self.count_flush(why) {
            let mounts = self.mount_points.clone();
            self.tree.sync_where(|path| !mounts.iter().any(|point| path.is_within(point)))?;
        }
        Ok(true)
    }

    pub(super) fn change_stamp(&self, path: &FilePath) -> Option<ChangeStamp> {
        let FileStat { id, len, .. } = self.stat(path)?;
        let changed = self.tree.changed(path).filter(|_| self.is_capable)?;
        Some(ChangeStamp { id, len, changed })
    }

    pub(super) fn stat_inode(&self, inode: InodeNumber) -> FileStat {
        let facts = |file: &FileData| (file.seen.len(), file.mode, file.writes);
        let (len, mode, modified) = self.tree.file(inode).map_or((0, 0, 0), facts);
        // A copy of a disk, and some file systems at every mount, number the same files differently.
        let device = match self.mount_points.is_empty() {
            true => 1 + self.mounts,
            false => self.device(&self.tree.name_of(inode).unwrap_or_default()),
        };
        let id = FileId(device, inode.wrapping_add(self.mounts << 32), 0);
        FileStat { kind: FileKind::File, len: len as u64, id, mode, modified }
    }

    pub(super) fn create(
        &mut self,
        path: &FilePath,
        mode: FilePermissions,
    ) -> io::Result<InodeNumber> {
        let bits = match mode {
            FilePermissions::Default => 0o644,
            FilePermissions::OwnerOnly => PRIVATE_BITS,
            FilePermissions::Exact(bits) => bits,
        };
        self.tree.create(path, bits)
    }

    pub(super) fn lock(
        &mut self,
        pid: Pid,
        path: &FilePath,
        sharing: LockMode,
    ) -> io::Result<Option<LockId>> {
        if self.tree.node(path).is_none() {
            self.tree.create(path, 0o644)?;
        }
        let blocks = |held: &HeldLock| {
            let exclusive = LockMode::Exclusive;
            held.path == *path && (sharing == exclusive || held.sharing == exclusive)
        };
        if self.locks.iter().any(blocks) {
            return Ok(None);
        }
        self.next_lock += 1;
        let id = self.next_lock;
        self.locks.push(HeldLock { id, pid, path: path.clone(), sharing });
        Ok(Some(id))
    }

    /// Fails if a rename or link would cross the boundary of a mount.
    pub(super) fn check_mount(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        let mount = |path: &FilePath| {
            let above = self.mount_points.iter().filter(|point| path.is_within(point));
            above.max_by_key(|point| point.as_str().len())
        };
        if mount(from) == mount(to) { Ok(()) } else { Err(os_error(EXDEV)) }
    }

    pub(super) fn is_locked(&self, path: &FilePath) -> bool {
        let held = |lock: &HeldLock| lock.path == *path && lock.sharing == LockMode::Exclusive;
        self.locks.iter().any(held)
    }

    pub(super) fn unlock(&mut self, id: LockId) {
        self.locks.retain(|lock| lock.id != id);
    }

    pub(super) fn fail_writeback(&mut self, path: &FilePath) {
        if let Some(SimNode::File(inode)) = self.tree.node(path)
            && let Ok(file) = self.tree.file_mut(inode)
        {
            file.fail_writeback();
        }
    }

    pub(super) fn flip_bit(&mut self, path: &FilePath, byte: usize, bit: u8) {
        if let Some(SimNode::File(inode)) = self.tree.node(path) {
            self.tree.flip_bit(inode, byte, bit);
        }
    }
}
