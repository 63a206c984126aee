//! Opens the roots and sessions that the user names: [`OpenRoot`] and [`FoundSession`].

mod lookup;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use everturn::disk::RealDisk;
use everturn::finding::{Finding, FindingCode};
use everturn::format::{
    self, EditableFormat, Operation, SessionEditor, SessionError, SessionFormat, SessionReader,
    error_chain,
};
use everturn::model::{Mark, SessionRef};
use everturn::names::FilePath;
use everturn::quarantine;
use everturn::store::{FileStore, Options, Store, StoreError, failed_opens, quarantine_dir};

use crate::commands::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{Output, count_noun};
use crate::{agent_homes, progress, recovered, settings, store_errors};

pub(crate) use lookup::{Candidate, LookupResult};

/// The access that a command needs to a root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootAccess {
    /// Nothing is ever written.
    Read,
    /// Pending commits are recovered.
    Write,
}

/// An open root.
#[derive(Clone)]
pub(crate) struct OpenRoot {
    /// The path as the user would write it.
    pub(crate) path: PathBuf,
    files: Arc<FileStore>,
    access: RootAccess,
}

/// A session that was found.
pub(crate) struct FoundSession {
    pub(crate) root: OpenRoot,
    pub(crate) layout: &'static dyn SessionFormat,
    pub(crate) place: SessionRef,
}

/// The initial and maximum delay between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// How often the lookup is repeated for a session that was moved before it could be opened.
pub(crate) const MOVE_TRIES: usize = 10;

/// Retries an operation while another process is busy there, for a limited time.
pub(crate) fn retry_while_busy<T, E: Busy>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match attempt() {
            Err(error) if error.is_busy() && start.elapsed() < wait => {
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
            other => return other,
        }
    }
}

/// An error that may be resolved by waiting.
pub(crate) trait Busy {
    /// Returns whether another process is using it.
    fn is_busy(&self) -> bool;
}

impl Busy for StoreError {
    fn is_busy(&self) -> bool {
        matches!(self, StoreError::Busy { .. })
    }
}

impl Busy for SessionError {
    fn is_busy(&self) -> bool {
        matches!(self, SessionError::Store(error) if error.is_busy())
    }
}

/// Prints findings.
pub(crate) fn print_findings(findings: &[Finding]) {
    // The process runs one command. If an open has failed in it, apparent damage may be a file that could not be
    // opened, which is reported at the end.
    let is_certain = failed_opens() == 0;
    let is_printed = |one: &&Finding| is_certain || one.code == FindingCode::Unreadable;
    for finding in findings.iter().filter(is_printed) {
        Output::status(&finding.to_string());
    }
}

