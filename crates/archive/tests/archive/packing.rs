//! Packs directories and unpacks the archives.

use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use everturn_archive::{
    ArchiveContents, ArchiveError, ArchiveLimits, EntryRefusal, LimitKind, PackProgress,
    StoreFileReader, Unpacker, pack, verify,
};
use everturn_json::names::FilePath;
use everturn_store::disk::{DirListing, Disk, FileStat, RealDisk, sim::SimDisk};
use everturn_store::{FileStore, LockOwner, MemoryStore, Options, Store, StoreError, Writer};
use flate2::read::GzDecoder;

use crate::support::{memory, name, path, top, write};

const DIR: &str = "sessions/done/s1";

/// Files of many sizes, with names that are long, similar, and unsorted.
fn session() -> Vec<(String, Vec<u8>)> {
    let deep = format!("{DIR}/{}/{}.json", "d".repeat(120), "ä".repeat(60));
    let file = |file: &str, len: u32| {
        let content = (0..len).map(|at| at.wrapping_mul(at | 1).to_le_bytes()[1]).collect();
        (format!("{DIR}/{file}"), content)
    };
    vec![
        (deep, b"deep".to_vec()),
        file("a/b", 1),
        file("a-b", 511),
        file("z/a", 0),
        file("large.jsonl", (3 << 20) + 7),
        file("block", 512),
        file("blocks", 1024),
        file(&"n".repeat(97), 513),
    ]
}

fn fill(store: &dyn Store) {
    let session = session();
    let files: Vec<(&str, &[u8])> =
        session.iter().map(|(file, content)| (file.as_str(), content.as_slice())).collect();
    write(store, &files);
    write(store, &[("sessions/done/s10/other.json", b"not ours"), ("elsewhere", b"not ours")]);
}

fn quiet(_: PackProgress) {}

fn pack_dir(store: &dyn Store, dir: &str) -> Result<Vec<u8>, ArchiveError> {
    let packed = pack(store, &path(dir), &top(), &ArchiveLimits::default(), &mut quiet)?;
    verify(packed.bytes.as_slice(), &packed.contents, &ArchiveLimits::default())?;
    Ok(packed.bytes)
}

fn file_store(disk: Arc<dyn Disk>) -> FileStore {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    FileStore::open(disk, Options::new(owner)).unwrap()
}

fn round_trip(store: &dyn Store) {
    fill(store);
    let limits = ArchiveLimits::default();
    let packed = pack(store, &path(DIR), &name("s1"), &limits, &mut quiet).unwrap();
    write(store, &[("sessions/archives/s1.tar.gz", &packed.bytes)]);

    let archive = || StoreFileReader::open(store, &path("sessions/archives/s1.tar.gz")).unwrap();
    verify(archive(), &packed.contents, &limits).unwrap();
    for file in Unpacker::new(archive(), &name("s1"), &limits) {
        let (file, content) = file.unwrap();
        write(store, &[(&format!("sessions/again/{file}"), &content)]);
    }
    let again = pack(store, &path("sessions/again/s1"), &name("s1"), &limits, &mut quiet).unwrap();
    assert!(again == packed, "what was unpacked is not what was packed");
    let lens: Vec<u64> = session().iter().map(|(_, content)| content.len() as u64).collect();
    assert_eq!(packed.contents.len(), lens.iter().sum::<u64>());
    assert_eq!(packed.contents.files.len(), lens.len());
}

#[test]
fn a_directory_comes_back_as_it_was() {
    round_trip(&MemoryStore::new());
    round_trip(&file_store(Arc::new(SimDisk::new())));
}

#[test]
fn an_archive_is_a_plain_tar_with_nothing_that_varies() {
    let store = MemoryStore::new();
    fill(&store);
    let bytes = pack_dir(&store, DIR).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
    let (mut names, mut longest) = (Vec::new(), 0);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let header = entry.header();
        let is_dir = name.ends_with('/');
        assert_eq!(header.entry_type().is_dir(), is_dir, "{name}");
        assert_eq!(header.mode().unwrap(), if is_dir { 0o755 } else { 0o644 }, "{name}");
        let zeros = (header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap());
        assert_eq!(zeros, (0, 0, 0), "{name}");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let file = name.trim_end_matches('/').replacen("top", DIR, 1);
        let expect = session().into_iter().find(|(path, _)| *path == file);
        assert!(expect.map_or(is_dir, |(_, expect)| expect == content), "{name}");
        longest = longest.max(name.len());
        names.push(name.trim_end_matches('/').to_owned());
    }
    assert_eq!(names.first().unwrap(), "top");
    assert_eq!(names.len(), 1 + 3 + session().len());
    assert!(names.is_sorted(), "{names:?}");
    assert!(longest > 200, "no long name was tried");
}

