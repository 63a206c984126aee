//! The index of sessions: what a list shows without opening the logs. The logs are the truth.

mod sqlite;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::log::LogCheckpoint;
use everturn_store::StoreError;

pub use sqlite::SqliteIndex;

/// The key below which a row's metadata hold what Everturn adds.
const OWN_KEY: &str = "everturn";

/// What Everturn keeps about a session in the metadata of its row.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct OwnMetadata<'a> {
    /// When it was made.
    #[serde(borrow)]
    pub(super) created: Option<Cow<'a, str>>,
    /// The session of which it is a branch.
    #[serde(borrow)]
    pub(super) parent: Option<Cow<'a, str>>,
    /// How far its log was counted.
    pub(super) log: Option<LogCheckpoint>,
}

/// What the index says about a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexRow {
    /// The session.
    pub session_id: String,
    /// When it was last saved, as text.
    pub updated_at: String,
    /// The last run.
    pub run_id: Option<String>,
    /// How often a model was asked.
    pub invoke_seq: Option<i64>,
    /// The version of the row; 1.
    pub schema_version: i64,
    /// Whatever else the program keeps about the session, as one JSON object.
    pub meta_json: Option<String>,
    /// How many messages it has.
    pub message_count: Option<i64>,
    /// What the user said last.
    pub last_user_message: Option<String>,
    /// The workspace in which it was held.
    pub workspace_root: Option<String>,
}

impl IndexRow {
    /// A row about which nothing is known yet.
    pub(super) fn new(id: &str, updated_at: String) -> IndexRow {
        IndexRow { session_id: id.to_owned(), updated_at, schema_version: 1, ..IndexRow::default() }
    }

    /// The metadata; what is no object is left alone.
    fn meta(&self) -> Option<Map<String, Value>> {
        match &self.meta_json {
            None => Some(Map::new()),
            Some(text) => serde_json::from_str(text).ok(),
        }
    }

    /// What Everturn keeps in the metadata.
    pub(super) fn own(&self) -> Option<OwnMetadata<'_>> {
        /// The rest, which may be long, is not put together.
        #[derive(Deserialize)]
        struct RowMetadata<'a> {
            // As [`OWN_KEY`] says.
            #[serde(borrow)]
            everturn: Option<OwnMetadata<'a>>,
        }
        serde_json::from_str::<RowMetadata<'_>>(self.meta_json.as_deref()?).ok()?.everturn
    }

    /// Puts something of Everturn's into the metadata, beside what is there.
    pub(super) fn set_own(&mut self, key: &str, value: Value) {
        let Some(mut meta) = self.meta() else { return };
        let own = meta.entry(OWN_KEY).or_insert_with(|| Value::Object(Map::new()));
        if let Some(own) = own.as_object_mut() {
            own.insert(key.to_owned(), value);
        }
        self.meta_json = serde_json::to_string(&meta).ok();
    }
}

