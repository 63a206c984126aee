//! T12: whatever happens to files that follow from others, sessions are read as before, and go on.
#![expect(clippy::disallowed_methods, reason = "files are damaged behind the back of the store")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::failures::kinds::{ALL, Kind};
use crate::failures::support::numbers;
use crate::failures::t06_two_writers::real;

/// Whether a file follows from others, so that nothing is lost with it.
fn is_derived(path: &Path) -> bool {
    let text = path.to_string_lossy();
    ["/indexes/", "/index/", ".index", "state.db"].iter().any(|part| text.contains(part))
}

fn walk(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, into) } else { into.push(path) }
    }
}

fn derived(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    walk(dir, &mut files);
    files.retain(|file| is_derived(file) && !file.to_string_lossy().contains(".everturn"));
    files.sort();
    files
}

/// A session that has all the files it can have.
fn build(kind: &Kind, dir: &Path) {
    let store = real(dir);
    kind.create(&store).unwrap();
    for turn in 1..=30 {
        let long = "and on ".repeat(if kind.layout == "chatlog" { 1500 } else { 1 });
        kind.say(&store, &format!("Turn {turn}. {long}")).unwrap();
    }
}

type Harm = fn(&Path);

const HARMS: &[(&str, Harm)] = &[
    ("deleted", |file| fs::remove_file(file).unwrap()),
    ("emptied", |file| fs::write(file, b"").unwrap()),
    ("cut", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("flipped", |file| {
        let mut bytes = fs::read(file).unwrap();
        let step = (bytes.len() / 16).max(1);
        bytes.iter_mut().step_by(step).for_each(|byte| *byte ^= 0x55);
        fs::write(file, bytes).unwrap();
    }),
    ("garbage", |file| fs::write(file, vec![0xa5; 5000]).unwrap()),
];

fn copy(from: &Path, to: &Path) {
    let mut files = Vec::new();
    walk(from, &mut files);
    for file in files {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, &target).unwrap();
    }
}

#[test]
fn t12_a_damaged_index_keeps_nobody_from_reading_or_going_on() {
    let mut harmed = Vec::new();
    for kind in ALL.iter() {
        let whole = tempfile::tempdir().unwrap();
        build(kind, whole.path());
        let expect = {
            let store = real(whole.path());
            kind.told(&store, &kind.place(&store).unwrap()).unwrap()
        };
        for file in derived(whole.path()) {
            for (name, harm) in HARMS {
                let dir = tempfile::tempdir().unwrap();
                copy(whole.path(), dir.path());
                let way = file.strip_prefix(whole.path()).unwrap();
                harm(&dir.path().join(way));
                harmed.push(kind.layout);
                let place = format!("{}: {} {name}", kind.layout, way.display());
                let store = real(dir.path());
                let told = |what: &str| {
                    let session =
                        kind.place(&store).unwrap_or_else(|error| panic!("{place}: {error}"));
                    kind.told(&store, &session)
                        .unwrap_or_else(|error| panic!("{place}, {what}: {error}"))
                };
                assert_eq!(told("first"), expect, "{place}");
                let listed = kind.layout().list(&store).unwrap().0;
                assert_eq!(listed.len(), 1, "{place}");
                for turn in 31..=32 {
                    let said = kind.say(&store, &format!("Turn {turn}."));
                    said.unwrap_or_else(|error| panic!("{place}: {error}"));
                }
                let numbers = numbers(&told("later"));
                assert_eq!(numbers, (1..=32).collect::<Vec<_>>(), "{place}");
            }
        }
    }
    harmed.dedup();
    assert_eq!(harmed, ["game", "codelia", "chatlog"], "layouts that have indexes");
}
