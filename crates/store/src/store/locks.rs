//! One writer per scope, across all processes.
//!
//! A scope is locked exclusively, and everything above it as shared: so a session and the directory it
//! lies in exclude each other, and two sessions in one directory do not. The locks are the operating
//! system's and end with their process; the text in the file only tells others whom to ask.

use std::fmt;
use std::sync::Arc;

use super::changes::ChangeMarks;
use super::log::known_own_path;
use super::owner_text;
use super::quarantine::ensure_dir;
use super::{OWN_DIR, StoreError, user_dirs};
use crate::disk::{Disk, DiskLock, FileAccess, LockMode, read_all};
use everturn_json::names::FilePath;

/// The process that opens a store, as others are to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockOwner {
    /// Its process id.
    pub pid: u32,
    /// When it started, for a person to read.
    pub started: String,
}

impl LockOwner {
    /// What stands in a lock file.
    pub(super) fn to_text(&self) -> Vec<u8> {
        owner_text::render_owner(self)
    }

    /// The holder that a lock file names.
    pub(super) fn read(disk: &dyn Disk, file: &FilePath) -> Option<LockOwner> {
        LockOwner::parse(&read_all(&*disk.open(file, FileAccess::Read).ok()?).ok()?)
    }

    /// The holder that the text of a lock file names, in its first line.
    pub(super) fn parse(text: &[u8]) -> Option<LockOwner> {
        owner_text::parse_owner(text.split(|byte| *byte == b'\n').next()?)
    }
}

impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}, started {}", self.pid, self.started)
    }
}

/// Whether the writer of `scopes` may write at `path`.
///
/// Everturn's own directory is nobody's, whatever scope lies above it. Only what is below the trash and the other
/// open places belongs to a writer one of whose scopes lies there itself.
pub(super) fn may_write(scopes: &[FilePath], path: &FilePath) -> bool {
    let mut holding = scopes.iter().filter(|scope| path.is_within(scope));
    if path.as_str().split('/').next() != Some(OWN_DIR) {
        return holding.next().is_some();
    }
    let place = user_dirs().into_iter().find(|place| path.is_within(place));
    place.is_some_and(|place| *path != place && holding.any(|scope| scope.is_within(&place)))
}

pub(super) fn lock_file(scope: &FilePath) -> FilePath {
    known_own_path(&["locks"]).join(&scope.flat_name(".lock"))
}

/// The locks of one writer; dropping them frees the scopes.
pub(super) struct ScopeLocks {
    exclusive: Vec<Arc<dyn DiskLock>>,
    shared: Vec<Box<dyn DiskLock>>,
    /// Whether a lock file was found that its holder has not removed: it may have died.
    pub(super) found_stale_lock: bool,
    /// What the lock files say of the changes that the writer makes.
    pub(super) marks: Arc<ChangeMarks>,
}

impl ScopeLocks {
    pub(super) fn take(
        disk: &dyn Disk,
        scopes: &[FilePath],
        owner: &LockOwner,
    ) -> Result<ScopeLocks, StoreError> {
        ensure_dir(disk, &known_own_path(&["locks"]), &mut Vec::new())?;
        // A person knows the session, not the places where it is prepared.
        let known = scopes.iter().find(|scope| !scope.is_within(&known_own_path(&[])));
        let told = |scope: &FilePath| match known {
            Some(known) if scope.is_within(&known_own_path(&[])) => known.clone(),
            _ => scope.clone(),
        };
        let mut scopes = scopes.to_vec();
        // In order, so that two processes that want the same scopes do not each get half of them.
        scopes.sort();
        scopes.dedup();
        let left_behind = scopes.iter().map(|scope| has_stale_lock(disk, scope));
        let left_behind = left_behind.collect::<Result<Vec<bool>, _>>()?.contains(&true);
        let mut exclusive: Vec<Arc<dyn DiskLock>> = Vec::new();
        let mut shared = Vec::new();
        for scope in &scopes {
            let told = told(scope);
            for above in scope.ancestors().filter(|above| !scopes.contains(above)) {
                shared.push(take_lock(disk, &told, &above, LockMode::Shared)?);
            }
            exclusive.push(take_lock(disk, &told, scope, LockMode::Exclusive)?.into());
        }
        let marks = ChangeMarks::new(exclusive.clone(), owner);
        let marks = marks.map_err(StoreError::io("write", &known_own_path(&["locks"])))?;
        Ok(ScopeLocks { exclusive, shared, found_stale_lock: left_behind, marks })
    }

    /// Takes away the names of writers of scopes above that are gone, once their commits are safe. None of them
    /// can be alive: we share their locks.
    pub(super) fn remove_stale_owners(&mut self) {
        if std::mem::take(&mut self.found_stale_lock) {
            for lock in &self.shared {
                // A text that stays costs the next writer a look at the logs.
                drop(lock.describe(b""));
            }
        }
    }

    /// Frees the scopes and leaves no lock file behind.
    pub(super) fn release(self) -> Result<(), StoreError> {
        let dir = known_own_path(&["locks"]);
        let release = |lock: &Arc<dyn DiskLock>| lock.release();
        self.exclusive.iter().try_for_each(release).map_err(StoreError::io("free", &dir))
    }
}

/// Whether a writer of this scope, or of one above or below it, has not removed its lock file.
///
/// The files of scopes above that were only shared stay, and are empty.
fn has_stale_lock(disk: &dyn Disk, scope: &FilePath) -> Result<bool, StoreError> {
    let len = |file: &FilePath| {
        let stat = disk.stat(file).map_err(StoreError::io("look at", file))?;
        Ok::<_, StoreError>(stat.map(|stat| stat.len))
    };
    if len(&lock_file(scope))?.is_some() {
        return Ok(true);
    }
    for above in scope.ancestors() {
        if len(&lock_file(&above))?.is_some_and(|len| len > 0) {
            return Ok(true);
        }
    }
    let dir = known_own_path(&["locks"]);
    let below = scope.flat_name("%2F");
    let listing = disk.list(&dir).map_err(StoreError::io("list", &dir))?;
    for entry in listing.entries {
        if (scope.is_root() || entry.name.as_str().starts_with(below.as_str()))
            && len(&dir.join(&entry.name))?.is_some_and(|len| len > 0)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn take_lock(
    disk: &dyn Disk,
    scope: &FilePath,
    path: &FilePath,
    sharing: LockMode,
) -> Result<Box<dyn DiskLock>, StoreError> {
    let file = lock_file(path);
    match disk.lock(&file, sharing).map_err(StoreError::io("lock", &file))? {
        Some(lock) => Ok(lock),
        None => Err(StoreError::Busy { scope: scope.clone(), owner: describe_owner(disk, path) }),
    }
}

/// Who holds `scope`, or something below it, as far as the lock files tell.
fn describe_owner(disk: &dyn Disk, scope: &FilePath) -> String {
    let own_file = lock_file(scope);
    let below = scope.flat_name("%2F");
    let dir = known_own_path(&["locks"]);
    let listing = disk.list(&dir).unwrap_or_default();
    let inside = listing
        .entries
        .iter()
        .filter(|entry| scope.is_root() || entry.name.as_str().starts_with(below.as_str()));
    let files = std::iter::once(own_file).chain(inside.map(|entry| dir.join(&entry.name)));
    let mut owners = files.filter_map(|file| LockOwner::read(disk, &file));
    owners
        .next()
        .map_or_else(|| "which did not leave its name".to_owned(), |owner| owner.to_string())
}
