//! Crash everywhere: each operation on a session is cut at every change it makes to the disk, and whatever a
//! crash can leave is opened again. The session is as before, or as after, and every turn that was
//! acknowledged is there.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use everturn::disk::sim::{Data, Fault, Names, SimDisk, Survival, Trouble};
use everturn::disk::{Listing, Stat};
use everturn::game::{
    Archiving, Branching, GameError, GameWriter, NewScene, PurgePlan, SceneEnd, Session, archive,
    complete, fork, list, pause, purge, restore, resume, rewind, trash, trashed, unarchive,
};
use everturn::names::FilePath;
use everturn::store::{
    Durability, MemoryStore, Receipt, Step, Store, StoreError, Writer, staging_dir, trash_dir,
};

use super::support::{Files, at, game, id, on_disk, path, played, program, turn};

const NAME: &str = "session-abc123";

/// An operation on a session, and what comes before it.
struct Case {
    name: &'static str,
    prepare: fn(&Arc<dyn Store>),
    /// Counts turns that were acknowledged in the cell.
    operate: fn(&Arc<dyn Store>, &Cell<u64>) -> Result<(), GameError>,
    /// How many different states anybody may see, with those before and after.
    states: usize,
    /// Every how many changes it is cut.
    every: u64,
}

/// A store that takes note of what it holds after each commit.
struct Watched {
    store: MemoryStore,
    seen: Arc<Mutex<Vec<Files>>>,
}

struct WatchedWriter {
    writer: Box<dyn Writer>,
    store: MemoryStore,
    seen: Arc<Mutex<Vec<Files>>>,
}

impl Store for Watched {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.store.read(file, range)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<Stat>, StoreError> {
        self.store.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<Listing, StoreError> {
        self.store.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        let (writer, store) = (self.store.lock(scopes)?, self.store.clone());
        Ok(Box::new(WatchedWriter { writer, store, seen: Arc::clone(&self.seen) }))
    }
}

impl Writer for WatchedWriter {
    fn commit(&self, steps: Vec<Step>, durability: Durability) -> Result<Receipt, StoreError> {
        let receipt = self.writer.commit(steps, durability)?;
        self.seen.lock().unwrap().push(self.store.contents());
        Ok(receipt)
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        self.writer.release()
    }
}

/// What the store holds before the operation, and after each of its commits.
fn model(case: &Case) -> Vec<Files> {
    let (store, seen) = (MemoryStore::new(), Arc::default());
    let plain: Arc<dyn Store> = Arc::new(store.clone());
    (case.prepare)(&plain);
    let mut states = vec![store.contents()];
    let watched: Arc<dyn Store> = Arc::new(Watched { store, seen: Arc::clone(&seen) });
    (case.operate)(&watched, &Cell::new(0)).unwrap();
    states.append(&mut seen.lock().unwrap());
    states
}

/// What people see: everything but the staging place.
fn visible(files: &Files) -> Files {
    let hidden = staging_dir();
    let shown = files.iter().filter(|(file, _)| !file.is_within(&hidden));
    shown.map(|(file, content)| (file.clone(), content.clone())).collect()
}

/// All files on a disk but Everturn's own.
fn data(disk: &SimDisk) -> Files {
    let hidden = [trash_dir(), staging_dir()];
    let own = |file: &FilePath| {
        file.is_within(&path(".everturn")) && !hidden.iter().any(|place| file.is_within(place))
    };
    disk.contents().into_iter().filter(|(file, _)| !own(file)).collect()
}

fn ends(point: u64) -> Vec<Survival> {
    let data = [Data::Lost, Data::Kept, Data::Prefix, Data::Hole, Data::Mixed(point)];
    let names = [Names::Lost, Names::Kept, Names::Prefix];
    let all = data.iter().flat_map(|data| names.map(|names| Survival { data: *data, names }));
    all.collect()
}

/// Reads every session that is there, and fails if anything about one is wrong.
fn read_all(store: &Arc<dyn Store>) -> Result<(), GameError> {
    for (id, _) in list(store)? {
        let session = Session::open(Arc::clone(store), &id)?;
        assert_eq!(session.findings(), []);
        let last = session.resume()?;
        assert_eq!(last.findings, []);
        let same = session.state_at(session.turn())?;
        assert!(same.state.is_same(&last.state), "{id}");
        assert_eq!(session.last_turn_of_log()?, session.turn(), "{id}");
    }
    Ok(())
}

trait LastTurn {
    fn last_turn_of_log(&self) -> Result<u64, GameError>;
}

impl LastTurn for Session {
    fn last_turn_of_log(&self) -> Result<u64, GameError> {
        let mut last = 0;
        for turn in self.turns(0, u64::MAX - 1)? {
            last = turn?.turn;
        }
        Ok(last)
    }
}

/// The last turn of the session, or nothing if it is not where it can be read.
fn last_turn(store: &Arc<dyn Store>) -> Option<u64> {
    Session::open(Arc::clone(store), &id(NAME)).ok().map(|session| session.turn())
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
        let point = points * case.every;
        let at = disk.changes() + point;
        disk.inject(Fault { at, trouble: Trouble::Crash, lasting: false });
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
        for (number, survival) in ends(point).into_iter().enumerate() {
            let after = disk.fork();
            after.power_cut(survival);
            let further = number as u64 == points % 15;
            if let Err(problem) = crashed.verify(&after, further) {
                panic!("{}: crash at change {point}, {survival:?}: {problem}", case.name);
            }
            tries += 1;
        }
        points += 1;
    }
}

