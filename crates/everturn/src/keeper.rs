//! Changes to the files of a session, each with its original in the trash, and the way back; for every layout that
//! can be repaired.
//!
//! `.everturn/trash/<stamp>-<id>-repair/` holds the originals under their paths, and `repair.json`.

mod undo;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::document::Style;
use crate::names::{FilePath, Name, SessionId};
use crate::store::{
    Durability, Expect, Fingerprint, Secrecy, Step, Store, StoreError, Writer, trash_dir,
};
use crate::trash::TrashError;
use crate::tree::Tree;

pub(crate) use undo::undo;

/// How many bytes are changed with one commit.
const BATCH: usize = 64 << 20;

/// What a repair has done, as the trash tells it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) session: String,
    pub(super) time: String,
    /// When it was taken back, if it was.
    pub(super) undone: Option<String>,
    pub(super) actions: Vec<String>,
    pub(super) files: BTreeMap<String, Entry>,
}

/// What became of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) how: How,
    /// The content before, which the trash has, and after: length and checksum.
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum How {
    Created,
    Replaced,
    Moved,
}

const RECORD: &str = "repair.json";

impl Record {
    /// Where a repair is told.
    fn place(trash: &FilePath) -> FilePath {
        Name::parse(RECORD).map_or_else(|_| trash.clone(), |name| trash.join(&name))
    }

    fn step(&self, trash: &FilePath) -> Step {
        // A record has texts only, and can always be written.
        let tree = Tree::from_value(self).unwrap_or_else(|_| Tree::null());
        let bytes = tree.to_text(&Style::PRETTY_RAW_LINE).into_bytes();
        write(Record::place(trash), Expect::Anything, bytes)
    }
}

/// A content in few digits.
pub(crate) fn mark(bytes: &[u8]) -> String {
    let Fingerprint { len, sum } = Fingerprint::of(bytes);
    format!("{len}:crc64:{sum:016x}")
}

/// A place in the trash that nobody has used.
pub(crate) fn new_place(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<FilePath, TrashError> {
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut name = format!("{stamp}-{id}-repair");
    let mut number = 1;
    loop {
        let place = trash_dir().join(&Name::parse(&name)?);
        if store.stat(&place)?.is_none() {
            return Ok(place);
        }
        number += 1;
        name = format!("{stamp}-{id}-repair-{number}");
    }
}

/// Where the trash keeps a file.
pub(super) fn kept(trash: &FilePath, file: &FilePath) -> FilePath {
    // Each part of a path is a name already.
    let names = file.as_str().split('/').filter_map(|name| Name::parse(name).ok());
    names.fold(trash.clone(), |dir, name| dir.join(&name))
}

/// The content of a file, if there is one.
pub(super) fn content(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<Vec<u8>>, StoreError> {
    match store.read(file, 0..u64::MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn write(file: FilePath, expect: Expect, bytes: Vec<u8>) -> Step {
    Step::Replace { file, expect, bytes, secrecy: Secrecy::Usual }
}

/// Collects changes and commits them together with their originals.
pub(crate) struct Keeper<'a> {
    store: &'a Arc<dyn Store>,
    writer: &'a dyn Writer,
    trash: &'a FilePath,
    record: Record,
    /// What is to be written, and what is to be moved away, in the next commit.
    writes: BTreeMap<FilePath, Vec<u8>>,
    moves: Vec<FilePath>,
    size: usize,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(
        store: &'a Arc<dyn Store>,
        writer: &'a dyn Writer,
        trash: &'a FilePath,
        id: &SessionId,
        actions: Vec<String>,
        now: Timestamp,
    ) -> Keeper<'a> {
        let record = Record {
            session: id.to_string(),
            time: now.to_string(),
            undone: None,
            actions,
            files: BTreeMap::new(),
        };
        Keeper { store, writer, trash, record, writes: BTreeMap::new(), moves: Vec::new(), size: 0 }
    }

    /// The content that a file has, or will have.
    pub(crate) fn content(&self, file: &FilePath) -> Result<Option<Vec<u8>>, TrashError> {
        match self.writes.get(file) {
            Some(bytes) => Ok(Some(bytes.clone())),
            None => Ok(content(self.store, file)?),
        }
    }

    /// Gives a file a new content.
    pub(crate) fn write(&mut self, file: &FilePath, bytes: Vec<u8>) -> Result<(), TrashError> {
        self.size += bytes.len();
        self.moves.retain(|moved| moved != file);
        self.writes.insert(file.clone(), bytes);
        if self.size > BATCH { self.flush() } else { Ok(()) }
    }

    /// Moves a file out of the session.
    pub(crate) fn discard(&mut self, file: &FilePath) {
        if !self.moves.contains(file) && !self.writes.contains_key(file) {
            self.moves.push(file.clone());
        }
    }

    /// Commits what was collected.
    pub(crate) fn flush(&mut self) -> Result<(), TrashError> {
        self.size = 0;
        let (writes, moves) = (std::mem::take(&mut self.writes), std::mem::take(&mut self.moves));
        let mut steps = Vec::new();
        for (file, bytes) in writes {
            self.write_steps(&file, bytes, &mut steps)?;
        }
        for file in moves {
            // What is there no longer need not be moved away.
            let Some(before) = content(self.store, &file)? else { continue };
            let entry = Entry { how: How::Moved, before: Some(mark(&before)), after: None };
            self.record.files.insert(file.to_string(), entry);
            steps.push(Step::Rename { to: kept(self.trash, &file), from: file });
        }
        if steps.is_empty() {
            return Ok(());
        }
        steps.push(self.record.step(self.trash));
        self.writer.commit(steps, Durability::Synced)?;
        Ok(())
    }

    fn write_steps(
        &mut self,
        file: &FilePath,
        bytes: Vec<u8>,
        steps: &mut Vec<Step>,
    ) -> Result<(), TrashError> {
        let before = content(self.store, file)?;
        if before.as_deref() == Some(&bytes) {
            return Ok(());
        }
        let after = Some(mark(&bytes));
        let expect = before
            .as_ref()
            .map_or(Expect::Absent, |before| Expect::Content(Fingerprint::of(before)));
        match self.record.files.get_mut(file.as_str()) {
            // The original is kept already.
            Some(entry) => entry.after = after,
            None => {
                let how = if before.is_some() { How::Replaced } else { How::Created };
                let entry = Entry { how, before: before.as_deref().map(mark), after };
                self.record.files.insert(file.to_string(), entry);
                if let Some(before) = before {
                    steps.push(write(kept(self.trash, file), Expect::Absent, before));
                }
            }
        }
        steps.push(write(file.clone(), expect, bytes));
        Ok(())
    }
}
