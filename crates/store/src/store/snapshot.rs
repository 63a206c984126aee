//! [`Snapshot`]: some files and directories of a store as of a point between two commits, whatever is written later.
//!
//! [`capture`] reads the metadata of everything below the paths, opens the files, and keeps their lengths. It repeats
//! this if a writer has applied a commit meanwhile. A [`Snapshot`] then reads what was captured: a file that grows is
//! read up to its old length, and a file that is replaced is still open.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::changes::{LockMark, LockMarks};
use super::disk_view::DiskView;
use super::mutex::lock_unpoisoned;
use super::{FileStore, Store, StoreError, Writer};
use crate::disk::{DirListing, Disk, DiskFile, FileAccess, FileKind, FileStat, read_range};
use everturn_json::names::FilePath;

/// The pause after the first attempt that met a writer; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const MAX_PAUSE: Duration = Duration::from_millis(5);

/// The time after which capturing gives up.
const PATIENCE: Duration = Duration::from_secs(2);

/// The number of attempts before the writer is asked to pause.
const ALONE: usize = 2;

/// The maximum number of files a snapshot holds open, while a writer is active and otherwise. Other files are opened
/// when they are read.
const MAX_HELD: usize = 4096;
const MAX_HELD_AT_REST: usize = 256;

/// A captured file.
struct CapturedFile {
    stat: FileStat,
    /// `None` if it could not be opened, or too many are open.
    open: Option<Box<dyn DiskFile>>,
}

#[derive(Default)]
struct Captured {
    dirs: BTreeMap<FilePath, (FileStat, DirListing)>,
    files: BTreeMap<FilePath, CapturedFile>,
    /// Directories that are links, links that lead out of the root, and directories of files that cannot be shown: their
    /// contents are not captured.
    linked: Vec<FilePath>,
}

impl Captured {
    /// Captures everything at and below `paths`. `None` if something was removed meanwhile.
    fn take(
        view: &DiskView,
        paths: &[FilePath],
        most: usize,
    ) -> Result<Option<Captured>, StoreError> {
        let mut captured = Captured::default();
        for path in paths {
            let looked = view.disk.stat(path).map_err(StoreError::io("access", path))?;
            if is_obstructed(view, path, looked) {
                captured.linked.push(path.clone());
            } else if let Some(stat) = looked
                && !captured.add(view, path, stat, most)?
            {
                return Ok(None);
            }
        }
        Ok(Some(captured))
    }

