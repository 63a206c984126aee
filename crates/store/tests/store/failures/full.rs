//! T15: a full disk, and power cuts.

use std::sync::Arc;

use everturn_store::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn_store::{Durability, FileStore, Options, Step, StoreError, Writer};

use super::{ENOSPC, survivals, text};
use crate::support::{append, both, open, path, replace};

const TURNS: u64 = 6;

fn turn(number: u64) -> Vec<Step> {
    let padding = "x".repeat(700);
    vec![
        append("s/turns.jsonl", &format!("{{\"turn\":{number},\"text\":\"{padding}\"}}\n")),
        append("s/deltas.jsonl", &format!("{{\"turn\":{number}}}\n")),
        replace("s/state.json", &format!("{{\"turn\":{number}}}")),
    ]
}

/// Returns the number of turns on a disk: all from 1 to that number, each once, in all three files.
fn turns(disk: &SimDisk, place: &str) -> u64 {
    let count = text(disk, "s/turns.jsonl").lines().count() as u64;
    let lines: String = (1..=count)
        .map(|n| format!("{{\"turn\":{n},\"text\":\"{}\"}}\n", "x".repeat(700)))
        .collect();
    assert_eq!(text(disk, "s/turns.jsonl"), lines, "{place}");
    let deltas: String = (1..=count).map(|n| format!("{{\"turn\":{n}}}\n")).collect();
    assert_eq!(text(disk, "s/deltas.jsonl"), deltas, "{place}");
    let state = if count == 0 { String::new() } else { format!("{{\"turn\":{count}}}") };
    assert_eq!(text(disk, "s/state.json"), state, "{place}");
    count
}

/// Plays until all turns are stored; failed commits are retried, in a reopened store if necessary.
///
/// Returns how many turns were acknowledged before the first failure that stays.
fn play(disk: &SimDisk, lasting: bool, options: &Options) -> u64 {
    let mut acknowledged = 0;
    'open: for _ in 0..5 {
        let Ok(store) = FileStore::open(Arc::new(disk.process()), options.clone()) else {
            return acknowledged;
        };
        let writer = match store.lock_files(&[path("s")]) {
            Ok(writer) => writer,
            Err(_) if lasting => return acknowledged,
            Err(_) => continue,
        };
        acknowledged = text(disk, "s/turns.jsonl").lines().count() as u64;
        for _ in 0..2 * TURNS {
            if acknowledged == TURNS {
                break;
            }
            match writer.commit(turn(acknowledged + 1), Durability::Synced) {
                Ok(_) => acknowledged += 1,
                Err(_) if lasting => return acknowledged,
                Err(StoreError::Poisoned { .. }) => continue 'open,
                Err(_) => {}
            }
        }
        break;
    }
    acknowledged
}

#[test]
fn t15_a_full_disk_and_a_power_cut_lose_double_and_skip_no_turn() {
    both().iter().for_each(no_turn_is_lost_doubled_or_skipped);
}

fn no_turn_is_lost_doubled_or_skipped(options: &Options) {
    let (mut points, mut tries) = (0, 0);
    for (trouble, lasting) in [
        (FaultKind::Error(ENOSPC), false),
        (FaultKind::Error(ENOSPC), true),
        (FaultKind::Short, false),
        (FaultKind::Short, true),
    ] {
        for at in 0.. {
            let disk = SimDisk::new();
            disk.inject(Fault { at, kind: trouble, lasting });
            let acknowledged = play(&disk, lasting, options);
            let place = format!("{trouble:?} at change {at}, lasting {lasting}");
            if disk.changes() <= at {
                assert_eq!(acknowledged, TURNS);
                break;
            }
            assert!(lasting || acknowledged == TURNS, "{place}: {acknowledged}");
            for survival in survivals() {
                let after = disk.fork();
                after.power_cut(survival);
                drop(open(&after).unwrap());
                let place = format!("{place}, {survival:?}");
                let found = turns(&after, &place);
                assert!(found >= acknowledged, "{place}: {found} of {acknowledged} turns");
                assert_eq!(play(&after, false, options), TURNS, "{place}");
                turns(&after, &place);
                tries += 1;
            }
            points += 1;
        }
    }
    assert!(points > 100, "only {points}");
    println!("full disk: {points} places, {tries} power cuts");
}

#[test]
fn t15_a_state_file_that_a_power_cut_left_empty_is_healed() {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let writer = store.lock_files(&[path("s")]).unwrap();
    for number in 1..=2 {
        writer.commit(turn(number), Durability::Synced).unwrap();
    }
    disk.power_cut(Survival { data: DataSurvival::Lost, names: NameSurvival::Kept });
    let state = path("s/state.json");
    assert_eq!(disk.contents().get(&state).map(Vec::len), Some(0), "the name without the bytes");
    let store = open(&disk).unwrap();
    assert_eq!(turns(&disk, "healed"), 2);
    assert!(store.take_findings().is_empty());
}
