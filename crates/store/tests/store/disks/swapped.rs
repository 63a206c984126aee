//! A directory that another program repeatedly swaps for a link while it is written to.
#![expect(clippy::disallowed_methods, reason = "these checks look at the real disk from outside")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use everturn_store::disk::{Disk, FileAccess, FilePermissions, LockMode, RealDisk};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use crate::support::path;

/// How often every operation is tried. Code that resolves a path twice is caught within a few thousand.
const ROUNDS: usize = 40_000;

/// Returns length, change time and link count of a directory and of each name in it.
fn facts(dir: &Path) -> BTreeMap<String, (u64, i64, i64, u64)> {
    let fact = |place: &Path| {
        let data = fs::symlink_metadata(place).unwrap();
        (data.len(), data.ctime(), data.ctime_nsec(), data.nlink())
    };
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let names =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fact(&entry.path())));
    names.chain([(String::new(), fact(dir))]).collect()
}

/// Fills a directory with the files that the operations use.
fn furnish(dir: &Path) {
    for file in ["appended", "written", "replaced", "kept", "removed", "moved"] {
        fs::write(dir.join(file), "content").unwrap();
    }
    fs::create_dir(dir.join("empty")).unwrap();
}

/// Runs `operate` while the directory `d` is swapped for a link that leads outside, and back.
///
/// Nothing outside may change; something inside must have.
fn under_swaps(operate: impl Fn(&RealDisk) -> io::Result<()>) {
    let (outside, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (dir, link) = (root.path().join("d"), root.path().join("link"));
    fs::create_dir(&dir).unwrap();
    furnish(&dir);
    furnish(outside.path());
    fs::write(root.path().join("new"), "new").unwrap();
    symlink(outside.path(), &link).unwrap();
    let before = facts(outside.path());
    let disk = RealDisk::open(root.path()).unwrap();
    let over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let done = (0..ROUNDS).filter(|_| operate(&disk).is_ok()).count();
        over.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(facts(outside.path()), before, "something outside has changed");
    assert!(done > 0, "nothing has worked");
}

#[test]
fn an_append_never_follows_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        disk.open(&path("d/appended"), FileAccess::Append)?.append(b"line\n").map(|_| ())
    });
}

#[test]
fn a_write_never_follows_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        disk.open(&path("d/written"), FileAccess::Write)?.write_at(0, b"new").map(|_| ())
    });
}

#[test]
fn a_new_file_or_directory_is_never_made_behind_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        let made = disk.create(&path("d/new"), FilePermissions::Exact(0o640)).map(|_| ());
        let made_dir = disk.create_dir(&path("d/newdir"));
        // Both may succeed once; later they fail because the names are taken.
        let again = disk.remove(&path("d/new")).and(disk.remove(&path("d/newdir")));
        made.and(made_dir).and(again)
    });
}

#[test]
fn a_rename_never_replaces_anything_behind_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        if disk.stat(&path("new"))?.is_none() {
            disk.create(&path("new"), FilePermissions::Default)?;
        }
        disk.rename(&path("new"), &path("d/replaced"))
    });
}

#[test]
fn nothing_is_taken_away_from_behind_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        if disk.stat(&path("taken"))?.is_some() {
            return disk.rename(&path("taken"), &path("d/moved"));
        }
        disk.rename(&path("d/moved"), &path("taken"))
    });
}

#[test]
fn nothing_is_removed_behind_a_link_that_is_swapped_in() {
    under_swaps(|disk| {
        let removed = disk.remove(&path("d/removed")).and_then(|()| disk.remove(&path("d/empty")));
        if disk.stat(&path("d/removed")).is_ok_and(|stat| stat.is_none()) {
            disk.create(&path("d/removed"), FilePermissions::Default)?;
            disk.create_dir(&path("d/empty"))?;
        }
        removed
    });
}

#[test]
fn no_file_behind_a_link_that_is_swapped_in_gets_a_second_name() {
    under_swaps(|disk| {
        disk.link(&path("d/kept"), &path("second"))?;
        disk.remove(&path("second"))
    });
}

#[test]
fn no_lock_is_taken_or_freed_behind_a_link_that_is_swapped_in() {
    under_swaps(|disk| match disk.lock(&path("d/lock"), LockMode::Exclusive)? {
        Some(lock) => lock.describe(b"held").and_then(|()| lock.release()),
        None => Ok(()),
    });
}
