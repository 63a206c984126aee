//! The database, opened without ever writing, and its tables.
//!
//! The program may be running while its database is read, so SQLite's locks are respected: a database that is being
//! written is not read. Opening for reading creates no files, with two exceptions. For a database in WAL mode SQLite
//! would create the log and its index, so it is opened as immutable, provided that no log is pending beside it. And a
//! database whose program was killed in the middle of a change has a rollback journal beside it, which a reader is
//! expected to roll back into the file; instead the file is read into memory and rolled back there.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::ImportError;
use super::journal;
use everturn_json::names::{FilePath, Name};
use everturn_store::disk::{Disk, DiskFile, FileAccess, RealDisk};

const MAGIC: &[u8] = b"SQLite format 3\0";

/// The position of the journal mode in the header, and its value for WAL mode.
const JOURNAL_MODE: std::ops::Range<usize> = 18..20;
const WRITE_AHEAD: &[u8] = &[2, 2];

/// How long to wait for a program that is writing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tables whose rows become documents.
pub(super) const TABLES: &[&str] = &[
    "characters",
    "lorebooks",
    "support_tools",
    "chat_sessions",
    "chat_messages",
    "tool_states",
    "session_tools",
    "bookmarks",
    "bookmark_tool_states",
    "narrative_markers",
];

/// The tables that every such database has.
const NEEDED: [&str; 2] = ["chat_sessions", "chat_messages"];

/// An open database.
pub(super) struct ImportDatabase {
    path: PathBuf,
    connection: Connection,
    /// The tables, with the names of their columns.
    tables: BTreeMap<String, Vec<String>>,
}

impl ImportDatabase {
    pub(super) fn open(dir: &Path, name: &Name) -> Result<ImportDatabase, ImportError> {
        let files = DatabaseFiles::of(dir, name)?;
        let header = files.header()?;
        let connection = if header.get(JOURNAL_MODE) == Some(WRITE_AHEAD) {
            if files.length("-wal")?.is_some_and(|length| length > 0) {
                return Err(ImportError::Waiting { log: files.beside("-wal") });
            }
            connect(&files.path, OpenMode::Unchanging)?
        } else {
            connect(&files.path, OpenMode::Shared)?
        };
        let mut database =
            ImportDatabase { path: files.path.clone(), connection, tables: BTreeMap::new() };
        match database.load_tables() {
            Err(ImportError::Database { source, .. })
                if source.sqlite_error_code() == Some(ErrorCode::ReadOnly) =>
            {
                database.connection = in_memory(&files)?;
                database.load_tables()?;
            }
            looked => looked?,
        }
        database.is_ours()?;
        Ok(database)
    }

    /// Starts to read, and loads the list of tables.
    fn load_tables(&mut self) -> Result<(), ImportError> {
        self.tables = self.read_tables().map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn read_tables(&self) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
        // One transaction for everything, so that all tables are read at the same point in time.
        self.connection.execute_batch("BEGIN")?;
        let columns = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
                       WHERE t.type = 'table' ORDER BY t.name, c.cid";
        let mut statement = self.connection.prepare(columns)?;
        let mut rows = statement.query([])?;
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            tables.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        Ok(tables)
    }

    fn is_ours(&self) -> Result<(), ImportError> {
        let foreign = |why: String| Err(ImportError::Foreign { path: self.path.clone(), why });
        for table in NEEDED {
            let Some(columns) = self.tables.get(table) else {
                return foreign(format!("there is no table {table}"));
            };
            if !columns.iter().any(|column| column == "id") {
                return foreign(format!("the table {table} has no column id"));
            }
        }
        Ok(())
    }

    pub(super) fn failed(&self, source: rusqlite::Error) -> ImportError {
        sort(&self.path, source)
    }

    pub(super) fn columns(&self, table: &str) -> Option<&[String]> {
        self.tables.get(table).map(Vec::as_slice)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The first findings of SQLite's own check.
    pub(super) fn damage(&self) -> Vec<String> {
        let check = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA quick_check(20)")?;
            let found = statement.query_map([], |row| row.get::<_, String>(0))?;
            found.filter(|line| !matches!(line.as_deref(), Ok("ok"))).collect()
        };
        check().unwrap_or_else(|error| vec![format!("the database check failed: {error}")])
    }

