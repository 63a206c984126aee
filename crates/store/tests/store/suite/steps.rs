//! The effect of each kind of step, and when it is refused.

use everturn_json::finding::FindingCode;
use everturn_store::disk::FileKind;
use everturn_store::{AppendAt, FileMode, Fingerprint, Precondition, Step, Store, StoreError};

use super::{lock, refuses, shown, snapshot, synced};
use crate::support::{append, path, remove, rename, replace};

fn append_at(file: &str, at: u64, lines: &str) -> Step {
    Step::Append { file: path(file), at: AppendAt::Offset(at), lines: lines.as_bytes().to_vec() }
}

fn replace_if(file: &str, expect: Precondition, content: &str) -> Step {
    let bytes = content.as_bytes().to_vec();
    Step::Replace { file: path(file), expect, bytes, mode: FileMode::Default }
}

fn secret(file: &str, content: &str) -> Step {
    let (bytes, expect) = (content.as_bytes().to_vec(), Precondition::Anything);
    Step::Replace { file: path(file), expect, bytes, mode: FileMode::OwnerOnly }
}

pub(crate) fn an_append_creates_the_file_and_the_directories_above_it(store: &dyn Store) {
    let writer = lock(store, "s");
    let receipt = synced(&*writer, vec![append("s/a/b/log.jsonl", "{}\n")]).unwrap();
    assert_eq!(receipt.appended, [0]);
    assert_eq!(shown(store), ["s/", "s/a/", "s/a/b/", "s/a/b/log.jsonl: {}\n"]);
}

pub(crate) fn appends_come_one_after_the_other(store: &dyn Store) {
    let writer = lock(store, "s");
    for (n, at) in [(1, 0), (2, 2), (3, 4)] {
        let receipt = synced(&*writer, vec![append("s/log", &format!("{n}\n"))]).unwrap();
        assert_eq!(receipt.appended, [at]);
        assert!(receipt.findings.is_empty());
    }
    let both = vec![append("s/log", "4\n5\n"), append("s/other", "1\n"), append("s/log", "6\n")];
    assert_eq!(synced(&*writer, both).unwrap().appended, [6, 0, 10]);
    assert_eq!(shown(store), ["s/", "s/log: 1\n2\n3\n4\n5\n6\n", "s/other: 1\n"]);
}

pub(crate) fn an_append_goes_exactly_where_it_was_meant_or_nowhere(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append_at("s/log", 0, "one\n")]).unwrap();
    synced(&*writer, vec![append_at("s/log", 4, "two\n")]).unwrap();
    for wrong in [0, 4, 7, 9] {
        refuses!(
            store,
            writer,
            [append("s/other", "{}\n"), append_at("s/log", wrong, "x\n")],
            StoreError::Moved { file, expected, found: 8 }
                if file == path("s/log") && expected == wrong
        );
    }
    refuses!(
        store,
        writer,
        [append_at("s/new", 1, "x\n")],
        StoreError::Moved { expected: 1, found: 0, .. }
    );
    let twice = vec![append_at("s/log", 8, "3\n"), append_at("s/log", 10, "4\n")];
    assert_eq!(synced(&*writer, twice).unwrap().appended, [8, 10]);
}

pub(crate) fn an_append_makes_the_end_good_first(store: &dyn Store) {
    let writer = lock(store, "s");
    let start = vec![replace("s/whole", "{\"a\":1}"), replace("s/torn", "{}\n{\"a\":")];
    synced(&*writer, start).unwrap();
    let receipt = synced(&*writer, vec![append("s/whole", "{}\n")]).unwrap();
    assert_eq!((receipt.appended, receipt.findings.len()), (vec![8], 0));
    let receipt = synced(&*writer, vec![append("s/torn", "{\"b\":2}\n")]).unwrap();
    assert_eq!(receipt.appended, [3]);
    let found: Vec<_> = receipt.findings.iter().map(|f| (&f.file, f.offset, f.code)).collect();
    assert_eq!(found, [(&path("s/torn"), Some(3), FindingCode::SetAside)]);
    assert_eq!(shown(store), ["s/", "s/torn: {}\n{\"b\":2}\n", "s/whole: {\"a\":1}\n{}\n"]);
}

