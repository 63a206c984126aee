//! Game sessions in the common view: a turn is one entry.

mod editor;
mod life;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use super::error::GameError;
use super::files::{Files, names};
use super::follow::follow;
use super::meta::{Meta, NewSession};
use super::names::{Document, Log, SESSIONS, Status, archive, below};
use super::repair::{plan_repair, repair, undo_repair};
use super::session::Session;
use super::turn::TurnRecord;
use super::writer::GameWriter;
use everturn_archive::Progress;
use everturn_json::finding::{Code, Finding};
use everturn_json::lines::{Item, Scan};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::belongings::Belongings;
use everturn_session::layout::{
    Editor, Layout, LayoutError, Reader, Repairing, Stage, chain, list_settled,
};
use everturn_session::repairs::Repair;
use everturn_session::view::{
    Branch, Evidence, Forking, Mark, New, NewMark, Place, Places, Staged, Summary, Trashed,
};
use everturn_store::disk;
use everturn_store::overlay::Changes;
use everturn_store::{Store, StoreError, StoreSource, read_if_there};
use everturn_value::tree::{Kind, Slice, Tree};

/// The layout of game sessions.
#[derive(Debug, Clone, Copy)]
pub struct GameLayout;

/// The name that users write.
const NAME: &str = "game";

impl Layout for GameLayout {
    fn name(&self) -> &'static str {
        NAME
    }

    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        let mut dirs = Status::ALL.map(|status| status.dir()).to_vec();
        dirs.push(archives_dir());
        list_settled(store, &dirs, || places_once(store))
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let file = Document::Meta.in_dir(&place.path);
        let mut summary = Summary {
            place: place.clone(),
            layout: NAME,
            title: place.id.clone(),
            created: None,
            updated: None,
            status: ARCHIVED.to_owned(),
            turns: None,
            parent: None,
            findings: Vec::new(),
        };
        if is_archive(place) {
            return Ok(summary);
        }
        summary.status = status(place)?.to_string();
        let meta = match store.read(&file, 0..u64::MAX) {
            Ok(bytes) => Meta::parse(&file, &bytes).map_err(|error| error.reason()),
            Err(StoreError::Missing { .. }) => Err("it is missing".to_owned()),
            Err(error) => return Err(error.into()),
        };
        match meta {
            Ok(meta) => describe(&mut summary, &meta),
            Err(message) => summary.findings.push(finding(&file, Code::BadMetadata, message)),
        }
        if summary.turns.is_none() {
            let last = last_turn(store, place)?;
            summary.turns = Some(last.as_ref().map_or(0, |turn| turn.turn));
            let time = last.and_then(|turn| turn.time);
            let time = time.and_then(|time| Timestamp::from_millisecond(time).ok());
            summary.updated = summary.updated.or(time);
        }
        summary.updated = summary.updated.or(summary.created);
        Ok(summary)
    }

    fn evidence(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Evidence, LayoutError> {
        if is_archive(place) {
            let files = vec![place.path.clone()];
            return Ok(Evidence { summary: files.clone(), entries: files, log: None });
        }
        let meta = Document::Meta.in_dir(&place.path);
        let mut entries = vec![Log::Turns.dir(&place.path)];
        let files = Files::list(store, &place.path)?;
        let log = files.turns.last().filter(|(file, _)| file.last.is_none());
        let log = log.map(|(_, path)| path.clone());
        entries.extend(files.turns.into_iter().map(|(_, path)| path));
        // Metadata that do not count the turns leave that to the log.
        let counts =
            |bytes: Vec<u8>| Meta::parse(&meta, &bytes).is_ok_and(|meta| meta.turn().is_some());
        let counted = read_if_there(store, &meta)?.is_some_and(counts);
        let mut summary = vec![meta];
        if !counted {
            summary.extend(entries.iter().cloned());
        }
        Ok(Evidence { summary, entries, log })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        let (status, id) = (status(place)?, SessionId::parse(&place.id)?);
        let store = Arc::clone(store);
        let session = match store.stat(&place.path)? {
            Some(_) => Session::open_in(store, &id, status, place.path.clone())?,
            // Somebody may have paused or resumed it since it was found.
            None => Session::open(store, &id)?,
        };
        Ok(Box::new(reader::GameReader { session }))
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &New,
        now: Timestamp,
    ) -> Result<Box<dyn Editor>, LayoutError> {
        let writer = GameWriter::create(Arc::clone(store), &new_session(new)?, now)?;
        Ok(Box::new(editor::GameEditor { writer }))
    }

    fn edit(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Box<dyn Editor>, LayoutError> {
        status(place)?;
        let writer = GameWriter::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::GameEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        how: &Forking,
        now: Timestamp,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        status(place)?;
        life::branch_off(store, place, how, now, progress)
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        turn: u64,
        now: Timestamp,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Branch, LayoutError> {
        status(place)?;
        life::go_back(store, place, turn, now, progress)
    }

    fn add_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        new: &NewMark,
        now: Timestamp,
    ) -> Result<Mark, LayoutError> {
        life::mark(store, place, |marks, last| marks.add(new, last, now))
    }

    fn remove_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        id: &str,
        _now: Timestamp,
    ) -> Result<Mark, LayoutError> {
        life::mark(store, place, |marks, _| marks.remove(id))
    }

    fn stage(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        stage: Stage,
        now: Timestamp,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Staged, LayoutError> {
        life::move_on(store, place, stage, now, progress)
    }

    fn belongings(&self, _: &Arc<dyn Store>, place: &Place) -> Result<Belongings, LayoutError> {
        let id = SessionId::parse(&place.id)?;
        let mut scopes: Vec<FilePath> =
            Status::ALL.iter().map(|status| status.session(&id)).collect();
        scopes.push(archive(&id)?);
        Ok(Belongings { scopes, ..Belongings::of(place) })
    }

    fn shelved(&self, place: &Place) -> Option<Place> {
        let id = SessionId::parse(&place.id).ok().filter(|_| is_archive(place))?;
        Some(Place { id: place.id.clone(), path: Status::Completed.session(&id) })
    }

    fn lasting_name(&self, place: &Place) -> String {
        place.id.clone()
    }

    fn follow(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut Changes,
    ) -> Result<(), LayoutError> {
        Ok(follow(store, root, changes)?)
    }

    fn trashed(&self, store: &Arc<dyn Store>) -> Result<Vec<Trashed>, LayoutError> {
        life::trashed(store)
    }

    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<Place, LayoutError> {
        life::take_out(store, name)
    }

    fn purge(&self, store: &Arc<dyn Store>, trashed: &[Trashed]) -> Result<(), LayoutError> {
        life::purge(store, trashed)
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        repairing: Repairing,
        now: Timestamp,
    ) -> Result<Repair, LayoutError> {
        let id = SessionId::parse(&place.id)?;
        Ok(match repairing {
            Repairing::Plan => plan_repair(store, &id)?,
            Repairing::Mend => repair(store, &id, now)?,
            Repairing::TakeBack => undo_repair(store, &id, now)?,
        })
    }
}

/// The status of a session that is in an archive.
const ARCHIVED: &str = "archived";

/// Where sessions are, as the directories tell one after the other.
fn places_once(store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
    let mut found = Places::default();
    for status in Status::ALL {
        let dir = status.dir();
        let listing = match store.list(&dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => continue,
            Err(error) => {
                let message = format!("cannot be read: {}", chain(&error));
                found.findings.push(finding(&dir, Code::Unreadable, message));
                continue;
            }
        };
        for (name, reason) in listing.refused {
            let message = format!("holds {name:?}, which is left alone: {reason}");
            found.findings.push(finding(&dir, Code::BadName, message));
        }
        let dirs = listing.entries.iter().filter(|entry| entry.kind == disk::Kind::Dir);
        for entry in dirs {
            let path = dir.join(&entry.name);
            match SessionId::parse(entry.name.as_str()) {
                Ok(id) => found.places.push(Place { id: id.to_string(), path }),
                Err(reason) => {
                    let message = format!("is left alone: {reason}");
                    found.findings.push(finding(&path, Code::BadName, message));
                }
            }
        }
    }
    found.places.extend(archived(store)?);
    Ok(found)
}

fn archives_dir() -> FilePath {
    below(&FilePath::root(), &[SESSIONS, "archives"])
}

/// The sessions that are in archives.
fn archived(store: &Arc<dyn Store>) -> Result<Vec<Place>, LayoutError> {
    let dir = archives_dir();
    let place = |path: FilePath| {
        let name = path.name()?;
        let id = SessionId::parse(name.as_str().strip_suffix(".tar.gz")?).ok()?;
        Some(Place { id: id.to_string(), path })
    };
    Ok(names(store, &dir)?.into_iter().filter_map(place).collect())
}

fn is_archive(place: &Place) -> bool {
    place.path.as_str().ends_with(".tar.gz")
}

fn finding(file: &FilePath, code: Code, message: String) -> Finding {
    Finding { file: file.clone(), line: None, offset: None, code, message }
}

/// The status of the session there, which is the name of the directory above.
fn status(place: &Place) -> Result<Status, LayoutError> {
    if is_archive(place) {
        let what =
            format!("session {} is in an archive; everturn unarchive takes it out", place.id);
        return Err(LayoutError::request(what));
    }
    let above = place.path.parent().and_then(|dir| dir.name());
    let status = above.and_then(|name| Status::parse(name.as_str()));
    status.ok_or_else(|| LayoutError::NoSession { id: place.id.clone() })
}

/// What the metadata tell, in either form.
fn describe(summary: &mut Summary, meta: &Meta) {
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

/// The last turn of the log, found from its end.
fn last_turn(store: &Arc<dyn Store>, place: &Place) -> Result<Option<TurnRecord>, LayoutError> {
    for (_, path) in Files::list(store, &place.path)?.turns.iter().rev() {
        let scan = Scan::new(StoreSource::open(store, path)?, path.clone());
        for item in scan.reverse().map_err(StoreError::io("read", path))? {
            let Item::Record(record) = item.map_err(StoreError::io("read", path))? else {
                continue;
            };
            let turn = record.text().and_then(|text| TurnRecord::parse(&Slice::whole(text)).ok());
            if turn.is_some() {
                return Ok(turn);
            }
        }
    }
    Ok(None)
}

/// What is given for a new session, in the words of the game.
fn new_session(new: &New) -> Result<NewSession, LayoutError> {
    let mut session = NewSession::new(SessionId::parse(&new.id)?);
    let wrong = |key: &str, value: &Tree, wanted: &str| {
        LayoutError::request(format!("{key} is {}, not {wanted}", value.kind()))
    };
    for (key, value) in new.fields.children() {
        let is_object = value.kind() == Kind::Object;
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
        if config.kind() != Kind::Object {
            return Err(wrong("config", config, "an object"));
        }
        session.config = config.clone();
    }
    Ok(session)
}

impl From<GameError> for LayoutError {
    fn from(error: GameError) -> LayoutError {
        match error {
            GameError::Store(error) => LayoutError::Store(error),
            GameError::Name(error) => LayoutError::Name(error),
            GameError::NoSession { id } => LayoutError::NoSession { id: id.to_string() },
            GameError::Taken { id, place } => {
                LayoutError::Taken { id: id.to_string(), path: place }
            }
            GameError::NoTurn { turn, first, last } => LayoutError::NoTurn { turn, first, last },
            GameError::Status { id, status, wanted } => {
                LayoutError::Status { id: id.to_string(), status: status.to_string(), wanted }
            }
            GameError::Damaged { .. } | GameError::NoState { .. } => {
                LayoutError::Damaged { what: chain(&error) }
            }
            GameError::Archive(archive) if archive.is_damage() => {
                LayoutError::Damaged { what: chain(&*archive) }
            }
            other => LayoutError::request(chain(&other)),
        }
    }
}
