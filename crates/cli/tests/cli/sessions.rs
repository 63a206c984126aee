//! Session commands, where a transcript cannot show it: other processes, streams, read-only roots.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::SystemTime;

use crate::everturn::{command, run};

fn everturn(root: &Path, words: &[&str]) -> Command {
    let mut everturn = command(root);
    everturn.args(words).args(["--root", "."]).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
    everturn
}

/// Runs a command; returns its exit code, stdout and stderr.
fn outcome(root: &Path, words: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut child = everturn(root, words).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).ok();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

const TURN: &[u8] = br#"{"actor":"player","narration":"You go.","deltas":[{"scope":"world","deltas":[{"op":"set","path":"gate","value":"open"}]}]}"#;

/// A root with one session of one turn.
fn root() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(outcome(dir.path(), &["new", "game", "--id", "one"], b"").0, Some(0));
    assert_eq!(outcome(dir.path(), &["append", "one"], TURN).0, Some(0));
    dir
}

#[test]
fn a_check_takes_sessions_and_looks_into_archives() {
    let dir = root();
    for words in [&["check"][..], &["check", "one"], &["check", "latest"], &["check", "sessions"]] {
        let (code, _, told) = outcome(dir.path(), words, b"");
        assert_eq!(code, Some(0), "{words:?}: {told}");
        assert!(told.contains("no findings"), "{words:?}: {told}");
    }
    for words in [["complete", "one"], ["archive", "one"], ["check", "."]] {
        assert_eq!(outcome(dir.path(), &words, b"").0, Some(0), "{words:?}");
    }
    let (code, _, told) = outcome(dir.path(), &["fork", "one", "--id", "two"], b"");
    assert_eq!(code, Some(1));
    assert!(told.contains("is archived"), "{told}");
    let archive = dir.path().join("sessions/archives/one.tar.gz");
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    let (code, found, _) = outcome(dir.path(), &["check"], b"");
    assert_eq!(code, Some(3));
    assert!(found.contains("one.tar.gz: unreadable: the archive is damaged"), "{found}");
    assert_eq!(outcome(dir.path(), &["unarchive", "one"], b"").0, Some(4));
}

#[test]
fn an_old_game_is_told_before_it_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let old = r#"{"sessionId": "old", "worldState": {}, "player": {}, "frames": [{"text": "a"}]}"#;
    fs::write(dir.path().join("old.json"), old).unwrap();
    let (code, _, told) = outcome(dir.path(), &["import", "--dry-run", "old.json"], b"");
    assert_eq!((code, told.contains("session old: turns 1")), (Some(0), true), "{told}");
    assert!(!dir.path().join("sessions").exists());
}

#[test]
fn changes_of_a_turn_that_is_lost_are_told_as_its_own() {
    let dir = root();
    for _ in 0..2 {
        assert_eq!(outcome(dir.path(), &["append", "one"], TURN).0, Some(0));
    }
    let log = dir.path().join("sessions/active/one/turns/turns-0001-current.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&log, format!("{}\nx\n{}\n", lines[0], lines[2])).unwrap();
    let (code, told, _) = outcome(dir.path(), &["replay", "one"], b"");
    assert_eq!(code, Some(4));
    let turns: Vec<&str> = told.lines().filter(|line| line.starts_with('[')).collect();
    assert!(turns[1].starts_with("[2] changes only"), "{told}");
    let (_, told, _) = outcome(dir.path(), &["replay", "one", "--json"], b"");
    let second: serde_json::Value = serde_json::from_str(told.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["turn"], &second["entries"]), (&2.into(), &serde_json::json!([])));
}

/// A process that appends lines, and its output.
struct Appender {
    child: Child,
    input: ChildStdin,
    answers: BufReader<std::process::ChildStdout>,
}

