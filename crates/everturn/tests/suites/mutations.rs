//! Recorded files of every format, mutated: no reader may crash, and none may read without an end.
//!
//! `EVERTURN_MUTATIONS=20000 cargo test --test everturn mutations` tries more than the few of a normal run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]
#![expect(clippy::disallowed_methods, reason = "the recorded files are beside the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::Finding;
use everturn::format::{self, SessionFormat};
use everturn::names::FilePath;
use everturn::scan::SecretRules;
use everturn::store::{FileStore, Store};

/// Tries of each format in a normal run.
const USUAL: u64 = 60;

type Tree = BTreeMap<FilePath, Vec<u8>>;

/// A reproducible source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end.max(1) as u64).unwrap()
    }
}

/// What is inserted into files.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"null",
    b"-0",
    b"1e999",
    b"99999999999999999999",
    b"-1",
    b"\\u0000",
    b"\\ud800",
    b"true",
    b"{}",
    b"[]",
    b"\xef\xbb\xbf",
    b"[[[[[[[[[[[[[[[[",
    b"../",
    b"# aider chat started at x\n",
    b"\"id\":\"\",",
];

/// Changes a tree in one to four places.
fn mutate(tree: &mut Tree, choices: &mut Choices) {
    let files: Vec<FilePath> = tree.keys().cloned().collect();
    for _ in 0..=choices.below(4) {
        let file = &files[choices.below(files.len())];
        let Some(bytes) = tree.get_mut(file) else { continue };
        let at = choices.below(bytes.len() + 1);
        let end = (at + choices.below(40)).min(bytes.len());
        match choices.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << choices.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, part));
            }
            4 => {
                let other = tree[&files[choices.below(files.len())]].clone();
                tree.insert(file.clone(), other);
            }
            5 => drop(tree.remove(file)),
            _ => {
                let piece = PIECES[choices.below(PIECES.len())].to_vec();
                drop(bytes.splice(at..end, piece));
            }
        }
    }
}

/// The recorded files of a format.
fn recorded(name: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let (mut tree, mut waiting) = (Tree::new(), vec![root.clone()]);
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let below = path.strip_prefix(&root).unwrap().to_str().unwrap();
                tree.insert(FilePath::parse(below).unwrap(), std::fs::read(&path).unwrap());
            }
        }
    }
    tree
}

struct Ignored;

impl FindingSink for Ignored {
    fn finding(&mut self, _: Finding) {}
    fn file(&mut self, _: &FilePath) {}
}

/// Reads everything that there is to read. Errors and findings are fine.
fn read_all(format: &dyn SessionFormat, disk: &SimDisk) -> usize {
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    drop(check_path(&disk, &FilePath::root(), &mut Ignored));
    let store: Arc<dyn Store> = Arc::new(FileStore::open_read_only(disk).unwrap());
    let Ok(listing) = format.locate(&store) else { return 0 };
    let mut entries = 0;
    for place in listing.sessions {
        drop(format.summary(&store, &place));
        let Ok(reader) = format.open(&store, &place) else { continue };
        let Ok(turns) = reader.turns() else { continue };
        drop(reader.state(None));
        drop(reader.findings());
        if let Ok(mut stream) = reader.entries(turns.clone()) {
            while let Some(entry) = stream.next() {
                let Ok(entry) = entry else { break };
                drop(SecretRules::standard().find(&entry.readable_text()));
                entries += 1;
                assert!(entries < 100_000, "{}: reading does not end", format.name());
            }
        }
        if let Ok(mut stream) = reader.changes(turns) {
            while let Some(Ok(_)) = stream.next() {
                entries += 1;
                assert!(entries < 100_000, "{}: reading does not end", format.name());
            }
        }
    }
    entries
}

fn disk_of(tree: &Tree) -> SimDisk {
    let disk = SimDisk::new();
    tree.iter().for_each(|(file, bytes)| disk.put_file(file, bytes));
    disk
}

#[test]
fn no_mutation_of_a_recorded_file_stops_a_reader() {
    let tries = std::env::var("EVERTURN_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let tries: u64 = tries.unwrap_or(USUAL);
    // A SQLite file is read by its own suite.
    let formats = format::ALL.iter().chain(format::EXTERNAL).filter(|it| it.name() != "goose");
    for format in formats {
        let tree = recorded(format.name());
        assert!(!tree.is_empty(), "there are no recorded files of {}", format.name());
        assert!(read_all(*format, &disk_of(&tree)) > 0, "{} reads nothing", format.name());
        for seed in 0..tries {
            let mut changed = tree.clone();
            mutate(&mut changed, &mut Choices(seed * 7919 + 13));
            let read = std::panic::catch_unwind(|| read_all(*format, &disk_of(&changed)));
            assert!(read.is_ok(), "{}: seed {seed}", format.name());
        }
    }
}
