//! redb: a table of turns and a table of deltas, one write transaction for each save.

use std::path::Path;
use std::sync::Arc;

use redb::{
    Database, Durability as Commit, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};

use crate::peer::{
    Durability, PeerError, PeerRow, Saver, Scenario, Sharing, StorePeer, TableOrder,
};
use crate::workload::WorkloadTurn;

/// The rows of this peer.
pub(super) const ROWS: &[PeerRow] = &[
    PeerRow {
        name: "redb",
        family: "redb",
        about: "redb, Durability::Immediate",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, TableOrder::BySession),
        read_back,
    },
    PeerRow {
        name: "redb-shared",
        family: "redb",
        about: "redb, Immediate, one shared database",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, TableOrder::ByArrival),
        read_back,
    },
    PeerRow {
        name: "redb-group",
        family: "redb",
        about: "redb, Immediate, writer thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::WriterThread,
        create: |dir| create(dir, TableOrder::ByArrival),
        read_back,
    },
];

const FILE: &str = "bench.redb";
const TURNS: TableDefinition<u64, &[u8]> = TableDefinition::new("turns");
const DELTAS: TableDefinition<u64, &[u8]> = TableDefinition::new("deltas");

/// Maps each turn to its position, if turns are ordered by arrival.
const PLACES: TableDefinition<u64, u64> = TableDefinition::new("places");

#[derive(Clone)]
struct RedbPeer {
    database: Arc<Database>,
    order: TableOrder,
}

/// Converts the many error types of redb.
fn refused(error: impl Into<redb::Error>) -> PeerError {
    PeerError::Redb(Box::new(error.into()))
}

fn create(dir: &Path, order: TableOrder) -> Result<Box<dyn StorePeer>, PeerError> {
    let database = Database::create(dir.join(FILE)).map_err(refused)?;
    Ok(Box::new(RedbPeer { database: Arc::new(database), order }))
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    read_tables(&dir.join(FILE)).map_err(refused)
}

fn read_tables(file: &Path) -> Result<Vec<Vec<u8>>, redb::Error> {
    let database = Database::open(file)?;
    let transaction = database.begin_read()?;
    let mut records = Vec::new();
    for table in [TURNS, DELTAS] {
        for entry in transaction.open_table(table)?.iter()? {
            records.push(entry?.1.value().to_vec());
        }
    }
    Ok(records)
}

impl StorePeer for RedbPeer {
    fn saver(&self, _session: u32) -> Result<Box<dyn Saver>, PeerError> {
        Ok(Box::new(self.clone()))
    }
}

impl RedbPeer {
    fn insert(&self, turns: &[Arc<WorkloadTurn>]) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Commit::Immediate)?;
        {
            let mut records = transaction.open_table(TURNS)?;
            let mut deltas = transaction.open_table(DELTAS)?;
            let mut places = match self.order {
                TableOrder::BySession => None,
                TableOrder::ByArrival => Some(transaction.open_table(PLACES)?),
            };
            for turn in turns {
                let mut id = turn.key();
                if let Some(places) = &mut places {
                    id = records.len()?;
                    places.insert(turn.key(), id)?;
                }
                records.insert(id, turn.record())?;
                for (key, delta) in turn.deltas(id) {
                    deltas.insert(key, delta)?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Saver for RedbPeer {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        self.insert(turns).map_err(refused)
    }
}
