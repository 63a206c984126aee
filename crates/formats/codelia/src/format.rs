//! Sessions of Codelia in the common model: a turn is a message.

mod editor;
mod keys;
mod reader;

pub use reader::FULL_HISTORY;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use super::branch::{self, CodeliaFork};
use super::error::CodeliaError;
use super::history::SessionHistory;
use super::home::CodeliaHome;
use super::index::IndexRow;
use super::legacy::last_user_message;
use super::log::LogCheckpoint;
use super::paths::{HomePaths, UNKNOWN_TIME};
use super::repair;
use super::runs::RunLogs;
use super::session_files;
use super::sessions::Session;
use super::writer::{CodeliaWriter, last_user_message_in};
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{
    BulkListing, Capabilities, EditableFormat, Feature, ListedSummary, RepairMode, SessionEditor,
    SessionError, SessionFormat, SessionIndex, SessionReader,
};
use everturn_session::model::{
    Dependencies, ForkOptions, ForkOutcome, NewSession, SessionListing, SessionRef, SessionSummary,
};
use everturn_session::repair::RepairReport;
use everturn_session::session_files::SessionFiles;
use everturn_store::Store;
use everturn_value::tree::{JsonTree, ValueKind};

/// The format of Codelia's sessions.
#[derive(Debug, Clone, Copy)]
pub struct CodeliaFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &CodeliaFormat;

/// The name of the format on the command line.
pub(super) const NAME: &str = "codelia";

/// The maximum length of a title, in characters.
const TITLE_LENGTH: usize = 60;

fn home(store: &Arc<dyn Store>) -> CodeliaHome {
    CodeliaHome::new(Arc::clone(store))
}

impl CodeliaHome {
    /// The session ref: the path of its log, or of the document that it has instead.
    fn place(&self, session: &Session) -> SessionRef {
        let only_legacy = session.has_legacy && !session.has_log;
        let legacy = only_legacy.then(|| self.files.legacy(&session.id).ok()).flatten();
        let path = legacy.unwrap_or_else(|| session.log.clone());
        SessionRef { id: session.id.to_string(), path }
    }

    /// The summary of a session, from its index row as far as that is up to date.
    /// Takes the title and the time from the log, in a store that has no place for the index.
    fn summarise_without_index(
        &self,
        session: &Session,
        summary: &mut SessionSummary,
    ) -> Result<(), CodeliaError> {
        let modified = self.store.stat(&session.log)?.and_then(|stat| stat.modified_since_epoch());
        let (Some(modified), None) = (modified, self.store.local_path(&self.files.database())?)
        else {
            return Ok(());
        };
        let seconds = i64::try_from(modified.as_secs()).unwrap_or_default();
        let nanos = i32::try_from(modified.subsec_nanos()).unwrap_or_default();
        summary.updated = Timestamp::new(seconds, nanos).ok();
        if let Some(found) = last_user_message_in(self, &session.log)?.as_deref().and_then(title) {
            summary.title = found;
        }
        Ok(())
    }

