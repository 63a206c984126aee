//! A good session on a simulated disk, and ways to damage it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::Finding;
use everturn::game::{GameWriter, NewScene, SceneEnd};
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, Options, Store};

use super::support::{at, new_session, turn};

pub(crate) const SESSION: &str = "session-abc123";
pub(crate) const DIR: &str = "sessions/active/session-abc123";

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

/// The path of a file of the session.
pub(crate) fn file(name: &str) -> FilePath {
    path(&format!("{DIR}/{name}"))
}

pub(crate) fn open(disk: &SimDisk) -> Arc<dyn Store> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    Arc::new(FileStore::open(Arc::new(disk.process()), Options::new(owner)).unwrap())
}

/// A session of 150 turns with two scenes, the second of which goes on.
pub(crate) fn good() -> SimDisk {
    static GOOD: OnceLock<SimDisk> = OnceLock::new();
    GOOD.get_or_init(|| {
        let disk = SimDisk::new();
        let store = open(&disk);
        let mut game =
            GameWriter::create(Arc::clone(&store), &new_session(SESSION), at(0)).unwrap();
        for number in 1..=150_u64 {
            let now = at(i64::try_from(number).unwrap());
            match number {
                5 | 60 => drop(game.start_scene(&NewScene::new("exploration"), now).unwrap()),
                40 => drop(game.end_scene(&SceneEnd::default(), now).unwrap()),
                number => assert_eq!(game.append(&turn(number), now).unwrap().turn, number),
            }
        }
        game.close(at(200)).unwrap();
        drop(store);
        disk
    })
    .fork()
}

#[derive(Default)]
struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}

/// What a check of everything finds.
pub(crate) fn findings(disk: &SimDisk) -> Vec<Finding> {
    let mut found = Found::default();
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    check_path(&disk, &FilePath::root(), &mut found).unwrap();
    found.0
}

/// The same as codes, each once, sorted.
pub(crate) fn codes(findings: &[Finding]) -> Vec<&'static str> {
    let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The files of the session.
pub(crate) fn files(disk: &SimDisk) -> BTreeMap<FilePath, Vec<u8>> {
    let dir = path("sessions");
    disk.contents().into_iter().filter(|(file, _)| file.is_within(&dir)).collect()
}

pub(crate) fn text(disk: &SimDisk, name: &str) -> String {
    let content = disk.contents().remove(&file(name));
    String::from_utf8(content.unwrap_or_else(|| panic!("there is no {name}"))).unwrap()
}

/// Changes a file by its text.
pub(crate) fn edit(disk: &SimDisk, name: &str, change: impl FnOnce(String) -> String) {
    let before = text(disk, name);
    let after = change(before.clone());
    assert_ne!(before, after, "{name} was not changed");
    disk.put_file(&file(name), after.as_bytes());
}

/// Changes one line, counted from 1.
pub(crate) fn edit_line(disk: &SimDisk, name: &str, line: usize, change: impl Fn(&str) -> String) {
    edit(disk, name, |text| {
        let lines = text.lines().enumerate();
        let lines =
            lines.map(|(at, old)| if at + 1 == line { change(old) } else { format!("{old}\n") });
        lines.collect()
    });
}

pub(crate) fn replace(disk: &SimDisk, name: &str, from: &str, to: &str) {
    edit(disk, name, |text| {
        assert!(text.contains(from), "{name} has no {from}");
        text.replacen(from, to, 1)
    });
}

pub(crate) fn remove(disk: &SimDisk, name: &str) {
    disk.process().remove(&file(name)).unwrap();
}

pub(crate) fn rename(disk: &SimDisk, from: &str, to: &str) {
    disk.process().rename(&file(from), &file(to)).unwrap();
}
