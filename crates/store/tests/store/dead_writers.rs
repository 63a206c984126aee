//! Readers of a root whose last writer has died: they show what recovery would leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{Disk, FileKind, LockMode};
use everturn_store::{Durability, FileStore, Options, Store, StoreError, Writer};

use crate::hooked::HookedDisk;
use crate::support::{owner, path, replace, small_log};

/// Returns the number of operations that it takes to read `count` files one by one, while the log of a dead process
/// holds a commit of all of them.
fn operations_after_a_crash(count: usize) -> usize {
    let disk = SimDisk::new();
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let file = |number: usize| format!("s/{number}.json");
    let steps = (0..count).map(|number| replace(&file(number), "{}")).collect();
    writer.commit(steps, Durability::Synced).unwrap();
    disk.kill_all();
    let operations = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&operations);
    let counting = HookedDisk::new(Arc::new(disk.process())).before_reads(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let reader = FileStore::open_read_only(Arc::new(counting)).unwrap();
    for number in 0..count {
        let file = path(&file(number));
        let snapshot = reader.snapshot(std::slice::from_ref(&file)).unwrap().unwrap();
        assert_eq!(snapshot.read(&file, 0..u64::MAX).unwrap(), b"{}");
    }
    operations.load(Ordering::Relaxed)
}

#[test]
fn reading_many_files_of_a_dead_process_takes_time_in_proportion() {
    let (few, many) = (operations_after_a_crash(30), operations_after_a_crash(120));
    assert!(many < 5 * few, "{few} operations for 30 files, {many} for 120");
}

#[test]
fn a_reader_shows_the_writes_that_follow_a_partial_recovery() {
    let disk = SimDisk::new();
    let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s"), path("t")]).unwrap();
    writer.commit(vec![replace("s/a", "1")], Durability::Synced).unwrap();
    writer.commit(vec![replace("t/b", "1")], Durability::Synced).unwrap();
    disk.kill_all();
    // A directory is in the way of one of them.
    disk.process().remove(&path("t/b")).unwrap();
    disk.process().create_dir(&path("t/b")).unwrap();
    let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    assert_eq!(reader.read(&path("s/a"), 0..9).unwrap(), b"1");
    let other = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
    let writer = other.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/a", "2")], Durability::Synced).unwrap();
    assert_eq!(reader.read(&path("s/a"), 0..9).unwrap(), b"2");
    let error = reader.read(&path("t/b"), 0..9).unwrap_err();
    assert!(matches!(error, StoreError::Blocked { .. }), "{error}");
}

/// Returns the name and kind of the only entry of a directory.
fn only_entry(store: &dyn Store, dir: &str) -> (String, FileKind) {
    let entries = store.list(&path(dir)).unwrap().entries;
    assert_eq!(entries.len(), 1, "{entries:?}");
    (entries[0].name.to_string(), entries[0].kind)
}

#[test]
fn files_that_something_else_is_in_the_way_of_are_listed_but_not_readable() {
    let disk = SimDisk::new();
    let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s"), path("t")]).unwrap();
    writer.commit(vec![replace("s/a.json", "1")], Durability::Synced).unwrap();
    writer.commit(vec![replace("t/b/log", "1")], Durability::Synced).unwrap();
    disk.kill_all();
    let process = disk.process();
    process.remove(&path("s/a.json")).unwrap();
    process.create_dir(&path("s/a.json")).unwrap();
    process.remove(&path("t/b/log")).unwrap();
    process.remove(&path("t/b")).unwrap();
    disk.put_file(&path("t/b"), b"in the way");
    let reader = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    let snapshot = reader.snapshot(&[path("s"), path("t")]).unwrap().unwrap();
    for shown in [&reader as &dyn Store, &*snapshot] {
        assert_eq!(only_entry(shown, "s"), ("a.json".to_owned(), FileKind::File));
        assert_eq!(only_entry(shown, "t"), ("b".to_owned(), FileKind::Dir));
        let errors = [
            shown.stat(&path("s/a.json")).err(),
            shown.read(&path("s/a.json"), 0..9).err(),
            shown.stat(&path("t/b")).err(),
            shown.list(&path("t/b")).err(),
            shown.read(&path("t/b/log"), 0..9).err(),
        ];
        for (number, error) in errors.into_iter().enumerate() {
            assert!(matches!(error, Some(StoreError::Blocked { .. })), "{number}: {error:?}");
        }
    }
}

#[test]
fn a_writer_waits_a_second_for_a_recovery_that_is_stopped_on_a_slow_disk() {
    let disk = SimDisk::new();
    let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![replace("s/a", "1")], Durability::Synced).unwrap();
    disk.kill_all();
    // Another process holds these locks while it recovers the log.
    let recovering = disk.process();
    let log = |end: &str| path(&format!(".everturn/wal/0001.{end}"));
    let _dead = recovering.lock(&log("lock"), LockMode::Shared).unwrap().unwrap();
    let _recovery = recovering.lock(&log("recovery"), LockMode::Exclusive).unwrap().unwrap();
    let slow = HookedDisk::new(Arc::new(disk.process()))
        .without_files()
        .before_reads(|| std::thread::sleep(Duration::from_millis(10)));
    let store = FileStore::open(Arc::new(slow), small_log()).unwrap();
    let start = Instant::now();
    let error = store.lock_files(&[path("s")]).err().unwrap();
    let took = start.elapsed();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    assert!(took >= Duration::from_secs(1) && took < Duration::from_millis(2500), "{took:?}");
}
