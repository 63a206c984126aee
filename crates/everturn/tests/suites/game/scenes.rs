//! Scenes that turns speak of, and what becomes of them.

use std::sync::Arc;

use everturn::game::{GameWriter, NewScene, SceneEnd, Session, TurnInput};
use everturn::store::Store;
use serde_json::{Value, json};

use super::metadata::{assert_indexes_true, assert_true};
use super::support::{at, checked, document, files, game, given, id, memory};

const NAME: &str = "session-abc123";

fn start(id: Option<&str>) -> TurnInput {
    let told = "Temple District unfolds before you...";
    given(&json!({"actor": "gm", "sceneId": id, "gameTime": {"day": 3},
        "events": [{"type": "look"}, {"type": "scene_start", "description": told}],
        "stateChanges": [{"type": "scene_start", "sceneId": id}]}))
}

fn scene(store: &Arc<dyn Store>, id: &str) -> Value {
    document(store, NAME, &format!("scenes/{id}.json"))
}

/// State, files, indexes and metadata agree.
#[track_caller]
fn assert_sound(store: &Arc<dyn Store>) {
    assert_eq!(checked(store, NAME), []);
    assert_true(store, NAME);
    assert_indexes_true(store, NAME);
    assert_eq!(checked(store, NAME), []);
}

#[test]
fn a_turn_that_says_that_a_scene_begins_begins_it_and_ends_the_one_before() {
    let store = memory();
    let mut game = game(&store, NAME);
    game.append(&start(Some("scene-011")), at(1)).unwrap();
    let mood = json!([{"op": "set", "path": "mood", "value": "calm"}]);
    let group = json!({"scope": "scene", "deltas": mood});
    game.append(&given(&json!({"actor": "gm", "deltas": [group]})), at(2)).unwrap();
    let done = game.append(&start(Some("scene-012")), at(3)).unwrap();
    assert_eq!(done.snapshot.as_deref(), Some("snapshot-0003"));
    // Without a name it gets the next number.
    game.append(&start(None), at(4)).unwrap();
    game.append(&given(&json!({"actor": "player"})), at(5)).unwrap();
    game.close(at(6)).unwrap();

    let old = scene(&store, "scene-011");
    assert_eq!((&old["status"], &old["mood"]), (&json!("completed"), &json!("calm")));
    assert_eq!(
        old["time"],
        json!({"started": {"day": 3}, "ended": {"day": 3}, "turnRange": [1, 3]})
    );
    let next = scene(&store, "scene-012");
    assert_eq!((&next["type"], &next["status"]), (&json!("exploration"), &json!("completed")));
    let last = scene(&store, "scene-003");
    assert_eq!(
        (&last["status"], &last["time"]["turnRange"]),
        (&json!("active"), &json!([4, null]))
    );
    let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
    let named: Vec<_> = session.turns(1, 9).unwrap().map(|turn| turn.unwrap().scene).collect();
    let expect = ["scene-011", "scene-011", "scene-012", "scene-003", "scene-003"];
    assert_eq!(named, expect.map(|id| Some(id.to_owned())));
    let change = session.changes(4, 4).unwrap().next().unwrap().unwrap();
    assert_eq!(change.event.as_deref(), Some("abc123-4-2"));
    let index = document(&store, NAME, "indexes/scene-index.json");
    let ranges: Vec<&Value> =
        index["scenes"].as_array().unwrap().iter().map(|scene| &scene["turnRange"]).collect();
    assert_eq!(ranges, [&json!([1, 3]), &json!([3, 4]), &json!([4, null])]);
    assert_sound(&store);
}

#[test]
fn a_turn_that_says_that_the_scene_ends_ends_it() {
    let store = memory();
    let mut game = game(&store, NAME);
    let ends = |id: &str| {
        given(&json!({"actor": "gm", "stateChanges": [{"type": "scene_end", "sceneId": id}]}))
    };
    game.append(&start(Some("scene-011")), at(1)).unwrap();
    game.append(&ends("scene-010"), at(2)).unwrap();
    assert_eq!(game.state().scene.string_at(&["status"]).as_deref(), Some("active"));
    let done = game.append(&ends("scene-011"), at(3)).unwrap();
    assert_eq!(done.snapshot.as_deref(), Some("snapshot-0003"));
    assert!(game.end_scene(&SceneEnd::default(), at(4)).is_err());
    // There is no scene any more that could end.
    let event = given(&json!({"actor": "gm", "events": [{"type": "scene_end"}]}));
    game.append(&event, at(5)).unwrap();
    game.close(at(6)).unwrap();
    let old = scene(&store, "scene-011");
    assert_eq!((&old["status"], &old["time"]["turnRange"]), (&json!("completed"), &json!([1, 3])));
    assert_sound(&store);
}

