//! The peer for Everturn itself: turns and deltas in two plain files per session, one commit per turn.

use std::path::Path;
use std::sync::Arc;

use everturn::disk::{Disk, RealDisk};
use everturn::names::FilePath;
use everturn::store::{
    self, AppendAt, FileStore, LockOwner, Options, Step, Store, StoreError, Writer,
};

use crate::files;
use crate::peer::{Durability, PeerError, PeerRow, Saver, Scenario, Sharing, StorePeer};
use crate::workload::WorkloadTurn;

/// The rows of this peer.
pub(super) const ROWS: &[PeerRow] = &[
    PeerRow {
        name: "everturn",
        family: "everturn",
        about: "Everturn, two files",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, store::Durability::Synced),
        read_back,
    },
    PeerRow {
        name: "everturn-written",
        family: "everturn-written",
        about: "Everturn, two files, buffered",
        scenario: Scenario::OneWriter,
        durability: Durability::NotAtPowerCut,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, store::Durability::Buffered),
        read_back,
    },
    PeerRow {
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

struct EverturnPeer {
    disk: Arc<RealDisk>,
    store: FileStore,
    durability: store::Durability,
}

impl From<StoreError> for PeerError {
    fn from(error: StoreError) -> PeerError {
        PeerError::Everturn(Box::new(error))
    }
}

fn create(dir: &Path, durability: store::Durability) -> Result<Box<dyn StorePeer>, PeerError> {
    let disk = Arc::new(RealDisk::create(dir).map_err(files::at(dir))?);
    let owner = LockOwner { pid: std::process::id(), started: String::new() };
    let shared: Arc<dyn Disk> = Arc::<RealDisk>::clone(&disk);
    let store = FileStore::create(shared, Options::new(owner))?;
    Ok(Box::new(EverturnPeer { disk, store, durability }))
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

impl StorePeer for EverturnPeer {
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
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        for turn in turns {
            let append = |file: &FilePath, lines: &[u8]| Step::Append {
                file: file.clone(),
                at: AppendAt::End,
                lines: lines.to_vec(),
            };
            let steps =
                vec![append(&self.turns, turn.record()), append(&self.deltas, turn.delta_block())];
            self.writer.commit(steps, self.durability)?;
        }
        Ok(())
    }
}
