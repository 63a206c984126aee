//! A home: where its sessions are, what the index says about them, and how they are opened for reading.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::error::CodeliaError;
use super::index::{IndexError, MemoryIndex, Row, SessionIndex, SqliteIndex};
use super::legacy::Legacy;
use super::log::{Mark, Messages, Tally};
use super::names::{DOCUMENT_END, Files, LINEAGE_END, LOG_END, id_in, stamp};
use everturn_json::finding::{Code, Finding};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::layout::chain;
use everturn_store::disk::{Kind, Listing};
use everturn_store::{Store, StoreError};

/// The home of Codelia in a store: in the XDG arrangement, the state directory.
#[derive(Clone)]
pub struct Home {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: Files,
    /// The index to use in place of the database.
    given: Option<Arc<dyn SessionIndex>>,
}

/// A session, as far as it was looked at.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its log, whether there is one or not.
    pub log: FilePath,
    /// What the index says about it.
    pub row: Option<Row>,
    /// Whether it has a log.
    pub has_log: bool,
    /// Whether it is there in the old form.
    pub has_legacy: bool,
}

impl Session {
    /// Whether the index knows messages of it that are nowhere.
    pub(super) fn lacks_log(&self) -> bool {
        let known = self.row.as_ref().and_then(|row| row.message_count);
        !self.has_log && !self.has_legacy && known.is_some_and(|count| count > 0)
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        self.row.as_ref()?.own()?.log
    }
}

/// What there is of a session in the directories.
#[derive(Default)]
struct Found {
    log: bool,
    legacy: bool,
}

/// What was found, looked up once for each row of the index.
type FoundById = HashMap<SessionId, Found, foldhash::fast::RandomState>;

/// The sessions of a home.
pub(super) struct Sessions {
    /// Those that the index knows in its order, the others after them by their ids.
    pub(super) sessions: Vec<Session>,
    /// Names that were refused, directories and an index that could not be read.
    pub(super) findings: Vec<Finding>,
}

