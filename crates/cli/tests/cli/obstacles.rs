//! Something else in the place of a file: it must not hide what was stored there.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::everturn::{command, run};

fn everturn(root: &Path, words: &[&str], input: &str) -> Output {
    let mut command = command(root);
    command.args(words).args(["--root", "."]);
    run(command, input)
}

/// Appends lines in a process that is killed after it has acknowledged them.
fn append_and_die(root: &Path, words: &[&str], lines: &[&str]) {
    let mut writer = command(root);
    writer.args(words).args(["--root", "."]);
    let mut child = writer.stdin(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for line in lines {
        child.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Puts something else in the place of a file.
fn obstruct(file: &Path, kind: &str) {
    fs::remove_file(file).unwrap();
    match kind {
        "directory" => fs::create_dir(file).unwrap(),
        "dangling link" => symlink("nowhere", file).unwrap(),
        "link outside" => symlink("/etc/hostname", file).unwrap(),
        _ => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
    }
}

/// A session of each format: its name, a line of input, and the files that hold its turns.
const SESSIONS: [(&str, &str, &[&str]); 4] = [
    (
        "chatlog",
        r#"{"type":"npc","name":"L","text":"Hello."}"#,
        &["chats/s1.json", "chats/s1.journal.jsonl"],
    ),
    (
        "game",
        r#"{"actor":"gm","narration":"Hello."}"#,
        &[
            "sessions/active/s1/turns/turns-0001-current.jsonl",
            "sessions/active/s1/session.meta.json",
        ],
    ),
    (
        "codelia",
        r#"{"messages":[{"role":"user","content":"Hello."}]}"#,
        &["sessions/messages/s1.jsonl"],
    ),
    (
        "campaign",
        r#"{"user_input":"Hello.","actor_id":"pc_001","outputs":[{"assistant_text":"You rest.",
            "dialog_type":"scene_description","tool_calls":[{"id":"call_1","tool":"hp_delta",
            "args":{"target_character_id":"pc_001","delta":1,"cause":"rest"}}]}]}"#,
        &["campaigns/s1/turn_log.jsonl", "campaigns/s1/turn_deltas.jsonl"],
    ),
];

#[test]
fn something_else_in_the_place_of_a_file_hides_nothing() {
    for (format, line, files) in SESSIONS {
        let dir = tempfile::tempdir().unwrap();
        let original = dir.path().join("original");
        fs::create_dir(&original).unwrap();
        assert!(everturn(&original, &["new", format, "--id", "s1"], "").status.success());
        let append = match format {
            "campaign" => &["campaign", "replay-outputs", "s1", "--json"][..],
            _ => &["append", "s1", "--lines", "--json"],
        };
        let line = line.replace('\n', "");
        append_and_die(&original, append, &[line.as_str(); 3]);
        // Another session is made by a process that completes the commits first, so the log is empty.
        assert!(everturn(&original, &["new", format, "--id", "s2"], "").status.success());
        for (number, file) in files.iter().enumerate() {
            for kind in ["directory", "dangling link", "link outside", "pipe"] {
                let root = dir.path().join(format!("{kind} {number}"));
                let copied = Command::new("cp").arg("-a").arg(&original).arg(&root).status();
                assert!(copied.unwrap().success());
                obstruct(&root.join(file), kind);
                for words in [&["show", "s1"][..], &["export", "s1", "--format", "json"]] {
                    let ended = everturn(&root, words, "");
                    assert_eq!(
                        ended.status.code(),
                        Some(4),
                        "{file}: {kind}: {words:?}: {ended:?}"
                    );
                }
                let listed = everturn(&root, &["ls"], "");
                let text = String::from_utf8_lossy(&listed.stdout);
                assert!(text.contains("s1"), "{file}: {kind}: {listed:?}");
                let checked = everturn(&root, &["check"], "");
                assert_eq!(checked.status.code(), Some(3), "{file}: {kind}: {checked:?}");
                let text = String::from_utf8_lossy(&checked.stdout);
                assert!(text.contains(file), "{file}: {kind}: {checked:?}");
            }
        }
    }
}

/// After a power cut, the lock file of a log may be empty or missing although commits wait in the log.
#[test]
fn another_user_sees_that_commits_may_wait_without_the_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::set_permissions(root, Permissions::from_mode(0o777)).unwrap();
    if fs::metadata(root).unwrap().uid() != 0 {
        // Only root can run commands as another user.
        return;
    }
    let as_other = |words: &[&str]| {
        let mut command = command(root);
        command.args(words).args(["--root", "."]).uid(65534).gid(65534);
        run(command, "")
    };
    assert!(everturn(root, &["new", "linggen", "--id", "s1"], "").status.success());
    assert_eq!(as_other(&["ls"]).status.code(), Some(0), "the log was closed");
    append_and_die(root, &["append", "s1", "--lines"], &[r#"{"content":"Hello."}"#; 2]);
    let lock = root.join(".everturn/wal/0001.lock");
    for is_missing in [false, true] {
        match is_missing {
            true => fs::remove_file(&lock).unwrap(),
            false => fs::write(&lock, "").unwrap(),
        }
        for words in [&["ls"][..], &["show", "s1"], &["check"]] {
            let ended = as_other(words);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(4), "{words:?}: {ended:?}");
            assert!(said.contains("0001.log"), "{words:?}: {said}");
        }
    }
    // The owner's next command that writes recovers the log and closes it.
    assert!(everturn(root, &["pin", "s1"], "").status.success());
    assert_eq!(as_other(&["ls"]).status.code(), Some(0));
}
