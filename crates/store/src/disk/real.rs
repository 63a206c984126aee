//! [`RealDisk`]: the files of the operating system, below one root.
#![expect(clippy::disallowed_methods, reason = "this is the only module that accesses real files")]

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::root_dir::{NameInDir, RootDir, open_to_read};
use super::whole::{self, FileSystemFacts};
use super::{
    AppendResult, ChangeStamp, DirEntry, DirListing, Disk, DiskFile, DiskLock, FileAccess,
    FileKind, FilePermissions, FileStat, Flush, LockMode, PauseRequest, WeakMount, is_full, mounts,
    platform,
};
use everturn_json::names::{FilePath, Name, NameError};

/// The maximum number of directories that are remembered to lie within the root.
const MAX_KNOWN_DIRS: usize = 4096;

/// The real disk: everything below one directory.
///
/// For reading, links are followed as long as they stay below that directory; a link that leads out is refused. Nothing
/// is written through a link: a file with two names would have two writers.
#[derive(Debug)]
pub struct RealDisk {
    /// The canonical path of the root.
    root: PathBuf,
    base: platform::Base,
    /// The handle through which everything is changed.
    beneath: Arc<RootDir>,
    /// Directories that were found to lie within the root.
    known_dirs: Mutex<HashSet<Box<str>, foldhash::fast::RandomState>>,
    flushes: Arc<AtomicU64>,
    /// What the file system of the root offers, once it was asked.
    facts: OnceLock<FileSystemFacts>,
}

