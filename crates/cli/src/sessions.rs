//! Opens the sessions that the user names: [`FoundSession`], and how [`Context`] finds it.

mod candidates;
mod lookup;
mod lookup_errors;

use std::path::PathBuf;
use std::time::Duration;

use everturn::format::{
    self, EditableFormat, Operation, SessionEditor, SessionError, SessionFormat, SessionReader,
};
use everturn::model::{Mark, SessionRef};

use crate::agent_homes;
use crate::context::{Context, next_command, shell_word};
use crate::error::Error;
use crate::exit::Exit;
use crate::findings::{print_findings, quarantine_line};
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::retry::retry_while_busy;
use crate::server_roots;

pub(crate) use candidates::{Candidate, LookupResult};

/// A session that was found.
pub(crate) struct FoundSession {
    pub(crate) root: OpenRoot,
    pub(crate) layout: &'static dyn SessionFormat,
    pub(crate) place: SessionRef,
}

/// How often the lookup is repeated for a session that was moved before it could be opened.
pub(crate) const MOVE_TRIES: usize = 10;

/// Resolves a turn: its number, the ID of an entry, the ID or name of a mark, or the ID of a scene, which means its first
/// turn.
pub(crate) fn resolve_turn(
    found: &FoundSession,
    reader: &dyn SessionReader,
    name: &str,
) -> Result<u64, Error> {
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
    let (outline, _) = reader.outline()?;
    if let Some(scene) = outline.scenes.iter().find(|scene| scene.id == name) {
        return Ok(scene.first);
    }
    let what = match marks.iter().filter(named).count() {
        0 | 1 => format!("there is no turn, entry, mark or scene {name:?}"),
        count => format!("{name:?} is the name of {count} marks"),
    };
    let list = next_command(&format!("show {} --toc", shell_word(&found.place.id)));
    Err(Error::new(Exit::Request, what).hint(format!("list marks and scenes with: {list}")))
}

/// Returns the hint for an unknown mark.
pub(crate) fn marks_hint(id: &str) -> String {
    format!("list the marks with: {}", next_command(&format!("mark list {}", shell_word(id))))
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
        let path = self.root.shown(&self.place.path);
        let check = || match server_roots::is_address(&self.root.path) {
            true => next_command(&format!("check {}", shell_word(&self.place.id))),
            false => format!("everturn check {}", shell_word(&path)),
        };
        if damaged { error.hint(check()) } else { error }
    }
}

impl Context {
    /// Returns the root: the one the user named, the configured one, or the home of the format's program.
    pub(crate) fn root_dir(&self) -> Result<PathBuf, Error> {
        let layout = self.layout.as_deref();
        agent_homes::root(agent_homes::root_for(self, layout), layout)
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
                || (error.exit() != Exit::Busy
                    && failed_at.as_ref() != Some(&found.place)
                    && !found.is_quiet()?);
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
            found.failed(error).hint(next_command(&list))
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
