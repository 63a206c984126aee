//! Turns, and the state at each of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use everturn::disk::{Listing, Stat};
use everturn::game::{GameWriter, Session, State, TurnInput};
use everturn::names::FilePath;
use everturn::store::{Store, StoreError, Writer};

use super::support::{at, game, id, memory, now, turn};

#[test]
fn the_state_at_every_turn_is_what_it_was_then() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let mut states: Vec<State> = vec![game.state().clone()];
    for number in 1..=230 {
        let done = game.append(&turn(number), at(number as i64)).unwrap();
        assert_eq!(done.turn, number);
        assert!(done.overdue.is_none(), "{:?}", done.overdue);
        states.push(game.state().clone());
    }
    game.release().unwrap();
    let session = Session::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    assert_eq!(session.turn(), 230);
    for (number, expected) in states.iter().enumerate() {
        let moment = session.state_at(number as u64).unwrap();
        assert!(moment.state.is_same(expected), "turn {number}");
        assert_eq!(moment.findings, []);
    }
    let last = session.resume().unwrap();
    assert!(last.state.is_same(&states[230]));
    let mut replay = session.replay(1).unwrap();
    for (number, expected) in states.iter().enumerate().skip(1) {
        let frame = replay.next().unwrap().unwrap();
        assert_eq!(frame.turn.turn, number as u64);
        assert_eq!(frame.changes().unwrap().len(), 2);
        assert!(replay.state().is_same(expected));
    }
    assert!(replay.next().is_none());
    let mut game = GameWriter::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    assert_eq!(game.append(&turn(231), at(231)).unwrap().turn, 231);
    game.close(now()).unwrap();
}

/// A store that counts how often somebody looks into a directory.
struct Counting {
    store: Arc<dyn Store>,
    lists: AtomicUsize,
}

impl Store for Counting {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.store.read(file, range)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<Stat>, StoreError> {
        self.store.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<Listing, StoreError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.store.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        self.store.lock(scopes)
    }
}

#[test]
fn resuming_looks_into_no_directory() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    // A file takes a megabyte, so each has about 40 of these turns; the states are written with it.
    let long = serde_json::json!({"actor": "gm", "deltas": [
        {"scope": "player", "deltas": [{"op": "set", "path": "dream", "value": "z".repeat(13_000)}]},
        {"scope": "world", "deltas": [{"op": "increment", "path": "clock", "value": 1}]}]});
    let long = TurnInput::parse(&long.to_string()).unwrap();
    for number in 1..=120 {
        game.append(&long, at(number)).unwrap();
        let counting = Arc::new(Counting { store: Arc::clone(&store), lists: AtomicUsize::new(0) });
        let shared: Arc<dyn Store> = Arc::<Counting>::clone(&counting);
        let session = Session::open(shared, &id("session-abc123")).unwrap();
        let moment = session.resume().unwrap();
        assert!(moment.state.is_same(game.state()), "turn {number}");
        assert_eq!(moment.findings, []);
        assert_eq!(counting.lists.load(Ordering::Relaxed), 0, "turn {number}");
    }
}

#[test]
fn a_scene_that_no_file_could_hold_is_refused() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let before = game.state().clone();
    for scene in [r#"{"type": "social"}"#, r#"{"sceneId": "../evil"}"#, r#"{"sceneId": 7}"#, "[]"] {
        let turn = format!(
            r#"{{"actor": "gm", "deltas": [{{"scope": "scene", "deltas": [{{"op": "set", "path": [], "value": {scene}}}]}}]}}"#
        );
        assert!(game.append(&TurnInput::parse(&turn).unwrap(), now()).is_err(), "{scene}");
        assert!(game.state().is_same(&before));
        assert_eq!(game.turn(), 0);
    }
    let good = r#"{"actor": "gm", "deltas": [{"scope": "scene", "deltas": [{"op": "set", "path": [], "value": {"sceneId": "temple"}}]}]}"#;
    assert_eq!(game.append(&TurnInput::parse(good).unwrap(), now()).unwrap().turn, 1);
}

#[test]
fn metadata_that_do_not_say_where_the_session_stands_are_not_written_over() {
    let store = memory();
    game(&store, "session-abc123").release().unwrap();
    let file = "sessions/active/session-abc123/session.meta.json";
    for damaged in ["{}", r#"{"version": "1.0.0", "current": {}}"#, "[]", ""] {
        super::support::put(&store, file, damaged.as_bytes());
        assert!(GameWriter::open(Arc::clone(&store), &id("session-abc123")).is_err(), "{damaged}");
        let path = super::support::path(file);
        assert_eq!(store.read(&path, 0..99).unwrap(), damaged.as_bytes());
    }
}
