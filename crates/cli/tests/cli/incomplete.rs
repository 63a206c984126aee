//! Incomplete output is reported: unreadable sessions, too few open files, an index that is being built.
#![expect(clippy::disallowed_methods, reason = "the test is in the way of the files")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use crate::everturn::{command, run};

fn everturn(root: &Path, words: &[&str], input: &str) -> Output {
    let mut command = command(root);
    command.env("HOME", root.join("home")).args(["--root", "r"]).args(words);
    run(command, input)
}

/// Runs the binary with a limit on open files.
fn everturn_with(root: &Path, files: u32, words: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_everturn");
    let script = format!("ulimit -n {files}; exec {binary} --root r \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(words).current_dir(root);
    shell.env_clear().env("HOME", root.join("home")).env("EVERTURN_MOUNTINFO", "/dev/null");
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    run(shell, "")
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn append(root: &Path, id: &str, narration: &str) {
    let turn = format!(r#"{{"actor":"gm","narration":"{narration}"}}"#);
    let output = everturn(root, &["append", id], &turn);
    assert!(output.status.success(), "{}", texts(&output).1);
}

fn two_games(root: &Path) {
    fs::create_dir_all(root.join("r")).unwrap();
    for id in ["s1", "s2"] {
        assert!(everturn(root, &["new", "game", "--id", id], "").status.success());
        append(root, id, "a dragon");
    }
}

#[test]
fn a_search_names_what_it_could_not_read_and_tries_again_the_next_time() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    let turns = root.join("r/sessions/active/s1/turns");
    fs::rename(&turns, root.join("aside")).unwrap();
    symlink("/nonexistent", &turns).unwrap();
    for _ in 0..2 {
        let output = everturn(root, &["search", "dragon"], "");
        let (found, told) = texts(&output);
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(found.contains("s2#1") && !found.contains("s1#1"), "{found}");
        assert!(told.contains("sessions/active/s1 was not searched"), "{told}");
    }
    fs::remove_file(&turns).unwrap();
    fs::rename(root.join("aside"), &turns).unwrap();
    let output = everturn(root, &["search", "dragon"], "");
    let (found, told) = texts(&output);
    assert_eq!((output.status.code(), told.as_str()), (Some(0), ""));
    assert!(found.contains("s1#1") && found.contains("s2#1"), "{found}");
}

#[test]
fn too_few_open_files_are_no_damage_and_are_not_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    let mut refused = 0;
    for files in [9, 10, 11, 12, 13, 14, 16, 18, 20, 24] {
        let export = ["export", "s1", "--format", "json"];
        for words in [&["search", "dragon"][..], &["check"], &["check", "s1"], &export, &["ls"]] {
            let output = everturn_with(root, files, words);
            let (found, told) = texts(&output);
            let what = format!("{files} {words:?}: {found}{told}");
            let code = output.status.code();
            if code != Some(0) {
                refused += 1;
                assert_eq!(code, Some(1), "{what}");
                assert!(told.to_lowercase().contains("too many open files"), "{what}");
            }
            for damage in ["damaged", "missing", "bad-", "torn", "differs", "findings"] {
                let told = told.replace("no findings", "");
                assert!(!told.contains(damage) && !found.contains(damage), "{what}");
            }
            if words == ["search", "dragon"] && code == Some(0) {
                assert!(found.contains("s1#1") && found.contains("s2#1"), "{what}");
            }
        }
        let output = everturn(root, &["search", "dragon"], "");
        let (found, told) = texts(&output);
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{files}");
        assert!(found.contains("s1#1") && found.contains("s2#1"), "{files}: {found}");
    }
    assert!(refused > 10, "{refused}");
}

/// Runs the binary with a limit on the size of files, in blocks. What exceeds it fails, as on a full disk.
fn everturn_on_full_disk(root: &Path, blocks: u32, words: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_everturn");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {binary} --root r \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(words).current_dir(root);
    shell.env_clear().env("HOME", root.join("home")).env("EVERTURN_MOUNTINFO", "/dev/null");
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    run(shell, "")
}

#[test]
fn a_search_that_cannot_write_the_index_reads_the_sessions() {
    let mut refused = 0;
    for has_index in [false, true] {
        for blocks in [0, 1, 2, 3, 4, 6, 8, 16] {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path();
            two_games(root);
            if has_index {
                assert!(everturn(root, &["search", "dragon"], "").status.success());
                append(root, "s2", "another dragon");
            }
            let output = everturn_on_full_disk(root, blocks, &["search", "dragon"]);
            let (found, told) = texts(&output);
            let what = format!("{blocks} {has_index}: {found}{told}");
            assert_eq!(output.status.code(), Some(0), "{what}");
            assert!(found.contains("s1#1") && found.contains("s2#1"), "{what}");
            assert!(found.contains("s2#2") == has_index, "{what}");
            refused += usize::from(told.contains("the index cannot be updated"));
        }
    }
    assert!(refused > 4, "{refused}");
}

#[test]
fn archived_sessions_are_listed_shown_searched_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    assert!(everturn(root, &["complete", "s1"], "").status.success());
    assert!(everturn(root, &["archive", "s1"], "").status.success());
    let run = |words: &[&str]| {
        let output = everturn(root, words, "");
        let (found, told) = texts(&output);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {told}");
        assert!(!told.contains("archived"), "{words:?}: {told}");
        found
    };
    // What was recorded about files that have just changed is not trusted for two seconds.
    for pause in [0, 0, 3, 0] {
        thread::sleep(Duration::from_secs(pause));
        assert!(run(&["search", "dragon"]).contains("s1#1"));
        run(&["stats"]);
        let listed = run(&["ls", "--json", "s1"]);
        assert!(
            listed.contains(r#""status":"archived""#) && listed.contains(r#""turns":1"#),
            "{listed}"
        );
    }
    assert!(run(&["show", "s1"]).contains("dragon"));
    assert!(run(&["state", "s1", "--path", "world.sessionId"]).contains("s1"));
    let output = everturn(root, &["append", "s1"], "{}");
    assert_eq!(output.status.code(), Some(1), "an archive cannot be written");
    assert!(root.join("r/sessions/archives/s1.tar.gz").exists());
}

#[test]
fn stats_name_the_sessions_that_could_not_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    let metadata = root.join("r/sessions/active/s1/session.meta.json");
    fs::remove_file(&metadata).unwrap();
    fs::create_dir(&metadata).unwrap();
    for words in [&["stats"][..], &["stats", "--json"]] {
        let output = everturn(root, words, "");
        let (_, told) = texts(&output);
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(told.contains("r/sessions/active/s1 was not counted: "), "{told}");
        assert!(told.ends_with("1 session could not be read\n"), "{told}");
    }
}

