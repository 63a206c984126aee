//! A home: locates its sessions, combines them with the index, and opens them for reading.
//!
//! [`CodeliaHome`] is the home, [`Session`] one of its sessions, and `HomeSessions` the listing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::error::CodeliaError;
use super::history::SessionHistory;
use super::index::{IndexError, IndexRow, MemoryIndex, SessionIndex, SqliteIndex};
use super::legacy::LegacySession;
use super::log::{LogCheckpoint, MessageCount, MessageReader};
use super::paths::{DOCUMENT_END, HomePaths, LINEAGE_END, LOG_END, id_in, stamp};
use super::runs::RunLogs;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::error_chain;
use everturn_store::disk::{DirListing, FileKind};
use everturn_store::{Store, StoreError};

/// The home of Codelia in a store: with XDG directories, the state directory.
#[derive(Clone)]
pub struct CodeliaHome {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: HomePaths,
    /// The index to use in place of the database.
    given: Option<Arc<dyn SessionIndex>>,
}

/// A session, as far as it has been examined.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The path of its log, which may not exist.
    pub log: FilePath,
    /// Its index row.
    pub row: Option<IndexRow>,
    /// Whether it has a log.
    pub has_log: bool,
    /// Whether it exists in the old form.
    pub has_legacy: bool,
    /// Whether only the logs of its runs have messages of it.
    pub(super) is_unsaved: bool,
}

impl Session {
    /// Whether the index counts messages that no file holds.
    pub(super) fn lacks_log(&self) -> bool {
        let known = self.row.as_ref().and_then(|row| row.message_count);
        !self.has_log && !self.has_legacy && known.is_some_and(|count| count > 0)
    }

    pub(super) fn mark(&self) -> Option<LogCheckpoint> {
        self.row.as_ref()?.own()?.log
    }
}

/// The files of a session that were found in the directories.
#[derive(Default)]
struct FoundFiles {
    log: bool,
    legacy: bool,
}

/// The found files by session id, looked up once per index row.
type FoundFilesById = HashMap<SessionId, FoundFiles, foldhash::fast::RandomState>;

/// The sessions of a home.
pub(super) struct HomeSessions {
    /// Sessions in the order of the index, then the others by id.
    pub(super) sessions: Vec<Session>,
    /// Invalid names, and directories or an index that could not be read.
    pub(super) findings: Vec<Finding>,
}

