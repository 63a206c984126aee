//! A full disk on which the store frees space: the reserve in the log is enough to use the trash.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{
    AppendResult, DirListing, Disk, DiskFile, DiskLock, FileAccess, FilePermissions, FileStat,
    Flush, LockMode,
};
use everturn_store::{Durability, FileStore, Options, Step, StoreError, Writer};

use super::{ENOSPC, LOST, text};
use crate::support::{append, owner, path, remove, rename, replace};

/// The space that a directory takes.
const BLOCK: u64 = 4096;

/// A disk on which a new directory takes a block, and only truncating a file frees space.
#[derive(Clone)]
struct FullDisk {
    disk: SimDisk,
    room: Arc<AtomicU64>,
    /// The free space required to lock a scope, as where a new file needs space.
    lock_room: Arc<AtomicU64>,
}

impl FullDisk {
    fn new(disk: &SimDisk) -> FullDisk {
        FullDisk { disk: disk.process(), room: Arc::default(), lock_room: Arc::default() }
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        let left = |room: u64| room.checked_sub(bytes);
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        taken.map(|_| ()).map_err(|_| io::Error::from_raw_os_error(ENOSPC))
    }

    fn file(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FullFile { file, disk: self.clone() })
    }
}

impl Disk for FullDisk {
    fn open(&self, path: &FilePath, access: FileAccess) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.disk.open(path, access)?))
    }

    fn create(&self, path: &FilePath, mode: FilePermissions) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.disk.create(path, mode)?))
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<FileStat>> {
        self.disk.stat(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<DirListing> {
        self.disk.list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.take(BLOCK)?;
        self.disk.create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.disk.link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        self.disk.sync_dir(dir, why)
    }

    fn lock(&self, path: &FilePath, sharing: LockMode) -> io::Result<Option<Box<dyn DiskLock>>> {
        let is_scope = path.is_within(&self::path(".everturn/locks"));
        if is_scope && self.room.load(Ordering::Relaxed) < self.lock_room.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        self.disk.lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.disk.is_locked(path)
    }
}

struct FullFile {
    file: Box<dyn DiskFile>,
    disk: FullDisk,
}

impl DiskFile for FullFile {
    fn stat(&self) -> io::Result<FileStat> {
        self.file.stat()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let longer = (offset + bytes.len() as u64).saturating_sub(self.file.stat()?.len);
        self.disk.take(longer)?;
        self.file.write_at(offset, bytes)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<AppendResult> {
        self.disk.take(bytes.len() as u64)?;
        self.file.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let freed = self.file.stat()?.len.saturating_sub(len);
        self.disk.room.fetch_add(freed, Ordering::Relaxed);
        self.file.set_len(len)
    }

    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        self.disk.take(end.saturating_sub(start))?;
        self.file.reserve(start, end)
    }

    fn sync(&self, why: Flush) -> io::Result<()> {
        self.file.sync(why)
    }
}

/// Opens the store with a log of the default size.
fn open(disk: impl Disk + 'static) -> FileStore {
    FileStore::open(Arc::new(disk), Options::new(owner())).unwrap()
}

/// Returns a root with a session and a closed log, on a disk that has become full.
fn full() -> (SimDisk, FullDisk) {
    let disk = SimDisk::new();
    let store = open(disk.process());
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/turns.jsonl", "{}\n")], Durability::Synced).unwrap();
    drop((writer, store));
    let full = FullDisk::new(&disk);
    (disk, full)
}

fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.raw_os_error() == Some(ENOSPC))
}

#[test]
fn on_a_full_disk_a_session_goes_to_the_trash_and_comes_back_and_is_deleted() {
    let (disk, full) = full();
    let place = ".everturn/trash/20260101T100000Z-s";
    let commit = |steps: Vec<Step>| {
        let store = open(full.clone());
        let writer = store.lock_files(&[path("s"), path(place)]).unwrap();
        writer.commit(steps, Durability::Synced).unwrap();
        Box::new(writer).release().unwrap();
        drop(store);
        // Another program uses the freed space.
        full.room.store(0, Ordering::Relaxed);
    };
    let inside = format!("{place}/s");
    for _ in 0..3 {
        commit(vec![rename("s", &inside)]);
        assert_eq!(text(&disk, &format!("{inside}/turns.jsonl")), "{}\n");
        commit(vec![rename(&inside, "s")]);
        commit(vec![remove(place)]);
        assert_eq!(text(&disk, "s/turns.jsonl"), "{}\n");
    }
    commit(vec![rename("s", &inside)]);
    commit(vec![remove(place)]);
    assert_eq!(disk.stat(&path(place)).unwrap(), None);
}

#[test]
fn in_the_end_all_of_a_closed_log_goes() {
    let (disk, full) = full();
    let log = path(".everturn/wal/0001.log");
    disk.open(&log, FileAccess::Write).unwrap().set_len(256 << 10).unwrap();
    let place = ".everturn/trash/20260101T100000Z-s";
    full.lock_room.store(128 << 10, Ordering::Relaxed);
    let store = open(full);
    let writer = store.lock_files(&[path("s"), path(place)]).unwrap();
    let away = vec![rename("s", &format!("{place}/s"))];
    writer.commit(away, Durability::Synced).unwrap();
    drop((writer, store));
    assert_eq!(text(&disk, &format!("{place}/s/turns.jsonl")), "{}\n");
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    assert!(store.take_findings().is_empty());
}

