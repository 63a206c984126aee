//! Repaired copies of files of other programs. The files themselves are never changed.

use std::sync::Arc;

use crate::format::SessionError;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Durability, FileMode, Fingerprint, Precondition, Step, Store};

/// One difference of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyRepair {
    /// The line in the original, counted from 1.
    pub line: Option<u64>,
    /// The byte offset in the original, counted from 0.
    pub offset: Option<u64>,
    /// The problem, if it is a finding.
    pub code: Option<FindingCode>,
    /// What was done about it.
    pub what: String,
}

/// A repaired copy, not yet written.
#[derive(Debug, Clone)]
pub struct RepairedCopy {
    /// The name of the file.
    pub name: Name,
    /// The differences from the original, in file order.
    pub repairs: Vec<CopyRepair>,
    /// The problems that remain in the copy.
    pub findings: Vec<Finding>,
    /// The copy.
    pub copy: Vec<u8>,
    /// The bytes that the copy leaves out.
    pub quarantined: Vec<u8>,
}

impl RepairedCopy {
    /// Whether the copy differs from the original.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.repairs.is_empty()
    }

    /// The name of the file beside the copy for the bytes left out, if there are any.
    pub fn quarantine_name(&self) -> Result<Option<Name>, SessionError> {
        if self.quarantined.is_empty() {
            return Ok(None);
        }
        Ok(Some(Name::parse(&format!("{}.quarantine", self.name))?))
    }

    /// Writes the copy and the bytes left out, both or neither. Neither file may exist.
    pub fn write(&self, store: &Arc<dyn Store>) -> Result<(), SessionError> {
        let mut files = vec![(FilePath::root().join(&self.name), &self.copy)];
        if let Some(name) = self.quarantine_name()? {
            files.push((FilePath::root().join(&name), &self.quarantined));
        }
        let scopes: Vec<FilePath> = files.iter().map(|(file, _)| file.clone()).collect();
        for file in &scopes {
            if store.stat(file)?.is_some() {
                return Err(SessionError::request(format!("{file} already exists")));
            }
        }
        let writer = store.lock(&scopes)?;
        let step = |(file, bytes): &(FilePath, &Vec<u8>)| Step::Replace {
            file: file.clone(),
            expect: Precondition::Absent,
            bytes: (*bytes).clone(),
            mode: FileMode::OwnerOnly,
        };
        writer.commit(files.iter().map(step).collect(), Durability::Synced)?;
        writer.release()?;
        for (file, bytes) in files {
            let there = store.read(&file, 0..u64::MAX)?;
            if Fingerprint::of(&there) != Fingerprint::of(bytes) {
                return Err(SessionError::damaged(format!(
                    "{file} differs from the data written when read back"
                )));
            }
        }
        Ok(())
    }
}
