//! Everturn itself: turns and deltas in two plain files per session, each turn one commit.

use std::path::Path;
use std::sync::Arc;

use everturn::disk::{Disk, RealDisk};
use everturn::names::FilePath;
use everturn::store::{self, At, FileStore, Holder, Options, Step, Store, StoreError, Writer};

use crate::files;
use crate::peer::{Durability, Peer, PeerError, Row, Saver, Scenario, Sharing};
use crate::workload::Turn;

/// The rows of this peer.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "everturn",
        family: "everturn",
        about: "Everturn, two files",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, store::Durability::Synced),
        read_back,
    },
    Row {
        name: "everturn-written",
        family: "everturn-written",
        about: "Everturn, two files, written only",
        scenario: Scenario::OneWriter,
        durability: Durability::NotAtPowerCut,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, store::Durability::Written),
        read_back,
    },
    Row {
        name: "everturn-sessions",
        family: "everturn",
        about: "Everturn, two files per session",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, store::Durability::Synced),
        read_back,
    },
];

struct Everturn {
    disk: Arc<RealDisk>,
    store: FileStore,
    durability: store::Durability,
}

impl From<StoreError> for PeerError {
    fn from(error: StoreError) -> PeerError {
        PeerError::Everturn(Box::new(error))
    }
}

fn create(dir: &Path, durability: store::Durability) -> Result<Box<dyn Peer>, PeerError> {
    let disk = Arc::new(RealDisk::create(dir).map_err(files::at(dir))?);
    let holder = Holder { pid: std::process::id(), started: String::new() };
    let shared: Arc<dyn Disk> = Arc::<RealDisk>::clone(&disk);
    let store = FileStore::create(shared, Options::new(holder))?;
    Ok(Box::new(Everturn { disk, store, durability }))
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let mut records = Vec::new();
    for session in files::entries(&dir.join("sessions"))? {
        for path in files::entries(&session)? {
            records.extend(files::read_lines(&path)?);
        }
    }
    Ok(records)
}

impl Peer for Everturn {
    fn saver(&self, session: u32) -> Result<Box<dyn Saver>, PeerError> {
        let path = |text: String| {
            FilePath::parse(&text).map_err(|error| PeerError::Batch(error.to_string()))
        };
        let scope = path(format!("sessions/{session:04}"))?;
        let writer = self.store.lock(std::slice::from_ref(&scope))?;
        Ok(Box::new(EverturnSaver {
            writer,
            turns: path(format!("{scope}/turns.jsonl"))?,
            deltas: path(format!("{scope}/deltas.jsonl"))?,
            durability: self.durability,
        }))
    }

    fn flushes(&self) -> Option<u64> {
        Some(self.disk.flushes())
    }
}

struct EverturnSaver {
    writer: Box<dyn Writer>,
    turns: FilePath,
    deltas: FilePath,
    durability: store::Durability,
}

impl Saver for EverturnSaver {
    fn save(&mut self, turns: &[Arc<Turn>]) -> Result<(), PeerError> {
        for turn in turns {
            let append = |file: &FilePath, lines: &[u8]| Step::Append {
                file: file.clone(),
                at: At::End,
                lines: lines.to_vec(),
            };
            let steps =
                vec![append(&self.turns, turn.record()), append(&self.deltas, turn.delta_block())];
            self.writer.commit(steps, self.durability)?;
        }
        Ok(())
    }
}
