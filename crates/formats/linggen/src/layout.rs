//! Sessions of a home in the common view: a turn is a message.

mod editor;
mod life;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::branch;
use super::encoding::ProjectPath;
use super::error::LinggenError;
use super::names::{SessionFile, session_time};
use super::project::{about, open_project, read_project};
use super::repair as mending;
use super::session::{Meta, Session, SessionPlace, sessions};
use super::writer::{NewSession, SessionWriter};
use everturn_archive::Progress;
use everturn_json::finding::{Code, Finding};
use everturn_json::names::SessionId;
use everturn_session::layout::{Editor, Layout, LayoutError, Reader, Repairing, Stage, chain};
use everturn_session::repairs::Repair;
use everturn_session::view::{
    Branch, Evidence, Forking, New, Place, Places, Staged, Summary, Trashed,
};
use everturn_store::Store;

/// The layout of Linggen's home.
#[derive(Debug, Clone, Copy)]
pub struct LinggenLayout;

/// The name that users write.
const NAME: &str = "linggen";

/// Messages of files up to so many bytes are counted for a summary.
const MOST_COUNTED: u64 = 1 << 20;

fn shown(place: &SessionPlace) -> Place {
    Place { id: place.id.to_string(), path: place.dir.clone() }
}

fn session_place(place: &Place) -> Result<SessionPlace, LayoutError> {
    Ok(SessionPlace { id: SessionId::parse(&place.id)?, dir: place.path.clone() })
}

impl Layout for LinggenLayout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn numbers_sessions(&self) -> bool {
        true
    }

    fn lists_names_only(&self) -> bool {
        true
    }

    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        let (places, findings) = sessions(store)?;
        Ok(Places { places: places.iter().map(shown).collect(), findings })
    }

    /// The sessions by their names alone, which tell when they were made; only of those whose names do not tell are
    /// files opened.
    fn list(&self, store: &Arc<dyn Store>) -> Result<(Vec<Summary>, Vec<Finding>), LayoutError> {
        let Places { places, findings } = self.places(store)?;
        let brief = |place: Place| {
            let created = session_time(&place.id);
            if created.is_none() {
                let told = self.summary(store, &place);
                return told.unwrap_or_else(|error| self.unreadable(&place, &error));
            }
            Summary {
                layout: NAME,
                title: place.id.clone(),
                created,
                updated: created,
                status: "active".to_owned(),
                turns: None,
                parent: None,
                findings: Vec::new(),
                place,
            }
        };
        Ok((places.into_iter().map(brief).collect(), findings))
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        let mut findings = session.findings().to_vec();
        let title = match session.meta().and_then(Meta::title) {
            Some(title) => Some(title),
            None => session.made_up_title()?,
        };
        let created = session.created()?;
        let length = store.stat(&session.file(SessionFile::Messages))?.map_or(0, |stat| stat.len);
        let turns = if length > MOST_COUNTED { None } else { Some(session.count()?.0) };
        let parent = match session.lineage() {
            Ok(lineage) => lineage.map(|lineage| lineage.parent),
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(about(&file, Code::BadMetadata, reason));
                None
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Summary {
            place: place.clone(),
            layout: NAME,
            title: title.unwrap_or_else(|| place.id.clone()),
            created,
            updated: session.updated()?.or(created),
            status: "active".to_owned(),
            turns,
            parent,
            findings,
        })
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        let said =
            session.meta().and_then(|meta| Some(meta.values().get("cwd")?.as_str()?.to_owned()));
        let Some(project) = place.path.parent().and_then(|sessions| sessions.parent()) else {
            return Ok(said);
        };
        // Sessions outside of projects have the root above them, which is none.
        let owner = || match read_project(store, &project) {
            Ok(found) => Ok(found.path.map(|path| path.as_str().to_owned())),
            Err(LinggenError::Damaged { .. }) => Ok(None),
            Err(error) => Err(LayoutError::from(error)),
        };
        if project.is_root() { Ok(said) } else { Ok(owner()?.or(said)) }
    }

    fn evidence(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Evidence, LayoutError> {
        let log = SessionFile::Messages.of(&place.path);
        let entries = vec![log.clone()];
        let mut summary = vec![SessionFile::Meta.of(&place.path)];
        // It is made with the session, or never.
        let lineage = SessionFile::Lineage.of(&place.path);
        if store.stat(&lineage)?.is_some() {
            summary.push(lineage);
        }
        summary.extend(entries.iter().cloned());
        Ok(Evidence { summary, entries, log: Some(log) })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        Ok(Box::new(reader::SessionReader { session }))
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &New,
        now: Timestamp,
    ) -> Result<Box<dyn Editor>, LayoutError> {
        let (path, session) = new_session(new)?;
        let project = open_project(store, &path, now)?;
        let writer = SessionWriter::create(store, &project.dir, &session, now)?;
        Ok(Box::new(editor::SessionEditor::new(writer)?))
    }

    fn edit(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Box<dyn Editor>, LayoutError> {
        let writer = SessionWriter::open(store, &session_place(place)?)?;
        Ok(Box::new(editor::SessionEditor::new(writer)?))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        how: &Forking,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        let id = how.id.as_deref().map(SessionId::parse).transpose()?;
        let made = branch::fork(store, &session_place(place)?, how.turn, id, now)?;
        Ok(Branch { place: shown(&made.place), turn: made.turn, findings: Vec::new() })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        let made = branch::rewind(store, &session_place(place)?, turn, now)?;
        Ok(Branch { place: shown(&made.place), turn: made.turn, findings: Vec::new() })
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
            Stage::Trash => Ok(life::trash(store, place, now)?),
            other => Err(self.not_offered(other.doing())),
        }
    }

    fn trashed(&self, store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
        Ok(life::trashed(store)?)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
        Ok(life::restore(store, name)?)
    }

    fn purge(&self, store: &Arc<dyn Store>, trashed: &[Trashed]) -> Result<(), LayoutError> {
        Ok(life::purge(store, trashed)?)
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        repairing: Repairing,
        now: Timestamp,
    ) -> Result<Repair, LayoutError> {
        let place = session_place(place)?;
        Ok(match repairing {
            Repairing::Plan => mending::plan_repair(store, &place, now)?,
            Repairing::Mend => mending::repair(store, &place, now)?,
            Repairing::TakeBack => mending::undo_repair(store, &place, now)?,
        })
    }
}

