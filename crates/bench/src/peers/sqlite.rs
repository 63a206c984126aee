//! SQLite in WAL mode: a table of turns and a table of deltas, one transaction for each save.
//!
//! The locking mode stays the default, because other processes may also read an Everturn root; all other settings that
//! are not set here are SQLite's defaults, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::peer::{
    Durability, PeerError, PeerRow, Saver, Scenario, Sharing, StorePeer, TableOrder,
};
use crate::workload::WorkloadTurn;

/// The rows of this peer.
pub(super) const ROWS: &[PeerRow] = &[
    PeerRow {
        name: "sqlite-full",
        family: "sqlite-full",
        about: "SQLite WAL, synchronous=FULL",
        scenario: Scenario::OneWriter,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, TableOrder::BySession, SyncMode::Full),
        read_back,
    },
    PeerRow {
        name: "sqlite-normal",
        family: "sqlite-normal",
        about: "SQLite WAL, synchronous=NORMAL",
        scenario: Scenario::OneWriter,
        durability: Durability::NotAtPowerCut,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, TableOrder::BySession, SyncMode::Normal),
        read_back,
    },
    PeerRow {
        name: "sqlite-full-mutex",
        family: "sqlite-full",
        about: "SQLite WAL, FULL, one connection behind a mutex",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::Mutex,
        create: |dir| create(dir, TableOrder::ByArrival, SyncMode::Full),
        read_back,
    },
    PeerRow {
        name: "sqlite-full-connections",
        family: "sqlite-full",
        about: "SQLite WAL, FULL, one connection per thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::OwnSaver,
        create: |dir| create(dir, TableOrder::ByArrival, SyncMode::Full),
        read_back,
    },
    PeerRow {
        name: "sqlite-full-group",
        family: "sqlite-full",
        about: "SQLite WAL, FULL, writer thread",
        scenario: Scenario::ManySessions,
        durability: Durability::AtReturn,
        sharing: Sharing::WriterThread,
        create: |dir| create(dir, TableOrder::ByArrival, SyncMode::Full),
        read_back,
    },
    PeerRow {
        name: "sqlite-normal-mutex",
        family: "sqlite-normal",
        about: "SQLite WAL, NORMAL, one connection behind a mutex",
        scenario: Scenario::ManySessions,
        durability: Durability::NotAtPowerCut,
        sharing: Sharing::Mutex,
        create: |dir| create(dir, TableOrder::ByArrival, SyncMode::Normal),
        read_back,
    },
];

const FILE: &str = "bench.sqlite";

/// Long enough that no connection times out while it waits for the others.
const BUSY_TIMEOUT: Duration = Duration::from_secs(300);

const TURNS_BY_SESSION: &str =
    "CREATE TABLE turns (key INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT";
const TURNS_BY_ARRIVAL: &str = "CREATE TABLE turns \
     (id INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, record BLOB NOT NULL) STRICT";
/// The key combines the row ID of the turn and the position in it.
const DELTAS: &str = "CREATE TABLE deltas (key INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT";
const INSERT_TURN: &str = "INSERT INTO turns (key, record) VALUES (?1, ?2)";
const INSERT_DELTA: &str = "INSERT INTO deltas (key, record) VALUES (?1, ?2)";
const READ_ALL: &str = "SELECT record FROM turns UNION ALL SELECT record FROM deltas";

#[derive(Clone, Copy)]
enum SyncMode {
    Normal,
    Full,
}

struct SqlitePeer {
    file: PathBuf,
    synchronous: SyncMode,
}

fn create(
    dir: &Path,
    order: TableOrder,
    synchronous: SyncMode,
) -> Result<Box<dyn StorePeer>, PeerError> {
    let file = dir.join(FILE);
    let connection = connect(&file, synchronous)?;
    let turns = match order {
        TableOrder::BySession => TURNS_BY_SESSION,
        TableOrder::ByArrival => TURNS_BY_ARRIVAL,
    };
    connection.execute(turns, [])?;
    connection.execute(DELTAS, [])?;
    Ok(Box::new(SqlitePeer { file, synchronous }))
}

fn connect(file: &Path, synchronous: SyncMode) -> Result<Connection, PeerError> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(PeerError::JournalMode { mode });
    }
    let level = match synchronous {
        SyncMode::Normal => "normal",
        SyncMode::Full => "full",
    };
    connection.pragma_update(None, "synchronous", level)?;
    Ok(connection)
}

fn read_back(dir: &Path) -> Result<Vec<Vec<u8>>, PeerError> {
    let connection = Connection::open(dir.join(FILE))?;
    let mut statement = connection.prepare(READ_ALL)?;
    let records = statement.query_map([], |row| row.get(0))?;
    Ok(records.collect::<Result<_, _>>()?)
}

impl StorePeer for SqlitePeer {
    fn saver(&self, _session: u32) -> Result<Box<dyn Saver>, PeerError> {
        Ok(Box::new(SqliteSaver(connect(&self.file, self.synchronous)?)))
    }
}

struct SqliteSaver(Connection);

impl Saver for SqliteSaver {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        // Immediate: a deferred transaction that meets another writer fails instead of waiting.
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert_turn = transaction.prepare_cached(INSERT_TURN)?;
            let mut insert_delta = transaction.prepare_cached(INSERT_DELTA)?;
            for turn in turns {
                let id = insert_turn.insert(params![turn.key().cast_signed(), turn.record()])?;
                for (key, delta) in turn.deltas(id.cast_unsigned()) {
                    insert_delta.execute(params![key.cast_signed(), delta])?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(synchronous: SyncMode, expect: i64) {
        let dir = tempfile::tempdir().unwrap();
        let connection = connect(&dir.path().join(FILE), synchronous).unwrap();
        let level: i64 = connection.pragma_query_value(None, "synchronous", |r| r.get(0)).unwrap();
        assert_eq!(level, expect);
    }

    #[test]
    fn a_connection_flushes_as_its_row_says() {
        check(SyncMode::Normal, 1);
        check(SyncMode::Full, 2);
    }
}
