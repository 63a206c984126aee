//! Sessions on another mount below the root, where nothing can be renamed across the boundary.

use std::sync::Arc;

use everturn_store::disk::Flush;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};
use everturn_store::{Durability, FileStore, Step, StoreError, Writer};

use super::{LOST, survivals};
use crate::support::{Files, append, both, data, open, path, readable, remove, rename, replace};

fn mounted() -> SimDisk {
    let disk = SimDisk::new();
    disk.put_file(&path("paused/old/log"), b"{}\n");
    disk.put_file(&path("active/one/log"), b"{}\n");
    disk.put_file(&path("active/one/deep/state"), b"{\"state\":1}");
    disk.mount_at(&path("active"));
    disk
}

fn batches() -> Vec<Vec<Step>> {
    vec![
        vec![append("active/one/log", "{\"a\":1}\n"), replace("active/one/meta", "{\"turn\":1}")],
        vec![replace("active/one/meta", "{\"paused\":1}"), rename("active/one", "paused/one")],
        vec![append("paused/one/log", "{\"a\":2}\n")],
        vec![rename("paused/one", "active/two")],
        vec![remove("active/two/deep"), append("active/two/log", "{\"a\":3}\n")],
        vec![remove("active/two"), append("paused/old/log", "{\"a\":4}\n")],
    ]
}

/// Runs the batches; returns the files after each acknowledged one.
fn run(disk: &SimDisk, options: everturn_store::Options) -> (Vec<Files>, Result<(), StoreError>) {
    let mut states = vec![data(disk)];
    let outcome = (|| {
        let store = FileStore::open(Arc::new(disk.process()), options)?;
        let writer = store.lock_files(&[path("active"), path("paused")])?;
        for batch in batches() {
            writer.commit(batch, Durability::Synced)?;
            states.push(data(disk));
        }
        Ok(())
    })();
    (states, outcome)
}

#[test]
fn everything_works_across_the_border_of_a_mount() {
    for options in both() {
        let disk = mounted();
        let (states, outcome) = run(&disk, options);
        outcome.unwrap();
        assert!(states[2].contains_key(&path("paused/one/deep/state")), "{:?}", states[2]);
        assert!(!states[2].keys().any(|file| file.is_within(&path("active"))), "{:?}", states[2]);
        assert_eq!(states[6].len(), 1, "{:?}", readable(&states[6]));
    }
}

/// Crashes at every change; returns what is wrong afterwards.
fn every_crash(ignored: Option<Flush>) -> Result<u64, String> {
    let (whole, _) = run(&mounted(), crate::support::small_log());
    let mut tries = 0;
    for options in both() {
        for at in 0.. {
            let disk = mounted();
            if let Some(why) = ignored {
                disk.ignore_flush(why);
            }
            disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
            let (states, _) = run(&disk, options.clone());
            if !disk.crashed() {
                break;
            }
            let acknowledged = states.len() - 1;
            let allowed = [whole.get(acknowledged), whole.get(acknowledged + 1)];
            let kill = disk.fork();
            kill.kill_all();
            let cuts = survivals().into_iter().map(|survival| {
                let cut = disk.fork();
                cut.power_cut(survival);
                cut
            });
            for after in std::iter::once(kill).chain(cuts) {
                let opened = open(&after).map_err(|error| format!("crash at {at}: {error}"))?;
                drop(opened);
                after.power_cut(LOST);
                drop(open(&after).map_err(|error| format!("crash at {at}, again: {error}"))?);
                let mut found = data(&after);
                // An unfinished copy is not a session; the next attempt removes it.
                found.retain(|file, _| !file.as_str().contains(".everturn-copy"));
                if !allowed.contains(&Some(&found)) {
                    return Err(format!("crash at {at}: {:#?}", readable(&found)));
                }
                tries += 1;
            }
        }
    }
    Ok(tries)
}

#[test]
fn a_crash_while_something_is_copied_across_loses_nothing() {
    let tries = every_crash(None).unwrap();
    assert!(tries > 1000, "only {tries}");
}

/// Returns whether an unflushed copy is lost.
pub(crate) fn notices(why: Flush) -> bool {
    every_crash(Some(why)).is_err()
}
