//! [`FileStore`]: the store that keeps plain files on a disk; [`FileWriter`] writes some of its scopes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::changes::{ChangeMarks, LockMarks};
use super::disk_ops::ensure_dir;
use super::disk_view::DiskView;
use super::group_commit::CommitQueue;
use super::lock_owner::LockOwner;
use super::locks::ScopeLocks;
use super::mutex::lock_unpoisoned;
use super::options::Options;
use super::own_paths::known_own_path;
use super::recovery::RecoveryProgress;
use super::snapshot::{Attempt, StuckCommits, capture, capture_once};
use super::staging::is_large;
use super::store_core::{
    CommitResult, StoreCore, await_predecessors, recover_dead_logs, release_reserve,
    retry_with_reserve, uses_trash, wipe_logs,
};
use super::validate::{ValidatedBatch, validate_batch};
use super::{CommitReceipt, Durability, Step, Store, StoreError, Writer};
use crate::disk::{DirListing, Disk, FileKind, FileStat, read_range};
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;

mod writer;

pub use writer::FileWriter;

/// A [`Store`] of plain files, with a write-ahead log under `.everturn/`.
///
/// It may be shared between threads, and any number of processes may have the same root open: each session
/// has one writer at a time, and commits that arrive together share one flush.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_store::disk::RealDisk;
/// use everturn_json::names::FilePath;
/// use everturn_store::{AppendAt, Durability, FileStore, LockOwner, Options, Step, Store};
///
/// # let dir = tempfile::tempdir()?;
/// # let root = dir.path().join("game");
/// let disk = Arc::new(RealDisk::create(&root)?);
/// let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
/// let store = FileStore::open(disk, Options::new(owner))?;
///
/// let session = FilePath::parse("sessions/one")?;
/// let writer = store.lock(&[session])?;
/// let file = FilePath::parse("sessions/one/turns.jsonl")?;
/// let lines = b"{\"turn\":1}\n".to_vec();
/// let turn = Step::Append { file: file.clone(), at: AppendAt::End, lines };
/// writer.commit(vec![turn], Durability::Synced)?;
/// writer.release()?;
///
/// assert_eq!(store.read(&file, 0..100)?, b"{\"turn\":1}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FileStore {
    shared: Arc<FileStoreShared>,
}

struct FileStoreShared {
    core: Mutex<StoreCore>,
    queue: CommitQueue,
    disk: Arc<dyn Disk>,
    /// The disk for reading.
    view: RwLock<Arc<DiskView>>,
    /// See [`Options::stage_from`].
    stage_from: usize,
    progress: RecoveryProgress,
    /// The writing process; `None` if the store is read-only.
    owner: Option<LockOwner>,
    /// Whether the log holds commits that the plain files do not show yet.
    unseen: AtomicBool,
    /// The commits that readers have given up waiting for.
    stuck: StuckCommits,
    /// Locks that must not be released before the log is: their commits are not safe in the plain files.
    kept: Mutex<Vec<ScopeLocks>>,
}

impl FileStore {
    /// Creates a store in a directory that is not one yet.
    ///
    /// The directory must exist, and may hold files; `.everturn` must not exist.
    pub fn create(disk: Arc<dyn Disk>, options: Options) -> Result<FileStore, StoreError> {
        let dir = known_own_path(&[]);
        if disk.stat(&dir).map_err(StoreError::io("access", &dir))?.is_some() {
            return Err(StoreError::Taken { path: dir });
        }
        ensure_dir(&*disk, &dir, &mut Vec::new())?;
        FileStore::open(disk, options)
    }

