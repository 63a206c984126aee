//! Plain files: appended with one write call, then flushed with fdatasync.
//!
//! These rows are what the disk allows. They promise less than the others: a power cut during a save
//! may leave half a turn behind.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files;
use crate::peer::{Durability, Peer, PeerError, Row, Saver, Scenario, Sharing};
use crate::workload::Turn;

/// The rows of this peer.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "raw-one-file",
        family: "raw",
        about: "raw append + fdatasync, one growing file",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, Files::One),
        read_back,
    },
    Row {
        name: "raw-two-files",
        family: "raw",
        about: "raw append + fdatasync, two growing files",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, Files::Two),
        read_back,
    },
    Row {
        name: "raw-file-per-session",
        family: "raw",
        about: "raw append + fdatasync, one file per session",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, Files::One),
        read_back,
    },
    Row {
        name: "raw-shared-group",
        family: "raw",
        about: "raw append + fdatasync, one shared file, writer thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::WriterThread,
        create: |dir| create(dir, Files::One),
        read_back,
    },
];

/// Where a saver puts records and deltas.
#[derive(Clone, Copy)]
enum Files {
    One,
    Two,
}

struct Raw {
    dir: PathBuf,
    files: Files,
    flushes: Arc<AtomicU64>,
}

fn create(dir: &Path, files: Files) -> Result<Box<dyn Peer>, PeerError> {
    Ok(Box::new(Raw { dir: dir.to_owned(), files, flushes: Arc::default() }))
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let mut records = Vec::new();
    for path in files::entries(dir)? {
        records.extend(files::read_lines(&path)?);
    }
    Ok(records)
}

impl Peer for Raw {
    fn saver(&self, session: u32) -> Result<Box<dyn Saver>, PeerError> {
        let open = |kind: &str| Log::create(self.dir.join(format!("{kind}-{session:04}.jsonl")));
        let turns = open("turns")?;
        let deltas = match self.files {
            Files::One => None,
            Files::Two => Some(open("deltas")?),
        };
        Ok(Box::new(RawSaver { turns, deltas, flushes: Arc::clone(&self.flushes) }))
    }

    fn flushes(&self) -> Option<u64> {
        Some(self.flushes.load(Ordering::Relaxed))
    }
}

/// A file and the bytes that its next write will append.
struct Log {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
}

impl Log {
    fn create(path: PathBuf) -> Result<Log, PeerError> {
        let file = files::create_for_append(&path)?;
        Ok(Log { path, file, pending: Vec::new() })
    }

    fn flush(&mut self, flushes: &AtomicU64) -> Result<(), PeerError> {
        let written = self.file.write_all(&self.pending).and_then(|()| self.file.sync_data());
        self.pending.clear();
        flushes.fetch_add(1, Ordering::Relaxed);
        written.map_err(files::at(&self.path))
    }
}

struct RawSaver {
    turns: Log,
    deltas: Option<Log>,
    flushes: Arc<AtomicU64>,
}

impl Saver for RawSaver {
    fn save(&mut self, turns: &[Arc<Turn>]) -> Result<(), PeerError> {
        for turn in turns {
            self.turns.pending.extend_from_slice(turn.record());
            let deltas = self.deltas.as_mut().unwrap_or(&mut self.turns);
            deltas.pending.extend_from_slice(turn.delta_block());
        }
        self.turns.flush(&self.flushes)?;
        self.deltas.as_mut().map_or(Ok(()), |deltas| deltas.flush(&self.flushes))
    }
}
