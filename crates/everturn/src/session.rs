//! [`Session`] is one session of a [`Root`]: it reads and writes turns, states, marks and branches.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::thread;
use std::time::{Duration, Instant};

use everturn_maintenance::registry;
use everturn_session::format::{
    Operation, RepairMode, SessionEditor, SessionError, SessionFormat, SessionReader, Transition,
};
use everturn_session::model::{
    AppendOutcome, ForkOptions, ForkOutcome, Mark, NewMark, NewSession, Revision, SessionBranch,
    SessionRef, SessionSummary, StateChange, TransitionOutcome,
};
use everturn_session::repair::RepairReport;

use crate::check_report::CheckReport;
use crate::error::{Error, ErrorKind};
use crate::root::{Root, SessionList};
use crate::views::{ChangeIter, EntryIter, TypedState};

/// How long a call that waits for another process pauses between two attempts, at first and at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// A format at compile time.
pub trait FormatTag {
    /// Its name; `None` stands for any format.
    const NAME: Option<&'static str>;
}

/// Any format, for programs that list or show sessions.
#[derive(Debug, Clone, Copy)]
pub enum AnyFormat {}

impl FormatTag for AnyFormat {
    const NAME: Option<&'static str> = None;
}

/// A session whose format is not known at compile time.
pub type AnySession = Session<AnyFormat>;

/// A session of a [`Root`].
///
/// Reads see the session as of a point between two commits. The first method that writes locks the session for this
/// process, until the session is closed or dropped.
///
/// A session can be sent to another thread, but not shared: each thread that reads at the same time opens its own.
pub struct Session<F> {
    root: Root,
    format: &'static dyn SessionFormat,
    place: SessionRef,
    editor: Option<Box<dyn SessionEditor>>,
    /// Opened after the last change.
    reader: OnceCell<Box<dyn SessionReader>>,
    /// The turns that were stored with a key, known while the session is locked.
    pub(crate) keys: Option<HashMap<String, u64>>,
    kind: PhantomData<F>,
}

impl<F> fmt::Debug for Session<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown.field("format", &self.format.name()).field("id", &self.place.id);
        shown.finish_non_exhaustive()
    }
}

impl<F: FormatTag> Session<F> {
    /// Creates a session. Fails if the ID is taken.
    pub fn create(root: &Root, id: &str) -> Result<Session<F>, Error> {
        Session::create_with(root, &NewSession::with_id(id))
    }

    /// Creates a session with a name, settings and other fields.
    pub fn create_with(root: &Root, new: &NewSession) -> Result<Session<F>, Error> {
        let format = F::NAME.and_then(registry::find);
        let format = format.ok_or_else(|| SessionError::request("a new session needs a format"))?;
        let editor = format.editing(Operation::Create)?.create(root.store(), new, root.now())?;
        Ok(Session::locked(root, format, editor))
    }

    /// Opens a session by its ID, its path below the root, or `latest`.
    pub fn open(root: &Root, name: &str) -> Result<Session<F>, Error> {
        let (format, place) = root.resolve(name, F::NAME)?;
        Ok(Session::at(root, format, place))
    }

    /// Opens a session, and creates it if it does not exist.
    pub fn open_or_create(root: &Root, id: &str) -> Result<Session<F>, Error> {
        match Session::open(root, id) {
            Err(Error::NoSession { .. }) => Session::create(root, id),
            opened => opened,
        }
    }
}

impl Session<AnyFormat> {
    /// The same session with a type of its format, such as `Game`. Fails if it has another format.
    pub fn into_format<F: FormatTag>(self) -> Result<Session<F>, Error> {
        let found = self.format.name();
        if let Some(wanted) = F::NAME.filter(|wanted| *wanted != found) {
            return Err(Error::Format { id: self.place.id, found, wanted });
        }
        let Session { root, format, place, editor, reader, keys, kind: _ } = self;
        Ok(Session { root, format, place, editor, reader, keys, kind: PhantomData })
    }
}

