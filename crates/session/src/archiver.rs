//! Packs sessions into one file each and unpacks them, for every format whose sessions are directories.

use std::sync::Arc;

use crate::staging::{BATCH_BYTES, StagingDir, build_staged};
use crate::trash::{TrashEntry, TrashName, move_to_trash};
use everturn_archive::{
    ArchiveError, ArchiveLimits, PackProgress, StoreFileReader, Unpacker, check, pack, verify,
};
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_store::{Durability, Step, Store, StoreError, Writer};

/// The result of packing or unpacking a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOutcome {
    /// The archive.
    pub file: FilePath,
    /// Its size in bytes.
    pub bytes: u64,
    /// The item that was moved to the trash: the packed directory, or the unpacked archive.
    pub trashed: TrashEntry,
}

/// Options for packing and unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// The limits of an archive and its contents.
    pub limits: ArchiveLimits,
    /// The most bytes in one commit while an archive is unpacked, unless a single file is larger.
    pub batch: u64,
}

impl Default for ArchiveOptions {
    fn default() -> ArchiveOptions {
        ArchiveOptions { limits: ArchiveLimits::default(), batch: BATCH_BYTES }
    }
}

/// A locked session: its directory, its archive, and the trash entry for whichever of them is replaced.
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
    /// The name in the trash.
    pub trash: &'s TrashName,
    /// The options.
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
        let file = FilePath::clone(file);
        let store_it = Step::create(file.clone(), packed.bytes);
        self.writer.commit(vec![store_it, away], Durability::Synced)?;
        Ok(ArchiveOutcome { file, bytes, trashed })
    }

    /// Unpacks the archive after checking all of it. One commit moves the directory into place, applies the steps of
    /// `last` and moves the archive to the trash. Returns `None` if the archive contains no file.
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
