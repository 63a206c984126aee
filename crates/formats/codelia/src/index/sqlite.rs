//! The index as the program keeps it: a table in SQLite. Only this module contains SQL.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::ffi::{self, SQLITE_CORRUPT};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};
use rustix::fs as file_system;

use super::{IndexError, IndexRow, RowChange, SessionIndex};

/// How long to wait for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The free space on a disk that is not nearly full, in bytes. SQLite maps a file of 32 KiB into memory for a database in
/// WAL mode. On some file systems, its blocks are only allocated when they are written, and without room for one of them,
/// that write kills the process.
const LEAST_ROOM: u64 = 256 << 10;

/// The table as the program creates it; the last column was added later.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS session_state (
  session_id TEXT PRIMARY KEY,
  updated_at TEXT NOT NULL,
  run_id TEXT,
  invoke_seq INTEGER,
  schema_version INTEGER NOT NULL,
  meta_json TEXT,
  message_count INTEGER,
  last_user_message TEXT,
  workspace_root TEXT
);
CREATE INDEX IF NOT EXISTS idx_session_state_updated_at ON session_state(updated_at DESC);
";

/// The most bytes of a row; a title and its metadata have a few hundred.
const LARGEST_ROW: i32 = 64 << 20;

const WORKSPACE: &str = "workspace_root";

/// Unknown columns stay as they are.
const UPSERT: &str = "
INSERT INTO session_state (session_id, updated_at, run_id, invoke_seq, schema_version, meta_json,
  message_count, last_user_message, workspace_root)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT(session_id) DO UPDATE SET updated_at = ?2, run_id = ?3, invoke_seq = ?4,
  schema_version = ?5, meta_json = ?6, message_count = ?7, last_user_message = ?8, workspace_root = ?9";

/// The index in a database file.
pub struct SqliteIndex {
    connection: Mutex<Connection>,
    /// Whether the table has the workspace column.
    has_workspace: bool,
}

fn failed(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> IndexError {
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            IndexError::Damaged { source: Arc::new(source) }
        }
        _ => IndexError::Database { doing, source: Arc::new(source) },
    }
}

impl SqliteIndex {
    /// Opens the database for writing; creates it if missing, and adds missing columns.
    pub fn open(file: &Path) -> Result<SqliteIndex, IndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(file, flags).map_err(failed("open"))?;
        restrict(&connection).map_err(failed("open"))?;
        if !has_room_beside(file) {
            // Alone with the database, SQLite needs no shared memory. If it is not alone, this is like a lock.
            connection.pragma_update(None, "locking_mode", "exclusive").map_err(failed("open"))?;
        }
        let version: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(failed("read"))?;
        if version != 0 {
            return Err(IndexError::Newer { version });
        }
        let prepare = || -> rusqlite::Result<()> {
            require_table(&connection)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "normal")?;
            connection.execute_batch(SCHEMA)?;
            if !has_workspace(&connection)? {
                connection
                    .execute("ALTER TABLE session_state ADD COLUMN workspace_root TEXT", [])?;
            }
            Ok(())
        };
        prepare().map_err(failed("prepare"))?;
        Ok(SqliteIndex { connection: Mutex::new(connection), has_workspace: true })
    }

    /// Opens an existing database, and never changes it. On a full or read-only disk, SQLite cannot share memory with
    /// other processes; the database and its log are read without that then.
    pub fn open_read_only(file: &Path) -> Result<SqliteIndex, IndexError> {
        if has_room_beside(file) {
            match SqliteIndex::open_existing(file, OpenFlags::empty(), "normal") {
                Err(error) if error.may_lack_shared_memory() => {}
                opened => return opened,
            }
        }
        // A file system without locks, and one user of the database: its index of the log is in memory of its own.
        let address = address_of(file, "mode=ro&vfs=unix-none");
        SqliteIndex::open_existing(Path::new(&address), OpenFlags::SQLITE_OPEN_URI, "exclusive")
    }

    /// Whether another process is writing to an existing database. Never waits.
    pub(crate) fn is_locked(file: &Path) -> bool {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let probe = || -> rusqlite::Result<()> {
            let connection = Connection::open_with_flags(file, flags)?;
            connection.busy_timeout(Duration::ZERO)?;
            connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;")
        };
        let is_busy = |error: rusqlite::Error| {
            let code = error.sqlite_error_code();
            matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
        };
        has_room_beside(file) && probe().is_err_and(is_busy)
    }

    /// Opens a database that nothing changes, such as one on a read-only disk. SQLite then needs no files beside it;
    /// what is only in its log is not read.
    pub fn open_immutable(file: &Path) -> Result<SqliteIndex, IndexError> {
        let address = address_of(file, "immutable=1");
        SqliteIndex::open_existing(Path::new(&address), OpenFlags::SQLITE_OPEN_URI, "normal")
    }

    fn open_existing(
        file: &Path,
        more: OpenFlags,
        locking: &str,
    ) -> Result<SqliteIndex, IndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | more;
        let connection = Connection::open_with_flags(file, flags).map_err(failed("open"))?;
        restrict(&connection).map_err(failed("open"))?;
        connection.pragma_update(None, "locking_mode", locking).map_err(failed("open"))?;
        require_table(&connection).map_err(failed("read"))?;
        let has_workspace = has_workspace(&connection).map_err(failed("read"))?;
        Ok(SqliteIndex { connection: Mutex::new(connection), has_workspace })
    }

    fn locked(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn select(&self, rest: &str) -> String {
        let workspace = if self.has_workspace { WORKSPACE } else { "NULL" };
        format!(
            "SELECT session_id, updated_at, run_id, invoke_seq, schema_version, meta_json, \
             message_count, last_user_message, {workspace} FROM session_state {rest}"
        )
    }
}

