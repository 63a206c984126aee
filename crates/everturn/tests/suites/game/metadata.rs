//! What the metadata say, compared with what the files have.

use std::sync::Arc;

use everturn::SessionRef;
use everturn::game::{BranchOptions, FORMAT, GameWriter, Session, fork};
use everturn::store::{Durability, Step, Store};
use everturn::tree::JsonTree;
use serde_json::json;

use super::support::{
    Files, at, document, files, given, id, memory, names, new_session, path, played, put,
};

/// Counts everything again from the logs and compares it with the metadata.
#[track_caller]
pub(crate) fn assert_true(store: &Arc<dyn Store>, name: &str) {
    let session = Session::open(Arc::clone(store), &id(name)).unwrap();
    assert_eq!(session.findings(), []);
    let meta = session.metadata().unwrap();
    let text = |path: &[&str]| meta.text_at(path).unwrap_or_default();
    let word = |path: &[&str]| meta.string_at(path);
    let number = |path: &[&str]| text(path).parse::<u64>().unwrap_or_else(|_| panic!("{path:?}"));
    assert_eq!(word(&["sessionId"]).as_deref(), Some(name));
    assert_eq!(word(&["status"]).as_deref(), Some(session.status().as_str()));
    let turn = session.turn();
    assert_eq!(number(&["current", "turnId"]), turn);

    let files = names(&session, store);
    let snapshots = files.iter().filter_map(|file| {
        file.strip_prefix("snapshots/snapshot-")?.strip_suffix(".json")?.parse::<u64>().ok()
    });
    let snapshot = snapshots.max().unwrap();
    assert_eq!(number(&["deltaStats", "lastSnapshotTurn"]), snapshot);
    let latest = format!("snapshots/snapshot-{snapshot:04}.json");
    assert_eq!(word(&["files", "latestSnapshot"]), Some(latest));

    let (mut turns, mut events, mut scenes, mut play, mut last) = (0, 0, 0, 0, None);
    let (mut scene, mut day) = (None, JsonTree::null());
    for row in session.turns(0, u64::MAX - 1).unwrap() {
        let row = row.unwrap();
        turns += 1;
        assert_eq!(row.turn, turns);
        events += row.events().len() as u64;
        scenes += row.events().iter().filter(|event| event.kind == "scene_start").count() as u64;
        let gap = row.time.unwrap() - last.unwrap_or(row.time.unwrap());
        play += if gap <= 30 * 60 * 1000 { u64::try_from(gap).unwrap_or(0) } else { 0 };
        last = row.time;
        day = row.raw.value_at(&["gameTime", "day"]).unwrap_or_else(JsonTree::null);
        scene = row.scene;
    }
    assert_eq!(turns, turn);
    assert_eq!(number(&["stats", "totalTurns"]), turns);
    assert_eq!(number(&["stats", "totalEvents"]), events);
    assert_eq!(number(&["stats", "totalScenes"]), scenes);
    assert_eq!(text(&["stats", "playTimeMs"]).parse().unwrap_or(0), play);
    assert_eq!(number(&["stats", "playTimeMinutes"]), play / 60_000);
    assert_eq!(text(&["current", "gameDay"]), day.to_line());
    assert_eq!(word(&["current", "sceneId"]), scene);

    let (mut deltas, mut since) = (0, 0);
    for change in session.changes(0, u64::MAX - 1).unwrap() {
        let change = change.unwrap();
        let count = change.group.deltas.len() as u64;
        deltas += count;
        since += if change.turn > snapshot { count } else { 0 };
    }
    assert_eq!(number(&["deltaStats", "totalDeltas"]), deltas);
    assert_eq!(number(&["deltaStats", "deltasSinceSnapshot"]), since);

    for field in ["worldState", "playerState", "currentScene"] {
        let file = word(&["files", field]);
        assert!(file.is_none_or(|file| files.contains(&file)), "{field}");
    }
    let state = session.state_at(turn).unwrap().state;
    let file = state.scene.string_at(&["sceneId"]).map(|id| format!("scenes/{id}.json"));
    assert_eq!(word(&["files", "currentScene"]), file);
    let characters = state.world.len_at(&["npcs"]).unwrap_or(0);
    assert_eq!(number(&["stats", "npcsEncountered"]), characters as u64);
    let place = state.player.value_at(&["location", "id"]).unwrap_or_else(JsonTree::null);
    assert_eq!(text(&["current", "locationId"]), place.to_line());
    let current = word(&["files", "currentTurns"]).unwrap();
    let next = format!("turns/turns-{:04}-current.jsonl", turn + 1);
    assert!(files.contains(&current) || current == next, "{current}");
    let open = files.iter().filter(|file| file.starts_with("turns/") && file.contains("current"));
    assert!(open.count() <= 1, "{files:?}");
    assert_eq!(word(&["files", "currentDeltas"]).as_deref(), Some("deltas/deltas-current.jsonl"));
}

