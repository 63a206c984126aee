//! The one place where the catalog touches files: its own directory, and the stamps of what others keep.
//!
//! Everything in the directory can be made again, so nothing here goes through a commit, and nothing is flushed for
//! its own sake: what a power cut leaves is found by its checksum and made again.
#![expect(clippy::disallowed_methods, reason = "the catalog is no session: it can be made again")]

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Stat, stat, statat};

use crate::codec::{CatalogDecoder, CatalogEncoder};

/// A file that was changed so shortly before it was looked at may change again without its stamp showing it.
const SETTLING: Duration = Duration::from_secs(2);

/// The file that is locked by whoever changes the index.
const LOCK: &str = "lock";

/// How the names of files end that are being written.
const UNFINISHED: &str = ".new";

/// What tells cheaply whether a file is still what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) len: u64,
    number: u64,
    /// Seconds and nanoseconds of the last change of the content, and of anything.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// What stands at a path; `None` if nothing does, or nobody may look.
    pub(crate) fn of(path: &Path) -> Option<FileStamp> {
        FileStamp::new(&stat(path).ok()?)
    }

    fn new(data: &Stat) -> Option<FileStamp> {
        Some(FileStamp {
            len: u64::try_from(data.st_size).ok()?,
            number: data.st_ino,
            modified: (data.st_mtime, i64::try_from(data.st_mtime_nsec).ok()?),
            changed: (data.st_ctime, i64::try_from(data.st_ctime_nsec).ok()?),
        })
    }

    /// Whether it is the same file, which may have become longer.
    pub(crate) fn has_grown_to(&self, later: &FileStamp) -> bool {
        self.number == later.number && self.len <= later.len
    }

    /// Whether a later change would show, for one that was looked at at this time.
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

/// A directory below which many files are looked at: the way to it is gone only once.
pub(crate) struct StampDir(Option<File>);

impl StampDir {
    pub(crate) fn open(path: &Path) -> StampDir {
        StampDir(File::open(path).ok())
    }

    /// The same as [`FileStamp::of`], of a file below.
    pub(crate) fn stamp(&self, file: &str) -> Option<FileStamp> {
        FileStamp::new(&statat(self.0.as_ref()?, file, AtFlags::empty()).ok()?)
    }
}

/// The catalog's directory. Only its owner may look into it: what was said stands there in other words.
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

    /// Makes the directory, or one below it.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    pub(crate) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    /// Gives a file a content, or leaves it as it was.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.make("")?;
        let unfinished = self.path(&format!("{name}.{}{UNFINISHED}", std::process::id()));
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&unfinished)?.write_all(bytes)?;
            if self.path(name).is_dir() {
                // Whatever made it, nothing can be kept while it is there.
                self.remove(name)?;
            }
            fs::rename(&unfinished, self.path(name))
        };
        write().inspect_err(|_| {
            // It is swept away later if it cannot be removed now.
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

    /// The names in the directory, or in one below it.
    pub(crate) fn names(&self, below: &str) -> io::Result<Vec<String>> {
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        fs::read_dir(self.path(below))?.map(name).collect()
    }

    /// Becomes the one that changes the index; `None` if another process is.
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

    /// Removes what a process left behind that did not get to finish a file.
    pub(crate) fn remove_unfinished(&self) -> io::Result<()> {
        for name in self.names("")?.into_iter().filter(|name| name.ends_with(UNFINISHED)) {
            self.remove(&name)?;
        }
        Ok(())
    }
}

/// Whether a root that is not among the sources is still somewhere.
pub(crate) fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// The path without links by which a root is known.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

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
        assert_eq!(StampDir::open(place.path()).stamp("cache/a"), Some(one));
        assert_eq!(StampDir::open(place.path()).stamp("cache/b"), None);
        assert_eq!(StampDir::open(&dir.path("a")).stamp(""), None);
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
