//! [`ScopeLocks`]: one writer per scope, across all processes.
//!
//! A scope is locked exclusively, and everything above it in shared mode: so a session and its parent directory exclude
//! each other, and two sessions in one directory do not. The locks are the operating system's and end with their
//! process; the text in the file only informs others of the lock owner.

use std::sync::Arc;

use super::changes::ChangeMarks;
use super::disk_ops::ensure_dir;
use super::lock_owner::LockOwner;
use super::own_paths::{known_own_path, lock_file};
use super::{OWN_DIR, StoreError, user_dirs};
use crate::disk::{Disk, DiskLock, LockMode};
use everturn_json::names::FilePath;

/// Returns whether the writer of `scopes` may write at `path`.
///
/// Everturn's own directory belongs to no writer, whatever scope lies above it. Only paths below the trash and the
/// other user directories may be written, by a writer with a scope there.
pub(super) fn may_write(scopes: &[FilePath], path: &FilePath) -> bool {
    let mut holding = scopes.iter().filter(|scope| path.is_within(scope));
    if path.as_str().split('/').next() != Some(OWN_DIR) {
        return holding.next().is_some();
    }
    let place = user_dirs().into_iter().find(|place| path.is_within(place));
    place.is_some_and(|place| *path != place && holding.any(|scope| scope.is_within(&place)))
}

/// The locks of one writer; dropping them releases the scopes.
pub(super) struct ScopeLocks {
    exclusive: Vec<Arc<dyn DiskLock>>,
    shared: Vec<Box<dyn DiskLock>>,
    /// Whether a lock file was found that its owner has not removed: the owner may have died.
    pub(super) found_stale_lock: bool,
    /// The marks of the writer, also in these lock files.
    marks: Arc<ChangeMarks>,
}

impl ScopeLocks {
    /// Locks these scopes for the writer that `marks` belong to. Never waits, so two writers cannot block each other.
    pub(super) fn take(
        disk: &dyn Disk,
        scopes: &[FilePath],
        marks: &Arc<ChangeMarks>,
    ) -> Result<ScopeLocks, StoreError> {
        ensure_dir(disk, &known_own_path(&["locks"]), &mut Vec::new())?;
        // Users know the session, not the internal directories where it is prepared.
        let known = scopes.iter().find(|scope| !scope.is_within(&known_own_path(&[])));
        let reported = |scope: &FilePath| match known {
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
            let reported = reported(scope);
            for above in scope.ancestors().filter(|above| !scopes.contains(above)) {
                shared.push(take_lock(disk, &reported, &above, LockMode::Shared)?);
            }
            exclusive.push(take_lock(disk, &reported, scope, LockMode::Exclusive)?.into());
        }
        let marked = marks.add_locks(&exclusive);
        marked.map_err(StoreError::io("write", &known_own_path(&["locks"])))?;
        let marks = Arc::clone(marks);
        Ok(ScopeLocks { exclusive, shared, found_stale_lock: left_behind, marks })
    }

    /// Removes the texts of dead writers of scopes above, once their commits are safe. None of these writers can be
    /// alive: we share their locks.
    pub(super) fn remove_stale_owners(&mut self) {
        if std::mem::take(&mut self.found_stale_lock) {
            for lock in &self.shared {
                // If the text stays, the next writer only checks the logs again.
                drop(lock.describe(b""));
            }
        }
    }

    /// Releases the scopes and leaves no lock file behind.
    pub(super) fn release(self) -> Result<(), StoreError> {
        let dir = known_own_path(&["locks"]);
        let release = |lock: &Arc<dyn DiskLock>| lock.release();
        self.exclusive.iter().try_for_each(release).map_err(StoreError::io("free", &dir))
    }
}

impl Drop for ScopeLocks {
    fn drop(&mut self) {
        // The marks live as long as their writer, and would keep the locks.
        self.marks.remove_locks(&self.exclusive);
    }
}

/// Returns whether a writer of this scope, or of one above or below it, has not removed its lock file.
///
/// The files of scopes above that were only locked in shared mode stay, and are empty.
fn has_stale_lock(disk: &dyn Disk, scope: &FilePath) -> Result<bool, StoreError> {
    let len = |file: &FilePath| {
        let stat = disk.stat(file).map_err(StoreError::io("access", file))?;
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

/// Describes the owner of `scope`, or of a scope below it, according to the lock files.
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
    owners.next().map_or_else(|| "unknown process".to_owned(), |owner| owner.to_string())
}