/// Makes a connection safe to use with a file of unknown origin: its views and triggers could run forever.
fn restrict(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for off in [
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
    ] {
        connection.set_db_config(off, false)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LARGEST_ROW)?;
    Ok(())
}

/// Fails if something other than a table has the name of the table.
fn require_table(connection: &Connection) -> rusqlite::Result<()> {
    let sql =
        "SELECT type, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE name = 'session_state'";
    let kind = connection.query_row(sql, [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<bool>>(1)?.unwrap_or_default()))
    });
    match kind.optional()? {
        None => Ok(()),
        Some((kind, false)) if kind == "table" => Ok(()),
        Some((kind, is_virtual)) => {
            let kind = if is_virtual { "virtual table".to_owned() } else { kind };
            let what = format!("session_state is a {kind}, not a table");
            Err(rusqlite::Error::SqliteFailure(ffi::Error::new(SQLITE_CORRUPT), Some(what)))
        }
    }
}

/// Whether the disk of a file is not nearly full; it is if that is not known.
fn has_room_beside(file: &Path) -> bool {
    let Some(dir) = file.parent() else { return false };
    file_system::statvfs(dir)
        .is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) >= LEAST_ROOM)
}

/// The address of a file for SQLite, with parameters.
fn address_of(file: &Path, parameters: &str) -> String {
    let path: String = file.to_string_lossy().chars().map(escaped_in_address).collect();
    format!("file:{path}?{parameters}")
}

/// A character of a path in the address of a file.
fn escaped_in_address(character: char) -> String {
    match character {
        '%' | '?' | '#' => format!("%{:02X}", u32::from(character)),
        other => other.to_string(),
    }
}

fn has_workspace(connection: &Connection) -> rusqlite::Result<bool> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info('session_state')")?;
    let mut names = columns.query_map([], |row| row.get::<_, String>(0))?;
    names.try_fold(false, |found, name| Ok(found || name? == WORKSPACE))
}

/// A column of any type, as text.
fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    if let ValueRef::Integer(number) = row.get_ref(column)? {
        return Ok(Some(number));
    }
    Ok(text(row, column)?.and_then(|text| text.parse().ok()))
}

fn row_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<IndexRow> {
    Ok(IndexRow {
        session_id: text(row, 0)?.unwrap_or_default(),
        updated_at: text(row, 1)?.unwrap_or_default(),
        run_id: text(row, 2)?,
        invoke_seq: number(row, 3)?,
        schema_version: number(row, 4)?.unwrap_or(1),
        meta_json: text(row, 5)?,
        message_count: number(row, 6)?,
        last_user_message: text(row, 7)?,
        workspace_root: text(row, 8)?,
    })
}

impl SessionIndex for SqliteIndex {
    fn rows(&self) -> Result<Vec<IndexRow>, IndexError> {
        let connection = self.locked();
        let read = || -> rusqlite::Result<Vec<IndexRow>> {
            let mut rows = connection.prepare(&self.select(""))?;
            rows.query_map([], row_of)?.collect()
        };
        read().map_err(failed("read"))
    }

    fn row(&self, id: &str) -> Result<Option<IndexRow>, IndexError> {
        let connection = self.locked();
        let sql = self.select("WHERE session_id = ?1");
        connection.query_row(&sql, [id], row_of).optional().map_err(failed("read"))
    }

