//! Changes that programs of the upstream dialect store in different ways.

use std::sync::Arc;

use everturn::game::GameWriter;
use everturn::names::FilePath;
use everturn::store::{Durability, Store};
use serde_json::{Value, json};

use super::program::{DIR, change, document, lines, say, session, turn};
use super::support::{at, id, memory};

/// A session with these changes, one for each turn, and a snapshot of the program of turn 0.
fn chain(changes: &[Value], player: &Value, first: &Value) -> Arc<dyn Store> {
    let store = memory();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let time = |turn: usize| i64::try_from(turn).unwrap() * 1000;
    let numbers = 1..=changes.len();
    let turns: Vec<Value> =
        numbers.clone().map(|number| turn(number as u64, time(number), &json!({}))).collect();
    let changes: Vec<Value> = numbers
        .zip(changes)
        .map(|(number, rest)| change(number as u64, 1, time(number), rest))
        .collect();
    let steps = vec![
        document("session.meta.json", &json!({"startTime": 1, "player": "Player"})),
        document("world.state.json", &json!({})),
        document("player.state.json", player),
        document(
            "snapshots/snapshot-turn-0000.json",
            &json!({"sessionId": "1732557000000", "turnId": 0, "state": {"world": {}, "player": first, "npcs": {}}}),
        ),
        lines("turns/turns-0001-0100.jsonl", &turns),
        lines("deltas/deltas-0001-0100.jsonl", &changes),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    store
}

/// The player after each turn, as a replay shows it, which must be the state at that turn.
fn players(store: &Arc<dyn Store>) -> Vec<String> {
    let session = session(store);
    let mut replay = session.replay(1).unwrap();
    let mut players = Vec::new();
    while let Some(frame) = replay.next() {
        let player = replay.state().player.to_line();
        let there = session.state_at(frame.unwrap().turn.turn).unwrap();
        assert_eq!(there.state.player.to_line(), player);
        players.push(player);
    }
    players
}

#[test]
fn a_chain_of_increments_shows_whether_its_values_are_amounts() {
    let step = |operation: &str, previous: i64, new: i64| {
        json!({"target": "player", "operation": operation, "path": ["gold"], "previousValue": previous,
            "newValue": new, "cause": "loot"})
    };
    let amounts = [step("increment", 10, 1), step("decrement", 11, 4), step("increment", 7, 2)];
    let store = chain(&amounts, &json!({"gold": 9}), &json!({"gold": 10}));
    assert_eq!(players(&store), [r#"{"gold":11}"#, r#"{"gold":7}"#, r#"{"gold":9}"#]);
    let totals = [step("increment", 10, 11), step("decrement", 11, 7), step("increment", 7, 9)];
    let store = chain(&totals, &json!({"gold": 9}), &json!({"gold": 10}));
    assert_eq!(players(&store), [r#"{"gold":11}"#, r#"{"gold":7}"#, r#"{"gold":9}"#]);
    // A single increment: the state shows it.
    let store = chain(&[step("increment", 10, 5)], &json!({"gold": 15}), &json!({"gold": 10}));
    assert_eq!(players(&store), [r#"{"gold":15}"#]);
    let store = chain(&[step("increment", 10, 15)], &json!({"gold": 15}), &json!({"gold": 10}));
    assert_eq!(players(&store), [r#"{"gold":15}"#]);
}

#[test]
fn remove_takes_the_first_equal_element() {
    let remove = json!({"target": "player", "operation": "remove", "path": ["bag"], "newValue": "rope",
        "previousValue": null, "cause": "used"});
    let first = json!({"bag": ["rope", "lamp", "rope", "rope"]});
    let last = json!({"bag": ["lamp", "rope"]});
    let store = chain(&[remove.clone(), remove], &last, &first);
    assert_eq!(
        players(&store),
        [r#"{"bag":["lamp","rope","rope"]}"#, r#"{"bag":["lamp","rope"]}"#]
    );
}

/// What Everturn stores must mean the same to the program: its `remove` takes one element, and increments are read in
/// two ways.
#[test]
fn changes_are_stored_so_that_every_reader_of_the_dialect_agrees() {
    let same = json!({"target": "player", "operation": "set", "path": ["gold"], "newValue": 10, "previousValue": 10});
    let player = json!({"bag": ["a", "b", "a"], "gold": 10});
    let store = chain(&[same], &player, &player);
    let input = r#"{"actor": "player", "deltas": [{"scope": "player", "deltas": [
        {"op": "pull", "path": "bag", "value": "a"}, {"op": "increment", "path": "gold", "value": 5},
        {"op": "pull", "path": "bag", "value": "b"}]}]}"#;
    let (_, changes) = say(&store, input);
    let stored: Vec<_> =
        changes.iter().map(|line| (&line["operation"], &line["path"], &line["newValue"])).collect();
    let expected = [
        (json!("set"), json!(["bag"]), json!(["b"])),
        (json!("set"), json!(["gold"]), json!(15)),
        (json!("remove"), json!(["bag"]), json!("b")),
    ];
    assert_eq!(stored, expected.each_ref().map(|(op, path, value)| (op, path, value)));
    let mut game = GameWriter::open(Arc::clone(&store), &id("1732557000000")).unwrap();
    game.undo(1, at(9)).unwrap();
    assert_eq!(game.state().player.to_line(), r#"{"bag":["a","b","a"],"gold":10}"#);
}
