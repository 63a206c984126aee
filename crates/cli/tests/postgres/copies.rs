//! `everturn copy` between directories and servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::{cluster, everturn, new_address, run, succeed};

/// All files below a directory, without logs and locks.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            let is_own =
                [".everturn/wal", ".everturn/locks", ".everturn/lock", ".everturn/staging"];
            if is_own.iter().any(|own| below.starts_with(own)) {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
            } else if !below.starts_with(".everturn/") || below.matches('/').count() > 1 {
                found.insert(below, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A root with sessions of every format, one in the trash, a pin and a seal.
fn populate(dir: &Path, root: &str) {
    let turn = r#"{"actor":"gm","narration":"The gate opens."}"#;
    for format in ["game", "campaign", "codelia", "linggen", "chatlog", "thread"] {
        succeed(dir, &["new", format, "--id", &format!("{format}-1"), "--root", root], "");
    }
    succeed(dir, &["new", "game", "--id", "gone", "--root", root], "");
    succeed(dir, &["append", "game-1", "--root", root], turn);
    succeed(dir, &["trash", "gone", "--root", root], "");
    succeed(dir, &["pin", "game-1", "--root", root], "");
    succeed(dir, &["seal", "game-1", "--root", root], "");
}

/// From a directory to a server, on to another root there, and back to a directory: the files are the same.
#[test]
fn a_root_survives_the_way_to_a_server_and_back() {
    let dir = tempfile::tempdir().unwrap();
    populate(dir.path(), "one");
    let (first, second) = (new_address(), new_address());
    let said = succeed(dir.path(), &["copy", "one", &first, "--json"], "");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["sessions"], &said["copied"]), (&json!(6), &said["verified"]), "{said}");
    let databases = said["databases"].as_array().unwrap();
    succeed(dir.path(), &["copy", &first, &second], "");
    succeed(dir.path(), &["copy", &second, "two"], "");
    let (one, two) = (files(&dir.path().join("one")), files(&dir.path().join("two")));
    let names = |files: &BTreeMap<String, Vec<u8>>| {
        let is_index = |name: &&String| databases.contains(&json!(name));
        files.keys().filter(|name| !is_index(name)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&one), names(&two));
    for name in names(&two) {
        assert_eq!(one[&name], two[&name], "{name}");
    }
    // Again: nothing is left to do.
    let said = succeed(dir.path(), &["copy", "one", &first, "--json"], "");
    assert!(said.contains("\"copied\":0"), "{said}");
    succeed(dir.path(), &["check", "--root", &second], "");
    succeed(dir.path(), &["verify", "game-1", "--root", &second], "");
}

#[test]
fn a_copy_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    populate(dir.path(), "one");
    let address = new_address();
    succeed(dir.path(), &["new", "thread", "--id", "thread-1", "--root", &address], "");
    let turn = r#"{"role":"user","content":"other"}"#;
    succeed(dir.path(), &["append", "thread-1", "--root", &address], turn);
    let before = succeed(dir.path(), &["ls", "--json", "--root", &address], "");
    let output = run(everturn(dir.path(), &["copy", "one", &address]), "");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("with other content; nothing was copied"), "{text}");
    assert!(text.contains("threads/thread-1/thread.jsonl"), "{text}");
    assert_eq!(succeed(dir.path(), &["ls", "--json", "--root", &address], ""), before);
}

/// The process is killed, or the server cuts it off, after some commits; the same command completes the copy.
#[test]
fn an_interrupted_copy_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let id = format!("tale-{number:02}");
        succeed(dir.path(), &["new", "thread", "--id", &id, "--root", "one"], "");
    }
    let address = new_address();
    let mut interrupted = 0;
    for pause in [120, 180, 240, 300, 400] {
        let mut child = everturn(dir.path(), &["copy", "one", &address]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        interrupted += usize::from(child.try_wait().unwrap().is_none());
        child.kill().ok();
        child.wait().unwrap();
        // A killed process holds its lease until it ends; the next copy of that session would have to wait.
        let root = address.rsplit_once('=').unwrap().1;
        let expire = format!("UPDATE {root}.leases SET expires = clock_timestamp()");
        cluster::cluster().client().batch_execute(&expire).ok();
    }
    println!("{interrupted} copies were interrupted");
    succeed(dir.path(), &["copy", "one", &address], "");
    succeed(dir.path(), &["copy", &address, "two"], "");
    assert_eq!(files(&dir.path().join("one")), files(&dir.path().join("two")));
}