impl<F> Session<F> {
    /// A session that is locked already.
    pub(crate) fn locked(
        root: &Root,
        format: &'static dyn SessionFormat,
        editor: Box<dyn SessionEditor>,
    ) -> Session<F> {
        let session = Session::at(root, format, editor.session_ref());
        Session { editor: Some(editor), ..session }
    }

    pub(crate) fn at(
        root: &Root,
        format: &'static dyn SessionFormat,
        place: SessionRef,
    ) -> Session<F> {
        Session {
            root: root.clone(),
            format,
            place,
            editor: None,
            reader: OnceCell::new(),
            keys: None,
            kind: PhantomData,
        }
    }

    /// Its ID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.place.id
    }

    /// The name of its format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format.name()
    }

    /// Its format, with what the format offers.
    #[must_use]
    pub fn session_format(&self) -> &'static dyn SessionFormat {
        self.format
    }

    /// Its ID and its path below the root.
    #[must_use]
    pub fn session_ref(&self) -> &SessionRef {
        &self.place
    }

    /// Its root.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Whether this process has locked it for writing.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.editor.is_some()
    }

    /// Makes the next read show what other processes have stored meanwhile, and finds the session again if one has moved
    /// it. A session that is locked is not moved, but a program that does not know locks may write to its files.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.reader.take();
        if self.editor.is_some() {
            return Ok(());
        }
        let store = self.root.store();
        if self.format.any_moved(store, &mut std::iter::once(&self.place))? {
            let key = self.format.stable_key(&self.place);
            let found = self.format.locate(store)?.sessions.into_iter();
            let mut found = found.filter(|place| self.format.stable_key(place) == key);
            self.place = found.next().ok_or_else(|| self.missing())?;
        }
        Ok(())
    }

    /// Locks the session for writing, if it is not locked, and returns its last turn.
    pub fn lock(&mut self) -> Result<u64, Error> {
        Ok(self.editor()?.last_turn())
    }

    /// As [`Session::lock`], but waits for another process that writes to the session. Fails with
    /// [`ErrorKind::Busy`] if it is still busy when the time is over.
    pub fn lock_within(&mut self, time: Duration) -> Result<u64, Error> {
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        loop {
            match self.lock() {
                Err(error) if error.kind() == ErrorKind::Busy && start.elapsed() < time => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                locked => return locked,
            }
        }
    }

    /// Writes pending derived data, such as state files and indexes, for programs that read nothing else. Turns are
    /// durable before. The lock is released until the next write.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.reader.take();
        self.keys = None;
        if let Some(editor) = self.editor.take() {
            editor.close(self.root.now())?;
        }
        self.root.checkpoint()
    }

    /// Title, times, status and number of turns.
    pub fn summary(&self) -> Result<SessionSummary, Error> {
        Ok(self.format.summary(self.root.store(), &self.place)?)
    }

    /// The reader of its format, for operations that this type lacks, such as the entries of a branch.
    pub fn reader(&self) -> Result<&dyn SessionReader, Error> {
        if self.reader.get().is_none() {
            let reader = self.format.open(self.root.store(), &self.place)?;
            // The cell is not shared between threads, so it cannot be set already.
            drop(self.reader.set(reader));
        }
        Ok(&**self.reader.get().ok_or_else(|| self.missing())?)
    }

    /// The error if the session no longer exists.
    fn missing(&self) -> SessionError {
        SessionError::NoSession { id: self.place.id.clone() }
    }

    fn editor(&mut self) -> Result<&mut dyn SessionEditor, Error> {
        self.reader.take();
        let editor = match self.editor.take() {
            Some(editor) => editor,
            None => self.format.editing(Operation::Write)?.edit(self.root.store(), &self.place)?,
        };
        Ok(&mut **self.editor.insert(editor))
    }

    /// Releases the lock, for operations on the session as a whole.
    fn release(&mut self) -> Result<(), Error> {
        self.reader.take();
        self.keys = None;
        if let Some(editor) = self.editor.take() {
            editor.release()?;
        }
        Ok(())
    }

    /// The first and the last turn whose state is available.
    pub fn turns(&self) -> Result<RangeInclusive<u64>, Error> {
        Ok(self.reader()?.turns()?)
    }

    /// Whether turn numbers may start again, so that a turn may precede one with a lower number.
    pub fn repeats_turns(&self) -> Result<bool, Error> {
        Ok(self.reader()?.repeats_turns())
    }

    /// The entries of a range of turns, in order. `..` means all of them.
    pub fn entries(&self, turns: impl RangeBounds<u64>) -> Result<EntryIter<'_>, Error> {
        Ok(EntryIter { stream: self.reader()?.entries(inclusive(turns))? })
    }

    /// The state after the last turn.
    pub fn state(&self) -> Result<TypedState, Error> {
        Ok(TypedState { state: self.reader()?.state(None)? })
    }

    /// The state after a turn.
    pub fn state_at(&self, turn: u64) -> Result<TypedState, Error> {
        Ok(TypedState { state: self.reader()?.state(Some(turn))? })
    }

    /// The changes between two turns.
    pub fn diff(&self, from: u64, to: u64) -> Result<Vec<StateChange>, Error> {
        let reader = self.reader()?;
        let (before, after) = (reader.state(Some(from))?, reader.state(Some(to))?);
        let changes = before.changes_to(&after);
        Ok(changes.map_err(|error| SessionError::damaged(error.to_string()))?)
    }

    /// The state changes of a range of turns, in order. `..` means all of them.
    pub fn changes(&self, turns: impl RangeBounds<u64>) -> Result<ChangeIter<'_>, Error> {
        Ok(ChangeIter { stream: self.reader()?.changes(inclusive(turns))? })
    }

    /// Its marks: bookmarks, chapters, scenes, events, decisions.
    pub fn marks(&self) -> Result<Vec<Mark>, Error> {
        Ok(self.reader()?.marks()?)
    }

    /// The sessions that were forked from it, or set aside when it was rewound. One that cannot be read may be missing:
    /// [`Session::list_forks`] also returns why.
    pub fn forks(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.list_forks()?.sessions)
    }

    /// The sessions that were forked from it, or set aside when it was rewound, by ID, and a finding for each session that
    /// could not be read and may be one of them.
    pub fn list_forks(&self) -> Result<SessionList, Error> {
        let (sessions, findings) = self.format.list_forks(self.root.store(), &self.place.id)?;
        Ok(SessionList { sessions, findings })
    }

    /// The branches in a session whose records form a tree. [`Session::open_branch`] reads one of them.
    pub fn branches(&self) -> Result<Vec<SessionBranch>, Error> {
        Ok(self.reader()?.branches()?)
    }

    /// Opens a branch in the session, from its first turn on.
    pub fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, Error> {
        Ok(self.reader()?.open_branch(branch)?)
    }

    /// Checks its files, and everything below its directory. Nothing is written.
    pub fn check(&self) -> Result<CheckReport, Error> {
        CheckReport::of(self.root.store(), &self.place.path)
    }

    /// Repairs the session and keeps every original; or returns the plan, or undoes the last repair.
    pub fn repair(&mut self, mode: RepairMode) -> Result<RepairReport, Error> {
        let editing = self.format.editing(Operation::Repair)?;
        self.release()?;
        let now = self.root.now();
        Ok(editing.repair(self.root.store(), &self.place, mode, now)?)
    }

    /// Appends a turn or message, given as a JSON object, atomically.
    ///
    /// When this returns, the turn survives a crash of the program and a power cut.
    pub fn append_json(&mut self, turn: &str) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.append(turn, now)?)
    }

    /// Undoes the last turns with a new turn.
    pub fn undo(&mut self, turns: u64) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.undo(turns, now)?)
    }

    /// Edits, regenerates or removes an earlier turn; earlier versions are kept with it.
    pub fn revise(&mut self, revision: &Revision) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.revise(revision, now)?)
    }

    /// Stores the present state as a snapshot.
    pub fn snapshot(&mut self) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.snapshot(now)?)
    }

    /// Starts a scene, given as a JSON object.
    pub fn start_scene_json(&mut self, scene: &str) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.start_scene(scene, now)?)
    }

    /// Ends the open scene; its ending is given as a JSON object.
    pub fn end_scene_json(&mut self, ending: &str) -> Result<AppendOutcome, Error> {
        let now = self.root.now();
        Ok(self.editor()?.end_scene(ending, now)?)
    }

    /// Adds a mark, also to a session that is paused or completed.
    pub fn add_mark(&mut self, mark: &NewMark) -> Result<Mark, Error> {
        let now = self.root.now();
        self.reader.take();
        if let Some(editor) = &mut self.editor {
            return Ok(editor.add_mark(mark, now)?);
        }
        let editing = self.format.editing(Operation::Write)?;
        Ok(editing.add_mark(self.root.store(), &self.place, mark, now)?)
    }

    /// Removes a mark by its ID.
    pub fn remove_mark(&mut self, id: &str) -> Result<Mark, Error> {
        let now = self.root.now();
        self.reader.take();
        if let Some(editor) = &mut self.editor {
            return Ok(editor.remove_mark(id, now)?);
        }
        let editing = self.format.editing(Operation::Write)?;
        Ok(editing.remove_mark(self.root.store(), &self.place, id, now)?)
    }

    /// Pauses, resumes or completes the session, or applies another transition. The session stays open where it is
    /// afterwards.
    pub fn transition(&mut self, transition: Transition) -> Result<TransitionOutcome, Error> {
        let lifecycle = self.format.lifecycle(Operation::Transition(transition))?;
        self.release()?;
        let now = self.root.now();
        let outcome =
            lifecycle.transition(self.root.store(), &self.place, transition, now, &mut |_| {})?;
        self.place = outcome.session.clone();
        Ok(outcome)
    }

    /// Rewinds to a turn. Everything so far becomes a branch, which is returned.
    pub fn rewind(&mut self, turn: u64) -> Result<ForkOutcome, Error> {
        let editing = self.format.editing(Operation::Rewind)?;
        self.release()?;
        let now = self.root.now();
        Ok(editing.rewind(self.root.store(), &self.place, turn, now, &mut |_| {})?)
    }

    /// Forks the session into a new one with all its turns.
    pub fn fork(&mut self, id: &str) -> Result<Session<F>, Error> {
        self.fork_session(&ForkOptions { id: Some(id.to_owned()), turn: None })
    }

    /// Forks the session into a new one with its turns up to `turn`.
    pub fn fork_at(&mut self, id: &str, turn: u64) -> Result<Session<F>, Error> {
        self.fork_session(&ForkOptions { id: Some(id.to_owned()), turn: Some(turn) })
    }

    fn fork_session(&mut self, options: &ForkOptions) -> Result<Session<F>, Error> {
        let branch = self.fork_with(options)?;
        Ok(Session::at(&self.root, self.format, branch.session))
    }

    /// Forks the session into a new one, and returns where it is.
    pub fn fork_with(&mut self, options: &ForkOptions) -> Result<ForkOutcome, Error> {
        let editing = self.format.editing(Operation::Fork)?;
        self.release()?;
        let now = self.root.now();
        Ok(editing.fork(self.root.store(), &self.place, options, now, &mut |_| {})?)
    }

    /// Writes pending data and releases the lock. Dropping the session does the same, but ignores errors.
    pub fn close(mut self) -> Result<(), Error> {
        let now = self.root.now();
        match self.editor.take() {
            Some(editor) => Ok(editor.close(now)?),
            None => Ok(()),
        }
    }
}

/// Converts a range of turns to an inclusive one.
fn inclusive(turns: impl RangeBounds<u64>) -> RangeInclusive<u64> {
    let first = match turns.start_bound() {
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let last = match turns.end_bound() {
        Bound::Included(last) => *last,
        // An empty range stays empty.
        Bound::Excluded(0) => return RangeInclusive::new(1, 0),
        Bound::Excluded(after) => after - 1,
        Bound::Unbounded => u64::MAX,
    };
    first..=last
}
