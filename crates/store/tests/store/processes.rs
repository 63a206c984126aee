//! Several processes and threads on one store: waiting, and taking over logs and scopes.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::disk::{Disk, RealDisk};
use everturn_store::{Durability, FileStore, LockOwner, Options, Store, StoreError, Writer};

use crate::support::{append, data, open, owner, path, readable, replace, small_log};

const EIO: i32 = 5;
const EROFS: i32 = 30;

/// The staging thresholds for damaged logs: nothing is staged, and everything is.
const STAGE_FROM: [usize; 2] = [usize::MAX, 1];

fn open_as(disk: &SimDisk, pid: u32) -> (SimDisk, FileStore) {
    let process = disk.process();
    let owner = LockOwner { pid, started: format!("2026-01-01T00:00:{pid:02}Z") };
    let options = Options { owner, ..small_log() };
    (process.clone(), FileStore::open(Arc::new(process), options).unwrap())
}

fn text(disk: &SimDisk, file: &str) -> String {
    let bytes = data(disk).remove(&path(file)).unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}

fn logs(disk: &SimDisk) -> usize {
    let wal = path(".everturn/wal");
    let is_log = |file: &&FilePath| file.is_within(&wal) && file.as_str().ends_with(".log");
    disk.contents().keys().filter(is_log).count()
}

#[test]
fn a_busy_scope_names_the_process_that_holds_it() {
    let disk = SimDisk::new();
    let (_, first) = open_as(&disk, 7);
    let (_, second) = open_as(&disk, 8);
    let writer = first.lock_files(&[path("s/a")]).unwrap();
    for scope in ["s/a", "s/a/deep", "s", ""] {
        let Err(error) = second.lock_files(&[path(scope)]) else { panic!("{scope} was given") };
        let StoreError::Busy { scope: named, owner } = &error else { panic!("{error:?}") };
        assert_eq!((named, owner.as_str()), (&path(scope), "pid 7, started 2026-01-01T00:00:07Z"));
        assert!(error.to_string().contains("pid 7"), "{error}");
    }
    drop(writer);
    let _now = second.lock_files(&[path("s/a")]).unwrap();
    let Err(StoreError::Busy { owner, .. }) = first.lock_files(&[path("s/a")]) else { panic!() };
    assert!(owner.starts_with("pid 8,"), "{owner}");
}

#[test]
fn a_killed_holder_frees_its_scope_and_the_next_goes_on_where_it_stopped() {
    let disk = SimDisk::new();
    let ((dying, first), (_, second)) = (open_as(&disk, 7), open_as(&disk, 8));
    let writer = first.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    writer.commit(vec![append("s/log", "2\n")], Durability::Buffered).unwrap();
    assert_eq!(text(&disk, "s/log"), "1\n");
    assert!(second.lock_files(&[path("s")]).is_err());
    dying.kill();
    let heir = second.lock_files(&[path("s")]).unwrap();
    assert_eq!(text(&disk, "s/log"), "1\n2\n");
    let receipt = heir.commit(vec![append("s/log", "3\n")], Durability::Synced).unwrap();
    assert_eq!(receipt.appended, [4]);
    drop((writer, first));
    assert_eq!(text(&disk, "s/log"), "1\n2\n3\n");
    assert!(
        disk.process()
            .lock(&path(".everturn/locks/s.lock"), everturn_store::disk::LockMode::Shared)
            .unwrap()
            .is_none(),
        "the lock of the heir was freed by the dead"
    );
}

#[test]
fn opening_replays_the_dead_and_leaves_the_living_alone() {
    let disk = SimDisk::new();
    let ((dying, first), (_, living)) = (open_as(&disk, 7), open_as(&disk, 8));
    let dead_writer = first.lock_files(&[path("a")]).unwrap();
    let writer = living.lock_files(&[path("b")]).unwrap();
    dead_writer.commit(vec![append("a/log", "1\n")], Durability::Buffered).unwrap();
    writer.commit(vec![append("b/log", "1\n")], Durability::Buffered).unwrap();
    dying.kill();
    open(&disk).unwrap();
    assert_eq!((text(&disk, "a/log"), text(&disk, "b/log")), ("1\n".into(), String::new()));
    writer.commit(vec![append("b/log", "2\n")], Durability::Synced).unwrap();
    assert_eq!(text(&disk, "b/log"), "1\n2\n");
}