/// What is given for a new session: `project`, which it needs, and `title`.
fn new_session(new: &New) -> Result<(ProjectPath, NewSession), LayoutError> {
    let mut session = NewSession::default();
    if !new.id.is_empty() {
        session.id = Some(SessionId::parse(&new.id)?);
    }
    let mut project = None;
    for (key, value) in new.fields.children() {
        let text = || {
            let wrong = || LayoutError::request(format!("{key} is {}, not a text", value.kind()));
            value.string_at::<&str>(&[]).ok_or_else(wrong)
        };
        match key.as_str() {
            "id" | "sessionId" => {}
            "title" => session.title = text()?,
            "project" => project = Some(ProjectPath::parse(&text()?)?),
            _ => return Err(LayoutError::request(format!("sessions of linggen have no {key:?}"))),
        }
    }
    if let Some(name) = &new.name {
        session.title.clone_from(name);
    }
    if new.config.is_some() {
        return Err(LayoutError::request("sessions of linggen have no settings"));
    }
    let project = project.ok_or_else(|| {
        LayoutError::request("a session of linggen needs the path of its project, as project")
    })?;
    Ok((project, session))
}

impl From<LinggenError> for LayoutError {
    fn from(error: LinggenError) -> LayoutError {
        match error {
            LinggenError::Store(error) => LayoutError::Store(error),
            LinggenError::Name(error) => LayoutError::Name(error),
            LinggenError::NoSession { id } => LayoutError::NoSession { id },
            LinggenError::Taken { id, path } => LayoutError::Taken { id, path },
            LinggenError::NoTurn { turn, last } => LayoutError::NoTurn { turn, first: 0, last },
            LinggenError::Damaged { .. } => LayoutError::Damaged { what: chain(&error) },
            other => LayoutError::request(chain(&other)),
        }
    }
}
