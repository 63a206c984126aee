//! A thousand damaged sessions of every layout: what changed is found, a repair loses no record that was not hit,
//! leaves nothing to find but whole objects that lack something, and taking it back brings every damaged byte back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::panic, reason = "a test that cannot go on should say where")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

mod damage;
mod kinds;

use std::collections::BTreeMap;
use std::sync::Arc;

use damage::{Damage, Dice};
use everturn::check::{FindingSink, check_path};
use everturn::disk::sim::SimDisk;
use everturn::disk::{Disk, RealDisk};
use everturn::finding::{Finding, FindingCode, Severity};
use everturn::format::{self, RepairMode, SessionFormat};
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::seal::verify_session;
use everturn::store::{FileStore, LockOwner, Options, Store};
use jiff::Timestamp;
use kinds::Sample;

use crate::common::capabilities::KnownCapabilities;

/// How many damaged sessions of each layout are tried.
const TRIES: u64 = 1000;

/// How many failures are shown.
const SHOWN: usize = 12;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

pub(crate) fn open(disk: &SimDisk) -> Arc<dyn Store> {
    store(Arc::new(disk.process()))
}

pub(crate) fn store(disk: Arc<dyn Disk>) -> Arc<dyn Store> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 1 << 20, ..Options::new(owner) };
    Arc::new(FileStore::open(disk, options).unwrap())
}

/// The files of the session, without what Everturn keeps beside them.
fn files(disk: &SimDisk) -> BTreeMap<FilePath, Vec<u8>> {
    let mut files = disk.contents();
    files.retain(|path, _| !path.as_str().starts_with(".everturn/"));
    files
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl FindingSink for Findings {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _file: &FilePath) {}
}

fn checked(disk: &SimDisk) -> Vec<Finding> {
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    checked_on(&disk)
}

pub(crate) fn checked_on(disk: &Arc<dyn Disk>) -> Vec<Finding> {
    let mut found = Findings::default();
    check_path(disk, &FilePath::root(), &mut found).unwrap();
    found.0
}

/// Whether a check sees the damage.
fn is_seen(sample: &Sample, damage: &Damage, found: &[Finding]) -> bool {
    let Some(dir) = &sample.real else { return found != sample.usual };
    let whole = damage.strike_real(dir.path());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
    let is_seen = !checked_on(&disk).is_empty();
    damage.heal_real(dir.path(), &whole);
    is_seen
}

/// What the session says, text by text.
fn told(
    layout: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<Vec<String>, String> {
    let reader = layout.open(store, place).map_err(|error| error.to_string())?;
    let turns = reader.turns().map_err(|error| error.to_string())?;
    let mut entries = reader.entries(turns).map_err(|error| error.to_string())?;
    let mut told = Vec::new();
    while let Some(entry) = entries.next() {
        told.push(entry.map_err(|error| error.to_string())?.text);
    }
    Ok(told)
}

/// Whether some file has these bytes.
fn has(files: &BTreeMap<FilePath, Vec<u8>>, part: &[u8]) -> bool {
    files.values().any(|bytes| bytes.windows(part.len()).any(|found| found == part))
}

/// All records of the logs, each with the end of its line.
fn lines(files: &BTreeMap<FilePath, Vec<u8>>) -> Vec<Vec<u8>> {
    let logs = files.iter().filter(|(path, _)| path.as_str().ends_with(".jsonl"));
    let lines = logs.flat_map(|(_, bytes)| bytes.split_inclusive(|byte| *byte == b'\n'));
    lines.map(<[u8]>::to_vec).collect()
}

/// The records whose bytes are all still there somewhere.
fn unharmed<'s>(sample: &'s Sample, damaged: &BTreeMap<FilePath, Vec<u8>>) -> Vec<&'s str> {
    let unharmed = sample.records.iter().filter(|(_, record)| has(damaged, record));
    unharmed.map(|(text, _)| text.as_str()).collect()
}

/// Whether the seal of the session tells that it is not what it was.
fn is_told_by_seal(layout: &dyn SessionFormat, store: &Arc<dyn Store>, place: &SessionRef) -> bool {
    match verify_session(store, layout, place) {
        Ok(Some(verdict)) => !verdict.damages.is_empty() || verdict.appended > 0,
        Ok(None) => panic!("the session is not sealed"),
        Err(_) => true,
    }
}

/// Who sees that a session was damaged.
enum Seer {
    Check,
    Seal,
    Nobody,
}

/// Whether a finding is about a whole object on a line of its own that was in the damaged file, too. What it lacks
/// cannot be known, so a repair neither removes nor completes it.
fn is_kept_object(
    left: &Finding,
    damaged: &BTreeMap<FilePath, Vec<u8>>,
    repaired: &BTreeMap<FilePath, Vec<u8>>,
) -> bool {
    let (FindingCode::BadRecord, Some(offset)) = (left.code, left.offset) else { return false };
    if !left.file.as_str().ends_with(".jsonl") {
        return false;
    }
    let rest = &repaired[&left.file][usize::try_from(offset).unwrap()..];
    let object = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(object).is_ok()
        && has(damaged, object)
}

