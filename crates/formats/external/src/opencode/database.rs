//! The database of OpenCode.
//!
//! Since version 1.2 the tables `session`, `message` and `part` hold what the files held. Version 2 has `session_v2` and
//! `session_message`, and leaves the older tables as they were. A session is read from the tables in which it was
//! changed last; what the others have of it is set apart.

use std::sync::Arc;

use serde_json::Value;

use super::conversation::OpenCodeConversation;
use super::message::{message, record_info};
use crate::fetch::RecordFetcher;
use crate::record::{Parent, RecordSpan};
use crate::sqlite::ForeignDatabase;
use crate::survey::{SUPERSEDED, ScannedRecord, Survey, Surveyor};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::Store;
use everturn_value::outline::{number_at, text_at};
use everturn_value::tree::JsonTree;

/// The tables that a record comes from, as the length of its span.
const SESSION: u64 = 0;
const MESSAGE: u64 = 1;
const SESSION_V2: u64 = 2;
const SESSION_MESSAGE: u64 = 3;

pub(super) struct OpenCodeDatabase {
    database: ForeignDatabase,
    /// Whether it has the tables of version 1, and those of version 2.
    has_parts: bool,
    has_rows: bool,
    has_v2: bool,
}

/// Reads the rows of a database as records.
pub(super) struct OpenCodeRows(pub(super) OpenCodeDatabase);

impl RecordFetcher for OpenCodeRows {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        Ok(self.0.record(at.offset, at.length)?.into_expanded())
    }
}

/// The names of columns in the files and exports of the program.
fn renamed(column: &str) -> &str {
    match column {
        "project_id" => "projectID",
        "parent_id" => "parentID",
        "workspace_id" => "workspaceID",
        column => column,
    }
}

impl OpenCodeDatabase {
    pub(super) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<OpenCodeDatabase, SessionError> {
        let database = ForeignDatabase::open(store, file)?;
        let has_parts = database.has("session", &["id"])?
            && database.has("message", &["id", "session_id", "data"])?
            && database.has("part", &["id", "message_id", "data"])?;
        let has_rows = database.has("session_message", &["id", "session_id", "type", "data"])?;
        let has_v2 = has_rows && database.has("session_v2", &["id"])?;
        Ok(OpenCodeDatabase { database, has_parts, has_rows, has_v2 })
    }

    /// All sessions, by id. It is an error if the database has only tables that are not known.
    pub(super) fn sessions(&self) -> Result<Vec<SessionRef>, SessionError> {
        if !self.has_parts && !self.has_v2 {
            if self.database.tables()?.is_empty() {
                return Ok(Vec::new());
            }
            let what = format!(
                "{} has tables of a version that is not known; `opencode export` writes files that can be read",
                self.database.file()
            );
            return Err(SessionError::request(what));
        }
        let mut ids: Vec<String> = Vec::new();
        if self.has_parts {
            let query = "SELECT id FROM session UNION SELECT DISTINCT session_id FROM message";
            ids.extend(self.database.texts(query, [])?);
        }
        if self.has_v2 {
            let query =
                "SELECT id FROM session_v2 UNION SELECT DISTINCT session_id FROM session_message";
            ids.extend(self.database.texts(query, [])?);
        }
        ids.sort();
        ids.dedup();
        let place = |(number, id): (usize, String)| {
            let name = Name::parse(&id);
            let name = name.or_else(|_| Name::parse(&format!("session-{number}")))?;
            Ok(SessionRef { path: self.database.file().join(&name), id })
        };
        ids.into_iter().enumerate().map(place).collect()
    }

    /// The rows of a session's messages in one of the tables, in order.
    fn message_rows(&self, id: &str, table: u64) -> Result<Vec<u64>, SessionError> {
        let query = match table {
            MESSAGE if self.has_parts => {
                "SELECT rowid FROM message WHERE session_id = ?1 ORDER BY time_created, id"
            }
            SESSION_MESSAGE if self.has_rows => {
                "SELECT rowid FROM session_message WHERE session_id = ?1 ORDER BY seq, id"
            }
            _ => return Ok(Vec::new()),
        };
        self.database.rows(query, [id])
    }

