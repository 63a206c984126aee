//! The behaviour that all disks share.

use std::io::ErrorKind;

use everturn_store::disk::{
    AppendResult, Disk, DiskFile, FileAccess, FileKind, FilePermissions, Flush, LockMode,
};

use super::content;
use crate::support::path;

fn make(disk: &dyn Disk, file: &str, bytes: &[u8]) -> Box<dyn DiskFile> {
    let made = disk.create(&path(file), FilePermissions::Default).unwrap();
    if !bytes.is_empty() {
        assert_eq!(made.append(bytes).unwrap().written, bytes.len());
    }
    made
}

fn names(disk: &dyn Disk, dir: &str) -> Vec<String> {
    let listing = disk.list(&path(dir)).unwrap();
    listing.entries.iter().map(|entry| entry.name.to_string()).collect()
}

fn exists(disk: &dyn Disk, place: &str) -> bool {
    disk.stat(&path(place)).unwrap().is_some()
}

fn fails<T>(result: std::io::Result<T>, kind: ErrorKind) {
    assert_eq!(result.map(|_| ()).map_err(|error| error.kind()), Err(kind));
}

pub(super) fn a_new_file_is_empty_and_takes_appends(disk: &dyn Disk) {
    let file = make(disk, "a.jsonl", b"");
    assert_eq!(file.stat().unwrap().len, 0);
    assert_eq!(file.append(b"one\n").unwrap(), AppendResult { at: 0, written: 4 });
    assert_eq!(file.append(b"two\n").unwrap(), AppendResult { at: 4, written: 4 });
    assert_eq!(content(disk, "a.jsonl"), b"one\ntwo\n");
    let stat = disk.stat(&path("a.jsonl")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.len), (FileKind::File, 8));
    assert_eq!(stat, file.stat().unwrap());
}

pub(super) fn a_taken_name_is_not_created_again(disk: &dyn Disk) {
    make(disk, "a", b"kept");
    disk.create_dir(&path("d")).unwrap();
    for taken in ["a", "d"] {
        fails(disk.create(&path(taken), FilePermissions::Default), ErrorKind::AlreadyExists);
        fails(disk.create_dir(&path(taken)), ErrorKind::AlreadyExists);
    }
    assert_eq!(content(disk, "a"), b"kept");
}

pub(super) fn what_is_missing_is_not_found(disk: &dyn Disk) {
    assert_eq!(disk.stat(&path("x")).unwrap(), None);
    assert_eq!(disk.stat(&path("x/y")).unwrap(), None);
    for access in [FileAccess::Read, FileAccess::Append, FileAccess::Write] {
        fails(disk.open(&path("x"), access), ErrorKind::NotFound);
        fails(disk.open(&path("x/y"), access), ErrorKind::NotFound);
    }
    fails(disk.list(&path("x")), ErrorKind::NotFound);
    fails(disk.remove(&path("x")), ErrorKind::NotFound);
    fails(disk.rename(&path("x"), &path("y")), ErrorKind::NotFound);
    fails(disk.sync_dir(&path("x"), Flush::CheckpointDir), ErrorKind::NotFound);
    assert!(!exists(disk, "y"));
}

pub(super) fn nothing_is_created_in_a_missing_directory(disk: &dyn Disk) {
    make(disk, "a", b"kept");
    fails(disk.create(&path("x/y"), FilePermissions::Default), ErrorKind::NotFound);
    fails(disk.create_dir(&path("x/y")), ErrorKind::NotFound);
    fails(disk.rename(&path("a"), &path("x/y")), ErrorKind::NotFound);
    fails(disk.lock(&path("x/y"), LockMode::Exclusive), ErrorKind::NotFound);
    assert_eq!(names(disk, ""), ["a"]);
}

pub(super) fn nothing_stands_below_a_file(disk: &dyn Disk) {
    make(disk, "a", b"kept");
    assert_eq!(disk.stat(&path("a/b")).unwrap(), None);
    assert!(disk.open(&path("a/b"), FileAccess::Read).is_err());
    assert!(disk.create(&path("a/b"), FilePermissions::Default).is_err());
    assert!(disk.create_dir(&path("a/b")).is_err());
    assert!(disk.rename(&path("a/b"), &path("c")).is_err());
    assert!(disk.remove(&path("a/b")).is_err());
    assert_eq!(content(disk, "a"), b"kept");
}

