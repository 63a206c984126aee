//! Open files and locks of the simulated disk.

use std::io;

use super::super::{AppendResult, DiskFile, DiskLock, FileAccess, FileStat, Flush};
use super::SimDisk;
use super::faults::FaultKind;
use super::file_data::{FileData, InodeNumber};
use super::world::{EIO, ENOSPC, LockId, SimWorld};
use everturn_json::names::FilePath;

/// The block size for allocating space on the disk.
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(super) struct SimFile {
    disk: SimDisk,
    inode: InodeNumber,
    access: FileAccess,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, inode: InodeNumber, access: FileAccess) -> SimFile {
        SimFile { disk, inode, access }
    }

    /// Checks the access mode of the file and the faults; returns how many of `len` bytes are to be written at
    /// `offset`, or at the end.
    fn begin_write(
        &self,
        world: &mut SimWorld,
        access: FileAccess,
        offset: Option<usize>,
        len: usize,
    ) -> io::Result<usize> {
        if self.access != access {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "not opened for this kind of access",
            ));
        }
        match world.count_data_change(self.disk.pid)? {
            None => Ok(len),
            Some(FaultKind::Full) => {
                let now = self.data(world)?.seen.len();
                let then = offset.unwrap_or(now) + len;
                // The last block of a file has space up to its end.
                let fits = then.div_ceil(BLOCK) <= now.div_ceil(BLOCK);
                if fits { Ok(len) } else { Err(io::Error::from_raw_os_error(ENOSPC)) }
            }
            Some(FaultKind::Short) if len > 1 => Ok(len / 2),
            Some(FaultKind::Short) => Err(io::Error::from_raw_os_error(ENOSPC)),
            Some(_) => Err(io::Error::from_raw_os_error(EIO)),
        }
    }

    fn data<'a>(&self, world: &'a mut SimWorld) -> io::Result<&'a mut FileData> {
        world.tree.file_mut(self.inode)
    }
}

impl DiskFile for SimFile {
    fn stat(&self) -> io::Result<FileStat> {
        let mut world = self.disk.world();
        world.count_read(self.disk.pid)?;
        Ok(world.stat_inode(self.inode))
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut world = self.disk.world();
        world.count_read(self.disk.pid)?;
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let data = self.data(&mut world)?;
        let rest = data.seen.get(offset..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        for (to, from) in buf.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.disk.world();
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let count = self.begin_write(&mut world, FileAccess::Write, Some(offset), bytes.len())?;
        let data = world.tree.changed_file(self.inode)?;
        data.write_at(offset, bytes.get(..count).unwrap_or_default());
        world.written += count as u64;
        Ok(count)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        let mut world = self.disk.world();
        let written = self.begin_write(&mut world, FileAccess::Append, None, bytes.len())?;
        let data = world.tree.changed_file(self.inode)?;
        let at = data.seen.len();
        data.write_at(at, bytes.get(..written).unwrap_or_default());
        world.written += written as u64;
        Ok(AppendResult { at: at as u64, written })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.access == FileAccess::Read {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "opened for reading"));
        }
        let mut world = self.disk.world();
        world.count_change(self.disk.pid)?;
        let len = usize::try_from(len).map_err(io::Error::other)?;
        world.tree.changed_file(self.inode)?.set_len(len);
        Ok(())
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        world.count_allocating_change(self.disk.pid)?;
        let data = self.data(&mut world)?;
        if data.seen.len() as u64 != start || self.access != FileAccess::Write {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let end = usize::try_from(end).map_err(io::Error::other)?;
        world.tree.changed_file(self.inode)?.set_len(end);
        Ok(())
    }

    fn drop_cache(&self) -> io::Result<()> {
        let mut world = self.disk.world();
        world.count_read(self.disk.pid)?;
        self.data(&mut world)?.drop_cache();
        Ok(())
    }

    fn sync(&self, why: Flush) -> io::Result<()> {
        let mut world = self.disk.world();
        match world.count_data_change(self.disk.pid)? {
            None | Some(FaultKind::Full) => {
                if world.count_flush(why) && self.data(&mut world)?.flush() {
                    return Err(io::Error::from_raw_os_error(EIO));
                }
                Ok(())
            }
            Some(FaultKind::FlushLost) => {
                self.data(&mut world)?.lose_unflushed();
                Err(io::Error::from_raw_os_error(EIO))
            }
            Some(_) => Err(io::Error::from_raw_os_error(ENOSPC)),
        }
    }
}

#[derive(Debug)]
pub(super) struct SimLock {
    disk: SimDisk,
    path: FilePath,
    id: LockId,
}

impl SimLock {
    pub(super) fn new(disk: SimDisk, path: FilePath, id: LockId) -> SimLock {
        SimLock { disk, path, id }
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.world().unlock(self.id);
    }
}

impl DiskLock for SimLock {
    fn describe(&self, text: &[u8]) -> io::Result<()> {
        let mut world = self.disk.world();
        world.count_change(self.disk.pid)?;
        let inode = world.file(&self.path)?;
        let data = world.tree.file_mut(inode)?;
        data.write_at(0, text);
        data.set_len(text.len());
        Ok(())
    }

    fn update(&self, offset: u64, text: &[u8]) -> io::Result<()> {
        let mut world = self.disk.world();
        world.check_alive(self.disk.pid)?;
        let inode = world.file(&self.path)?;
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        world.tree.file_mut(inode)?.write_at(offset, text);
        Ok(())
    }

    fn release(&self) -> io::Result<()> {
        let mut world = self.disk.world();
        world.count_change(self.disk.pid)?;
        world.remove(&self.path)
    }
}
