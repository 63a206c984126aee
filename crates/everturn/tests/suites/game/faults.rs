//! Errors of the disk at every change and every read: an operation that fails has changed nothing.

use std::cell::Cell;
use std::sync::Arc;

use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::game::{GameError, GameWriter};
use everturn::store::{Store, StoreError};

use super::cases::{self, Case, NAME, data, last_turn, model, read_all, visible};
use super::support::{Files, at, checked, game, id, on_disk, turn};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Whether the outcome is open until the store is opened again.
fn is_open(error: &GameError) -> bool {
    matches!(error, GameError::Store(StoreError::Poisoned { .. }))
}

/// Lets one operation fail in one way, at each place; says at how many.
fn fail(case: &Case, states: &[Files], base: &SimDisk, trouble: FaultKind, lasting: bool) -> u64 {
    let reads = matches!(trouble, FaultKind::ReadError(_));
    let seen: Vec<Files> = states.iter().map(visible).collect();
    for point in 0.. {
        let disk = base.fork();
        let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
        let before = last_turn(&store);
        let start = if reads { disk.reads() } else { disk.changes() };
        disk.inject(Fault { at: start + point, kind: trouble, lasting });
        let acknowledged = Cell::new(0);
        let outcome = (case.operate)(&store, &acknowledged);
        let asked = if reads { disk.reads() } else { disk.changes() };
        disk.clear_faults();
        drop(store);
        disk.power_cut(Survival { data: DataSurvival::Kept, names: NameSurvival::Kept });
        drop(on_disk(&disk).unwrap());
        let found = visible(&data(&disk));
        let what = format!("{}: {trouble:?} at {point}: {outcome:?}", case.name);
        let acknowledged = acknowledged.get();
        if case.several {
            // What follows from a turn may be overdue, so that files are not what they would be otherwise.
            let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
            read_all(&store).unwrap();
            let least = before.map(|turn| turn + acknowledged);
            assert!(last_turn(&store) >= least, "{what}");
        } else if outcome.is_ok() {
            assert!(seen.last() == Some(&found), "{what}");
        } else if outcome.is_err_and(|error| lasting || is_open(&error)) {
            assert!(seen.contains(&found), "{what}");
        } else {
            // When all is done, giving the session back may still fail.
            assert!(seen.first() == Some(&found) || seen.last() == Some(&found), "{what}");
            assert!(data(&disk) == found, "{what}: something is left in the staging place");
        }
        if asked <= start + point {
            return point;
        }
    }
    0
}

fn run(cases: &[Case]) {
    let mut tried = 0;
    for case in cases {
        let states = model(case);
        let base = SimDisk::new();
        let store: Arc<dyn Store> = Arc::new(on_disk(&base).unwrap());
        (case.prepare)(&store);
        drop(store);
        for (trouble, lasting) in [
            (FaultKind::Error(EIO), false),
            (FaultKind::Error(ENOSPC), true),
            (FaultKind::Short, false),
            (FaultKind::FlushLost, false),
            (FaultKind::ReadError(EIO), false),
        ] {
            tried += fail(case, &states, &base, trouble, lasting);
        }
    }
    println!("fault suite: {tried} failures of the disk");
    assert!(tried > 200, "only {tried}");
}

#[test]
fn a_snapshot_that_a_crash_has_prevented_is_taken_by_the_next_writer() {
    let base = SimDisk::new();
    let store: Arc<dyn Store> = Arc::new(on_disk(&base).unwrap());
    let mut writer = game(&store, NAME);
    for number in 1..100 {
        writer.append(&turn(number), at(1)).unwrap();
    }
    writer.release().unwrap();
    drop(store);
    let mut late = 0;
    for point in 0.. {
        let disk = base.fork();
        let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
        let fault = Fault { at: disk.changes() + point, kind: FaultKind::Crash, lasting: false };
        disk.inject(fault);
        let stored = GameWriter::open(Arc::clone(&store), &id(NAME))
            .and_then(|mut writer| writer.append(&turn(100), at(2)));
        let crashed = disk.crashed();
        drop((store, stored));
        disk.power_cut(Survival { data: DataSurvival::Kept, names: NameSurvival::Kept });
        let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
        let mut writer = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        late += u32::from(writer.turn() == 100);
        for number in writer.turn() + 1..103 {
            writer.append(&turn(number), at(3)).unwrap();
        }
        writer.close(at(4)).unwrap();
        assert_eq!(checked(&store, NAME), [], "crash at change {point}");
        if !crashed {
            break;
        }
    }
    assert!(late > 2, "no crash was between the turn and its snapshot");
}

#[test]
fn turns_that_fail_change_nothing() {
    run(&cases::turns());
}

#[test]
fn moves_that_fail_change_nothing() {
    run(&cases::life());
}

#[test]
fn throwing_away_that_fails_changes_nothing() {
    run(&cases::trashes());
}

#[test]
fn archives_that_fail_change_nothing() {
    run(&cases::archives());
}

#[test]
fn branches_that_fail_change_nothing() {
    run(&cases::branches());
}