    /// Opens a directory for reading and writing. Commits of dead processes are replayed first.
    ///
    /// Writes nothing unless something must be replayed, locked or committed.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<FileStore, StoreError> {
        check_root(&*disk)?;
        let owner = Some(options.owner.clone());
        let mut core = StoreCore::new(Arc::clone(&disk), options);
        let blocked = recover_dead_logs(&mut core)?;
        let view = DiskView::plain(Arc::clone(&disk), blocked);
        Ok(FileStore::new(core, disk, owner, view))
    }

    /// Opens a directory for reading. Never writes, so it works on a read-only disk.
    ///
    /// Commits of dead processes are shown as [`FileStore::open`] would recover them.
    pub fn open_read_only(disk: Arc<dyn Disk>) -> Result<FileStore, StoreError> {
        FileStore::open_read_only_with(disk, RecoveryProgress::default())
    }

    /// As [`FileStore::open_read_only`], reporting progress.
    pub fn open_read_only_with(
        disk: Arc<dyn Disk>,
        progress: RecoveryProgress,
    ) -> Result<FileStore, StoreError> {
        check_root(&*disk)?;
        let mut view = DiskView::recovered(&disk, &progress)?;
        let nobody = LockOwner { pid: 0, started: String::new() };
        let options = Options { progress, ..Options::new(nobody) };
        let core = StoreCore::new(Arc::clone(&disk), options);
        core.options.findings.add(view.findings.drain(..));
        Ok(FileStore::new(core, disk, None, view))
    }

    fn new(
        core: StoreCore,
        disk: Arc<dyn Disk>,
        owner: Option<LockOwner>,
        view: DiskView,
    ) -> FileStore {
        let shared = FileStoreShared {
            view: RwLock::new(Arc::new(view)),
            stage_from: core.options.stage_from,
            progress: core.options.progress.clone(),
            core: Mutex::new(core),
            queue: CommitQueue::default(),
            disk,
            owner,
            unseen: AtomicBool::new(false),
            stuck: StuckCommits::default(),
            kept: Mutex::default(),
        };
        FileStore { shared: Arc::new(shared) }
    }

    /// Returns the disk for reading: the plain files, with commits that only the logs of dead processes hold.
    pub fn read_disk(&self) -> Result<Arc<dyn Disk>, StoreError> {
        Ok(Arc::clone(&self.shared.view()?.disk))
    }

    /// The disk itself, without the commits that only logs hold.
    pub(super) fn plain_disk(&self) -> &Arc<dyn Disk> {
        &self.shared.disk
    }

    /// The commits that readers have given up waiting for.
    pub(super) fn stuck_commits(&self) -> &StuckCommits {
        &self.shared.stuck
    }

    /// Returns the disk for reading, with every commit that has returned.
    pub(super) fn view(&self) -> Result<Arc<DiskView>, StoreError> {
        self.shared.view()
    }

    /// As [`FileStore::view`], with the commits of processes that have died since the store was opened.
    pub(super) fn fresh_view(&self) -> Result<Arc<DiskView>, StoreError> {
        self.shared.apply_unseen()?;
        let view = self.shared.present_view();
        if view.has_same_logs(&*self.shared.disk)? {
            return Ok(view);
        }
        self.shared.refresh_view()
    }

    /// As [`Store::snapshot`], with one attempt: `None` if a writer is applying a commit.
    pub fn try_snapshot(&self, paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        Ok(match capture_once(self, paths, false)? {
            Attempt::Taken(snapshot) => Some(Arc::new(snapshot)),
            Attempt::Moving(_) | Attempt::Applying(_) => None,
        })
    }

    /// Takes the findings of recovery since the last call.
    #[must_use]
    pub fn take_findings(&self) -> Vec<Finding> {
        lock_unpoisoned(&self.shared.core).options.findings.take()
    }

    /// Flushes all commits to the plain files, so that the log is empty.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        lock_unpoisoned(&self.shared.core).checkpoint()
    }

    /// Closes the store; returns errors that dropping it would ignore.
    pub fn close(self) -> Result<(), StoreError> {
        self.checkpoint()
    }

    /// Commits several batches with one flush. Each is applied as a whole or not at all, and has its own result.
    ///
    /// Each batch must lie within the scopes of its writer.
    pub fn commit_all(
        &self,
        batches: Vec<(&FileWriter, Vec<Step>, Durability)>,
    ) -> Vec<Result<CommitReceipt, StoreError>> {
        let mut outcomes: Vec<Option<StoreError>> = Vec::new();
        let mut admitted = Vec::new();
        for (writer, steps, durability) in batches {
            let ours = Arc::ptr_eq(&writer.shared, &self.shared);
            let stranger = || StoreError::OutsideScope { path: FilePath::root() };
            let checked = if ours { writer.check_scopes(&steps) } else { Err(stranger()) };
            let ready = checked.and_then(|()| validate_batch(steps)).and_then(|mut validated| {
                validated.marks = Some(Arc::clone(&writer.marks));
                self.shared.stage_large_contents(&mut validated, durability)?;
                Ok(validated)
            });
            outcomes.push(match ready {
                Ok(validated) => {
                    admitted.push((validated, durability));
                    None
                }
                Err(error) => Some(error),
            });
        }
        let mut core = lock_unpoisoned(&self.shared.core);
        let mut done = BTreeMap::new();
        core.commit_group(admitted, false, &mut |place, answer| {
            if let CommitResult::Done(outcome) = answer {
                done.insert(place, outcome);
            }
        });
        self.shared.note_unseen(&core);
        let mut done = done.into_values();
        let answer = |refused: Option<StoreError>| match refused {
            Some(error) => Err(error),
            None => done.next().unwrap_or(Err(StoreError::Overtaken)),
        };
        outcomes.into_iter().map(answer).collect()
    }

    /// As [`Store::lock`], with the concrete type of the writer.
    pub fn lock_files(&self, scopes: &[FilePath]) -> Result<FileWriter, StoreError> {
        let Some(owner) = &self.shared.owner else { return Err(StoreError::ReadOnly) };
        let marks = ChangeMarks::new(owner);
        let mut core = lock_unpoisoned(&self.shared.core);
        let locks = self.shared.lock_scopes(&mut core, scopes, &marks)?;
        core.writers += 1;
        let (shared, scopes) = (Arc::clone(&self.shared), scopes.to_vec());
        Ok(FileWriter { shared, own_scopes: scopes.len(), scopes, marks, locks: vec![locks] })
    }
}

