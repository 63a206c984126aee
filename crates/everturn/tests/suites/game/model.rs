//! Random operations on sessions, against a model that keeps the whole state of every turn.
//!
//! `EVERTURN_MODEL_SEEDS` says how many seeds are tried.

#[path = "../../../../store/tests/store/model/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::game::{
    ArchiveOptions, BranchOptions, GameStatus, GameWriter, ImportOutcome, Migration, NewScene,
    SceneEnd, Session, TurnInput, archive, complete, fork, pause, plan_repair, repair, restore,
    resume, rewind, trash, unarchive,
};
use everturn::names::{SceneId, SessionId};
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use self::random::Random;
use super::support::{at, checked, given, id, memory, names, new_session, on_disk, path, put};

/// How many operations each seed does.
const OPERATIONS: usize = 60;

/// How many seeds are tried, unless somebody wants more.
const SEEDS: u64 = 24;

/// A session as the model has it.
#[derive(Clone)]
struct Twin {
    status: GameStatus,
    archived: bool,
    /// The state after each turn, from turn 0.
    states: Vec<Value>,
    /// What each turn tells, from turn 1.
    told: Vec<String>,
}

struct World {
    store: Arc<dyn Store>,
    random: Random,
    twins: BTreeMap<String, Twin>,
    clock: i64,
    forks: u64,
    scenes: u64,
}

/// The state of a session as a value, without what says when it was written.
fn value(state: &everturn::game::GameState) -> Value {
    let mut value = json!({
        "world": state.world.to_value().unwrap(),
        "player": state.player.to_value().unwrap(),
        "scene": state.scene.to_value().unwrap(),
    });
    for scope in ["world", "player"] {
        value[scope].as_object_mut().unwrap().remove("lastUpdated");
    }
    value
}

/// A scene that begins with a turn of a session, of which nothing else is known.
fn new_scene(id: &str, session: &str, kind: &str, turn: usize) -> Value {
    json!({
        "sceneId": id, "sessionId": session, "type": kind, "status": "active",
        "location": {"id": null, "name": null, "description": null},
        "time": {"started": null, "ended": null, "turnRange": [turn, null]},
        "aspects": [], "npcsPresent": [], "zones": [], "conflict": null,
        "summary": {"majorEvents": [], "outcomePreview": null},
    })
}

/// The state after the scene has ended with a turn, and what that turn tells; nothing if no scene goes on.
fn ended(state: &Value, turn: usize) -> Option<(Value, String)> {
    let mut state = state.clone();
    let scene = &mut state["scene"];
    if scene["status"] != "active" {
        return None;
    }
    let told = format!("Scene {} ends.", scene["sceneId"].as_str().unwrap());
    scene["status"] = json!("completed");
    scene["time"]["ended"] = json!({"turn": turn});
    scene["time"]["turnRange"][1] = json!(turn);
    scene["summary"]["outcomePreview"] = json!(told);
    Some((state, told))
}

impl Twin {
    fn new(start: Value) -> Twin {
        Twin { status: GameStatus::Active, archived: false, states: vec![start], told: Vec::new() }
    }

    fn last(&self) -> &Value {
        self.states.last().unwrap()
    }

    fn add(&mut self, state: Value, told: String) {
        self.states.push(state);
        self.told.push(told);
    }
}

impl World {
    /// One session, which is new or was a single file before.
    fn new(store: Arc<dyn Store>, seed: u64) -> World {
        let (random, twins) = (Random::new(seed), BTreeMap::new());
        let mut world = World { store, random, twins, clock: 1, forks: 0, scenes: 0 };
        let twin = if seed % 3 == 2 { world.migrated() } else { world.created() };
        world.twins.insert("session-one".to_owned(), twin);
        world.compare("session-one");
        world
    }

    /// The state of every session before its first turn.
    fn start() -> Value {
        json!({
            "world": {"worldId": "world-one", "sessionId": "session-one", "count": 0, "flags": {}, "npcs": {}},
            "player": {"characterId": "char-one", "sessionId": "session-one", "name": "Vex", "bag": []},
            "scene": null,
        })
    }