pub(crate) fn a_replacement_creates_or_replaces(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![replace("s/a/state.json", "long content")]).unwrap();
    synced(&*writer, vec![replace("s/a/state.json", "short")]).unwrap();
    synced(&*writer, vec![replace("s/empty", "")]).unwrap();
    assert_eq!(shown(store), ["s/", "s/a/", "s/a/state.json: short", "s/empty: "]);
}

pub(crate) fn a_replacement_must_meet_what_was_expected(store: &dyn Store) {
    let writer = lock(store, "s");
    let known = |content: &str| Precondition::Content(Fingerprint::of(content.as_bytes()));
    synced(&*writer, vec![replace_if("s/f", Precondition::Absent, "1")]).unwrap();
    synced(&*writer, vec![replace_if("s/f", known("1"), "2")]).unwrap();
    let other = append("s/other", "{}\n");
    refuses!(
        store,
        writer,
        [other.clone(), replace_if("s/f", Precondition::Absent, "3")],
        StoreError::Taken { path: taken } if taken == path("s/f")
    );
    refuses!(
        store,
        writer,
        [other, replace_if("s/f", known("1"), "3")],
        StoreError::Changed { file } if file == path("s/f")
    );
    refuses!(store, writer, [replace_if("s/g", known(""), "3")], StoreError::Changed { .. });
    assert_eq!(shown(store), ["s/", "s/f: 2"]);
}

pub(crate) fn a_secret_is_private_and_stays_so(store: &dyn Store) {
    let writer = lock(store, "s");
    let bits = |file: &str| store.stat(&path(file)).unwrap().unwrap().mode & 0o777;
    synced(&*writer, vec![secret("s/new", "1"), replace("s/open", "1")]).unwrap();
    assert_eq!(bits("s/new"), 0o600);
    assert_ne!(bits("s/open"), 0o600);
    synced(&*writer, vec![replace("s/new", "2"), secret("s/open", "2")]).unwrap();
    assert_eq!((bits("s/new"), bits("s/open")), (0o600, 0o600));
    synced(&*writer, vec![append("s/new", "3\n")]).unwrap();
    synced(&*writer, vec![rename("s/new", "s/moved")]).unwrap();
    assert_eq!(bits("s/moved"), 0o600);
}

pub(crate) fn a_file_gets_another_name(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append("s/a", "1\n"), append("s/b", "2\n")]).unwrap();
    synced(&*writer, vec![rename("s/a", "s/new/deep/a")]).unwrap();
    assert_eq!(shown(store), ["s/", "s/b: 2\n", "s/new/", "s/new/deep/", "s/new/deep/a: 1\n"]);
    assert_eq!(synced(&*writer, vec![append("s/new/deep/a", "3\n")]).unwrap().appended, [2]);
}

pub(crate) fn a_directory_gets_another_name_with_all_in_it(store: &dyn Store) {
    let writer = lock(store, "s");
    let files = ["s/a/x", "s/a/sub/y", "s/ab/z"];
    synced(&*writer, files.map(|file| append(file, "{}\n")).to_vec()).unwrap();
    synced(&*writer, vec![rename("s/a", "s/b/c")]).unwrap();
    let moved =
        ["s/", "s/ab/", "s/ab/z: {}\n", "s/b/", "s/b/c/", "s/b/c/sub/", "s/b/c/sub/y: {}\n"];
    assert_eq!(shown(store)[..7], moved);
    assert_eq!(shown(store)[7..], ["s/b/c/x: {}\n"]);
}

pub(crate) fn a_name_that_is_taken_or_missing_cannot_be_given(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, ["s/a", "s/b", "s/d/e"].map(|file| append(file, "{}\n")).to_vec()).unwrap();
    for (from, to) in [("s/a", "s/b"), ("s/a", "s/d"), ("s/d", "s/a"), ("s/a", "s/d/e")] {
        let taken = path(to);
        refuses!(store, writer, [rename(from, to)], StoreError::Taken { path } if path == taken);
    }
    for from in ["s/x", "s/d/x", "s/x/y", "s/a/x"] {
        let gone = path(from);
        refuses!(
            store,
            writer,
            [rename(from, "s/new")],
            StoreError::Missing { path } if path == gone
        );
    }
}

