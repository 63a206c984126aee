//! A session made of the examples that the layout's document gives.

use std::sync::Arc;

use everturn::game::{GameWriter, NewGame, NewScene, SceneEnd, Session, TurnInput};
use everturn::names::FilePath;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::metadata::{assert_indexes_true, assert_true};
use super::support::{at, checked, id, memory, names};

fn world() -> Value {
    json!({
        "worldId": "world-abc123",
        "sessionId": "session-abc123",
        "lastUpdated": "2025-11-25T14:45:00Z",
        "locations": {
            "discovered": ["loc-001", "loc-002", "loc-003"],
            "generated": {"loc-003": {"generatedAtTurn": 150, "data": {}}}
        },
        "npcs": {
            "npc-khaosbyte": {
                "currentLocation": "loc-hacker-cafe", "relationship": 15,
                "knownFacts": ["quest-main-001", "location-lab"], "lastInteraction": 230
            },
            "npc-vendor-incense": {"knownFacts": [], "relationship": 0}
        },
        "quests": {"quest-main-001": {
            "status": "active", "progress": 0.4, "objectivesComplete": ["find-contact"],
            "objectivesRemaining": ["locate-lab", "retrieve-data"]
        }},
        "aspects": [
            {"name": "Corporate Lockdown", "scope": "global", "since": 100},
            {"name": "Rising Tensions", "scope": "district-slums", "since": 180}
        ],
        "scheduledEvents": [{"atTurn": 300, "type": "npc_arrives", "data": {"npc": "npc-boss"}}]
    })
}

fn player() -> Value {
    json!({
        "characterId": "char-xyz789",
        "name": "Vex",
        "highConcept": "Street-Smart Netrunner",
        "trouble": "Hunted by Zaibatsu",
        "skills": {"great": ["Hack"], "good": ["Notice", "Stealth"]},
        "stress": {"physical": [false, false, false], "mental": [false, false, false, false]},
        "consequences": {"mild": null, "moderate": null, "severe": null},
        "inventory": [{"id": "item-credstick", "name": "Credstick", "value": 500}],
        "location": {"id": "loc-temple-district", "zone": "main-plaza", "arrived": 245}
    })
}

fn text(store: &Arc<dyn Store>, file: &str) -> String {
    let path = FilePath::parse(&format!("sessions/active/session-abc123/{file}")).unwrap();
    String::from_utf8(store.read(&path, 0..u64::MAX).unwrap()).unwrap()
}

/// Whether everything in `part` is also in `whole`.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|other| holds(other, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(a, b)| holds(a, b))
        }
        _ => whole == part,
    }
}

/// A session with the world and the player of the document.
fn new_session() -> NewGame {
    let mut new = NewGame::new(id("session-abc123"));
    new.player_name = "Protagonist".to_owned();
    new.character = Some("char-xyz789".to_owned());
    let config = json!({"theme": "cyberpunk", "difficulty": "normal", "seed": 12345, "llmModel": "granite4:latest"});
    new.config = JsonTree::from_value(&config).unwrap();
    new.world = Some(JsonTree::from_value(&world()).unwrap());
    new.player = Some(JsonTree::from_value(&player()).unwrap());
    new
}

/// The same, at turn 200, in scene 11.
fn played() -> (Arc<dyn Store>, GameWriter) {
    let store = memory();
    let mut game = GameWriter::create(Arc::clone(&store), &new_session(), at(0)).unwrap();
    for _ in 0..10 {
        game.start_scene(&NewScene::new("travel"), at(1)).unwrap();
        game.end_scene(&SceneEnd::default(), at(2)).unwrap();
    }
    game.start_scene(&NewScene::new("social"), at(3)).unwrap();
    while game.turn() < 200 {
        game.append(&TurnInput::new("player"), at(4)).unwrap();
    }
    (store, game)
}

