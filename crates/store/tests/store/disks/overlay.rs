//! An overlay behaves like a disk, and leaves its base unchanged.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{
    Disk, DiskFile, FileAccess, FileKind, FilePermissions, FileStat, Flush, LockMode, OverlayDisk,
    RealDisk,
};

use super::content;
use crate::model::random::Random;
use crate::support::path;

/// The number of seeds in a normal run, and of operations for each.
const SEEDS: u64 = 300;
const OPERATIONS: usize = 150;

/// Runs `check` on an overlay over `base`, which must stay unchanged.
pub(super) fn unchanged_below(base: &SimDisk, check: impl FnOnce(&OverlayDisk)) {
    let before = (base.changes(), base.contents(), base.dirs());
    check(&OverlayDisk::new(Arc::new(base.clone())));
    assert_eq!((base.changes(), base.contents(), base.dirs()), before);
}

/// Uses an empty base.
pub(super) fn over_nothing(check: impl FnOnce(&dyn Disk)) {
    unchanged_below(&SimDisk::new(), |disk| check(disk));
}

/// Uses a base with files and directories of the names in the suite, all removed in the overlay.
pub(super) fn over_removed(check: impl FnOnce(&dyn Disk)) {
    let base = SimDisk::new();
    for file in ["a/b", "a/sub/f", "ab/f", "b", "c", "d", "e/f/g", "f", "x/y", "y", "m/inner/z"] {
        base.put_file(&path(file), b"from the disk below");
    }
    unchanged_below(&base, |disk| {
        remove_all(disk, &FilePath::root());
        check(disk);
    });
}

fn remove_all(disk: &dyn Disk, dir: &FilePath) {
    for entry in disk.list(dir).unwrap().entries {
        let place = dir.join(&entry.name);
        if entry.kind == FileKind::Dir {
            remove_all(disk, &place);
        }
        disk.remove(&place).unwrap();
    }
}

fn base() -> SimDisk {
    let base = SimDisk::new();
    base.put_file(&path("d/e/deep"), b"deep below");
    base.put_file(&path("d/f"), b"0123456789");
    base.put_file(&path("g"), b"beside");
    base
}

fn changed(disk: &OverlayDisk) -> Vec<String> {
    disk.changed_paths().iter().map(ToString::to_string).collect()
}

#[test]
fn an_overlay_that_only_read_is_empty() {
    unchanged_below(&base(), |disk| {
        assert_eq!(content(disk, "d/f"), b"0123456789");
        let file = disk.open(&path("d/f"), FileAccess::Write).unwrap();
        file.write_at(3, b"345").unwrap();
        file.set_len(10).unwrap();
        file.sync(Flush::RecoverFile).unwrap();
        disk.sync_dir(&path("d"), Flush::RecoverDir).unwrap();
        disk.lock(&path("d/lock"), LockMode::Exclusive).unwrap().unwrap().release().unwrap();
        assert!(disk.is_empty() && disk.changed_paths().is_empty());
        file.write_at(3, b"x").unwrap();
        assert!(!disk.is_empty());
        assert_eq!(changed(disk), ["d/f"]);
        assert_eq!(content(disk, "d/f"), b"012x456789");
    });
}

#[test]
fn a_name_that_is_put_back_is_no_change() {
    unchanged_below(&base(), |disk| {
        disk.rename(&path("d"), &path("moved")).unwrap();
        assert_eq!(changed(disk), ["d", "moved"]);
        disk.rename(&path("moved"), &path("d")).unwrap();
        disk.create(&path("new"), FilePermissions::Default).unwrap();
        disk.remove(&path("new")).unwrap();
        assert!(disk.is_empty(), "{:?}", disk.changed_paths());
    });
}

