//! Sessions that are packed into one file each, and taken out again; for every layout whose sessions are directories.

use std::sync::Arc;

use crate::staging::{BATCH_BYTES, Staging, built};
use crate::trash::{TrashName, Trashed, throw_away};
use everturn_archive::{ArchiveError, Limits, Pieces, Progress, Unpack, check, pack, verify};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_store::{Durability, Expect, Secrecy, Step, Store, StoreError, Writer};

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

/// A session that is locked: its directory, its archive, and the place in the trash for the one that goes.
pub struct Shelf<'s> {
    /// The store.
    pub store: &'s Arc<dyn Store>,
    /// The writer that holds the lock.
    pub writer: &'s dyn Writer,
    /// The session.
    pub id: &'s SessionId,
    /// Its directory.
    pub dir: &'s FilePath,
    /// Its archive.
    pub file: &'s FilePath,
    /// The place in the trash.
    pub trash: &'s TrashName,
    /// How it is packed.
    pub how: &'s Archiving,
}

impl Shelf<'_> {
    /// Packs the directory. The archive is read back and compared before one commit stores it and moves the directory
    /// to the trash.
    pub fn pack<E>(&self, progress: &mut dyn FnMut(Progress)) -> Result<Archived, E>
    where
        E: From<ArchiveError> + From<StoreError> + From<NameError>,
    {
        let Shelf { store, id, dir, file, how, .. } = self;
        let packed = pack(&***store, dir, id.as_name(), &how.limits, progress)?;
        verify(&packed.bytes[..], &packed.contents, &how.limits)?;
        let bytes = packed.bytes.len() as u64;
        let (trashed, away) = throw_away(self.trash, dir)?;
        let (expect, secrecy, file) = (Expect::Absent, Secrecy::Usual, FilePath::clone(file));
        let store_it = Step::Replace { file: file.clone(), expect, bytes: packed.bytes, secrecy };
        self.writer.commit(vec![store_it, away], Durability::Synced)?;
        Ok(Archived { file, bytes, trashed })
    }

    /// Unpacks the archive. All of it is checked before anything is unpacked; one commit puts the directory in its place,
    /// with what `last` makes of it, and moves the archive to the trash. Nothing, if there is not a file in it.
    pub fn unpack<E>(
        &self,
        last: impl FnOnce(&FilePath) -> Result<Vec<Step>, E>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<Archived>, E>
    where
        E: From<ArchiveError> + From<StoreError> + From<NameError>,
    {
        let Shelf { store, writer, id, dir, file, how, .. } = self;
        let missing = || StoreError::Missing { path: FilePath::clone(file) };
        let bytes = store.stat(file)?.ok_or_else(missing)?.len;
        let contents = check(Pieces::open(&***store, file)?, id.as_name(), &how.limits)?;
        if contents.is_empty() {
            return Ok(None);
        }
        let (trashed, away) = throw_away(self.trash, file)?;
        built(store, *writer, id, || {
            let total = contents.len();
            let mut staging = Staging::begin(store, *writer, id, how.batch, total, progress)?;
            let (top, built) = (FilePath::root().join(id.as_name()), staging.dir.clone());
            for unpacked in Unpack::new(Pieces::open(&***store, file)?, id.as_name(), &how.limits) {
                let (path, bytes) = unpacked?;
                if let Some(to) = path.moved(&top, &built) {
                    staging.put(to, bytes)?;
                }
            }
            staging.flush()?;
            let mut steps = last(&built)?;
            steps.push(away);
            Ok::<_, E>(staging.finish(FilePath::clone(dir), steps)?)
        })?;
        Ok(Some(Archived { file: FilePath::clone(file), bytes, trashed }))
    }
}