const TURNS: [&str; 3] = [
    r#"{"turnId":201,"sceneId":"scene-011","actor":"player","timestamp":1732557000000,"gameTime":{"day":3,"timeOfDay":"afternoon"},"actions":[{"type":"travel","destination":"loc-temple-district"}],"events":[{"eventId":"abc123-201-1","type":"travel","description":"You make your way through the crowded streets..."}],"stateChanges":[{"type":"scene_end","sceneId":"scene-011"}]}"#,
    r#"{"turnId":202,"sceneId":"scene-012","actor":"gm","timestamp":1732557001000,"gameTime":{"day":3,"timeOfDay":"afternoon"},"actions":[],"events":[{"eventId":"abc123-202-1","type":"scene_start","description":"Temple District unfolds before you..."}],"stateChanges":[{"type":"scene_start","sceneId":"scene-012"}]}"#,
    r#"{"turnId":203,"sceneId":"scene-012","actor":"player","timestamp":1732557005000,"gameTime":{"day":3,"timeOfDay":"afternoon"},"actions":[{"type":"move","zone":"market-stalls"},{"type":"interact","target":"npc-vendor-incense"}],"events":[{"eventId":"abc123-203-1","type":"move","description":"You walk toward the market stalls"},{"eventId":"abc123-203-2","type":"interact","description":"The vendor greets you warmly..."}],"stateChanges":[{"type":"player_zone","zone":"market-stalls"}]}"#,
];

const DELTAS: [&str; 3] = [
    r#"{"deltaId":"delta-abc123-201-1","turnId":201,"eventId":"abc123-201-1","timestamp":1732557000000,"scope":"world","deltas":[{"op":"set","path":"npcs.npc-khaosbyte.currentLocation","value":"loc-temple-district","previousValue":"loc-hacker-cafe"}]}"#,
    r#"{"deltaId":"delta-abc123-203-1","turnId":203,"eventId":"abc123-203-1","timestamp":1732557005000,"scope":"player","deltas":[{"op":"set","path":"location.zone","value":"market-stalls","previousValue":"main-plaza"}]}"#,
    r#"{"deltaId":"delta-abc123-203-2","turnId":203,"eventId":"abc123-203-2","timestamp":1732557006000,"scope":"world","deltas":[{"op":"push","path":"npcs.npc-vendor-incense.knownFacts","value":"met-player"},{"op":"increment","path":"npcs.npc-vendor-incense.relationship","value":5}]}"#,
];

/// A turn of the document as somebody would give it, with its changes.
fn given(turn: &str, deltas: &[&str]) -> TurnInput {
    let mut turn: Value = serde_json::from_str(turn).unwrap();
    turn["deltas"] =
        deltas.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    TurnInput::parse(&turn.to_string()).unwrap()
}

/// Besides the changes that the document shows, there are those of the scenes.
#[track_caller]
fn assert_documented(deltas: &str) {
    let read = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let lines = deltas.lines().map(read).filter(|line| line["scope"] != "scene");
    let lines: Vec<Value> = lines.collect();
    assert_eq!(lines.len(), DELTAS.len());
    for (line, expected) in lines.iter().zip(DELTAS.map(read)) {
        assert!(holds(line, &expected), "{line} lacks something of {expected}");
    }
}

#[test]
fn the_examples_of_the_document_are_stored_as_it_shows_them() {
    let (store, mut game) = played();
    game.append(&given(TURNS[0], &DELTAS[..1]), at(5)).unwrap();
    game.append(&given(TURNS[1], &[]), at(6)).unwrap();
    game.append(&given(TURNS[2], &DELTAS[1..]), at(7)).unwrap();
    game.close(at(8)).unwrap();

    let turns = text(&store, "turns/turns-0201-current.jsonl");
    assert_eq!(turns.lines().collect::<Vec<_>>(), TURNS);
    let deltas = text(&store, "deltas/deltas-current.jsonl");
    assert_documented(&deltas);

    let meta: Value = serde_json::from_str(&text(&store, "session.meta.json")).unwrap();
    let expected = json!({
        "sessionId": "session-abc123", "version": "1.0.0", "status": "active",
        "config": {"theme": "cyberpunk", "difficulty": "normal", "seed": 12345, "llmModel": "granite4:latest"},
        "player": {"name": "Protagonist", "characterId": "char-xyz789"},
        "current": {"turnId": 203, "sceneId": "scene-012", "locationId": "loc-temple-district", "gameDay": 3, "gameTimeOfDay": "afternoon"},
        "files": {
            "worldState": "world.state.json", "playerState": "player.state.json",
            "currentScene": "scenes/scene-012.json", "currentTurns": "turns/turns-0201-current.jsonl", "currentDeltas": "deltas/deltas-current.jsonl"
        },
        "stats": {"totalTurns": 203, "totalScenes": 12, "npcsEncountered": 2}
    });
    assert!(holds(&meta, &expected), "{meta:#}");
    let keys: Vec<&String> = meta.as_object().unwrap().keys().take(11).collect();
    let documented = [
        "sessionId",
        "version",
        "created",
        "lastModified",
        "status",
        "config",
        "player",
        "current",
        "files",
        "deltaStats",
        "stats",
    ];
    assert_eq!(keys, documented);
    assert_eq!(checked(&store, "session-abc123"), []);
    assert_indexes_true(&store, "session-abc123");
}

