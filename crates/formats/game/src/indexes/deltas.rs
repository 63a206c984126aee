//! `delta-index.json`: the turns of each delta log file, the snapshots, and counts of deltas.

use serde_json::Value;

use super::counter::BoundedCounter;
use super::text::{self, IndexFields, IndexText, MOST_NAME, clip, quote, width};
use super::thinned_list::{AROUND, ListEntry, NUMBER, ThinnedList};
use super::turns::MOST_FILE_NAME;
use super::{GroupFacts, IndexError};

/// The budget of `files`, in bytes.
const MOST_FILES: usize = 200_000;

/// The budget of `snapshots`, in bytes.
const MOST_SNAPSHOTS: usize = 200_000;

/// The budget of `byScope`, and that of `byOperation`, in bytes.
const MOST_COUNTS: usize = 30_000;

/// The directory of snapshots.
const SNAPSHOTS: &str = "snapshots/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeltaIndex {
    files: ThinnedList<DeltaFile>,
    snapshots: ThinnedList<SnapshotListing>,
    by_scope: BoundedCounter,
    by_operation: BoundedCounter,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DeltaFile {
    file: String,
    first: u64,
    last: u64,
    deltas: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SnapshotListing {
    id: String,
    turn: u64,
    /// The name in the directory.
    file: String,
}

impl DeltaIndex {
    pub(super) fn new() -> DeltaIndex {
        DeltaIndex {
            files: ThinnedList::new(MOST_FILES),
            snapshots: ThinnedList::new(MOST_SNAPSHOTS),
            by_scope: BoundedCounter::new(MOST_COUNTS),
            by_operation: BoundedCounter::new(MOST_COUNTS),
        }
    }

    pub(super) fn add(&mut self, facts: &GroupFacts<'_>) {
        let turn = facts.turn;
        let file = clip(facts.file, MOST_FILE_NAME);
        let deltas = facts.ops.len() as u64;
        match self.files.newest() {
            Some(newest) if newest.file == file => {
                newest.first = newest.first.min(turn);
                newest.last = newest.last.max(turn);
                newest.deltas = newest.deltas.saturating_add(deltas);
            }
            _ => {
                let file = file.into_owned();
                self.files.push(DeltaFile { file, first: turn, last: turn, deltas });
            }
        }
        self.by_scope.add(facts.scope, deltas);
        for op in facts.ops {
            self.by_operation.add(op, 1);
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let from = clip(from, MOST_FILE_NAME);
        if let Some(file) = self.files.find(|file| file.file == from) {
            file.file = clip(to, MOST_FILE_NAME).into_owned();
        }
    }

    pub(super) fn add_snapshot(&mut self, id: &str, turn: u64, file: &str) {
        let [id, file] = [id, file].map(|text| clip(text, MOST_NAME).into_owned());
        self.snapshots.push(SnapshotListing { id, turn, file });
    }

    pub(super) fn last_snapshot(&self) -> Option<u64> {
        self.snapshots.entries().last().map(|snapshot| snapshot.turn)
    }

    pub(super) fn drop_snapshot(&mut self, id: &str) {
        let id = clip(id, MOST_NAME);
        self.snapshots.remove(|snapshot| snapshot.id == id);
    }

    pub(super) fn write(&self, page: &mut IndexText, through: u64) {
        page.plain("totalDeltas", self.by_scope.total());
        page.plain("throughTurn", through);
        self.files.write(page, "files");
        self.snapshots.write(page, "snapshots");
        self.by_scope.write(page, "byScope");
        self.by_operation.write(page, "byOperation");
    }

    pub(super) fn read(fields: &IndexFields) -> Result<DeltaIndex, IndexError> {
        let deltas = DeltaIndex {
            files: ThinnedList::read(fields, "files", MOST_FILES)?,
            snapshots: ThinnedList::read(fields, "snapshots", MOST_SNAPSHOTS)?,
            by_scope: BoundedCounter::read(fields, "byScope", MOST_COUNTS)?,
            by_operation: BoundedCounter::read(fields, "byOperation", MOST_COUNTS)?,
        };
        let total = fields.number("totalDeltas")?;
        if total != deltas.by_scope.total() || total != deltas.by_operation.total() {
            return Err(fields.bad("totalDeltas"));
        }
        Ok(deltas)
    }

    /// Returns how many files and snapshots are listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> [usize; 2] {
        [self.files.entries().len(), self.snapshots.entries().len()]
    }
}

impl ListEntry for DeltaFile {
    fn line(&self) -> String {
        let DeltaFile { file, first, last, deltas } = self;
        let file = quote(file);
        format!(
            "{{ \"file\": {file}, \"turnRange\": [{first}, {last}], \"deltaCount\": {deltas} }}"
        )
    }

    fn read(entry: &Value) -> Option<DeltaFile> {
        let (first, last) = text::range(entry, "turnRange")?;
        let file = text::string(entry, "file", MOST_FILE_NAME)?;
        Some(DeltaFile { file, first, last, deltas: text::number(entry, "deltaCount")? })
    }

    fn weight(&self) -> usize {
        const FIXED: usize = r#"{ "file": "", "turnRange": [, ], "deltaCount":  }"#.len();
        FIXED + MOST_FILE_NAME + 3 * NUMBER + AROUND
    }
}

impl ListEntry for SnapshotListing {
    fn line(&self) -> String {
        let (id, turn) = (quote(&self.id), self.turn);
        let file = quote(&[SNAPSHOTS, &self.file].concat());
        format!("{{ \"snapshotId\": {id}, \"turnId\": {turn}, \"file\": {file} }}")
    }

    fn read(entry: &Value) -> Option<SnapshotListing> {
        let file = text::string(entry, "file", SNAPSHOTS.len() + MOST_NAME)?;
        Some(SnapshotListing {
            id: text::string(entry, "snapshotId", MOST_NAME)?,
            turn: text::number(entry, "turnId")?,
            file: file.strip_prefix(SNAPSHOTS)?.to_owned(),
        })
    }

    fn weight(&self) -> usize {
        const FIXED: usize = r#"{ "snapshotId": "", "turnId": , "file": "snapshots/" }"#.len();
        FIXED + width(&self.id) + width(&self.file) + NUMBER + AROUND
    }
}
