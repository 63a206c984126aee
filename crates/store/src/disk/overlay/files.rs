//! Files of the overlay: bytes that were written, over those of a base file.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::super::{
    Access, Appended, DiskFile, FileId, Flush, Kind, Mode, PRIVATE_BITS, Stat, read_full,
    read_through,
};
use super::Shared;
use everturn_json::names::FilePath;

/// In what pieces bytes that are about to be written are compared with those that are there.
const PIECE: usize = 1 << 14;

/// An open file of the base, and the path by which it was opened.
#[derive(Clone)]
pub(super) struct BaseHandle {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) path: FilePath,
}

/// A file that was created or written in the overlay.
pub(super) struct Inode {
    id: FileId,
    mode: u32,
    base: Option<BaseHandle>,
    bytes: Mutex<Bytes>,
}

impl Inode {
    /// A new, empty file.
    pub(super) fn new(id: FileId, mode: Mode) -> Inode {
        let mode = match mode {
            Mode::Usual => 0o644,
            Mode::Private => PRIVATE_BITS,
            Mode::Like(bits) => bits,
        };
        Inode { id, mode, base: None, bytes: Mutex::default() }
    }

    /// A file that is as on the base until it is written.
    pub(super) fn over(base: BaseHandle, stat: Stat) -> Inode {
        let bytes = Bytes { len: stat.len, base_len: stat.len, patches: BTreeMap::new() };
        Inode { id: stat.id, mode: stat.mode, base: Some(base), bytes: Mutex::new(bytes) }
    }

    pub(super) fn base_path(&self) -> Option<&FilePath> {
        self.base.as_ref().map(|base| &base.path)
    }

    pub(super) fn stat(&self) -> Stat {
        let len = self.bytes().len;
        Stat { kind: Kind::File, len, id: self.id, mode: self.mode, modified: 0 }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
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
                let message = "the file below was cut by another program";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
        }
        Ok(count)
    }
}

/// Part of a buffer that is to be filled from the base.
struct Gap {
    at: usize,
    len: usize,
}

/// The bytes of a file. Those that are neither in a patch nor of the base are NUL.
#[derive(Default)]
struct Bytes {
    len: u64,
    /// How many bytes of the base still count; never more than `len`.
    base_len: u64,
    /// What was written, by offset. Patches do not overlap.
    patches: BTreeMap<u64, Vec<u8>>,
}

fn end_of(start: u64, patch: &[u8]) -> u64 {
    start + patch.len() as u64
}

/// The length of a range that lies within a buffer or a patch.
fn length(start: u64, end: u64) -> usize {
    usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)
}

impl Bytes {
    /// Copies what was written into `buf`; returns how many bytes there are, and which of them the base has.
    fn read(&self, offset: u64, buf: &mut [u8]) -> (usize, Vec<Gap>) {
        let count = buf.len().min(length(offset, self.len));
        let end = offset + count as u64;
        let buf = buf.get_mut(..count).unwrap_or_default();
        buf.fill(0);
        let mut gaps = Vec::new();
        let mut gap = |from: u64, to: u64| {
            let len = length(from, to.min(self.base_len));
            if len > 0 {
                gaps.push(Gap { at: length(offset, from), len });
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

    /// Makes room for a patch from `start` to `end`; none that begins earlier reaches into it.
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
pub(super) struct OpenFile {
    shared: Arc<Shared>,
    access: Access,
    origin: Origin,
}

enum Origin {
    /// A file that was created here.
    New(Arc<Inode>),
    Base(BaseFile),
}

/// A file that was opened on the base, and perhaps written here, through whatever handle.
struct BaseFile {
    handle: BaseHandle,
    id: OnceLock<FileId>,
    inode: OnceLock<Arc<Inode>>,
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

    /// The inode if the file was written.
    fn patched(&self, shared: &Shared) -> io::Result<Option<&Inode>> {
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

impl OpenFile {
    pub(super) fn of_inode(shared: Arc<Shared>, inode: Arc<Inode>, access: Access) -> OpenFile {
        OpenFile { shared, access, origin: Origin::New(inode) }
    }

    pub(super) fn of_base(shared: Arc<Shared>, handle: BaseHandle, access: Access) -> OpenFile {
        let (id, inode, looked) = (OnceLock::new(), OnceLock::new(), AtomicU64::new(0));
        OpenFile { shared, access, origin: Origin::Base(BaseFile { handle, id, inode, looked }) }
    }

    /// The inode of the file, or the file of the base if it is as there.
    fn source(&self) -> io::Result<Result<&Inode, &dyn DiskFile>> {
        match &self.origin {
            Origin::New(inode) => Ok(Ok(inode)),
            Origin::Base(base) => Ok(base.patched(&self.shared)?.ok_or(base.handle.file.as_ref())),
        }
    }

    /// The inode that takes what is written to the file.
    fn target(&self) -> io::Result<&Inode> {
        match &self.origin {
            Origin::New(inode) => Ok(inode),
            Origin::Base(base) => match base.patched(&self.shared)? {
                Some(inode) => Ok(inode),
                None => {
                    let inode = self.shared.patch(&base.handle)?;
                    Ok(&**base.inode.get_or_init(|| inode))
                }
            },
        }
    }

    fn check(&self, access: Access) -> io::Result<()> {
        if self.access == access {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "not opened for this kind of access"))
    }

    /// Whether `bytes` stand at `offset` already. Recovery writes much that is there, and an overlay
    /// that keeps none of it stays empty.
    fn holds(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
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

impl DiskFile for OpenFile {
    fn stat(&self) -> io::Result<Stat> {
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
        self.check(Access::Write)?;
        if !bytes.is_empty() && !self.holds(offset, bytes)? {
            self.target()?.bytes().write(offset, bytes);
        }
        Ok(bytes.len())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<Appended> {
        self.check(Access::Append)?;
        let mut content = self.target()?.bytes();
        let at = content.len;
        content.write(at, bytes);
        Ok(Appended { at, written: bytes.len() })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.access == Access::Read {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "opened for reading"));
        }
        if self.stat()?.len != len {
            self.target()?.bytes().set_len(len);
        }
        Ok(())
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.check(Access::Write)?;
        if self.stat()?.len != start || end < start {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.set_len(end)
    }

    fn sync(&self, _why: Flush) -> io::Result<()> {
        Ok(())
    }
}
