//! The traits of a session format.
//!
//! A [`SessionFormat`] finds its sessions in a store, opens them for reading ([`SessionReader`]), and shows them in the
//! types of [`model`](crate::model). Its [`Capabilities`] say what else it offers: an [`EditableFormat`] opens sessions
//! for writing ([`SessionEditor`]), a [`FormatLifecycle`] archives and trashes them, [`ExternalSessions`] belong to
//! another program. What follows from the required methods is written once, as methods of `dyn SessionFormat`.
//!
//! A new format is a crate with one implementation, and a line in the registry of `everturn-maintenance`.

mod abilities;
mod archived;
mod capabilities;
mod checked;
mod editor;
mod error;
mod listed;
mod reader;
mod recent;
mod reserved;
mod settled;

use std::fmt;
use std::sync::Arc;

use crate::model::{Dependencies, SessionListing, SessionRef, SessionStatus, SessionSummary};
use crate::session_files::SessionFiles;
use everturn_json::finding::Finding;
use everturn_json::names::{FilePath, Name};
use everturn_store::{Store, StoreError, read_consistently, snapshot};

pub use archived::unpack_to_memory;
pub use capabilities::{
    BulkListing, Capabilities, DerivedData, EditableFormat, ExportLog, ExternalSessions, Feature,
    FormatLifecycle, KeyedTurns, ListedSummary, Operation, RepairMode, SessionIndex, StateAdoption,
    StoredTurn, TimePrecision, Transition,
};
pub use checked::{CheckScope, CheckedFormat, FormatCheck};
pub use editor::{
    MarkEditor, RevisionEditor, SceneEditor, SessionEditor, SnapshotEditor, TitleEditor, UndoEditor,
};
pub use error::SessionError;
pub use error::error_chain;
pub use listed::{ListedSession, open_listed};
pub use reader::{
    BranchedSession, CurrentState, EntryIndex, MarkedSession, OutlinedSession, ReaderAbilities,
    RecordReport, RecordStream, SessionMetadata, SessionReader, SnapshotStream, StateHistory,
    StoredSnapshots, UsageRecords,
};
pub use recent::sort_newest_first;
pub use reserved::{LATEST, require_usable_id};
pub use settled::list_settled;

/// How often a list is retried if sessions are moved meanwhile.
pub const MAX_LIST_TRIES: usize = 10;

/// One kind of session on disk: finds its sessions and reads them.
pub trait SessionFormat: Send + Sync {
    /// Its name, as users write it.
    fn name(&self) -> &'static str;

    /// What it offers beyond reading.
    fn capabilities(&self) -> Capabilities<'_>;

    /// Locates its sessions. Reads directories only, as far as that is sufficient. The listing is empty if the store
    /// has no sessions of this format.
    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError>;

    /// The files and directories of the snapshot from which a session is read.
    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError>;

    /// Reads the summary of a session from its metadata, from files that do not change meanwhile.
    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError>;

    /// Opens a session for reading, from files that do not change meanwhile.
    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError>;

    /// The directory in which the agent of a session works, according to its data.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError>;

    /// The files whose changes indicate that a session has changed.
    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError>;

    /// The files that belong to a session.
    fn session_files(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError>;

    /// A unique key of a session that stays the same when it is paused, completed or archived.
    fn stable_key(&self, place: &SessionRef) -> String;
}

/// Formats are equal if they have the same name.
impl PartialEq for dyn SessionFormat + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn SessionFormat + '_ {}

impl fmt::Debug for dyn SessionFormat + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionFormat").field(&self.name()).finish()
    }
}

