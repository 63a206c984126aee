//! T9: an unreadable file is not an empty one, and nothing is written over it.

use std::sync::Arc;

use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::{
    Durability, FileMode, FileStore, Fingerprint, Precondition, Step, Store, StoreError, Writer,
};

use super::{EACCES, EIO, ENOENT};
use crate::support::{Files, append, data, path, readable, remove, rename, replace, small_log};

/// Returns commits of every kind that read before they write.
fn commits() -> Vec<(&'static str, Vec<Step>)> {
    let known = Step::Replace {
        file: path("s/state.json"),
        expect: Precondition::Content(Fingerprint::of(b"{\"good\":true}")),
        bytes: b"{\"new\":true}".to_vec(),
        mode: FileMode::Default,
    };
    vec![
        ("replace", vec![replace("s/state.json", "{\"new\":true}")]),
        ("replace what was read", vec![known]),
        ("append", vec![append("s/log.jsonl", "{\"new\":1}\n")]),
        ("append to a torn file", vec![append("s/torn.jsonl", "{\"new\":1}\n")]),
        ("append to an unterminated file", vec![append("s/open.jsonl", "{\"new\":1}\n")]),
        ("rename", vec![rename("s/log.jsonl", "s/old/log.jsonl")]),
        ("remove", vec![remove("s/log.jsonl")]),
        (
            "all at once",
            vec![
                append("s/torn.jsonl", "{\"new\":1}\n"),
                replace("s/state.json", "{\"new\":true}"),
                rename("s/log.jsonl", "s/old/log.jsonl"),
            ],
        ),
    ]
}

fn prepared() -> (SimDisk, FileStore, impl Writer) {
    let disk = SimDisk::new();
    disk.put_file(&path("s/state.json"), b"{\"good\":true}");
    disk.put_file(&path("s/log.jsonl"), b"{\"turn\":1}\n{\"turn\":2}\n");
    disk.put_file(&path("s/torn.jsonl"), b"{\"turn\":1}\n{\"tu");
    disk.put_file(&path("s/open.jsonl"), b"{\"turn\":1}");
    let store = FileStore::open(Arc::new(disk.process()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    // The log exists, so that only reads of the commit itself follow.
    writer.commit(vec![append("s/first", "{}\n")], Durability::Synced).unwrap();
    (disk, store, writer)
}

fn after(steps: &[Step]) -> Files {
    let (disk, _store, writer) = prepared();
    writer.commit(steps.to_vec(), Durability::Synced).unwrap();
    data(&disk)
}

/// Fails each read of a commit in turn; returns the number of reads.
fn every_read_fails(what: &str, steps: &[Step], code: i32, lasting: bool) -> u64 {
    let done = after(steps);
    for ahead in 0.. {
        let (disk, store, writer) = prepared();
        let before = data(&disk);
        let at = disk.reads() + ahead;
        disk.inject(Fault { at, kind: FaultKind::ReadError(code), lasting });
        let outcome = writer.commit(steps.to_vec(), Durability::Synced);
        let failed = disk.reads() > at;
        disk.clear_faults();
        if !failed {
            outcome.unwrap();
            return ahead;
        }
        let place = format!("{what}, read {ahead} fails with {code}");
        let Err(error) = outcome else { panic!("{place}: the error was swallowed") };
        if matches!(error, StoreError::Poisoned { .. }) {
            // The undo needs reads too.
            assert!(lasting, "{place}: {error:?}");
            drop((writer, store));
            drop(crate::support::open(&disk).unwrap());
            let now = data(&disk);
            assert!(now == before || now == done, "{place}: {:?}", readable(&now));
            continue;
        }
        if code == ENOENT {
            assert!(matches!(error, StoreError::Missing { .. }), "{place}: {error:?}");
        } else {
            let StoreError::Io { source, .. } = &error else { panic!("{place}: {error:?}") };
            assert_eq!(source.raw_os_error(), Some(code), "{place}");
        }
        assert_eq!(readable(&data(&disk)), readable(&before), "{place}");
        writer.commit(steps.to_vec(), Durability::Synced).unwrap();
        assert_eq!(readable(&data(&disk)), readable(&done), "{place}, tried again");
        drop(store);
    }
    unreachable!()
}

#[test]
fn t09_a_read_that_fails_refuses_the_write_and_changes_nothing() {
    let mut reads = 0;
    for (what, steps) in commits() {
        for code in [EIO, EACCES, ENOENT] {
            for lasting in [false, true] {
                let count = every_read_fails(what, &steps, code, lasting);
                assert!(count > 0, "{what} reads nothing");
                reads += count;
            }
        }
    }
    println!("unreadable files: {reads} reads failed");
}

#[test]
fn t09_a_read_that_fails_is_not_an_empty_file() {
    for code in [EIO, EACCES] {
        for ahead in 0..3 {
            let (disk, store, _writer) = prepared();
            let at = disk.reads() + ahead;
            disk.inject(Fault { at, kind: FaultKind::ReadError(code), lasting: false });
            let error = store.read(&path("s/state.json"), 0..99).unwrap_err();
            assert!(
                matches!(&error, StoreError::Io { path: place, .. }
                if *place == path("s/state.json")),
                "{error:?}"
            );
        }
    }
}
