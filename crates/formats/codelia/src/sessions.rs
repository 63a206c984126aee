//! Locates the sessions of a home and combines them with the index.
//!
//! [`Session`] is one of its sessions, and `HomeSessions` the listing.

use std::collections::{HashMap, HashSet};

use super::error::{CodeliaError, unreadable};
use super::history::SessionHistory;
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::legacy::LegacySession;
use super::log::{LogCheckpoint, MessageCount};
use super::paths::{DOCUMENT_END, HomePaths, LINEAGE_END, LOG_END, id_in};
use super::runs::RunLogs;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::repair::original_path;
use everturn_session::trash::list_trash_names;
use everturn_store::StoreError;
use everturn_store::disk::FileKind;

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
                Some(Err(reason)) => findings.push(Finding::new(
                    &dir.join(&entry.name),
                    FindingCode::BadName,
                    format!("is ignored: {reason}"),
                )),
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
                Err(reason) => findings.push(Finding::new(
                    &self.files.database(),
                    FindingCode::BadName,
                    format!("has a row {:?}, which is ignored: {reason}", row.session_id),
                )),
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
            Err(error) => findings.push(unreadable(&self.files.sessions(), &error)),
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

    /// Whether the trash holds the log of a session of which only a row is left.
    pub(super) fn is_trashed(&self, id: &SessionId) -> bool {
        let names = list_trash_names(&self.store).unwrap_or_default();
        names.iter().filter(|name| name.id == *id).any(|name| {
            let there = |home: &FilePath| {
                let at = name.trash_path().ok().map(|place| original_path(&place, home));
                at.is_some_and(|at| self.store.stat(&at).is_ok_and(|stat| stat.is_some()))
            };
            candidate_paths(id).is_ok_and(|homes| homes.iter().any(there))
        })
    }
}

/// The possible paths of a session: its log, or the document that it has instead.
pub(super) fn candidate_paths(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    let files = HomePaths::default();
    Ok(vec![files.log(id)?, files.legacy(id)?])
}