pub(crate) fn files_and_whole_directories_are_removed(store: &dyn Store) {
    let writer = lock(store, "s");
    let files = ["s/a", "s/d/e", "s/d/f/g", "s/dd"];
    synced(&*writer, files.map(|file| append(file, "{}\n")).to_vec()).unwrap();
    synced(&*writer, vec![remove("s/a"), remove("s/d")]).unwrap();
    assert_eq!(shown(store), ["s/", "s/dd: {}\n"]);
    for missing in ["s/a", "s/d/e", "s/x/y", "s/dd/x"] {
        let gone = path(missing);
        refuses!(
            store,
            writer,
            [append("s/dd", "{}\n"), remove(missing)],
            StoreError::Missing { path } if path == gone
        );
    }
}

pub(crate) fn a_file_has_nothing_below_it(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append("s/f", "{}\n"), append("s/g", "{}\n")]).unwrap();
    assert!(store.stat(&path("s/f/x")).unwrap().is_none());
    assert!(store.list(&path("s/f")).is_err());
    assert!(store.read(&path("s/f/x"), 0..1).is_err());
    for step in [append("s/f/x", "{}\n"), replace("s/f/x/y", ""), rename("s/g", "s/f/g")] {
        refuses!(store, writer, [step], StoreError::BadStep { .. });
    }
}

pub(crate) fn a_directory_is_not_written_to(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append("s/d/f", "{}\n")]).unwrap();
    for step in [append("s/d", "{}\n"), replace("s/d", "x"), append("s", "{}\n")] {
        refuses!(store, writer, [step], StoreError::BadStep { .. });
    }
    assert!(store.read(&path("s/d"), 0..10).is_err());
    assert_eq!(store.stat(&path("s/d")).unwrap().unwrap().kind, FileKind::Dir);
}

pub(crate) fn reads_are_ranges(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![replace("s/f", "0123456789")]).unwrap();
    let read = |start, end| store.read(&path("s/f"), start..end).unwrap();
    assert_eq!(read(0, 10), b"0123456789");
    assert_eq!(read(3, 5), b"34");
    assert_eq!(read(8, 100), b"89");
    assert_eq!(read(8, u64::MAX), b"89");
    assert_eq!(read(10, 20), b"");
    assert_eq!(read(50, 60), b"");
    assert_eq!(read(5, 5), b"");
    assert_eq!(read(5, 3), b"");
}

pub(crate) fn what_is_missing_is_not_empty(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![replace("s/f", "")]).unwrap();
    for missing in ["x", "s/x", "x/y"] {
        let gone = path(missing);
        assert!(store.stat(&gone).unwrap().is_none());
        for range in [0..0, 0..10] {
            let error = store.read(&gone, range).unwrap_err();
            assert!(matches!(&error, StoreError::Missing { path } if *path == gone), "{error:?}");
        }
        let error = store.list(&gone).unwrap_err();
        assert!(matches!(&error, StoreError::Missing { path } if *path == gone), "{error:?}");
    }
    let stat = store.stat(&path("s/f")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.len), (FileKind::File, 0));
    assert_eq!(store.read(&path("s/f"), 0..10).unwrap(), b"");
}

pub(crate) fn a_listing_is_sorted(store: &dyn Store) {
    let writer = lock(store, "s");
    let files = ["s/z", "s/a.b", "s/a/x", "s/B"];
    synced(&*writer, files.map(|file| append(file, "{}\n")).to_vec()).unwrap();
    let listing = store.list(&path("s")).unwrap();
    let names: Vec<_> = listing.entries.iter().map(|e| (e.name.as_str(), e.kind)).collect();
    let (file, dir) = (FileKind::File, FileKind::Dir);
    assert_eq!(names, [("B", file), ("a", dir), ("a.b", file), ("z", file)]);
    assert_eq!(snapshot(store).len(), 6);
}
