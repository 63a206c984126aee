//! Every flush is needed: with one kind left out, the suites find lost data.

use std::sync::Arc;

use everturn_store::disk::Flush;
use everturn_store::disk::sim::{DataSurvival, NameSurvival, SimDisk, Survival};
use everturn_store::{Durability, FileStore, Options, Writer};

use crate::crash::{crash_at, end, ends, verify};
use crate::failures::{foreign, mounts};
use crate::faults::{Verdict, failures_at};
use crate::support::{append, open, owner, path, small_log, staging};
use crate::{chains, many, short_processes};

/// Returns whether some crash of the workload loses data if these flushes do nothing.
fn crash_notices(why: Flush, options: &Options) -> bool {
    let mut point = 0;
    while let Some((disk, promise)) = crash_at(point, Some(why), options) {
        for how in ends(point) {
            let after = disk.fork();
            end(&after, how);
            if verify(&after, &promise, how).is_err() {
                return true;
            }
        }
        point += 1;
    }
    false
}

/// As [`crash_notices`], for a second crash, after recovery.
fn second_crash_notices(why: Flush) -> bool {
    let mut point = 0;
    while let Some((disk, promise)) = crash_at(point, None, &small_log()) {
        for how in ends(point) {
            let after = disk.fork();
            end(&after, how);
            after.ignore_flush(why);
            // Recovery believes that it has flushed; then the power is cut.
            if open(&after).is_ok() {
                after.power_cut(Survival { data: DataSurvival::Lost, names: NameSurvival::Lost });
                if verify(&after, &promise, how).is_err() {
                    return true;
                }
            }
        }
        point += 1;
    }
    false
}

/// As [`crash_notices`], for commits that fail and are undone.
fn failure_notices(why: Flush) -> bool {
    let mut point = 0;
    loop {
        match failures_at(point, Some(why)) {
            Verdict::Past => return false,
            Verdict::Wrong(_) => return true,
            Verdict::Fine | Verdict::Open { .. } => point += 1,
        }
    }
}

#[test]
fn no_flush_can_be_left_out() {
    for why in Flush::ALL {
        let noticed = match why {
            Flush::RecoverFile | Flush::RecoverDir => second_crash_notices(*why),
            Flush::CloseFile => many::crash_notices(*why),
            Flush::RecoverLog => chains::notices(*why),
            Flush::ExistingFile | Flush::ExistingDir => foreign::notices(*why),
            Flush::KeptFile | Flush::KeptDir => foreign::notices_kept(*why),
            Flush::CheckpointAll => short_processes::notices(*why),
            Flush::CopiedTree => mounts::notices(*why),
            Flush::Abort | Flush::UndoFile | Flush::UndoDir => failure_notices(*why),
            Flush::StagedFile | Flush::StagedDir => crash_notices(*why, &staging()),
            _ => crash_notices(*why, &small_log()),
        };
        assert!(noticed, "nobody notices when {why} is left out");
    }
}

/// Opens a store whose log does not fill up in a test.
fn roomy(disk: &SimDisk) -> FileStore {
    FileStore::open(Arc::new(disk.process()), Options::new(owner())).unwrap()
}

#[test]
fn a_commit_is_one_flush_whatever_it_touches() {
    let disk = SimDisk::new();
    let store = roomy(&disk);
    let writer = store.lock_files(&[path("s")]).unwrap();
    let turn = |count: u32| {
        let line = format!("{{\"turn\":{count}}}\n");
        vec![append("s/turns.jsonl", &line), append("s/deltas.jsonl", &line)]
    };
    writer.commit(turn(0), Durability::Synced).unwrap();
    let before: u64 = disk.flushes().values().sum();
    for count in 1..=10 {
        writer.commit(turn(count), Durability::Synced).unwrap();
    }
    assert_eq!(disk.flushes().values().sum::<u64>() - before, 10);
}

#[test]
fn commits_that_come_together_share_a_flush() {
    let disk = SimDisk::new();
    let store = roomy(&disk);
    let scopes: Vec<_> = (0..8).map(|n| path(&format!("s{n}"))).collect();
    let writers: Vec<_> =
        scopes.iter().map(|scope| store.lock_files(std::slice::from_ref(scope)).unwrap()).collect();
    let batches = || {
        let batch = |writer| (writer, vec![], Durability::Synced);
        let mut batches: Vec<_> = writers.iter().map(batch).collect();
        for (n, (_, steps, _)) in batches.iter_mut().enumerate() {
            steps.push(append(&format!("s{n}/log.jsonl"), "{}\n"));
        }
        batches
    };
    assert!(store.commit_all(batches()).iter().all(Result::is_ok));
    let before: u64 = disk.flushes().values().sum();
    assert!(store.commit_all(batches()).iter().all(Result::is_ok));
    assert_eq!(disk.flushes().values().sum::<u64>() - before, 1);
}