impl RealDisk {
    /// Opens the disk below `root`, which must be a directory.
    pub fn open(root: &Path) -> io::Result<RealDisk> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let base = platform::base(&root)?;
        let beneath = Arc::new(RootDir::new(File::open(&root)?));
        let known_dirs = Mutex::default();
        let (flushes, facts) = (Arc::default(), OnceLock::new());
        Ok(RealDisk { root, base, beneath, known_dirs, flushes, facts })
    }

    /// Opens the disk below `root`, which is created with its ancestors if necessary.
    pub fn create(root: &Path) -> io::Result<RealDisk> {
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        fs::create_dir_all(root)?;
        for dir in missing {
            let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
            File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        RealDisk::open(root)
    }

    /// Returns the root directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Raises the limit of open files of this process to `most`, as far as the system permits.
    pub fn allow_open_files(most: u64) -> io::Result<()> {
        let limit = getrlimit(Resource::Nofile);
        let allowed = limit.maximum.map_or(most, |maximum| maximum.min(most));
        if limit.current.is_some_and(|current| current < allowed) {
            setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limit })?;
        }
        Ok(())
    }

    /// Returns how many times files and directories were flushed.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    /// Returns the file systems that hold the root, or something below it, on which a commit may not survive a power
    /// cut, according to the text of `/proc/self/mountinfo`. Unknown ones are omitted.
    #[must_use]
    pub fn weak_mounts(&self, mountinfo: &str) -> Vec<WeakMount> {
        let own_options = |device: &str| {
            let block = fs::read_link(Path::new("/sys/dev/block").join(device)).ok()?;
            let dir = Path::new("/proc/fs/ext4").join(block.file_name()?);
            fs::read_to_string(dir.join("options")).ok()
        };
        mounts::weak_mounts(mountinfo, &self.root, own_options)
    }

    fn facts(&self) -> FileSystemFacts {
        *self.facts.get_or_init(|| whole::facts(&self.base))
    }

    /// Returns the canonical location of `path`, for reading.
    fn resolve(&self, path: &FilePath) -> io::Result<PathBuf> {
        match self.root.join(path.as_str()).canonicalize() {
            Ok(place) => self.require_inside_root(place),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading, step by step. A link that leads nowhere is not a missing file: something is there.
    fn open_resolved(&self, path: &FilePath) -> io::Result<File> {
        let opened = self.resolve(path).and_then(|place| open_to_read(&place));
        opened.map_err(|error| match fs::symlink_metadata(self.root.join(path.as_str())) {
            Ok(data) if data.is_symlink() && is_absence(&error) => not_a_file(),
            _ => error,
        })
    }

    /// Returns the name `path` itself, for changing it: no ancestor may be a link.
    fn entry<'a>(&'a self, path: &'a FilePath) -> io::Result<NameInDir<'a>> {
        self.beneath.entry(path).map_err(|error| self.explain_link_error(path, error))
    }

    /// As [`RealDisk::entry`], for something that is to be replaced, which must not be a link itself.
    fn replaceable_entry<'a>(&'a self, path: &'a FilePath) -> io::Result<NameInDir<'a>> {
        let entry = self.entry(path)?;
        match entry.stat() {
            Ok(stat) if stat.kind == FileKind::Other => Err(link_error()),
            _ => Ok(entry),
        }
    }

    /// Explains why a path could not be opened for a change: checks each component for a link. The result only informs.
    fn explain_link_error(&self, path: &FilePath, error: io::Error) -> io::Error {
        let code = error.raw_os_error().map(Errno::from_raw_os_error);
        if !matches!(code, Some(Errno::LOOP | Errno::NOTDIR | Errno::XDEV)) {
            return error;
        }
        let mut steps: Vec<FilePath> = path.ancestors().collect();
        steps.reverse();
        for step in steps.iter().chain([path]) {
            let place = self.root.join(step.as_str());
            if !fs::symlink_metadata(&place).is_ok_and(|data| data.is_symlink()) {
                continue;
            }
            let outside = place.canonicalize().map(|place| self.require_inside_root(place));
            return match outside {
                // A name that is a link itself is refused wherever it leads.
                Ok(Err(outside)) if step != path => outside,
                _ => link_error(),
            };
        }
        error
    }

    fn require_inside_root(&self, place: PathBuf) -> io::Result<PathBuf> {
        if place.starts_with(&self.root) {
            return Ok(place);
        }
        let message = format!("is a link to {}, outside the root", place.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }

    /// Refuses a path whose directories lead out of the root. Called often, so results are cached; opening or changing
    /// a file always checks again.
    fn check_ancestors(&self, path: &FilePath) -> io::Result<()> {
        let Some((dir, _)) = path.as_str().rsplit_once('/') else { return Ok(()) };
        let mut known = self.known_dirs.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(dir) {
            self.require_inside_root(self.root.join(dir).canonicalize()?)?;
            if known.len() >= MAX_KNOWN_DIRS {
                known.clear();
            }
            known.insert(dir.into());
        }
        Ok(())
    }

    /// Returns the metadata of a link's target, unless that lies outside the root or does not exist.
    fn resolve_link(&self, link: &Path, stat: FileStat) -> io::Result<FileStat> {
        match link.canonicalize() {
            Ok(target) if target.starts_with(&self.root) => platform::of_entry(&target),
            Ok(_outside) => Ok(FileStat { kind: FileKind::LinkOutside, ..stat }),
            Err(error) if is_absence(&error) => Ok(stat),
            Err(error) => Err(error),
        }
    }

    /// Returns the metadata of `path` as `look` finds it.
    fn stat_by(
        &self,
        path: &FilePath,
        look: fn(&platform::Base, &str) -> io::Result<FileStat>,
    ) -> io::Result<Option<FileStat>> {
        let looked = self.check_ancestors(path).and_then(|()| look(&self.base, path.as_str()));
        match looked {
            Ok(stat) if stat.kind == FileKind::Other => {
                Ok(Some(self.resolve_link(&self.root.join(path.as_str()), stat)?))
            }
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn entry_of(&self, name: Name, found: &fs::DirEntry) -> io::Result<DirEntry> {
        let kind = found.file_type()?;
        let linked = kind.is_symlink();
        let kind = if kind.is_file() {
            FileKind::File
        } else if kind.is_dir() {
            FileKind::Dir
        } else {
            self.resolve_link(&found.path(), platform::of_entry(&found.path())?)?.kind
        };
        Ok(DirEntry { name, kind, linked })
    }

    fn lock_as(&self, path: &FilePath, mode: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        let entry = self.entry(path)?;
        loop {
            let (file, denied) = match entry.open_or_create() {
                Ok(file) => (file, None),
                // The file of another user. Reading is enough to share the lock, or to see that it is taken.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    match entry.open_to_read() {
                        Ok(file) => (file, Some(error)),
                        Err(_) => return Err(error),
                    }
                }
                Err(error) => return Err(refuse_lock(&entry, error)),
            };
            let opened = platform::of_file(&file)?;
            if opened.kind != FileKind::File {
                return Err(lock_unsupported());
            }
            let taken = match mode {
                LockMode::Shared => file.try_lock_shared(),
                LockMode::Exclusive => file.try_lock(),
            };
            match (taken, denied) {
                (Err(TryLockError::WouldBlock), _) => return Ok(None),
                (Err(TryLockError::Error(error)), _) => return Err(error),
                (Ok(()), Some(error)) if mode == LockMode::Exclusive => return Err(error),
                (Ok(()), _) => {}
            }
            // The previous owner may have removed the file between our open and our lock; then the lock is on a file
            // that no other process will find.
            if entry.stat().is_ok_and(|named| named.id.is_same_inode(opened.id)) {
                let (beneath, path) = (Arc::clone(&self.beneath), path.clone());
                return Ok(Some(Box::new(RealLock { file, beneath, path })));
            }
        }
    }
}

fn link_error() -> io::Error {
    let message =
        "contains a symbolic link, and everturn does not write through links; use the real path";
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// The error for something that is not a regular file, and has the name of one.
pub(crate) fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "is not a regular file")
}

/// Explains why a lock that is a link cannot be opened. The lock owner writes into the file, which must not be one that
/// belongs to something else.
fn refuse_lock(entry: &NameInDir<'_>, error: io::Error) -> io::Error {
    if entry.stat().is_ok_and(|stat| stat.kind == FileKind::Other) {
        lock_unsupported()
    } else {
        error
    }
}

fn lock_unsupported() -> io::Error {
    let message = "is a link or a special file; a lock must be a regular file";
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Returns whether an error means that nothing exists there: no such name, or a file in place of a directory.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Disk for RealDisk {
    fn local_path(&self, path: &FilePath) -> io::Result<Option<PathBuf>> {
        // A path that another library opens can only be checked beforehand.
        self.replaceable_entry(path)?;
        Ok(Some(self.root.join(path.as_str())))
    }

    fn request_pause(&self, file: &FilePath) -> io::Result<Option<Box<dyn PauseRequest>>> {
        let file = open_to_read(&self.resolve(file)?)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Box::new(HeldPause { _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn max_open_files(&self) -> usize {
        let most = getrlimit(Resource::Nofile).current;
        most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        let opened = match access {
            // If the quick way fails, resolving the path step by step shows why.
            FileAccess::Read => match platform::open_below(&self.base, path.as_str()) {
                Some(file) => Ok(file),
                None => self.open_resolved(path),
            },
            FileAccess::Append => self.beneath.open(path, true),
            FileAccess::Write => self.beneath.open(path, false),
        };
        let file = opened.map_err(|error| self.explain_link_error(path, error))?;
        if platform::of_file(&file)?.kind != FileKind::File {
            return Err(not_a_file());
        }
        Ok(Box::new(RealFile { file, flushes: Arc::clone(&self.flushes) }))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        let created = self.beneath.create(path, mode);
        let file = created.map_err(|error| self.explain_link_error(path, error))?;
        Ok(Box::new(RealFile { file, flushes: Arc::clone(&self.flushes) }))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.stat_by(path, platform::below)
    }

    fn stat_with_time(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.stat_by(path, platform::below_with_time)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        let mut listing = DirListing::default();
        for entry in fs::read_dir(self.resolve(dir)?)? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let text = name.to_str().ok_or_else(|| NameError::NotUtf8 { name: shown.to_string() });
            match text.and_then(Name::parse) {
                Ok(name) => match self.entry_of(name, &entry) {
                    Ok(entry) => listing.entries.push(entry),
                    // It was removed while we listed the directory.
                    Err(error) if is_absence(&error) => {}
                    Err(error) => return Err(error),
                },
                Err(reason) => listing.refused.push((shown.into_owned(), reason)),
            }
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        listing.refused.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(listing)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.entry(path)?.create_dir()
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.entry(from)?.rename_to(&self.replaceable_entry(to)?)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.replaceable_entry(file)?.link_to(&self.entry(to)?)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.entry(path)?.remove()
    }

    fn sync_dir(&self, dir: &FilePath, _why: Flush) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let opened =
            self.beneath.open_dir(dir).map_err(|error| self.explain_link_error(dir, error));
        opened?.sync_all()
    }

    fn sync_all(&self, _why: Flush) -> io::Result<bool> {
        if !self.facts().flushes_whole || !whole::has_little_unwritten() {
            return Ok(false);
        }
        self.flushes.fetch_add(1, Ordering::Relaxed);
        // The root was opened before anything was written, so errors of earlier background writes are reported.
        whole::sync_whole(&self.base)?;
        Ok(true)
    }

    fn change_stamp(&self, path: &FilePath) -> io::Result<Option<ChangeStamp>> {
        if !self.facts().has_exact_times {
            return Ok(None);
        }
        let found = self.stat_by(path, platform::below_with_change)?;
        Ok(found.filter(|stat| stat.modified > 0).map(|stat| ChangeStamp {
            id: stat.id,
            len: stat.len,
            changed: stat.modified,
        }))
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.lock_as(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        let file = match self.open(path, FileAccess::Read) {
            Ok(_) => File::open(self.resolve(path)?)?,
            Err(error) if is_absence(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
    /// The flush counter of the disk that opened the file.
    flushes: Arc<AtomicU64>,
}

impl DiskFile for RealFile {
    fn stat(&self) -> io::Result<FileStat> {
        platform::of_file(&self.file)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.file, buf, offset)
    }

    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        platform::read_more(&self.file, offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(&self.file, bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        let mut file = &self.file;
        let written = file.write(bytes)?;
        let at = file.stream_position()?.saturating_sub(written as u64);
        Ok(AppendResult { at, written })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        let reserved = platform::reserve(&self.file, start, end);
        if reserved.is_err() {
            // A partial reservation is of no use, and others may need the space.
            self.file.set_len(start)?;
        }
        reserved
    }

    fn sync(&self, _why: Flush) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn is_pause_requested(&self) -> bool {
        match self.file.try_lock() {
            Ok(()) => {
                // The lock means nothing to others; if unlocking fails, readers do not wait for it.
                drop(self.file.unlock());
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn drop_cache(&self) -> io::Result<()> {
        platform::drop_cache(&self.file)
    }
}

/// Holds a shared lock on the file of another process.
struct HeldPause {
    _file: File,
}

impl PauseRequest for HeldPause {}

#[derive(Debug)]
struct RealLock {
    file: File,
    beneath: Arc<RootDir>,
    path: FilePath,
}

impl DiskLock for RealLock {
    fn describe(&self, text: &[u8]) -> io::Result<()> {
        // In this order, so that on a full disk the new text can use the space of an old one.
        match FileExt::write_all_at(&self.file, text, 0) {
            Err(error) if !is_full(&error) => Err(error),
            _ => self.file.set_len(text.len() as u64),
        }
    }

    fn update(&self, offset: u64, text: &[u8]) -> io::Result<()> {
        FileExt::write_all_at(&self.file, text, offset)
    }

    fn release(&self) -> io::Result<()> {
        // Removed while still locked: a process that waits for this file will find that its name is gone.
        self.beneath.entry(&self.path)?.remove()
    }
}
