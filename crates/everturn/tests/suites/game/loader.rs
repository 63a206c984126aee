//! Everything that Everturn writes, read by the loader that the document of the format describes: a script of its own
//! that knows nothing of Everturn. After every operation it must give the state at every turn, from the indexes, the
//! snapshots and the changes, and the last state from the four files.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use everturn::game::{
    BranchOptions, GameState, GameWriter, NewScene, SceneEnd, Session, fork, pause, resume, rewind,
};
use everturn::names::FilePath;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::support::{at, checked, files, game, given, id, memory};

/// The loader, running.
struct Loader {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The files as the loader knows them.
    known: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The states as the loader knows them.
    sent: BTreeMap<String, BTreeMap<u64, Value>>,
}

impl Loader {
    fn start() -> Loader {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/game/seed/loader.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Loader { child, input, output, known: BTreeMap::new(), sent: BTreeMap::new() }
    }

    /// What the loader finds wrong with a session that has these states. States before `from` are not compared.
    fn wrong(
        &mut self,
        session: &Session,
        store: &Arc<dyn Store>,
        states: &BTreeMap<u64, Value>,
        from: u64,
    ) -> Vec<String> {
        let top = format!("{}/", session.dir().as_str());
        let inside = |(path, bytes): (FilePath, Vec<u8>)| {
            path.as_str().strip_prefix(&top).map(|name| (name.to_owned(), bytes))
        };
        let now: BTreeMap<String, Vec<u8>> = files(store).into_iter().filter_map(inside).collect();
        let name = session.id().to_string();
        let known = self.known.entry(name.clone()).or_default();
        let mut changed = serde_json::Map::new();
        for gone in known.keys().filter(|name| !now.contains_key(*name)) {
            changed.insert(gone.clone(), Value::Null);
        }
        for (name, bytes) in now.iter().filter(|(name, bytes)| known.get(*name) != Some(bytes)) {
            changed.insert(name.clone(), String::from_utf8(bytes.clone()).unwrap().into());
        }
        *known = now;
        let sent = self.sent.entry(name.clone()).or_default();
        let news = states.iter().filter(|(turn, state)| sent.get(turn) != Some(state));
        let news: serde_json::Map<String, Value> =
            news.map(|(turn, state)| (turn.to_string(), state.clone())).collect();
        sent.clone_from(states);
        let line = json!({"name": name, "files": changed, "states": news, "turn": session.turn(), "from": from});
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

fn value(state: &GameState) -> Value {
    let part = |tree: &JsonTree| {
        let mut part: Value = serde_json::from_str(&tree.to_line()).unwrap();
        // The time at which a file was written is not part of the state.
        part.as_object_mut().map(|members| members.remove("lastUpdated"));
        part
    };
    json!({"world": part(&state.world), "player": part(&state.player), "scene": part(&state.scene)})
}

/// A small generator: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A change that fits the states of this suite, or does not: then the turn is refused.
fn delta(dice: &mut Dice) -> (&'static str, Value) {
    let item = format!("item-{}", dice.roll(4));
    let npc = format!("npcs.npc-{}", dice.roll(4));
    let index = dice.roll(3);
    match dice.roll(16) {
        0 => (
            "world",
            json!({"op": "set", "path": format!("{npc}.seen.at"), "value": dice.roll(99)}),
        ),
        1 => {
            ("world", json!({"op": "increment", "path": "npcs.luna.trust", "value": dice.roll(9)}))
        }
        2 => ("world", json!({"op": "increment", "path": "npcs.luna.trust", "value": 0.25})),
        3 => ("world", json!({"op": "push", "path": "npcs.luna.facts", "value": item})),
        4 => ("world", json!({"op": "pull", "path": "npcs.luna.facts", "value": item})),
        5 => ("world", json!({"op": "delete", "path": npc})),
        6 => ("world", json!({"op": "delete", "path": format!("npcs.luna.facts.{index}")})),
        7 => ("player", json!({"op": "push", "path": "inventory", "value": {"id": item}})),
        8 => ("player", json!({"op": "pull", "path": "inventory", "value": {"id": item}})),
        9 => ("player", json!({"op": "delete", "path": ["inventory", index.to_string()]})),
        10 => ("player", json!({"op": "set", "path": ["location", "zone"], "value": item})),
        11 => ("player", json!({"op": "set", "path": "bag", "value": [1, "1", true, null, 1]})),
        12 => ("player", json!({"op": "pull", "path": "bag", "value": 1})),
        13 => ("player", json!({"op": "push", "path": "bag", "value": null})),
        14 => (
            "player",
            json!({"op": "set", "path": [], "value":
            {"name": "Vex", "inventory": [{"id": item}], "bag": [], "location": {"id": "loc-2", "zone": "x"}}}),
        ),
        _ => ("scene", json!({"op": "push", "path": "aspects", "value": {"name": item}})),
    }
}

fn turn(dice: &mut Dice) -> Value {
    let kinds =
        ["move", "talk", "quest_progress", "conflict_end", "milestone", "move", "move", "move"];
    let kind = kinds[usize::try_from(dice.roll(8)).unwrap()];
    let groups: Vec<Value> = (0..dice.roll(3))
        .map(|_| {
            let (scope, delta) = delta(dice);
            json!({"scope": scope, "deltas": [delta]})
        })
        .collect();
    json!({"actor": "player", "events": [{"type": kind, "description": "It happens."}], "deltas": groups})
}

/// One session that operations change, and what is known about it.
struct Table {
    store: Arc<dyn Store>,
    name: String,
    states: BTreeMap<u64, Value>,
    clock: i64,
}

impl Table {
    fn new(name: &str) -> Table {
        let store = memory();
        let game = game(&store, name);
        let states = BTreeMap::from([(0, value(game.state()))]);
        game.close(at(0)).unwrap();
        Table { store, name: name.to_owned(), states, clock: 0 }
    }

    fn session(&self) -> Session {
        Session::open(Arc::clone(&self.store), &id(&self.name)).unwrap()
    }

    /// Does something, and returns what it was.
    fn act(&mut self, dice: &mut Dice) -> &'static str {
        self.clock += 1;
        let (now, last) = (at(self.clock), self.session().turn());
        match dice.roll(24) {
            0 if last > 0 => {
                let (keep, name) = (dice.roll(last), id(&self.name));
                rewind(&self.store, &name, &BranchOptions::rewind_to(keep), now, &mut |_| {})
                    .unwrap();
                self.states.split_off(&(keep + 1));
                return "rewind";
            }
            1 => {
                let (turn, other) = (dice.roll(last + 1), format!("{}-f{}", self.name, self.clock));
                let how = BranchOptions::new(id(&other), turn);
                fork(&self.store, &id(&self.name), &how, now, &mut |_| {}).unwrap();
                self.name = other;
                self.states.split_off(&(turn + 1));
                return "fork";
            }
            2 => {
                pause(&self.store, &id(&self.name), now).unwrap();
                resume(&self.store, &id(&self.name), now).unwrap();
                return "pause";
            }
            _ => {}
        }
        let mut game = GameWriter::open(Arc::clone(&self.store), &id(&self.name)).unwrap();
        let what = match dice.roll(12) {
            0 => {
                game.start_scene(&NewScene::new("social"), now).unwrap();
                "scene start"
            }
            1 => {
                drop(game.end_scene(&SceneEnd::default(), now));
                "scene end"
            }
            2 | 3 if last > 0 => {
                game.undo(1 + dice.roll(last.min(4)), now).unwrap();
                "undo"
            }
            4 => {
                game.snapshot(now).unwrap();
                "snapshot"
            }
            5 => {
                for _ in 0..dice.roll(30) {
                    if game.append(&given(&turn(dice)), now).is_ok() {
                        self.states.insert(game.turn(), value(game.state()));
                    }
                }
                "turns"
            }
            _ => {
                drop(game.append(&given(&turn(dice)), now));
                "turn"
            }
        };
        self.states.insert(game.turn(), value(game.state()));
        if game.turn() > last + 1 && what == "scene start" {
            // It has ended the scene before.
            let before = game.session().state_at(game.turn() - 1).unwrap();
            self.states.insert(game.turn() - 1, value(&before.state));
        }
        game.close(now).unwrap();
        what
    }
}

/// Plays with sessions, and compares after every operation.
fn play(seeds: std::ops::Range<u64>, operations: u64) {
    let mut loader = Loader::start();
    let mut done = BTreeMap::new();
    for seed in seeds {
        let mut dice = Dice(seed);
        let mut table = Table::new(&format!("session-{seed}"));
        for number in 0..operations {
            let what = table.act(&mut dice);
            *done.entry(what).or_insert(0) += 1;
            let session = table.session();
            let wrong = loader.wrong(&session, &table.store, &table.states, 0);
            assert_eq!(wrong, [""; 0], "seed {seed}, operation {number}: {what}");
            let last = session.resume().unwrap();
            assert_eq!(
                value(&last.state),
                table.states[&session.turn()],
                "seed {seed}, operation {number}"
            );
            let turn = dice.roll(session.turn() + 1);
            let then = session.state_at(turn).unwrap();
            assert_eq!(
                value(&then.state),
                table.states[&turn],
                "seed {seed}, operation {number}: turn {turn}"
            );
            assert_eq!(
                checked(&table.store, &table.name),
                [],
                "seed {seed}, operation {number}: {what}"
            );
        }
    }
    println!("the loader of the document agrees after {done:?}");
}

#[test]
fn the_loader_of_the_document_reads_everything_that_is_written() {
    play(0..40, 50);
}

/// In a long session, so that files are full, snapshots are due and indexes are thinned.
#[test]
fn the_loader_of_the_document_reads_a_long_session() {
    let (mut loader, mut dice) = (Loader::start(), Dice(7));
    let mut table = Table::new("session-long");
    for _ in 0..3 {
        let mut game = GameWriter::open(Arc::clone(&table.store), &id(&table.name)).unwrap();
        while game.turn() % 100 != 98 {
            let mut turn = turn(&mut dice);
            turn["events"] = json!([{"type": "move", "description": "On."}]);
            if game.append(&given(&turn), at(0)).is_ok() {
                table.states.insert(game.turn(), value(game.state()));
            }
        }
        game.close(at(0)).unwrap();
        // One by one over the end of the file.
        for _ in 0..5 {
            let mut game = GameWriter::open(Arc::clone(&table.store), &id(&table.name)).unwrap();
            drop(game.append(&given(&turn(&mut dice)), at(0)));
            table.states.insert(game.turn(), value(game.state()));
            game.close(at(0)).unwrap();
            assert_eq!(loader.wrong(&table.session(), &table.store, &table.states, 0), [""; 0]);
        }
    }
    assert!(table.session().turn() > 290);
}
