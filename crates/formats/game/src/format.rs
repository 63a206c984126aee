//! Game sessions in the common model: a turn is one entry.

mod editor;
mod keys;
mod lifecycle;
mod outline;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::adopt::adopt;
use super::derived::update_derived;
use super::error::GameError;
use super::files::{GameFiles, list_dir};
use super::last_turn::{is_last, last_line};
use super::meta::{GameMeta, NewGame};
use super::paths::{DocumentFile, GameStatus, LogKind, SESSIONS, archive, join_names};
use super::repair::{plan_repair, repair, undo_repair};
use super::session::Session;
use super::turn::TurnRecord;
use super::writer::GameWriter;
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{
    Capabilities, DerivedData, EditableFormat, Feature, RepairMode, SessionEditor, SessionError,
    SessionFormat, SessionReader, StateAdoption, error_chain, list_settled,
};
use everturn_session::marks;
use everturn_session::model::{
    AppendOutcome, Dependencies, ForkOptions, ForkOutcome, Mark, NewMark, NewSession,
    SessionListing, SessionRef, SessionSummary,
};
use everturn_session::repair::RepairReport;
use everturn_session::session_files::SessionFiles;
use everturn_store::disk;
use everturn_store::overlay::FileChanges;
use everturn_store::{Store, StoreError};
use everturn_value::tree::{JsonTree, ValueKind};

/// The format of game sessions.
#[derive(Debug, Clone, Copy)]
pub struct GameFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &GameFormat;

/// The name of the format on the command line.
const NAME: &str = "game";

impl SessionFormat for GameFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            editing: Some(self),
            lifecycle: Some(self),
            derived: Some(self),
            keys: Some(self),
            adoption: Some(self),
            features: &[Feature::CompletionPreview],
            ..Capabilities::default()
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let mut dirs = GameStatus::ALL.map(|status| status.dir()).to_vec();
        dirs.push(archives_dir());
        list_settled(store, &dirs, || places_once(store))
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let file = DocumentFile::Meta.in_dir(&place.path);
        let mut summary = SessionSummary::new(place, NAME, "archived");
        if place.is_archive() {
            return Ok(summary);
        }
        summary.status = status(place)?.to_string();
        let meta = match store.read(&file, 0..u64::MAX) {
            Ok(bytes) => GameMeta::parse(&file, &bytes).map_err(|error| error.reason()),
            Err(StoreError::Missing { .. }) => Err("it is missing".to_owned()),
            Err(error) => return Err(error.into()),
        };
        match meta {
            Ok(meta) => {
                describe(&mut summary, &meta);
                if let Some(noted) = summary.turns
                    && !is_last(store, &place.path, &meta, noted)?
                {
                    let (id, status) = (SessionId::parse(&place.id)?, status(place)?);
                    let session =
                        Session::open_in(Arc::clone(store), &id, status, place.path.clone())?;
                    summary.turns = Some(session.turn);
                }
            }
            Err(message) => {
                summary.findings.push(Finding::new(&file, FindingCode::BadMetadata, message));
            }
        }
        if summary.turns.is_none() {
            let last = last_turn(store, place)?;
            summary.turns = Some(last.as_ref().map_or(0, |turn| turn.turn));
            let time = last.and_then(|turn| turn.time);
            let time = time.and_then(|time| Timestamp::from_millisecond(time).ok());
            summary.updated = summary.updated.or(time);
        }
        let marked = marks::marks_changed(store, &place.path)?;
        summary.updated = summary.updated.or(summary.created).max(marked);
        Ok(summary)
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        let (status, id) = (status(place)?, SessionId::parse(&place.id)?);
        let store = Arc::clone(store);
        let session = match store.stat(&place.path)? {
            Some(_) => Session::open_in(store, &id, status, place.path.clone())?,
            // Another process may have paused or resumed it since it was located.
            None => Session::open(store, &id)?,
        };
        Ok(Box::new(reader::GameReader { session }))
    }

    fn project(&self, _: &Arc<dyn Store>, _: &SessionRef) -> Result<Option<String>, SessionError> {
        Ok(None)
    }

    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        if place.is_archive() {
            return Ok(Dependencies::on(vec![place.path.clone()]));
        }
        let meta = DocumentFile::Meta.in_dir(&place.path);
        let mut entries = vec![LogKind::Turns.dir(&place.path)];
        let files = GameFiles::list(store, &place.path)?;
        let log = files.turns.last().filter(|(file, _)| file.last.is_none());
        let log = log.map(|(_, path)| path.clone());
        entries.extend(files.turns.into_iter().map(|(_, path)| path));
        // The log may have turns that the metadata do not count.
        let summary = [meta, LogKind::Turns.dir(&place.path), marks::marks_file(&place.path)]
            .into_iter()
            .chain(log.clone())
            .collect();
        Ok(Dependencies { summary, entries, log })
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        let id = SessionId::parse(&place.id)?;
        let mut scopes: Vec<FilePath> =
            GameStatus::ALL.iter().map(|status| status.session(&id)).collect();
        scopes.push(archive(&id)?);
        Ok(SessionFiles { scopes, ..SessionFiles::for_ref(place) })
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.id.clone()
    }
}