    fn summary(&self, session: &Session) -> Result<SessionSummary, CodeliaError> {
        let row = session.row.as_ref();
        let said = row.and_then(|row| row.last_user_message.as_deref()).unwrap_or_default();
        let own = row.and_then(IndexRow::own).unwrap_or_default();
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let mut summary = SessionSummary {
            session: self.place(session),
            layout: NAME,
            title: title(said).unwrap_or_else(|| session.id.to_string()),
            created: own.created.as_deref().and_then(time),
            updated: row
                .filter(|row| row.updated_at != UNKNOWN_TIME)
                .and_then(|row| time(&row.updated_at)),
            status: "active".to_owned(),
            turns: row.and_then(|row| u64::try_from(row.message_count?).ok()),
            parent: own.parent.map(Cow::into_owned),
            findings: Vec::new(),
        };
        if row.is_none() && session.has_log {
            self.summarise_without_index(session, &mut summary)?;
        }
        if !self.is_known(session, own.log)? {
            let tally = self.count(session)?;
            summary.turns = Some(tally.messages);
            summary.findings.extend(tally.findings);
            if summary.parent.is_none() {
                summary.parent = self.parent(&session.id)?;
            }
        }
        if session.lacks_log() {
            summary.turns = Some(0);
            let message = "is missing, but the index lists messages of it".to_owned();
            summary.findings.push(Finding::new(&session.log, FindingCode::MissingFile, message));
        }
        if session.is_unsaved {
            let history = SessionHistory::read_runs(self, &session.id)?;
            let messages: Vec<JsonTree> =
                history.messages.into_iter().map(|one| one.message).collect();
            let said = last_user_message(&messages);
            summary.title = said.as_deref().and_then(title).unwrap_or(summary.title);
            (summary.created, summary.updated) = (history.started, history.updated);
        }
        if row.is_none() && session.has_legacy && !session.has_log {
            let legacy = super::legacy::LegacySession::read(self, &session.id)?.row;
            summary.updated = time(&legacy.updated_at);
            summary.title =
                legacy.last_user_message.as_deref().and_then(title).unwrap_or(summary.title);
        }
        Ok(summary)
    }

    /// Whether the row of a session can be trusted without opening its log. Rows written by Everturn record the length
    /// of the log; other rows do not.
    fn is_known(
        &self,
        session: &Session,
        mark: Option<LogCheckpoint>,
    ) -> Result<bool, CodeliaError> {
        let Some(row) = &session.row else { return Ok(false) };
        if !session.has_log {
            return Ok(!session.has_legacy);
        }
        match mark {
            Some(mark) if row.message_count == i64::try_from(mark.messages).ok() => {
                let stat = self.store.stat(&session.log)?;
                Ok(stat.is_some_and(|stat| stat.len == mark.bytes))
            }
            // The program has saved it since, and its count is newer than the checkpoint.
            _ => Ok(row.message_count.is_some()),
        }
    }
}

/// The start of a text, on one line.
fn title(text: &str) -> Option<String> {
    let (mut start, mut room) = (String::new(), TITLE_LENGTH);
    for word in text.split_whitespace() {
        let space = if start.is_empty() { "" } else { " " };
        for letter in space.chars().chain(word.chars()) {
            if room == 0 {
                start.push('…');
                return Some(start);
            }
            start.push(letter);
            room -= 1;
        }
    }
    (!start.is_empty()).then_some(start)
}

