//! Repairs of all formats: changes to the files of a session, each with its original in the trash, from which they can
//! be undone.

mod fragments;
pub mod numbering;
mod repair_copy;
mod undo;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use thiserror::Error;

use everturn_json::finding::Finding;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::{FilePath, Name, NameError, SessionId};
use everturn_store::overlay::FileChanges;
use everturn_store::{
    Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError, Writer,
    read_optional, trash_dir,
};
use everturn_value::document::{Document, JsonStyle};

pub use fragments::find_objects;
pub use fragments::{
    IntactRecords, clean_log, clean_log_of_objects, describe_ranges, find_value_after,
    intact_records, parse_tree, trim_whitespace,
};
pub use repair_copy::{CopyRepair, RepairedCopy};
pub use undo::{revert, revert_operation};

/// One action of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairAction {
    /// The file or directory.
    pub file: FilePath,
    /// What is done with it.
    pub what: String,
}

/// The result of a repair, or its plan.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// The actions, in order.
    pub actions: Vec<RepairAction>,
    /// The problems before the repair, or those that remain after it.
    pub findings: Vec<Finding>,
    /// The directory of the originals, if anything was changed.
    pub originals: Option<FilePath>,
}

/// Why a repair could not be made or undone. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No repair of this session is left to undo.
    #[error("session {id} has no repair to undo")]
    NoRepair {
        /// The session.
        id: SessionId,
    },
    /// Changes made after the repair would be lost.
    #[error("cannot undo the repair: {file} has changed since then")]
    Changed {
        /// The file.
        file: FilePath,
    },
    /// The data in the trash are damaged.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// The problem.
        reason: String,
    },
}

/// The result of an interrupted tool call.
pub const INTERRUPTED: &str = "[interrupted: the tool did not answer]";

/// The most bytes that one commit changes.
const BATCH: usize = 64 << 20;

/// The record of a repair in the trash.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RepairRecord {
    session: String,
    time: String,
    /// When it was undone, if it was.
    undone: Option<String>,
    actions: Vec<String>,
    files: BTreeMap<String, RepairedFile>,
}

impl RepairRecord {
    /// The step that stores the record in the trash.
    fn step(&self, trash: &FilePath) -> Step {
        // Strings and maps of strings can always be serialized.
        let document = Document::new(self, JsonStyle::PRETTY_RAW_LINE).map(Document::into_bytes);
        Step::replace(child_path(trash, RECORD), document.unwrap_or_default())
    }
}

/// What was done with one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RepairedFile {
    how: FileAction,
    /// Length and checksum of the content before, which is in the trash, and after.
    before: Option<String>,
    after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileAction {
    Created,
    Replaced,
    Moved,
}

const RECORD: &str = "repair.json";

/// A content as a short string: length and checksum.
pub fn content_mark(bytes: &[u8]) -> String {
    let Fingerprint { len, sum } = Fingerprint::of(bytes);
    format!("{len}:crc64:{sum:016x}")
}

/// An unused directory in the trash for the originals of a repair.
pub fn allocate_originals(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<FilePath, RepairError> {
    allocate_originals_for(store, id, "repair", now)
}

/// An unused directory in the trash for the originals of the operation `done`.
pub fn allocate_originals_for(
    store: &Arc<dyn Store>,
    id: &SessionId,
    done: &str,
    now: Timestamp,
) -> Result<FilePath, RepairError> {
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut name = format!("{stamp}-{id}-{done}");
    let mut number = 1;
    loop {
        let place = trash_dir().join(&Name::parse(&name)?);
        if store.stat(&place)?.is_none() {
            return Ok(place);
        }
        number += 1;
        name = format!("{stamp}-{id}-{done}-{number}");
    }
}

/// The path of a file's original in the trash.
pub fn original_path(trash: &FilePath, file: &FilePath) -> FilePath {
    file.as_str().split('/').fold(trash.clone(), |dir, name| child_path(&dir, name))
}

/// The path of a name that is known to be valid.
fn child_path(dir: &FilePath, name: &str) -> FilePath {
    Name::parse(name).map_or_else(|_| dir.clone(), |name| dir.join(&name))
}

/// Collects changes and commits them together with their originals.
pub struct OriginalsBackup<'a> {
    store: &'a Arc<dyn Store>,
    writer: &'a dyn Writer,
    trash: &'a FilePath,
    record: RepairRecord,
    /// The contents to write in the next commit; `moves` are the files to move away.
    writes: BTreeMap<FilePath, Vec<u8>>,
    moves: Vec<FilePath>,
    size: usize,
    /// Steps of the next commit that have no original.
    also: Vec<Step>,
}

