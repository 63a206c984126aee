//! The traits of a session format.
//!
//! A [`SessionFormat`] finds its sessions in a store, opens them for reading ([`SessionReader`]) or writing
//! ([`SessionEditor`]), and shows them in the types of [`model`](crate::model). A new format is a crate with one
//! implementation, and a line in the registry of `everturn-maintenance`.

mod error;
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
pub use settled::list_settled;

/// How often a list is made again because sessions were moved meanwhile.
pub const MAX_LIST_TRIES: usize = 10;

/// One kind of session on the disk.
pub trait SessionFormat: Send + Sync {
    /// Its name, as users write it.
    fn name(&self) -> &'static str;

    /// Whether its sessions belong to another program, and are only ever read.
    fn is_external(&self) -> bool {
        false
    }

    /// The sessions of one file that another program wrote, going by its name and by how it begins; none, if it is no
    /// such file.
    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let _ = (store, file);
        Ok(Vec::new())
    }

    /// Whether it counts its sessions, and finds the id of a new one that is given none.
    fn assigns_ids(&self) -> bool {
        false
    }

    /// Whether [`SessionFormat::list`] tells only what names tell, so that a long list opens no files. What
    /// [`SessionFormat::summary`] says about a session is more then.
    fn lists_names_only(&self) -> bool {
        false
    }

    /// Where its sessions are. Only directories are looked at, as far as they tell; a store that has none of
    /// this kind has no places.
    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError>;

    /// The files and directories that are read together with a session, as they are between two commits.
    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    /// What can be said of a session at a glance, from its metadata.
    fn summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let paths = self.snapshot_paths(place)?;
        read_consistently(store, &paths, |store| self.read_summary(store, place))
    }

    /// The same from files that do not change meanwhile.
    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError>;

    /// All sessions with their summaries. One that cannot be read does not hide the others: it is there, with
    /// a finding.
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
            // A session that was paused or resumed meanwhile is somewhere else now.
            if tries == MAX_LIST_TRIES || !self.any_moved(store, &mut places.iter())? {
                return Ok((summaries, findings));
            }
        }
    }

    /// Whether a session is no longer where it was found.
    fn any_moved(
        &self,
        store: &Arc<dyn Store>,
        places: &mut dyn Iterator<Item = &SessionRef>,
    ) -> Result<bool, SessionError> {
        // Other programs keep sessions within a file, where nothing can be looked for.
        for place in places.filter(|_| !self.is_external()) {
            if store.stat(&place.path)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The summary of a session about which nothing can be found out.
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

    /// The directory on which the agent of a session works, as its data say.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let _ = (store, place);
        Ok(None)
    }

    /// By which files one can tell that a session has changed. Unless a layout knows better, everything at its
    /// place.
    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let files = everything_at(store, &place.path)?;
        Ok(Dependencies { summary: files.clone(), entries: files, log: None })
    }

    /// Opens a session for reading, as it is between two commits. What is committed later does not show.
    fn open(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        self.open_reader(&snapshot(store, &self.snapshot_paths(place)?)?, place)
    }

    /// The same from files that do not change meanwhile.
    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError>;

    /// Makes a new session and becomes its one writer.
    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let _ = (store, new, now);
        Err(self.unsupported("making new sessions"))
    }

    /// Becomes the one writer of a session.
    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let _ = (store, place);
        Err(self.unsupported("writing to sessions"))
    }

    /// Makes a new session, called `id`, of the turns up to and with `turn`, or of all of them.
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

    /// Goes back to `turn`; all that was there becomes a branch, which is returned.
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

    /// Makes a mark in a session, in whatever stage of its life it is.
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

    /// Removes a mark by its id, and tells what it was.
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

    /// Takes a session to another stage of its life; returns where it is then.
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

    /// What belongs to a session on the disk.
    fn session_files(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        let _ = store;
        Ok(SessionFiles::for_ref(place))
    }

    /// Where a session would be that is in an archive, if `place` is one.
    fn archived(&self, place: &SessionRef) -> Option<SessionRef> {
        let _ = place;
        None
    }

    /// A name of a session that it keeps when it is paused, completed or archived, and that no other has.
    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }

    /// Makes true again what follows from files of the session at `root` that are about to get new contents:
    /// checksums, indexes.
    fn update_derived(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut FileChanges,
    ) -> Result<(), SessionError> {
        let _ = (store, root, changes);
        Ok(())
    }

    /// Tells an index that no commit writes what the files of a session say by now.
    fn refresh_index(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<(), SessionError> {
        let _ = (store, place);
        Ok(())
    }

    /// Overwrites what such an index remembers of what it was told before.
    fn vacuum_index(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<(), SessionError> {
        let _ = (store, place);
        Ok(())
    }

    /// What sessions of this kind are in the trash.
    fn list_trash(&self, store: &Arc<dyn Store>) -> Result<Vec<TrashedSession>, SessionError> {
        let _ = store;
        Ok(Vec::new())
    }

    /// Takes something out of the trash, by the name that it has there.
    fn restore(&self, store: &Arc<dyn Store>, name: &str) -> Result<SessionRef, SessionError> {
        let _ = (store, name);
        Err(self.unsupported("taking sessions out of the trash"))
    }

    /// Removes something from the trash for good, as it was when somebody looked at it.
    fn purge(
        &self,
        store: &Arc<dyn Store>,
        trashed: &[TrashedSession],
    ) -> Result<(), SessionError> {
        let _ = (store, trashed);
        Err(self.unsupported("emptying the trash"))
    }

    /// Mends what is wrong with a session and keeps every original; or says what that would do, or takes it back.
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

    /// A mended copy of the file of a session that belongs to another program, ready to be written somewhere else.
    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError> {
        let _ = (store, place);
        Err(self.unsupported("mended copies"))
    }

    /// Whether sessions of this kind note that they were exported.
    fn records_exports(&self) -> bool {
        false
    }

    /// Notes in a session that it was exported.
    fn record_export(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        exported: &ExportRecord,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let _ = (store, place, exported, now);
        Err(self.unsupported("notes of exports"))
    }

    /// An error, if the session belongs to another program: its files are never changed, and nothing is put beside them.
    fn require_writable(&self, place: &SessionRef) -> Result<(), SessionError> {
        if !self.is_external() {
            return Ok(());
        }
        let (id, name) = (&place.id, self.name());
        let what =
            format!("session {id} is of another program ({name}), whose files are left alone");
        Err(SessionError::request(format!("{what}; everturn convert makes a copy")))
    }

    /// The error for what the layout does not offer.
    fn unsupported(&self, what: &'static str) -> SessionError {
        SessionError::Unsupported { layout: self.name(), what }
    }
}

/// A file, or a directory with everything in it. A session that is a row of a database has that one, which lies above
/// it, with the files that SQLite keeps beside it.
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

/// What is to be done about a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairMode {
    /// Nothing is changed: what would be done is told.
    Plan,
    /// It is done.
    Apply,
    /// The newest one that was not taken back yet is taken back.
    Undo,
}

