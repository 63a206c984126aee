//! Linggen's home, as the commands for it find and report it.

pub(crate) mod config;
pub(crate) mod runs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use everturn::format::SessionError;
use everturn::linggen::{LinggenError, Project, ProjectPath, find_project, open_project};

use crate::commands::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::sessions::{Busy, OpenRoot, retry_while_busy};
use crate::settings;

/// How long a change of a home waits for another process.
const WAIT: Duration = Duration::from_secs(5);

impl From<LinggenError> for Error {
    fn from(error: LinggenError) -> Error {
        let hint = match &error {
            LinggenError::NoProject { .. } => Some("everturn linggen project list"),
            _ => None,
        };
        let error = Error::from(SessionError::from(error));
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl Busy for LinggenError {
    fn is_busy(&self) -> bool {
        matches!(self, LinggenError::Store(error) if error.is_busy())
    }
}

/// Tries a change again while another process is at work there.
pub(crate) fn retry_linggen<T>(
    attempt: impl FnMut() -> Result<T, LinggenError>,
) -> Result<T, Error> {
    Ok(retry_while_busy(WAIT, attempt)?)
}

/// The path of a project as the user wrote it: seen from here, without links in it if it is there.
pub(crate) fn project_path(named: Option<&Path>) -> Result<ProjectPath, Error> {
    let here = PathBuf::from(settings::project()?);
    let path = named.map_or_else(|| here.clone(), |named| here.join(named));
    let path = path.canonicalize().unwrap_or(path);
    let text = path
        .to_str()
        .ok_or_else(|| Error::new(Exit::Request, format!("{} is not Unicode", path.display())))?;
    Ok(ProjectPath::parse(text)?)
}

impl Context {
    /// Opens Linggen's home for reading.
    pub(crate) fn linggen(&mut self) -> Result<OpenRoot, Error> {
        self.layout = Some("linggen".to_owned());
        self.open_root()
    }

    /// Opens Linggen's home to change what is there already.
    pub(crate) fn linggen_to_change(&mut self) -> Result<OpenRoot, Error> {
        self.layout = Some("linggen".to_owned());
        self.root_to_write()
    }

    /// Opens Linggen's home for writing; it is made if need be.
    pub(crate) fn linggen_to_write(&mut self) -> Result<OpenRoot, Error> {
        self.layout = Some("linggen".to_owned());
        let root = OpenRoot::create(&self.root_dir()?)?;
        Ok(root)
    }
}

/// The project that the user means, which must be there.
pub(crate) fn project(root: &OpenRoot, named: Option<&Path>) -> Result<Project, Error> {
    let path = project_path(named)?;
    let missing = || LinggenError::NoProject { path: path.to_string() };
    Ok(find_project(&root.store(), &path)?.ok_or_else(missing)?)
}

/// The project that the user means, which is made if need be.
pub(crate) fn project_to_write(root: &OpenRoot, named: Option<&Path>) -> Result<Project, Error> {
    let path = project_path(named)?;
    retry_linggen(|| open_project(&root.store(), &path, settings::now()))
}