impl EditableFormat for GameFormat {
    fn assigns_ids(&self) -> bool {
        false
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let writer = GameWriter::create(Arc::clone(store), &new_session(new)?, now)?;
        Ok(Box::new(editor::GameEditor { writer }))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        status(place)?;
        let writer = GameWriter::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::GameEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        status(place)?;
        lifecycle::fork_session(store, place, how, now, progress)
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        status(place)?;
        lifecycle::rewind_session(store, place, turn, now, progress)
    }

    fn add_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        new: &NewMark,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        lifecycle::mark(store, place, |marks, last| marks.add(new, last, now))
    }

    fn remove_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        id: &str,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        lifecycle::mark(store, place, |marks, _| marks.remove(id, now))
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        let id = SessionId::parse(&place.id)?;
        Ok(match repairing {
            RepairMode::Plan => plan_repair(store, &id)?,
            RepairMode::Apply => repair(store, &id, now)?,
            RepairMode::Undo => undo_repair(store, &id, now)?,
        })
    }
}

impl StateAdoption for GameFormat {
    fn adopt(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        now: Timestamp,
    ) -> Result<AppendOutcome, SessionError> {
        status(place)?;
        Ok(editor::written(adopt(store, &SessionId::parse(&place.id)?, now)?, None))
    }
}

impl DerivedData for GameFormat {
    fn update_derived(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut FileChanges,
    ) -> Result<(), SessionError> {
        Ok(update_derived(store, root, changes)?)
    }
}

/// Lists the sessions, reading the status directories one after the other.
fn places_once(store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
    let mut found = SessionListing::default();
    for status in GameStatus::ALL {
        let dir = status.dir();
        let listing = match store.list(&dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => continue,
            Err(error) => {
                let message = format!("cannot be read: {}", error_chain(&error));
                found.findings.push(Finding::new(&dir, FindingCode::Unreadable, message));
                continue;
            }
        };
        for (name, reason) in listing.refused {
            let message = format!("contains {name:?}, which is ignored: {reason}");
            found.findings.push(Finding::new(&dir, FindingCode::BadName, message));
        }
        let dirs = listing.entries.iter().filter(|entry| entry.kind == disk::FileKind::Dir);
        for entry in dirs {
            let path = dir.join(&entry.name);
            match SessionId::parse(entry.name.as_str()) {
                Ok(id) => found.sessions.push(SessionRef { id: id.to_string(), path }),
                Err(reason) => {
                    let message = format!("is ignored: {reason}");
                    found.findings.push(Finding::new(&path, FindingCode::BadName, message));
                }
            }
        }
    }
    found.sessions.extend(archived(store)?);
    Ok(found)
}

fn archives_dir() -> FilePath {
    join_names(&FilePath::root(), &[SESSIONS, "archives"])
}

/// Returns the archived sessions.
fn archived(store: &Arc<dyn Store>) -> Result<Vec<SessionRef>, SessionError> {
    let dir = archives_dir();
    let place = |path: FilePath| {
        let name = path.name()?;
        let id = SessionId::parse(name.as_str().strip_suffix(".tar.gz")?).ok()?;
        Some(SessionRef { id: id.to_string(), path })
    };
    Ok(list_dir(store, &dir)?.into_iter().filter_map(place).collect())
}

