//! The traits of a session format.
//!
//! A [`SessionFormat`] finds its sessions in a store, opens them for reading ([`SessionReader`]) or writing
//! ([`SessionEditor`]), and shows them in the types of [`model`](crate::model). A new format is a crate with one
//! implementation, and a line in the registry of `everturn-maintenance`.

mod error;
mod listed;
mod settled;

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::Timestamp;

use crate::model::{
    AppendOutcome, Dependencies, Entry, ExportRecord, ForkOptions, ForkOutcome, Mark, NewMark,
    NewSession, RecordCounts, Revision, SessionBranch, SessionListing, SessionRef, SessionState,
    SessionSummary, SessionUsage, StateChange, TransitionOutcome, TrashedSession,
};
use crate::repair::{RepairReport, RepairedCopy};
use crate::session_files::SessionFiles;
use everturn_archive::PackProgress;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_store::disk::FileKind;
use everturn_store::overlay::FileChanges;
use everturn_store::{Store, read_consistently, snapshot};
use everturn_value::tree::JsonTree;

pub use error::SessionError;
pub use error::error_chain;
pub use listed::{ListedSession, open_listed};
pub use settled::list_settled;

/// How often a list is retried if sessions are moved meanwhile.
pub const MAX_LIST_TRIES: usize = 10;

/// One kind of session on disk.
pub trait SessionFormat: Send + Sync {
    /// Its name, as users write it.
    fn name(&self) -> &'static str;

    /// Whether its sessions belong to another program, and are read only.
    fn is_external(&self) -> bool {
        false
    }

