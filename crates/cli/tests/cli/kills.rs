//! Kills real processes: several write at once, each is killed repeatedly, and every acknowledged turn must be present
//! once, in order, and complete.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::everturn::{command, run};

const SESSIONS: usize = 4;
const KILLS_PER_SESSION: usize = 55;
const TURNS_PER_LIFE: usize = 40;
/// A file of turns is rotated after this many processes.
const USES_PER_FILE: usize = 10;

/// A small random generator with a seed, so that runs can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn turn_id(life: usize, turn: usize) -> String {
    format!("{life}-{turn}")
}

/// One turn: a line in each of two logs, and a new state.
fn batch(session: usize, life: usize, turn: usize) -> String {
    let (id, dir) = (turn_id(life, turn), format!("sessions/{session}"));
    let line = format!(r#"{{"turn":"{id}","text":"{}"}}"#, "x".repeat(300));
    let mut steps = vec![
        format!(r#"{{"append":{{"file":"{dir}/turns.jsonl","lines":[{line}]}}}}"#),
        format!(r#"{{"append":{{"file":"{dir}/deltas.jsonl","lines":[{line},{line}]}}}}"#),
        format!(r#"{{"replace":{{"file":"{dir}/state.json","text":"{id}"}}}}"#),
    ];
    if turn == 0 && life > 0 && life.is_multiple_of(USES_PER_FILE) {
        let to = format!("{dir}/turns-{life:04}.jsonl");
        steps.push(format!(r#"{{"rename":{{"from":"{dir}/turns.jsonl","to":"{to}"}}}}"#));
    }
    format!("{{\"steps\":[{}]}}\n", steps.join(","))
}

/// Starts a writer, feeds it turns, and kills it; returns the acknowledged turns.
fn live_and_die(root: &Path, session: usize, life: usize, dice: &mut Dice) -> Vec<String> {
    let mut writer = command(root);
    writer.args(["commit", "--root", "."]).arg(format!("sessions/{session}"));
    let mut child = writer.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    let feeder = thread::spawn(move || {
        for turn in 0..TURNS_PER_LIFE {
            // After the child has ended, the pipe has no reader.
            if input.write_all(batch(session, life, turn).as_bytes()).is_err() {
                break;
            }
        }
        input
    });
    let (wanted, delay) = (dice.roll(TURNS_PER_LIFE as u64), dice.roll(400));
    let mut answered = Vec::new();
    let mut lines = answers.lines();
    while (answered.len() as u64) < wanted {
        match lines.next() {
            Some(Ok(_)) => answered.push(turn_id(life, answered.len())),
            _ => break,
        }
    }
    thread::sleep(Duration::from_micros(delay));
    child.kill().unwrap();
    // Acknowledgements in transit count, too.
    answered
        .extend(lines.map_while(Result::ok).zip(answered.len()..).map(|(_, n)| turn_id(life, n)));
    child.wait().unwrap();
    drop(feeder.join().unwrap());
    answered
}

/// Returns the turns in a log; every line must be complete.
fn turns_in(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let turn = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a whole line");
        value.get("turn").and_then(serde_json::Value::as_str).unwrap().to_owned()
    };
    text.lines().map(turn).collect()
}

fn check(dir: &Path, answered: &[String]) {
    let mut turns = Vec::new();
    for life in (USES_PER_FILE..=KILLS_PER_SESSION).step_by(USES_PER_FILE) {
        turns.extend(turns_in(&dir.join(format!("turns-{life:04}.jsonl"))));
    }
    turns.extend(turns_in(&dir.join("turns.jsonl")));
    let mut sorted = turns.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), turns.len(), "a turn is there twice");
    let mut rest = turns.iter();
    for id in answered {
        assert!(rest.any(|turn| turn == id), "turn {id} is lost or out of order");
    }
    // Turns that were not acknowledged may be present, but then they are complete.
    let twice: Vec<String> = turns.iter().flat_map(|turn| [turn.clone(), turn.clone()]).collect();
    assert_eq!(turns_in(&dir.join("deltas.jsonl")), twice);
    let state = fs::read_to_string(dir.join("state.json")).unwrap();
    assert_eq!(Some(&state), turns.last());
}

#[test]
fn killed_processes_lose_no_turn_that_was_answered() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    let answered: Vec<Vec<String>> = thread::scope(|scope| {
        let play = |session: usize| {
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (session as u64 + 1));
            let tracker = 0..KILLS_PER_SESSION;
            tracker.flat_map(|life| live_and_die(place, session, life, &mut dice)).collect()
        };
        let players: Vec<_> = (0..SESSIONS).map(|n| scope.spawn(move || play(n))).collect();
        players.into_iter().map(|player| player.join().unwrap()).collect()
    });
    let total: usize = answered.iter().map(Vec::len).sum();
    assert!(total > SESSIONS * KILLS_PER_SESSION, "hardly any turn was answered: {total}");
    for (session, answered) in answered.iter().enumerate() {
        let mut writer = command(place);
        writer.args(["commit", "--root", "."]).arg(format!("sessions/{session}"));
        let last = run(writer, "");
        assert_eq!(last.status.code(), Some(0), "{}", String::from_utf8_lossy(&last.stderr));
        check(&place.join(format!("sessions/{session}")), answered);
    }
    println!("kill suite: {} kills, {total} answered turns kept", SESSIONS * KILLS_PER_SESSION);
}
