//! Sessions of Codelia in the common view: a turn is a message.

mod editor;
mod reader;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use super::belongings;
use super::branch::{self, Made};
use super::error::CodeliaError;
use super::home::{Home, Session};
use super::index::Row;
use super::life;
use super::log::Mark;
use super::names::{Files, UNKNOWN_TIME};
use super::repair;
use super::writer::SessionWriter;
use everturn_archive::Progress;
use everturn_json::finding::{Code, Finding};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::belongings::Belongings;
use everturn_session::layout::{Editor, Layout, LayoutError, Reader, Repairing, Stage, chain};
use everturn_session::repairs::Repair;
use everturn_session::view::{
    Branch, Evidence, Forking, New, Place, Places, Staged, Summary, Trashed,
};
use everturn_store::Store;
use everturn_value::tree::{Kind, Tree};

/// The layout of Codelia's sessions.
#[derive(Debug, Clone, Copy)]
pub struct CodeliaLayout;

/// The name that users write.
const NAME: &str = "codelia";

/// How many characters of what was said make a title.
const TITLE_LENGTH: usize = 60;

fn home(store: &Arc<dyn Store>) -> Home {
    Home::new(Arc::clone(store))
}

impl Home {
    /// Where a session is: its log, or the document that it has in place of one.
    fn place(&self, session: &Session) -> Place {
        let only_legacy = session.has_legacy && !session.has_log;
        let legacy = only_legacy.then(|| self.files.legacy(&session.id).ok()).flatten();
        let path = legacy.unwrap_or_else(|| session.log.clone());
        Place { id: session.id.to_string(), path }
    }

    /// What the index says about a session, as far as that is still so.
    fn summary(&self, session: &Session) -> Result<Summary, CodeliaError> {
        let row = session.row.as_ref();
        let said = row.and_then(|row| row.last_user_message.as_deref()).unwrap_or_default();
        let own = row.and_then(Row::own).unwrap_or_default();
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let mut summary = Summary {
            place: self.place(session),
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
            let message = "is not there, and the index knows messages of it".to_owned();
            let (file, code) = (session.log.clone(), Code::MissingFile);
            summary.findings.push(Finding { file, line: None, offset: None, code, message });
        }
        if row.is_none() && session.has_legacy && !session.has_log {
            let legacy = super::legacy::Legacy::read(self, &session.id)?.row;
            summary.updated = time(&legacy.updated_at);
            summary.title =
                legacy.last_user_message.as_deref().and_then(title).unwrap_or(summary.title);
        }
        Ok(summary)
    }

    /// Whether the row of a session can be trusted without opening its log. One that we wrote says how long the log
    /// was; of others nothing can be said.
    fn is_known(&self, session: &Session, mark: Option<Mark>) -> Result<bool, CodeliaError> {
        let Some(row) = &session.row else { return Ok(false) };
        if !session.has_log {
            return Ok(!session.has_legacy);
        }
        match mark {
            Some(mark) if row.message_count == i64::try_from(mark.messages).ok() => {
                let stat = self.store.stat(&session.log)?;
                Ok(stat.is_some_and(|stat| stat.len == mark.bytes))
            }
            // The program has saved it since, and its count is newer than our mark.
            _ => Ok(row.message_count.is_some()),
        }
    }
}

/// The beginning of a text, on one line.
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

