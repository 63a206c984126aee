//! [`OverlayStore`]: a store as it would be after uncommitted changes, for previews.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::disk::{DirEntry, DirListing, FileId, FileKind, FileStat};
use crate::store::{Store, StoreError, Writer};
use everturn_json::names::FilePath;

/// New contents by file; `None` for a file that is removed.
pub type FileChanges = BTreeMap<FilePath, Option<Vec<u8>>>;

/// The permission bits reported for a file that does not exist yet.
const USUAL_BITS: u32 = 0o644;

/// A store with changes on top. It cannot be written to.
pub struct OverlayStore {
    store: Arc<dyn Store>,
    changes: FileChanges,
}

impl OverlayStore {
    /// Puts changes on top of a store.
    pub fn new(store: &Arc<dyn Store>, changes: FileChanges) -> OverlayStore {
        OverlayStore { store: Arc::clone(store), changes }
    }
}

impl Store for OverlayStore {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let Some(change) = self.changes.get(file) else { return self.store.read(file, range) };
        let missing = || StoreError::Missing { path: file.clone() };
        let bytes = change.as_ref().ok_or_else(missing)?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        Ok(bytes.get(place(range.start)..place(range.end)).unwrap_or_default().to_vec())
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        let Some(change) = self.changes.get(path) else { return self.store.stat(path) };
        let known = self.store.stat(path)?;
        let new = FileStat {
            kind: FileKind::File,
            len: 0,
            id: FileId::default(),
            mode: USUAL_BITS,
            modified: 0,
        };
        let len = |bytes: &Vec<u8>| FileStat {
            len: bytes.len() as u64,
            modified: 0,
            ..known.unwrap_or(new)
        };
        Ok(change.as_ref().map(len))
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        let is_new = |path: &&FilePath| path.ancestors().next().as_ref() == Some(dir);
        let written = self.changes.iter().filter(|(_, change)| change.is_some());
        let new: Vec<&FilePath> = written.map(|(path, _)| path).filter(is_new).collect();
        let mut listing = match self.store.list(dir) {
            Err(StoreError::Missing { .. }) if !new.is_empty() => DirListing::default(),
            listing => listing?,
        };
        for name in new.into_iter().filter_map(FilePath::name) {
            if listing.entries.iter().all(|entry| entry.name != name) {
                listing.entries.push(DirEntry { name, kind: FileKind::File, linked: false });
            }
        }
        listing.entries.sort_by(|one, other| one.name.cmp(&other.name));
        let is_gone = |path: &FilePath| self.changes.get(path).is_some_and(Option::is_none);
        listing.entries.retain(|entry| !is_gone(&dir.join(&entry.name)));
        Ok(listing)
    }

    fn lock(&self, _: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        Err(StoreError::ReadOnly)
    }
}
