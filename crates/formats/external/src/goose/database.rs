//! The sessions and messages in the database of goose.

use std::sync::Arc;

use serde_json::Value;

use crate::sqlite::ForeignDatabase;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::Store;
use everturn_value::tree::JsonTree;

/// Whether the first bytes of a database already contain the tables of goose.
pub(super) fn shows_tables(head: &[u8]) -> bool {
    let has = |word: &[u8]| head.windows(word.len()).any(|found| found == word);
    has(b"content_json") && has(b"working_dir")
}

pub(super) struct GooseDatabase(ForeignDatabase);

impl GooseDatabase {
    pub(super) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<GooseDatabase, SessionError> {
        Ok(GooseDatabase(ForeignDatabase::open(store, file)?))
    }

    /// Whether it has the tables in which goose keeps its sessions.
    pub(super) fn is_ours(&self) -> Result<bool, SessionError> {
        Ok(self.0.has("sessions", &["id", "working_dir"])?
            && self.0.has("messages", &["session_id", "content_json"])?)
    }

    /// Whether it has no tables at all.
    pub(super) fn is_new(&self) -> Result<bool, SessionError> {
        Ok(self.0.tables()?.is_empty())
    }

    /// The ids of all sessions, including those that only occur in messages.
    pub(super) fn ids(&self) -> Result<Vec<String>, SessionError> {
        let query =
            "SELECT id FROM sessions UNION SELECT DISTINCT session_id FROM messages ORDER BY 1";
        self.0.texts(query, [])
    }

    /// The row number of a session.
    pub(super) fn session_row(&self, id: &str) -> Result<Option<u64>, SessionError> {
        self.0.row("SELECT rowid FROM sessions WHERE id = ?1", [id])
    }

    /// The row numbers of a session's messages, in order.
    pub(super) fn message_rows(&self, id: &str) -> Result<Vec<u64>, SessionError> {
        // Some versions store seconds, some milliseconds, and a session may have been written by both.
        let query = "SELECT rowid FROM messages WHERE session_id = ?1 ORDER BY \
                     CASE WHEN created_timestamp > 10000000000 THEN created_timestamp \
                     ELSE created_timestamp * 1000 END, id";
        self.0.rows(query, [id])
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
        let mut members: Vec<(String, JsonTree)> = Vec::new();
        for (name, value) in self.0.columns(query, row)? {
            let tree = match (&value, name.strip_suffix("_json")) {
                (Value::String(text), Some(_)) => {
                    JsonTree::parse(text.as_str()).map_err(|bad| {
                        let file = self.0.file();
                        let what = format!("{file}, row {row}: {name} is not JSON: {bad}");
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
