//! Threads in the common model: a turn is an item or a checkpoint of the main line.

mod checks;
mod editor;
mod keys;
mod lifecycle;
mod reader;

use std::sync::Arc;

use jiff::Timestamp;

use crate::branch;
use crate::paths::{log_file, threads_dir};
use crate::repair;
use crate::thread::Thread;
use crate::writer::ThreadWriter;
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::{
    Capabilities, EditableFormat, Feature, RepairMode, SessionEditor, SessionError, SessionFormat,
    SessionReader, require_usable_id,
};
use everturn_session::marks::{marks_changed, marks_file};
use everturn_session::model::{
    BranchKind, Dependencies, ForkOptions, ForkOutcome, NewSession, SessionListing, SessionRef,
    SessionStatus, SessionSummary,
};
use everturn_session::repair::RepairReport;
use everturn_session::session_files::SessionFiles;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};

/// The format of threads.
#[derive(Debug, Clone, Copy)]
pub struct ThreadFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &ThreadFormat;

/// The name of the format on the command line.
const NAME: &str = "thread";

impl SessionFormat for ThreadFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            checked: Some(self),
            editing: Some(self),
            lifecycle: Some(self),
            keys: Some(self),
            features: &[Feature::Title],
            ..Capabilities::default()
        }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let dir = threads_dir();
        let listing = match store.list(&dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => return Ok(SessionListing::default()),
            Err(error) => return Err(error.into()),
        };
        let mut found = SessionListing::default();
        for (name, reason) in listing.refused {
            let message = format!("contains {name:?}, which is ignored: {reason}");
            found.findings.push(Finding::new(&dir, FindingCode::BadName, message));
        }
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            let is_thread = entry.kind == FileKind::Dir
                && SessionId::parse(entry.name.as_str()).is_ok()
                && store.stat(&log_file(&path))?.is_some();
            if is_thread {
                found.sessions.push(SessionRef { id: entry.name.as_str().to_owned(), path });
            }
        }
        Ok(found)
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let thread = Thread::open(store, &place.path)?;
        let header = thread.header();
        let text = |field: &str| header.and_then(|header| header.text(field));
        let created = text("created").and_then(|time| time.parse().ok());
        let last = thread.records().iter().filter_map(|record| record.time()).max();
        let marked = marks_changed(store, &place.path)?;
        let rewound = text("changed").and_then(|time| time.parse().ok());
        let forked =
            created.filter(|_| text("branch").as_deref() == Some(BranchKind::Fork.as_str()));
        Ok(SessionSummary {
            title: text("title").unwrap_or_else(|| place.id.clone()),
            created,
            updated: last.max(marked).max(rewound).max(forked).or(created),
            turns: Some(thread.main_line().len() as u64),
            parent: text("parent"),
            findings: thread.findings.clone(),
            ..SessionSummary::new(place, NAME, SessionStatus::Active)
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        Ok(Box::new(reader::ThreadReader::open(store, &place.path)?))
    }

    fn project(&self, _: &Arc<dyn Store>, _: &SessionRef) -> Result<Option<String>, SessionError> {
        Ok(None)
    }

    fn dependencies(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        // A new checkpoint may continue another branch, so the entries before it may change with it.
        Ok(Dependencies::on(vec![log_file(&place.path), marks_file(&place.path)]))
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(SessionFiles::for_ref(place))
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl EditableFormat for ThreadFormat {
    fn assigns_ids(&self) -> bool {
        false
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        require_usable_id(&new.id)?;
        Ok(Box::new(editor::ThreadEditor { writer: ThreadWriter::create(store, new, now)? }))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let writer = ThreadWriter::open(store, &SessionId::parse(&place.id)?)?;
        Ok(Box::new(editor::ThreadEditor { writer }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        how.id.as_deref().map_or(Ok(()), require_usable_id)?;
        branch::fork(store, place, how, now)
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        _: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        branch::rewind(store, place, turn, now)
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        repair::repair(store, place, repairing, now)
    }
}
