//! A Python program that knows only docs/thread.md reads what Everturn writes, and writes what Everturn reads.

use std::path::Path;
use std::process::Command;

use super::checkpoint;
use everturn::Root;
use everturn::thread::ThreadSession;
use everturn::tree::JsonTree;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/thread/reader.py");

fn python(verb: &str, file: &Path) -> String {
    let done = Command::new("python3").args([SCRIPT, verb]).arg(file).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn another_program_reads_the_channels_of_every_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open_or_create(dir.path()).unwrap();
    let mut thread = ThreadSession::create(&root, "t1").unwrap();
    thread.append_json(&checkpoint("c1", None, 1)).unwrap();
    thread.append_json(&checkpoint("other", Some("c1"), 9)).unwrap();
    let mut parent = "c1".to_owned();
    for n in 2..=60 {
        thread.append_json(&checkpoint(&format!("c{n}"), Some(&parent), n)).unwrap();
        parent = format!("c{n}");
    }
    thread.close().unwrap();
    root.close().unwrap();
    let printed = python("read", &dir.path().join("threads/t1/thread.jsonl"));
    let lines: Vec<JsonTree> = printed.lines().map(|line| JsonTree::parse(line).unwrap()).collect();
    assert_eq!(lines.len(), 60);
    let root = Root::open(dir.path()).unwrap();
    let thread: ThreadSession = root.open("t1").unwrap();
    for (turn, line) in (1..).zip(&lines) {
        let state = thread.reader().unwrap().state(Some(turn)).unwrap();
        for (channel, value) in line.children() {
            assert!(state.get(&channel).unwrap().is_same(&value), "{channel} of turn {turn}");
        }
    }
}

#[test]
fn a_thread_that_another_program_wrote_is_read_checked_and_continued() {
    let dir = tempfile::tempdir().unwrap();
    let threads = dir.path().join("threads/t1");
    assert!(Command::new("mkdir").arg("-p").arg(&threads).status().unwrap().success());
    python("write", &threads.join("thread.jsonl"));
    let root = Root::open(dir.path()).unwrap();
    let mut thread: ThreadSession = root.open("t1").unwrap();
    let state = thread.reader().unwrap().state(None).unwrap();
    assert_eq!(state.get("x").unwrap().to_value().unwrap(), serde_json::json!([1, "é", null]));
    let record = r#"{"type":"checkpoint","id":"c","parent":"b","versions":{"x":"v3"},"values":{"x":[1,"é",null,4]}}"#;
    assert_eq!(thread.append_json(record).unwrap().turn, 4);
    thread.close().unwrap();
    root.close().unwrap();
    let printed = python("read", &threads.join("thread.jsonl"));
    assert_eq!(printed.lines().last(), Some(r#"{"x": [1, "\u00e9", null, 4]}"#));
}
