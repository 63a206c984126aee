//! Packs completed sessions into one compressed file each, and unpacks them.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::GameError;
use super::paths::{DocumentFile, GameStatus, archive as archive_path};
use super::session::{Session, find};
use super::writer::lock_with;
use super::writer::turns::replace;
use everturn_archive::PackProgress;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::archiver::Archiver;
use everturn_session::staging::staging_path;
use everturn_session::trash::allocate;
use everturn_store::{Step, Store};

pub use everturn_session::archiver::{ArchiveOptions, ArchiveOutcome};

/// Packs a completed session into `sessions/archives/<id>.tar.gz`.
///
/// The archive is read back and compared before one commit stores it and moves the directory to the trash.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{ArchiveOptions, GameWriter, NewGame, archive, list, unarchive};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let game = GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?;
/// game.complete(now)?;
/// let how = ArchiveOptions::default();
/// let done = archive(&store, &id, &how, now, &mut |_| {})?;
/// assert_eq!(done.file.as_str(), "sessions/archives/session-abc123.tar.gz");
/// assert!(list(&store)?.is_empty());
/// unarchive(&store, &id, &how, now, &mut |_| {})?;
/// assert_eq!(list(&store)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn archive(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &ArchiveOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ArchiveOutcome, GameError> {
    let file = archive_path(id)?;
    let place = allocate(store, id, now)?;
    let writer = lock_with(store, id, &[file.clone(), place.trash_path()?])?;
    let session = Session::open(Arc::clone(store), id)?;
    session.must_be(&[GameStatus::Completed], "completed")?;
    session.writable_meta()?;
    if store.stat(&file)?.is_some() {
        return Err(GameError::Taken { id: id.clone(), place: file });
    }
    let (dir, trash) = (&session.dir, &place);
    let archiver = Archiver { store, writer: &*writer, id, dir, file: &file, trash, options: how };
    let archived: ArchiveOutcome = archiver.pack::<GameError>(progress)?;
    writer.release()?;
    Ok(archived)
}

/// Unpacks the archive of a session to `sessions/completed/<id>`. The session must not exist anywhere else.
///
/// The whole archive is checked before anything is unpacked. One commit moves the session into place and the archive to
/// the trash.
pub fn unarchive(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &ArchiveOptions,
    now: Timestamp,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<ArchiveOutcome, GameError> {
    let file = archive_path(id)?;
    let place = allocate(store, id, now)?;
    let writer = lock_with(store, id, &[file.clone(), place.trash_path()?, staging_path(id)])?;
    if let Some(status) = find(store, id)? {
        return Err(GameError::Taken { id: id.clone(), place: status.session(id) });
    }
    if store.stat(&file)?.is_none() {
        return Err(GameError::NoSession { id: id.clone() });
    }
    let (dir, trash) = (&GameStatus::Completed.session(id), &place);
    let archiver = Archiver { store, writer: &*writer, id, dir, file: &file, trash, options: how };
    let archived = archiver.unpack(|built| completed(store, id, built), progress)?;
    let archived = archived.ok_or_else(|| GameError::damaged(&file, "it contains no files"))?;
    writer.release()?;
    Ok(archived)
}

/// Returns the steps that set the status in the metadata to completed, no matter which program packed the session.
fn completed(
    store: &Arc<dyn Store>,
    id: &SessionId,
    dir: &FilePath,
) -> Result<Vec<Step>, GameError> {
    let session = Session::open_in(Arc::clone(store), id, GameStatus::Completed, dir.clone())?;
    let rules = session.rules();
    let status = GameStatus::Completed.as_str();
    match session.meta {
        Some(mut meta)
            if rules.keeps_metadata()
                && meta.check_version(id).is_ok()
                && meta.text(&["status"]).as_deref() != Some(status) =>
        {
            meta.put(&["status"], status);
            Ok(vec![replace(DocumentFile::Meta.in_dir(dir), meta.to_bytes())])
        }
        _ => Ok(Vec::new()),
    }
}