#[test]
fn the_same_directory_always_gives_the_same_bytes() {
    let (one, other) = (MemoryStore::new(), file_store(Arc::new(SimDisk::new())));
    fill(&one);
    fill(&other);
    assert_eq!(pack_dir(&one, DIR).unwrap(), pack_dir(&other, DIR).unwrap());
    // These bytes stay the same unless the compression changes; the headers always.
    assert_eq!(pack_dir(&one, DIR).unwrap()[..10], [31, 139, 8, 0, 0, 0, 0, 0, 0, 255]);
}

#[test]
fn progress_goes_up_to_the_whole() {
    let store = MemoryStore::new();
    fill(&store);
    let mut seen: Vec<PackProgress> = Vec::new();
    let limits = ArchiveLimits::default();
    let packed = pack(&store, &path(DIR), &top(), &limits, &mut |now| seen.push(now)).unwrap();
    let total = packed.contents.len();
    assert!(seen.len() > 3 && seen.is_sorted_by_key(|now| now.done));
    assert!(seen.iter().all(|now| now.total == total));
    assert_eq!(seen.last().unwrap().done, total);
}

#[test]
fn what_is_alike_beyond_measure_is_packed_all_the_same() {
    let store = memory(&[("s/zeros", &vec![0; 12 << 20]), ("s/a", b"a")]);
    let bytes = pack_dir(&store, "s").unwrap();
    assert!(bytes.len() > 12 << 20);
    let store = memory(&[("s/zeros", &vec![0; 9 << 20])]);
    assert!(pack_dir(&store, "s").unwrap().len() < 1 << 20);
}

#[test]
fn what_is_not_there_or_not_a_directory_is_not_packed() {
    let store = memory(&[("s/file", b"x")]);
    assert!(matches!(pack_dir(&store, "t"), Err(ArchiveError::Store(StoreError::Missing { .. }))));
    let refused = pack_dir(&store, "s/file").unwrap_err();
    assert_eq!(refused.to_string(), "cannot use s/file for an archive: it is not a directory");
}

/// Asserts that a directory on a real disk is refused because of the contents that `make` creates.
#[track_caller]
fn unfit(make: impl Fn(&std::path::Path), at: &str, expect: impl Fn(&EntryRefusal) -> bool) {
    let root = tempfile::tempdir().unwrap();
    let store = file_store(Arc::new(RealDisk::open(root.path()).unwrap()));
    write(&store, &[("s/sub/file", b"x"), ("target/file", b"x")]);
    pack_dir(&store, "s").unwrap();
    make(&root.path().join("s/sub"));
    match pack_dir(&store, "s") {
        Err(ArchiveError::Unsupported { path, refusal }) => {
            assert!(path.as_str() == at && expect(&refusal), "{path}: {refusal:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn links_sockets_and_bad_names_are_named_and_not_packed() {
    let link = |refusal: &EntryRefusal| *refusal == EntryRefusal::Link;
    unfit(|sub| symlink("file", sub.join("link")).unwrap(), "s/sub/link", link);
    unfit(|sub| symlink("../../target", sub.join("link")).unwrap(), "s/sub/link", link);
    unfit(|sub| symlink("/etc/passwd", sub.join("link")).unwrap(), "s/sub/link", link);
    let dangling =
        |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::Link | EntryRefusal::Special);
    unfit(|sub| symlink("nowhere", sub.join("link")).unwrap(), "s/sub/link", dangling);
    let special = |refusal: &EntryRefusal| *refusal == EntryRefusal::Special;
    unfit(|sub| drop(UnixListener::bind(sub.join("socket")).unwrap()), "s/sub/socket", special);
    let bad_name = |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::BadNameInside(_));
    unfit(|sub| drop(UnixListener::bind(sub.join("nul")).unwrap()), "s/sub", bad_name);
}

#[test]
fn limits_hold_for_packing_too() {
    let store = memory(&[("s/a", &[7; 3000]), ("s/b", b"x"), ("s/c/d", b"x")]);
    let check = |limits: ArchiveLimits, expect: &str| {
        let packed = pack(&store, &path("s"), &top(), &limits, &mut quiet);
        assert_eq!(packed.err().map(|error| error.to_string()).unwrap_or_default(), expect);
    };
    let limits = ArchiveLimits::default();
    check(ArchiveLimits { file: 3000, entries: 5, names: 25, total: 7680, ..limits }, "");
    let expect = "cannot use s/a for an archive: it is larger than 2999 bytes";
    check(ArchiveLimits { file: 2999, ..limits }, expect);
    let expect = |excess: LimitKind, most| format!("the archive has {excess} (maximum {most})");
    check(ArchiveLimits { entries: 4, ..limits }, &expect(LimitKind::Entries, 4));
    check(ArchiveLimits { names: 24, ..limits }, &expect(LimitKind::NameBytes, 24));
    check(ArchiveLimits { total: 3001, ..limits }, &expect(LimitKind::TotalBytes, 3001));
    check(ArchiveLimits { total: 7679, ..limits }, &expect(LimitKind::TotalBytes, 7679));
    check(ArchiveLimits { archive: 50, ..limits }, &expect(LimitKind::ArchiveBytes, 50));
}

#[test]
fn an_archive_that_holds_something_else_is_told_apart() {
    let files: &[(&str, &[u8])] = &[("s/a", b"1"), ("s/b", b"2"), ("s/c/d", b"3")];
    let contents = |files| {
        pack(&memory(files), &path("s"), &top(), &ArchiveLimits::default(), &mut quiet)
            .unwrap()
            .contents
    };
    let bytes = pack_dir(&memory(files), "s").unwrap();
    let check = |expect: &ArchiveContents, at: &str| match verify(
        bytes.as_slice(),
        expect,
        &ArchiveLimits::default(),
    ) {
        Ok(()) => assert_eq!(at, ""),
        Err(ArchiveError::Differs { path }) => assert_eq!(path.as_str(), at),
        Err(other) => panic!("{other:?}"),
    };
    check(&contents(files), "");
    check(&contents(&[("s/a", b"1"), ("s/b", b"x"), ("s/c/d", b"3")]), "top/b");
    check(&contents(&[("s/a", b"1"), ("s/b", b"22"), ("s/c/d", b"3")]), "top/b");
    check(&contents(&[("s/b", b"2"), ("s/c/d", b"3")]), "top/a");
    check(&contents(&[("s/a", b"1"), ("s/b", b"2")]), "top/c/d");
    check(&contents(&[("s/a", b"1"), ("s/b", b"2"), ("s/b1", b""), ("s/c/d", b"3")]), "top/b1");
    let mut without_dir = contents(files);
    without_dir.dirs.pop();
    check(&without_dir, "top/c");
}

type OnRead = fn(&MemoryStore, &FilePath, Vec<u8>) -> Result<Vec<u8>, StoreError>;

/// A store that runs a function whenever a file is read.
struct Odd(MemoryStore, OnRead);

impl Store for Odd {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        (self.1)(&self.0, file, self.0.read(file, range)?)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.0.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.0.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        self.0.lock(scopes)
    }
}