fn open(store: &Arc<dyn Store>) -> Result<GameWriter, GameError> {
    GameWriter::open(Arc::clone(store), &id(NAME))
}

fn scene(store: &Arc<dyn Store>) {
    let mut game = game(store, NAME);
    game.append(&turn(1), at(1)).unwrap();
    game.start_scene(&NewScene::new("social"), at(2)).unwrap();
    game.append(&turn(3), at(3)).unwrap();
    game.release().unwrap();
}

fn completed(store: &Arc<dyn Store>) {
    played(store, NAME, 8);
    complete(store, &id(NAME), at(10)).unwrap();
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
    run(
        &[
            Case {
                name: "append with rotation",
                prepare: |store| drop(played(store, NAME, 98)),
                operate: |store, acknowledged| {
                    let mut game = open(store)?;
                    for number in 99..=101 {
                        game.append(&turn(number), at(number as i64))?;
                        acknowledged.set(acknowledged.get() + 1);
                    }
                    game.release()
                },
                states: 5,
                every: 1,
            },
            Case {
                name: "snapshot",
                prepare: |store| drop(played(store, NAME, 8)),
                operate: |store, _| {
                    let mut game = open(store)?;
                    game.snapshot(at(9))?;
                    game.release()
                },
                states: 2,
                every: 1,
            },
            Case {
                name: "scene start",
                prepare: scene,
                operate: |store, _| {
                    let mut game = open(store)?;
                    game.start_scene(&NewScene::new("travel"), at(9))?;
                    game.release()
                },
                // The scene before ends, which is a turn and a snapshot; then a turn and the states.
                states: 5,
                every: 1,
            },
            Case {
                name: "scene end",
                prepare: scene,
                operate: |store, _| {
                    let mut game = open(store)?;
                    game.end_scene(&SceneEnd::default(), at(9))?;
                    game.release()
                },
                states: 3,
                every: 1,
            },
            Case {
                name: "undo",
                prepare: scene,
                operate: |store, acknowledged| {
                    let mut game = open(store)?;
                    game.undo(2, at(9))?;
                    acknowledged.set(1);
                    game.close(at(9))
                },
                states: 3,
                every: 1,
            },
        ],
        100,
    );
}