/// Returns a line about the quarantine of a session, if it contains records.
pub(crate) fn quarantine_line(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Option<String> {
    let count = || -> Result<u64, SessionError> {
        // Most roots have no quarantine, which avoids any further work.
        if layout.is_external() || store.stat(&quarantine_dir())?.is_none() {
            return Ok(0);
        }
        let mut count = 0;
        for kept in layout.session_files(store, place)?.quarantined_files(store)? {
            count += u64::from(quarantine::piece(store, kept)?.is_some_and(|one| one.has_records));
        }
        Ok(count)
    };
    let id = &place.id;
    match count() {
        Ok(0) => None,
        Ok(count) => {
            let pieces = count_noun(count, "content", "contents");
            Some(format!("{id}: {pieces} in the quarantine, not shown; see: everturn check {id}"))
        }
        Err(error) => Some(format!("{id}: the quarantine cannot be read: {}", error_chain(&error))),
    }
}

/// Returns the exit code of a command that has read a session: damage that lost data is an error.
pub(crate) fn exit_after(findings: &[Finding]) -> Exit {
    let is_loss = |finding: &Finding| {
        matches!(
            finding.code,
            FindingCode::BadLine
                | FindingCode::BadRecord
                | FindingCode::BadChange
                | FindingCode::NotUtf8
                | FindingCode::BadDocument
                | FindingCode::EmptyDocument
                | FindingCode::TooLarge
                | FindingCode::MissingFile
                | FindingCode::StateDiffers
                | FindingCode::UnknownState
        )
    };
    if findings.iter().any(is_loss) { Exit::Damaged } else { Exit::Success }
}

/// Resolves a turn: its number, the ID of an entry, or the ID or name of a mark.
pub(crate) fn resolve_turn(reader: &dyn SessionReader, name: &str) -> Result<u64, Error> {
    if let Ok(number) = name.parse::<u64>() {
        return Ok(number);
    }
    let marks = reader.marks()?;
    let named = |mark: &&Mark| mark.name == name;
    let by_id = marks.iter().find(|mark| mark.id == name);
    let of_name = || marks.iter().find(named).filter(|_| marks.iter().filter(named).count() == 1);
    if let Some(mark) = by_id.or_else(of_name).filter(|mark| mark.turn > 0) {
        return Ok(mark.turn);
    }
    if let Some(turn) = reader.turn_of(name)? {
        return Ok(turn);
    }
    let what = match marks.iter().filter(named).count() {
        0 | 1 => format!("there is no turn, entry or mark {name:?}"),
        count => format!("{name:?} is the name of {count} marks"),
    };
    Err(Error::new(Exit::Request, what).hint("everturn mark list SESSION shows the marks"))
}

impl OpenRoot {
    pub(crate) fn open(path: &Path, access: RootAccess) -> Result<OpenRoot, Error> {
        let failed = |cause| {
            Error::new(Exit::Request, format!("cannot open the root {}", path.display()))
                .caused_by(cause)
                .hint("name the directory that holds the sessions with --root DIR or EVERTURN_ROOT")
        };
        let disk = Arc::new(RealDisk::open(path).map_err(failed)?);
        let recovery = progress::Recovery::new();
        let progress = recovery.progress();
        let opened = match access {
            RootAccess::Read => FileStore::open_read_only_with(disk, progress),
            RootAccess::Write => {
                let findings = recovered::findings();
                let options = Options::new(settings::lock_owner());
                FileStore::open(disk, Options { progress, findings, ..options })
            }
        };
        recovery.finish();
        Ok(OpenRoot { path: path.to_owned(), files: Arc::new(opened?), access })
    }

    /// Opens a root for writing; creates it if necessary.
    pub(crate) fn create(path: &Path) -> Result<OpenRoot, Error> {
        let files = store_errors::open_store(path)?;
        Ok(OpenRoot { path: path.to_owned(), files: Arc::new(files), access: RootAccess::Write })
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.files) as Arc<dyn Store>
    }

    /// Returns a path below the root as the user would write it.
    pub(crate) fn shown(&self, path: &FilePath) -> String {
        self.path.join(path.as_str()).to_string_lossy().into_owned()
    }

    /// Closes a root that was open for writing.
    pub(crate) fn close(self) -> Result<(), Error> {
        Ok(self.files.checkpoint()?)
    }
}

impl FoundSession {
    /// Reopens the root of the session with the given access. Files of other programs are never opened for writing.
    fn with(self, access: RootAccess) -> Result<FoundSession, Error> {
        if access == RootAccess::Read || self.layout.is_external() || self.root.access == access {
            return Ok(self);
        }
        let root = OpenRoot::open(&self.root.path, access)?;
        Ok(FoundSession { root, ..self })
    }

    /// Opens the session for reading.
    pub(crate) fn open(&self) -> Result<Box<dyn SessionReader>, Error> {
        let reader = self.layout.open(&self.root.store(), &self.place);
        reader.map_err(|error| self.failed(error))
    }

    /// Returns what changes sessions of its format.
    pub(crate) fn editing(&self, operation: Operation) -> Result<&dyn EditableFormat, Error> {
        self.layout.editing(operation).map_err(|error| self.failed(error))
    }

    /// Prints the findings of a reader, and that the quarantine has parts of the session.
    pub(crate) fn print_notes(&self, reader: &dyn SessionReader) {
        print_findings(&reader.findings());
        self.mention_quarantine();
    }

    /// Returns whether the session is no longer where it was found.
    fn has_moved(&self) -> Result<bool, Error> {
        Ok(self.layout.any_moved(&self.root.store(), &mut std::iter::once(&self.place))?)
    }

    /// Returns whether no process is known to write to the session.
    fn is_quiet(&self) -> Result<bool, Error> {
        Ok(self.layout.is_external()
            || self.root.store().is_quiet(std::slice::from_ref(&self.place.path))?)
    }

    /// Reports in one line that the quarantine has parts of the session, or will have after recovery.
    fn mention_quarantine(&self) {
        let line = quarantine_line(&self.root.store(), self.layout, &self.place);
        if let Some(line) = line {
            Output::status(&line);
        }
    }

    /// Converts an error of the session, with a hint if data is damaged.
    pub(crate) fn failed(&self, error: SessionError) -> Error {
        let damaged = matches!(error, SessionError::Damaged { .. });
        let error = Error::from(error);
        let check = || format!("everturn check {}", self.root.shown(&self.place.path));
        if damaged { error.hint(check()) } else { error }
    }
}