#[test]
fn a_moved_directory_shows_what_lies_below_and_what_was_written_in_it() {
    unchanged_below(&base(), |disk| {
        disk.open(&path("d/f"), FileAccess::Append).unwrap().append(b"!").unwrap();
        disk.create(&path("d/e/new"), FilePermissions::Default).unwrap();
        disk.rename(&path("d"), &path("moved")).unwrap();
        disk.create_dir(&path("d")).unwrap();
        assert_eq!(content(disk, "moved/f"), b"0123456789!");
        assert_eq!(content(disk, "moved/e/deep"), b"deep below");
        assert!(disk.stat(&path("moved/e/new")).unwrap().is_some());
        assert!(disk.list(&path("d")).unwrap().entries.is_empty());
        assert_eq!(changed(disk), ["d", "moved", "moved/e/new", "moved/f"]);
    });
}

#[test]
fn bytes_that_were_cut_do_not_come_back() {
    unchanged_below(&base(), |disk| {
        let file = disk.open(&path("d/f"), FileAccess::Write).unwrap();
        file.set_len(4).unwrap();
        file.set_len(8).unwrap();
        assert_eq!(content(disk, "d/f"), b"0123\0\0\0\0");
        file.write_at(6, b"ab").unwrap();
        file.write_at(11, b"c").unwrap();
        assert_eq!(content(disk, "d/f"), b"0123\0\0ab\0\0\0c");
    });
}

#[test]
fn every_handle_of_a_file_sees_what_was_written_through_another() {
    unchanged_below(&base(), |disk| {
        let early = disk.open(&path("g"), FileAccess::Read).unwrap();
        let mut buf = [0; 6];
        early.read_at(0, &mut buf).unwrap();
        disk.link(&path("g"), &path("h")).unwrap();
        disk.open(&path("h"), FileAccess::Write).unwrap().write_at(0, b"BE").unwrap();
        early.read_at(0, &mut buf).unwrap();
        assert_eq!(&buf, b"BEside");
        assert_eq!(content(disk, "g"), b"BEside");
        disk.rename(&path("d/f"), &path("g")).unwrap();
        early.read_at(0, &mut buf).unwrap();
        assert_eq!(&buf, b"BEside");
        assert_eq!(content(disk, "h"), b"BEside");
    });
}

#[test]
fn identities_stay_and_are_never_those_of_other_files() {
    unchanged_below(&base(), |disk| {
        let id = |file: &str| disk.stat(&path(file)).unwrap().unwrap().id;
        let below = id("g");
        disk.open(&path("g"), FileAccess::Append).unwrap().append(b"!").unwrap();
        disk.rename(&path("g"), &path("d/g")).unwrap();
        assert_eq!(id("d/g"), below);
        for name in ["one", "two"] {
            disk.create(&path(name), FilePermissions::Default).unwrap();
        }
        assert!(id("one") != id("two") && id("one") != below && id("one") != id("d/f"));
    });
}

#[test]
fn a_large_file_is_not_kept_in_memory_to_change_a_byte() {
    let base = SimDisk::new();
    base.put_file(&path("log"), &vec![b'.'; 1 << 20]);
    let reads = base.reads();
    unchanged_below(&base, |disk| {
        let file = disk.open(&path("log"), FileAccess::Append).unwrap();
        file.append(b"!").unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(base.reads() - reads < 8);
        let mut buf = [0; 3];
        file.read_at((1 << 20) - 1, &mut buf).unwrap();
        assert_eq!(&buf, b".!\0");
    });
}