impl Layout for CodeliaLayout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        let home = home(store);
        let found = home.sessions();
        let places = found.sessions.iter().map(|session| home.place(session)).collect();
        Ok(Places { places, findings: found.findings })
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let home = home(store);
        let mut findings = Vec::new();
        let session = home.find(&SessionId::parse(&place.id)?, &mut findings)?;
        let mut summary = home.summary(&session)?;
        summary.findings.extend(findings);
        Ok(summary)
    }

    fn list(&self, store: &Arc<dyn Store>) -> Result<(Vec<Summary>, Vec<Finding>), LayoutError> {
        let home = home(store);
        let found = home.sessions();
        let summary = |session: &Session| {
            home.summary(session).unwrap_or_else(|error| {
                self.unreadable(&home.place(session), &LayoutError::from(error))
            })
        };
        Ok((found.sessions.iter().map(summary).collect(), found.findings))
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let row = home(store).row(&SessionId::parse(&place.id)?, &mut Vec::new());
        let meta = row.and_then(|row| Tree::parse(row.meta_json?).ok());
        Ok(meta.and_then(|meta| meta.string_at(&["codelia_workspace_root"])))
    }

    fn snapshot_paths(&self, place: &Place) -> Result<Vec<FilePath>, LayoutError> {
        Ok(Files::default().of_session(&SessionId::parse(&place.id)?)?)
    }

    fn evidence(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Evidence, LayoutError> {
        let (files, id) = (home(store).files, SessionId::parse(&place.id)?);
        let log = files.log(&id)?;
        let entries = vec![log.clone(), files.legacy(&id)?];
        let [database, journal, _] = files.database_files();
        let mut summary = vec![files.lineage(&id)?, database, journal];
        summary.extend(entries.iter().cloned());
        Ok(Evidence { summary, entries, log: Some(log) })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        Ok(Box::new(reader::SessionReader::open(home(store), &SessionId::parse(&place.id)?)?))
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &New,
        now: Timestamp,
    ) -> Result<Box<dyn Editor>, LayoutError> {
        if new.name.is_some() || new.config.is_some() {
            return Err(LayoutError::request("sessions of Codelia have no name and no settings"));
        }
        let mut meta = None;
        for (key, value) in new.fields.children() {
            match key.as_str() {
                "id" | "sessionId" | "session_id" => {}
                "meta" if value.kind() == Kind::Object => meta = Some(value),
                "meta" => return Err(LayoutError::request("meta is not an object")),
                _ => {
                    return Err(LayoutError::request(format!(
                        "sessions of Codelia have no {key:?}"
                    )));
                }
            }
        }
        let id = SessionId::parse(&new.id)?;
        let writer = SessionWriter::create(&home(store), &id, meta.as_ref(), now)?;
        Ok(Box::new(editor::SessionEditor { writer }))
    }

    fn edit(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Box<dyn Editor>, LayoutError> {
        let writer = SessionWriter::open(&home(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::SessionEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        how: &Forking,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        let (id, new) =
            (SessionId::parse(&place.id)?, how.id.as_deref().map(SessionId::parse).transpose()?);
        Ok(branch(branch::fork(&home(store), &id, how.turn, new, now)?))
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        Ok(branch(branch::rewind(&home(store), &SessionId::parse(&place.id)?, turn, now)?))
    }

    fn stage(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        stage: Stage,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Staged, LayoutError> {
        match stage {
            Stage::Trash => Ok(life::trash(&home(store), place, now)?),
            other => Err(self.not_offered(other.doing())),
        }
    }

    fn trashed(&self, store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
        Ok(life::trashed(store)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
        Ok(life::restore(&home(store), name)?)
    }

    fn purge(&self, store: &Arc<dyn Store>, trashed: &[Trashed]) -> Result<(), LayoutError> {
        Ok(life::purge(&home(store), trashed)?)
    }

    fn belongings(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Belongings, LayoutError> {
        Ok(belongings::belongings(&home(store), &SessionId::parse(&place.id)?)?)
    }

    fn retell(&self, store: &Arc<dyn Store>, place: &Place) -> Result<(), LayoutError> {
        Ok(repair::retell(&home(store), &SessionId::parse(&place.id)?)?)
    }

    fn forget(&self, store: &Arc<dyn Store>, _: &Place) -> Result<(), LayoutError> {
        Ok(repair::forget(&home(store))?)
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        repairing: Repairing,
        now: Timestamp,
    ) -> Result<Repair, LayoutError> {
        let (home, id) = (home(store), SessionId::parse(&place.id)?);
        Ok(match repairing {
            Repairing::Plan => repair::plan(&home, &id)?,
            Repairing::Mend => repair::repair(&home, &id, now)?,
            Repairing::TakeBack => repair::undo(&home, &id, now)?,
        })
    }
}

fn branch(made: Made) -> Branch {
    let Made { id, log, turn, findings } = made;
    Branch { place: Place { id: id.to_string(), path: log }, turn, findings }
}

/// What is given to be appended: a message, or several below `messages`.
pub(super) fn given(text: &str) -> Result<Vec<Tree>, LayoutError> {
    let tree = Tree::parse(text)
        .map_err(|bad| LayoutError::request(format!("the message is not JSON: {bad}")))?;
    match tree.at(&["messages"]) {
        Some(list) if tree.at(&["role"]).is_none() => match list.kind() {
            Kind::Array => Ok(list.children().into_iter().map(|(_, message)| message).collect()),
            kind => Err(LayoutError::request(format!("messages is {kind}, not an array"))),
        },
        _ => Ok(vec![tree]),
    }
}

/// The finding for an error that ends the reading of one part of a session.
pub(super) fn unreadable(file: &FilePath, error: &CodeliaError) -> Finding {
    Finding {
        file: file.clone(),
        line: None,
        offset: None,
        code: Code::Unreadable,
        message: format!("cannot be read: {}", chain(error)),
    }
}
