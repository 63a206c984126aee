//! Sessions of a home in the common model: a turn is a message.

mod editor;
mod keys;
mod lifecycle;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::branch;
use super::encoding::ProjectPath;
use super::error::LinggenError;
use super::paths::{SessionFile, session_time};
use super::project::{open_project, read_project};
use super::repair as fix;
use super::session::{Session, SessionLocation, SessionMeta, last_change, sessions};
use super::writer::{LinggenWriter, NewLinggenSession};
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{
    BulkListing, Capabilities, EditableFormat, Feature, ListedSummary, RepairMode, SessionEditor,
    SessionError, SessionFormat, SessionReader, TimePrecision, error_chain,
};
use everturn_session::marks::marks_file;
use everturn_session::model::{
    Dependencies, ForkOptions, ForkOutcome, NewSession, SessionListing, SessionRef, SessionSummary,
};
use everturn_session::repair::RepairReport;
use everturn_session::session_files::SessionFiles;
use everturn_store::Store;

/// The format of Linggen's home.
#[derive(Debug, Clone, Copy)]
pub struct LinggenFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &LinggenFormat;

/// The name of the format on the command line.
const NAME: &str = "linggen";

/// The largest file whose messages are counted for a summary.
const MOST_COUNTED: u64 = 1 << 20;

fn session_ref(place: &SessionLocation) -> SessionRef {
    SessionRef { id: place.id.to_string(), path: place.dir.clone() }
}

fn session_place(place: &SessionRef) -> Result<SessionLocation, SessionError> {
    Ok(SessionLocation { id: SessionId::parse(&place.id)?, dir: place.path.clone() })
}

