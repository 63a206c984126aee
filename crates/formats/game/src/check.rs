//! Checks game sessions for problems beyond those of any JSON file.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::GameError;
use super::paths::{DocumentFile, GameStatus, LogKind, SESSIONS, join_names};
use super::session::{Session, find};
use super::survey::{GameLocation, SurveyResult, UnreadablePolicy, survey};
use everturn_archive::{ArchiveLimits, StoreFileReader, check};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::finding_sink::{CheckStats, FindingSink};
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError, snapshot};

/// Checks a session: every line, every document, and whether they are consistent.
///
/// Writes nothing; memory does not grow with the session. Unreadable data is a finding.
pub fn check_session(
    store: &Arc<dyn Store>,
    id: &SessionId,
    watch: &mut dyn FindingSink,
) -> Result<CheckStats, GameError> {
    let status = find(store, id)?.ok_or_else(|| GameError::NoSession { id: id.clone() })?;
    let place = GameLocation::of(&status.session(id));
    Ok(check_dir(&snapshot(store, &place.anywhere())?, &place, watch)?.checked)
}

/// The result of checking a directory.
#[derive(Debug, Default)]
pub struct DirectoryCheck {
    pub checked: CheckStats,
    /// The files that need no further check.
    pub covered: BTreeSet<FilePath>,
}

impl GameLocation {
    /// Derives the location from the path of a session's directory.
    pub fn of(dir: &FilePath) -> GameLocation {
        let mut above = dir.ancestors();
        let name =
            |path: Option<FilePath>| path.and_then(|path| path.name()).map(|name| name.to_string());
        let (status, sessions) = (name(above.next()), name(above.next()));
        let status = status.and_then(|status| GameStatus::parse(&status));
        let status = status.filter(|_| sessions.as_deref() == Some(SESSIONS));
        GameLocation { dir: dir.clone(), id: name(Some(dir.clone())), status }
    }

    /// Returns every directory the session can be in, this one first: pausing and resuming moves it.
    pub fn anywhere(&self) -> Vec<FilePath> {
        let mut dirs = vec![self.dir.clone()];
        let sessions = self.dir.ancestors().nth(1).filter(|_| self.status.is_some());
        if let (Some(sessions), Some(id)) = (sessions, &self.id) {
            let others = GameStatus::ALL.into_iter().filter(|status| Some(*status) != self.status);
            dirs.extend(others.map(|status| join_names(&sessions, &[status.as_str(), id])));
        }
        dirs
    }
}

/// Returns whether a directory is a session's, by its path or by its contents.
pub fn is_session_dir(store: &Arc<dyn Store>, dir: &FilePath) -> Result<bool, StoreError> {
    if GameLocation::of(dir).status.is_some() {
        return Ok(true);
    }
    let is = |path: FilePath, kind: FileKind| -> Result<bool, StoreError> {
        Ok(store.stat(&path)?.is_some_and(|stat| stat.kind == kind))
    };
    Ok(is(DocumentFile::Meta.in_dir(dir), FileKind::File)?
        || (is(DocumentFile::World.in_dir(dir), FileKind::File)?
            && is(join_names(dir, &[LogKind::Turns.as_str()]), FileKind::Dir)?))
}

/// Checks the session in a directory.
pub fn check_dir(
    store: &Arc<dyn Store>,
    place: &GameLocation,
    watch: &mut dyn FindingSink,
) -> Result<DirectoryCheck, GameError> {
    if let Some(looked) = check_blocked_directories(store, place, watch)? {
        return Ok(looked);
    }
    let session = open(store, place)?;
    let SurveyResult { checked, covered, .. } =
        survey(&session, place, UnreadablePolicy::Report, watch)?;
    Ok(DirectoryCheck { checked, covered })
}

/// Checks for files where the session needs directories. If there are any, nothing else can be checked.
fn check_blocked_directories(
    store: &Arc<dyn Store>,
    place: &GameLocation,
    watch: &mut dyn FindingSink,
) -> Result<Option<DirectoryCheck>, GameError> {
    let mut looked = DirectoryCheck::default();
    for name in ["turns", "deltas", "snapshots", "scenes", "indexes"] {
        let file = join_names(&place.dir, &[name]);
        let Some(stat) = store.stat(&file)? else { continue };
        if stat.kind == FileKind::File {
            let message =
                "it is not a directory, although the session stores files in it".to_owned();
            let finding = Finding::new(&file, FindingCode::Unreadable, message);
            looked.checked.count(&finding);
            watch.finding(finding);
        }
    }
    Ok((looked.checked.findings > 0).then_some(looked))
}

/// Checks a session archive, if the file is one: it must be complete and contain no disallowed entries.
pub fn check_archive(store: &Arc<dyn Store>, file: &FilePath) -> Option<Vec<Finding>> {
    let name = file.name()?;
    let id = SessionId::parse(name.as_str().strip_suffix(".tar.gz")?).ok()?;
    if super::paths::archive(&id).ok().as_ref() != Some(file) {
        return None;
    }
    let looked = StoreFileReader::open(&**store, file);
    let looked = looked.and_then(|pieces| check(pieces, id.as_name(), &ArchiveLimits::default()));
    let message = match looked {
        Ok(contents) if !contents.files.is_empty() => return Some(Vec::new()),
        Ok(_) => "it contains no files".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(vec![Finding::new(file, FindingCode::Unreadable, message)])
}

/// Opens a session for checking, whatever its name.
pub(crate) fn open(store: &Arc<dyn Store>, place: &GameLocation) -> Result<Session, GameError> {
    let named = place.id.as_deref().and_then(|id| SessionId::parse(id).ok());
    let id = match named {
        Some(id) => id,
        None => SessionId::parse("session")?,
    };
    Session::open_in(
        Arc::clone(store),
        &id,
        place.status.unwrap_or(GameStatus::Active),
        place.dir.clone(),
    )
}