    /// The tables that are not imported, with their row counts.
    pub(super) fn others(&self) -> Result<Vec<(String, u64)>, ImportError> {
        let mut others = Vec::new();
        for table in self.tables.keys() {
            if TABLES.contains(&table.as_str()) || table.starts_with("sqlite_") {
                continue;
            }
            let count = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
            let rows = self.connection.query_row(&count, [], |row| row.get::<_, i64>(0));
            match rows {
                Ok(rows) => others.push((table.clone(), rows.unsigned_abs())),
                Err(error) if is_damage(&error) => others.push((table.clone(), 0)),
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(others)
    }
}

/// Whether an error is caused by the content of the file.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure)
    )
}

fn sort(path: &Path, source: rusqlite::Error) -> ImportError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ImportError::Locked { path },
        Some(ErrorCode::NotADatabase) => {
            ImportError::NotADatabase { path, why: source.to_string() }
        }
        Some(ErrorCode::DatabaseCorrupt) => ImportError::Damaged { path, source: Arc::new(source) },
        _ => ImportError::Database { path, source: Arc::new(source) },
    }
}

/// The mode in which a database is opened for reading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// Other programs may change it; their locks are respected.
    Shared,
    /// No program changes it.
    Unchanging,
}

fn connect(path: &Path, way: OpenMode) -> Result<Connection, ImportError> {
    let mut address = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str(if way == OpenMode::Unchanging { "?immutable=1" } else { "?mode=ro" });
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(&address, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    };
    open().map_err(|error| sort(path, error))
}

/// The database before the change that its program did not finish.
fn in_memory(files: &DatabaseFiles) -> Result<Connection, ImportError> {
    let damaged = |why: String| ImportError::Journal { journal: files.beside("-journal"), why };
    let journal = files.read("-journal")?;
    let bytes = journal::roll_back(files.read("")?, &journal).map_err(damaged)?;
    let open = || -> rusqlite::Result<Connection> {
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), true)?;
        Ok(connection)
    };
    open().map_err(|error| sort(&files.path, error))
}

/// The file of the database and those beside it.
struct DatabaseFiles {
    disk: RealDisk,
    name: Name,
    path: PathBuf,
}

impl DatabaseFiles {
    fn of(dir: &Path, name: &Name) -> Result<DatabaseFiles, ImportError> {
        let path = dir.join(name.as_str());
        let disk = RealDisk::open(dir).map_err(|error| unreadable(&path, error))?;
        Ok(DatabaseFiles { disk, name: name.clone(), path })
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    fn file(&self, suffix: &str) -> Result<FilePath, ImportError> {
        FilePath::parse(&format!("{}{suffix}", self.name)).map_err(|error| {
            unreadable(&self.beside(suffix), std::io::Error::other(error.to_string()))
        })
    }

    fn length(&self, suffix: &str) -> Result<Option<u64>, ImportError> {
        let stat = self.disk.stat(&self.file(suffix)?);
        let stat = stat.map_err(|error| unreadable(&self.beside(suffix), error))?;
        Ok(stat.map(|stat| stat.len))
    }

    /// Fills `buf` from the start of a file, as far as it goes.
    fn fill(&self, suffix: &str, buf: &mut [u8]) -> Result<usize, ImportError> {
        let path = self.file(suffix)?;
        let mut read = || -> std::io::Result<usize> {
            let file: Box<dyn DiskFile> = self.disk.open(&path, FileAccess::Read)?;
            let mut done = 0;
            while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
                match file.read_at(done as u64, rest)? {
                    0 => break,
                    count => done += count,
                }
            }
            Ok(done)
        };
        read().map_err(|error| unreadable(&self.beside(suffix), error))
    }

    fn header(&self) -> Result<Vec<u8>, ImportError> {
        let mut header = vec![0; 100];
        let length = self.fill("", &mut header)?;
        let not_one = |why: &str| {
            Err(ImportError::NotADatabase { path: self.path.clone(), why: why.to_owned() })
        };
        match length {
            0 => not_one("the file is empty"),
            _ if !header.starts_with(MAGIC) => not_one("it has no SQLite header"),
            length if length < header.len() => not_one("its header is truncated"),
            _ => Ok(header),
        }
    }

    fn read(&self, suffix: &str) -> Result<Vec<u8>, ImportError> {
        let length = self.length(suffix)?.unwrap_or_default();
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let done = self.fill(suffix, &mut bytes)?;
        bytes.truncate(done);
        Ok(bytes)
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> ImportError {
    ImportError::Unreadable { path: path.to_owned(), source: Arc::new(source) }
}
