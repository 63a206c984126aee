//! Checks a thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::paths::{log_file, threads_dir};
use crate::record::RecordType;
use crate::thread::Thread;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{SessionError, error_chain};
use everturn_session::marks;
use everturn_store::Store;

/// The checked files, and the findings.
pub struct ThreadCheck {
    /// The files.
    pub files: BTreeSet<FilePath>,
    /// The number of valid records.
    pub records: u64,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// Whether a directory is that of a thread.
pub fn is_thread_dir(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    dir.parent().is_some_and(|parent| parent.name() == threads_dir().name())
        && dir.name().is_some_and(|name| SessionId::parse(name.as_str()).is_ok())
        && matches!(store.stat(&log_file(dir)), Ok(Some(_)))
}

impl Thread {
    /// All findings of the thread in `dir`.
    pub(crate) fn check(
        &self,
        store: &Arc<dyn Store>,
        dir: &FilePath,
    ) -> Result<Vec<Finding>, SessionError> {
        let file = log_file(dir);
        let mut findings = self.findings.clone();
        let id = dir.name().map_or_else(String::new, |name| name.as_str().to_owned());
        match self.header().map(|header| header.id()) {
            None => {
                let message = "it has no header with the ID of the thread".to_owned();
                findings.push(Finding::new(&file, FindingCode::BadMetadata, message));
            }
            Some(named) if named != id => {
                let message = format!("its header names the thread {named:?}");
                findings.push(Finding::new(&file, FindingCode::BadMetadata, message));
            }
            Some(_) => {}
        }
        for (position, record) in self.records.iter().enumerate() {
            let mut note = |code, message: String| {
                findings.push(Finding::new(&file, code, message).at_offset(record.offset));
            };
            let (namespace, id) = (record.namespace(), record.id());
            match record.kind {
                RecordType::Checkpoint => {
                    let parent = record.text("parent");
                    if let Some(parent) = parent
                        && self.checkpoint(&namespace, &parent).is_none()
                    {
                        let message = format!("checkpoint {id:?} has no parent {parent:?}");
                        note(FindingCode::MissingParent, message);
                    }
                    if let Err(error) = self.channels(position) {
                        let message = format!("checkpoint {id:?}: {}", error_chain(&error));
                        note(FindingCode::BadRecord, message);
                    }
                }
                RecordType::Writes => {
                    let of = record.text("checkpoint").unwrap_or_default();
                    if self.checkpoint(&namespace, &of).is_none() {
                        let message = format!("writes for checkpoint {of:?}, which does not exist");
                        note(FindingCode::UnknownReference, message);
                    }
                }
                RecordType::Header | RecordType::Item | RecordType::Operation => {}
            }
        }
        findings.extend(marks::check_marks(store, dir, self.main_line().len() as u64)?);
        Ok(findings)
    }
}

/// Checks the thread in a directory.
pub fn check_dir(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    watch: &mut dyn FindingSink,
) -> Result<ThreadCheck, SessionError> {
    let mut files = BTreeSet::new();
    for file in [log_file(dir), marks::marks_file(dir)] {
        if store.stat(&file)?.is_some() {
            watch.file(&file);
            files.insert(file);
        }
    }
    let thread = Thread::open(store, dir)?;
    let findings = thread.check(store, dir)?;
    Ok(ThreadCheck { files, records: thread.records().len() as u64, findings })
}
