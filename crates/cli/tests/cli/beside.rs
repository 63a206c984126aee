//! Commands that read a session while another process writes to it as fast as it can, and a reader that is based only
//! on `docs/format.md`.
#![expect(clippy::disallowed_methods, reason = "the other reader is not ours")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::everturn::{command, run};

/// How often each command is run beside each writer.
const ROUNDS: usize = 12;

/// How often sessions are listed while one of them is moved.
const LISTS: usize = 30;

struct Format {
    name: &'static str,
    /// The stdin of `everturn new`.
    document: &'static str,
    append: &'static [&'static str],
    line: fn(usize) -> Value,
}

const TOOLS: &str = r#"{"session":{"support_tools":[{"id":"stats","name":"Stats","components":
[{"id":"hp","type":"numeric","label":"HP","value":0}]}]}}"#;

const FORMATS: [Format; 5] = [
    Format {
        name: "game",
        document: "{}",
        append: &["append", "s1", "--lines", "--json"],
        line: |turn| {
            let set = |scope: &str| {
                let change = json!({"op": "set", "path": "n", "value": turn});
                json!({"scope": scope, "deltas": [change]})
            };
            json!({
                "actor": "gm",
                "narration": word(turn),
                "events": [{"type": "talk", "description": "They talk."}],
                "deltas": [set("world"), set("player")],
            })
        },
    },
    Format {
        name: "campaign",
        document: "",
        append: &["campaign", "replay-outputs", "s1", "--json"],
        line: |turn| {
            let args = json!({"target_character_id": "pc_001", "delta": 1, "cause": "rest"});
            json!({
                "user_input": word(turn),
                "actor_id": "pc_001",
                "outputs": [{
                    "assistant_text": "You rest.",
                    "dialog_type": "scene_description",
                    "tool_calls": [{"id": "call_1", "tool": "hp_delta", "args": args}],
                }],
            })
        },
    },
    Format {
        name: "codelia",
        document: "",
        append: &["append", "s1", "--lines", "--json"],
        line: |turn| {
            let answer = json!({"role": "assistant", "content": "Yes."});
            json!({"messages": [{"role": "user", "content": word(turn)}, answer]})
        },
    },
    Format {
        name: "linggen",
        document: "",
        append: &["append", "s1", "--lines", "--json"],
        line: |turn| json!({"content": word(turn)}),
    },
    Format {
        name: "chatlog",
        document: TOOLS,
        append: &["append", "s1", "--lines", "--json"],
        line: |turn| {
            let tag = format!(r#"<tool:update id="hp" value="{turn}" reason="r">"#);
            json!({"type": "narrator", "name": "N", "text": format!("{} {tag}", word(turn))})
        },
    },
];

fn word(turn: usize) -> String {
    format!("word{turn}")
}

fn everturn(root: &Path, words: &[&str], input: &str) -> Output {
    let mut command = command(root);
    command.args(["--root", "."]).args(words);
    run(command, input)
}

/// Returns the output of a command that must succeed without messages.
fn quietly(root: &Path, words: &[&str]) -> String {
    let output = everturn(root, words, "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {stdout}");
    stdout
}

fn values(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A process that appends turns until it is stopped.
struct Writing {
    child: Child,
    threads: [JoinHandle<()>; 2],
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
}

impl Writing {
    fn start(root: &Path, format: &Format) -> Writing {
        let mut writer = command(root);
        writer.args(["--root", "."]).args(format.append).stdin(Stdio::piped());
        let mut child = writer.stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let (line, stopped, count) = (format.line, Arc::clone(&stop), Arc::clone(&acknowledged));
        let feed = thread::spawn(move || {
            let mut turn = 0;
            while !stopped.load(Ordering::Relaxed) {
                turn += 1;
                input.write_all(format!("{}\n", line(turn)).as_bytes()).unwrap();
            }
        });
        let collect = thread::spawn(move || {
            for answer in answers.lines() {
                let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
                assert_ne!(answer.get("ok"), Some(&Value::Bool(false)), "{answer}");
                count.fetch_add(1, Ordering::Release);
            }
        });
        Writing { child, threads: [feed, collect], stop, acknowledged }
    }

    fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Acquire)
    }

    fn wait_for(&self, turns: usize) {
        while self.acknowledged() < turns {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Returns the number of turns in a list of entries, by their text; they must be the first ones, in order.
fn turns_told(entries: &[Value]) -> usize {
    let texts = entries.iter().filter_map(|entry| entry.get("text").and_then(Value::as_str));
    let words = texts.filter_map(|text| text.split_whitespace().next());
    let words: Vec<&str> = words.filter(|text| text.starts_with("word")).collect();
    for (index, told) in words.iter().enumerate() {
        assert_eq!(*told, word(index + 1));
    }
    words.len()
}

fn read_beside(format: &Format) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let mut new = vec!["new", format.name, "--id", "s1"];
    new.extend((!format.document.is_empty()).then_some("-"));
    let made = everturn(root, &new, format.document);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let writing = Writing::start(root, format);
    writing.wait_for(5);
    for _ in 0..ROUNDS {
        let before = writing.acknowledged();
        let shown = turns_told(&values(&quietly(root, &["show", "s1", "--json"])));
        assert!(shown >= before, "{}: {shown} shown, {before} acknowledged", format.name);
        assert_eq!(quietly(root, &["check", "--json", "."]), "", "{}", format.name);
        quietly(root, &["ls", "--json"]);
        let state: Value =
            serde_json::from_str(&quietly(root, &["state", "s1", "--json"])).unwrap();
        if format.name == "game" {
            let (world, player) =
                (state.pointer("/state/world/n"), state.pointer("/state/player/n"));
            assert!(world.is_some() && world == player, "{state}");
        }
        for turn in values(&quietly(root, &["replay", "s1", "--json"])) {
            let changes = turn.get("changes").and_then(Value::as_array);
            assert!(format.name != "game" || changes.is_some_and(|all| all.len() == 2), "{turn}");
        }
    }
    writing.end();
}

#[test]
fn a_game_that_is_being_played_is_read_between_two_turns() {
    read_beside(&FORMATS[0]);
}

#[test]
fn a_campaign_that_is_being_played_is_read_between_two_turns() {
    read_beside(&FORMATS[1]);
}

#[test]
fn a_session_of_codelia_that_grows_is_read_between_two_turns() {
    read_beside(&FORMATS[2]);
}

#[test]
fn a_session_of_linggen_that_grows_is_read_between_two_messages() {
    read_beside(&FORMATS[3]);
}

#[test]
fn a_chat_log_that_grows_is_read_between_two_messages() {
    read_beside(&FORMATS[4]);
}

/// Ends a thread that moves a session, even if the test fails.
struct StopWhenDone<'a>(&'a AtomicBool);

impl Drop for StopWhenDone<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_session_that_is_paused_and_resumed_is_in_every_list() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(everturn(root, &["new", "game", "--id", "s1"], "").status.success());
    let turn = (FORMATS[0].line)(1).to_string();
    assert!(everturn(root, &["append", "s1"], &turn).status.success());
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                quietly(root, &["pause", "s1"]);
                quietly(root, &["resume", "s1"]);
            }
        });
        let _stopping = StopWhenDone(&stop);
        for _ in 0..LISTS {
            let rows = values(&quietly(root, &["ls", "--json"]));
            let turns: Vec<_> = rows.iter().map(|row| row.get("turns")).collect();
            assert_eq!(turns, [Some(&json!(1))], "{rows:?}");
            assert_eq!(turns_told(&values(&quietly(root, &["show", "s1", "--json"]))), 1);
            assert_eq!(quietly(root, &["check", "--json", "."]), "");
            assert_eq!(quietly(root, &["check", "--json", "s1"]), "");
        }
    });
}

