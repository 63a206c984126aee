//! Batches with large contents that fail are undone, whatever happens meanwhile.

use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::{Durability, FileStore, FileWriter, Step, StoreError, Writer};

use super::{ENOSPC, content, open_staging};
use crate::crash::{end, ends};
use crate::support::{Files, append, data, open, path, readable, rename, replace, staged};

/// Returns a store with files, for a batch that changes them in every way.
fn prepared(disk: &SimDisk) -> (FileStore, FileWriter) {
    for file in OLD {
        disk.put_file(&path(file), b"old");
    }
    let store = open_staging(disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    (store, writer)
}

/// Enough files that a power cut can keep the first changes of names, and lose those that undo them.
const OLD: [&str; 6] = ["s/a", "s/b", "s/c", "s/d", "s/e", "s/from/state"];

fn every_change() -> Vec<Step> {
    let mut steps: Vec<Step> = OLD.iter().map(|file| replace(file, &content(1))).collect();
    steps.extend([
        replace("s/new/state", &content(2)),
        rename("s/from", "s/to"),
        append("s/log", "{\"last\":1}\n"),
    ]);
    steps
}

#[test]
fn a_full_disk_leaves_nothing_beside_the_log() {
    for (trouble, lasting) in
        [(FaultKind::Full, false), (FaultKind::Full, true), (FaultKind::Short, false)]
    {
        for ahead in 0.. {
            let disk = SimDisk::new();
            let (_store, writer) = prepared(&disk);
            let before = readable(&data(&disk));
            let at = disk.changes() + ahead;
            disk.inject(Fault { at, kind: trouble, lasting });
            match writer.commit(every_change(), Durability::Synced) {
                Err(StoreError::Poisoned { .. }) => assert_eq!(trouble, FaultKind::Short),
                outcome => {
                    let place = format!("{trouble:?} {ahead} {outcome:?}");
                    assert_eq!(outcome.is_err(), readable(&data(&disk)) == before, "{place}");
                    // The staged files of an applied batch are needed as long as the log has the batch. If a removal
                    // itself fails, the next owner of the log removes the file.
                    let unneeded = outcome.is_err() && !staged(&disk).is_empty();
                    assert!(!unneeded || trouble == FaultKind::Short, "{place}");
                }
            }
            if disk.changes() <= at {
                assert!(ahead > 15, "only {ahead}");
                break;
            }
        }
    }
}

/// Returns whether a disk shows all of that.
fn is_changed(found: &Files) -> bool {
    let is = |file: &str, text: &str| found.get(&path(file)) == Some(&text.as_bytes().to_vec());
    OLD.iter().take(5).all(|file| is(file, &content(1)))
        && is("s/to/state", &content(1))
        && is("s/new/state", &content(2))
        && is("s/log", "{}\n{\"last\":1}\n")
        && found.len() == 8
}

/// Fails a batch at one change, and crashes the process or cuts the power at a later one, during the undo.
fn crashes_of_undoing(links: bool) -> Result<u64, String> {
    let mut tries = 0;
    for fail in 0.. {
        for crash in fail + 1.. {
            let disk = SimDisk::new();
            if !links {
                disk.refuse_links();
            }
            let (_store, writer) = prepared(&disk);
            let before = data(&disk);
            let start = disk.changes();
            let trouble = FaultKind::Error(ENOSPC);
            disk.inject(Fault { at: start + fail, kind: trouble, lasting: false });
            disk.inject(Fault { at: start + crash, kind: FaultKind::Crash, lasting: false });
            drop(writer.commit(every_change(), Durability::Synced));
            if disk.changes() <= start + fail {
                return Ok(tries);
            }
            if !disk.crashed() {
                break;
            }
            for how in ends(crash) {
                let after = disk.fork();
                end(&after, how);
                let place = format!("failed at {fail}, crashed at {crash}, {how:?}");
                let store = open(&after).map_err(|error| format!("{place}: {error}"))?;
                let found = data(&after);
                if found != before && !is_changed(&found) {
                    return Err(format!("{place}: {:#?}", readable(&found)));
                }
                let locked = store.lock_files(&[path("s")]).map(|_| ());
                locked.map_err(|error| format!("{place}: {error}"))?;
                tries += 1;
            }
        }
    }
    Ok(tries)
}

#[test]
fn a_crash_while_a_batch_is_taken_back_leaves_it_whole_or_not_at_all() {
    for links in [true, false] {
        let tries = crashes_of_undoing(links).unwrap();
        assert!(tries > 1000, "only {tries}");
        println!("staged contents: {tries} crashes while a batch was taken back, links: {links}");
    }
}
