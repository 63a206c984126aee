//! Operations on sessions, each with what comes before it, to be cut short and to fail.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use everturn::disk::sim::SimDisk;
use everturn::disk::{DirListing, FileStat};
use everturn::game::{
    ArchiveOptions, BranchOptions, GameError, GameWriter, NewScene, PurgePlan, SceneEnd, Session,
    TurnInput, archive, complete, fork, list, pause, purge, restore, resume, rewind, trash,
    trashed, unarchive,
};
use everturn::names::FilePath;
use everturn::store::{
    CommitReceipt, Durability, MemoryStore, Step, Store, StoreError, Writer, staging_dir, trash_dir,
};

use super::support::{Files, at, game, id, path, played, program, put, turn};

use crate::common::capabilities::KnownCapabilities;

pub(crate) const NAME: &str = "session-abc123";

type Operation = fn(&Arc<dyn Store>, &Cell<u64>) -> Result<(), GameError>;

/// An operation on a session, and what comes before it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&Arc<dyn Store>),
    /// Counts turns that were acknowledged in the cell.
    pub(crate) operate: Operation,
    /// How many different states anybody may see, with those before and after.
    pub(crate) states: usize,
    /// Whether it is made of several that count by themselves.
    pub(crate) several: bool,
    /// The last turn that some session must have at every moment.
    pub(crate) turn: Option<u64>,
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

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.store.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.store.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        let (writer, store) = (self.store.lock(scopes)?, self.store.clone());
        Ok(Box::new(WatchedWriter { writer, store, seen: Arc::clone(&self.seen) }))
    }
}

impl Writer for WatchedWriter {
    fn commit(
        &self,
        steps: Vec<Step>,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let receipt = self.writer.commit(steps, durability)?;
        self.seen.lock().unwrap().push(self.store.contents());
        Ok(receipt)
    }

    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        self.writer.add_scopes(scopes)
    }

    fn release_added_scopes(&mut self) -> Result<(), StoreError> {
        self.writer.release_added_scopes()
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        self.writer.release()
    }
}