pub(super) fn reading_stops_at_the_end(disk: &dyn Disk) {
    let file = make(disk, "a", b"0123456789");
    let mut buf = [b'-'; 4];
    assert_eq!(file.read_at(8, &mut buf).unwrap(), 2);
    assert_eq!(&buf, b"89--");
    assert_eq!(file.read_at(10, &mut buf).unwrap(), 0);
    assert_eq!(file.read_at(1000, &mut buf).unwrap(), 0);
    assert_eq!(file.read_at(3, &mut []).unwrap(), 0);
    assert_eq!(&buf, b"89--");
}

pub(super) fn writing_in_the_middle_changes_nothing_else(disk: &dyn Disk) {
    make(disk, "a", b"0123456789");
    let file = disk.open(&path("a"), FileAccess::Write).unwrap();
    assert_eq!(file.write_at(3, b"xyz").unwrap(), 3);
    assert_eq!(content(disk, "a"), b"012xyz6789");
    assert_eq!(file.write_at(9, b"end").unwrap(), 3);
    assert_eq!(content(disk, "a"), b"012xyz678end");
}

pub(super) fn writing_beyond_the_end_fills_the_gap_with_nul(disk: &dyn Disk) {
    make(disk, "a", b"ab");
    let file = disk.open(&path("a"), FileAccess::Write).unwrap();
    file.write_at(5, b"z").unwrap();
    assert_eq!(content(disk, "a"), b"ab\0\0\0z");
}

pub(super) fn a_file_is_cut_and_extended(disk: &dyn Disk) {
    let file = make(disk, "a", b"0123456789");
    file.set_len(4).unwrap();
    assert_eq!(content(disk, "a"), b"0123");
    file.set_len(6).unwrap();
    assert_eq!(content(disk, "a"), b"0123\0\0");
    assert_eq!(file.append(b"!").unwrap(), AppendResult { at: 6, written: 1 });
    assert_eq!(file.stat().unwrap().len, 7);
}

pub(super) fn a_file_opened_for_reading_cannot_be_changed(disk: &dyn Disk) {
    make(disk, "a", b"kept");
    let file = disk.open(&path("a"), FileAccess::Read).unwrap();
    assert!(file.write_at(0, b"x").is_err());
    assert!(file.append(b"x").is_err());
    assert!(file.set_len(0).is_err());
    assert_eq!(content(disk, "a"), b"kept");
}

pub(super) fn a_directory_is_no_file_and_a_file_no_directory(disk: &dyn Disk) {
    disk.create_dir(&path("d")).unwrap();
    make(disk, "f", b"");
    for access in [FileAccess::Read, FileAccess::Append, FileAccess::Write] {
        fails(disk.open(&path("d"), access), ErrorKind::IsADirectory);
    }
    fails(disk.list(&path("f")), ErrorKind::NotADirectory);
    assert_eq!(disk.stat(&path("d")).unwrap().unwrap().kind, FileKind::Dir);
    assert_eq!(disk.stat(&path("")).unwrap().unwrap().kind, FileKind::Dir);
}

pub(super) fn an_append_lands_behind_those_of_others(disk: &dyn Disk) {
    let first = make(disk, "a", b"1\n");
    let second = disk.open(&path("a"), FileAccess::Append).unwrap();
    assert_eq!(second.append(b"two\n").unwrap(), AppendResult { at: 2, written: 4 });
    assert_eq!(first.append(b"3\n").unwrap(), AppendResult { at: 6, written: 2 });
    second.set_len(2).unwrap();
    assert_eq!(first.append(b"4\n").unwrap(), AppendResult { at: 2, written: 2 });
    assert_eq!(content(disk, "a"), b"1\n4\n");
}