/// What may become of a session as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// It waits to be resumed.
    Pause,
    /// It goes on.
    Resume,
    /// It is over.
    Complete,
    /// It is packed into one file.
    Archive,
    /// It is taken out of its archive.
    Unarchive,
    /// It is thrown away, and can be had back.
    Trash,
}

impl Transition {
    /// What taking a session there is called.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Transition::Pause => "pausing",
            Transition::Resume => "resuming",
            Transition::Complete => "completing",
            Transition::Archive => "archiving",
            Transition::Unarchive => "unpacking archives",
            Transition::Trash => "throwing sessions away",
        }
    }
}

/// A session that is read. It never writes, and never waits for whoever does.
pub trait SessionReader: Send {
    /// The turns whose state can be asked for: the first and the last.
    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError>;

    /// What was noticed when the session was opened.
    fn findings(&self) -> Vec<Finding>;

    /// The entries of a range of turns, in order, while they are read. It may reach beyond the last turn.
    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError>;

    /// The changes of a range of turns, in order, while they are read.
    fn changes(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = StateChange> + '_>, SessionError>;

    /// The state after a turn, or after the last one.
    fn state(&self, turn: Option<u64>) -> Result<SessionState, SessionError>;

    /// The turn of the entry with this id, if there is one.
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

    /// The marks, in the order of their turns. A layout that has no marks has none.
    fn marks(&self) -> Result<Vec<Mark>, SessionError> {
        Ok(Vec::new())
    }

    /// What the session says of itself besides its entries, as one object, in the words of its layout.
    fn metadata(&self) -> Result<JsonTree, SessionError> {
        Ok(JsonTree::object())
    }

    /// The states that were stored with a range of turns, as they are stored, each with its turn. Nothing, if the
    /// layout does not keep them with the turns.
    fn snapshots(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Option<SnapshotStream<'_>>, SessionError> {
        let _ = turns;
        Ok(None)
    }

    /// The other ways through a session whose records form a tree. Everything else of the reader tells its main
    /// line.
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        Ok(Vec::new())
    }