impl SessionFormat for CodeliaFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            listing: Some(self),
            editing: Some(self),
            lifecycle: Some(self),
            index: Some(self),
            keys: Some(self),
            features: &[Feature::WorkingDirectory],
            ..Capabilities::default()
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let home = home(store);
        let found = home.sessions();
        let places = found.sessions.iter().map(|session| home.place(session)).collect();
        Ok(SessionListing { sessions: places, findings: found.findings })
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(HomePaths::default().of_session(&SessionId::parse(&place.id)?)?)
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let home = home(store);
        let mut findings = Vec::new();
        let session = home.find(&SessionId::parse(&place.id)?, &mut findings)?;
        let mut summary = home.summary(&session)?;
        summary.findings.extend(findings);
        Ok(summary)
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        let (home, id) = (home(store), SessionId::parse(&place.id)?);
        let opened = reader::CodeliaReader::open(home, &id)?;
        Ok(if opened.is_unsaved() { Box::new(opened.history()?) } else { Box::new(opened) })
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let row = home(store).row(&SessionId::parse(&place.id)?, &mut Vec::new());
        Ok(row.as_ref().and_then(IndexRow::project))
    }

    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let (files, id) = (home(store).files, SessionId::parse(&place.id)?);
        let log = files.log(&id)?;
        let entries = vec![log.clone(), files.legacy(&id)?];
        let [database, journal, _] = files.database_files();
        let mut summary = vec![files.lineage(&id)?, database, journal];
        summary.extend(entries.iter().cloned());
        if home(store).find(&id, &mut Vec::new()).is_ok_and(|session| session.is_unsaved) {
            let runs = RunLogs::new(&home(store)).of_session(id.as_str())?;
            let runs: Vec<FilePath> = runs.into_iter().map(|(_, file)| file).collect();
            summary.extend(runs.iter().cloned());
            return Ok(Dependencies { summary, entries: runs, log: None });
        }
        Ok(Dependencies { summary, entries, log: Some(log) })
    }

    fn session_files(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(session_files::session_files(&home(store), &SessionId::parse(&place.id)?)?)
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl BulkListing for CodeliaFormat {
    fn lists_briefly(&self) -> bool {
        false
    }

    fn list(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(Vec<ListedSummary>, Vec<Finding>), SessionError> {
        let home = home(store);
        let found = home.sessions();
        let summary = |session: &Session| {
            let summary = home.summary(session).unwrap_or_else(|error| {
                FORMAT.unreadable_summary(&home.place(session), &SessionError::from(error))
            });
            (summary, session.row.as_ref().and_then(IndexRow::project))
        };
        Ok((found.sessions.iter().map(summary).collect(), found.findings))
    }
}

impl EditableFormat for CodeliaFormat {
    fn assigns_ids(&self) -> bool {
        false
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        if new.name.is_some() || new.config.is_some() {
            return Err(SessionError::request("Codelia sessions have no name and no settings"));
        }
        let mut meta = None;
        for (key, value) in new.fields.children() {
            match key.as_str() {
                "id" | "sessionId" | "session_id" => {}
                "meta" if value.kind() == ValueKind::Object => meta = Some(value),
                "meta" => return Err(SessionError::request("meta is not an object")),
                _ => {
                    return Err(SessionError::request(format!("Codelia sessions have no {key:?}")));
                }
            }
        }
        let id = SessionId::parse_new(&new.id)?;
        let writer = CodeliaWriter::create(&home(store), &id, meta.as_ref(), now)?;
        Ok(Box::new(editor::CodeliaEditor { writer }))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let writer = CodeliaWriter::open(&home(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::CodeliaEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let (id, new) = (
            SessionId::parse(&place.id)?,
            how.id.as_deref().map(SessionId::parse_new).transpose()?,
        );
        Ok(branch(branch::fork(&home(store), &id, how.turn, new, now)?))
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        Ok(branch(branch::rewind(&home(store), &SessionId::parse(&place.id)?, turn, now)?))
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        let (home, id) = (home(store), SessionId::parse(&place.id)?);
        Ok(match repairing {
            RepairMode::Plan => repair::plan_repair(&home, &id)?,
            RepairMode::Apply => repair::repair(&home, &id, now)?,
            RepairMode::Undo => repair::undo_repair(&home, &id, now)?,
        })
    }
}

impl SessionIndex for CodeliaFormat {
    fn refresh_index(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<(), SessionError> {
        Ok(repair::refresh_index(&home(store), &SessionId::parse(&place.id)?)?)
    }

    fn vacuum_index(&self, store: &Arc<dyn Store>) -> Result<(), SessionError> {
        Ok(repair::vacuum_index(&home(store))?)
    }
}

fn branch(made: CodeliaFork) -> ForkOutcome {
    let CodeliaFork { id, log, turn, findings } = made;
    ForkOutcome { session: SessionRef { id: id.to_string(), path: log }, turn, findings }
}

/// Parses the input of an append: a message, or several under `messages`.
pub(super) fn parse_messages(text: &str) -> Result<Vec<JsonTree>, SessionError> {
    let tree = JsonTree::parse(text)
        .map_err(|bad| SessionError::request(format!("the message is not JSON: {bad}")))?;
    match tree.value_at(&["messages"]) {
        Some(list) if tree.value_at(&["role"]).is_none() => match list.kind() {
            ValueKind::Array => {
                Ok(list.children().into_iter().map(|(_, message)| message).collect())
            }
            kind => Err(SessionError::request(format!("messages is {kind}, not an array"))),
        },
        _ => Ok(vec![tree]),
    }
}