#[test]
fn a_closed_log_is_taken_over() {
    let disk = SimDisk::new();
    let commit = |store: &FileStore, scope: &str| {
        let writer = store.lock_files(&[path(scope)]).unwrap();
        writer.commit(vec![append(&format!("{scope}/log"), "{}\n")], Durability::Synced).unwrap();
    };
    for _ in 0..5 {
        let store = open(&disk).unwrap();
        commit(&store, "a");
        store.close().unwrap();
    }
    assert_eq!(logs(&disk), 1);
    let (first, second) = (open(&disk).unwrap(), open(&disk).unwrap());
    commit(&first, "a");
    commit(&second, "b");
    assert_eq!(logs(&disk), 2);
    drop((first, second));
    let (third, fourth) = (open(&disk).unwrap(), open(&disk).unwrap());
    commit(&third, "a");
    commit(&fourth, "b");
    assert_eq!(logs(&disk), 2);
    assert_eq!(text(&disk, "a/log"), "{}\n".repeat(7));
}

#[test]
fn a_store_that_only_reads_never_writes() {
    let disk = SimDisk::new();
    let ((dying, first), reader) = (open_as(&disk, 7), disk.process());
    let writer = first.lock_files(&[path("a")]).unwrap();
    let read_only = FileStore::open_read_only(Arc::new(reader)).unwrap();
    for line in ["1\n", "2\n"] {
        writer.commit(vec![append("a/log", line)], Durability::Buffered).unwrap();
    }
    assert!(matches!(read_only.read(&path("a/log"), 0..9), Err(StoreError::Missing { .. })));
    dying.kill();
    let changes = disk.changes();
    let again = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    assert_eq!(again.read(&path("a/log"), 0..9).unwrap(), b"1\n2\n");
    assert_eq!(again.stat(&path("a/log")).unwrap().unwrap().len, 4);
    assert!(matches!(again.lock(&[path("a")]), Err(StoreError::ReadOnly)));
    assert_eq!(again.list(&path("")).unwrap().entries.len(), 2);
    again.close().unwrap();
    assert_eq!(disk.changes(), changes);
    assert_eq!(text(&disk, "a/log"), "");
    drop(open(&disk).unwrap());
    assert_eq!(text(&disk, "a/log"), "1\n2\n");
    assert_eq!(read_only.read(&path("a/log"), 0..9).unwrap(), b"1\n2\n");
}

#[test]
fn a_disk_that_refuses_every_change_can_be_read() {
    let disk = SimDisk::new();
    let (dying, first) = open_as(&disk, 7);
    let writer = first.lock_files(&[path("a")]).unwrap();
    writer.commit(vec![append("a/log", "1\n")], Durability::Synced).unwrap();
    writer.commit(vec![append("a/log", "2\n")], Durability::Buffered).unwrap();
    dying.kill();
    disk.inject(Fault { at: disk.changes(), kind: FaultKind::Error(EROFS), lasting: true });
    let store = FileStore::open_read_only(Arc::new(disk.process())).unwrap();
    assert_eq!(store.read(&path("a/log"), 0..9).unwrap(), b"1\n2\n");
    assert!(open(&disk).is_err(), "what waits cannot be replayed here");
}

#[test]
fn a_store_is_created_once() {
    let disk = SimDisk::new();
    disk.put_file(&path("already/here.json"), b"{}");
    let create = || FileStore::create(Arc::new(disk.process()), small_log());
    drop(create().unwrap());
    assert!(matches!(create(), Err(StoreError::Taken { .. })));
    assert_eq!(text(&disk, "already/here.json"), "{}");
}

