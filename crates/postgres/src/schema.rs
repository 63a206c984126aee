//! The tables of a root and their version.

use everturn_json::names::FilePath;
use everturn_store::StoreError;
use std::io;

use crate::connection::Connection;
use crate::error::Failure;

/// The version of the tables that this program reads and writes.
const VERSION: i32 = 1;

/// The statements that lead from each version to the next; the first ones create the tables.
///
/// A content is a sequence of pieces; its rows do not know the names of files, so that renames leave them alone. A
/// directory has no content. `tail_start` and `tail_pieces` are the pieces since the last merge. `modified` has
/// the seconds since 1970 in its upper half and nanoseconds in its lower half. The `id` of a root distinguishes it from another one that had the same name.
const MIGRATIONS: &[&str] = &[r#"
CREATE TABLE entries (
    path text COLLATE "C" PRIMARY KEY,
    parent text COLLATE "C" NOT NULL,
    content bigint,
    len bigint NOT NULL,
    secret boolean NOT NULL,
    open_tail boolean NOT NULL,
    sum bigint,
    tail_start bigint NOT NULL,
    tail_pieces integer NOT NULL,
    modified bigint NOT NULL
);
CREATE INDEX entries_parent ON entries (parent);
CREATE TABLE pieces (
    content bigint NOT NULL,
    start bigint NOT NULL,
    sum bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (content, start)
);
ALTER TABLE pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE SEQUENCE epochs;
CREATE TABLE leases (
    scope text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL UNIQUE,
    request text NOT NULL,
    holder text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE SEQUENCE change_numbers;
CREATE TABLE changes (
    number bigint PRIMARY KEY,
    xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id text NOT NULL UNIQUE,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    paths text[] NOT NULL
);
CREATE INDEX changes_made ON changes (made);
"#];

/// Creates the schema and its tables, or migrates them, in one transaction.
pub(crate) fn create_or_migrate(
    connection: &mut Connection,
    root: &str,
    may_create: bool,
) -> Result<(), Failure> {
    connection.in_transaction("BEGIN", |connection| {
        // Two processes that create the same root wait for each other here.
        connection.run(
            "SELECT pg_advisory_xact_lock(hashtext('everturn root'), hashtext($1))",
            &[&root],
        )?;
        if version(connection)? == Some(VERSION) {
            return Ok(());
        }
        let known = version(connection)?;
        if known.is_none() {
            if !may_create {
                return Err(StoreError::Missing { path: FilePath::root() }.into());
            }
            // An owner of the schema need not have the right to create others.
            let known = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
            if connection.query(known, &[&root])?.is_empty() {
                connection.batch(&format!("CREATE SCHEMA \"{root}\""))?;
            }
            let taken =
                "SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace";
            if !connection.query(taken, &[])?.is_empty() {
                let text = format!("the schema {root} holds tables that are not Everturn's");
                return Err(unusable(text).into());
            }
            connection.batch(
                "CREATE TABLE root_version (version integer NOT NULL, id bigint NOT NULL)",
            )?;
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(|error| unusable(error.to_string()))?;
            let id = i64::from_le_bytes(random);
            connection.run("INSERT INTO root_version VALUES (0, $1)", &[&id])?;
        }
        let from = check_version(known.unwrap_or(0))?;
        for statements in MIGRATIONS.iter().skip(from) {
            connection.batch(statements)?;
        }
        connection.run("UPDATE root_version SET version = $1", &[&VERSION])?;
        Ok(())
    })
}

/// Refuses a root that does not exist, or has another version than this program reads.
pub(crate) fn check_readable(connection: &mut Connection, root: &str) -> Result<(), Failure> {
    match version(connection)? {
        Some(VERSION) => Ok(()),
        Some(found) => {
            check_version(found)?;
            let text =
                format!("the root {root} has version {found}; open it for writing to migrate it");
            Err(unusable(text).into())
        }
        None => Err(StoreError::Missing { path: FilePath::root() }.into()),
    }
}

fn version(connection: &mut Connection) -> Result<Option<i32>, Failure> {
    let known = "SELECT has_schema_privilege(relnamespace, 'USAGE') FROM pg_class WHERE relname = 'root_version' \
                 AND relnamespace = to_regnamespace(current_setting('search_path'))";
    let rows = connection.query(known, &[])?;
    let Some(row) = rows.first() else { return Ok(None) };
    if !row.try_get::<_, bool>(0)? {
        let text = "permission denied: this role may not use the schema of the root";
        let error = io::Error::new(io::ErrorKind::PermissionDenied, text);
        return Err(StoreError::io("open", &FilePath::root())(error).into());
    }
    let rows = connection.query("SELECT version FROM root_version", &[])?;
    rows.first().map(|row| row.try_get(0)).transpose().map_err(Failure::from)
}

fn check_version(found: i32) -> Result<usize, StoreError> {
    match usize::try_from(found) {
        Ok(known) if found <= VERSION => Ok(known),
        _ => {
            let text = format!(
                "the root has version {found}, and this program knows {VERSION}; update it"
            );
            Err(unusable(text))
        }
    }
}

pub(crate) fn unusable(text: String) -> StoreError {
    StoreError::io("open", &FilePath::root())(io::Error::new(io::ErrorKind::Unsupported, text))
}