    /// What became of the records that the session was read from, where it was read from records of others.
    fn record_counts(&self) -> Option<RecordCounts> {
        None
    }

    /// What the session cost, where its records say so.
    fn usage(&self) -> Option<SessionUsage> {
        None
    }

    /// What else is odd about the session, without which it reads as well.
    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// The session along one of its strands, from its first turn on.
    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        Err(SessionError::request(format!("there is no branch {branch:?} in the session")))
    }
}

/// States as they are stored, each with its turn, while they are read.
pub type SnapshotStream<'r> = Box<dyn RecordStream<Item = (u64, JsonTree)> + 'r>;

/// Things that are read one after the other, with what was noticed on the way.
pub trait RecordStream {
    /// What is read.
    type Item;

    /// The next one.
    fn next(&mut self) -> Option<Result<Self::Item, SessionError>>;

    /// What was noticed since the last call.
    fn take_findings(&mut self) -> Vec<Finding>;
}

/// The changes of a session whose records are only ever added.
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

/// Why marks cannot be made.
const NO_MARKS: &str = "marks: there is no place for them where the sessions are kept";

/// A session in the hands of its one writer.
pub trait SessionEditor: Send {
    /// The name of the layout.
    fn format_name(&self) -> &'static str;

    /// Where the session is.
    fn session_ref(&self) -> SessionRef;

    /// The last turn.
    fn last_turn(&self) -> u64;

    /// What was noticed when the session was opened.
    fn findings(&self) -> Vec<Finding>;

    /// Stores a turn or message that is given as one JSON object: all of it, or nothing.
    fn append(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError>;

    /// Stores the whole state as it is now.
    fn snapshot(&mut self, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = now;
        let what = "snapshots: their files hold the whole state as it is now already";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Takes back the last turns, in a new one.
    fn undo(&mut self, turns: u64, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (turns, now);
        let what = "undoing turns: they keep messages, not changes that could be taken back; \
            everturn rewind goes back to one";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Begins a scene that is given as one JSON object.
    fn start_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not parted into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Ends the scene that goes on; how it ends is given as one JSON object.
    fn end_scene(&mut self, text: &str, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (text, now);
        let what = "scenes: their records are not parted into scenes";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Does something to what was said before; what was there is kept.
    fn revise(&mut self, how: &Revision, now: Timestamp) -> Result<AppendOutcome, SessionError> {
        let _ = (how, now);
        let what = "changing what was said: their records are only ever added to";
        Err(SessionError::Unsupported { layout: self.format_name(), what })
    }

    /// Makes a mark.
    fn add_mark(&mut self, new: &NewMark, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (new, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Removes a mark by its id, and tells what it was.
    fn remove_mark(&mut self, id: &str, now: Timestamp) -> Result<Mark, SessionError> {
        let _ = (id, now);
        Err(SessionError::Unsupported { layout: self.format_name(), what: NO_MARKS })
    }

    /// Gives the session back as it is: what is due is written by whoever comes next.
    fn release(self: Box<Self>) -> Result<(), SessionError>;

    /// Writes what is due and gives the session back.
    fn close(self: Box<Self>, now: Timestamp) -> Result<(), SessionError>;
}
