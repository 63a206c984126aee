//! Recovery of commits that cannot be completed as they were written: nothing is destroyed, and unused contents are
//! kept.

use std::sync::Arc;

use everturn_json::finding::FindingCode;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::disk::{Disk, FileAccess, FilePermissions, Flush, LockMode};
use everturn_store::{Durability, FileStore, Options, Step, StoreError, Writer};

use super::{LOST, text};
use crate::support::{append, both, open, owner, path, quarantined, remove, replace, small_log};

/// Returns a batch like that of folding a journal into its document.
fn fold() -> Vec<Step> {
    vec![
        replace("s/doc", "the document with twenty messages"),
        replace("s/index", "an index of it"),
        remove("s/journal"),
        append("s/log", "{\"folded\":true}\n"),
    ]
}

/// Returns a disk on which a process was killed after `applied` steps of that batch; its record is flushed.
fn killed_after(applied: u64, options: &Options) -> SimDisk {
    for at in 0.. {
        let disk = SimDisk::new();
        disk.put_file(&path("s/doc"), b"the document");
        disk.put_file(&path("s/index"), b"its index");
        disk.put_file(&path("s/journal"), b"{\"messages\":20}\n");
        let process = disk.process();
        let store = FileStore::open(Arc::new(process.clone()), options.clone()).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        let before = *disk.flushes().get(&Flush::Commit).unwrap_or(&0);
        disk.inject(Fault { at: disk.changes() + at, kind: FaultKind::Crash, lasting: false });
        drop(writer.commit(fold(), Durability::Synced));
        let flushed = *disk.flushes().get(&Flush::Commit).unwrap_or(&0) > before;
        let doc = disk.contents()[&path("s/doc")] != b"the document";
        let index = disk.contents()[&path("s/index")] != b"its index";
        let journal = !disk.contents().contains_key(&path("s/journal"));
        let done = [doc, index, journal].iter().filter(|done| **done).count() as u64;
        assert!(disk.crashed(), "no crash after {applied} steps");
        disk.kill_all();
        if flushed && done == applied {
            return disk;
        }
    }
    unreachable!()
}

fn save(disk: &SimDisk, file: &str, content: &[u8]) {
    let other = disk.process();
    let open = other.open(&path(file), FileAccess::Append).unwrap();
    open.set_len(0).unwrap();
    open.append(content).unwrap();
    open.sync(Flush::CheckpointFile).unwrap();
}

#[test]
fn nothing_is_removed_by_a_commit_whose_document_another_program_has_changed() {
    for options in both() {
        for applied in 0..=3 {
            let disk = killed_after(applied, &options);
            save(&disk, "s/doc", b"the document, saved by another program");
            let store = open(&disk).unwrap();
            let findings = store.take_findings();
            let codes: Vec<_> = findings.iter().map(|finding| finding.code).collect();
            assert!(codes.contains(&FindingCode::ChangedByOthers), "{findings:?}");
            assert_eq!(text(&disk, "s/doc"), "the document, saved by another program");
            assert_eq!(text(&disk, "s/journal"), "{\"messages\":20}\n", "after {applied} steps");
            assert_eq!(text(&disk, "s/log"), "{\"folded\":true}\n");
            let kept = quarantined(&disk);
            if applied == 0 {
                assert!(kept.contains(&b"the document with twenty messages".to_vec()), "{kept:?}");
            }
            if applied < 2 {
                assert!(kept.contains(&b"its index".to_vec()), "{kept:?}");
            }
            // It is decided once, and a power cut does not change that.
            drop(store);
            disk.power_cut(LOST);
            let again = open(&disk).unwrap();
            assert_eq!(again.take_findings(), []);
            assert_eq!(text(&disk, "s/journal"), "{\"messages\":20}\n");
            again.lock_files(&[path("s")]).unwrap();
        }
    }
}

#[test]
fn a_commit_that_nobody_disturbed_is_completed_on_a_copy_of_the_root() {
    for options in both() {
        for applied in 0..=3 {
            let disk = killed_after(applied, &options);
            // Other device and inode numbers, with everything visible.
            let copy = SimDisk::new();
            for (file, content) in disk.contents() {
                copy.put_file(&path("dummy"), b"");
                copy.put_file(&file, &content);
            }
            let store = open(&copy).unwrap();
            assert_eq!(store.take_findings(), []);
            assert_eq!(text(&copy, "s/doc"), "the document with twenty messages");
            assert_eq!(text(&copy, "s/journal"), "");
        }
    }
}

