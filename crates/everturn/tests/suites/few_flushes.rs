//! A process that appends once flushes three times, in every format.

use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::store::{FileStore, LockOwner, Options, Store};

use crate::common::capabilities::KnownCapabilities;
use crate::common::kinds::{ALL, Kind, at};

fn process(disk: &SimDisk) -> Arc<dyn Store> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    Arc::new(FileStore::open(Arc::new(disk.process()), Options::new(owner)).unwrap())
}

/// Appends a turn as a process of its own; returns the number of flushes.
fn append(disk: &SimDisk, kind: &Kind, second: i64) -> u64 {
    let flushes = || disk.flushes().values().sum::<u64>();
    let before = flushes();
    let store = process(disk);
    let session = kind.place(&store).unwrap();
    let mut editor = kind.layout().editable().edit(&store, &session).unwrap();
    let stored = editor.append_last(&kind.turn_of("Go on."), at(second)).unwrap();
    assert!(stored.deferred_error.is_none(), "{:?}", stored.deferred_error);
    editor.close(at(second)).unwrap();
    drop(store);
    flushes() - before
}

#[test]
fn a_turn_by_a_process_of_its_own_is_three_flushes() {
    for kind in ALL {
        let disk = SimDisk::new();
        disk.make_capable();
        kind.create(&process(&disk)).unwrap();
        // The first turns create files.
        for second in 1..=2 {
            append(&disk, kind, second);
        }
        for second in 3..=12 {
            let before = disk.flushes();
            let flushes = append(&disk, kind, second);
            assert!(flushes <= 3, "{}: {before:?} {:?}", kind.layout, disk.flushes());
        }
    }
}