fn check_root(disk: &dyn Disk) -> Result<(), StoreError> {
    let root = FilePath::root();
    match disk.stat(&root).map_err(StoreError::io("open", &root))? {
        Some(stat) if stat.kind == FileKind::Dir => Ok(()),
        _ => Err(StoreError::Missing { path: root }),
    }
}

impl FileStoreShared {
    fn note_unseen(&self, core: &StoreCore) {
        self.unseen.store(!core.pending.is_empty(), Ordering::Release);
    }

    /// Locks scopes for a writer, and completes the commits of earlier writers there.
    fn lock_scopes(
        &self,
        core: &mut StoreCore,
        scopes: &[FilePath],
        marks: &Arc<ChangeMarks>,
    ) -> Result<ScopeLocks, StoreError> {
        core.check_usable()?;
        let mut locks = retry_with_reserve(
            || ScopeLocks::take(&*self.disk, scopes, marks),
            || if uses_trash(scopes) { release_reserve(core) } else { Ok(false) },
        )?;
        // The previous writer may have died meanwhile, with commits in its log.
        let ready = await_predecessors(core, scopes, locks.found_stale_lock);
        self.set_view(DiskView::plain(Arc::clone(&self.disk), core.blocked.clone()));
        ready?;
        locks.remove_stale_owners();
        Ok(locks)
    }

    /// Stages large new contents beside the log. No other thread waits meanwhile.
    fn stage_large_contents(
        &self,
        validated: &mut ValidatedBatch,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let is_large = |step: &Step| is_large(step, self.stage_from);
        // Buffered commits flush nothing, and a record must not refer to an unflushed file.
        if durability == Durability::Buffered || !validated.steps.iter().any(is_large) {
            return Ok(());
        }
        let stage = lock_unpoisoned(&self.core).staging_area()?;
        validated.staged = stage.write(&validated.steps)?;
        stage.sync_names().map_err(|error| lock_unpoisoned(&self.core).poison(error))
    }

