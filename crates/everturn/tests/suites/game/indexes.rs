//! Indexes follow from the logs, whatever became of them meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::game::{GameWriter, NewScene, SceneEnd, TurnInput};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, Precondition, Step, Store};
use serde_json::{Value, json};

use super::support::{at, game, id, memory, turn};

const DIR: &str = "sessions/active/session-one";

fn path(name: &str) -> FilePath {
    FilePath::parse(&format!("{DIR}/indexes/{name}-index.json")).unwrap()
}

const NAMES: [&str; 4] = ["turn", "scene", "event", "delta"];

fn indexes(store: &Arc<dyn Store>) -> BTreeMap<&'static str, String> {
    let read = |name| String::from_utf8(store.read(&path(name), 0..u64::MAX).unwrap()).unwrap();
    NAMES.into_iter().map(|name| (name, read(name))).collect()
}

fn open(store: &Arc<dyn Store>) -> GameWriter {
    GameWriter::open(Arc::clone(store), &id("session-one")).unwrap()
}

/// Plays 260 turns and two scenes; `between` is done every 20 turns while the session is closed.
fn play(between: impl Fn(&Arc<dyn Store>)) -> Arc<dyn Store> {
    let store = memory();
    game(&store, "session-one").close(at(0)).unwrap();
    for round in 0..13 {
        let mut game = open(&store);
        if round == 3 || round == 9 {
            game.start_scene(&NewScene::new("social"), at(1)).unwrap();
        }
        for _ in 0..20 {
            game.append(&turn(game.turn() + 1), at(2)).unwrap();
        }
        if round == 5 {
            game.end_scene(&SceneEnd::default(), at(3)).unwrap();
        }
        if round % 2 == 0 {
            game.close(at(4)).unwrap();
        } else {
            game.release().unwrap();
        }
        between(&store);
    }
    open(&store).close(at(5)).unwrap();
    store
}

fn commit(store: &Arc<dyn Store>, steps: Vec<Step>) {
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    writer.commit(steps, Durability::Synced).unwrap();
}

#[test]
fn indexes_that_were_deleted_or_damaged_are_made_again_as_they_were() {
    let expected = indexes(&play(|_| {}));
    let deleted = play(|store| {
        let there = |name: &&str| store.stat(&path(name)).unwrap().is_some();
        let remove = |name: &str| Step::Remove { path: path(name) };
        commit(store, NAMES.into_iter().filter(there).map(remove).collect());
    });
    assert_eq!(indexes(&deleted), expected);
    for damage in ["", "{", "[]", "{\"sessionId\": \"another\"}", "\0\0\0\0"] {
        let damaged = play(|store| {
            let (file, bytes) = (path("delta"), damage.as_bytes().to_vec());
            let (expect, mode) = (Precondition::Anything, FileMode::Default);
            commit(store, vec![Step::Replace { file, expect, bytes, mode }]);
        });
        assert_eq!(indexes(&damaged), expected, "after {damage:?}");
    }
}

#[test]
fn indexes_tell_what_is_in_the_logs() {
    let store = play(|_| {});
    let read = |name| -> Value { serde_json::from_str(&indexes(&store)[name]).unwrap() };
    let turns = read("turn");
    assert_eq!(turns["totalTurns"], 263);
    assert_eq!(
        turns["files"][0],
        json!({"file": "turns-0001-0100.jsonl", "range": [1, 100], "eventCount": 100})
    );
    assert_eq!(turns["files"][2]["file"], "turns-0201-current.jsonl");
    assert_eq!(turns["turnOffsets"]["150"]["line"], 49);
    let offset = usize::try_from(turns["turnOffsets"]["150"]["offset"].as_u64().unwrap()).unwrap();
    let file = FilePath::parse(&format!("{DIR}/turns/turns-0101-0200.jsonl")).unwrap();
    let text = String::from_utf8(store.read(&file, 0..u64::MAX).unwrap()).unwrap();
    assert!(text[offset..].starts_with("{\"turnId\":150,"));
    let scenes = read("scene");
    assert_eq!(scenes["totalScenes"], 2);
    assert_eq!(scenes["scenes"][0]["turnRange"], json!([61, 122]));
    assert_eq!(scenes["scenes"][1]["turnRange"], json!([183, null]));
    let events = read("event");
    assert_eq!(events["byType"], json!({"move": 260, "scene_start": 2, "scene_end": 1}));
    let deltas = read("delta");
    assert_eq!(deltas["byScope"]["player"], 520);
    assert_eq!(deltas["byOperation"]["increment"], 260);
    let snapshots = deltas["snapshots"].as_array().unwrap();
    assert_eq!(snapshots[0]["snapshotId"], "snapshot-0000");
    assert_eq!(snapshots[0]["file"], "snapshots/snapshot-0000.json");
}

#[test]
fn what_came_after_the_indexes_were_written_is_added_to_them() {
    let store = memory();
    let mut writer = game(&store, "session-one");
    let quiet = r#"{"actor": "player", "events": [{"type": "talk", "description": "Hm."}]}"#;
    writer.append(&TurnInput::parse(quiet).unwrap(), at(1)).unwrap();
    writer.release().unwrap();
    let mut writer = open(&store);
    let loud = r#"{"actor": "player", "events": [{"type": "conflict_end", "description": "Ha."}],
        "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "peace", "value": true}]}]}"#;
    assert!(writer.append(&TurnInput::parse(loud).unwrap(), at(2)).unwrap().snapshot.is_some());
    writer.release().unwrap();
    let index = || -> Value { serde_json::from_str(&indexes(&store)["delta"]).unwrap() };
    assert_eq!(index()["throughTurn"], json!(0));
    open(&store).close(at(3)).unwrap();
    // The file of this change was not there before.
    assert_eq!(index()["totalDeltas"], json!(1));
    let snapshots = index()["snapshots"].as_array().unwrap().clone();
    let ids: Vec<&Value> = snapshots.iter().map(|snapshot| &snapshot["snapshotId"]).collect();
    assert_eq!(ids, ["snapshot-0000", "snapshot-0002"]);
}
