//! Sessions of every layout on a simulated disk, and what a check says about them.

use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, FindingCode, Severity};
use everturn::names::FilePath;
use everturn::store::Store;

use crate::failures::kinds::{Kind, at, open};

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

/// The log of a session, to which other programs append, too.
pub(crate) fn log(kind: &Kind) -> FilePath {
    path(kind.sample.log)
}

/// Somebody says something, and dies.
pub(crate) fn say_and_die(kind: &Kind, disk: &SimDisk, words: &str) {
    let process = disk.process();
    let store = open(&process).unwrap();
    drop(kind.begin(&store, words, at(1)).unwrap());
    drop(store);
}

/// A session of so many turns, each of which says `Turn N.`
pub(crate) fn played(kind: &Kind, turns: usize) -> SimDisk {
    let disk = SimDisk::new();
    kind.create(&open(&disk).unwrap()).unwrap();
    for turn in 1..=turns {
        say_and_die(kind, &disk, &format!("Turn {turn}."));
    }
    disk
}

pub(crate) fn bytes(disk: &SimDisk, file: &FilePath) -> Vec<u8> {
    disk.contents().remove(file).unwrap_or_else(|| panic!("there is no {file}"))
}

/// What a session tells, and what was noticed when it was opened and read.
pub(crate) fn read(kind: &Kind, store: &Arc<dyn Store>) -> (Vec<String>, Vec<Finding>) {
    let reader = kind.layout().open(store, &kind.place(store).unwrap()).unwrap();
    let mut findings = reader.findings();
    let mut entries = reader.entries(reader.turns().unwrap()).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = entries.next() {
        told.push(entry.unwrap().raw.to_line());
    }
    findings.extend(entries.take_findings());
    (told, findings)
}

/// The numbers of the turns that a session tells, in its order.
pub(crate) fn numbers(told: &[String]) -> Vec<usize> {
    let number = |line: &String| {
        let (_, rest) = line.split_once("Turn ")?;
        rest.split('.').next()?.parse().ok()
    };
    let mut numbers: Vec<usize> = told.iter().filter_map(number).collect();
    // One turn may be told in several entries.
    numbers.dedup();
    numbers
}

struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}

/// Everything that a check finds on a disk.
pub(crate) fn checked(disk: &SimDisk) -> Vec<Finding> {
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    let mut found = Found(Vec::new());
    check_path(&disk, &FilePath::root(), &mut found).unwrap();
    found.0
}

/// What is wrong, without warnings.
pub(crate) fn wrong(disk: &SimDisk) -> Vec<String> {
    let is_wrong = |finding: &Finding| finding.code.severity() == Severity::Finding;
    checked(disk).into_iter().filter(is_wrong).map(|finding| finding.to_string()).collect()
}

/// The finding of a code at a byte of a file.
pub(crate) fn at_byte(
    findings: &[Finding],
    file: &FilePath,
    code: FindingCode,
    offset: usize,
) -> Option<Finding> {
    let is = |finding: &&Finding| {
        finding.file == *file && finding.code == code && finding.offset == Some(offset as u64)
    };
    findings.iter().find(is).cloned()
}

/// The contents of the quarantine.
pub(crate) fn quarantined(disk: &SimDisk) -> Vec<Vec<u8>> {
    let dir = path(".everturn/quarantine");
    disk.contents().into_iter().filter(|(file, _)| file.is_within(&dir)).map(|(_, b)| b).collect()
}

/// Where each line of a file begins, and the end of the last one.
pub(crate) fn starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}
