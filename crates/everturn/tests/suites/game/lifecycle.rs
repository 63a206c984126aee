//! Pauses, resumptions, ends, and who may do what when.

use std::sync::Arc;

use everturn::game::{
    ArchiveOptions, BranchOptions, GameError, GameStatus, GameWriter, Session, archive, complete,
    fork, pause, plan_complete, restore, resume, retain, rewind, trash, unarchive,
};
use everturn::store::{Store, StoreError};
use serde_json::json;

use super::metadata::{assert_indexes_true, assert_true};
use super::support::{
    assert_states, at, checked, document, files, game, id, memory, names, now, path, played,
    program, put, stores, turn,
};

const NAME: &str = "session-abc123";

fn status(store: &Arc<dyn Store>) -> GameStatus {
    Session::open(Arc::clone(store), &id(NAME)).unwrap().status()
}

#[test]
fn a_session_rests_and_goes_on_where_it_was() {
    for store in stores() {
        let states = played(&store, NAME, 30);
        pause(&store, &id(NAME), at(31)).unwrap();
        assert_eq!(status(&store), GameStatus::Paused);
        assert_true(&store, NAME);
        assert_states(&store, NAME, &states);
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert_eq!(
            session.metadata().unwrap().string_at(&["lastModified"]).unwrap(),
            at(31).to_string()
        );
        let reasons: Vec<String> = session
            .snapshots()
            .unwrap()
            .iter()
            .map(|entry| format!("{} {}", entry.turn(), entry.reason.as_ref().unwrap().as_str()))
            .collect();
        assert_eq!(reasons, ["0 initial", "30 session_end"]);
        resume(&store, &id(NAME), at(40)).unwrap();
        assert_eq!(status(&store), GameStatus::Active);
        assert_true(&store, NAME);
        assert_indexes_true(&store, NAME);
        assert_states(&store, NAME, &states);
        let mut game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert_eq!(game.append(&turn(31), at(41)).unwrap().turn, 31);
        game.pause(at(42)).unwrap();
        complete(&store, &id(NAME), at(43)).unwrap();
        assert_eq!(status(&store), GameStatus::Completed);
        assert_true(&store, NAME);
    }
}

#[test]
fn a_session_of_the_program_rests_and_goes_on_too() {
    for store in stores() {
        let states = program(&store, NAME, 20);
        pause(&store, &id(NAME), at(31)).unwrap();
        assert_eq!(status(&store), GameStatus::Paused);
        assert_states(&store, NAME, &states);
        resume(&store, &id(NAME), at(40)).unwrap();
        complete(&store, &id(NAME), at(43)).unwrap();
        assert_eq!(status(&store), GameStatus::Completed);
        assert_states(&store, NAME, &states);
        let meta = store
            .read(&path(&format!("sessions/completed/{NAME}/session.meta.json")), 0..99)
            .unwrap();
        assert_eq!(meta, b"{\n  \"startTime\": 1,\n  \"player\": \"P\"\n}\n");
    }
}

#[test]
fn a_snapshot_of_the_end_of_a_scene_stays_one_when_the_session_rests() {
    for store in stores() {
        let mut game = game(&store, NAME);
        game.start_scene(&everturn::game::NewScene::new("social"), at(1)).unwrap();
        game.end_scene(&everturn::game::SceneEnd::default(), at(2)).unwrap();
        game.pause(at(3)).unwrap();
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        let last = session.snapshots().unwrap().pop().unwrap();
        assert_eq!(last.reason.unwrap().as_str(), "scene_end");
        assert_true(&store, NAME);
    }
}

