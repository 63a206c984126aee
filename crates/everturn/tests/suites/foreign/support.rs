//! Files to read, and what was read from them.

use std::sync::Arc;

use everturn::finding::Finding;
use everturn::format::{self, SessionFormat, SessionReader};
use everturn::model::{Entry, SessionBranch, SessionRef};
use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};

pub(crate) use crate::foreign::convert::converts;

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn layout(name: &str) -> &'static dyn SessionFormat {
    format::find(name).unwrap()
}

/// A store that holds these files.
pub(crate) fn store(files: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let writer = store.lock(&[FilePath::root()]).unwrap();
    let step = |(file, bytes): &(&str, &[u8])| Step::Replace {
        file: path(file),
        expect: Precondition::Absent,
        bytes: bytes.to_vec(),
        mode: FileMode::Default,
    };
    writer.commit(files.iter().map(step).collect(), Durability::Synced).unwrap();
    writer.release().unwrap();
    store
}

/// The only session of a store.
pub(crate) fn only(layout: &dyn SessionFormat, store: &Arc<dyn Store>) -> SessionRef {
    let places = layout.locate(store).unwrap();
    assert_eq!(places.findings, []);
    assert_eq!(places.sessions.len(), 1, "{:?}", places.sessions);
    places.sessions[0].clone()
}

/// A session of one file.
pub(crate) fn open(name: &str, file: &str, bytes: &[u8]) -> Box<dyn SessionReader> {
    let store = store(&[(file, bytes)]);
    let layout = layout(name);
    let place = only(layout, &store);
    converts(layout, &store, &place);
    layout.open(&store, &place).unwrap()
}

/// Entries of some turns, in order.
pub(crate) fn entries(reader: &dyn SessionReader, first: u64, last: u64) -> Vec<Entry> {
    let mut stream = reader.entries(first..=last).unwrap();
    let entries = std::iter::from_fn(|| stream.next().map(Result::unwrap)).collect();
    assert_eq!(stream.take_findings(), []);
    entries
}

/// What there is to read, as `turn kind: text`, without bookkeeping.
pub(crate) fn told(reader: &dyn SessionReader) -> Vec<String> {
    let entries = entries(reader, 0, u64::MAX);
    let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=entries.len() as u64).collect::<Vec<_>>(), "entries are counted");
    let told = entries.iter().filter(|entry| !entry.kind.is_bookkeeping());
    told.map(|entry| format!("{} {}: {}", entry.turn, entry.kind, entry.text)).collect()
}

/// The same along a strand.
pub(crate) fn told_along(reader: &dyn SessionReader, branch: &str) -> Vec<String> {
    told(&*reader.open_branch(branch).unwrap())
}

/// Strands as `id from+turns: title`.
pub(crate) fn branch_lines(reader: &dyn SessionReader) -> Vec<String> {
    let shown = |branch: &SessionBranch| {
        let from = branch.from.map_or_else(|| "-".to_owned(), |from| from.to_string());
        format!("{} {from}+{}: {}", branch.id, branch.turns, branch.title)
    };
    reader.branches().unwrap().iter().map(shown).collect()
}

/// Every record that can be reached, by the main line and by what strands have of their own, sorted.
pub(crate) fn reached(reader: &dyn SessionReader) -> Vec<String> {
    let whole = |entry: &Entry| !entry.id.contains('#');
    let mut raw: Vec<String> = entries(reader, 0, u64::MAX)
        .iter()
        .filter(|entry| whole(entry))
        .map(|entry| entry.raw.to_line())
        .collect();
    for branch in reader.branches().unwrap() {
        let along = reader.open_branch(&branch.id).unwrap();
        let last = *along.turns().unwrap().end();
        let own = entries(&*along, last + 1 - branch.turns, last);
        raw.extend(own.iter().filter(|entry| whole(entry)).map(|entry| entry.raw.to_line()));
    }
    raw.sort();
    raw
}

/// Read, kept, repaired, quarantined, hidden.
pub(crate) fn counts(reader: &dyn SessionReader) -> [u64; 5] {
    let counts = reader.record_counts().unwrap();
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
        .map(|record| everturn::tree::JsonTree::parse(record.to_string()).unwrap().to_line())
        .collect();
    lines.sort();
    lines
}