/// A session that begins with scene 11 and goes on as the document shows it has all the files of its tree, and
/// nothing is wrong with it, before and after it is closed.
#[test]
fn a_session_of_the_examples_has_every_file_of_the_tree_and_nothing_is_wrong_with_it() {
    let store = memory();
    let mut game = GameWriter::create(Arc::clone(&store), &new_session(), at(0)).unwrap();
    let eleventh = json!({"sceneId": "scene-011", "type": "travel"});
    game.start_scene(&NewScene::parse(&eleventh.to_string()).unwrap(), at(1)).unwrap();
    let quiet = json!({"actor": "player", "deltas": [{"scope": "world", "deltas": [
        {"op": "increment", "path": "npcs.npc-khaosbyte.relationship", "value": 1}]}]});
    while game.turn() < 200 {
        game.append(&TurnInput::parse(&quiet.to_string()).unwrap(), at(2)).unwrap();
    }
    game.append(&given(TURNS[0], &DELTAS[..1]), at(5)).unwrap();
    game.append(&given(TURNS[1], &[]), at(6)).unwrap();
    game.append(&given(TURNS[2], &DELTAS[1..]), at(7)).unwrap();
    assert_eq!(checked(&store, "session-abc123"), []);
    let last = game.state().clone();
    game.close(at(8)).unwrap();
    assert_eq!(checked(&store, "session-abc123"), []);
    assert_true(&store, "session-abc123");
    let session = Session::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    let mut there = names(&session, &store);
    there.sort();
    let tree = [
        "deltas/deltas-0001-0100.jsonl",
        "deltas/deltas-0101-0200.jsonl",
        "deltas/deltas-current.jsonl",
        "indexes/delta-index.json",
        "indexes/event-index.json",
        "indexes/scene-index.json",
        "indexes/turn-index.json",
        "player.state.json",
        "scenes/scene-011.json",
        "scenes/scene-012.json",
        "session.meta.json",
        "snapshots/snapshot-0000.json",
        "snapshots/snapshot-0100.json",
        "snapshots/snapshot-0200.json",
        "snapshots/snapshot-0201.json",
        "turns/turns-0001-0100.jsonl",
        "turns/turns-0101-0200.jsonl",
        "turns/turns-0201-current.jsonl",
        "world.state.json",
    ];
    assert_eq!(there, tree);
    assert_documented(&text(&store, "deltas/deltas-current.jsonl"));
    assert_eq!(text(&store, "turns/turns-0201-current.jsonl").lines().collect::<Vec<_>>(), TURNS);
    assert!(session.state_at(203).unwrap().state.is_same(&last));
    let read = |file: &str| -> Value { serde_json::from_str(&text(&store, file)).unwrap() };
    let scenes = read("indexes/scene-index.json");
    assert_eq!(scenes["totalScenes"], 2);
    let scene = |id: &str, kind: &str, range: Value| json!({"sceneId": id, "type": kind, "turnRange": range, "location": ""});
    let expected = [
        scene("scene-011", "travel", json!([1, 201])),
        scene("scene-012", "exploration", json!([202, null])),
    ];
    assert_eq!(scenes["scenes"], json!(expected));
    let events = read("indexes/event-index.json");
    assert_eq!(events["byType"], json!({"scene_start": 2, "travel": 1, "move": 1, "interact": 1}));
    let deltas = read("indexes/delta-index.json");
    assert_eq!(deltas["files"][2]["turnRange"], json!([201, 203]));
    assert_eq!(read("indexes/turn-index.json")["totalTurns"], 203);
    let scene = read("scenes/scene-011.json");
    assert_eq!(
        (&scene["status"], &scene["time"]["turnRange"]),
        (&json!("completed"), &json!([1, 201]))
    );
    assert_eq!(read("snapshots/snapshot-0201.json")["reason"], "scene_end");
}

