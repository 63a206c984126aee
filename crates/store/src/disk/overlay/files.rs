//! [`OverlayFile`] and [`OverlayInode`]: files of the overlay, written bytes over those of a base file.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::super::{
    AppendResult, DiskFile, FileAccess, FileId, FileKind, FilePermissions, FileStat, Flush,
    PRIVATE_BITS, read_full, read_through,
};
use super::OverlayShared;
use everturn_json::names::FilePath;

/// The chunk size for comparing bytes to be written with the existing ones.
const PIECE: usize = 1 << 14;

/// An open file of the base, and the path by which it was opened.
#[derive(Clone)]
pub(super) struct BaseHandle {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) path: FilePath,
}

/// A file that was created or written in the overlay.
pub(super) struct OverlayInode {
    id: FileId,
    mode: u32,
    base: Option<BaseHandle>,
    bytes: Mutex<PatchedBytes>,
}

impl OverlayInode {
    /// Creates an empty file.
    pub(super) fn new(id: FileId, mode: FilePermissions) -> OverlayInode {
        let mode = match mode {
            FilePermissions::Default => 0o644,
            FilePermissions::OwnerOnly => PRIVATE_BITS,
            FilePermissions::Exact(bits) => bits,
        };
        OverlayInode { id, mode, base: None, bytes: Mutex::default() }
    }

    /// Creates a file that is as on the base until it is written.
    pub(super) fn over_base(base: BaseHandle, stat: FileStat) -> OverlayInode {
        let bytes = PatchedBytes { len: stat.len, base_len: stat.len, patches: BTreeMap::new() };
        OverlayInode { id: stat.id, mode: stat.mode, base: Some(base), bytes: Mutex::new(bytes) }
    }

    pub(super) fn base_path(&self) -> Option<&FilePath> {
        self.base.as_ref().map(|base| &base.path)
    }

    pub(super) fn stat(&self) -> FileStat {
        let len = self.bytes().len;
        FileStat { kind: FileKind::File, len, id: self.id, mode: self.mode, modified: 0 }
    }

    fn bytes(&self) -> MutexGuard<'_, PatchedBytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        // The base does not change, so it can be read after the lock is dropped.
        let (count, gaps) = self.bytes().read(offset, buf);
        for gap in gaps {
            let (Some(base), Some(piece)) = (&self.base, buf.get_mut(gap.at..gap.at + gap.len))
            else {
                continue;
            };
            if read_full(&*base.file, offset + gap.at as u64, piece)? < gap.len {
                let message = "the underlying file was truncated by another program";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
        }
        Ok(count)
    }
}

/// A part of a buffer that is to be filled from the base.
struct BaseGap {
    at: usize,
    len: usize,
}

/// The bytes of a file. Those that are neither in a patch nor in the base are NUL.
#[derive(Default)]
struct PatchedBytes {
    len: u64,
    /// How many bytes of the base still count; never more than `len`.
    base_len: u64,
    /// The written bytes, by offset. Patches do not overlap.
    patches: BTreeMap<u64, Vec<u8>>,
}

fn end_of(start: u64, patch: &[u8]) -> u64 {
    start + patch.len() as u64
}

/// The length of a range that lies within a buffer or a patch.
fn length(start: u64, end: u64) -> usize {
    usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)
}

impl PatchedBytes {
    /// Copies the written bytes into `buf`; returns the number of bytes read, and the gaps to fill from the base.
    fn read(&self, offset: u64, buf: &mut [u8]) -> (usize, Vec<BaseGap>) {
        let count = buf.len().min(length(offset, self.len));
        let end = offset + count as u64;
        let buf = buf.get_mut(..count).unwrap_or_default();
        buf.fill(0);
        let mut gaps = Vec::new();
        let mut gap = |from: u64, to: u64| {
            let len = length(from, to.min(self.base_len));
            if len > 0 {
                gaps.push(BaseGap { at: length(offset, from), len });
            }
        };
        let mut at = offset;
        let before = self.patches.range(..offset).next_back();
        for (start, patch) in before.into_iter().chain(self.patches.range(offset..end)) {
            let skipped = patch.get(length(*start, at)..).unwrap_or_default();
            if skipped.is_empty() {
                continue;
            }
            let from = at.max(*start);
            gap(at, from);
            let target = buf.get_mut(length(offset, from)..).unwrap_or_default();
            target.iter_mut().zip(skipped).for_each(|(to, byte)| *to = *byte);
            at = end.min(from + skipped.len() as u64);
        }
        gap(at, end);
        (count, gaps)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        let mut at = offset;
        let before = self.patches.range_mut(..=offset).next_back();
        let joined = before.filter(|(start, patch)| end_of(**start, patch) >= offset);
        let joined = joined.map(|(start, patch)| {
            let inside = patch.get_mut(length(*start, offset)..).unwrap_or_default();
            let (over, beyond) = bytes.split_at(bytes.len().min(inside.len()));
            inside.iter_mut().zip(over).for_each(|(to, byte)| *to = *byte);
            rest = beyond;
            at += over.len() as u64;
            *start
        });
        let end = end_of(at, rest);
        self.clear(at, end);
        match joined.and_then(|start| self.patches.get_mut(&start)) {
            Some(patch) => patch.extend_from_slice(rest),
            None if rest.is_empty() => {}
            None => {
                self.patches.insert(at, rest.to_vec());
            }
        }
        self.len = self.len.max(end);
    }