#[test]
fn a_session_that_is_archived_and_unpacked_is_checked_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(everturn(root, &["new", "game", "--id", "s1"], "").status.success());
    let turn = (FORMATS[0].line)(1).to_string();
    assert!(everturn(root, &["append", "s1"], &turn).status.success());
    quietly(root, &["complete", "s1"]);
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert!(everturn(root, &["archive", "s1"], "").status.success());
                assert!(everturn(root, &["unarchive", "s1"], "").status.success());
            }
        });
        let _stopping = StopWhenDone(&stop);
        for _ in 0..4 * LISTS {
            assert_eq!(quietly(root, &["check", "--json", "s1"]), "");
            assert_eq!(values(&quietly(root, &["ls", "--json"])).len(), 1);
        }
    });
}

/// Runs two commands in turn, which move a session, until it is stopped.
fn move_back_and_forth(root: &Path, session: &str, commands: [&str; 2], stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        for command in commands {
            let output = everturn(root, &[command, session], "");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn sessions_that_are_moved_are_searched_and_exported_wherever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for id in ["s1", "s2", "s3"] {
        assert!(everturn(root, &["new", "game", "--id", id], "").status.success());
        let turn = (FORMATS[0].line)(1).to_string();
        assert!(everturn(root, &["append", id], &turn).status.success());
    }
    quietly(root, &["complete", "s2"]);
    assert!(everturn(root, &["new", "campaign", "--id", "c1"], "").status.success());
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| move_back_and_forth(root, "s1", ["pause", "resume"], &stop));
        threads.spawn(|| move_back_and_forth(root, "s2", ["archive", "unarchive"], &stop));
        threads.spawn(|| move_back_and_forth(root, "c1", ["archive", "unarchive"], &stop));
        let _stopping = StopWhenDone(&stop);
        for round in 0..4 * LISTS {
            let mut search = command(root);
            // Without a cache from time to time, so that all sessions are read.
            search.env("HOME", root.join(format!("home{}", round / 2)));
            search.args(["--root", ".", "search", "word1"]);
            let output = run(search, "");
            let told = String::from_utf8_lossy(&output.stderr);
            let found = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{told}");
            assert!(!told.contains("damaged") && !told.contains("no session"), "{told}");
            assert!(found.contains("s1#1") && found.contains("s3#1"), "{found}{told}");
            let is_archived = told.contains("archived session") || told.contains("no longer exist");
            assert!(found.contains("s2#1") || is_archived, "{found}{told}");
            let output = everturn(root, &["export", "c1", "--format", "md"], "");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() || told.contains("is archived"), "{told}");
        }
    });
}