#[test]
fn a_scene_that_there_was_is_never_written_over() {
    let store = memory();
    let mut game = game(&store, NAME);
    game.start_scene(&NewScene::new("social"), at(1)).unwrap();
    game.start_scene(&NewScene::new("social"), at(2)).unwrap();
    let before = (files(&store), game.state().clone());
    let set =
        |id: &str| json!([{"op": "set", "path": [], "value": {"sceneId": id, "status": "active"}}]);
    let whole =
        |id: &str| json!({"actor": "gm", "deltas": [{"scope": "scene", "deltas": set(id)}]});
    for turn in [given(&whole("scene-001")), start(Some("scene-001")), start(Some("scene-002"))] {
        let error = game.append(&turn, at(3)).unwrap_err().to_string();
        assert!(error.contains("already"), "{error}");
        assert!(game.state().is_same(&before.1));
    }
    assert!(files(&store) == before.0);
    // What takes back the beginning of a scene brings back the one before.
    game.undo(1, at(4)).unwrap();
    assert_eq!(game.state().scene.string_at(&["sceneId"]).as_deref(), Some("scene-001"));
    // A scene that is set as a whole is a scene like any other, and so is that which it leaves.
    game.append(&given(&whole("scene-007")), at(5)).unwrap();
    game.append(&given(&whole("scene-008")), at(6)).unwrap();
    let old = given(&json!({"actor": "gm", "sceneId": "scene-001"}));
    game.append(&old, at(7)).unwrap();
    game.append(&given(&json!({"actor": "gm"})), at(8)).unwrap();
    game.close(at(9)).unwrap();
    let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
    let named: Vec<_> = session.turns(6, 9).unwrap().map(|turn| turn.unwrap().scene).collect();
    let expect = ["scene-008", "scene-001", "scene-008"];
    assert_eq!(named[named.len() - 3..], expect.map(|id| Some(id.to_owned())));
    assert_eq!(checked(&store, NAME), []);
}

#[test]
fn a_scene_keeps_all_its_fields_and_they_must_be_what_they_are() {
    let store = memory();
    let mut game = game(&store, NAME);
    let scene_given = json!({"type": "social", "weather": {"rain": 0.50}, "sessionId": "another",
        "location": null, "summary": {"majorEvents": ["You came."], "theme": "rain"}});
    let new = NewScene::parse(&scene_given.to_string()).unwrap();
    let (name, _) = game.start_scene(&new, at(1)).unwrap();
    let stored = scene(&store, name.as_str());
    assert_eq!((&stored["weather"], &stored["sessionId"]), (&scene_given["weather"], &json!(NAME)));
    assert_eq!(stored["summary"], scene_given["summary"]);
    let end = SceneEnd { events: vec!["You left.".to_owned()], ..SceneEnd::default() };
    game.end_scene(&end, at(2)).unwrap();
    let stored = scene(&store, name.as_str());
    assert_eq!(stored["summary"]["majorEvents"], json!(["You came.", "You left."]));
    // Nobody knows what time it is in the game, but the scene is over.
    assert_eq!(stored["time"]["ended"], json!({"turn": 2}));
    for wrong in [
        json!({"type": 5}),
        json!({"sceneId": 5}),
        json!({"description": []}),
        json!({"location": "Temple"}),
        json!({"conflict": true}),
        json!({"time": "noon"}),
        json!({"zones": {}}),
        json!({"summary": "short"}),
        json!({"summary": {"majorEvents": "one"}}),
    ] {
        assert!(NewScene::parse(&wrong.to_string()).is_err(), "{wrong}");
    }
    game.close(at(3)).unwrap();
    assert_sound(&store);
}

/// Scenes of which only the events tell, as others write them, are counted and listed.
#[test]
fn scenes_are_counted_in_one_way() {
    let store = memory();
    let mut writer = game(&store, NAME);
    writer.append(&start(Some("scene-001")), at(1)).unwrap();
    writer.append(&start(Some("scene-002")), at(2)).unwrap();
    writer.close(at(3)).unwrap();
    // Somebody else has no changes for the second one.
    let file = format!("sessions/active/{NAME}/deltas/deltas-current.jsonl");
    let bytes = store.read(&super::support::path(&file), 0..u64::MAX).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let first: String = text.lines().filter(|line| line.contains("\"turnId\":1,")).collect();
    super::support::put(&store, &file, format!("{first}\n").as_bytes());
    let counts = |store: &Arc<dyn Store>| {
        let found = checked(store, NAME);
        let told = found.iter().map(ToString::to_string).filter(|it| it.contains("totalScenes"));
        told.collect::<Vec<_>>()
    };
    assert_eq!(counts(&store), Vec::<String>::new());
    let dir = super::support::path(&format!("sessions/active/{NAME}/indexes"));
    let remove = vec![everturn::store::Step::Remove { path: dir }];
    let lock = store.lock(&[super::support::path(&format!("sessions/active/{NAME}"))]).unwrap();
    lock.commit(remove, everturn::store::Durability::Synced).unwrap();
    lock.release().unwrap();
    GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap().close(at(4)).unwrap();
    let index = document(&store, NAME, "indexes/scene-index.json");
    assert_eq!(index["totalScenes"], 2);
    assert_eq!(counts(&store), Vec::<String>::new());
}