impl<'a> OriginalsBackup<'a> {
    /// Begins a repair of session `id`, whose originals go to the directory `trash`.
    pub fn new(
        store: &'a Arc<dyn Store>,
        writer: &'a dyn Writer,
        trash: &'a FilePath,
        id: &SessionId,
        actions: &[RepairAction],
        now: Timestamp,
    ) -> OriginalsBackup<'a> {
        let actions = actions.iter().map(|action| format!("{}: {}", action.file, action.what));
        let record = RepairRecord {
            session: id.to_string(),
            time: now.to_string(),
            undone: None,
            actions: actions.collect(),
            files: BTreeMap::new(),
        };
        let (writes, moves, also) = (BTreeMap::new(), Vec::new(), Vec::new());
        OriginalsBackup { store, writer, trash, record, writes, moves, size: 0, also }
    }

    /// Replaces the content of a file.
    pub fn write(&mut self, file: &FilePath, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.size += bytes.len();
        self.moves.retain(|moved| moved != file);
        self.writes.insert(file.clone(), bytes);
        if self.size > BATCH { self.flush() } else { Ok(()) }
    }

    /// Moves a file to the trash.
    pub fn move_away(&mut self, file: &FilePath) {
        if !self.moves.contains(file) && !self.writes.contains_key(file) {
            self.moves.push(file.clone());
        }
    }

    /// Adds a step that is not undone with the rest.
    pub fn add_step(&mut self, step: Step) {
        self.also.push(step);
    }

    /// The changes of the next commit.
    pub fn pending(&self) -> FileChanges {
        let written = self.writes.iter().map(|(file, bytes)| (file.clone(), Some(bytes.clone())));
        written.chain(self.moves.iter().map(|file| (file.clone(), None))).collect()
    }

    /// Commits the collected changes.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.size = 0;
        let (writes, moves) = (std::mem::take(&mut self.writes), std::mem::take(&mut self.moves));
        let mut steps = Vec::new();
        for (file, bytes) in writes {
            self.write_steps(&file, bytes, &mut steps)?;
        }
        for file in moves {
            // The file is gone already.
            let Some(before) = read_optional(self.store, &file)? else { continue };
            let entry = RepairedFile {
                how: FileAction::Moved,
                before: Some(content_mark(&before)),
                after: None,
            };
            self.record.files.insert(file.to_string(), entry);
            steps.push(Step::Rename { to: original_path(self.trash, &file), from: file });
        }
        if steps.is_empty() {
            return Ok(());
        }
        steps.push(self.record.step(self.trash));
        steps.append(&mut self.also);
        self.writer.commit(steps, Durability::Synced)?;
        Ok(())
    }

    fn write_steps(
        &mut self,
        file: &FilePath,
        bytes: Vec<u8>,
        steps: &mut Vec<Step>,
    ) -> Result<(), StoreError> {
        let before = read_optional(self.store, file)?;
        if before.as_deref() == Some(&bytes) {
            return Ok(());
        }
        let after = Some(content_mark(&bytes));
        let expect = before
            .as_ref()
            .map_or(Precondition::Absent, |before| Precondition::Content(Fingerprint::of(before)));
        match self.record.files.get_mut(file.as_str()) {
            // The original is stored already.
            Some(entry) => entry.after = after,
            None => {
                let how = if before.is_some() { FileAction::Replaced } else { FileAction::Created };
                let entry =
                    RepairedFile { how, before: before.as_deref().map(content_mark), after };
                self.record.files.insert(file.to_string(), entry);
                if let Some(before) = before {
                    let (file, expect) = (original_path(self.trash, file), Precondition::Absent);
                    let mode = FileMode::OwnerOnly;
                    steps.push(Step::Replace { file, expect, bytes: before, mode });
                }
            }
        }
        steps.push(Step::replace_expecting(file.clone(), expect, bytes));
        Ok(())
    }
}

/// The line ending of a log: that of its first line.
pub fn line_end(bytes: &[u8]) -> &'static str {
    let first = bytes.iter().position(|byte| *byte == b'\n');
    let before = first.and_then(|at| bytes.get(at.checked_sub(1)?));
    if before == Some(&b'\r') { "\r\n" } else { "\n" }
}

/// The records of a log, each on its own line, byte for byte.
pub fn one_record_per_line(path: &FilePath, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let end = line_end(bytes).as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let scan = JsonlScan::new(bytes, path.clone()).largest_text(0).forward();
    for item in scan.map_err(StoreError::io("read", path))? {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", path))? else {
            continue;
        };
        let start = usize::try_from(record.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(record.length).unwrap_or(0);
        out.extend_from_slice(bytes.get(start..start.saturating_add(length)).unwrap_or_default());
        out.extend_from_slice(end);
    }
    Ok(out)
}