/// Returns the second line of a lock file: its counter, and the whole line.
fn counter(lock: &Path) -> Option<(u64, String)> {
    let text = fs::read_to_string(lock).ok()?;
    let line = text.lines().nth(1)?.to_owned();
    let count = u64::from_str_radix(line.split(' ').next()?, 16).ok()?;
    Some((count, line))
}

#[test]
fn a_reader_that_follows_the_documented_steps_sees_whole_commits() {
    const READS: usize = 2000;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let line = |turn: usize| {
        let append = |file: &str| json!({"append": {"file": file, "lines": [{"turn": turn}]}});
        let text = turn.to_string();
        let state = json!({"replace": {"file": "one/state.json", "text": text}});
        json!({"steps": [append("one/turns.jsonl"), append("one/deltas.jsonl"), state]})
    };
    let commit = Format { name: "", document: "", append: &["commit", "one"], line };
    let writing = Writing::start(root, &commit);
    writing.wait_for(5);
    let lock = root.join(".everturn/locks/one.lock");
    let read = |file: &str| fs::read_to_string(root.join("one").join(file)).unwrap();
    let (mut whole, mut refused) = (0, 0);
    while whole < READS {
        let before = counter(&lock).unwrap();
        let acknowledged = writing.acknowledged();
        let (turns, deltas, state) =
            (read("turns.jsonl"), read("deltas.jsonl"), read("state.json"));
        if before.0 % 2 == 1 || counter(&lock).unwrap() != before {
            refused += 1;
            continue;
        }
        assert_eq!(turns, deltas);
        assert_eq!(turns.lines().count().to_string(), state);
        assert!(turns.lines().count() >= acknowledged);
        whole += 1;
    }
    println!("{whole} reads of whole commits, {refused} that met a commit");
    writing.end();
}
