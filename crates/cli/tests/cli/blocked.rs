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

#[test]
fn a_log_that_another_user_has_closed_blocks_no_writer() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::set_permissions(root, Permissions::from_mode(0o777)).unwrap();
    let is_root = fs::metadata(root).unwrap().uid() == 0;
    if !is_root {
        // Only root can run commands as another user.
        return;
    }
    let as_user = |user: u32, words: &[&str]| {
        let mut command = command(root);
        command.args(words).args(["--root", "."]).uid(user).gid(user);
        run(command, "")
    };
    assert_eq!(as_user(65534, &["new", "game", "--id", "mine"]).status.code(), Some(0));
    let wal = root.join(".everturn/wal");
    for mode in [0o644, 0o600] {
        // The log and the lock of another user, who has closed the log.
        fs::write(wal.join("0002.log"), "").unwrap();
        fs::write(wal.join("0002.lock"), "").unwrap();
        fs::set_permissions(wal.join("0002.log"), Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(wal.join("0002.lock"), Permissions::from_mode(mode)).unwrap();
        for words in [&["pause", "mine"][..], &["resume", "mine"], &["ls"]] {
            let ended = as_user(65534, words);
            assert_eq!(ended.status.code(), Some(0), "{words:?}: {ended:?}");
        }
        // If it was not closed, its commits are unknown.
        fs::write(wal.join("0002.lock"), "pid 1\n").unwrap();
        for words in [&["pause", "mine"][..], &["ls"]] {
            let ended = as_user(65534, words);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(4), "{words:?}: {said}");
            assert!(said.contains("0002.log"), "{said}");
        }
        fs::remove_file(wal.join("0002.lock")).unwrap();
    }
}

#[test]
fn a_check_beside_a_writer_that_stands_still_ends_with_5() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (format, id) in [("game", "s1"), ("game", "s2")] {
        let mut new = command(root);
        new.args(["new", format, "--id", id, "--root", "."]);
        assert!(run(new, "").status.success());
    }
    let session = find_dir(&root.join("sessions"), "s1").unwrap();
    let scope = session.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    let mut writer = command(root);
    writer.args(["commit", "--root", ".", &scope]);
    let mut child = writer.stdin(Stdio::piped()).spawn().unwrap();
    let batch =
        format!("{{\"steps\":[{{\"replace\":{{\"file\":\"{scope}/a.json\",\"text\":\"1\"}}}}]}}\n");
    child.stdin.as_mut().unwrap().write_all(batch.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    // The counter of the writer's lock is odd while it applies a commit.
    let locks = fs::read_dir(root.join(".everturn/locks")).unwrap().flatten();
    let marked = locks.map(|entry| entry.path()).find_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let (owner, mark) = text.split_once('\n')?;
        let odd = format!("{:016x}{}", 3, mark.get(16..)?);
        (!mark.starts_with(&"0".repeat(16))).then(|| (path, format!("{owner}\n{odd}")))
    });
    let (lock, text) = marked.unwrap();
    fs::write(lock, text).unwrap();
    for words in [&["check", "s1"][..], &["check", "."], &["show", "s1"]] {
        let mut command = command(root);
        command.args(words).args(["--root", "."]);
        let output = run(command, "");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{words:?}: {stdout}{stderr}");
        let pid = format!("pid {}", child.id());
        assert!(stdout.contains(&pid) || stderr.contains(&pid), "{words:?}: {stdout}{stderr}");
        assert!(stdout.lines().count() <= 1, "{words:?}: {stdout}");
    }
    // Commands over all sessions name the busy one, and show the other.
    for words in [&["ls", "--json"][..], &["search", "anything"], &["stats", "--json"]] {
        let mut command = command(root);
        command.args(words).args(["--root", "."]);
        let output = run(command, "");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{words:?}: {stdout}{stderr}");
        assert!(stderr.contains(&format!("pid {}", child.id())), "{words:?}: {stderr}");
        match words[0] {
            "ls" => {
                for (id, is_known) in [("s1", false), ("s2", true)] {
                    let line =
                        stdout.lines().find(|line| line.contains(&format!("\"id\":\"{id}\"")));
                    let line = line.unwrap_or_else(|| panic!("{id}: {stdout}"));
                    assert_eq!(!line.contains(r#""status":"unknown""#), is_known, "{line}");
                }
            }
            "stats" => assert!(stdout.contains(r#""sessions":1,"#), "{stdout}"),
            _ => {}
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn one_blocked_session_is_listed_and_does_not_hide_the_others() {
    let documents =
        [("campaign", "campaign.json"), ("linggen", "session.yaml"), ("chatlog", "s1.json")];
    let obstacles = [true, false];
    for ((format, document), is_link) in
        documents.into_iter().flat_map(|document| obstacles.map(|is_link| (document, is_link)))
    {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let run_in = |words: &[&str]| {
            let mut command = command(root);
            command.args(words).args(["--root", "."]);
            run(command, "")
        };
        for id in ["s1", "s2"] {
            let made = run_in(&["new", format, "--id", id]);
            assert!(made.status.success(), "{made:?}");
        }
        let session = find_dir(root, "s1").unwrap_or_else(|| root.join("chats"));
        let scope = session.strip_prefix(root).unwrap().to_str().unwrap();
        let mut writer = command(root);
        writer.args(["commit", "--root", ".", scope]);
        let mut child = writer.stdin(Stdio::piped()).spawn().unwrap();
        let file = format!("{scope}/{document}");
        let text = serde_json::Value::from(fs::read_to_string(root.join(&file)).unwrap() + "\n");
        let batch =
            format!("{{\"steps\":[{{\"replace\":{{\"file\":\"{file}\",\"text\":{text}}}}}]}}\n");
        child.stdin.as_mut().unwrap().write_all(batch.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_file(root.join(&file)).unwrap();
        if is_link {
            std::os::unix::fs::symlink("/etc/hostname", root.join(&file)).unwrap();
        } else {
            fs::create_dir(root.join(&file)).unwrap();
            fs::write(root.join(&file).join("x"), "x").unwrap();
        }
        let listed = run_in(&["ls", "--json"]);
        let lines = String::from_utf8_lossy(&listed.stdout);
        for id in ["s1", "s2"] {
            assert!(lines.contains(&format!("\"id\":\"{id}\"")), "{format}: {listed:?}");
        }
        for words in [&["ls"][..], &["search", "x"], &["show", "s1"], &["state", "s1"]] {
            let output = run_in(words);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{format} {words:?}: {stderr}");
            assert!(stderr.contains(".everturn/wal/0001.log"), "{format} {words:?}: {stderr}");
        }
        assert_eq!(run_in(&["show", "s2"]).status.code(), Some(0), "{format}");
        assert_eq!(run_in(&["trash", "s2"]).status.code(), Some(0), "{format}");
    }
}