impl Context {
    /// Returns the formats to use.
    pub(crate) fn layouts(&self) -> Vec<&'static dyn SessionFormat> {
        match &self.layout {
            Some(name) => format::find(name).into_iter().collect(),
            None => format::ALL.to_vec(),
        }
    }

    /// Returns an Everturn command for the same root.
    pub(crate) fn next_command(&self, words: &str) -> String {
        match &self.root {
            Some(root) => format!("everturn {words} --root {}", root.display()),
            None => format!("everturn {words}"),
        }
    }

    /// Returns the root: the one the user named, the configured one, or the home of the format's program.
    pub(crate) fn root_dir(&self) -> Result<PathBuf, Error> {
        agent_homes::root(self.root.as_deref(), self.layout.as_deref())
    }

    /// Opens the root for reading.
    pub(crate) fn open_root(&self) -> Result<OpenRoot, Error> {
        let root = OpenRoot::open(&self.root_dir()?, RootAccess::Read)?;
        Ok(root)
    }

    /// Opens a session for reading.
    pub(crate) fn read(&self, name: &str) -> Result<(FoundSession, Box<dyn SessionReader>), Error> {
        let (found, reader) = self.read_found(name, FoundSession::open)?;
        found.print_notes(&*reader);
        Ok((found, reader))
    }

    /// Finds a session and reads it with `read`. If that fails because another process has moved the session, it is
    /// looked up and read again.
    pub(crate) fn read_found<T>(
        &self,
        name: &str,
        mut read: impl FnMut(&FoundSession) -> Result<T, Error>,
    ) -> Result<(FoundSession, T), Error> {
        let mut failed_at = None;
        let mut tries = 0;
        loop {
            tries += 1;
            let found = self.find_to_read(name)?;
            let error = match read(&found) {
                Ok(value) => return Ok((found, value)),
                Err(error) => error,
            };
            // The second attempt is for a session that was moved away and back while it was written to.
            let may_have_moved = found.has_moved()?
                || (failed_at.as_ref() != Some(&found.place) && !found.is_quiet()?);
            if tries == MOVE_TRIES || !may_have_moved {
                return Err(error);
            }
            failed_at = Some(found.place);
        }
    }

    /// Splits a reference of the form `SESSION#TURN`, as searches print it, into session and turn. A name that is a
    /// session as a whole has no turn.
    pub(crate) fn reference<'n>(&self, name: &'n str) -> Result<(&'n str, Option<&'n str>), Error> {
        match name.rsplit_once('#') {
            Some((session, turn)) if !session.is_empty() && !turn.is_empty() => {
                let is_whole = self.is_session(name, session)?;
                Ok(if is_whole { (name, None) } else { (session, Some(turn)) })
            }
            _ => Ok((name, None)),
        }
    }

    /// Opens a session for reading, along one of its branches if one is named.
    pub(crate) fn read_branch(
        &self,
        name: &str,
        branch: Option<&str>,
    ) -> Result<(FoundSession, Box<dyn SessionReader>), Error> {
        let (found, reader) = self.read(name)?;
        let Some(branch) = branch else { return Ok((found, reader)) };
        let along = reader.open_branch(branch).map_err(|error| {
            let list = format!("branches {name}");
            found.failed(error).hint(self.next_command(&list))
        })?;
        Ok((found, along))
    }

    /// Opens a session for writing.
    pub(crate) fn edit(&self, name: &str) -> Result<(FoundSession, Box<dyn SessionEditor>), Error> {
        self.edit_within(name, Duration::ZERO)
    }

    /// Opens a session for writing, waiting for other writers to release it.
    pub(crate) fn edit_within(
        &self,
        name: &str,
        wait: Duration,
    ) -> Result<(FoundSession, Box<dyn SessionEditor>), Error> {
        let found = self.find(name, RootAccess::Write)?;
        let editing = found.editing(Operation::Write)?;
        let editor = retry_while_busy(wait, || editing.edit(&found.root.store(), &found.place));
        let editor = editor.map_err(|error| found.failed(error))?;
        print_findings(&editor.findings());
        Ok((found, editor))
    }

    /// Opens the root for writing.
    pub(crate) fn root_to_write(&self) -> Result<OpenRoot, Error> {
        let layout = self.layout.as_deref().and_then(format::find);
        if let Some(layout) = layout.filter(|layout| layout.is_external()) {
            return Err(layout.unsupported("changes of any kind").into());
        }
        OpenRoot::open(&self.root_dir()?, RootAccess::Write)
    }

    /// Finds a session for reading.
    pub(crate) fn find_to_read(&self, name: &str) -> Result<FoundSession, Error> {
        let found = self.find(name, RootAccess::Read)?;
        Ok(found)
    }

    /// Finds a session for a change, in a root that is open for writing.
    pub(crate) fn find_to_write(&self, name: &str) -> Result<FoundSession, Error> {
        self.find(name, RootAccess::Write)
    }
}