#[test]
fn a_snapshot_that_is_taken_again_keeps_its_reason_and_what_it_sums_up() {
    let store = memory();
    let mut game = game(&store, NAME);
    game.snapshot(at(1)).unwrap();
    game.start_scene(&everturn::game::NewScene::new("social"), at(1)).unwrap();
    game.append(&turn(2), at(2)).unwrap();
    game.end_scene(&everturn::game::SceneEnd::default(), at(3)).unwrap();
    let read = |file: &str| document(&store, NAME, &format!("snapshots/{file}.json"));
    let (start, end) = (read("snapshot-0000"), read("snapshot-0003"));
    assert_eq!((&start["reason"], &end["reason"]), (&json!("initial"), &json!("scene_end")));
    game.snapshot(at(4)).unwrap();
    assert_eq!(game.snapshot(at(5)).unwrap(), "snapshot-0003");
    let again = read("snapshot-0003");
    assert_eq!(again["reason"], end["reason"]);
    assert_eq!(again["deltaAggregation"], end["deltaAggregation"]);
    assert_eq!(end["deltaAggregation"]["turnRange"], json!([1, 3]));
    game.close(at(6)).unwrap();
    assert_true(&store, NAME);
    assert_eq!(checked(&store, NAME), []);
    let index = document(&store, NAME, "indexes/delta-index.json");
    assert_eq!(index["snapshots"].as_array().unwrap().len(), 2);
}

#[test]
fn completing_puts_snapshots_away_and_loses_no_state() {
    for store in stores() {
        let mut game = game(&store, NAME);
        let mut states = vec![game.state().clone()];
        for number in 1..=15 {
            game.append(&turn(number), at(number as i64)).unwrap();
            game.snapshot(at(number as i64)).unwrap();
            states.push(game.state().clone());
        }
        let before = files(&store);
        let planned = plan_complete(&store, &id(NAME)).unwrap();
        assert!(files(&store) == before);
        let done = game.complete(at(20)).unwrap();
        assert!(done.deferred_error.is_none());
        let plan = done.snapshots.unwrap();
        assert_eq!((&planned.snapshots, planned.snapshot), (&plan, None));
        assert!(plan_complete(&store, &id(NAME)).is_err());
        let away: Vec<u64> = plan.retire.iter().map(|entry| entry.turn()).collect();
        assert_eq!(away, [1, 2, 3, 4, 5]);
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        let files = names(&session, &store);
        assert!(files.contains(&"snapshots/archived/snapshot-0003.json".to_owned()), "{files:?}");
        assert!(!files.contains(&"snapshots/snapshot-0003.json".to_owned()));
        assert_states(&store, NAME, &states);
        assert_true(&store, NAME);
        let index = path(&format!("sessions/completed/{NAME}/indexes/delta-index.json"));
        let index = String::from_utf8(store.read(&index, 0..u64::MAX).unwrap()).unwrap();
        assert!(index.contains("snapshot-0006.json") && !index.contains("snapshot-0003.json"));
        assert_eq!(retain(&store, &id(NAME)).unwrap().retire, []);
    }
}

/// What an operation says, with nothing changed.
#[track_caller]
fn refused(
    store: &Arc<dyn Store>,
    what: &str,
    operate: impl FnOnce(&Arc<dyn Store>) -> Result<(), GameError>,
) -> GameError {
    let before = files(store);
    let error = operate(store).err().unwrap_or_else(|| panic!("{what} was done"));
    assert!(files(store) == before, "{what} changed something");
    error
}

#[test]
fn a_status_that_does_not_fit_is_refused() {
    for store in stores() {
        played(&store, NAME, 3);
        let how = ArchiveOptions::default();
        let archived =
            |store: &Arc<dyn Store>| archive(store, &id(NAME), &how, now(), &mut |_| {}).map(drop);
        let wanted = |error| match error {
            GameError::Status { status, wanted, .. } => format!("{status}, not {wanted}"),
            other => panic!("{other}"),
        };
        let error = refused(&store, "resume", |store| resume(store, &id(NAME), now()));
        assert_eq!(wanted(error), "active, not paused");
        assert_eq!(wanted(refused(&store, "archive", archived)), "active, not completed");
        pause(&store, &id(NAME), now()).unwrap();
        let error = refused(&store, "pause", |store| pause(store, &id(NAME), now()));
        assert_eq!(wanted(error), "paused, not active");
        complete(&store, &id(NAME), now()).unwrap();
        for error in [
            refused(&store, "complete", |store| complete(store, &id(NAME), now()).map(drop)),
            refused(&store, "rewind", |store| {
                rewind(store, &id(NAME), &BranchOptions::rewind_to(1), now(), &mut |_| {}).map(drop)
            }),
        ] {
            assert_eq!(wanted(error), "completed, not active or paused");
        }
    }
}

