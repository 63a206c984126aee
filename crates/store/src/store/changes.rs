//! Change marks: show readers in other processes when the files of a scope are between two commits.
//!
//! The second line of a lock file counts the changes its owner makes to the plain files: the count is odd while commits
//! are being applied, and even otherwise. [`ChangeMarks`] writes it, [`LockMarks`] reads it. A reader that finds the
//! same even count before and after reading the files has seen them as one commit left them. An odd count of a dead
//! process means nothing: its log has the commit.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::StoreError;
use super::lock_owner::LockOwner;
use super::log::{LogEpoch, WriteAheadLog};
use super::log_number::LogNumber;
use super::mutex::lock_unpoisoned;
use super::own_paths::{known_own_path, lock_file};
use crate::disk::{Disk, DiskLock, FileAccess, PauseRequest, read_all};
use everturn_json::names::FilePath;

/// The change marks in the lock files of a writer. All of them show the same count.
pub(super) struct ChangeMarks {
    /// The text before the count in each lock file.
    owner_line: Vec<u8>,
    state: Mutex<MarkState>,
}

struct MarkState {
    locks: Vec<Arc<dyn DiskLock>>,
    mark: ChangeMark,
    /// The number of batches being applied.
    running: usize,
}

impl ChangeMarks {
    /// Returns the marks of a writer that has no locks and has changed nothing yet.
    pub(super) fn new(owner: &LockOwner) -> Arc<ChangeMarks> {
        let mut owner_line = owner.to_text();
        owner_line.push(b'\n');
        let mark = ChangeMark { count: 0, log: LogEpoch { number: LogNumber(0), epoch: 0 } };
        let state = MarkState { locks: Vec::new(), mark, running: 0 };
        Arc::new(ChangeMarks { owner_line, state: Mutex::new(state) })
    }

    /// Writes the marks into more lock files. Their count continues that of the others, so that one commit marks all of
    /// them alike.
    pub(super) fn add_locks(&self, locks: &[Arc<dyn DiskLock>]) -> io::Result<()> {
        let mut state = lock_unpoisoned(&self.state);
        let text = [self.owner_line.as_slice(), state.mark.render().as_bytes()].concat();
        locks.iter().try_for_each(|lock| lock.describe(&text))?;
        state.locks.extend(locks.iter().cloned());
        Ok(())
    }

    /// Leaves lock files alone that are about to be released.
    pub(super) fn remove_locks(&self, locks: &[Arc<dyn DiskLock>]) {
        let is_other =
            |known: &Arc<dyn DiskLock>| !locks.iter().any(|lock| Arc::ptr_eq(lock, known));
        lock_unpoisoned(&self.state).locks.retain(is_other);
    }

    /// Marks a commit of `log` as being applied, until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, log: LogEpoch) -> ChangeGuard {
        let mut state = lock_unpoisoned(&self.state);
        state.running += 1;
        if state.running == 1 {
            self.advance(&mut state, log);
        }
        ChangeGuard { marks: Arc::clone(self), log, abandoned: false }
    }

    fn end(&self, log: LogEpoch) {
        let mut state = lock_unpoisoned(&self.state);
        state.running = state.running.saturating_sub(1);
        if state.running == 0 {
            self.advance(&mut state, log);
        }
    }

    fn advance(&self, state: &mut MarkState, log: LogEpoch) {
        state.mark = ChangeMark { count: state.mark.count + 1, log };
        let text = state.mark.render();
        for lock in &state.locks {
            // The commit does not depend on it. A reader that misses the mark may have to read again.
            drop(lock.update(self.owner_line.len() as u64, text.as_bytes()));
        }
    }
}

/// Lets readers see the files between two commits, when commits follow each other too quickly.
#[derive(Default)]
pub(super) struct Courtesy {
    /// How many more times readers are ignored, because one did not finish.
    deaf: usize,
}

/// How often and how long a writer waits for a reader, and a reader for the end of a commit.
const MAX_WAITS: u32 = 500;
const WAIT: Duration = Duration::from_micros(200);

/// How many times readers are ignored after one that did not finish in time.
const DEAF_FOR: usize = 1000;

impl Courtesy {
    /// Waits while readers ask for a pause; for a tenth of a second at most.
    pub(super) fn wait(&mut self, log: &WriteAheadLog) {
        if self.deaf > 0 {
            self.deaf -= 1;
            return;
        }
        for _ in 0..MAX_WAITS {
            if !log.is_pause_requested() {
                return;
            }
            thread::sleep(WAIT);
        }
        self.deaf = DEAF_FOR;
    }
}

/// A commit that is being applied.
pub(super) struct ChangeGuard {
    marks: Arc<ChangeMarks>,
    log: LogEpoch,
    abandoned: bool,
}

impl ChangeGuard {
    /// Leaves the files marked as changing: the commit stays partly applied until the log is recovered.
    pub(super) fn abandon(mut self) {
        self.abandoned = true;
    }
}

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        if !self.abandoned {
            self.marks.end(self.log);
        }
    }
}

/// The content of a lock file at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockMark {
    file: FilePath,
    text: Vec<u8>,
}