impl SessionFormat for LinggenFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            listing: Some(self),
            editing: Some(self),
            lifecycle: Some(self),
            keys: Some(self),
            features: &[Feature::Project, Feature::Title, Feature::ClearMessages],
            times: TimePrecision::Seconds,
            ..Capabilities::default()
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let (places, findings) = sessions(store)?;
        Ok(SessionListing { sessions: places.iter().map(session_ref).collect(), findings })
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        let mut findings = session.findings().to_vec();
        let title = match session.meta().and_then(SessionMeta::title) {
            Some(title) => Some(title),
            None => session.derived_title()?,
        };
        let created = session.created()?;
        let length = store.stat(&session.file(SessionFile::Messages))?.map_or(0, |stat| stat.len);
        let turns = if length > MOST_COUNTED { None } else { Some(session.count()?.0) };
        let parent = match session.lineage() {
            Ok(lineage) => lineage.map(|lineage| lineage.parent),
            Err(LinggenError::Damaged { file, reason }) => {
                findings.push(Finding::new(&file, FindingCode::BadMetadata, reason));
                None
            }
            Err(error) => return Err(error.into()),
        };
        Ok(SessionSummary {
            session: place.clone(),
            layout: NAME,
            title: title.unwrap_or_else(|| place.id.clone()),
            created,
            updated: session.updated()?,
            status: "active".to_owned(),
            turns,
            parent,
            findings,
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        Ok(Box::new(reader::LinggenReader { session }))
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let session = Session::open(Arc::clone(store), &session_place(place)?)?;
        let said =
            session.meta().and_then(|meta| Some(meta.values().get("cwd")?.as_str()?.to_owned()));
        let Some(project) = place.path.parent().and_then(|sessions| sessions.parent()) else {
            return Ok(said);
        };
        // Above sessions outside of projects is the root, which is not a project.
        let owner = || match read_project(store, &project) {
            Ok(found) => Ok(found.path.map(|path| path.as_str().to_owned())),
            Err(LinggenError::Damaged { .. }) => Ok(None),
            Err(error) => Err(SessionError::from(error)),
        };
        if project.is_root() { Ok(said) } else { Ok(owner()?.or(said)) }
    }

    fn dependencies(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let log = SessionFile::Messages.of(&place.path);
        let entries = vec![log.clone()];
        let mut summary = vec![SessionFile::Meta.of(&place.path)];
        summary.push(SessionFile::Lineage.of(&place.path));
        summary.push(marks_file(&place.path));
        summary.extend(entries.iter().cloned());
        Ok(Dependencies { summary, entries, log: Some(log) })
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(SessionFiles::for_ref(place))
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl BulkListing for LinggenFormat {
    fn lists_briefly(&self) -> bool {
        true
    }

    /// Lists sessions by their names, which contain the creation time, and by the ends of their messages, which contain
    /// the time of the last change. Other files are opened only if the name has no time.
    fn list(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(Vec<ListedSummary>, Vec<Finding>), SessionError> {
        let SessionListing { sessions: places, findings } = self.locate(store)?;
        let brief = |place: SessionRef| {
            let created = session_time(&place.id);
            let summary = match created {
                None => FORMAT.summary(store, &place),
                Some(_) => {
                    let updated = last_change(store, &place.path, created);
                    updated.map_err(SessionError::from).map(|updated| {
                        let summary = SessionSummary::new(&place, NAME, "active");
                        SessionSummary { created, updated, ..summary }
                    })
                }
            };
            summary.unwrap_or_else(|error| FORMAT.unreadable_summary(&place, &error))
        };
        Ok((places.into_iter().map(|place| (brief(place), None)).collect(), findings))
    }
}

impl EditableFormat for LinggenFormat {
    fn assigns_ids(&self) -> bool {
        true
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let (path, session) = new_session(new)?;
        let project = open_project(store, &path, now)?;
        let writer = LinggenWriter::create(store, &project.dir, &session, now)?;
        Ok(Box::new(editor::LinggenEditor::new(writer)?))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let writer = LinggenWriter::open(store, &session_place(place)?)?;
        Ok(Box::new(editor::LinggenEditor::new(writer)?))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let id = how.id.as_deref().map(SessionId::parse).transpose()?;
        let made = branch::fork(store, &session_place(place)?, how.turn, id, now)?;
        Ok(ForkOutcome { session: session_ref(&made.place), turn: made.turn, findings: Vec::new() })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let made = branch::rewind(store, &session_place(place)?, turn, now)?;
        Ok(ForkOutcome { session: session_ref(&made.place), turn: made.turn, findings: Vec::new() })
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        let place = session_place(place)?;
        Ok(match repairing {
            RepairMode::Plan => fix::plan_repair(store, &place, now)?,
            RepairMode::Apply => fix::repair(store, &place, now)?,
            RepairMode::Undo => fix::undo_repair(store, &place, now)?,
        })
    }
}

/// Parses the input for a new session: `project`, which is required, and `title`.
fn new_session(new: &NewSession) -> Result<(ProjectPath, NewLinggenSession), SessionError> {
    let mut session = NewLinggenSession::default();
    if !new.id.is_empty() {
        session.id = Some(SessionId::parse_new(&new.id)?);
    }
    let mut project = None;
    for (key, value) in new.fields.children() {
        let text = || {
            let wrong =
                || SessionError::request(format!("{key} is {}, not a string", value.kind()));
            value.string_at::<&str>(&[]).ok_or_else(wrong)
        };
        match key.as_str() {
            "id" | "sessionId" => {}
            "title" => session.title = text()?,
            "project" => project = Some(ProjectPath::parse(&text()?)?),
            _ => return Err(SessionError::request(format!("linggen sessions have no {key:?}"))),
        }
    }
    if let Some(name) = &new.name {
        session.title.clone_from(name);
    }
    if new.config.is_some() {
        return Err(SessionError::request("linggen sessions have no settings"));
    }
    let project = project.ok_or_else(|| {
        SessionError::request("a linggen session needs its project path in `project`")
    })?;
    Ok((project, session))
}

impl From<LinggenError> for SessionError {
    fn from(error: LinggenError) -> SessionError {
        match error {
            LinggenError::Store(error) => SessionError::Store(error),
            LinggenError::Name(error) => SessionError::Name(error),
            LinggenError::NoSession { id } => SessionError::NoSession { id },
            LinggenError::Taken { id, path } => SessionError::Taken { id, path },
            LinggenError::NoTurn { turn, last } => SessionError::NoTurn { turn, first: 0, last },
            LinggenError::Damaged { .. } => SessionError::Damaged { what: error_chain(&error) },
            other => SessionError::request(error_chain(&other)),
        }
    }
}
