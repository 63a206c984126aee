//! SQLite databases of other programs, read without ever writing beside them.
//!
//! In WAL mode SQLite creates files beside a database even for readers. So a database without a pending log is opened
//! as immutable; a database with one is read into memory together with its log, and merged there.
//!
//! A database is input like any other file: its schema is not trusted, views and triggers are off, values have a
//! largest size, and a query that needs too many steps is stopped. `ForeignDatabase` is an open database.

mod wal;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params};
use serde_json::{Map, Value};

use everturn_json::jsonl::LARGEST_TEXT;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError};

const MAGIC: &[u8] = b"SQLite format 3\0";

/// The largest database that is merged in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

/// How often a query is interrupted to count its steps, and how many of these interruptions it may have. The limit is
/// about a minute of work; a list of a million sessions needs a hundredth of it.
const STEPS_PER_CHECK: i32 = 10_000;
const MOST_CHECKS: u64 = 100_000;

/// The limits of a connection.
const LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (Limit::SQLITE_LIMIT_COLUMN, 200),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 50),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
];

/// Whether bytes start like a SQLite database.
pub(super) fn is_sqlite(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Whether a path names a database.
pub(super) fn is_database(path: &FilePath) -> bool {
    path.as_str().ends_with(".db")
}

/// The database that contains a session, if any.
pub(super) fn database_of(path: &FilePath) -> Option<FilePath> {
    path.parent().filter(is_database)
}

/// An open database of another program.
pub(super) struct ForeignDatabase {
    connection: Connection,
    file: FilePath,
    checks: Arc<AtomicU64>,
}

fn beside(file: &FilePath, suffix: &str) -> Result<FilePath, SessionError> {
    Ok(FilePath::parse(&format!("{file}{suffix}"))?)
}

fn length(store: &Arc<dyn Store>, file: &FilePath) -> Result<u64, SessionError> {
    Ok(store.stat(file)?.map_or(0, |stat| stat.len))
}

fn unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut address = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(&address, flags)
}

fn in_memory(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
    Ok(connection)
}

/// Makes a connection safe to use with a schema and values of unknown origin.
fn restrict(connection: &mut Connection, checks: &Arc<AtomicU64>) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for off in [
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
    ] {
        connection.set_db_config(off, false)?;
    }
    for (limit, most) in LIMITS {
        connection.set_limit(*limit, *most)?;
    }
    let largest = i32::try_from(LARGEST_TEXT).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, largest)?;
    let checks = Arc::clone(checks);
    let stops = move || checks.fetch_add(1, Ordering::Relaxed) >= MOST_CHECKS;
    connection.progress_handler(STEPS_PER_CHECK, Some(stops))
}

impl ForeignDatabase {
    pub(super) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<ForeignDatabase, SessionError> {
        let failed = |error: rusqlite::Error| SessionError::damaged(format!("{file}: {error}"));
        if length(store, &beside(file, "-journal")?)? > 0 {
            let what = format!("{file} is being changed; try again when its program has finished");
            return Err(SessionError::request(what));
        }
        let log = beside(file, "-wal")?;
        let waiting = length(store, &log)?;
        let path = store.local_path(file)?.filter(|_| waiting == 0);
        let mut connection = match path {
            Some(path) => unchanging(&path).map_err(failed)?,
            None => {
                let size = length(store, file)? + waiting;
                if size > MOST_IN_MEMORY {
                    let what = format!(
                        "{file} and its write-ahead log have {size} bytes, too many to merge in memory; quit its \
                         program, which checkpoints the log, and try again"
                    );
                    return Err(SessionError::request(what));
                }
                let log = if waiting > 0 { store.read(&log, 0..u64::MAX)? } else { Vec::new() };
                let bytes = wal::apply_wal(store.read(file, 0..u64::MAX)?, &log);
                in_memory(&bytes).map_err(failed)?
            }
        };
        let checks = Arc::new(AtomicU64::new(0));
        restrict(&mut connection, &checks).map_err(failed)?;
        Ok(ForeignDatabase { connection, file: file.clone(), checks })
    }

    fn failed(&self, error: &rusqlite::Error) -> SessionError {
        let is_stopped =
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted);
        let why =
            if is_stopped { "a query took too many steps".to_owned() } else { error.to_string() };
        SessionError::damaged(format!("{}: {why}", self.file))
    }

    /// Starts to count the steps of a query.
    fn begin(&self) {
        self.checks.store(0, Ordering::Relaxed);
    }

    /// Whether it has a table with these columns. An error if the schema cannot be read.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> Result<bool, SessionError> {
        let query = "SELECT name FROM pragma_table_info(?1)";
        let there = self.texts(query, [table])?;
        Ok(!there.is_empty() && columns.iter().all(|column| there.iter().any(|own| own == column)))
    }

    /// The names of all tables.
    pub(super) fn tables(&self) -> Result<Vec<String>, SessionError> {
        let query = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY 1";
        self.texts(query, [])
    }

    /// The first column of a query, as texts.
    pub(super) fn texts(
        &self,
        query: &str,
        params: impl Params,
    ) -> Result<Vec<String>, SessionError> {
        self.begin();
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(query)?;
            let texts = statement.query_map(params, |row| Ok(text(row.get_ref(0)?)))?;
            texts.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// The first column of a query, as row numbers.
    pub(super) fn rows(&self, query: &str, params: impl Params) -> Result<Vec<u64>, SessionError> {
        self.begin();
        let read = || -> rusqlite::Result<Vec<u64>> {
            let mut statement = self.connection.prepare_cached(query)?;
            let rows =
                statement.query_map(params, |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// The row number that a query finds.
    pub(super) fn row(
        &self,
        query: &str,
        params: impl Params,
    ) -> Result<Option<u64>, SessionError> {
        self.begin();
        let row = self.connection.query_row(query, params, |row| row.get::<_, i64>(0)).optional();
        Ok(row.map_err(|error| self.failed(&error))?.map(i64::cast_unsigned))
    }

    /// The columns of a row. It is an error if the row is gone.
    pub(super) fn columns(
        &self,
        query: &str,
        row: u64,
    ) -> Result<Vec<(String, Value)>, SessionError> {
        self.begin();
        let read = || -> rusqlite::Result<Vec<(String, Value)>> {
            let mut statement = self.connection.prepare_cached(query)?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            statement.query_row([row.cast_signed()], |row| {
                let value =
                    |(at, name): (usize, &String)| Ok((name.clone(), value(row.get_ref(at)?)));
                names.iter().enumerate().map(value).collect()
            })
        };
        read().map_err(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => {
                StoreError::Changed { file: self.file.clone() }.into()
            }
            error => self.failed(&error),
        })
    }

    pub(super) fn file(&self) -> &FilePath {
        &self.file
    }
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(_) => text(value).into(),
        ValueRef::Blob(bytes) => {
            let mut blob = Map::new();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            blob.insert("blob".to_owned(), hex.into());
            blob.into()
        }
    }
}
