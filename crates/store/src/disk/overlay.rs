//! [`OverlayDisk`]: changes in memory over a disk that is only read.
//!
//! [`OverlayDisk`] implements [`Disk`] over another disk, its base. `OverlayNames` holds the names that differ from the
//! base, `OverlayInode` the bytes of files that were created or written. Everything else is read from the base, and the
//! base is never changed. Recovery that runs on an overlay shows what it would do to the real files.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    DirEntry, DirListing, Disk, DiskFile, DiskLock, FileAccess, FileId, FileKind, FilePermissions,
    FileStat, Flush, LockMode,
};
use everturn_json::names::{FilePath, Name};

mod files;
mod names;

use files::{BaseHandle, OverlayFile, OverlayInode};
use names::{NameTarget, OverlayNames};

/// Keeps all changes in memory, and reads everything else from a base disk.
///
/// Memory use grows with the number of bytes written and names changed, not with the size of the files. Nothing is ever
/// flushed, and every lock is granted without asking the base. Other programs may change the base meanwhile. That shows
/// where the overlay has changed nothing. A file written here keeps the length it had then, and reading it fails if the
/// base file has become shorter.
pub struct OverlayDisk {
    shared: Arc<OverlayShared>,
}

/// The state that the disk and its open files share.
struct OverlayShared {
    base: Arc<dyn Disk>,
    state: RwLock<OverlayState>,
    /// The number of base files that were written. Open files look for theirs only if it has grown.
    patched: AtomicU64,
}

#[derive(Default)]
struct OverlayState {
    names: OverlayNames,
    /// Base files that were written, by their identity: all names and handles of a file share one inode.
    patched: HashMap<FileId, Arc<OverlayInode>>,
}

impl OverlayShared {
    fn read(&self) -> RwLockReadGuard<'_, OverlayState> {
        // Each change is complete before the lock is dropped, so a panic elsewhere leaves a consistent state.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, OverlayState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn patched(&self, id: FileId) -> Option<Arc<OverlayInode>> {
        self.read().patched.get(&id).cloned()
    }

    /// Returns the inode that takes the writes to a base file.
    fn patch(&self, base: &BaseHandle) -> io::Result<Arc<OverlayInode>> {
        let stat = base.file.stat()?;
        if stat.id == FileId::default() {
            let message = "the underlying disk does not identify its files";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let mut state = self.write();
        let made = state.patched.entry(stat.id).or_insert_with(|| {
            self.patched.fetch_add(1, Ordering::Release);
            Arc::new(OverlayInode::over_base(base.clone(), stat))
        });
        Ok(Arc::clone(made))
    }
}

impl OverlayState {
    /// Returns the metadata of a target, including what was written to it here.
    fn stat(&self, base: &dyn Disk, place: &NameTarget) -> io::Result<Option<FileStat>> {
        match place {
            NameTarget::Absent => Ok(None),
            NameTarget::Dir(id) => Ok(Some(new_dir(*id))),
            NameTarget::File(inode) => Ok(Some(inode.stat())),
            NameTarget::Base(path) => {
                let stat = base.stat(path)?;
                Ok(stat.map(|stat| self.patched.get(&stat.id).map_or(stat, |inode| inode.stat())))
            }
        }
    }

    fn kind(&self, base: &dyn Disk, path: &FilePath) -> io::Result<Option<FileKind>> {
        Ok(self.stat(base, &self.names.locate(path))?.map(|stat| stat.kind))
    }