#[test]
fn a_purge_that_fails_prints_nothing_as_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    assert!(everturn(root, &["trash", "s1"], "").status.success());
    let output = everturn_on_full_disk(root, 0, &["purge", "--all", "--yes"]);
    let (printed, told) = texts(&output);
    assert_eq!((output.status.code(), printed.as_str()), (Some(1), ""), "{told}");
    let output = everturn(root, &["purge", "--all", "--yes"], "");
    let (printed, told) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(printed.contains("-s1  "), "{printed}");
}

/// Returns the file that a process locks while it updates the index.
fn index_lock(dir: &Path) -> Option<std::path::PathBuf> {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if let Some(found) = index_lock(&path) {
                return Some(found);
            }
        } else if path.ends_with("catalog/lock") {
            return Some(path);
        }
    }
    None
}

#[test]
fn a_search_waits_for_another_that_is_indexing_and_says_if_it_gives_up() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    two_games(root);
    assert!(everturn(root, &["search", "dragon"], "").status.success());
    let lock = File::open(index_lock(&root.join("home")).unwrap()).unwrap();
    lock.lock().unwrap();
    append(root, "s1", "a phoenix");
    let output = everturn(root, &["search", "phoenix"], "");
    let (_, told) = texts(&output);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("the newest turns may be missing"), "{told}");
    thread::scope(|threads| {
        threads.spawn(|| {
            thread::sleep(Duration::from_secs(1));
            lock.unlock().unwrap();
        });
        let output = everturn(root, &["search", "phoenix"], "");
        let (found, told) = texts(&output);
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""));
        assert!(found.contains("s1#2"), "{found}");
    });
}