    /// Releases locks, unless the commits in their scopes could not be made safe.
    fn release_if_safe(
        &self,
        locks: Vec<ScopeLocks>,
        safe: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match safe {
            Ok(()) => locks.into_iter().try_for_each(ScopeLocks::release),
            Err(error) => {
                lock_unpoisoned(&self.kept).extend(locks);
                Err(error)
            }
        }
    }

    fn set_view(&self, view: DiskView) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    /// Returns the disk for reading, with every commit that has returned.
    fn view(&self) -> Result<Arc<DiskView>, StoreError> {
        self.apply_unseen()?;
        let view = self.present_view();
        if view.is_plain() || view.is_current(&*self.disk)? {
            return Ok(view);
        }
        // Another process has recovered what this view shows, and may have written since.
        self.refresh_view()
    }

    fn present_view(&self) -> Arc<DiskView> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn refresh_view(&self) -> Result<Arc<DiskView>, StoreError> {
        let view = Arc::new(DiskView::recovered(&self.disk, &self.progress)?);
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&view);
        Ok(view)
    }

    /// Makes the plain files show every commit that has returned.
    fn apply_unseen(&self) -> Result<(), StoreError> {
        if self.unseen.load(Ordering::Acquire) {
            let mut core = lock_unpoisoned(&self.core);
            core.apply_buffered()?;
            self.note_unseen(&core);
        }
        Ok(())
    }
}

impl Drop for FileStoreShared {
    fn drop(&mut self) {
        let mut core = lock_unpoisoned(&self.core);
        let done = core.checkpoint();
        // The log must be free before the locks are, so that the next writer finds it.
        let usual = core.options.log_size;
        if let (Ok(()), Some(mut log)) = (done, core.log.take()) {
            log.shrink(usual);
            // If this fails, the next process that opens the store completes it from the log.
            drop(log.close());
        }
    }
}

impl Store for FileStore {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let view = self.shared.view()?;
        let open = view.open(file)?;
        read_range(&*open, range.start, range.end).map_err(StoreError::io("read", file))
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.shared.view()?.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        let view = self.shared.view()?;
        view.check(dir)?;
        view.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        Ok(Box::new(self.lock_files(scopes)?))
    }

    fn snapshot(&self, paths: &[FilePath]) -> Result<Option<Arc<dyn Store>>, StoreError> {
        Ok(Some(Arc::new(capture(self, paths)?)))
    }

    fn is_quiet(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        Ok(LockMarks::read(&*self.shared.disk, paths)?.is_empty())
    }

    fn has_writer(&self, paths: &[FilePath]) -> Result<bool, StoreError> {
        LockMarks::read(&*self.shared.disk, paths)?.any_alive(&*self.shared.disk)
    }

    fn is_plain(&self) -> bool {
        self.shared.present_view().is_plain()
    }

    fn checkpoint(&self) -> Result<(), StoreError> {
        FileStore::checkpoint(self)
    }

    fn wipe_logs(&self) -> Result<(), StoreError> {
        if self.shared.owner.is_none() {
            return Err(StoreError::ReadOnly);
        }
        wipe_logs(&mut lock_unpoisoned(&self.shared.core))
    }

    fn release_reserve(&self) -> Result<bool, StoreError> {
        if self.shared.owner.is_none() {
            return Err(StoreError::ReadOnly);
        }
        release_reserve(&mut lock_unpoisoned(&self.shared.core))
    }

    fn local_path(&self, path: &FilePath) -> Result<Option<PathBuf>, StoreError> {
        let view = self.shared.view()?;
        view.disk.local_path(path).map_err(StoreError::io("find", path))
    }
}