impl Appender {
    fn start(root: &Path, words: &[&str]) -> Appender {
        let mut child = everturn(root, words).stdin(Stdio::piped()).spawn().unwrap();
        let (input, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Appender { child, input, answers: BufReader::new(answers) }
    }

    /// Sends a line and waits for its answer; the input stays open.
    fn send(&mut self, line: &[u8]) -> String {
        self.input.write_all(&[line, b"\n"].concat()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer
    }
}

#[test]
fn each_line_is_answered_before_the_next_one_is_needed() {
    let dir = root();
    let mut appender = Appender::start(dir.path(), &["append", "one", "--lines", "--json"]);
    for turn in 2..5 {
        let expect = format!("{{\"session\":\"one\",\"turn\":{turn}}}\n");
        assert_eq!(appender.send(TURN), expect);
        // Other processes see it, although its writer is still running.
        let (code, out, err) = outcome(dir.path(), &["show", "one", "--json"], b"");
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert_eq!(out.lines().count(), turn);
    }
    drop(appender.input);
    assert!(appender.child.wait().unwrap().success());
}

#[test]
fn a_turn_that_was_answered_survives_a_kill() {
    let dir = root();
    let mut appender = Appender::start(dir.path(), &["append", "one", "--lines", "--json"]);
    appender.send(TURN);
    appender.child.kill().unwrap();
    appender.child.wait().unwrap();
    let (code, out, _) = outcome(dir.path(), &["append", "one", "--json"], TURN);
    assert_eq!((code, out.as_str()), (Some(0), "{\"session\":\"one\",\"turn\":3}\n"));
}

#[test]
fn a_second_writer_is_told_who_has_the_session() {
    let dir = root();
    let mut first = Appender::start(dir.path(), &["append", "one", "--lines"]);
    first.send(TURN);
    for words in [&["append", "one"][..], &["snapshot", "one"], &["scene", "start", "one"]] {
        let (code, out, err) = outcome(dir.path(), words, TURN);
        assert_eq!((code, out.as_str()), (Some(5), ""), "{words:?}");
        assert!(err.contains(&format!("pid {}", first.child.id())), "{err}");
        assert!(err.contains("\nHint: "), "{err}");
    }
    drop(first.input);
    first.child.wait().unwrap();
    assert_eq!(outcome(dir.path(), &["append", "one"], TURN).0, Some(0));
}

/// Returns every file with its content and modification time.
fn everything(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let changed = entry.metadata().unwrap().modified().unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.insert(entry.path(), (Vec::new(), changed));
            files.extend(everything(&entry.path()));
        } else {
            files.insert(entry.path(), (fs::read(entry.path()).unwrap(), changed));
        }
    }
    files
}

const READERS: &[&[&str]] = &[
    &["ls"],
    &["show", "one"],
    &["show", "latest", "--json"],
    &["state", "one"],
    &["state", "one", "--turn", "1"],
    &["diff", "one", "0", "1"],
    &["replay", "one"],
];

#[test]
fn commands_that_read_write_nothing() {
    let dir = root();
    let before = everything(dir.path());
    for words in READERS {
        let (code, _, err) = outcome(dir.path(), words, b"");
        assert_eq!((code, err.as_str()), (Some(0), ""), "{words:?}");
    }
    assert_eq!(everything(dir.path()), before);
}

#[test]
fn a_root_without_anything_of_ours_can_be_read() {
    let dir = root();
    fs::remove_dir_all(dir.path().join(".everturn")).unwrap();
    for words in READERS {
        assert_eq!(outcome(dir.path(), words, b"").0, Some(0), "{words:?}");
    }
    assert!(!dir.path().join(".everturn").exists());
}

