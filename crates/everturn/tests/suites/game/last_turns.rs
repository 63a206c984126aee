//! The last turn before a session is closed: one commit, and the same files as turn by turn.

use std::sync::Arc;

use everturn::disk::sim::{Fault, FaultKind, SimDisk};
use everturn::game::{GameError, GameWriter, TurnInput, TurnOutcome};
use everturn::names::FilePath;
use everturn::store::Store;

use super::support::{at, files, game, id, memory, on_disk, path, turn};

const NAME: &str = "session-last";
const TURNS: &str = "sessions/active/session-last/turns/turns-0001-current.jsonl";

type Append = fn(&mut GameWriter, &TurnInput, i64) -> Result<TurnOutcome, GameError>;

const EACH: Append = |game, input, seconds| game.append(input, at(seconds));
const LAST: Append = |game, input, seconds| game.append_last(input, at(seconds));

fn open(store: &Arc<dyn Store>) -> GameWriter {
    GameWriter::open(Arc::clone(store), &id(NAME)).unwrap()
}

/// Plays turns, each with a writer of its own.
fn play(store: &Arc<dyn Store>, turns: &[TurnInput], append: Append) {
    for (input, seconds) in turns.iter().zip(1..) {
        let mut game = open(store);
        let told = append(&mut game, input, seconds).unwrap();
        assert!(told.deferred_error.is_none(), "{:?}", told.deferred_error);
        game.close(at(seconds)).unwrap();
    }
}

fn inputs() -> Vec<TurnInput> {
    let parsed = |text: &str| TurnInput::parse(text).unwrap();
    let mut inputs: Vec<TurnInput> = (1..=3).map(turn).collect();
    inputs.push(parsed(r#"{"actor": "gm", "events": [{"type": "scene_start"}]}"#));
    inputs.push(turn(5));
    inputs.push(parsed(r#"{"actor": "gm", "narration": "Nothing changes."}"#));
    inputs.push(turn(7));
    inputs.push(turn(8));
    inputs.push(parsed(r#"{"actor": "gm", "events": [{"type": "conflict_end"}]}"#));
    inputs.push(parsed(r#"{"actor": "gm", "events": [{"type": "scene_end"}]}"#));
    inputs.extend((11..=104).map(turn));
    inputs
}

#[test]
fn the_files_are_those_of_turn_by_turn() {
    let played = |append: Append| {
        let store = memory();
        game(&store, NAME).close(at(0)).unwrap();
        play(&store, &inputs(), append);
        files(&store)
    };
    let (each, last) = (played(EACH), played(LAST));
    assert_eq!(each.keys().collect::<Vec<_>>(), last.keys().collect::<Vec<_>>());
    for (file, bytes) in &each {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&last[file]), text(bytes), "{file}");
    }
}

#[test]
fn a_torn_line_before_the_last_turn_is_cut_and_the_index_is_right() {
    let disk = SimDisk::new();
    let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
    game(&store, NAME).close(at(0)).unwrap();
    let mut game = open(&store);
    for number in 1..=49 {
        game.append(&turn(number), at(0)).unwrap();
    }
    game.close(at(0)).unwrap();
    let mut game = open(&store);
    let lines = store.read(&path(TURNS), 0..u64::MAX).unwrap();
    // Another program, at the worst moment.
    disk.put_file(&path(TURNS), &[&lines[..], b"{\"torn"].concat());
    let told = game.append_last(&turn(50), at(3)).unwrap();
    assert_eq!((told.turn, told.findings.len()), (50, 1));
    game.close(at(3)).unwrap();
    let index = format!("sessions/active/{NAME}/indexes/turn-index.json");
    let index = String::from_utf8(store.read(&path(&index), 0..u64::MAX).unwrap()).unwrap();
    // Every fiftieth turn has its offset there.
    assert!(index.contains(&format!("\"offset\": {}", lines.len())), "{index}");
    let line = store.read(&path(TURNS), lines.len() as u64..u64::MAX).unwrap();
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[test]
fn a_turn_that_cannot_be_stored_changes_nothing() {
    let base = SimDisk::new();
    let store: Arc<dyn Store> = Arc::new(on_disk(&base).unwrap());
    game(&store, NAME).close(at(0)).unwrap();
    play(&store, &[turn(1), turn(2)], LAST);
    let before = files(&store);
    drop(store);
    let mut lost = 0;
    for point in 0..400 {
        let disk = base.fork();
        let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
        let mut game = open(&store);
        disk.inject(Fault {
            at: disk.changes() + point,
            kind: FaultKind::Error(28),
            lasting: true,
        });
        let told = game.append_last(&turn(3), at(3));
        let closed = game.close(at(3));
        disk.clear_faults();
        drop(store);
        disk.kill_all();
        let store: Arc<dyn Store> = Arc::new(on_disk(&disk).unwrap());
        let found = open(&store).turn();
        match told {
            Ok(_) => assert_eq!(found, 3, "change {point}"),
            Err(_) => {
                lost += 1;
                assert!(found == 2 || found == 3, "change {point}");
                assert!(found == 3 || files(&store) == before, "change {point}: {closed:?}");
            }
        }
        // It can be stored now.
        if found == 2 {
            play(&store, &[turn(3)], LAST);
        }
        assert_eq!(open(&store).turn(), 3, "change {point}");
        if closed.is_ok() {
            return assert!(lost > 5, "{lost}");
        }
    }
    panic!("the fault was never late enough");
}

#[test]
fn an_invalid_turn_is_refused_and_closing_works() {
    let store = memory();
    game(&store, NAME).close(at(0)).unwrap();
    play(&store, &[turn(1)], LAST);
    let before: Vec<FilePath> = files(&store).into_keys().collect();
    let mut game = open(&store);
    let bad = TurnInput::parse(
        r#"{"actor": "gm", "deltas": [{"scope": "world", "deltas": [{"op": "pull", "path": "none", "value": 1}]}]}"#,
    );
    assert!(game.append_last(&bad.unwrap(), at(2)).is_err());
    assert_eq!(game.append(&turn(2), at(2)).unwrap().turn, 2);
    game.close(at(2)).unwrap();
    assert_eq!(files(&store).into_keys().collect::<Vec<_>>(), before);
}
