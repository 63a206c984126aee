//! The simulated disk keeps what it promises to keep, and breaks what it is asked to break.

use std::collections::BTreeMap;

use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::disk::{Disk, DiskFile, FileAccess, FilePermissions, Flush, LockMode};

use super::content;
use crate::support::path;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn cut(disk: &SimDisk, data: DataSurvival, names: NameSurvival) -> SimDisk {
    let after = disk.fork();
    after.power_cut(Survival { data, names });
    after.process()
}

fn flush_names(disk: &SimDisk, dirs: &[&str]) {
    for dir in dirs {
        disk.sync_dir(&path(dir), Flush::CheckpointDir).unwrap();
    }
}

/// Returns an open file with four flushed bytes and four unflushed writes.
fn written() -> (SimDisk, Box<dyn DiskFile>) {
    let disk = SimDisk::new();
    let file = disk.create(&path("f"), FilePermissions::Default).unwrap();
    file.append(b"base").unwrap();
    file.sync(Flush::CheckpointFile).unwrap();
    flush_names(&disk, &[""]);
    for bytes in [&b"one."[..], b"two.", b"three...", b"four.five"] {
        file.append(bytes).unwrap();
    }
    (disk, file)
}

fn names(disk: &SimDisk) -> Vec<String> {
    let mut all: Vec<_> = disk.contents().keys().map(ToString::to_string).collect();
    all.extend(disk.dirs().iter().map(|dir| format!("{dir}/")));
    all.sort();
    all
}

#[test]
fn unflushed_bytes_survive_as_chosen() {
    let (disk, _file) = written();
    let left = |data| content(&cut(&disk, data, NameSurvival::Lost), "f");
    assert_eq!(left(DataSurvival::Lost), b"base");
    assert_eq!(left(DataSurvival::Kept), b"baseone.two.three...four.five");
    assert_eq!(left(DataSurvival::Prefix), b"baseone.two.thre");
    assert_eq!(left(DataSurvival::Hole), b"baseone.two.three...fou\0\0\0ive");
    assert_eq!(content(&disk, "f"), b"baseone.two.three...four.five");
}

#[test]
fn a_hole_in_an_overwrite_shows_what_was_there_before() {
    let disk = SimDisk::new();
    disk.put_file(&path("f"), b"abcdefghi");
    disk.open(&path("f"), FileAccess::Write).unwrap().write_at(0, b"ABCDEFGHI").unwrap();
    assert_eq!(content(&cut(&disk, DataSurvival::Hole, NameSurvival::Lost), "f"), b"ABCdefGHI");
}

#[test]
fn mixed_data_differs_from_file_to_file_and_from_seed_to_seed() {
    let disk = SimDisk::new();
    for n in 0..8 {
        let file = disk.create(&path(&format!("f{n}")), FilePermissions::Default).unwrap();
        file.append(b"123456789").unwrap();
    }
    let left = |seed| cut(&disk, DataSurvival::Mixed(seed), NameSurvival::Kept).contents();
    let kinds: BTreeMap<_, _> = left(1).into_values().map(|bytes| (bytes, ())).collect();
    assert!(kinds.len() > 2, "{kinds:?}");
    assert_ne!(left(1), left(2));
    assert_eq!(left(1), left(1));
}

#[test]
fn a_flush_of_a_file_saves_what_came_before_it_alone() {
    let (disk, file) = written();
    file.sync(Flush::CheckpointFile).unwrap();
    file.append(b"late").unwrap();
    let left = content(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost), "f");
    assert_eq!(left, b"baseone.two.three...four.five");
}

#[test]
fn cutting_a_file_is_as_loose_as_writing_it() {
    let (disk, file) = written();
    file.sync(Flush::CheckpointFile).unwrap();
    file.set_len(2).unwrap();
    let left = |data| content(&cut(&disk, data, NameSurvival::Lost), "f").len();
    assert_eq!((left(DataSurvival::Lost), left(DataSurvival::Kept)), (29, 2));
}

