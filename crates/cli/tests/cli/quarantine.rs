//! A commit that another program has displaced: every command that recovers reports it, and the content in quarantine
//! is listed until it is removed.
#![expect(clippy::disallowed_methods, reason = "the test is the other program")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::everturn::{command, run};

const CAMPAIGN_TURN: &str = r#"{"user_input":"Hello","actor_id":"pc_001","outputs":[{"assistant_text":"You rest.","dialog_type":"scene_description","tool_calls":[]}]}"#;
const MESSAGE: &str = r#"{"type":"narrator","name":"N","text":"The rain stops."}"#;

fn everturn(root: &Path, words: &[&str], input: &str) -> Output {
    let mut command = command(root);
    command.env("HOME", root.join("home")).args(["--root", "."]).args(words);
    run(command, input)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a process that replaces a document, kills it after the acknowledgement, and then saves another content as
/// another program would.
fn displace(root: &Path, scope: &str, file: &str) {
    let before = fs::read_to_string(root.join(file)).unwrap();
    let with = |field: &str| before.replacen('{', &format!("{{\"note\": \"{field}\", "), 1);
    let step = json!({"replace": {"file": file, "text": with("a commit")}});
    let mut writer = command(root);
    writer.args(["--root", ".", "commit", scope]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = writer.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{}\n", json!({"steps": [step]})).as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(!answer.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(root.join(file), with("another program")).unwrap();
}

/// Creates a chat log whose writer was killed, and whose document another program has saved since.
fn displaced_chat(root: &Path) {
    let made = everturn(root, &["new", "chatlog", "--id", "tale"], "");
    assert!(made.status.success(), "{}", stderr(&made));
    displace(root, "chats/tale.json", "chats/tale.json");
}

/// Returns a Linggen session directory, below the directory of its project.
fn linggen_dir(root: &Path) -> PathBuf {
    let project = fs::read_dir(root.join("projects")).unwrap().next().unwrap().unwrap();
    project.path().strip_prefix(root).unwrap().join("sessions")
}

fn kept(root: &Path) -> Vec<PathBuf> {
    match fs::read_dir(root.join(".everturn/quarantine")) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    }
}

fn findings(output: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(&output.stdout);
    let values = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let field = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    values.map(|value| (field(&value, "code"), field(&value, "message"))).collect()
}

#[test]
fn every_command_that_recovers_says_what_was_set_aside() {
    let commands: [(&[&str], i32); 5] = [
        (&["pin", "tale"], 0),
        (&["repair", "tale"], 0),
        (&["scrub", "tale", "--yes"], 0),
        (&["rewind", "tale", "99"], 1),
        (&["append", "nothing"], 1),
    ];
    for (words, code) in commands {
        let dir = tempfile::tempdir().unwrap();
        displaced_chat(dir.path());
        let output = everturn(dir.path(), words, "");
        let told = stderr(&output);
        assert_eq!(told.matches("changed by another program").count(), 1, "{words:?}: {told}");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert_eq!(kept(dir.path()).len(), 1, "{words:?}");
    }
}

#[test]
fn a_campaign_that_recovers_says_what_was_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(everturn(root, &["new", "campaign", "--id", "c"], "").status.success());
    let replay = ["campaign", "replay-outputs", "c", "--json"];
    displace(root, "campaigns/c", "campaigns/c/campaign.json");
    let output = everturn(root, &replay, &format!("{CAMPAIGN_TURN}\n"));
    assert!(stderr(&output).contains("changed by another program"), "{}", stderr(&output));
}