#[test]
fn threads_share_flushes_and_lose_nothing() {
    const THREADS: usize = 8;
    const COMMITS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let as_disk: Arc<dyn Disk> = Arc::clone(&disk) as Arc<dyn Disk>;
    let store = FileStore::open(as_disk, Options::new(owner())).unwrap();
    let line = |thread: usize, n: usize| format!("{{\"thread\":{thread},\"n\":{n}}}\n");
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let store = store.clone();
            threads.spawn(move || {
                let writer = store.lock(&[path(&format!("s{thread}"))]).unwrap();
                for n in 0..COMMITS {
                    let file = format!("s{thread}/log.jsonl");
                    let steps = vec![append(&file, &line(thread, n))];
                    writer.commit(steps, Durability::Synced).unwrap();
                }
            });
        }
    });
    for thread in 0..THREADS {
        let found = store.read(&path(&format!("s{thread}/log.jsonl")), 0..u64::MAX).unwrap();
        let wanted: String = (0..COMMITS).map(|n| line(thread, n)).collect();
        assert_eq!(String::from_utf8(found).unwrap(), wanted);
    }
    let commits = (THREADS * COMMITS) as u64;
    println!("threads: {} flushes for {commits} commits", disk.flushes());
    assert!(disk.flushes() < commits, "{} flushes for {commits} commits", disk.flushes());
}

/// Fails the flush of a commit, in one of two ways; returns the disk with the poisoned store.
fn in_doubt(trouble: FaultKind) -> (SimDisk, FileStore, impl Writer) {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    // The record is one change, its flush the next.
    disk.inject(Fault { at: disk.changes() + 1, kind: trouble, lasting: false });
    let steps = vec![append("s/log", "2\n"), append("s/other", "2\n")];
    let error = writer.commit(steps, Durability::Synced).unwrap_err();
    assert!(
        matches!(&error, StoreError::Poisoned { cause } if cause.to_string().contains("flush")
        && matches!(**cause, StoreError::Io { .. })),
        "{error:?}"
    );
    (disk, store, writer)
}

#[test]
fn after_a_failed_flush_nothing_more_is_written_until_the_store_is_opened_again() {
    for trouble in [FaultKind::FlushLost, FaultKind::Error(EIO)] {
        let (disk, store, writer) = in_doubt(trouble);
        let changes = disk.changes();
        for durability in [Durability::Synced, Durability::Buffered] {
            let error = writer.commit(vec![append("s/log", "3\n")], durability).unwrap_err();
            assert!(matches!(error, StoreError::Poisoned { .. }), "{error:?}");
        }
        assert!(matches!(store.checkpoint(), Err(StoreError::Poisoned { .. })));
        assert!(matches!(store.lock(&[path("t")]), Err(StoreError::Poisoned { .. })));
        assert_eq!(disk.changes(), changes);
        assert_eq!(store.read(&path("s/log"), 0..9).unwrap(), b"1\n");
        assert_eq!(store.stat(&path("s/log")).unwrap().unwrap().len, 2);
        store.list(&path("s")).unwrap();

        assert!(open(&disk).unwrap().lock(&[path("s")]).is_err(), "the scope is still held");
        assert!(Box::new(writer).release().is_err());
        assert!(open(&disk).unwrap().lock(&[path("s")]).is_err(), "its commits are not safe yet");
        drop(store);
        let again = open(&disk).unwrap();
        let now = (text(&disk, "s/log"), text(&disk, "s/other"));
        let states = [("1\n".to_owned(), String::new()), ("1\n2\n".to_owned(), "2\n".to_owned())];
        assert!(states.contains(&now), "{now:?}");
        let writer = again.lock(&[path("s")]).unwrap();
        writer.commit(vec![append("s/log", "4\n")], Durability::Synced).unwrap();
        assert_eq!(text(&disk, "s/log"), now.0 + "4\n");
    }
}

/// Returns a disk after a power cut that only the log survived: commits of two files each, none of them applied.
fn only_the_log_is_left(stage_from: usize) -> (SimDisk, Vec<Vec<String>>) {
    // Staging the next content flushes the name of the previous one.
    let commits = if stage_from == 1 { 1 } else { 3 };
    let disk = SimDisk::new();
    disk.put_file(&path("s/state"), b"0");
    let options = Options { stage_from, ..small_log() };
    let store = FileStore::open(Arc::new(disk.process()), options).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let mut states = vec![readable(&data(&disk))];
    for n in 1..=commits {
        let steps = vec![append("s/log", &format!("{n}\n")), replace("s/state", &n.to_string())];
        writer.commit(steps, Durability::Synced).unwrap();
        states.push(readable(&data(&disk)));
    }
    disk.power_cut(Survival { data: DataSurvival::Lost, names: NameSurvival::Lost });
    assert_eq!(readable(&data(&disk)), states[0]);
    (disk, states)
}