#[test]
fn unflushed_names_survive_as_chosen() {
    let disk = SimDisk::new();
    disk.put_file(&path("old"), b"");
    disk.put_file(&path("gone"), b"");
    disk.create_dir(&path("d")).unwrap();
    disk.create(&path("d/f"), FilePermissions::Default).unwrap();
    disk.rename(&path("old"), &path("new")).unwrap();
    disk.remove(&path("gone")).unwrap();
    let left = |survival| names(&cut(&disk, DataSurvival::Kept, survival));
    assert_eq!(left(NameSurvival::Lost), ["gone", "old"]);
    assert_eq!(left(NameSurvival::Kept), ["d/", "d/f", "new"]);
    assert_eq!(left(NameSurvival::Prefix), ["d/", "d/f", "gone", "old"]);
}

#[test]
fn a_flushed_directory_keeps_its_own_names_and_no_others() {
    let disk = SimDisk::new();
    disk.put_file(&path("a/x"), b"");
    disk.put_file(&path("b/y"), b"");
    disk.remove(&path("a/x")).unwrap();
    disk.remove(&path("b/y")).unwrap();
    disk.create(&path("a/new"), FilePermissions::Default).unwrap();
    flush_names(&disk, &["a"]);
    disk.create(&path("a/late"), FilePermissions::Default).unwrap();
    assert_eq!(
        names(&cut(&disk, DataSurvival::Kept, NameSurvival::Lost)),
        ["a/", "a/new", "b/", "b/y"]
    );
}

#[test]
fn a_name_in_a_directory_that_was_lost_is_lost_with_it() {
    let disk = SimDisk::new();
    disk.create_dir(&path("d")).unwrap();
    disk.create(&path("d/f"), FilePermissions::Default).unwrap();
    flush_names(&disk, &["d"]);
    assert!(names(&cut(&disk, DataSurvival::Kept, NameSurvival::Lost)).is_empty());
    flush_names(&disk, &[""]);
    assert_eq!(names(&cut(&disk, DataSurvival::Kept, NameSurvival::Lost)), ["d/", "d/f"]);
}

#[test]
fn a_rename_is_safe_once_both_directories_are_flushed() {
    let renamed = |flushed: &[&str]| {
        let disk = SimDisk::new();
        disk.put_file(&path("a/f"), b"1");
        disk.put_file(&path("b/g"), b"2");
        disk.rename(&path("a/f"), &path("b/f")).unwrap();
        flush_names(&disk, flushed);
        names(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost))
    };
    assert_eq!(renamed(&[]), ["a/", "a/f", "b/", "b/g"]);
    assert_eq!(renamed(&["b"]), ["a/", "a/f", "b/", "b/f", "b/g"], "the old name comes back");
    assert_eq!(renamed(&["a"]), ["a/", "b/", "b/f", "b/g"], "a file always has a name");
    assert_eq!(renamed(&["a", "b"]), ["a/", "b/", "b/f", "b/g"]);
}

#[test]
fn a_rename_into_a_new_directory_never_loses_both_names() {
    let disk = SimDisk::new();
    disk.put_file(&path("a/f"), b"1");
    disk.create_dir(&path("b")).unwrap();
    disk.create_dir(&path("b/c")).unwrap();
    disk.create_dir(&path("d")).unwrap();
    disk.rename(&path("a/f"), &path("b/c/f")).unwrap();
    flush_names(&disk, &["a"]);
    assert_eq!(
        names(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost)),
        ["a/", "b/", "b/c/", "b/c/f"]
    );
}

