//! Features of the real disk only: links, unsupported names, and the count of flushes.
#![expect(clippy::disallowed_methods, reason = "these checks look at the real disk from outside")]

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use everturn_json::names::NameError;
use everturn_store::disk::{
    Disk, FileAccess, FileKind, FilePermissions, Flush, LockMode, RealDisk,
};
use tempfile::TempDir;

use super::content;
use crate::support::path;

/// A root with links of every kind, and a directory outside of it.
struct Linked {
    _outside: TempDir,
    secret: std::path::PathBuf,
    _root: TempDir,
    disk: RealDisk,
}

fn linked() -> Linked {
    let (outside, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let at = |name: &str| root.path().join(name);
    symlink(&secret, at("out")).unwrap();
    symlink(outside.path(), at("outdir")).unwrap();
    symlink(outside.path().join("nothing"), at("dangling")).unwrap();
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/f"), "inside").unwrap();
    symlink("d/f", at("in")).unwrap();
    symlink("d", at("indir")).unwrap();
    let disk = RealDisk::open(root.path()).unwrap();
    Linked { _outside: outside, secret, _root: root, disk }
}

impl Linked {
    /// Asserts that a request was refused because it leads out, and that nothing outside has changed.
    fn refuses<T>(&self, what: &str, result: std::io::Result<T>) {
        let kind = result.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::PermissionDenied), "{what}");
        self.nothing_outside_has_changed(what);
    }

    fn nothing_outside_has_changed(&self, what: &str) {
        assert_eq!(fs::read(&self.secret).unwrap(), b"secret", "{what}");
        let outside = self.secret.parent().unwrap();
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "{what}");
    }
}

#[test]
fn a_link_that_leads_out_is_never_followed() {
    let linked = linked();
    let disk = &linked.disk;
    for place in ["out", "outdir/secret"] {
        for access in [FileAccess::Read, FileAccess::Append, FileAccess::Write] {
            linked.refuses(place, disk.open(&path(place), access));
        }
    }
    linked.refuses("create", disk.create(&path("outdir/new"), FilePermissions::Default));
    linked.refuses("create_dir", disk.create_dir(&path("outdir/new")));
    linked.refuses("remove", disk.remove(&path("outdir/secret")));
    linked.refuses("rename to", disk.rename(&path("d/f"), &path("out")));
    linked.refuses("rename below", disk.rename(&path("d/f"), &path("outdir/f")));
    linked.refuses("rename from", disk.rename(&path("outdir/secret"), &path("stolen")));
    linked.refuses("list", disk.list(&path("outdir")));
    linked.refuses("sync_dir", disk.sync_dir(&path("outdir"), Flush::CheckpointDir));
    linked.refuses("lock below", disk.lock(&path("outdir/l"), LockMode::Exclusive));
    linked.refuses("lock", disk.lock(&path("out"), LockMode::Exclusive));
    linked.refuses("lock of nothing", disk.lock(&path("dangling"), LockMode::Exclusive));
    assert_eq!(content(disk, "d/f"), b"inside");
}

#[test]
fn a_stat_tells_nothing_of_what_lies_outside() {
    let linked = linked();
    let kind = |place: &str| linked.disk.stat(&path(place)).unwrap().map(|stat| stat.kind);
    assert_eq!(kind("out"), Some(FileKind::LinkOutside));
    assert_eq!(kind("outdir"), Some(FileKind::LinkOutside));
    assert_ne!(linked.disk.stat(&path("out")).unwrap().unwrap().len, 0);
    linked.refuses("below", linked.disk.stat(&path("outdir/secret")));
    linked.refuses("missing below", linked.disk.stat(&path("outdir/nothing")));
    assert_eq!((kind("in"), kind("indir")), (Some(FileKind::File), Some(FileKind::Dir)));
    assert_eq!(kind("dangling"), Some(FileKind::Other));
}

