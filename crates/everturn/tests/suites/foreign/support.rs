//! Files to read, and what was read from them.

use std::sync::Arc;

use everturn::finding::Finding;
use everturn::layout::{self, Layout, Reader};
use everturn::names::FilePath;
use everturn::store::{Durability, Expect, MemoryStore, Secrecy, Step, Store};
use everturn::view::{Entry, Place, Strand};

pub(crate) use crate::foreign::convert::converts;

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn layout(name: &str) -> &'static dyn Layout {
    layout::find(name).unwrap()
}

/// A store that holds these files.
pub(crate) fn store(files: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let writer = store.lock(&[FilePath::root()]).unwrap();
    let step = |(file, bytes): &(&str, &[u8])| Step::Replace {
        file: path(file),
        expect: Expect::Absent,
        bytes: bytes.to_vec(),
        secrecy: Secrecy::Usual,
    };
    writer.commit(files.iter().map(step).collect(), Durability::Synced).unwrap();
    writer.release().unwrap();
    store
}

/// The only session of a store.
pub(crate) fn only(layout: &dyn Layout, store: &Arc<dyn Store>) -> Place {
    let places = layout.places(store).unwrap();
    assert_eq!(places.findings, []);
    assert_eq!(places.places.len(), 1, "{:?}", places.places);
    places.places[0].clone()
}

/// A session of one file.
pub(crate) fn open(name: &str, file: &str, bytes: &[u8]) -> Box<dyn Reader> {
    let store = store(&[(file, bytes)]);
    let layout = layout(name);
    let place = only(layout, &store);
    converts(layout, &store, &place);
    layout.open(&store, &place).unwrap()
}

/// Entries of some turns, in order.
pub(crate) fn entries(reader: &dyn Reader, first: u64, last: u64) -> Vec<Entry> {
    let mut stream = reader.entries(first..=last).unwrap();
    let entries = std::iter::from_fn(|| stream.next().map(Result::unwrap)).collect();
    assert_eq!(stream.take_findings(), []);
    entries
}

/// What there is to read, as `turn kind: text`, without bookkeeping.
pub(crate) fn told(reader: &dyn Reader) -> Vec<String> {
    let entries = entries(reader, 0, u64::MAX);
    let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=entries.len() as u64).collect::<Vec<_>>(), "entries are counted");
    let told = entries.iter().filter(|entry| !entry.kind.is_bookkeeping());
    told.map(|entry| format!("{} {}: {}", entry.turn, entry.kind, entry.text)).collect()
}

/// The same along a strand.
pub(crate) fn told_along(reader: &dyn Reader, strand: &str) -> Vec<String> {
    told(&*reader.along(strand).unwrap())
}

/// Strands as `id from+turns: title`.
pub(crate) fn strands(reader: &dyn Reader) -> Vec<String> {
    let shown = |strand: &Strand| {
        let from = strand.from.map_or_else(|| "-".to_owned(), |from| from.to_string());
        format!("{} {from}+{}: {}", strand.id, strand.turns, strand.title)
    };
    reader.strands().unwrap().iter().map(shown).collect()
}

/// Every record that can be reached, by the main line and by what strands have of their own, sorted.
pub(crate) fn reached(reader: &dyn Reader) -> Vec<String> {
    let whole = |entry: &Entry| !entry.id.contains('#');
    let mut raw: Vec<String> = entries(reader, 0, u64::MAX)
        .iter()
        .filter(|entry| whole(entry))
        .map(|entry| entry.raw.to_line())
        .collect();
    for strand in reader.strands().unwrap() {
        let along = reader.along(&strand.id).unwrap();
        let last = *along.turns().unwrap().end();
        let own = entries(&*along, last + 1 - strand.turns, last);
        raw.extend(own.iter().filter(|entry| whole(entry)).map(|entry| entry.raw.to_line()));
    }
    raw.sort();
    raw
}

/// Read, kept, repaired, quarantined, hidden.
pub(crate) fn counts(reader: &dyn Reader) -> [u64; 5] {
    let counts = reader.counts().unwrap();
    assert_eq!(counts.read, counts.kept + counts.repaired + counts.quarantined);
    [counts.read, counts.kept, counts.repaired, counts.quarantined, counts.hidden]
}

/// Findings as `line code`.
pub(crate) fn codes(findings: &[Finding]) -> Vec<String> {
    let shown = |finding: &Finding| match finding.line {
        Some(line) => format!("{line} {}", finding.code),
        None => finding.code.to_string(),
    };
    findings.iter().map(shown).collect()
}

/// Lines of a file.
pub(crate) fn lines(records: &[serde_json::Value]) -> Vec<u8> {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    lines.into_bytes()
}

/// The same records as they are compared with those that were reached.
pub(crate) fn sorted(records: &[serde_json::Value]) -> Vec<String> {
    let mut lines: Vec<String> = records
        .iter()
        .map(|record| everturn::tree::Tree::parse(record.to_string()).unwrap().to_line())
        .collect();
    lines.sort();
    lines
}
