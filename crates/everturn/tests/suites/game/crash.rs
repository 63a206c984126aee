//! Crash everywhere: each operation on a session is cut at every change it makes to the disk, and whatever a
//! crash can leave is opened again. The session is as before, or as after, and every turn that was
//! acknowledged is there.

use std::cell::Cell;
use std::sync::Arc;

use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::game::{GameError, Session, list};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};

use super::cases::{self, Case, data, last_turn, model, read_all, visible};
use super::support::{Files, on_disk, path};

fn ends(point: u64) -> Vec<Survival> {
    let data = [
        DataSurvival::Lost,
        DataSurvival::Kept,
        DataSurvival::Prefix,
        DataSurvival::Hole,
        DataSurvival::Last,
        DataSurvival::Mixed(point),
        DataSurvival::Mixed(!point),
    ];
    let names = [NameSurvival::Lost, NameSurvival::Kept, NameSurvival::Prefix];
    let all = data.iter().flat_map(|data| names.map(|names| Survival { data: *data, names }));
    all.collect()
}

/// A store that holds these files.
fn store_of(files: &Files) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    let writer = store.lock(&[path("sessions")]).unwrap();
    let inside = files.iter().filter(|(file, _)| file.is_within(&path("sessions")));
    let put = |(file, bytes): (&FilePath, &Vec<u8>)| Step::Replace {
        file: file.clone(),
        expect: Precondition::Absent,
        bytes: bytes.clone(),
        mode: FileMode::Default,
    };
    writer.commit(inside.map(put).collect(), Durability::Synced).unwrap();
    writer.release().unwrap();
    Arc::new(store)
}

struct Crashed<'a> {
    case: &'a Case,
    states: &'a [Files],
    /// Whether the operation has returned.
    done: bool,
    /// The least turn that must be there.
    turn: Option<u64>,
}

impl Crashed<'_> {
    /// Opens what a crash left, compares it with what is allowed, and goes on if `further`.
    fn verify(&self, disk: &SimDisk, further: bool) -> Result<(), String> {
        let store = on_disk(disk).map_err(|error| format!("open: {error}"))?;
        let found = data(disk);
        let place = self.states.iter().rposition(|state| *state == found);
        let Some(place) = place else {
            let names: Vec<String> = found.keys().map(ToString::to_string).collect();
            return Err(format!("found a state that never was: {names:#?}"));
        };
        if self.done && place + 1 != self.states.len() {
            return Err(format!("acknowledged, but found state {place}"));
        }
        let store: Arc<dyn Store> = Arc::new(store);
        if self.turn.is_some() && last_turn(&store) < self.turn {
            return Err(format!("turn {:?} was acknowledged", self.turn));
        }
        if !further {
            return Ok(());
        }
        read_all(&store).map_err(|error| format!("read: {error}"))?;
        if visible(&found) == visible(&self.states[0]) {
            // Nothing has happened, so it can be done now, whatever the attempt left in the staging place.
            (self.case.operate)(&store, &Cell::new(0))
                .map_err(|error| format!("again: {error}"))?;
            let last = self.states.last().map(visible);
            if Some(visible(&data(disk))) != last {
                return Err("done again, it became something else".to_owned());
            }
        }
        Ok(())
    }
}

/// Cuts one operation everywhere; says at how many places, and how many crashes that were.
fn crash(case: &Case) -> (u64, u64) {
    let states = model(case);
    let mut seen: Vec<Files> = states.iter().map(visible).collect();
    seen.dedup();
    assert_eq!(seen.len(), case.states, "{}: what anybody may see", case.name);
    for (number, state) in seen.iter().enumerate() {
        let store = store_of(state);
        read_all(&store).unwrap();
        let turns = list(&store)
            .unwrap()
            .into_iter()
            .map(|(id, _)| Session::open(Arc::clone(&store), &id).unwrap().turn());
        let most = turns.max();
        assert!(most >= case.turn, "{}: state {number} has lost turns", case.name);
    }
    let base = SimDisk::new();
    let store = on_disk(&base).unwrap();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    (case.prepare)(&shared);
    let before = last_turn(&shared);
    drop(shared);
    store.close().unwrap();
    assert!(data(&base) == states[0], "{}: both stores begin alike", case.name);
    let (mut points, mut tries) = (0, 0);
    loop {
        let disk = base.fork();
        let at = disk.changes() + points;
        disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
        let acknowledged = Cell::new(0);
        let outcome = on_disk(&disk).map_err(GameError::from).and_then(|store| {
            let store: Arc<dyn Store> = Arc::new(store);
            (case.operate)(&store, &acknowledged)
        });
        if !disk.crashed() {
            outcome.unwrap();
            assert!(
                data(&disk) == states[states.len() - 1],
                "{}: both stores end alike",
                case.name
            );
            return (points, tries);
        }
        let turn = before.filter(|_| acknowledged.get() > 0).map(|turn| turn + acknowledged.get());
        let crashed = Crashed { case, states: &states, done: outcome.is_ok(), turn };
        for (number, survival) in ends(points).into_iter().enumerate() {
            let after = disk.fork();
            after.power_cut(survival);
            let further = number as u64 == points % 21;
            if let Err(problem) = crashed.verify(&after, further) {
                panic!("{}: crash at change {points}, {survival:?}: {problem}", case.name);
            }
            tries += 1;
        }
        points += 1;
    }
}

/// Runs some cases, and prints how much was tried.
fn run(cases: &[Case], least: u64) {
    let (mut points, mut tries) = (0, 0);
    for case in cases {
        let (cut, crashes) = crash(case);
        println!("crash suite: {}: {cut} crash points, {crashes} crashes survived", case.name);
        points += cut;
        tries += crashes;
    }
    println!("crash suite: {points} crash points, {tries} crashes survived in all");
    assert!(points >= least, "only {points} places to crash at");
}

#[test]
fn turns_survive_every_crash() {
    run(&cases::turns(), 300);
}

#[test]
fn the_life_of_a_session_survives_every_crash() {
    run(&cases::life(), 200);
}

#[test]
fn the_trash_survives_every_crash() {
    run(&cases::trashes(), 100);
}

#[test]
fn archives_survive_every_crash() {
    run(&cases::archives(), 150);
}

#[test]
fn branches_survive_every_crash() {
    run(&cases::branches(), 400);
}