/// Opens a disk whose log was damaged: all commits before the damage must exist, whole.
fn check_damaged(disk: &SimDisk, states: &[Vec<String>], what: &str) -> usize {
    let store = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = readable(&data(disk));
    let kept = states.iter().position(|state| *state == found);
    let kept = kept.unwrap_or_else(|| panic!("{what}: half a commit: {found:?}"));
    let writer = store.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "9\n")], Durability::Synced).unwrap();
    let grown = readable(&data(disk));
    disk.power_cut(Survival { data: DataSurvival::Lost, names: NameSurvival::Lost });
    drop(open(disk).unwrap());
    assert_eq!(readable(&data(disk)), grown, "{what}: what was lost has come back");
    kept
}

#[test]
fn no_flipped_bit_of_a_log_leaves_half_a_commit() {
    for stage_from in STAGE_FROM {
        every_bit_is_flipped(stage_from);
    }
}

fn every_bit_is_flipped(stage_from: usize) {
    let (disk, states) = only_the_log_is_left(stage_from);
    let log = path(".everturn/wal/0001.log");
    let content = disk.contents().remove(&log).unwrap();
    let used = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut counts = vec![0; states.len()];
    let written = (0..used).filter(|at| content[*at] != 0 || *at >= 8192);
    for (byte, bit) in written.flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
        let after = disk.fork();
        after.flip_bit(&log, byte, bit);
        counts[check_damaged(&after, &states, &format!("bit {bit} of byte {byte}"))] += 1;
    }
    // A single record may fill its space to the last bit; then every bit counts.
    let several = states.len() > 2;
    assert!(counts.iter().take(states.len() - usize::from(!several)).all(|count| *count > 0));
    println!("flipped bits by the commits that were left: {counts:?}");
}

#[test]
fn a_header_that_is_damaged_is_reported_and_its_log_kept() {
    for stage_from in STAGE_FROM {
        every_header_is_damaged(stage_from);
    }
}

fn every_header_is_damaged(stage_from: usize) {
    let (disk, states) = only_the_log_is_left(stage_from);
    let log = path(".everturn/wal/0001.log");
    let content = disk.contents().remove(&log).unwrap();
    for slot in [0, 4096] {
        for cut in [1, 8, 16, 20, 31] {
            let after = disk.fork();
            let mut torn = content.clone();
            torn[slot + cut..slot + 32].fill(0xff);
            after.put_file(&log, &torn);
            let store = open(&after).unwrap();
            let findings = store.take_findings();
            drop(store);
            let kept = crate::support::quarantined(&after).contains(&torn);
            // Staged files go where their log goes.
            let with_it = crate::support::staged(&disk)
                .iter()
                .all(|file| crate::support::quarantined(&after).contains(&disk.contents()[file]));
            assert!(with_it || !kept, "{slot} {cut}");
            let shown = Some(&readable(&data(&after))) == states.last();
            assert!(shown != kept && findings.len() == usize::from(kept), "{slot} {cut}");
            check_damaged(&after, &states, &format!("slot {slot} torn at {cut}"));
        }
    }
}

#[test]
fn a_log_that_is_cut_anywhere_keeps_whole_commits() {
    for stage_from in STAGE_FROM {
        the_log_is_cut_anywhere(stage_from);
    }
}

fn the_log_is_cut_anywhere(stage_from: usize) {
    let (disk, states) = only_the_log_is_left(stage_from);
    let log = path(".everturn/wal/0001.log");
    let content = disk.contents().remove(&log).unwrap();
    let used = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for len in (0..used).step_by(7).filter(|len| *len < 64 || *len > 4000) {
        let after = disk.fork();
        after.put_file(&log, &content[..len]);
        check_damaged(&after, &states, &format!("cut at {len}"));
    }
}
