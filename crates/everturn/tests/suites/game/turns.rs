//! Turns, and the state at each of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use everturn::disk::{DirListing, FileStat};
use everturn::game::{GameState, GameWriter, Session, TurnInput};
use everturn::names::FilePath;
use everturn::store::{Store, StoreError, Writer};
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::support::{
    at, checked, document, files, game, given, id, memory, new_session, now, turn,
};

#[test]
fn the_state_at_every_turn_is_what_it_was_then() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let mut states: Vec<GameState> = vec![game.state().clone()];
    for number in 1..=230 {
        let done = game.append(&turn(number), at(number as i64)).unwrap();
        assert_eq!(done.turn, number);
        assert!(done.deferred_error.is_none(), "{:?}", done.deferred_error);
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

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.store.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
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

fn changing(scope: &str, deltas: &Value) -> TurnInput {
    given(&json!({"actor": "gm", "deltas": [{"scope": scope, "deltas": deltas}]}))
}

fn reason(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

#[test]
fn what_no_session_could_keep_is_refused_and_nothing_changes() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let cases = [
        ("world", json!([{"op": "delete", "path": []}]), "delete at the whole state"),
        ("world", json!([{"op": "set", "path": [], "value": 5}]), "is a number, not an object"),
        ("player", json!([{"op": "set", "path": [], "value": null}]), "is null, not an object"),
        ("npcs", json!([{"op": "set", "path": "a", "value": 1}]), "world, player, scene"),
        (
            "world",
            json!([{"op": "delete", "path": "lastUpdated"}]),
            "lastUpdated is the write time",
        ),
        ("player", json!([{"op": "set", "path": "lastUpdated.a", "value": 1}]), "lastUpdated"),
    ];
    let before = (files(&store), game.state().clone());
    for (scope, deltas, expect) in &cases {
        let first = json!({"op": "set", "path": "fine", "value": true});
        let groups =
            json!([{"scope": "world", "deltas": [first]}, {"scope": scope, "deltas": deltas}]);
        let turn = given(&json!({"actor": "gm", "deltas": groups}));
        let error = reason(&game.append(&turn, at(1)).unwrap_err());
        assert!(error.contains(expect), "{error} lacks {expect}");
        assert!(game.state().is_same(&before.1), "{error}");
    }
    for (turn, expect) in [
        (json!({"actor": "gm", "events": [{"type": "move", "eventId": 7}]}), "abc123-1-1, not 7"),
        (
            json!({"actor": "gm", "deltas": [{"scope": "world", "turnId": 9, "deltas": []}]}),
            "not 9",
        ),
        (json!({"actor": "gm", "sceneId": "../../x"}), "../../x"),
        (json!({"actor": "gm", "sceneId": "scene-999"}), "everturn scene start --id scene-999"),
        (
            json!({"actor": "gm", "stateChanges": [{"type": "scene_start", "sceneId": 5}]}),
            "sceneId",
        ),
        (json!({"actor": "gm", "events": [{"type": "scene_start", "sceneId": "../up"}]}), "../up"),
    ] {
        let error = reason(&game.append(&given(&turn), at(1)).unwrap_err());
        assert!(error.contains(expect), "{error} lacks {expect}");
        assert!(game.state().is_same(&before.1), "{error}");
    }
    assert!(files(&store) == before.0);
    assert_eq!(game.append(&turn(1), at(2)).unwrap().turn, 1);
}

#[test]
fn the_time_of_a_file_is_no_part_of_the_state() {
    let store = memory();
    let mut new = new_session("session-abc123");
    new.world = Some(JsonTree::parse(r#"{"lastUpdated": "long ago", "gate": "open"}"#).unwrap());
    let mut game = GameWriter::create(Arc::clone(&store), &new, now()).unwrap();
    assert!(game.state().world.value_at(&["lastUpdated"]).is_none());
    game.close(at(1)).unwrap();
    game = GameWriter::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    let whole = json!([{"op": "set", "path": [], "value": {"lastUpdated": 1, "gate": "shut"}}]);
    game.append(&changing("world", &whole), at(2)).unwrap();
    game.close(at(3)).unwrap();
    let line = lines(&store, "deltas/deltas-current.jsonl");
    assert!(!line[0].contains("lastUpdated"), "{}", line[0]);
    let file = document(&store, "session-abc123", "world.state.json");
    assert_eq!((&file["gate"], &file["lastUpdated"]), (&json!("shut"), &json!(at(3).to_string())));
    assert_eq!(checked(&store, "session-abc123"), []);
}

fn lines(store: &Arc<dyn Store>, file: &str) -> Vec<String> {
    let path = super::support::path(&format!("sessions/active/session-abc123/{file}"));
    let text = String::from_utf8(store.read(&path, 0..u64::MAX).unwrap()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn fields_that_nobody_knows_are_kept_in_changes_too() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let deltas = json!([
        {"op": "set", "path": "gate", "value": 1, "why": {"roll": [1, 2.50]}},
        {"op": "push", "path": "npcs.luna.facts", "value": "x", "why": "told"},
    ]);
    let group = json!({"scope": "world", "cause": "storm", "timestamp": 5, "deltas": deltas});
    game.append(&given(&json!({"actor": "gm", "deltas": [group]})), at(1)).unwrap();
    game.undo(1, at(2)).unwrap();
    game.release().unwrap();
    let stored = lines(&store, "deltas/deltas-current.jsonl");
    let line: Value = serde_json::from_str(&stored[0]).unwrap();
    assert_eq!((&line["cause"], &line["timestamp"]), (&json!("storm"), &json!(5)));
    assert_eq!(line["deltas"][0]["why"], json!({"roll": [1, 2.50]}));
    assert_eq!(line["deltas"][1]["why"], "told");
    assert!(!stored[1].contains("why"), "{}", stored[1]);
    let session = Session::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    let change = session.changes(1, 1).unwrap().next().unwrap().unwrap();
    assert_eq!(change.group.deltas[1].extra[0].1.to_line(), "\"told\"");
    assert_eq!(checked(&store, "session-abc123"), []);
}

/// The names of the logs are the same whether one process has written all turns, or each its own.
#[test]
fn files_are_full_at_the_same_turns_whoever_writes_them() {
    let names = |alone: bool| {
        let store = memory();
        let mut game = game(&store, "session-abc123");
        for number in 1..=330 {
            let quiet = given(&json!({"actor": "gm"}));
            let loud = json!([{"op": "increment", "path": "clock", "value": 1}]);
            let turn =
                if number == 131 || number == 135 { changing("world", &loud) } else { quiet };
            game.append(&turn, at(number)).unwrap();
            if alone && number > 120 {
                game.release().unwrap();
                game = GameWriter::open(Arc::clone(&store), &id("session-abc123")).unwrap();
            }
        }
        game.release().unwrap();
        let session = Session::open(Arc::clone(&store), &id("session-abc123")).unwrap();
        assert_eq!(checked(&store, "session-abc123"), []);
        super::support::names(&session, &store)
    };
    let together = names(false);
    assert!(together.contains(&"deltas/deltas-0101-0200.jsonl".to_owned()), "{together:?}");
    assert_eq!(names(true), together);
}

#[test]
fn the_time_in_the_game_goes_on_from_one_writer_to_the_next() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let time = json!({"day": 3, "timeOfDay": "noon", "hour": 12, "moon": "new"});
    game.append(&given(&json!({"actor": "gm", "gameTime": time})), at(1)).unwrap();
    for number in 2..4 {
        game.release().unwrap();
        game = GameWriter::open(Arc::clone(&store), &id("session-abc123")).unwrap();
        game.append(&given(&json!({"actor": "gm"})), at(number)).unwrap();
    }
    for line in lines(&store, "turns/turns-0001-current.jsonl") {
        let turn: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(turn["gameTime"], time);
    }
}