/// The indexes that are there are those that would be made anew.
#[track_caller]
pub(crate) fn assert_indexes_true(store: &Arc<dyn Store>, name: &str) {
    let session = Session::open(Arc::clone(store), &id(name)).unwrap();
    let dir = path(&format!("{}/indexes", session.dir()));
    let read =
        || -> Files { files(store).into_iter().filter(|(file, _)| file.is_within(&dir)).collect() };
    let found = read();
    assert_eq!(found.len(), 4);
    let remove = vec![Step::Remove { path: dir.clone() }];
    store.lock(&[session.dir().clone()]).unwrap().commit(remove, Durability::Synced).unwrap();
    let mut game = GameWriter::open(Arc::clone(store), &id(name)).unwrap();
    game.retain().unwrap();
    game.close(at(99_999)).unwrap();
    let text = |files: &Files| -> Vec<String> {
        files.values().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
    };
    assert_eq!(text(&found), text(&read()));
}

#[test]
fn characters_and_the_place_are_counted_from_the_start() {
    let store = memory();
    let mut new = new_session("session-abc123");
    new.world = Some(JsonTree::parse(r#"{"npcs": {"luna": {}, "monk": {}}}"#).unwrap());
    let mut game = GameWriter::create(Arc::clone(&store), &new, at(0)).unwrap();
    assert_true(&store, "session-abc123");
    let meta = document(&store, "session-abc123", "session.meta.json");
    assert_eq!(
        (&meta["stats"]["npcsEncountered"], &meta["current"]["locationId"]),
        (&json!(2), &json!("loc-1"))
    );
    game.append(&given(&json!({"actor": "gm"})), at(1)).unwrap();
    game.close(at(2)).unwrap();
    assert_true(&store, "session-abc123");
    let how = BranchOptions::new(id("fork-1"), 1);
    fork(&store, &id("session-abc123"), &how, at(3), &mut |_| {}).unwrap();
    assert_true(&store, "fork-1");
}

#[test]
fn a_full_file_with_the_noted_length_does_not_hide_the_next_one() {
    let store = memory();
    played(&store, "session-abc123", 100);
    let dir = "sessions/active/session-abc123";
    let full = store.stat(&path(&format!("{dir}/turns/turns-0001-0100.jsonl"))).unwrap().unwrap();
    // As a program leaves it that was killed between the turn and the metadata.
    let mut meta = document(&store, "session-abc123", "session.meta.json");
    meta["files"]["currentTurns"] = json!("turns/turns-0001-0100.jsonl");
    meta["files"]["currentTurnsBytes"] = json!(full.len);
    put(&store, &format!("{dir}/session.meta.json"), meta.to_string().as_bytes());
    let row =
        json!({"turnId": 101, "timestamp": 1_767_225_701_000_u64, "actor": "gm", "events": []});
    put(&store, &format!("{dir}/turns/turns-0101-current.jsonl"), format!("{row}\n").as_bytes());
    let place = SessionRef { id: "session-abc123".to_owned(), path: path(dir) };
    let summary = FORMAT.summary(&store, &place).unwrap();
    assert_eq!(summary.turns, Some(101));
}
