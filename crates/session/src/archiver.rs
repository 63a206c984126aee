//! Sessions that are packed into one file each, and taken out again; for every layout whose sessions are directories.

use std::sync::Arc;

use crate::staging::{BATCH_BYTES, StagingDir, build_staged};
use crate::trash::{TrashEntry, TrashName, move_to_trash};
use everturn_archive::{
    ArchiveError, ArchiveLimits, PackProgress, StoreFileReader, Unpacker, check, pack, verify,
};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError, Writer};

/// A session that became an archive, or came out of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOutcome {
    /// The archive.
    pub file: FilePath,
    /// How many bytes it has.
    pub bytes: u64,
    /// What was put into the trash: the directory that was packed, or the archive that was unpacked.
    pub trashed: TrashEntry,
}

/// How archives are made and unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// How much an archive may be and hold.
    pub limits: ArchiveLimits,
    /// How many bytes one commit may carry while an archive is unpacked, unless a single file has more.
    pub batch: u64,
}

impl Default for ArchiveOptions {
    fn default() -> ArchiveOptions {
        ArchiveOptions { limits: ArchiveLimits::default(), batch: BATCH_BYTES }
    }
}

/// A session that is locked: its directory, its archive, and the place in the trash for the one that goes.
pub struct Archiver<'s> {
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
    pub options: &'s ArchiveOptions,
}

impl Archiver<'_> {
    /// Packs the directory. The archive is read back and compared before one commit stores it and moves the directory
    /// to the trash.
    pub fn pack<E>(&self, progress: &mut dyn FnMut(PackProgress)) -> Result<ArchiveOutcome, E>
    where
        E: From<ArchiveError> + From<StoreError> + From<NameError>,
    {
        let Archiver { store, id, dir, file, options: how, .. } = self;
        let packed = pack(&***store, dir, id.as_name(), &how.limits, progress)?;
        verify(&packed.bytes[..], &packed.contents, &how.limits)?;
        let bytes = packed.bytes.len() as u64;
        let (trashed, away) = move_to_trash(self.trash, dir)?;
        let (expect, mode, file) = (Precondition::Absent, FileMode::Default, FilePath::clone(file));
        let store_it = Step::Replace { file: file.clone(), expect, bytes: packed.bytes, mode };
        self.writer.commit(vec![store_it, away], Durability::Synced)?;
        Ok(ArchiveOutcome { file, bytes, trashed })
    }

    /// Unpacks the archive. All of it is checked before anything is unpacked; one commit puts the directory in its place,
    /// with what `last` makes of it, and moves the archive to the trash. Nothing, if there is not a file in it.
    pub fn unpack<E>(
        &self,
        last: impl FnOnce(&FilePath) -> Result<Vec<Step>, E>,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Option<ArchiveOutcome>, E>
    where
        E: From<ArchiveError> + From<StoreError> + From<NameError>,
    {
        let Archiver { store, writer, id, dir, file, options: how, .. } = self;
        let missing = || StoreError::Missing { path: FilePath::clone(file) };
        let bytes = store.stat(file)?.ok_or_else(missing)?.len;
        let contents = check(StoreFileReader::open(&***store, file)?, id.as_name(), &how.limits)?;
        if contents.is_empty() {
            return Ok(None);
        }
        let (trashed, away) = move_to_trash(self.trash, file)?;
        build_staged(store, *writer, id, || {
            let total = contents.len();
            let mut staging = StagingDir::begin(store, *writer, id, how.batch, total, progress)?;
            let (top, built) = (FilePath::root().join(id.as_name()), staging.dir.clone());
            for unpacked in
                Unpacker::new(StoreFileReader::open(&***store, file)?, id.as_name(), &how.limits)
            {
                let (path, bytes) = unpacked?;
                if let Some(to) = path.rebased(&top, &built) {
                    staging.add_file(to, bytes)?;
                }
            }
            staging.flush()?;
            let mut steps = last(&built)?;
            steps.push(away);
            Ok::<_, E>(staging.finish(FilePath::clone(dir), steps)?)
        })?;
        Ok(Some(ArchiveOutcome { file: FilePath::clone(file), bytes, trashed }))
    }
}