    fn change(&self, id: &str, change: RowChange<'_>) -> Result<(), IndexError> {
        let mut connection = self.locked();
        let sql = self.select("WHERE session_id = ?1");
        let mut write = || -> rusqlite::Result<()> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let before = transaction.query_row(&sql, [id], row_of).optional()?;
            match change(before) {
                Some(row) => transaction.execute(
                    UPSERT,
                    params![
                        id,
                        row.updated_at,
                        row.run_id,
                        row.invoke_seq,
                        row.schema_version,
                        row.meta_json,
                        row.message_count,
                        row.last_user_message,
                        row.workspace_root,
                    ],
                )?,
                None => {
                    transaction.execute("DELETE FROM session_state WHERE session_id = ?1", [id])?
                }
            };
            transaction.commit()
        };
        write().map_err(failed("write"))
    }

    fn vacuum(&self) -> Result<(), IndexError> {
        // All rows are written to new pages, and the log of the database is truncated.
        let sql = "PRAGMA secure_delete = ON; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);";
        self.locked().execute_batch(sql).map_err(failed("clear"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs as links;

    use super::*;

    /// The table before sessions had a workspace, with a column of another program.
    const OLD: &str = "
        PRAGMA journal_mode = wal;
        CREATE TABLE session_state (session_id TEXT PRIMARY KEY, updated_at TEXT NOT NULL, run_id TEXT,
          invoke_seq INTEGER, schema_version INTEGER NOT NULL, meta_json TEXT, message_count INTEGER,
          last_user_message TEXT, stars INTEGER);
        INSERT INTO session_state VALUES ('old', '2026-01-01T00:00:00.000Z', 'run', 4, 1,
          '{\"codelia_workspace_root\":\"/w\"}', 2, 'hi', 5);";

    #[test]
    fn a_table_of_an_older_version_is_read_and_gets_its_column() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.db");
        Connection::open(&file).unwrap().execute_batch(OLD).unwrap();
        let row = SqliteIndex::open_read_only(&file).unwrap().row("old").unwrap().unwrap();
        assert_eq!((row.invoke_seq, row.workspace_root), (Some(4), None));
        let index = SqliteIndex::open(&file).unwrap();
        index
            .change("old", &mut |row| Some(IndexRow { message_count: Some(3), ..row.unwrap() }))
            .unwrap();
        let stars: i64 = Connection::open(&file)
            .unwrap()
            .query_row("SELECT stars FROM session_state WHERE workspace_root IS NULL", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(stars, 5, "an unknown column is kept");
        assert_eq!(index.row("old").unwrap().unwrap().run_id.as_deref(), Some("run"));
    }

    /// As on a read-only disk, SQLite cannot create the files that it needs beside a database with a log.
    #[test]
    fn a_database_without_room_beside_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a%20?b#c.db");
        Connection::open(&file).unwrap().execute_batch(OLD).unwrap();
        // SQLite follows no links, and can open a directory to read from it.
        links::symlink("nothing", dir.path().join("a%20?b#c.db-shm")).unwrap();
        let plain = SqliteIndex::open_existing(&file, OpenFlags::empty(), "normal");
        assert!(plain.is_err(), "the link is in the way");
        for open in [SqliteIndex::open_immutable, SqliteIndex::open_read_only] {
            let row = open(&file).unwrap().row("old").unwrap().unwrap();
            assert_eq!(row.invoke_seq, Some(4));
        }
    }

    #[test]
    fn a_later_version_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.db");
        drop(SqliteIndex::open(&file).unwrap());
        Connection::open(&file).unwrap().pragma_update(None, "user_version", 7).unwrap();
        assert!(matches!(SqliteIndex::open(&file), Err(IndexError::Newer { version: 7 })));
        assert!(SqliteIndex::open_read_only(&file).unwrap().rows().unwrap().is_empty());
    }

    const ENDLESS: &str =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";

    #[test]
    fn a_view_in_place_of_the_table_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.db");
        let view = format!(
            "CREATE VIEW session_state AS SELECT x session_id, '' updated_at, NULL run_id, 1 invoke_seq, 1 schema_version,
               NULL meta_json, 1 message_count, '' last_user_message, '' workspace_root FROM ({ENDLESS})"
        );
        Connection::open(&file).unwrap().execute_batch(&view).unwrap();
        for open in [SqliteIndex::open, SqliteIndex::open_read_only, SqliteIndex::open_immutable] {
            let Err(error) = open(&file) else { panic!("the view was opened") };
            assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
        }
    }

    #[test]
    fn triggers_do_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.db");
        let other = Connection::open(&file).unwrap();
        other.execute_batch(OLD).unwrap();
        let trigger = "CREATE TABLE ran (what TEXT); CREATE TRIGGER t AFTER INSERT ON session_state BEGIN \
                       INSERT INTO ran VALUES ('insert'); END; CREATE TRIGGER u AFTER UPDATE ON session_state BEGIN \
                       INSERT INTO ran VALUES ('update'); END;";
        other.execute_batch(trigger).unwrap();
        let index = SqliteIndex::open(&file).unwrap();
        index.change("old", &mut |row| row).unwrap();
        let old = index.row("old").unwrap().unwrap();
        index
            .change("new", &mut |_| Some(IndexRow { session_id: "new".to_owned(), ..old.clone() }))
            .unwrap();
        assert_eq!(index.rows().unwrap().len(), 2);
        let ran: i64 = other.query_row("SELECT count(*) FROM ran", [], |row| row.get(0)).unwrap();
        assert_eq!(ran, 0);
    }
}
