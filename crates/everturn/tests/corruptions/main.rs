//! A thousand damaged sessions of every layout: what changed is found, a repair loses no record that was not hit and
//! leaves nothing to find, and taking it back brings every damaged byte back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod damage;
mod kinds;

use std::collections::BTreeMap;
use std::sync::Arc;

use damage::{Damage, Dice};
use everturn::check::{Watch, check};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, Severity};
use everturn::layout::{self, Layout, Repairing};
use everturn::names::FilePath;
use everturn::store::{FileStore, Holder, Options, Store};
use everturn::view::Place;
use jiff::Timestamp;
use kinds::Sample;

/// How many damaged sessions of each layout are tried.
const TRIES: u64 = 1000;

/// How many failures are shown.
const SHOWN: usize = 12;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

pub(crate) fn open(disk: &SimDisk) -> Arc<dyn Store> {
    let holder = Holder { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, log_most: 1 << 20, ..Options::new(holder) };
    Arc::new(FileStore::open(Arc::new(disk.process()), options).unwrap())
}

/// The files of the session, without what Everturn keeps beside them.
fn files(disk: &SimDisk) -> BTreeMap<FilePath, Vec<u8>> {
    let mut files = disk.contents();
    files.retain(|path, _| !path.as_str().starts_with(".everturn/"));
    files
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Watch for Findings {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _file: &FilePath) {}
}

fn checked(disk: &SimDisk) -> Vec<Finding> {
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    let mut found = Findings::default();
    check(&disk, &FilePath::root(), &mut found).unwrap();
    found.0
}

/// What the session says, text by text.
fn told(layout: &dyn Layout, store: &Arc<dyn Store>, place: &Place) -> Result<Vec<String>, String> {
    let reader = layout.open(store, place).map_err(|error| error.to_string())?;
    let turns = reader.turns().map_err(|error| error.to_string())?;
    let mut entries = reader.entries(turns).map_err(|error| error.to_string())?;
    let mut told = Vec::new();
    while let Some(entry) = entries.next() {
        told.push(entry.map_err(|error| error.to_string())?.text);
    }
    Ok(told)
}

/// The records whose bytes are all still there somewhere.
fn unharmed<'s>(sample: &'s Sample, damaged: &BTreeMap<FilePath, Vec<u8>>) -> Vec<&'s str> {
    let is_there = |record: &[u8]| {
        damaged.values().any(|bytes| bytes.windows(record.len()).any(|part| part == record))
    };
    let unharmed = sample.records.iter().filter(|(_, record)| is_there(record));
    unharmed.map(|(text, _)| text.as_str()).collect()
}

/// Damages a copy of the sample, and follows it through check, repair and its taking back.
fn follow(sample: &Sample, damage: &Damage) -> Result<bool, String> {
    let disk = sample.disk.fork();
    damage.strike(&disk);
    let damaged = files(&disk);
    let found = checked(&disk);
    let layout = layout::find(sample.layout).unwrap();
    let mending = |how| {
        let store = open(&disk);
        let done = layout.repair(&store, &sample.place, how, at(500));
        done.map_err(|error| format!("{how:?}: {error}"))
    };
    let repair = mending(Repairing::Mend)?;

    let left = checked(&disk);
    if let Some(left) = left.iter().find(|left| left.code.severity() == Severity::Finding) {
        return Err(format!("after the repair there is still: {left}"));
    }
    let told = told(layout, &open(&disk), &sample.place)?;
    for text in unharmed(sample, &damaged) {
        if !told.iter().any(|told| told.contains(text)) {
            return Err(format!("{text:?} was not hit and is gone; found was {found:?}"));
        }
    }
    if repair.kept.is_some() {
        mending(Repairing::TakeBack)?;
    }
    let back = files(&disk);
    if let Some(path) = damaged.keys().chain(back.keys()).find(|&p| damaged.get(p) != back.get(p)) {
        return Err(format!("{path} is not as it was before the repair"));
    }
    Ok(found != sample.usual)
}

fn thousand(sample: &Sample) {
    let (mut missed, mut failures) = (BTreeMap::new(), Vec::new());
    let mut found = 0;
    for seed in 0..TRIES {
        let damage = Damage::choose(&mut Dice::new(seed), &files(&sample.disk));
        match follow(sample, &damage) {
            Ok(true) => found += 1,
            Ok(false) => *missed.entry(damage.name()).or_insert(0_u64) += 1,
            Err(problem) => failures.push(format!("seed {seed}, {damage}: {problem}")),
        }
    }
    println!("{}: {found} of {TRIES} were found; not found were {missed:?}", sample.layout);
    let count = failures.len();
    failures.truncate(SHOWN);
    assert!(failures.is_empty(), "{count} failures:\n{}", failures.join("\n"));
}

#[test]
fn games() {
    thousand(&kinds::game());
}

#[test]
fn campaigns() {
    thousand(&kinds::campaign());
}

#[test]
fn sessions_of_codelia() {
    thousand(&kinds::codelia());
}

#[test]
fn sessions_of_linggen() {
    thousand(&kinds::linggen());
}

#[test]
fn chat_logs() {
    thousand(&kinds::chatlog());
}
