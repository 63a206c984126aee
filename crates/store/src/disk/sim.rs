//! [`SimDisk`]: a disk in memory that crashes, tears writes, loses data, fills up and lies on request.
//!
//! It keeps two versions of every file and directory: the one that running programs see, and the one that would remain
//! after a power cut. A flush copies the first to the second. [`SimDisk::power_cut`] discards the first, except for as
//! much of the unflushed changes as [`Survival`] allows.
//!
//! The death of a process and the loss of power differ: written data survives the first ([`SimDisk::kill`],
//! [`SimDisk::kill_all`]) and can still be lost with the second.
//!
//! Handles made by [`SimDisk::process`] act as separate processes on the same disk: each has its own locks, and each
//! can be killed separately.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    ChangeStamp, DirListing, Disk, DiskFile, DiskLock, FileAccess, FileKind, FilePermissions,
    FileStat, Flush, LockMode,
};
use everturn_json::names::FilePath;

mod faults;
mod file_data;
mod files;
mod names;
mod world;

pub use faults::{DataSurvival, Fault, FaultKind, NameSurvival, Survival};
use world::{Pid, SimWorld};

/// A simulated disk as one process uses it.
#[derive(Debug, Clone)]
pub struct SimDisk {
    world: Arc<Mutex<SimWorld>>,
    pid: Pid,
}

impl Default for SimDisk {
    fn default() -> Self {
        SimDisk::new()
    }
}

impl SimDisk {
    /// Creates an empty disk, with its first process.
    #[must_use]
    pub fn new() -> SimDisk {
        let mut world = SimWorld::default();
        let pid = world.spawn();
        SimDisk { world: Arc::new(Mutex::new(world)), pid }
    }

    /// Starts another process on the same disk.
    #[must_use]
    pub fn process(&self) -> SimDisk {
        let pid = self.world().spawn();
        SimDisk { world: Arc::clone(&self.world), pid }
    }

    /// Copies the disk as it is now, to try several continuations from one point.
    #[must_use]
    pub fn fork(&self) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.world().clone())), pid: self.pid }
    }

    /// Kills this process as SIGKILL does: its locks are released, its handles fail, its writes stay.
    pub fn kill(&self) {
        self.world().kill(self.pid);
    }

    /// Kills all processes as SIGKILL does: later processes see what they wrote, flushed or not, and a later power cut
    /// can still discard unflushed changes.
    pub fn kill_all(&self) {
        self.world().end_processes();
    }

    /// Cuts the power: every process ends, and of unflushed changes only those that `survival` allows remain.
    ///
    /// The disk is remounted with another device number and other inode numbers.
    pub fn power_cut(&self, survival: Survival) {
        self.world().power_cut(survival);
    }

    /// Schedules a fault.
    pub fn inject(&self, fault: Fault) {
        self.world().faults.push(fault);
    }

    /// Removes all injected faults.
    pub fn clear_faults(&self) {
        self.world().faults.clear();
    }

    /// From now on, flushes for this reason do nothing and report success.
    pub fn ignore_flush(&self, why: Flush) {
        self.world().ignored = Some(why);
    }

    /// Returns the number of changes (writes, creations, renames, removals, flushes) requested so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.world().changes
    }

    /// Returns the number of reads (of files, directories and metadata) requested so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.world().reads
    }

    /// Returns the number of bytes written to files so far, flushed or not.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.world().written
    }

    /// Returns whether an injected crash has happened.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.world().crashed
    }

    /// Returns the number of flushes by reason.
    #[must_use]
    pub fn flushes(&self) -> BTreeMap<Flush, u64> {
        self.world().flushes.clone()
    }

    /// Makes a directory a mount point: renames and links across its boundary fail.
    pub fn mount_at(&self, dir: &FilePath) {
        self.world().mount_points.push(dir.clone());
    }

    /// Makes the disk capable of flushing everything at once and of telling changes by their times, as the usual file
    /// systems are on a new system.
    pub fn make_capable(&self) {
        self.world().is_capable = true;
    }

    /// Makes all further links fail, as on a file system without hard links.
    pub fn refuse_links(&self) {
        self.world().refuses_links = true;
    }

    /// Makes the background write of a file fail. Its unflushed bytes stay in the page cache and never reach the disk,
    /// which has NUL where the file has grown. The next flush reports the error; later ones succeed.
    ///
    /// As on ext4, bytes that are rewritten into these cached pages do not reach the disk either, until
    /// [`DiskFile::drop_cache`] has dropped the pages.
    pub fn fail_writeback(&self, path: &FilePath) {
        self.world().fail_writeback(path);
    }

    /// Flips one bit of a file at rest. Does nothing beyond its end.
    pub fn flip_bit(&self, path: &FilePath, byte: usize, bit: u8) {
        self.world().flip_bit(path, byte, bit);
    }

    /// Puts a file on the disk as if it had always existed: visible, and safe from power cuts.
    ///
    /// It replaces a file of the same name, including its unflushed changes.
    pub fn put_file(&self, path: &FilePath, content: &[u8]) {
        self.world().tree.put(path, content);
    }

    /// Returns every file that programs see, with its content.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<FilePath, Vec<u8>> {
        self.world().contents()
    }

    /// Returns every directory that programs see, except the root.
    #[must_use]
    pub fn dirs(&self) -> Vec<FilePath> {
        self.world().dirs()
    }

    fn world(&self) -> MutexGuard<'_, SimWorld> {
        // A test that panics elsewhere leaves the world in a valid state.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.world();
        world.count_read(self.pid)?;
        let inode = world.file(path)?;
        Ok(Box::new(files::SimFile::new(self.clone(), inode, access)))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.world();
        world.count_allocating_change(self.pid)?;
        let inode = world.create(path, mode)?;
        Ok(Box::new(files::SimFile::new(self.clone(), inode, FileAccess::Append)))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        let mut world = self.world();
        world.count_read(self.pid)?;
        Ok(world.stat(path))
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        let mut world = self.world();
        world.count_read(self.pid)?;
        world.list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        let mut world = self.world();
        world.count_allocating_change(self.pid)?;
        world.create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        let mut world = self.world();
        world.count_change(self.pid)?;
        world.check_mount(from, to)?;
        world.rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        let mut world = self.world();
        world.count_allocating_change(self.pid)?;
        world.check_mount(file, to)?;
        if world.refuses_links {
            return Err(io::ErrorKind::Unsupported.into());
        }
        world.link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        let mut world = self.world();
        world.count_change(self.pid)?;
        world.remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        let mut world = self.world();
        world.count_change(self.pid)?;
        if world.stat(dir).is_none_or(|stat| stat.kind != FileKind::Dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if world.count_flush(why) {
            world.sync_dir(dir);
        }
        Ok(())
    }

    fn sync_all(&self, why: Flush) -> io::Result<bool> {
        self.world().sync_all(self.pid, why)
    }

    fn change_stamp(&self, path: &FilePath) -> io::Result<Option<ChangeStamp>> {
        let mut world = self.world();
        world.count_read(self.pid)?;
        Ok(world.change_stamp(path))
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        let mut world = self.world();
        world.count_change(self.pid)?;
        let Some(lock) = world.lock(self.pid, path, sharing)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(files::SimLock::new(self.clone(), path.clone(), lock))))
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        let mut world = self.world();
        world.count_read(self.pid)?;
        Ok(world.is_locked(path))
    }
}
