//! Sessions that another program writes as the document of the format describes, with states that it writes only now
//! and then. The writer is a script of its own and shares no code with Everturn.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use everturn::finding::FindingCode;
use everturn::game::{GameState, GameWriter, Session, repair};
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::support::{at, checked, files, given, id, memory, path, put};

pub(crate) const SAMPLE: &str = "session-per";

/// A session of the sample writer: its files below its directory, and the state after each turn.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) states: Vec<GameState>,
}

/// What the sample writer does if nothing else is said: 347 turns, metadata with every turn, states with every tenth,
/// and then the process ends without closing the session.
pub(crate) fn options() -> Value {
    json!({"session": SAMPLE, "turns": 347, "statesEvery": 10, "metadata": "turn", "padded": true, "snapshots": true})
}

fn with(changes: &Value) -> Value {
    let mut options = options();
    options.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    options
}

#[expect(clippy::disallowed_methods, reason = "the files were written by another program")]
fn read_below(dir: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read_below(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// Runs the sample writer.
pub(crate) fn sample(options: &Value) -> Sample {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/game/seed/writer.mjs");
    let dir = tempfile::tempdir().unwrap();
    let output =
        Command::new("node").arg(script).arg(dir.path()).arg(options.to_string()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files = BTreeMap::new();
    read_below(&dir.path().join(format!("sessions/active/{SAMPLE}")), "", &mut files);
    let state = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let part = |key: &str| JsonTree::parse(line[key].to_string()).unwrap();
        GameState { world: part("world"), player: part("player"), scene: part("scene"), npcs: None }
    };
    let states = String::from_utf8(output.stdout).unwrap().lines().map(state).collect();
    Sample { files, states }
}

impl Sample {
    /// Puts the files into a store.
    pub(crate) fn stored(&self) -> Arc<dyn Store> {
        let store = memory();
        for (name, bytes) in &self.files {
            put(&store, &format!("sessions/active/{SAMPLE}/{name}"), bytes);
        }
        store
    }

    fn last(&self) -> u64 {
        self.states.len() as u64 - 1
    }
}

fn open(store: &Arc<dyn Store>) -> Session {
    Session::open(Arc::clone(store), &id(SAMPLE)).unwrap()
}

/// The session has this state after the last turn and after each turn from `first` on.
#[track_caller]
fn assert_known(store: &Arc<dyn Store>, states: &[GameState], first: u64) {
    let session = open(store);
    assert_eq!(session.turn() + 1, states.len() as u64);
    let last = session.resume().unwrap();
    assert_eq!(last.findings, []);
    assert!(last.state.is_same(&states[states.len() - 1]), "the last state");
    for (number, expected) in (0..).zip(states).skip(usize::try_from(first).unwrap()) {
        let moment = session.state_at(number).unwrap();
        assert_eq!(moment.findings, [], "turn {number}");
        assert!(moment.state.is_same(expected), "turn {number}");
    }
}

/// One more turn, through a writer that is closed.
fn append(store: &Arc<dyn Store>) -> GameState {
    let mut game = GameWriter::open(Arc::clone(store), &id(SAMPLE)).unwrap();
    let turn = game.turn() + 1;
    let input = given(
        &json!({"actor": "player", "events": [{"type": "talk", "description": "Hello."}],
        "deltas": [{"scope": "world", "deltas": [{"op": "increment", "path": "npcs.npc-luna.relationship", "value": 1}]}]}),
    );
    assert_eq!(game.append(&input, at(i64::try_from(turn).unwrap())).unwrap().turn, turn);
    let state = game.state().clone();
    game.close(at(i64::try_from(turn).unwrap())).unwrap();
    state
}

/// The state of a session whose state files are older than its log follows from the log, whoever reads, appends,
/// repairs or takes snapshots.
#[track_caller]
fn check(changes: &Value, first: u64) {
    let sample = sample(&with(changes));
    let store = sample.stored();
    let before = files(&store);
    assert_known(&store, &sample.states, first);
    assert_eq!(files(&store), before, "reading changes nothing");
    let texts: Vec<String> =
        open(&store).turns(1, u64::MAX - 1).unwrap().map(|turn| turn.unwrap().text()).collect();
    assert_eq!(texts.len() as u64, sample.last());

    let mut states = sample.states.clone();
    states.push(append(&store));
    let trust = |state: &GameState| -> i64 {
        state.world.text_at(&["npcs", "npc-luna", "relationship"]).unwrap().parse().unwrap()
    };
    assert_eq!(trust(&states[states.len() - 1]), trust(&states[states.len() - 2]) + 1);
    assert_known(&store, &states, first);
    assert_eq!(checked(&store, SAMPLE), [], "after a turn was appended");

    let store = sample.stored();
    let done = repair(&store, &id(SAMPLE), at(1000)).unwrap();
    assert_known(&store, &sample.states, first);
    let again = repair(&store, &id(SAMPLE), at(1001)).unwrap();
    assert_eq!(again.actions, [], "after {:?}", done.actions);
    let serious = |code: FindingCode| code.severity() == everturn::finding::Severity::Finding;
    let left: Vec<_> =
        checked(&store, SAMPLE).into_iter().filter(|found| serious(found.code)).collect();
    assert_eq!(left, []);
}

#[test]
fn states_that_are_written_now_and_then_are_not_taken_for_those_of_the_last_turn() {
    check(&json!({}), 100);
}

#[test]
fn metadata_that_are_behind_the_logs_hide_no_turn() {
    check(&json!({"metadata": "states"}), 100);
}

#[test]
fn names_without_zeros_are_read_as_well() {
    check(&json!({"padded": false, "metadata": "states"}), 100);
}

#[test]
fn without_a_snapshot_the_log_shows_of_which_turn_the_states_are() {
    check(&json!({"turns": 57, "metadata": "states"}), 57);
    check(&json!({"turns": 57}), 57);
    check(&json!({"turns": 50}), 50);
}

#[test]
fn a_session_that_was_closed_is_read_as_it_is() {
    check(&json!({"exit": true}), 100);
}

/// A list of summaries counts the turns of the logs.
#[test]
fn a_list_shows_the_turns_of_the_logs() {
    let sample = sample(&with(&json!({"metadata": "states"})));
    let store = sample.stored();
    let format: &dyn everturn::format::SessionFormat = everturn::game::FORMAT;
    let listing = format.locate(&store).unwrap();
    let summary = format.read_summary(&store, &listing.sessions[0]).unwrap();
    assert_eq!(summary.turns, Some(347));
}

/// A snapshot of a state that nobody knows would make it history.
#[test]
fn a_snapshot_shows_the_state_of_its_turn() {
    let sample = sample(&options());
    let store = sample.stored();
    let mut game = GameWriter::open(Arc::clone(&store), &id(SAMPLE)).unwrap();
    game.snapshot(at(400)).unwrap();
    game.release().unwrap();
    let file = path(&format!("sessions/active/{SAMPLE}/snapshots/snapshot-0347.json"));
    let snapshot: Value = serde_json::from_slice(&store.read(&file, 0..u64::MAX).unwrap()).unwrap();
    assert_eq!(snapshot["playerState"]["location"]["zone"], "z347");
    assert_known(&store, &sample.states, 100);
}
