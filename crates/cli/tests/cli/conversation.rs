//! `everturn session`: conversations with the real binary, also with a client in another language, and kills.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use everturn_samples::formats;

use crate::everturn::{command, run};

/// A client that knows only the documentation.
const CLIENT: &str = include_str!("conversation.py");

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

fn everturn(root: &Path, words: &[&str], input: &str) -> String {
    let mut everturn = command(root);
    everturn.args(words).args(["--root", "."]);
    let output = run(everturn, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn game() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    everturn(dir.path(), &["new", "game", "--id", "demo"], "");
    dir
}

/// A running conversation.
struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Conversation {
    fn start(root: &Path, words: &[&str]) -> Conversation {
        let mut everturn = command(root);
        everturn.args(["session"]).args(words).args(["--root", "."]);
        let mut child = everturn.stdin(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().map(BufReader::new);
        Conversation { input: child.stdin.take(), output, child }
    }

    fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect(&line)
    }

    fn ask(&mut self, line: &str) -> Value {
        self.send(line.as_bytes());
        self.answer()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end, and returns the exit code, or `None` if it had to be killed.
    fn end(mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        None
    }
}

#[test]
fn each_line_is_answered_at_once_and_errors_do_not_end_it() {
    let dir = game();
    let mut game = Conversation::start(dir.path(), &["demo", "--json"]);
    let stored =
        game.ask(r#"{"id":1,"request":"append","data":{"actor":"gm","narration":"One."}}"#);
    assert_eq!((&stored["id"], &stored["ok"]["turn"]), (&json!(1), &json!(1)));
    let long = vec![b'x'; 20 << 20];
    for (line, code) in [
        (&b"nonsense"[..], "bad_json"),
        (b"{\"request\":\"info\",\"x\":\"\xff\"}", "bad_json"),
        (b"{\"request\":\"fly\"}", "unknown_request"),
        (b"{\"request\":\"info\",\"x\":1}", "bad_request"),
        (&long, "too_long"),
    ] {
        game.send(line);
        assert_eq!(game.answer()["error"]["code"], code);
    }
    // Others read beside it.
    assert!(everturn(dir.path(), &["show", "demo"], "").contains("One."));
    let info = game.ask(r#"{"request":"info"}"#);
    assert_eq!((&info["ok"]["turns"], &info["ok"]["locked"]), (&json!(1), &json!(true)));
    drop(game.input.take());
    assert_eq!(game.end(), Some(0));
    assert_eq!(everturn(dir.path(), &["check", "demo"], ""), "");
}

#[test]
fn a_second_writer_waits_and_is_then_told_that_the_session_is_busy() {
    let dir = game();
    let append = r#"{"request":"append","data":{"actor":"gm","narration":"One."}}"#;
    let mut first = Conversation::start(dir.path(), &["demo"]);
    assert_eq!(first.ask(append)["ok"]["turn"], 1);
    let mut second = Conversation::start(dir.path(), &["demo", "--wait", "0"]);
    assert_eq!(second.ask(append)["error"]["code"], "busy");
    let mut third = Conversation::start(dir.path(), &["demo", "--wait", "20"]);
    third.send(append.as_bytes());
    assert_eq!(first.ask(r#"{"request":"close"}"#)["ok"]["turn"], 1);
    assert_eq!(first.end(), Some(0));
    assert_eq!(third.answer()["ok"]["turn"], 2);
    drop(third.input.take());
    assert_eq!(third.end(), Some(0));
    assert_eq!(second.ask(append)["ok"]["turn"], 3);
    drop(second.input.take());
    assert_eq!(second.end(), Some(0));
}

#[test]
fn signals_and_a_closed_output_end_it_cleanly() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let dir = game();
        let mut game = Conversation::start(dir.path(), &["demo"]);
        for turn in 1..=3 {
            let line = r#"{"request":"append","data":{"actor":"gm","narration":"On."}}"#;
            assert_eq!(game.ask(line)["ok"]["turn"], turn);
        }
        game.signal(signal);
        assert_eq!(game.end(), Some(0), "{signal}");
        // It has written the state files, and nothing is left to recover.
        let state = everturn(dir.path(), &["state", "demo", "--json"], "");
        assert!(state.contains("\"turn\":3"), "{state}");
        assert_eq!(everturn(dir.path(), &["check", "demo"], ""), "");
    }
    let dir = game();
    let mut game = Conversation::start(dir.path(), &["demo"]);
    drop(game.output.take());
    game.send(br#"{"request":"append","data":{"actor":"gm"}}"#);
    assert_eq!(game.end(), Some(0));
    assert!(everturn(dir.path(), &["state", "demo", "--json"], "").contains("\"turn\":1"));
}

#[test]
fn a_read_only_conversation_follows_a_writer_and_leaves_no_trace() {
    let dir = game();
    let mut reader = Conversation::start(dir.path(), &["demo", "--read-only"]);
    assert_eq!(reader.ask(r#"{"request":"state"}"#)["ok"]["turn"], 0);
    let append = r#"{"request":"append","data":{"actor":"gm","narration":"On."}}"#;
    assert_eq!(reader.ask(append)["error"]["code"], "read_only");
    let mut writer = Conversation::start(dir.path(), &["demo"]);
    for turn in 1..=30 {
        assert_eq!(writer.ask(append)["ok"]["turn"], turn);
        assert_eq!(reader.ask(r#"{"request":"state"}"#)["ok"]["turn"], turn);
    }
    // What a killed process has acknowledged is read as well.
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    assert_eq!(reader.ask(r#"{"request":"info"}"#)["ok"]["turns"], 30);
    assert_eq!(reader.ask(r#"{"request":"entries","from":30}"#)["ok"]["entries"][0]["turn"], 30);
    drop(reader.input.take());
    assert_eq!(reader.end(), Some(0));
}

#[test]
fn a_session_of_another_program_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let lines = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","timestamp":"2026-01-01T10:00:00Z","cwd":"/srv","message":{"role":"user","content":"Hello."}}
"#;
    let projects = dir.path().join("projects/-srv");
    #[expect(clippy::disallowed_methods, reason = "the test writes what another program would")]
    {
        std::fs::create_dir_all(&projects).unwrap();
        std::fs::write(projects.join("s1.jsonl"), lines).unwrap();
    }
    let mut session = Conversation::start(dir.path(), &["s1", "--layout", "claude-code"]);
    assert_eq!(session.ask(r#"{"request":"entries"}"#)["ok"]["entries"][0]["text"], "Hello.");
    let refused = session.ask(r#"{"request":"append","key":"k","data":{"text":"x"}}"#);
    assert_eq!(refused["error"]["code"], "read_only");
    drop(session.input.take());
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_session_that_does_not_exist_is_an_error_of_the_command() {
    let dir = game();
    let mut everturn = command(dir.path());
    everturn.args(["session", "nothing", "--root", "."]);
    assert_eq!(run(everturn, "").status.code(), Some(1));
}

/// Lets the client play a session through kills.
fn play(format: &str, kills: u32, seed: u32) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let mut words = vec!["new", format];
    if format != "campaign" {
        words.extend(["--id", "demo"]);
    }
    let session = everturn(dir.path(), &words, "");
    let mut python = Command::new("python3");
    python.arg("-c").arg(CLIENT).arg(env!("CARGO_BIN_EXE_everturn")).args([format, session.trim()]);
    python.arg(kills.to_string()).arg(seed.to_string()).current_dir(dir.path());
    python.env("EVERTURN_MOUNTINFO", "/dev/null");
    python.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = run(python, "");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{format}: {errors}");
    assert_eq!(everturn(dir.path(), &["check", session.trim()], ""), "", "{format}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_client_that_resends_after_every_kill_finds_each_turn_once() {
    let mut before = 0;
    for format in formats() {
        let kills = if format == "game" { 60 } else { 20 };
        let played = play(format, kills, 7);
        println!("conversation with a {format}: {played}");
        assert_eq!(played["kills"], kills);
        before += played["before"].as_u64().unwrap();
    }
    assert!(before > 0, "no turn was killed between its commit and its answer");
}