pub(super) fn a_handle_outlives_its_name(disk: &dyn Disk) {
    let renamed = make(disk, "a", b"a");
    let removed = make(disk, "b", b"b");
    let replaced = make(disk, "c", b"c");
    disk.rename(&path("a"), &path("c")).unwrap();
    disk.remove(&path("b")).unwrap();
    for file in [&renamed, &removed, &replaced] {
        assert_eq!(file.append(b"!").unwrap(), AppendResult { at: 1, written: 1 });
        assert_eq!(file.stat().unwrap().len, 2);
        file.sync(Flush::CheckpointFile).unwrap();
    }
    assert_eq!(content(disk, "c"), b"a!");
    assert_eq!(names(disk, ""), ["c"]);
}

pub(super) fn a_file_renamed_over_another_keeps_its_identity(disk: &dyn Disk) {
    let (old, new) = (make(disk, "a", b"old"), make(disk, "b", b"new"));
    assert_ne!(old.stat().unwrap().id, new.stat().unwrap().id);
    disk.rename(&path("b"), &path("a")).unwrap();
    let found = disk.stat(&path("a")).unwrap().unwrap();
    assert_eq!(found.id, new.stat().unwrap().id);
    assert_ne!(found.id, old.stat().unwrap().id);
    assert_eq!(content(disk, "a"), b"new");
    assert!(!exists(disk, "b"));
}

pub(super) fn a_listing_is_sorted_and_says_what_is_what(disk: &dyn Disk) {
    assert!(disk.list(&path("")).unwrap().entries.is_empty());
    disk.create_dir(&path("m")).unwrap();
    for name in ["z", "B", "a.b", "a", "ä", "m/inner"] {
        make(disk, name, b"");
    }
    let listing = disk.list(&path("")).unwrap();
    let found: Vec<_> = listing.entries.iter().map(|e| (e.name.as_str(), e.kind)).collect();
    let file = FileKind::File;
    let wanted =
        [("B", file), ("a", file), ("a.b", file), ("m", FileKind::Dir), ("z", file), ("ä", file)];
    assert_eq!(found, wanted);
    assert!(listing.refused.is_empty());
    assert_eq!(names(disk, "m"), ["inner"]);
}

pub(super) fn a_directory_is_renamed_with_all_in_it(disk: &dyn Disk) {
    for dir in ["a", "a/sub", "ab"] {
        disk.create_dir(&path(dir)).unwrap();
    }
    let file = make(disk, "a/sub/f", b"deep");
    make(disk, "ab/f", b"beside");
    disk.rename(&path("a"), &path("ab/moved")).unwrap();
    assert_eq!(content(disk, "ab/moved/sub/f"), b"deep");
    assert_eq!(content(disk, "ab/f"), b"beside");
    assert!(!exists(disk, "a") && !exists(disk, "a/sub"));
    file.append(b"er").unwrap();
    assert_eq!(content(disk, "ab/moved/sub/f"), b"deeper");
}

pub(super) fn a_rename_replaces_files_only(disk: &dyn Disk) {
    for dir in ["d", "e"] {
        disk.create_dir(&path(dir)).unwrap();
        make(disk, &format!("{dir}/f"), dir.as_bytes());
    }
    make(disk, "f", b"file");
    assert!(disk.rename(&path("f"), &path("d")).is_err());
    assert!(disk.rename(&path("d"), &path("f")).is_err());
    assert!(disk.rename(&path("d"), &path("e")).is_err());
    assert_eq!(names(disk, ""), ["d", "e", "f"]);
    assert_eq!(content(disk, "e/f"), b"e");
}

pub(super) fn a_directory_cannot_move_into_itself(disk: &dyn Disk) {
    disk.create_dir(&path("d")).unwrap();
    make(disk, "d/f", b"kept");
    assert!(disk.rename(&path("d"), &path("d/e")).is_err());
    assert_eq!(content(disk, "d/f"), b"kept");
    disk.rename(&path("d"), &path("d")).unwrap();
    assert_eq!(content(disk, "d/f"), b"kept");
}

pub(super) fn files_and_empty_directories_are_removed(disk: &dyn Disk) {
    disk.create_dir(&path("d")).unwrap();
    make(disk, "d/f", b"");
    disk.remove(&path("d/f")).unwrap();
    assert!(names(disk, "d").is_empty());
    disk.remove(&path("d")).unwrap();
    assert!(!exists(disk, "d"));
    fails(disk.remove(&path("d")), ErrorKind::NotFound);
    make(disk, "d", b"now a file");
}

