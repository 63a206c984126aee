//! SQLite in WAL mode: one row for each turn, group of changes, snapshot and state.
//!
//! All other settings are SQLite's defaults.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde_json::Value;

use crate::game::peer::{
    DueWrite, GameKeeper, GamePeer, GameReader, LoadedState, ReplayCounts, ReplayDepth, Schedule,
};
use crate::game::values::{ChangeGroup, StateValues};
use crate::game::workload::{self, NewTurn};
use crate::peer::{Durability, PeerError};

/// This peer.
pub(super) const PEER: GamePeer = GamePeer {
    name: "sqlite",
    about: "SQLite WAL, synchronous=FULL, states as serde_json values",
    durability: Durability::AtReturn,
    create,
    play,
    read,
    lazy: false,
    resumes_all: true,
    kinds,
};

const FILE: &str = "game.sqlite";

const TABLES: &str = "
    CREATE TABLE turns (turn INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
    CREATE TABLE changes (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, line TEXT NOT NULL) STRICT;
    CREATE INDEX changes_by_turn ON changes (turn);
    CREATE TABLE snapshots (turn INTEGER PRIMARY KEY, world TEXT NOT NULL, player TEXT NOT NULL,
        scene TEXT NOT NULL) STRICT;
    CREATE TABLE states (scope TEXT PRIMARY KEY, turn INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE TABLE meta (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, snapshot INTEGER NOT NULL,
        states INTEGER NOT NULL, changes INTEGER NOT NULL) STRICT;
";
const INSERT_TURN: &str = "INSERT INTO turns (turn, line) VALUES (?1, ?2)";
const INSERT_CHANGE: &str = "INSERT INTO changes (turn, line) VALUES (?1, ?2)";
const PUT_META: &str =
    "REPLACE INTO meta (id, turn, snapshot, states, changes) VALUES (1, ?1, ?2, ?3, ?4)";
const PUT_SNAPSHOT: &str =
    "REPLACE INTO snapshots (turn, world, player, scene) VALUES (?1, ?2, ?3, ?4)";
const PUT_STATE: &str = "REPLACE INTO states (scope, turn, text) VALUES (?1, ?2, ?3)";
const META: &str = "SELECT turn, snapshot, states, changes FROM meta WHERE id = 1";
const STATE: &str = "SELECT text FROM states WHERE scope = ?1";
const SNAPSHOT: &str = "SELECT turn, world, player, scene FROM snapshots WHERE turn <= ?1 \
     ORDER BY turn DESC LIMIT 1";
const CHANGES: &str = "SELECT line FROM changes WHERE turn BETWEEN ?1 AND ?2 ORDER BY turn, id";
const TURNS: &str = "SELECT turn, line FROM turns WHERE turn BETWEEN ?1 AND ?2 ORDER BY turn";

fn connect(dir: &Path) -> Result<Connection, PeerError> {
    let connection = Connection::open(dir.join(FILE))?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(PeerError::JournalMode { mode });
    }
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

fn create(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    let connection = connect(dir)?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.execute_batch(TABLES)?;
    let (state, schedule) = (workload::start(), Schedule::default());
    let mut keeper = SqliteKeeper { connection, state, schedule };
    keeper.snapshot()?;
    Ok(Box::new(keeper))
}

fn play(dir: &Path) -> Result<Box<dyn GameKeeper>, PeerError> {
    let mut reader = SqliteReader(connect(dir)?);
    let (schedule, state) = reader.last_state()?;
    Ok(Box::new(SqliteKeeper { connection: reader.0, state, schedule }))
}

fn read(dir: &Path) -> Result<Box<dyn GameReader>, PeerError> {
    Ok(Box::new(SqliteReader(connect(dir)?)))
}

fn kinds(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    vec![("database", dir.join(FILE)), ("log", dir.join(format!("{FILE}-wal")))]
}

struct SqliteKeeper {
    connection: Connection,
    state: StateValues,
    schedule: Schedule,
}

/// Writes the states, and the snapshot if one is due.
fn put_states(
    transaction: &Transaction<'_>,
    state: &StateValues,
    turn: u64,
    due: DueWrite,
) -> Result<(), PeerError> {
    if due == DueWrite::Nothing {
        return Ok(());
    }
    let texts = [&state.world, &state.player, &state.scene].map(Value::to_string);
    let mut put = transaction.prepare_cached(PUT_STATE)?;
    for (scope, text) in ["world", "player", "scene"].iter().zip(&texts) {
        put.execute(params![scope, turn.cast_signed(), text])?;
    }
    if due == DueWrite::Snapshot {
        let [world, player, scene] = &texts;
        let mut put = transaction.prepare_cached(PUT_SNAPSHOT)?;
        put.execute(params![turn.cast_signed(), world, player, scene])?;
    }
    Ok(())
}

fn put_meta(transaction: &Transaction<'_>, schedule: &Schedule) -> Result<(), PeerError> {
    let Schedule { turn, snapshot_turn, changes, states_turn } = *schedule;
    let numbers = [turn, snapshot_turn, states_turn, changes].map(u64::cast_signed);
    transaction.prepare_cached(PUT_META)?.execute(numbers)?;
    Ok(())
}

impl GameKeeper for SqliteKeeper {
    fn save(&mut self, turn: &NewTurn) -> Result<(), PeerError> {
        let mut groups = turn.groups.clone();
        for group in &mut groups {
            self.state.apply_noting(group)?;
        }
        let due = self.schedule.count(turn);
        let id = turn.number.cast_signed();
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.prepare_cached(INSERT_TURN)?.execute(params![id, turn.line.to_string()])?;
        {
            let mut insert = transaction.prepare_cached(INSERT_CHANGE)?;
            for group in &groups {
                insert.execute(params![id, serde_json::to_string(group)?])?;
            }
        }
        put_meta(&transaction, &self.schedule)?;
        transaction.commit()?;
        if due != DueWrite::Nothing {
            self.write_states(due)?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Vec<PathBuf>, PeerError> {
        self.write_states(DueWrite::Snapshot)?;
        Ok(Vec::new())
    }

    fn close(self: Box<Self>) -> Result<(), PeerError> {
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

impl SqliteKeeper {
    /// Writes the states in a separate transaction, as Everturn does: a turn does not wait for it.
    fn write_states(&mut self, due: DueWrite) -> Result<(), PeerError> {
        match due {
            DueWrite::Snapshot => self.schedule.snapshot_taken(),
            DueWrite::States | DueWrite::Nothing => self.schedule.states_written(),
        }
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        put_states(&transaction, &self.state, self.schedule.turn, due)?;
        put_meta(&transaction, &self.schedule)?;
        Ok(transaction.commit()?)
    }
}

struct SqliteReader(Connection);

impl SqliteReader {
    /// Applies the changes of the turns `first` to `last` to `state`.
    fn advance(&self, state: &mut StateValues, first: u64, last: u64) -> Result<(), PeerError> {
        let mut changes = self.0.prepare_cached(CHANGES)?;
        let mut rows = changes.query([first.cast_signed(), last.cast_signed()])?;
        while let Some(row) = rows.next()? {
            let mut group: ChangeGroup =
                serde_json::from_str(row.get_ref(0)?.as_str().map_err(bad)?)?;
            state.apply(&mut group)?;
        }
        Ok(())
    }

    fn last_state(&mut self) -> Result<(Schedule, StateValues), PeerError> {
        let schedule = self.0.prepare_cached(META)?.query_row([], |row| {
            let number = |column: usize| row.get(column).map(i64::cast_unsigned);
            Ok(Schedule {
                turn: number(0)?,
                snapshot_turn: number(1)?,
                states_turn: number(2)?,
                changes: number(3)?,
            })
        })?;
        let mut read = self.0.prepare_cached(STATE)?;
        let mut part = |scope: &str| -> Result<Value, PeerError> {
            let mut rows = read.query([scope])?;
            let row = rows.next()?.ok_or_else(|| PeerError::Session("no state".to_owned()))?;
            Ok(serde_json::from_str(row.get_ref(0)?.as_str().map_err(bad)?)?)
        };
        let mut state =
            StateValues { world: part("world")?, player: part("player")?, scene: part("scene")? };
        self.advance(&mut state, schedule.states_turn + 1, schedule.turn)?;
        Ok((schedule, state))
    }

    fn state_at(&self, turn: u64) -> Result<StateValues, PeerError> {
        let mut snapshot = self.0.prepare_cached(SNAPSHOT)?;
        let mut rows = snapshot.query([turn.cast_signed()])?;
        let row = rows.next()?.ok_or_else(|| PeerError::Session("no snapshot".to_owned()))?;
        let part = |column: usize| -> Result<Value, PeerError> {
            Ok(serde_json::from_str(row.get_ref(column)?.as_str().map_err(bad)?)?)
        };
        let from = row.get::<_, i64>(0)?.cast_unsigned();
        let mut state = StateValues { world: part(1)?, player: part(2)?, scene: part(3)? };
        self.advance(&mut state, from + 1, turn)?;
        Ok(state)
    }
}

fn bad(error: rusqlite::types::FromSqlError) -> PeerError {
    PeerError::Sqlite(error.into())
}

impl GameReader for SqliteReader {
    fn resume(&mut self) -> Result<LoadedState, PeerError> {
        Ok(LoadedState::Values(Box::new(self.last_state()?.1)))
    }

    fn jump(&mut self, turn: u64) -> Result<LoadedState, PeerError> {
        Ok(LoadedState::Values(Box::new(self.state_at(turn)?)))
    }

    fn replay(
        &mut self,
        turns: RangeInclusive<u64>,
        _: ReplayDepth,
    ) -> Result<(ReplayCounts, LoadedState), PeerError> {
        let mut seen = ReplayCounts::default();
        let mut state = self.state_at(turns.start().saturating_sub(1))?;
        let range = [turns.start().cast_signed(), turns.end().cast_signed()];
        let (mut lines, mut changes) =
            (self.0.prepare_cached(TURNS)?, self.0.prepare_cached(CHANGES)?);
        let mut lines = lines.query(range)?;
        let mut changes = changes.query(range)?;
        let mut next: Option<ChangeGroup> = None;
        while let Some(row) = lines.next()? {
            let number = row.get::<_, i64>(0)?.cast_unsigned();
            let turn: Value = serde_json::from_str(row.get_ref(1)?.as_str().map_err(bad)?)?;
            seen.turn(&turn);
            loop {
                if next.is_none() {
                    let Some(row) = changes.next()? else { break };
                    next = Some(serde_json::from_str(row.get_ref(0)?.as_str().map_err(bad)?)?);
                }
                let Some(mut group) = next.take_if(|group| group.turn_id <= number) else { break };
                seen.changes += group.deltas.len() as u64;
                state.apply(&mut group)?;
            }
        }
        Ok((seen, LoadedState::Values(Box::new(state))))
    }
}
