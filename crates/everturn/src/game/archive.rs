//! Completed sessions as one compressed file each, and back.

use std::sync::Arc;

use jiff::Timestamp;

use super::error::GameError;
use super::form::Form;
use super::names::{Document, Status, archive as archive_path};
use super::session::{Session, find};
use super::staging::{BATCH_BYTES, Staging, built, staging_place};
use super::trash::{Trashed, free_place, throw_away};
use super::writer::lock_with;
use super::writer::turns::replace;
use crate::archive::{Limits, Pieces, Progress, Unpack, check, pack, verify};
use crate::names::{FilePath, SessionId};
use crate::store::{Durability, Expect, Secrecy, Step, Store};

/// A session that became an archive, or came out of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The archive.
    pub file: FilePath,
    /// How many bytes it has.
    pub bytes: u64,
    /// What was put into the trash: the directory that was packed, or the archive that was unpacked.
    pub trashed: Trashed,
}

/// How archives are made and unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archiving {
    /// How much an archive may be and hold.
    pub limits: Limits,
    /// How many bytes one commit may carry while an archive is unpacked, unless a single file has more.
    pub batch: u64,
}

impl Default for Archiving {
    fn default() -> Archiving {
        Archiving { limits: Limits::default(), batch: BATCH_BYTES }
    }
}

/// Packs a completed session into `sessions/archives/<id>.tar.gz`.
///
/// The archive is read back and compared before one commit stores it and moves the directory to the trash.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn::game::{Archiving, GameWriter, NewSession, archive, list, unarchive};
/// use everturn::names::SessionId;
/// use everturn::store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let game = GameWriter::create(Arc::clone(&store), &NewSession::new(id.clone()), now)?;
/// game.complete(now)?;
/// let how = Archiving::default();
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
    how: &Archiving,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Archived, GameError> {
    let file = archive_path(id)?;
    let place = free_place(store, id, now)?;
    let writer = lock_with(store, id, &[file.clone(), place.place()?])?;
    let session = Session::open(Arc::clone(store), id)?;
    session.must_be(&[Status::Completed], "completed")?;
    session.writable_meta()?;
    if store.stat(&file)?.is_some() {
        return Err(GameError::Taken { id: id.clone(), place: file });
    }
    let packed = pack(&**store, &session.dir, id.as_name(), &how.limits, progress)?;
    verify(&packed.bytes[..], &packed.contents, &how.limits)?;
    let bytes = packed.bytes.len() as u64;
    let (trashed, away) = throw_away(&place, &session.dir)?;
    let (expect, secrecy) = (Expect::Absent, Secrecy::Usual);
    let store_it = Step::Replace { file: file.clone(), expect, bytes: packed.bytes, secrecy };
    writer.commit(vec![store_it, away], Durability::Synced)?;
    writer.release()?;
    Ok(Archived { file, bytes, trashed })
}

/// Unpacks the archive of a session, which must not exist anywhere else, to `sessions/completed/<id>`.
///
/// The whole archive is checked before anything is unpacked. One commit puts the session in its place and
/// moves the archive to the trash.
pub fn unarchive(
    store: &Arc<dyn Store>,
    id: &SessionId,
    how: &Archiving,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Archived, GameError> {
    let file = archive_path(id)?;
    let place = free_place(store, id, now)?;
    let writer = lock_with(store, id, &[file.clone(), place.place()?, staging_place(id)])?;
    if let Some(status) = find(store, id)? {
        return Err(GameError::Taken { id: id.clone(), place: status.session(id) });
    }
    let Some(stat) = store.stat(&file)? else {
        return Err(GameError::NoSession { id: id.clone() });
    };
    let contents = check(Pieces::open(&**store, &file)?, id.as_name(), &how.limits)?;
    if contents.is_empty() {
        return Err(GameError::damaged(&file, "there is no file in it"));
    }
    let (trashed, away) = throw_away(&place, &file)?;
    built(store, &*writer, id, || {
        let total = contents.len();
        let mut staging = Staging::begin(store, &*writer, id, how.batch, total, progress)?;
        let (top, dir) = (FilePath::root().join(id.as_name()), staging.dir.clone());
        for unpacked in Unpack::new(Pieces::open(&**store, &file)?, id.as_name(), &how.limits) {
            let (path, bytes) = unpacked?;
            if let Some(to) = path.moved(&top, &dir) {
                staging.put(to, bytes)?;
            }
        }
        staging.flush()?;
        let mut last = completed(store, id, &dir)?;
        last.push(away);
        Ok(staging.finish(Status::Completed.session(id), last)?)
    })?;
    writer.release()?;
    Ok(Archived { file, bytes: stat.len, trashed })
}

/// What makes the metadata say that a session is completed, whoever has packed it.
fn completed(
    store: &Arc<dyn Store>,
    id: &SessionId,
    dir: &FilePath,
) -> Result<Vec<Step>, GameError> {
    let session = Session::open_in(Arc::clone(store), id, Status::Completed, dir.clone())?;
    let status = Status::Completed.as_str();
    match session.meta {
        Some(mut meta)
            if session.form == Form::Documented
                && meta.check_version(id).is_ok()
                && meta.text(&["status"]).as_deref() != Some(status) =>
        {
            meta.put(&["status"], status);
            Ok(vec![replace(Document::Meta.in_dir(dir), meta.to_bytes())])
        }
        _ => Ok(Vec::new()),
    }
}
