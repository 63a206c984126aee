//! A disk that records: one file of a FUSE file system, as the backing file of a loop device.
//!
//! [`Disk`] is the content and the list of writes and flushes since it was last set. [`DiskServer`] serves it to the
//! kernel. The file is opened for direct I/O, so that there is no cache between the two.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};

use crate::blocks::{BLOCK, Blocks};

/// The name of the only file.
pub(crate) const FILE_NAME: &str = "disk.img";

const FILE: INodeNo = INodeNo(2);

/// The attributes of the file never change.
const TTL: Duration = Duration::from_secs(3600);

/// An operation on the disk.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// Bytes that a power cut may still discard.
    Write {
        /// Their offset.
        offset: u64,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// Everything before is safe.
    Flush,
}

#[derive(Debug, Default)]
struct Content {
    blocks: Blocks,
    records: Vec<Record>,
}

/// The content of a disk, and the operations on it.
#[derive(Debug)]
pub(crate) struct Disk {
    size: u64,
    content: Mutex<Content>,
}

impl Disk {
    /// Creates an empty disk.
    pub(crate) fn new(size: u64) -> Disk {
        Disk { size, content: Mutex::default() }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the content and drops the records. No device may use the disk meanwhile.
    pub(crate) fn set(&self, blocks: Blocks) {
        *self.content() = Content { blocks, records: Vec::new() };
    }

    /// Returns the number of records.
    pub(crate) fn position(&self) -> usize {
        self.content().records.len()
    }

    /// Returns the current content.
    pub(crate) fn blocks(&self) -> Blocks {
        self.content().blocks.clone()
    }

    /// Returns the records from the beginning up to `end`.
    pub(crate) fn records(&self, end: usize) -> Vec<Record> {
        self.content().records.iter().take(end).cloned().collect()
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let mut content = self.content();
        content.blocks.write(offset, bytes);
        content.records.push(Record::Write { offset, bytes: bytes.into() });
    }

    fn flush(&self) {
        self.content().records.push(Record::Flush);
    }
}

/// Serves a [`Disk`] as a file.
pub(crate) struct DiskServer {
    disk: Arc<Disk>,
}

impl DiskServer {
    /// Creates a server of `disk`.
    pub(crate) fn new(disk: Arc<Disk>) -> DiskServer {
        DiskServer { disk }
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == FILE;
        let size = if is_file { self.disk.size } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: if is_file { 1 } else { 2 },
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: u32::try_from(BLOCK).unwrap_or(512),
            flags: 0,
        }
    }
}

impl Filesystem for DiskServer {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE_NAME {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.disk.size.saturating_sub(offset).min(u64::from(size));
        let length = usize::try_from(left).unwrap_or(0);
        reply.data(&self.disk.content().blocks.read(offset, length));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if offset.saturating_add(data.len() as u64) > self.disk.size {
            return reply.error(Errno::ENOSPC);
        }
        self.disk.write(offset, data);
        reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Sent when the file is closed; it does not flush the disk.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.disk.flush();
        reply.ok();
    }
}
