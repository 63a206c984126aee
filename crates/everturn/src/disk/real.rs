//! The files of the operating system, below one root.
#![expect(clippy::disallowed_methods, reason = "this is the one place that touches real files")]

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Access, Appended, Disk, DiskFile, DiskLock, Entry, Flush, Kind, Listing, Mode, PRIVATE_BITS,
    Sharing, Stat, facts,
};
use crate::names::{FilePath, Name, NameError};

/// How many directories are remembered to lie within the root.
const MAX_KNOWN_DIRS: usize = 4096;

/// The real disk: everything below one directory.
///
/// For reading, links are followed as long as they stay below that directory; one that leads out is
/// refused. Nothing is written through a link: a file that had two names would have two writers.
#[derive(Debug)]
pub struct RealDisk {
    /// The real path of the root, without links in it.
    root: PathBuf,
    base: facts::Base,
    /// Directories that were found to lie within the root.
    known_dirs: Mutex<HashSet<Box<str>, foldhash::fast::RandomState>>,
    flushes: Arc<AtomicU64>,
}

impl RealDisk {
    /// The disk below `root`, which must be a directory.
    pub fn open(root: &Path) -> io::Result<RealDisk> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let base = facts::base(&root)?;
        Ok(RealDisk { root, base, known_dirs: Mutex::default(), flushes: Arc::default() })
    }

    /// The disk below `root`, which is created with the directories above it if need be.
    pub fn create(root: &Path) -> io::Result<RealDisk> {
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        fs::create_dir_all(root)?;
        for dir in missing {
            let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
            File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        RealDisk::open(root)
    }

    /// The root directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many times files and directories were flushed.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    /// Where `path` really lies, all links followed, for reading it.
    fn resolve(&self, path: &FilePath) -> io::Result<PathBuf> {
        match self.root.join(path.as_str()).canonicalize() {
            Ok(place) => self.inside(place),
            Err(error) => Err(error),
        }
    }

    /// Where the name `path` itself lies, for changing it: no link may be on the way.
    fn entry(&self, path: &FilePath) -> io::Result<PathBuf> {
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            return Ok(self.root.clone());
        };
        let dir = self.root.join(parent.as_str());
        if self.inside(dir.canonicalize()?)? != dir {
            return Err(through_link());
        }
        Ok(dir.join(name.as_str()))
    }

    /// The same for something that is to be written, which must not be a link itself.
    fn target(&self, path: &FilePath) -> io::Result<PathBuf> {
        let place = self.entry(path)?;
        match facts::of_entry(&place) {
            Ok(stat) if stat.kind == Kind::Other => Err(through_link()),
            _ => Ok(place),
        }
    }

    fn inside(&self, place: PathBuf) -> io::Result<PathBuf> {
        if place.starts_with(&self.root) {
            return Ok(place);
        }
        let message = format!("is a link that leads out of the root, to {}", place.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }

    /// Refuses a path whose directories lead out of the root. Asked often, so answers are remembered;
    /// whatever opens or changes a file looks anew.
    fn check_way(&self, path: &FilePath) -> io::Result<()> {
        let Some((dir, _)) = path.as_str().rsplit_once('/') else { return Ok(()) };
        let mut known = self.known_dirs.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(dir) {
            self.inside(self.root.join(dir).canonicalize()?)?;
            if known.len() >= MAX_KNOWN_DIRS {
                known.clear();
            }
            known.insert(dir.into());
        }
        Ok(())
    }

    /// What a link stands for: what it leads to, unless that lies outside or is nothing.
    fn follow(&self, link: &Path, stat: Stat) -> io::Result<Stat> {
        match link.canonicalize() {
            Ok(target) if target.starts_with(&self.root) => facts::of_entry(&target),
            Ok(_outside) => Ok(Stat { kind: Kind::LinkOutside, ..stat }),
            Err(error) if is_absence(&error) => Ok(stat),
            Err(error) => Err(error),
        }
    }

    fn entry_of(&self, name: Name, found: &fs::DirEntry) -> io::Result<Entry> {
        let kind = found.file_type()?;
        let linked = kind.is_symlink();
        let kind = if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Dir
        } else {
            self.follow(&found.path(), facts::of_entry(&found.path())?)?.kind
        };
        Ok(Entry { name, kind, linked })
    }

    fn lock_by(
        &self,
        path: &FilePath,
        take: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Option<Box<dyn DiskLock>>> {
        let place = self.entry(path)?;
        if fs::symlink_metadata(&place).is_ok_and(|data| data.is_symlink()) {
            // Whoever holds a lock writes into its file, which must not be somebody else's.
            let message = "is a link, and a lock must be a file";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        loop {
            let file =
                File::options().read(true).write(true).create(true).truncate(false).open(&place)?;
            match take(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The holder before us may have removed the file between our open and our lock; then the
            // lock is on a file that nobody else will find.
            let named = facts::of_entry(&place).ok().map(|stat| stat.id);
            if named == Some(facts::of_file(&file)?.id) {
                return Ok(Some(Box::new(RealLock { file, place })));
            }
        }
    }
}

fn through_link() -> io::Error {
    let message = "leads through a link, and nothing is written through links; name the real place";
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Whether an error means that nothing stands there: no such name, or a file where a directory would be.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn create_with(place: &Path, mode: Mode) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create_new(true);
    match mode {
        Mode::Usual => options.open(place),
        Mode::Private => options.mode(PRIVATE_BITS).open(place),
        Mode::Like(bits) => {
            let file = options.mode(PRIVATE_BITS).open(place)?;
            file.set_permissions(fs::Permissions::from_mode(bits))?;
            Ok(file)
        }
    }
}

impl Disk for RealDisk {
    fn local_path(&self, path: &FilePath) -> io::Result<Option<PathBuf>> {
        self.target(path).map(Some)
    }

    fn open(&self, path: &FilePath, access: Access) -> io::Result<Box<dyn DiskFile>> {
        let mut options = File::options();
        options.read(true);
        let file = match access {
            // What cannot be opened so easily shows why when it is looked for step by step.
            Access::Read => match facts::open_below(&self.base, path.as_str()) {
                Some(file) => file,
                None => options.open(self.resolve(path)?)?,
            },
            Access::Append => options.append(true).open(self.target(path)?)?,
            Access::Write => options.write(true).open(self.target(path)?)?,
        };
        if facts::of_file(&file)?.kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is not a regular file"));
        }
        Ok(Box::new(RealFile { file, flushes: Arc::clone(&self.flushes) }))
    }

    fn create(&self, path: &FilePath, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let file = create_with(&self.entry(path)?, mode)?;
        Ok(Box::new(RealFile { file, flushes: Arc::clone(&self.flushes) }))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<Stat>> {
        let looked = self.check_way(path).and_then(|()| facts::below(&self.base, path.as_str()));
        match looked {
            Ok(stat) if stat.kind == Kind::Other => {
                Ok(Some(self.follow(&self.root.join(path.as_str()), stat)?))
            }
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, dir: &FilePath) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for entry in fs::read_dir(self.resolve(dir)?)? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let text = name.to_str().ok_or_else(|| NameError::NotUtf8 { name: shown.to_string() });
            match text.and_then(Name::parse) {
                Ok(name) => match self.entry_of(name, &entry) {
                    Ok(entry) => listing.entries.push(entry),
                    // It went away while we were looking.
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
        fs::create_dir(self.entry(path)?)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        fs::rename(self.entry(from)?, self.target(to)?)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        fs::hard_link(self.target(file)?, self.entry(to)?)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        let place = self.entry(path)?;
        if fs::symlink_metadata(&place)?.is_dir() {
            fs::remove_dir(place)
        } else {
            fs::remove_file(place)
        }
    }

    fn sync_dir(&self, dir: &FilePath, _why: Flush) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        File::open(self.resolve(dir)?)?.sync_all()
    }

    fn lock(&self, path: &FilePath, sharing: Sharing) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.lock_by(path, |file| match sharing {
            Sharing::Shared => file.try_lock_shared(),
            Sharing::Exclusive => file.try_lock(),
        })
    }

    fn wait_for_lock(
        &self,
        path: &FilePath,
        sharing: Sharing,
    ) -> io::Result<Option<Box<dyn DiskLock>>> {
        let take = |file: &File| match sharing {
            Sharing::Shared => file.lock_shared(),
            Sharing::Exclusive => file.lock(),
        };
        self.lock_by(path, |file| take(file).map_err(TryLockError::Error))
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
    /// The count of the disk that opened it.
    flushes: Arc<AtomicU64>,
}

impl DiskFile for RealFile {
    fn stat(&self) -> io::Result<Stat> {
        facts::of_file(&self.file)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.file, buf, offset)
    }

    fn read_more(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
        facts::read_more(&self.file, offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(&self.file, bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<Appended> {
        let mut file = &self.file;
        let written = file.write(bytes)?;
        let at = file.stream_position()?.saturating_sub(written as u64);
        Ok(Appended { at, written })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        let reserved = facts::reserve(&self.file, start, end);
        if reserved.is_err() {
            // What could be had is of no use, and others may need it.
            self.file.set_len(start)?;
        }
        reserved
    }

    fn sync(&self, _why: Flush) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }
}

#[derive(Debug)]
struct RealLock {
    file: File,
    place: PathBuf,
}

impl DiskLock for RealLock {
    fn describe(&self, text: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        FileExt::write_all_at(&self.file, text, 0)
    }

    fn release(self: Box<Self>) -> io::Result<()> {
        // Removed while still locked: whoever waits for this file will find that its name is gone.
        fs::remove_file(&self.place)
    }
}