/// Returns the status of a session, which is the name of its parent directory.
fn status(place: &SessionRef) -> Result<GameStatus, SessionError> {
    if place.is_archive() {
        let what = format!("session {} is archived; restore it with: everturn unarchive", place.id);
        return Err(SessionError::request(what));
    }
    let above = place.path.parent().and_then(|dir| dir.name());
    let status = above.and_then(|name| GameStatus::parse(name.as_str()));
    status.ok_or_else(|| SessionError::NoSession { id: place.id.clone() })
}

/// Fills a summary from the metadata, in either dialect.
fn describe(summary: &mut SessionSummary, meta: &GameMeta) {
    let time = |key: &str| {
        let text = meta.text(&[key])?;
        text.parse::<Timestamp>().ok()
    };
    let started = || {
        let started = meta.number(&["startTime"])?;
        Timestamp::from_millisecond(i64::try_from(started).ok()?).ok()
    };
    summary.created = time("created").or_else(started);
    summary.updated = time("lastModified");
    summary.turns = meta.turn();
    summary.parent = meta.text(&["lineage", "parent"]);
    let text = |path: &[&str]| meta.text(path).filter(|text| !text.trim().is_empty());
    let player = || {
        let player = text(&["player", "name"]).or_else(|| text(&["player"]));
        let parts: Vec<String> = player.into_iter().chain(text(&["config", "theme"])).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    if let Some(title) = text(&["title"]).or_else(|| text(&["name"])).or_else(player) {
        summary.title = title;
    }
}

/// Returns the last turn of the log, read from its end.
fn last_turn(
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<Option<TurnRecord>, SessionError> {
    for (_, path) in GameFiles::list(store, &place.path)?.turns.iter().rev() {
        let turn = last_line(store, path)?;
        if turn.is_some() {
            return Ok(turn);
        }
    }
    Ok(None)
}

/// Converts the common parameters of a new session to a [`NewGame`].
fn new_session(new: &NewSession) -> Result<NewGame, SessionError> {
    let mut session = NewGame::new(SessionId::parse_new(&new.id)?);
    let wrong = |key: &str, value: &JsonTree, wanted: &str| {
        SessionError::request(format!("{key} is {}, not {wanted}", value.kind()))
    };
    for (key, value) in new.fields.children() {
        let is_object = value.kind() == ValueKind::Object;
        match key.as_str() {
            "sessionId" => {}
            "config" | "world" | "playerState" if !is_object => {
                return Err(wrong(&key, &value, "an object"));
            }
            "config" => session.config = value,
            "world" => session.world = Some(value),
            "playerState" => session.player = Some(value),
            "player" if is_object => {
                session.player_name = value.string_at(&["name"]).unwrap_or(session.player_name);
                session.character = value.string_at(&["characterId"]);
                session.extra.push((key, value));
            }
            "player" => match value.string_at::<&str>(&[]) {
                Some(name) => session.player_name = name,
                None => return Err(wrong(&key, &value, "a name or an object")),
            },
            _ => session.extra.push((key, value)),
        }
    }
    if let Some(name) = &new.name {
        session.player_name.clone_from(name);
    }
    if let Some(config) = &new.config {
        if config.kind() != ValueKind::Object {
            return Err(wrong("config", config, "an object"));
        }
        session.config = config.clone();
    }
    Ok(session)
}

impl From<GameError> for SessionError {
    fn from(error: GameError) -> SessionError {
        match error {
            GameError::Store(error) => SessionError::Store(error),
            GameError::Name(error) => SessionError::Name(error),
            GameError::NoSession { id } => SessionError::NoSession { id: id.to_string() },
            GameError::Taken { id, place } => {
                SessionError::Taken { id: id.to_string(), path: place }
            }
            GameError::NoTurn { turn, first, last } => SessionError::NoTurn { turn, first, last },
            GameError::Status { id, status, wanted } => {
                SessionError::Status { id: id.to_string(), status: status.to_string(), wanted }
            }
            GameError::Damaged { .. } | GameError::NoState { .. } => {
                SessionError::Damaged { what: error_chain(&error) }
            }
            GameError::Archive(archive) if archive.is_damage() => {
                SessionError::Damaged { what: error_chain(&*archive) }
            }
            other => SessionError::request(error_chain(&other)),
        }
    }
}