/// Damages a copy of the sample, and follows it through check, repair and its taking back.
fn follow(sample: &Sample, damage: &Damage) -> Result<Seer, String> {
    let disk = sample.disk.fork();
    damage.strike(&disk);
    let damaged = files(&disk);
    let found = checked(&disk);
    let layout = format::find(sample.layout).unwrap();
    let fix = |how| {
        let store = open(&disk);
        let done = layout.editable().repair(&store, &sample.place, how, at(500));
        done.map_err(|error| format!("{how:?}: {error}"))
    };
    let repair = fix(RepairMode::Apply)?;
    let left = checked(&disk);
    let repaired = files(&disk);
    let is_left = |left: &&Finding| {
        left.code.severity() == Severity::Finding && !is_kept_object(left, &damaged, &repaired)
    };
    if let Some(left) = left.iter().find(is_left) {
        return Err(format!("after the repair there is still: {left}"));
    }
    let again = fix(RepairMode::Plan)?;
    // A simulated disk has no database, so there the index is always missing.
    let is_index = |file: &FilePath| file.as_str().ends_with("/state.db");
    if let Some(action) = again.actions.iter().find(|action| !is_index(&action.file)) {
        return Err(format!("a second repair would change {}: {}", action.file, action.what));
    }
    // One of two records of a turn is put into the other, without the end of its line.
    for line in lines(&files(&sample.disk)) {
        if has(&damaged, &line) && !has(&repaired, line.trim_ascii_end()) {
            return Err(format!(
                "a record was not hit and is not as it was: {}",
                line.escape_ascii()
            ));
        }
    }
    let told = told(layout, &open(&disk), &sample.place)?;
    for text in unharmed(sample, &damaged) {
        if !told.iter().any(|told| told.contains(text)) {
            return Err(format!("{text:?} was not hit and is gone; found was {found:?}"));
        }
    }
    if repair.originals.is_some() {
        fix(RepairMode::Undo)?;
    }
    let back = files(&disk);
    if let Some(path) = damaged.keys().chain(back.keys()).find(|&p| damaged.get(p) != back.get(p)) {
        return Err(format!("{path} is not as it was before the repair"));
    }
    if is_seen(sample, damage, &found) {
        return Ok(Seer::Check);
    }
    let is_told = is_told_by_seal(layout, &open(&disk), &sample.place);
    Ok(if is_told { Seer::Seal } else { Seer::Nobody })
}

/// Damages a session a thousand times. At most `most_unseen` changes are not seen by a check, because nothing in the
/// files tells of them, and at most `most_untold` of those not by the seal of the session either, because they are not
/// in its records.
#[expect(clippy::print_stdout, reason = "what is not seen is listed")]
#[expect(clippy::disallowed_methods, reason = "one seed alone is asked for from outside")]
fn thousand(sample: &Sample, most_unseen: usize, most_untold: usize) {
    let (mut missed, mut failures) = (BTreeMap::new(), Vec::new());
    let mut untold = 0;
    let alone = std::env::var("EVERTURN_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = alone.map_or(0..TRIES, |seed| seed..seed + 1);
    for seed in seeds.clone() {
        let damage = Damage::choose(&mut Dice::new(seed), &files(&sample.disk));
        match follow(sample, &damage) {
            Ok(Seer::Check) => {}
            Ok(seer) => {
                untold += usize::from(matches!(seer, Seer::Nobody));
                missed.entry(damage.name()).or_insert_with(Vec::new).push(seed);
            }
            Err(problem) => failures.push(format!("seed {seed}, {damage}: {problem}")),
        }
    }
    let (tried, unseen) = (seeds.count(), missed.values().map(Vec::len).sum::<usize>());
    println!(
        "{}: {tried} were damaged; check does not see {unseen}, and {untold} of those the seal does not tell",
        sample.layout
    );
    for (name, seeds) in missed {
        println!("  {name}: {} unseen, seeds {seeds:?}", seeds.len());
    }
    let count = failures.len();
    failures.truncate(SHOWN);
    assert!(failures.is_empty(), "{count} failures:\n{}", failures.join("\n"));
    assert!(unseen <= most_unseen, "{unseen} changes were not seen");
    assert!(untold <= most_untold, "{untold} changes were not seen and not told");
}

#[test]
fn games() {
    thousand(&kinds::game(), 76, 70);
}

#[test]
fn campaigns() {
    thousand(&kinds::campaign(), 21, 3);
}

#[test]
fn sessions_of_codelia() {
    thousand(&kinds::codelia(), 95, 1);
}

#[test]
fn sessions_of_linggen() {
    thousand(&kinds::linggen(), 145, 65);
}

#[test]
fn chat_logs() {
    thousand(&kinds::chatlog(), 49, 3);
}
