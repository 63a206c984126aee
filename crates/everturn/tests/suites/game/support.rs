//! Sessions to play with.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::check::FindingSink;
use everturn::disk::FileKind;
use everturn::disk::sim::SimDisk;
use everturn::finding::Finding;
use everturn::game::{GameState, GameWriter, NewGame, Session, TurnInput, check_session};
use everturn::names::{FilePath, SessionId};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, MemoryStore, Options, Precondition, Step, Store,
    StoreError, staging_dir, trash_dir,
};
use everturn::tree::JsonTree;
use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    at(0)
}

/// So many seconds after the first turn.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + seconds).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

pub(crate) fn new_session(name: &str) -> NewGame {
    let mut new = NewGame::new(id(name));
    new.config = JsonTree::parse(r#"{"theme": "cyberpunk", "seed": 12345}"#).unwrap();
    let world = r#"{"npcs": {"luna": {"trust": 0, "facts": []}}, "quests": {}, "clock": 0}"#;
    new.world = Some(JsonTree::parse(world).unwrap());
    let player =
        r#"{"name": "Vex", "location": {"id": "loc-1", "zone": "plaza"}, "inventory": []}"#;
    new.player = Some(JsonTree::parse(player).unwrap());
    new
}

pub(crate) fn game(store: &Arc<dyn Store>, name: &str) -> GameWriter {
    GameWriter::create(Arc::clone(store), &new_session(name), now()).unwrap()
}

/// A turn that changes the world and the player in ways that depend on its number.
pub(crate) fn turn(number: u64) -> TurnInput {
    let text = format!(
        r#"{{"actor": "player", "gameTime": {{"day": {day}, "timeOfDay": "noon"}},
            "actions": [{{"type": "move", "zone": "zone-{number}"}}],
            "events": [{{"type": "move", "description": "You walk to zone {number}."}}],
            "deltas": [
              {{"scope": "player", "deltas": [
                {{"op": "set", "path": "location.zone", "value": "zone-{number}"}},
                {{"op": "push", "path": "inventory", "value": {{"id": "item-{number}"}}}}]}},
              {{"scope": "world", "deltas": [
                {{"op": "increment", "path": "npcs.luna.trust", "value": {number}}},
                {{"op": "set", "path": "npcs.npc-{npc}.seen.at", "value": {number}}}]}}]}}"#,
        day = number / 10,
        npc = number % 7,
    );
    TurnInput::parse(&text).unwrap()
}

/// Both kinds of stores, empty.
pub(crate) fn stores() -> [Arc<dyn Store>; 2] {
    [memory(), Arc::new(on_disk(&SimDisk::new()).unwrap())]
}

/// Opens a disk as a process that just started, with a log so small that it is recycled all the time.
pub(crate) fn on_disk(disk: &SimDisk) -> Result<FileStore, StoreError> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 9 << 10, max_log_size: 11 << 10, ..Options::new(owner) };
    FileStore::open(Arc::new(disk.process()), options)
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) type Files = BTreeMap<FilePath, Vec<u8>>;

/// Everybody's files in a store, also those in the trash and in the staging place.
pub(crate) fn files(store: &Arc<dyn Store>) -> Files {
    let mut waiting = vec![path("sessions"), trash_dir(), staging_dir()];
    let mut files = Files::new();
    while let Some(dir) = waiting.pop() {
        if store.stat(&dir).unwrap().is_none() {
            continue;
        }
        for entry in store.list(&dir).unwrap().entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                FileKind::Dir => waiting.push(path),
                _ => drop(files.insert(path.clone(), store.read(&path, 0..u64::MAX).unwrap())),
            }
        }
    }
    files
}

/// The names of the files of a session, below its directory.
pub(crate) fn names(session: &Session, store: &Arc<dyn Store>) -> Vec<String> {
    let top = format!("{}/", session.dir().as_str());
    let inside = |path: &FilePath| path.as_str().strip_prefix(&top).map(str::to_owned);
    files(store).keys().filter_map(inside).collect()
}