    /// Clears the range from `start` to `end` for a patch; no patch that starts earlier reaches into it.
    fn clear(&mut self, start: u64, end: u64) {
        while let Some(at) = self.patches.range(start..end).next().map(|(at, _)| *at) {
            let patch = self.patches.remove(&at).unwrap_or_default();
            if let Some(tail) = patch.get(length(at, end)..).filter(|tail| !tail.is_empty()) {
                self.patches.insert(end, tail.to_vec());
            }
        }
    }

    fn set_len(&mut self, len: u64) {
        self.patches.split_off(&len);
        if let Some((start, patch)) = self.patches.range_mut(..len).next_back() {
            patch.truncate(length(*start, len));
        }
        self.base_len = self.base_len.min(len);
        self.len = len;
    }
}

/// An open file of the overlay.
pub(super) struct OverlayFile {
    shared: Arc<OverlayShared>,
    access: FileAccess,
    origin: FileOrigin,
}

enum FileOrigin {
    /// A file that was created here.
    New(Arc<OverlayInode>),
    Base(BaseFile),
}

/// A file that was opened on the base, and perhaps written here, through any handle.
struct BaseFile {
    handle: BaseHandle,
    id: OnceLock<FileId>,
    inode: OnceLock<Arc<OverlayInode>>,
    /// How many base files had been written when this one was last found not to be among them.
    looked: AtomicU64,
}

impl BaseFile {
    fn id(&self) -> io::Result<FileId> {
        match self.id.get() {
            Some(id) => Ok(*id),
            None => {
                let id = self.handle.file.stat()?.id;
                Ok(*self.id.get_or_init(|| id))
            }
        }
    }

    /// Returns the inode, if the file was written.
    fn patched(&self, shared: &OverlayShared) -> io::Result<Option<&OverlayInode>> {
        if let Some(inode) = self.inode.get() {
            return Ok(Some(inode));
        }
        let count = shared.patched.load(Ordering::Acquire);
        if count == self.looked.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let found = shared.patched(self.id()?);
        self.looked.store(count, Ordering::Relaxed);
        Ok(found.map(|inode| &**self.inode.get_or_init(|| inode)))
    }
}

impl OverlayFile {
    pub(super) fn of_inode(
        shared: Arc<OverlayShared>,
        inode: Arc<OverlayInode>,
        access: FileAccess,
    ) -> OverlayFile {
        OverlayFile { shared, access, origin: FileOrigin::New(inode) }
    }

    pub(super) fn of_base(
        shared: Arc<OverlayShared>,
        handle: BaseHandle,
        access: FileAccess,
    ) -> OverlayFile {
        let (id, inode, looked) = (OnceLock::new(), OnceLock::new(), AtomicU64::new(0));
        OverlayFile {
            shared,
            access,
            origin: FileOrigin::Base(BaseFile { handle, id, inode, looked }),
        }
    }

    /// Returns the inode of the file, or the base file if it is unchanged.
    fn source(&self) -> io::Result<Result<&OverlayInode, &dyn DiskFile>> {
        match &self.origin {
            FileOrigin::New(inode) => Ok(Ok(inode)),
            FileOrigin::Base(base) => {
                Ok(base.patched(&self.shared)?.ok_or(base.handle.file.as_ref()))
            }
        }
    }

    /// Returns the inode that takes writes to the file.
    fn target(&self) -> io::Result<&OverlayInode> {
        match &self.origin {
            FileOrigin::New(inode) => Ok(inode),
            FileOrigin::Base(base) => match base.patched(&self.shared)? {
                Some(inode) => Ok(inode),
                None => {
                    let inode = self.shared.patch(&base.handle)?;
                    Ok(&**base.inode.get_or_init(|| inode))
                }
            },
        }
    }

    fn check(&self, access: FileAccess) -> io::Result<()> {
        if self.access == access {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "not opened for this kind of access"))
    }

    /// Returns whether `bytes` are at `offset` already. Recovery rewrites much that exists, and an overlay that keeps
    /// none of it stays empty.
    fn already_holds(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        if offset + bytes.len() as u64 > self.stat()?.len {
            return Ok(false);
        }
        let mut at = offset;
        let mut buf = [0; PIECE];
        for piece in bytes.chunks(PIECE) {
            let found = buf.get_mut(..piece.len()).unwrap_or_default();
            if read_full(self, at, found)? < piece.len() || found != piece {
                return Ok(false);
            }
            at += piece.len() as u64;
        }
        Ok(true)
    }
}

impl DiskFile for OverlayFile {
    fn stat(&self) -> io::Result<FileStat> {
        match self.source()? {
            Ok(inode) => Ok(inode.stat()),
            Err(base) => base.stat(),
        }
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        match self.source()? {
            Ok(inode) => inode.read_at(offset, buf),
            Err(base) => base.read_at(offset, buf),
        }
    }

    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match self.source()? {
            Ok(inode) => read_through(bytes, |buf| inode.read_at(offset, buf)),
            Err(base) => base.read_more(offset, bytes),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.check(FileAccess::Write)?;
        if !bytes.is_empty() && !self.already_holds(offset, bytes)? {
            self.target()?.bytes().write(offset, bytes);
        }
        Ok(bytes.len())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        self.check(FileAccess::Append)?;
        let mut content = self.target()?.bytes();
        let at = content.len;
        content.write(at, bytes);
        Ok(AppendResult { at, written: bytes.len() })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.access == FileAccess::Read {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "opened for reading"));
        }
        if self.stat()?.len != len {
            self.target()?.bytes().set_len(len);
        }
        Ok(())
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.check(FileAccess::Write)?;
        if self.stat()?.len != start || end < start {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.set_len(end)
    }

    fn sync(&self, _why: Flush) -> io::Result<()> {
        Ok(())
    }
}