/// Why the index cannot be used. Sessions can be read and written all the same.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// SQLite said no.
    #[error("cannot {doing} the index of sessions")]
    Database {
        /// What was tried.
        doing: &'static str,
        /// What SQLite said.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// It is no database, or a damaged one.
    #[error("the index of sessions is damaged")]
    Damaged {
        /// What SQLite said.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// It was made by a later version of the program.
    #[error("the index of sessions has version {version}, which is not known")]
    Newer {
        /// The version that it has.
        version: i64,
    },
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IndexError {
    /// Whether more room on the disk may help. SQLite calls a shared memory file that cannot grow an I/O error, and
    /// does not say why one cannot be made.
    pub(super) fn may_be_full(&self) -> bool {
        let IndexError::Database { source, .. } = self else { return false };
        let code = source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
        matches!(
            code,
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
        )
    }
}

/// Makes a row of the one that is there; none removes it.
pub type RowChange<'a> = &'a mut dyn FnMut(Option<IndexRow>) -> Option<IndexRow>;

/// Rows by session. Whoever implements it may lose the last changes in a crash, but never half of one.
pub trait SessionIndex: Send + Sync {
    /// All rows, in no particular order.
    fn rows(&self) -> Result<Vec<IndexRow>, IndexError>;

    /// The row of a session.
    fn row(&self, id: &str) -> Result<Option<IndexRow>, IndexError>;

    /// Changes the row of a session, while nobody else does.
    fn change(&self, id: &str, change: RowChange<'_>) -> Result<(), IndexError>;

    /// Overwrites what rows said before they were changed.
    fn vacuum(&self) -> Result<(), IndexError> {
        Ok(())
    }
}

/// An index that is not kept.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    rows: Arc<Mutex<BTreeMap<String, IndexRow>>>,
}

impl MemoryIndex {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, IndexRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows as they are now, to be put back later.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<String, IndexRow> {
        self.locked().clone()
    }

    /// Makes the rows what they were, as a crash does.
    pub fn restore(&self, rows: BTreeMap<String, IndexRow>) {
        *self.locked() = rows;
    }
}

impl SessionIndex for MemoryIndex {
    fn rows(&self) -> Result<Vec<IndexRow>, IndexError> {
        Ok(self.locked().values().cloned().collect())
    }

    fn row(&self, id: &str) -> Result<Option<IndexRow>, IndexError> {
        Ok(self.locked().get(id).cloned())
    }

    fn change(&self, id: &str, change: RowChange<'_>) -> Result<(), IndexError> {
        let mut rows = self.locked();
        match change(rows.get(id).cloned()) {
            Some(row) => drop(rows.insert(id.to_owned(), row)),
            None => drop(rows.remove(id)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every index does.
    fn suite(index: &dyn SessionIndex) {
        assert_eq!(index.rows().unwrap(), []);
        assert_eq!(index.row("one").unwrap(), None);
        for (id, time) in [("one", "2026-01-01"), ("two", "2026-01-03"), ("three", "2026-01-02")] {
            index
                .change(id, &mut |before| {
                    assert_eq!(before, None);
                    Some(IndexRow::new(id, time.to_owned()))
                })
                .unwrap();
        }
        let ids = |rows: Vec<IndexRow>| {
            let mut ids: Vec<String> = rows.into_iter().map(|row| row.session_id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(index.rows().unwrap()), ["one", "three", "two"]);
        index
            .change("one", &mut |before| {
                let mut row = before.unwrap();
                row.message_count = Some(7);
                row.last_user_message = Some("né\0\n".to_owned());
                row.meta_json = Some(r#"{"codelia_todos":[1]}"#.to_owned());
                row.set_own("parent", "zero".into());
                Some(row)
            })
            .unwrap();
        let row = index.row("one").unwrap().unwrap();
        assert_eq!(
            (row.message_count, row.own().unwrap().parent),
            (Some(7), Some(Cow::Borrowed("zero")))
        );
        assert_eq!(row.meta_json.unwrap(), r#"{"codelia_todos":[1],"everturn":{"parent":"zero"}}"#);
        assert_eq!(row.last_user_message.unwrap(), "né\0\n");
        index.change("two", &mut |_| None).unwrap();
        assert_eq!(ids(index.rows().unwrap()), ["one", "three"]);
    }

    #[test]
    fn rows_are_changed_and_kept_in_memory() {
        suite(&MemoryIndex::default());
    }

    #[test]
    fn rows_are_changed_and_kept_in_sqlite() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.db");
        suite(&SqliteIndex::open(&file).unwrap());
        let rows = SqliteIndex::open_read_only(&file).unwrap().rows().unwrap();
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn metadata_that_are_no_object_are_left_alone() {
        let mut row = IndexRow::new("one", String::new());
        row.meta_json = Some("[1".to_owned());
        row.set_own("bytes", 1.into());
        assert_eq!(row.meta_json.as_deref(), Some("[1"));
        assert_eq!(row.own(), None);
    }
}