impl Home {
    /// The home at the root of a store, with the index in its database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Home {
        Home { store, files: Files::default(), given: None }
    }

    /// The home at the root of a store, with another index.
    #[must_use]
    pub fn with_index(store: Arc<dyn Store>, index: Arc<dyn SessionIndex>) -> Home {
        Home { store, files: Files::default(), given: Some(index) }
    }

    /// The home in a directory of a store.
    #[must_use]
    pub(super) fn at(store: Arc<dyn Store>, base: FilePath) -> Home {
        Home { store, files: Files::at(base), given: None }
    }

    /// The index, if there is one. Nothing is made for whoever only looks.
    pub(super) fn index(&self) -> Result<Option<Arc<dyn SessionIndex>>, IndexError> {
        if let Some(given) = &self.given {
            return Ok(Some(Arc::clone(given)));
        }
        let file = self.files.database();
        match self.store.stat(&file) {
            Ok(None) | Err(StoreError::Missing { .. }) => return Ok(None),
            Ok(Some(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(match self.store.local_path(&file)? {
            Some(path) => Some(Arc::new(SqliteIndex::open_read_only(&path)?)),
            None => None,
        })
    }

    /// The index, which is made if there is none.
    pub(super) fn index_to_write(&self) -> Result<Arc<dyn SessionIndex>, IndexError> {
        if let Some(given) = &self.given {
            return Ok(Arc::clone(given));
        }
        Ok(match self.store.local_path(&self.files.database())? {
            Some(path) => Arc::new(SqliteIndex::open(&path)?),
            // Such a store has no place for a database.
            None => Arc::new(MemoryIndex::default()),
        })
    }

    /// Tells the index when a session was made, and last changed, that was made of one from elsewhere. An index that
    /// cannot be used stays as it is, as with every other writer.
    pub fn date(&self, id: &SessionId, created: Option<Timestamp>, updated: Option<Timestamp>) {
        let Ok(index) = self.index_to_write() else { return };
        let dated = index.change(id.as_str(), &mut |row| {
            let mut row = row?;
            if let Some(created) = created {
                row.set_own("created", stamp(created).into());
            }
            if let Some(updated) = updated {
                row.updated_at = stamp(updated);
            }
            Some(row)
        });
        dated.ok();
    }

    /// What the index says about a session; an index that cannot be read says nothing, and that is noted.
    pub(super) fn row(&self, id: &SessionId, findings: &mut Vec<Finding>) -> Option<Row> {
        let read = || match self.index()? {
            Some(index) => index.row(id.as_str()),
            None => Ok(None),
        };
        read().unwrap_or_else(|error| {
            findings.push(self.unusable(&error));
            None
        })
    }

    /// The finding for an index that cannot be used.
    pub(super) fn unusable(&self, error: &IndexError) -> Finding {
        Finding {
            file: self.files.database(),
            line: None,
            offset: None,
            code: Code::BadIndex,
            message: format!("cannot be used, the logs are read instead: {}", chain(error)),
        }
    }

    /// What a directory holds; one that is missing holds nothing, and one that cannot be read is noted.
    fn listing(&self, dir: &FilePath, findings: &mut Vec<Finding>) -> Listing {
        let mut note = |code: Code, message: String| {
            findings.push(Finding { file: dir.clone(), line: None, offset: None, code, message });
        };
        match self.store.list(dir) {
            Ok(listing) => {
                for (name, reason) in &listing.refused {
                    note(Code::BadName, format!("holds {name:?}, which is left alone: {reason}"));
                }
                listing
            }
            Err(StoreError::Missing { .. }) => Listing::default(),
            Err(error) => {
                note(Code::Unreadable, format!("cannot be read: {}", chain(&error)));
                Listing::default()
            }
        }
    }

    /// Notes the sessions that have a file in a directory that ends like this.
    fn look_through(
        &self,
        dir: &FilePath,
        end: &str,
        findings: &mut Vec<Finding>,
        mut note: impl FnMut(SessionId),
    ) {
        for entry in self.listing(dir, findings).entries {
            if entry.kind != Kind::File || entry.name.as_str().ends_with(LINEAGE_END) {
                continue;
            }
            match id_in(&entry.name, end) {
                Some(Ok(id)) => note(id),
                Some(Err(reason)) => findings.push(Finding {
                    file: dir.join(&entry.name),
                    line: None,
                    offset: None,
                    code: Code::BadName,
                    message: format!("is left alone: {reason}"),
                }),
                None => {}
            }
        }
    }

    /// All sessions, by the names in the directories and the rows of the index. No log is opened.
    pub(super) fn sessions(&self) -> Sessions {
        let (mut findings, mut found) = (Vec::new(), FoundById::default());
        self.look_through(&self.files.messages(), LOG_END, &mut findings, |id| {
            found.entry(id).or_default().log = true;
        });
        self.look_through(&self.files.legacy_dir(), DOCUMENT_END, &mut findings, |id| {
            found.entry(id).or_default().legacy = true;
        });
        let rows = || match self.index()? {
            Some(index) => index.rows(),
            None => Ok(Vec::new()),
        };
        let rows = rows().unwrap_or_else(|error| {
            findings.push(self.unusable(&error));
            Vec::new()
        });
        let mut sessions = Vec::with_capacity(rows.len().max(found.len()));
        let mut add = |id: SessionId, there: Found, row: Option<Row>| {
            let Ok(log) = self.files.log(&id) else { return };
            let Found { log: has_log, legacy: has_legacy } = there;
            sessions.push(Session { id, log, row, has_log, has_legacy });
        };
        for row in rows {
            let known = found.remove_entry(row.session_id.as_str());
            let known = known.map_or_else(
                || SessionId::parse(&row.session_id).map(|id| (id, Found::default())),
                Ok,
            );
            match known {
                Ok((id, there)) if !there.log && !there.legacy && self.is_trashed(&id) => {}
                Ok((id, there)) => add(id, there, Some(row)),
                Err(reason) => findings.push(Finding {
                    file: self.files.database(),
                    line: None,
                    offset: None,
                    code: Code::BadName,
                    message: format!(
                        "has a row {:?}, which is left alone: {reason}",
                        row.session_id
                    ),
                }),
            }
        }
        let mut others: Vec<(SessionId, Found)> = found.into_iter().collect();
        others.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        others.into_iter().for_each(|(id, there)| add(id, there, None));
        Sessions { sessions, findings }
    }

    /// Looks for one session.
    pub(super) fn find(
        &self,
        id: &SessionId,
        findings: &mut Vec<Finding>,
    ) -> Result<Session, CodeliaError> {
        let log = self.files.log(id)?;
        let is_there = |file: &FilePath| match self.store.stat(file) {
            Ok(stat) => Ok(stat.is_some()),
            Err(StoreError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let (has_log, has_legacy) = (is_there(&log)?, is_there(&self.files.legacy(id)?)?);
        let row = self.row(id, findings);
        if !has_log && !has_legacy && (row.is_none() || self.is_trashed(id)) {
            return Err(CodeliaError::NoSession { id: id.clone() });
        }
        Ok(Session { id: id.clone(), log, row, has_log, has_legacy })
    }

    /// The messages of a session, whatever form it has.
    pub fn messages(&self, id: &SessionId) -> Result<Messages, CodeliaError> {
        Messages::open(&self.store, &self.files.log(id)?, 0, 0)
    }

    /// How many messages a session has, counted as far as need be.
    pub(super) fn count(&self, session: &Session) -> Result<Tally, CodeliaError> {
        if session.has_log || !session.has_legacy {
            return Tally::take(&self.store, &session.log, session.mark());
        }
        let legacy = Legacy::read(self, &session.id)?;
        Ok(Tally {
            messages: legacy.messages.len() as u64,
            findings: legacy.findings,
            ..Tally::default()
        })
    }

    /// Where a branch comes from, as the file beside its log says.
    pub(super) fn parent(&self, id: &SessionId) -> Result<Option<String>, CodeliaError> {
        let file = self.files.lineage(id)?;
        let Some(bytes) = everturn_store::read_if_there(&self.store, &file)? else {
            return Ok(None);
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| CodeliaError::damaged(&file, error.to_string()))?;
        let parent = value.get("lineage").and_then(|lineage| lineage.get("parent"));
        Ok(parent.and_then(Value::as_str).map(str::to_owned))
    }
}
