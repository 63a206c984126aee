//! Sessions in the form that the program behind the layout writes.

use std::sync::Arc;

use everturn::delta::{Delta, DeltaPath};
use everturn::game::{Dialect, GameWriter, NewScene, SceneEnd, Scope, Session, TurnInput};
use everturn::names::FilePath;
use everturn::store::{AppendAt, Durability, FileMode, Precondition, Step, Store};
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::support::{at, id, memory};

pub(super) const DIR: &str = "sessions/active/1732557000000";

fn path(name: &str) -> FilePath {
    FilePath::parse(&format!("{DIR}/{name}")).unwrap()
}

pub(super) fn document(name: &str, value: &Value) -> Step {
    let bytes = format!("{value:#}\n").into_bytes();
    Step::Replace { file: path(name), expect: Precondition::Absent, bytes, mode: FileMode::Default }
}

pub(super) fn lines(name: &str, lines: &[Value]) -> Step {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Step::Append { file: path(name), at: AppendAt::End, lines: text.into_bytes() }
}

pub(super) fn change(turn: u64, sequence: u64, time: i64, rest: &Value) -> Value {
    let mut line = json!({
        "deltaId": format!("1732557000000-{turn}-{sequence}"), "turnId": turn, "sequence": sequence,
        "timestamp": time,
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line
}

pub(super) fn turn(turn: u64, time: i64, more: &Value) -> Value {
    let mut line = json!({
        "turnId": turn, "turnNumber": turn, "actor": "player", "sceneId": "scene-1732557000001", "timestamp": time,
        "gameTime": {"day": 1, "timeOfDay": "morning", "timestamp": 0},
        "events": [{"eventId": format!("1732557000000-{turn}-1"), "turnId": turn, "sequence": 1, "type": "move",
            "action": "walk", "actor": "player", "timestamp": time, "description": format!("Step {turn}.")}]
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

/// Three turns: fate points 3 to 4, a quest appended, the time set, an npc met.
fn store() -> Arc<dyn Store> {
    let store = memory();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let steps = vec![
        document(
            "session.meta.json",
            &json!({"startTime": 1_732_557_000_000_i64, "player": "Player"}),
        ),
        document(
            "world.state.json",
            &json!({"time": "noon", "quests": [{"id": "q1"}], "currentScene": {"name": "Alley"}}),
        ),
        document(
            "player.state.json",
            &json!({"name": "Vex", "fatePoints": {"current": 4, "refresh": 3}}),
        ),
        document("npcs.state.json", &json!({"luna": {"met": true}})),
        lines(
            "turns/turns-0001-0100.jsonl",
            &[
                turn(1, 1000, &json!({})),
                turn(2, 2000, &json!({})),
                turn(2, 2000, &json!({"playerReasoning": "because"})),
                turn(3, 3000, &json!({"narration": "It is noon."})),
            ],
        ),
        lines(
            "deltas/deltas-0001-0100.jsonl",
            &[
                change(
                    1,
                    1,
                    1000,
                    &json!({"target": "player", "operation": "increment", "path": ["fatePoints", "current"],
                    "previousValue": 3, "newValue": 4, "cause": "success_with_style", "eventId": "1732557000000-1-1"}),
                ),
                change(
                    2,
                    1,
                    2000,
                    &json!({"target": "world", "operation": "append", "path": ["quests"],
                    "previousValue": null, "newValue": {"id": "q1"}, "cause": "quest_start", "eventId": "1732557000000-2-1"}),
                ),
                change(
                    3,
                    1,
                    3000,
                    &json!({"target": "world", "operation": "set", "path": ["time"],
                    "newValue": "noon", "previousValue": "dawn", "cause": "time_pass", "eventId": "1732557000000-3-1"}),
                ),
                change(
                    3,
                    2,
                    3000,
                    &json!({"target": "npc", "operation": "set", "path": ["luna", "met"],
                    "newValue": true, "previousValue": false, "cause": "time_pass", "eventId": "1732557000000-3-1"}),
                ),
            ],
        ),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    store
}

pub(super) fn session(store: &Arc<dyn Store>) -> Session {
    Session::open(Arc::clone(store), &id("1732557000000")).unwrap()
}

#[track_caller]
fn check_state(store: &Arc<dyn Store>, turn: u64, fate: &str, quests: &str, time: &str, met: &str) {
    let moment = session(store).state_at(turn).unwrap();
    assert_eq!(moment.findings, []);
    let state = moment.state;
    assert_eq!(state.player.text_at(&["fatePoints", "current"]).as_deref(), Some(fate));
    assert_eq!(state.world.text_at(&["quests"]).as_deref(), Some(quests));
    assert_eq!(state.world.string_at(&["time"]).as_deref(), Some(time));
    assert_eq!(state.npcs.unwrap().text_at(&["luna", "met"]).as_deref(), Some(met));
}

#[test]
fn the_state_at_a_turn_is_found_backwards_where_there_are_no_snapshots() {
    let store = store();
    assert_eq!(session(&store).dialect(), Dialect::Upstream);
    assert_eq!(session(&store).turn(), 3);
    check_state(&store, 3, "4", r#"[{"id":"q1"}]"#, "noon", "true");
    check_state(&store, 2, "4", r#"[{"id":"q1"}]"#, "dawn", "false");
    check_state(&store, 1, "4", "[]", "dawn", "false");
    check_state(&store, 0, "3", "[]", "dawn", "false");
}

#[test]
fn a_row_that_comes_again_with_more_takes_the_place_of_the_first() {
    let store = store();
    let turns: Vec<_> = session(&store).turns(1, 3).unwrap().map(Result::unwrap).collect();
    let numbers: Vec<u64> = turns.iter().map(|turn| turn.turn).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(turns[1].raw.string_at(&["playerReasoning"]).as_deref(), Some("because"));
    assert_eq!(turns[2].text(), "It is noon.");
}

#[test]
fn a_turn_that_is_appended_has_the_shape_of_the_others() {
    let store = store();
    let mut game = GameWriter::open(Arc::clone(&store), &id("1732557000000")).unwrap();
    let mut input = TurnInput::parse(
        r#"{"actor": "player", "events": [{"type": "overcome", "action": "jump", "description": "You jump."}],
            "deltas": [{"scope": "player", "deltas": [{"op": "increment", "path": "fatePoints.current", "value": -1}]},
                       {"scope": "scene", "deltas": [{"op": "set", "path": "name", "value": "Roof"}]}]}"#,
    )
    .unwrap();
    input.groups.extend(
        TurnInput::new("")
            .changing(
                Scope::World,
                vec![Delta::push(
                    DeltaPath::dotted("quests"),
                    JsonTree::parse(r#"{"id":"q2"}"#).unwrap(),
                )],
            )
            .groups,
    );
    assert_eq!(game.append(&input, at(0)).unwrap().turn, 4);
    game.release().unwrap();
    let text =
        |name: &str| String::from_utf8(store.read(&path(name), 0..u64::MAX).unwrap()).unwrap();
    let turns = text("turns/turns-0001-0100.jsonl");
    let last: Value = serde_json::from_str(turns.lines().last().unwrap()).unwrap();
    assert_eq!(last["turnNumber"], 4);
    assert_eq!(last["events"][0]["eventId"], "1732557000000-4-1");
    assert_eq!(last["events"][0]["sequence"], 1);
    let deltas = text("deltas/deltas-0001-0100.jsonl");
    let new: Vec<Value> =
        deltas.lines().skip(4).map(|line| serde_json::from_str(line).unwrap()).collect();
    let flat: Vec<_> = new
        .iter()
        .map(|line| (&line["operation"], &line["path"], &line["previousValue"], &line["newValue"]))
        .collect();
    assert_eq!(flat[0], (&json!("set"), &json!(["fatePoints", "current"]), &json!(4), &json!(3)));
    assert_eq!(
        flat[1],
        (&json!("set"), &json!(["currentScene", "name"]), &json!("Alley"), &json!("Roof"))
    );
    assert_eq!(flat[2], (&json!("append"), &json!(["quests"]), &Value::Null, &json!({"id": "q2"})));
    assert_eq!(new[2]["deltaId"], "1732557000000-4-3");
    assert_eq!(
        text("session.meta.json"),
        format!("{:#}\n", json!({"startTime": 1_732_557_000_000_i64, "player": "Player"}))
    );
    assert!(text("player.state.json").contains("\"current\": 3"));
    assert!(text("player.state.json").ends_with("}\n"));
    check_state(&store, 3, "4", r#"[{"id":"q1"}]"#, "noon", "true");
    check_state(&store, 4, "3", r#"[{"id":"q1"},{"id":"q2"}]"#, "noon", "true");
}

#[test]
fn numbers_that_start_again_are_told_apart_by_their_times() {
    let store = store();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let again = change(
        1,
        1,
        9000,
        &json!({"target": "world", "operation": "set", "path": ["time"],
        "previousValue": "noon", "newValue": "night", "cause": "time_pass"}),
    );
    let steps = vec![
        lines("turns/turns-0001-0100.jsonl", &[turn(1, 9000, &json!({}))]),
        lines("deltas/deltas-0001-0100.jsonl", &[again]),
        Step::Replace {
            file: path("world.state.json"),
            expect: Precondition::Anything,
            bytes: format!("{:#}\n", json!({"time": "night", "quests": [{"id": "q1"}]}))
                .into_bytes(),
            mode: FileMode::Default,
        },
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    let turns: Vec<u64> =
        session(&store).turns(0, 9).unwrap().map(|turn| turn.unwrap().turn).collect();
    assert_eq!(turns, [1, 2, 3, 1]);
    assert_eq!(
        session(&store).state_at(1).unwrap().state.world.string_at(&["time"]).as_deref(),
        Some("night")
    );
    let mut game = GameWriter::open(Arc::clone(&store), &id("1732557000000")).unwrap();
    assert_eq!(game.append(&TurnInput::new("player"), at(0)).unwrap().turn, 4);
}

/// Says something with these changes, and returns what the files of turns and changes have then.
pub(super) fn say(store: &Arc<dyn Store>, input: &str) -> (Value, Vec<Value>) {
    let name = session(store).id().clone();
    let mut game = GameWriter::open(Arc::clone(store), &name).unwrap();
    let turn = game.append(&TurnInput::parse(input).unwrap(), at(0)).unwrap().turn;
    game.release().unwrap();
    let lines = |log: &str| -> Vec<Value> {
        let bytes = store.read(&path(&format!("{log}/{log}-0001-0100.jsonl")), 0..u64::MAX);
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap();
        let values = text.lines().map(|line| serde_json::from_str(line).unwrap());
        values.filter(|line: &Value| line["turnId"] == turn).collect()
    };
    (lines("turns").remove(0), lines("deltas"))
}

#[test]
fn a_session_without_turns_keeps_its_form() {
    for meta in [
        json!({"startTime": 1_732_557_000_000_i64, "player": "Player"}),
        json!({"startTime": 1, "player": "Player", "version": "0.3.0"}),
        json!({"version": "0.3.0"}),
    ] {
        let store = memory();
        let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
        let steps = vec![
            document("session.meta.json", &meta),
            document("world.state.json", &json!({"time": "dawn"})),
            document("player.state.json", &json!({})),
            document("npcs.state.json", &json!({})),
        ];
        writer.commit(steps, Durability::Synced).unwrap();
        writer.release().unwrap();
        assert_eq!(session(&store).dialect(), Dialect::Upstream, "{meta}");
        let (turn, changes) = say(
            &store,
            r#"{"actor": "player", "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "time", "value": "noon"}]}]}"#,
        );
        assert_eq!((&turn["turnNumber"], &changes[0]["operation"]), (&json!(1), &json!("set")));
        assert_eq!(session(&store).dialect(), Dialect::Upstream, "{meta}");
    }
}

#[test]
fn a_turn_goes_by_the_one_before_it() {
    let store = store();
    let (turn, _) = say(&store, r#"{"actor": "player", "turnNumber": 4}"#);
    assert_eq!(turn["sceneId"], "scene-1732557000001");
    assert_eq!(turn["gameTime"], json!({"day": 1, "timeOfDay": "morning", "timestamp": 0}));
    let bytes = store.read(&path("turns/turns-0001-0100.jsonl"), 0..u64::MAX).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().last().unwrap().matches("turnNumber").count(), 1);
}

#[test]
fn scenes_begin_and_end_inside_the_world() {
    let store = store();
    let name = id("1732557000000");
    let mut game = GameWriter::open(Arc::clone(&store), &name).unwrap();
    let scene = |game: &GameWriter| game.state().scene_in(Dialect::Upstream);
    assert_eq!(scene(&game).string_at(&["name"]).as_deref(), Some("Alley"));
    // The one that is going on ends first.
    let (first, begun) = game.start_scene(&NewScene::new("social"), at(1)).unwrap();
    assert_eq!(begun.turn, 5);
    let (second, _) = game.start_scene(&NewScene::new("travel"), at(1)).unwrap();
    assert_ne!(first, second);
    assert_eq!(scene(&game).string_at(&["sceneId"]).as_deref(), Some(second.as_str()));
    assert_eq!(game.append(&TurnInput::new("player"), at(2)).unwrap().turn, 8);
    game.end_scene(&SceneEnd::default(), at(3)).unwrap();
    assert_eq!(scene(&game).string_at(&["status"]).as_deref(), Some("completed"));
    assert!(game.end_scene(&SceneEnd::default(), at(3)).is_err());
    game.release().unwrap();
    let scenes: Vec<_> =
        session(&store).turns(4, 9).unwrap().map(|turn| turn.unwrap().scene.unwrap()).collect();
    let (first, second) = (first.as_str(), second.as_str());
    assert_eq!(scenes, ["scene-1732557000001", first, first, second, second, second]);
    check_state(&store, 0, "3", "[]", "dawn", "false");
}

#[test]
fn null_is_a_value_that_comes_back() {
    let store = store();
    let change = |deltas: &str| {
        say(
            &store,
            &format!(
                r#"{{"actor": "gm", "deltas": [{{"scope": "world", "deltas": [{deltas}]}}]}}"#
            ),
        );
    };
    change(
        r#"{"op": "set", "path": "slot", "value": null}, {"op": "set", "path": "list", "value": [null, 1, null]}"#,
    );
    let before = session(&store).resume().unwrap().state;
    change(r#"{"op": "set", "path": "slot", "value": 1}"#);
    change(r#"{"op": "pull", "path": "list", "value": null}"#);
    change(r#"{"op": "pull", "path": "list", "value": null}"#);
    change(r#"{"op": "set", "path": "slot", "value": null}"#);
    change(r#"{"op": "delete", "path": "slot"}"#);
    let last = session(&store).resume().unwrap().state;
    assert_eq!(last.world.text_at(&["list"]).as_deref(), Some("[1]"));
    assert!(session(&store).state_at(4).unwrap().state.is_same(&before));
    let mut game = GameWriter::open(Arc::clone(&store), &id("1732557000000")).unwrap();
    game.undo(5, at(9)).unwrap();
    assert!(game.state().is_same(&before));
}

#[test]
fn rows_that_come_again_later_take_the_place_of_the_first() {
    let store = store();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let again = |number: u64, time: i64| turn(number, time, &json!({"playerReasoning": "later"}));
    let rows = [again(1, 1000), again(3, 3000), turn(1, 9000, &json!({}))];
    let steps = vec![lines("turns/turns-0001-0100.jsonl", &rows)];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    let turns: Vec<_> = session(&store).turns(0, 9).unwrap().map(Result::unwrap).collect();
    let told: Vec<_> =
        turns.iter().map(|turn| (turn.turn, turn.raw.string_at(&["playerReasoning"]))).collect();
    let told: Vec<_> = told.iter().map(|(turn, why)| (*turn, why.as_deref())).collect();
    assert_eq!(told, [(1, Some("later")), (2, Some("because")), (3, Some("later")), (1, None)]);
}

#[test]
fn a_replay_keeps_numbers_that_start_again_apart() {
    let store = store();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let set = |number: u64, time: i64, from: &str, to: &str| {
        change(
            number,
            1,
            time,
            &json!({"target": "world", "operation": "set", "path": ["time"], "previousValue": from, "newValue": to}),
        )
    };
    // Turn 4 changes nothing, and turn 2 is lost.
    let turns = [turn(4, 4000, &json!({})), turn(1, 9000, &json!({})), turn(3, 9500, &json!({}))];
    let changes = [set(1, 9000, "z", "a"), set(2, 9200, "a", "b"), set(3, 9500, "b", "noon")];
    let steps = vec![
        lines("turns/turns-0001-0100.jsonl", &turns),
        lines("deltas/deltas-0001-0100.jsonl", &changes),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    let session = session(&store);
    let frames = session.replay(1).unwrap().map(Result::unwrap);
    let told: Vec<_> = frames.map(|frame| (frame.turn.turn, frame.deltas)).collect();
    assert_eq!(told, [(1, 1), (2, 1), (3, 2), (4, 0), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn elements_that_were_deleted_come_back_where_they_were() {
    let store = memory();
    let writer = store.lock(&[FilePath::parse(DIR).unwrap()]).unwrap();
    let delete = |turn: u64, was: &str| {
        change(
            turn,
            1,
            i64::try_from(turn).unwrap() * 1000,
            &json!({"target": "player", "operation": "delete", "path": ["inventory", "0"], "previousValue": was}),
        )
    };
    let turns: Vec<Value> = (1..=3_u64)
        .map(|number| turn(number, i64::try_from(number).unwrap() * 1000, &json!({})))
        .collect();
    let steps = vec![
        document("session.meta.json", &json!({"startTime": 1, "player": "Player"})),
        document("world.state.json", &json!({})),
        document("player.state.json", &json!({"inventory": ["c"]})),
        lines("turns/turns-0001-0100.jsonl", &turns),
        lines("deltas/deltas-0001-0100.jsonl", &[delete(2, "a"), delete(3, "b")]),
    ];
    writer.commit(steps, Durability::Synced).unwrap();
    writer.release().unwrap();
    let bag =
        |turn: u64| session(&store).state_at(turn).unwrap().state.player.text_at(&["inventory"]);
    assert_eq!(bag(3).as_deref(), Some(r#"["c"]"#));
    assert_eq!(bag(2).as_deref(), Some(r#"["b","c"]"#));
    assert_eq!(bag(1).as_deref(), Some(r#"["a","b","c"]"#));
    let mut game = GameWriter::open(Arc::clone(&store), &id("1732557000000")).unwrap();
    game.undo(1, at(9)).unwrap();
    assert_eq!(game.state().player.text_at(&["inventory"]).as_deref(), Some(r#"["b","c"]"#));
}