#[test]
fn other_libraries_get_a_path_to_what_is_as_below() {
    let root = tempfile::tempdir().unwrap();
    let real = RealDisk::open(root.path()).unwrap();
    for dir in ["d", "e"] {
        real.create_dir(&path(dir)).unwrap();
        for file in ["f", "g"] {
            real.create(&path(&format!("{dir}/{file}")), FilePermissions::Default).unwrap();
        }
    }
    std::os::unix::fs::symlink("d/f", root.path().join("link")).unwrap();
    let disk = OverlayDisk::new(Arc::new(real));
    let local = |file: &str| disk.local_path(&path(file)).unwrap();
    let below = |file: &str| Some(root.path().canonicalize().unwrap().join(file));
    assert_eq!(local("d/f"), below("d/f"));
    disk.open(&path("d/f"), FileAccess::Append).unwrap().append(b"x").unwrap();
    disk.rename(&path("e"), &path("moved")).unwrap();
    disk.create(&path("d/new"), FilePermissions::Default).unwrap();
    for file in ["d", "d/f", "d/new", "moved", "moved/f", "e/f"] {
        assert_eq!(local(file), None, "{file}");
    }
    assert_eq!(local("d/g"), below("d/g"));
    // A write that the base refuses is refused here too.
    assert_eq!(content(&disk, "link"), b"x");
    let written = disk.open(&path("link"), FileAccess::Write).map(|_| ());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::PermissionDenied);
}

/// The names that random operations use: few, so that they conflict.
const NAMES: &[&str] =
    &["a", "b", "a/a", "a/b", "b/a", "b/b", "a/a/a", "a/b/a", "b/a/b", "b/b/a", "a/a/b/a"];

/// A file open on both disks.
type Pair = (Box<dyn DiskFile>, Box<dyn DiskFile>);

struct Run {
    seed: u64,
    step: usize,
    random: Random,
    overlay: OverlayDisk,
    plain: SimDisk,
    open: Vec<Pair>,
}

/// Maps the result of an operation; the disks need not agree on the error for a missing path.
fn outcome<T>(result: io::Result<T>) -> Result<T, ErrorKind> {
    result.map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => ErrorKind::NotFound,
        kind => kind,
    })
}

fn facts(stat: FileStat) -> (FileKind, u64, u32) {
    (stat.kind, stat.len, stat.mode)
}