    /// Fails unless something can be created or replaced at `path`.
    fn check_parent(&self, base: &dyn Disk, path: &FilePath) -> io::Result<()> {
        let parent = path.parent().ok_or(io::ErrorKind::AlreadyExists)?;
        let place = self.names.locate(&parent);
        match self.stat(base, &place)?.map(|stat| stat.kind) {
            None => Err(io::ErrorKind::NotFound.into()),
            Some(FileKind::Dir) => check_base_ancestors(base, &place),
            Some(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn check_vacant(&self, base: &dyn Disk, path: &FilePath) -> io::Result<()> {
        if self.kind(base, path)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.check_parent(base, path)
    }

    fn list(&self, base: &dyn Disk, dir: &FilePath) -> io::Result<DirListing> {
        let mut listing = match self.names.locate(dir) {
            NameTarget::Absent => return Err(io::ErrorKind::NotFound.into()),
            NameTarget::File(_) => return Err(io::ErrorKind::NotADirectory.into()),
            NameTarget::Dir(_) => DirListing::default(),
            NameTarget::Base(path) => base.list(&path)?,
        };
        let changed: Vec<(Name, NameTarget)> = self.names.children(dir).collect();
        if changed.is_empty() {
            return Ok(listing);
        }
        let entries = std::mem::take(&mut listing.entries).into_iter();
        let mut entries: BTreeMap<Name, DirEntry> =
            entries.map(|entry| (entry.name.clone(), entry)).collect();
        for (name, place) in changed {
            entries.remove(&name);
            if let Some(stat) = self.stat(base, &place)? {
                // Links are the only files and directories that have no path of their own.
                let linked = matches!(stat.kind, FileKind::File | FileKind::Dir)
                    && check_base_ancestors(base, &place).is_err();
                entries.insert(name.clone(), DirEntry { name, kind: stat.kind, linked });
            }
        }
        listing.entries = entries.into_values().collect();
        Ok(listing)
    }

    fn rename(&mut self, base: &dyn Disk, from: &FilePath, to: &FilePath) -> io::Result<()> {
        let kind = self.kind(base, from)?.ok_or(io::ErrorKind::NotFound)?;
        if from == to {
            return Ok(());
        }
        self.check_parent(base, from)?;
        self.check_parent(base, to)?;
        if to.is_within(from) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let replaced = self.kind(base, to)?;
        if replaced.is_some() {
            if replaced == Some(FileKind::Dir) || kind == FileKind::Dir {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            check_base_ancestors(base, &self.names.locate(to))?;
        }
        let uncovered = self.names.inherited_target(from);
        let covered = self.stat(base, &uncovered)?.is_some();
        self.names.rename(from, to, covered);
        Ok(())
    }

    fn remove(&mut self, base: &dyn Disk, path: &FilePath) -> io::Result<()> {
        let kind = self.kind(base, path)?.ok_or(io::ErrorKind::NotFound)?;
        self.check_parent(base, path)?;
        if kind == FileKind::Dir {
            let listing = self.list(base, path)?;
            if !listing.entries.is_empty() || !listing.refused.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
        }
        let uncovered = self.names.inherited_target(path);
        let covered = self.stat(base, &uncovered)?.is_some();
        self.names.remove(path, covered);
        Ok(())
    }
}

/// Fails if a base path cannot be written because one of its ancestors is a link: the base would refuse the change too.
fn check_base_ancestors(base: &dyn Disk, place: &NameTarget) -> io::Result<()> {
    match place {
        NameTarget::Base(path) => base.local_path(path).map(|_| ()),
        _ => Ok(()),
    }
}

fn new_dir(id: FileId) -> FileStat {
    FileStat { kind: FileKind::Dir, len: 0, id, mode: 0o755, modified: 0 }
}

/// Returns an identity that no real file has: no device has the highest number.
fn new_id() -> FileId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    FileId(u64::MAX, NEXT.fetch_add(1, Ordering::Relaxed), 0)
}

impl OverlayDisk {
    /// Returns an overlay over `base` without changes.
    #[must_use]
    pub fn new(base: Arc<dyn Disk>) -> OverlayDisk {
        let (state, patched) = (RwLock::default(), AtomicU64::new(0));
        OverlayDisk { shared: Arc::new(OverlayShared { base, state, patched }) }
    }

    /// Returns whether everything is as on the base. Writing the bytes that already exist changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let state = self.shared.read();
        state.names.is_empty() && state.patched.is_empty()
    }

    /// Returns the paths that differ from the base, sorted: names created, replaced, moved and removed, and files
    /// written. The contents of a moved directory are not listed, and a file with several names on the base is listed
    /// only by the name through which it was written.
    #[must_use]
    pub fn changed_paths(&self) -> Vec<FilePath> {
        let state = self.shared.read();
        let mut paths: Vec<FilePath> = state.names.changed().cloned().collect();
        for inode in state.patched.values() {
            paths.extend(
                inode.base_path().into_iter().flat_map(|path| state.names.visible_names(path)),
            );
        }
        paths.sort();
        paths.dedup();
        paths
    }

    fn base(&self) -> &dyn Disk {
        &*self.shared.base
    }

    fn locate(&self, path: &FilePath) -> NameTarget {
        self.shared.read().names.locate(path)
    }
}

impl Disk for OverlayDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        let shared = Arc::clone(&self.shared);
        let place = self.locate(path);
        match &place {
            NameTarget::Absent => Err(io::ErrorKind::NotFound.into()),
            NameTarget::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
            NameTarget::File(inode) => {
                Ok(Box::new(OverlayFile::of_inode(shared, Arc::clone(inode), access)))
            }
            NameTarget::Base(path) => {
                let file = Arc::from(self.base().open(path, FileAccess::Read)?);
                if access != FileAccess::Read {
                    check_base_ancestors(self.base(), &place)?;
                }
                let base = BaseHandle { file, path: path.clone() };
                Ok(Box::new(OverlayFile::of_base(shared, base, access)))
            }
        }
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.shared.write();
        state.check_vacant(self.base(), path)?;
        let inode = Arc::new(OverlayInode::new(new_id(), mode));
        state.names.put(path, NameTarget::File(Arc::clone(&inode)));
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(OverlayFile::of_inode(shared, inode, FileAccess::Append)))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        let place = self.locate(path);
        let NameTarget::Base(path) = &place else {
            return self.shared.read().stat(self.base(), &place);
        };
        // The base is not read under the lock, so that threads do not wait for each other.
        let stat = self.base().stat(path)?;
        Ok(stat.map(|stat| self.shared.patched(stat.id).map_or(stat, |inode| inode.stat())))
    }

    fn stat_with_time(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        let NameTarget::Base(path) = self.locate(path) else { return self.stat(path) };
        let stat = self.base().stat_with_time(&path)?;
        Ok(stat.map(|stat| self.shared.patched(stat.id).map_or(stat, |inode| inode.stat())))
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        let state = self.shared.read();
        if let NameTarget::Base(path) = state.names.locate(dir)
            && state.names.children(dir).next().is_none()
        {
            drop(state);
            return self.base().list(&path);
        }
        state.list(self.base(), dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        let mut state = self.shared.write();
        state.check_vacant(self.base(), path)?;
        state.names.put(path, NameTarget::Dir(new_id()));
        Ok(())
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.shared.write().rename(self.base(), from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        let mut state = self.shared.write();
        let place = state.names.locate(file);
        match state.stat(self.base(), &place)?.map(|stat| stat.kind) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(FileKind::File) => check_base_ancestors(self.base(), &place)?,
            Some(_) => return Err(io::ErrorKind::IsADirectory.into()),
        }
        state.check_vacant(self.base(), to)?;
        state.names.put(to, place);
        Ok(())
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.shared.write().remove(self.base(), path)
    }

    fn sync_dir(&self, dir: &FilePath, _why: Flush) -> io::Result<()> {
        match self.stat(dir)?.map(|stat| stat.kind) {
            Some(FileKind::Dir) => Ok(()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Always succeeds: an overlay has one process. There is no lock file.
    fn lock(&self, path: &FilePath, _sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.shared.read().check_parent(self.base(), path)?;
        Ok(Some(Box::new(OverlayLock)))
    }

    fn is_locked(&self, _path: &FilePath) -> io::Result<bool> {
        Ok(false)
    }

    fn max_open_files(&self) -> usize {
        self.base().max_open_files()
    }

    /// Returns `None` for changed paths, since they exist in memory only.
    fn local_path(&self, path: &FilePath) -> io::Result<Option<PathBuf>> {
        if self.shared.read().names.is_touched(path)
            || self.changed_paths().iter().any(|changed| changed.is_within(path))
        {
            return Ok(None);
        }
        let patched = self.base().stat(path)?.and_then(|stat| self.shared.patched(stat.id));
        if patched.is_some() { Ok(None) } else { self.base().local_path(path) }
    }
}

struct OverlayLock;

impl DiskLock for OverlayLock {
    fn describe(&self, _text: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn update(&self, _offset: u64, _text: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn release(&self) -> io::Result<()> {
        Ok(())
    }
}
