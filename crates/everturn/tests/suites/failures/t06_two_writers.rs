//! T6: two live writers at one session, in real processes, one of which is killed.
//!
//! `EVERTURN_APPENDS=10000 cargo test --release -p everturn --test suites failures::t06` tries more often.
#![expect(clippy::disallowed_methods, reason = "children are told what to do by their environment")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use everturn::disk::RealDisk;
use everturn::disk::sim::SimDisk;
use everturn::format::SessionError;
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};

use crate::failures::kinds::{ALL, Kind, at, open};

const APPENDS: usize = 120;

pub(crate) fn real(dir: &Path) -> Arc<dyn Store> {
    let owner = LockOwner { pid: std::process::id(), started: "2026-01-01T00:00:00Z".to_owned() };
    let disk = Arc::new(RealDisk::open(dir).unwrap());
    Arc::new(FileStore::open(disk, Options::new(owner)).unwrap())
}

fn child(dir: &Path, kind: &Kind, name: &str, count: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "failures::t06_two_writers::a_child_appends", "--nocapture"]);
    command.env("T06_DIR", dir).env("T06_LAYOUT", kind.layout).env("T06_NAME", name);
    command.env("T06_COUNT", count.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Appends as soon as nobody else has the session.
fn patiently(kind: &Kind, store: &Arc<dyn Store>, words: &str) {
    loop {
        match kind.say(store, words) {
            Ok(()) => return,
            Err(SessionError::Store(StoreError::Busy { .. })) => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a child does; by itself, nothing.
#[test]
fn a_child_appends() {
    let Ok(dir) = std::env::var("T06_DIR") else { return };
    let variable = |name: &str| std::env::var(name).unwrap();
    let (layout, name) = (variable("T06_LAYOUT"), variable("T06_NAME"));
    let kind = ALL.iter().find(|kind| kind.layout == layout).unwrap();
    let store = real(Path::new(&dir));
    let mut out = std::io::stdout();
    writeln!(out).unwrap();
    for number in 0..variable("T06_COUNT").parse::<usize>().unwrap() {
        patiently(kind, &store, &format!("{name}-{number}."));
        writeln!(out, "said {name}-{number}.").unwrap();
        out.flush().unwrap();
    }
}

/// What was said, as far as a session tells it.
fn said(kind: &Kind, store: &Arc<dyn Store>) -> Vec<String> {
    let told = kind.told(store, &kind.place(store).unwrap()).unwrap();
    let word = |line: &String| {
        let start = line.find("first-").or_else(|| line.find("second-"))?;
        let rest = &line[start..];
        Some(rest[..=rest.find('.')?].to_owned())
    };
    let mut said: Vec<String> = told.iter().filter_map(word).collect();
    said.dedup();
    said
}

#[test]
fn t06_two_processes_at_one_session_lose_nothing_and_one_may_be_killed() {
    let appends = std::env::var("EVERTURN_APPENDS").map_or(APPENDS, |text| text.parse().unwrap());
    for kind in ALL.iter() {
        let dir = tempfile::tempdir().unwrap();
        kind.create(&real(dir.path())).unwrap();
        let each = appends / 2;
        let first = child(dir.path(), kind, "first", each);
        let mut second = child(dir.path(), kind, "second", usize::MAX);
        // The second one is killed in the middle of its work.
        let mut lines = BufReader::new(second.stdout.take().unwrap()).lines();
        let mut answered = BTreeSet::new();
        let note = |line: String, answered: &mut BTreeSet<String>| {
            answered.extend(line.strip_prefix("said ").map(str::to_owned));
        };
        while answered.len() < each / 2 {
            let line = lines.next().unwrap().unwrap();
            note(line, &mut answered);
        }
        second.kill().unwrap();
        lines.map_while(Result::ok).for_each(|line| note(line, &mut answered));
        second.wait().unwrap();
        let output = first.wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {output:?}", kind.layout);
        answered.extend((0..each).map(|number| format!("first-{number}.")));
        // Its lock is recovered, and the session goes on.
        let store = real(dir.path());
        patiently(kind, &store, "first-last.");
        answered.insert("first-last.".to_owned());
        let said = said(kind, &store);
        let unique: BTreeSet<String> = said.iter().cloned().collect();
        assert_eq!(unique.len(), said.len(), "{}: something is there twice", kind.layout);
        let lost: Vec<&String> = answered.difference(&unique).collect();
        assert!(lost.is_empty(), "{}: lost {lost:?}", kind.layout);
        assert!(unique.len() <= answered.len() + 1, "{}", kind.layout);
        let numbers = |name: &str| -> Vec<usize> {
            let of = |it: &String| it.strip_prefix(name)?.trim_end_matches('.').parse().ok();
            said.iter().filter_map(of).collect()
        };
        assert!(numbers("first-").is_sorted() && numbers("second-").is_sorted(), "{}", kind.layout);
    }
}

#[test]
fn t06_a_second_writer_is_told_who_the_first_one_is() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let (living, dying) = (open(&disk).unwrap(), disk.process());
        kind.create(&living).unwrap();
        let other = open(&dying).unwrap();
        let held = kind.begin(&other, "Turn 1.", at(1)).unwrap();
        let before = disk.contents();
        let refused = kind.say(&living, "Turn 2.").unwrap_err();
        let SessionError::Store(StoreError::Busy { owner, .. }) = &refused else {
            panic!("{}: {refused:?}", kind.layout)
        };
        assert!(owner.contains("pid 1"), "{owner}");
        assert_eq!(disk.contents(), before, "{}: nothing was changed", kind.layout);
        drop(held);
        kind.say(&living, "Turn 2.").unwrap();
        let told = kind.told(&living, &kind.place(&living).unwrap()).unwrap();
        assert_eq!(crate::failures::support::numbers(&told), [1, 2], "{}", kind.layout);
    }
}