impl Run {
    fn same<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        over: io::Result<T>,
        plain: io::Result<T>,
    ) {
        let (seed, step) = (self.seed, self.step);
        assert_eq!(outcome(over), outcome(plain), "{what}, seed {seed}, step {step}");
    }

    fn name(&mut self) -> FilePath {
        let name: &&str = self.random.pick(NAMES);
        path(name)
    }

    fn keep(
        &mut self,
        what: &str,
        over: io::Result<Box<dyn DiskFile>>,
        plain: io::Result<Box<dyn DiskFile>>,
    ) {
        match (over, plain) {
            (Ok(over), Ok(plain)) => {
                if self.open.len() > 5 {
                    self.open.remove(0);
                }
                self.open.push((over, plain));
            }
            (over, plain) => self.same(what, over.map(|_| ()), plain.map(|_| ())),
        }
    }

    fn change_names(&mut self) {
        let (first, second) = (self.name(), self.name());
        match self.random.below(7) {
            0 => {
                let mode = *self.random.pick(&[
                    FilePermissions::Default,
                    FilePermissions::OwnerOnly,
                    FilePermissions::Exact(0o640),
                ]);
                let made = (self.overlay.create(&first, mode), self.plain.create(&first, mode));
                self.keep("create", made.0, made.1);
            }
            1 => self.same("mkdir", self.overlay.create_dir(&first), self.plain.create_dir(&first)),
            2 | 3 => {
                let done = self.overlay.rename(&first, &second);
                self.same("rename", done, self.plain.rename(&first, &second));
            }
            4 => {
                self.same(
                    "link",
                    self.overlay.link(&first, &second),
                    self.plain.link(&first, &second),
                );
            }
            5 => self.same("remove", self.overlay.remove(&first), self.plain.remove(&first)),
            _ => {
                let access =
                    *self.random.pick(&[FileAccess::Read, FileAccess::Append, FileAccess::Write]);
                let opened = (self.overlay.open(&first, access), self.plain.open(&first, access));
                self.keep("open", opened.0, opened.1);
            }
        }
    }

    fn use_a_file(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let index = self.random.below(self.open.len());
        let offset = self.random.next() % 40;
        let bytes: Vec<u8> =
            (0..=self.random.below(20)).map(|_| b'A' + (self.random.next() % 26) as u8).collect();
        let kind = self.random.below(6);
        let (over, plain) = &self.open[index];
        match kind {
            0 => self.same("append", over.append(&bytes), plain.append(&bytes)),
            1 | 2 => {
                self.same("write", over.write_at(offset, &bytes), plain.write_at(offset, &bytes));
            }
            3 => self.same("cut", over.set_len(offset), plain.set_len(offset)),
            4 => {
                let len = plain.stat().unwrap().len;
                if over.write_at(0, b"").is_ok() {
                    self.same(
                        "reserve",
                        over.reserve(len, len + offset),
                        plain.reserve(len, len + offset),
                    );
                }
            }
            _ => {
                let read = |file: &dyn DiskFile| {
                    let mut buf = vec![b'-'; bytes.len()];
                    file.read_at(offset, &mut buf).map(|count| (count, buf))
                };
                self.same("read", read(&**over), read(&**plain));
            }
        }
        self.same("stat", over.stat().map(facts), plain.stat().map(facts));
    }

    /// Checks that everything visible is the same.
    fn compare(&self) {
        let mut ids = BTreeMap::new();
        for name in NAMES.iter().map(|name| path(name)).chain([FilePath::root()]) {
            let (over, plain) =
                (self.overlay.stat(&name).unwrap(), self.plain.stat(&name).unwrap());
            let (seed, step) = (self.seed, self.step);
            assert_eq!(over.map(facts), plain.map(facts), "{name}, seed {seed}, step {step}");
            self.same("list", self.overlay.list(&name), self.plain.list(&name));
            if let (Some(over), Some(plain)) = (over, plain)
                && over.kind == FileKind::File
            {
                let same =
                    content(&self.overlay, name.as_str()) == content(&self.plain, name.as_str());
                assert!(same, "{name} differs, seed {seed}, step {step}");
                let (over, plain) = (format!("{:?}", over.id), format!("{:?}", plain.id));
                let known = ids.entry(over.clone()).or_insert_with(|| plain.clone()).clone();
                assert_eq!(known, plain, "{name}, seed {seed}, step {step}");
                assert_eq!(
                    ids.values().filter(|id| **id == plain).count(),
                    1,
                    "{name}, seed {seed}"
                );
            }
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let plain = SimDisk::new();
    for name in NAMES {
        let free = plain.stat(&path(name)).unwrap().is_none();
        let above = path(name)
            .ancestors()
            .any(|dir| plain.stat(&dir).unwrap().is_some_and(|stat| stat.kind == FileKind::File));
        if free && !above && !random.once_in(3) {
            if random.once_in(2) {
                plain.put_file(&path(name), &vec![b'0' + (seed % 10) as u8; random.below(30)]);
            } else {
                plain.put_file(&path(&format!("{name}/kept")), b"kept");
            }
        }
    }
    let base = plain.fork();
    let before = (base.changes(), base.contents(), base.dirs());
    let overlay = OverlayDisk::new(Arc::new(base.clone()));
    let mut run = Run { seed, step: 0, random, overlay, plain, open: Vec::new() };
    for step in 0..OPERATIONS {
        run.step = step;
        if run.random.once_in(2) {
            run.change_names();
        } else {
            run.use_a_file();
        }
        if run.random.once_in(4) {
            run.compare();
        }
    }
    run.compare();
    assert_eq!((base.changes(), base.contents(), base.dirs()), before);
    if run.overlay.is_empty() {
        assert_eq!(run.plain.contents(), base.contents());
    }
}

#[test]
fn random_operations_do_the_same_on_an_overlay_and_on_a_disk() {
    (0..SEEDS).for_each(run);
    println!("overlay: {SEEDS} seeds, {} operations", SEEDS * OPERATIONS as u64);
}
