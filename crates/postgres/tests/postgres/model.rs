//! Random operations of several processes compared with the store in memory, by seed, while connections are terminated.

use std::collections::BTreeMap;
use std::mem::discriminant;

use everturn_json::names::FilePath;
use everturn_postgres::PostgresStore;
use everturn_store::disk::FileKind;
use everturn_store::{CommitReceipt, Durability, MemoryStore, Step, Store, StoreError, Writer};

use crate::cluster::{Cluster, holder, new_root};
use crate::support::{is_own, path};
use random::Random;
use steps::{Maker, SCOPES, durability};

#[path = "../../../store/tests/store/model/random.rs"]
mod random;
#[path = "../../../store/tests/store/model/steps.rs"]
#[expect(dead_code, reason = "shared with the model test of the other stores")]
mod steps;

/// The number of seeds in a normal run, and of operations for each.
const SEEDS: u64 = 6;
const OPERATIONS: usize = 150;

/// The number of processes.
const PROCESSES: usize = 3;

/// A process with the root open.
struct Process {
    store: PostgresStore,
    writers: Vec<(Vec<FilePath>, Box<dyn Writer>)>,
}

/// Files with their bytes and whether they are secret, and directories.
type Tree = BTreeMap<FilePath, Option<(Vec<u8>, bool)>>;

fn tree(store: &dyn Store) -> Tree {
    let (mut found, mut open) = (Tree::new(), vec![FilePath::root()]);
    while let Some(dir) = open.pop() {
        for entry in store.list(&dir).unwrap().entries {
            let place = dir.join(&entry.name);
            if is_own(&place) {
                continue;
            }
            if entry.kind == FileKind::Dir {
                open.push(place.clone());
                found.insert(place, None);
            } else {
                let stat = store.stat(&place).unwrap().unwrap();
                let bytes = store.read(&place, 0..u64::MAX).unwrap();
                assert_eq!(stat.len, bytes.len() as u64, "{place}");
                found.insert(place, Some((bytes, stat.mode == 0o600)));
            }
        }
    }
    found
}

#[track_caller]
fn same(outcome: &Result<CommitReceipt, StoreError>, wanted: &Result<CommitReceipt, StoreError>) {
    match (outcome, wanted) {
        (Ok(receipt), Ok(wanted)) => {
            assert_eq!(receipt.appended, wanted.appended);
            let places = |receipt: &CommitReceipt| -> Vec<(FilePath, Option<u64>)> {
                receipt.findings.iter().map(|f| (f.file.clone(), f.offset)).collect()
            };
            assert_eq!(places(receipt), places(wanted));
        }
        (Err(error), Err(wanted)) if discriminant(error) == discriminant(wanted) => {}
        _ => panic!("{outcome:?} instead of {wanted:?}"),
    }
}

struct Run<'s> {
    server: &'s Cluster,
    random: Random,
    maker: Maker,
    model: MemoryStore,
    living: Vec<Process>,
}

impl Run<'_> {
    fn new(server: &Cluster, seed: u64) -> Run<'_> {
        let address = server.address(&new_root());
        let open = || PostgresStore::open(&address, &holder("one")).unwrap();
        let living = (0..PROCESSES).map(|_| Process { store: open(), writers: Vec::new() });
        let living = living.collect();
        let (random, maker) = (Random::new(seed), Maker::new());
        Run { server, random, maker, model: MemoryStore::new(), living }
    }

    fn step(&mut self) {
        let index = self.random.below(PROCESSES);
        match self.random.below(20) {
            0..=13 => self.commit(index),
            14..=16 => self.lock(index),
            17 => self.free(index),
            18 => self.terminate(),
            _ => assert_eq!(tree(&self.living[index].store), tree(&self.model)),
        }
    }

    fn commit(&mut self, index: usize) {
        let count = self.living[index].writers.len();
        if count == 0 {
            return self.lock(index);
        }
        let writer = self.random.below(count);
        let scopes = self.living[index].writers[writer].0.clone();
        let now = self.model.contents();
        let steps: Vec<Step> = self.maker.batch(&mut self.random, &scopes, &now);
        let how: Durability = durability(&mut self.random);
        let outcome = self.living[index].writers[writer].1.commit(steps.clone(), how);
        let wanted = self.model.lock(&scopes).unwrap().commit(steps, how);
        same(&outcome, &wanted);
    }

    fn lock(&mut self, index: usize) {
        let scopes = vec![path(self.random.pick::<&str>(SCOPES))];
        let held = self.living.iter().flat_map(|process| &process.writers);
        let is_free = !held.flat_map(|(held, _)| held).any(|held| *held == scopes[0]);
        match self.living[index].store.lock(&scopes) {
            Ok(writer) => {
                assert!(is_free, "{scopes:?} was given away twice");
                self.living[index].writers.push((scopes, writer));
            }
            Err(StoreError::Busy { .. }) if !is_free => {}
            Err(error) => panic!("{scopes:?}: {error:?}"),
        }
    }

    fn free(&mut self, index: usize) {
        if let Some((_, writer)) = self.living[index].writers.pop() {
            writer.release().unwrap();
        }
    }

    /// Ends the connections of all processes; the next operations find out.
    fn terminate(&self) {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'everturn'";
        self.server.client().batch_execute(kill).unwrap();
    }
}

#[test]
fn random_operations_do_what_the_model_does() {
    let seeds = std::env::var("EVERTURN_MODEL_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let server = Cluster::start("");
    for seed in 0..seeds {
        println!("seed {seed}");
        let mut run = Run::new(&server, seed);
        (0..OPERATIONS).for_each(|_| run.step());
        assert_eq!(tree(&run.living[0].store), tree(&run.model));
    }
    println!("model suite: {seeds} seeds, {} operations", seeds * OPERATIONS as u64);
}