#[test]
fn the_life_of_a_session_survives_every_crash() {
    run(
        &[
            Case {
                name: "create",
                prepare: |_| {},
                operate: |store, _| {
                    GameWriter::create(
                        Arc::clone(store),
                        &super::support::new_session(NAME),
                        at(0),
                    )?
                    .release()
                },
                states: 2,
                every: 1,
            },
            Case {
                name: "pause",
                prepare: |store| drop(played(store, NAME, 8)),
                operate: |store, _| pause(store, &id(NAME), at(9)),
                states: 2,
                every: 1,
            },
            Case {
                name: "pause of the program's",
                prepare: |store| drop(program(store, NAME, 8)),
                operate: |store, _| pause(store, &id(NAME), at(9)),
                states: 2,
                every: 1,
            },
            Case {
                name: "resume",
                prepare: |store| {
                    played(store, NAME, 8);
                    pause(store, &id(NAME), at(9)).unwrap();
                },
                operate: |store, _| resume(store, &id(NAME), at(10)),
                states: 2,
                every: 1,
            },
            Case {
                name: "complete",
                prepare: |store| {
                    let mut game = game(store, NAME);
                    for number in 1..=12 {
                        game.append(&turn(number), at(number as i64)).unwrap();
                        game.snapshot(at(number as i64)).unwrap();
                    }
                    game.release().unwrap();
                },
                operate: |store, _| complete(store, &id(NAME), at(20)).map(drop),
                // Snapshots are put away when the session is over.
                states: 3,
                every: 1,
            },
            Case {
                name: "trash",
                prepare: |store| drop(played(store, NAME, 8)),
                operate: |store, _| trash(store, &id(NAME), at(9)).map(drop),
                states: 2,
                every: 1,
            },
            Case {
                name: "restore",
                prepare: |store| {
                    played(store, NAME, 8);
                    trash(store, &id(NAME), at(9)).unwrap();
                },
                operate: |store, _| {
                    let found = trashed(store)?;
                    restore(store, &found[0].name).map(drop)
                },
                states: 2,
                every: 1,
            },
            Case {
                name: "purge",
                prepare: |store| {
                    played(store, NAME, 8);
                    trash(store, &id(NAME), at(9)).unwrap();
                },
                operate: |store, _| {
                    let names: Vec<_> = trashed(store)?.into_iter().map(|gone| gone.name).collect();
                    purge(store, &PurgePlan::new(store, &names)?)
                },
                states: 2,
                every: 1,
            },
        ],
        100,
    );
}

#[test]
fn archives_survive_every_crash() {
    fn how() -> Archiving {
        Archiving { batch: 2000, ..Archiving::default() }
    }
    run(
        &[
            Case {
                name: "archive",
                prepare: completed,
                operate: |store, _| {
                    archive(store, &id(NAME), &how(), at(20), &mut |_| {}).map(drop)
                },
                states: 2,
                every: 1,
            },
            Case {
                name: "unarchive",
                prepare: |store| {
                    completed(store);
                    archive(store, &id(NAME), &how(), at(20), &mut |_| {}).unwrap();
                },
                operate: |store, _| {
                    unarchive(store, &id(NAME), &how(), at(30), &mut |_| {}).map(drop)
                },
                states: 2,
                every: 1,
            },
        ],
        50,
    );
}

#[test]
fn branches_survive_every_crash() {
    fn small(how: Branching) -> Branching {
        Branching { batch: 20_000, ..how }
    }
    fn back(store: &Arc<dyn Store>, turn: u64) -> Result<(), GameError> {
        let how = small(Branching::back_to(turn));
        rewind(store, &id(NAME), &how, at(999), &mut |_| {}).map(drop)
    }
    run(
        &[
            Case {
                name: "fork",
                prepare: |store| drop(played(store, NAME, 104)),
                operate: |store, _| {
                    let how = small(Branching::new(id("fork"), 97));
                    fork(store, &id(NAME), &how, at(999), &mut |_| {}).map(drop)
                },
                states: 2,
                every: 1,
            },
            Case {
                name: "rewind",
                prepare: |store| drop(played(store, NAME, 104)),
                operate: |store, _| back(store, 97),
                // The branch is there before the session is cut.
                states: 3,
                every: 1,
            },
            Case {
                name: "rewind of a scene",
                prepare: scene,
                operate: |store, _| back(store, 1),
                states: 3,
                every: 1,
            },
            Case {
                name: "rewind of the program's",
                prepare: |store| drop(program(store, NAME, 12)),
                operate: |store, _| back(store, 7),
                states: 3,
                every: 1,
            },
        ],
        100,
    );
}