pub(super) fn a_directory_with_something_in_it_stays(disk: &dyn Disk) {
    for dir in ["d", "d/e"] {
        disk.create_dir(&path(dir)).unwrap();
    }
    fails(disk.remove(&path("d")), ErrorKind::DirectoryNotEmpty);
    disk.remove(&path("d/e")).unwrap();
    make(disk, "d/f", b"kept");
    fails(disk.remove(&path("d")), ErrorKind::DirectoryNotEmpty);
    assert_eq!(content(disk, "d/f"), b"kept");
}

fn is_free(disk: &dyn Disk, lock: &str, sharing: LockMode) -> bool {
    disk.lock(&path(lock), sharing).unwrap().is_some()
}

pub(super) fn an_exclusive_lock_excludes_all_others(disk: &dyn Disk) {
    let held = disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
    assert!(!is_free(disk, "l", LockMode::Exclusive));
    assert!(!is_free(disk, "l", LockMode::Shared));
    drop(held);
}

pub(super) fn shared_locks_exclude_exclusive_ones(disk: &dyn Disk) {
    let first = disk.lock(&path("l"), LockMode::Shared).unwrap().unwrap();
    let second = disk.lock(&path("l"), LockMode::Shared).unwrap().unwrap();
    assert!(!is_free(disk, "l", LockMode::Exclusive));
    drop(first);
    assert!(!is_free(disk, "l", LockMode::Exclusive));
    drop(second);
    assert!(is_free(disk, "l", LockMode::Exclusive));
}

pub(super) fn a_dropped_lock_is_free(disk: &dyn Disk) {
    drop(disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap());
    assert!(exists(disk, "l"));
    drop(disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap());
    assert!(is_free(disk, "l", LockMode::Shared));
}

pub(super) fn a_released_lock_leaves_no_file_and_can_be_taken_again(disk: &dyn Disk) {
    for _ in 0..3 {
        let held = disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
        assert!(exists(disk, "l"));
        held.release().unwrap();
        assert!(!exists(disk, "l"));
    }
}

pub(super) fn the_holder_of_a_lock_is_described(disk: &dyn Disk) {
    let held = disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
    held.describe(b"a long description").unwrap();
    assert_eq!(content(disk, "l"), b"a long description");
    held.describe(b"short").unwrap();
    assert_eq!(content(disk, "l"), b"short");
    drop(held);
    assert_eq!(content(disk, "l"), b"short");
}

pub(super) fn locks_by_different_paths_do_not_meet(disk: &dyn Disk) {
    let _held = disk.lock(&path("l"), LockMode::Exclusive).unwrap().unwrap();
    assert!(is_free(disk, "m", LockMode::Exclusive));
}

pub(super) fn modes_are_as_asked(disk: &dyn Disk) {
    disk.create(&path("private"), FilePermissions::OwnerOnly).unwrap();
    disk.create(&path("odd"), FilePermissions::Exact(0o640)).unwrap();
    disk.create(&path("open"), FilePermissions::Exact(0o666)).unwrap();
    let bits = |file: &str| disk.stat(&path(file)).unwrap().unwrap().mode;
    assert_eq!([bits("private"), bits("odd"), bits("open")], [0o600, 0o640, 0o666]);
    disk.create(&path("usual"), FilePermissions::Default).unwrap();
    assert_eq!(bits("usual") & 0o600, 0o600);
}

pub(super) fn files_and_directories_can_be_flushed(disk: &dyn Disk) {
    disk.create_dir(&path("d")).unwrap();
    let made = make(disk, "d/f", b"x");
    made.sync(Flush::CheckpointFile).unwrap();
    let opened = disk.open(&path("d/f"), FileAccess::Write).unwrap();
    opened.sync(Flush::Commit).unwrap();
    for dir in ["d", ""] {
        disk.sync_dir(&path(dir), Flush::CheckpointDir).unwrap();
    }
    assert_eq!(content(disk, "d/f"), b"x");
}