#[test]
fn a_listing_tells_links_that_lead_out_from_others() {
    let linked = linked();
    let listing = linked.disk.list(&path("")).unwrap();
    let found: Vec<_> = listing.entries.iter().map(|e| (e.name.as_str(), e.kind)).collect();
    let wanted = [
        ("d", FileKind::Dir),
        ("dangling", FileKind::Other),
        ("in", FileKind::File),
        ("indir", FileKind::Dir),
        ("out", FileKind::LinkOutside),
        ("outdir", FileKind::LinkOutside),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_link_within_the_root_is_read_through_but_never_written_through() {
    let linked = linked();
    let disk = &linked.disk;
    assert_eq!(content(disk, "in"), b"inside");
    assert_eq!(content(disk, "indir/f"), b"inside");
    assert_eq!(disk.list(&path("indir")).unwrap().entries.len(), 1);
    for access in [FileAccess::Append, FileAccess::Write] {
        linked.refuses("in", disk.open(&path("in"), access));
        linked.refuses("indir", disk.open(&path("indir/f"), access));
    }
    linked.refuses("create", disk.create(&path("indir/new"), FilePermissions::Default));
    linked.refuses("rename over", disk.rename(&path("d/f"), &path("in")));
    linked.refuses("rename into", disk.rename(&path("d/f"), &path("indir/g")));
    linked.refuses("rename out of", disk.rename(&path("indir/f"), &path("g")));
    linked.refuses("remove", disk.remove(&path("indir/f")));
    assert_eq!(content(disk, "d/f"), b"inside");
}

#[test]
fn removing_or_renaming_a_link_leaves_what_it_leads_to() {
    let linked = linked();
    let disk = &linked.disk;
    disk.rename(&path("out"), &path("elsewhere")).unwrap();
    for link in ["elsewhere", "outdir", "in", "indir", "dangling"] {
        disk.remove(&path(link)).unwrap();
    }
    assert_eq!(disk.list(&path("")).unwrap().entries.len(), 1);
    assert_eq!(content(disk, "d/f"), b"inside");
    linked.nothing_outside_has_changed("remove");
}

#[test]
fn a_link_to_nothing_cannot_be_created_through() {
    let linked = linked();
    let disk = &linked.disk;
    let created = disk.create(&path("dangling"), FilePermissions::Default).map(|_| ());
    assert_eq!(created.map_err(|error| error.kind()), Err(ErrorKind::AlreadyExists));
    linked.refuses("open", disk.open(&path("dangling"), FileAccess::Write));
    linked.refuses("rename", disk.rename(&path("d/f"), &path("dangling")));
}

#[test]
fn names_that_are_none_here_are_reported() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("good"), "").unwrap();
    fs::write(root.path().join("new\nline"), "").unwrap();
    fs::write(root.path().join("nul.txt"), "").unwrap();
    fs::write(root.path().join("back\\slash"), "").unwrap();
    fs::write(root.path().join(OsStr::from_bytes(b"not-\xff-text")), "").unwrap();
    let listing = RealDisk::open(root.path()).unwrap().list(&path("")).unwrap();
    let names: Vec<_> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let refused: Vec<_> = listing.refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(refused, ["back\\slash", "new\nline", "not-\u{fffd}-text", "nul.txt"]);
    assert!(matches!(listing.refused[3].1, NameError::Reserved { .. }));
}

#[test]
fn a_link_that_cannot_be_followed_hides_nothing_beside_it() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("good"), "").unwrap();
    symlink("loop", root.path().join("loop")).unwrap();
    symlink("one", root.path().join("two")).unwrap();
    symlink("two", root.path().join("one")).unwrap();
    let listing = RealDisk::open(root.path()).unwrap().list(&path("")).unwrap();
    let names: Vec<_> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let refused: Vec<_> = listing.refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(refused, ["loop", "one", "two"]);
    assert!(matches!(listing.refused[0].1, NameError::Unreachable { .. }));
}

#[test]
fn the_root_must_be_a_directory_and_is_made_if_asked() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("a/b/c");
    assert!(RealDisk::open(&root).is_err());
    let disk = RealDisk::create(&root).unwrap();
    disk.create(&path("f"), FilePermissions::Default).unwrap();
    assert!(root.join("f").exists());
    assert!(RealDisk::create(&root).is_ok());
    let file = RealDisk::open(&root.join("f")).map(|_| ());
    assert_eq!(file.map_err(|error| error.kind()), Err(ErrorKind::NotADirectory));
}

#[test]
fn a_root_that_is_a_link_is_the_directory_it_leads_to() {
    let above = tempfile::tempdir().unwrap();
    fs::create_dir(above.path().join("real")).unwrap();
    symlink("real", above.path().join("link")).unwrap();
    let disk = RealDisk::open(&above.path().join("link")).unwrap();
    disk.create(&path("f"), FilePermissions::Default).unwrap();
    assert!(above.path().join("real/f").exists());
}

#[test]
fn an_absolute_link_that_stays_inside_is_read_through() {
    let linked = linked();
    let root = linked.disk.root().to_owned();
    symlink(root.join("d/f"), root.join("absolute")).unwrap();
    assert_eq!(content(&linked.disk, "absolute"), b"inside");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_refused_without_waiting_for_somebody_who_writes_to_it() {
    let root = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let disk = RealDisk::open(root.path()).unwrap();
    let opened = disk.open(&path("pipe"), FileAccess::Read).map(|_| ());
    assert_eq!(opened.map_err(|error| error.kind()), Err(ErrorKind::IsADirectory));
}

#[test]
fn flushes_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(root.path()).unwrap();
    let file = disk.create(&path("f"), FilePermissions::Default).unwrap();
    assert_eq!(disk.flushes(), 0);
    file.sync(Flush::Commit).unwrap();
    disk.sync_dir(&path(""), Flush::LogName).unwrap();
    assert_eq!(disk.flushes(), 2);
}

#[test]
fn a_path_for_other_libraries_never_leads_through_a_link() {
    let linked = linked();
    let disk = &linked.disk;
    let local = |name: &str| disk.local_path(&path(name));
    assert_eq!(local("d/new").unwrap(), Some(disk.root().join("d/new")));
    assert_eq!(local("d/f").unwrap(), Some(disk.root().join("d/f")));
    for name in ["out", "outdir/secret", "outdir/new", "in", "indir/f", "dangling"] {
        assert!(local(name).is_err(), "{name}");
    }
    assert_eq!(local("none/new").unwrap_err().kind(), ErrorKind::NotFound);
}