#[test]
fn a_file_that_changes_or_cannot_be_read_is_not_packed() {
    let files: &[(&str, &[u8])] = &[("s/a", b"1234")];
    let check = |odd: OnRead, expect: &str| {
        let error = pack_dir(&Odd(memory(files), odd), "s").unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    let changed = "s/a changed while it was being read";
    check(|_, _, bytes| Ok(bytes[1..].to_vec()), changed);
    let grow: OnRead = |store, file, bytes| {
        write(store, &[(file.as_str(), b"12345")]);
        Ok(bytes)
    };
    check(grow, changed);
    // Longer between stat and read, and then as long as before.
    let grow_next: OnRead = |store, file, bytes| {
        let content: &[u8] = if *file == path("s/a") { b"longer" } else { b"2" };
        write(store, &[("s/b", content)]);
        Ok(bytes)
    };
    let error = pack_dir(&Odd(memory(&[("s/a", b"1"), ("s/b", b"2")]), grow_next), "s");
    assert_eq!(error.unwrap_err().to_string(), "s/b changed while it was being read");
    check(|_, file, _| Err(StoreError::Missing { path: file.clone() }), "s/a does not exist");
}

#[test]
fn an_archive_that_cannot_be_read_is_not_called_damaged() {
    let bytes = pack_dir(&memory(&[("s/a", b"1234")]), "s").unwrap();
    let store = Odd(memory(&[("x.tar.gz", &bytes)]), |_, file, _| {
        Err(StoreError::Missing { path: file.clone() })
    });
    let contents = ArchiveContents { top: top(), dirs: vec![], files: vec![] };
    let archive = StoreFileReader::open(&store, &path("x.tar.gz")).unwrap();
    let error = verify(archive, &contents, &ArchiveLimits::default()).unwrap_err();
    assert!(matches!(error, ArchiveError::Store(StoreError::Missing { .. })), "{error:?}");
}

#[test]
fn only_files_are_read_in_pieces() {
    let store = memory(&[("s/a", b"1234")]);
    let mut content = String::new();
    StoreFileReader::open(&store, &path("s/a")).unwrap().read_to_string(&mut content).unwrap();
    assert_eq!(content, "1234");
    let refused = |text| StoreFileReader::open(&store, &path(text)).err().unwrap().to_string();
    assert_eq!(refused("s"), "cannot use s for an archive: it is not a file");
    assert_eq!(refused("t"), "t does not exist");
}
