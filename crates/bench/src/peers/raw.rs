//! Plain files: appended with one write call, then flushed with fdatasync.
//!
//! These rows show the limit of the disk. They guarantee less than the others: a power cut during a save may leave a
//! partial turn.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files;
use crate::peer::{Durability, PeerError, PeerRow, Saver, Scenario, Sharing, StorePeer};
use crate::workload::WorkloadTurn;

/// The rows of this peer.
pub(super) const ROWS: &[PeerRow] = &[
    PeerRow {
        name: "raw-one-file",
        family: "raw",
        about: "raw append + fdatasync, one growing file",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, FileCount::One),
        read_back,
    },
    PeerRow {
        name: "raw-two-files",
        family: "raw",
        about: "raw append + fdatasync, two growing files",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, FileCount::Two),
        read_back,
    },
    PeerRow {
        name: "raw-file-per-session",
        family: "raw",
        about: "raw append + fdatasync, one file per session",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, FileCount::One),
        read_back,
    },
    PeerRow {
        name: "raw-shared-group",
        family: "raw",
        about: "raw append + fdatasync, one shared file, writer thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::WriterThread,
        create: |dir| create(dir, FileCount::One),
        read_back,
    },
];

/// The files that a saver writes records and deltas to.
#[derive(Clone, Copy)]
enum FileCount {
    One,
    Two,
}

struct RawPeer {
    dir: PathBuf,
    files: FileCount,
    flushes: Arc<AtomicU64>,
}

fn create(dir: &Path, files: FileCount) -> Result<Box<dyn StorePeer>, PeerError> {
    Ok(Box::new(RawPeer { dir: dir.to_owned(), files, flushes: Arc::default() }))
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let mut records = Vec::new();
    for path in files::entries(dir)? {
        records.extend(files::read_lines(&path)?);
    }
    Ok(records)
}

impl StorePeer for RawPeer {
    fn saver(&self, session: u32) -> Result<Box<dyn Saver>, PeerError> {
        let open = |kind: &str| RawLog::create(self.dir.join(format!("{kind}-{session:04}.jsonl")));
        let turns = open("turns")?;
        let deltas = match self.files {
            FileCount::One => None,
            FileCount::Two => Some(open("deltas")?),
        };
        Ok(Box::new(RawSaver { turns, deltas, flushes: Arc::clone(&self.flushes) }))
    }

    fn flushes(&self) -> Option<u64> {
        Some(self.flushes.load(Ordering::Relaxed))
    }
}

/// A file, and the bytes that its next write appends.
struct RawLog {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
}

impl RawLog {
    fn create(path: PathBuf) -> Result<RawLog, PeerError> {
        let file = files::create_for_append(&path)?;
        Ok(RawLog { path, file, pending: Vec::new() })
    }

    fn flush(&mut self, flushes: &AtomicU64) -> Result<(), PeerError> {
        let written = self.file.write_all(&self.pending).and_then(|()| self.file.sync_data());
        self.pending.clear();
        flushes.fetch_add(1, Ordering::Relaxed);
        written.map_err(files::at(&self.path))
    }
}

struct RawSaver {
    turns: RawLog,
    deltas: Option<RawLog>,
    flushes: Arc<AtomicU64>,
}

impl Saver for RawSaver {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        for turn in turns {
            self.turns.pending.extend_from_slice(turn.record());
            let deltas = self.deltas.as_mut().unwrap_or(&mut self.turns);
            deltas.pending.extend_from_slice(turn.delta_block());
        }
        self.turns.flush(&self.flushes)?;
        self.deltas.as_mut().map_or(Ok(()), |deltas| deltas.flush(&self.flushes))
    }
}