    /// The sessions of a file that another program wrote, recognised by its name and its first bytes; empty if the file
    /// is not of this format.
    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = (store, file);
        Ok(Vec::new())
    }

    /// Whether the format numbers its sessions and assigns an ID to a new session that has none.
    fn assigns_ids(&self) -> bool {
        false
    }

    /// Whether [`SessionFormat::list`] reports only what file names contain, so that a long list opens no files.
    /// [`SessionFormat::summary`] returns more in that case.
    fn lists_names_only(&self) -> bool {
        false
    }

    /// Locates its sessions. Reads directories only, as far as that is sufficient. The listing is empty if the store
    /// has no sessions of this format.
    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError>;

    /// The files and directories of the snapshot from which a session is read.
    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    /// Reads the summary of a session from its metadata.
    fn summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let paths = self.snapshot_paths(place)?;
        read_consistently(store, &paths, |store| self.read_summary(store, place))
    }

    /// Like [`SessionFormat::summary`], from files that do not change meanwhile.
    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError>;

    /// Lists all sessions with their summaries. An unreadable session does not hide the others: it is listed with a
    /// finding.
    fn list(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(Vec<SessionSummary>, Vec<Finding>), SessionError> {
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

    /// Whether a session is no longer where it was located.
    fn any_moved(
        &self,
        store: &Arc<dyn Store>,
        places: &mut dyn Iterator<Item = &SessionRef>,
    ) -> Result<bool, SessionError> {
        // Other programs keep several sessions in one file, where a path cannot be checked.
        for place in places.filter(|_| !self.is_external()) {
            if store.stat(&place.path)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The summary of a session that cannot be read.
    fn unreadable_summary(&self, place: &SessionRef, error: &SessionError) -> SessionSummary {
        let finding = Finding {
            file: place.path.clone(),
            line: None,
            offset: None,
            code: FindingCode::Unreadable,
            message: format!("cannot be read: {}", error_chain(error)),
        };
        SessionSummary {
            session: place.clone(),
            layout: self.name(),
            title: place.id.clone(),
            created: None,
            updated: None,
            status: "unknown".to_owned(),
            turns: None,
            parent: None,
            findings: vec![finding],
        }
    }

    /// The directory in which the agent of a session works, according to its data.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let _ = (store, place);
        Ok(None)
    }

    /// The files whose changes indicate that a session has changed. By default everything at its path.
    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let files = everything_at(store, &place.path)?;
        Ok(Dependencies { summary: files.clone(), entries: files, log: None })
    }

    /// Opens a session for reading, as of a point between two commits. Later commits are not visible.
    fn open(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        self.open_reader(&snapshot(store, &self.snapshot_paths(place)?)?, place)
    }

    /// Like [`SessionFormat::open`], from files that do not change meanwhile.
    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError>;

    /// Creates a session and locks it for writing.
    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let _ = (store, new, now);
        Err(self.unsupported("creating sessions"))
    }

    /// Locks a session for writing.
    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let _ = (store, place);
        Err(self.unsupported("writing to sessions"))
    }

    /// Creates a session from the turns of another, up to and including the turn in the options, or from all of them.
    fn fork(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let _ = (store, place, how, now);
        Err(self.unsupported("forks"))
    }

    /// Rewinds to `turn`. Everything so far becomes a branch, which is returned.
    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let _ = (store, place, turn, now);
        Err(self.unsupported("rewinding"))
    }

    /// Adds a mark to a session, whatever its status.
    fn add_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        new: &NewMark,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        let mut editor = self.edit(store, place)?;
        let mark = editor.add_mark(new, now)?;
        editor.release()?;
        Ok(mark)
    }

    /// Removes a mark by its ID and returns it.
    fn remove_mark(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        id: &str,
        now: Timestamp,
    ) -> Result<Mark, SessionError> {
        let mut editor = self.edit(store, place)?;
        let mark = editor.remove_mark(id, now)?;
        editor.release()?;
        Ok(mark)
    }

    /// Applies a transition to a session; returns where it is afterwards.
    fn transition(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        stage: Transition,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<TransitionOutcome, SessionError> {
        let _ = (store, place, now);
        Err(self.unsupported(stage.verb()))
    }

    /// The files that belong to a session.
    fn session_files(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        let _ = store;
        Ok(SessionFiles::for_ref(place))
    }

    /// The ref that an archived session would have unpacked; `None` if `place` is not an archive.
    fn archived(&self, place: &SessionRef) -> Option<SessionRef> {
        let _ = place;
        None
    }

    /// A unique key of a session that stays the same when it is paused, completed or archived.
    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }

    /// Recomputes derived data (checksums, indexes) of the session at `root` for files that are about to change.
    fn update_derived(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut FileChanges,
    ) -> Result<(), SessionError> {
        let _ = (store, root, changes);
        Ok(())
    }

    /// Updates an index that is not part of a commit from the files of a session.
    fn refresh_index(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<(), SessionError> {
        let _ = (store, place);
        Ok(())
    }

    /// Overwrites deleted data in an index that is not part of a commit.
    fn vacuum_index(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<(), SessionError> {
        let _ = (store, place);
        Ok(())
    }

    /// Lists the sessions of this format in the trash.
    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        let _ = store;
        Ok(Vec::new())
    }

    /// Restores a session from the trash, by its name there.
    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let _ = (store, name);
        Err(self.unsupported("restoring sessions from the trash"))
    }

    /// Permanently removes sessions from the trash, if they are still as they were listed.
    fn purge(
        &self,
        store: &Arc<dyn Store>,
        trashed: &[TrashedSession],
    ) -> Result<(), SessionError> {
        let _ = (store, trashed);
        Err(self.unsupported("emptying the trash"))
    }

    /// Repairs a session and keeps every original; or returns the plan, or undoes the last repair.
    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        let _ = (store, place, repairing, now);
        Err(self.unsupported("repairs"))
    }

    /// A repaired copy of the file of another program's session, to be written elsewhere.
    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError> {
        let _ = (store, place);
        Err(self.unsupported("repaired copies"))
    }

    /// Whether sessions of this format record their exports.
    fn records_exports(&self) -> bool {
        false
    }

    /// Records an export in a session.
    fn record_export(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        exported: &ExportRecord,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let _ = (store, place, exported, now);
        Err(self.unsupported("recording exports"))
    }

    /// Returns an error if the session belongs to another program: nothing is written to its files or beside them.
    fn require_writable(&self, place: &SessionRef) -> Result<(), SessionError> {
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
    fn unsupported(&self, what: &'static str) -> SessionError {
        SessionError::Unsupported { layout: self.name(), what }
    }
}

/// A file, or a directory with its contents. For a session that is a row of a database: the database file, which is an
/// ancestor of the path, and the write-ahead log of SQLite beside it.
fn everything_at(store: &Arc<dyn Store>, path: &FilePath) -> Result<Vec<FilePath>, SessionError> {
    for above in path.ancestors().filter(|above| !above.is_root()) {
        let is_file = store.stat(&above)?.is_some_and(|stat| stat.kind == FileKind::File);
        if let (true, Some(dir), Some(name)) = (is_file, above.parent(), above.name()) {
            let journal = Name::parse(&format!("{name}-wal"))?;
            return Ok(vec![above, dir.join(&journal)]);
        }
    }
    let mut found = vec![path.clone()];
    let is_dir = store.stat(path)?.is_some_and(|stat| stat.kind == FileKind::Dir);
    let mut waiting = if is_dir { vec![path.clone()] } else { Vec::new() };
    while let Some(dir) = waiting.pop() {
        for entry in store.list(&dir)?.entries {
            let path = dir.join(&entry.name);
            if entry.kind == FileKind::Dir && !entry.linked {
                waiting.push(path.clone());
            }
            found.push(path);
        }
    }
    Ok(found)
}

/// What to do about a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairMode {
    /// Only return the plan.
    Plan,
    /// Apply the repair.
    Apply,
    /// Undo the newest repair that was not undone yet.
    Undo,
}