    fn created(&mut self) -> Twin {
        let mut new = new_session("session-one");
        new.world = Some(JsonTree::parse(r#"{"count": 0, "flags": {}, "npcs": {}}"#).unwrap());
        new.player = Some(JsonTree::parse(r#"{"name": "Vex", "bag": []}"#).unwrap());
        GameWriter::create(Arc::clone(&self.store), &new, at(0)).unwrap().release().unwrap();
        Twin::new(World::start())
    }

    /// An old session of one file, with frames that change the state, made into one of today.
    fn migrated(&mut self) -> Twin {
        let mut twin = Twin::new(World::start());
        let mut frames = Vec::new();
        for number in 0..self.random.below(150) {
            let (turn, after) = self.turn(&twin.last().clone());
            frames.push(json!({"frameId": number + 1, "actor": "player",
                "timestamp": self.now().as_millisecond(), "events": turn["events"], "deltas": turn["deltas"]}));
            twin.add(after, turn["events"][0]["description"].as_str().unwrap().to_owned());
        }
        let (first, last) = (World::start(), twin.last());
        let first =
            json!({"frame": 0, "state": {"world": first["world"], "player": first["player"]}});
        let old = json!({"sessionId": "session-one", "status": "active", "worldState": last["world"],
            "player": last["player"], "frames": frames, "checkpoints": [first]});
        let migration = Migration::read(old.to_string().as_bytes(), None, at(0)).unwrap();
        assert_eq!(migration.import(&self.store, at(0)).unwrap(), ImportOutcome::New);
        twin
    }

    fn now(&mut self) -> jiff::Timestamp {
        self.clock += 1;
        at(self.clock)
    }

    /// A change that fits, made in the model, too.
    fn change(&mut self, after: &mut Value) -> Value {
        let number = self.random.below(1000);
        let flag = format!("f{}", self.random.below(6));
        let is_set = after["world"]["flags"].get(&flag).is_some();
        let (scope, delta) = match self.random.below(6) {
            0 => {
                let sum = after["world"]["count"].as_u64().unwrap() + number as u64;
                after["world"]["count"] = json!(sum);
                ("world", json!({"op": "increment", "path": "count", "value": number}))
            }
            1 if is_set => {
                after["world"]["flags"].as_object_mut().unwrap().remove(&flag);
                ("world", json!({"op": "delete", "path": ["flags", flag]}))
            }
            2 => {
                after["player"]["bag"].as_array_mut().unwrap().push(json!({"id": number % 5}));
                ("player", json!({"op": "push", "path": "bag", "value": {"id": number % 5}}))
            }
            3 => {
                after["player"]["bag"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|item| item["id"] != number % 5);
                ("player", json!({"op": "pull", "path": "bag", "value": {"id": number % 5}}))
            }
            4 if after["scene"].is_object() => {
                after["scene"]["mood"] = json!(number);
                ("scene", json!({"op": "set", "path": "mood", "value": number}))
            }
            _ => {
                let since = json!({"since": {"turn": number}});
                after["world"]["flags"][&flag] = since.clone();
                ("world", json!({"op": "set", "path": format!("flags.{flag}"), "value": since}))
            }
        };
        json!({"scope": scope, "deltas": [delta]})
    }

    /// A turn that can be stored, and the state that it leads to.
    fn turn(&mut self, state: &Value) -> (Value, Value) {
        let mut after = state.clone();
        let count = self.random.below(4);
        let groups: Vec<Value> = (0..count).map(|_| self.change(&mut after)).collect();
        let told = format!("Something happens {}.", self.random.below(1_000_000));
        let kinds = ["move", "talk", "conflict_end", "quest_complete", "talk", "move", "move"];
        let kind = *self.random.pick(&kinds);
        let events = json!([{"type": kind, "description": told}]);
        (json!({"actor": "player", "events": events, "deltas": groups}), after)
    }

    fn append(&mut self, name: &str) {
        let mut game = GameWriter::open(Arc::clone(&self.store), &id(name)).unwrap();
        for _ in 0..=self.random.below(30) {
            let state = self.twins[name].states.last().unwrap().clone();
            let (turn, after) = self.turn(&state);
            let now = self.now();
            if self.random.once_in(10) {
                let mut bad = turn.clone();
                let wrong = json!({"op": "increment", "path": "no.such", "value": 1});
                bad["deltas"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({"scope": "world", "deltas": [wrong]}));
                assert!(game.append(&TurnInput::parse(&bad.to_string()).unwrap(), now).is_err());
                assert_eq!(value(game.state()), state);
            }
            let done = game.append(&TurnInput::parse(&turn.to_string()).unwrap(), now).unwrap();
            assert!(done.deferred_error.is_none());
            let told = turn["events"][0]["description"].as_str().unwrap().to_owned();
            let twin = self.twins.get_mut(name).unwrap();
            assert_eq!(done.turn, twin.states.len() as u64);
            twin.states.push(after);
            twin.told.push(told);
        }
        let done = if self.random.once_in(2) { game.close(at(self.clock)) } else { game.release() };
        done.unwrap();
    }

    /// A turn that is not given as changes: a scene, an undo; or a snapshot, which is none.
    fn other_turn(&mut self, name: &str) {
        let now = self.now();
        let mut game = GameWriter::open(Arc::clone(&self.store), &id(name)).unwrap();
        self.scenes += 1;
        let scene = format!("scene-{:03}", 100 + self.scenes);
        let twin = self.twins.get_mut(name).unwrap();
        let (next, over) = (twin.states.len(), ended(twin.last(), twin.states.len()));
        let in_scene = |kind: &str, turn: usize, mut state: Value| {
            state["scene"] = new_scene(&scene, name, kind, turn);
            state
        };
        match self.random.below(5) {
            0 => {
                let mut new = NewScene::new("social");
                new.id = Some(SceneId::parse(&scene).unwrap());
                game.start_scene(&new, now).unwrap();
                if let Some((state, told)) = over {
                    twin.add(state, told);
                }
                let begun = in_scene("social", twin.states.len(), twin.last().clone());
                twin.add(begun, format!("Scene {scene} begins."));
            }
            1 => {
                assert_eq!(game.end_scene(&SceneEnd::default(), now).is_ok(), over.is_some());
                if let Some((state, told)) = over {
                    twin.add(state, told);
                }
            }
            2 => {
                let event = json!({"type": "scene_start", "description": "Elsewhere."});
                let turn = json!({"actor": "gm", "sceneId": scene, "events": [event]});
                game.append(&given(&turn), now).unwrap();
                let begun = in_scene("exploration", next, twin.last().clone());
                twin.add(begun, "Elsewhere.".to_owned());
            }
            3 => drop(game.snapshot(now).unwrap()),
            _ => {
                let last = next - 1;
                let count = (1 + self.random.below(5)).min(last);
                assert_eq!(game.undo(count as u64, now).is_ok(), count > 0);
                let told = match count {
                    1 => format!("Turn {last} was undone."),
                    _ => format!("Turns {} to {last} were undone.", next - count),
                };
                if count > 0 {
                    twin.add(twin.states[last - count].clone(), told);
                }
            }
        }
        assert_eq!(&value(game.state()), twin.last());
        let done = if self.random.once_in(2) { game.close(now) } else { game.release() };
        done.unwrap();
    }

    /// Damages something that follows from the logs, and mends it.
    fn repair(&mut self, name: &str) {
        let now = self.now();
        let session = self.open(name);
        let mut files = names(&session, &self.store);
        let derived = |file: &String| {
            let below = |dir: &str| file.starts_with(dir);
            let state = file == "world.state.json" || file == "player.state.json";
            let snapshot = below("snapshots/") && !below("snapshots/archived/");
            let start = file == "snapshots/snapshot-0000.json";
            state || below("indexes/") || below("scenes/") || (snapshot && !start)
        };
        files.retain(derived);
        let file = format!("{}/{}", session.dir(), self.random.pick(&files));
        let bytes = self.store.read(&path(&file), 0..u64::MAX).unwrap();
        let kept = self.random.below(bytes.len());
        put(&self.store, &file, &bytes[..kept]);
        repair(&self.store, &id(name), now).unwrap();
        self.compare_whole(name);
    }

    fn branch(&mut self, name: &str) {
        let now = self.now();
        let kept = self.random.below(self.twins[name].states.len());
        let turn = kept as u64;
        let mut cut = self.twins[name].clone();
        cut.states.truncate(kept + 1);
        cut.told.truncate(kept);
        let is_last = kept + 1 == self.twins[name].states.len();
        // There is nothing to go back from at the last turn.
        if is_last || self.random.once_in(2) {
            self.forks += 1;
            let new = format!("fork-{}", self.forks);
            let how = BranchOptions::new(id(&new), turn);
            fork(&self.store, &id(name), &how, now, &mut |_| {}).unwrap();
            cut.status = self.open(&new).status();
            self.twins.insert(new, cut);
        } else {
            let how = BranchOptions::rewind_to(turn);
            let done = rewind(&self.store, &id(name), &how, now, &mut |_| {}).unwrap();
            let mut whole = self.twins[name].clone();
            whole.status = self.open(done.branch.as_str()).status();
            self.twins.insert(done.branch.to_string(), whole);
            self.twins.insert(name.to_owned(), cut);
        }
    }

    fn move_on(&mut self, name: &str) {
        let (now, session, how) = (self.now(), id(name), ArchiveOptions::default());
        let (rarely, often) = (self.random.once_in(3), self.random.once_in(2));
        let store = &self.store;
        let twin = self.twins.get_mut(name).unwrap();
        match twin.status {
            _ if twin.archived => {
                unarchive(store, &session, &how, now, &mut |_| {}).unwrap();
                twin.archived = false;
            }
            GameStatus::Active => {
                pause(store, &session, now).unwrap();
                twin.status = GameStatus::Paused;
            }
            GameStatus::Paused if rarely => {
                complete(store, &session, now).unwrap();
                twin.status = GameStatus::Completed;
            }
            GameStatus::Paused => {
                resume(store, &session, now).unwrap();
                twin.status = GameStatus::Active;
            }
            GameStatus::Completed if often => {
                archive(store, &session, &how, now, &mut |_| {}).unwrap();
                twin.archived = true;
            }
            GameStatus::Completed => {
                let thrown = trash(store, &session, now).unwrap();
                assert!(Session::open(Arc::clone(store), &session).is_err());
                restore(store, &thrown.name).unwrap();
            }
        }
    }

    fn open(&self, name: &str) -> Session {
        Session::open(Arc::clone(&self.store), &SessionId::parse(name).unwrap()).unwrap()
    }

    fn step(&mut self) {
        let names: Vec<String> = self.twins.keys().cloned().collect();
        let name = self.random.pick(&names).clone();
        let Twin { status, archived, .. } = self.twins[&name];
        let plays = status == GameStatus::Active && !archived;
        match self.random.below(11) {
            0..=4 if plays => self.append(&name),
            5..=6 if plays => self.other_turn(&name),
            7 if plays && self.twins.len() < 6 => self.branch(&name),
            8 if !archived => self.repair(&name),
            _ => self.move_on(&name),
        }
        self.compare(&name);
    }

    /// The session is what the model says, at its last turn and at one that is picked.
    fn compare(&mut self, name: &str) {
        let twin = self.twins[name].clone();
        if twin.archived {
            assert!(Session::open(Arc::clone(&self.store), &id(name)).is_err());
            return;
        }
        let session = self.open(name);
        let last = twin.states.len() - 1;
        assert_eq!((session.turn(), session.status()), (last as u64, twin.status), "{name}");
        assert_eq!(value(&session.resume().unwrap().state), twin.states[last], "{name}");
        let turn = self.random.below(last + 1);
        let moment = session.state_at(turn as u64).unwrap();
        assert_eq!(moment.findings, []);
        assert_eq!(value(&moment.state), twin.states[turn], "{name}, turn {turn}");
    }

    /// A session is what the model says, at every turn, and check finds nothing wrong with it.
    fn compare_whole(&self, name: &str) {
        let (session, twin) = (self.open(name), &self.twins[name]);
        let mut replay = session.replay(1).unwrap();
        for (state, told) in twin.states.iter().skip(1).zip(&twin.told) {
            let frame = replay.next().unwrap().unwrap();
            assert_eq!(frame.turn.text(), *told, "{name}, turn {}", frame.turn.turn);
            assert_eq!(value(replay.state()), *state, "{name}, turn {}", frame.turn.turn);
        }
        assert!(replay.next().is_none());
        assert_eq!(replay.take_findings(), []);
        assert_eq!(value(&session.resume().unwrap().state), *twin.last(), "{name}");
        assert_eq!(checked(&self.store, name), [], "{name}");
        assert!(plan_repair(&self.store, &id(name)).unwrap().actions.is_empty(), "{name}");
    }

    /// All sessions are what the model says.
    fn compare_all(&self) {
        for (name, _) in self.twins.iter().filter(|(_, twin)| !twin.archived) {
            self.compare_whole(name);
        }
    }
}

#[test]
fn random_operations_on_sessions_do_what_the_model_does() {
    #[expect(clippy::disallowed_methods, reason = "a longer run is asked for from outside")]
    let seeds = std::env::var("EVERTURN_MODEL_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    for seed in 0..seeds {
        let disk = SimDisk::new();
        let store: Arc<dyn Store> =
            if seed % 4 == 0 { Arc::new(on_disk(&disk).unwrap()) } else { memory() };
        let mut world = World::new(store, seed);
        for _ in 0..OPERATIONS {
            world.step();
        }
        world.compare_all();
    }
}