impl LockMark {
    /// Returns whether the lock file still has this content: its owner has neither begun nor ended a commit.
    pub(super) fn is_current(&self, disk: &dyn Disk) -> bool {
        let text = disk.open(&self.file, FileAccess::Read).and_then(|file| read_all(&*file));
        text.is_ok_and(|text| text == self.text)
    }

    /// Describes the owner of the lock.
    pub(super) fn owner(&self) -> String {
        let owner = LockOwner::parse(&self.text);
        owner.map_or_else(|| "unknown process".to_owned(), |owner| owner.to_string())
    }
}

/// The contents of the lock files that concern some paths, at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockMarks(Vec<LockMark>);

impl LockMarks {
    /// Reads the lock files of these paths and of all paths above and below them.
    pub(super) fn read(disk: &dyn Disk, paths: &[FilePath]) -> Result<LockMarks, StoreError> {
        let dir = known_own_path(&["locks"]);
        let listing = match disk.list(&dir) {
            Ok(listing) => listing,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(LockMarks(Vec::new()));
            }
            Err(error) => return Err(StoreError::io("list", &dir)(error)),
        };
        let mut marks = Vec::new();
        for entry in listing.entries {
            let file = dir.join(&entry.name);
            if !paths.iter().any(|path| concerns(&file, entry.name.as_str(), path)) {
                continue;
            }
            let text = disk.open(&file, FileAccess::Read).and_then(|file| read_all(&*file));
            match text {
                // Only locked in shared mode, for a scope below it.
                Ok(text) if text.is_empty() => {}
                Ok(text) => marks.push(LockMark { file, text }),
                // Released since the directory was listed, or the lock of another user.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                    ) => {}
                Err(error) => return Err(StoreError::io("read", &file)(error)),
            }
        }
        Ok(LockMarks(marks))
    }

    /// Returns whether no process, alive or dead, has left a lock on any of the paths.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether one of the locks belongs to a live process that has committed something.
    pub(super) fn any_alive(&self, disk: &dyn Disk) -> Result<bool, StoreError> {
        for LockMark { text, .. } in &self.0 {
            // The epoch does not matter: a writer that has just started a new one is alive, too.
            if let Some(mark) = ChangeMark::parse(text)
                && mark.count > 0
                && mark.log.number.has_owner(disk)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks the processes that have written there to pause, as long as the result is kept.
    pub(super) fn request_pause(&self, disk: &dyn Disk) -> Vec<Box<dyn PauseRequest>> {
        let marks = self.0.iter().filter_map(|mark| ChangeMark::parse(&mark.text));
        let mut logs: Vec<LogNumber> =
            marks.filter(|mark| mark.count > 0).map(|mark| mark.log.number).collect();
        logs.sort();
        logs.dedup();
        // Without a pause reading may take longer, with the same result.
        logs.into_iter().filter_map(|log| disk.request_pause(&log.file()).ok().flatten()).collect()
    }

    /// Returns the marks as soon as no commit is being applied, or after a while.
    pub(super) fn when_applied(
        mut self,
        disk: &dyn Disk,
        paths: &[FilePath],
    ) -> Result<LockMarks, StoreError> {
        for _ in 0..MAX_WAITS {
            if self.applying(disk)?.is_none() {
                break;
            }
            thread::sleep(WAIT);
            self = LockMarks::read(disk, paths)?;
        }
        Ok(self)
    }

    /// Returns the mark of a process that is applying a commit now, if there is one.
    pub(super) fn applying(&self, disk: &dyn Disk) -> Result<Option<LockMark>, StoreError> {
        for mark in &self.0 {
            if let Some(change) = ChangeMark::parse(&mark.text)
                && change.count % 2 == 1
                && change.log.has_owner(disk)?
            {
                return Ok(Some(mark.clone()));
            }
        }
        Ok(None)
    }
}

/// Returns whether a lock file is that of `path` or of a path above or below it.
fn concerns(file: &FilePath, name: &str, path: &FilePath) -> bool {
    let below = path.flat_name("%2F");
    // The name of a long path is shortened to a checksum and a suffix, and may be any path.
    let is_shortened = name.as_bytes().get(16) == Some(&b'-')
        && name.as_bytes().iter().take(16).all(u8::is_ascii_hexdigit);
    path.is_root()
        || is_shortened
        || name.starts_with(below.as_str())
        || *file == lock_file(path)
        || path.ancestors().any(|above| *file == lock_file(&above))
}

/// The second line of a lock file.
struct ChangeMark {
    count: u64,
    /// The log that has the latest commit.
    log: LogEpoch,
}

impl ChangeMark {
    fn render(&self) -> String {
        // A fixed number of digits, so that it can be overwritten.
        format!("{:016x} {:010} {:020}\n", self.count, self.log.number.0, self.log.epoch)
    }

    fn parse(text: &[u8]) -> Option<ChangeMark> {
        let mark = text.split(|byte| *byte == b'\n').nth(1)?;
        let mut words = std::str::from_utf8(mark).ok()?.split(' ');
        let count = u64::from_str_radix(words.next()?, 16).ok()?;
        let number = LogNumber(words.next()?.parse().ok()?);
        let epoch = words.next()?.parse().ok()?;
        Some(ChangeMark { count, log: LogEpoch { number, epoch } })
    }
}