#[test]
fn what_is_in_the_quarantine_is_told_until_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    displaced_chat(root);
    let mentioned = |words: &[&str]| {
        let output = everturn(root, words, "");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        stderr(&output).lines().filter(|line| line.contains("in the quarantine")).count()
    };
    // Nothing is recovered yet: no missing file is named.
    for words in [&["check", "--json", "tale"][..], &["check", "--json", "."]] {
        let output = everturn(root, words, "");
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        let found = findings(&output);
        let [(code, message)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(code, "quarantined");
        assert!(message.contains("will recover") && !message.contains("quarantine/"), "{message}");
    }
    assert_eq!(mentioned(&["show", "tale"]), 1);
    assert_eq!(kept(root), Vec::<PathBuf>::new());
    assert!(everturn(root, &["append", "tale", "--lines"], MESSAGE).status.success());
    let pieces = kept(root);
    let [piece] = pieces.as_slice() else { panic!("{pieces:?}") };
    let name = piece.file_name().unwrap().to_str().unwrap();
    for words in [&["check", "--json", "tale"][..], &["check", "--json", "."]] {
        let output = everturn(root, words, "");
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        let found = findings(&output);
        let [(code, message)] = found.as_slice() else { panic!("{found:?}") };
        assert!(code == "quarantined" && message.contains(name), "{message}");
    }
    let told = stderr(&everturn(root, &["check", "tale"], ""));
    assert!(!told.contains("journal"), "there is none: {told}");
    assert_eq!(mentioned(&["show", "tale"]), 1);
    assert_eq!(mentioned(&["ls"]), 1);
    assert!(everturn(root, &["new", "chatlog", "--id", "other"], "").status.success());
    assert_eq!(mentioned(&["show", "other"]), 0);
    assert_eq!(everturn(root, &["check", "other"], "").status.code(), Some(0));
    fs::remove_file(piece).unwrap();
    assert_eq!(everturn(root, &["check", "tale"], "").status.code(), Some(0));
    assert_eq!(mentioned(&["show", "tale"]) + mentioned(&["ls"]), 0);
}

#[test]
fn the_rest_of_a_torn_line_is_only_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(everturn(root, &["new", "linggen", "--id", "l"], "").status.success());
    assert!(everturn(root, &["append", "l"], r#"{"content":"one"}"#).status.success());
    let log = root.join(linggen_dir(root)).join("l/messages.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("{\"torn");
    fs::write(&log, text).unwrap();
    assert!(everturn(root, &["append", "l"], r#"{"content":"two"}"#).status.success());
    assert_eq!(kept(root).len(), 1);
    let output = everturn(root, &["check", "--json", "l"], "");
    assert_eq!(output.status.code(), Some(0));
    let found = findings(&output);
    assert!(found.iter().any(|(code, _)| code == "set-aside"), "{found:?}");
    assert_eq!(stderr(&everturn(root, &["show", "l"], "")), "");
}

#[test]
fn a_copy_that_a_move_to_another_mount_is_making_is_no_session() {
    let places = [
        ("game", "sessions/active/s1", "sessions/paused/.s1.everturn-copy"),
        ("campaign", "campaigns/s1", "campaigns/.s1.everturn-copy"),
        ("linggen", "s1", ".s1.everturn-copy"),
        ("chatlog", "chats/s1.json", "chats/.s1.json.everturn-copy"),
    ];
    for (format, session, copy) in places {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let made = everturn(root, &["new", format, "--id", "s1"], "");
        assert!(made.status.success(), "{format}: {}", stderr(&made));
        let above = if format == "linggen" { linggen_dir(root) } else { PathBuf::new() };
        let (session, copy) = (above.join(session), above.join(copy));
        fs::create_dir_all(root.join(&copy).parent().unwrap()).unwrap();
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .args([root.join(session), root.join(&copy)])
            .status();
        assert!(copied.unwrap().success(), "{format}");
        // A partial copy.
        if root.join(&copy).is_dir() {
            fs::write(root.join(&copy).join("half.json"), "{\"half").unwrap();
        }
        let list = everturn(root, &["ls", "--json"], "");
        assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 1, "{format}");
        assert_eq!(stderr(&list), "", "{format}");
        let check = everturn(root, &["check", "--json", "."], "");
        assert_eq!(String::from_utf8_lossy(&check.stdout), "", "{format}");
        let name = copy.file_name().unwrap().to_str().unwrap();
        for name in [name, copy.to_str().unwrap()] {
            assert_eq!(everturn(root, &["show", name], "").status.code(), Some(1), "{name}");
        }
        assert!(everturn(root, &["show", "s1"], "").status.success(), "{format}");
    }
}

#[test]
fn a_busy_chat_log_is_named_as_the_user_knows_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(everturn(root, &["new", "chatlog", "--id", "tale"], "").status.success());
    let mut writer = command(root);
    writer.args(["--root", ".", "append", "tale", "--lines", "--json"]).stdin(Stdio::piped());
    let mut child = writer.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{MESSAGE}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    let output = everturn(root, &["append", "tale", "--lines"], MESSAGE);
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(output.status.code(), Some(5));
    let told = stderr(&output);
    assert!(told.contains("chats/tale.json is being written"), "{told}");
}
