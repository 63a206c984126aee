//! One process locks a scope while another replays the log of its last holder.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{Access, Disk, DiskFile, DiskLock, Flush, Listing, Mode, Sharing, Stat};
use everturn_store::{Durability, FileStore, StoreError, Writer};

use crate::support::{append, data, open, path, replace, small_log};

type Interruption = Box<dyn FnOnce() + Send>;

/// A disk on which something else happens before one of its operations.
struct Interrupted {
    disk: SimDisk,
    /// How many operations come before, and what happens then.
    then: Mutex<(u64, Option<Interruption>)>,
}

impl Interrupted {
    fn tick(&self) -> &SimDisk {
        let due = {
            let mut then = self.then.lock().unwrap_or_else(PoisonError::into_inner);
            let due = then.0 == 0;
            then.0 = then.0.saturating_sub(1);
            if due { then.1.take() } else { None }
        };
        if let Some(happens) = due {
            happens();
        }
        &self.disk
    }
}

impl Disk for Interrupted {
    fn open(&self, path: &FilePath, access: Access) -> io::Result<Box<dyn DiskFile>> {
        self.tick().open(path, access)
    }

    fn create(&self, path: &FilePath, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        self.tick().create(path, mode)
    }

    fn stat(&self, path: &FilePath) -> io::Result<Option<Stat>> {
        self.tick().stat(path)
    }

    fn list(&self, dir: &FilePath) -> io::Result<Listing> {
        self.tick().list(dir)
    }

    fn create_dir(&self, path: &FilePath) -> io::Result<()> {
        self.tick().create_dir(path)
    }

    fn rename(&self, from: &FilePath, to: &FilePath) -> io::Result<()> {
        self.tick().rename(from, to)
    }

    fn link(&self, file: &FilePath, to: &FilePath) -> io::Result<()> {
        self.tick().link(file, to)
    }

    fn remove(&self, path: &FilePath) -> io::Result<()> {
        self.tick().remove(path)
    }

    fn sync_dir(&self, dir: &FilePath, why: Flush) -> io::Result<()> {
        self.tick().sync_dir(dir, why)
    }

    fn lock(&self, path: &FilePath, sharing: Sharing) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.tick().lock(path, sharing)
    }

    fn is_locked(&self, path: &FilePath) -> io::Result<bool> {
        self.tick().is_locked(path)
    }
}

/// A process replays the log of a dead one; before its operation `point` another takes the scope over.
///
/// Returns what the heir was told and what the files hold in the end, or nothing if the replay is done
/// before.
fn heir_comes_at(point: u64) -> Option<(Result<(), StoreError>, [String; 2])> {
    let disk = SimDisk::new();
    let heir = open(&disk).unwrap();
    let process = disk.process();
    let dead = FileStore::open(Arc::new(process.clone()), small_log()).unwrap();
    let writer = dead.lock_files(&[path("s")]).unwrap();
    let last = vec![append("s/log", "{\"dead\":1}\n"), replace("s/state", "dead")];
    writer.commit(last, Durability::Written).unwrap();
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
    let then = Mutex::new((point, Some(Box::new(happens) as Interruption)));
    let replaying = Interrupted { disk: disk.process(), then };
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
    let then = Mutex::new((u64::MAX, None));
    let disk = Arc::new(Interrupted { disk: sim.process(), then });
    let store = FileStore::open(Arc::<Interrupted>::clone(&disk), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    writer.commit(vec![append("s/log", "{}\n")], Durability::Synced).unwrap();
    let broken: Interruption = Box::new(|| panic!("a fault below the store"));
    // The first look comes before the batch is in the queue; the second follows the append.
    *disk.then.lock().unwrap() = (1, Some(broken));
    let commit = || writer.commit(vec![append("s/log", "{}\n")], Durability::Synced);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(commit)).is_err());
    let next = commit();
    assert!(matches!(next, Err(StoreError::Poisoned { .. })), "{next:?}");
}
