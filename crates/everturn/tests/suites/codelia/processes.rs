//! Real processes at one session: they wait for each other, they are killed, and nothing is lost or doubled.
#![expect(clippy::disallowed_methods, reason = "children are told what to do by their environment")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use everturn::codelia::{CodeliaError, CodeliaHome, CodeliaWriter, SessionIndex, SqliteIndex};
use everturn::store::StoreError;

use crate::codelia::support::{at, id, real, session, texts, user};

const PROCESSES: usize = 4;
const SAVES: usize = 400;
const KILLS: usize = 25;

fn child(dir: &Path, name: &str, saves: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "codelia::processes::a_child_saves",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env("CODELIA_TEST_DIR", dir).env("CODELIA_TEST_NAME", name);
    command.env("CODELIA_TEST_SAVES", saves.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Becomes the writer as soon as nobody else is.
fn patiently(home: &CodeliaHome) -> CodeliaWriter {
    loop {
        match CodeliaWriter::open(home, &id("one")) {
            Ok(writer) => return writer,
            Err(CodeliaError::Store(StoreError::Busy { .. })) => {
                std::thread::sleep(Duration::from_micros(300));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a child does; by itself, nothing.
#[test]
fn a_child_saves() {
    let Some(dir) = std::env::var_os("CODELIA_TEST_DIR") else { return };
    let name = std::env::var("CODELIA_TEST_NAME").unwrap();
    let saves: usize = std::env::var("CODELIA_TEST_SAVES").unwrap().parse().unwrap();
    let home = CodeliaHome::new(real(Path::new(&dir)));
    let mut out = std::io::stdout();
    writeln!(out).unwrap();
    for number in 0..saves {
        let mut writer = patiently(&home);
        let text = format!("{name}-{number}");
        let saved = writer.append(&[user(&text)], at(1)).unwrap();
        // On a slow disk, another process may hold the index for longer than a save waits for it. The row follows later.
        if let Some(error) = saved.deferred_error {
            assert!(error.contains("database is locked"), "{error}");
        }
        writer.release().unwrap();
        writeln!(out, "saved {text}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn four_processes_save_four_hundred_times_each() {
    let dir = tempfile::tempdir().unwrap();
    drop(session(&CodeliaHome::new(real(dir.path())), "one", &[]));
    let children: Vec<Child> =
        (0..PROCESSES).map(|number| child(dir.path(), &format!("p{number}"), SAVES)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let home = CodeliaHome::new(real(dir.path()));
    drop(patiently(&home));
    let found = texts(&home, "one");
    let wanted: BTreeSet<String> = (0..PROCESSES)
        .flat_map(|process| (0..SAVES).map(move |number| format!("p{process}-{number}")))
        .collect();
    assert_eq!(found.len(), PROCESSES * SAVES);
    assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), wanted);
    let index = SqliteIndex::open_read_only(&dir.path().join("sessions/state.db")).unwrap();
    assert_eq!(index.row("one").unwrap().unwrap().message_count, Some(1600));
}

#[test]
fn killed_processes_lose_no_message_and_the_row_follows_the_log() {
    let dir = tempfile::tempdir().unwrap();
    drop(session(&CodeliaHome::new(real(dir.path())), "one", &[]));
    let mut answered = Vec::new();
    for life in 0..KILLS {
        let mut child = child(dir.path(), &format!("life{life}"), 1000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let wanted = life * 7 % 13 + 1;
        let mut count = 0;
        while count < wanted {
            let Some(Ok(line)) = lines.next() else { break };
            if let Some(text) = line.strip_prefix("saved ") {
                answered.push(text.to_owned());
                count += 1;
            }
        }
        std::thread::sleep(Duration::from_micros(u64::try_from(life * 131 % 1500).unwrap()));
        child.kill().unwrap();
        let rest = lines.map_while(Result::ok);
        answered.extend(rest.filter_map(|line| Some(line.strip_prefix("saved ")?.to_owned())));
        child.wait().unwrap();
        let home = CodeliaHome::new(real(dir.path()));
        drop(patiently(&home));
        let index = SqliteIndex::open_read_only(&dir.path().join("sessions/state.db")).unwrap();
        let row = index.row("one").unwrap().unwrap();
        assert_eq!(row.message_count, i64::try_from(texts(&home, "one").len()).ok());
    }
    let found = texts(&CodeliaHome::new(real(dir.path())), "one");
    let unique: BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "a message is there twice");
    assert!(answered.iter().all(|text| unique.contains(text)), "an answered message is lost");
    assert!(answered.len() >= KILLS);
    println!("codelia: {KILLS} kills, {} answered messages kept", answered.len());
}
