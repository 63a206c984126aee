//! T6, T8: several writers of one session, and one that is restarted again and again.

use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::disk::{Disk, RealDisk};
use everturn_store::{Durability, FileStore, Store, StoreError, Writer};

use super::{LOST, text, total_size};
use crate::support::{append, open, path, small_log};

fn real(dir: &std::path::Path) -> (Arc<RealDisk>, FileStore) {
    let disk = Arc::new(RealDisk::open(dir).unwrap());
    let store = FileStore::open(Arc::clone(&disk) as Arc<dyn Disk>, small_log()).unwrap();
    (disk, store)
}

#[test]
fn t06_the_second_writer_of_a_session_is_told_to_wait() {
    let dir = tempfile::tempdir().unwrap();
    let ((_, first), (_, second)) = (real(dir.path()), real(dir.path()));
    let writer = first.lock(&[path("s")]).unwrap();
    let busy = second.lock(&[path("s")]).map(|_| ()).unwrap_err();
    assert!(matches!(&busy, StoreError::Busy { owner, .. } if owner.starts_with("pid 1,")));
    writer.commit(vec![append("s/log", "1\n")], Durability::Synced).unwrap();
    writer.release().unwrap();
    let writer = second.lock(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "2\n")], Durability::Synced).unwrap();
    drop(writer);
    assert_eq!(first.read(&path("s/log"), 0..9).unwrap(), b"1\n2\n");
}

/// Retries to lock the session until it is free; others hold it for a moment only.
fn patient_lock(store: &FileStore) -> Box<dyn Writer> {
    for _ in 0..100_000 {
        match store.lock(&[path("s")]) {
            Ok(writer) => return writer,
            Err(StoreError::Busy { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("nobody gives the session back");
}

#[test]
fn t06_writers_that_take_turns_lose_and_mix_nothing() {
    const WRITERS: usize = 4;
    const TURNS: usize = 60;
    let dir = tempfile::tempdir().unwrap();
    let line = |writer: usize, n: usize| {
        format!("{{\"writer\":{writer},\"n\":{n},\"p\":\"{}\"}}\n", "x".repeat(100 * (n % 7)))
    };
    std::thread::scope(|threads| {
        for who in 0..WRITERS {
            let root = dir.path();
            threads.spawn(move || {
                let (_, store) = real(root);
                for n in 0..TURNS {
                    let writer = patient_lock(&store);
                    let steps = vec![append("s/log", &line(who, n))];
                    writer.commit(steps, Durability::Synced).unwrap();
                    if n % 2 == 0 { writer.release().unwrap() } else { drop(writer) }
                }
            });
        }
    });
    let (_, store) = real(dir.path());
    let found = String::from_utf8(store.read(&path("s/log"), 0..u64::MAX).unwrap()).unwrap();
    assert_eq!(found.lines().count(), WRITERS * TURNS);
    for who in 0..WRITERS {
        let prefix = format!("{{\"writer\":{who},");
        let mine: Vec<String> = found
            .lines()
            .filter(|line| line.starts_with(&prefix))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(mine, (0..TURNS).map(|n| line(who, n)).collect::<Vec<_>>());
    }
}

#[test]
fn t06_a_writer_that_is_killed_anywhere_leaves_its_session_to_the_next() {
    let mut killed = 0;
    for point in 0.. {
        let disk = SimDisk::new();
        let second = open(&disk).unwrap();
        let (dying, first) = {
            let process = disk.process();
            (process.clone(), FileStore::open(Arc::new(process), small_log()).unwrap())
        };
        // The process stops at one change, as if it had been killed there.
        let at = disk.changes() + point;
        disk.inject(Fault { at, kind: FaultKind::Error(super::EIO), lasting: true });
        let mut acknowledged = String::new();
        let mut under_way = String::new();
        if let Ok(writer) = first.lock_files(&[path("s")]) {
            for n in 0..5 {
                under_way = format!("{{\"first\":{n}}}\n");
                let steps = vec![append("s/log", &under_way), append("s/more", &under_way)];
                if writer.commit(steps, Durability::Synced).is_err() {
                    break;
                }
                acknowledged.push_str(&under_way);
                under_way.clear();
            }
            dying.kill();
        }
        let done = disk.changes() <= at;
        dying.kill();
        disk.clear_faults();
        let writer = second.lock(&[path("s")]).unwrap();
        let now = text(&disk, "s/log");
        assert_eq!(now, text(&disk, "s/more"), "killed at {point}");
        let allowed = [acknowledged.clone(), acknowledged + &under_way];
        assert!(allowed.contains(&now), "killed at {point}: {now:?}");
        writer.commit(vec![append("s/log", "{\"second\":1}\n")], Durability::Synced).unwrap();
        assert_eq!(text(&disk, "s/log"), now + "{\"second\":1}\n");
        if done {
            killed = point;
            break;
        }
    }
    assert!(killed > 20, "only {killed} places to be killed at");
}

#[test]
fn t08_coming_again_and_again_adds_what_is_new_and_nothing_else() {
    const CYCLES: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let line = "{\"turn\":1,\"text\":\"the same every time\"}\n";
    let mut overhead = 0;
    for cycle in 1..=CYCLES {
        let (disk, store) = real(dir.path());
        let writer = store.lock(&[path("s")]).unwrap();
        writer.commit(vec![append("s/log.jsonl", line)], Durability::Synced).unwrap();
        writer.release().unwrap();
        store.close().unwrap();
        let len = store_len(&*disk, "s/log.jsonl");
        assert_eq!(len, cycle * line.len() as u64);
        let rest = total_size(&*disk, &FilePath::root()) - len;
        if cycle == 1 {
            overhead = rest;
        }
        assert_eq!(rest, overhead, "cycle {cycle}");
    }
    assert!(overhead < 64 << 10, "{overhead}");
}

fn store_len(disk: &dyn Disk, file: &str) -> u64 {
    disk.stat(&path(file)).unwrap().unwrap().len
}

#[test]
fn t08_what_was_removed_takes_no_more_room() {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let files = vec![append("s/d/log", "{}\n"), append("s/d/e/log", "{}\n"), append("s/f", "{}\n")];
    writer.commit(files, Durability::Synced).unwrap();
    let gone = vec![crate::support::remove("s/d"), crate::support::remove("s/f")];
    writer.commit(gone, Durability::Synced).unwrap();
    assert_eq!(total_size(&disk.process(), &path(".everturn/tmp")), 0);
    assert!(disk.process().list(&path(".everturn/tmp")).unwrap().entries.is_empty());
}

#[test]
fn t08_dying_again_and_again_leaves_nothing_behind_either() {
    let disk = SimDisk::new();
    let sizes: Vec<u64> = (0..50)
        .map(|n| {
            let store = open(&disk).unwrap();
            let writer = store.lock_files(&[path("s")]).unwrap();
            let steps = vec![
                append("s/log", "{}\n"),
                crate::support::replace("s/state", &format!("{n:04}")),
            ];
            writer.commit(steps, Durability::Synced).unwrap();
            disk.power_cut(LOST);
            total_size(&disk.process(), &path(".everturn"))
        })
        .collect();
    drop(open(&disk).unwrap());
    assert_eq!(text(&disk, "s/log"), "{}\n".repeat(50));
    assert!(sizes.iter().all(|size| *size <= sizes[1] + 256), "{sizes:?}");
}