/// A transition in the lifecycle of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// Pause the session.
    Pause,
    /// Resume it.
    Resume,
    /// Complete it.
    Complete,
    /// Pack it into one file.
    Archive,
    /// Unpack its archive.
    Unarchive,
    /// Move it to the trash.
    Trash,
}

impl Transition {
    /// The name of the transition in messages.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Transition::Pause => "pausing",
            Transition::Resume => "resuming",
            Transition::Complete => "completing",
            Transition::Archive => "archiving",
            Transition::Unarchive => "unpacking archives",
            Transition::Trash => "moving sessions to the trash",
        }
    }
}

/// Reads a session. It never writes and never waits for a writer.
pub trait SessionReader: Send {
    /// The first and the last turn whose state is available.
    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError>;

    /// The findings from opening the session.
    fn findings(&self) -> Vec<Finding>;

    /// Streams the entries of a range of turns, in order. The range may extend beyond the last turn.
    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError>;

    /// Streams the changes of a range of turns, in order.
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError>;

    /// The state after a turn, or after the last one.
    fn state(&self, turn: Option<u64>) -> Result<SessionState, SessionError>;

    /// The turn of the entry with this ID.
    fn turn_of(&self, entry: &str) -> Result<Option<u64>, SessionError> {
        let mut entries = self.entries(self.turns()?)?;
        while let Some(found) = entries.next() {
            let found = found?;
            if found.id == entry {
                return Ok(Some(found.turn));
            }
        }
        Ok(None)
    }

    /// The marks, ordered by turn; empty if the format has no marks.
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        Ok(Vec::new())
    }

    /// The metadata of the session as one object, in the terms of its format.
    fn metadata(&self) -> Result<JsonTree, SessionError> {
        Ok(JsonTree::object())
    }

    /// Streams the states that were stored with a range of turns, unchanged, each with its turn. `None` if the format
    /// does not store states with turns.
    fn snapshots(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Option<SnapshotStream<'_>>, SessionError> {
        let _ = turns;
        Ok(None)
    }

    /// The branches of a session whose records form a tree. All other methods read its main line.
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        Ok(Vec::new())
    }

    /// Counts of the records that the session was read from, for sessions of other programs.
    fn record_counts(&self) -> Option<RecordCounts> {
        None
    }

    /// The token usage of the session, if its records contain it.
    fn usage(&self) -> Option<SessionUsage> {
        None
    }

    /// Irregularities that do not affect reading.
    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Opens a branch of the session, from its first turn on.
    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        Err(SessionError::request(format!("there is no branch {branch:?} in the session")))
    }
}

/// A stream of stored states, each with its turn.
pub type SnapshotStream<'r> = Box<dyn RecordStream<Item = (u64, JsonTree)> + 'r>;

/// A stream of items with the findings of reading them.
pub trait RecordStream {
    /// The type of the items.
    type Item;

    /// The next item.
    fn next(&mut self) -> Option<Result<Self::Item, SessionError>>;

    /// The findings since the last call.
    fn take_findings(&mut self) -> Vec<Finding>;
}

/// The empty changes of an append-only session.
pub struct EmptyChanges;

impl RecordStream for EmptyChanges {
    type Item = StateChange;

    fn next(&mut self) -> Option<Result<StateChange, SessionError>> {
        None
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Why marks are not supported.
const NO_MARKS: &str = "marks: the format has no place to store them";

/// A session locked for writing.
pub trait SessionEditor: Send {
    /// The name of the format.
    fn format_name(&self) -> &'static str;

    /// The ref of the session.
    fn session_ref(&self) -> SessionRef;

    /// The last turn.
    fn last_turn(&self) -> u64;

    /// The findings from opening the session.
    fn findings(&self) -> Vec<Finding>;

    /// Appends a turn or message, given as one JSON object, atomically.
    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError>;

    /// Stores the present state as a snapshot.
    fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = now;
        let what = "snapshots: their files already hold the whole current state";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Undoes the last turns, with a new turn.
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (turns, now);
        let what = "undo: they store messages, not reversible changes; use everturn rewind to go back to a message";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Starts a scene, given as one JSON object.
    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not divided into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Ends the open scene; its ending is given as one JSON object.
    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not divided into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Revises an earlier turn; the previous version is kept.
    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (how, now);
        let what = "changing earlier messages: their records are append-only";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Adds a mark.
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (new, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Removes a mark by its ID and returns it.
    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (id, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Unlocks the session without writing pending derived data, which the next writer does.
    fn release(self: Box<Self>) -> Result<(), SessionError>;

    /// Writes pending derived data and unlocks the session.
    fn close(self: Box<Self>, now: Timestamp) -> Result<(), SessionError>;
}