    /// The row of a session in one of the tables.
    fn session_row(&self, id: &str, table: u64) -> Result<Option<u64>, SessionError> {
        match table {
            SESSION if self.has_parts => {
                self.database.row("SELECT rowid FROM session WHERE id = ?1", [id])
            }
            SESSION_V2 if self.has_v2 => {
                self.database.row("SELECT rowid FROM session_v2 WHERE id = ?1", [id])
            }
            _ => Ok(None),
        }
    }

    /// The record in a row of a table.
    fn record(&self, row: u64, table: u64) -> Result<JsonTree, SessionError> {
        match table {
            SESSION => self.session("SELECT * FROM session WHERE rowid = ?1", row),
            SESSION_V2 => self.session("SELECT * FROM session_v2 WHERE rowid = ?1", row),
            MESSAGE => self.message(row),
            _ => self.row("SELECT * FROM session_message WHERE rowid = ?1", row),
        }
    }

    /// The columns of a row. JSON in `data` is parsed; if it is not JSON, the row is damaged.
    fn members(&self, query: &str, row: u64) -> Result<Vec<(String, JsonTree)>, SessionError> {
        let mut members = Vec::new();
        for (name, value) in self.database.columns(query, row)? {
            let parsed = match &value {
                Value::String(text) if name == "data" => {
                    Some(JsonTree::parse(text.as_str()).map_err(|bad| {
                        let file = self.database.file();
                        SessionError::damaged(format!("{file}, row {row}: data is not JSON: {bad}"))
                    })?)
                }
                Value::String(text) if name == "revert" || name == "model" => {
                    JsonTree::parse(text.as_str()).ok()
                }
                _ => None,
            };
            let tree = parsed.map_or_else(|| JsonTree::from_value(&value), Ok);
            members.push((name, tree.unwrap_or_else(|_| JsonTree::null())));
        }
        Ok(members)
    }

    fn row(&self, query: &str, row: u64) -> Result<JsonTree, SessionError> {
        Ok(JsonTree::from_members(self.members(query, row)?))
    }

    /// A session in the form of the program's files.
    fn session(&self, query: &str, row: u64) -> Result<JsonTree, SessionError> {
        let (mut times, mut members) = (Vec::new(), Vec::new());
        for (name, tree) in self.members(query, row)? {
            match name.strip_prefix("time_") {
                Some(when) => times.push((when.to_owned(), tree)),
                None => members.push((renamed(&name).to_owned(), tree)),
            }
        }
        members.push(("time".to_owned(), JsonTree::from_members(times)));
        Ok(JsonTree::from_members(members))
    }

    /// A message with its parts, in the form of the program's exports.
    fn message(&self, row: u64) -> Result<JsonTree, SessionError> {
        let members = self.members("SELECT * FROM message WHERE rowid = ?1", row)?;
        let info = with_ids(&members, &[("id", "id"), ("session_id", "sessionID")]);
        let id = members.iter().find(|(name, _)| name == "id").map(|(_, id)| id.clone());
        let id = id.and_then(|id| everturn_value::outline::text_of(&id)).unwrap_or_default();
        let mut parts = Vec::new();
        let query = "SELECT rowid FROM part WHERE message_id = ?1 ORDER BY id";
        for row in self.database.rows(query, [id.as_str()])? {
            let members = self.members("SELECT * FROM part WHERE rowid = ?1", row)?;
            let ids = [("id", "id"), ("message_id", "messageID"), ("session_id", "sessionID")];
            parts.push(with_ids(&members, &ids));
        }
        Ok(message(info, &parts))
    }