#[test]
fn a_lost_rename_over_a_file_brings_the_old_file_back() {
    let disk = SimDisk::new();
    disk.put_file(&path("f"), b"old");
    disk.create(&path("t"), FilePermissions::Default).unwrap().append(b"new").unwrap();
    disk.rename(&path("t"), &path("f")).unwrap();
    let left = |data, names| content(&cut(&disk, data, names), "f");
    assert_eq!(left(DataSurvival::Kept, NameSurvival::Lost), b"old");
    assert_eq!(left(DataSurvival::Kept, NameSurvival::Kept), b"new");
    assert_eq!(
        left(DataSurvival::Lost, NameSurvival::Kept),
        b"",
        "the name may be ahead of the bytes"
    );
}

#[test]
fn what_is_put_on_the_disk_has_always_been_there() {
    let disk = SimDisk::new();
    disk.put_file(&path("d/f"), b"first");
    disk.open(&path("d/f"), FileAccess::Append).unwrap().append(b"!").unwrap();
    disk.put_file(&path("d/f"), b"second");
    assert_eq!(content(&disk, "d/f"), b"second");
    assert_eq!(content(&cut(&disk, DataSurvival::Kept, NameSurvival::Lost), "d/f"), b"second");
}

#[test]
fn a_flush_that_is_ignored_saves_nothing() {
    let disk = SimDisk::new();
    disk.ignore_flush(Flush::CheckpointFile);
    let file = disk.create(&path("f"), FilePermissions::Default).unwrap();
    file.append(b"x").unwrap();
    file.sync(Flush::CheckpointFile).unwrap();
    flush_names(&disk, &[""]);
    assert_eq!(content(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost), "f"), b"");
    file.sync(Flush::Commit).unwrap();
    assert_eq!(content(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost), "f"), b"x");
    assert_eq!(disk.flushes()[&Flush::CheckpointFile], 1);
}

fn inject(disk: &SimDisk, trouble: FaultKind, lasting: bool) {
    let at = if matches!(trouble, FaultKind::ReadError(_)) { disk.reads() } else { disk.changes() };
    disk.inject(Fault { at, kind: trouble, lasting });
}

