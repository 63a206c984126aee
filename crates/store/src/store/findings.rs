//! [`RecoveryFindings`]: the findings of recovery, shared between a store and the program that opened it.

use std::sync::{Arc, Mutex};

use super::mutex::lock_unpoisoned;
use everturn_json::finding::Finding;

/// The findings of log recovery. They outlive the store, so that a program can report them at its end even if opening
/// the store or locking a session fails.
#[derive(Debug, Clone, Default)]
pub struct RecoveryFindings(Arc<Mutex<Vec<Finding>>>);

impl RecoveryFindings {
    pub(super) fn add(&self, findings: impl IntoIterator<Item = Finding>) {
        lock_unpoisoned(&self.0).extend(findings);
    }

    /// Takes the findings since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut *lock_unpoisoned(&self.0))
    }
}
