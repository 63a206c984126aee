//! One process locks a scope while another replays the log of its last owner.

use std::sync::{Arc, Mutex};

use everturn_store::disk::sim::SimDisk;
use everturn_store::{Durability, FileStore, StoreError, Writer};

use crate::hooked::HookedDisk;
use crate::support::{append, data, open, path, replace, small_log};

/// Replays the log of a dead process; before operation `point` another process takes over the scope.
///
/// Returns the result of that process and the final contents of the files, or `None` if the replay ends before.
fn heir_comes_at(point: u64) -> Option<(Result<(), StoreError>, [String; 2])> {
    let disk = SimDisk::new();
    let heir = open(&disk).unwrap();
    let process = disk.process();
    let dead = FileStore::open(Arc::new(process.clone()), small_log()).unwrap();
    let writer = dead.lock_files(&[path("s")]).unwrap();
    let last = vec![append("s/log", "{\"dead\":1}\n"), replace("s/state", "dead")];
    writer.commit(last, Durability::Buffered).unwrap();
    process.kill();

    let told = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&told);
    let happens = move || {
        let outcome = heir.lock_files(&[path("s")]).and_then(|writer| {
            let steps = vec![append("s/log", "{\"heir\":1}\n"), replace("s/state", "heir")];
            writer.commit(steps, Durability::Synced).map(|_| ())
        });
        *tell.lock().unwrap() = Some(outcome);
    };
    let replaying = HookedDisk::new(Arc::new(disk.process())).without_files();
    let replaying = replaying.at_operation(point, happens);
    let opened = FileStore::open(Arc::new(replaying), small_log());
    let told = told.lock().unwrap().take()?;
    drop(opened);
    drop(open(&disk).unwrap());
    let text = |file: &str| {
        String::from_utf8(data(&disk).remove(&path(file)).unwrap_or_default()).unwrap()
    };
    Some((told, [text("s/log"), text("s/state")]))
}

#[test]
fn nobody_writes_into_a_scope_whose_last_holder_is_being_replayed() {
    let mut points = 0;
    while let Some((told, [log, state])) = heir_comes_at(points) {
        let wanted = match told {
            Ok(()) => ["{\"dead\":1}\n{\"heir\":1}\n", "heir"],
            Err(StoreError::Busy { .. }) => ["{\"dead\":1}\n", "dead"],
            Err(error) => panic!("at {points}: {error:?}"),
        };
        assert_eq!([log.as_str(), state.as_str()], wanted, "at {points}");
        points += 1;
    }
    assert!(points > 20, "only {points}");
}

#[test]
fn a_panic_below_a_commit_ends_in_doubt_and_not_in_waiting() {
    let sim = SimDisk::new();
    let disk = Arc::new(HookedDisk::new(Arc::new(sim.process())).without_files());
    let store = FileStore::open(Arc::<HookedDisk>::clone(&disk), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    // The first stat comes before the batch is queued.
    disk.arm(1, || panic!("a fault below the store"));
    let commit = || writer.commit(vec![append("s/log", "{}\n")], Durability::Synced);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(commit)).is_err());
    let next = commit();
    assert!(matches!(next, Err(StoreError::Poisoned { .. })), "{next:?}");
}