fn code<T>(result: std::io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

#[test]
fn a_lost_flush_drops_what_it_covered() {
    let (disk, file) = written();
    inject(&disk, FaultKind::FlushLost, false);
    assert_eq!(code(file.sync(Flush::CheckpointFile)), Some(EIO));
    assert_eq!(content(&disk, "f"), b"base");
    file.sync(Flush::CheckpointFile).unwrap();
    assert_eq!(content(&cut(&disk, DataSurvival::Kept, NameSurvival::Kept), "f"), b"base");
    inject(&disk, FaultKind::FlushLost, false);
    assert_eq!(code(file.append(b"x")), Some(EIO));
}

#[test]
fn a_short_write_writes_half_and_other_changes_find_the_disk_full() {
    let (disk, file) = written();
    inject(&disk, FaultKind::Short, true);
    assert_eq!(file.append(b"123456").unwrap().written, 3);
    assert_eq!(code(file.append(b"1")), Some(ENOSPC));
    assert_eq!(code(disk.create_dir(&path("d"))), Some(ENOSPC));
    assert_eq!(code(file.sync(Flush::CheckpointFile)), Some(ENOSPC));
    assert!(content(&disk, "f").ends_with(b"five123"));
}

#[test]
fn a_fault_comes_once_or_stays_until_healed() {
    let disk = SimDisk::new();
    inject(&disk, FaultKind::Error(EIO), false);
    assert_eq!(code(disk.create_dir(&path("a"))), Some(EIO));
    disk.create_dir(&path("a")).unwrap();
    inject(&disk, FaultKind::Error(ENOSPC), true);
    for _ in 0..3 {
        assert_eq!(code(disk.create_dir(&path("b"))), Some(ENOSPC));
    }
    assert_eq!(names(&disk), ["a/"]);
    disk.clear_faults();
    disk.create_dir(&path("b")).unwrap();
}

#[test]
fn a_fault_comes_at_its_operation_and_not_before() {
    let disk = SimDisk::new();
    disk.inject(Fault { at: 2, kind: FaultKind::Error(EIO), lasting: false });
    let made = ["a", "b", "c", "d"].map(|dir| disk.create_dir(&path(dir)).is_ok());
    assert_eq!(made, [true, true, false, true]);
    assert_eq!(disk.changes(), 4);
}

#[test]
fn a_read_error_touches_reads_alone() {
    let disk = SimDisk::new();
    disk.put_file(&path("f"), b"x");
    inject(&disk, FaultKind::ReadError(EIO), true);
    assert_eq!(code(disk.stat(&path("f"))), Some(EIO));
    assert_eq!(code(disk.list(&path(""))), Some(EIO));
    assert_eq!(code(disk.open(&path("f"), FileAccess::Read)), Some(EIO));
    disk.create_dir(&path("d")).unwrap();
    disk.clear_faults();
    let file = disk.open(&path("f"), FileAccess::Read).unwrap();
    inject(&disk, FaultKind::ReadError(EIO), false);
    assert_eq!(code(file.read_at(0, &mut [0])), Some(EIO));
    assert_eq!(file.read_at(0, &mut [0]).unwrap(), 1);
}

#[test]
fn a_flipped_bit_stays_flipped() {
    let disk = SimDisk::new();
    disk.put_file(&path("f"), b"abc");
    disk.flip_bit(&path("f"), 1, 0);
    disk.flip_bit(&path("f"), 100, 0);
    disk.flip_bit(&path("missing"), 0, 0);
    assert_eq!(content(&disk, "f"), b"acc");
    assert_eq!(content(&cut(&disk, DataSurvival::Lost, NameSurvival::Lost), "f"), b"acc");
}

#[test]
fn a_killed_process_frees_its_locks_and_leaves_its_writes() {
    let disk = SimDisk::new();
    let (one, two) = (disk.process(), disk.process());
    let file = one.create(&path("f"), FilePermissions::Default).unwrap();
    file.append(b"unflushed").unwrap();
    let lock = one.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
    let other = two.lock(&path("m"), LockMode::Exclusive).unwrap().unwrap();
    assert!(two.lock(&path("l"), LockMode::Exclusive).unwrap().is_none());
    one.kill();
    let taken = two.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
    assert_eq!(content(&two, "f"), b"unflushed");
    assert!(file.append(b"x").is_err() && file.stat().is_err());
    assert!(one.stat(&path("f")).is_err());
    assert!(lock.describe(b"dead").is_err());
    drop(lock);
    assert!(disk.lock(&path("l"), LockMode::Exclusive).unwrap().is_none(), "it is another's now");
    assert!(disk.lock(&path("m"), LockMode::Exclusive).unwrap().is_none());
    drop((taken, other));
}

#[test]
fn a_crash_stops_every_process_until_the_power_comes_back() {
    let disk = SimDisk::new();
    let (one, two) = (disk.process(), disk.process());
    let file = two.create(&path("f"), FilePermissions::Default).unwrap();
    inject(&disk, FaultKind::Crash, false);
    assert!(!disk.crashed());
    assert!(one.create_dir(&path("d")).is_err());
    assert!(disk.crashed());
    assert!(two.stat(&path("f")).is_err() && file.append(b"x").is_err());
    assert_eq!(names(&disk), ["f"]);
    disk.power_cut(Survival { data: DataSurvival::Kept, names: NameSurvival::Kept });
    assert!(!disk.crashed());
    assert!(two.stat(&path("f")).is_err(), "whoever lived before the cut is gone");
    assert!(disk.process().stat(&path("f")).unwrap().is_some());
}

#[test]
fn a_fork_goes_its_own_way() {
    let (disk, file) = written();
    let fork = disk.fork();
    file.append(b"here").unwrap();
    fork.create_dir(&path("there")).unwrap();
    assert!(content(&disk, "f").ends_with(b"here"));
    assert!(content(&fork, "f").ends_with(b"five"));
    assert_eq!(names(&disk), ["f"]);
    assert_eq!(fork.changes(), disk.changes());
}