/// What the store holds before the operation, and after each of its commits.
pub(crate) fn model(case: &Case) -> Vec<Files> {
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
pub(crate) fn visible(files: &Files) -> Files {
    let hidden = staging_dir();
    let shown = files.iter().filter(|(file, _)| !file.is_within(&hidden));
    shown.map(|(file, content)| (file.clone(), content.clone())).collect()
}

/// All files on a disk but Everturn's own.
pub(crate) fn data(disk: &SimDisk) -> Files {
    let hidden = [trash_dir(), staging_dir()];
    let own = |file: &FilePath| {
        file.is_within(&path(".everturn")) && !hidden.iter().any(|place| file.is_within(place))
    };
    disk.contents().into_iter().filter(|(file, _)| !own(file)).collect()
}

/// Reads every session that is there, and fails if anything about one is wrong.
pub(crate) fn read_all(store: &Arc<dyn Store>) -> Result<(), GameError> {
    for (id, _) in list(store)? {
        let session = Session::open(Arc::clone(store), &id)?;
        assert_eq!(session.findings(), []);
        let last = session.resume()?;
        assert_eq!(last.findings, []);
        let same = session.state_at(session.turn())?;
        assert!(same.state.is_same(&last.state), "{id}");
        let mut last = 0;
        for turn in session.turns(0, u64::MAX - 1)? {
            last = turn?.turn;
        }
        // Only where that is the case, the line of the last turn is lost.
        assert!((last..=last + 1).contains(&session.turn()), "{id}");
    }
    Ok(())
}

/// The last turn of the session, or nothing if it is not where it can be read.
pub(crate) fn last_turn(store: &Arc<dyn Store>) -> Option<u64> {
    Session::open(Arc::clone(store), &id(NAME)).ok().map(|session| session.turn())
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

fn mark(store: &Arc<dyn Store>) -> Result<(), GameError> {
    let layout = everturn::format::find("game").unwrap();
    let path = path(&format!("sessions/active/{NAME}"));
    let place = everturn::model::SessionRef { id: NAME.to_owned(), path };
    let new = everturn::model::NewMark::bookmark("here");
    match layout.editable().add_mark(store, &place, &new, at(9)) {
        Ok(_) => Ok(()),
        Err(everturn::format::SessionError::Store(error)) => Err(error.into()),
        Err(error) => panic!("{error}"),
    }
}

fn completed(store: &Arc<dyn Store>) {
    played(store, NAME, 8);
    complete(store, &id(NAME), at(10)).unwrap();
}

/// The line of the last turn is gone; whoever opens the session puts another in its place.
fn lost_turn() -> Case {
    Case {
        name: "a line for a turn that is lost",
        prepare: |store| {
            played(store, NAME, 8);
            let file = format!("sessions/active/{NAME}/turns/turns-0001-current.jsonl");
            let text = store.read(&path(&file), 0..u64::MAX).unwrap();
            let end = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
            put(store, &file, &text[..=end]);
        },
        operate: |store, _| open(store)?.release(),
        states: 2,
        several: false,
        turn: None,
    }
}

/// Turns, snapshots, scenes, and turns that are taken back.
pub(crate) fn turns() -> Vec<Case> {
    let mut cases = vec![
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
            several: true,
            turn: None,
        },
        lost_turn(),
        Case {
            name: "last turn",
            prepare: |store| drop(played(store, NAME, 8)),
            operate: |store, acknowledged| {
                let mut game = open(store)?;
                game.append_last(&turn(9), at(9))?;
                acknowledged.set(1);
                game.close(at(9))
            },
            // The turn, with the states, the metadata and the indexes.
            states: 2,
            several: false,
            turn: None,
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
            several: false,
            turn: None,
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
            // The turn that also ends the scene which is taken back, a snapshot because of that, and what closing
            // writes.
            states: 4,
            several: true,
            turn: None,
        },
    ];
    cases.extend(scenes());
    cases
}

/// Scenes that begin and end.
fn scenes() -> Vec<Case> {
    vec![
        Case {
            name: "scene start",
            prepare: scene,
            operate: |store, _| {
                let mut game = open(store)?;
                game.start_scene(&NewScene::new("travel"), at(9))?;
                game.release()
            },
            // The scene before ends, which is a turn and a snapshot; then a turn with the states.
            states: 4,
            several: true,
            turn: None,
        },
        Case {
            name: "a turn that begins a scene",
            prepare: scene,
            operate: |store, acknowledged| {
                let mut game = open(store)?;
                let next = r#"{"actor": "gm", "events": [{"type": "scene_start"}]}"#;
                game.append(&TurnInput::parse(next)?, at(9))?;
                acknowledged.set(1);
                game.release()
            },
            // The turn with the end of the scene before and the states, and a snapshot.
            states: 3,
            several: true,
            turn: None,
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
            several: true,
            turn: None,
        },
    ]
}

/// From the first turn to the last.
pub(crate) fn life() -> Vec<Case> {
    vec![
        Case {
            name: "create",
            prepare: |_| {},
            operate: |store, _| {
                GameWriter::create(Arc::clone(store), &super::support::new_session(NAME), at(0))?
                    .release()
            },
            states: 2,
            several: false,
            turn: None,
        },
        Case {
            name: "pause",
            prepare: |store| drop(played(store, NAME, 8)),
            operate: |store, _| pause(store, &id(NAME), at(9)),
            states: 2,
            several: false,
            turn: None,
        },
        Case {
            name: "pause of the program's",
            prepare: |store| drop(program(store, NAME, 8)),
            operate: |store, _| pause(store, &id(NAME), at(9)),
            states: 2,
            several: false,
            turn: None,
        },
        Case {
            name: "resume",
            prepare: |store| {
                played(store, NAME, 8);
                pause(store, &id(NAME), at(9)).unwrap();
            },
            operate: |store, _| resume(store, &id(NAME), at(10)),
            states: 2,
            several: false,
            turn: None,
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
            several: true,
            turn: None,
        },
    ]
}

/// Into the trash, out of it, and away.
pub(crate) fn trashes() -> Vec<Case> {
    vec![
        Case {
            name: "mark",
            prepare: |store| drop(played(store, NAME, 8)),
            operate: |store, _| mark(store),
            states: 2,
            several: false,
            turn: None,
        },
        Case {
            name: "trash",
            prepare: |store| drop(played(store, NAME, 8)),
            operate: |store, _| trash(store, &id(NAME), at(9)).map(drop),
            states: 2,
            several: false,
            turn: None,
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
            several: false,
            turn: None,
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
            several: false,
            turn: None,
        },
    ]
}

/// Into one file, and back.
pub(crate) fn archives() -> Vec<Case> {
    fn how() -> ArchiveOptions {
        ArchiveOptions { batch: 2000, ..ArchiveOptions::default() }
    }
    vec![
        Case {
            name: "archive",
            prepare: completed,
            operate: |store, _| archive(store, &id(NAME), &how(), at(20), &mut |_| {}).map(drop),
            states: 2,
            several: false,
            turn: None,
        },
        Case {
            name: "unarchive",
            prepare: |store| {
                completed(store);
                archive(store, &id(NAME), &how(), at(20), &mut |_| {}).unwrap();
            },
            operate: |store, _| unarchive(store, &id(NAME), &how(), at(30), &mut |_| {}).map(drop),
            states: 2,
            several: false,
            turn: None,
        },
    ]
}

/// New sessions, and the way back.
pub(crate) fn branches() -> Vec<Case> {
    fn small(how: BranchOptions) -> BranchOptions {
        BranchOptions { batch: 20_000, ..how }
    }
    fn back(store: &Arc<dyn Store>, turn: u64) -> Result<(), GameError> {
        let how = small(BranchOptions::rewind_to(turn));
        rewind(store, &id(NAME), &how, at(999), &mut |_| {}).map(drop)
    }
    vec![
        Case {
            name: "fork",
            prepare: |store| drop(played(store, NAME, 104)),
            operate: |store, _| {
                let how = small(BranchOptions::new(id("fork"), 97));
                fork(store, &id(NAME), &how, at(999), &mut |_| {}).map(drop)
            },
            states: 2,
            several: false,
            turn: Some(104),
        },
        Case {
            name: "rewind",
            prepare: |store| drop(played(store, NAME, 104)),
            operate: |store, _| back(store, 97),
            // One commit gives the branch its name and cuts the session.
            states: 2,
            several: false,
            turn: Some(104),
        },
        Case {
            name: "rewind of a scene",
            prepare: scene,
            operate: |store, _| back(store, 1),
            states: 2,
            several: false,
            turn: Some(3),
        },
        Case {
            name: "rewind of the program's",
            prepare: |store| drop(program(store, NAME, 12)),
            operate: |store, _| back(store, 7),
            states: 2,
            several: false,
            turn: Some(12),
        },
    ]
}
