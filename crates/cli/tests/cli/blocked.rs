//! Commits of a killed process that cannot be completed, or not even be read.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::everturn::{command, run};

const READERS: [&[&str]; 4] =
    [&["show", "s1"], &["state", "s1"], &["export", "s1", "--format", "json"], &["check", "s1"]];

fn find_dir(dir: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let mut dirs = entries.filter(|path| path.is_dir());
    dirs.find_map(|path| if path.ends_with(name) { Some(path) } else { find_dir(&path, name) })
}

/// Creates a root with the sessions `s1` and `s2`; a process was killed after it replaced the documents of `s1`.
/// Returns these documents.
fn killed(root: &Path) -> Vec<PathBuf> {
    for id in ["s1", "s2"] {
        let mut new = command(root);
        new.args(["new", "game", "--id", id, "--root", "."]);
        assert!(run(new, "").status.success());
    }
    let session = find_dir(&root.join("sessions"), "s1").unwrap();
    let scope = session.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let files = fs::read_dir(&session).unwrap().flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension() == Some("json".as_ref())).collect();
    let steps = files.iter().map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = serde_json::Value::from(fs::read_to_string(file).unwrap() + "\n");
        format!(r#"{{"replace":{{"file":"{scope}/{name}","text":{text}}}}}"#)
    });
    let steps: Vec<String> = steps.collect();
    let mut writer = command(root);
    writer.args(["commit", "--root", ".", &scope]);
    let mut child = writer.stdin(Stdio::piped()).spawn().unwrap();
    let batch = format!("{{\"steps\":[{}]}}\n", steps.join(","));
    child.stdin.as_mut().unwrap().write_all(batch.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    assert!(!answer.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    files
}

/// Asserts that the command exits with 4, and names the log and the next step.
fn names_the_log(words: &[&str], output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{words:?}: {stderr}");
    assert!(stderr.contains(".everturn/wal/0001.log"), "{words:?}: {stderr}");
    assert!(stderr.contains("Hint: "), "{words:?}: {stderr}");
}

#[test]
fn a_session_whose_commits_cannot_be_completed_ends_with_4_and_another_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for file in killed(dir.path()) {
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
    }
    let run_in = |words: &[&str]| {
        let mut command = command(dir.path());
        command.args(words).args(["--root", "."]);
        run(command, "")
    };
    for words in READERS.iter().take(3) {
        names_the_log(words, &run_in(words));
    }
    names_the_log(&["pause", "s1"], &run_in(&["pause", "s1"]));
    // A check reports what it found.
    let checked = run_in(&["check", "s1"]);
    assert_eq!(checked.status.code(), Some(3));
    let findings = String::from_utf8_lossy(&checked.stdout);
    assert!(
        findings.contains("cannot-replay: pending commits in .everturn/wal/0001.log"),
        "{findings}"
    );
    assert_eq!(run_in(&["show", "s2"]).status.code(), Some(0));
}

#[test]
fn a_log_that_cannot_be_read_ends_with_4() {
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path());
    let log = dir.path().join(".everturn/wal/0001.log");
    let is_root = fs::metadata(&log).unwrap().uid() == 0;
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    if !is_root {
        fs::set_permissions(&log, Permissions::from_mode(0o0)).unwrap();
    }
    for words in READERS {
        let mut command = command(dir.path());
        command.args(words).args(["--root", "."]);
        if is_root {
            // Another user.
            command.uid(65534).gid(65534);
        }
        names_the_log(words, &run(command, ""));
    }
}