#[test]
fn a_scene_of_the_document_is_stored_as_it_shows_it() {
    let (store, mut game) = played();
    let given = json!({
        "sceneId": "scene-012", "type": "exploration",
        "location": {"id": "loc-temple-district", "name": "Temple District", "description": "Holographic prayer wheels flicker..."},
        "time": {"started": {"day": 3, "timeOfDay": "afternoon", "hour": 15}},
        "aspects": [{"name": "Incense-Filled Air", "freeInvokes": 1}, {"name": "Watchful Monks", "freeInvokes": 0}],
        "npcsPresent": [{"id": "npc-monk-01", "zone": "temple-entrance"}],
        "zones": [{"id": "main-plaza", "name": "Main Plaza", "adjacent": ["temple-entrance"]}],
        "conflict": null
    });
    let (scene, _) =
        game.start_scene(&NewScene::parse(&given.to_string()).unwrap(), at(5)).unwrap();
    assert_eq!(scene.as_str(), "scene-012");
    let stored: Value = serde_json::from_str(&text(&store, "scenes/scene-012.json")).unwrap();
    assert!(holds(&stored, &given), "{stored:#}");
    assert_eq!(stored["status"], "active");
    assert_eq!(stored["time"]["ended"], Value::Null);
    assert_eq!(stored["time"]["turnRange"], json!([202, null]));
    assert_eq!(stored["summary"], json!({"majorEvents": [], "outcomePreview": null}));

    let end = SceneEnd {
        ended: Some(JsonTree::parse(r#"{"day": 3, "timeOfDay": "evening"}"#).unwrap()),
        outcome: Some("The vendor told of the lab.".to_owned()),
        events: vec!["Spoke with incense vendor about local rumors".to_owned()],
        description: String::new(),
    };
    let done = game.end_scene(&end, at(6)).unwrap();
    assert_eq!(done.snapshot.as_deref(), Some("snapshot-0203"));
    let stored: Value = serde_json::from_str(&text(&store, "scenes/scene-012.json")).unwrap();
    assert_eq!(stored["status"], "completed");
    assert_eq!(stored["time"]["ended"], json!({"day": 3, "timeOfDay": "evening"}));
    assert_eq!(stored["time"]["turnRange"], json!([202, 203]));
    assert_eq!(stored["summary"]["outcomePreview"], "The vendor told of the lab.");
    let snapshot: Value =
        serde_json::from_str(&text(&store, "snapshots/snapshot-0203.json")).unwrap();
    assert_eq!(snapshot["reason"], "scene_end");
    assert_eq!(snapshot["activeScene"]["sceneId"], "scene-012");
    for state in ["worldState", "playerState", "activeScene"] {
        let sum = snapshot["checksums"][state].as_str().unwrap();
        assert!(sum.starts_with("sha256:") && sum.len() == 71, "{sum}");
    }
    assert!(game.end_scene(&SceneEnd::default(), at(7)).is_err());
}

#[test]
fn the_scene_at_any_turn_is_the_one_that_was_played() {
    let (store, mut game) = played();
    game.start_scene(&NewScene::new("conflict"), at(5)).unwrap();
    game.release().unwrap();
    let session = Session::open(store, &id("session-abc123")).unwrap();
    let scene = |turn: u64| {
        let scene = session.state_at(turn).unwrap().state.scene;
        (scene.string_at(&["sceneId"]), scene.string_at(&["status"]))
    };
    let is = |id: &str, status: &str| (Some(id.to_owned()), Some(status.to_owned()));
    assert_eq!(scene(0), (None, None));
    assert_eq!(scene(1), is("scene-001", "active"));
    assert_eq!(scene(2), is("scene-001", "completed"));
    assert_eq!(scene(3), is("scene-002", "active"));
    assert_eq!(scene(150), is("scene-011", "active"));
    assert_eq!(scene(201), is("scene-011", "completed"));
    assert_eq!(scene(202), is("scene-012", "active"));
}
