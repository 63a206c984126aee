//! Errors while the log of a dead process is replayed: opening fails, and nothing is lost.

use std::sync::Arc;

use everturn_json::finding::FindingCode;
use everturn_store::disk::Disk;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::{Durability, FileStore, Options, Step, StoreError, Writer};

use super::{EACCES, EIO, ENOSPC, LOST};
use crate::support::{Files, append, both, data, open, path, readable, remove, rename, replace};

/// Returns a disk on which a process has died with much to replay, and the expected files.
fn left(survival: Survival, options: Options) -> (SimDisk, Files) {
    let disk = SimDisk::new();
    disk.put_file(&path("s/torn"), b"{}\n{\"torn");
    disk.put_file(&path("s/old"), b"{}\n");
    disk.put_file(&path("s/gone/file"), b"{}\n");
    let store = FileStore::open(Arc::new(disk.process()), options).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let steps = vec![
        append("s/torn", "{\"a\":1}\n"),
        append("s/new/log", "{\"a\":1}\n"),
        replace("s/state", "{\"state\":1}"),
        rename("s/old", "s/moved/old"),
        remove("s/gone"),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.commit(vec![append("s/new/log", "{\"a\":2}\n")], Durability::Synced).unwrap();
    let all = data(&disk);
    disk.power_cut(survival);
    (disk, all)
}

/// Fails each operation in turn while the store is opened; then reopens it.
fn every_failure_is_survived(trouble: FaultKind, lasting: bool, options: &Options) -> u64 {
    let mut places = 0;
    for (data_left, names) in [
        (DataSurvival::Lost, NameSurvival::Lost),
        (DataSurvival::Prefix, NameSurvival::Kept),
        (DataSurvival::Hole, NameSurvival::Prefix),
    ] {
        let (disk, all) = left(Survival { data: data_left, names }, options.clone());
        for ahead in 0.. {
            let disk = disk.fork();
            let reading = matches!(trouble, FaultKind::ReadError(_));
            let count = || if reading { disk.reads() } else { disk.changes() };
            let at = count() + ahead;
            disk.inject(Fault { at, kind: trouble, lasting });
            let opened = open(&disk);
            let failed = count() > at;
            let place = format!("{trouble:?} {ahead} ahead, {data_left:?} {names:?}");
            if let Err(error) = &opened {
                let told =
                    matches!(error, StoreError::Io { .. } | StoreError::UnreadableLog { .. });
                assert!(told, "{place}: {error:?}");
            }
            // If something was blocked, only the scope is closed, and locking it tries again.
            if let Ok(store) = &opened
                && store.lock_files(&[path("s")]).is_ok()
            {
                let shown = readable(&data(&disk));
                assert_eq!(shown, readable(&all), "{place}: opened without a word");
            }
            drop(opened);
            disk.clear_faults();
            // Writes of the failed attempt may be lost again.
            if ahead % 2 == 0 {
                disk.power_cut(LOST);
            }
            drop(open(&disk).unwrap());
            assert_eq!(readable(&data(&disk)), readable(&all), "{place}, opened again");
            if !failed {
                break;
            }
            places += 1;
        }
    }
    places
}

#[test]
fn a_replay_that_fails_is_an_error_and_can_be_tried_again() {
    let mut places = 0;
    for lasting in [false, true] {
        for trouble in [
            FaultKind::Error(EIO),
            FaultKind::Error(ENOSPC),
            FaultKind::Error(EACCES),
            FaultKind::Short,
            FaultKind::FlushLost,
            FaultKind::ReadError(EIO),
            FaultKind::ReadError(EACCES),
        ] {
            for options in both() {
                places += every_failure_is_survived(trouble, lasting, &options);
            }
        }
    }
    assert!(places > 600, "only {places}");
    println!("replay: {places} places to fail at");
}

#[test]
fn a_lock_that_cannot_replay_the_dead_is_not_given() {
    let disk = SimDisk::new();
    let living = open(&disk).unwrap();
    let process = disk.process();
    let options = crate::support::small_log();
    let dying = FileStore::open(Arc::new(process.clone()), options).unwrap();
    let writer = dying.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Buffered).unwrap();
    process.kill();
    // The locks of the scope and of the log are taken; the first change of the replay fails.
    disk.inject(Fault { at: disk.changes() + 7, kind: FaultKind::Error(EIO), lasting: true });
    assert!(matches!(living.lock_files(&[path("s")]), Err(StoreError::Io { .. })));
    disk.clear_faults();
    let heir = living.lock_files(&[path("s")]).unwrap();
    heir.commit(vec![append("s/log", "2\n")], Durability::Synced).unwrap();
    assert_eq!(super::text(&disk, "s/log"), "1\n2\n");
}

/// Two sessions in the log of a dead process; an obstacle is in the place of a file of the first one.
fn with_obstacle(in_the_way: &str, steps: Vec<Step>) -> SimDisk {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s"), path("t")]).unwrap();
    writer.commit(steps, Durability::Synced).unwrap();
    writer.commit(vec![append("t/log", "1\n")], Durability::Synced).unwrap();
    disk.power_cut(LOST);
    disk.put_file(&path(in_the_way), b"in the way");
    disk
}

#[test]
fn what_cannot_be_replayed_closes_its_scope_and_no_other() {
    let turn = || vec![append("s/log", "1\n"), replace("s/state", "1")];
    let moved = [turn(), vec![rename("s/log", "s/d/log")]].concat();
    for (in_the_way, steps) in [
        ("s/log/x", turn()),
        ("s/state/x", turn()),
        ("s", turn()),
        ("s/d", moved.clone()),
        ("s/log/x", [moved, vec![replace("s/d/other", "1")]].concat()),
    ] {
        let disk = with_obstacle(in_the_way, steps.clone());
        for _ in 0..2 {
            let store = open(&disk).unwrap();
            let codes: Vec<_> = store.take_findings().iter().map(|found| found.code).collect();
            assert!(codes.contains(&FindingCode::CannotReplay), "{in_the_way}: {codes:?}");
            assert!(codes.iter().all(|code| *code == FindingCode::CannotReplay), "{codes:?}");
            let refused = store.lock_files(&[path("s")]).map(|_| ());
            assert!(matches!(refused, Err(StoreError::Blocked { .. })), "{refused:?}");
            let writer = store.lock_files(&[path("t")]).unwrap();
            writer.commit(vec![append("t/log", "2\n")], Durability::Synced).unwrap();
            disk.power_cut(LOST);
        }
        // The obstacle is removed, and the scope is open.
        let process = disk.process();
        process.remove(&path(in_the_way)).unwrap();
        if let Some(dir) =
            path(in_the_way).parent().filter(|dir| in_the_way != "s" && dir != &path("s"))
        {
            process.remove(&dir).unwrap();
        }
        let store = open(&disk).unwrap();
        assert!(store.take_findings().is_empty(), "{in_the_way}");
        let writer = store.lock_files(&[path("s"), path("t")]).unwrap();
        writer.commit(vec![append("t/log", "3\n")], Durability::Synced).unwrap();
        assert_eq!(super::text(&disk, "t/log"), "1\n2\n2\n3\n");
        let log = if steps.len() > 2 { "s/d/log" } else { "s/log" };
        assert_eq!(super::text(&disk, log), "1\n", "{in_the_way}");
        assert_eq!(super::text(&disk, "s/state"), "1");
    }
}