#[test]
fn the_reserve_is_for_the_trash_alone() {
    let (disk, full) = full();
    let before = disk.stat(&path(".everturn/wal/0001.log")).unwrap().unwrap().len;
    let store = open(full.clone());
    let writer = store.lock_files(&[path("s"), path("new")]).unwrap();
    for step in
        [append("s/turns.jsonl", "{}\n"), replace("new/state.json", "{}"), rename("s", "new/s")]
    {
        let error = writer.commit(vec![step], Durability::Synced).unwrap_err();
        assert!(is_full(&error), "{error:?}");
    }
    // One byte more while it is in use.
    assert_eq!(disk.stat(&path(".everturn/wal/0001.log")).unwrap().unwrap().len, before + 1);
    assert_eq!(full.room.load(Ordering::Relaxed), 0);
}

#[test]
fn a_log_that_was_cut_is_as_long_as_before_once_there_is_room() {
    let (disk, full) = full();
    let place = ".everturn/trash/20260101T100000Z-s";
    let log_len = || disk.stat(&path(".everturn/wal/0001.log")).unwrap().unwrap().len;
    let before = log_len();
    let store = open(full.clone());
    let writer = store.lock_files(&[path("s"), path(place)]).unwrap();
    let away = vec![rename("s", &format!("{place}/s"))];
    writer.commit(away, Durability::Synced).unwrap();
    drop((writer, store));
    assert!(log_len() < before);
    full.room.store(10 << 20, Ordering::Relaxed);
    let store = open(full);
    let writer = store.lock_files(&[path(place)]).unwrap();
    writer.commit(vec![remove(place)], Durability::Synced).unwrap();
    drop((writer, store));
    assert_eq!(log_len(), before);
}

const PLACE: &str = ".everturn/trash/20260101T100000Z-s";

/// Moves the session `s` to the trash, back, to the trash again, and deletes it, each in its own process.
fn use_trash(disk: &SimDisk, full: &FullDisk) {
    let inside = format!("{PLACE}/s");
    let steps = [
        vec![rename("s", &inside)],
        vec![rename(&inside, "s")],
        vec![remove(PLACE)],
        vec![rename("s", &inside)],
        vec![remove(PLACE)],
    ];
    for steps in steps {
        let store = open(full.clone());
        let writer = store.lock_files(&[path("s"), path(PLACE)]).unwrap();
        writer.commit(steps, Durability::Synced).unwrap();
        Box::new(writer).release().unwrap();
        drop(store);
        full.room.store(0, Ordering::Relaxed);
    }
    assert_eq!(disk.stat(&path(PLACE)).unwrap(), None);
    assert_eq!(text(disk, "s/turns.jsonl"), "");
}

#[test]
fn on_a_full_disk_the_trash_is_used_beside_a_process_that_has_the_log() {
    let (disk, full) = full();
    let living = open(disk.process());
    let other = living.lock_files(&[path("other")]).unwrap();
    other.commit(vec![append("other/log", "{\"n\":1}\n")], Durability::Synced).unwrap();
    use_trash(&disk, &full);
    other.commit(vec![append("other/log", "{\"n\":2}\n")], Durability::Synced).unwrap();
    drop((other, living));
    assert_eq!(text(&disk, "other/log"), "{\"n\":1}\n{\"n\":2}\n");
    // The reserve has its old size once there is space.
    let reserve = || disk.stat(&path(".everturn/wal/reserve")).unwrap().unwrap().len;
    assert!(reserve() < 256 << 10);
    let store = open(disk.process());
    let writer = store.lock_files(&[path("other")]).unwrap();
    writer.commit(vec![append("other/log", "{\"n\":3}\n")], Durability::Synced).unwrap();
    assert_eq!(reserve(), 256 << 10);
}

/// Kills a process with commits in the log, before or after they were applied; then the disk is full.
fn killed(applied: bool) -> (SimDisk, FullDisk) {
    let (disk, full) = full();
    disk.put_file(&path("s/state"), b"old");
    let process = disk.process();
    let store = open(process.clone());
    let writer = store.lock_files(&[path("s")]).unwrap();
    let steps = vec![replace("s/state", &"new".repeat(10_000)), append("s/turns.jsonl", "{}\n")];
    writer.commit(steps, Durability::Synced).unwrap();
    process.kill();
    if !applied {
        disk.put_file(&path("s/state"), b"old");
        disk.put_file(&path("s/turns.jsonl"), b"{}\n");
    }
    (disk, full)
}

#[test]
fn on_a_full_disk_the_trash_is_used_after_a_kill() {
    for applied in [true, false] {
        let (disk, full) = killed(applied);
        drop(open(full.clone()));
        assert_eq!(text(&disk, "s/state").len(), 30_000);
        assert_eq!(text(&disk, "s/turns.jsonl"), "{}\n{}\n");
        full.room.store(0, Ordering::Relaxed);
        use_trash(&disk, &full);
    }
}

#[test]
fn on_a_full_disk_recovery_flushes_what_is_in_its_place() {
    let (disk, full) = killed(true);
    // No space in the log, and no reserve.
    let log = disk.open(&path(".everturn/wal/0001.log"), FileAccess::Write).unwrap();
    log.set_len(64 << 10).unwrap();
    disk.process().remove(&path(".everturn/wal/reserve")).unwrap();
    drop(open(full));
    disk.power_cut(LOST);
    let store = open(FullDisk::new(&disk));
    assert!(store.take_findings().is_empty());
    store.lock_files(&[path("s")]).unwrap();
    assert_eq!(text(&disk, "s/state").len(), 30_000);
}