#[test]
fn readers_show_turns_that_only_the_log_of_a_dead_process_has() {
    let dir = tempfile::tempdir().unwrap();
    let create = ["new", "chatlog", "--id", "tale", "--name", "Sam"];
    assert_eq!(outcome(dir.path(), &create, b"").0, Some(0));
    let append = ["append", "tale", "--type", "npc", "--name", "Lena"];
    assert_eq!(outcome(dir.path(), &append, b"one").0, Some(0));
    let messages = || {
        let (code, out, err) = outcome(dir.path(), &["show", "tale", "--json"], b"");
        assert_eq!((code, err.as_str()), (Some(0), ""));
        out.lines().count()
    };
    let listed = || outcome(dir.path(), &["ls", "--json"], b"").1;
    assert!(messages() == 1 && listed().contains("\"turns\":1"));
    let file = dir.path().join("chats/tale.json");
    let mut document: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut next = document["messages"][0].clone();
    next["id"] = "msg-002".into();
    document["messages"].as_array_mut().unwrap().push(next);
    let replace = serde_json::json!({"file": "chats/tale.json", "text": document.to_string()});
    let steps = serde_json::json!({"steps": [{"replace": replace}]}).to_string();
    let mut writer = Appender::start(dir.path(), &["commit", "--buffered", "chats/tale.json"]);
    assert!(writer.send(steps.as_bytes()).contains("\"line\":1"));
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let files = everything(dir.path());
    assert!(messages() == 2 && listed().contains("\"turns\":2"), "{}", listed());
    assert_eq!(outcome(dir.path(), &["stats"], b"").0, Some(0));
    assert_eq!(everything(dir.path()), files, "reading has changed something");
    assert_eq!(outcome(dir.path(), &append, b"three").0, Some(0));
    assert!(messages() == 3 && listed().contains("\"turns\":3"), "{}", listed());
}

#[test]
fn input_that_is_not_text_is_refused_and_nothing_is_stored() {
    let dir = root();
    for (words, input) in [
        (&["append", "one"][..], &b"{\"actor\":\"\xff\"}"[..]),
        (&["append", "one", "--lines"], b"{\"actor\":\"\xff\"}\n"),
        (&["new", "game", "-"], b"\xff"),
        (&["scene", "start", "one", "-"], b"\xff"),
    ] {
        let (code, out, err) = outcome(dir.path(), words, input);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}");
        assert!(err.starts_with("error: cannot read the input: "), "{words:?}: {err}");
    }
    assert_eq!(outcome(dir.path(), &["ls", "--json"], b"").1.lines().count(), 1);
    assert_eq!(outcome(dir.path(), &["show", "one", "--json"], b"").1.lines().count(), 1);
}

#[test]
fn a_reader_that_leaves_ends_a_long_transcript_quietly() {
    let dir = root();
    let turn = format!("{{\"actor\":\"gm\",\"narration\":\"{}\"}}\n", "long ".repeat(1000));
    let turns = turn.repeat(60).into_bytes();
    assert_eq!(outcome(dir.path(), &["append", "one", "--lines"], &turns).0, Some(0));
    let mut child = everturn(dir.path(), &["show", "one"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "[1] player  2026-01-01T10:00:00Z\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn deep_json_is_stored_and_shown_as_it_is() {
    let dir = root();
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let turn = format!(
        r#"{{"actor":"player","deltas":[{{"scope":"world","deltas":[{{"op":"set","path":"deep","value":{deep}}}]}}]}}"#
    );
    let (code, _, err) = outcome(dir.path(), &["append", "one"], turn.as_bytes());
    assert_eq!(code, Some(0), "{err}");
    let (code, out, err) = outcome(dir.path(), &["state", "one", "--json"], b"");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(&format!("\"deep\":{deep}")));
    assert_eq!(outcome(dir.path(), &["diff", "one", "1", "2"], b"").0, Some(0));
}

#[test]
fn the_latest_session_is_the_one_that_was_changed_last() {
    let dir = root();
    let mut other = command(dir.path());
    other.args(["new", "game", "--id", "two", "--root", "."]);
    other.env("EVERTURN_NOW", "2026-01-02T10:00:00Z");
    assert_eq!(run(other, "").status.code(), Some(0));
    let latest = |dir: &Path| outcome(dir, &["state", "latest", "--json"], b"").1;
    assert!(latest(dir.path()).starts_with("{\"session\":\"two\""));
    // File times are irrelevant: copying changes them.
    let mut touch = Command::new("touch");
    touch.arg(dir.path().join("sessions/active/one/session.meta.json"));
    assert!(touch.status().unwrap().success());
    assert!(latest(dir.path()).starts_with("{\"session\":\"two\""));
}

#[test]
fn a_repeated_command_never_hits_another_session() {
    let dir = tempfile::tempdir().unwrap();
    let run_words = |words: &[&str]| run(everturn(dir.path(), words), "");
    for id in ["alpha", "alpha-2"] {
        assert!(run_words(&["new", "game", "--id", id]).status.success());
    }
    assert!(run_words(&["trash", "alpha"]).status.success());
    for command in ["trash", "pause", "seal", "rewind", "undo", "snapshot", "pin"] {
        let mut words = vec![command, "alpha"];
        words.extend((command == "rewind").then_some("0"));
        let refused = run_words(&words);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("is not a full session ID"), "{command}: {said}");
        assert!(said.contains("alpha-2"), "{command}: {said}");
    }
    // A prefix is enough for reading.
    assert!(run_words(&["show", "alpha"]).status.success());
    assert!(run_words(&["trash", "alpha-2"]).status.success());
}

