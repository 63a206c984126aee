//! Exports in difficult conditions: an unwritable session, a damaged session, an interruption.

#![expect(clippy::disallowed_methods, reason = "a test makes the files that the binary meets")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::everturn;

const TALE: &str = include_str!("../../../../docs/pictures/tale.json");

fn root(tale: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("root/chats")).unwrap();
    fs::write(dir.path().join("root/chats/tale.json"), tale).unwrap();
    dir
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = everturn::command(dir);
    command.args(["--root", "root", "export", "tale"]).args(words);
    command
}

fn export(dir: &Path, words: &[&str]) -> Output {
    everturn::run(command(dir, words), "")
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_session_that_cannot_be_written_is_exported_all_the_same() {
    let dir = root(TALE);
    // Something else is in the place of the write-ahead log.
    fs::create_dir(dir.path().join("root/.everturn")).unwrap();
    fs::write(dir.path().join("root/.everturn/wal"), "").unwrap();
    let output = export(dir.path(), &["-o", "tale.txt", "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("the export was not recorded in the session: "), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"noted\":false"));
    assert_eq!(output.status.code(), Some(0));
    assert!(fs::read_to_string(dir.path().join("tale.txt")).unwrap().contains("Not this ship."));
    assert_eq!(fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap(), TALE);
}

#[test]
fn a_session_that_cannot_be_read_leaves_no_file() {
    let dir = root(&TALE[..TALE.len() / 2]);
    for file in ["tale.txt", "tale.md", "tale.html", "tale.pdf", "tale.json"] {
        let output = export(dir.path(), &["-o", file]);
        assert_eq!(output.status.code(), Some(4), "{file}");
    }
    assert_eq!(names(dir.path()), ["root"]);
}

#[test]
fn an_export_that_is_interrupted_leaves_no_file() {
    let message = r#"{"id":"m","timestamp":"2026-01-01T10:00:00Z","type":"narrator","content":{"text":"Words. "}},"#;
    let messages = message.repeat(20_000);
    let long = TALE.replacen("\"messages\": [", &format!("\"messages\": [{messages}"), 1);
    let dir = root(&long);
    let child = command(dir.path(), &["-o", "tale.pdf", "--no-system-fonts"]).spawn().unwrap();
    let start = Instant::now();
    while names(dir.path()) == ["root"] && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(names(dir.path()).len(), 2, "it is being written under another name");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: stopped; nothing was written\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(dir.path()), ["root"]);
}