impl CodeliaHome {
    /// The home at the root of a store, with the index in its database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::default(), given: None }
    }

    /// The home at the root of a store, with another index.
    #[must_use]
    pub fn with_index(store: Arc<dyn Store>, index: Arc<dyn SessionIndex>) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::default(), given: Some(index) }
    }

    /// The home in a directory of a store.
    #[must_use]
    pub(super) fn at(store: Arc<dyn Store>, base: FilePath) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::at(base), given: None }
    }

    /// The index, if it exists. Reading never creates one.
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
        let Some(path) = self.store.local_path(&file)? else { return Ok(None) };
        // Without a log, the database is complete, and SQLite need not create or touch the files beside it.
        let index = match self.has_database_log()? {
            false => SqliteIndex::open_immutable(&path)?,
            true => SqliteIndex::open_read_only(&path)?,
        };
        Ok(Some(Arc::new(index)))
    }

    /// Whether changes of the database are in a log beside it.
    fn has_database_log(&self) -> Result<bool, StoreError> {
        let [_, log, _] = self.files.database_files();
        for file in [log, self.files.database_journal()] {
            match self.store.stat(&file) {
                Ok(Some(stat)) if stat.len > 0 => return Ok(true),
                Ok(_) | Err(StoreError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Reads from the index; `None` if there is none. A log that appears meanwhile may have changed the database under
    /// a reader that did not look at it, so the read is repeated then.
    fn read_index<T>(
        &self,
        read: impl Fn(&dyn SessionIndex) -> Result<T, IndexError>,
    ) -> Result<Option<T>, IndexError> {
        let had_log = self.has_database_log().unwrap_or(true);
        let Some(index) = self.index()? else { return Ok(None) };
        let found = read(&*index);
        if had_log || !self.has_database_log()? {
            return found.map(Some);
        }
        match self.index()? {
            Some(index) => read(&*index).map(Some),
            None => Ok(None),
        }
    }

    /// Whether another process is writing to the index now.
    pub(super) fn has_locked_index(&self) -> bool {
        let file = self.files.database();
        let is_there = self.given.is_none() && matches!(self.store.stat(&file), Ok(Some(_)));
        let path = self.store.local_path(&file).ok().flatten().filter(|_| is_there);
        path.is_some_and(|path| SqliteIndex::is_locked(&path))
    }

    /// The index, created if it does not exist.
    pub(super) fn index_to_write(&self) -> Result<Arc<dyn SessionIndex>, IndexError> {
        if let Some(given) = &self.given {
            return Ok(Arc::clone(given));
        }
        Ok(match self.store.local_path(&self.files.database())? {
            Some(path) => Arc::new(SqliteIndex::open(&path)?),
            // A store without real files has no place for a database.
            None => Arc::new(MemoryIndex::default()),
        })
    }

    /// Sets the creation and change times in the index for a session converted from another one. As with every other
    /// writer, an unusable index is left as it is.
    pub fn set_times(
        &self,
        id: &SessionId,
        created: Option<Timestamp>,
        updated: Option<Timestamp>,
    ) {
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

    /// The index row of a session; an index that cannot be read has none and makes a finding.
    pub(super) fn row(&self, id: &SessionId, findings: &mut Vec<Finding>) -> Option<IndexRow> {
        let read = self.read_index(|index| index.row(id.as_str()));
        read.map(Option::flatten).unwrap_or_else(|error| {
            findings.push(self.unusable(&error));
            None
        })
    }

    /// The finding for an unusable index.
    pub(super) fn unusable(&self, error: &IndexError) -> Finding {
        Finding {
            file: self.files.database(),
            line: None,
            offset: None,
            code: FindingCode::BadIndex,
            message: format!("cannot be used; the logs are read instead: {}", error_chain(error)),
        }
    }

    /// Lists a directory; a missing one is empty, and an unreadable one makes a finding.
    fn listing(&self, dir: &FilePath, findings: &mut Vec<Finding>) -> DirListing {
        let mut note = |code: FindingCode, message: String| {
            findings.push(Finding { file: dir.clone(), line: None, offset: None, code, message });
        };
        match self.store.list(dir) {
            Ok(listing) => {
                for (name, reason) in &listing.refused {
                    note(
                        FindingCode::BadName,
                        format!("contains {name:?}, which is ignored: {reason}"),
                    );
                }
                listing
            }
            Err(StoreError::Missing { .. }) => DirListing::default(),
            Err(error) => {
                note(FindingCode::Unreadable, format!("cannot be read: {}", error_chain(&error)));
                DirListing::default()
            }
        }
    }

    /// Calls back for each session with a file in a directory whose name has this ending.
    fn scan_dir(
        &self,
        dir: &FilePath,
        end: &str,
        findings: &mut Vec<Finding>,
        mut note: impl FnMut(SessionId),
    ) {
        for entry in self.listing(dir, findings).entries {
            if entry.kind != FileKind::File || entry.name.as_str().ends_with(LINEAGE_END) {
                continue;
            }
            match id_in(&entry.name, end) {
                Some(Ok(id)) => note(id),
                Some(Err(reason)) => findings.push(Finding {
                    file: dir.join(&entry.name),
                    line: None,
                    offset: None,
                    code: FindingCode::BadName,
                    message: format!("is ignored: {reason}"),
                }),
                None => {}
            }
        }
    }

    /// All sessions, from the names in the directories and the rows of the index. No log is opened.
    pub(super) fn sessions(&self) -> HomeSessions {
        let (mut findings, mut found) = (Vec::new(), FoundFilesById::default());
        self.scan_dir(&self.files.messages(), LOG_END, &mut findings, |id| {
            found.entry(id).or_default().log = true;
        });
        self.scan_dir(&self.files.legacy_dir(), DOCUMENT_END, &mut findings, |id| {
            found.entry(id).or_default().legacy = true;
        });
        let rows = self.read_index(|index| index.rows()).map(Option::unwrap_or_default);
        let rows = rows.unwrap_or_else(|error| {
            findings.push(self.unusable(&error));
            Vec::new()
        });
        let mut sessions = Vec::with_capacity(rows.len().max(found.len()));
        let mut add = |id: SessionId, there: FoundFiles, row: Option<IndexRow>| {
            let Ok(log) = self.files.log(&id) else { return };
            let FoundFiles { log: has_log, legacy: has_legacy } = there;
            sessions.push(Session { id, log, row, has_log, has_legacy, is_unsaved: false });
        };
        for row in rows {
            let known = found.remove_entry(row.session_id.as_str());
            let known = known.map_or_else(
                || SessionId::parse(&row.session_id).map(|id| (id, FoundFiles::default())),
                Ok,
            );
            match known {
                Ok((id, there)) if !there.log && !there.legacy && self.is_trashed(&id) => {}
                Ok((id, there)) => add(id, there, Some(row)),
                Err(reason) => findings.push(Finding {
                    file: self.files.database(),
                    line: None,
                    offset: None,
                    code: FindingCode::BadName,
                    message: format!("has a row {:?}, which is ignored: {reason}", row.session_id),
                }),
            }
        }
        let mut others: Vec<(SessionId, FoundFiles)> = found.into_iter().collect();
        others.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        others.into_iter().for_each(|(id, there)| add(id, there, None));
        // A run that was killed before its session was saved has the only copy of its messages.
        let known: HashSet<&SessionId> = sessions.iter().map(|session| &session.id).collect();
        match RunLogs::new(self).unsaved_sessions(|id| known.contains(id)) {
            Ok(unsaved) => {
                let unsaved = unsaved.into_iter().filter(|id| !self.is_trashed(id));
                sessions.extend(unsaved.filter_map(|id| self.unsaved(id).ok()));
            }
            Err(error) => findings.push(super::format::unreadable(&self.files.sessions(), &error)),
        }
        HomeSessions { sessions, findings }
    }

    /// Finds one session.
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
            let unsaved = RunLogs::new(self).unsaved_sessions(|other| other != id)?;
            if unsaved.contains(id) && !self.is_trashed(id) {
                return self.unsaved(id.clone());
            }
            return Err(CodeliaError::NoSession { id: id.clone() });
        }
        Ok(Session { id: id.clone(), log, row, has_log, has_legacy, is_unsaved: false })
    }

    fn unsaved(&self, id: SessionId) -> Result<Session, CodeliaError> {
        let log = self.files.log(&id)?;
        Ok(Session { id, log, row: None, has_log: false, has_legacy: false, is_unsaved: true })
    }

    /// The messages of the log of a session.
    pub fn messages(&self, id: &SessionId) -> Result<MessageReader, CodeliaError> {
        MessageReader::open(&self.store, &self.files.log(id)?, 0, 0)
    }

    /// The number of messages of a session, counted from the last checkpoint.
    pub(super) fn count(&self, session: &Session) -> Result<MessageCount, CodeliaError> {
        if session.is_unsaved {
            let messages = SessionHistory::read_runs(self, &session.id)?.messages.len() as u64;
            return Ok(MessageCount { messages, ..MessageCount::default() });
        }
        if session.has_log || !session.has_legacy {
            return MessageCount::count(&self.store, &session.log, session.mark());
        }
        let legacy = LegacySession::read(self, &session.id)?;
        Ok(MessageCount {
            messages: legacy.messages.len() as u64,
            findings: legacy.findings,
            ..MessageCount::default()
        })
    }

    /// The parent of a branch, from the file beside its log.
    pub(super) fn parent(&self, id: &SessionId) -> Result<Option<String>, CodeliaError> {
        let file = self.files.lineage(id)?;
        let Some(bytes) = everturn_store::read_optional(&self.store, &file)? else {
            return Ok(None);
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| CodeliaError::damaged(&file, error.to_string()))?;
        let parent = value.get("lineage").and_then(|lineage| lineage.get("parent"));
        Ok(parent.and_then(Value::as_str).map(str::to_owned))
    }
}
