//! The session index, for listing sessions without opening their logs. The logs are the truth.
//!
//! [`SessionIndex`] is the trait, [`SqliteIndex`] and [`MemoryIndex`] implement it, and [`IndexRow`] is the row of a
//! session.

mod sqlite;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::IndexError;
use super::log::LogCheckpoint;

pub use sqlite::SqliteIndex;

/// The key of Everturn's own data in the metadata of a row.
const OWN_KEY: &str = "everturn";

/// Everturn's own data about a session, in the metadata of its row.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct OwnMetadata<'a> {
    /// The creation time.
    #[serde(borrow)]
    pub(super) created: Option<Cow<'a, str>>,
    /// The parent of a branch.
    #[serde(borrow)]
    pub(super) parent: Option<Cow<'a, str>>,
    /// How far its log was counted.
    pub(super) log: Option<LogCheckpoint>,
}

/// The index row of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexRow {
    /// The session id.
    pub session_id: String,
    /// The time of the last save, as text.
    pub updated_at: String,
    /// The id of the last run.
    pub run_id: Option<String>,
    /// The number of model invocations.
    pub invoke_seq: Option<i64>,
    /// The version of the row; 1.
    pub schema_version: i64,
    /// Any other metadata of the program, as one JSON object.
    pub meta_json: Option<String>,
    /// The number of messages.
    pub message_count: Option<i64>,
    /// The last message of the user.
    pub last_user_message: Option<String>,
    /// The workspace of the session.
    pub workspace_root: Option<String>,
}

impl IndexRow {
    /// A row without any data.
    pub(super) fn new(id: &str, updated_at: String) -> IndexRow {
        IndexRow { session_id: id.to_owned(), updated_at, schema_version: 1, ..IndexRow::default() }
    }

    /// The metadata; `None` if it is not an object, so that it is left alone.
    fn meta(&self) -> Option<Map<String, Value>> {
        match &self.meta_json {
            None => Some(Map::new()),
            Some(text) => serde_json::from_str(text).ok(),
        }
    }

    /// Everturn's own data in the metadata.
    pub(super) fn own(&self) -> Option<OwnMetadata<'_>> {
        /// The other members, which may be long, are not parsed into values.
        #[derive(Deserialize)]
        struct RowMetadata<'a> {
            // The key is [`OWN_KEY`].
            #[serde(borrow)]
            everturn: Option<OwnMetadata<'a>>,
        }
        serde_json::from_str::<RowMetadata<'_>>(self.meta_json.as_deref()?).ok()?.everturn
    }

    /// The workspace: from the metadata, as the program determines it, or from the column of its own.
    pub(super) fn project(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct WorkspaceMetadata<'a> {
            #[serde(borrow)]
            codelia_workspace_root: Option<Cow<'a, str>>,
        }
        let meta = self.meta_json.as_deref().and_then(|meta| serde_json::from_str(meta).ok());
        let meta = meta.and_then(|meta: WorkspaceMetadata<'_>| meta.codelia_workspace_root);
        let root = meta.or_else(|| self.workspace_root.as_deref().map(Cow::Borrowed))?;
        Some(root.trim().to_owned()).filter(|root| !root.is_empty())
    }

    /// Sets a member of Everturn's own data in the metadata; the other metadata stays.
    pub(super) fn set_own(&mut self, key: &str, value: Value) {
        let Some(mut meta) = self.meta() else { return };
        let own = meta.entry(OWN_KEY).or_insert_with(|| Value::Object(Map::new()));
        if let Some(own) = own.as_object_mut() {
            own.insert(key.to_owned(), value);
        }
        self.meta_json = serde_json::to_string(&meta).ok();
    }
}

/// Computes the new row from the existing one; `None` removes it.
pub type RowChange<'a> = &'a mut dyn FnMut(Option<IndexRow>) -> Option<IndexRow>;

/// Rows by session. An implementation may lose the last changes in a crash, but never half of one.
pub trait SessionIndex: Send + Sync {
    /// All rows, in no particular order.
    fn rows(&self) -> Result<Vec<IndexRow>, IndexError>;

    /// The row of a session.
    fn row(&self, id: &str) -> Result<Option<IndexRow>, IndexError>;

    /// Changes the row of a session, atomically with respect to other writers.
    fn change(&self, id: &str, change: RowChange<'_>) -> Result<(), IndexError>;

    /// Overwrites the former contents of changed rows.
    fn vacuum(&self) -> Result<(), IndexError> {
        Ok(())
    }
}

/// An index in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    rows: Arc<Mutex<BTreeMap<String, IndexRow>>>,
}

impl MemoryIndex {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, IndexRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the current rows, for [`MemoryIndex::restore`].
    #[must_use]
    pub fn contents(&self) -> BTreeMap<String, IndexRow> {
        self.locked().clone()
    }

    /// Resets the rows to a former state, like a crash does.
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

    /// Checks that apply to every index.
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