impl dyn SessionFormat + '_ {
    /// Reads the summary of a session from its metadata, also if it is archived.
    pub fn summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        if let Some(inside) = self.archived(place) {
            return self.archive_summary(store, place, &inside);
        }
        let paths = self.snapshot_paths(place)?;
        read_consistently(store, &paths, |store| self.read_summary(store, place))
    }

    /// Reads the summary of an archived session. A damaged archive is still listed as one.
    fn archive_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        inside: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let mut summary = match unpack_archive(store, place, inside) {
            Ok(held) => self.read_summary(&held, inside)?,
            Err(error) if error.is_busy() => return Err(error),
            Err(error) => self.unreadable_summary(place, &error),
        };
        summary.session = place.clone();
        summary.status = SessionStatus::Archived;
        Ok(summary)
    }

    /// Lists all sessions with their summaries. An unreadable session does not hide the others: it is listed with a
    /// finding.
    pub fn list(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(Vec<SessionSummary>, Vec<Finding>), SessionError> {
        if let Some(listing) = self.capabilities().listing {
            let (listed, findings) = listing.list(store)?;
            return Ok((listed.into_iter().map(|(summary, _)| summary).collect(), findings));
        }
        let summary = |place: &SessionRef| {
            self.summary(store, place)
                .unwrap_or_else(|error| self.unreadable_summary(place, &error))
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let SessionListing { sessions: places, findings } = self.locate(store)?;
            let summaries = places.iter().map(summary).collect();
            // A session that was paused or resumed meanwhile has moved.
            if tries == MAX_LIST_TRIES || !self.any_moved(store, &mut places.iter())? {
                return Ok((summaries, findings));
            }
        }
    }

    /// The sessions that were forked from a session, or set aside when it was rewound, and a finding for each session
    /// that could not be read and may be one of them.
    pub fn list_forks(
        &self,
        store: &Arc<dyn Store>,
        id: &str,
    ) -> Result<(Vec<SessionSummary>, Vec<Finding>), SessionError> {
        let (sessions, mut findings) = self.list(store)?;
        let mut forks = Vec::new();
        for mut found in sessions {
            if self.lists_briefly() {
                // The list has no parents.
                let read = self.summary(store, &found.session);
                found =
                    read.unwrap_or_else(|error| self.unreadable_summary(&found.session, &error));
            }
            findings.extend(found.findings.iter().cloned());
            if found.parent.as_deref() == Some(id) {
                forks.push(found);
            }
        }
        forks.sort_by(|one, other| one.session.id.cmp(&other.session.id));
        Ok((forks, findings))
    }

    /// Whether the list has only the times of the sessions.
    #[must_use]
    pub fn lists_briefly(&self) -> bool {
        self.capabilities().listing.is_some_and(BulkListing::lists_briefly)
    }

    /// Whether a session is no longer where it was located.
    pub fn any_moved(
        &self,
        store: &Arc<dyn Store>,
        places: &mut dyn Iterator<Item = &SessionRef>,
    ) -> Result<bool, SessionError> {
        // Other programs keep several sessions in one file, where a path cannot be checked.
        for place in places.filter(|_| !self.is_external()) {
            match store.stat(&place.path) {
                Ok(None) => return Ok(true),
                // Its log holds commits for this place that cannot be shown.
                Ok(Some(_)) | Err(StoreError::Blocked { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// The summary of a session that cannot be read.
    #[must_use]
    pub fn unreadable_summary(&self, place: &SessionRef, error: &SessionError) -> SessionSummary {
        let mut summary = SessionSummary::new(place, self.name(), SessionStatus::Unknown);
        let message = format!("cannot be read: {}", error_chain(error));
        summary.findings.push(Finding::new(&place.path, error.finding_code(), message));
        summary
    }

    /// Opens a session for reading, as of a point between two commits. Later commits are not visible. An archived session
    /// is unpacked in memory.
    pub fn open(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        if let Some(inside) = self.archived(place) {
            return self.open_reader(&unpack_archive(store, place, &inside)?, &inside);
        }
        self.open_reader(&snapshot(store, &self.snapshot_paths(place)?)?, place)
    }

    /// The ref that an archived session would have unpacked; `None` if `place` is not an archive.
    #[must_use]
    pub fn archived(&self, place: &SessionRef) -> Option<SessionRef> {
        self.capabilities().lifecycle?.archived(place)
    }

    /// Whether its sessions belong to another program, and are read only.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.capabilities().external.is_some()
    }

    /// The editing of its sessions, or an error that names the operation.
    pub fn editing(&self, operation: Operation) -> Result<&dyn EditableFormat, SessionError> {
        self.capabilities().editing.ok_or_else(|| self.unsupported(operation.as_str()))
    }

    /// The lifecycle of its sessions, or an error that names the operation.
    pub fn lifecycle(&self, operation: Operation) -> Result<&dyn FormatLifecycle, SessionError> {
        let lifecycle = self.capabilities().lifecycle.filter(|lifecycle| match operation {
            Operation::Transition(transition) => lifecycle.transitions().contains(&transition),
            _ => true,
        });
        lifecycle.ok_or_else(|| self.unsupported(operation.as_str()))
    }

    /// Whether its sessions have something beyond the common model.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.capabilities().features.contains(&feature)
    }

    /// Returns an error if its sessions lack a feature.
    pub fn require(&self, feature: Feature) -> Result<(), SessionError> {
        match self.has(feature) {
            true => Ok(()),
            false => Err(self.unsupported(feature.as_str())),
        }
    }

    /// The idempotency keys of its turns, or an error.
    pub fn keys(&self) -> Result<&dyn KeyedTurns, SessionError> {
        self.capabilities().keys.ok_or_else(|| self.unsupported(Operation::Keys.as_str()))
    }

    /// The adoption of edited state files, or an error that names the operation.
    pub fn adoption(&self, operation: Operation) -> Result<&dyn StateAdoption, SessionError> {
        self.capabilities().adoption.ok_or_else(|| self.unsupported(operation.as_str()))
    }

    /// What it offers for sessions of another program, or an error that names the operation.
    pub fn external(&self, operation: Operation) -> Result<&dyn ExternalSessions, SessionError> {
        self.capabilities().external.ok_or_else(|| self.unsupported(operation.as_str()))
    }

    /// Returns an error if the session belongs to another program: nothing is written to its files or beside them.
    pub fn require_writable(&self, place: &SessionRef) -> Result<(), SessionError> {
        if !self.is_external() {
            return Ok(());
        }
        let (id, name) = (&place.id, self.name());
        let what = format!(
            "session {id} belongs to another program ({name}), and its files are read-only"
        );
        Err(SessionError::request(format!("{what}; copy it with: everturn convert")))
    }

    /// The error for an operation that the format lacks.
    #[must_use]
    pub fn unsupported(&self, what: &'static str) -> SessionError {
        let layout = self.name();
        match self.is_external() {
            true => SessionError::ReadOnly { layout, what },
            false => SessionError::Unsupported { layout, what },
        }
    }
}

/// Unpacks the archive of a session into memory.
fn unpack_archive(
    store: &Arc<dyn Store>,
    place: &SessionRef,
    inside: &SessionRef,
) -> Result<Arc<dyn Store>, SessionError> {
    unpack_to_memory(store, &place.path, &Name::parse(&place.id)?, &inside.path)
}