pub(crate) fn put(store: &Arc<dyn Store>, file: &str, bytes: &[u8]) {
    let file = path(file);
    let writer = store.lock(&[file.parent().unwrap()]).unwrap();
    let (expect, bytes, mode) = (Precondition::Anything, bytes.to_vec(), FileMode::Default);
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

/// What a check has found.
#[derive(Default)]
struct Noted(Vec<Finding>);

impl FindingSink for Noted {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _file: &FilePath) {}
}

/// What the check of a session finds.
pub(crate) fn checked(store: &Arc<dyn Store>, name: &str) -> Vec<Finding> {
    let mut noted = Noted::default();
    check_session(store, &id(name), &mut noted).unwrap();
    noted.0
}

/// A document of a session that is active.
pub(crate) fn document(store: &Arc<dyn Store>, name: &str, file: &str) -> serde_json::Value {
    let path = path(&format!("sessions/active/{name}/{file}"));
    serde_json::from_slice(&store.read(&path, 0..u64::MAX).unwrap()).unwrap()
}

/// A turn that is given as JSON.
pub(crate) fn given(turn: &serde_json::Value) -> TurnInput {
    TurnInput::parse(&turn.to_string()).unwrap()
}

/// A session with so many turns, given back, and the state after each of them.
pub(crate) fn played(store: &Arc<dyn Store>, name: &str, turns: u64) -> Vec<GameState> {
    let mut game = game(store, name);
    let mut states = vec![game.state().clone()];
    for number in 1..=turns {
        game.append(&turn(number), at(i64::try_from(number).unwrap())).unwrap();
        states.push(game.state().clone());
    }
    game.release().unwrap();
    states
}

/// A session as the program writes it, with so many turns, and the state after each of them.
pub(crate) fn program(store: &Arc<dyn Store>, name: &str, turns: u64) -> Vec<GameState> {
    let dir = format!("sessions/active/{name}");
    let world = r#"{"npcs": {"luna": {"trust": 0}}, "gameTime": {"day": 1}}"#;
    let player = r#"{"location": {"id": "loc-1", "zone": "plaza"}, "inventory": []}"#;
    let line =
        r#"{"turnId":1,"turnNumber":1,"actor":"player","timestamp":1767261600000,"events":[]}"#;
    put(
        store,
        &format!("{dir}/session.meta.json"),
        b"{\n  \"startTime\": 1,\n  \"player\": \"P\"\n}\n",
    );
    put(store, &format!("{dir}/world.state.json"), world.as_bytes());
    put(store, &format!("{dir}/player.state.json"), player.as_bytes());
    put(store, &format!("{dir}/npcs.state.json"), b"{}\n");
    put(store, &format!("{dir}/turns/turns-0001-0100.jsonl"), format!("{line}\n").as_bytes());
    let mut game = GameWriter::open(Arc::clone(store), &id(name)).unwrap();
    assert_eq!(game.session().dialect(), everturn::game::Dialect::Upstream);
    let mut states = vec![game.state().clone(), game.state().clone()];
    for number in 2..=turns {
        game.append(&turn(number), at(i64::try_from(number).unwrap())).unwrap();
        states.push(game.state().clone());
    }
    game.release().unwrap();
    states
}

/// The session has exactly these states, at each of its turns.
#[track_caller]
pub(crate) fn assert_states(store: &Arc<dyn Store>, name: &str, states: &[GameState]) {
    let session = Session::open(Arc::clone(store), &id(name)).unwrap();
    assert_eq!(session.turn() + 1, states.len() as u64, "{name}");
    for (number, expected) in (0..).zip(states) {
        let moment = session.state_at(number).unwrap();
        assert!(moment.state.is_same(expected), "{name}: turn {number}");
        assert_eq!(moment.findings, []);
    }
    let last = session.resume().unwrap();
    assert!(last.state.is_same(&states[states.len() - 1]), "{name}: the state files");
    assert_eq!(last.findings, []);
}
