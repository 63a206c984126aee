//! The database of goose, read without ever writing beside it.
//!
//! In WAL mode SQLite creates files beside a database even for readers. So a database without a pending log is opened
//! as immutable; a database with one is read into memory together with its log, and merged there.

mod wal;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::{Map, Value};

use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

const MAGIC: &[u8] = b"SQLite format 3\0";

/// The largest database that is merged in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

/// Whether bytes start like a SQLite database.
pub(super) fn is_sqlite(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Whether the first bytes of a database already contain the tables of goose.
pub(super) fn shows_tables(head: &[u8]) -> bool {
    let has = |word: &[u8]| head.windows(word.len()).any(|found| found == word);
    has(b"content_json") && has(b"working_dir")
}

pub(super) struct GooseDatabase {
    connection: Connection,
    file: FilePath,
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

impl GooseDatabase {
    pub(super) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<GooseDatabase, SessionError> {
        let failed = |error: rusqlite::Error| SessionError::damaged(format!("{file}: {error}"));
        if length(store, &beside(file, "-journal")?)? > 0 {
            let what = format!("{file} is being changed; try again when its program has finished");
            return Err(SessionError::request(what));
        }
        let log = beside(file, "-wal")?;
        let waiting = length(store, &log)?;
        let path = store.local_path(file)?.filter(|_| waiting == 0);
        let connection = match path {
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
        Ok(GooseDatabase { connection, file: file.clone() })
    }

    fn failed(&self, error: &rusqlite::Error) -> SessionError {
        SessionError::damaged(format!("{}: {error}", self.file))
    }

    /// Whether it has the tables in which goose keeps its sessions.
    pub(super) fn is_ours(&self) -> bool {
        let queries = [
            "SELECT id, working_dir FROM sessions LIMIT 0",
            "SELECT session_id, content_json FROM messages LIMIT 0",
        ];
        queries.iter().all(|query| self.connection.prepare(query).is_ok())
    }

    /// The ids of all sessions, including those that only occur in messages.
    pub(super) fn ids(&self) -> Result<Vec<String>, SessionError> {
        let query =
            "SELECT id FROM sessions UNION SELECT DISTINCT session_id FROM messages ORDER BY 1";
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(query)?;
            let ids = statement.query_map([], |row| Ok(text(row.get_ref(0)?)))?;
            ids.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// The row number of a session.
    pub(super) fn session_row(&self, id: &str) -> Result<Option<u64>, SessionError> {
        let query = "SELECT rowid FROM sessions WHERE id = ?1";
        let row = self.connection.query_row(query, [id], |row| row.get::<_, i64>(0)).optional();
        Ok(row.map_err(|error| self.failed(&error))?.map(i64::cast_unsigned))
    }

    /// The row numbers of a session's messages, in order.
    pub(super) fn message_rows(&self, id: &str) -> Result<Vec<u64>, SessionError> {
        // Some versions store seconds, some milliseconds, and a session may have been written by both.
        let query = "SELECT rowid FROM messages WHERE session_id = ?1 ORDER BY \
                     CASE WHEN created_timestamp > 10000000000 THEN created_timestamp \
                     ELSE created_timestamp * 1000 END, id";
        let read = || -> rusqlite::Result<Vec<u64>> {
            let mut statement = self.connection.prepare(query)?;
            let rows =
                statement.query_map([id], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// The row of a session, as an object.
    pub(super) fn session(&self, row: u64) -> Result<JsonTree, SessionError> {
        self.object("SELECT * FROM sessions WHERE rowid = ?1", row)
    }

    /// The row of a message, as an object. Content that is not JSON is damage.
    pub(super) fn message(&self, row: u64) -> Result<JsonTree, SessionError> {
        self.object("SELECT * FROM messages WHERE rowid = ?1", row)
    }

    /// A row as an object of its columns. JSON columns are parsed, and their names lose the suffix `_json`.
    fn object(&self, query: &str, row: u64) -> Result<JsonTree, SessionError> {
        let read = || -> rusqlite::Result<Vec<(String, Value)>> {
            let mut statement = self.connection.prepare_cached(query)?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            statement.query_row([row.cast_signed()], |row| {
                let value =
                    |(at, name): (usize, &String)| Ok((name.clone(), value(row.get_ref(at)?)));
                names.iter().enumerate().map(value).collect()
            })
        };
        let columns = read().map_err(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => {
                StoreError::Changed { file: self.file.clone() }.into()
            }
            error => self.failed(&error),
        })?;
        let mut members: Vec<(String, JsonTree)> = Vec::new();
        for (name, value) in columns {
            let tree = match (&value, name.strip_suffix("_json")) {
                (Value::String(text), Some(_)) => {
                    JsonTree::parse(text.as_str()).map_err(|bad| {
                        let what = format!("{}, row {row}: {name} is not JSON: {bad}", self.file);
                        SessionError::damaged(what)
                    })?
                }
                _ => JsonTree::from_value(&value).unwrap_or_else(|_| JsonTree::null()),
            };
            members.push((name.strip_suffix("_json").unwrap_or(&name).to_owned(), tree));
        }
        Ok(JsonTree::from_members(members))
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
