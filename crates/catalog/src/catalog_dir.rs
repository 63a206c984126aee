//! The only module of the catalog that touches files: its own directory ([`CatalogDir`]) and stamps ([`FileStamp`]).
//!
//! Everything in the directory can be rebuilt, so writes do not go through a commit and are not flushed. Damage after
//! a power cut is detected by checksum, and the file is rebuilt.
#![expect(clippy::disallowed_methods, reason = "the catalog is not a session: it can be rebuilt")]

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use everturn::disk::{FileKind, FileStat};
use everturn::names::FilePath;
use everturn::store::Store;
use rustix::fs::{AtFlags, Stat, stat, statat};

use crate::codec::{CatalogDecoder, CatalogEncoder};

/// A file that changed less than this before its stamp was taken may change again without a change of the stamp.
const SETTLING: Duration = Duration::from_secs(2);

/// The lock file of the process that changes the index.
const LOCK: &str = "lock";

/// The suffix of files that are being written.
const UNFINISHED: &str = ".new";

/// A cheap way to detect that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) len: u64,
    number: u64,
    /// Seconds and nanoseconds of the last content change (mtime) and of the last change of any kind (ctime).
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// Returns the stamp of the file at a path; `None` if there is no file or it is not accessible.
    pub(crate) fn of(path: &Path) -> Option<FileStamp> {
        FileStamp::new(&stat(path).ok()?)
    }

    /// Returns the stamp of a file in a store that numbers its contents.
    pub(crate) fn numbered(stat: &FileStat) -> FileStamp {
        let (root, number) = stat.id.numbers();
        // Not a time: every change has another number or length, so the stamp is stable at once.
        FileStamp { len: stat.len, number, modified: (0, root.cast_signed()), changed: (0, 0) }
    }

    fn new(data: &Stat) -> Option<FileStamp> {
        Some(FileStamp {
            len: u64::try_from(data.st_size).ok()?,
            number: data.st_ino,
            modified: (data.st_mtime, i64::try_from(data.st_mtime_nsec).ok()?),
            changed: (data.st_ctime, i64::try_from(data.st_ctime_nsec).ok()?),
        })
    }

    /// Returns whether `later` is the same file, possibly longer.
    pub(crate) fn has_grown_to(&self, later: &FileStamp) -> bool {
        self.number == later.number && self.len <= later.len
    }

    /// Returns whether a change after `looked`, the time at which the stamp was taken, would change the stamp.
    pub(crate) fn is_stable(&self, looked: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0.max(self.modified.0)).unwrap_or(u64::MAX);
        let changed = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        changed.and_then(|time| time.checked_add(SETTLING)).is_some_and(|time| time < looked)
    }

    pub(crate) fn write(&self, encoder: &mut CatalogEncoder) {
        encoder.number(self.len);
        encoder.number(self.number);
        for (seconds, nanos) in [self.modified, self.changed] {
            encoder.signed(seconds);
            encoder.signed(nanos);
        }
    }

    pub(crate) fn read(decoder: &mut CatalogDecoder<'_>) -> Option<FileStamp> {
        let (len, number) = (decoder.number()?, decoder.number()?);
        let modified = (decoder.signed()?, decoder.signed()?);
        let changed = (decoder.signed()?, decoder.signed()?);
        Some(FileStamp { len, number, modified, changed })
    }
}

/// A root in which many files are stamped: a directory, whose path is resolved only once, or another store.
pub(crate) enum StampDir<'s> {
    Dir(Option<File>),
    Store(&'s Arc<dyn Store>),
}

impl StampDir<'_> {
    pub(crate) fn open<'s>(path: &Path, store: &'s Arc<dyn Store>) -> StampDir<'s> {
        match store.numbers_contents() {
            true => StampDir::Store(store),
            false => StampDir::Dir(File::open(path).ok()),
        }
    }

    /// Returns the stamp of a file below the root; `None` if there is no file or it is not accessible.
    pub(crate) fn stamp(&self, file: &FilePath) -> Option<FileStamp> {
        match self {
            StampDir::Dir(dir) => {
                FileStamp::new(&statat(dir.as_ref()?, file.as_str(), AtFlags::empty()).ok()?)
            }
            StampDir::Store(store) => {
                let stat = store.stat(file).ok()??;
                (stat.kind == FileKind::File).then(|| FileStamp::numbered(&stat))
            }
        }
    }
}