type Operation = fn(&Arc<dyn Store>) -> Result<(), GameError>;

/// Everything that writes a session, by name.
fn operations() -> Vec<(&'static str, Operation)> {
    vec![
        ("pause", |store| pause(store, &id(NAME), now())),
        ("resume", |store| resume(store, &id(NAME), now())),
        ("complete", |store| complete(store, &id(NAME), now()).map(drop)),
        ("retain", |store| retain(store, &id(NAME)).map(drop)),
        ("trash", |store| trash(store, &id(NAME), now()).map(drop)),
        ("archive", |store| {
            archive(store, &id(NAME), &ArchiveOptions::default(), now(), &mut |_| {}).map(drop)
        }),
        ("fork", |store| {
            fork(store, &id(NAME), &BranchOptions::new(id("other"), 1), now(), &mut |_| {})
                .map(drop)
        }),
        ("rewind", |store| {
            rewind(store, &id(NAME), &BranchOptions::rewind_to(1), now(), &mut |_| {}).map(drop)
        }),
        ("undo", |store| GameWriter::open(Arc::clone(store), &id(NAME))?.undo(1, now()).map(drop)),
    ]
}

/// Operations that begin with a session that is not active.
fn prepare(store: &Arc<dyn Store>, name: &str) {
    played(store, NAME, 3);
    match name {
        "resume" => pause(store, &id(NAME), now()).unwrap(),
        "archive" => drop(complete(store, &id(NAME), now()).unwrap()),
        _ => {}
    }
}

#[test]
fn a_session_that_somebody_else_writes_is_busy_for_everything() {
    for (name, operate) in operations() {
        for store in stores() {
            prepare(&store, name);
            let dir = path(&format!("sessions/paused/{NAME}"));
            let held = store.lock(&[dir]).unwrap();
            let error = refused(&store, name, operate);
            assert!(matches!(error, GameError::Store(StoreError::Busy { .. })), "{name}: {error}");
            held.release().unwrap();
            operate(&store).unwrap();
        }
    }
    for store in stores() {
        played(&store, NAME, 3);
        let gone = trash(&store, &id(NAME), now()).unwrap().name;
        let held = store.lock(&[path(&format!("sessions/active/{NAME}"))]).unwrap();
        let error = refused(&store, "restore", |store| restore(store, &gone).map(drop));
        assert!(matches!(error, GameError::Store(StoreError::Busy { .. })), "{error}");
        let how = ArchiveOptions::default();
        let error = refused(&store, "unarchive", |store| {
            unarchive(store, &id(NAME), &how, now(), &mut |_| {}).map(drop)
        });
        assert!(matches!(error, GameError::Store(StoreError::Busy { .. })), "{error}");
        held.release().unwrap();
    }
}

#[test]
fn a_session_of_a_newer_version_is_not_written() {
    for (name, operate) in operations() {
        for store in stores() {
            prepare(&store, name);
            let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
            let file = format!("{}/session.meta.json", session.dir());
            let text = session.metadata().unwrap().to_line().replace("\"1.0.0\"", "\"2.0.0\"");
            put(&store, &file, text.as_bytes());
            let error = refused(&store, name, operate);
            assert!(matches!(error, GameError::Newer { .. }), "{name}: {error}");
        }
    }
}

#[test]
fn a_session_that_is_not_there_is_named() {
    for (name, operate) in operations() {
        for store in stores() {
            let error = refused(&store, name, operate);
            assert!(matches!(error, GameError::NoSession { .. }), "{name}: {error}");
        }
    }
}