#[test]
fn what_another_program_puts_into_a_removed_directory_is_kept() {
    let disk = SimDisk::new();
    disk.put_file(&path("s/old/a"), b"{}\n");
    let process = disk.process();
    let store = FileStore::open(Arc::new(process), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    writer.commit(vec![remove("s/old")], Durability::Buffered).unwrap();
    disk.kill_all();
    disk.process()
        .create(&path("s/old/theirs"), FilePermissions::Default)
        .unwrap()
        .append(b"1")
        .unwrap();
    let opened = open(&disk).unwrap();
    assert_eq!(text(&disk, "s/old/theirs"), "1");
    assert_eq!(opened.take_findings().len(), 1);
}

#[test]
fn a_background_write_error_does_not_leave_holes() {
    for file in ["s/log", "s/state", ".everturn/wal/0001.log"] {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        for n in 1..=3 {
            let line = format!("{{\"n\":{n}}}\n");
            let steps = vec![append("s/log", &line), replace("s/state", &line)];
            writer.commit(steps, Durability::Synced).unwrap();
        }
        disk.fail_writeback(&path(file));
        disk.kill_all();
        // The first flush may still report the old error; then the scope is blocked, and nothing is lost.
        for _ in 0..3 {
            drop(open(&disk));
        }
        let opened = open(&disk).unwrap();
        assert_eq!(opened.take_findings(), [], "{file}");
        drop(opened);
        disk.power_cut(LOST);
        drop(open(&disk).unwrap());
        let lines = "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n";
        assert_eq!(text(&disk, "s/log"), lines, "{file}");
        assert_eq!(text(&disk, "s/state"), "{\"n\":3}\n", "{file}");
    }
}

#[test]
fn a_recovery_that_is_stopped_keeps_nobody_from_other_sessions() {
    let disk = SimDisk::new();
    let dying = disk.process();
    let store = FileStore::open(Arc::new(dying.clone()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Buffered).unwrap();
    dying.kill();
    // A process that stopped while recovering the log.
    let stopped = disk.process();
    let lock = stopped.lock(&path(".everturn/wal/0001.recovery"), LockMode::Exclusive).unwrap();
    let lock = lock.unwrap();
    lock.describe(br#"{"pid":4711,"started":"2026-01-01T00:00:00Z"}"#).unwrap();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("t")]).unwrap();
    writer.commit(vec![append("t/log", "{}\n")], Durability::Synced).unwrap();
    match store.lock_files(&[path("s")]) {
        Err(StoreError::Busy { owner, .. }) => assert!(owner.contains("4711"), "{owner}"),
        other => panic!("{:?}", other.map(|_| ())),
    }
    drop(lock);
    stopped.kill();
    store.lock_files(&[path("s")]).unwrap();
    assert_eq!(text(&disk, "s/log"), "{}\n");
}

#[test]
fn a_file_that_was_rewritten_is_searched_once_for_all_lines_of_the_log() {
    let reads = |commits: u32| {
        let disk = SimDisk::new();
        let store = FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap();
        let writer = store.lock_files(&[path("s")]).unwrap();
        for n in 0..commits {
            let line = format!("{{\"n\":{n}}}\n");
            writer.commit(vec![append("s/log", &line)], Durability::Synced).unwrap();
        }
        let lines = disk.contents()[&path("s/log")].clone();
        let (_, rest) = lines.split_at("{\"n\":0}\n".len());
        save(&disk, "s/log", rest);
        disk.kill_all();
        let before = disk.reads();
        drop(open(&disk).unwrap());
        let log = text(&disk, "s/log");
        assert_eq!(log.lines().count(), commits as usize);
        assert!(log.ends_with("{\"n\":0}\n"));
        disk.reads() - before
    };
    let (few, many) = (reads(100), reads(800));
    assert!(many < few * 12, "{few} reads for 100 commits, {many} for 800");
}
