//! Chains of crashes: a process dies, its recovery is interrupted by another kill or a power cut, that recovery too,
//! and so on in any order.
//!
//! A killed process leaves its writes in the page cache. A later power cut can still discard them, including those that
//! a recovery in between has acted on.

use everturn_store::FileStore;
use everturn_store::disk::Flush;
use everturn_store::disk::sim::{Fault, FaultKind, SimDisk};

use crate::crash::{End, crash_at, crash_on_capable, end, ends, verify};
use crate::support::{both, open, small_log};
use crate::workload::Promise;

/// The number of chains from each crash point, and the maximum number of crashes in each.
const CHAINS: u64 = 12;
const MOST_LINKS: u64 = 4;

fn spread(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Runs one chain by its seed: returns the number of steps, or what is wrong in the end.
fn chain(disk: &SimDisk, promise: &Promise, seed: u64) -> Result<usize, String> {
    let mut done = Vec::new();
    let mut worst = End::Kill;
    for link in 0..=seed % MOST_LINKS {
        let dice = spread(seed.wrapping_add(link << 40));
        let all = ends(dice);
        // Every second crash is a kill without a power cut.
        let how = if dice.is_multiple_of(2) {
            End::Kill
        } else {
            all[usize::try_from(dice % 22).unwrap()]
        };
        end(disk, how);
        done.push(format!("{how:?}"));
        if matches!(how, End::PowerCut(_)) {
            worst = how;
        }
        let at = disk.changes() + (dice >> 8) % 40;
        disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
        drop(open(disk));
        done.push(format!("recovery up to change {at}"));
        if !disk.crashed() {
            disk.clear_faults();
        }
    }
    end(disk, worst);
    verify(disk, promise, worst).map_err(|problem| format!("{done:#?}\n{problem}"))?;
    Ok(done.len())
}

fn every_chain_is_survived(
    crash: impl Fn(u64) -> Option<(SimDisk, Promise)>,
    ignored: Option<Flush>,
) -> Result<u64, String> {
    let (mut point, mut tries) = (0, 0);
    while let Some((disk, promise)) = crash(point) {
        for index in 0..CHAINS {
            let after = disk.fork();
            if let Some(why) = ignored {
                after.ignore_flush(why);
            }
            let seed = spread(point * CHAINS + index);
            chain(&after, &promise, seed)
                .map_err(|problem| format!("crash at change {point}, seed {seed}: {problem}"))?;
            tries += 1;
        }
        point += 1;
    }
    Ok(tries)
}

#[test]
fn every_chain_of_crashes_leaves_what_was_promised() {
    for options in both() {
        let capable = every_chain_is_survived(|point| crash_on_capable(point, &options), None);
        match every_chain_is_survived(|point| crash_at(point, None, &options), None).and(capable) {
            Ok(tries) => println!("crash suite: {tries} chains of crashes survived"),
            Err(problem) => panic!("{problem}"),
        }
    }
}

/// Returns whether some chain loses data if these flushes do nothing.
pub(crate) fn notices(why: Flush) -> bool {
    cuts_of_a_recovery(Some(why)).is_err()
        || every_chain_is_survived(|point| crash_at(point, None, &small_log()), Some(why)).is_err()
}

#[test]
fn a_record_that_was_never_flushed_is_not_half_applied() {
    let states = cuts_of_a_recovery(None).unwrap();
    assert!(states > 40, "only {states} cuts");
}

/// A kill right before the log is flushed, and a power cut at every change of the recovery.
fn cuts_of_a_recovery(ignored: Option<Flush>) -> Result<usize, String> {
    use crate::support::{append, data, path, readable, replace};
    use everturn_store::disk::sim::{DataSurvival, NameSurvival, Survival};
    use everturn_store::{Durability, Writer};
    let disk = SimDisk::new();
    let store = FileStore::open(std::sync::Arc::new(disk.process()), small_log()).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    let batch = |n: u32| {
        let line = format!("{{\"n\":{n}}}\n");
        let files = ["s/a", "s/b", "s/c", "s/d"];
        let mut steps: Vec<_> = files.iter().map(|file| append(file, &line)).collect();
        steps.push(replace("s/state", &line));
        steps
    };
    writer.commit(batch(1), Durability::Synced).unwrap();
    store.checkpoint().unwrap();
    let before = readable(&data(&disk));
    writer.commit(batch(2), Durability::Buffered).unwrap();
    disk.kill_all();
    ignored.into_iter().for_each(|why| disk.ignore_flush(why));
    let start = disk.changes();
    let mut states = 0;
    for at in start.. {
        let cut = disk.fork();
        cut.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
        drop(open(&cut));
        let over = !cut.crashed();
        for data_left in
            [DataSurvival::Lost, DataSurvival::Prefix, DataSurvival::Mixed(at), DataSurvival::Kept]
        {
            let cut = cut.fork();
            cut.power_cut(Survival { data: data_left, names: NameSurvival::Lost });
            drop(open(&cut).unwrap());
            let found = readable(&data(&cut));
            let whole = |n: usize| found.iter().all(|file| file.contains(&format!("{n}")));
            if found != before && !whole(2) {
                return Err(format!("cut at {at}, {data_left:?}: {found:#?}"));
            }
            states += 1;
        }
        if over {
            break;
        }
    }
    Ok(states)
}