/// The catalog's directory. Only its owner may access it, because it contains words of the sessions.
#[derive(Debug, Clone)]
pub(crate) struct CatalogDir {
    path: PathBuf,
}

/// Held by the one process that changes the index.
pub(crate) struct CatalogLock {
    _file: File,
}

impl CatalogDir {
    pub(crate) fn at(path: &Path) -> CatalogDir {
        CatalogDir { path: path.to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.path.is_dir()
    }

    /// Creates the directory, or one below it.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    pub(crate) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    /// Replaces the content of a file, or leaves the file as it was.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.make("")?;
        let unfinished = self.path(&format!("{name}.{}{UNFINISHED}", std::process::id()));
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&unfinished)?.write_all(bytes)?;
            if self.path(name).is_dir() {
                // A directory of this name would prevent every write, so it is removed.
                self.remove(name)?;
            }
            fs::rename(&unfinished, self.path(name))
        };
        write().inspect_err(|_| {
            // A later sweep removes it if it cannot be removed now.
            fs::remove_file(&unfinished).ok();
        })
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Returns the names in the directory, or in one below it.
    pub(crate) fn names(&self, below: &str) -> io::Result<Vec<String>> {
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        fs::read_dir(self.path(below))?.map(name).collect()
    }

    /// Locks the index for changes; `None` if another process holds the lock.
    pub(crate) fn lock(&self) -> io::Result<Option<CatalogLock>> {
        self.make("")?;
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(false).mode(0o600).open(self.path(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(CatalogLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes everything but the lock.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for name in self.names("")?.into_iter().filter(|name| name != LOCK) {
            self.remove(&name)?;
        }
        Ok(())
    }

    /// Removes the unfinished files of processes that ended early.
    pub(crate) fn remove_unfinished(&self) -> io::Result<()> {
        for name in self.names("")?.into_iter().filter(|name| name.ends_with(UNFINISHED)) {
            self.remove(&name)?;
        }
        Ok(())
    }
}

/// Returns whether a root that is not among the sources still exists.
pub(crate) fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Returns the path without links that identifies a root.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use everturn::store::MemoryStore;

    use super::*;

    #[test]
    fn a_stamp_shows_changes_and_survives_being_stored() {
        let place = tempfile::tempdir().unwrap();
        let dir = CatalogDir::at(&place.path().join("cache"));
        assert!(!dir.is_there());
        dir.replace("a", b"one").unwrap();
        let one = FileStamp::of(&dir.path("a")).unwrap();
        let mut encoder = CatalogEncoder::new("x");
        one.write(&mut encoder);
        let bytes = encoder.finish();
        assert_eq!(FileStamp::read(&mut CatalogDecoder::open(&bytes, "x").unwrap()), Some(one));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let stamp = |dir: &Path, file: &str| {
            StampDir::open(dir, &store).stamp(&FilePath::parse(file).unwrap())
        };
        assert_eq!(stamp(place.path(), "cache/a"), Some(one));
        assert_eq!(stamp(place.path(), "cache/b"), None);
        assert_eq!(stamp(&dir.path("a"), ""), None);
        assert!(!one.is_stable(SystemTime::now()));
        assert!(one.is_stable(SystemTime::now() + SETTLING * 2));
        dir.replace("a", b"two").unwrap();
        assert_ne!(FileStamp::of(&dir.path("a")), Some(one));
        assert_eq!(dir.read("a").unwrap(), b"two");
        assert_eq!(fs::metadata(dir.path("")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(dir.names("").unwrap(), ["a"]);
    }

    #[test]
    fn one_at_a_time_holds_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let dir = CatalogDir::at(place.path());
        let held = dir.lock().unwrap();
        assert!(held.is_some() && dir.lock().unwrap().is_none());
        drop(held);
        assert!(dir.lock().unwrap().is_some());
    }
}
