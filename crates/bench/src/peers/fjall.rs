//! fjall: a keyspace of turns and a keyspace of deltas, one atomic batch for each save.
//!
//! Keys sort by session and turn: the memory table and the journal accept them in any order.

use std::path::Path;
use std::sync::Arc;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::peer::{Durability, PeerError, PeerRow, Saver, Scenario, Sharing, StorePeer};
use crate::workload::WorkloadTurn;

/// The rows of this peer.
pub(super) const ROWS: &[PeerRow] = &[
    PeerRow {
        name: "fjall",
        family: "fjall",
        about: "fjall, SyncData",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, PersistMode::SyncData),
        read_back,
    },
    PeerRow {
        name: "fjall-sync-all",
        family: "fjall",
        about: "fjall, SyncAll",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, PersistMode::SyncAll),
        read_back,
    },
    PeerRow {
        name: "fjall-shared",
        family: "fjall",
        about: "fjall, SyncData, one shared database",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, PersistMode::SyncData),
        read_back,
    },
    PeerRow {
        name: "fjall-group",
        family: "fjall",
        about: "fjall, SyncData, writer thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::WriterThread,
        create: |dir| create(dir, PersistMode::SyncData),
        read_back,
    },
];

#[derive(Clone)]
struct FjallDatabase {
    database: Database,
    turns: Keyspace,
    deltas: Keyspace,
}

impl FjallDatabase {
    fn open(dir: &Path) -> Result<FjallDatabase, fjall::Error> {
        let database = Database::builder(dir).open()?;
        let turns = database.keyspace("turns", KeyspaceCreateOptions::default)?;
        let deltas = database.keyspace("deltas", KeyspaceCreateOptions::default)?;
        Ok(FjallDatabase { database, turns, deltas })
    }
}

struct FjallPeer {
    fjall: FjallDatabase,
    persist: PersistMode,
}

fn create(dir: &Path, persist: PersistMode) -> Result<Box<dyn StorePeer>, PeerError> {
    Ok(Box::new(FjallPeer { fjall: FjallDatabase::open(dir)?, persist }))
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let fjall = FjallDatabase::open(dir)?;
    let values = fjall.turns.iter().chain(fjall.deltas.iter()).map(|entry| entry.value());
    Ok(values.map(|value| value.map(|value| value.to_vec())).collect::<Result<_, _>>()?)
}

impl StorePeer for FjallPeer {
    fn saver(&self, _session: u32) -> Result<Box<dyn Saver>, PeerError> {
        Ok(Box::new(FjallSaver { fjall: self.fjall.clone(), persist: self.persist }))
    }
}

struct FjallSaver {
    fjall: FjallDatabase,
    persist: PersistMode,
}

impl Saver for FjallSaver {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        let mut batch = self.fjall.database.batch().durability(Some(self.persist));
        for turn in turns {
            batch.insert(&self.fjall.turns, turn.key().to_be_bytes(), turn.record());
            for (key, delta) in turn.deltas(turn.key()) {
                batch.insert(&self.fjall.deltas, key.to_be_bytes(), delta);
            }
        }
        Ok(batch.commit()?)
    }
}