    fn add(
        &mut self,
        view: &DiskView,
        path: &FilePath,
        stat: FileStat,
        most: usize,
    ) -> Result<bool, StoreError> {
        if stat.kind != FileKind::Dir {
            return self.add_file(&*view.disk, path, stat, most);
        }
        let mut waiting = vec![(path.clone(), stat)];
        let mut files = Vec::new();
        while let Some((dir, stat)) = waiting.pop() {
            let listing = match view.list(&dir) {
                Ok(listing) => listing,
                Err(StoreError::Missing { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let count = listing.entries.len();
            for entry in &listing.entries {
                let path = dir.join(&entry.name);
                if entry.kind == FileKind::Dir && entry.linked {
                    self.linked.push(path);
                } else if view.check(&path).is_ok() {
                    let looked = view.disk.stat(&path).map_err(StoreError::io("access", &path))?;
                    if is_obstructed(view, &path, looked) {
                        self.linked.push(path);
                        continue;
                    }
                    let Some(stat) = looked else { return Ok(false) };
                    if stat.kind == FileKind::Dir {
                        waiting.push((path, stat));
                    } else {
                        files.push((count, path, stat));
                    }
                }
            }
            self.dirs.insert(dir, (stat, listing));
        }
        // In a large directory, most files are old and do not change.
        files.sort_by_key(|(count, ..)| *count);
        for (_, path, stat) in files {
            if !self.add_file(&*view.disk, &path, stat, most)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add_file(
        &mut self,
        disk: &dyn Disk,
        path: &FilePath,
        stat: FileStat,
        most: usize,
    ) -> Result<bool, StoreError> {
        if stat.kind != FileKind::File {
            self.linked.push(path.clone());
            return Ok(true);
        }
        let mut file = CapturedFile { stat, open: None };
        if self.files.len() < most {
            match disk.open(path, FileAccess::Read) {
                Ok(open) => {
                    file.stat = open.stat().map_err(StoreError::io("access", path))?;
                    file.open = Some(open);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                // Reading the file will return the reason why it cannot be opened.
                Err(_) => {}
            }
        }
        self.files.insert(path.clone(), file);
        Ok(true)
    }

    /// Returns whether everything is still as it was captured.
    fn is_current(&self, view: &DiskView) -> Result<bool, StoreError> {
        for (path, file) in &self.files {
            let found = view.disk.stat(path).map_err(StoreError::io("access", path))?;
            if found != Some(file.stat) {
                return Ok(false);
            }
        }
        for (dir, (_, listing)) in &self.dirs {
            match view.list(dir) {
                Ok(found) if found == *listing => {}
                Ok(_) | Err(StoreError::Missing { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Returns whether the directory of files that cannot be shown is missing, or something else is in its place.
fn is_obstructed(view: &DiskView, path: &FilePath, found: Option<FileStat>) -> bool {
    found.is_none_or(|stat| stat.kind != FileKind::Dir) && view.blocked_below(path).is_some()
}

/// The result of one attempt.
pub(super) enum Attempt {
    Taken(Snapshot),
    /// Files changed without a lock: another program writes them.
    Moving(Snapshot),
    /// A writer was applying commits; its mark, if it still is.
    Applying(Option<LockMark>),
}

/// The commits that did not end while a reader waited. The next reader does not wait for them again.
#[derive(Default)]
pub(super) struct StuckCommits(Mutex<Vec<LockMark>>);

impl StuckCommits {
    /// Returns how long a reader should wait that found the commit `mark` being applied. Several stuck commits together
    /// take no longer than two waits.
    fn patience(&self, disk: &dyn Disk, mark: &LockMark) -> Duration {
        let mut known = lock_unpoisoned(&self.0);
        known.retain(|mark| mark.is_current(disk));
        match known.contains(mark) {
            true => Duration::ZERO,
            false => PATIENCE.checked_div(1 << known.len().min(10)).unwrap_or_default(),
        }
    }

    fn add(&self, mark: LockMark) {
        lock_unpoisoned(&self.0).push(mark);
    }
}

/// Captures everything at and below `paths` between two commits.
pub(super) fn capture(store: &FileStore, paths: &[FilePath]) -> Result<Snapshot, StoreError> {
    let (start, mut patience) = (Instant::now(), PATIENCE);
    let mut delay = FIRST_PAUSE;
    let mut busy: Option<LockMark> = None;
    let mut moving = None;
    for attempt in 0.. {
        match capture_once(store, paths, attempt >= ALONE)? {
            Attempt::Taken(snapshot) => return Ok(snapshot),
            Attempt::Moving(snapshot) => moving = Some(snapshot),
            Attempt::Applying(Some(mark)) => {
                if busy.as_ref() != Some(&mark) {
                    patience = store.stuck_commits().patience(&**store.plain_disk(), &mark);
                }
                busy = Some(mark);
            }
            Attempt::Applying(None) => {}
        }
        if start.elapsed() >= patience {
            break;
        }
        thread::sleep(delay);
        delay = (delay * 2).min(MAX_PAUSE);
    }
    if let Some(snapshot) = moving {
        // Another program changes the files all the time, and has no commits to keep whole.
        return Ok(snapshot);
    }
    let scope = paths.first().cloned().unwrap_or_else(FilePath::root);
    let owner = busy.as_ref().map_or_else(|| "continuously changing".to_owned(), LockMark::owner);
    if let Some(mark) = busy {
        store.stuck_commits().add(mark);
    }
    Err(StoreError::Busy { scope, owner })
}

/// Makes one attempt; with `asking`, writers are asked to pause.
pub(super) fn capture_once(
    store: &FileStore,
    paths: &[FilePath],
    asking: bool,
) -> Result<Attempt, StoreError> {
    let disk = &**store.plain_disk();
    let mut before = LockMarks::read(disk, paths)?;
    let pause = if asking { before.request_pause(disk) } else { Vec::new() };
    if !pause.is_empty() {
        before = before.when_applied(disk, paths)?;
    }
    if let Some(mark) = before.applying(disk)? {
        return Ok(Attempt::Applying(Some(mark)));
    }
    // A process that died with a lock may have left commits in its log.
    let view = if before.is_empty() { store.view()? } else { store.fresh_view()? };
    let most = if before.is_empty() { MAX_HELD_AT_REST } else { MAX_HELD };
    let captured = Captured::take(&view, paths, most.min(disk.max_open_files() / 2));
    if LockMarks::read(disk, paths)? != before || !view.is_current(disk)? {
        // Errors found while files were changing may not be real.
        return Ok(Attempt::Applying(None));
    }
    let Some(captured) = captured? else { return Ok(Attempt::Applying(None)) };
    let is_settled = !before.is_empty() || captured.is_current(&view)?;
    let (store, paths) = (store.clone(), paths.to_vec());
    let snapshot = Snapshot { store, view, paths, captured };
    Ok(if is_settled { Attempt::Taken(snapshot) } else { Attempt::Moving(snapshot) })
}

/// Some files and directories of a [`FileStore`] at one point in time. Everything else is read from the store.
pub(super) struct Snapshot {
    store: FileStore,
    view: Arc<DiskView>,
    paths: Vec<FilePath>,
    captured: Captured,
}

impl Snapshot {
    fn covers(&self, path: &FilePath) -> bool {
        self.paths.iter().any(|top| path.is_within(top))
            && !self.captured.linked.iter().any(|linked| path.is_within(linked))
    }

    fn read_captured(
        &self,
        path: &FilePath,
        file: &CapturedFile,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        let end = range.end.min(file.stat.len);
        let read = |open: &dyn DiskFile| {
            read_range(open, range.start, end).map_err(StoreError::io("read", path))
        };
        if let Some(open) = &file.open {
            return read(&**open);
        }
        let open = self.view.disk.open(path, FileAccess::Read);
        let open = open.map_err(StoreError::io("open", path))?;
        let now = open.stat().map_err(StoreError::io("access", path))?;
        if now.id != file.stat.id || now.len < file.stat.len {
            let owner = "replaced while it was read".to_owned();
            return Err(StoreError::Busy { scope: path.clone(), owner });
        }
        read(&*open)
    }
}

impl Store for Snapshot {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        if !self.covers(file) {
            return self.store.read(file, range);
        }
        self.view.check(file)?;
        match self.captured.files.get(file) {
            Some(captured) => self.read_captured(file, captured, range),
            None if self.captured.dirs.contains_key(file) => {
                let error = io::Error::new(io::ErrorKind::IsADirectory, "is not a regular file");
                Err(StoreError::io("open", file)(error))
            }
            None => Err(StoreError::Missing { path: file.clone() }),
        }
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        if !self.covers(path) {
            return self.store.stat(path);
        }
        self.view.check(path)?;
        let dir = self.captured.dirs.get(path).map(|(stat, _)| *stat);
        Ok(dir.or_else(|| self.captured.files.get(path).map(|file| file.stat)))
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        if !self.covers(dir) {
            return self.store.list(dir);
        }
        self.view.check(dir)?;
        match self.captured.dirs.get(dir) {
            Some((_, listing)) => Ok(listing.clone()),
            None if self.captured.files.contains_key(dir) => {
                let error = io::Error::from(io::ErrorKind::NotADirectory);
                Err(StoreError::io("list", dir)(error))
            }
            None => Err(StoreError::Missing { path: dir.clone() }),
        }
    }

    fn lock(&self, _scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        Err(StoreError::ReadOnly)
    }

    fn is_quiet(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        self.store.is_quiet(paths)
    }

    fn has_writer(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        self.store.has_writer(paths)
    }

    fn is_plain(&self) -> bool {
        self.view.is_plain()
    }

    fn local_path(&self, path: &FilePath) -> Result<Option<PathBuf>, StoreError> {
        self.store.local_path(path)
    }
}