    /// The tables from which a session is read, and the others: those of its row and of its messages.
    fn tables(&self, id: &str) -> Result<([u64; 2], [u64; 2]), SessionError> {
        let (old, new) = ([SESSION, MESSAGE], [SESSION_V2, SESSION_MESSAGE]);
        let updated = |table: u64| -> Result<Option<i64>, SessionError> {
            let row = self.session_row(id, table)?;
            let tree = row.map(|row| self.record(row, table)).transpose()?;
            Ok(tree.map(|tree| number_at(&tree, &["time", "updated"]).unwrap_or(0)))
        };
        let is_new = match (updated(SESSION)?, updated(SESSION_V2)?) {
            (Some(one), Some(two)) => two >= one,
            (None, Some(_)) => true,
            _ => self.message_rows(id, MESSAGE)?.is_empty(),
        };
        Ok(if is_new { (new, old) } else { (old, new) })
    }

    /// The first pass over a session.
    pub(super) fn survey(&self, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(self.database.file());
        let mut talk = OpenCodeConversation::default();
        let ([session, messages], [_, others]) = self.tables(&place.id)?;
        let known = [session, SESSION, SESSION_V2];
        let row = known.into_iter().find_map(|table| {
            let row = self.session_row(&place.id, table);
            row.map(|row| row.map(|row| (row, table))).transpose()
        });
        match row.transpose()? {
            Some((row, table)) => {
                let info = self.record(row, table)?;
                let at = RecordSpan { file: 0, offset: row, length: table };
                let seen = ScannedRecord { tree: &info, text: "", at, line: None };
                talk.begin(&mut surveyor, &seen, &info);
            }
            None => {
                let message = "the database has messages of a session that it does not list";
                let found = Finding::new(&place.path, FindingCode::OrphanPart, message.to_owned());
                surveyor.survey.findings.push(found);
            }
        }
        self.each_message(place, messages, &mut surveyor, |surveyor, seen| {
            let parts = seen.tree.len_at(&["parts"]).unwrap_or(0);
            surveyor.count_also(parts as u64);
            talk.keep(surveyor, seen);
        })?;
        self.each_message(place, others, &mut surveyor, |surveyor, seen| {
            let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
            surveyor.set_apart(number, SUPERSEDED);
        })?;
        Ok(talk.finish(surveyor))
    }

    /// Passes the messages of a table to `each`. A damaged row is a finding.
    fn each_message(
        &self,
        place: &SessionRef,
        table: u64,
        surveyor: &mut Surveyor,
        mut each: impl FnMut(&mut Surveyor, &ScannedRecord<'_>),
    ) -> Result<(), SessionError> {
        for row in self.message_rows(&place.id, table)? {
            match self.record(row, table) {
                Ok(tree) => {
                    let tree = tree.into_expanded();
                    let at = RecordSpan { file: 0, offset: row, length: table };
                    each(surveyor, &ScannedRecord { tree: &tree, text: "", at, line: None });
                }
                Err(SessionError::Damaged { what }) => {
                    surveyor.quarantine(Finding::new(&place.path, FindingCode::BadRecord, what));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The working directory of a session.
    pub(super) fn project(&self, id: &str) -> Result<Option<String>, SessionError> {
        for table in [SESSION_V2, SESSION] {
            if let Some(row) = self.session_row(id, table)? {
                return Ok(text_at(&self.record(row, table)?, &["directory"]));
            }
        }
        Ok(None)
    }
}

/// The object in the column `data`, with ids from other columns under the names that the program's files use.
fn with_ids(members: &[(String, JsonTree)], ids: &[(&str, &str)]) -> JsonTree {
    let column = |wanted: &str| members.iter().find(|(name, _)| name == wanted);
    let named = ids.iter().filter_map(|(column_name, name)| {
        column(column_name).map(|(_, tree)| ((*name).to_owned(), tree.clone()))
    });
    let data = column("data").map(|(_, data)| data.children()).unwrap_or_default();
    let is_new = |name: &str| !ids.iter().any(|(_, taken)| *taken == name);
    JsonTree::from_members(named.chain(data.into_iter().filter(|(name, _)| is_new(name))))
}
