//! [`FileWriter`]: commits in its scopes, and holds their locks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::FileStoreShared;
use crate::store::changes::ChangeMarks;
use crate::store::locks::{ScopeLocks, may_write};
use crate::store::mutex::lock_unpoisoned;
use crate::store::store_core::{may_use_reserve, release_reserve, retry_with_reserve};
use crate::store::validate::validate_batch;
use crate::store::{CommitReceipt, Durability, Step, StoreError, Writer};
use everturn_json::names::FilePath;

/// The writer of some scopes of a [`FileStore`](super::FileStore).
pub struct FileWriter {
    pub(super) shared: Arc<FileStoreShared>,
    /// The scopes that the writer was created with, and then the added ones.
    pub(super) scopes: Vec<FilePath>,
    pub(super) own_scopes: usize,
    pub(super) marks: Arc<ChangeMarks>,
    /// The locks of the first scopes, and of each addition. Empty once released.
    pub(super) locks: Vec<ScopeLocks>,
}

impl FileWriter {
    pub(super) fn check_scopes(&self, steps: &[Step]) -> Result<(), StoreError> {
        let mut paths = steps.iter().flat_map(Step::paths);
        match paths.find(|path| !may_write(&self.scopes, path)) {
            Some(path) => Err(StoreError::OutsideScope { path: path.clone() }),
            None => Ok(()),
        }
    }

    fn commit_once(
        &self,
        steps: Vec<Step>,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        let mut validated = validate_batch(steps)?;
        validated.marks = Some(Arc::clone(&self.marks));
        self.shared.stage_large_contents(&mut validated, durability)?;
        validated.stat_appended_files(&*self.shared.disk)?;
        let receipt = self.shared.queue.commit(&self.shared.core, (validated, durability))?;
        if durability == Durability::Buffered {
            self.shared.unseen.store(true, Ordering::Release);
        }
        Ok(receipt)
    }

    fn release_locks(&mut self) -> Result<(), StoreError> {
        let locks = std::mem::take(&mut self.locks);
        if locks.is_empty() {
            return Ok(());
        }
        // The next writer must not find changes that only this log would restore after a power cut.
        let safe = lock_unpoisoned(&self.shared.core).release(&self.scopes);
        self.shared.release_if_safe(locks, safe)
    }
}

impl Writer for FileWriter {
    fn commit(
        &self,
        steps: Vec<Step>,
        durability: Durability,
    ) -> Result<CommitReceipt, StoreError> {
        self.check_scopes(&steps)?;
        if !may_use_reserve(&steps) {
            return self.commit_once(steps, durability);
        }
        retry_with_reserve(
            || self.commit_once(steps.clone(), durability),
            || release_reserve(&mut lock_unpoisoned(&self.shared.core)),
        )
    }

    fn sync_file(&self, file: &FilePath) -> Result<(), StoreError> {
        lock_unpoisoned(&self.shared.core).sync_existing(file)
    }

    fn add_scopes(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        let mut core = lock_unpoisoned(&self.shared.core);
        self.locks.push(self.shared.lock_scopes(&mut core, scopes, &self.marks)?);
        self.scopes.extend_from_slice(scopes);
        Ok(())
    }

    fn release_added_scopes(&mut self) -> Result<(), StoreError> {
        let scopes = self.scopes.split_off(self.own_scopes);
        if self.locks.len() < 2 {
            return Ok(());
        }
        let locks = self.locks.split_off(1);
        let safe = lock_unpoisoned(&self.shared.core).secure_scopes(&scopes);
        self.shared.release_if_safe(locks, safe)
    }

    fn release(mut self: Box<Self>) -> Result<(), StoreError> {
        self.release_locks()
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Callers that need the result call `release`.
        drop(self.release_locks());
    }
}
