//! Many writers at one session: threads, processes, and programs that know nothing of our locks.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use everturn::disk::RealDisk;
use everturn::linggen::{LinggenError, LinggenWriter, Message, Session, SessionLocation};
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};

use crate::linggen::support::{DIR, at, path, session};

const EACH: usize = 500;

/// How a process of this test is told what to do.
const TASK: &str = "EVERTURN_TEST_LINGGEN_WRITER";

fn open(root: &Path) -> Arc<dyn Store> {
    let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
    let disk = Arc::new(RealDisk::open(root).unwrap());
    Arc::new(FileStore::open(disk, Options::new(owner)).unwrap())
}

/// The messages of the session, and how many lines of the file hold more than one.
fn contents(root: &Path) -> (Vec<String>, usize) {
    let disk = Arc::new(RealDisk::open(root).unwrap());
    let store: Arc<dyn Store> = Arc::new(FileStore::open_read_only(disk).unwrap());
    let session = Session::open(store, &place()).unwrap();
    let mut rows = session.rows().unwrap();
    let said = (&mut rows).map(|row| row.unwrap().tree.unwrap().string_at(&["content"]).unwrap());
    (said.collect(), rows.findings.len())
}

fn place() -> SessionLocation {
    SessionLocation { id: everturn::names::SessionId::parse("sess-1").unwrap(), dir: path(DIR) }
}

fn expected(writers: &[String]) -> BTreeSet<String> {
    let all =
        writers.iter().flat_map(|writer| (0..EACH).map(move |n| format!("{writer} says {n}")));
    all.collect()
}

fn check(root: &Path, writers: &[String]) -> usize {
    let (said, findings) = contents(root);
    assert_eq!(said.len(), writers.len() * EACH, "messages were lost or doubled");
    assert_eq!(said.iter().cloned().collect::<BTreeSet<_>>(), expected(writers));
    findings
}

/// Appends with a lock of its own for each message, as one-shot commands do.
fn append_one_by_one(root: &Path, name: &str) {
    let store = open(root);
    for number in 0..EACH {
        let message = Message::from_user("ling", &format!("{name} says {number}"));
        loop {
            let appended = LinggenWriter::open(&store, &place()).and_then(|writer| {
                writer.append(&message, at(1))?;
                writer.release()
            });
            match appended {
                Ok(()) => break,
                Err(LinggenError::Store(StoreError::Busy { .. })) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("{name}, {number}: {error}"),
            }
        }
    }
}

/// Appends exactly as the program does: the line and its end are two writes, and there are no locks.
#[expect(clippy::disallowed_methods, reason = "it stands for another program")]
fn append_as_the_program(root: &Path, name: &str) {
    let file = root.join(DIR).join("messages.jsonl");
    for number in 0..EACH {
        let line = serde_json::json!({
            "agent_id": "ling", "from_id": "user", "to_id": "ling", "content": format!("{name} says {number}"),
            "timestamp": 1, "is_observation": false,
        });
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&file).unwrap();
        file.write_all(line.to_string().as_bytes()).unwrap();
        file.write_all(b"\n").unwrap();
        std::thread::sleep(Duration::from_millis(8));
    }
}

/// What a process of this test does; nothing, if it is not one.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process is told what to do by a variable")]
fn worker() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (name, root) = task.split_once(' ').unwrap();
    match name.starts_with("program") {
        true => append_as_the_program(Path::new(root), name),
        false => append_one_by_one(Path::new(root), name),
    }
}

fn spawn(root: &Path, name: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "linggen::writers::worker", "--quiet"]);
    command.env(TASK, format!("{name} {}", root.display()));
    command.spawn().unwrap()
}

#[test]
fn eight_threads_share_a_session_and_every_message_is_there_once() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let writer = LinggenWriter::open(&store, &session(&store)).unwrap();
    let names: Vec<String> = (0..8).map(|number| format!("thread {number}")).collect();
    let turns: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = names
            .iter()
            .map(|name| {
                let writer = &writer;
                scope.spawn(move || {
                    let say = |number| Message::from_user("ling", &format!("{name} says {number}"));
                    let each = (0..EACH).map(|number| {
                        let appended = writer.append(&say(number), at(1)).unwrap();
                        writer.number(&appended).unwrap()
                    });
                    each.collect::<Vec<u64>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    writer.release().unwrap();
    assert_eq!(check(home.path(), &names), 0, "lines were glued or torn");
    let distinct: BTreeSet<u64> = turns.iter().copied().collect();
    assert_eq!(distinct, (1..=8 * EACH as u64).collect(), "each message has a number of its own");
}

#[test]
fn four_processes_and_a_program_without_locks_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    session(&store);
    drop(store);
    let names =
        ["process 0", "process 1", "process 2", "process 3"].map(|name| name.replace(' ', "-"));
    let children: Vec<Child> = names.iter().map(|name| spawn(home.path(), name)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(check(home.path(), &names), 0, "lines were glued or torn");
    let both = ["process-4", "program-5"].map(str::to_owned);
    let children: Vec<Child> = both.iter().map(|name| spawn(home.path(), name)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let all = [names.as_slice(), both.as_slice()].concat();
    let glued = check(home.path(), &all);
    println!(
        "linggen: {} messages of 6 writers, {glued} lines mended by the reader",
        all.len() * EACH
    );
}