#[test]
fn the_names_in_a_hint_find_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let run_words = |words: &[&str]| {
        let mut everturn = command(dir.path());
        everturn.args(words).env("HOME", dir.path());
        let output = run(everturn, "");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for format in ["game", "campaign"] {
        assert_eq!(run_words(&["new", format, "--id", "tale"]).0, Some(0));
    }
    let (_, said) = run_words(&["show", "tale"]);
    let names: Vec<&str> = said.split("name one of ").nth(1).unwrap().trim().split(", ").collect();
    assert_eq!(names.len(), 2, "{said}");
    for name in names {
        // The title follows.
        let name = name.split(" (").next().unwrap();
        let (code, said) = run_words(&["show", name]);
        assert_eq!(code, Some(0), "{name}: {said}");
    }
    let (_, said) = run_words(&["show", "linggen:tale"]);
    assert!(said.contains("there are no linggen sessions"), "{said}");
}

#[test]
fn what_a_game_stores_can_be_asked_for() {
    let dir = root();
    let run = |words: &[&str], input: &[u8]| {
        let (code, found, told) = outcome(dir.path(), words, input);
        assert_eq!(code, Some(0), "{words:?}: {told}");
        found
    };
    run(&["scene", "start", "one", "--type", "social"], b"");
    let quest =
        br#"{"actor":"gm","events":[{"type":"quest_complete","description":"The lab is found."}],
        "deltas":[{"scope":"world","deltas":[{"op":"set","path":"gate","value":"shut"}]}]}"#;
    run(&["append", "one"], quest);
    run(&["mark", "add", "one", "before the gate", "--turn", "1"], b"");
    run(&["snapshot", "one"], b"");

    let contents = run(&["show", "one", "--toc"], b"");
    let lines: Vec<&str> = contents.lines().collect();
    assert!(lines.contains(&"  scene-001  [2..] scene social"), "{contents}");
    assert!(lines.contains(&"    before the gate  [1] bookmark"), "{contents}");
    assert!(lines.iter().any(|line| line.contains("snapshot-0003  [3] snapshot")), "{contents}");
    let contents = run(&["show", "one", "--toc", "--json"], b"");
    assert!(contents.contains(r#""scene":"scene-001","type":"social""#), "{contents}");

    let events = run(&["show", "one", "--events", "quest_complete"], b"");
    assert_eq!(events, "[3] quest_complete  The lab is found.\n");
    assert_eq!(run(&["show", "one", "--events", "significant"], b""), events);
    let (_, none, told) = outcome(dir.path(), &["show", "one", "--events", "duel"], b"");
    assert!(
        none.is_empty() && told.contains("known types: ") && told.contains("quest_complete"),
        "{told}"
    );

    let stats = run(&["show", "one", "--stats", "--json"], b"");
    for part in [r#""scenes":1"#, r#""quest_complete":1"#, r#""playTimeMs":"#, r#""world":"#] {
        assert!(stats.contains(part), "{part} in {stats}");
    }
    assert!(run(&["show", "one", "--stats"], b"").contains("play time: 0 h 00 min"));

    for (at, gate) in
        [("before the gate", "\"open\"\n"), ("scene-001", "\"open\"\n"), ("3", "\"shut\"\n")]
    {
        assert_eq!(run(&["state", "one", "--at", at, "--path", "world.gate"], b""), gate, "{at}");
    }
    let path = run(&["state", "one", "--path", r#"["world","gate"]"#, "--json"], b"");
    assert!(path.contains(r#""turn":3"#) && path.contains(r#""state":"shut""#), "{path}");
    let (code, _, told) = outcome(dir.path(), &["state", "one", "--path", "world.moat"], b"");
    assert_eq!(code, Some(1));
    assert!(told.contains("the state has no value at \"world.moat\""), "{told}");

    assert_eq!(run(&["rewind", "one", "before the gate"], b""), "one turn 1\n");
    assert_eq!(outcome(dir.path(), &["rewind", "one", "the moat"], b"").0, Some(1));
}

#[test]
fn a_session_is_checked_rather_than_a_file_of_its_name() {
    let dir = root();
    fs::write(dir.path().join("one"), "{bad").unwrap();
    fs::write(dir.path().join("one.json"), "{bad").unwrap();
    let (code, _, told) = outcome(dir.path(), &["check", "one"], b"");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("no findings") && !told.contains("nothing to check"), "{told}");
    assert_eq!(outcome(dir.path(), &["check", "one.json"], b"").0, Some(3));
    let (_, _, told) = outcome(dir.path(), &["check", "./one"], b"");
    assert!(told.contains("nothing to check"), "{told}");
}

#[test]
fn edited_state_files_can_be_taken_over_as_a_turn() {
    let dir = root();
    let file = dir.path().join("sessions/active/one/world.state.json");
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
    };
    assert_eq!(outcome(dir.path(), &["adopt", "one"], b"").0, Some(1), "nothing was edited");
    edit("\"gate\": \"open\"", "\"gate\": \"burnt\", \"moat\": {\"depth\": 3}");
    assert_eq!(
        outcome(dir.path(), &["append", "one"], TURN).0,
        Some(4),
        "it is no state that is known"
    );
    let (code, found, told) = outcome(dir.path(), &["adopt", "one"], b"");
    assert_eq!((code, found.as_str()), (Some(0), "one turn 2\n"), "{told}");
    assert_eq!(outcome(dir.path(), &["check", "one"], b"").0, Some(0));
    for (turn, gate) in [("1", "\"open\"\n"), ("2", "\"burnt\"\n")] {
        let words = ["state", "one", "--turn", turn, "--path", "world.gate"];
        assert_eq!(outcome(dir.path(), &words, b"").1, gate);
    }
    let (_, events, _) = outcome(dir.path(), &["show", "one", "--events", "adopt"], b"");
    assert_eq!(events, "[2] adopt  Changes made by hand in world.state.json.\n");
    assert_eq!(outcome(dir.path(), &["undo", "one"], b"").0, Some(0));
    let words = ["state", "one", "--path", "world.gate"];
    assert_eq!(outcome(dir.path(), &words, b"").1, "\"open\"\n");
    // What cannot be read stays as it is.
    edit("{", "{,");
    let before = fs::read(&file).unwrap();
    assert_eq!(outcome(dir.path(), &["adopt", "one"], b"").0, Some(1));
    assert_eq!(fs::read(&file).unwrap(), before);
}
