//! A disk in memory that crashes, tears, loses, fills up and lies on request.
//!
//! It keeps two pictures of every file and directory: what running programs see, and what would be left
//! after a power cut. A flush carries the first into the second. [`SimDisk::power_cut`] throws away the
//! first, except for as much of the unflushed changes as [`Survival`] lets through.
//!
//! The death of a process and the loss of power differ: what was written survives the first
//! ([`SimDisk::kill`], [`SimDisk::kill_all`]) and can still be lost with the second.
//!
//! Handles made by [`SimDisk::process`] act as separate processes on the one disk: each has its own
//! locks, and each can be killed by itself.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    DirListing, Disk, DiskFile, DiskLock, FileAccess, FileKind, FilePermissions, FileStat, Flush,
    LockMode,
};
use everturn_json::names::FilePath;

mod files;
mod names;
mod world;

pub use world::{DataSurvival, Fault, FaultKind, NameSurvival, Survival};
use world::{Pid, SimWorld};

/// One process's view of a simulated disk.
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
    /// An empty disk, seen by its first process.
    #[must_use]
    pub fn new() -> SimDisk {
        let mut world = SimWorld::default();
        let pid = world.spawn();
        SimDisk { world: Arc::new(Mutex::new(world)), pid }
    }

    /// Another process on the same disk.
    #[must_use]
    pub fn process(&self) -> SimDisk {
        let pid = self.world().spawn();
        SimDisk { world: Arc::clone(&self.world), pid }
    }

    /// A copy of the disk as it is now, for trying several ways to go on from one moment.
    #[must_use]
    pub fn fork(&self) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.world().clone())), pid: self.pid }
    }

    /// Ends this process as SIGKILL does: its locks are free, its handles fail, its writes stay.
    pub fn kill(&self) {
        self.world().kill(self.pid);
    }

    /// Ends all processes as SIGKILL does: what they wrote is seen by the next ones, flushed or not, and a
    /// later power cut can still take what was not flushed.
    pub fn kill_all(&self) {
        self.world().end_processes();
    }

    /// Cuts the power: every process ends, and of unflushed changes only what `survival` says is left.
    ///
    /// The disk is mounted again under another device number, with other inode numbers.
    pub fn power_cut(&self, survival: Survival) {
        self.world().power_cut(survival);
    }

    /// Lets something go wrong later.
    pub fn inject(&self, fault: Fault) {
        self.world().faults.push(fault);
    }

    /// Forgets all faults that were injected.
    pub fn clear_faults(&self) {
        self.world().faults.clear();
    }

    /// From now on, flushes of this kind do nothing and report success.
    pub fn ignore_flush(&self, why: Flush) {
        self.world().ignored = Some(why);
    }

    /// How many changes (writes, creations, renames, removals, flushes) were asked for so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.world().changes
    }

    /// How many reads (of files, directories and facts about them) were asked for so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.world().reads
    }

    /// How many bytes were written to files so far, flushed or not.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.world().written
    }

    /// Whether an injected crash has happened.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.world().crashed
    }

    /// How many flushes were done, by reason.
    #[must_use]
    pub fn flushes(&self) -> BTreeMap<Flush, u64> {
        self.world().flushes.clone()
    }

    /// Makes a directory a mount point: renames and links across its border fail.
    pub fn mount_at(&self, dir: &FilePath) {
        self.world().mount_points.push(dir.clone());
    }

    /// Makes all further links fail, as on a file system that has none.
    pub fn refuse_links(&self) {
        self.world().refuses_links = true;
    }

    /// Lets the background write of a file fail. Its unflushed bytes stay in the page cache and never reach the
    /// disk, which has NUL where the file has grown. The next flush reports the error; later ones succeed.
    ///
    /// As on ext4, bytes that are written into these cached pages again do not reach the disk either, until
    /// [`DiskFile::drop_cache`] has dropped the pages.
    pub fn fail_writeback(&self, path: &FilePath) {
        self.world().fail_writeback(path);
    }

    /// Flips one bit of a file at rest. Does nothing beyond its end.
    pub fn flip_bit(&self, path: &FilePath, byte: usize, bit: u8) {
        self.world().flip_bit(path, byte, bit);
    }

    /// Puts a file on the disk as if it had always been there: seen, and safe from power cuts.
    ///
    /// It takes the place of a file of the same name, together with what was not flushed of it.
    pub fn put_file(&self, path: &FilePath, content: &[u8]) {
        self.world().tree.put(path, content);
    }

    /// Every file that programs see, with its content.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<FilePath, Vec<u8>> {
        self.world().contents()
    }

    /// Every directory that programs see, without the root.
    #[must_use]
    pub fn dirs(&self) -> Vec<FilePath> {
        self.world().dirs()
    }

    fn world(&self) -> MutexGuard<'_, SimWorld> {
        // A test that panics elsewhere leaves the world as it was; it is still a world.
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
